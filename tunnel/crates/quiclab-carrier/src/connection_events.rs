//! Events of connections: their beginning and end, and the liveness of their paths.

use super::connection::{ConnectionKey, TunnelConnection};
use super::endpoint::TunnelProtocol;
use super::event::{CloseReason, RefusalReason, SessionId};
use super::half_open::{Admission, SourcePrefix};
use super::tunnel_endpoint::{Due, TunnelEndpoint};
use super::verifier::UnknownKey;
use noq_proto::{
    ConnectionError, ConnectionHandle, Dir, EndpointEvent, Event, Incoming, PathEvent, PathId, PathStatus,
    Transmit, TransportErrorCode,
};
use quiclab_core::{Role, Time};
use quiclab_stacks::seeded;
use std::net::SocketAddr;

/// Codes of CONNECTION_CLOSE, and their reasons.
pub(super) const CLOSED: (u32, &str) = (0, "closed");
pub(super) const VIOLATION: (u32, &str) = (1, "malformed or unexpected frame");
pub(super) const UNKNOWN_TOKEN: (u32, &str) = (2, "unknown session");
pub(super) const REPLACED: (u32, &str) = (3, "replaced by a new connection");
pub(super) const TOO_MANY: (u32, &str) = (4, "too many sessions");
pub(super) const NO_ANSWER: (u32, &str) = (5, "no answer");
/// The peer, which TLS accepted, is no longer known.
pub(super) const UNKNOWN_KEY: (u32, &str) = (6, "unknown key");
/// The certificate of the peer, which TLS accepted, is no longer trusted.
pub(super) const UNTRUSTED: (u32, &str) = (6, "its certificate is not trusted any more");

pub(super) type Code = (u32, &'static str);

/// Alerts of an end that does not know the key of its peer ([`UnknownKey`]): certificate_unknown, and access_denied of earlier
/// versions (RFC 8446 section 6.2).
const UNKNOWN_KEY_ALERTS: [u8; 2] = [46, 49];

/// Reason for which a connection without a session was lost.
fn refusal(lost: &ConnectionError) -> RefusalReason {
    match lost {
        ConnectionError::TransportError(error) => match UnknownKey::behind(error) {
            Some(UnknownKey(key)) => RefusalReason::UnknownKey(key),
            None => RefusalReason::Other(lost.to_string()),
        },
        ConnectionError::ConnectionClosed(close)
            if UNKNOWN_KEY_ALERTS.map(TransportErrorCode::crypto).contains(&close.error_code) =>
        {
            RefusalReason::OwnKeyUnknown
        }
        ConnectionError::ApplicationClosed(close) if close.error_code == UNKNOWN_KEY.0.into() => {
            RefusalReason::OwnKeyUnknown
        }
        lost => RefusalReason::Other(lost.to_string()),
    }
}

impl TunnelEndpoint {
    /// Handles an incoming connection, with its first datagram of `length` bytes to `local`; returns the stateless answer in `answer`, if
    /// there is one.
    pub(super) fn incoming(
        &mut self,
        now: Time,
        index: usize,
        incoming: Incoming,
        (local, length): (SocketAddr, u64),
        answer: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let from = incoming.remote_address();
        let (prefix, validated) = (SourcePrefix::of(from.ip()), incoming.remote_address_validated());
        match self.half_open.admit(now, prefix, validated) {
            Admission::Accept => {}
            Admission::Retry => {
                self.strangers.retries += 1;
                return self.endpoints[index].retry(incoming, answer).ok();
            }
            Admission::Ignore => {
                self.strangers.ignored += 1;
                self.endpoints[index].ignore(incoming);
                let reason = "too many handshakes of its network are not completed";
                self.refused(now, from, RefusalReason::Other(reason.to_owned()));
                return None;
            }
        }
        let protocol = self.protocol_of(index);
        let config = std::sync::Arc::new(self.maker.server(&from, protocol));
        let instant = self.clock.instant(now);
        let endpoint = &mut self.endpoints[index];
        let accepted =
            seeded::with_stream(&mut self.tls, || endpoint.accept(incoming, instant, answer, Some(config)));
        match accepted {
            Ok((ConnectionHandle(handle), connection)) => {
                let mut conn = TunnelConnection::new(now, connection, self.config().segments);
                conn.http3 = self.maker.http3(protocol);
                let keep_alive = self.config().keep_alive;
                conn.track(now, PathId::ZERO, None, (local, from), keep_alive);
                let key = ConnectionKey { endpoint: index, handle };
                conn.half_open = Some(prefix);
                // certificates fill several datagrams: connections of CONNECT-IP have only the limit of QUIC
                conn.credit = (!validated && protocol == TunnelProtocol::Own).then_some(length);
                self.connections.insert(key, conn);
                self.half_open.opened(prefix);
                self.handle_events(now, key);
                None
            }
            Err(error) => {
                self.refused(now, from, refusal(&error.cause));
                error.response
            }
        }
    }

    /// Handles the events of a connection.
    pub(super) fn handle_events(&mut self, now: Time, key: ConnectionKey) {
        while let Some(conn) = self.connections.get_mut(&key) {
            let endpoint = &mut self.endpoints[key.endpoint];
            while let Some(event) = conn.quic.poll_endpoint_events() {
                if let Some(event) = endpoint.handle_event(ConnectionHandle(key.handle), event) {
                    conn.quic.handle_event(event);
                    conn.dirty = true;
                }
            }
            let Some(event) = conn.quic.poll() else { break };
            conn.dirty = true;
            self.event(now, key, event);
        }
        self.drive_control_stream(now, key);
        self.look(now, key);
        let Some(conn) = self.connections.get_mut(&key) else { return };
        if conn.quic.is_drained() {
            return self.discard(key);
        }
        if conn.dirty || !conn.out.is_empty() {
            self.active.insert(key);
        }
        self.schedule(now, key);
    }

    /// Discards a connection of a server that was never bound. noq keeps a connection that is closed by its
    /// first packet until the idle timeout, during which its peer's prefix would have one connection less.
    pub(super) fn destroy(&mut self, key: ConnectionKey) {
        self.endpoints[key.endpoint].handle_event(ConnectionHandle(key.handle), EndpointEvent::drained());
        self.discard(key);
    }

    /// Discards a connection that QUIC has discarded.
    fn discard(&mut self, key: ConnectionKey) {
        let Some(conn) = self.connections.remove(&key) else { return };
        self.active.remove(&key);
        if let Some(time) = conn.timer {
            self.timers.remove(&(time, Due::TunnelConnection(key)));
        }
        if let Some(prefix) = conn.half_open {
            self.half_open.closed(prefix);
        }
        self.reverting.remove(&key);
        self.strangers.withheld += conn.withheld;
        self.send_rest(conn.out);
    }

    fn event(&mut self, now: Time, key: ConnectionKey, event: Event) {
        let Some(conn) = self.connections.get_mut(&key) else { return };
        match event {
            Event::Connected => {
                conn.connected = true;
                if !self.may_go_on(key) {
                    return self.close_with_error(now, key, UNKNOWN_KEY);
                }
                let Some(conn) = self.connections.get_mut(&key) else { return };
                conn.credit = None;
                conn.measure();
                let client = self.maker.config.role == Role::Client && conn.http3.is_none();
                if let Some(id) = conn.session.filter(|_| client) {
                    conn.stream = conn.quic.streams().open(Dir::Bi);
                    if let (false, Some(session)) = (conn.is_multipath(), self.sessions.get_mut(&id)) {
                        session.multipath = false; // not offered: one connection for each path
                    }
                    self.send_hello(now, id);
                }
            }
            Event::ConnectionLost { reason } => self.lost(now, key, &reason),
            Event::Path(PathEvent::Established { id, .. }) => self.path_established(now, key, id),
            Event::Path(PathEvent::Abandoned { id, .. }) => self.path_abandoned(now, key, id),
            Event::Path(PathEvent::RemoteStatus { id, status, .. }) => {
                // the first end that notices informs its peer: acknowledgements must not take a dead path
                if let Some(track) = conn.of_id(id).filter(|_| status == PathStatus::Backup) {
                    track.liveness.mark_suspect(now);
                    let slot = track.slot;
                    conn.set_statuses();
                    if let (Some(session), Some(slot)) = (conn.session, slot) {
                        self.set_up(session, slot, false);
                    }
                }
            }
            _ => {}
        }
    }

    /// Handles a reset of a connection by the peer, which does not know it. noq finds the connection by the
    /// token, but continues with it, because it compares the token only with that of the first connection ID
    /// (`handle_decode`, `set_reset_token` of noq-proto 1.4.0).
    pub(super) fn reset(&mut self, now: Time, key: ConnectionKey) {
        if self.connections.get(&key).is_some_and(|conn| !conn.over) {
            self.lost(now, key, &ConnectionError::Reset);
        }
        // no more packets are sent on it (RFC 9000 section 10.2.2)
        if let Some(conn) = self.connections.get_mut(&key) {
            conn.out.clear();
            self.destroy(key);
        }
    }

    /// Handles the loss of a connection.
    fn lost(&mut self, now: Time, key: ConnectionKey, reason: &ConnectionError) {
        let Some(conn) = self.connections.get_mut(&key) else { return };
        conn.over = true;
        let (session, bound, from) =
            (conn.session, conn.bound, conn.tracks.first().map(|track| track.remote));
        let told = match reason {
            ConnectionError::ApplicationClosed(close) if conn.http3.is_none() => {
                (close.error_code == UNKNOWN_TOKEN.0.into()).then_some(CloseReason::Reset)
            }
            _ => None,
        };
        if let (false, Some(from)) = (bound, from) {
            let silent = matches!(reason, ConnectionError::TimedOut | ConnectionError::Reset);
            if !silent && told.is_none() {
                self.refused(now, from, refusal(reason));
            }
        }
        let closed =
            matches!(reason, ConnectionError::ConnectionClosed(_) | ConnectionError::ApplicationClosed(_));
        if closed && !bound && self.config().role == Role::Server {
            return self.destroy(key);
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
                // with HTTP/3, the code is one of RFC 9114
                ConnectionError::ApplicationClosed(close)
                    if self.config().role == Role::Client && close.reason == REPLACED.1.as_bytes() =>
                {
                    CloseReason::Displaced
                }
                reason => CloseReason::Remote(reason.to_string()),
            },
        );
    }

    /// Closes a connection that was not bound in time.
    pub(super) fn give_up(&mut self, now: Time, key: ConnectionKey) {
        let Some(conn) = self.connections.get_mut(&key) else { return };
        let from = conn.tracks.first().map(|track| track.remote).filter(|_| conn.connected);
        let session = self.close_connection(now, key, NO_ANSWER);
        if let (Role::Server, Some(from)) = (self.config().role, from) {
            self.refused(now, from, RefusalReason::Other("it did not ask for a session".into()));
        }
        if let Some(session) = session {
            self.detach(now, session, key, CloseReason::Idle);
        }
    }

    /// Closes a connection; returns its session, which it is no longer part of.
    pub(super) fn close_connection(
        &mut self,
        now: Time,
        key: ConnectionKey,
        code: Code,
    ) -> Option<SessionId> {
        let conn = self.connections.get_mut(&key)?;
        let (code, reason) = match (&conn.http3, code) {
            // HTTP/3 has codes of its own
            (Some(http3), (code, reason)) if code <= UNKNOWN_KEY.0 => (http3.no_error(), reason),
            (_, code) => code,
        };
        conn.flush(now);
        if !conn.over {
            conn.over = true;
            conn.close(now, code, reason);
        }
        self.active.insert(key);
        let session = self.connections.get_mut(&key)?.session;
        self.schedule(now, key);
        session
    }

    /// Checks which paths of a connection answer, and which to probe.
    fn look(&mut self, now: Time, key: ConnectionKey) {
        self.follow_client(now, key);
        let Some(conn) = self.connections.get_mut(&key).filter(|conn| conn.bound && !conn.over) else {
            return;
        };
        let multipath = conn.is_multipath();
        let Some(id) = conn.session else { return };
        let mut changes = Vec::new();
        if multipath {
            changes.extend(conn.compare(now).into_iter().map(|slot| (slot, false)));
        }
        for index in 0..conn.tracks.len() {
            let path = conn.tracks[index].id;
            let srtt = conn.srtt(path);
            let track = &mut conn.tracks[index];
            if !track.established {
                continue;
            }
            let verdict = track.liveness.look(now, &track.gate, srtt);
            if verdict.ask {
                let _ = conn.quic.ping_path(path); // it exists
                conn.dirty = true;
            }
            let track = &conn.tracks[index];
            if let (Some(alive), Some(slot)) = (verdict.changed, track.slot) {
                changes.push((slot, alive));
            }
        }
        if multipath && !changes.is_empty() {
            conn.set_statuses();
        }
        for path in if multipath { conn.withholding() } else { Vec::new() } {
            let _ = conn.quic.close_path(self.clock.instant(now), path, 0_u8.into()); // another one is open
            conn.dirty = true;
        }
        for (slot, alive) in &changes {
            self.set_up(id, *slot, *alive);
        }
        if !changes.is_empty() {
            self.write_control_messages(id);
        }
    }
}
