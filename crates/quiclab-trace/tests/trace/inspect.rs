//! Reading qlog files of all kinds: small files, with their content counted by hand.
//!
//! `03-aioquic.qlog` is a log of aioquic 1.7.2. The other files are written by hand after the output of the
//! stacks: picoquic `loglib/qlog.c`, mvfst `quic/logging/QLoggerTypes.cpp`, quinn-proto `connection/qlog.rs`,
//! the examples that qvis comes with (quic-trace, pcap2qlog), and for the others the drafts they follow.

use crate::support::{Shared, unhex};
use quiclab_core::{PacketSpace, Phase, RecoveryState, Role, Time, TransportEvent, TransportObserver};
use quiclab_trace::inspect::{InspectError, inspect_qlog, inspect_reader};
use quiclab_trace::qlog::{QlogTrace, QlogWriter};
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::Path;

fn inspect(text: &[u8], max_points: usize) -> Result<Vec<Value>, InspectError> {
    let json = inspect_reader(|| Ok(text), "x.qlog", text.len() as u64, max_points, &mut |_, _| {
        ControlFlow::Continue(())
    })?;
    Ok(serde_json::from_str(&json).expect("the document is JSON"))
}

/// The connections of a file in `tests/data`.
fn connections(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file);
    let json = inspect_qlog(&path, 1000, &mut |_, _| ControlFlow::Continue(())).unwrap();
    serde_json::from_str(&json).unwrap()
}

fn only(file: &str) -> Value {
    let mut all = connections(file);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// Compares the fields that `expected` has; also of objects in it, and in lists.
fn assert_has(found: &Value, expected: &Value) {
    match (found, expected) {
        (Value::Object(_), Value::Object(fields)) => {
            for (key, value) in fields {
                assert!(found.get(key).is_some(), "{key} is missing in {found}");
                assert_has(&found[key], value);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            left.iter().zip(right).for_each(|(left, right)| assert_has(left, right));
        }
        _ => assert_eq!(found, expected),
    }
}

#[test]
fn draft_00_of_quictrace() {
    assert_has(
        &only("draft-00-quictrace.qlog"),
        &json!({
            "schema": 1, "file": "draft-00-quictrace.qlog", "format": "qlog draft-00 (JSON)",
            "title": "one connection", "vantage": "server", "stack": "google quic-trace",
            "connection": {"index": 0, "of": 1, "trace": 0, "group": "AAAAAAAAACo="},
            "start_ms": 0.0, "duration_ms": 130.0,
            "counts": {
                "events": 5, "packets_sent": 2, "packets_received": 1, "packets_lost": 1, "bytes_sent": 2700,
                "bytes_received": 0, "acks_received": 1, "stream_bytes_sent": 2650, "malformed": 0, "skipped": {},
                "truncated_at_byte": null,
            },
            "frame_sets": ["stream", "ack"],
            "packets_sent": {
                "time_ms": [0.0, 1.0], "number": [1, 2], "space": [3, 3], "bytes": [1350, 1350], "frames": [0, 0],
                "stream_offset_end": [1326, 2650],
            },
            "packets_received": {"time_ms": [126.536], "number": [1], "bytes": [null], "frames": [1]},
            "acks": {"time_ms": [126.536], "largest": [2], "newly": [2], "space": [3], "ends": [[]]},
            "lost": {"time_ms": [130.0], "number": [2], "space": [3]},
            "recovery": {
                "time_ms": [126.536], "cwnd_bytes": [17300], "in_flight_bytes": [12150], "ssthresh_bytes": [null],
                "srtt_ms": [126.536], "latest_rtt_ms": [126.536], "pacing_rate_mbps": [0.9231],
            },
            // 2650 bytes in 1 ms; 1 of 2 lost; 2 packets with data for one ACK
            "derived": {"goodput_mbps": 21.2, "loss_percent": 50.0, "mean_rtt_ms": 126.536, "ack_ratio": 2.0},
            "packet_sizes": [{"bytes": 1350, "sent": 2, "received": 0}],
        }),
    );
}

#[test]
fn draft_00_of_picoquic() {
    let found = only("draft-00-picoquic.qlog");
    assert_has(
        &found,
        &json!({
            "format": "qlog draft-00 (JSON)", "vantage": "client", "stack": "picoquic", "duration_ms": 41.0,
            "counts": {
                // one event has an escape that is not JSON, the Retry packet no number
                "malformed": 1, "packets_without_number": 1, "packets_sent": 1, "packets_received": 2,
                "datagrams_sent": 1, "bytes_received": 1540, "skipped": {"message": 1},
            },
            "packets_sent": {"space": [0], "number": [0], "time_ms": [0.01]},
            "packets_received": {"space": [3], "number": [7], "stream_offset_end": [2400]},
            "recovery": {"cwnd_bytes": [15360], "pacing_rate_mbps": [8.0], "min_rtt_ms": [39.0]},
            "transport_parameters": {"local": {"initial_max_data": 1_048_576}},
        }),
    );
    assert_eq!(found["frame_sets"], json!(["crypto+padding", "stream", "no frames logged"]));
}

/// Numbers as strings, times since the previous event, and the description after the events.
#[test]
fn draft_01_of_pcap2qlog() {
    assert_has(
        &only("draft-01-pcap2qlog.qlog"),
        &json!({
            "format": "qlog draft-01 (JSON)", "vantage": "network", "stack": null, "duration_ms": 25.0,
            "counts": {"skipped": {"connection_new": 1, "ALPN_update": 1}, "stream_bytes_received": 17},
            "packets_sent": {"time_ms": [0.0], "number": [0], "space": [0], "bytes": [1251]},
            "packets_received": {"time_ms": [23.0], "number": [9], "bytes": [219], "stream_offset_end": [117]},
            "acks": {"largest": [6], "ends": [[0]], "newly": [4]},
            "frame_kinds": {"crypto": {"count": 1, "bytes": 284}, "padding": {"count": 1, "bytes": 0}},
            "streams": [{
                "id": 8, "direction": "received", "bytes": 17, "first_ms": 23.0, "frames_of": 1,
                "frames": {"offset": [100], "length": [17], "retransmitted": [false]},
            }],
        }),
    );
}

/// Times are microseconds since the machine was started; three packets are lost with one event.
#[test]
fn draft_00_of_mvfst() {
    assert_has(
        &only("draft-00-mvfst.qlog"),
        &json!({
            "vantage": "server", "stack": "mvfst", "start_ms": 0.0, "duration_ms": 1.5,
            "counts": {"packets_lost": 3, "packets_dropped": 1, "skipped": {"TRANSPORT_STATE_UPDATE": 1}},
            "lost": {"time_ms": [1.2], "number": [5]},
            "recovery": {
                "time_ms": [0.5, 1.0], "cwnd_bytes": [12520, null], "latest_rtt_ms": [null, 20.0],
                "srtt_ms": [null, 20.5],
            },
            "phases": [{"time_ms": 0.5, "state": "hystart"}],
        }),
    );
}

#[test]
fn json_text_sequence_of_quic_go() {
    assert_has(
        &only("03-quic-go.sqlog"),
        &json!({
            "format": "qlog 0.3 (JSON text sequence)", "title": "quic-go qlog", "vantage": "client",
            "stack": "quic-go", "start_ms": 0.03, "duration_ms": 50.97,
            "connection": {"group": "8394c8f03e515708"},
            "counts": {
                "events": 8, "malformed": 0, "packets_lost": 1, "truncated_at_byte": null,
                "skipped": {"transport:connection_started": 1, "recovery:loss_timer_updated": 1},
            },
            "acks": {"time_ms": [31.5], "largest": [9], "newly": [6], "ends": [[2]]},
            "recovery": {"cwnd_bytes": [40960], "in_flight_bytes": [1252], "srtt_ms": [30.25]},
            "phases": [{"time_ms": 31.5, "state": "slow_start"}],
            "lost": {"time_ms": [50.0], "number": [0], "space": [0]},
            "frame_kinds": {"padding": {"count": 1, "bytes": 900}, "max_data": {"count": 1, "bytes": 0}},
            "transport_parameters": {"local": {"initial_max_data": 786_432, "disable_active_migration": true}},
        }),
    );
}

/// A line that is not JSON costs one record; the largest integer means no ssthresh; data is sent twice.
#[test]
fn lines_of_quiche() {
    assert_has(
        &only("03-quiche-lines.sqlog"),
        &json!({
            "format": "qlog 0.3 (JSON, a record a line)", "stack": "quiche", "duration_ms": 3.0,
            "counts": {"malformed": 1, "packets_sent": 2, "skipped": {"transport:data_moved": 1}},
            "recovery": {"cwnd_bytes": [13500], "ssthresh_bytes": [null]},
            "streams": [{
                "id": 0, "direction": "sent", "bytes": 2600, "unique_bytes": 1300,
                "frames": {"time_ms": [1.0, 3.0], "offset": [0, 0], "retransmitted": [false, true]},
            }],
            "derived": {"retransmitted_percent": 50.0, "goodput_sent_mbps": 5.2, "mean_rtt_ms": 25.5},
        }),
    );
}

/// Two connections in one file; no frames are logged, the size is in the header.
#[test]
fn groups_of_quinn() {
    let found = connections("04-quinn.sqlog");
    assert_has(
        &json!(found),
        &json!([
            {
                "stack": "quinn", "connection": {"index": 0, "of": 2, "group": "aa"}, "start_ms": 1.0,
                "duration_ms": 13.0, "frame_sets": ["no frames logged"],
                "counts": {"packets_sent": 1, "bytes_sent": 1200, "packets_received": 1, "packets_lost": 1},
                "packets_received": {"space": [1], "bytes": [null], "stream_offset_end": [null]},
                "lost": {"number": [4], "space": [3]},
            },
            {"connection": {"index": 1, "of": 2, "group": "bb"}, "counts": {"packets_sent": 1, "events": 1}},
        ]),
    );
}

#[test]
fn times_since_the_event_before_of_ngtcp2() {
    assert_has(
        &only("03-ngtcp2-delta.sqlog"),
        &json!({
            "vantage": "server", "stack": "ngtcp2", "start_ms": 5.0, "duration_ms": 20.0,
            "packets_received": {"time_ms": [5.0], "space": [2], "stream_offset_end": [100]},
            "recovery": {"time_ms": [15.0], "ssthresh_bytes": [7000]},
            "packets_sent": {"time_ms": [25.0], "space": [1]},
            "counts": {"acks_sent": 1, "acks_received": 0},
            "frame_sets": ["stream", "crypto+ack"],
        }),
    );
}

/// The draft of today: two traces, and one that is only declared as missing.
#[test]
fn contained_file_of_today() {
    let found = connections("current-contained.qlog");
    assert_has(
        &json!(found),
        &json!([
            {
                "format": "qlog quic-13 (JSON)", "title": "neqo-Client trace", "stack": "neqo", "vantage": "client",
                "connection": {"index": 0, "of": 2, "trace": 0}, "start_ms": 2.0, "duration_ms": 7.0,
                "counts": {"datagrams_sent": 3, "packets_sent": 1, "packets_dropped": 1},
                "packets_sent": {"time_ms": [5.0]}, "frame_kinds": {"datagram": {"count": 1, "bytes": 1000}},
            },
            {
                "title": "two ends", "vantage": "server", "connection": {"index": 1, "of": 2, "trace": 2},
                "counts": {"skipped": {"http:frame_parsed": 1}},
                "recovery": {"time_ms": [7.0], "cwnd_bytes": [5000], "pacing_rate_mbps": [2.5]},
            },
        ]),
    );
}

/// A log of aioquic 1.7.2: two connections in one process, 9,000 bytes on a stream, one datagram left out.
/// Counted with a script: 15 packets sent, 6 received, number 7 lost, 10,167 bytes in STREAM frames.
#[test]
fn a_real_log_of_aioquic() {
    let found = only("03-aioquic.qlog");
    assert_has(
        &found,
        &json!({
            "format": "qlog 0.3 (JSON)", "vantage": "client", "stack": "aioquic", "start_ms": 0.0,
            "duration_ms": 171.5493,
            "counts": {
                "events": 75, "packets_sent": 15, "packets_received": 6, "packets_lost": 1, "packets_dropped": 1,
                "stream_bytes_sent": 10_167, "acks_received": 4, "acks_sent": 3, "malformed": 0,
                "skipped": {
                    "security:key_updated": 4, "connectivity:spin_bit_updated": 4, "security:key_retired": 2,
                    "transport:version_information": 1, "transport:alpn_information": 1,
                },
            },
            "packets_sent": {
                "number": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
                "space": [0, 0, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3],
            },
            "lost": {"number": [7], "space": [3]},
            "acks": {"largest": [0, 3, 10, 13], "newly": [1, 1, 6, 3], "ends": [[], [], [6], [6]]},
            "streams": [{"id": 0, "direction": "sent", "bytes": 10_167, "unique_bytes": 9000}],
            "transport_parameters": {"remote": {"max_ack_delay": 25, "disable_active_migration": false}},
        }),
    );
    // 1,167 bytes are sent twice: those of packet 7, in packet 11
    let column = |name: &str| found["streams"][0]["frames"][name].as_array().unwrap().clone();
    let again: Vec<Value> = column("offset")
        .into_iter()
        .zip(column("retransmitted"))
        .filter(|(_, again)| again == true)
        .map(|(at, _)| at)
        .collect();
    assert_eq!(again, [2336]);
}

/// The reader reads the output of quiclab's writer.
#[test]
fn our_own_log() {
    let out = Shared::default();
    let mut writer = QlogWriter::new(Box::new(out.clone()), &QlogTrace::new("dc.sender", Role::Server));
    let header = unhex("41 c0ffee0011223344 0102");
    let mut observe =
        |ms: u64, event: TransportEvent<'_>| writer.observe(Time::from_nanos(ms * 1_000_000), &event);
    for number in 0..10_u64 {
        // STREAM frame of stream 4 with offset and length: 1,000 bytes each
        let mut payload = unhex("0e 04");
        crate::support::varint(&mut payload, number * 1000);
        crate::support::varint(&mut payload, 1000);
        payload.resize(payload.len() + 1000, 0);
        let space = PacketSpace::OneRtt;
        observe(
            number * 10,
            TransportEvent::PacketSent { space, path: 0, number, header: &header, payload: &payload },
        );
        let cwnd_bytes = 12_000 + number;
        let state = RecoveryState {
            cwnd_bytes,
            srtt_ns: Some(20_500_000),
            phase: Some(Phase::SlowStart),
            ..Default::default()
        };
        observe(number * 10, TransportEvent::Recovery(state));
    }
    let ack = unhex("02 09 00 01 04 00 03"); // 5 to 9 and 0 to 3
    let received = TransportEvent::PacketReceived {
        path: 0,
        space: PacketSpace::OneRtt,
        number: 1,
        header: &header,
        payload: &ack,
    };
    observe(110, received);
    observe(110, TransportEvent::PacketsLost { space: PacketSpace::OneRtt, path: 0, numbers: &[4] });
    writer.finish().unwrap();
    let found = inspect(&out.bytes(), 1000).unwrap();
    assert_has(
        &json!(found),
        &json!([{
            "format": "qlog quic-13 (JSON text sequence)", "vantage": "server", "stack": null,
            "start_ms": 0.0, "duration_ms": 110.0,
            "counts": {
                "packets_sent": 10, "packets_received": 1, "packets_lost": 1, "stream_bytes_sent": 10_000,
                "skipped": {}, "malformed": 0, "truncated_at_byte": null,
            },
            "acks": {"largest": [9], "newly": [9], "ends": [[3]]},
            "lost": {"number": [4], "space": [3], "time_ms": [110.0]},
            "phases": [{"time_ms": 0.0, "state": "slow_start"}],
            "recovery": {"cwnd_bytes": (12_000..12_010).collect::<Vec<u64>>()},
            "streams": [{"id": 4, "unique_bytes": 10_000, "frames_of": 10}],
            // 80,000 bits in 90 ms; 10 packets for an ACK
            "derived": {"goodput_mbps": 0.8889, "loss_percent": 10.0, "ack_ratio": 10.0, "mean_rtt_ms": 20.5},
            "sampling": {"packets": {"shown": 11, "of": 11, "how": "all"}},
        }]),
    );
}

/// 20,000 packets of a run, of which some hundred are shown: all losses and phases, and every spike.
#[test]
fn a_long_log_is_sampled() {
    use std::fmt::Write;
    let mut log = "{\"qlog_version\":\"0.3\",\"trace\":{}}\n".to_owned();
    for number in 0..20_000 {
        let time = f64::from(number) / 10.0;
        let cwnd = if number == 7_777 { 999_999 } else { 10_000 + number % 10 };
        writeln!(
            log,
            "{{\"time\":{time},\"name\":\"transport:packet_sent\",\"data\":{{\"header\":{{\"packet_type\":\"1RTT\",\
             \"packet_number\":{number}}},\"raw\":{{\"length\":1200}},\"frames\":[{{\"frame_type\":\"stream\",\
             \"stream_id\":0,\"offset\":{},\"length\":1000}}]}}}}\n\
             {{\"time\":{time},\"name\":\"recovery:metrics_updated\",\"data\":{{\"congestion_window\":{cwnd}}}}}",
            number * 1000,
        )
        .unwrap();
        if number % 1_000 == 13 {
            writeln!(
                log,
                "{{\"time\":{time},\"name\":\"recovery:packet_lost\",\"data\":{{\"header\":{{\"packet_type\":\
                 \"1RTT\",\"packet_number\":{}}}}}}}\n{{\"time\":{time},\"name\":\
                 \"recovery:congestion_state_updated\",\"data\":{{\"new\":\"state {number}\"}}}}",
                number - 3,
            )
            .unwrap();
        }
    }
    let found = &inspect(log.as_bytes(), 400).unwrap()[0];
    let numbers =
        |value: &Value| -> Vec<u64> { value.as_array().unwrap().iter().filter_map(Value::as_u64).collect() };
    let sent = numbers(&found["packets_sent"]["number"]);
    assert!((200..=420).contains(&sent.len()), "{} packets", sent.len());
    let lost = numbers(&found["lost"]["number"]);
    assert_eq!(lost, (0..20).map(|index| index * 1_000 + 10).collect::<Vec<u64>>());
    assert!(lost.iter().all(|number| sent.contains(number)), "lost packets are shown where they were sent");
    // 400 points are 50 buckets of 400 packets: none of them is empty
    for bucket in 0..50 {
        let shown = sent.iter().filter(|&&number| number / 400 == bucket).count();
        assert!((4..=9).contains(&shown), "{shown} packets of bucket {bucket}");
    }
    assert_eq!(found["phases"].as_array().unwrap().len(), 20);
    let cwnd = numbers(&found["recovery"]["cwnd_bytes"]);
    assert!(cwnd.contains(&999_999) && cwnd.contains(&10_000) && cwnd.len() <= 400, "{} rows", cwnd.len());
    assert_has(
        found,
        &json!({
            "counts": {"packets_sent": 20_000, "packets_lost": 20, "bytes_sent": 24_000_000, "events": 40_040},
            "sampling": {
                "packets": {"shown": sent.len(), "of": 20_000}, "lost": {"shown": 20, "of": 20, "how": "all"},
                "series": {"shown": cwnd.len(), "of": 20_000}, "stream_frames": {"of": 20_000},
            },
        }),
    );
    assert_ne!(found["sampling"]["packets"]["how"], "all");
}

#[test]
fn what_is_no_qlog_is_told() {
    for (text, found) in [
        (&b""[..], "an empty file"),
        (b"\x1f\x8b\x08\0", "compressed by gzip"),
        (b"time,cwnd\n1,2\n", "starts with \"time,cwnd\\n1,2\\n\""),
        (b"{\"scenario\":{\"name\":1},\"seed\":7}", "with the fields `scenario`, `seed`"),
        (b"{\"constants\":{\"a\":1},\"events\":[{\"phase\":0,\"type\":3}]}", "NetLog"),
        (b"{\"qlog_version\":\"0.3\",\"traces\":[", "header of a qlog file without a trace"),
        (b"[1,2,3]", "starts with \"[1,2,3]\""),
    ] {
        let error = inspect(text, 1000).unwrap_err().to_string();
        assert!(error.contains(found) && error.starts_with("x.qlog: expected a qlog file"), "{error}");
        assert!(error.contains("`qlog_version` or `file_schema`"), "says what is expected: {error}");
    }
    let error =
        inspect_qlog(Path::new("no/such.qlog"), 1000, &mut |_, _| ControlFlow::Continue(())).unwrap_err();
    assert!(matches!(&error, InspectError::Io { file, .. } if file == "no/such.qlog"), "{error}");
}

#[test]
fn progress_is_told_and_can_stop_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/03-aioquic.qlog");
    let bytes = std::fs::metadata(&path).unwrap().len();
    let mut told = vec![];
    inspect_qlog(&path, 1000, &mut |done, total| {
        told.push((done, total));
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(told.is_sorted() && told.contains(&(bytes, 2 * bytes)), "{told:?}");
    assert_eq!(told.last(), Some(&(2 * bytes, 2 * bytes)));
    let stopped = inspect_qlog(&path, 1000, &mut |_, _| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(InspectError::Interrupted)));
}
