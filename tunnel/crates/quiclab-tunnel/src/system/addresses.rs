//! Replacement of the addresses of the device: each route through the device stays meanwhile, so that no packet leaves by
//! another one.
//!
//! | behaviour of the kernel | measure |
//! | --- | --- |
//! | with the last IPv4 address of a device it removes all IPv4 routes through it (`fib_disable_ip`, net/ipv4/fib_frontend.c) | new addresses are added before the old ones are removed |
//! | a further IPv4 address of a network is a secondary one, which is removed with the first (`__inet_del_ifa`, net/ipv4/devinet.c; `promote_secondaries` is off by default) | it is an address without a network (/32) until the first is removed |
//! | an IPv6 address has one network at a time | it is removed before it is added with another one; that removes no other route |
//! | the route to the network of an address is removed with it | one with a larger metric stays in its place until the end |

use super::Machine;
use super::netlink::{Netlink, held};
use netlink_packet_core::{NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use quiclab_core::ip::IpPrefix;
use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;

/// An address with the length of its network.
pub type DeviceAddress = (IpAddr, u8);

/// Steps that replace the addresses of a device.
#[derive(Debug, Default, PartialEq, Eq)]
struct Change {
    /// Networks whose route must stay.
    held: Vec<IpPrefix>,
    /// Addresses added before the routes are changed.
    early: Vec<DeviceAddress>,
    /// Addresses removed after that.
    gone: Vec<DeviceAddress>,
    /// Addresses added after those were removed.
    late: Vec<DeviceAddress>,
    /// Addresses removed at the end.
    substitutes: Vec<DeviceAddress>,
}

impl Change {
    fn new(before: &BTreeSet<DeviceAddress>, wanted: &BTreeSet<DeviceAddress>) -> Self {
        let gone: Vec<_> = before.difference(wanted).copied().collect();
        let mut change = Self { gone, ..Self::default() };
        for &(address, length) in wanted.difference(before) {
            let network = IpPrefix::around(address, length);
            if change.gone.iter().any(|(old, _)| old.is_ipv4() == address.is_ipv4()) {
                change.held.push(network);
            }
            let of_network =
                |old: &DeviceAddress| *old != (address, length) && IpPrefix::around(old.0, old.1) == network;
            if address.is_ipv4() && change.gone.iter().any(of_network) {
                let substitute = (address, IpPrefix::host(address).length());
                change.early.push(substitute);
                change.late.push((address, length));
                change.substitutes.push(substitute);
            } else if change.gone.iter().any(|(old, _)| *old == address && !address.is_ipv4()) {
                change.late.push((address, length));
            } else {
                change.early.push((address, length));
            }
        }
        change
    }
}

impl Machine {
    /// Sets exactly these addresses of the device, and changes routes while both these and the earlier ones exist.
    pub(super) fn replace_addresses(
        &mut self,
        wanted: &[DeviceAddress],
        routes: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        let wanted: BTreeSet<_> = wanted.iter().copied().collect();
        let change = Change::new(&self.addresses, &wanted);
        let device = self.index;
        let add = |netlink: &mut Netlink, addresses: &[DeviceAddress]| {
            addresses.iter().try_for_each(|address| netlink.add_address(*address, device))
        };
        let remove = |netlink: &mut Netlink, addresses: &[DeviceAddress]| {
            addresses.iter().try_for_each(|address| netlink.remove_address(*address, device))
        };
        for network in &change.held {
            self.netlink.add(&held(*network, device))?;
        }
        add(&mut self.netlink, &change.early)?;
        routes(self)?;
        remove(&mut self.netlink, &change.gone)?;
        add(&mut self.netlink, &change.late)?;
        remove(&mut self.netlink, &change.substitutes)?;
        for network in &change.held {
            self.netlink.remove(&held(*network, device))?;
        }
        self.addresses = wanted;
        Ok(())
    }
}

impl Netlink {
    fn add_address(&mut self, address: DeviceAddress, device: u32) -> io::Result<()> {
        let flags = NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
        match self.request(RouteNetlinkMessage::NewAddress(message(address, device)), flags) {
            // another program has added it
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            done => done.map(drop),
        }
    }

    fn remove_address(&mut self, address: DeviceAddress, device: u32) -> io::Result<()> {
        match self.request(RouteNetlinkMessage::DelAddress(message(address, device)), NLM_F_ACK) {
            // another program has removed it
            Err(error) if error.raw_os_error() == Some(libc::EADDRNOTAVAIL) => Ok(()),
            done => done.map(drop),
        }
    }
}

fn message((address, length): DeviceAddress, device: u32) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    message.header.prefix_len = length;
    message.header.index = device;
    message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<DeviceAddress> {
        let parsed = texts.iter().map(|text| text.split_once('/').expect("address/length"));
        parsed.map(|(address, length)| (address.parse().unwrap(), length.parse().unwrap())).collect()
    }

    fn change(before: &[&str], wanted: &[&str]) -> Change {
        let set = |texts| addresses(texts).into_iter().collect();
        Change::new(&set(before), &set(wanted))
    }

    #[test]
    fn the_first_addresses_and_the_same_ones_need_no_care() {
        let both = ["10.77.0.2/24", "fd77::2/64"];
        assert_eq!(change(&[], &both), Change { early: addresses(&both), ..Change::default() });
        assert_eq!(change(&both, &both), Change::default());
        assert_eq!(change(&both, &[]), Change { gone: addresses(&both), ..Change::default() });
    }

    #[test]
    fn another_address_of_the_same_network_waits_for_the_first_to_go() {
        let found = change(&["10.77.0.2/24", "fd77::2/64"], &["10.77.0.9/24", "fd77::9/64"]);
        let expected = Change {
            held: vec!["10.77.0.0/24".parse().unwrap(), "fd77::/64".parse().unwrap()],
            early: addresses(&["10.77.0.9/32", "fd77::9/64"]),
            gone: addresses(&["10.77.0.2/24", "fd77::2/64"]),
            late: addresses(&["10.77.0.9/24"]),
            substitutes: addresses(&["10.77.0.9/32"]),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn the_same_address_of_another_network() {
        let found = change(&["10.77.0.2/24", "fd77::2/64"], &["10.77.0.2/16", "fd77::2/56"]);
        let expected = Change {
            held: vec!["10.77.0.0/16".parse().unwrap(), "fd77::/56".parse().unwrap()],
            early: addresses(&["10.77.0.2/16"]),
            gone: addresses(&["10.77.0.2/24", "fd77::2/64"]),
            late: addresses(&["fd77::2/56"]),
            ..Change::default()
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn an_address_of_another_network_comes_before_the_first_goes() {
        let found = change(&["10.77.0.2/24"], &["10.78.0.2/24"]);
        assert_eq!((found.early, found.gone), (addresses(&["10.78.0.2/24"]), addresses(&["10.77.0.2/24"])));
        assert!(found.late.is_empty() && found.substitutes.is_empty());
    }
}
