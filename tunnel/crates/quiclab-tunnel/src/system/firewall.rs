//! The kill switch of a client and the address translation of a server: a table of nftables each, named after the device. (`inside.rs`
//! has a third one.)
//!
//! The table needs no journal: its name identifies it. It outlives the process, however that ends, because the kill switch
//! must; only [`Firewall::remove`] ends it. docs/decisions/0148-no-leaks.md explains why this is not policy routing.

use super::nftables::{Chain, Hook, Rule, Set, Table, Verdict};
use quiclab_core::ip::IpPrefix;
use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Mark of the tunnel's own datagrams while the kill switch is on (SO_MARK): packets of other programs do not have it.
pub const MARK: u32 = 0x716c_0074;

const UDP: u8 = 17;
const ICMPV6: u8 = 58;
/// Router and neighbour solicitation, neighbour advertisement (RFC 4861), reports of multicast listeners (RFC 3810),
/// without which switches do not pass on solicitations.
const LINK_MESSAGES: [u8; 4] = [133, 135, 136, 143];
/// Destinations of clients of DHCP (RFC 2131 section 4.1) and DHCPv6 (RFC 8415 sections 7.1 and 7.2) for all
/// servers of a link, and both ports. A lease that its server does not renew by unicast is requested in this
/// way (RFC 2131 section 4.4.5, RFC 8415 section 18.2.5).
const DHCP: [(IpAddr, u16, u16); 2] = [
    (IpAddr::V4(Ipv4Addr::BROADCAST), 68, 67),
    (IpAddr::V6(Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2)), 546, 547),
];
/// Priorities of chains, in the terms of `nft`: filter, srcnat.
const FILTER: i32 = 0;
const SOURCE_NAT: i32 = 100;

/// Packets that may leave while the kill switch is on, in addition to those through the device and for the
/// link.
pub struct Exceptions<'a> {
    /// The server of each path, with the interface of the path if it has one.
    pub servers: Vec<(SocketAddr, Option<&'a str>)>,
    /// Destinations outside the tunnel.
    pub destinations: &'a [IpPrefix],
}

/// A table of a device.
pub struct Firewall(Table);

/// Prefix of the names of tables of kill switches.
const KILL_SWITCH: &str = "quiclab_";

/// The table of a device's kill switch.
#[must_use]
pub fn kill_switch_table(device: &str) -> String {
    format!("{KILL_SWITCH}{device}")
}

/// Whether the kernel has no nftables, so that there is no table either.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EPROTONOSUPPORT | libc::EAFNOSUPPORT | libc::EOPNOTSUPP | libc::EINVAL)
    )
}

/// Whether the kernel has no nftables, or a part of it is missing.
#[must_use]
pub fn lacks_nftables(error: &io::Error) -> bool {
    is_absent(error) || error.kind() == io::ErrorKind::NotFound
}

/// Tables that were removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Whether that of a kill switch was.
    pub kill_switch: bool,
    /// Whether that of translated addresses was.
    pub translation: bool,
}

impl Firewall {
    /// The table of a kill switch, whether or not it exists.
    ///
    /// # Errors
    /// If the kernel has no netfilter.
    pub fn kill_switch(device: &str) -> io::Result<Self> {
        Table::new(kill_switch_table(device)).map(Self)
    }

    /// The table of address translation, whether or not it exists. No kill switch has its name.
    ///
    /// # Errors
    /// If the kernel has no netfilter.
    pub fn translation(device: &str) -> io::Result<Self> {
        Table::new(format!("nat_quiclab_{device}")).map(Self)
    }

    /// The table that keeps other hosts out, whether or not it exists. No kill switch has its name.
    ///
    /// # Errors
    /// If the kernel has no netfilter.
    pub(super) fn inside(device: &str) -> io::Result<Self> {
        Table::new(format!("inside_quiclab_{device}")).map(Self)
    }

    /// Replaces the content of the table by `sets` and `chains`.
    pub(super) fn replace(&mut self, sets: &[Set], chains: &[Chain]) -> io::Result<()> {
        self.0.replace(sets, chains)
    }

    /// Removes the tables of a killed process, except a kill switch that is to be kept; returns which existed. A kernel
    /// without nftables has none.
    ///
    /// # Errors
    /// If the kernel refuses it, so that a table may be left; the other one is removed nevertheless.
    pub fn clean(device: &str, keep_kill_switch: bool) -> io::Result<Removed> {
        let remove = |table: io::Result<Self>| match table.and_then(|mut table| table.remove()) {
            Err(error) if is_absent(&error) => Ok(false),
            done => done,
        };
        let inside = remove(Self::inside(device));
        let translation = remove(Self::translation(device));
        let kill_switch = if keep_kill_switch { Ok(false) } else { remove(Self::kill_switch(device)) };
        inside?;
        Ok(Removed { kill_switch: kill_switch?, translation: translation? })
    }

    /// Devices other than `device` that have a kill switch, whether or not their tunnels run: they block
    /// packets through `device`.
    ///
    /// # Errors
    /// If the kernel has no nftables, or refuses it.
    pub fn other_kill_switches(device: &str) -> io::Result<Vec<String>> {
        let tables = Table::new(String::new())?.names()?;
        let devices = tables.iter().filter_map(|table| table.strip_prefix(KILL_SWITCH));
        Ok(devices.filter(|other| *other != device).map(str::to_owned).collect())
    }

    /// Restricts outgoing packets to the device, in place of the former content of the table.
    ///
    /// # Errors
    /// If the kernel has no nftables, or refuses it.
    pub fn block(&mut self, device: &str, exceptions: &Exceptions<'_>) -> io::Result<()> {
        self.0.replace(&[], &kill_switch(device, exceptions))
    }

    /// Translates the source addresses of these networks in packets that leave through other devices.
    ///
    /// # Errors
    /// If the kernel has no nftables, or refuses it.
    pub fn masquerade(&mut self, device: &str, networks: &[IpPrefix]) -> io::Result<()> {
        let sets = [("ipv4", true), ("ipv6", false)].map(|(name, ipv4)| Set::new(name, ipv4, networks));
        let sets: Vec<_> = sets.into_iter().filter(|set| !set.is_empty()).collect();
        self.0.replace(&sets, &[masquerade(device, &sets)])
    }

    /// Removes the table; returns whether there was one.
    ///
    /// # Errors
    /// If the kernel has no nftables, or refuses it.
    pub fn remove(&mut self) -> io::Result<bool> {
        let removed = self.0.remove()?;
        if removed && self.0.exists()? {
            return Err(io::Error::other("the table is still there"));
        }
        Ok(removed)
    }
}

/// Adds a comparison of the source (`source`) or destination address.
pub(super) fn address(rule: Rule, source: bool, prefix: IpPrefix) -> Rule {
    let rule = rule.family(prefix.is_ipv4());
    match (prefix.network(), source) {
        (IpAddr::V4(address), source) => {
            rule.prefix(if source { 12 } else { 16 }, &address.octets(), prefix.length())
        }
        (IpAddr::V6(address), source) => {
            rule.prefix(if source { 8 } else { 24 }, &address.octets(), prefix.length())
        }
    }
}

fn kill_switch(device: &str, exceptions: &Exceptions<'_>) -> Vec<Chain> {
    let accept = |rule: Rule| rule.verdict(Verdict::Accept);
    let devices = ["lo", device].map(|name| Rule::new().oifname(name));
    let servers = exceptions.servers.iter().map(|(server, interface)| {
        let rule = interface.map_or_else(Rule::new, |interface| Rule::new().oifname(interface));
        address(rule.mark(MARK), false, IpPrefix::host(server.ip()))
            .protocol(UDP)
            .transport(2, &server.port().to_be_bytes())
    });
    // each interface once; `None`: any
    let uplinks: BTreeSet<_> = exceptions.servers.iter().map(|(_, interface)| *interface).collect();
    let dhcp = uplinks.iter().flat_map(|uplink| {
        DHCP.map(|(servers, client, server)| {
            let ports = [client.to_be_bytes(), server.to_be_bytes()].concat();
            let rule = uplink.map_or_else(Rule::new, |uplink| Rule::new().oifname(uplink));
            address(rule, false, IpPrefix::host(servers)).protocol(UDP).transport(0, &ports)
        })
    });
    let link = LINK_MESSAGES.map(|kind| Rule::new().family(false).protocol(ICMPV6).transport(0, &[kind]));
    let destinations: Vec<_> =
        exceptions.destinations.iter().map(|prefix| address(Rule::new(), false, *prefix)).collect();
    let leaving = devices.into_iter().chain(servers).chain(dhcp).chain(link).chain(destinations.clone());
    // packets of hosts behind this one: into the tunnel and out of it, but not out of it and to an uplink
    let from_tunnel: Vec<_> = uplinks
        .iter()
        .flatten()
        .map(|uplink| Rule::new().oifname(uplink).verdict(Verdict::Drop))
        .chain([accept(Rule::new().iifname(device))])
        .collect();
    let forward = [Rule::new().oifname(device)].into_iter().chain(destinations).map(accept);
    let forward = forward.chain(from_tunnel.clone());
    let chain = |name, hook, rules| Chain {
        name,
        kind: "filter",
        hook,
        priority: FILTER,
        policy: Verdict::Drop,
        rules,
    };
    vec![
        // packets that this machine sends: at `output`, `oifname` is that of the first route, and a chain of type
        // `route` or a translated destination gives a packet another one afterwards
        chain("leaving", Hook::Postrouting, leaving.map(accept).chain(from_tunnel).collect()),
        // DHCP and messages of a link are not forwarded for hosts behind this one
        chain("forward", Hook::Forward, forward.collect()),
    ]
}

fn masquerade(device: &str, networks: &[Set]) -> Chain {
    let rule = |set: &Set| Rule::new().iifname(device).address_in(true, set).oifname_not(device).masquerade();
    Chain {
        name: "postrouting",
        kind: "nat",
        hook: Hook::Postrouting,
        priority: SOURCE_NAT,
        policy: Verdict::Accept,
        rules: networks.iter().map(rule).collect(),
    }
}
