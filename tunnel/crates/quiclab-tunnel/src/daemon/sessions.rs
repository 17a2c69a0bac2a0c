//! Events of the endpoint: sessions, their paths and their control messages.

use super::{Daemon, DaemonError};
use crate::protocol::{self, Message, NUMBERS_DIFFER, ProtocolError};
use crate::session::Session;
use quiclab_carrier::{CloseReason, PublicKey, RefusalReason, SessionId, TunnelEvent};
use quiclab_core::{Duration, Time, ip};
use std::net::SocketAddr;
use thiserror::Error;

/// Time for which a session that has ended is kept for its client: longer than TCP waits before a retransmission (120 s, RFC 6298
/// section 5.5 and TCP_RTO_MAX of Linux).
const PARKED: Duration = Duration::from_secs(180);

/// Error for which a control message is rejected.
#[derive(Debug, Error)]
enum MessageError {
    #[error(transparent)]
    Malformed(#[from] ProtocolError),
    /// A client must not assign addresses, a server must not request them.
    #[error("a message that the other end may not send")]
    WrongSender,
}

impl Daemon {
    /// Handles an event of the endpoint.
    pub(super) fn event(&mut self, now: Time, event: TunnelEvent) {
        match event {
            TunnelEvent::SessionOpened { session, peer } => self.session_opened(now, session, peer),
            TunnelEvent::Control { session, message } => {
                if let Err(error) = self.message(now, session, &message) {
                    let reason = error.to_string();
                    let peer = self.name_of(session);
                    tracing::warn!(session = session.0, peer, reason, "control message refused");
                    self.close(now, session);
                }
            }
            #[cfg(feature = "connect-ip")]
            TunnelEvent::Capsule { session, capsule } => self.capsule(session, capsule),
            TunnelEvent::PathUp { session, path } => {
                if let Some(silence) = &mut self.silence {
                    silence.paths.remove(&path);
                }
                let remote =
                    self.endpoint.addresses(session, path).map(|(_, remote)| tracing::field::display(remote));
                tracing::info!(
                    session = session.0,
                    peer = self.name_of(session),
                    path = self.path_name(path),
                    remote,
                    "path up"
                );
            }
            // the end of a session that this server has ended was already logged
            TunnelEvent::PathDown { session, .. } | TunnelEvent::SessionClosed { session, .. }
                if !self.sessions.contains_key(&session) => {}
            TunnelEvent::PathDown { session, path } => {
                tracing::warn!(
                    session = session.0,
                    peer = self.name_of(session),
                    path = self.path_name(path),
                    "path down"
                );
            }
            TunnelEvent::SessionClosed { session, reason } => {
                tracing::warn!(session = session.0, peer = self.name_of(session), %reason, "session closed");
                let by_request = matches!(reason, CloseReason::Local | CloseReason::Remote(_));
                if self.clients.is_some() && by_request {
                    self.forget(session);
                } else if self.clients.is_some() {
                    self.park(now, session);
                } else if let Some(session) = self.sessions.get_mut(&session) {
                    session.open = None;
                    #[cfg(feature = "connect-ip")]
                    self.forget_offer();
                }
            }
            TunnelEvent::Refused { from, reason } => self.refuse(now, from, &reason),
        }
    }

    /// Logs a connection that was refused, by either end.
    fn refuse(&mut self, now: Time, from: SocketAddr, reason: &RefusalReason) {
        self.refused += 1;
        if let Some(silence) = &mut self.silence {
            silence.answered.insert(from);
        }
        let Some(count) = self.refusals.count(now, from, reason) else { return };
        let sentence = match self.remedy(reason) {
            Some(sentence) => format!("refused: a key does not match: {sentence}"),
            None => "refused".to_owned(),
        };
        let times = (count > 1).then_some(count);
        tracing::warn!(%from, %reason, times, "{sentence}");
    }

    /// Advice if one end does not know the key of the other. A client is not advised to enter the key that
    /// its server presents, which may be that of an attacker.
    fn remedy(&self, reason: &RefusalReason) -> Option<String> {
        let own = self.key.public();
        let by_key = self.config.client.as_ref().map(|client| client.server_key.is_some());
        match (reason, by_key) {
            (RefusalReason::UnknownKey(Some(key)), None) => Some(format!(
                "to let this client in, add `public_key = \"{key}\"` to a peer in `server.peers`, if that is what `quiclab-tunnel pubkey` prints at the client"
            )),
            (RefusalReason::OwnKeyUnknown, None) => {
                Some(format!("`client.server_key` at the client, if it has one, must be {own}"))
            }
            (RefusalReason::UnknownKey(_), Some(true)) => Some(
                "`client.server_key` must be the key of the server, as `quiclab-tunnel pubkey` prints it there"
                    .to_owned(),
            ),
            (RefusalReason::OwnKeyUnknown, Some(_)) => {
                Some(format!("`server.peers` at the server must have {own}"))
            }
            _ => None,
        }
    }

    /// Name of the peer of a session; `None` after its removal.
    fn name_of(&self, session: SessionId) -> Option<&str> {
        self.sessions.get(&session).map(|session| session.name.as_str())
    }

    fn path_name(&self, path: usize) -> String {
        let configured = self.config.client.as_ref().and_then(|client| client.paths.get(path));
        configured.map_or_else(|| path.to_string(), |path| path.name.clone())
    }

    /// Keeps a session of a server that has ended because no packet came from its client, or because the client reconnected:
    /// inner flows continue in the next one.
    fn park(&mut self, now: Time, id: SessionId) {
        match self.sessions.remove(&id) {
            // the state of a session of CONNECT-IP ends with it
            Some(mut session) if session.was_open() && !session.connect_ip => {
                session.park(now);
                self.parked.insert(id, (now + PARKED, session));
            }
            _ => self.forget(id),
        }
    }

    /// Returns the parked session of the peer that has a key, with its former number. The session may have been opened with
    /// another key of the same peer.
    fn unpark(&mut self, key: PublicKey) -> Option<Session> {
        let peer = self.config.server.as_ref()?.peer(key)?;
        let id = *self.parked.iter().find(|(_, (_, session))| peer.has_key(session.peer))?.0;
        self.parked.remove(&id).map(|(_, session)| session)
    }

    /// Discards parked sessions whose clients have not reconnected.
    pub(super) fn forget_parked(&mut self, now: Time) {
        let over = |(id, (until, _)): (&SessionId, &(Time, Session))| (*until <= now).then_some(*id);
        for id in self.parked.iter().filter_map(over).collect::<Vec<_>>() {
            self.forget(id);
        }
    }

    /// Removes a session of a server that ended.
    pub(super) fn forget(&mut self, session: SessionId) {
        self.sessions.remove(&session);
        self.parked.remove(&session);
        if let Some(clients) = &mut self.clients {
            clients.remove(session);
        }
    }

    /// Ends a session whose peer violates the protocol; that of a client ends the tunnel.
    fn close(&mut self, now: Time, session: SessionId) {
        if self.clients.is_some() {
            self.endpoint.close(now, session);
            self.forget(session);
        } else {
            self.end = Some(Err(DaemonError::NotThisProtocol));
        }
    }

    fn session_opened(&mut self, now: Time, id: SessionId, peer: PublicKey) {
        let name = match &self.config.server {
            Some(server) => server.peer(peer).map(|known| known.name.clone()),
            None => Some("server".to_owned()),
        };
        // removed by a reload during its handshake
        let Some(name) = name else {
            tracing::warn!(peer = %peer, "refused");
            self.refused += 1;
            self.endpoint.close(now, id);
            return;
        };
        let connect_ip = self.endpoint.is_connect_ip(id);
        tracing::info!(session = id.0, peer = name, connect_ip, "session open");
        if connect_ip {
            // reached over its only path
            self.silence = None;
        }
        if self.clients.is_some() {
            match self.unpark(peer) {
                Some(mut session) if !connect_ip => {
                    if let Some(clients) = &mut self.clients {
                        clients.hand_over(session.id, id);
                    }
                    (session.id, session.peer, session.name) = (id, peer, name);
                    session.restart();
                    self.sessions.insert(id, session);
                }
                before => {
                    before.iter().for_each(|session| self.forget(session.id));
                    self.add_session(now, id, peer, name);
                }
            }
            if connect_ip {
                // its client need not request them
                self.assign(now, id, true, self.config.mtu >= ip::SMALLEST_IPV6_MTU);
            }
            return;
        }
        if let Some(session) = self.sessions.get_mut(&id) {
            // one of the possible keys of its server
            session.peer = peer;
            session.restart();
        }
        #[cfg(feature = "connect-ip")]
        if connect_ip {
            return self.ask_for_addresses(id);
        }
        // an IPv6 address is requested if it can be used
        let hello = Message::Hello {
            ipv4: true,
            ipv6: self.config.mtu >= ip::SMALLEST_IPV6_MTU,
            numbered: self.config.numbers_packets(),
        };
        self.send_control(id, &hello);
    }

    /// Handles a control message of the peer.
    fn message(&mut self, now: Time, id: SessionId, bytes: &[u8]) -> Result<(), MessageError> {
        match (protocol::parse(bytes)?, self.clients.is_some()) {
            (Message::Hello { numbered, .. }, true) if numbered != self.config.numbers_packets() => {
                tracing::warn!(session = id.0, "{NUMBERS_DIFFER}");
                self.send_control(id, &Message::Refusal(NUMBERS_DIFFER.to_owned()));
            }
            (Message::Hello { ipv4, ipv6, .. }, true) => self.assign(now, id, ipv4, ipv6),
            (Message::Assignment(assignment), false) => {
                if let Err(error) = self.assigned(now, id, assignment) {
                    self.end = Some(Err(error));
                }
            }
            (Message::Refusal(reason), false) => self.end = Some(Err(DaemonError::Refused(reason))),
            _ => return Err(MessageError::WrongSender),
        }
        Ok(())
    }
}
