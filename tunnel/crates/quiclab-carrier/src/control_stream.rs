//! Control streams of connections.
//!
//! A client opens the control stream of each connection with `Hello`; the server answers the first of a session
//! with a token, and the others must present it, from the same peer. Any other frame closes the connection.

use super::connection::{ConnectionKey, TunnelConnection};
use super::connection_events::{Code, UNKNOWN_KEY, UNKNOWN_TOKEN, VIOLATION};
use super::event::{CloseReason, RefusalReason, SessionId, TunnelEvent};
use super::path_mtu::MIN_UDP_PAYLOAD;
use super::tunnel_endpoint::{MAX_PENDING_EVENTS, TunnelEndpoint};
use super::verifier::Identity;
use super::wire::{self, Frame, MAX_CONTROL_BYTES, MAX_WIRE_PATHS, NO_TOKEN, Token};
use noq_proto::{Dir, PathId};
use quiclab_core::{Role, Time};

/// Maximum number of bytes that wait for a control stream before reading stops, and before messages wait
/// outside.
const FULL_OUTBOX: usize = 128 << 10;
/// Maximum number of bytes of a frame in addition to a message.
const FRAME_HEADER: usize = 64;

impl TunnelEndpoint {
    /// Reads and writes the control stream.
    pub(super) fn drive_control_stream(&mut self, now: Time, key: ConnectionKey) {
        #[cfg(feature = "connect-ip")]
        if self.connections.get(&key).is_some_and(|conn| conn.http3.is_some()) {
            return self.drive_http3(now, key);
        }
        loop {
            let full = self.events.len() >= MAX_PENDING_EVENTS;
            let server = self.config().role == Role::Server;
            let Some(conn) = self.connections.get_mut(&key).filter(|conn| !conn.over && conn.connected)
            else {
                return;
            };
            if server && conn.stream.is_none() {
                conn.stream = conn.quic.streams().accept(Dir::Bi);
            }
            if full || conn.outbox.len() > FULL_OUTBOX {
                break;
            }
            let open = conn.read(MAX_CONTROL_BYTES + FRAME_HEADER);
            let handled = match wire::frame(&conn.inbox) {
                Ok(Some((frame, taken))) => {
                    let _ = conn.inbox.split_to(taken);
                    self.frame(now, key, frame)
                }
                Ok(None) if open => break,
                Ok(None) | Err(_) => Err(VIOLATION),
            };
            if let Err(code) = handled {
                return self.close_with_error(now, key, code);
            }
        }
        let Some(conn) = self.connections.get_mut(&key) else { return };
        conn.write(now);
        if let Some(session) = conn.session.filter(|_| conn.bound) {
            self.write_control_messages(session);
        }
    }

    /// Closes the connection of a peer that violates the protocol.
    pub(super) fn close_with_error(&mut self, now: Time, key: ConnectionKey, code: Code) {
        let Some(conn) = self.connections.get(&key) else { return };
        if let (false, Some(track)) = (conn.bound, conn.tracks.first()) {
            let from = track.remote;
            let reason = match code {
                UNKNOWN_KEY => RefusalReason::UnknownKey(self.key_of(key)),
                (_, reason) => RefusalReason::Other(reason.to_owned()),
            };
            self.refused(now, from, reason);
        }
        if let Some(session) = self.close_connection(now, key, code) {
            self.detach(now, session, key, CloseReason::Remote(code.1.to_owned()));
        }
    }

    fn frame(&mut self, now: Time, key: ConnectionKey, frame: Frame) -> Result<(), Code> {
        let server = self.config().role == Role::Server;
        let conn = self.connections.get_mut(&key).ok_or(VIOLATION)?;
        match frame {
            // a limit below that of QUIC itself (RFC 9000 section 18.2) would leave no space for any frame
            Frame::Hello { payload: ..MIN_UDP_PAYLOAD, .. } => Err(VIOLATION),
            Frame::Hello { token, path, payload } if server && !conn.bound => {
                conn.payload_limit = Some(payload);
                self.on_hello(now, key, token, path.into())
            }
            Frame::Welcome { token } if !server && !conn.bound => self.on_welcome(now, key, token),
            Frame::Message { number, message } if conn.bound => {
                let id = conn.session.ok_or(VIOLATION)?;
                let session = self.sessions.get_mut(&id).ok_or(VIOLATION)?;
                let new = session.control.arrive(number).ok_or(VIOLATION)?;
                Frame::Received { next: session.control.expected() }.encode(&mut conn.outbox);
                if new {
                    self.events.push_back(TunnelEvent::Control { session: id, message });
                }
                Ok(())
            }
            Frame::Received { next } if conn.bound => {
                let session = conn.session.and_then(|id| self.sessions.get_mut(&id)).ok_or(VIOLATION)?;
                session.control.received(next).then_some(()).ok_or(VIOLATION)
            }
            Frame::Path { id, path }
                if server && conn.bound && conn.is_multipath() && usize::from(path) < MAX_WIRE_PATHS =>
            {
                if conn.names.len() >= MAX_WIRE_PATHS {
                    conn.names.pop_first(); // identifiers only grow
                }
                conn.names.insert(id, path.into());
                self.path_named(now, key, PathId::from(id));
                Ok(())
            }
            _ => Err(VIOLATION),
        }
    }

    /// Handles the introduction of a connection by a client.
    fn on_hello(&mut self, now: Time, key: ConnectionKey, token: Token, path: usize) -> Result<(), Code> {
        let peer = Identity::RawKey.peer(&self.connections[&key].quic).ok_or(VIOLATION)?;
        if path >= MAX_WIRE_PATHS {
            return Err(VIOLATION);
        }
        let (id, token) = if token == NO_TOKEN {
            self.new_session(now, peer)?
        } else {
            let id = *self.tokens.get(&token).ok_or(UNKNOWN_TOKEN)?;
            let peers = &self.config().peers;
            let known = self.sessions[&id].peer.is_some_and(|other| peers.is_same(other, peer));
            (id, known.then_some(token).ok_or(UNKNOWN_TOKEN)?)
        };
        // with multipath a session is one connection; otherwise each path is one
        let multipath = self.connections[&key].is_multipath();
        let of_path = self.sessions[&id].slots.get(path).and_then(|slot| slot.connection);
        let same = |(other, conn): (&ConnectionKey, &TunnelConnection)| {
            let all = (multipath || conn.is_multipath()) && conn.session == Some(id);
            let replaced = all || of_path == Some(*other);
            (replaced && *other != key).then_some(*other)
        };
        for other in self.connections.iter().filter_map(same).collect::<Vec<_>>() {
            self.replace(now, id, other);
        }
        let conn = self.connections.get_mut(&key).ok_or(VIOLATION)?;
        Frame::Welcome { token }.encode(&mut conn.outbox);
        if let Some(prefix) = conn.half_open.take() {
            self.half_open.closed(prefix);
        }
        if !self.sessions[&id].open {
            self.sessions.get_mut(&id).expect("it is open").open = true;
            self.events.push_back(TunnelEvent::SessionOpened { session: id, peer });
        }
        self.bind(now, id, key, path, PathId::ZERO);
        Ok(())
    }

    /// Handles the binding of a connection of this client by the server.
    fn on_welcome(&mut self, now: Time, key: ConnectionKey, token: Token) -> Result<(), Code> {
        let conn = &self.connections[&key];
        let id = conn.session.ok_or(VIOLATION)?;
        let peer = Identity::RawKey.peer(&conn.quic).ok_or(VIOLATION)?;
        let path = conn.tracks.first().and_then(|track| track.slot).ok_or(VIOLATION)?;
        let session = self.sessions.get_mut(&id).ok_or(VIOLATION)?;
        if *session.token.get_or_insert(token) != token || token == NO_TOKEN {
            return Err(VIOLATION);
        }
        session.asking = None;
        let former = if session.challenger == Some(key) { session.connections() } else { Vec::new() };
        session.challenger = session.challenger.filter(|challenger| *challenger != key);
        if !session.open {
            (session.open, session.peer) = (true, Some(peer));
            self.events.push_back(TunnelEvent::SessionOpened { session: id, peer });
        }
        former.into_iter().for_each(|former| self.replace(now, id, former));
        self.bind(now, id, key, path, PathId::ZERO);
        self.send_hello(now, id);
        self.maintain(now, id);
        Ok(())
    }

    /// Introduces the ready connections of a client; one requests a session, the others present its token.
    pub(super) fn send_hello(&mut self, now: Time, id: SessionId) {
        if self.config().role != Role::Client {
            return;
        }
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let challenger = session.challenger;
        let slots = session.slots.iter().enumerate();
        let of_slots =
            slots.flat_map(|(index, slot)| [slot.connection, challenger].map(|key| (index, slot, key)));
        for (index, slot, key) in of_slots {
            let Some(key) = key else { continue };
            let Some(conn) = self.connections.get_mut(&key) else { continue };
            let first = conn.tracks.first().and_then(|track| track.slot) == Some(index);
            if conn.http3.is_some() || !conn.connected || conn.bound || conn.greeted || conn.over || !first {
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
            conn.greeted = true;
            let payload = super::endpoint::payload(slot.config.mtu, &slot.remote);
            let path = u8::try_from(index).expect("slots are at most 64");
            Frame::Hello { token, path, payload }.encode(&mut conn.outbox);
            conn.write(now);
            conn.dirty = true;
            self.active.insert(key);
        }
    }

    /// Writes control messages on the best connection of the session.
    pub(super) fn write_control_messages(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let alive = |key: &ConnectionKey| {
            self.connections.get(key).is_some_and(|conn| {
                conn.bound && conn.tracks.iter().any(|track| track.established && track.liveness.is_alive())
            })
        };
        if !session.control.connection.as_ref().is_some_and(&alive) {
            let other = session.connections().into_iter().find(alive);
            session.control.move_to(other);
        }
        let Some(key) = session.control.connection else { return };
        let Some(conn) = self.connections.get_mut(&key) else { return };
        while conn.outbox.len() < FULL_OUTBOX {
            let Some((number, message)) = session.control.next() else { break };
            Frame::Message { number, message }.encode(&mut conn.outbox);
        }
        conn.flush(self.now);
        conn.write(self.now);
        if conn.dirty {
            self.active.insert(key);
        }
    }
}
