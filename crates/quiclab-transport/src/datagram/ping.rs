//! Ping: one end sends probes at even intervals, the other sends each back at once.
//!
//! Probe n leaves n intervals after the start, whether the one before was answered or not. A probe that is
//! not answered within [`LINGER`] after the last one was sent is lost.

use super::LINGER;
use super::arrivals::Arrivals;
use super::port::Socket;
use crate::workload::Samples;
use quiclab_core::{
    ByteCount, Counters, Duration, Element, Endpoint, Metrics, Outputs, Packet, Payload, Port, Progress, Time,
};

/// Probes, and what has become of them.
pub(crate) struct Probes {
    count: u64,
    interval: Duration,
    start: Time,
    /// Number of the next probe.
    next: u64,
    /// When the probe sent last left.
    sent: Time,
    pub(crate) arrivals: Arrivals,
    times: Samples,
    /// Answers since the last sample of a series, and the sum of their times.
    recent: (u64, Duration),
    pub(crate) progress: Progress,
}

impl Probes {
    pub(crate) fn new(count: u32, interval: Duration, start: Time) -> Self {
        Self {
            count: u64::from(count),
            interval,
            start,
            next: 0,
            sent: start,
            arrivals: Arrivals::default(),
            times: Samples::default(),
            recent: (0, Duration::ZERO),
            progress: Progress::default(),
        }
    }

    /// The first probe leaves at another time.
    pub(crate) fn begin(&mut self, start: Time) {
        (self.start, self.sent) = (start, start);
    }

    /// The probe to send now, if there is one; otherwise, after the last, stops to wait if it is time.
    pub(crate) fn next(&mut self, now: Time) -> Option<u64> {
        if self.next < self.count {
            let number = self.next;
            if self.start + self.interval * number > now {
                return None;
            }
            self.next += 1;
            self.sent = now;
            return Some(number);
        }
        if self.sent + LINGER <= now {
            self.progress.finished.get_or_insert(now);
        }
        None
    }

    /// The answer to a probe arrived.
    pub(crate) fn answered(&mut self, now: Time, number: u64, sent: Time, size: ByteCount) {
        if !self.arrivals.add(number) {
            return;
        }
        self.progress.delivered_bytes += size.bytes();
        self.times.add(now.since(sent));
        self.recent = (self.recent.0 + 1, self.recent.1 + now.since(sent));
        if self.arrivals.distinct == self.count {
            self.progress.finished.get_or_insert(now);
        }
    }

    /// When [`Probes::next`] wants to be called.
    pub(crate) fn deadline(&self) -> Option<Time> {
        if self.progress.finished.is_some() {
            None
        } else if self.next < self.count {
            Some(self.start + self.interval * self.next)
        } else {
            Some(self.sent + LINGER)
        }
    }

    /// Probes without an answer: of all, once no more is waited for.
    pub(crate) fn lost(&self) -> u64 {
        self.arrivals.lost(self.progress.finished.map(|_| self.count))
    }

    pub(crate) fn report(&self, out: &mut Metrics) {
        self.times.report("rtt_ms", out);
    }

    /// The mean time of the answers since the last call, if there were any: with an interval of the series that is
    /// not above that of the probes, the time of each answer.
    pub(crate) fn sample(&mut self, out: &mut Metrics) {
        let (answers, sum) = std::mem::take(&mut self.recent);
        if answers > 0 {
            out.set("rtt_ms", sum.as_ms_f64() / answers as f64);
        }
    }
}

/// The end that asks.
pub(super) struct Prober {
    socket: Socket,
    size: ByteCount,
    probes: Probes,
}

impl Prober {
    pub(super) fn new(socket: Socket, size: ByteCount, count: u32, interval: Duration, start: Time) -> Self {
        Self { socket, size, probes: Probes::new(count, interval, start) }
    }

    fn report(&self, out: &mut Metrics) {
        self.socket.report(out);
        out.count("lost_packets", self.probes.lost());
        out.count("duplicate_packets", self.probes.arrivals.duplicates);
    }
}

impl Element for Prober {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, _out: &mut Outputs) {
        let size = self.socket.receive(&packet);
        let Payload::Datagram { number, sent, echo: true } = packet.payload else { return };
        self.probes.answered(now, number, sent, size);
    }

    fn wake(&mut self, now: Time, out: &mut Outputs) {
        self.probes.progress.started.get_or_insert(now);
        while let Some(number) = self.probes.next(now) {
            self.socket.send(now, self.size, Payload::Datagram { number, sent: now, echo: false }, out);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.probes.deadline()
    }

    fn counters(&self) -> Counters {
        self.socket.counters
    }

    fn statistics(&mut self, _now: Time, out: &mut Metrics) {
        self.report(out);
        self.probes.report(out);
    }

    fn sample(&mut self, _now: Time, out: &mut Metrics) {
        self.report(out);
        self.probes.sample(out);
    }
}

impl Endpoint for Prober {
    fn progress(&self) -> Progress {
        self.probes.progress
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
    pub(super) fn new(socket: Socket, count: u32) -> Self {
        Self { socket, count: u64::from(count), progress: Progress::default() }
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
