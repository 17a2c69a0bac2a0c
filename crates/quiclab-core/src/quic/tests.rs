//! The frame parser: frames encoded by hand after RFC 9000 section 19, faults, hostile bytes.

use super::{EcnCounts, Frame, FrameError, FrameFault, Frames, VARINT_MAX};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

/// Random cases that are the same on every run. `PROPTEST_CASES=1000000 PROPTEST_RNG_SEED=7` makes it a
/// fuzzer; failures are kept in `proptest-regressions` and tried first from then on.
fn cases() -> Config {
    let mut config = Config::default();
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        config.rng_seed = RngSeed::Fixed(1);
    }
    config
}

/// Appends `value` in its shortest encoding (RFC 9000 section 16).
fn varint(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=0x3f => out.push(value as u8),
        0x40..=0x3fff => out.extend_from_slice(&(0x4000 | value as u16).to_be_bytes()),
        0x4000..=0x3fff_ffff => out.extend_from_slice(&(0x8000_0000 | value as u32).to_be_bytes()),
        _ => out.extend_from_slice(&(0xc000_0000_0000_0000 | value).to_be_bytes()),
    }
}

/// Bytes from hexadecimal digits; blanks are ignored.
fn unhex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn parse(bytes: &[u8]) -> Vec<Result<Frame<'_>, FrameError>> {
    Frames::new(bytes).collect()
}

fn only(bytes: &[u8]) -> Result<Frame<'_>, FrameError> {
    let mut frames = parse(bytes);
    assert_eq!(frames.len(), 1, "{bytes:02x?}");
    frames.remove(0)
}

#[test]
fn frames_of_rfc_9000_section_19() {
    let token = [9; 16];
    for (hex, frame) in [
        ("00 00 00", Frame::Padding { length: 3 }),
        ("01", Frame::Ping),
        ("04 04 4101 7fff", Frame::ResetStream { stream_id: 4, error_code: 0x101, final_size: 0x3fff }),
        ("05 08 02", Frame::StopSending { stream_id: 8, error_code: 2 }),
        ("06 4400 03 010203", Frame::Crypto { offset: 1024, data: &[1, 2, 3] }),
        ("07 02 aabb", Frame::NewToken { token: &[0xaa, 0xbb] }),
        ("08 00 0102", Frame::Stream { stream_id: 0, offset: 0, fin: false, data: &[1, 2] }),
        ("09 00", Frame::Stream { stream_id: 0, offset: 0, fin: true, data: &[] }),
        ("0a 04 01 ff", Frame::Stream { stream_id: 4, offset: 0, fin: false, data: &[255] }),
        ("0c 04 05 ff", Frame::Stream { stream_id: 4, offset: 5, fin: false, data: &[255] }),
        ("0f 04 05 01 ff", Frame::Stream { stream_id: 4, offset: 5, fin: true, data: &[255] }),
        ("10 80100000", Frame::MaxData { maximum: 1 << 20 }),
        ("11 04 25", Frame::MaxStreamData { stream_id: 4, maximum: 37 }),
        ("12 d000000000000000", Frame::MaxStreams { bidirectional: true, maximum: 1 << 60 }),
        ("13 03", Frame::MaxStreams { bidirectional: false, maximum: 3 }),
        ("14 25", Frame::DataBlocked { limit: 37 }),
        ("15 04 25", Frame::StreamDataBlocked { stream_id: 4, limit: 37 }),
        ("16 01", Frame::StreamsBlocked { bidirectional: true, limit: 1 }),
        ("17 01", Frame::StreamsBlocked { bidirectional: false, limit: 1 }),
        (
            "18 02 01 04 11223344 09090909090909090909090909090909",
            Frame::NewConnectionId {
                sequence_number: 2,
                retire_prior_to: 1,
                connection_id: &[0x11, 0x22, 0x33, 0x44],
                stateless_reset_token: &token,
            },
        ),
        ("19 02", Frame::RetireConnectionId { sequence_number: 2 }),
        ("1a 0102030405060708", Frame::PathChallenge { data: &[1, 2, 3, 4, 5, 6, 7, 8] }),
        ("1b 0102030405060708", Frame::PathResponse { data: &[1, 2, 3, 4, 5, 6, 7, 8] }),
        (
            "1c 0a 06 03 627965",
            Frame::ConnectionClose { error_code: 10, frame_type: Some(6), reason: b"bye" },
        ),
        ("1d 0a 00", Frame::ConnectionClose { error_code: 10, frame_type: None, reason: b"" }),
        ("1e", Frame::HandshakeDone),
        ("1f", Frame::ImmediateAck),
        (
            "24 04 00 08 05",
            Frame::ResetStreamAt { stream_id: 4, error_code: 0, final_size: 8, reliable_size: 5 },
        ),
        ("30 0102", Frame::Datagram { data: &[1, 2] }),
        ("31 02 0102", Frame::Datagram { data: &[1, 2] }),
        (
            "40af 01 02 61a8 03",
            Frame::AckFrequency {
                sequence_number: 1,
                ack_eliciting_threshold: 2,
                request_max_ack_delay: 0x21a8,
                reordering_threshold: 3,
            },
        ),
        // draft-ietf-quic-multipath-21 section 4
        ("7e75 02 3e", Frame::PathAbandon { path_id: 2, error_code: 0x3e }),
        ("7e76 01 03", Frame::PathStatus { path_id: 1, backup: true, sequence_number: 3 }),
        ("7e77 01 04", Frame::PathStatus { path_id: 1, backup: false, sequence_number: 4 }),
        (
            "7e78 03 02 01 04 11223344 09090909090909090909090909090909",
            Frame::PathNewConnectionId {
                path_id: 3,
                sequence_number: 2,
                retire_prior_to: 1,
                connection_id: &[0x11, 0x22, 0x33, 0x44],
                stateless_reset_token: &token,
            },
        ),
        ("7e79 03 02", Frame::PathRetireConnectionId { path_id: 3, sequence_number: 2 }),
        ("7e7a 07", Frame::MaxPathId { maximum: 7 }),
        ("7e7b 07", Frame::PathsBlocked { maximum: 7 }),
        (
            "7e7c c0000000ffffffff 00",
            Frame::PathCidsBlocked { path_id: u64::from(u32::MAX), next_sequence_number: 0 },
        ),
        (
            // an unknown type, so the rest of the packet is opaque
            "ad3e00 01 01",
            Frame::Unknown { frame_type: 0x2d3e_0001, rest: &[0xad, 0x3e, 0, 1, 1] },
        ),
    ] {
        let bytes = unhex(hex);
        assert_eq!(only(&bytes), Ok(frame), "{hex}");
    }
}

/// RFC 9000 section 19.3.1: "largest = previous_smallest - gap - 2".
#[test]
fn ack_ranges() {
    // 20..=17, gap 1 (two packets), 14..=14, gap 0 (one packet), 12..=10; then ECN counts.
    let bytes = unhex("03 14 40c8 02 03 01 00 00 02 05 06 07 01");
    let frames = parse(&bytes);
    let [Ok(Frame::Ack(ack)), Ok(Frame::Ping)] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!((ack.largest, ack.delay), (20, 200));
    assert_eq!(ack.ranges().collect::<Vec<_>>(), [17..=20, 14..=14, 10..=12]);
    assert_eq!(ack.ecn, Some(EcnCounts { ect0: 5, ect1: 6, ce: 7 }));
}

#[test]
fn faults_are_reported_where_the_frame_begins() {
    use FrameFault::{OutOfRange, Truncated, TypeNotShortest};
    for (hex, fault) in [
        ("40", Truncated), // a type of two bytes, truncated
        ("4001", TypeNotShortest),
        ("7e7a c000000100000000", OutOfRange("the path ID exceeds 2^32-1")),
        ("7e75 c000000100000000 00", OutOfRange("the path ID exceeds 2^32-1")),
        ("7e75 01", Truncated),
        ("7e78 01 00 01 08", OutOfRange("Retire Prior To exceeds the sequence number")),
        ("3e 01 03 00 00 04", OutOfRange("a range goes below packet number 0")),
        ("80000001", TypeNotShortest),
        ("c000000000000001", TypeNotShortest),
        ("02 03 00 00 04", OutOfRange("a range goes below packet number 0")),
        ("02 04 00 01 01 02 00", OutOfRange("a range goes below packet number 0")),
        ("02 04 00 01 01 01 01", OutOfRange("a range goes below packet number 0")),
        ("02 7fff 00 ffffffffffffffff 00 00 00", Truncated), // 2^62 - 1 ranges in two bytes
        ("06 ffffffffffffffff 01 00", OutOfRange("the data end beyond offset 2^62-1")),
        ("0e 00 ffffffffffffffff 01 00", OutOfRange("the data end beyond offset 2^62-1")),
        ("06 00 04 010203", Truncated),
        ("07 00", OutOfRange("the token is empty")),
        ("12 d000000000000001", OutOfRange("more than 2^60 streams")),
        ("17 d000000000000001", OutOfRange("more than 2^60 streams")),
        ("18 01 02 01 11 00", OutOfRange("Retire Prior To exceeds the sequence number")),
        ("18 01 01 00", OutOfRange("the connection ID has not 1 to 20 bytes")),
        (
            "18 01 01 15 000000000000000000000000000000000000000000",
            OutOfRange("the connection ID has not 1 to 20 bytes"),
        ),
        ("18 01 01 01 11 0909", Truncated),
        ("1a 01020304050607", Truncated),
        ("24 04 00 05 08", OutOfRange("the reliable size exceeds the final size")),
        ("31 03 0102", Truncated),
    ] {
        let mut bytes = vec![0x01];
        bytes.extend(unhex(hex));
        let mut frames = Frames::new(&bytes);
        assert_eq!(frames.next(), Some(Ok(Frame::Ping)));
        let error = frames.next().unwrap().unwrap_err();
        assert_eq!((error.offset, error.fault), (1, fault), "{hex}");
        assert_eq!(frames.rest(), &bytes[1..], "{hex}: the faulty frame is what is left");
        assert_eq!(frames.next(), None, "{hex}: nothing follows an error");
    }
    let error = FrameError { offset: 1, frame_type: 0xaf, fault: Truncated };
    assert_eq!(error.to_string(), "frame type 0xaf at byte 1: the packet ends within the frame");
}

/// Integers of all four encodings.
fn integer() -> impl Strategy<Value = u64> {
    prop_oneof![0..64u64, 0..1u64 << 14, 0..1u64 << 30, 0..=VARINT_MAX]
}

/// A frame with an explicit length, as bytes.
fn encoded() -> impl Strategy<Value = Vec<u8>> {
    let fields = (vec(integer(), 4), vec(any::<u8>(), 0..30));
    let types = prop_oneof![Just(0xafu64), Just(0x31), Just(0x24), 0x01..0x08u64, Just(0x0a), 0x0e..0x20u64];
    (types, fields).prop_map(|(frame_type, (integers, data))| {
        let mut out = Vec::new();
        varint(&mut out, frame_type);
        let count = match frame_type {
            0x01 | 0x07 | 0x1a | 0x1b | 0x1e | 0x1f | 0x31 => 0,
            0x06 | 0x0a | 0x0b | 0x10 | 0x12..=0x14 | 0x16 | 0x17 | 0x19 | 0x1d => 1,
            0x04 => 3,
            0x24 | 0xaf | 0x02 | 0x03 => 4,
            _ => 2,
        };
        for &integer in &integers[..count] {
            varint(&mut out, integer);
        }
        if matches!(frame_type, 0x06 | 0x07 | 0x0a | 0x0b | 0x0e | 0x0f | 0x18 | 0x1c | 0x1d | 0x31) {
            varint(&mut out, data.len() as u64);
        }
        out.extend(data);
        out
    })
}

/// Random bytes, and bytes that are valid frames up to some position.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let frames = vec(encoded(), 0..6).prop_map(|frames| frames.concat());
    let bent =
        (frames, vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)).prop_map(|(mut bytes, bends)| {
            for (index, value) in bends {
                if !bytes.is_empty() {
                    let at = index.index(bytes.len());
                    bytes[at] = value;
                }
            }
            bytes
        });
    prop_oneof![1 => vec(any::<u8>(), 0..1500), 3 => bent]
}

proptest! {
    #![proptest_config(cases())]

    /// No panic; every item consumes at least a byte, and all items together the whole packet.
    #[test]
    fn hostile_bytes_are_bounded_work(bytes in hostile()) {
        let mut frames = Frames::new(&bytes);
        let mut left = bytes.len();
        while let Some(parsed) = frames.next() {
            match parsed {
                Ok(frame) => {
                    prop_assert!(frames.rest().len() < left, "progress");
                    if let Frame::Ack(ack) = frame {
                        let taken = left - frames.rest().len();
                        let mut above = None;
                        let mut count = 0;
                        for range in ack.ranges() {
                            prop_assert!(range.start() <= range.end());
                            prop_assert!(above.is_none_or(|above| *range.end() + 1 < above), "descending, apart");
                            above = Some(*range.start());
                            count += 1;
                        }
                        prop_assert!(2 * count <= taken, "a range takes two bytes");
                    }
                    left = frames.rest().len();
                }
                Err(error) => {
                    prop_assert_eq!(error.offset, bytes.len() - left);
                    prop_assert_eq!(frames.rest().len(), left);
                    prop_assert!(frames.next().is_none());
                    return Ok(());
                }
            }
        }
        prop_assert_eq!(left, 0);
    }

    /// STREAM frames of all eight types read back.
    #[test]
    fn stream_frames_read_back(
        (kind, stream_id, offset) in (0x08..0x10u64, integer(), integer()),
        data in vec(any::<u8>(), 0..50),
    ) {
        let offset = if kind & 4 == 0 { 0 } else { offset.min(VARINT_MAX - data.len() as u64) };
        let mut bytes = Vec::new();
        varint(&mut bytes, kind);
        varint(&mut bytes, stream_id);
        if kind & 4 != 0 {
            varint(&mut bytes, offset);
        }
        if kind & 2 != 0 {
            varint(&mut bytes, data.len() as u64);
        }
        bytes.extend(&data);
        let fin = kind & 1 != 0;
        prop_assert_eq!(only(&bytes), Ok(Frame::Stream { stream_id, offset, fin, data: &data }));
    }

    /// ACK frames read back, and every proper prefix is an error.
    #[test]
    fn ack_frames_read_back(
        delay in integer(),
        lowest in 0..1u64 << 40,
        // From below: packets after the first of a range, packets missing after it but one.
        ranges in vec((0..1u64 << 20, 0..1u64 << 20), 1..40),
        ecn in proptest::option::of((integer(), integer(), integer())),
    ) {
        let mut expected = Vec::new();
        let mut next = lowest;
        for (length, gap) in &ranges {
            expected.push(next..=next + length);
            next += length + gap + 2;
        }
        expected.reverse();
        let mut bytes = Vec::new();
        varint(&mut bytes, if ecn.is_some() { 3 } else { 2 });
        for value in [*expected[0].end(), delay, ranges.len() as u64 - 1, ranges.last().unwrap().0] {
            varint(&mut bytes, value);
        }
        for pair in ranges.windows(2).rev() {
            varint(&mut bytes, pair[0].1);
            varint(&mut bytes, pair[0].0);
        }
        if let Some((ect0, ect1, ce)) = ecn {
            for value in [ect0, ect1, ce] {
                varint(&mut bytes, value);
            }
        }
        let frame = only(&bytes).unwrap();
        let Frame::Ack(ack) = frame else { panic!("{frame:?}") };
        prop_assert_eq!(ack.delay, delay);
        prop_assert_eq!(ack.ecn, ecn.map(|(ect0, ect1, ce)| EcnCounts { ect0, ect1, ce }));
        prop_assert_eq!(ack.ranges().collect::<Vec<_>>(), expected);
        for length in 1..bytes.len() {
            let fault = only(&bytes[..length]).unwrap_err().fault;
            prop_assert_eq!(fault, FrameFault::Truncated);
        }
    }
}
