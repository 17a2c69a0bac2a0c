//! A configuration that is read again while packets pass: peers come, go and change; sessions of the others do not notice.

use super::Daemon;
use crate::config;
use crate::session::Session;
use quiclab_core::Time;
use quiclab_core::problem::system_reason;
use quiclab_stacks::carrier::SessionId;

impl Daemon {
    /// Reads the configuration again. A sentence tells what has changed.
    ///
    /// # Errors
    /// A sentence about why nothing has changed.
    pub(super) fn reload(&mut self, now: Time) -> Result<String, String> {
        let reloaded = self.apply(now);
        match &reloaded {
            Ok(sentence) => tracing::info!("{sentence}"),
            Err(sentence) => tracing::error!("configuration not reloaded: {sentence}"),
        }
        reloaded
    }

    fn apply(&mut self, now: Time) -> Result<String, String> {
        let mut new = config::reload(&self.file, &self.config).map_err(|error| error.to_string())?;
        if let Some(client) = new.client.take() {
            return self.apply_to_client(client);
        }
        let (Some(clients), Some(old), Some(server)) =
            (&mut self.clients, &mut self.config.server, new.server.take())
        else {
            unreachable!("a reload changes no server to a client");
        };
        let networks: Vec<_> = server.peers.iter().flat_map(|peer| peer.networks.clone()).collect();
        if let Err(error) = self.machine.set_routes(&networks, &[]) {
            let before: Vec<_> = old.peers.iter().flat_map(|peer| peer.networks.clone()).collect();
            let _ = self.machine.set_routes(&before, &[]);
            return Err(format!("the networks of the peers cannot be routed: {}", system_reason(&error)));
        }
        self.endpoint.set_peers(server.peers.iter().flat_map(config::Peer::keys).collect());
        clients.reload(&server);
        let old = std::mem::replace(old, server);
        let server = self.config.server.as_ref().expect("it is a server");
        let mut closed = Vec::new();
        let find = |peers: &[config::Peer], session: &Session| {
            peers.iter().find(|peer| peer.has_key(session.peer)).cloned()
        };
        for session in self.sessions.values_mut() {
            let (before, after) = (find(&old.peers, session), find(&server.peers, session));
            match after {
                Some(after) if clients.keeps(session, before.as_ref(), &after) => session.name = after.name,
                _ => closed.push(session.id),
            }
        }
        let peers = &server.peers;
        let same = |session: &Session| {
            let before = find(&old.peers, session);
            find(peers, session).is_some_and(|after| clients.keeps(session, before.as_ref(), &after))
        };
        let parked = self.parked.iter().filter(|(_, (_, session))| !same(session));
        let gone: Vec<_> = parked.map(|(id, _)| *id).collect();
        for id in gone {
            self.forget(id);
        }
        for id in &closed {
            self.close_session(now, *id);
        }
        self.transmit(now);
        let (known, count) = (server_peers(&self.config), closed.len());
        Ok(format!("configuration reloaded: {known} peers, {count} sessions closed"))
    }

    /// Takes over the keys that the server may have. The session goes on: a key that its server has is not removed.
    fn apply_to_client(&mut self, new: config::Client) -> Result<String, String> {
        let keys: Vec<_> = new.server_keys().collect();
        let open = self.sessions.values().find(|session| session.open.is_some());
        // of CONNECT-IP, the key of the server is fixed
        let own = new.connect_ip.is_none();
        if let Some(session) = open.filter(|session| own && !keys.contains(&session.peer)) {
            return Err(format!(
                "client.server_key: expected the key of the server in the session ({}), here or in `next_server_key`; end the tunnel to connect to another server",
                session.peer
            ));
        }
        let count = keys.len();
        self.endpoint.set_peers(keys);
        self.config.client = Some(new);
        Ok(format!("configuration reloaded: the server may have {count} keys"))
    }

    /// Ends a session whose peer may not go on with it; a peer that may connect does so at once.
    fn close_session(&mut self, now: Time, id: SessionId) {
        tracing::info!(
            session = id.0,
            peer = self.sessions.get(&id).map(|session: &Session| session.name.as_str()),
            "session closed by a reload"
        );
        self.endpoint.close(now, id);
        self.forget(id);
    }
}

fn server_peers(config: &config::Config) -> usize {
    config.server.as_ref().map_or(0, |server| server.peers.len())
}
