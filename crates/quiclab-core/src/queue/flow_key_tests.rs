//! Keys of packets by hand, and of arbitrary bytes.

use super::*;
use proptest::prelude::*;
use std::net::SocketAddr;

fn ipv4(protocol: u8, identification: u16, fragment: u16, inner: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 0];
    packet.extend(identification.to_be_bytes());
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(inner);
    packet
}

fn ipv6(next: u8, inner: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0, 0, 0, next, 64];
    packet.extend([0xfd; 16]);
    packet.extend([0xfe; 16]);
    packet.extend(inner);
    packet
}

/// Ports 4433 and 80, then anything.
const PORTS: [u8; 8] = [0x11, 0x51, 0, 80, 1, 2, 3, 4];

#[test]
fn a_key_names_what_it_was_made_of() {
    let [source, destination] = ["10.0.0.1:5000", "10.0.0.2:443"].map(|text| text.parse().unwrap());
    let key = FlowKey::from(FiveTuple::new(Protocol::Tcp, source, destination));
    assert_eq!((key.protocol(), key.protocol_name()), (6, Some("tcp")));
    assert_eq!(key.ends(), [source, destination].map(|address| (address.ip(), Some(address.port()))));
    let echo = FlowKey::from(FiveTuple::new(Protocol::Icmp, source, destination));
    assert_eq!(echo.ends(), [(source.ip(), None), (destination.ip(), None)], "no ports");
    assert_eq!(FlowKey::default().protocol_name(), None);
}

#[test]
fn bytes_and_tuple_of_a_packet_give_the_same_key() {
    for (number, protocol) in [(6, Protocol::Tcp), (17, Protocol::Udp)] {
        let tuple = |source: &str, destination: &str| {
            FiveTuple::new(protocol, source.parse::<SocketAddr>().unwrap(), destination.parse().unwrap())
        };
        let key = FlowKey::of_ip(&ipv4(number, 7, 0x4000, &PORTS)); // do not fragment
        assert_eq!(key, tuple("10.0.0.1:4433", "10.0.0.2:80").into());
        assert_ne!(key, tuple("10.0.0.1:4434", "10.0.0.2:80").into());
        let [from, to] = ["fd", "fe"].map(|byte| vec![byte.repeat(2); 8].join(":"));
        let key = FlowKey::of_ip(&ipv6(number, &PORTS));
        assert_eq!(key, tuple(&format!("[{from}]:4433"), &format!("[{to}]:80")).into());
    }
    // echo request (8) of identifier 0x0304
    let echo = FlowKey::of_ip(&ipv4(1, 7, 0, &[8, 0, 9, 9, 3, 4, 0, 1]));
    let tuple = FiveTuple::new(
        Protocol::Icmp,
        SocketAddr::from(([10, 0, 0, 1], 0x0304)),
        SocketAddr::from(([10, 0, 0, 2], 0x0800)),
    );
    assert_eq!(echo, tuple.into());
}

#[test]
fn echoes_differ_by_identifier_and_not_by_number() {
    let echo =
        |kind, identifier, number| FlowKey::of_ip(&ipv4(1, 7, 0, &[kind, 0, 9, 9, 0, identifier, 0, number]));
    assert_eq!(echo(8, 1, 1), echo(8, 1, 2));
    assert_ne!(echo(8, 1, 1), echo(8, 2, 1));
    assert_ne!(echo(8, 1, 1), echo(0, 1, 1));
    // "unreachable" (3) has none: its bytes 4 to 7 are something else
    assert_eq!(echo(3, 1, 1), echo(3, 2, 1));
    let echo6 = |kind, identifier| FlowKey::of_ip(&ipv6(58, &[kind, 0, 9, 9, 0, identifier, 0, 1]));
    assert_ne!(echo6(128, 1), echo6(128, 2));
    assert_eq!(echo6(1, 1), echo6(1, 2));
}

#[test]
fn all_fragments_of_a_datagram_have_one_key() {
    let first = FlowKey::of_ip(&ipv4(17, 7, 0x2000, &PORTS)); // more fragments, offset 0
    let middle = FlowKey::of_ip(&ipv4(17, 7, 0x2010, &[0; 8]));
    let last = FlowKey::of_ip(&ipv4(17, 7, 0x0020, &[1; 3]));
    assert_eq!((first, first), (middle, last));
    assert_ne!(first, FlowKey::of_ip(&ipv4(17, 8, 0x2000, &PORTS)));
    assert_ne!(first, FlowKey::of_ip(&ipv4(17, 7, 0, &PORTS)));

    // fragment header: next header 17, reserved, offset and flag M, identification
    let part = |offset: u16, identification: u8, inner: &[u8]| {
        let [high, low] = offset.to_be_bytes();
        let header = [17, 0, high, low, 0, 0, 0, identification];
        FlowKey::of_ip(&ipv6(44, &[&header, inner].concat()))
    };
    assert_eq!(part(1, 7, &PORTS), part(0x0100, 7, &[9; 20]));
    assert_ne!(part(1, 7, &PORTS), part(1, 8, &PORTS));
    // a whole datagram with a fragment header (RFC 6946)
    assert_eq!(part(0, 7, &PORTS), FlowKey::of_ip(&ipv6(17, &PORTS)));
}

#[test]
fn extension_headers_are_skipped() {
    let plain = FlowKey::of_ip(&ipv6(17, &PORTS));
    // hop-by-hop of 8 bytes, destination options of 16, authentication of 12 (length 1: 3 words of 4 bytes)
    let hop = [60, 0, 0, 0, 0, 0, 0, 0];
    let options = [[51, 1, 0, 0, 0, 0, 0, 0], [0; 8]].concat();
    let authentication = [17, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let headers = [&hop[..], &options, &authentication, &PORTS].concat();
    assert_eq!(FlowKey::of_ip(&ipv6(0, &headers)), plain);
    // more than are skipped: no ports, but it terminates
    let many = [&[0; 8].repeat(200)[..], &PORTS].concat();
    assert_eq!(FlowKey::of_ip(&ipv6(0, &many)).part, Part::None);
}

#[test]
fn what_is_cut_short_keeps_what_can_be_read() {
    let whole = ipv4(6, 7, 0, &PORTS);
    let keys: Vec<_> = (0..=whole.len()).map(|length| FlowKey::of_ip(&whole[..length])).collect();
    assert!(keys[..20].iter().all(|key| *key == FlowKey::default()));
    assert!(keys[20..24].iter().all(|key| key.part == Part::None && key.protocol == 6));
    assert!(keys[24..].iter().all(|key| key.part == Part::Ports(4433, 80)));
    // a header length of 60 bytes that are missing
    let mut long = whole.clone();
    long[0] = 0x4f;
    assert_eq!(FlowKey::of_ip(&long).part, Part::None);
    // other protocols: GRE
    assert_eq!(FlowKey::of_ip(&ipv4(47, 7, 0, &PORTS)), FlowKey::of_ip(&ipv4(47, 8, 0, &[0; 8])));
}

#[test]
fn the_published_key_is_a_sum() {
    // 17 + 10.0.0.1 + 10.0.0.2 + 4433 + 80
    let key = FlowKey::of_ip(&ipv4(17, 7, 0, &PORTS));
    assert_eq!(key.field_sum(), 17 + 0x0a00_0001 + 0x0a00_0002 + 4433 + 80);
    assert_eq!(FlowKey::of_ip(&ipv4(1, 7, 0, &[8, 0, 9, 9, 3, 4, 0, 1])).field_sum(), 0);
}

#[test]
fn hashes_spread_and_depend_on_the_seed() {
    let hash = |port: u16, seed| {
        let tuple = FiveTuple::new(
            Protocol::Udp,
            SocketAddr::from(([10, 0, 0, 1], port)),
            SocketAddr::from(([10, 0, 0, 2], 443)),
        );
        FlowKey::from(tuple).hash(seed)
    };
    assert_eq!(hash(1, 7), hash(1, 7));
    assert_ne!(hash(1, 7), hash(1, 8));
    // 10000 flows in 1024 queues: 9.77 each with a deviation of 3.13; none is 6 deviations above
    let mut queues = [0; 1024];
    (0..10_000).for_each(|port| queues[(hash(port, 7) % 1024) as usize] += 1);
    assert!(*queues.iter().max().unwrap() < 29);
}

proptest! {
    #[test]
    fn any_bytes_have_a_key(
        version in prop::sample::select(vec![0x45_u8, 0x4f, 0x60, 0x00, 0xff]),
        next in prop::sample::select(vec![0_u8, 1, 6, 17, 43, 44, 51, 58, 60, 135, 255]),
        rest in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut bytes = vec![version];
        bytes.extend(rest);
        if bytes.len() > 9 {
            bytes[if version >> 4 == 6 { 6 } else { 9 }] = next;
        }
        let key = FlowKey::of_ip(&bytes);
        prop_assert_eq!(key, FlowKey::of_ip(&bytes));
        let _ = (key.hash(1), key.field_sum());
        // the fields of a shorter piece contradict nothing: addresses are equal or absent
        for length in 0..bytes.len() {
            let short = FlowKey::of_ip(&bytes[..length]);
            prop_assert!(short == FlowKey::default() || short.source == key.source);
        }
    }
}
