//! Which hosts beside the machine reach addresses inside without a key: none, unless the configuration names their interface.
//!
//! Linux takes packets for any of its addresses on any of its interfaces (the weak host model of RFC 1122 section 3.3.4.2), and forwards
//! what comes on any of them. A host on the network of an uplink, or beside a server, would so reach addresses inside
//! (CVE-2019-14899). wg-quick(8) drops the same for addresses of its own.
//!
//! | a packet that comes | |
//! | --- | --- |
//! | by the device, by `lo`, or by an interface of `trusted_interfaces` | passes |
//! | from an address inside | dropped: it is forged |
//! | for an address of this machine inside | dropped, also as a part of a known flow: what belongs to that comes by the device |
//! | for another address inside | passes as a part of a known flow where this end may forward, otherwise it is dropped |
//!
//! Inside are the networks of the device's addresses and, at a server, what the kernel routes through the device: of the networks behind
//! its clients, those parts for which it has no better route, such as that to the network of an interface, which lies outside.
//!
//! Addresses are those that a packet has before the firewall of the machine translates them (priority `mangle`): ports that the
//! administrator forwards to a client, and replies to translated addresses, pass.

use super::firewall::{Firewall, address};
use super::nftables::{Chain, Hook, Rule, Verdict};
use quiclab_core::ip::IpPrefix;
use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;

/// Priority of the chain, as `nft` names it: mangle, after the state of flows is known and before addresses are translated.
const MANGLE: i32 = -150;

/// Destinations that are no host's: multicasts, and the broadcast of each network (RFC 1112 section 4, RFC 919 section 7, RFC 4291 section 2.7).
const MULTICAST: [&str; 2] = ["224.0.0.0/3", "ff00::/8"];

/// What is inside, as seen from this end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InsideRanges {
    /// Addresses of this machine.
    pub own: BTreeSet<IpAddr>,
    /// Networks with the addresses of all ends.
    pub networks: BTreeSet<IpPrefix>,
    /// All that the kernel routes through the device: networks behind clients of this server. A client has routes to others.
    pub routed: bool,
}

impl InsideRanges {
    /// These and others.
    #[must_use]
    pub fn with(&self, others: &Self) -> Self {
        let routed = self.routed || others.routed;
        Self { own: &self.own | &others.own, networks: &self.networks | &others.networks, routed }
    }
}

/// The table that keeps hosts beside the machine out, with what does not change.
pub struct InsideFilter {
    firewall: Firewall,
    device: String,
    /// Other interfaces whose packets pass.
    trusted: Vec<String>,
    /// Known flows go on: others answer to what came through the tunnel.
    forwards: bool,
    ranges: InsideRanges,
}

impl InsideFilter {
    /// A filter of `device`, which has no address yet; with `routed`, that of a server with networks behind its clients.
    ///
    /// # Errors
    /// If the kernel has no nftables, or refuses it.
    pub fn new(device: &str, trusted: &[String], forwards: bool, routed: bool) -> io::Result<Self> {
        let (firewall, ranges) = (Firewall::inside(device)?, InsideRanges::default());
        let (device, trusted) = (device.to_owned(), trusted.to_vec());
        let mut filter = Self { firewall, device, trusted, forwards, ranges };
        filter.set(InsideRanges { routed, ..InsideRanges::default() })?;
        Ok(filter)
    }

    /// What is kept apart now.
    #[must_use]
    pub fn ranges(&self) -> &InsideRanges {
        &self.ranges
    }

    /// Keeps these apart, in place of the ranges before.
    ///
    /// # Errors
    /// If the kernel refuses it; nothing has changed then.
    pub fn set(&mut self, ranges: InsideRanges) -> io::Result<()> {
        let chain = self.chain(&ranges);
        self.firewall.replace(&[chain])?;
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

    fn chain(&self, ranges: &InsideRanges) -> Chain {
        let passing = ["lo", self.device.as_str()].into_iter().chain(self.trusted.iter().map(String::as_str));
        let mut rules: Vec<_> =
            passing.map(|name| Rule::new().iifname(name).verdict(Verdict::Accept)).collect();
        let matching = |prefix: IpPrefix, source| address(Rule::new(), source, prefix);
        let dropped = |prefix: &IpPrefix, source| matching(*prefix, source).verdict(Verdict::Drop);
        let routed = |source| Rule::new().routed_through(source, &self.device).verdict(Verdict::Drop);
        rules.extend(ranges.networks.iter().map(|network| dropped(network, true)));
        rules.extend(ranges.routed.then(|| routed(true)));
        rules.extend(ranges.own.iter().map(|own| dropped(&IpPrefix::host(*own), false)));
        rules.extend(self.forwards.then(|| Rule::new().of_known_flow().verdict(Verdict::Accept)));
        rules.extend(ranges.networks.iter().map(|network| dropped(network, false)));
        if ranges.routed {
            // of multicasts, the kernel has a route through each interface
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
