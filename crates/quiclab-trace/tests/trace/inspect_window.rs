//! A period of a long qlog file, event by event, and the flow control of its sender.

use quiclab_trace::inspect::{Selection, inspect_reader};
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// A sender whose packet `n` leaves at `n` ms with 10 B of stream data; credit for 1000 B, more from 150 ms on.
fn text() -> String {
    let mut lines = vec![
        json!({"qlog_version": "0.3", "trace": {"vantage_point": {"type": "server"}}}),
        json!({"time": 0, "name": "transport:parameters_set", "data": {"owner": "remote", "initial_max_data": 1000}}),
        json!({"time": 0, "name": "recovery:metrics_updated", "data": {"congestion_window": 5000, "min_rtt": 7}}),
    ];
    for n in 0..200 {
        if n == 150 {
            let frames = json!([{"frame_type": "max_data", "maximum": 9000}]);
            let header = json!({"packet_type": "1RTT", "packet_number": 0});
            lines.push(json!({"time": 150, "name": "transport:packet_received",
                              "data": {"header": header, "frames": frames}}));
        }
        if !(100..150).contains(&n) {
            let offset = if n < 100 { 10 * n } else { 10 * (n - 50) };
            let frame = json!({"frame_type": "stream", "stream_id": 0, "offset": offset, "length": 10});
            let header = json!({"packet_type": "1RTT", "packet_number": n});
            lines.push(json!({"time": n, "name": "transport:packet_sent",
                              "data": {"header": header, "raw": {"length": 40}, "frames": [frame]}}));
            lines.push(
                json!({"time": n, "name": "recovery:metrics_updated", "data": {"bytes_in_flight": 40 * n}}),
            );
        }
    }
    lines.iter().map(|line| format!("\x1e{line}\n")).collect()
}

fn inspect(text: &str, selection: Selection) -> Value {
    let json = inspect_reader(|| Ok(text.as_bytes()), "x", text.len() as u64, selection, &mut |_, _| {
        ControlFlow::Continue(())
    });
    serde_json::from_str::<Vec<Value>>(&json.unwrap()).unwrap().remove(0)
}

#[test]
fn a_window_has_every_event_of_its_time_and_counts_of_the_file() {
    let text = text();
    // the whole file has more than fit
    let part = inspect(&text, Selection { max_points: 100, window_ms: Some((60.0, 80.0)) });
    let numbers: Vec<u64> = (60..=80).collect();
    assert_eq!(part["packets_sent"]["number"], json!(numbers));
    assert_eq!(
        part["streams"][0]["frames"]["offset"],
        json!(numbers.iter().map(|n| 10 * n).collect::<Vec<_>>())
    );
    assert_eq!(part["sampling"]["packets"], json!({"shown": 21, "of": 21, "how": "all"}));
    assert_eq!(part["sampling"]["stream_frames"], json!({"shown": 21, "of": 21, "how": "all"}));
    // the values at the beginning come first
    assert_eq!(part["recovery"]["time_ms"][0], 60.0);
    assert_eq!(part["recovery"]["cwnd_bytes"][0], 5000);
    assert_eq!(part["recovery"]["min_rtt_ms"][0], 7.0);
    assert_eq!(part["recovery"]["in_flight_bytes"][0], 40 * 59);
    assert_eq!(part["recovery"]["time_ms"].as_array().unwrap().len(), 22);
    // nothing changes from 99 ms to 150 ms
    let quiet = inspect(&text, Selection { max_points: 100, window_ms: Some((110.0, 120.0)) });
    assert_eq!(quiet["recovery"]["time_ms"], json!([110.0]));
    assert_eq!(quiet["recovery"]["in_flight_bytes"], json!([40 * 99]));
    let whole = inspect(&text, Selection::from(1000));
    for key in ["counts", "derived", "flow_control", "packet_sizes", "duration_ms"] {
        assert_eq!(part[key], whole[key], "{key}");
    }
    assert_eq!(whole["packets_sent"]["number"].as_array().unwrap().len(), 150);
}

#[test]
fn credit_ends_and_is_raised() {
    let found = inspect(&text(), Selection::from(1000));
    // the 100th packet has used 1000 B
    assert_eq!(found["flow_control"], json!({"time_ms": [99.0, 150.0], "change": [1, 0]}));
}
