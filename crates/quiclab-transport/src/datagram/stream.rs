//! Both ends of datagrams on a schedule (`workload/schedule.rs`, `workload/reception.rs`).

use crate::workload::{Reception, Schedule};
use quiclab_core::{
    Counters, Ecn, Element, Endpoint, EndpointIdentity, Metrics, Nic, Outputs, Packet, Payload, Port,
    Progress, Time,
};

quiclab_core::metrics! {
    /// Losses of datagrams over UDP.
    pub static DATAGRAMS: DatagramsMetrics = Flow, "receiver of `datagrams`, lab-udp" {
        /// Lost datagrams.
        lost_packets: Counter, Both;
        /// Reordered datagrams.
        reordered_packets: Counter, Both;
        /// Duplicate datagrams.
        duplicate_packets: Counter, Both;
    }
}

/// Sending end.
pub(super) struct Source {
    nic: Nic,
    schedule: Schedule,
    /// Number of the next datagram.
    next: u64,
    progress: Progress,
}

impl Source {
    pub(super) fn new(identity: &EndpointIdentity, schedule: Schedule) -> Self {
        Self { nic: Nic::new(identity, identity.tuple), schedule, next: 0, progress: Progress::default() }
    }
}

impl Element for Source {
    fn receive(&mut self, _now: Time, _port: Port, packet: Box<Packet>, _out: &mut Outputs) {
        self.nic.receive(&packet);
    }

    fn wake(&mut self, now: Time, out: &mut Outputs) {
        self.progress.started.get_or_insert(now);
        while self.schedule.time(self.next).is_some_and(|time| time <= now) {
            let payload = Payload::Datagram { number: self.next, sent: now, echo: false };
            self.nic.send(now, Port(0), self.schedule.size, Ecn::NotEct, payload, out);
            self.next += 1;
        }
        if self.next >= self.schedule.total {
            self.progress.finished.get_or_insert(now);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let end = Some(self.schedule.end).filter(|_| self.progress.finished.is_none());
        self.schedule.time(self.next).or(end)
    }

    fn counters(&self) -> Counters {
        *self.nic.counters()
    }

    fn statistics(&mut self, _now: Time, out: &mut Metrics) {
        self.nic.report(out);
    }

    fn sample(&mut self, _now: Time, out: &mut Metrics) {
        self.nic.report(out);
    }
}

impl Endpoint for Source {
    fn progress(&self) -> Progress {
        self.progress
    }
}

/// Receiving end.
pub(super) struct Sink {
    nic: Nic,
    /// Time at which the flow starts; `None` afterwards.
    start: Option<Time>,
    reception: Reception,
}

impl Sink {
    pub(super) fn new(identity: &EndpointIdentity, schedule: Schedule, start: Time) -> Self {
        Self {
            nic: Nic::new(identity, identity.tuple),
            start: Some(start),
            reception: Reception::new(schedule),
        }
    }

    fn report(&self, out: &mut Metrics) {
        self.nic.report(out);
        out.count(&DATAGRAMS.lost_packets, self.reception.lost());
        out.count(&DATAGRAMS.reordered_packets, self.reception.arrivals.reordered);
        out.count(&DATAGRAMS.duplicate_packets, self.reception.arrivals.duplicates);
        self.reception.report(out);
    }
}

impl Element for Sink {
    fn receive(&mut self, now: Time, _port: Port, packet: Box<Packet>, _out: &mut Outputs) {
        let size = self.nic.receive(&packet);
        let Payload::Datagram { number, sent, echo: false } = packet.payload else { return };
        self.reception.arrive(now, number, sent, size);
    }

    fn wake(&mut self, now: Time, _out: &mut Outputs) {
        if self.start.is_some_and(|start| start <= now) {
            self.start = None;
            self.reception.progress.started = Some(now);
        }
        if self.start.is_none() {
            self.reception.expire(now);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.reception.deadline().map(|due| self.start.unwrap_or(due))
    }

    fn counters(&self) -> Counters {
        *self.nic.counters()
    }

    fn statistics(&mut self, _now: Time, out: &mut Metrics) {
        self.report(out);
    }

    fn sample(&mut self, _now: Time, out: &mut Metrics) {
        self.report(out);
    }
}

impl Endpoint for Sink {
    fn progress(&self) -> Progress {
        self.reception.progress
    }
}
