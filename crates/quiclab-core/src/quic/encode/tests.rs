//! Bytes of modelled packets: parsed by the strict parser, equal to the sizes, and by hand.

use super::super::{Ack, EcnCounts, Frame, Frames, VARINT_MAX};
use super::*;
use crate::time::{Duration, Time};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngSeed};
use std::ops::RangeInclusive;

/// Random cases that are the same on every run; `PROPTEST_RNG_SEED` and `PROPTEST_CASES` change them.
fn cases() -> Config {
    let mut config = Config::default();
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        config.rng_seed = RngSeed::Fixed(1);
    }
    config
}

fn format(wire: Wire, destination_id: u8, source_id: u8, number_length: u8) -> PacketFormat {
    PacketFormat { wire, destination_id, source_id, number_length }
}

fn packet(space: PacketSpace, format: PacketFormat, number: u64, frames: Vec<QuicFrame>) -> QuicPacket {
    QuicPacket { space, path: 0, number, format, frames: frames.into() }
}

fn header(packet: &QuicPacket) -> Vec<u8> {
    let mut out = Vec::new();
    packet.encode_header(&mut out);
    assert_eq!(out.len(), packet.format.header_length(packet.space, packet.payload_length()));
    out
}

/// The frame's bytes, in packet 1000 with a packet number of two bytes.
fn encoded(wire: Wire, frame: QuicFrame) -> Vec<u8> {
    let packet = packet(PacketSpace::OneRtt, format(wire, 8, 0, 2), 1000, vec![frame]);
    let mut out = Vec::new();
    packet.encode_payload(&mut out);
    assert_eq!(out.len(), packet.payload_length(), "{:?}", packet.frames);
    out
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unspaced(digits: &str) -> String {
    digits.split(' ').collect()
}

fn ack(ranges: &[RangeInclusive<u64>], delay_us: u64) -> AckFrame {
    AckFrame { ranges: ranges.into(), delay: Duration::from_micros(delay_us), ..AckFrame::default() }
}

/// RFC 9000 sections 17.2.2 (Initial), 17.2.3 (0-RTT), 17.2.4 (Handshake), 17.3.1 (1-RTT), field by field.
/// Length is packet number, frames and tag: 2 + 5 + 16 = 23.
#[test]
fn headers_are_those_of_the_figures_of_rfc_9000() {
    let padding = || vec![QuicFrame::Padding { length: 5 }];
    let id8 = "00".repeat(8);
    for (space, expected) in [
        (PacketSpace::Initial, format!("c1 00000001 08{id8} 0400000000 00 4017 4567")),
        (PacketSpace::ZeroRtt, format!("d1 00000001 08{id8} 0400000000 4017 4567")),
        (PacketSpace::Handshake, format!("e1 00000001 08{id8} 0400000000 4017 4567")),
        (PacketSpace::OneRtt, format!("41 {id8} 4567")),
    ] {
        let packet = packet(space, format(Wire::V1, 8, 4, 2), 0x1234_4567, padding());
        assert_eq!(hex(&header(&packet)), unspaced(&expected));
        assert_eq!(packet.length(), header(&packet).len() + 5 + 16);
    }
    let short = packet(PacketSpace::OneRtt, format(Wire::V1, 0, 0, 4), 0x1234_4567, padding());
    assert_eq!(hex(&header(&short)), "4312344567");
    // from 2^14 on, Length takes four bytes: 1 + 16366 + 16 = 16383 does not, one byte more does
    let long = |length| {
        let frames = vec![QuicFrame::Padding { length }];
        header(&packet(PacketSpace::Handshake, format(Wire::V1, 0, 0, 1), 0, frames))
    };
    assert_eq!(hex(&long(16_366)), unspaced("e0 00000001 00 00 7fff 00"));
    assert_eq!(hex(&long(16_367)), unspaced("e0 00000001 00 00 80004000 00"));
}

/// Public flags of the wire layout specification: 0x01 version, 0x08 (and 0x04) connection ID, 0x30 length
/// of the packet number.
#[test]
fn headers_of_gquic() {
    let id = "00".repeat(8);
    for (space, id_length, number_length, expected) in [
        (PacketSpace::Initial, 8, 1, format!("0d {id} 51303337 39")),
        (PacketSpace::ZeroRtt, 8, 2, format!("1d {id} 51303337 3930")),
        (PacketSpace::Handshake, 0, 4, "20 39300000".to_owned()),
        (PacketSpace::OneRtt, 8, 6, format!("38 {id} 393000000000")),
    ] {
        let packet = packet(space, format(Wire::Gquic37, id_length, 0, number_length), 12_345, vec![]);
        assert_eq!(hex(&header(&packet)), unspaced(&expected));
        assert_eq!(packet.length(), header(&packet).len() + 12);
    }
}

/// PATH_ACK of draft-ietf-quic-multipath-21: type, Path Identifier, then as ACK. Largest 9, delay 80 us / 8 = 10, one
/// more range, 9..=8 first (1), gap 8 - 3 - 2 = 3, 3..=1 (2).
#[test]
fn an_ack_of_a_path() {
    let frame = AckFrame { path: Some(3), ..ack(&[8..=9, 1..=3], 80) };
    assert_eq!(hex(&encoded(Wire::V1, QuicFrame::Ack(frame.clone().into()))), "3e03090a01010302");
    // ECT(0), ECT(1), CE
    let marked = AckFrame { ecn: Some(EcnCounts { ect0: 8, ect1: 0, ce: 2 }), ..frame };
    assert_eq!(hex(&encoded(Wire::V1, QuicFrame::Ack(marked.into()))), "3f03090a01010302080002");
}

/// draft-ietf-quic-multipath-21 sections 4.2 to 4.7, field by field. A type from 0x3e75 on takes two bytes: 0x4000 is added.
#[test]
fn frames_of_multipath_quic_are_those_of_the_draft() {
    let id = format!("00 08 {} {}", "00".repeat(8), "00".repeat(16)); // Retire Prior To, Length, ID, token
    for (frame, expected) in [
        (QuicFrame::PathAbandon { path: 2, error_code: 0x3e76 }, "7e75 02 7e76".to_owned()),
        (QuicFrame::PathStatus { path: 1, backup: true, sequence_number: 0 }, "7e76 01 00".to_owned()),
        (QuicFrame::PathStatus { path: 1, backup: false, sequence_number: 64 }, "7e77 01 4040".to_owned()),
        (QuicFrame::PathNewConnectionId { path: 7, sequence_number: 1 }, format!("7e78 07 01 {id}")),
        (QuicFrame::MaxPathId { maximum: u32::MAX }, "7e7a c0000000ffffffff".to_owned()),
        (QuicFrame::PathsBlocked { maximum: 3 }, "7e7b 03".to_owned()),
        (QuicFrame::PathCidsBlocked { path: 3, next_sequence_number: 0 }, "7e7c 03 00".to_owned()),
    ] {
        assert!(frame.is_ack_eliciting(), "{frame:?}");
        assert_eq!(hex(&encoded(Wire::V1, frame)), unspaced(&expected));
    }
}

/// Type 01ntllmm. Delay: below 2^12 us it is encoded unchanged.
#[test]
fn acks_of_gquic() {
    // 6 packets from 5 on: largest 10, delay 100 us, block of 6, no timestamps
    let one = ack(&[5..=10], 100);
    assert_eq!(hex(&encoded(Wire::Gquic37, QuicFrame::Ack(one.into()))), unspaced("40 0a 6400 06 00"));
    // largest 0x1234 (2 B), longest block 0x200 packets (2 B), 0x1031 to 0x1034 are missing
    let two = ack(&[0x1035..=0x1234, 0x1030..=0x1030], 0);
    // first block 0x200, gap 4, block 1
    let expected = "65 3412 0000 01 0002 04 0100 00";
    assert_eq!(hex(&encoded(Wire::Gquic37, QuicFrame::Ack(two.into()))), unspaced(expected));
    // a gap of 256 takes one of 255 with an empty block, and one of 1: 300 - 256 - 1 = 43
    let gap = ack(&[300..=300, 43..=43], 0);
    let expected = "64 2c01 0000 02 01 ff 00 01 01 00";
    assert_eq!(hex(&encoded(Wire::Gquic37, QuicFrame::Ack(gap.into()))), unspaced(expected));
    // 4096 us is 2^12: exponent 1, hidden bit carried: (2 << 11); the largest is all ones
    let delay = |us| hex(&encoded(Wire::Gquic37, QuicFrame::Ack(ack(&[1..=1], us).into()))[2..4]);
    assert_eq!((delay(4095), delay(4096), delay(10_000)), ("ff0f".into(), "0010".into(), "c419".into()));
    assert_eq!((delay(0x3ff_c000_0000), delay(1 << 42)), ("ffff".into(), "ffff".into()));
}

/// Bytes by hand from `AppendTypeByte` and the `Append...Frame` functions of Chromium's framer.
#[test]
fn frames_of_gquic() {
    let stream = |stream_id, offset, last| QuicFrame::Stream {
        stream_id,
        offset,
        length: 2,
        fin: true,
        last,
        label: 0,
    };
    for (frame, expected) in [
        (QuicFrame::Padding { length: 3 }, "00 00 00"),
        (QuicFrame::Ping, "07"),
        // 1 f d ooo ss: first client stream is 5; FIN and length; no offset
        (stream(0, 0, false), "e0 05 0200 0000"),
        // without length; offset 7 takes two bytes: ooo = 1
        (stream(4, 7, true), "c4 07 0700 0000"),
        // stream 2 * 126 + 5 = 257: two bytes; offset 0x10000: three bytes, ooo = 2
        (stream(504, 0x1_0000, true), "c9 0101 000001 0000"),
        (QuicFrame::Crypto { offset: 0, length: 1, parameters: None }, "a0 01 0100 00"),
        (
            QuicFrame::ResetStream { stream_id: 1, error_code: 6, final_size: 0x0102 },
            "01 02000000 0201000000000000 06000000",
        ),
        (QuicFrame::MaxData { maximum: 0x4000 }, "04 00000000 0040000000000000"),
        (QuicFrame::MaxStreamData { stream_id: 4, maximum: 1 }, "04 07000000 0100000000000000"),
        (QuicFrame::DataBlocked { limit: 9 }, "05 00000000"),
        (QuicFrame::StreamDataBlocked { stream_id: 0, limit: 9 }, "05 05000000"),
        (QuicFrame::ConnectionClose { application: true, error_code: 25 }, "02 19000000 0000"),
        // 1000 - 990 in as many bytes as the packet number has
        (QuicFrame::StopWaiting { least: 990 }, "06 0a00"),
    ] {
        assert_eq!(hex(&encoded(Wire::Gquic37, frame)), unspaced(expected));
    }
    assert_eq!(
        QuicFrame::StopWaiting { least: 1 }.length(Wire::Gquic37),
        7,
        "alone: with the longest number"
    );
}

#[test]
#[should_panic(expected = "gQUIC 37 has no counterpart of HandshakeDone")]
fn a_frame_that_a_version_lacks_is_a_bug() {
    let _ = QuicFrame::HandshakeDone.length(Wire::Gquic37);
}

/// Lengths by hand: type 1, offset 1024 in 2, length 2; and so on.
#[test]
fn overheads_of_data() {
    let stream = |offset, last| {
        let frame = QuicFrame::Stream { stream_id: 4, offset, length: 1000, fin: false, last, label: 0 };
        (frame.length(Wire::V1) - 1000, frame.length(Wire::Gquic37) - 1000)
    };
    assert_eq!((stream(0, true), stream(0, false)), ((2, 2), (4, 4)));
    assert_eq!((stream(1 << 14, true), stream(1 << 30, false)), ((6, 4), (12, 8)));
    let crypto = QuicFrame::Crypto { offset: 1024, length: 300, parameters: None };
    assert_eq!((crypto.length(Wire::V1), crypto.length(Wire::Gquic37)), (305, 306));
}

/// Checks the frame that [`Frames`] parses from the bytes of a frame of version 1.
fn check_read_back(frame: &QuicFrame, read: &Frame<'_>) {
    let zeros = |data: &[u8], length: u16| data.len() == usize::from(length) && data.iter().all(|&b| b == 0);
    let us = |delay: Duration| delay.as_nanos() / 1000;
    let equal = match (frame, *read) {
        (QuicFrame::Padding { length }, Frame::Padding { length: read }) => usize::from(*length) == read,
        (QuicFrame::Ack(sent), Frame::Ack(read)) => return check_ack(sent, None, &read),
        (QuicFrame::Ack(sent), Frame::PathAck { path_id, ack }) => {
            return check_ack(sent, Some(path_id), &ack);
        }
        (
            &QuicFrame::PathNewConnectionId { path, sequence_number },
            Frame::PathNewConnectionId { path_id, sequence_number: read, retire_prior_to: 0, .. },
        ) => (u64::from(path), sequence_number) == (path_id, read),
        (&QuicFrame::PathAbandon { path, error_code }, _) => {
            *read == Frame::PathAbandon { path_id: path.into(), error_code }
        }
        (&QuicFrame::PathStatus { path, backup, sequence_number }, _) => {
            *read == Frame::PathStatus { path_id: path.into(), backup, sequence_number }
        }
        (&QuicFrame::PathCidsBlocked { path, next_sequence_number }, _) => {
            *read == Frame::PathCidsBlocked { path_id: path.into(), next_sequence_number }
        }
        (QuicFrame::Crypto { offset, length, .. }, Frame::Crypto { offset: read, data }) => {
            *offset == read && zeros(data, *length)
        }
        (
            &QuicFrame::Stream { stream_id, offset, length, fin, .. },
            Frame::Stream { stream_id: id, offset: read, fin: end, data },
        ) => (stream_id, offset, fin) == (id, read, end) && zeros(data, length),
        (QuicFrame::NewConnectionId { sequence_number }, Frame::NewConnectionId { .. }) => {
            let (connection_id, stateless_reset_token) = (&[0; 8][..], &[0; 16]);
            let sequence_number = *sequence_number;
            *read
                == Frame::NewConnectionId {
                    sequence_number,
                    retire_prior_to: 0,
                    connection_id,
                    stateless_reset_token,
                }
        }
        (QuicFrame::PathChallenge, Frame::PathChallenge { data: [0, 0, 0, 0, 0, 0, 0, 0] })
        | (QuicFrame::PathResponse, Frame::PathResponse { data: [0, 0, 0, 0, 0, 0, 0, 0] }) => true,
        (QuicFrame::Datagram { length, .. }, Frame::Datagram { data }) => zeros(data, *length),
        (&QuicFrame::ConnectionClose { application, error_code }, _) => {
            let frame_type = (!application).then_some(0);
            *read == Frame::ConnectionClose { error_code, frame_type, reason: &[] }
        }
        (&QuicFrame::AckFrequency { request_max_ack_delay, sequence_number, .. }, _) => {
            let QuicFrame::AckFrequency { ack_eliciting_threshold, reordering_threshold, .. } = *frame else {
                unreachable!()
            };
            let request_max_ack_delay = us(request_max_ack_delay);
            *read
                == Frame::AckFrequency {
                    sequence_number,
                    ack_eliciting_threshold: u64::from(ack_eliciting_threshold),
                    request_max_ack_delay,
                    reordering_threshold: u64::from(reordering_threshold),
                }
        }
        // the others have the same names and fields in both
        (frame, read) => format!("{frame:?}") == format!("{read:?}"),
    };
    assert!(equal, "{frame:?} was read as {read:?}");
}

fn check_ack(sent: &AckFrame, path: Option<u64>, read: &Ack<'_>) {
    assert_eq!(sent.path.map(u64::from), path);
    assert_eq!(read.ranges().collect::<Vec<_>>(), sent.ranges.to_vec());
    assert_eq!(read.delay, sent.delay.as_nanos() / 8000);
    assert_eq!(read.ecn, sent.ecn);
}

/// Integers of every encoded length.
fn integer() -> impl Strategy<Value = u64> {
    (select(vec![6, 14, 30, 62]), any::<u64>()).prop_map(|(bits, value)| value & ((1 << bits) - 1))
}

/// Offsets that leave room for data.
fn offset() -> impl Strategy<Value = u64> {
    integer().prop_map(|value| value.min(VARINT_MAX - u64::from(u16::MAX)))
}

fn length() -> impl Strategy<Value = u16> {
    prop_oneof![0..70u16, 0..2000u16]
}

fn any_ack() -> impl Strategy<Value = QuicFrame> {
    let step = || prop_oneof![0..5u64, 0..300u64, 0..30_000u64];
    (
        0..1u64 << 40,
        vec((step(), step()), 1..90),
        any::<u32>(),
        proptest::option::of((integer(), integer(), 0..100u64)),
    )
        .prop_map(|(smallest, steps, delay_us, ecn)| {
            let mut next = smallest;
            let mut ranges: Vec<_> = steps
                .into_iter()
                .map(|(gap, length)| {
                    let start = next + gap;
                    next = start + length + 2;
                    start..=start + length
                })
                .collect();
            ranges.reverse();
            let ecn = ecn.map(|(ect0, ect1, ce)| EcnCounts { ect0, ect1, ce });
            QuicFrame::Ack(AckFrame { ecn, ..ack(&ranges, u64::from(delay_us)) }.into())
        })
}

/// Frames of both versions.
fn common() -> impl Strategy<Value = QuicFrame> {
    prop_oneof![
        (1..1200u16).prop_map(|length| QuicFrame::Padding { length }),
        Just(QuicFrame::Ping),
        any_ack(),
        (offset(), length()).prop_map(|(offset, length)| QuicFrame::Crypto {
            offset,
            length,
            parameters: None
        }),
        (0..1u64 << 30, offset(), length(), any::<bool>()).prop_map(|(stream_id, offset, length, fin)| {
            QuicFrame::Stream { stream_id, offset, length, fin, last: false, label: 0 }
        }),
        (0..1u64 << 30, 0..1u64 << 32, integer()).prop_map(|(stream_id, error_code, final_size)| {
            QuicFrame::ResetStream { stream_id, error_code, final_size }
        }),
        integer().prop_map(|maximum| QuicFrame::MaxData { maximum }),
        (0..1u64 << 30, integer())
            .prop_map(|(stream_id, maximum)| QuicFrame::MaxStreamData { stream_id, maximum }),
        integer().prop_map(|limit| QuicFrame::DataBlocked { limit }),
        (0..1u64 << 30, integer())
            .prop_map(|(stream_id, limit)| QuicFrame::StreamDataBlocked { stream_id, limit }),
        (any::<bool>(), 0..1u64 << 32)
            .prop_map(|(application, error_code)| QuicFrame::ConnectionClose { application, error_code }),
    ]
}

/// Frames of draft-ietf-quic-multipath-21.
fn multipath() -> impl Strategy<Value = QuicFrame> {
    prop_oneof![
        (any_ack(), any::<u8>()).prop_map(|(frame, path)| {
            let QuicFrame::Ack(mut ack) = frame else { unreachable!() };
            ack.path = Some(path);
            QuicFrame::Ack(ack)
        }),
        (any::<u8>(), integer()).prop_map(|(path, error_code)| QuicFrame::PathAbandon { path, error_code }),
        (any::<u8>(), any::<bool>(), integer()).prop_map(|(path, backup, sequence_number)| {
            QuicFrame::PathStatus { path, backup, sequence_number }
        }),
        (any::<u8>(), integer())
            .prop_map(|(path, sequence_number)| QuicFrame::PathNewConnectionId { path, sequence_number }),
        any::<u32>().prop_map(|maximum| QuicFrame::MaxPathId { maximum }),
        any::<u32>().prop_map(|maximum| QuicFrame::PathsBlocked { maximum }),
        (any::<u8>(), integer()).prop_map(|(path, next_sequence_number)| QuicFrame::PathCidsBlocked {
            path,
            next_sequence_number
        }),
    ]
}

/// Frames of version 1 only.
fn only_v1() -> impl Strategy<Value = QuicFrame> {
    let count = || integer().prop_map(|count| count.min(1 << 60));
    prop_oneof![
        (integer(), integer())
            .prop_map(|(stream_id, error_code)| QuicFrame::StopSending { stream_id, error_code }),
        (any::<bool>(), count())
            .prop_map(|(bidirectional, maximum)| QuicFrame::MaxStreams { bidirectional, maximum }),
        (any::<bool>(), count())
            .prop_map(|(bidirectional, limit)| QuicFrame::StreamsBlocked { bidirectional, limit }),
        integer().prop_map(|sequence_number| QuicFrame::NewConnectionId { sequence_number }),
        integer().prop_map(|sequence_number| QuicFrame::RetireConnectionId { sequence_number }),
        Just(QuicFrame::PathChallenge),
        Just(QuicFrame::PathResponse),
        multipath(),
        Just(QuicFrame::HandshakeDone),
        (length(), any::<u64>(), any::<bool>()).prop_map(|(length, number, echo)| QuicFrame::Datagram {
            length,
            number,
            sent: Time::from_nanos(number),
            echo
        }),
        (integer(), any::<u32>(), 0..1u64 << 60, any::<u32>()).prop_map(
            |(sequence_number, threshold, ns, reordering)| {
                QuicFrame::AckFrequency {
                    sequence_number,
                    ack_eliciting_threshold: threshold,
                    request_max_ack_delay: Duration::from_nanos(ns),
                    reordering_threshold: reordering,
                }
            }
        ),
        Just(QuicFrame::ImmediateAck),
    ]
}

fn space() -> impl Strategy<Value = PacketSpace> {
    select(vec![PacketSpace::Initial, PacketSpace::Handshake, PacketSpace::ZeroRtt, PacketSpace::OneRtt])
}

fn v1_packet() -> impl Strategy<Value = QuicPacket> {
    let frames = vec(prop_oneof![common(), only_v1()], 0..6);
    (space(), 0..=20u8, 0..=20u8, 1..=4u8, integer(), frames).prop_map(
        |(space, destination, source, number_length, number, frames)| {
            packet(space, format(Wire::V1, destination, source, number_length), number, frames)
        },
    )
}

fn gquic_packet() -> impl Strategy<Value = QuicPacket> {
    let stop_waiting = (0..200u64).prop_map(|least| QuicFrame::StopWaiting { least });
    let frames = vec(prop_oneof![10 => common(), 1 => stop_waiting], 0..6);
    (space(), select(vec![0, 8]), select(vec![1, 2, 4, 6]), 200..1u64 << 40, frames).prop_map(
        |(space, destination, number_length, number, frames)| {
            packet(space, format(Wire::Gquic37, destination, 0, number_length), number, frames)
        },
    )
}

fn encoded_length(packet: &QuicPacket) -> usize {
    let mut out = Vec::new();
    packet.encode_header(&mut out);
    packet.encode_payload(&mut out);
    out.len() + packet.format.wire.tag_length()
}

/// Frames without runs of PADDING, whose boundaries the parser does not report.
fn without_padding_runs(frames: &[QuicFrame]) -> Vec<QuicFrame> {
    let mut merged: Vec<QuicFrame> = Vec::new();
    for frame in frames {
        if let (Some(QuicFrame::Padding { length }), QuicFrame::Padding { length: more }) =
            (merged.last_mut(), frame)
        {
            *length += more;
        } else {
            merged.push(frame.clone());
        }
    }
    merged
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn packets_of_version_1_are_as_long_as_they_say_and_are_read_back(packet in v1_packet()) {
        prop_assert_eq!(encoded_length(&packet), packet.length());
        let sum: usize = packet.frames.iter().map(|frame| frame.length(Wire::V1)).sum();
        prop_assert_eq!(sum, packet.payload_length());
        let mut payload = Vec::new();
        packet.encode_payload(&mut payload);
        let read: Vec<_> = Frames::new(&payload).map(Result::unwrap).collect();
        let frames = without_padding_runs(&packet.frames);
        prop_assert_eq!(read.len(), frames.len());
        frames.iter().zip(&read).for_each(|(frame, read)| check_read_back(frame, read));
    }

    /// A STREAM frame without Length takes the rest of the packet.
    #[test]
    fn a_last_stream_frame_is_read_back(before in only_v1(), id in integer(), at in offset(), length in length()) {
        let last = QuicFrame::Stream { stream_id: id, offset: at, length, fin: true, last: true, label: 0 };
        let packet = packet(PacketSpace::OneRtt, format(Wire::V1, 8, 0, 2), 0, vec![before, last]);
        prop_assert_eq!(encoded_length(&packet), packet.length());
        let mut payload = Vec::new();
        packet.encode_payload(&mut payload);
        let read = Frames::new(&payload).last().unwrap().unwrap();
        check_read_back(&packet.frames[1], &read);
    }

    #[test]
    fn packets_of_gquic_are_as_long_as_they_say(packet in gquic_packet()) {
        prop_assert_eq!(encoded_length(&packet), packet.length());
        let alone: usize = packet.frames.iter().map(|frame| frame.length(Wire::Gquic37)).sum();
        prop_assert!(alone >= packet.payload_length(), "the size of a frame alone is an upper bound");
    }

    /// The maximum number of ranges that fit is encoded.
    #[test]
    fn ranges_that_fit(frame in any_ack(), path in proptest::option::of(0..90u8), gquic in any::<bool>(), room in 0..300usize) {
        let QuicFrame::Ack(mut frame) = frame else { unreachable!() };
        let wire = if gquic { Wire::Gquic37 } else { Wire::V1 };
        frame.path = path;
        let all = frame.ranges.clone();
        let fitting = frame.fit(wire, room);
        if fitting > 0 {
            frame.ranges.truncate(fitting);
            prop_assert!(frame.length(wire) <= room);
        }
        if fitting < all.len() {
            frame.ranges = all[..=fitting].into();
            let most_blocks: u64 =
                frame.ranges.windows(2).map(|pair| (pair[0].start() - pair[1].end() - 1).div_ceil(255)).sum();
            prop_assert!(frame.length(wire) > room || (gquic && most_blocks > 255));
        }
    }
}
