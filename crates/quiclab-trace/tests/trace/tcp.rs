//! Modelled TCP segments in captures: bytes computed by hand, and the output of tshark.

use crate::support::{packet_blocks, unhex, wireshark};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use quiclab_core::{
    AccEcnOption, ByteCount, FiveTuple, Flags, Packet, Payload, Protocol, SackBlocks, Segment,
    SegmentOptions, Time,
};
use quiclab_trace::pcapng::{Heading, PcapngWriter};
use std::net::SocketAddr;

const CLIENT: &str = "10.2.0.0:50000";
const SERVER: &str = "10.1.0.0:443";
const ACK: Flags = Flags::ACK;

fn segment(sequence: u64, acknowledgement: u64, flags: Flags, length: u16) -> Segment {
    Segment {
        sequence,
        acknowledgement,
        window: 65_536,
        timestamp: 1000,
        length,
        flags,
        ..Segment::default()
    }
}

fn syn(flags: Flags, window_scale: Option<u8>) -> Segment {
    let options =
        SegmentOptions::Syn { mss: 1460, window_scale, sack: true, timestamps: true, accecn: false };
    Segment { window: 64_240, options: Some(Box::new(options)), ..segment(0, 1, flags, 0) }
}

fn sack(acknowledgement: u64, blocks: &[(u64, u64)]) -> Segment {
    let mut sack = SackBlocks::default();
    blocks.iter().for_each(|&(start, end)| sack.push(start, end));
    Segment { options: Some(Box::new(SegmentOptions::Sack(sack))), ..segment(101, acknowledgement, ACK, 0) }
}

/// The packet around `segment`, with or without timestamps.
fn packet_with(source: &str, destination: &str, segment: Segment, timestamps: bool) -> Packet {
    let (source, destination): (SocketAddr, SocketAddr) =
        (source.parse().unwrap(), destination.parse().unwrap());
    let ip = if source.is_ipv4() { 20 } else { 40 };
    let size = ip + segment.header_bytes(timestamps) + u64::from(segment.length);
    Packet {
        size: ByteCount::from_bytes(size),
        tuple: FiveTuple::new(Protocol::Tcp, source, destination),
        payload: Payload::Segment(segment),
        ..Packet::default()
    }
}

fn up(segment: Segment) -> Packet {
    packet_with(CLIENT, SERVER, segment, true)
}

fn down(segment: Segment) -> Packet {
    packet_with(SERVER, CLIENT, segment, true)
}

/// A capture of the client: one packet every millisecond.
fn capture(packets: &[Packet]) -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new(), &["main.receiver"]).unwrap();
    for (index, packet) in packets.iter().enumerate() {
        let outbound = packet.tuple.source().port() == 50_000;
        let heading = if outbound { Heading::Outbound } else { Heading::Inbound };
        writer.packet(Time::from_nanos(index as u64 * 1_000_000), 0, packet, heading).unwrap();
    }
    writer.finish().unwrap()
}

fn written(packets: &[Packet]) -> Vec<EnhancedPacketBlock<'static>> {
    let blocks = packet_blocks(&capture(packets));
    assert_eq!(blocks.len(), packets.len());
    blocks
}

/// The TCP header of an IPv4 packet.
fn tcp(block: &EnhancedPacketBlock<'_>) -> Vec<u8> {
    assert_eq!(block.data[9], 6, "protocol");
    block.data[20..].to_vec()
}

/// The window field of each packet.
fn windows(packets: &[Packet]) -> Vec<u16> {
    let window = |block: &EnhancedPacketBlock<'_>| u16::from_be_bytes([block.data[34], block.data[35]]);
    written(packets).iter().map(window).collect()
}

#[test]
fn a_syn_has_the_options_of_linux() {
    let first = Segment { acknowledgement: 0, ..syn(Flags::SYN, Some(7)) };
    let blocks = written(&[up(first)]);
    assert_eq!((blocks[0].data.len(), blocks[0].original_len), (60, 60));
    // Pseudo-header 0a02 + 0a01 + 0006 + 0028 is 1431. c350 + 01bb + a002 + faf0 is 25ffd; the options
    // 0204 + 05b4 + 0402 + 080a + 03e8 + 0103 + 0307 are 1bb6. The sum is 28fe4, folded 8fe6, of which
    // 7019 is the complement.
    let expected = "c350 01bb 00000000 00000000 a002 faf0 7019 0000 \
                    0204 05b4  0402 080a 000003e8 00000000  01 03 03 07";
    assert_eq!(tcp(&blocks[0]), unhex(expected));
}

#[test]
fn options_that_a_syn_does_not_offer_leave_no_gap_but_the_padding() {
    let with = |window_scale, sack, timestamps| {
        let options = SegmentOptions::Syn { mss: 536, window_scale, sack, timestamps, accecn: false };
        let segment = Segment { options: Some(Box::new(options)), ..segment(0, 0, Flags::SYN, 0) };
        let block = written(&[up(segment)]).remove(0);
        assert_eq!(usize::from(tcp(&block)[12] >> 4) * 4, tcp(&block).len(), "data offset");
        tcp(&block)[20..].to_vec()
    };
    assert_eq!(with(None, false, false), unhex("0204 0218"));
    assert_eq!(with(None, true, false), unhex("0204 0218 0101 0402"));
    assert_eq!(with(Some(0), false, false), unhex("0204 0218 01 03 03 00"));
    assert_eq!(with(Some(14), false, true), unhex("0204 0218 0101 080a 000003e8 00000000 01 03 03 0e"));
}

#[test]
fn data_is_cut_off_after_its_header() {
    let flags = ACK.with(Flags::PSH).with(Flags::CWR);
    let data = Segment { timestamp_echo: 7, ..segment((1 << 32) + 5, 101, flags, 1448) };
    let blocks = written(&[down(data)]);
    assert_eq!((blocks[0].data.len(), blocks[0].original_len), (52, 1500));
    assert_eq!(blocks[0].data[2..4], 1500_u16.to_be_bytes(), "total length of the whole packet");
    // Position 2^32 + 5 is sequence number 5. No SYN was seen: the window is limited to 16 bits.
    // Pseudo-header 0a01 + 0a02 + 0006 + 05c8 (1480) is 19d1; 01bb + c350 + 0005 + 0065 + 8098 + ffff is
    // 2460c; options 0101 + 080a + 03e8 + 0007 are 0cfa. The sum is 26cd7, folded 6cd9, complement 9326.
    let expected = "01bb c350 00000005 00000065 8098 ffff 9326 0000 0101 080a 000003e8 00000007";
    assert_eq!(tcp(&blocks[0]), unhex(expected));
}

#[test]
fn the_length_of_the_packet_tells_whether_there_are_timestamps() {
    let plain = segment(1, 101, ACK, 1460);
    let blocks = written(&[packet_with(SERVER, CLIENT, plain.clone(), false), down(plain)]);
    assert_eq!((tcp(&blocks[0]).len(), blocks[0].original_len), (20, 1500));
    assert_eq!((tcp(&blocks[1]).len(), blocks[1].original_len), (32, 1512));
}

#[test]
fn sack_blocks_follow_the_timestamps() {
    let blocks = [(1449, 2897), (4345, 5793), (1 << 32, (1 << 32) + 1)];
    let written = written(&[up(sack(1, &blocks)), packet_with(CLIENT, SERVER, sack(1, &blocks[..1]), false)]);
    let expected = "0101 080a 000003e8 00000000 \
                    0101 051a 000005a9 00000b51 000010f9 000016a1 00000000 00000001";
    assert_eq!(tcp(&written[0])[20..], unhex(expected));
    assert_eq!(tcp(&written[0])[12], 0xf0, "60 bytes, the longest header");
    assert_eq!(tcp(&written[1])[20..], unhex("0101 050a 000005a9 00000b51"));
}

#[test]
fn windows_are_scaled_by_what_the_syns_announced() {
    let data = || segment(1, 1, ACK, 0);
    let handshake = [up(syn(Flags::SYN, Some(7))), down(syn(Flags::SYN.with(ACK), Some(2)))];
    // those of SYNs are not scaled; 65 536 / 2^7 = 512, 65 536 / 2^2 = 16 384
    let packets = [&handshake[..], &[up(data()), down(data())]].concat();
    assert_eq!(windows(&packets), [64_240, 64_240, 512, 16_384]);
    // a connection of its own: its SYNs were not seen
    let other = packet_with("10.2.0.0:50001", SERVER, data(), true);
    assert_eq!(windows(&[&handshake[..], &[other]].concat()), [64_240, 64_240, 65_535]);
    // one end offers none: neither scales (RFC 7323 section 2.2)
    for (client, server) in [(Some(7), None), (None, Some(7))] {
        let syns = [up(syn(Flags::SYN, client)), down(syn(Flags::SYN.with(ACK), server))];
        let packets = [&syns[..], &[up(data()), down(data())]].concat();
        assert_eq!(windows(&packets), [64_240, 64_240, 65_535, 65_535], "{client:?} {server:?}");
    }
    // 14 is the largest shift (RFC 7323 section 2.3): 65 536 / 2^14 = 4
    let syns = [up(syn(Flags::SYN, Some(15))), down(syn(Flags::SYN.with(ACK), Some(0)))];
    assert_eq!(windows(&[&syns[..], &[up(data())]].concat()), [64_240, 64_240, 4]);
}

#[test]
fn a_segment_over_ipv6_has_the_checksum_of_its_addresses() {
    let packet = packet_with("[2001:db8::1]:443", "[2001:db8::2]:50000", segment(1, 101, ACK, 1000), false);
    let block = written(&[packet]).remove(0);
    assert_eq!((block.data.len(), block.original_len), (60, 1060));
    assert_eq!(block.data[4..8], [0x03, 0xfc, 6, 64], "1020 bytes of TCP, hop limit 64");
    // 2 * (2001 + 0db8) + 1 + 2 + 0006 + 03fc is 5f77; 01bb + c350 + 0001 + 0065 + 5010 + ffff is 21580.
    // The sum is 274f7, folded 74f9, complement 8b06.
    assert_eq!(block.data[40..], unhex("01bb c350 00000001 00000065 5010 ffff 8b06 0000"));
}

fn accurate(flags: Flags, ace: u8, bytes: [u64; 3], fields: u8, blocks: &[(u64, u64)]) -> Segment {
    let mut sack = SackBlocks::default();
    blocks.iter().for_each(|&(start, end)| sack.push(start, end));
    let option = AccEcnOption::of_bytes(bytes, fields);
    let options = SegmentOptions::AccEcn { option, sack, records: Vec::new() };
    Segment { options: Some(Box::new(options)), ..segment(101, 1, flags.with(Flags::of_ace(ace)), 0) }
}

/// RFC 9768 section 3.2.3 and figure 4: kind 174, 24 bits per field, ECT(1), CE, ECT(0); with SACK the part beyond a word takes
/// the place of the two NOPs in front of it.
#[test]
fn the_accecn_option_is_where_linux_has_it() {
    let options = |segment: Segment| tcp(&written(&[up(segment)])[0])[32..].to_vec();
    let bytes = [0x01_0203 - 1, 0x0a0b, 0x7f_ffff - 1];
    assert_eq!(options(accurate(ACK, 0, bytes, 3, &[])), unhex("ae0b 010203 000a0b 7fffff 01"));
    assert_eq!(options(accurate(ACK, 0, bytes, 2, &[])), unhex("ae08 010203 000a0b"));
    assert_eq!(options(accurate(ACK, 0, bytes, 1, &[])), unhex("ae05 010203 010101"));
    assert_eq!(options(accurate(ACK, 0, bytes, 0, &[])), unhex("ae02 0101"));
    let block = [(1, 2)];
    let sack = "050a 00000001 00000002";
    assert_eq!(
        options(accurate(ACK, 0, bytes, 3, &block)),
        unhex(&format!("ae0b 010203 000a0b 7fffff 01 0101 {sack}"))
    );
    assert_eq!(
        options(accurate(ACK, 0, bytes, 2, &block)),
        unhex(&format!("ae08 010203 000a0b 0101 {sack}"))
    );
    assert_eq!(options(accurate(ACK, 0, bytes, 1, &block)), unhex(&format!("ae05 010203 01 {sack}")));
    assert_eq!(options(accurate(ACK, 0, bytes, 0, &block)), unhex(&format!("ae02 {sack}")));
    // AE is the lowest bit of the byte of the data offset: 44 bytes and (1,0,1)
    assert_eq!(tcp(&written(&[up(accurate(ACK, 5, bytes, 3, &[]))])[0])[12..14], [0xb1, 0x50]);
    // a SYN-ACK: MSS, SACK-permitted, timestamps, the initial values, window scale
    let options =
        SegmentOptions::Syn { mss: 1460, window_scale: Some(7), sack: true, timestamps: true, accecn: true };
    let flags = Flags::SYN.with(ACK).with(Flags::of_ace(0b010));
    let syn_ack = Segment { options: Some(Box::new(options)), ..segment(0, 1, flags, 0) };
    let expected = "0204 05b4 0402 080a 000003e8 00000000 ae0b 000001 000000 000001 01 01 0303 07";
    assert_eq!(tcp(&written(&[down(syn_ack)])[0])[20..], unhex(expected));
}

/// Wireshark knows the flags and the options.
#[test]
fn tshark_reads_accurate_ecn() {
    let fields = [
        "tcp.hdr_len",
        "tcp.flags",
        "tcp.options.acc_ecn.ee1b",
        "tcp.options.acc_ecn.eceb",
        "tcp.options.acc_ecn.ee0b",
        "tcp.options.sack_le",
    ];
    let mut arguments = vec!["-T", "fields", "-E", "separator=,"];
    fields.iter().for_each(|field| arguments.extend(["-e", field]));
    arguments.push("-r");
    let packets = [
        up(syn(Flags::SYN.with(Flags::of_ace(0b111)), Some(7))),
        up(accurate(ACK, 5, [0, 1448, 2896], 3, &[])),
        up(accurate(ACK, 6, [0, 1448, 2896], 1, &[(1449, 2897)])),
    ];
    let file = capture(&packets);
    let Some(text) = wireshark("tshark", "accecn", &arguments, &file) else { return };
    // AE 0x100, CWR 0x80, ECE 0x40; counters with their initial values
    let expected = "\
40,0x01c2,,,,
44,0x0150,1,1448,2897,
48,0x0190,1,,,1449
";
    assert_eq!(text, expected);
    let errors = ["-Y", "_ws.malformed || _ws.expert.severity == error", "-r"];
    assert_eq!(wireshark("tshark", "accecn_errors", &errors, &file).unwrap(), "");
}

/// A handshake, a request of 100 bytes, three segments of which the first is lost, sent again, FIN.
fn connection() -> Vec<Packet> {
    let at = |timestamp, timestamp_echo, segment| Segment { timestamp, timestamp_echo, ..segment };
    let fin = ACK.with(Flags::FIN);
    vec![
        up(at(0, 0, syn(Flags::SYN, Some(7)))),
        down(at(500, 0, syn(Flags::SYN.with(ACK), Some(8)))),
        up(at(1, 500, segment(1, 1, ACK, 0))),
        up(at(1, 500, segment(1, 1, ACK.with(Flags::PSH), 100))),
        down(at(502, 1, segment(1449, 101, ACK, 1448))),
        up(at(3, 500, sack(1, &[(1449, 2897)]))),
        down(at(502, 1, segment(2897, 101, ACK, 1000))),
        up(at(3, 500, sack(1, &[(1449, 3897)]))),
        down(Segment { retransmission: true, ..at(504, 3, segment(1, 101, ACK, 1448)) }),
        up(at(4, 504, segment(101, 3897, ACK, 0))),
        down(at(506, 4, segment(3897, 101, fin, 0))),
        up(at(5, 506, segment(101, 3898, fin, 0))),
    ]
}

#[test]
fn tshark_reads_a_connection() {
    let fields = [
        "frame.len",
        "tcp.srcport",
        "tcp.flags",
        "tcp.seq_raw",
        "tcp.ack_raw",
        "tcp.len",
        "tcp.window_size",
        "tcp.hdr_len",
        "tcp.options.timestamp.tsval",
        "tcp.options.timestamp.tsecr",
        "tcp.options.mss_val",
        "tcp.options.wscale.shift",
        "tcp.options.sack_le",
        "tcp.options.sack_re",
        "_ws.malformed",
    ];
    let mut arguments =
        vec!["-o", "tcp.relative_sequence_numbers:FALSE", "-T", "fields", "-E", "separator=,"];
    for field in fields {
        arguments.extend(["-e", field]);
    }
    arguments.push("-r");
    let file = capture(&connection());
    let Some(text) = wireshark("tshark", "tcp", &arguments, &file) else { return };
    // windows: 64240 in SYNs, else 65536 = 512 << 7 = 256 << 8
    let expected = "\
60,50000,0x0002,0,0,0,64240,40,0,0,1460,7,,,
60,443,0x0012,0,1,0,64240,40,500,0,1460,8,,,
52,50000,0x0010,1,1,0,65536,32,1,500,,,,,
152,50000,0x0018,1,1,100,65536,32,1,500,,,,,
1500,443,0x0010,1449,101,1448,65536,32,502,1,,,,,
64,50000,0x0010,101,1,0,65536,44,3,500,,,1449,2897,
1052,443,0x0010,2897,101,1000,65536,32,502,1,,,,,
64,50000,0x0010,101,1,0,65536,44,3,500,,,1449,3897,
1500,443,0x0010,1,101,1448,65536,32,504,3,,,,,
52,50000,0x0010,101,3897,0,65536,32,4,504,,,,,
52,443,0x0011,3897,101,0,65536,32,506,4,,,,,
52,50000,0x0011,101,3898,0,65536,32,5,506,,,,,
";
    assert_eq!(text, expected);
    let permitted = ["-Y", "tcp.options.sack_perm", "-r"];
    assert_eq!(wireshark("tshark", "tcp_permitted", &permitted, &file).unwrap().lines().count(), 2);
    let errors = ["-Y", "_ws.malformed || _ws.expert.severity == error", "-r"];
    assert_eq!(wireshark("tshark", "tcp_errors", &errors, &file).unwrap(), "");
}
