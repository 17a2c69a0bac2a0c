//! The server: addresses of its clients, and the session to which each address belongs.

use super::Daemon;
use super::client::listed;
use crate::config::{Peer, Server};
use crate::pool::Pool;
use crate::protocol::{Assigned, Assignment, Message};
use crate::session::Session;
use quiclab_carrier::SessionId;
use quiclab_core::Time;
use quiclab_core::ip::IpPrefix;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The pool of a server, and the session of each address in use.
pub(super) struct ClientAddresses {
    pool: Pool,
    hosts: BTreeMap<IpAddr, SessionId>,
    /// Networks behind clients, the longest prefix first.
    networks: Vec<(IpPrefix, SessionId)>,
}

impl ClientAddresses {
    /// The addresses of a server without sessions.
    pub(super) fn new(server: &Server) -> Self {
        Self { pool: Pool::new(server), hosts: BTreeMap::new(), networks: Vec::new() }
    }

    /// The session of the client that has the address, or has the network of the address behind it.
    pub(super) fn session_of(&self, address: IpAddr) -> Option<SessionId> {
        let network = || self.networks.iter().find(|(prefix, _)| prefix.contains(address));
        self.hosts.get(&address).copied().or_else(|| network().map(|(_, session)| *session))
    }

    /// Sets the peers of a reloaded configuration.
    pub(super) fn reload(&mut self, server: &Server) {
        self.pool.reload(server);
    }

    /// Reason for which a session cannot continue if its peer was configured as `before` and is now `after`; `None` if it has the
    /// same addresses and networks.
    pub(super) fn reason_to_close(
        &self,
        session: &Session,
        before: Option<&Peer>,
        after: Option<&Peer>,
    ) -> Option<&'static str> {
        let Some(after) = after else { return Some("no peer has its key any more") };
        let is_own = |assigned: &Assigned| self.pool.has(session.peer, assigned.address);
        if !session.assigned.iter().all(is_own) {
            Some("its address is configured for another peer, or another one for it")
        } else if before.is_none_or(|before| before.networks != after.networks) {
            Some("its networks have changed")
        } else {
            None
        }
    }

    /// Moves the addresses of the session `from` to the session `to`.
    pub(super) fn hand_over(&mut self, from: SessionId, to: SessionId) {
        let hosts = self.hosts.values_mut();
        let owners = hosts.chain(self.networks.iter_mut().map(|(_, owner)| owner));
        owners.filter(|owner| **owner == from).for_each(|owner| *owner = to);
    }

    /// Removes the addresses of a session that ended.
    pub(super) fn remove(&mut self, session: SessionId) {
        self.hosts.retain(|_, owner| *owner != session);
        self.networks.retain(|(_, owner)| *owner != session);
    }

    /// Adds addresses of a session; an earlier session of the client may still have them.
    fn insert(&mut self, session: SessionId, hosts: &[Assigned], networks: Vec<IpPrefix>) {
        self.hosts.extend(hosts.iter().map(|assigned| (assigned.address, session)));
        self.networks.retain(|(prefix, _)| !networks.contains(prefix));
        self.networks.extend(networks.into_iter().map(|prefix| (prefix, session)));
        self.networks.sort_by_key(|(prefix, _)| Reverse(prefix.length()));
    }
}

impl Daemon {
    /// Assigns addresses to a client that requests them.
    pub(super) fn assign(&mut self, now: Time, id: SessionId, ipv4: bool, ipv6: bool) {
        let (Some(session), Some(clients), Some(server)) =
            (self.sessions.get_mut(&id), &mut self.clients, &self.config.server)
        else {
            return;
        };
        let assigned = clients.pool.assign(session.peer, ipv4, ipv6);
        if assigned.is_empty() {
            tracing::warn!(peer = session.name, "the pool is used up");
            if self.endpoint.is_connect_ip(id) {
                self.endpoint.close(now, id);
                self.forget(id);
            } else {
                self.send_control(id, &Message::Refusal("no free address is available".to_owned()));
            }
            return;
        }
        let networks = server.peer(session.peer).map(|peer| peer.networks.clone()).unwrap_or_default();
        let hosts = assigned.iter().map(|assigned| IpPrefix::host(assigned.address));
        session.allowed = Some(hosts.chain(networks.iter().copied()).collect());
        session.opened(now, assigned.clone(), self.config.mtu);
        // it may have had other addresses before a reload
        clients.remove(id);
        clients.insert(id, &assigned, networks);
        let assignment =
            Assignment { mtu: self.config.mtu, addresses: assigned, routes: server.announce.clone() };
        let addresses = listed(assignment.addresses.iter().map(|one| one.address));
        tracing::info!(session = id.0, addresses, "addresses assigned");
        #[cfg(feature = "connect-ip")]
        if self.endpoint.is_connect_ip(id) {
            self.tell_addresses(id, &[]);
            return self.tell_destinations(id);
        }
        self.send_control(id, &Message::Assignment(assignment));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclab_transport::options::CongestionControl;

    #[test]
    fn an_address_belongs_to_its_host_and_otherwise_to_the_longest_prefix() {
        let mut clients = ClientAddresses::new(&Server {
            listen: Vec::new(),
            pool_ipv4: Some("10.77.0.0/24".parse().unwrap()),
            pool_ipv6: None,
            forward: false,
            masquerade: false,
            isolate_clients: false,
            mtu: 1500,
            congestion_control: CongestionControl::Cubic,
            window: None,
            announce: Vec::new(),
            peers: Vec::new(),
            connect_ip: None,
        });
        let host = |address: &str| Assigned {
            address: address.parse().unwrap(),
            network: "10.77.0.0/24".parse().unwrap(),
            server: Some("10.77.0.1".parse().unwrap()),
        };
        let networks = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        clients.insert(SessionId(1), &[host("10.77.0.2")], networks(&["192.168.0.0/16"]));
        clients.insert(SessionId(2), &[host("10.77.0.3")], networks(&["192.168.7.0/24"]));
        let found = |clients: &ClientAddresses, address: &str| {
            clients.session_of(address.parse().unwrap()).map(|session| session.0)
        };
        assert_eq!(found(&clients, "10.77.0.2"), Some(1));
        assert_eq!(found(&clients, "10.77.0.3"), Some(2));
        assert_eq!(found(&clients, "10.77.0.4"), None, "assigned to no client");
        assert_eq!(found(&clients, "192.168.8.1"), Some(1));
        assert_eq!(found(&clients, "192.168.7.1"), Some(2), "the longer prefix");
        // a client that reconnects has them in its new session, also after the end of the earlier one
        clients.hand_over(SessionId(2), SessionId(3));
        clients.remove(SessionId(2));
        assert_eq!(found(&clients, "10.77.0.3"), Some(3));
        assert_eq!(found(&clients, "192.168.7.1"), Some(3));
        clients.remove(SessionId(3));
        assert_eq!(found(&clients, "10.77.0.3"), None);
        assert_eq!(found(&clients, "192.168.7.1"), Some(1), "the shorter prefix remains");
    }
}
