//! Modelled QUIC datagrams in captures: bytes by hand, exact lengths, and as tshark reads them.

mod support;

use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use quiclab_core::quic::{AckFrame, PacketFormat, QuicDatagram, QuicFrame, QuicPacket, Wire};
use quiclab_core::{ByteCount, FiveTuple, Packet, PacketSpace, Payload, Protocol, Time};
use quiclab_trace::pcapng::{Heading, PcapngWriter};
use std::net::SocketAddr;
use support::{packet_blocks, unhex, wireshark};

const CLIENT: [&str; 2] = ["10.2.0.0:50000", "[2001:db8::2]:50000"];
const SERVER: [&str; 2] = ["10.1.0.0:443", "[2001:db8::1]:443"];

fn quic(space: PacketSpace, wire: Wire, number: u64, frames: Vec<QuicFrame>) -> QuicPacket {
    let format = PacketFormat { wire, destination_id: 8, source_id: 8, number_length: 2 };
    QuicPacket { space, path: 0, number, format, frames: frames.into() }
}

fn crypto(length: u16) -> QuicFrame {
    QuicFrame::Crypto { offset: 0, length, parameters: None }
}

/// The packet around a datagram from client to server; its length is the datagram's and that of the headers.
fn packet(ipv6: bool, packets: Vec<QuicPacket>) -> Packet {
    let family = usize::from(ipv6);
    let [source, destination]: [SocketAddr; 2] =
        [CLIENT[family], SERVER[family]].map(|address| address.parse().unwrap());
    let datagram = QuicDatagram { packets: packets.into() };
    let headers = if ipv6 { 48 } else { 28 };
    Packet {
        size: ByteCount::from_bytes(headers + datagram.length() as u64),
        tuple: FiveTuple::new(Protocol::Udp, source, destination),
        payload: Payload::Quic(Box::new(datagram)),
        ..Packet::default()
    }
}

/// A padded Initial packet; Initial and Handshake in one datagram; data; data over IPv6; Google QUIC.
///
/// The Initial packet: header 1 + 4 + 1 + 8 + 1 + 8 + 1 + 2 + 2 = 28, CRYPTO 1 + 1 + 2 + 300 = 304, padding
/// 852, tag 16: 1200. A 1-RTT packet's header is 1 + 8 + 2 = 11; STREAM with offset 0 and no Length field 1 + 1:
/// 11 + 2 + 1000 + 16 = 1029.
fn packets() -> Vec<Packet> {
    use PacketSpace::{Handshake, Initial, OneRtt};
    let data = QuicFrame::Stream { stream_id: 0, offset: 0, length: 1000, fin: false, last: true, label: 0 };
    let ack = AckFrame { ranges: [0..=3].into_iter().collect(), ..AckFrame::default() };
    vec![
        packet(
            false,
            vec![quic(Initial, Wire::V1, 0, vec![crypto(300), QuicFrame::Padding { length: 852 }])],
        ),
        packet(
            false,
            vec![
                quic(Initial, Wire::V1, 1, vec![QuicFrame::Ack(Box::new(ack)), crypto(90)]),
                quic(Handshake, Wire::V1, 0, vec![crypto(700)]),
            ],
        ),
        packet(false, vec![quic(OneRtt, Wire::V1, 1000, vec![data.clone()])]),
        packet(true, vec![quic(OneRtt, Wire::V1, 1001, vec![data.clone()])]),
        packet(false, vec![quic(OneRtt, Wire::Gquic37, 7, vec![data])]),
    ]
}

fn capture(packets: &[Packet]) -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new(), &["main.receiver"]).unwrap();
    for (index, packet) in packets.iter().enumerate() {
        let time = Time::from_nanos(index as u64 * 1_000_000);
        writer.packet(time, 0, packet, Heading::Outbound).unwrap();
    }
    writer.finish().unwrap()
}

fn written(packets: &[Packet]) -> Vec<EnhancedPacketBlock<'static>> {
    let blocks = packet_blocks(&capture(packets));
    assert_eq!(blocks.len(), packets.len());
    blocks
}

#[test]
fn a_ping_as_computed_by_hand() {
    let ping = quic(PacketSpace::OneRtt, Wire::V1, 1000, vec![QuicFrame::Ping]);
    let blocks = written(&[packet(false, vec![ping])]);
    // Header 1 + 8 + 2, frame 1, tag 16: 28 = 0x1c; UDP 36 = 0x24, IPv4 56 = 0x38. Short header with fixed bit and a
    // number of two bytes: 0x41; connection ID of zeros; 1000 = 0x3e8; PING = 0x01.
    assert_eq!(blocks[0].data[2..4], [0x00, 0x38]);
    assert_eq!(
        blocks[0].data[20..],
        unhex(&format!("c350 01bb 0024 0000  41 {} 03e8 01 {}", "00".repeat(8), "00".repeat(16)))
    );
}

/// What was captured is the whole packet, and as long as the network saw it.
#[test]
fn lengths_are_exact() {
    let packets = packets();
    let sizes: Vec<u64> = packets.iter().map(|packet| packet.size.bytes()).collect();
    assert_eq!((sizes[0], sizes[2], sizes[3]), (28 + 1200, 28 + 1029, 48 + 1029), "by hand, see above");
    for (block, size) in written(&packets).iter().zip(sizes) {
        assert_eq!((block.data.len() as u64, u64::from(block.original_len)), (size, size));
        let ipv6 = block.data[0] >> 4 == 6;
        let headers = if ipv6 { 40 } else { 20 };
        let udp = u16::from_be_bytes([block.data[headers + 4], block.data[headers + 5]]);
        assert_eq!(u64::from(udp), size - headers as u64, "UDP length");
    }
}

#[test]
fn tshark_reads_lengths_and_checksums() {
    let fields = ["frame.len", "frame.cap_len", "ip.len", "ipv6.plen", "udp.length", "udp.checksum.status"];
    // without dissecting QUIC: it would want to decrypt
    let mut arguments = vec!["--disable-protocol", "quic", "--disable-protocol", "gquic"];
    arguments.extend(["-o", "udp.check_checksum:TRUE", "-T", "fields", "-E", "separator=,"]);
    for field in fields {
        arguments.extend(["-e", field]);
    }
    arguments.push("-r");
    let packets = packets();
    let Some(text) = wireshark("tshark", "quic", &arguments, &capture(&packets)) else { return };
    let sizes: Vec<u64> = packets.iter().map(|packet| packet.size.bytes()).collect();
    for (index, (line, size)) in text.lines().zip(&sizes).enumerate() {
        // Checksum status: 3 not present (UDP over IPv4), 1 good.
        let expected = match index {
            3 => format!("{size},{size},,{},{},1", size - 40, size - 40),
            _ => format!("{size},{size},{size},,{},3", size - 20),
        };
        assert_eq!(line, expected);
    }
    assert_eq!(text.lines().count(), sizes.len());
}
