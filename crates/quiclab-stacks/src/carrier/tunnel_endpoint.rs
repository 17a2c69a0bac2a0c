//! The QUIC endpoint of a tunnel's process, with all its sessions. Sans-IO: it takes and gives UDP datagrams as
//! packets, and `now` as an argument.
//!
//! ```text
//! tunnel_endpoint ── receive, transmit, wake; deadlines
//!   ├── connection_events, control_stream, session_events ── how connections are bound to sessions, and end
//!   ├── per_path, multipath ── how a client connects and opens paths
//!   ├── session ── paths, control messages        connection ── the packets that it sends
//!   │                                               └── gated_controller, pacer, liveness (per path)
//!   └── endpoint, tls, control ── configurations of noq, keys, congestion control
//! ```

use super::config::TunnelEndpointConfig;
use super::connection::{ConnectionKey, TunnelConnection, packet};
use super::endpoint::{EndpointFactory, TunnelProtocol, payload};
use super::event::{CloseReason, Outgoing, SessionId, Strangers, TunnelEndpointError, TunnelEvent};
use super::half_open::HalfOpen;
use super::keys::PublicKey;
use super::path_mtu::{MIN_UDP_PAYLOAD, PathMtu};
use super::session::{Session, SessionPath};
use super::wire::{self, MAX_CONTROL_BYTES, MAX_WIRE_PATHS, Token};
use crate::time::Clock;
use bytes::Bytes;
use noq_proto::{ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, FourTuple, Transmit};
use quiclab_core::tunnel::{CarrierKind, TunnelPayload};
use quiclab_core::{Duration, Ecn, Packet, Payload, Problem, RandomStream, Role, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;

/// A client's attempt to connect ends without an answer after that long, and a connection at a server that is not
/// bound to a session.
pub(super) const ATTEMPT: Duration = Duration::from_secs(3);
/// From so many events on, no control message is read.
pub(super) const MAX_PENDING_EVENTS: usize = 1024;
/// Maximum number of stateless answers that wait to be sent.
const MAX_ANSWERS: usize = 256;
/// Refusals told per second.
const MAX_REFUSALS: u32 = 10;
/// A deadline that is due again immediately is postponed by this time: virtual time advances.
const MIN_TIMER_STEP: Duration = Duration::from_micros(1);

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    TunnelConnection(ConnectionKey),
    Session(SessionId),
}

/// All sessions of a process.
pub struct TunnelEndpoint {
    pub(super) maker: EndpointFactory,
    pub(super) clock: Clock,
    /// What TLS draws from in a simulation; `None` only while it is lent, and with the system's randomness.
    pub(super) tls: Option<RandomStream>,
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) connections: BTreeMap<ConnectionKey, TunnelConnection>,
    pub(super) sessions: BTreeMap<SessionId, Session>,
    pub(super) tokens: BTreeMap<Token, SessionId>,
    pub(super) events: VecDeque<TunnelEvent>,
    pub(super) timers: BTreeSet<(Time, Due)>,
    /// Lines that may have something to send.
    pub(super) active: BTreeSet<ConnectionKey>,
    /// Connections of a server that are not bound.
    pub(super) half_open: HalfOpen,
    pub(super) strangers: Strangers,
    pub(super) next_session: u64,
    /// Time of the last call that had one.
    pub(super) now: Time,
    answers: VecDeque<Outgoing>,
    answer: Vec<u8>,
    /// Start of the current second of refusals, and how many it had.
    refusals: (Time, u32),
    next_packet: u64,
}

impl TunnelEndpoint {
    /// An endpoint; it does nothing before [`TunnelEndpoint::connect`] or [`TunnelEndpoint::receive`].
    ///
    /// # Errors
    /// If a value of the configuration is not allowed.
    pub fn new(config: TunnelEndpointConfig) -> Result<Self, TunnelEndpointError> {
        check(&config)?;
        let max_half_open = config.max_half_open;
        let mut maker = EndpointFactory::new(config);
        let tls = matches!(maker.config.randomness, super::config::Randomness::Seeded(_))
            .then(|| maker.source.stream("tls"));
        let mut endpoints = Vec::new();
        if maker.config.role == Role::Server {
            endpoints.push(maker.endpoint(crate::library::MAX_DATAGRAM_BYTES, TunnelProtocol::Own));
            if maker.config.connect_ip.is_some() {
                endpoints.push(maker.endpoint(crate::library::MAX_DATAGRAM_BYTES, TunnelProtocol::ConnectIp));
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
            half_open: HalfOpen::new(max_half_open),
            strangers: Strangers::default(),
            next_session: 0,
            now: Time::ZERO,
            answers: VecDeque::new(),
            answer: Vec::new(),
            refusals: (Time::ZERO, 0),
            next_packet: 0,
        })
    }

    pub(super) fn config(&self) -> &TunnelEndpointConfig {
        &self.maker.config
    }

    pub(super) fn is_multipath(&self) -> bool {
        self.config().kind == CarrierKind::Multipath
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

    /// The slot of a path that was not removed.
    pub(super) fn slot_mut(
        &mut self,
        session: SessionId,
        path: usize,
    ) -> Result<&mut SessionPath, TunnelEndpointError> {
        let found = self.sessions.get_mut(&session).ok_or(TunnelEndpointError::NoSession(session))?;
        let slot = found.slots.get_mut(path).filter(|slot| !slot.removed);
        slot.ok_or(TunnelEndpointError::NoPath { session, path })
    }

    /// A UDP datagram arrives: `packet.tuple` is from the remote to the local address. The payload must be bytes.
    pub fn receive(&mut self, now: Time, packet: Packet) {
        self.set_now(now);
        let (remote, local) = (packet.tuple.source(), packet.tuple.destination());
        let Payload::Bytes(data) = packet.payload else { return };
        let Some(index) = self.endpoint_between(local, remote) else { return };
        if self.config().role == Role::Server && !wire::is_of_this_version(&data) {
            self.strangers.junk += 1;
            return;
        }
        let length = data.len() as u64;
        let plain = self.config().role == Role::Client && !self.is_multipath();
        let local_ip = Some(local.ip()).filter(|ip| !plain && !ip.is_unspecified());
        let ecn = match packet.ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        let mut answer = std::mem::take(&mut self.answer);
        answer.clear();
        let (instant, tuple) = (self.clock.instant(now), FourTuple::new(remote, local_ip));
        match self.endpoints[index].handle(instant, tuple, ecn, data, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(ConnectionHandle(handle), event)) => {
                let key = ConnectionKey { endpoint: index, handle };
                if let Some(conn) = self.connections.get_mut(&key) {
                    conn.credit = conn.credit.map(|credit| credit + length);
                    conn.flush(now);
                    conn.call(&mut self.tls, |connection| connection.handle_event(event));
                    conn.dirty = true;
                    conn.hear(now, local, remote);
                    self.collect_transmits(key, local, remote);
                    self.handle_events(now, key);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let sent = self.incoming(now, index, incoming, (local, length), &mut answer);
                self.respond(now, local, sent, &answer);
            }
            Some(DatagramEvent::Response(sent)) => self.respond(now, local, Some(sent), &answer),
            None => {}
        }
        self.answer = answer;
    }

    /// The endpoint that a datagram is for.
    fn endpoint_between(&self, local: SocketAddr, remote: SocketAddr) -> Option<usize> {
        if self.config().role == Role::Server {
            let connect_ip = self.config().connect_ip.as_ref();
            return Some(usize::from(connect_ip.is_some_and(|config| config.ports.contains(&local.port()))));
        }
        let slots = self.sessions.values().flat_map(|session| &session.slots);
        let from = slots.filter(|slot| slot.remote == remote && slot.local.port() == local.port());
        from.filter(|slot| slot.local.ip() == local.ip() || slot.local.ip().is_unspecified())
            .find_map(|slot| slot.endpoint)
    }

    /// What connections of this endpoint of QUIC speak: the second of a server is that of CONNECT-IP.
    pub(super) fn protocol_of(&self, endpoint: usize) -> TunnelProtocol {
        let second = self.config().role == Role::Client || endpoint == 1;
        if self.config().connect_ip.is_some() && second {
            TunnelProtocol::ConnectIp
        } else {
            TunnelProtocol::Own
        }
    }

    /// Hands what has arrived on a connection to its session.
    fn collect_transmits(&mut self, key: ConnectionKey, local: SocketAddr, remote: SocketAddr) {
        let Some(conn) = self.connections.get_mut(&key) else { return };
        let mut slot = None;
        while let Some(data) = conn.quic.datagrams().recv() {
            let slot = *slot.get_or_insert_with(|| conn.between(local, remote).and_then(|track| track.slot));
            let session = conn.session.filter(|_| conn.bound).and_then(|id| self.sessions.get_mut(&id));
            let (Some(session), Some(slot)) = (session, slot) else { continue };
            match &conn.http3 {
                None => session.receive(slot, &data),
                Some(http3) => match http3.packet(&data) {
                    Ok(Some(packet)) => session.deliver(slot, TunnelPayload::Bytes(packet)),
                    Ok(None) => {}
                    Err(error) => {
                        let now = self.now;
                        return self.close_with_error(now, key, (error.code, error.reason));
                    }
                },
            }
        }
    }

    /// Sends an answer that belongs to no connection.
    fn respond(&mut self, now: Time, local: SocketAddr, sent: Option<Transmit>, answer: &[u8]) {
        let Some(sent) = sent.filter(|_| self.answers.len() < MAX_ANSWERS) else { return };
        let packet = packet(now, local, sent.destination, Ecn::NotEct, &answer[..sent.size]);
        self.answers.push_back(Outgoing { packet, segment: None, mtu_probe: false });
    }

    /// What is left of a connection that is gone.
    pub(super) fn send_rest(&mut self, out: VecDeque<(Option<usize>, Outgoing)>) {
        self.answers.extend(out.into_iter().map(|(_, outgoing)| outgoing));
    }

    /// What is to be sent now; ask until `None`.
    pub fn transmit(&mut self, now: Time) -> Option<Outgoing> {
        self.set_now(now);
        if let Some(answer) = self.answers.pop_front() {
            return Some(self.number(answer));
        }
        while let Some(&key) = self.active.first() {
            if let Some((_, outgoing)) = self.next_of(now, key) {
                return Some(outgoing);
            }
        }
        self.answers.pop_front().map(|answer| self.number(answer))
    }

    /// The next packet of a conn; its last gone, it is no longer active.
    pub(super) fn next_of(&mut self, now: Time, key: ConnectionKey) -> Option<(Option<usize>, Outgoing)> {
        let conn = self.connections.get_mut(&key);
        let next = conn.and_then(|conn| {
            if conn.out.is_empty() {
                conn.settle(now, &mut self.tls);
            }
            conn.out.pop_front()
        });
        if let Some((slot, outgoing)) = next {
            return Some((slot, self.number(outgoing)));
        }
        self.active.remove(&key);
        self.handle_events(now, key);
        None
    }

    fn number(&mut self, mut outgoing: Outgoing) -> Outgoing {
        outgoing.packet.id = self.next_packet;
        self.next_packet += 1;
        outgoing
    }

    /// Handles the timers that are due.
    pub fn wake(&mut self, now: Time) {
        self.set_now(now);
        while let Some((_, due)) = self.timers.first().copied().filter(|(time, _)| *time <= now) {
            self.timers.pop_first();
            match due {
                Due::Session(id) => {
                    if let Some(session) = self.sessions.get_mut(&id) {
                        session.timer = None;
                    }
                    self.maintain(now, id);
                }
                Due::TunnelConnection(key) => {
                    let Some(conn) = self.connections.get_mut(&key) else { continue };
                    conn.timer = None;
                    conn.flush(now);
                    conn.timeout(now, &mut self.tls);
                    if !conn.bound && !conn.over && conn.opened + ATTEMPT <= now {
                        self.give_up(now, key);
                    }
                    self.handle_events(now, key);
                }
            }
        }
    }

    /// When [`TunnelEndpoint::wake`] wants to be called.
    #[must_use]
    pub fn next_wake(&self) -> Option<Time> {
        self.timers.first().map(|(time, _)| *time)
    }

    /// Sets the timer of a conn.
    pub(super) fn schedule(&mut self, now: Time, key: ConnectionKey) {
        let Some(conn) = self.connections.get_mut(&key) else { return };
        let session = conn.session.and_then(|id| self.sessions.get(&id));
        let backlogged = session.is_some_and(|session| session.backlogged);
        let limit = (!conn.bound && !conn.over).then(|| conn.opened + ATTEMPT);
        let deadline = conn.deadline(now, backlogged, limit).map(|time| time.max(now + MIN_TIMER_STEP));
        set_timer(&mut self.timers, &mut conn.timer, deadline, Due::TunnelConnection(key));
    }

    /// Sets the timer of a client's session.
    pub(super) fn schedule_session(&mut self, now: Time, id: SessionId, deadline: Option<Time>) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let deadline = deadline.map(|time| time.max(now + MIN_TIMER_STEP));
        set_timer(&mut self.timers, &mut session.timer, deadline, Due::Session(id));
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<TunnelEvent> {
        let event = self.events.pop_front();
        if self.events.len() + 1 == MAX_PENDING_EVENTS && event.is_some() {
            // there is room again: what was not read waits in QUIC
            let keys: Vec<_> = self.connections.keys().copied().collect();
            keys.into_iter().for_each(|key| self.handle_events(self.now, key));
        }
        event
    }

    /// Reports a rejected connection, unless many were reported recently.
    pub(super) fn refused(&mut self, now: Time, from: SocketAddr, reason: String) {
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

    /// Who is at the other end of an open session.
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

    /// The MTU of a path as far as it is known; `None` while it carries nothing.
    #[must_use]
    pub fn path_mtu(&self, session: SessionId, path: usize) -> Option<PathMtu> {
        let (conn, track) = self.path_of(session, path).filter(|(_, track)| track.liveness.is_alive())?;
        let headers = super::connection::headers(&track.remote) as u16; // at most 48
        Some(PathMtu {
            bytes: track.gate.mtu() + headers,
            searching: track.gate.is_searching(),
            payload: conn.largest_payload()?,
            is_final: !conn.is_searching(),
        })
    }

    /// Datagrams of a session that were sent in fragments, and that arrived in fragments of which some are missing.
    #[must_use]
    pub fn fragmented(&self, session: SessionId) -> (u64, u64) {
        let session = self.sessions.get(&session);
        session.map_or((0, 0), |session| (session.fragmented, session.reassembly.incomplete))
    }

    /// What hosts without a session have sent to a server, and what became of it.
    #[must_use]
    pub fn strangers(&self) -> Strangers {
        let of_connections: u64 = self.connections.values().map(|conn| conn.withheld).sum();
        let withheld = self.strangers.withheld + of_connections;
        Strangers { half_open: self.half_open.total() as u64, withheld, ..self.strangers }
    }

    /// Connections, bound or not: all that this endpoint keeps of its peers.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Sends a control message: reliably and in order, to the same session of the other end.
    ///
    /// # Errors
    /// If the session is not open, the message is too long or too much waits.
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

    /// Replaces the identities that the other ends of later connections may have. Sessions that are open stay, also those of
    /// ends that may not connect any more: [`TunnelEndpoint::close`] ends them.
    pub fn set_peers(&mut self, peers: Vec<PublicKey>) {
        self.maker.set_peers(peers);
    }

    /// Ends a session and tells the other end; what that takes comes with the next [`TunnelEndpoint::transmit`]s.
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

/// Moves what is `due` at `timer` to `deadline`.
fn set_timer(timers: &mut BTreeSet<(Time, Due)>, timer: &mut Option<Time>, deadline: Option<Time>, due: Due) {
    if *timer != deadline {
        if let Some(time) = *timer {
            timers.remove(&(time, due));
        }
        if let Some(time) = deadline {
            timers.insert((time, due));
        }
        *timer = deadline;
    }
}

fn check(config: &TunnelEndpointConfig) -> Result<(), TunnelEndpointError> {
    let wrong = |field, value: String, expected: &str| {
        Err(TunnelEndpointError::Config(Problem::value(field, value, expected)))
    };
    if config.paths.is_empty() {
        return wrong("paths", "empty".into(), "one entry or more");
    }
    let smallest = MIN_UDP_PAYLOAD + 28;
    if let Some(path) = config.paths.iter().find(|path| path.mtu < smallest) {
        let expected = format!("{smallest} (IPv4) or {} (IPv6) to {}", smallest + 20, u16::MAX);
        return wrong("mtu", path.mtu.to_string(), &expected);
    }
    let second = Duration::from_secs(1);
    if !(second..=second * 600).contains(&config.idle_timeout) {
        return wrong("idle_timeout", config.idle_timeout.to_string(), "1 s to 10 min");
    }
    if !(Duration::from_millis(10)..=config.idle_timeout).contains(&config.keep_alive) {
        return wrong("keep_alive", config.keep_alive.to_string(), "10 ms to the idle timeout");
    }
    if !(1..=64).contains(&config.segments) {
        return wrong("segments", config.segments.to_string(), "1 to 64 (UDP_MAX_SEGMENTS of Linux)");
    }
    if config.max_half_open == 0 {
        return wrong("max_half_open", "0".into(), "1 or more");
    }
    Ok(())
}
