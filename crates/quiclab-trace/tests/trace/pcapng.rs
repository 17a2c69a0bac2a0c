//! The pcapng writer: read back with pcap-file, and by Wireshark's tools where they are installed.

use crate::support::wireshark;
use bytes::BytesMut;
use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use quiclab_core::{ByteCount, Ecn, FiveTuple, FlowId, Packet, Payload, Protocol, Time};
use quiclab_trace::EPOCH_UNIX_SECONDS;
use quiclab_trace::pcapng::{Heading, PcapngWriter};
use std::net::SocketAddr;

const SECRETS: [&str; 2] = [
    "CLIENT_HANDSHAKE_TRAFFIC_SECRET 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f \
     202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f",
    "SERVER_HANDSHAKE_TRAFFIC_SECRET 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f \
     404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f",
];

fn packet(id: u64, source: &str, destination: &str, payload: &[u8], ecn: Ecn) -> Packet {
    let (source, destination): (SocketAddr, SocketAddr) =
        (source.parse().unwrap(), destination.parse().unwrap());
    let headers = if source.is_ipv4() { 28 } else { 48 };
    Packet {
        id,
        flow: FlowId(5),
        size: ByteCount::from_bytes(headers + payload.len() as u64),
        tuple: FiveTuple::new(Protocol::Udp, source, destination),
        ecn,
        payload: Payload::Bytes(BytesMut::from(payload)),
        ..Packet::default()
    }
}

/// Four packets at two vantage points, with secrets before the first and after the second.
fn capture() -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new(), &["dc.sender", "dc.receiver"]).unwrap();
    let v4 = packet(0x1_0000_00a7, "10.0.0.1:4433", "10.0.0.2:50000", b"datagram", Ecn::Ect0);
    let v6 = packet(9, "[2001:db8::1]:4433", "[2001:db8::2]:50000", b"odd number of b", Ecn::Ce);
    let mut modelled = packet(10, "10.0.0.2:50000", "10.0.0.1:4433", b"", Ecn::NotEct);
    modelled.payload = Payload::Empty;
    modelled.size = ByteCount::from_bytes(1400);
    writer.secret(SECRETS[0]).unwrap();
    writer.packet(Time::ZERO, 0, &v4, Heading::Outbound).unwrap();
    writer.packet(Time::from_nanos(10_000_001), 1, &v4, Heading::Inbound).unwrap();
    writer.secret(&format!("{}\n", SECRETS[1])).unwrap();
    writer.secret(SECRETS[0]).unwrap();
    writer.packet(Time::from_nanos(1_999_999_999), 0, &v6, Heading::Outbound).unwrap();
    writer.packet(Time::from_nanos(2_000_000_000), 1, &modelled, Heading::Outbound).unwrap();
    writer.finish().unwrap()
}

fn blocks(file: &[u8]) -> Vec<Block<'static>> {
    let mut reader = PcapNgReader::new(file).unwrap();
    let mut blocks = Vec::new();
    while let Some(block) = reader.next_block() {
        blocks.push(block.unwrap().into_owned());
    }
    blocks
}

#[test]
fn blocks_read_back_in_order() {
    let blocks = blocks(&capture());
    let kinds: Vec<&str> = blocks
        .iter()
        .map(|block| match block {
            Block::InterfaceDescription(_) => "interface",
            Block::EnhancedPacket(_) => "packet",
            Block::Unknown(unknown) if unknown.type_ == 0x0a => "secrets",
            _ => "other",
        })
        .collect();
    let expected = ["interface", "interface", "secrets", "packet", "packet", "secrets", "packet", "packet"];
    assert_eq!(kinds, expected, "a secret is written once, before the packets that follow it");

    let Block::InterfaceDescription(interface) = &blocks[1] else { panic!() };
    assert_eq!(interface.linktype, DataLink::RAW);
    assert!(interface.options.contains(&InterfaceDescriptionOption::IfName("dc.receiver".into())));
    assert!(interface.options.contains(&InterfaceDescriptionOption::IfTsResol(9)));

    let Block::Unknown(secrets) = &blocks[2] else { panic!() };
    let line = format!("{}\n", SECRETS[0]);
    let [head, text] = [&secrets.value[..8], &secrets.value[8..]];
    assert_eq!(head, [0x544c_534b_u32.to_le_bytes(), (line.len() as u32).to_le_bytes()].concat());
    assert_eq!(&text[..line.len()], line.as_bytes());
    assert!(text.len() % 4 == 0 && text[line.len()..].iter().all(|&byte| byte == 0), "padding");
}

fn packets(file: &[u8]) -> Vec<EnhancedPacketBlock<'static>> {
    blocks(file).into_iter().filter_map(Block::into_enhanced_packet).collect()
}

#[test]
fn packets_carry_time_interface_direction_and_identity() {
    let packets = packets(&capture());
    let nanos: Vec<u128> = packets
        .iter()
        .map(|p| p.timestamp.as_nanos() - u128::from(EPOCH_UNIX_SECONDS) * 1_000_000_000)
        .collect();
    assert_eq!(nanos, [0, 10_000_001, 1_999_999_999, 2_000_000_000]);
    assert_eq!(packets.iter().map(|p| p.interface_id).collect::<Vec<_>>(), [0, 1, 0, 1]);
    for (packet, flags, id) in [(&packets[0], 2, 0x1_0000_00a7_u64), (&packets[1], 1, 0x1_0000_00a7)] {
        assert_eq!(packet.options[0], EnhancedPacketOption::Flags(flags));
        let EnhancedPacketOption::Unknown(option) = &packet.options[1] else { panic!() };
        assert_eq!((option.code, &option.value[..]), (5, &id.to_le_bytes()[..]));
    }
}

#[test]
fn headers_as_computed_by_hand() {
    let packets = packets(&capture());
    // ECT(0) makes 4502 of 4500. 4502 + 0024 + 00a7 + 4000 + 4011 + 0a00 + 0001 + 0a00 + 0002 is
    // d9e1, whose complement is 261e.
    let v4 = [
        &[0x45, 0x02, 0x00, 0x24, 0x00, 0xa7, 0x40, 0x00, 0x40, 0x11, 0x26, 0x1e][..],
        &[10, 0, 0, 1, 10, 0, 0, 2],
        &[0x11, 0x51, 0xc3, 0x50, 0x00, 0x10, 0x00, 0x00],
        b"datagram",
    ]
    .concat();
    assert_eq!(packets[0].data[..], v4);
    assert_eq!(packets[0].original_len, 36);
    assert_eq!(packets[0].data, packets[1].data);

    // Traffic class 3 (CE), flow label 5, payload length 8 + 15, UDP, hop limit 64.
    assert_eq!(packets[2].data[..8], [0x60, 0x30, 0x00, 0x05, 0x00, 23, 17, 64]);
    assert_eq!(packets[2].data.len(), 40 + 8 + 15);

    assert_eq!((packets[3].data.len(), packets[3].original_len), (28, 1400), "no content, whole length");
    assert_eq!(packets[3].data[2..4], 1400_u16.to_be_bytes());
    assert_eq!(packets[3].data[24..26], 1380_u16.to_be_bytes());
}

#[test]
fn headers_of_a_tcp_packet_end_where_knowledge_ends() {
    let mut tcp = packet(1, "10.0.0.1:80", "10.0.0.2:50000", b"", Ecn::NotEct);
    tcp.tuple = FiveTuple::new(Protocol::Tcp, tcp.tuple.source(), tcp.tuple.destination());
    tcp.payload = Payload::Empty;
    tcp.size = ByteCount::from_bytes(1500);
    let mut writer = PcapngWriter::new(Vec::new(), &["link"]).unwrap();
    writer.packet(Time::ZERO, 0, &tcp, Heading::Inbound).unwrap();
    let packets = packets(&writer.finish().unwrap());
    assert_eq!((packets[0].data.len(), packets[0].original_len, packets[0].data[9]), (20, 1500, 6));
}

#[test]
fn wrong_arguments_are_refused() {
    let mut writer = PcapngWriter::new(Vec::new(), &["only"]).unwrap();
    let error = writer.packet(Time::ZERO, 1, &Packet::default(), Heading::Inbound).unwrap_err();
    assert_eq!(error.to_string(), "interface 1 of 1");
    assert_eq!(writer.secret("one\ntwo").unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
}

#[test]
fn tshark_reads_what_was_written() {
    let fields = [
        "frame.interface_name",
        "frame.time_epoch",
        "frame.len",
        "ip.dsfield.ecn",
        "ipv6.tclass.ecn",
        "ip.checksum.status",
        "udp.checksum.status",
        "udp.srcport",
        "frame.packet_flags_direction",
        "_ws.malformed",
    ];
    let mut arguments = vec!["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-T", "fields"];
    arguments.extend(["-E", "separator=,"]);
    for field in fields {
        arguments.extend(["-e", field]);
    }
    arguments.push("-r");
    let Some(text) = wireshark("tshark", "tshark", &arguments, &capture()) else { return };
    // Checksum status: 1 good, 3 not present (UDP over IPv4), 2 unverified (cut off).
    let expected = "dc.sender,946684800.000000000,36,2,,1,3,4433,0x00000002,\n\
                    dc.receiver,946684800.010000001,36,2,,1,3,4433,0x00000001,\n\
                    dc.sender,946684801.999999999,63,,3,,1,4433,0x00000002,\n\
                    dc.receiver,946684802.000000000,1400,0,,1,3,50000,0x00000002,\n";
    assert_eq!(text, expected);
}

#[test]
fn capinfos_counts_the_secrets() {
    let Some(text) = wireshark("capinfos", "capinfos", &[], &capture()) else { return };
    let secrets = text.lines().find(|line| line.starts_with("Number of decryption secrets in file"));
    assert_eq!(secrets.map(|line| line.ends_with(" 2")), Some(true), "{text}");
}
