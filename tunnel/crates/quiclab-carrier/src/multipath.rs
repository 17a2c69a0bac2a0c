//! One connection with several paths (draft-ietf-quic-multipath-21): how a client opens them and moves them at
//! run time.
//!
//! | | |
//! | --- | --- |
//! | first path | each in turn until one connects; the others are opened with the session |
//! | largest datagram | that of the smallest path: noq knows one limit for all |
//! | a dead path | status Backup on both ends: noq acknowledges all paths on the first one that is Available |
//! | control messages | noq retransmits stream data only when they are declared lost, by an acknowledgement on the same path or as the path is abandoned: a path that fails with data in flight is abandoned as soon as another one answers |
//! | a path that moves | another one is opened before it is abandoned: there may be no other |
//! | a restarted server | noq knows the token of the first path only: an apparent reset, while no path answers, begins a second connection with the session's token, and the server's answer decides |
//! | numbers | the client announces the number of the path with an identifier ([`Frame::Path`]); until then the server sends only QUIC's own frames on it |

use super::connection::ConnectionKey;
use super::connection_events::CLOSED;
use super::connection_paths::local_ip;
use super::event::{CloseReason, SessionId, TunnelEndpointError};
use super::session::SessionPath;
use super::tunnel_endpoint::TunnelEndpoint;
use super::wire::Frame;
use noq_proto::{FourTuple, PathError, PathId, PathStatus};
use quiclab_core::{Duration, Role, Time};
use std::net::SocketAddr;

/// Time after which a path that is not established is given up.
const OPENING: Duration = Duration::from_secs(5);
/// Time until the next attempt while the peer has issued no connection IDs for another path.
const WITHOUT_IDS: Duration = Duration::from_millis(50);

impl TunnelEndpoint {
    pub(super) fn maintain_multipath(&mut self, now: Time, id: SessionId) -> Option<Time> {
        let session = self.sessions.get_mut(&id)?;
        let Some(&key) = session.connections().first() else {
            let count = session.slots.len();
            let turns = (0..count).map(|step| (session.turn + step) % count);
            let mut free = turns.filter(|&index| !session.slots[index].removed);
            let due = free.clone().find(|&index| session.slots[index].retry_at <= now);
            if let Some(index) = due {
                session.turn = index + 1;
                self.connect_path(now, id, index);
                return None;
            }
            return free
                .clone()
                .map(|index| session.slots[index].retry_at)
                .min()
                .or_else(|| free.next().map(|_| now));
        };
        let conn = self.connections.get_mut(&key).filter(|conn| conn.bound && !conn.over)?;
        let mut next: Option<Time> = None;
        let mut later = |time: Time| next = Some(next.map_or(time, |next| next.min(time)));
        for (index, slot) in session.slots.iter_mut().enumerate() {
            if slot.removed {
                continue;
            }
            let opening = conn.of_slot(index).filter(|track| !track.established);
            if let Some((path, opened)) = opening.map(|track| (track.id, track.opened)) {
                if opened + OPENING > now {
                    later(opened + OPENING);
                    continue;
                }
                let _ = conn.quic.close_path(self.clock.instant(now), path, 0_u8.into());
                conn.tracks.retain(|track| track.id != path);
                conn.dirty = true;
                slot.back_off(now);
            }
            if slot.connection.is_some() {
                continue;
            }
            if slot.retry_at <= now {
                let tuple = FourTuple::new(slot.remote, Some(local_ip(index, slot.local)));
                let instant = self.clock.instant(now);
                match conn.quic.open_path(tuple, PathStatus::Available, instant) {
                    Ok(path) => {
                        slot.connection = Some(key);
                        slot.endpoint = Some(key.endpoint);
                        let keep_alive = self.maker.config.keep_alive;
                        conn.track(now, path, Some(index), (slot.local, slot.remote), keep_alive);
                        conn.abandon_left(now);
                        later(now + OPENING);
                    }
                    Err(PathError::RemoteCidsExhausted) => slot.retry_at = now + WITHOUT_IDS,
                    Err(_) => slot.back_off(now),
                }
                conn.dirty = true;
                self.active.insert(key);
            }
            if slot.connection.is_none() {
                later(slot.retry_at);
            }
        }
        next
    }

    /// Handles a possible stateless reset whose token no connection has. If no path of the session answers,
    /// the server may have lost it: a second connection determines this. The session does not end before that
    /// connection has proved the server's key, because any host can send such a packet.
    pub(super) fn doubt(&mut self, now: Time, local: SocketAddr, remote: SocketAddr) {
        let between = |slot: &SessionPath| slot.is_between(local, remote) && !slot.removed;
        let found = self.sessions.iter().find_map(|(id, session)| {
            let waits = session.multipath && session.open && session.challenger.is_none();
            Some((*id, session.slots.iter().position(between).filter(|_| waits)?))
        });
        let Some((id, index)) = found.filter(|_| self.config().role == Role::Client) else { return };
        let Some(&key) = self.sessions[&id].connections().first() else { return };
        let silent = self.connections.get(&key).is_some_and(|conn| {
            let mut tracks = conn.tracks.iter().filter(|track| track.established);
            conn.bound && !conn.over && tracks.all(|track| !track.liveness.is_alive())
        });
        if !silent {
            return;
        }
        let before = self.sessions[&id].slots[index].clone();
        self.connect_path(now, id, index);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let slot = &mut session.slots[index];
        session.challenger = slot.connection.filter(|key| Some(*key) != before.connection);
        *slot = SessionPath { endpoint: slot.endpoint, ..before };
    }

    /// Handles the validation of a path.
    pub(super) fn path_established(&mut self, now: Time, key: ConnectionKey, path: PathId) {
        let Some(conn) = self.connections.get_mut(&key) else { return };
        let Some(id) = conn.session else { return };
        if self.maker.config.role == Role::Server {
            conn.validated.extend(conn.arrived.map(|local| (path, local)));
            conn.set_statuses();
            return self.path_named(now, key, path);
        }
        let Some(slot) = conn.of_id(path).filter(|track| !track.established).and_then(|track| track.slot)
        else {
            return;
        };
        let name = path.to_string().parse().expect("a path identifier is a number");
        let number = u8::try_from(slot).expect("slots are at most 64");
        Frame::Path { id: name, path: number }.encode(&mut conn.outbox);
        self.bind(now, id, key, slot, path);
    }

    /// Handles the server's knowledge of a path or of its number; with both, the path is used.
    pub(super) fn path_named(&mut self, now: Time, key: ConnectionKey, path: PathId) {
        let keep_alive = self.config().keep_alive;
        let Some(conn) = self.connections.get_mut(&key) else { return };
        let name: u32 = path.to_string().parse().expect("a path identifier is a number");
        let (Some(id), Some(&slot)) = (conn.session, conn.names.get(&name)) else { return };
        // before the peer's address is validated, no datagram of the tunnel would leave on it
        let Some(&(mut local)) = conn.validated.get(&path) else { return };
        let Ok(tuple) = conn.quic.network_path(path) else { return };
        if conn.of_id(path).is_some_and(|track| track.established) {
            return;
        }
        if let Some(ip) = tuple.local_ip() {
            local.set_ip(ip);
        }
        conn.leave(slot, Some(path));
        if conn.of_id(path).is_none() {
            conn.track(now, path, None, (local, tuple.remote()), keep_alive);
        }
        // the client's messages about the former path may have been lost on it
        self.bind(now, id, key, slot, path);
        if let Some(conn) = self.connections.get_mut(&key) {
            conn.abandon_left(now);
        }
    }

    /// Handles a path that QUIC or the peer has abandoned.
    pub(super) fn path_abandoned(&mut self, now: Time, key: ConnectionKey, path: PathId) {
        let Some(conn) = self.connections.get_mut(&key) else { return };
        let slot = conn.of_id(path).and_then(|track| track.slot);
        conn.tracks.retain(|track| track.id != path);
        conn.validated.remove(&path);
        let (Some(id), Some(slot)) = (conn.session, slot) else { return };
        if let Ok(found) = self.slot_mut(id, slot) {
            found.back_off(now);
        }
        self.set_up(id, slot, false);
        self.maintain(now, id);
    }

    /// Removes a path of a client's session permanently.
    ///
    /// # Errors
    /// If there is no such session or path.
    pub fn remove_path(
        &mut self,
        now: Time,
        session: SessionId,
        path: usize,
    ) -> Result<(), TunnelEndpointError> {
        self.set_now(now);
        let slot = self.slot_mut(session, path)?;
        slot.removed = true;
        let conn = slot.connection.take();
        self.set_up(session, path, false);
        if let Some(key) = conn {
            self.leave(now, session, key, path);
        }
        self.maintain(now, session);
        Ok(())
    }

    /// Handles a new local address of a client's path. A connection of its own migrates (RFC 9000 section 9);
    /// in a multipath connection another path is opened instead.
    ///
    /// # Errors
    /// If there is no such session or path.
    pub fn rebind_path(
        &mut self,
        now: Time,
        session: SessionId,
        path: usize,
        local: SocketAddr,
    ) -> Result<(), TunnelEndpointError> {
        self.set_now(now);
        let multipath = self.sessions.get(&session).is_some_and(|session| session.multipath);
        let slot = self.slot_mut(session, path)?;
        slot.local = local;
        slot.retry_at = now;
        let conn = if multipath { slot.connection.take() } else { slot.connection };
        let Some(key) = conn else {
            self.maintain(now, session);
            return Ok(());
        };
        if multipath {
            self.set_up(session, path, false);
            match self.connections.get_mut(&key).filter(|conn| conn.bound) {
                // it is abandoned when QUIC has opened the next one, because there may be no other
                Some(conn) => conn.leave(path, None),
                None => self.leave(now, session, key, path),
            }
            self.maintain(now, session);
        } else if let Some(conn) = self.connections.get_mut(&key) {
            conn.flush(now);
            conn.tracks.iter_mut().for_each(|track| track.local = local);
            let instant = self.clock.instant(now);
            conn.quic.handle_network_change(None, instant);
            conn.dirty = true;
            self.active.insert(key);
            self.handle_events(now, key);
        }
        Ok(())
    }

    /// Removes a path from its connection, which is closed if it was the only one.
    fn leave(&mut self, now: Time, session: SessionId, key: ConnectionKey, path: usize) {
        let Some(conn) = self.connections.get_mut(&key) else { return };
        let id = conn.of_slot(path).map(|track| track.id);
        let others = conn.tracks.iter().any(|track| track.established && track.slot != Some(path));
        if let (true, Some(id)) = (others, id) {
            conn.flush(now);
            let _ = conn.quic.close_path(self.clock.instant(now), id, 0_u8.into());
            conn.tracks.retain(|track| track.id != id);
            conn.dirty = true;
            self.active.insert(key);
            self.handle_events(now, key);
        } else {
            self.close_connection(now, key, CLOSED);
            self.detach(now, session, key, CloseReason::Idle);
        }
    }
}

#[cfg(test)]
#[path = "multipath_tests.rs"]
mod tests;
