//! Ping: one end sends probes at even intervals, the other sends each back at once.
//!
//! Probe n leaves n intervals after the start, whether the one before was answered or not. A probe that is
//! not answered within [`LINGER`] after the last one was sent is lost.

use super::LINGER;
use super::arrivals::Arrivals;
use super::port::Socket;
use crate::workload::Samples;
use quiclab_core::{
    ByteCount, Counters, Duration, Element, Endpoint, EndpointIdentity, Metrics, Outputs, Packet, Payload,
    Port, Progress, Time,
};

/// The end that asks.
pub(super) struct Prober {
    socket: Socket,
    size: ByteCount,
    count: u64,
    interval: Duration,
    start: Time,
    /// Number of the next probe.
    next: u64,
    /// When the probe sent last left.
    sent: Time,
    arrivals: Arrivals,
    times: Samples,
    progress: Progress,
}

impl Prober {
    pub(super) fn new(
        identity: &EndpointIdentity,
        size: ByteCount,
        count: u32,
        interval: Duration,
        start: Time,
    ) -> Self {
        Self {
            socket: Socket::new(identity),
            size,
            count: u64::from(count),
            interval,
            start,
            next: 0,
            sent: start,
            arrivals: Arrivals::default(),
            times: Samples::default(),
            progress: Progress::default(),
        }
    }

    fn report(&self, out: &mut Metrics) {
        self.socket.report(out);
        let sent = self.progress.finished.map(|_| self.count);
        out.count("lost_packets", self.arrivals.lost(sent));
        out.count("duplicate_packets", self.arrivals.duplicates);
    }
}

impl Element for Prober {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, _out: &mut Outputs) {
        let size = self.socket.receive(&packet);
        let Payload::Datagram { number, sent, echo: true } = packet.payload else { return };
        if !self.arrivals.add(number) {
            return;
        }
        self.progress.delivered_bytes += size.bytes();
        self.times.add(now.since(sent));
        if self.arrivals.distinct == self.count {
            self.progress.finished.get_or_insert(now);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outputs) {
        self.progress.started.get_or_insert(now);
        if self.next < self.count {
            while self.next < self.count && self.start + self.interval * self.next <= now {
                let payload = Payload::Datagram { number: self.next, sent: now, echo: false };
                self.socket.send(now, self.size, payload, out);
                self.next += 1;
                self.sent = now;
            }
        } else if self.sent + LINGER <= now {
            self.progress.finished.get_or_insert(now);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        if self.progress.finished.is_some() {
            None
        } else if self.next < self.count {
            Some(self.start + self.interval * self.next)
        } else {
            Some(self.sent + LINGER)
        }
    }

    fn counters(&self) -> Counters {
        self.socket.counters
    }

    fn statistics(&mut self, _now: Time, out: &mut Metrics) {
        self.report(out);
        self.times.report("rtt_ms", out);
    }

    fn sample(&mut self, _now: Time, out: &mut Metrics) {
        self.report(out);
    }
}

impl Endpoint for Prober {
    fn progress(&self) -> Progress {
        self.progress
    }
}

/// The end that answers.
pub(super) struct Echo {
    socket: Socket,
    /// Probes there will be.
    count: u64,
    progress: Progress,
}

impl Echo {
    pub(super) fn new(identity: &EndpointIdentity, count: u32) -> Self {
        Self { socket: Socket::new(identity), count: u64::from(count), progress: Progress::default() }
    }
}

impl Element for Echo {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Outputs) {
        let size = self.socket.receive(&packet);
        let Payload::Datagram { number, sent, echo: false } = packet.payload else { return };
        self.progress.started.get_or_insert(now);
        self.progress.delivered_bytes += size.bytes();
        if number + 1 == self.count {
            self.progress.finished.get_or_insert(now);
        }
        self.socket.send(now, size, Payload::Datagram { number, sent, echo: true }, out);
    }

    fn wake(&mut self, _now: Time, _out: &mut Outputs) {}

    fn next_wake(&self) -> Option<Time> {
        None
    }

    fn counters(&self) -> Counters {
        self.socket.counters
    }

    fn statistics(&mut self, _now: Time, out: &mut Metrics) {
        self.socket.report(out);
    }

    fn sample(&mut self, _now: Time, out: &mut Metrics) {
        self.socket.report(out);
    }
}

impl Endpoint for Echo {
    fn progress(&self) -> Progress {
        self.progress
    }
}
