//! The network interface of an endpoint: creates the packets that it sends, and counts packets in both
//! directions.

use crate::counters::Counters;
use crate::element::{Outputs, Port};
use crate::endpoint::EndpointIdentity;
use crate::ip::{self, Ecn, FiveTuple};
use crate::metric::Metrics;
use crate::packet::{Direction, FlowId, Packet, Payload};
use crate::time::Time;
use crate::units::ByteCount;
use std::net::SocketAddr;

crate::metrics! {
    /// Packets of an endpoint.
    pub static NIC: NicMetrics = Flow, "endpoint" {
        /// Sent: QUIC packets; datagrams of lab-udp and aioquic; segments of TCP.
        packets_sent: Counter, Both;
        /// Received: datagrams; segments of TCP.
        packets_received: Counter, Both;
    }
}

/// See the module documentation.
#[derive(Debug)]
pub struct Nic {
    flow: FlowId,
    direction: Direction,
    tuple: FiveTuple,
    /// Headers of every packet.
    headers: ByteCount,
    next_id: u64,
    counters: Counters,
}

impl Nic {
    /// Creates the interface of an endpoint whose packets have this tuple.
    #[must_use]
    pub fn new(identity: &EndpointIdentity, tuple: FiveTuple) -> Self {
        Self {
            flow: identity.flow,
            direction: identity.role.direction(),
            tuple,
            headers: ip::headers(tuple),
            next_id: identity.first_packet_id(),
            counters: Counters::default(),
        }
    }

    /// Sends a packet with `size` beyond the headers that [`ip::headers`] counts.
    pub fn send(
        &mut self,
        now: Time,
        port: Port,
        size: ByteCount,
        ecn: Ecn,
        payload: Payload,
        out: &mut Outputs,
    ) {
        let size = self.headers + size;
        self.counters.created.add(size);
        self.counters.sent.add(size);
        let packet = Packet {
            id: self.next_id,
            flow: self.flow,
            direction: self.direction,
            path: port.0 as u8,
            size,
            encapsulation: ByteCount::ZERO,
            sequence: 0,
            tuple: if port.0 == 0 { self.tuple } else { self.tuple_of(port) },
            ecn,
            created: now,
            payload,
        };
        self.next_id += 1;
        out.send(port, packet);
    }

    /// The tuple of a further path: the client has one address per path, as a device with several interfaces;
    /// here the ports are incremented instead, which queues treat equally.
    fn tuple_of(&self, path: Port) -> FiveTuple {
        let (source, destination) = (self.tuple.source(), self.tuple.destination());
        let on_path =
            |address: SocketAddr| SocketAddr::new(address.ip(), address.port().wrapping_add(path.0));
        match self.direction {
            Direction::Down => FiveTuple::new(self.tuple.protocol(), source, on_path(destination)),
            Direction::Up => FiveTuple::new(self.tuple.protocol(), on_path(source), destination),
        }
    }

    /// Counts a packet that has arrived, and returns its size beyond the same headers.
    pub fn receive(&mut self, packet: &Packet) -> ByteCount {
        self.counters.received.add(packet.size);
        self.counters.consumed.add(packet.size);
        packet.size.saturating_sub(self.headers)
    }

    /// Totals so far.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Adds the numbers of packets sent and received.
    pub fn report(&self, out: &mut Metrics) {
        out.count(&NIC.packets_sent, self.counters.sent.packets);
        out.count(&NIC.packets_received, self.counters.received.packets);
    }
}
