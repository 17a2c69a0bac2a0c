//! The socket of an endpoint: makes packets and counts them.
//!
//! Over ICMP (RFC 792, RFC 4443 section 4) the client asks with echoes, the server answers with echo replies.
//! Their tuples hold the identifier, here the lower bits of the flow's number, and type and code (see
//! [`Protocol::Icmp`]).

use quiclab_core::{
    ByteCount, Counters, Direction, Ecn, EndpointIdentity, FiveTuple, FlowId, Metrics, Outputs, Packet,
    Payload, Port, Protocol, Role, Time,
};

/// Headers in bytes (RFC 768, RFC 792, RFC 791, RFC 8200).
const UDP_HEADER: u64 = 8;
const ICMP_HEADER: u64 = 8;
const IPV4_HEADER: u64 = 20;
const IPV6_HEADER: u64 = 40;

/// See the module documentation.
pub(crate) struct Socket {
    flow: FlowId,
    direction: Direction,
    tuple: FiveTuple,
    /// Headers of IP and of what is above it.
    headers: ByteCount,
    /// ECN field of what it sends.
    pub(crate) ecn: Ecn,
    next_id: u64,
    pub(crate) counters: Counters,
}

impl Socket {
    /// Of UDP.
    pub(crate) fn new(identity: &EndpointIdentity) -> Self {
        Self::over(identity, identity.tuple, UDP_HEADER)
    }

    /// Of ICMP.
    pub(crate) fn of_icmp(identity: &EndpointIdentity) -> Self {
        let (source, destination) = (identity.tuple.source().ip(), identity.tuple.destination().ip());
        let kind: u16 = match (identity.role, source.is_ipv4()) {
            (Role::Client, true) => 8,
            (Role::Server, true) => 0,
            (Role::Client, false) => 128,
            (Role::Server, false) => 129,
        };
        let (source, destination) =
            ((source, identity.flow.0 as u16).into(), (destination, kind << 8).into());
        Self::over(identity, FiveTuple::new(Protocol::Icmp, source, destination), ICMP_HEADER)
    }

    fn over(identity: &EndpointIdentity, tuple: FiveTuple, header: u64) -> Self {
        let ip = if identity.tuple.source().is_ipv4() { IPV4_HEADER } else { IPV6_HEADER };
        Self {
            flow: identity.flow,
            direction: match identity.role {
                Role::Client => Direction::Up,
                Role::Server => Direction::Down,
            },
            tuple,
            headers: ByteCount::from_bytes(ip + header),
            ecn: Ecn::NotEct,
            next_id: identity.first_packet_id(),
            counters: Counters::default(),
        }
    }

    /// Sends a datagram with a payload of `size`.
    pub(crate) fn send(&mut self, now: Time, size: ByteCount, payload: Payload, out: &mut Outputs) {
        let size = self.headers + size;
        self.counters.created.add(size);
        self.counters.sent.add(size);
        let packet = Packet {
            id: self.next_id,
            flow: self.flow,
            direction: self.direction,
            size,
            encapsulation: ByteCount::ZERO,
            sequence: 0,
            tuple: self.tuple,
            ecn: self.ecn,
            created: now,
            payload,
        };
        self.next_id += 1;
        out.send(Port(0), packet);
    }

    /// Counts a packet that arrived; returns the length of its payload.
    pub(crate) fn receive(&mut self, packet: &Packet) -> ByteCount {
        self.counters.received.add(packet.size);
        self.counters.consumed.add(packet.size);
        packet.size.saturating_sub(self.headers)
    }

    pub(crate) fn report(&self, out: &mut Metrics) {
        out.count("packets_sent", self.counters.sent.packets);
        out.count("packets_received", self.counters.received.packets);
    }
}
