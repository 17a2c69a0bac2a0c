//! Written packets, decrypted with the secrets of the key log: keys, numbers, frames, lengths.

use super::hello::CLIENT_HELLO;
use super::{LabQuic, Sender};
use crate::packets::key_log::Secret;
use crate::packets::quic::header::Version;
use crate::packets::quic::keys::{HeaderKey, PacketKey, Suite, TAG_BYTES, initial_secrets};
use quiclab_core::quic::{
    AckFrame, Frame, Frames, PacketFormat, QuicDatagram, QuicFrame, QuicPacket, TlsSession,
    TransportParameters, Wire,
};
use quiclab_core::{ByteCount, Duration, Packet, PacketSpace, Payload};
use std::collections::BTreeMap;

const SEED: u64 = 7;

/// Parameters of an end whose messages of a level end at `message_end`.
fn parameters(message_end: u64, id: u8, session: TlsSession) -> Option<Box<TransportParameters>> {
    Some(Box::new(TransportParameters {
        max_data: 1 << 20,
        max_stream_data_bidi_local: 1 << 14,
        max_stream_data_bidi_remote: 1 << 14,
        max_streams_bidi: 100,
        max_ack_delay: Duration::from_millis(25),
        idle_timeout: Some(Duration::from_secs(30)),
        max_datagram_frame_size: 65_535,
        connection_id_length: id,
        paths: 1,
        message_end,
        session,
        ..TransportParameters::default()
    }))
}

/// A client and a server with connection IDs of `ids` bytes.
struct Ends {
    ids: [u8; 2],
    session: TlsSession,
}

impl Ends {
    fn packet(&self, sender: Sender, space: PacketSpace, number: u64, frames: Vec<QuicFrame>) -> QuicPacket {
        let [client, server] = self.ids;
        // before its first packet from the server, a client of the model uses the length of its own ID
        let early = matches!(space, PacketSpace::Initial | PacketSpace::ZeroRtt);
        let (source_id, destination_id) = match sender {
            Sender::Client if early => (client, client),
            Sender::Client => (client, server),
            Sender::Server => (server, client),
        };
        let format = PacketFormat { wire: Wire::V1, destination_id, source_id, number_length: 2 };
        QuicPacket { space, path: 0, number, format, frames: frames.into() }
    }

    fn crypto(&self, sender: Sender, from: u64, to: u64, message_end: u64) -> QuicFrame {
        let id = self.ids[usize::from(sender == Sender::Server)];
        QuicFrame::Crypto {
            offset: from,
            length: (to - from) as u16,
            parameters: parameters(message_end, id, self.session),
        }
    }

    /// A handshake and some data, as lab-quic exchanges them.
    fn exchange(&self) -> Vec<(Sender, QuicDatagram)> {
        use PacketSpace::{Handshake, Initial, OneRtt};
        use Sender::{Client, Server};
        let offered = match self.session {
            TlsSession::New => 0,
            TlsSession::Resumed => 271,
            TlsSession::Early => 275,
        };
        let (hello, answer) = (300 + offered, if offered > 0 { 96 } else { 90 });
        let data =
            |length, fin| QuicFrame::Stream { stream_id: 0, offset: 0, length, fin, last: true, label: 0 };
        let packet = |sender, space, number, frames| self.packet(sender, space, number, frames);
        let mut first = vec![packet(
            Client,
            Initial,
            0,
            vec![self.crypto(Client, 0, hello, hello), QuicFrame::Padding { length: 500 }],
        )];
        if self.session == TlsSession::Early {
            first.push(packet(Client, PacketSpace::ZeroRtt, 0, vec![data(100, true)]));
        }
        vec![
            (Client, first),
            (
                Server,
                vec![
                    packet(Server, Initial, 0, vec![ack(0..=0), self.crypto(Server, 0, answer, answer)]),
                    packet(Server, Handshake, 0, vec![self.crypto(Server, 0, 400, 3000)]),
                ],
            ),
            (Server, vec![packet(Server, Handshake, 1, vec![self.crypto(Server, 400, 1400, 3000)])]),
            (Client, vec![packet(Client, Initial, 1, vec![ack(0..=0), QuicFrame::Padding { length: 900 }])]),
            (Server, vec![packet(Server, Handshake, 2, vec![self.crypto(Server, 1400, 3000, 3000)])]),
            (
                Client,
                vec![
                    packet(Client, Handshake, 0, vec![ack(0..=2), self.crypto(Client, 0, 52, 52)]),
                    packet(Client, OneRtt, 1, vec![data(40, true)]),
                ],
            ),
            (
                Server,
                vec![packet(
                    Server,
                    OneRtt,
                    0,
                    vec![
                        QuicFrame::HandshakeDone,
                        QuicFrame::NewConnectionId { sequence_number: 1 },
                        self.crypto(Server, 0, 466, 466),
                    ],
                )],
            ),
            (Server, vec![packet(Server, OneRtt, 1, vec![ack(0..=1), data(1000, false)])]),
            (Client, vec![packet(Client, OneRtt, 2, vec![ack(0..=1)])]),
        ]
        .into_iter()
        .map(|(sender, packets)| (sender, QuicDatagram { packets: packets.into() }))
        .collect()
    }
}

fn ack(range: std::ops::RangeInclusive<u64>) -> QuicFrame {
    QuicFrame::Ack(Box::new(AckFrame { ranges: [range].into_iter().collect(), ..AckFrame::default() }))
}

/// The packet of flow 3 that carries a datagram.
fn around(sender: Sender, datagram: &QuicDatagram) -> Packet {
    Packet {
        id: (3 << 1 | u64::from(sender == Sender::Server)) << 40 | 12,
        size: ByteCount::from_bytes(28 + datagram.length() as u64),
        payload: Payload::Quic(Box::new(datagram.clone())),
        ..Packet::default()
    }
}

/// A passive observer with the key log.
#[derive(Default)]
struct Observer {
    secrets: BTreeMap<String, Secret>,
    original: Vec<u8>,
}

/// A decrypted packet.
struct OpenedPacket {
    destination: Vec<u8>,
    source: Vec<u8>,
    number: u64,
    payload: Vec<u8>,
}

fn unhex(digits: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(digit).collect()
}

impl Observer {
    fn learn(&mut self, lines: &[String]) {
        for line in lines {
            let fields: Vec<&str> = line.split(' ').collect();
            assert_eq!(fields[1].len(), 64, "a client random: {line}");
            let secret = Secret::Long(unhex(fields[2]).try_into().unwrap());
            assert!(self.secrets.insert(fields[0].to_owned(), secret).is_none(), "told once: {line}");
        }
    }

    fn keys(&self, sender: Sender, space: PacketSpace) -> (HeaderKey, PacketKey) {
        let end = if sender == Sender::Client { "CLIENT" } else { "SERVER" };
        let (suite, secret) = match space {
            PacketSpace::Initial => {
                (Suite::Aes128, initial_secrets(Version::One, &self.original)[sender as usize])
            }
            PacketSpace::Handshake => {
                (Suite::Aes256, self.secrets[&format!("{end}_HANDSHAKE_TRAFFIC_SECRET")])
            }
            PacketSpace::ZeroRtt => (Suite::Aes256, self.secrets["CLIENT_EARLY_TRAFFIC_SECRET"]),
            PacketSpace::OneRtt => (Suite::Aes256, self.secrets[&format!("{end}_TRAFFIC_SECRET_0")]),
        };
        (HeaderKey::new(Version::One, suite, &secret), PacketKey::new(Version::One, suite, &secret))
    }

    /// Decrypts the packets of a UDP payload; `short_id`: length of the connection ID in short headers.
    fn open(&mut self, sender: Sender, mut bytes: &[u8], short_id: usize) -> Vec<OpenedPacket> {
        let mut opened = Vec::new();
        while !bytes.is_empty() {
            let mut source = Vec::new();
            let (space, destination, at, length);
            if bytes[0] & 0x80 != 0 {
                assert_eq!(bytes[1..5], [0, 0, 0, 1], "version 1");
                space = [PacketSpace::Initial, PacketSpace::ZeroRtt, PacketSpace::Handshake]
                    [usize::from(bytes[0] >> 4 & 3)];
                let id = usize::from(bytes[5]);
                destination = bytes[6..6 + id].to_vec();
                let source_length = usize::from(bytes[6 + id]);
                source = bytes[7 + id..7 + id + source_length].to_vec();
                let mut field = 7 + id + source_length;
                if space == PacketSpace::Initial {
                    assert_eq!(bytes[field], 0, "no token");
                    field += 1;
                }
                assert_eq!(bytes[field] >> 6, 1, "a length of two bytes");
                at = field + 2;
                length = at + usize::from(u16::from_be_bytes([bytes[field] & 0x3f, bytes[field + 1]]));
            } else {
                space = PacketSpace::OneRtt;
                destination = bytes[1..1 + short_id].to_vec();
                (at, length) = (1 + short_id, bytes.len());
            }
            assert_ne!(bytes[0] & 0x40, 0, "fixed bit");
            if self.original.is_empty() {
                self.original.clone_from(&destination);
            }
            let (header, packet) = self.keys(sender, space);
            let unmasked = header.unmask(&bytes[..length], at).expect("reserved bits are zero");
            let mut scratch = Vec::new();
            let number = unmasked.expanded(None);
            assert!(packet.open(&bytes[..length], &unmasked, (0, number), &mut scratch), "the tag is right");
            assert_eq!(scratch.len(), length - TAG_BYTES);
            opened.push(OpenedPacket {
                destination,
                source,
                number,
                payload: scratch.split_off(at + unmasked.length),
            });
            bytes = &bytes[length..];
        }
        opened
    }
}

/// Packets of each datagram, and crypto streams by sender and space.
type Exchange = (Vec<(Sender, Vec<OpenedPacket>)>, CryptoStreams);
type CryptoStreams = BTreeMap<(Sender, PacketSpace), Vec<u8>>;

/// Writes an exchange and decrypts it.
fn opened(ends: &Ends) -> Exchange {
    let (mut lab, mut observer) = (LabQuic::new(SEED), Observer::default());
    let (mut all, mut streams) = (Vec::new(), CryptoStreams::new());
    for (sender, datagram) in ends.exchange() {
        let packet = around(sender, &datagram);
        let written = lab.write(&packet, &datagram);
        assert_eq!(written.comment, None);
        observer.learn(&written.secrets);
        let bytes = written.payload.unwrap();
        assert_eq!(bytes.len(), datagram.length(), "as long as for the network");
        let id = ends.ids[usize::from(sender == Sender::Client)];
        let packets = observer.open(sender, bytes, id.into());
        assert_eq!(packets.len(), datagram.packets.len());
        for (opened, model) in packets.iter().zip(&datagram.packets) {
            assert_eq!(opened.number, model.number);
            let frames: Vec<Frame<'_>> = Frames::new(&opened.payload).map(Result::unwrap).collect();
            let padding = |frame: &&Frame<'_>| !matches!(frame, Frame::Padding { .. });
            let modelled = model.frames.iter().filter(|frame| !matches!(frame, QuicFrame::Padding { .. }));
            assert_eq!(frames.iter().filter(padding).count(), modelled.count());
            for frame in frames {
                match frame {
                    Frame::Crypto { offset, data } => {
                        let stream = streams.entry((sender, model.space)).or_default();
                        assert_eq!(stream.len() as u64, offset, "in order here");
                        stream.extend_from_slice(data);
                    }
                    Frame::Stream { data, .. } => assert!(data.iter().all(|byte| *byte == 0)),
                    Frame::NewConnectionId { connection_id, .. } => {
                        assert_ne!(connection_id, &opened.source[..], "another ID");
                        assert!(connection_id.iter().any(|byte| *byte != 0));
                    }
                    _ => {}
                }
            }
        }
        all.push((sender, packets));
    }
    (all, streams)
}

/// Types of the messages of a crypto stream, each with its length.
fn messages(stream: &[u8]) -> Vec<(u8, usize)> {
    let mut rest = stream;
    let mut found = Vec::new();
    while let [kind, a, b, c, ..] = *rest {
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        found.push((kind, length));
        rest = &rest[4 + length..];
    }
    assert!(rest.is_empty(), "whole messages");
    found
}

/// Extensions of a hello: type and value, from the beginning of their list.
fn extensions(list: &[u8]) -> BTreeMap<u16, Vec<u8>> {
    let mut rest = &list[2..];
    assert_eq!(usize::from(u16::from_be_bytes([list[0], list[1]])), rest.len());
    let mut found = BTreeMap::new();
    while let [a, b, c, d, ..] = *rest {
        let length = usize::from(u16::from_be_bytes([c, d]));
        found.insert(u16::from_be_bytes([a, b]), rest[4..4 + length].to_vec());
        rest = &rest[4 + length..];
    }
    assert!(rest.is_empty());
    found
}

#[test]
fn every_packet_opens_to_its_frames() {
    for session in [TlsSession::New, TlsSession::Resumed, TlsSession::Early] {
        for ids in [[8, 8], [17, 18], [8, 0], [0, 8]] {
            let ends = Ends { ids, session };
            let (_, streams) = opened(&ends);
            let of = |sender, space| messages(&streams[&(sender, space)]);
            let kinds = |found: &[(u8, usize)]| found.iter().map(|(kind, _)| *kind).collect::<Vec<_>>();
            assert_eq!(kinds(&of(Sender::Client, PacketSpace::Initial)), [CLIENT_HELLO]);
            assert_eq!(kinds(&of(Sender::Server, PacketSpace::Initial)), [2]);
            // EncryptedExtensions, Certificate, CertificateVerify, Finished (RFC 8446 section 4)
            assert_eq!(kinds(&of(Sender::Server, PacketSpace::Handshake)), [8, 11, 15, 20]);
            assert_eq!(of(Sender::Client, PacketSpace::Handshake), [(20, 48)]);
            assert_eq!(of(Sender::Server, PacketSpace::OneRtt), [(4, 229); 2], "two tickets");
        }
    }
}

#[test]
fn a_hello_offers_what_the_model_says() {
    for (session, early, psk) in
        [(TlsSession::New, false, false), (TlsSession::Resumed, false, true), (TlsSession::Early, true, true)]
    {
        let (_, streams) = opened(&Ends { ids: [8, 8], session });
        // 4 + 2 + 32 + 1 + 4 + 2: offset of the extensions; in a ServerHello 4 + 2 + 32 + 1 + 2 + 1
        let client = extensions(&streams[&(Sender::Client, PacketSpace::Initial)][45..]);
        let server = extensions(&streams[&(Sender::Server, PacketSpace::Initial)][42..]);
        assert_eq!(client.contains_key(&42), early, "early_data");
        assert_eq!((client.contains_key(&41), server.contains_key(&41)), (psk, psk), "pre_shared_key");
        for extension in [0, 10, 13, 16, 43, 45, 51, 57] {
            assert!(client.contains_key(&extension), "{extension}");
        }
    }
}

/// The first Destination Connection ID has at least 8 bytes (RFC 9000 section 7.2), then it is the server's
/// choice; the client's first packet determines the Initial keys of both endpoints.
#[test]
fn connection_ids_are_those_that_the_ends_have_chosen() {
    for ids in [[8, 8], [17, 18], [0, 8], [8, 0]] {
        let (packets, _) = opened(&Ends { ids, session: TlsSession::New });
        let original = packets[0].1[0].destination.clone();
        assert_eq!(original.len(), 8);
        let chosen = packets[1].1[0].source.clone();
        assert_eq!(chosen.len(), usize::from(ids[1]));
        assert_ne!(chosen, original);
        let client = packets[0].1[0].source.clone();
        assert_eq!(client.len(), usize::from(ids[0]));
        for (sender, packets) in &packets[1..] {
            for packet in packets {
                let expected = if *sender == Sender::Client { &chosen } else { &client };
                assert_eq!(&packet.destination, expected);
            }
        }
    }
}

/// A packet has the same bytes in the captures of both endpoints.
#[test]
fn both_captures_have_the_same_bytes() {
    let ends = Ends { ids: [8, 8], session: TlsSession::New };
    let exchange = ends.exchange();
    let bytes = |seed, lost: Option<usize>| {
        let mut lab = LabQuic::new(seed);
        let mut seen = BTreeMap::new();
        for (index, (sender, datagram)) in exchange.iter().enumerate() {
            if lost != Some(index) {
                let written = lab.write(&around(*sender, datagram), datagram);
                seen.insert(index, written.payload.unwrap().to_vec());
            }
        }
        seen
    };
    let all = bytes(SEED, None);
    for lost in 1..exchange.len() {
        for (index, seen) in bytes(SEED, Some(lost)) {
            assert_eq!(seen, all[&index], "packet {index} without packet {lost}");
        }
    }
    assert_ne!(bytes(SEED + 1, None)[&0], all[&0], "another run, other bytes");
}

/// A ClientHello is as long as the profile specifies, for any length that its fields fit into.
#[test]
fn hellos_of_any_length() {
    for length in 270..700 {
        let ends = Ends { ids: [8, 8], session: TlsSession::New };
        let crypto = ends.crypto(Sender::Client, 0, length, length);
        let packet = ends.packet(Sender::Client, PacketSpace::Initial, 0, vec![crypto]);
        let datagram = QuicDatagram { packets: [packet].into_iter().collect() };
        let mut lab = LabQuic::new(SEED);
        let written = lab.write(&around(Sender::Client, &datagram), &datagram);
        let opened = Observer::default().open(Sender::Client, written.payload.unwrap(), 8);
        let Some(Ok(Frame::Crypto { data, .. })) = Frames::new(&opened[0].payload).next() else { panic!() };
        assert_eq!(messages(data), [(CLIENT_HELLO, length as usize - 4)]);
        extensions(&data[45..]);
    }
}

/// A datagram that cannot be written has a comment with the reason.
#[test]
fn what_is_not_written_has_a_comment() {
    let ends = Ends { ids: [8, 8], session: TlsSession::New };
    let mut lab = LabQuic::new(SEED);
    let mut comment = |packet: QuicPacket| {
        let datagram = QuicDatagram { packets: [packet].into_iter().collect() };
        let written = lab.write(&around(Sender::Server, &datagram), &datagram);
        assert_eq!(
            written.payload.is_none(),
            written.comment.as_ref().is_some_and(|it| it.contains("not written"))
        );
        written.comment
    };
    let ping = ends.packet(Sender::Server, PacketSpace::OneRtt, 5, vec![QuicFrame::Ping]);
    let short = QuicPacket { format: PacketFormat { number_length: 1, ..ping.format }, ..ping.clone() };
    assert_eq!(
        comment(short).unwrap(),
        "modelled by lab-quic, bytes not written: too short for header protection (RFC 9001 section 5.4.2); 1-RTT packet \
         5: Ping"
    );
    let padded = |number, number_length| {
        let format = PacketFormat { number_length, ..ping.format };
        let frames = [QuicFrame::Ping, QuicFrame::Padding { length: 5 }].into_iter().collect();
        QuicPacket { number, format, frames, ..ping.clone() }
    };
    assert_eq!(comment(padded(5, 1)), None);
    // 5 + 1 + 128 is the first number that one byte does not reconstruct
    assert_eq!(comment(padded(133, 1)), None);
    assert!(comment(padded(133 + 130, 1)).unwrap().contains("could not be restored"));
    let gquic = PacketFormat { wire: Wire::Gquic37, ..ping.format };
    assert!(comment(QuicPacket { format: gquic, ..padded(6, 2) }).unwrap().contains("Google QUIC 37"));
    let nonce = comment(QuicPacket { path: 2, ..padded(7, 2) }).unwrap();
    assert!(nonce.contains("path ID 2 is part of the nonce, packet number 7"), "{nonce}");
}

/// 0-RTT of a client whose own ID is empty: the model has no bytes for the server's, and no padding
/// compensates.
#[test]
fn a_longer_id_needs_padding() {
    let ends = Ends { ids: [0, 8], session: TlsSession::Early };
    let data = QuicFrame::Stream { stream_id: 0, offset: 0, length: 100, fin: false, last: true, label: 0 };
    let packet = ends.packet(Sender::Client, PacketSpace::ZeroRtt, 0, vec![data]);
    let datagram = QuicDatagram { packets: [packet].into_iter().collect() };
    let mut lab = LabQuic::new(SEED);
    let written = lab.write(&around(Sender::Client, &datagram), &datagram);
    assert!(written.comment.unwrap().contains("a connection ID is longer than modelled"));
}
