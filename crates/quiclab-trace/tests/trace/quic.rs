//! Datagrams of lab-quic in captures: exact lengths, truncation, and the output of readers. Their content is tested in
//! `src/lab_quic/tests.rs`.

use crate::support::{packet_blocks, unhex, wireshark};
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use quiclab_core::quic::{
    AckFrame, PacketFormat, QuicDatagram, QuicFrame, QuicPacket, TransportParameters, Wire,
};
use quiclab_core::{ByteCount, FiveTuple, Packet, PacketSpace, Payload, Protocol, Time};
use quiclab_trace::packets::{Content, Flow, KeyLog, ObservedPacket, Problems, Sink, read_capture};
use quiclab_trace::pcapng::{Heading, PcapngWriter};
use std::net::SocketAddr;
use std::ops::ControlFlow;

const CLIENT: [&str; 2] = ["10.2.0.0:50000", "[2001:db8::2]:50000"];
const SERVER: [&str; 2] = ["10.1.0.0:443", "[2001:db8::1]:443"];

fn quic(space: PacketSpace, wire: Wire, number: u64, frames: Vec<QuicFrame>) -> QuicPacket {
    let format = PacketFormat { wire, destination_id: 8, source_id: 8, number_length: 2 };
    QuicPacket { space, path: 0, number, format, frames: frames.into() }
}

/// The first `length` bytes of a message that ends at `message_end`.
fn crypto(length: u16, message_end: u64) -> QuicFrame {
    let parameters =
        TransportParameters { message_end, connection_id_length: 8, ..TransportParameters::default() };
    QuicFrame::Crypto { offset: 0, length, parameters: Some(Box::new(parameters)) }
}

/// The packet around a datagram from client to server; its length is the datagram's and that of the headers. Bit 40 of its
/// ID is set if a server sent it.
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

fn of_server(packet: Packet) -> Packet {
    let tuple = FiveTuple::new(Protocol::Udp, packet.tuple.destination(), packet.tuple.source());
    Packet { id: 1 << 40, tuple, ..packet }
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
            vec![quic(Initial, Wire::V1, 0, vec![crypto(300, 300), QuicFrame::Padding { length: 852 }])],
        ),
        of_server(packet(
            false,
            vec![
                quic(Initial, Wire::V1, 0, vec![QuicFrame::Ack(Box::new(ack)), crypto(90, 90)]),
                quic(Handshake, Wire::V1, 0, vec![crypto(700, 3000)]),
            ],
        )),
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

/// The clear part of headers, by hand: UDP; first byte of a long header with fixed bit and type 0; version 1; 8 bytes of
/// the Destination Connection ID, 8 of the Source Connection ID; no token; length 2 + 304 + 852 + 16 = 1174 = 0x496.
#[test]
fn the_clear_part_of_a_header() {
    let blocks = written(&packets()[..1]);
    let udp = &blocks[0].data[20..];
    assert_eq!(udp[..8], unhex("c350 01bb 04b8 0000"));
    assert_eq!((udp[8] & 0xf0, &udp[9..14]), (0xc0, &unhex("00000001 08")[..]));
    assert_eq!((udp[22], &udp[31..34]), (8, &unhex("00 4496")[..]));
    let [destination, source] = [&udp[14..22], &udp[23..31]];
    assert!(destination != [0; 8] && source != [0; 8] && destination != source);
}

/// The reader of captures decrypts packets that the writer has protected, with the secrets in the file.
#[test]
fn the_reader_of_captures_reads_them() {
    #[derive(Default)]
    struct Seen(Vec<Option<Vec<u64>>>);
    impl Sink for Seen {
        fn flow(&mut self, _: usize, _: &Flow) {}
        fn better_known(&mut self, _: usize, _: &Flow) {}
        fn packet(&mut self, _: usize, packet: &ObservedPacket<'_>) {
            self.0.push(match packet.content {
                Content::Quic { numbers, .. } => Some(numbers.iter().map(|packet| packet.number).collect()),
                _ => None,
            });
        }
    }
    let file = capture(&packets()[..3]);
    let mut seen = Seen::default();
    let keys = KeyLog::default();
    let reading =
        read_capture(&file[..], "main.receiver", &keys, &mut seen, &mut |_| ControlFlow::Continue(()));
    assert_eq!(reading.unwrap().problems, Problems::default());
    // secrets come with the first packets that they protect: before that, the reader cannot report the handshake
    assert_eq!(seen.0, [None, Some(vec![]), Some(vec![1000])]);
}

/// A path whose connection IDs no frame has issued, on ports of its own: keys assign its packets to the connection.
#[test]
fn packets_of_a_path_are_of_its_connection() {
    #[derive(Default)]
    struct Seen(usize, Vec<(bool, Vec<(u32, u64)>)>);
    impl Sink for Seen {
        fn flow(&mut self, _: usize, _: &Flow) {
            self.0 += 1;
        }
        fn better_known(&mut self, _: usize, _: &Flow) {}
        fn packet(&mut self, _: usize, packet: &ObservedPacket<'_>) {
            let Content::Quic { numbers, .. } = packet.content else { return };
            let numbers = numbers.iter().map(|packet| (packet.path, packet.number));
            self.1.push((packet.backward, numbers.collect()));
        }
    }
    let on_path = |number| {
        let ping = vec![QuicFrame::Ping, QuicFrame::Padding { length: 30 }];
        let quic = QuicPacket { path: 1, ..quic(PacketSpace::OneRtt, Wire::V1, number, ping) };
        let sent = packet(false, vec![quic]);
        let source = SocketAddr::new(sent.tuple.source().ip(), 50_001);
        Packet { tuple: FiveTuple::new(Protocol::Udp, source, sent.tuple.destination()), ..sent }
    };
    let packets = [&packets()[..3], &[on_path(0), of_server(on_path(0)), on_path(1)]].concat();
    let mut seen = Seen::default();
    let mut progress = |_| ControlFlow::Continue(());
    let reading =
        read_capture(&capture(&packets)[..], "main.receiver", &KeyLog::default(), &mut seen, &mut progress);
    assert_eq!(reading.unwrap().problems, Problems::default());
    let expected = [
        (true, vec![]),
        (false, vec![(0, 1000)]),
        (false, vec![(1, 0)]),
        (true, vec![(1, 0)]),
        (false, vec![(1, 1)]),
    ];
    assert_eq!((seen.0, &seen.1[..]), (1, &expected[..]));
}

/// The whole packet is captured, with the length that the network saw.
#[test]
fn lengths_are_exact() {
    let mut packets = packets();
    packets.pop(); // Google QUIC
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
    // without dissecting QUIC: it would try to decrypt
    let mut arguments = vec!["--disable-protocol", "quic", "--disable-protocol", "gquic"];
    arguments.extend(["-o", "udp.check_checksum:TRUE", "-T", "fields", "-E", "separator=,"]);
    for field in fields {
        arguments.extend(["-e", field]);
    }
    arguments.push("-r");
    let mut packets = packets();
    packets.pop(); // Google QUIC
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

/// Google QUIC ends after its UDP header, in its whole length, with a comment (`opt_comment`, code 1).
#[test]
fn what_is_not_written_is_truncated() {
    let packets = packets();
    let blocks = written(&packets[4..]);
    assert_eq!((blocks[0].data.len(), u64::from(blocks[0].original_len)), (28, packets[4].size.bytes()));
    let comments: Vec<_> = blocks[0]
        .options
        .iter()
        .filter_map(|option| match option {
            EnhancedPacketOption::Comment(text) => Some(text.to_string()),
            _ => None,
        })
        .collect();
    let expected = "modelled by lab-quic, bytes not written: Google QUIC 37 is not protected here; 1-RTT packet 7: Stream";
    assert_eq!(comments, [expected]);
}
