//! Packets inside other packets, copies of frames, missing lengths, reused ports.

use crate::support::frames::{
    ETHERNET, Layout, Pcapng, arp, cooked2, ethernet, ipv4, ipv6, loopback, modified, pcap, tcp, udp,
};
use quiclab_trace::packets::{Flow, KeyLog, ObservedPacket, Reading, Sink, read_capture};
use std::ops::ControlFlow;

/// Flow, size of the frame, of its outermost IP packet and of the payload.
type Seen = (usize, u32, u32, u32);

#[derive(Default)]
struct Collected {
    flows: Vec<String>,
    packets: Vec<Seen>,
}

impl Sink for Collected {
    fn flow(&mut self, _: usize, flow: &Flow) {
        self.flows.push(format!("{:?} {}", flow.protocol, flow.ends.unwrap()[0]));
    }
    fn better_known(&mut self, _: usize, _: &Flow) {}
    fn packet(&mut self, flow: usize, packet: &ObservedPacket<'_>) {
        self.packets.push((flow, packet.frame_bytes, packet.packet_bytes, packet.payload_bytes));
    }
}

fn read(file: &[u8]) -> (Reading, Collected) {
    let mut sink = Collected::default();
    let mut progress = |_| ControlFlow::Continue(());
    let reading = read_capture(file, "file", &KeyLog::default(), &mut sink, &mut progress).unwrap();
    (reading, sink)
}

fn frames(link: u16, frames: &[Vec<u8>]) -> (Reading, Collected) {
    read(&pcap(Layout::default(), link, frames))
}

fn problem(reading: &Reading) -> Option<&'static str> {
    reading.problems.iter().next().map(|(kind, _)| kind)
}

fn with_note(reading: &Reading, beginning: &str) -> bool {
    reading.notes.iter().any(|note| note.starts_with(beginning))
}

/// An Ethernet frame of any type.
fn typed(kind: u16, inside: &[u8]) -> Vec<u8> {
    [&[2; 12][..], &kind.to_be_bytes(), inside].concat()
}

fn to_port(port: u16, inside: &[u8]) -> Vec<u8> {
    let length = inside.len() as u16 + 8;
    ipv4(&[&[0xc3, 0x50][..], &port.to_be_bytes(), &length.to_be_bytes(), &[0, 0], inside].concat(), 17)
}

/// TCP of 4 bytes of payload over IPv4: 44 bytes.
fn segment() -> Vec<u8> {
    ipv4(&tcp(7, 9, 0x10, &[], b"four"), 6)
}

#[test]
fn link_types_of_ppp_hdlc_and_others() {
    let ip = segment();
    let mut tap = [0; 44];
    tap[0] = 44;
    tap[8] = 1;
    for (link, before) in [
        (9, &[0x00, 0x21][..]), // as ns-3 writes
        (9, &[0xff, 0x03, 0x00, 0x21]),
        (9, &[0x21]),
        (9, &[0xff, 0x03, 0x21]),
        (9, &[0x02, 0x81, 0, 1, 0x11, 64]),
        (50, &[0xff, 0x03, 0x00, 0x21]),
        (50, &[0x0f, 0x00, 0x08, 0x00]),
        (51, &[0x11, 0, 0, 1, 0, 46, 0, 0x21]),
        (100, &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]),
        (104, &[0x8f, 0x00, 0x08, 0x00]),
        (138, &[1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 8, 0]),
        (204, &[1, 0x00, 0x21]),
        (219, &[0, 1, 0x10, 64, 0, 2, 0x11, 64]),
        (258, &[&tap[..], &typed(0x0800, &[])].concat()),
        (113, &[0, 0, 3, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0]), // a device of GRE
        (0, &[23, 0, 0, 0]), // IPv6 of Windows: the packet determines its version
        (14, &[]),
    ] {
        let (reading, seen) = frames(link, &[[before, &ip].concat()]);
        assert_eq!(problem(&reading), None, "link type {link}: {before:x?}");
        assert_eq!(seen.packets, [(0, 44 + before.len() as u32, 44, 4)], "link type {link}: {before:x?}");
    }
    for (link, frame, why) in [
        (9, &[0xc0, 0x21, 1][..], "frame of another protocol than IP"),
        (9, &[0x00, 0x2d, 0x45], "PPP frame with a compressed TCP header (RFC 1144), not read"),
        (9, &[0xff, 0x03], "packet truncated within its headers"),
        (1, &typed(0x88e5, &[0; 40]), "frame of MACsec, which is not decrypted"),
        (1, &typed(0x8863, &[0; 40]), "frame of another protocol than IP"),
    ] {
        assert_eq!(problem(&frames(link, &[frame.to_vec()]).0), Some(why), "{frame:x?}");
    }
}

#[test]
fn what_is_around_a_packet_is_taken_off_and_named() {
    let ip = segment();
    let frame = ethernet(&ip);
    let gre = |head: &[u8], inside: &[u8]| ethernet(&ipv4(&[head, inside].concat(), 47));
    for (frame, name) in [
        (typed(0x8847, &[&[0, 1, 0x11, 64][..], &ip].concat()), "MPLS"),
        (typed(0x8848, &[&[0, 1, 0x10, 64, 0, 1, 0x11, 64][..], &ip].concat()), "MPLS"),
        (typed(0x8847, &[&[0, 1, 0x11, 64, 0, 0, 0, 9][..], &frame].concat()), "Ethernet pseudo-wires"),
        (typed(0x8847, &[&[0, 1, 0x11, 64][..], &frame].concat()), "Ethernet pseudo-wires"),
        (typed(0x8864, &[&[0x11, 0, 0, 1, 0, 46, 0, 0x21][..], &ip].concat()), "PPPoE"),
        (typed(0x88e7, &[&[0; 4][..], &frame].concat()), "a provider backbone"),
        (ethernet(&ipv4(&ip, 4)), "IP in IP"),
        (ethernet(&ipv6(&ip, 4, &[60])), "IP in IP"),
        (ethernet(&ipv4(&ipv6(&tcp(1, 2, 0x10, &[], b"four"), 6, &[]), 41)), "IP in IP"),
        (gre(&[0, 0, 8, 0], &ip), "GRE"),
        (gre(&[0xb0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1], &ip), "GRE"),
        (gre(&[0, 0, 0x65, 0x58], &frame), "GRE"),
        (gre(&[0x30, 0x81, 0x88, 0x0b, 0, 46, 0, 1, 0, 0, 0, 5, 0, 0, 0, 4, 0, 0x21], &ip), "GRE"),
        (gre(&[0, 0, 0x88, 0xbe], &frame), "ERSPAN"),
        (gre(&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 1, 0, 0, 0, 0, 0, 0], &frame), "ERSPAN"),
        (gre(&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &frame), "ERSPAN"),
        (
            gre(&[&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 1][..], &[0; 9], &[1], &[0; 8]].concat(), &frame),
            "ERSPAN",
        ),
        (ethernet(&ipv4(&[&[0x30, 0][..], &frame].concat(), 97)), "EtherIP"),
        (ethernet(&to_port(4789, &[&[8, 0, 0, 0, 0, 0, 1, 0][..], &frame].concat())), "VXLAN"),
        (ethernet(&to_port(4790, &[&[0x0c, 0, 0, 1, 0, 0, 1, 0][..], &ip].concat())), "VXLAN-GPE"),
        (ethernet(&to_port(6081, &[&[1, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0][..], &ip].concat())), "GENEVE"),
        (ethernet(&to_port(2152, &[&[0x30, 255, 0, 44, 0, 0, 0, 1][..], &ip].concat())), "GTP-U"),
        (
            ethernet(&to_port(
                2152,
                &[&[0x34, 255, 0, 52, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 9, 0][..], &ip].concat(),
            )),
            "GTP-U",
        ),
        (ethernet(&to_port(1701, &[&[0, 2, 0, 1, 0, 2, 0xff, 3, 0, 0x21][..], &ip].concat())), "L2TP"),
        (ethernet(&to_port(4341, &[&[0; 8][..], &ip].concat())), "LISP"),
        (ethernet(&to_port(37008, &[&[1, 0, 0, 1, 10, 1, 0, 1][..], &frame].concat())), "TZSP"),
        (ethernet(&to_port(3544, &ipv6(&tcp(1, 2, 0x10, &[], b"four"), 6, &[]))), "Teredo"),
        (ethernet(&to_port(4754, &[&[0, 0, 8, 0][..], &ip].concat())), "GRE"),
        (ethernet(&to_port(6635, &[&[0, 1, 0x11, 64][..], &ip].concat())), "MPLS"),
    ] {
        let (reading, seen) = frames(ETHERNET, std::slice::from_ref(&frame));
        assert_eq!(problem(&reading), None, "{name}: {frame:x?}");
        assert_eq!(seen.packets.len(), 1, "{name}");
        let (_, bytes, packet, payload) = seen.packets[0];
        assert_eq!((bytes as usize, payload), (frame.len(), 4), "{name}");
        assert!(packet >= 44 && packet + 14 <= bytes, "{name}: {packet}");
        assert!(seen.flows[0].starts_with("Tcp "), "{name}: {:?}", seen.flows);
        let note = format!("1 of 1 frames have their packets inside {name}");
        assert!(with_note(&reading, &note), "{name}: {:?}", reading.notes);
    }
}

#[test]
fn what_cannot_be_taken_off_is_named() {
    for (protocol, why) in [
        (50, "IP packet of ESP (IPsec), which is not decrypted"),
        (115, "IP packet of L2TPv3, not read"),
        (132, "IP packet of SCTP, not read"),
        (1, "IP packet of another protocol than TCP and UDP"),
    ] {
        assert_eq!(problem(&frames(101, &[ipv4(&[0; 40], protocol)]).0), Some(why));
    }
    // a port is no proof: without the header of its tunnel it is UDP, with a note or the header fits, but not
    // the bytes after it: labels and the first bits of IP
    let fragment = [&[0x45, 0, 0, 44, 0, 0, 0x20, 0, 64, 6][..], &[0; 34]].concat();
    let vxlan = |inside: &[u8]| [&[8, 0, 0, 0, 0, 0, 1, 0][..], inside].concat();
    for (port, name, payload) in [
        (4789, "VXLAN", vec![0xee; 40]),
        (2152, "GTP-U", vec![0xee; 40]),
        (1701, "L2TP", vec![0xee; 40]),
        (4500, "IPsec in UDP", vec![0xee; 40]),
        (6635, "MPLS in UDP", vec![0xee; 40]),
        (6635, "MPLS in UDP", vec![0xef; 40]),
        (6635, "MPLS in UDP", [&[0, 1, 0x11, 64][..], &[0x45; 36]].concat()),
        // the tunnel around it counts
        (4789, "VXLAN", vxlan(&ethernet(&to_port(4789, &vxlan(&[0xee; 32]))))),
    ] {
        let (reading, seen) = frames(101, &[to_port(port, &payload)]);
        assert_eq!(problem(&reading), None, "{name}: {payload:x?}");
        let inner = if payload.len() == 90 { 40 } else { payload.len() as u32 };
        assert_eq!(seen.packets, [(0, payload.len() as u32 + 28, payload.len() as u32 + 28, inner)]);
        let note = format!("1 packets of UDP port {port} are of {name}");
        assert!(with_note(&reading, &note), "{:?}", reading.notes);
    }
    // a tunnel payload without a packet of TCP or UDP: no flow between the ends of the tunnel
    for (inside, expected) in [
        (arp(), "frame of another protocol than IP"),
        (ethernet(&fragment), "IP fragment"),
        (ethernet(&segment())[..30].to_vec(), "packet truncated within its headers"),
    ] {
        let (reading, seen) = frames(101, &[to_port(4789, &vxlan(&inside))]);
        assert_eq!(problem(&reading), Some(expected));
        assert!(seen.packets.is_empty());
    }
    let mac = [&[0, 1, 0x11, 64][..], &[0x4c, 5, 5, 5, 5, 5, 2, 2, 2, 2, 2, 2, 8, 0], &segment()].concat();
    let (reading, seen) = frames(101, &[to_port(6635, &mac)]);
    assert_eq!(
        (problem(&reading), seen.packets.len()),
        (None, 1),
        "a pseudo-wire to an address that begins with 4"
    );
    assert_eq!(seen.packets[0].2, mac.len() as u32 + 28);
    let (reading, _) = frames(101, &[to_port(51820, &[&[4, 0, 0, 0][..], &[9; 40]].concat())]);
    assert!(with_note(&reading, "1 packets of UDP port 51820 are of WireGuard"), "{:?}", reading.notes);
    assert_eq!(frames(101, &[to_port(51820, &[9; 40])]).0.notes.len(), 1, "a port of its own, not WireGuard");
    // an endless stack of tunnels
    let mut deep = segment();
    for _ in 0..40 {
        deep = ipv4(&deep, 4);
    }
    assert_eq!(problem(&frames(101, &[deep]).0), Some("packet with more than 32 headers around it"));
}

#[test]
fn the_modified_format_of_libpcap() {
    for big_endian in [false, true] {
        let file = modified(big_endian, ETHERNET, &[ethernet(&segment()), arp()]);
        let (reading, seen) = read(&file);
        assert_eq!((reading.format.as_str(), reading.frames, seen.packets.len()), ("pcap", 2, 1));
    }
}

#[test]
fn lengths_that_a_file_has_lost_are_those_of_ip() {
    let whole = ethernet(&ipv4(&tcp(7, 9, 0x10, &[], &[1; 1460]), 6));
    let (reading, seen) = frames(ETHERNET, &[whole[..68].to_vec()]);
    assert_eq!(seen.packets, [(0, 1514, 1500, 1460)]);
    assert!(with_note(&reading, "1 of 1 frames are stated to be shorter"), "{:?}", reading.notes);
    // inside a tunnel, whose length counts too
    let around = ethernet(&to_port(4789, &[&[8, 0, 0, 0, 0, 0, 1, 0][..], &whole].concat()));
    let (_, seen) = frames(ETHERNET, &[around[..120].to_vec()]);
    assert_eq!(seen.packets, [(0, around.len() as u32, 1550, 1460)]);
    // cooked captures and tags make frames longer, not packets
    let packet = ipv4(&tcp(7, 9, 0x10, &[], &[1; 1460]), 6);
    assert_eq!(frames(276, &[cooked2(&packet)]).1.packets, [(0, 1520, 1500, 1460)]);
    assert_eq!(frames(0, &[loopback(&packet, false)]).1.packets, [(0, 1504, 1500, 1460)]);
}

/// An IPv4 packet with an identification and a TTL.
fn numbered(above: &[u8], protocol: u8, number: u16, ttl: u8) -> Vec<u8> {
    let mut packet = ipv4(above, protocol);
    packet[4..6].copy_from_slice(&number.to_be_bytes());
    packet[8] = ttl;
    packet
}

/// Frames at microseconds, of one interface.
fn at(frames: &[(u64, Vec<u8>)]) -> (Reading, Collected) {
    let mut file = Pcapng::new(false);
    file.interface(ETHERNET, &[]);
    file.interface(101, &[]);
    for (units, frame) in frames {
        // those of the second interface have no Ethernet header
        let second = frame[0] >> 4 == 4 || frame[0] >> 4 == 6;
        file.packet(u32::from(second), *units, frame, frame.len());
    }
    read(&file.bytes)
}

fn data(sequence: u32) -> Vec<u8> {
    tcp(sequence, 1, 0x10, &[], b"data")
}

#[test]
fn copies_count_once_and_packets_that_are_sent_again_do_not() {
    let one = |number, ttl| ethernet(&numbered(&data(7), 6, number, ttl));
    let two = ethernet(&numbered(&data(11), 6, 5, 64));
    let packets = |frames: &[(u64, Vec<u8>)]| at(frames).1.packets.len();
    // identification decides: the first packet is followed by one with another
    let first = [(0, one(4, 64)), (10, two)];
    assert_eq!(packets(&[&first[..], &[(500_000, one(4, 64))]].concat()), 2, "the same");
    assert_eq!(packets(&[&first[..], &[(500_000, one(6, 64))]].concat()), 3, "sent again");
    assert_eq!(packets(&[&first[..], &[(1_500_000, one(4, 64))]].concat()), 3, "too late");
    // another place, without any identification: TTL, addresses, a tag, a tunnel, an interface
    for copy in [
        ethernet(&numbered(&data(7), 6, 0, 63)),
        typed(0x8100, &[&[0, 5, 8, 0][..], &numbered(&data(7), 6, 0, 64)].concat()),
        [&[4; 12][..], &[8, 0], &numbered(&data(7), 6, 0, 64)].concat(),
        ethernet(&ipv4(&numbered(&data(7), 6, 0, 64), 4)),
        numbered(&data(7), 6, 0, 64),
    ] {
        let original = (0, ethernet(&numbered(&data(7), 6, 0, 64)));
        let (reading, seen) = at(&[original.clone(), (90_000, copy.clone())]);
        assert_eq!(seen.packets.len(), 1, "{copy:x?}");
        assert!(with_note(&reading, "1 of 2 frames are copies"), "{:?}", reading.notes);
        // both again: a retransmission and its copy
        let again = [original.clone(), (90, copy.clone()), (5000, original.1), (5090, copy)];
        assert_eq!(packets(&again), 2);
    }
    // the same place, without identification
    let nameless = |sequence| ethernet(&numbered(&data(sequence), 6, 0, 64));
    assert_eq!(packets(&[(0, nameless(7)), (900, nameless(7))]), 1, "too soon to be sent again");
    assert_eq!(packets(&[(0, nameless(7)), (1100, nameless(7))]), 2);
    let six = ethernet(&ipv6(&data(7), 6, &[]));
    assert_eq!(packets(&[(0, six.clone()), (2, six)]), 1);
    // equal acknowledgements are sent, too: a copy only if others were copied
    let ack = ethernet(&numbered(&tcp(1, 7, 0x10, &[], b""), 6, 0, 64));
    assert_eq!(packets(&[(0, nameless(7)), (10, ack.clone()), (20, ack.clone())]), 3);
    let copied = [(0, nameless(7)), (1, nameless(7)), (10, ack.clone()), (11, ack.clone()), (20, ack)];
    assert_eq!(packets(&copied), 3, "the third is sent again");
    // equal acknowledgements on two links that packets are spread over: no copies, unless identifiable packets have copies
    let via = |link: u8, above: &[u8], protocol| {
        [&[link; 12][..], &[0x86, 0xdd], &ipv6(above, protocol, &[])].concat()
    };
    let acks = |number| tcp(1, number, 0x10, &[], b"");
    let spread = [
        (0, via(1, &data(7), 6)),
        (10, via(2, &data(11), 6)),
        (20, via(1, &acks(7), 6)),
        (30, via(2, &acks(7), 6)),
        (40, via(1, &acks(7), 6)),
    ];
    assert_eq!(packets(&spread), 5);
    let both = [(0, via(1, &data(7), 6)), (1, via(2, &data(7), 6))];
    assert_eq!(packets(&[&both[..], &spread[2..4]].concat()), 2);
    assert_eq!(packets(&[&both[..], &spread[2..]].concat()), 3, "the third is sent again");
    // the first of its end, whose identification may differ from that of the next
    let of_link = |link: u8| [&[link; 12][..], &[8, 0], &numbered(&acks(7), 6, 9, 64)].concat();
    assert_eq!(packets(&[(0, of_link(1)), (10, of_link(2))]), 1);
    // a queue between the places: more packets are in transit than have arrived
    let mut slow_start = Vec::new();
    for number in 0..12_u8 {
        slow_start.push((u64::from(number), via(1, &data(100 + 4 * u32::from(number)), 6)));
    }
    slow_start.push((20, via(1, &acks(7), 6)));
    slow_start.push((50_000, via(2, &data(100), 6)));
    slow_start.push((50_100, via(2, &acks(7), 6)));
    assert_eq!(packets(&slow_start), 13, "twelve segments and an acknowledgement");
    // a host that forwards datagrams, observed twice, and has connections of its own, observed once
    let mut host: Vec<_> = (0..9).map(|number| (number, via(1, &data(100 + 4 * number as u32), 6))).collect();
    host.extend([(10, via(1, &udp(b"a"), 17)), (11, via(2, &udp(b"a"), 17))]);
    assert_eq!(packets(&host), 10);
    // datagrams alone decide nothing
    assert_eq!(packets(&[(0, via(1, &udp(b"a"), 17)), (10, via(2, &udp(b"a"), 17))]), 1);
    // equal datagrams with one identification for all are no copies
    let same = |text: &[u8]| ethernet(&numbered(&udp(text), 17, 1, 64));
    assert_eq!(packets(&[(0, same(b"a")), (10, same(b"b")), (20, same(b"b")), (30, same(b"b"))]), 4);
}

#[test]
fn connections_between_ports_that_are_used_again_are_flows_of_their_own() {
    let packets = [
        tcp(100, 0, 2, &[], b""),
        tcp(101, 1, 0x10, &[], b"one"),
        tcp(9000, 0, 2, &[], b""),
        tcp(9000, 0, 2, &[], b""),
        tcp(9001, 1, 0x10, &[], b"another"),
    ];
    let packets: Vec<_> =
        (1_u16..).zip(packets).map(|(number, above)| ethernet(&numbered(&above, 6, number, 64))).collect();
    let (reading, seen) = frames(ETHERNET, &packets);
    let flows: Vec<_> = seen.packets.iter().map(|packet| packet.0).collect();
    assert_eq!(flows, [0, 0, 1, 1, 1]);
    assert!(with_note(&reading, "ports were used again: 1 TCP connections"), "{:?}", reading.notes);
    // after the SYN of the next connection: a copy, and a late segment of the one before
    let number = |above: &[u8], number, ttl| ethernet(&numbered(above, 6, number, ttl));
    let late = [
        number(&tcp(1 << 31, 3 << 30, 0x10, &[], b"one"), 1, 64),
        number(&tcp(50, 0, 2, &[], b""), 2, 64),
        number(&tcp(51, 70, 0x10, &[], b"two"), 3, 64),
        number(&tcp(1 << 31, 3 << 30, 0x10, &[], b"one"), 1, 63),
        number(&tcp((1 << 31) + 3, 3 << 30, 0x11, &[], b""), 4, 64),
        number(&tcp(54, 70, 0x10, &[], b"three"), 5, 64),
    ];
    let late: Vec<_> = late.into_iter().map(|frame| (0, frame)).collect();
    let flows: Vec<_> = at(&late).1.packets.iter().map(|packet| packet.0).collect();
    assert_eq!(flows, [0, 1, 1, 0, 1]);
}

#[test]
fn memory_of_copies_is_bounded() {
    let frames: Vec<_> =
        (0..70_000).map(|number| ethernet(&numbered(&data(number), 6, number as u16 | 1, 64))).collect();
    let mut file = Pcapng::new(false);
    file.interface(ETHERNET, &[]);
    // all within a millisecond; the first again, after it has been removed
    for frame in frames.iter().chain(&frames[..1]) {
        file.packet(0, 7, frame, frame.len());
    }
    assert_eq!(read(&file.bytes).1.packets.len(), 70_001);
}
