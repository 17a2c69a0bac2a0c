//! Ping: one end sends probes (`workload/probes.rs`), the peer returns each at once.
//!
//! Over ICMP (RFC 792, RFC 4443 section 4) the client sends echo requests, the server echo replies. Their
//! tuples contain the identifier, here the lower bits of the flow's number, and type and code (see
//! [`Protocol::Icmp`]).

use crate::options::PingProtocol;
use crate::workload::Probes;
use quiclab_core::{
    ByteCount, Counters, Duration, Ecn, Element, Endpoint, EndpointIdentity, FiveTuple, Metrics, Nic,
    Outputs, Packet, Payload, Port, Progress, Protocol, Role, Time,
};

quiclab_core::metrics! {
    /// Losses of probes over UDP.
    pub static PING: PingMetrics = Flow, "receiver of `ping`, lab-udp" {
        /// Probes without a reply.
        lost_packets: Counter, Both;
        /// Duplicate replies.
        duplicate_packets: Counter, Both;
    }
}

/// Tuple of the packets that an end sends.
pub(super) fn tuple(identity: &EndpointIdentity, protocol: PingProtocol) -> FiveTuple {
    if protocol == PingProtocol::Udp {
        return identity.tuple;
    }
    let (source, destination) = (identity.tuple.source().ip(), identity.tuple.destination().ip());
    let kind: u16 = match (identity.role, source.is_ipv4()) {
        (Role::Client, true) => 8,
        (Role::Server, true) => 0,
        (Role::Client, false) => 128,
        (Role::Server, false) => 129,
    };
    let (source, destination) = ((source, identity.flow.0 as u16), (destination, kind << 8));
    FiveTuple::new(Protocol::Icmp, source.into(), destination.into())
}

/// Client of ping, which sends the probes.
pub(super) struct PingClient {
    nic: Nic,
    size: ByteCount,
    probes: Probes,
}

impl PingClient {
    pub(super) fn new(nic: Nic, size: ByteCount, count: u32, interval: Duration, start: Time) -> Self {
        Self { nic, size, probes: Probes::new(count, interval, start) }
    }

    fn report(&self, out: &mut Metrics) {
        self.nic.report(out);
        out.count(&PING.lost_packets, self.probes.lost());
        out.count(&PING.duplicate_packets, self.probes.arrivals.duplicates);
    }
}

impl Element for PingClient {
    fn receive(&mut self, now: Time, _port: Port, packet: Box<Packet>, _out: &mut Outputs) {
        let size = self.nic.receive(&packet);
        let Payload::Datagram { number, sent, echo: true } = packet.payload else { return };
        self.probes.answered(now, number, sent, size);
    }

    fn wake(&mut self, now: Time, out: &mut Outputs) {
        self.probes.progress.started.get_or_insert(now);
        while let Some(number) = self.probes.next(now) {
            self.nic.send(
                now,
                Port(0),
                self.size,
                Ecn::NotEct,
                Payload::Datagram { number, sent: now, echo: false },
                out,
            );
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.probes.deadline()
    }

    fn counters(&self) -> Counters {
        *self.nic.counters()
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

impl Endpoint for PingClient {
    fn progress(&self) -> Progress {
        self.probes.progress
    }
}

/// Server of ping, which replies.
pub(super) struct PingServer {
    nic: Nic,
    /// Total number of probes.
    count: u64,
    progress: Progress,
}

impl PingServer {
    pub(super) fn new(nic: Nic, count: u32) -> Self {
        Self { nic, count: u64::from(count), progress: Progress::default() }
    }
}

impl Element for PingServer {
    fn receive(&mut self, now: Time, _port: Port, packet: Box<Packet>, out: &mut Outputs) {
        let size = self.nic.receive(&packet);
        let Payload::Datagram { number, sent, echo: false } = packet.payload else { return };
        self.progress.read(now, size.bytes());
        if number + 1 == self.count {
            self.progress.finished.get_or_insert(now);
        }
        self.nic.send(now, Port(0), size, Ecn::NotEct, Payload::Datagram { number, sent, echo: true }, out);
    }

    fn wake(&mut self, _now: Time, _out: &mut Outputs) {}

    fn next_wake(&self) -> Option<Time> {
        None
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

impl Endpoint for PingServer {
    fn progress(&self) -> Progress {
        self.progress
    }
}
