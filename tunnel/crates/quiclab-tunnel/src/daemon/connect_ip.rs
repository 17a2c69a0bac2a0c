//! Sessions of CONNECT-IP: addresses and destinations in capsules, at both ends (RFC 9484 section 4.7).
//!
//! | | client | server |
//! | --- | --- | --- |
//! | addresses | requested when the session opens: one of each usable family | assigned when it opens, also without a request; the answer to a request is the same |
//! | destinations | those of the configuration; those of the server with `accept_routes` | the pools, and `announce` |
//! | further assignments and advertisements of the peer | – | ignored: `networks` of the peer applies |

use super::{Daemon, DaemonError};
use crate::protocol::{Assigned, Assignment, MAX_ROUTES, is_host};
use quiclab_carrier::SessionId;
use quiclab_connect_ip::capsule::{AddressRange, Capsule, CapsuleAddress, none};
use quiclab_connect_ip::ranges::{networks_of, ranges_of};
use quiclab_core::Time;
use quiclab_core::ip::{IpPrefix, SMALLEST_IPV6_MTU};

/// Announcements of a client's server so far.
#[derive(Debug, Default)]
pub(super) struct Offer {
    addresses: Vec<CapsuleAddress>,
    destinations: Vec<AddressRange>,
    /// Session with new announcements that are not applied yet.
    new: Option<SessionId>,
}

impl Offer {
    /// Replaces a list by a new one; an equal list is not new.
    fn update<T: PartialEq>(id: SessionId, new: &mut Option<SessionId>, before: &mut Vec<T>, after: Vec<T>) {
        if *before != after {
            (*before, *new) = (after, Some(id));
        }
    }
}

impl Daemon {
    fn send_capsule(&mut self, session: SessionId, capsule: &Capsule) {
        if let Err(error) = self.endpoint.send_capsule(session, capsule) {
            tracing::warn!(session = session.0, %error, "capsule not sent");
        }
    }

    /// Requests addresses for an opened session of a client.
    pub(super) fn ask_for_addresses(&mut self, id: SessionId) {
        self.offer = Offer::default();
        let families = [true, false].into_iter().filter(|ipv4| *ipv4 || self.config.mtu >= SMALLEST_IPV6_MTU);
        let wanted =
            (1..).zip(families).map(|(request, ipv4)| CapsuleAddress { request, prefix: none(ipv4) });
        let capsule = Capsule::AddressRequest(wanted.collect());
        self.send_capsule(id, &capsule);
    }

    /// Sends the assigned addresses to a client, as an answer to these requests, if there are any.
    pub(super) fn tell_addresses(&mut self, id: SessionId, requests: &[CapsuleAddress]) {
        let Some(session) = self.sessions.get(&id) else { return };
        let capsule = Capsule::AddressAssign(answers(&session.assigned, requests));
        self.send_capsule(id, &capsule);
    }

    /// Sends the destinations that the server forwards to to a client.
    pub(super) fn tell_destinations(&mut self, id: SessionId) {
        let (Some(session), Some(server)) = (self.sessions.get(&id), &self.config.server) else { return };
        let pools: Vec<_> = session.assigned.iter().map(|assigned| assigned.network).collect();
        let has = |route: &&IpPrefix| pools.iter().any(|pool| pool.is_ipv4() == route.is_ipv4());
        let networks: Vec<_> = pools.iter().chain(server.announce.iter().filter(has)).copied().collect();
        self.send_capsule(id, &Capsule::RouteAdvertisement(ranges_of(&networks)));
    }

    /// Handles a capsule of the peer. Each has all values that are valid from then on: the machine is set up once per turn, by
    /// the last ones ([`Daemon::follow_offer`]).
    pub(super) fn capsule(&mut self, id: SessionId, capsule: Capsule) {
        let is_server = self.clients.is_some();
        let Offer { addresses, destinations, new } = &mut self.offer;
        match capsule {
            Capsule::AddressRequest(requests) if is_server => self.tell_addresses(id, &requests),
            Capsule::AddressAssign(all) if !is_server => Offer::update(id, new, addresses, all),
            Capsule::RouteAdvertisement(all) if !is_server => Offer::update(id, new, destinations, all),
            // this end has no networks for its peer: neither an error nor useful
            _ => {}
        }
    }

    /// Applies the server's announcements of this turn to the machine, if they are new.
    pub(super) fn follow_offer(&mut self, now: Time) {
        if let Some(id) = self.offer.new.take()
            && let Err(error) = self.take_offer(now, id)
        {
            self.end = Some(Err(error));
        }
    }

    /// Discards the announcements of a session that has ended.
    pub(super) fn forget_offer(&mut self) {
        self.offer = Offer::default();
    }

    fn take_offer(&mut self, now: Time, id: SessionId) -> Result<(), DaemonError> {
        let addresses = usable(&self.offer.addresses, self.config.mtu);
        if addresses.is_empty() {
            let had_some = self.sessions.get(&id).is_some_and(|session| session.open.is_some());
            // a server may have announced destinations before its answer
            return if self.offer.addresses.is_empty() && !had_some {
                Ok(())
            } else {
                Err(DaemonError::Refused("it assigns no address".to_owned()))
            };
        }
        let routes = networks_of(&self.offer.destinations, MAX_ROUTES);
        let assignment = Assignment { mtu: self.config.mtu, addresses, routes };
        self.assigned(now, id, assignment)
    }

    /// Ends sessions with IPv6 inside whose path is known to carry less than the 1280 bytes that it needs (RFC 9484 section
    /// 7.2: such a tunnel MUST be aborted). Datagrams of HTTP/3 have no fragments.
    pub(super) fn end_narrow_sessions(&mut self, now: Time) {
        let narrow: Vec<_> = self
            .sessions
            .values()
            .filter(|session| session.assigned.iter().any(|assigned| assigned.address.is_ipv6()))
            .map(|session| session.id)
            .filter(|id| self.endpoint.is_connect_ip(*id))
            .filter(|id| {
                let mtu = self.endpoint.path_mtu(*id, 0);
                mtu.is_some_and(|mtu| mtu.is_final && mtu.payload < SMALLEST_IPV6_MTU)
            })
            .collect();
        for id in narrow {
            tracing::warn!(session = id.0, "{}", DaemonError::Narrow);
            if self.clients.is_some() {
                self.endpoint.close(now, id);
                self.forget(id);
            } else {
                self.end = Some(Err(DaemonError::Narrow));
            }
        }
    }
}

/// First address of each family that a host may have; of a network the second address, as the first belongs to no host.
fn usable(offered: &[CapsuleAddress], mtu: u16) -> Vec<Assigned> {
    let of_family = |ipv4: bool| {
        let all = offered.iter().filter(|offer| offer.prefix.is_ipv4() == ipv4 && !offer.is_refusal());
        let mut hosts = all.filter_map(|offer| {
            let address = offer.prefix.nth(1).unwrap_or(offer.prefix.network());
            let network = if offer.prefix.length() == 0 { IpPrefix::host(address) } else { offer.prefix };
            is_host(address).then_some(Assigned { address, network, server: None })
        });
        hosts.next()
    };
    let ipv6 = of_family(false).filter(|_| mtu >= SMALLEST_IPV6_MTU);
    of_family(true).into_iter().chain(ipv6).collect()
}

/// All assigned addresses, each as the answer to the first request of its family; other requests are refused.
fn answers(assigned: &[Assigned], requests: &[CapsuleAddress]) -> Vec<CapsuleAddress> {
    let mut left: Vec<_> = assigned.iter().map(|assigned| IpPrefix::host(assigned.address)).collect();
    let mut answers: Vec<_> = requests
        .iter()
        .map(|wanted| {
            let ipv4 = wanted.prefix.is_ipv4();
            let own = left.iter().position(|prefix| prefix.is_ipv4() == ipv4);
            let prefix = own.map_or_else(|| none(ipv4), |own| left.remove(own));
            CapsuleAddress { request: wanted.request, prefix }
        })
        .collect();
    answers.extend(left.into_iter().map(|prefix| CapsuleAddress { request: 0, prefix }));
    answers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offers(texts: &[&str]) -> Vec<CapsuleAddress> {
        (1..)
            .zip(texts)
            .map(|(request, text)| CapsuleAddress { request, prefix: text.parse().unwrap() })
            .collect()
    }

    fn texts(assigned: &[Assigned]) -> Vec<String> {
        assigned.iter().map(|assigned| format!("{} {}", assigned.address, assigned.network)).collect()
    }

    #[test]
    fn a_client_takes_one_address_of_each_family() {
        let all = offers(&["::/128", "10.0.0.2/32", "10.0.0.3/32", "fd00:7::/64"]);
        assert_eq!(texts(&usable(&all, 1400)), ["10.0.0.2 10.0.0.2/32", "fd00:7::1 fd00:7::/64"]);
        assert_eq!(texts(&usable(&all, 1000)), ["10.0.0.2 10.0.0.2/32"], "too short for IPv6");
        // an address that no host can have is not accepted, nor the network of all addresses
        assert!(
            usable(&offers(&["127.0.0.1/32", "224.0.0.0/4", "0.0.0.0/32", "ff00::/8", "::1/128"]), 1400)
                .is_empty()
        );
        assert_eq!(texts(&usable(&offers(&["0.0.0.0/0"]), 1400)), ["0.0.0.1 0.0.0.1/32"]);
    }

    #[test]
    fn a_server_answers_each_request_and_tells_the_rest() {
        let assigned = usable(&offers(&["10.77.0.2/32", "fd77::2/128"]), 1400);
        let told = |requests: &[&str]| {
            let all = answers(&assigned, &offers(requests));
            all.iter().map(|answer| format!("{} {}", answer.request, answer.prefix)).collect::<Vec<_>>()
        };
        assert_eq!(told(&[]), ["0 10.77.0.2/32", "0 fd77::2/128"]);
        assert_eq!(told(&["0.0.0.0/32", "::/128"]), ["1 10.77.0.2/32", "2 fd77::2/128"]);
        assert_eq!(
            told(&["::/128", "192.0.2.1/32", "0.0.0.0/32"]),
            ["1 fd77::2/128", "2 10.77.0.2/32", "3 0.0.0.0/32"]
        );
        assert_eq!(told(&["::/128"]), ["1 fd77::2/128", "0 10.77.0.2/32"]);
    }
}
