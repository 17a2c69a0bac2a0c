//! The qlog writer: a short log reviewed by hand, all frames and random packets against the schema.

use crate::support::{Shared, cases, unhex, varint};
use jsonschema::Validator;
use proptest::collection::vec;
use proptest::prelude::*;
use quiclab_core::{PacketSpace, Phase, RecoveryState, Role, Time, TransportEvent, TransportObserver};
use quiclab_trace::qlog::{QlogTrace, QlogWriter};
use serde_json::Value;
use std::io::{self, Write};
use std::sync::LazyLock;

const SCHEMA: &str = include_str!("../../schema/qlog-sequential.schema.json");

/// Header of a 1-RTT packet with an 8-byte connection ID and a 2-byte packet number.
const SHORT_HEADER: &str = "41 c0ffee0011223344 0102";
/// Header of an Initial packet with a token of two bytes and a 1-byte packet number.
const INITIAL_HEADER: &str = "c0 00000001 08 8394c8f03e515708 04 0a0b0c0d 02 7f7f 449e 00";

static VALIDATOR: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::validator_for(&serde_json::from_str(SCHEMA).unwrap()).unwrap());

/// Every record of `log`, each checked against RFC 7464 and the schema.
fn records(log: &[u8]) -> Vec<Value> {
    assert_eq!(log.first(), Some(&0x1e));
    let parse = |record: &[u8]| {
        assert_eq!(record.last(), Some(&b'\n'));
        let value: Value = serde_json::from_slice(record).unwrap();
        let errors: Vec<String> =
            VALIDATOR.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:#?}\n{}", String::from_utf8_lossy(record));
        value
    };
    log[1..].split(|&byte| byte == 0x1e).map(parse).collect()
}

fn write(trace: &QlogTrace, events: &[(u64, TransportEvent<'_>)]) -> Vec<u8> {
    let out = Shared::default();
    let mut writer = QlogWriter::new(Box::new(out.clone()), trace);
    for (nanos, event) in events {
        writer.observe(Time::from_nanos(*nanos), event);
    }
    writer.finish().unwrap();
    out.bytes()
}

fn sent<'a>(space: PacketSpace, number: u64, header: &'a [u8], payload: &'a [u8]) -> TransportEvent<'a> {
    TransportEvent::PacketSent { space, path: 0, number, header, payload }
}

#[test]
fn short_log_is_as_reviewed() {
    let (initial, short) = (unhex(INITIAL_HEADER), unhex(SHORT_HEADER));
    let hello = [unhex("06 00 05 0102030405"), vec![0; 1155]].concat();
    let data = [unhex("02 07 32 01 02 01 01 0a 04 04 0000 0000"), unhex("0f 04 4400 02 aabb")].concat();
    let slow_start = RecoveryState {
        cwnd_bytes: 12_000,
        srtt_ns: Some(33_300_000),
        pacing_rate_bps: Some(3_603_603),
        phase: Some(Phase::SlowStart),
        ..RecoveryState::default()
    };
    let states = [
        slow_start,
        slow_start,
        RecoveryState {
            cwnd_bytes: 6_000,
            ssthresh_bytes: Some(6_000),
            in_flight_bytes: Some(0),
            srtt_ns: Some(33_300_000),
            min_rtt_ns: Some(20_000_001),
            pacing_rate_bps: Some(3_603_603),
            phase: Some(Phase::CongestionAvoidance),
            lost_packets: 2,
            spurious_losses: Some(1),
            congestion_events: 1,
        },
    ];
    let log = write(
        &QlogTrace {
            title: "two \"links\"".into(),
            group_id: Some("dc".into()),
            ..QlogTrace::new("dc.sender", Role::Server)
        },
        &[
            (
                0,
                TransportEvent::PacketReceived {
                    space: PacketSpace::Initial,
                    path: 0,
                    number: 0,
                    header: &initial,
                    payload: &hello,
                },
            ),
            (0, TransportEvent::Secret("CLIENT_RANDOM 00 11")),
            (20_000_001, TransportEvent::Recovery(states[0])),
            (20_000_001, TransportEvent::Recovery(states[1])),
            (1_500_000_000, sent(PacketSpace::OneRtt, 258, &short, &data)),
            (
                1_500_000_000,
                TransportEvent::PacketsLost { space: PacketSpace::OneRtt, path: 0, numbers: &[3, 256] },
            ),
            (1_500_000_000, TransportEvent::Recovery(states[2])),
        ],
    );
    records(&log);
    let reviewed = include_bytes!("../golden/short.sqlog");
    assert_eq!(String::from_utf8_lossy(&log), String::from_utf8_lossy(reviewed));
}

/// The schema rejects small faults in the reviewed log.
#[test]
fn the_schema_refuses_faults() {
    let log = std::str::from_utf8(include_bytes!("../golden/short.sqlog")).unwrap();
    for (right, wrong) in [
        (":sequential\"", ":contained\""),
        ("\"epoch\":\"unknown\"", "\"epoch\":\"2000-01-01T00:00:00.000Z\""),
        ("\"event_schemas\":[\"urn:ietf:params:qlog:events:quic-13\"]", "\"event_schemas\":[]"),
        ("quic:packet_sent", "transport:packet_sent"),
        ("\"time\":20.000001", "\"time\":\"20.000001\""),
        ("\"packet_type\":\"1RTT\"", "\"packet_type\":\"1rtt\""),
        ("\"version\":\"00000001\"", "\"version\":\"0000001\""),
        ("\"dcid\":\"c0ffee0011223344\"", "\"version\":\"00000001\""),
        ("\"stream_id\":4", "\"id\":4"),
        ("[[5,7],[1,2]]", "[[5,6,7]]"),
        ("\"offset\":1024", "\"offset\":-1"),
        ("\"payload_length\":21", "\"payload_bytes\":21"),
        ("\"congestion_window\":6000", "\"cwnd\":6000"),
        ("\"new\":\"congestion_avoidance\"", "\"phase\":2"),
    ] {
        assert!(log.contains(right), "{right}");
        let faulty = log.replacen(right, wrong, 1);
        let refused =
            faulty[1..].split('\x1e').filter(|r| !VALIDATOR.is_valid(&serde_json::from_str(r).unwrap()));
        assert_eq!(refused.count(), 1, "{wrong}");
    }
}

/// One of each frame, hex after RFC 9000 section 19, and its name in the draft.
const FRAMES: &[(&str, &str)] = &[
    ("00", "padding"),
    ("01", "ping"),
    ("02 07 32 01 02 01 01", "ack"),
    ("03 07 32 00 02 05 06 07", "ack"),
    ("04 04 4101 7fff", "reset_stream"),
    ("24 04 00 08 05", "reset_stream_at"),
    ("05 08 02", "stop_sending"),
    ("06 4400 03 010203", "crypto"),
    ("07 02 aabb", "new_token"),
    ("0b 04 01 ff", "stream"),
    ("10 80100000", "max_data"),
    ("11 04 25", "max_stream_data"),
    ("12 05", "max_streams"),
    ("13 03", "max_streams"),
    ("14 25", "data_blocked"),
    ("15 04 25", "stream_data_blocked"),
    ("16 01", "streams_blocked"),
    ("17 01", "streams_blocked"),
    ("18 02 01 04 11223344 09090909090909090909090909090909", "new_connection_id"),
    ("19 02", "retire_connection_id"),
    ("1a 0102030405060708", "path_challenge"),
    ("1b 0102030405060708", "path_response"),
    ("1c 0a 06 03 627965", "connection_close"),
    ("1c 4128 00 00", "connection_close"),
    ("1c 52ab 00 00", "connection_close"),
    ("1d 0a 02 ff22", "connection_close"),
    ("1e", "handshake_done"),
    ("31 02 0102", "datagram"),
    ("40af 01 02 61a8 03", "ack_frequency"),
    ("1f", "immediate_ack"),
    ("3e 01 02 03", "unknown"),
];

#[test]
fn every_frame_has_the_fields_of_the_draft() {
    let payload: Vec<u8> = FRAMES.iter().flat_map(|(hex, _)| unhex(hex)).collect();
    let header = unhex(SHORT_HEADER);
    let log =
        write(&QlogTrace::new("c", Role::Client), &[(1, sent(PacketSpace::OneRtt, 0, &header, &payload))]);
    let frames = records(&log)[1]["data"]["frames"].as_array().unwrap().clone();
    let names: Vec<&str> = frames.iter().map(|frame| frame["frame_type"].as_str().unwrap()).collect();
    assert_eq!(names, FRAMES.iter().map(|(_, name)| *name).collect::<Vec<_>>());
    let frame = |index: usize| frames[index].to_string();
    // 50 << 3 microseconds
    assert!(frame(2).contains(r#""ack_delay":0.4"#) && frame(2).contains(r#""acked_ranges":[[5,7],[1,2]]"#));
    assert!(
        frame(3).contains(r#""ect0":5"#)
            && frame(3).contains(r#""ect1":6"#)
            && frame(3).contains(r#""ce":7"#)
    );
    assert!(frame(22).contains(r#""error":"protocol_violation""#) && frame(22).contains(r#""reason":"bye""#));
    assert!(frame(23).contains(r#""error":"crypto_error_0x128""#), "TLS alert 40");
    assert!(frame(24).contains(r#""error":"unknown""#) && frame(24).contains(r#""error_code":4779"#));
    assert!(frame(25).contains(r#""reason_bytes":"ff22""#) && frame(25).contains("application"));
    assert!(frame(30).contains(r#""frame_type_bytes":62"#) && frame(30).contains(r#""raw":{"length":4}"#));
}

#[test]
fn a_malformed_frame_ends_the_list() {
    let payload = unhex("01 06 00 09 0102");
    let log =
        write(&QlogTrace::new("c", Role::Client), &[(1, sent(PacketSpace::Handshake, 0, &[], &payload))]);
    let frames = &records(&log)[1]["data"]["frames"];
    assert_eq!(frames.to_string().matches("frame_type\"").count(), 2);
    assert_eq!(frames[1]["frame_type"], "unknown");
    assert_eq!(frames[1]["frame_type_bytes"], 6);
    assert_eq!(frames[1]["raw"]["length"], 5);
}

/// An output that accepts `capacity` bytes.
struct Full {
    capacity: usize,
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.capacity = self.capacity.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_told_at_the_end() {
    let mut writer = QlogWriter::new(Box::new(Full { capacity: 0 }), &QlogTrace::new("c", Role::Client));
    let status = writer.status();
    let numbers: Vec<u64> = (0..2_000).collect();
    writer.observe(
        Time::ZERO,
        &TransportEvent::PacketsLost { space: PacketSpace::OneRtt, path: 0, numbers: &numbers },
    );
    assert_eq!(
        status.error().map(io::Error::kind),
        Some(io::ErrorKind::StorageFull),
        "2 000 events are flushed"
    );
    assert_eq!(writer.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);

    let writer = QlogWriter::new(Box::new(Full { capacity: 0 }), &QlogTrace::new("c", Role::Client));
    let status = writer.status();
    assert!(status.error().is_none());
    drop(writer);
    assert!(status.error().is_some(), "a dropped writer writes what is left");
}

fn space() -> impl Strategy<Value = PacketSpace> {
    prop::sample::select(vec![
        PacketSpace::Initial,
        PacketSpace::Handshake,
        PacketSpace::ZeroRtt,
        PacketSpace::OneRtt,
    ])
}

/// Bytes that begin like one of the frames, or like none.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let begun = (prop::sample::select(FRAMES), vec(any::<u8>(), 0..40))
        .prop_map(|((hex, _), tail)| [unhex(hex), tail].concat());
    prop_oneof![begun, vec(any::<u8>(), 0..1200)]
}

/// A header that a transport would report for this space, truncated anywhere.
fn header(space: PacketSpace) -> impl Strategy<Value = Vec<u8>> {
    (vec(any::<u8>(), 0..=20), vec(any::<u8>(), 0..=20), vec(any::<u8>(), 0..100), any::<u8>(), 0..200usize)
        .prop_map(move |(dcid, scid, token, first, cut)| {
            let mut out = vec![];
            if space == PacketSpace::OneRtt {
                out.push(first & 0x7f);
                out.extend(dcid);
            } else {
                out.push(first | 0x80);
                out.extend([0, 0, 0, 1, dcid.len() as u8]);
                out.extend(dcid);
                out.push(scid.len() as u8);
                out.extend(scid);
                if space == PacketSpace::Initial {
                    varint(&mut out, token.len() as u64);
                    out.extend(token);
                }
                out.extend([0x44, 0x9e]);
            }
            out.extend([0, 0, 0, 7]);
            out.truncate(cut);
            out
        })
}

proptest! {
    #![proptest_config(cases())]

    /// Whatever a packet contains, the log is well-formed, complete and valid.
    #[test]
    fn any_packet_gives_a_valid_record(
        (space, header) in space().prop_flat_map(|space| (Just(space), header(space))),
        payload in payload(),
        (number, nanos) in (0..1u64 << 62, any::<u64>()),
    ) {
        let log = write(&QlogTrace::new("c", Role::Client), &[(nanos, sent(space, number, &header, &payload))]);
        let event = &records(&log)[1];
        prop_assert_eq!(event["data"]["header"]["packet_number"].as_u64(), Some(number));
        prop_assert_eq!(event["data"]["raw"]["length"].as_u64(), Some((header.len() + payload.len() + 16) as u64));
        let text = String::from_utf8(log).unwrap();
        let time = text.split("\"time\":").nth(1).unwrap().split(',').next().unwrap();
        let (whole, fraction) = time.split_once('.').unwrap_or((time, ""));
        prop_assert_eq!(format!("{whole}{fraction:0<6}").parse(), Ok(nanos), "exact time: {}", time);
    }

    /// A metric is logged exactly when it has a value that differs from the last one logged.
    #[test]
    fn recovery_logs_changes(states in vec((0..3u64, proptest::option::of(0..3u64), 0..2u64), 1..20)) {
        let states: Vec<RecoveryState> = states
            .into_iter()
            .map(|(cwnd_bytes, ssthresh_bytes, lost_packets)| RecoveryState {
                cwnd_bytes, ssthresh_bytes, lost_packets, ..RecoveryState::default()
            })
            .collect();
        let events: Vec<_> = states.iter().map(|state| (5, TransportEvent::Recovery(*state))).collect();
        let log = records(&write(&QlogTrace::new("c", Role::Client), &events));
        let mut logged = log[1..].iter();
        let mut last: Option<RecoveryState> = None;
        for state in states {
            let cwnd = Some(state.cwnd_bytes).filter(|_| last.map(|s| s.cwnd_bytes) != Some(state.cwnd_bytes));
            let ssthresh = state.ssthresh_bytes.filter(|_| last.and_then(|s| s.ssthresh_bytes) != state.ssthresh_bytes);
            let lost = Some(state.lost_packets).filter(|_| last.map(|s| s.lost_packets) != Some(state.lost_packets));
            last = Some(state);
            if cwnd.is_none() && ssthresh.is_none() && lost.is_none() {
                continue;
            }
            let data = &logged.next().unwrap()["data"];
            prop_assert_eq!(data["congestion_window"].as_u64(), cwnd);
            prop_assert_eq!(data["ssthresh"].as_u64(), ssthresh);
            prop_assert_eq!(data["lost_packets"].as_u64(), lost);
        }
        prop_assert!(logged.next().is_none());
    }
}
