//! The reader of captures: files of other tools compared with the output of tshark, and files built by hand.

use crate::support::frames::{
    ETHERNET, Layout, Pcapng, arp, cooked, cooked2, ethernet, ipv4, ipv6, loopback, pcap, tcp, udp,
};
use quiclab_trace::packets::{
    Content, Flow, KeyLog, ObservedPacket, Protocol, ReadError, Reading, Sink, read_capture,
};
use std::io::Read;
use std::ops::{ControlFlow, RangeInclusive};

const DOWNLOAD: &[u8] = include_bytes!("../data/download.pcapng");
const DOWNLOAD_FIELDS: &str = include_str!("../data/download.csv");
const QUIC: &[u8] = include_bytes!("../data/quic.pcapng");
const QUIC_FIELDS: &str = include_str!("../data/quic.csv");

/// A packet with everything in it owned.
#[derive(Clone, Debug, PartialEq)]
struct Kept {
    flow: usize,
    at: i64,
    backward: bool,
    frame_bytes: u32,
    payload_bytes: u32,
    content: What,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    Segment { sequence: u32, acknowledgement: Option<u32>, length: u32, control: bool, window: u16, sack: u8 },
    Quic { numbers: Vec<u64>, acknowledged: Option<Vec<RangeInclusive<u64>>>, eliciting: bool },
    Opaque,
}

#[derive(Default)]
struct Collected {
    flows: Vec<Flow>,
    packets: Vec<Kept>,
}

impl Sink for Collected {
    fn flow(&mut self, index: usize, flow: &Flow) {
        assert_eq!(index, self.flows.len(), "flows are counted up");
        self.flows.push(flow.clone());
    }
    fn better_known(&mut self, index: usize, flow: &Flow) {
        assert_ne!(self.flows[index], *flow, "something is new");
        self.flows[index] = flow.clone();
    }
    fn packet(&mut self, flow: usize, packet: &ObservedPacket<'_>) {
        assert!(flow < self.flows.len(), "a flow comes before its packets");
        let content = match packet.content {
            Content::Segment { sequence, acknowledgement, length, control, window, sack_blocks: sack } => {
                What::Segment { sequence, acknowledgement, length, control, window, sack }
            }
            Content::Quic { numbers, acknowledged, ack_eliciting: eliciting } => What::Quic {
                numbers: numbers.iter().map(|packet| packet.number).collect(),
                acknowledged: acknowledged
                    .map(|ranges| ranges.iter().map(|range| range.numbers.clone()).collect()),
                eliciting,
            },
            Content::Opaque => What::Opaque,
            Content::Acknowledges(_) => unreachable!("ends of ours are in no capture"),
        };
        let &ObservedPacket { at, backward, frame_bytes, payload_bytes, .. } = packet;
        self.packets.push(Kept { flow, at, backward, frame_bytes, payload_bytes, content });
    }
}

fn try_read(file: impl Read) -> Result<(Reading, Collected), ReadError> {
    let mut sink = Collected::default();
    let mut progress = |_| ControlFlow::Continue(());
    let reading = read_capture(file, "file", &KeyLog::default(), &mut sink, &mut progress)?;
    Ok((reading, sink))
}

fn read(file: &[u8]) -> (Reading, Collected) {
    try_read(file).unwrap()
}

fn problems(reading: &Reading) -> Vec<(&'static str, u64)> {
    reading.problems.iter().collect()
}

/// Nanoseconds of a time such as `946684800.015491200`.
fn nanoseconds(epoch: &str) -> i64 {
    let (seconds, fraction) = epoch.split_once('.').unwrap();
    assert_eq!(fraction.len(), 9);
    seconds.parse::<i64>().unwrap() * 1_000_000_000 + fraction.parse::<i64>().unwrap()
}

#[test]
fn every_field_of_a_download_is_as_tshark_says() {
    let (reading, seen) = read(DOWNLOAD);
    assert_eq!(reading.format, "pcapng");
    assert_eq!(seen.flows.len(), 1);
    let rows: Vec<Vec<&str>> =
        DOWNLOAD_FIELDS.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert_eq!((rows.len(), seen.packets.len()), (864, 864));
    assert_eq!(
        problems(&reading),
        [("IP packet of another protocol than TCP and UDP", 2), ("frame of another protocol than IP", 4),]
    );
    for (row, packet) in rows.iter().zip(&seen.packets) {
        let number = |column: usize| row[column].parse::<u32>().unwrap();
        let What::Segment { sequence, acknowledgement, length, control, window, .. } = packet.content else {
            panic!("{packet:?}");
        };
        let sender = seen.flows[0].ends.unwrap()[usize::from(packet.backward)];
        assert_eq!(packet.at, nanoseconds(row[0]));
        assert_eq!(sender.ip().to_string(), row[1]);
        assert_eq!(sequence, number(2));
        assert_eq!(acknowledgement.unwrap_or(0), number(3));
        assert_eq!(packet.payload_bytes, number(4));
        assert_eq!(length, number(4) + u32::from(control));
        assert_eq!(packet.frame_bytes, number(5), "the snap length of 96 does not shorten it");
        assert_eq!(u32::from(window), number(6));
    }
}

/// Ranges of an ACK frame from the lists of tshark, ascending.
fn ranges(largest: u64, first: u64, gaps: &str, lengths: &str) -> Vec<RangeInclusive<u64>> {
    let values = |list: &str| list.split_whitespace().map(|v| v.parse().unwrap()).collect::<Vec<u64>>();
    let mut found = vec![largest - first..=largest];
    for (gap, length) in values(gaps).into_iter().zip(values(lengths)) {
        let end = found.last().unwrap().start() - gap - 2;
        found.push(end - length..=end);
    }
    found.reverse();
    found
}

#[test]
fn every_packet_of_a_quic_connection_is_as_tshark_says() {
    let (reading, seen) = read(QUIC);
    assert_eq!(problems(&reading), []);
    assert_eq!(seen.flows.len(), 1);
    assert_eq!(seen.flows[0].protocol, Protocol::Quic);
    assert_eq!(seen.flows[0].name.len(), 40, "an original connection ID of 20 bytes");
    let rows: Vec<Vec<&str>> = QUIC_FIELDS.lines().skip(1).map(|line| line.split('|').collect()).collect();
    assert_eq!(rows.len(), seen.packets.len());
    let (mut acks, mut gaps) = (0, 0);
    for (row, packet) in rows.iter().zip(&seen.packets) {
        assert_eq!(packet.at, nanoseconds(row[0]));
        assert_eq!(packet.frame_bytes.to_string(), row[2]);
        assert_eq!((packet.payload_bytes + 8).to_string(), row[3]);
        let What::Quic { numbers, acknowledged, eliciting } = &packet.content else { panic!("{packet:?}") };
        // tshark lists the packets of a datagram in their order; one with a short header is the last
        let short =
            (!row[6].is_empty()).then(|| row[5].split(' ').next_back().unwrap().parse::<u64>().unwrap());
        assert_eq!(*numbers, short.into_iter().collect::<Vec<_>>());
        if !row[4].is_empty() {
            continue; // frames of the handshake are in its lists, too
        }
        let expected = (!row[7].is_empty())
            .then(|| ranges(row[7].parse().unwrap(), row[8].parse().unwrap(), row[9], row[10]));
        assert_eq!(*acknowledged, expected, "{row:?}");
        // ACK 2 and 3, PADDING 0, CONNECTION_CLOSE 28 and 29
        let silent = row[11].split(' ').all(|kind| ["0", "2", "3", "28", "29"].contains(&kind));
        assert_eq!(*eliciting, !silent, "{row:?}");
        acks += usize::from(expected.is_some());
        gaps += usize::from(!row[9].is_empty());
    }
    assert!(acks >= 10 && gaps >= 1, "{acks} ACKs, {gaps} with gaps: a sample that shows something");
}

#[test]
fn a_key_log_of_its_own_does_what_secrets_in_the_file_do() {
    let (text, stripped) = crate::support::frames::without_secrets(QUIC);
    let (reading, opaque) = read(&stripped);
    assert_eq!(opaque.flows[0].protocol, Protocol::Quic);
    assert!(opaque.packets.iter().all(|packet| packet.content == What::Opaque));
    let note = reading.notes.last().unwrap();
    assert!(note.starts_with("1 of 1 QUIC connections cannot be decrypted: there are no secrets"), "{note}");

    let keys = KeyLog::read(text.as_slice(), "keys").unwrap();
    assert_eq!((keys.connections(), keys.unknown_lines()), (1, 0));
    let mut sink = Collected::default();
    let mut progress = |_| ControlFlow::Continue(());
    read_capture(&stripped[..], "file", &keys, &mut sink, &mut progress).unwrap();
    assert_eq!(sink.packets, read(QUIC).1.packets);
}

#[test]
fn link_types() {
    let v4 = ipv4(&tcp(7, 9, 0x10, &[], b"four"), 6);
    let v6 = ipv6(&udp(b"six"), 17, &[]);
    // frame bytes: 20 + 20 + 4 of IPv4, 40 + 8 + 3 of IPv6
    for (link, make, header) in [
        (1, ethernet as fn(&[u8]) -> Vec<u8>, 14),
        (1, |ip| crate::support::frames::tagged(ip, &[0x8100]), 18),
        (1, |ip| crate::support::frames::tagged(ip, &[0x88a8, 0x8100]), 22),
        (0, |ip| loopback(ip, false), 4),
        (0, |ip| loopback(ip, true), 4),
        (108, |ip| loopback(ip, true), 4),
        (113, cooked, 16),
        (276, cooked2, 20),
        (101, <[u8]>::to_vec, 0),
        (12, <[u8]>::to_vec, 0),
        (228, <[u8]>::to_vec, 0),
        (229, <[u8]>::to_vec, 0),
    ] {
        let frames = [make(&v4), make(&v6)];
        let (reading, seen) = read(&pcap(Layout::default(), link, &frames));
        assert_eq!(problems(&reading), [], "link type {link}");
        assert_eq!(reading.notes.len(), usize::from(link != 1), "{:?}", reading.notes);
        let sizes: Vec<_> =
            seen.packets.iter().map(|packet| (packet.frame_bytes, packet.payload_bytes)).collect();
        assert_eq!(sizes, [(44 + header, 4), (51 + header, 3)], "link type {link}");
        assert_eq!(seen.flows[0].ends.unwrap()[0].to_string(), "10.0.0.1:1000");
        assert_eq!(seen.flows[1].ends.unwrap()[1].to_string(), "[fd00::2]:2000");
    }
    let (reading, seen) = read(&pcap(Layout::default(), 105, &[vec![0; 60], vec![0; 60]]));
    assert_eq!((seen.packets.len(), reading.frames), (0, 2));
    assert_eq!(problems(&reading), [("link type not supported", 2)]);
    let note = &reading.notes[0];
    assert!(note.starts_with("frames of link type 105 (IEEE 802.11) are not read"), "{note}");
}

#[test]
fn layouts_of_pcap() {
    let frames = [ethernet(&ipv4(&udp(b"12345"), 17)), arp()];
    for layout in Layout::ALL {
        let (reading, seen) = read(&pcap(layout, ETHERNET, &frames));
        assert_eq!((reading.format.as_str(), reading.frames), ("pcap", 2));
        assert_eq!(problems(&reading), [("frame of another protocol than IP", 1)]);
        // the first frame is at 1 s and 1 unit
        let unit = if layout.nanoseconds { 1 } else { 1000 };
        assert_eq!(seen.packets[0].at, 1_000_000_000 + unit, "{layout:?}");
        assert_eq!(seen.packets[0].payload_bytes, 5);
    }
}

#[test]
fn sections_interfaces_and_clocks_of_pcapng() {
    let frame = ethernet(&ipv4(&tcp(1, 2, 0x12, &[], b""), 6));
    let mut file = Pcapng::new(false);
    file.interface(ETHERNET, &[]); // microseconds
    file.interface(ETHERNET, &[(9, vec![0x8a]), (14, 100_i64.to_le_bytes().to_vec()), (13, vec![4])]);
    file.packet(0, 2_000_000, &frame, frame.len());
    file.packet(1, 512, &frame, frame.len() + 4); // half a second, a hundred later; and a checksum
    file.simple(&frame);
    file.packet(2, 0, &frame, frame.len());
    file.packet(0, 1_500_000, &frame, frame.len()); // backwards
    let mut second = Pcapng::new(true);
    second.interface(101, &[(9, vec![9])]);
    second.packet(0, 77, &frame[14..], frame.len() - 14);
    let (reading, seen) = read(&[file.bytes, second.bytes].concat());
    let times: Vec<_> = seen.packets.iter().map(|packet| packet.at).collect();
    assert_eq!(times, [2_000_000_000, 100_500_000_000, 1_500_000_000, 77]);
    let sizes: Vec<_> = seen.packets.iter().map(|packet| packet.frame_bytes).collect();
    assert_eq!(sizes, [54, 54, 54, 40]);
    assert_eq!(reading.frames, 6);
    assert_eq!(
        problems(&reading),
        [("packet of an interface that is not described", 1), ("packet without a time", 1),]
    );
    assert_eq!(reading.notes.len(), 1, "raw IP: {:?}", reading.notes);
}

#[test]
fn headers_of_ip_and_tcp() {
    let count = |ip: Vec<u8>| {
        let (reading, seen) = read(&pcap(Layout::default(), 101, &[ip]));
        (problems(&reading).first().map(|(kind, _)| *kind), seen.packets.len())
    };
    let segment = tcp(5, 6, 0x11, &[1, 1, 5, 10, 0, 0, 0, 0, 0, 0, 0, 9], b"data");
    let (_, seen) =
        read(&pcap(Layout::default(), 101, &[ipv4(&segment, 6), ipv6(&segment, 6, &[0, 60, 43])]));
    for packet in &seen.packets {
        // payload of 4 bytes and a FIN
        let expected = What::Segment {
            sequence: 5,
            acknowledgement: Some(6),
            length: 5,
            control: true,
            window: 0x1234,
            sack: 1,
        };
        assert_eq!(packet.content, expected);
    }
    assert_eq!(seen.packets.len(), 2);
    let changed = |at: usize, value: u8| {
        let mut packet = ipv4(&segment, 6);
        packet[at] = value;
        packet
    };
    let lengths = Some("IP packet whose lengths contradict each other");
    assert_eq!(count(changed(6, 0x20)), (Some("IP fragment"), 0), "more fragments");
    assert_eq!(count(changed(7, 1)), (Some("IP fragment"), 0), "an offset");
    assert_eq!(count(changed(6, 0x40)), (None, 1), "do not fragment");
    assert_eq!(count(changed(0, 0x44)), (lengths, 0), "a header of 16 bytes");
    assert_eq!(count(changed(3, 255)), (None, 1), "longer than its frame, which has lost its length");
    assert_eq!(count(changed(3, 24)), (lengths, 0), "shorter than a TCP header");
    assert_eq!(count(changed(3, 0)), (None, 1), "a length of 0: left to an offload");
    assert_eq!(count(changed(32, 0x40)), (lengths, 0), "a TCP header of 16 bytes");
    assert_eq!(count(changed(9, 1)), (Some("IP packet of another protocol than TCP and UDP"), 0));
    assert_eq!(count(changed(0, 0x55)), (Some("frame of another protocol than IP"), 0));
    assert_eq!(count(ipv6(&segment, 6, &[44])), (None, 1), "an atomic fragment");
    assert_eq!(count(ipv6(&segment, 6, &[0; 9])).0, Some("IP packet with more than 8 extension headers"));
    let mut fragment = ipv6(&segment, 6, &[44]);
    fragment[43] = 1;
    assert_eq!(count(fragment), (Some("IP fragment"), 0));
}

#[test]
fn files_that_are_something_else() {
    for (file, found) in [
        (
            &b""[..],
            "file: expected a pcap, pcapng or qlog file, optionally compressed by gzip, got an empty file",
        ),
        (b"abc", "a file of less than 4 bytes"),
        (b"\x89PNG\r\n", "a file that starts with the bytes 89 50 4e 47"),
        (b"\x0a\x0d\x0d\x0a\0\0", "a pcapng file that ends within its header"),
        (b"\xa1\xb2\xc3\xd4\0\0", "a pcap file that ends within its header"),
    ] {
        let error = try_read(file).err().unwrap().to_string();
        assert!(error.starts_with("file: expected ") && error.ends_with(found), "{error}");
    }
    let mut sink = Collected::default();
    let stopped = read_capture(QUIC, "file", &KeyLog::default(), &mut sink, &mut |_| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(ReadError::Interrupted)));
}

/// Three frames of different kinds in files of both formats.
fn samples() -> Vec<Vec<u8>> {
    let segment = tcp(5, 6, 0x10, &[1, 1, 5, 10, 0, 0, 0, 0, 0, 0, 0, 9], b"data");
    let frames = [ethernet(&ipv4(&segment, 6)), ethernet(&ipv6(&udp(b"x"), 17, &[0, 44])), arp()];
    let mut files = Layout::ALL.map(|layout| pcap(layout, ETHERNET, &frames)).to_vec();
    for big in [false, true] {
        let mut file = Pcapng::new(big);
        file.interface(ETHERNET, &[(9, vec![9]), (2, b"name".to_vec())]);
        for (index, frame) in frames.iter().enumerate() {
            file.packet(0, index as u64, frame, frame.len() + 100);
        }
        files.push(file.bytes);
    }
    files
}

#[test]
fn files_cut_off_at_every_byte() {
    for file in samples() {
        let whole = read(&file).1.packets;
        let (mut most, mut quiet) = (0, 0);
        for length in 28..=file.len() {
            let (reading, seen) = read(&file[..length]);
            assert_eq!(seen.packets, whole[..seen.packets.len()], "what is there is as in the whole file");
            assert!(seen.packets.len() >= most, "more of the file is no less");
            most = seen.packets.len();
            quiet +=
                usize::from(!reading.notes.iter().any(|note| note.starts_with("reading stopped at byte ")));
        }
        assert_eq!(most, 2);
        // after each record; in pcapng also after the section header and the interface
        assert_eq!(quiet, if file[0] == 0x0a { 5 } else { 3 });
        for length in 0..28 {
            drop(try_read(&file[..length]));
        }
    }
    // a snap length cuts frames anywhere
    for link in [0, 1, 101, 108, 113, 276] {
        for captured in 0..60 {
            let frames = [cooked2(&ipv4(&udp(b"x"), 17))[..captured.min(49)].to_vec()];
            assert_eq!(read(&pcap(Layout::default(), link, &frames)).0.frames, 1);
        }
    }
    for captured in 0..100 {
        let frame = ethernet(&ipv6(&tcp(1, 2, 0x10, &[1; 12], b"abcd"), 6, &[0, 43]));
        let captured = captured.min(frame.len());
        let mut file = Pcapng::new(false);
        file.interface(ETHERNET, &[]);
        file.packet(0, 1, &frame[..captured], frame.len());
        let (reading, seen) = read(&file.bytes);
        // 14 + 40 + 16 of extensions, and the 16 bytes of a TCP header up to its window
        assert_eq!(seen.packets.len(), usize::from(captured >= 86), "{captured}");
        assert!(seen.packets.iter().all(|packet| (packet.frame_bytes, packet.payload_bytes) == (106, 4)));
        assert_eq!(reading.frames, 1);
    }
}

#[test]
fn files_with_false_bytes_end_in_counts_and_notes() {
    for file in samples().into_iter().chain([QUIC[..6000].to_vec()]) {
        for at in 0..file.len().min(2500) {
            for value in [0, 1, 0x7f, 0xff, file[at].wrapping_add(4)] {
                let mut changed = file.clone();
                changed[at] = value;
                drop(try_read(&changed[..]));
            }
        }
    }
    // lengths of blocks that differ: that block is lost, not the next
    let frame = ethernet(&ipv4(&udp(b"x"), 17));
    let mut file = Pcapng::new(false);
    file.interface(ETHERNET, &[]);
    file.packet(0, 1, &frame, frame.len());
    let end = file.bytes.len();
    file.packet(0, 2, &frame, frame.len());
    file.bytes[end - 4] ^= 4;
    let (reading, seen) = read(&file.bytes);
    assert_eq!((seen.packets.len(), problems(&reading)), (1, vec![("block whose lengths differ", 1)]));
    // a record of 17 MiB
    let mut file = pcap(Layout::default(), ETHERNET, &[frame]);
    file[24 + 8..24 + 12].copy_from_slice(&(17_u32 << 20).to_le_bytes());
    let (reading, _) = read(&file);
    assert_eq!(reading.notes, ["reading stopped at byte 24: the length of a record is beyond 16 MiB"]);
}

#[test]
fn flows_beyond_the_first_ten_thousand_are_counted() {
    let mut file = Pcapng::new(false);
    file.interface(101, &[]);
    for index in 0..10_003_u32 {
        let mut packet = ipv4(&udp(b""), 17);
        packet[12..16].copy_from_slice(&index.to_be_bytes());
        file.packet(0, 0, &packet, packet.len());
    }
    let (reading, seen) = read(&file.bytes);
    assert_eq!(seen.flows.len(), 10_000);
    assert_eq!(problems(&reading), [("packet of a flow beyond the first 10000", 3)]);
}

/// Ten thousand flows, the first between the ends of `first`; then `further` packets between the same ends.
fn read_at_the_limit(first: &[u8], further: &[Vec<u8>]) -> (Reading, Collected) {
    let mut file = Pcapng::new(false);
    file.interface(101, &[]);
    file.packet(0, 0, first, first.len());
    for index in 1..10_000_u32 {
        let mut packet = ipv4(&udp(b""), 17);
        packet[12..16].copy_from_slice(&index.to_be_bytes());
        file.packet(0, 0, &packet, packet.len());
    }
    for packet in further {
        file.packet(0, 0, packet, packet.len());
    }
    read(&file.bytes)
}

/// A connection between reused ports also exceeds the limit: its packets do not belong to the previous one.
#[test]
fn packets_of_a_connection_that_is_not_followed_are_of_none() {
    let segment = |sequence, acknowledgement, flags, data: &[u8]| {
        ipv4(&tcp(sequence, acknowledgement, flags, &[], data), 6)
    };
    let first = segment(100, 1, 0x10, b"data");
    let further = [
        segment(0x7000_0000, 0, 2, b""),
        segment(0x7000_0001, 1, 0x10, b"data"),
        segment(104, 1, 0x10, b"more"),
    ];
    let (reading, seen) = read_at_the_limit(&first, &further);
    let of_first = seen.packets.iter().filter(|packet| packet.flow == 0).count();
    assert_eq!(of_first, 2, "the one before goes on: a stray SYN does not end it");
    assert_eq!(problems(&reading), [("packet of a flow beyond the first 10000", 2)]);

    // long headers of mvfst, which are not read, and a short one: without a known ID the ports decide
    let long = |id: u8| {
        let header = [&[0xc0, 0xfa, 0xce, 0xb0, 2, 8][..], &[id; 8], &[0], &[0; 40]].concat();
        ipv4(&udp(&header), 17)
    };
    let short = |id: u8| ipv4(&udp(&[&[0x40][..], &[id; 30]].concat()), 17);
    let (reading, seen) = read_at_the_limit(&long(1), &[short(7), long(2), short(8)]);
    assert_eq!(seen.packets.iter().filter(|packet| packet.flow == 0).count(), 2);
    let beyond = reading.problems.iter().find(|(kind, _)| kind.contains("beyond"));
    assert_eq!(beyond, Some(("packet of a flow beyond the first 10000", 2)));
}
