//! Sessions of a tunnel: the connections that carry them, and their beginning and end.

use super::config::PathConfig;
use super::connection::ConnectionKey;
use super::connection_events::{CLOSED, Code, REPLACED, TOO_MANY};
use super::control;
use super::event::{CloseReason, SessionId, TunnelEvent};
use super::fragments::Reassembly;
use super::keys::PublicKey;
use super::session::{Control, FIRST_BACKOFF, MAX_BACKOFF, Session, SessionPath};
use super::tunnel_endpoint::{Due, TunnelEndpoint};
use super::wire::Token;
use noq_proto::PathId;
use quiclab_core::{Role, Time};

impl TunnelEndpoint {
    /// Removes a connection from its session; without any left, the session ends.
    pub(super) fn detach(&mut self, now: Time, id: SessionId, key: ConnectionKey, reason: CloseReason) {
        if let Some(conn) = self.connections.get_mut(&key) {
            (conn.session, conn.bound) = (None, false);
        }
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if let Some(conn) = self.connections.get(&key) {
            session.past += conn.counts;
        }
        if session.asking == Some(key) {
            session.asking = None;
        }
        session.challenger = session.challenger.filter(|other| *other != key);
        let mut down = Vec::new();
        for (index, slot) in session.slots.iter_mut().enumerate() {
            if slot.connection == Some(key) {
                slot.back_off(now);
                down.push(index);
            }
        }
        down.into_iter().for_each(|path| self.set_up(id, path, false));
        if reason == CloseReason::Displaced {
            return self.give_way(now, id);
        }
        let session = &self.sessions[&id];
        let left = session
            .connections()
            .into_iter()
            .any(|other| self.connections.get(&other).is_some_and(|conn| conn.bound));
        if session.open && !left {
            return self.end(now, id, reason);
        }
        if !session.open && session.connections().is_empty() {
            self.ask_anew(id);
        }
        self.write_control_messages(id);
        self.send_hello(now, id);
        self.maintain(now, id);
    }

    /// Ends a session and delays its client, because another client of the same peer has it: the two would displace
    /// each other several times per second.
    fn give_way(&mut self, now: Time, id: SessionId) {
        self.end(now, id, CloseReason::Displaced);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        for slot in &mut session.slots {
            slot.retry_at = now + MAX_BACKOFF[1];
        }
        self.maintain(now, id);
    }

    /// Requests one connection with all paths again for a client without a connection, if so configured.
    fn ask_anew(&mut self, id: SessionId) {
        let multipath = self.config().role == Role::Client && self.wants_multipath();
        if let Some(session) = self.sessions.get_mut(&id) {
            session.multipath = multipath;
        }
    }

    /// Ends a session; a client's starts again, unless the client itself ended it.
    pub(super) fn end(&mut self, now: Time, id: SessionId, reason: CloseReason) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let again = self.maker.config.role == Role::Client && reason != CloseReason::Local;
        let was_open = std::mem::take(&mut session.open);
        if let Some(token) = session.token.take() {
            self.tokens.remove(&token);
        }
        session.control = Control::default();
        session.reassembly = Reassembly::default();
        session.asking = None;
        let connections = [session.connections(), session.challenger.take().into_iter().collect()].concat();
        let up: Vec<_> = (0..session.slots.len()).filter(|&index| session.slots[index].up).collect();
        session.slots.iter_mut().filter(|slot| slot.connection.is_some()).for_each(|slot| slot.back_off(now));
        up.into_iter().for_each(|path| self.set_up(id, path, false));
        let code = if reason == CloseReason::Replaced { REPLACED } else { CLOSED };
        for key in connections {
            if let Some(conn) = self.connections.get_mut(&key) {
                (conn.session, conn.bound) = (None, false);
                if let Some(session) = self.sessions.get_mut(&id) {
                    session.past += conn.counts;
                }
            }
            self.close_connection(now, key, code);
        }
        if was_open || !again {
            self.events.push_back(TunnelEvent::SessionClosed { session: id, reason });
        }
        if again {
            self.ask_anew(id);
            self.maintain(now, id);
        } else if let Some(session) = self.sessions.remove(&id)
            && let Some(time) = session.timer
        {
            self.timers.remove(&(time, Due::Session(id)));
        }
    }

    /// Reports to the application whether a path carries data, if that has changed.
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

    /// Replaces `key` in a session by another connection.
    pub(super) fn replace(&mut self, now: Time, id: SessionId, key: ConnectionKey) {
        self.close_connection(now, key, REPLACED);
        let Some(conn) = self.connections.get_mut(&key) else { return };
        (conn.session, conn.bound) = (None, false);
        let counts = conn.counts;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.past += counts;
        let of_line = |(index, slot): (usize, &mut SessionPath)| {
            (slot.connection == Some(key)).then(|| {
                slot.connection = None;
                index
            })
        };
        for path in session.slots.iter_mut().enumerate().filter_map(of_line).collect::<Vec<_>>() {
            self.set_up(id, path, false);
        }
    }

    pub(super) fn new_session(&mut self, now: Time, peer: PublicKey) -> Result<(SessionId, Token), Code> {
        // a peer may have two keys, and two sessions of two keys become those of one peer
        let peers = &self.config().peers;
        let same = |session: &Session| session.peer.is_some_and(|other| peers.is_same(other, peer));
        let old = self.sessions.iter().filter(|(_, session)| same(session));
        for old in old.map(|(id, _)| *id).collect::<Vec<_>>() {
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

    /// Binds `path` of the session to the path `track` of QUIC on this connection.
    pub(super) fn bind(&mut self, now: Time, id: SessionId, key: ConnectionKey, path: usize, track: PathId) {
        let mtu = self.maker.largest_mtu();
        let (Some(session), Some(conn)) = (self.sessions.get_mut(&id), self.connections.get_mut(&key)) else {
            return;
        };
        (conn.session, conn.bound) = (Some(id), true);
        let Some(track) = conn.of_id(track) else { return };
        while session.slots.len() <= path {
            let config = PathConfig { mtu, ..self.maker.config.path(session.slots.len()) };
            session.slots.push(SessionPath::new(now, config, track.local, track.remote));
        }
        let slot = &mut session.slots[path];
        (slot.connection, slot.backoff) = (Some(key), FIRST_BACKOFF);
        (slot.was_bound, slot.lost) = (true, None);
        if self.maker.config.role == Role::Server {
            (slot.local, slot.remote) = (track.local, track.remote);
        }
        (track.slot, track.established) = (Some(path), true);
        conn.measure();
        conn.dirty = true;
        self.restart_control(now, Some(id), key, path);
        self.active.insert(key);
        self.set_up(id, path, true);
        self.write_control_messages(id);
    }

    /// Sets or resets the congestion control of a path of the session.
    pub(super) fn restart_control(
        &mut self,
        now: Time,
        id: Option<SessionId>,
        key: ConnectionKey,
        path: usize,
    ) {
        let random = self.maker.source.stream("congestion");
        let session = id.and_then(|id| self.sessions.get(&id));
        let (Some(session), Some(conn)) = (session, self.connections.get_mut(&key)) else { return };
        let Some(track) = conn.tracks.iter().find(|track| track.slot == Some(path)) else { return };
        let slot = &session.slots[path];
        let segment = self.maker.segment(super::endpoint::payload(slot.config.mtu, &slot.remote));
        track.gate.replace(now, control::controller(slot.config, segment, random, &session.group, path));
    }
}
