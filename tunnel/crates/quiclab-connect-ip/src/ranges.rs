//! Networks as the address ranges of ROUTE_ADVERTISEMENT, and the reverse.

use super::capsule::AddressRange;
use quiclab_core::ip::IpPrefix;
use std::net::{IpAddr, Ipv6Addr};

/// The destinations of `networks`, in the order of RFC 9484 section 4.7.3, for any protocol.
#[must_use]
pub fn ranges_of(networks: &[IpPrefix]) -> Vec<AddressRange> {
    let mut ranges: Vec<_> = networks
        .iter()
        .map(|network| {
            let start = number(network.network());
            (network.network().is_ipv6(), start, start | host_mask(network.is_ipv4(), network.length()))
        })
        .collect();
    ranges.sort_unstable();
    let mut merged: Vec<(bool, u128, u128)> = Vec::new();
    for (ipv6, start, end) in ranges {
        match merged.last_mut().filter(|last| last.0 == ipv6 && last.2.saturating_add(1) >= start) {
            Some(last) => last.2 = last.2.max(end),
            None => merged.push((ipv6, start, end)),
        }
    }
    let range = |(ipv6, start, end): (bool, u128, u128)| AddressRange {
        start: address(!ipv6, start),
        end: address(!ipv6, end),
        protocol: 0,
    };
    merged.into_iter().map(range).collect()
}

/// Networks that cover exactly `ranges`, at most `most` of them; ranges for one protocol only are omitted,
/// because routes apply to all.
#[must_use]
pub fn networks_of(ranges: &[AddressRange], most: usize) -> Vec<IpPrefix> {
    let mut networks = Vec::new();
    for range in ranges.iter().filter(|range| range.protocol == 0) {
        let ipv4 = range.start.is_ipv4();
        let (mut start, end) = (number(range.start), number(range.end));
        loop {
            if networks.len() == most {
                return networks;
            }
            // the largest network that begins here and does not exceed the range
            let bits = if ipv4 { 32 } else { 128 };
            let fits = |length: u8| {
                let mask = host_mask(ipv4, length);
                start & mask == 0 && start | mask <= end
            };
            let length = (0..=bits).find(|length| fits(*length)).unwrap_or(bits);
            networks.push(IpPrefix::around(address(ipv4, start), length));
            match (start | host_mask(ipv4, length)).checked_add(1).filter(|next| *next <= end) {
                Some(next) => start = next,
                None => break,
            }
        }
    }
    networks
}

/// Bits after a prefix.
fn host_mask(ipv4: bool, length: u8) -> u128 {
    let bits = if ipv4 { 32 } else { 128 };
    match bits - u32::from(length) {
        128 => u128::MAX,
        host => (1 << host) - 1,
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

fn address(ipv4: bool, number: u128) -> IpAddr {
    if ipv4 {
        let number = u32::try_from(number).expect("addresses of IPv4 have 32 bits");
        IpAddr::V4(number.into())
    } else {
        Ipv6Addr::from(number).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(texts: &[&str]) -> Vec<IpPrefix> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn texts(ranges: &[AddressRange]) -> Vec<String> {
        ranges.iter().map(|range| format!("{} {}", range.start, range.end)).collect()
    }

    #[test]
    fn networks_become_ranges_in_order_without_overlaps() {
        let ranges =
            ranges_of(&networks(&["fd77::/64", "10.2.0.0/16", "10.0.0.0/15", "10.1.7.0/24", "0.0.0.0/32"]));
        assert_eq!(
            texts(&ranges),
            ["0.0.0.0 0.0.0.0", "10.0.0.0 10.2.255.255", "fd77:: fd77::ffff:ffff:ffff:ffff"]
        );
        assert_eq!(
            texts(&ranges_of(&networks(&["::/0", "0.0.0.0/0"]))),
            ["0.0.0.0 255.255.255.255".to_owned(), format!(":: {}", Ipv6Addr::from(u128::MAX))]
        );
        assert!(ranges_of(&[]).is_empty());
    }

    #[test]
    fn ranges_become_the_fewest_networks() {
        let range = |start: &str, end: &str| AddressRange {
            start: start.parse().unwrap(),
            end: end.parse().unwrap(),
            protocol: 0,
        };
        // all but 10.0.0.0/8 and above: 0/5, 8/7
        assert_eq!(
            networks_of(&[range("0.0.0.0", "9.255.255.255")], 9),
            networks(&["0.0.0.0/5", "8.0.0.0/7"])
        );
        assert_eq!(networks_of(&[range("0.0.0.1", "0.0.0.2")], 9), networks(&["0.0.0.1/32", "0.0.0.2/32"]));
        assert_eq!(
            networks_of(&[range("::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")], 9),
            networks(&["::/0"])
        );
        assert_eq!(networks_of(&[range("0.0.0.1", "255.255.255.254")], 5).len(), 5, "bounded");
        assert!(networks_of(&[AddressRange { protocol: 6, ..range("10.0.0.0", "10.0.0.1") }], 9).is_empty());
    }
}
