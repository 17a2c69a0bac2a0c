//! Assignment of addresses to clients: the configured one, else its former one, else the lowest free one.

use crate::config::{Peer, Server};
use crate::protocol::Assigned;
use quiclab_carrier::PublicKey;
use quiclab_core::ip::IpPrefix;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The addresses of a server's clients. A client keeps its address while the server runs.
pub struct Pool {
    four: Option<Range>,
    six: Option<Range>,
    /// For each key of a client with two keys, the other one.
    other_keys: BTreeMap<PublicKey, PublicKey>,
}

struct Range {
    network: IpPrefix,
    /// Owners of addresses, including those reserved by configuration.
    taken: BTreeMap<IpAddr, PublicKey>,
    by_peer: BTreeMap<PublicKey, IpAddr>,
    /// All addresses up to this one have an owner.
    next: u64,
}

impl Pool {
    /// Creates the pool of a server.
    #[must_use]
    pub fn new(server: &Server) -> Self {
        let range = |network: Option<IpPrefix>, own: &dyn Fn(&Peer) -> Option<IpAddr>| {
            let network = network?;
            let mut range = Range { network, taken: BTreeMap::new(), by_peer: BTreeMap::new(), next: 2 };
            for peer in &server.peers {
                if let Some(address) = own(peer) {
                    peer.keys().for_each(|key| range.give(address, key));
                }
            }
            Some(range)
        };
        Self {
            four: range(server.pool_ipv4, &|peer| peer.ipv4.map(IpAddr::V4)),
            six: range(server.pool_ipv6, &|peer| peer.ipv6.map(IpAddr::V6)),
            other_keys: server
                .peers
                .iter()
                .filter_map(|peer| Some((peer.public_key, peer.next_public_key?)))
                .flat_map(|(one, other)| [(one, other), (other, one)])
                .collect(),
        }
    }

    /// Sets the peers of a reloaded configuration. Remaining peers keep their leases, unless another peer now has the
    /// address.
    pub fn reload(&mut self, server: &Server) {
        let mut new = Self::new(server);
        for (old, new) in [(&self.four, &mut new.four), (&self.six, &mut new.six)] {
            let (Some(old), Some(new)) = (old, new) else { continue };
            for (key, address) in &old.by_peer {
                let Some(peer) = server.peers.iter().find(|peer| peer.has_key(*key)) else { continue };
                if !new.by_peer.contains_key(key) && !new.taken.contains_key(address) {
                    // also to a key that has not been used yet: it may be the only one after the next reload
                    peer.keys().for_each(|key| new.give(*address, key));
                }
            }
        }
        *self = new;
    }

    /// Whether `address` is that of `peer`.
    #[must_use]
    pub fn has(&self, peer: PublicKey, address: IpAddr) -> bool {
        let range = if address.is_ipv4() { &self.four } else { &self.six };
        range.as_ref().is_some_and(|range| range.by_peer.get(&peer) == Some(&address))
    }

    /// The server's own addresses.
    pub fn own(&self) -> impl Iterator<Item = (IpAddr, IpPrefix)> {
        [&self.four, &self.six].into_iter().flatten().map(|range| (range.server(), range.network))
    }

    /// Assigns addresses to a client that requests these families; empty if there is none.
    pub fn assign(&mut self, peer: PublicKey, ipv4: bool, ipv6: bool) -> Vec<Assigned> {
        let other = self.other_keys.get(&peer).copied();
        let four = self.four.as_mut().filter(|_| ipv4);
        let six = self.six.as_mut().filter(|_| ipv6);
        four.into_iter().chain(six).filter_map(|range| range.assign(peer, other)).collect()
    }
}

impl Range {
    fn server(&self) -> IpAddr {
        self.network.nth(1).expect("the range has more than one address")
    }

    fn give(&mut self, address: IpAddr, peer: PublicKey) {
        self.taken.insert(address, peer);
        self.by_peer.insert(peer, address);
    }

    fn assign(&mut self, peer: PublicKey, other: Option<PublicKey>) -> Option<Assigned> {
        let address = match self.by_peer.get(&peer) {
            Some(address) => *address,
            None => {
                let address = self.free()?;
                other.into_iter().chain([peer]).for_each(|key| self.give(address, key));
                address
            }
        };
        Some(Assigned { address, network: self.network, server: Some(self.server()) })
    }

    fn free(&mut self) -> Option<IpAddr> {
        loop {
            let address = self.network.nth(self.next)?;
            // the broadcast address of IPv4 belongs to no host
            if self.network.is_ipv4() && address == crate::config::last(self.network) {
                return None;
            }
            self.next += 1;
            if !self.taken.contains_key(&address) {
                return Some(address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclab_carrier::SecretKey;
    use quiclab_transport::options::CongestionControl;

    fn key(number: u8) -> PublicKey {
        SecretKey::from_bytes([number; 32]).public()
    }

    fn server() -> Server {
        let peer = |number: u8, ipv4: Option<&str>| Peer {
            name: format!("peer{number}"),
            public_key: key(number),
            ipv4: ipv4.map(|address| address.parse().unwrap()),
            ipv6: None,
            next_public_key: None,
            networks: Vec::new(),
        };
        Server {
            listen: Vec::new(),
            pool_ipv4: Some("10.77.0.0/29".parse().unwrap()),
            pool_ipv6: Some("fd77::/64".parse().unwrap()),
            forward: false,
            masquerade: false,
            isolate_clients: false,
            mtu: 1500,
            congestion_control: CongestionControl::Cubic,
            window: None,
            announce: Vec::new(),
            peers: vec![peer(1, Some("10.77.0.3")), peer(2, None)],
            connect_ip: None,
        }
    }

    fn pool() -> Pool {
        Pool::new(&server())
    }

    #[test]
    fn a_client_has_the_same_addresses_with_both_of_its_keys() {
        let mut server = server();
        let mut pool = Pool::new(&server);
        let given = |pool: &mut Pool, number: u8| -> Vec<String> {
            pool.assign(key(number), true, true).iter().map(|assigned| assigned.address.to_string()).collect()
        };
        let [fixed, dynamic] = [given(&mut pool, 1), given(&mut pool, 2)];
        (server.peers[0].next_public_key, server.peers[1].next_public_key) = (Some(key(11)), Some(key(12)));
        pool.reload(&server);
        assert_eq!((given(&mut pool, 1), given(&mut pool, 11)), (fixed.clone(), fixed.clone()));
        assert_eq!((given(&mut pool, 2), given(&mut pool, 12)), (dynamic.clone(), dynamic.clone()));
        // the earlier keys are removed, and another client does not get the addresses
        for (peer, number) in server.peers.iter_mut().zip([11, 12]) {
            (peer.public_key, peer.next_public_key) = (key(number), None);
        }
        pool.reload(&server);
        assert_eq!(given(&mut pool, 3)[0], "10.77.0.4");
        assert_eq!((given(&mut pool, 11), given(&mut pool, 12)), (fixed, dynamic));
        // a new server that knows both keys from the beginning
        server.peers[1].next_public_key = Some(key(22));
        let mut pool = Pool::new(&server);
        assert_eq!(given(&mut pool, 22), given(&mut pool, 12));
    }

    #[test]
    fn each_client_has_its_own_and_keeps_it() {
        let mut pool = pool();
        let mut given = |number: u8, six: bool| -> Vec<String> {
            pool.assign(key(number), true, six).iter().map(|assigned| assigned.address.to_string()).collect()
        };
        // .0 is the network, .1 the server, .3 belongs to peer 1
        assert_eq!(given(2, true), ["10.77.0.2", "fd77::2"]);
        assert_eq!(given(1, true), ["10.77.0.3", "fd77::3"]);
        assert_eq!(given(3, false), ["10.77.0.4"]);
        assert_eq!(given(2, true), ["10.77.0.2", "fd77::2"]);
        assert_eq!(given(4, false), ["10.77.0.5"]);
        assert_eq!(given(5, false), ["10.77.0.6"]);
        // .7 is the broadcast address
        assert!(given(6, false).is_empty());
        assert_eq!(given(6, true), ["fd77::4"]);
    }

    #[test]
    fn the_server_has_the_first_of_each_range() {
        let own: Vec<String> =
            pool().own().map(|(address, network)| format!("{address} {network}")).collect();
        assert_eq!(own, ["10.77.0.1 10.77.0.0/29", "fd77::1 fd77::/64"]);
    }
}
