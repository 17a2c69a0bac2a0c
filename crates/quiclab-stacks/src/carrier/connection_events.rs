//! What connections say: their events, the frames of their control streams, and how they are bound to sessions.
//!
//! A client opens the control stream of each connection with `Hello`; the server answers the first of a session
//! with a token, and the others must show it, from the same peer key. Whatever else a peer says closes its
//! connection.

use super::config::PathConfig;
use super::connection::{ConnectionKey, TunnelConnection};
use super::control;
use super::event::{CloseReason, SessionId, TunnelEvent};
use super::keys::PublicKey;
use super::session::{Control, FIRST_BACKOFF, Session, SessionPath};
use super::tls;
use super::tunnel_endpoint::{Due, MAX_PENDING_EVENTS, TunnelEndpoint};
use super::wire::{self, Frame, MAX_CONTROL_BYTES, MAX_WIRE_PATHS, NO_TOKEN, Token};
use crate::seeded;
use noq_proto::{
    ConnectionError, ConnectionHandle, Dir, Event, Incoming, PathEvent, PathId, PathStatus, Transmit,
};
use quiclab_core::{Role, Time};
use std::net::SocketAddr;

/// Codes of CONNECTION_CLOSE, and their reasons.
pub(super) const CLOSED: (u32, &str) = (0, "closed");
const VIOLATION: (u32, &str) = (1, "malformed or unexpected frame");
const UNKNOWN_TOKEN: (u32, &str) = (2, "unknown session");
const REPLACED: (u32, &str) = (3, "replaced by a new connection");
const TOO_MANY: (u32, &str) = (4, "too many sessions");
pub(super) const NO_ANSWER: (u32, &str) = (5, "no answer");

type Code = (u32, &'static str);

/// Bytes that may wait for a control stream before a peer is not read any more, and before messages wait outside.
const FULL_OUTBOX: usize = 128 << 10;
/// Least UDP payload that an end of QUIC takes.
const MIN_UDP_PAYLOAD: u16 = 1200;
/// Bytes of a frame beside a message, at most.
const FRAME_HEADER: usize = 64;

impl TunnelEndpoint {
    /// Somebody connects to the server; returns the stateless answer in `answer`, if there is one.
    pub(super) fn incoming(
        &mut self,
        now: Time,
        index: usize,
        incoming: Incoming,
        local: SocketAddr,
        answer: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let most = self.config().max_half_open;
        let from = incoming.remote_address();
        if self.unbound >= most {
            self.endpoints[index].ignore(incoming);
            self.refused(now, from, format!("{most} connections are half-open already"));
            return None;
        }
        if self.unbound >= most.div_ceil(4) && !incoming.remote_address_validated() {
            return self.endpoints[index].retry(incoming, answer).ok();
        }
        let config = std::sync::Arc::new(self.maker.server(&from));
        let instant = self.clock.instant(now);
        let endpoint = &mut self.endpoints[index];
        let accepted =
            seeded::with_stream(&mut self.tls, || endpoint.accept(incoming, instant, answer, Some(config)));
        match accepted {
            Ok((ConnectionHandle(handle), connection)) => {
                let mut line = TunnelConnection::new(now, connection, self.config().segments);
                let keep_alive = self.config().keep_alive;
                line.track(now, PathId::ZERO, None, (local, from), keep_alive);
                let key = ConnectionKey { endpoint: index, handle };
                self.lines.insert(key, line);
                self.unbound += 1;
                self.handle_events(now, key);
                None
            }
            Err(error) => {
                self.refused(now, from, error.cause.to_string());
                error.response
            }
        }
    }

    /// Handles what a connection has to say.
    pub(super) fn handle_events(&mut self, now: Time, key: ConnectionKey) {
        while let Some(line) = self.lines.get_mut(&key) {
            let endpoint = &mut self.endpoints[key.endpoint];
            while let Some(event) = line.connection.poll_endpoint_events() {
                if let Some(event) = endpoint.handle_event(ConnectionHandle(key.handle), event) {
                    line.connection.handle_event(event);
                    line.dirty = true;
                }
            }
            let Some(event) = line.connection.poll() else { break };
            line.dirty = true;
            self.event(now, key, event);
        }
        self.drive_control_stream(now, key);
        self.look(now, key);
        let Some(line) = self.lines.get_mut(&key) else { return };
        if line.connection.is_drained() {
            return self.discard(key);
        }
        if line.dirty || !line.out.is_empty() {
            self.active.insert(key);
        }
        self.schedule(now, key);
    }

    /// Forgets a connection that QUIC has forgotten.
    fn discard(&mut self, key: ConnectionKey) {
        let Some(line) = self.lines.remove(&key) else { return };
        self.active.remove(&key);
        if let Some(time) = line.timer {
            self.timers.remove(&(time, Due::TunnelConnection(key)));
        }
        if self.config().role == Role::Server && !line.was_bound {
            self.unbound -= 1;
        }
        self.send_rest(line.out);
    }

    fn event(&mut self, now: Time, key: ConnectionKey, event: Event) {
        let Some(line) = self.lines.get_mut(&key) else { return };
        match event {
            Event::Connected => {
                line.connected = true;
                line.measure();
                if let (Role::Client, Some(session)) = (self.maker.config.role, line.session) {
                    line.stream = line.connection.streams().open(Dir::Bi);
                    self.send_hello(now, session);
                }
            }
            Event::ConnectionLost { reason } => self.lost(now, key, &reason),
            Event::Path(PathEvent::Established { id, .. }) => self.path_established(now, key, id),
            Event::Path(PathEvent::Abandoned { id, .. }) => self.path_abandoned(now, key, id),
            Event::Path(PathEvent::RemoteStatus { id, status, .. }) => {
                // whoever notices first tells the other: acknowledgements must not take a path that is dead
                if let Some(track) = line.of_id(id).filter(|_| status == PathStatus::Backup) {
                    track.liveness.mark_suspect(now);
                    let slot = track.slot;
                    line.set_statuses();
                    if let (Some(session), Some(slot)) = (line.session, slot) {
                        self.set_up(session, slot, false);
                    }
                }
            }
            _ => {}
        }
    }

    /// A connection is lost.
    fn lost(&mut self, now: Time, key: ConnectionKey, reason: &ConnectionError) {
        let Some(line) = self.lines.get_mut(&key) else { return };
        line.over = true;
        let (session, bound, from) =
            (line.session, line.bound, line.tracks.first().map(|track| track.remote));
        let told = match reason {
            ConnectionError::ApplicationClosed(close) => {
                (close.error_code == UNKNOWN_TOKEN.0.into()).then_some(CloseReason::Reset)
            }
            _ => None,
        };
        if let (false, Some(from)) = (bound, from) {
            let silent = matches!(reason, ConnectionError::TimedOut | ConnectionError::Reset);
            if !silent && told.is_none() {
                self.refused(now, from, reason.to_string());
            }
        }
        let Some(session) = session else { return };
        if told.is_some() {
            return self.end(now, session, CloseReason::Reset);
        }
        self.detach(
            now,
            session,
            key,
            match reason {
                ConnectionError::TimedOut => CloseReason::Idle,
                ConnectionError::Reset => CloseReason::Reset,
                reason => CloseReason::Remote(reason.to_string()),
            },
        );
    }

    /// A connection that was not bound in time is closed.
    pub(super) fn give_up(&mut self, now: Time, key: ConnectionKey) {
        let Some(line) = self.lines.get_mut(&key) else { return };
        let from = line.tracks.first().map(|track| track.remote).filter(|_| line.connected);
        let session = self.close_connection(now, key, NO_ANSWER);
        if let (Role::Server, Some(from)) = (self.config().role, from) {
            self.refused(now, from, "it did not ask for a session".into());
        }
        if let Some(session) = session {
            self.detach(now, session, key, CloseReason::Idle);
        }
    }

    /// Closes a connection; its session, which it is no longer part of, is returned.
    pub(super) fn close_connection(
        &mut self,
        now: Time,
        key: ConnectionKey,
        (code, reason): Code,
    ) -> Option<SessionId> {
        let line = self.lines.get_mut(&key)?;
        line.flush(now);
        if !line.over {
            line.over = true;
            line.close(now, code, reason);
        }
        self.active.insert(key);
        let session = self.lines.get_mut(&key)?.session;
        self.schedule(now, key);
        session
    }

    /// Takes a connection out of its session; without any left, the session is over.
    pub(super) fn detach(&mut self, now: Time, id: SessionId, key: ConnectionKey, reason: CloseReason) {
        if let Some(line) = self.lines.get_mut(&key) {
            (line.session, line.bound) = (None, false);
        }
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if let Some(line) = self.lines.get(&key) {
            session.past += line.counts;
        }
        if session.asking == Some(key) {
            session.asking = None;
        }
        let mut down = Vec::new();
        for (index, slot) in session.slots.iter_mut().enumerate() {
            if slot.line == Some(key) {
                slot.back_off(now);
                down.push(index);
            }
        }
        down.into_iter().for_each(|path| self.set_up(id, path, false));
        let session = &self.sessions[&id];
        let left =
            session.lines().into_iter().any(|other| self.lines.get(&other).is_some_and(|line| line.bound));
        if session.open && !left {
            return self.end(now, id, reason);
        }
        self.write_control_messages(id);
        self.send_hello(now, id);
        self.maintain(now, id);
    }

    /// A session is over; a client's starts again, unless it ended it itself.
    pub(super) fn end(&mut self, now: Time, id: SessionId, reason: CloseReason) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let again = self.maker.config.role == Role::Client && reason != CloseReason::Local;
        let was_open = std::mem::take(&mut session.open);
        if let Some(token) = session.token.take() {
            self.tokens.remove(&token);
        }
        session.control = Control::default();
        session.asking = None;
        let lines = session.lines();
        let up: Vec<_> = (0..session.slots.len()).filter(|&index| session.slots[index].up).collect();
        session.slots.iter_mut().filter(|slot| slot.line.is_some()).for_each(|slot| slot.back_off(now));
        up.into_iter().for_each(|path| self.set_up(id, path, false));
        let code = if reason == CloseReason::Replaced { REPLACED } else { CLOSED };
        for key in lines {
            if let Some(line) = self.lines.get_mut(&key) {
                (line.session, line.bound) = (None, false);
                if let Some(session) = self.sessions.get_mut(&id) {
                    session.past += line.counts;
                }
            }
            self.close_connection(now, key, code);
        }
        if was_open || !again {
            self.events.push_back(TunnelEvent::SessionClosed { session: id, reason });
        }
        if again {
            self.maintain(now, id);
        } else if let Some(session) = self.sessions.remove(&id)
            && let Some(time) = session.timer
        {
            self.timers.remove(&(time, Due::Session(id)));
        }
    }

    /// Tells the application whether a path carries data, if that has changed.
    pub(super) fn set_up(&mut self, id: SessionId, path: usize, up: bool) {
        let Some(slot) = self.sessions.get_mut(&id).and_then(|session| session.slots.get_mut(path)) else {
            return;
        };
        if slot.up != up {
            slot.up = up;
            self.events.push_back(match up {
                true => TunnelEvent::PathUp { session: id, path },
                false => TunnelEvent::PathDown { session: id, path },
            });
        }
    }

    /// Reads and writes the control stream.
    fn drive_control_stream(&mut self, now: Time, key: ConnectionKey) {
        loop {
            let full = self.events.len() >= MAX_PENDING_EVENTS;
            let server = self.config().role == Role::Server;
            let Some(line) = self.lines.get_mut(&key).filter(|line| !line.over && line.connected) else {
                return;
            };
            if server && line.stream.is_none() {
                line.stream = line.connection.streams().accept(Dir::Bi);
            }
            if full || line.outbox.len() > FULL_OUTBOX {
                break;
            }
            let open = line.read(MAX_CONTROL_BYTES + FRAME_HEADER);
            let handled = match wire::frame(&line.inbox) {
                Ok(Some((frame, taken))) => {
                    let _ = line.inbox.split_to(taken);
                    self.frame(now, key, frame)
                }
                Ok(None) if open => break,
                Ok(None) | Err(_) => Err(VIOLATION),
            };
            if let Err(code) = handled {
                return self.close_with_error(now, key, code);
            }
        }
        let Some(line) = self.lines.get_mut(&key) else { return };
        line.write();
        if let Some(session) = line.session.filter(|_| line.bound) {
            self.write_control_messages(session);
        }
    }

    /// Closes the connection of a peer that does not keep to the rules.
    fn close_with_error(&mut self, now: Time, key: ConnectionKey, code: Code) {
        let line = &self.lines[&key];
        if let (false, Some(track)) = (line.bound, line.tracks.first()) {
            let from = track.remote;
            self.refused(now, from, code.1.to_owned());
        }
        if let Some(session) = self.close_connection(now, key, code) {
            self.detach(now, session, key, CloseReason::Remote(code.1.to_owned()));
        }
    }

    fn frame(&mut self, now: Time, key: ConnectionKey, frame: Frame) -> Result<(), Code> {
        let server = self.config().role == Role::Server;
        let line = self.lines.get_mut(&key).ok_or(VIOLATION)?;
        match frame {
            // a limit below that of QUIC itself (RFC 9000 section 18.2) would leave no room for anything
            Frame::Hello { payload: ..MIN_UDP_PAYLOAD, .. } => Err(VIOLATION),
            Frame::Hello { token, path, payload } if server && !line.bound => {
                line.payload_limit = Some(payload);
                self.on_hello(now, key, token, path.into())
            }
            Frame::Welcome { token } if !server && !line.bound => self.on_welcome(now, key, token),
            Frame::Message { number, message } if line.bound => {
                let id = line.session.ok_or(VIOLATION)?;
                let session = self.sessions.get_mut(&id).ok_or(VIOLATION)?;
                let new = session.control.arrive(number).ok_or(VIOLATION)?;
                Frame::Received { next: session.control.expected() }.encode(&mut line.outbox);
                if new {
                    self.events.push_back(TunnelEvent::Control { session: id, message });
                }
                Ok(())
            }
            Frame::Received { next } if line.bound => {
                let session = line.session.and_then(|id| self.sessions.get_mut(&id)).ok_or(VIOLATION)?;
                session.control.received(next).then_some(()).ok_or(VIOLATION)
            }
            Frame::Path { id, path } if server && line.bound && usize::from(path) < MAX_WIRE_PATHS => {
                if line.names.len() >= MAX_WIRE_PATHS {
                    line.names.pop_first(); // identifiers only grow
                }
                line.names.insert(id, path.into());
                self.path_named(now, key, PathId::from(id));
                Ok(())
            }
            _ => Err(VIOLATION),
        }
    }

    /// A client introduces a connection.
    fn on_hello(&mut self, now: Time, key: ConnectionKey, token: Token, path: usize) -> Result<(), Code> {
        let peer = tls::peer(&self.lines[&key].connection).ok_or(VIOLATION)?;
        if path >= MAX_WIRE_PATHS {
            return Err(VIOLATION);
        }
        let (id, token) = if token == NO_TOKEN {
            self.new_session(now, peer)?
        } else {
            let id = *self.tokens.get(&token).ok_or(UNKNOWN_TOKEN)?;
            let known = self.sessions.get(&id).is_some_and(|session| session.peer == Some(peer));
            (id, known.then_some(token).ok_or(UNKNOWN_TOKEN)?)
        };
        // with multipath a session is one connection; else a path is
        let multipath = self.is_multipath();
        let of_path = self.sessions[&id].slots.get(path).and_then(|slot| slot.line);
        let same = |(other, line): (&ConnectionKey, &TunnelConnection)| {
            let replaced = multipath && line.session == Some(id) || of_path == Some(*other);
            (replaced && *other != key).then_some(*other)
        };
        for other in self.lines.iter().filter_map(same).collect::<Vec<_>>() {
            self.replace(now, id, other);
        }
        let line = self.lines.get_mut(&key).ok_or(VIOLATION)?;
        Frame::Welcome { token }.encode(&mut line.outbox);
        line.was_bound = true;
        self.unbound -= 1;
        if !self.sessions[&id].open {
            self.sessions.get_mut(&id).expect("it is open").open = true;
            self.events.push_back(TunnelEvent::SessionOpened { session: id, peer });
        }
        self.bind(now, id, key, path, PathId::ZERO);
        Ok(())
    }

    /// Another connection takes the place of `key` in a session.
    fn replace(&mut self, now: Time, id: SessionId, key: ConnectionKey) {
        self.close_connection(now, key, REPLACED);
        let Some(line) = self.lines.get_mut(&key) else { return };
        (line.session, line.bound) = (None, false);
        let counts = line.counts;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.past += counts;
        let of_line = |(index, slot): (usize, &mut SessionPath)| {
            (slot.line == Some(key)).then(|| {
                slot.line = None;
                index
            })
        };
        for path in session.slots.iter_mut().enumerate().filter_map(of_line).collect::<Vec<_>>() {
            self.set_up(id, path, false);
        }
    }

    fn new_session(&mut self, now: Time, peer: PublicKey) -> Result<(SessionId, Token), Code> {
        let old = self.sessions.iter().find(|(_, session)| session.peer == Some(peer)).map(|(id, _)| *id);
        if let Some(old) = old {
            self.end(now, old, CloseReason::Replaced);
        }
        if self.sessions.len() >= self.config().max_sessions {
            return Err(TOO_MANY);
        }
        let token: Token = self.maker.source.draw();
        let id = SessionId(self.next_session);
        self.next_session += 1;
        let mut session = Session::new();
        (session.peer, session.token) = (Some(peer), Some(token));
        self.tokens.insert(token, id);
        self.sessions.insert(id, session);
        Ok((id, token))
    }

    /// The server has bound a connection of this client.
    fn on_welcome(&mut self, now: Time, key: ConnectionKey, token: Token) -> Result<(), Code> {
        let line = &self.lines[&key];
        let id = line.session.ok_or(VIOLATION)?;
        let peer = tls::peer(&line.connection).ok_or(VIOLATION)?;
        let path = line.tracks.first().and_then(|track| track.slot).ok_or(VIOLATION)?;
        let session = self.sessions.get_mut(&id).ok_or(VIOLATION)?;
        if *session.token.get_or_insert(token) != token || token == NO_TOKEN {
            return Err(VIOLATION);
        }
        session.asking = None;
        if !session.open {
            (session.open, session.peer) = (true, Some(peer));
            self.events.push_back(TunnelEvent::SessionOpened { session: id, peer });
        }
        self.bind(now, id, key, path, PathId::ZERO);
        self.send_hello(now, id);
        self.maintain(now, id);
        Ok(())
    }

    /// From now on `path` of the session is what QUIC calls `track` on this connection.
    pub(super) fn bind(&mut self, now: Time, id: SessionId, key: ConnectionKey, path: usize, track: PathId) {
        let random = self.maker.source.stream("congestion");
        let mtu = self.maker.largest_mtu();
        let (Some(session), Some(line)) = (self.sessions.get_mut(&id), self.lines.get_mut(&key)) else {
            return;
        };
        (line.session, line.bound) = (Some(id), true);
        let Some(track) = line.of_id(track) else { return };
        let config = self.maker.config.path(path);
        while session.slots.len() <= path {
            let config = PathConfig { mtu, ..self.maker.config.path(session.slots.len()) };
            session.slots.push(SessionPath::new(now, config, track.local, track.remote));
        }
        let slot = &mut session.slots[path];
        (slot.line, slot.backoff) = (Some(key), FIRST_BACKOFF);
        if self.maker.config.role == Role::Server {
            (slot.local, slot.remote) = (track.local, track.remote);
        }
        (track.slot, track.established) = (Some(path), true);
        let payload = super::endpoint::payload(slot.config.mtu, &slot.remote);
        track.gate.replace(now, control::controller(config, payload, random, &session.group, path));
        line.measure();
        line.dirty = true;
        self.active.insert(key);
        self.set_up(id, path, true);
        self.write_control_messages(id);
    }

    /// A client introduces the connections that are ready; one asks for a session, the others know its token.
    pub(super) fn send_hello(&mut self, now: Time, id: SessionId) {
        if self.config().role != Role::Client {
            return;
        }
        let Some(session) = self.sessions.get_mut(&id) else { return };
        for (index, slot) in session.slots.iter().enumerate() {
            let Some(key) = slot.line else { continue };
            let Some(line) = self.lines.get_mut(&key) else { continue };
            let first = line.tracks.first().and_then(|track| track.slot) == Some(index);
            if !line.connected || line.bound || line.greeted || line.over || !first {
                continue;
            }
            let token = match session.token {
                Some(token) => token,
                None if session.asking.is_none() => {
                    session.asking = Some(key);
                    NO_TOKEN
                }
                None => continue,
            };
            line.greeted = true;
            let payload = super::endpoint::payload(slot.config.mtu, &slot.remote);
            let path = u8::try_from(index).expect("slots are at most 64");
            Frame::Hello { token, path, payload }.encode(&mut line.outbox);
            line.write();
            line.dirty = true;
            self.active.insert(key);
        }
        let _ = now;
    }

    /// Writes control messages on the best connection of the session.
    pub(super) fn write_control_messages(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let alive = |key: &ConnectionKey| {
            self.lines.get(key).is_some_and(|line| {
                line.bound && line.tracks.iter().any(|track| track.established && track.liveness.is_alive())
            })
        };
        if !session.control.line.as_ref().is_some_and(&alive) {
            let other = session.lines().into_iter().find(alive);
            session.control.move_to(other);
        }
        let Some(key) = session.control.line else { return };
        let Some(line) = self.lines.get_mut(&key) else { return };
        while line.outbox.len() < FULL_OUTBOX {
            let Some((number, message)) = session.control.next() else { break };
            Frame::Message { number, message }.encode(&mut line.outbox);
        }
        line.flush(self.now);
        line.write();
        if line.dirty {
            self.active.insert(key);
        }
    }

    /// Looks after the paths of a connection: which answer, and whom to ask.
    fn look(&mut self, now: Time, key: ConnectionKey) {
        let multipath = self.is_multipath();
        let Some(line) = self.lines.get_mut(&key).filter(|line| line.bound && !line.over) else { return };
        let Some(id) = line.session else { return };
        let mut changes = Vec::new();
        if multipath {
            changes.extend(line.compare(now).into_iter().map(|slot| (slot, false)));
        }
        for index in 0..line.tracks.len() {
            let path = line.tracks[index].id;
            let srtt = line.srtt(path);
            let tuple = line.connection.network_path(path).ok();
            let track = &mut line.tracks[index];
            if let Some(tuple) = tuple.filter(|tuple| tuple.remote() != track.remote) {
                // the client has moved (RFC 9000 section 9): the controller may be another one
                track.remote = tuple.remote();
                if let Some(ip) = tuple.local_ip() {
                    track.local.set_ip(ip);
                }
                if let Some(gate) = super::gated_controller::of_path(&line.connection, path) {
                    track.gate.hand_over(now, &gate);
                    track.gate = gate;
                }
                line.dirty = true;
            }
            let track = &mut line.tracks[index];
            if !track.established {
                continue;
            }
            let verdict = track.liveness.look(now, &track.gate, srtt);
            if verdict.ask {
                let _ = line.connection.ping_path(path); // it exists
                line.dirty = true;
            }
            let track = &line.tracks[index];
            if let (Some(alive), Some(slot)) = (verdict.changed, track.slot) {
                changes.push((slot, alive));
            }
        }
        if multipath && !changes.is_empty() {
            line.set_statuses();
        }
        for (slot, alive) in &changes {
            self.set_up(id, *slot, *alive);
        }
        if !changes.is_empty() {
            self.write_control_messages(id);
        }
    }
}
