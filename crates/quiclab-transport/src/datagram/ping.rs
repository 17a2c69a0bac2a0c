//! Ping: one end sends probes (`workload/probes.rs`), the other sends each back at once.

use crate::socket::Socket;
use crate::workload::Probes;
use quiclab_core::{
    ByteCount, Counters, Duration, Element, Endpoint, Metrics, Outputs, Packet, Payload, Port, Progress, Time,
};

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
