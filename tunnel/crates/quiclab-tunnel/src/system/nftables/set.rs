//! Sets of addresses, in the terms of `nft`: one rule looks up an address in all of their networks.

use super::message::{CREATE, NEW_ELEMENTS, NEW_SET, Request, attribute, nested, number, text};
use quiclab_core::ip::IpPrefix;
use std::net::IpAddr;

/// NFT_SET_INTERVAL, and NFT_SET_ELEM_INTERVAL_END of an element.
const INTERVAL: u32 = 4;
const INTERVAL_END: u32 = 1;
/// The types that `nft list` shows: `ipv4_addr`, `ipv6_addr`.
const ADDRESS_TYPES: [u32; 2] = [7, 8];
/// Maximum number of elements in a message, each of at most 36 bytes: an attribute has less than 64 kB.
const ELEMENTS: usize = 1024;

/// Addresses of one family in networks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    name: &'static str,
    ipv4: bool,
    /// First addresses of intervals, and (`true`) the addresses after their last ones. An interval up to the last possible
    /// address has no end.
    bounds: Vec<(u128, bool)>,
}

impl Set {
    /// Creates a set of the networks of a family among these. Overlapping and adjacent ones are one interval,
    /// because the kernel refuses overlapping intervals.
    #[must_use]
    pub fn new(name: &'static str, ipv4: bool, networks: &[IpPrefix]) -> Self {
        let bits = if ipv4 { 32 } else { 128 };
        let interval = |network: &IpPrefix| {
            let first = match network.network() {
                IpAddr::V4(address) => u128::from(address.to_bits()),
                IpAddr::V6(address) => address.to_bits(),
            };
            let mask = u128::MAX.checked_shl(bits - u32::from(network.length())).unwrap_or(0);
            (first, first | !mask)
        };
        let of_family = networks.iter().filter(|network| network.is_ipv4() == ipv4);
        let mut intervals: Vec<_> = of_family.map(interval).collect();
        intervals.sort_unstable();
        intervals.dedup_by(|next, before| {
            let touch = next.0 <= before.1.saturating_add(1);
            if touch {
                before.1 = before.1.max(next.1);
            }
            touch
        });
        let most = u128::MAX >> (128 - bits);
        let mut bounds = Vec::new();
        for (first, last) in intervals {
            bounds.push((first, false));
            bounds.extend((last < most).then(|| (last + 1, true)));
        }
        Self { name, ipv4, bounds }
    }

    /// Its name in `nft list`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its family.
    #[must_use]
    pub fn is_ipv4(&self) -> bool {
        self.ipv4
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bounds.is_empty()
    }

    /// Adds the set to a table; `id` is its number in the transaction.
    pub(super) fn add_to(&self, request: &mut Request, table: &str, id: u32) {
        request.add(NEW_SET, CREATE, |out| {
            text(out, 1, table);
            text(out, 2, self.name);
            number(out, 3, INTERVAL);
            number(out, 4, ADDRESS_TYPES[usize::from(!self.ipv4)]);
            number(out, 5, if self.ipv4 { 4 } else { 16 });
            number(out, 10, id);
        });
        for bounds in self.bounds.chunks(ELEMENTS) {
            request.add(NEW_ELEMENTS, CREATE, |out| {
                text(out, 1, table);
                text(out, 2, self.name);
                nested(out, 3, |out| bounds.iter().for_each(|bound| self.element(out, *bound)));
            });
        }
    }

    fn element(&self, out: &mut Vec<u8>, (address, is_end): (u128, bool)) {
        let octets = address.to_be_bytes();
        nested(out, 1, |out| {
            nested(out, 1, |out| attribute(out, 1, if self.ipv4 { &octets[12..] } else { &octets }));
            if is_end {
                number(out, 3, INTERVAL_END);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(ipv4: bool, networks: &[&str]) -> Vec<(String, bool)> {
        let networks: Vec<_> = networks.iter().map(|network| network.parse().unwrap()).collect();
        let shown = |(address, is_end): &(u128, bool)| {
            let address: IpAddr =
                if ipv4 { (*address as u32).to_be_bytes().into() } else { address.to_be_bytes().into() };
            (address.to_string(), *is_end)
        };
        Set::new("test", ipv4, &networks).bounds.iter().map(shown).collect()
    }

    fn bounds(expected: &[(&str, bool)]) -> Vec<(String, bool)> {
        expected.iter().map(|(address, is_end)| ((*address).to_owned(), *is_end)).collect()
    }

    #[test]
    fn networks_are_intervals_that_neither_overlap_nor_touch() {
        let networks = ["10.2.0.0/16", "10.1.0.0/24", "10.1.1.0/24", "10.1.0.7/32", "fd00::/8"];
        let expected =
            bounds(&[("10.1.0.0", false), ("10.1.2.0", true), ("10.2.0.0", false), ("10.3.0.0", true)]);
        assert_eq!(set(true, &networks), expected);
        assert_eq!(set(false, &networks), bounds(&[("fd00::", false), ("fe00::", true)]));
        assert_eq!(set(true, &["fd00::/8"]), []);
    }

    #[test]
    fn what_reaches_the_last_address_has_no_end() {
        assert_eq!(set(true, &["0.0.0.0/0", "10.0.0.0/8"]), bounds(&[("0.0.0.0", false)]));
        assert_eq!(set(true, &["255.255.255.255/32"]), bounds(&[("255.255.255.255", false)]));
        assert_eq!(set(false, &["8000::/1", "::/1"]), bounds(&[("::", false)]));
        assert_eq!(set(false, &["::/128"]), bounds(&[("::", false), ("::1", true)]));
    }
}
