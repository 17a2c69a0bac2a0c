//! The UDP socket of an endpoint: makes packets and counts them.

use quiclab_core::{
    ByteCount, Counters, Direction, Ecn, EndpointIdentity, FiveTuple, FlowId, Metrics, Outputs, Packet,
    Payload, Port, Role, Time,
};

/// Headers in bytes (RFC 768, RFC 791, RFC 8200).
const UDP_HEADER: u64 = 8;
const IPV4_HEADER: u64 = 20;
const IPV6_HEADER: u64 = 40;

/// See the module documentation.
pub(super) struct Socket {
    flow: FlowId,
    direction: Direction,
    tuple: FiveTuple,
    /// IP and UDP headers.
    headers: ByteCount,
    next_id: u64,
    pub(super) counters: Counters,
}

impl Socket {
    pub(super) fn new(identity: &EndpointIdentity) -> Self {
        let ip = if identity.tuple.source().is_ipv4() { IPV4_HEADER } else { IPV6_HEADER };
        Self {
            flow: identity.flow,
            direction: match identity.role {
                Role::Client => Direction::Up,
                Role::Server => Direction::Down,
            },
            tuple: identity.tuple,
            headers: ByteCount::from_bytes(ip + UDP_HEADER),
            next_id: identity.first_packet_id(),
            counters: Counters::default(),
        }
    }

    /// Sends a datagram with a payload of `size`.
    pub(super) fn send(&mut self, now: Time, size: ByteCount, payload: Payload, out: &mut Outputs) {
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
            ecn: Ecn::NotEct,
            created: now,
            payload,
        };
        self.next_id += 1;
        out.send(Port(0), packet);
    }

    /// Counts a packet that arrived; returns the length of its payload.
    pub(super) fn receive(&mut self, packet: &Packet) -> ByteCount {
        self.counters.received.add(packet.size);
        self.counters.consumed.add(packet.size);
        packet.size.saturating_sub(self.headers)
    }

    pub(super) fn report(&self, out: &mut Metrics) {
        out.count("packets_sent", self.counters.sent.packets);
        out.count("packets_received", self.counters.received.packets);
    }
}
