//! lab-quic as the carrier of a tunnel: one connection with several paths, or one for each path.
//!
//! | | |
//! | --- | --- |
//! | a datagram is sent | on the path that the tunnel has chosen, with the next packet there |
//! | acknowledgements, probes, handshake | as in any other connection; they do not wait for the tunnel |
//! | a path that does not respond | carries no data while probe timeouts have expired on it since its last acknowledgement, and on another path not as many ("potentially failed", De Coninck and Bonaventure, CoNEXT 2017) |
//! | idling | connections stay open |
//! | ECN, if the tunnel passes on marks | a packet with datagrams is ECN-capable if the packets in all of them are; others, and the codepoint, are those of the connection. RFC 6040 copies the inner field, including CE: an earlier mark of the packet would reduce the window of the carrier, too |

use super::connection::{Connection, Departure, Event, Kind};
use super::options;
use crate::CarrierRequest;
use crate::error::Error;
use crate::workload::Datagram;
use quiclab_core::ip::{IPV4_HEADER, UDP_HEADER};
use quiclab_core::scheduler::PathState;
use quiclab_core::tunnel::CarrierKind;
use quiclab_core::tunnel::{Carrier, TunnelPayload};
use quiclab_core::{
    ByteCount, Duration, Ecn, FiveTuple, Metrics, Packet, Payload, Protocol, RandomStream, Role, Time,
};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

quiclab_core::metrics! {
    /// Connection of a tunnel over lab-quic.
    pub static QUIC_CARRIER: QuicCarrierMetrics = Network, "tunnel, carrier lab-quic" {
        /// Packets declared lost.
        lost_packets: Counter, End;
        /// Lost packets that had arrived.
        spurious_losses: Counter, End;
        /// Probe timeouts.
        timeouts: Counter, End;
        /// ACK frames.
        acks_received: Counter, End;
        /// Datagrams given up: their path failed before they could leave, or they did not fit into a packet.
        datagrams_stuck: Counter, End;
    }
}

/// Length of the IPv4 and UDP headers in bytes.
const HEADERS: u64 = (IPV4_HEADER + UDP_HEADER) as u64;

/// lab-quic behind the [`Carrier`] trait.
pub struct LabCarrier {
    kind: CarrierKind,
    role: Role,
    paths: usize,
    /// One connection, or one for each path.
    connections: Vec<Connection>,
    /// Whether the client has started to connect.
    started: bool,
    delivered: VecDeque<(usize, TunnelPayload, Ecn)>,
    /// ECN field of the packet of the datagram taken last.
    delivered_field: Ecn,
    /// Whether packets sent from now on may be ECN-capable.
    capable: bool,
    /// Connection that transmits next.
    turn: usize,
    wake: Option<Time>,
}

impl LabCarrier {
    /// Makes an end of a tunnel.
    ///
    /// # Errors
    /// If lab-quic does not support an option.
    pub fn new(request: &CarrierRequest<'_>) -> Result<Self, Error> {
        let mut resolved = options::resolve(request.config)?;
        resolved.quic.idle_timeout = Duration::from_secs(1 << 20);
        let connections = match request.kind {
            CarrierKind::Connections => request.paths,
            CarrierKind::Multipath => 1,
        };
        let each = request.paths / connections;
        let make = |connection: usize| {
            let stream = |path: usize| format!("{}.{}", request.name, connection * each + path);
            let random = |path: usize| RandomStream::new(request.seed, &stream(path));
            let mut made =
                Connection::new(resolved.clone(), request.role, each, random, Default::default(), None);
            for path in 0..each {
                if let Some(window) = request.windows.get(connection * each + path) {
                    made.set_fixed_window(path, window.bytes());
                }
                if let Some(size) = request.datagram_sizes.get(connection * each + path) {
                    made.set_datagram_size(path, size.bytes());
                }
            }
            made
        };
        Ok(Self {
            kind: request.kind,
            role: request.role,
            paths: request.paths,
            connections: (0..connections).map(make).collect(),
            started: false,
            delivered: VecDeque::new(),
            delivered_field: Ecn::NotEct,
            capable: true,
            turn: 0,
            // the client connects at its first wake-up
            wake: (request.role == Role::Client).then_some(Time::ZERO),
        })
    }

    /// Connection of a path, and index of the path within it.
    fn place(&self, path: usize) -> (usize, usize) {
        match self.kind {
            CarrierKind::Connections => (path, 0),
            CarrierKind::Multipath => (0, path),
        }
    }

    fn path_of(&self, connection: usize, path: usize) -> usize {
        match self.kind {
            CarrierKind::Connections => connection,
            CarrierKind::Multipath => path,
        }
    }

    /// Minimum number of consecutive probe timeouts over the existing paths.
    fn least_timeouts(&self) -> Option<u32> {
        (0..self.paths)
            .map(|path| self.place(path))
            .filter_map(|(connection, path)| self.connections[connection].path_timeouts(path))
            .min()
    }

    /// Addresses of a path: those of the tunnel's ends, in a separate network.
    fn tuple(&self, path: usize) -> FiveTuple {
        let address =
            |host: u8, port: u16| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 3, path as u8, host)), port);
        let tuple = FiveTuple::new(Protocol::Udp, address(1, 443), address(2, 50_000));
        if self.role == Role::Server { tuple } else { tuple.reverse() }
    }

    /// Passes `cargo` to the connection of `path`.
    fn give(
        &mut self,
        now: Time,
        path: usize,
        cargo: TunnelPayload,
        controlled: bool,
    ) -> Result<(), TunnelPayload> {
        let TunnelPayload::Reference { number, length } = cargo else { return Err(cargo) };
        let (connection, path) = self.place(path);
        let connection = &mut self.connections[connection];
        if !connection.send_datagram_on(now, path, length, number, Kind { controlled, capable: self.capable })
        {
            return Err(cargo);
        }
        Ok(())
    }

    fn note_deadline(&mut self, now: Time) {
        self.wake = self.connections.iter_mut().filter_map(|connection| connection.next_timer(now)).min();
    }
}

impl Carrier for LabCarrier {
    fn paths(&self) -> usize {
        self.paths
    }

    fn state(&self, now: Time, path: usize) -> PathState {
        let least = self.least_timeouts();
        let (connection, path) = self.place(path);
        self.connections[connection].path_state(now, path, least)
    }

    fn acknowledges(&self, now: Time, path: usize) -> bool {
        let (connection, path) = self.place(path);
        self.connections[connection].acknowledges(now, path)
    }

    fn largest_datagram(&self, path: usize) -> Option<u16> {
        let (connection, path) = self.place(path);
        self.connections[connection].largest_datagram(path)
    }

    fn send(&mut self, now: Time, path: usize, cargo: TunnelPayload) -> Result<(), TunnelPayload> {
        self.give(now, path, cargo, true)
    }

    fn send_uncontrolled(
        &mut self,
        now: Time,
        path: usize,
        cargo: TunnelPayload,
    ) -> Result<(), TunnelPayload> {
        self.give(now, path, cargo, false)
    }

    fn set_backlogged(&mut self, backlogged: bool) {
        for connection in &mut self.connections {
            connection.set_backlogged(backlogged);
        }
    }

    fn receive(&mut self, now: Time, path: usize, packet: Box<Packet>) {
        let Payload::Quic(datagram) = packet.payload else { return };
        let (connection, _) = self.place(path);
        let size = packet.size.bytes().saturating_sub(HEADERS);
        let connection = &mut self.connections[connection];
        let field = packet.ecn;
        connection.receive(now, *datagram, size, field);
        while let Some(event) = connection.next_event() {
            if let Event::Datagram(Datagram { length, number, .. }) = event {
                self.delivered.push_back((path, TunnelPayload::Reference { number, length }, field));
            }
        }
    }

    fn delivered(&mut self) -> Option<(usize, TunnelPayload)> {
        let (path, cargo, field) = self.delivered.pop_front()?;
        self.delivered_field = field;
        Some((path, cargo))
    }

    fn set_capable(&mut self, capable: bool) {
        self.capable = capable;
    }

    fn delivered_field(&self) -> Ecn {
        self.delivered_field
    }

    fn transmit(&mut self, now: Time) -> Option<(usize, Box<Packet>)> {
        if self.role == Role::Client && !self.started {
            self.started = true;
            self.connections.iter_mut().for_each(|connection| connection.connect(now));
        }
        for _ in 0..self.connections.len() {
            let turn = self.turn;
            if let Some(Departure { path, datagram, length, ecn }) = self.connections[turn].next_datagram(now)
            {
                let path = self.path_of(turn, path);
                let size = ByteCount::from_bytes(HEADERS + length);
                let (tuple, payload) = (self.tuple(path), Payload::Quic(datagram));
                return Some((path, Box::new(Packet { size, tuple, ecn, payload, ..Packet::default() })));
            }
            self.turn = (turn + 1) % self.connections.len();
        }
        self.note_deadline(now);
        None
    }

    fn wake(&mut self, now: Time) {
        self.connections.iter_mut().for_each(|connection| connection.on_timer(now));
    }

    fn next_wake(&self) -> Option<Time> {
        self.wake
    }

    fn failure(&self) -> Option<&str> {
        self.connections.iter().find_map(Connection::failure)
    }

    fn statistics(&self, out: &mut Metrics) {
        let (mut lost, mut spurious, mut timeouts, mut acks, mut stuck) = (0, 0, 0, 0, 0);
        for connection in &self.connections {
            let state = connection.recovery_state();
            lost += state.lost_packets;
            spurious += state.spurious_losses.unwrap_or(0);
            timeouts += connection.timeouts();
            acks += connection.counts().1;
            stuck += connection.dropped_datagrams();
        }
        out.count(&QUIC_CARRIER.lost_packets, lost);
        out.count(&QUIC_CARRIER.spurious_losses, spurious);
        out.count(&QUIC_CARRIER.timeouts, timeouts);
        out.count(&QUIC_CARRIER.acks_received, acks);
        out.count(&QUIC_CARRIER.datagrams_stuck, stuck);
    }
}
