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
//! | for another address inside | passes as a part of a known flow where this end forwards, otherwise it is dropped |
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

/// What is inside, as seen from this end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InsideRanges {
    /// Addresses of this machine.
    pub own: BTreeSet<IpAddr>,
    /// Networks with the addresses of all ends, and those behind clients of this server.
    pub networks: BTreeSet<IpPrefix>,
}

impl InsideRanges {
    /// These and others.
    #[must_use]
    pub fn with(&self, others: &Self) -> Self {
        Self { own: &self.own | &others.own, networks: &self.networks | &others.networks }
    }
}

/// The table that keeps hosts beside the machine out, with what does not change.
pub struct InsideFilter {
    firewall: Firewall,
    /// Interfaces whose packets pass.
    trusted: Vec<String>,
    /// Known flows go on: others answer to what came through the tunnel.
    forwards: bool,
    ranges: InsideRanges,
}

impl InsideFilter {
    /// A filter of `device` that drops nothing yet.
    ///
    /// # Errors
    /// If the kernel has no nftables, or refuses it.
    pub fn new(device: &str, trusted: &[String], forwards: bool) -> io::Result<Self> {
        let trusted = ["lo", device].into_iter().chain(trusted.iter().map(String::as_str));
        let trusted = trusted.map(str::to_owned).collect();
        let mut filter =
            Self { firewall: Firewall::inside(device)?, trusted, forwards, ranges: InsideRanges::default() };
        filter.set(InsideRanges::default())?;
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
        self.firewall.replace(&[chain(&self.trusted, self.forwards, &ranges)])?;
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
}

fn chain(trusted: &[String], forwards: bool, ranges: &InsideRanges) -> Chain {
    let accepted = trusted.iter().map(|name| Rule::new().iifname(name).verdict(Verdict::Accept));
    let dropped = |prefix: IpPrefix, source| address(Rule::new(), source, prefix).verdict(Verdict::Drop);
    let forged = ranges.networks.iter().map(|network| dropped(*network, true));
    let own = ranges.own.iter().map(|own| dropped(IpPrefix::host(*own), false));
    let known = forwards.then(|| Rule::new().of_known_flow().verdict(Verdict::Accept));
    let others = ranges.networks.iter().map(|network| dropped(*network, false));
    Chain {
        name: "arriving",
        kind: "filter",
        hook: Hook::Prerouting,
        priority: MANGLE,
        policy: Verdict::Accept,
        rules: accepted.chain(forged).chain(own).chain(known).chain(others).collect(),
    }
}
