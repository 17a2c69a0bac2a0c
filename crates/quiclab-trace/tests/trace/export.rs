//! Export to qlog 0.3: the short log reviewed by hand, every kind of frame, cut-off and foreign input.

use quiclab_trace::qlog::{EVENT_SCHEMA, ExportError, Exported, FILE_SCHEMA, export_qlog_03};
use serde_json::{Value, json};

const SHORT: &[u8] = include_bytes!("../golden/short.sqlog");

fn export(inputs: &[&[u8]]) -> (Exported, Value) {
    let mut out = Vec::new();
    let exported = export_qlog_03(inputs.iter().copied(), &mut out).unwrap();
    (exported, serde_json::from_slice(&out).unwrap())
}

/// The header of the short log, as a record.
fn header() -> &'static [u8] {
    &SHORT[..1 + SHORT[1..].iter().position(|&byte| byte == 0x1e).unwrap()]
}

/// One event with these frames, exported.
fn exported_frames(frames: Value) -> Value {
    let event = json!({"time": 1, "name": "quic:packet_sent", "data": {"frames": frames}});
    let log = [header(), format!("\x1e{event}\n").as_bytes()].concat();
    export(&[&log]).1["traces"][0]["events"][0]["data"]["frames"].clone()
}

#[test]
fn short_log_is_as_reviewed() {
    let (exported, file) = export(&[SHORT]);
    assert_eq!(exported, Exported { traces: 1, events: 8, truncated: vec![] });
    let reviewed: Value = serde_json::from_str(include_str!("../golden/short.qlog")).unwrap();
    assert_eq!(file, reviewed, "{file:#}");
}

#[test]
fn several_inputs_are_several_traces() {
    let (exported, file) = export(&[SHORT, SHORT]);
    assert_eq!(exported, Exported { traces: 2, events: 16, truncated: vec![] });
    assert_eq!(file["traces"][0], file["traces"][1]);
    assert_eq!(file["traces"].as_array().unwrap().len(), 2);
}

/// The fields of draft-ietf-quic-qlog-quic-events-01 appendix A.10.
#[test]
fn frames_have_the_old_fields() {
    for (new, old) in [
        (
            json!({"frame_type": "ack", "ack_delay": 0.4, "acked_ranges": [[5, 7], [3], [0, 1]]}),
            json!({"frame_type": "ack", "ack_delay": 0.4, "acked_ranges": [[0, 1], [3, 3], [5, 7]]}),
        ),
        (
            json!({"frame_type": "stream", "stream_id": 4, "raw": {"length": 5, "payload_length": 5}}),
            json!({"frame_type": "stream", "stream_id": 4, "offset": 0, "length": 5, "payload_length": 5}),
        ),
        (
            json!({"frame_type": "padding", "raw": {"payload_length": 9}}),
            json!({"frame_type": "padding", "length": 9}),
        ),
        (
            json!({"frame_type": "new_token", "token": {"raw": {"length": 9}}}),
            json!({"frame_type": "new_token", "token": {"length": 9}}),
        ),
        (
            json!({"frame_type": "new_connection_id", "stateless_reset_token": "00ff"}),
            json!({"frame_type": "new_connection_id",
                   "stateless_reset_token": {"type": "stateless_reset", "data": "00ff"}}),
        ),
        (
            json!({"frame_type": "reset_stream", "stream_id": 4, "error": "unknown", "error_code": 3}),
            json!({"frame_type": "reset_stream", "stream_id": 4, "error_code": 3}),
        ),
        (
            json!({"frame_type": "connection_close", "error": "unknown", "error_code": 4779}),
            json!({"frame_type": "connection_close", "error_code": "unknown", "raw_error_code": 4779}),
        ),
        (
            json!({"frame_type": "unknown", "frame_type_bytes": 62, "raw": {"length": 4}}),
            json!({"frame_type": "unknown", "raw_frame_type": 62, "raw_length": 4}),
        ),
        (json!({"frame_type": "ping"}), json!({"frame_type": "ping"})),
    ] {
        assert_eq!(exported_frames(json!([new])), json!([old]), "{new}");
    }
}

#[test]
fn a_killed_run_loses_its_last_record_only() {
    let cut = &SHORT[..SHORT.len() - 5];
    let (exported, file) = export(&[cut, SHORT]);
    assert_eq!(exported, Exported { traces: 2, events: 15, truncated: vec![0] });
    assert_eq!(file["traces"][0]["events"].as_array().unwrap().len(), 7);
}

/// Both endpoints of a connection, of other stacks and drafts, in one file: joined by `ODCID` and `group_id`.
#[test]
fn files_of_other_stacks() {
    let client = json!({
        "qlog_version": "draft-00",
        "traces": [{
            "vantage_point": {"type": "CLIENT"},
            "title": "picoquic",
            "event_fields": ["relative_time", "path_id", "category", "event", "data"],
            "configuration": {"time_units": "us", "time_offset": 500},
            "common_fields": {"reference_time": "1600000000000000"},
            "events": [
                [1500, 0, "transport", "packet_sent", {"packet_type": "initial", "header": {
                    "packet_size": 1252, "packet_number": "0", "dcid": "8394C8F03E515708"
                }, "frames": [{"frame_type": "crypto", "offset": 0, "length": 4}]}],
                [41500, 1, "recovery", "metrics_updated", {"cwnd": 15360}],
            ],
        }],
    });
    let server = format!(
        "{}\n{}\n",
        json!({
            "qlog_version": "0.4",
            "qlog_format": "NDJSON",
            "trace": {"vantage_point": {"type": "server"}, "common_fields": {"group_id": "8394c8f03e515708"}},
        }),
        json!({"time": 20.25, "name": "quic:packet_received", "data": {
            "header": {"packet_type": "initial", "packet_number": 0},
            "raw": {"length": 1252},
            "frames": [{"frame_type": "padding", "raw": {"payload_length": 9}}],
        }}),
    );
    let (exported, file) = export(&[server.as_bytes(), client.to_string().as_bytes()]);
    assert_eq!(exported, Exported { traces: 2, events: 3, truncated: vec![] });
    let original = "8394c8f03e515708";
    assert_eq!(
        file["traces"],
        json!([
            {
                "title": "",
                "vantage_point": {"type": "server"},
                "common_fields": {
                    "protocol_type": ["QUIC"], "time_format": "relative", "ODCID": original, "group_id": original,
                },
                "events": [{"time": 20.25, "name": "transport:packet_received", "data": {
                    "header": {"packet_type": "initial", "packet_number": 0},
                    "raw": {"length": 1252},
                    "frames": [{"frame_type": "padding", "length": 9}],
                }}],
            },
            {
                "title": "picoquic",
                "vantage_point": {"type": "client"},
                "common_fields": {
                    "protocol_type": ["QUIC"], "time_format": "relative", "reference_time": 1_600_000_000_000.5,
                    "ODCID": original, "group_id": original,
                },
                "events": [
                    {"time": 1.5, "name": "transport:packet_sent", "path_id": 0, "data": {
                        "header": {"packet_type": "initial", "packet_number": 0, "dcid": "8394C8F03E515708"},
                        "raw": {"length": 1252},
                        "frames": [{"frame_type": "crypto", "offset": 0, "length": 4}],
                    }},
                    {"time": 41.5, "name": "recovery:metrics_updated", "path_id": 1, "data": {"cwnd": 15360}},
                ],
            },
        ])
    );
}

/// The schema of quiclab's files is that of all files of records: in those of other stacks times may be differences, and have
/// another origin.
#[test]
fn times_of_records_that_others_have_written() {
    let epoch = |epoch: &str| json!({"clock_type": "system", "epoch": epoch});
    let year = 1_577_836_800_000_u64; // from `date -u -d 2020-01-01 +%s`
    let date = "2020-01-01T00:00:00.000Z";
    for (format, reference, times, expected, zero_ms) in [
        ("relative_to_previous_event", epoch(date), [5, 10, 10], [5.0, 15.0, 25.0], year),
        ("relative_to_epoch", epoch(date), [5, 10, 12], [5.0, 10.0, 12.0], year),
        (
            "relative_to_epoch",
            epoch("1970-01-01T00:00:00.000Z"),
            [year + 5, year + 10, year + 12],
            [0.0, 5.0, 7.0],
            year + 5,
        ),
        (
            "relative_to_epoch",
            json!({"clock_type": "monotonic", "epoch": "unknown", "wall_clock_time": date}),
            [5, 10, 12],
            [5.0, 10.0, 12.0],
            year,
        ),
    ] {
        let header = json!({
            "file_schema": FILE_SCHEMA,
            "serialization_format": "application/qlog+json-seq",
            "title": "",
            "trace": {
                "vantage_point": {"name": "x", "type": "server"},
                "common_fields": {"time_format": format, "reference_time": reference},
                "event_schemas": [EVENT_SCHEMA],
            },
        });
        let mut log = format!("\x1e{header}\n");
        for time in times {
            let event = json!({"time": time, "name": "quic:packet_sent", "data": {"frames": []}});
            log += &format!("\x1e{event}\n");
        }
        let (exported, file) = export(&[log.as_bytes()]);
        assert_eq!(exported, Exported { traces: 1, events: 3, truncated: vec![] });
        let trace = &file["traces"][0];
        let events = trace["events"].as_array().unwrap();
        let found: Vec<_> = events.iter().map(|event| event["time"].as_f64()).collect();
        assert_eq!(found, expected.map(Some), "{header}");
        assert_eq!(trace["common_fields"]["reference_time"].as_f64(), Some(zero_ms as f64), "{header}");
    }
}

#[test]
fn what_is_not_our_qlog_is_refused() {
    let error = |input: &[u8]| export_qlog_03([input], Vec::new()).unwrap_err();
    assert!(matches!(error(b""), ExportError::NoHeader { input: 1 }));
    assert!(matches!(error(b"\x1e{\"qlog_version\":\"0.3\"}\n"), ExportError::NoHeader { input: 1 }));
    let broken = [header(), b"\x1e{\"time\":}\n\x1e{}\n"].concat();
    let error = error(&broken);
    assert!(matches!(error, ExportError::Json { input: 1, record: 2, .. }), "{error:?}");
    assert_eq!(error.to_string(), "record 2 of input 1 is not JSON");
}
