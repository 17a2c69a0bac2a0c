//! Filter that keeps other hosts, which have no key, from addresses inside, unless the configuration names their interface.
//!
//! Linux accepts packets for any of its addresses on any of its interfaces (the weak host model of RFC 1122
//! section 3.3.4.2), and forwards packets from any of them. Thus a host on the network of an uplink, or on a
//! network of the server, would reach addresses inside (CVE-2019-14899). wg-quick(8) drops the same packets
//! for its own addresses.
//!
//! | received packet | |
//! | --- | --- |
//! | by the device, by `lo`, or by an interface of `trusted_interfaces` | passes |
//! | from an address inside | dropped: it is forged |
//! | for an address of this machine inside | dropped, also in a known flow, whose packets come by the device |
//! | for another address inside | passes in a known flow if this end may forward, otherwise it is dropped |
//!
//! Inside are the networks of the device's addresses and, at a server, those behind its clients. If one of
//! these contains an address of another interface, such as a wide one around the server's own network, the
//! addresses that the kernel routes through the device are inside: those parts for which it has no more
//! specific route. Routes may come from other hosts (router advertisements), so they decide only here.
//!
//! Addresses are those that a packet has before the firewall of the machine translates them (priority `mangle`): ports that the
//! administrator forwards to a client, and replies to translated addresses, pass.

use super::firewall::{Firewall, address};
use super::netlink::Interface;
use super::nftables::{Chain, Hook, Rule, Set, Verdict};
use quiclab_core::ip::IpPrefix;
use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;

/// Priority of the chain, in the terms of `nft`: mangle, after conntrack and before address translation.
const MANGLE: i32 = -150;

/// Destinations of no host: multicast, and the broadcast of each network (RFC 1112 section 4, RFC 919 section
/// 7, RFC 4291 section 2.7).
const MULTICAST: [&str; 2] = ["224.0.0.0/3", "ff00::/8"];

/// Addresses inside, as seen from this end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InsideRanges {
    /// Addresses of this machine.
    pub own: BTreeSet<IpAddr>,
    /// Networks with the addresses of all ends.
    pub networks: BTreeSet<IpPrefix>,
    /// Networks behind clients of this server.
    pub behind: Behind,
}

/// Networks behind clients of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Behind {
    /// Networks without an address of another interface.
    apart: BTreeSet<IpPrefix>,
    /// Whether there are others, of which the addresses that the kernel routes through the device are inside.
    around_interfaces: bool,
}

impl Behind {
    /// Sorts these networks; `others` are the interfaces other than the device.
    #[must_use]
    pub fn new<'a>(networks: &[IpPrefix], others: impl Iterator<Item = &'a Interface>) -> Self {
        let outside: Vec<_> = others.flat_map(|interface| &interface.addresses).collect();
        let is_apart = |network: &IpPrefix| !outside.iter().any(|address| network.contains(**address));
        let (apart, around): (Vec<_>, Vec<_>) = networks.iter().copied().partition(is_apart);
        Self { apart: apart.into_iter().collect(), around_interfaces: !around.is_empty() }
    }

    fn with(&self, others: &Self) -> Self {
        Self {
            apart: &self.apart | &others.apart,
            around_interfaces: self.around_interfaces || others.around_interfaces,
        }
    }

    fn sets(&self) -> Vec<Set> {
        let networks: Vec<_> = self.apart.iter().copied().collect();
        let sets = [("behind_ipv4", true), ("behind_ipv6", false)]
            .map(|(name, ipv4)| Set::new(name, ipv4, &networks));
        sets.into_iter().filter(|set| !set.is_empty()).collect()
    }
}

impl InsideRanges {
    /// Union of these and others.
    #[must_use]
    pub fn with(&self, others: &Self) -> Self {
        Self {
            own: &self.own | &others.own,
            networks: &self.networks | &others.networks,
            behind: self.behind.with(&others.behind),
        }
    }
}

/// The table that keeps other hosts out, with its constant parts.
pub struct InsideFilter {
    firewall: Firewall,
    device: String,
    /// Other interfaces whose packets pass.
    trusted: Vec<String>,
    /// Whether known flows pass: other hosts answer to packets from the tunnel.
    forwards: bool,
    ranges: InsideRanges,
}

impl InsideFilter {
    /// Creates a filter of `device`, which has no address yet, with the networks behind a server's clients.
    ///
    /// # Errors
    /// If the kernel has no nftables, or refuses it.
    pub fn new(device: &str, trusted: &[String], forwards: bool, behind: Behind) -> io::Result<Self> {
        let (firewall, ranges) = (Firewall::inside(device)?, InsideRanges::default());
        let (device, trusted) = (device.to_owned(), trusted.to_vec());
        let mut filter = Self { firewall, device, trusted, forwards, ranges };
        filter.set(InsideRanges { behind, ..InsideRanges::default() })?;
        Ok(filter)
    }

    /// Ranges that are currently protected.
    #[must_use]
    pub fn ranges(&self) -> &InsideRanges {
        &self.ranges
    }

    /// Protects these ranges, in place of the earlier ones.
    ///
    /// # Errors
    /// If the kernel refuses it; nothing has changed then.
    pub fn set(&mut self, ranges: InsideRanges) -> io::Result<()> {
        let sets = ranges.behind.sets();
        let chain = self.chain(&ranges, &sets);
        self.firewall.replace(&sets, &[chain])?;
        self.ranges = ranges;
        Ok(())
    }

    /// Removes the table.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn remove(&mut self) -> io::Result<()> {
        self.firewall.remove().map(drop)
    }

    fn chain(&self, ranges: &InsideRanges, behind: &[Set]) -> Chain {
        let passing = ["lo", self.device.as_str()].into_iter().chain(self.trusted.iter().map(String::as_str));
        let mut rules: Vec<_> =
            passing.map(|name| Rule::new().iifname(name).verdict(Verdict::Accept)).collect();
        let matching = |prefix: IpPrefix, source| address(Rule::new(), source, prefix);
        let dropped = |prefix: &IpPrefix, source| matching(*prefix, source).verdict(Verdict::Drop);
        let in_set = |set: &Set, source| Rule::new().address_in(source, set).verdict(Verdict::Drop);
        let routed = |source| Rule::new().routed_through(source, &self.device).verdict(Verdict::Drop);
        rules.extend(ranges.networks.iter().map(|network| dropped(network, true)));
        rules.extend(behind.iter().map(|set| in_set(set, true)));
        rules.extend(ranges.behind.around_interfaces.then(|| routed(true)));
        rules.extend(ranges.own.iter().map(|own| dropped(&IpPrefix::host(*own), false)));
        rules.extend(self.forwards.then(|| Rule::new().of_known_flow().verdict(Verdict::Accept)));
        rules.extend(ranges.networks.iter().map(|network| dropped(network, false)));
        rules.extend(behind.iter().map(|set| in_set(set, false)));
        if ranges.behind.around_interfaces {
            // for multicast, the kernel has a route through each interface
            let many = MULTICAST.map(|range| range.parse().expect("it is a range"));
            rules.extend(many.map(|range| matching(range, false).verdict(Verdict::Accept)));
            rules.push(routed(false));
        }
        Chain {
            name: "arriving",
            kind: "filter",
            hook: Hook::Prerouting,
            priority: MANGLE,
            policy: Verdict::Accept,
            rules,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_networks_around_addresses_of_other_interfaces_are_left_to_routes() {
        let interface = |addresses: &[&str]| Interface {
            index: 1,
            running: true,
            addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
        };
        let interfaces = [interface(&["192.0.2.1"]), interface(&["10.5.0.1", "fd05::1"])];
        let behind = |networks: &[&str]| {
            let networks: Vec<IpPrefix> = networks.iter().map(|network| network.parse().unwrap()).collect();
            let behind = Behind::new(&networks, interfaces.iter());
            let apart: Vec<_> = behind.apart.iter().map(ToString::to_string).collect();
            (apart, behind.around_interfaces)
        };
        let apart =
            |networks: &[&str]| networks.iter().map(|network| (*network).to_owned()).collect::<Vec<_>>();
        assert_eq!(behind(&["10.77.0.0/24", "fd88::/64"]), (apart(&["10.77.0.0/24", "fd88::/64"]), false));
        assert_eq!(behind(&["10.0.0.0/8", "fd88::/64"]), (apart(&["fd88::/64"]), true));
        assert_eq!(behind(&["fd00::/8"]), (apart(&[]), true));
        assert_eq!(behind(&[]), (apart(&[]), false));
    }
}
