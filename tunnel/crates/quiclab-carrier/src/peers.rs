//! Known peers of an endpoint, which may change while connections are being bound to a session.

use super::config::TunnelEndpointConfig;
use super::connect_ip::ConnectIpConfig;
use super::connection::ConnectionKey;
use super::connection_events::{UNKNOWN_KEY, UNTRUSTED};
use super::event::SessionId;
use super::keys::{KnownPeers, PublicKey};
use super::tunnel_endpoint::TunnelEndpoint;
use super::verifier::Identity;
use quiclab_core::{Role, Time};

impl TunnelEndpoint {
    /// Replaces the peers that may connect, or be connected to. Connections with a key that is no longer
    /// known end: an unbound one gets no session, whether its handshake is complete or not, and the session
    /// of a peer that has other keys loses its connections with this one. A session that was opened with such
    /// a key is unchanged: [`TunnelEndpoint::close`] ends it.
    pub fn set_peers(&mut self, now: Time, peers: KnownPeers) {
        self.set_now(now);
        self.maker.set_peers(peers);
        self.close_unknown(now);
    }

    /// Configuration of CONNECT-IP, if there is one, with the current certificates.
    #[must_use]
    pub fn connect_ip(&self) -> Option<&ConnectIpConfig> {
        self.config().connect_ip.as_ref()
    }

    /// Replaces the certificates of CONNECT-IP, if it is configured: those of this end, and at a client those
    /// by which it knows its server. If the latter have changed, unbound connections start again, and a
    /// session with a server that is no longer known ends. Returns the number of sessions that end.
    pub fn set_connect_ip(&mut self, now: Time, connect_ip: ConnectIpConfig) -> usize {
        self.set_now(now);
        let Some(before) = &self.config().connect_ip else { return 0 };
        let is_known_otherwise = !before.has_trust_of(&connect_ip);
        self.maker.set_connect_ip(connect_ip);
        if !is_known_otherwise {
            return 0;
        }
        let left = self.connections.iter().filter(|(_, conn)| !conn.over);
        let ends =
            left.map(|(key, conn)| (*key, conn.bound)).filter(|(key, bound)| !bound || !self.may_go_on(*key));
        let ends: Vec<_> = ends.collect();
        for (key, _) in &ends {
            self.close_with_error(now, *key, UNTRUSTED);
        }
        ends.iter().filter(|(_, bound)| *bound).count()
    }

    /// Whether the peer of a connection is still known: its handshake used the peers known at its start.
    pub(super) fn may_go_on(&self, key: ConnectionKey) -> bool {
        let Some(conn) = self.connections.get(&key) else { return false };
        match conn.http3 {
            None => {}
            Some(_) if self.config().role == Role::Server => {}
            // its configuration identifies its server
            Some(_) => {
                let TunnelEndpointConfig { connect_ip, randomness, .. } = self.config();
                return connect_ip
                    .as_ref()
                    .is_some_and(|config| config.knows_server(*randomness, &conn.quic));
            }
        }
        self.key_of(key).is_some_and(|peer| self.config().peers.has(peer))
    }

    /// Key that the peer of a connection has proved.
    pub(super) fn key_of(&self, key: ConnectionKey) -> Option<PublicKey> {
        let conn = self.connections.get(&key)?;
        let identity = if conn.http3.is_some() { Identity::Certificate } else { Identity::RawKey };
        identity.peer(&conn.quic)
    }

    /// Whether the key of a connection now belongs to a peer other than that of its session.
    fn is_of_another_peer(&self, key: ConnectionKey) -> bool {
        let session = self.connections.get(&key).filter(|conn| conn.bound).and_then(|conn| conn.session);
        let opened_with = session.and_then(|id| self.sessions.get(&id)?.peer);
        let both = opened_with.zip(self.key_of(key));
        both.is_some_and(|(one, other)| !self.config().peers.is_same(one, other))
    }

    /// Closes connections whose peer is no longer known, except those of a session that was opened with such a key. During a
    /// handshake, its end decides.
    fn close_unknown(&mut self, now: Time) {
        let peers = &self.config().peers;
        let of_known = |id: &SessionId| {
            let peer = self.sessions.get(id).and_then(|session| session.peer);
            peer.is_none_or(|peer| peers.has(peer))
        };
        let judged = self.connections.iter().filter(|(_, conn)| {
            let session = conn.session.filter(|_| conn.bound);
            conn.connected && !conn.over && session.as_ref().is_none_or(of_known)
        });
        let ends = |key: &ConnectionKey| !self.may_go_on(*key) || self.is_of_another_peer(*key);
        let unknown: Vec<_> = judged.map(|(key, _)| *key).filter(ends).collect();
        for key in unknown {
            self.close_with_error(now, key, UNKNOWN_KEY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::{RefusalReason, SessionId, TunnelEvent};
    use super::super::testing::{Pair, addresses, key, peers};
    use quiclab_core::Duration;

    /// A server with a session of two connections, on each of which its client has proved another key.
    fn two_keys() -> (Pair, SessionId) {
        let mut pair = Pair::new(|_| {});
        pair.server.set_peers(pair.now, peers(&[&[1, 3]]));
        let (session, at_server) = pair.establish();
        // the client has both keys of its peer, and presents the other one on its second path
        pair.client.maker.config.secret_key = key(3);
        pair.client.set_peers(pair.now, peers(&[&[2]]));
        let (local, remote) = addresses(1);
        pair.client.add_path(pair.now, session, local, remote).unwrap();
        pair.run(Duration::from_millis(500));
        assert_eq!(pair.server.connections_of(at_server), 2);
        while pair.server.poll_event().is_some() {}
        (pair, at_server)
    }

    #[test]
    fn a_key_that_another_peer_gets_is_removed_from_the_first() {
        let (mut pair, at_server) = two_keys();
        pair.server.set_peers(pair.now, peers(&[&[1], &[3]]));
        assert_eq!(pair.server.connections_of(at_server), 1);
        assert_eq!(pair.server.peer(at_server), Some(key(1).public()));
    }

    #[test]
    fn a_connection_with_a_removed_key_ends_and_the_session_goes_on_without_it() {
        let (mut pair, at_server) = two_keys();
        // a peer that keeps both keys keeps both paths
        pair.server.set_peers(pair.now, peers(&[&[5], &[1, 3]]));
        assert_eq!(pair.server.connections_of(at_server), 2);
        pair.server.set_peers(pair.now, peers(&[&[1]]));
        assert_eq!(pair.server.connections_of(at_server), 1);
        pair.run(Duration::from_secs(3));
        assert_eq!(pair.server.peer(at_server), Some(key(1).public()), "the session is open");
        let events: Vec<_> = std::iter::from_fn(|| pair.server.poll_event()).collect();
        assert!(events.contains(&TunnelEvent::PathDown { session: at_server, path: 1 }), "{events:?}");
        let refused = RefusalReason::UnknownKey(Some(key(3).public()));
        assert!(
            events
                .iter()
                .any(|event| matches!(event, TunnelEvent::Refused { reason, .. } if *reason == refused)),
            "{events:?}"
        );
        let told = RefusalReason::OwnKeyUnknown;
        let events: Vec<_> = std::iter::from_fn(|| pair.client.poll_event()).collect();
        assert!(
            events
                .iter()
                .any(|event| matches!(event, TunnelEvent::Refused { reason, .. } if *reason == told)),
            "{events:?}"
        );
    }
}
