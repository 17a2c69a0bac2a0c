//! Reload of the configuration while packets pass: peers are added, removed and changed, and certificates;
//! sessions of other peers are not affected.

use super::Daemon;
use crate::config::{self, Config, InForce};
use crate::session::Session;
use crate::system::Machine;
use quiclab_core::Time;
use quiclab_core::ip::IpPrefix;
use quiclab_core::problem::system_reason;

impl Daemon {
    /// Reloads the configuration. Returns a message about the changes.
    ///
    /// # Errors
    /// A message with the reason for which nothing has changed.
    pub(super) fn reload(&mut self, now: Time) -> Result<String, String> {
        let reloaded = self.apply(now);
        match &reloaded {
            Ok(sentence) => tracing::info!("{sentence}"),
            Err(sentence) => tracing::error!("configuration not reloaded: {sentence}"),
        }
        reloaded
    }

    fn apply(&mut self, now: Time) -> Result<String, String> {
        let connect_ip = self.endpoint.connect_ip();
        let current = InForce { config: &self.config, key: &self.key, connect_ip };
        let (new, connect_ip) = config::reload(&self.file, &current).map_err(|error| error.to_string())?;
        let mut sentence = match new.client.is_some() {
            true => self.apply_to_client(now, new)?,
            false => self.apply_to_server(now, new)?,
        };
        if let (Some(before), Some(after)) = (self.endpoint.connect_ip(), connect_ip) {
            if !after.has_certificates_of(before) {
                sentence += ", other certificates from now on";
            }
            let closed = self.endpoint.set_connect_ip(now, after);
            if closed > 0 {
                sentence += &format!(", {} closed", counted(closed, "session"));
            }
        }
        self.transmit(now);
        // the next request, also in this turn, sees the changes
        while let Some(event) = self.endpoint.poll_event() {
            self.event(now, event);
        }
        Ok(sentence)
    }

    fn apply_to_server(&mut self, now: Time, mut new: Config) -> Result<String, String> {
        let known = new.known_peers();
        let (Some(clients), Some(old), Some(server)) =
            (&mut self.clients, &mut self.config.server, new.server.take())
        else {
            unreachable!("a reload changes no server to a client");
        };
        let (before, networks) = (old.networks(), server.networks());
        let machine = &mut self.machine;
        let interface = &new.interface;
        let translate = |machine: &mut Machine, networks: &[IpPrefix]| match server.masquerade {
            true => machine.masquerade(interface, networks),
            false => Ok(()),
        };
        let done = machine.set_networks(&networks).and_then(|()| translate(machine, &server.translated()));
        if let Err(error) = done {
            let _ = translate(machine, &old.translated());
            let _ = machine.set_networks(&before);
            return Err(format!("the networks of the peers cannot be routed: {}", system_reason(&error)));
        }
        self.endpoint.set_peers(now, known);
        clients.reload(&server);
        let old = std::mem::replace(old, server);
        let server = self.config.server.as_ref().expect("it is a server");
        let mut closed = Vec::new();
        let reason_to_close = |session: &Session| {
            clients.reason_to_close(session, old.peer(session.peer), server.peer(session.peer))
        };
        for session in self.sessions.values_mut() {
            match (reason_to_close(session), server.peer(session.peer)) {
                (None, Some(after)) => session.name.clone_from(&after.name),
                (reason, _) => closed.push((session.id, session.name.clone(), reason.unwrap_or_default())),
            }
        }
        let parked = self.parked.iter().filter(|(_, (_, session))| reason_to_close(session).is_some());
        let gone: Vec<_> = parked.map(|(id, _)| *id).collect();
        for id in gone {
            self.forget(id);
        }
        for (id, peer, reason) in &closed {
            tracing::info!(session = id.0, peer, reason, "session closed by a reload");
            self.endpoint.close(now, *id);
            self.forget(*id);
        }
        let (known, count) = (server_peers(&self.config), closed.len());
        let (peers, sessions) = (counted(known, "peer"), counted(count, "session"));
        let reasons: Vec<_> = closed.iter().map(|(_, peer, reason)| format!("{peer}: {reason}")).collect();
        let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) };
        Ok(format!("configuration reloaded: {peers}, {sessions} closed{reasons}"))
    }

    /// Sets the keys that the server may have. The session continues: a key that its server has is not removed.
    fn apply_to_client(&mut self, now: Time, new: Config) -> Result<String, String> {
        let known = new.known_peers();
        // including a session that has no addresses yet
        let mut open = self.sessions.keys().filter_map(|session| self.endpoint.peer(*session));
        // with CONNECT-IP, the key of the server is fixed
        let own = self.endpoint.connect_ip().is_none();
        if let Some(key) = open.find(|key| own && !known.has(*key)) {
            return Err(format!(
                "client.server_key: expected the key of the server in the session ({key}), here or in `next_server_key`; end the tunnel to connect to another server"
            ));
        }
        let keys = new.client.iter().flat_map(config::Client::server_keys).count();
        self.endpoint.set_peers(now, known);
        self.config.client = new.client;
        Ok(match keys {
            0 => "configuration reloaded: the authorities decide which server is known".to_owned(),
            keys => format!("configuration reloaded: the server may have {}", counted(keys, "key")),
        })
    }
}

/// Number with a noun, singular or plural.
fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn server_peers(config: &config::Config) -> usize {
    config.server.as_ref().map_or(0, |server| server.peers.len())
}
