use super::message::{NEW_ELEMENTS, NEW_SET};
use super::*;
use quiclab_core::ip::IpPrefix;
use std::net::{Ipv4Addr, Ipv6Addr};

/// BATCH_BEGIN and BATCH_END.
const BOUNDS: [u16; 2] = [0x10, 0x11];

/// The kind of each message, and whether it is acknowledged.
fn messages(request: &Request) -> Vec<(u16, bool)> {
    let (mut out, mut rest) = (Vec::new(), &request.bytes[..]);
    while let Some(header) = rest.first_chunk::<16>() {
        let number = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        out.push((number(4), number(6) & ACK != 0));
        rest = &rest[u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize..];
    }
    assert!(rest.is_empty());
    out
}

fn masquerade(count: u32) -> Request {
    let ipv4 = (0..count).map(|number| IpPrefix::around(Ipv4Addr::from_bits(number << 9).into(), 24));
    let ipv6 =
        (0..count).map(|number| IpPrefix::around(Ipv6Addr::from_bits(u128::from(number) << 65).into(), 64));
    let networks: Vec<_> = ipv4.chain(ipv6).collect();
    let sets = [("ipv4", true), ("ipv6", false)].map(|(name, ipv4)| Set::new(name, ipv4, &networks));
    let chain = Chain {
        name: "postrouting",
        kind: "nat",
        hook: Hook::Postrouting,
        priority: 100,
        policy: Verdict::Accept,
        rules: sets.iter().map(|set| Rule::new().address_in(true, set).masquerade()).collect(),
    };
    table("test", true, OWNER_AND_PERSIST, &sets, &[chain], 7)
}

/// The kernel keeps all answers until the first of them is read.
#[test]
fn only_the_last_message_of_a_transaction_is_acknowledged() {
    for count in [1, 1000] {
        let request = masquerade(count);
        let found = messages(&request);
        assert_eq!((request.first, request.last), (8, 7 + found.len() as u32));
        let kinds: Vec<_> = found.iter().map(|(kind, _)| *kind).collect();
        assert_eq!([kinds[0], kinds[kinds.len() - 1]], BOUNDS);
        let acknowledged: Vec<_> = found.iter().map(|(_, acknowledged)| *acknowledged).collect();
        assert_eq!(acknowledged.iter().position(|is| *is), Some(found.len() - 2), "{found:?}");
        assert_eq!(acknowledged.iter().filter(|is| **is).count(), 1);
    }
}

/// Attributes have lengths of 16 bits.
#[test]
fn a_thousand_networks_are_in_sets_and_not_in_rules() {
    let count =
        |kind: u16| move |request: &Request| messages(request).iter().filter(|(of, _)| *of == kind).count();
    let (few, many) = (masquerade(1), masquerade(1000));
    for kind in [NEW_SET, NEW_CHAIN, NEW_RULE] {
        assert_eq!(count(kind)(&few), count(kind)(&many));
    }
    assert_eq!([count(NEW_ELEMENTS)(&few), count(NEW_ELEMENTS)(&many)], [2, 4]);
    assert_eq!(count(NEW_RULE)(&many), 2);
}
