//! The QUIC endpoint of a tunnel's process, with all its sessions. Sans-IO: it takes and returns UDP datagrams
//! as packets, and takes `now` as an argument.
//!
//! ```text
//! tunnel_endpoint ── endpoint_packets: receive, transmit; endpoint_timers: wake, deadlines
//!   ├── connection_events, control_stream, session_events ── how connections are bound to sessions, and end
//!   ├── moved_clients ── address_validation: clients at another address
//!   ├── peers ── who the other ends may be, also when that changes
//!   ├── per_path, multipath ── how a client connects and opens paths
//!   ├── session ── paths, control messages
//!   ├── connection ── send_pass: the packets that it sends
//!   │     └── connection_paths ── gated_controller, pacer, liveness (per path)
//!   └── endpoint, tls, control ── configurations of noq, keys, congestion control
//! ```

use super::config::{self, TunnelEndpointConfig};
use super::connection::{ConnectionKey, TunnelConnection};
use super::endpoint::{EndpointFactory, TunnelProtocol, payload};
use super::event::{
    CloseReason, Outgoing, RefusalReason, SessionId, Strangers, TunnelEndpointError, TunnelEvent,
};
use super::half_open::HalfOpen;
use super::keys::PublicKey;
use super::path_mtu::{MIN_UDP_PAYLOAD, PathMtu};
use super::session::{Session, SessionPath};
use super::wire::{MAX_CONTROL_BYTES, MAX_WIRE_PATHS, Token};
use bytes::Bytes;
use noq_proto::Endpoint;
use quiclab_core::tunnel::CarrierKind;
use quiclab_core::{Duration, PacketMemory, Problem, RandomStream, Role, Time};
use quiclab_stacks::time::Clock;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;

/// Number of pending events from which on no control message is read.
pub(super) const MAX_PENDING_EVENTS: usize = 1024;
/// Maximum number of refusals reported per second.
const MAX_REFUSALS: u32 = 10;

/// Purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    TunnelConnection(ConnectionKey),
    Session(SessionId),
}

/// All sessions of a process.
pub struct TunnelEndpoint {
    pub(super) maker: EndpointFactory,
    pub(super) clock: Clock,
    /// Random stream of TLS in a simulation; `None` only while it is lent, and with the system's randomness.
    pub(super) tls: Option<RandomStream>,
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) connections: BTreeMap<ConnectionKey, TunnelConnection>,
    pub(super) sessions: BTreeMap<SessionId, Session>,
    pub(super) tokens: BTreeMap<Token, SessionId>,
    pub(super) events: VecDeque<TunnelEvent>,
    pub(super) timers: BTreeSet<(Time, Due)>,
    /// Connections that may have packets to send.
    pub(super) active: BTreeSet<ConnectionKey>,
    /// Connections whose next packet is passed to QUIC with another address: [`super::address_validation`].
    pub(super) reverting: BTreeSet<ConnectionKey>,
    /// Unbound connections of a server.
    pub(super) half_open: HalfOpen,
    pub(super) strangers: Strangers,
    pub(super) next_session: u64,
    /// Time of the last call with a time.
    pub(super) now: Time,
    pub(super) answers: VecDeque<Outgoing>,
    pub(super) answer: Vec<u8>,
    /// Memory of datagrams for QUIC, and of answers.
    pub(super) memory: PacketMemory,
    /// Start of the current second of refusals, and their number in it.
    refusals: (Time, u32),
    pub(super) next_packet: u64,
}

impl TunnelEndpoint {
    /// Creates an endpoint, which is inactive before [`TunnelEndpoint::connect`] or
    /// [`TunnelEndpoint::receive`].
    ///
    /// # Errors
    /// If a value of the configuration is not allowed.
    pub fn new(config: TunnelEndpointConfig) -> Result<Self, TunnelEndpointError> {
        config::check(&config)?;
        let max_half_open = config.max_half_open;
        let mut maker = EndpointFactory::new(config);
        let tls = matches!(maker.config.randomness, super::randomness::Randomness::Seeded(_))
            .then(|| maker.source.stream("tls"));
        let mut endpoints = Vec::new();
        if maker.config.role == Role::Server {
            endpoints.push(maker.endpoint(quiclab_stacks::library::MAX_DATAGRAM_BYTES, TunnelProtocol::Own));
            if maker.config.connect_ip.is_some() {
                endpoints.push(
                    maker.endpoint(quiclab_stacks::library::MAX_DATAGRAM_BYTES, TunnelProtocol::ConnectIp),
                );
            }
        }
        Ok(Self {
            maker,
            clock: Clock::new(),
            tls,
            endpoints,
            connections: BTreeMap::new(),
            sessions: BTreeMap::new(),
            tokens: BTreeMap::new(),
            events: VecDeque::new(),
            timers: BTreeSet::new(),
            active: BTreeSet::new(),
            reverting: BTreeSet::new(),
            half_open: HalfOpen::new(max_half_open),
            strangers: Strangers::default(),
            next_session: 0,
            now: Time::ZERO,
            answers: VecDeque::new(),
            answer: Vec::new(),
            memory: PacketMemory::default(),
            refusals: (Time::ZERO, 0),
            next_packet: 0,
        })
    }

    pub(super) fn config(&self) -> &TunnelEndpointConfig {
        &self.maker.config
    }

    /// Whether a client requests one connection with all paths when it begins a session. CONNECT-IP has one path.
    pub(super) fn wants_multipath(&self) -> bool {
        self.config().kind == CarrierKind::Multipath && self.config().connect_ip.is_none()
    }

    pub(super) fn set_now(&mut self, now: Time) {
        self.now = now;
        self.maker.time.set(now);
    }

    /// Opens a session over `paths` (local and remote address); path `i` is `paths[i]`.
    /// [`TunnelEvent::SessionOpened`] follows, once and again after each loss of the session: the endpoint tries until
    /// [`TunnelEndpoint::close`].
    ///
    /// # Errors
    /// If this is a server or an address cannot be used.
    pub fn connect(
        &mut self,
        now: Time,
        paths: &[(SocketAddr, SocketAddr)],
    ) -> Result<SessionId, TunnelEndpointError> {
        self.set_now(now);
        if self.config().role != Role::Client {
            return Err(TunnelEndpointError::NotAClient);
        }
        if paths.len() > MAX_WIRE_PATHS {
            let expected = format!("at most {MAX_WIRE_PATHS} paths");
            return Err(TunnelEndpointError::Config(Problem::value("paths", paths.len(), expected)));
        }
        let mut session = Session::new();
        session.multipath = self.wants_multipath();
        for &(local, remote) in paths {
            let slot = self.slot(now, session.slots.len(), local, remote)?;
            session.slots.push(slot);
        }
        let id = SessionId(self.next_session);
        self.next_session += 1;
        self.sessions.insert(id, session);
        self.maintain(now, id);
        Ok(id)
    }

    fn slot(
        &self,
        now: Time,
        index: usize,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Result<SessionPath, TunnelEndpointError> {
        let config = self.config().path(index);
        let reason = if local.is_ipv4() != remote.is_ipv4() {
            "the addresses are of different families"
        } else if remote.ip().is_unspecified() || remote.port() == 0 {
            "the remote address or port is 0"
        } else if payload(config.mtu, &remote) < MIN_UDP_PAYLOAD {
            "its MTU leaves less than the 1200 bytes that QUIC needs"
        } else if index >= MAX_WIRE_PATHS {
            "there are too many paths"
        } else {
            return Ok(SessionPath::new(now, config, local, remote));
        };
        Err(TunnelEndpointError::Path { local, remote, reason })
    }

    /// Adds a path to a client's session, and returns its number.
    ///
    /// # Errors
    /// If there is no such session, or an address cannot be used.
    pub fn add_path(
        &mut self,
        now: Time,
        session: SessionId,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Result<usize, TunnelEndpointError> {
        self.set_now(now);
        if self.config().role != Role::Client {
            return Err(TunnelEndpointError::NotAClient);
        }
        let index = self.sessions.get(&session).ok_or(TunnelEndpointError::NoSession(session))?.slots.len();
        let slot = self.slot(now, index, local, remote)?;
        self.sessions.get_mut(&session).expect("it was found").slots.push(slot);
        self.maintain(now, session);
        Ok(index)
    }

    /// Slot of a path that was not removed.
    pub(super) fn slot_mut(
        &mut self,
        session: SessionId,
        path: usize,
    ) -> Result<&mut SessionPath, TunnelEndpointError> {
        let found = self.sessions.get_mut(&session).ok_or(TunnelEndpointError::NoSession(session))?;
        let slot = found.slots.get_mut(path).filter(|slot| !slot.removed);
        slot.ok_or(TunnelEndpointError::NoPath { session, path })
    }

    /// Protocol of the connections of an endpoint of QUIC: the second one of a server is for CONNECT-IP.
    pub(super) fn protocol_of(&self, endpoint: usize) -> TunnelProtocol {
        let second = self.config().role == Role::Client || endpoint == 1;
        if self.config().connect_ip.is_some() && second {
            TunnelProtocol::ConnectIp
        } else {
            TunnelProtocol::Own
        }
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<TunnelEvent> {
        let event = self.events.pop_front();
        if self.events.len() + 1 == MAX_PENDING_EVENTS && event.is_some() {
            // there is space again: unread data wait in QUIC
            let keys: Vec<_> = self.connections.keys().copied().collect();
            keys.into_iter().for_each(|key| self.handle_events(self.now, key));
        }
        event
    }

    /// Reports a rejected connection, unless many were reported recently.
    pub(super) fn refused(&mut self, now: Time, from: SocketAddr, reason: RefusalReason) {
        if now.since(self.refusals.0) >= Duration::from_secs(1) {
            self.refusals = (now, 0);
        }
        if self.refusals.1 < MAX_REFUSALS && self.events.len() < MAX_PENDING_EVENTS {
            self.refusals.1 += 1;
            self.events.push_back(TunnelEvent::Refused { from, reason });
        }
    }

    /// The sessions, by number.
    #[must_use]
    pub fn sessions(&self) -> Vec<SessionId> {
        self.sessions.keys().copied().collect()
    }

    /// Key of the peer of an open session.
    #[must_use]
    pub fn peer(&self, session: SessionId) -> Option<PublicKey> {
        self.sessions.get(&session).filter(|session| session.open)?.peer
    }

    /// Local and remote address of a path; `None` while there is no connection.
    #[must_use]
    pub fn addresses(&self, session: SessionId, path: usize) -> Option<(SocketAddr, SocketAddr)> {
        let slot = self.sessions.get(&session)?.slots.get(path)?;
        let track = self.connections.get(&slot.connection?)?.of_slot(path)?;
        Some((track.local, track.remote))
    }

    /// Known MTU of a path; `None` while it carries no data.
    #[must_use]
    pub fn path_mtu(&self, session: SessionId, path: usize) -> Option<PathMtu> {
        let (conn, track) = self.path_of(session, path).filter(|(_, track)| track.liveness.is_alive())?;
        let headers = super::send_pass::headers(&track.remote) as u16; // at most 48
        Some(PathMtu {
            bytes: track.gate.mtu() + headers,
            searching: track.gate.is_searching(),
            payload: conn.largest_payload()?,
            is_final: !conn.is_searching(),
        })
    }

    /// Number of datagrams of a session that were sent in fragments, and of those that arrived incompletely.
    #[must_use]
    pub fn fragmented(&self, session: SessionId) -> (u64, u64) {
        let session = self.sessions.get(&session);
        session.map_or((0, 0), |session| (session.fragmented, session.reassembly.incomplete))
    }

    /// Counters of packets from hosts without a session at a server, and of the reactions to them.
    #[must_use]
    pub fn strangers(&self) -> Strangers {
        let of_connections: u64 = self.connections.values().map(|conn| conn.withheld).sum();
        let withheld = self.strangers.withheld + of_connections;
        Strangers { half_open: self.half_open.total() as u64, withheld, ..self.strangers }
    }

    /// Number of connections, bound or not: the only state of peers in this endpoint.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Number of QUIC connections that carry a session: one for each of its paths, or one for all.
    #[must_use]
    pub fn connections_of(&self, session: SessionId) -> usize {
        self.sessions.get(&session).map_or(0, |session| session.connections().len())
    }

    /// Current carrier, which shows whether paths share a connection; `None` without a connection.
    #[must_use]
    pub fn carrier_kind(&self, session: SessionId) -> Option<CarrierKind> {
        let key = *self.sessions.get(&session)?.connections().first()?;
        let multipath = self.connections.get(&key)?.is_multipath();
        Some(if multipath { CarrierKind::Multipath } else { CarrierKind::Connections })
    }

    /// Whether a session is one of CONNECT-IP: it accepts capsules, and no control messages.
    #[must_use]
    pub fn is_connect_ip(&self, session: SessionId) -> bool {
        self.sessions.get(&session).is_some_and(|session| session.connect_ip)
    }

    /// Sends a control message: reliably and in order, to the same session at the peer.
    ///
    /// # Errors
    /// If the session is not open, the message is too long or too many bytes wait.
    pub fn send_control(&mut self, id: SessionId, message: Bytes) -> Result<(), TunnelEndpointError> {
        let session = self.sessions.get_mut(&id).ok_or(TunnelEndpointError::NoSession(id))?;
        if !session.open {
            return Err(TunnelEndpointError::NotOpen(id));
        }
        if message.len() > MAX_CONTROL_BYTES {
            return Err(TunnelEndpointError::TooLong { length: message.len() });
        }
        session.control.push(message).map_err(|waiting| TunnelEndpointError::Backlog { waiting })?;
        self.write_control_messages(id);
        Ok(())
    }

    /// Ends a session and notifies the peer; [`TunnelEndpoint::transmit`] returns the packets for that.
    pub fn close(&mut self, now: Time, id: SessionId) {
        self.set_now(now);
        self.end(now, id, CloseReason::Local);
    }

    /// Ends all sessions.
    pub fn close_all(&mut self, now: Time) {
        for id in self.sessions() {
            self.close(now, id);
        }
    }
}
