//! Conversion of events of later drafts to qlog 0.3.

use serde_json::{Map, Value, json};

pub(super) fn convert_event(event: &mut Value) {
    let name = match event["name"].as_str() {
        Some("quic:recovery_metrics_updated") => "recovery:metrics_updated".to_owned(),
        Some("quic:congestion_state_updated") => "recovery:congestion_state_updated".to_owned(),
        Some("quic:packet_lost") => "recovery:packet_lost".to_owned(),
        Some(name) => name.replacen("quic:", "transport:", 1),
        None => return,
    };
    event["name"] = name.into();
    let data = &mut event["data"];
    if let Some(token) = data.pointer_mut("/header/token") {
        flatten_raw(token);
    }
    for frame in data.get_mut("frames").and_then(Value::as_array_mut).into_iter().flatten() {
        convert_frame(frame);
    }
}

fn convert_frame(frame: &mut Value) {
    flatten_raw(frame);
    let Value::Object(fields) = frame else { return };
    match fields.get("frame_type").and_then(Value::as_str).unwrap_or_default() {
        "ack" | "path_ack" => change(fields, "acked_ranges", ascending_pairs),
        // "These two MUST always be set": offset and length.
        "stream" => {
            fields.entry("offset").or_insert(json!(0));
        }
        // PADDING has no header: its payload is the frame.
        "padding" => rename(fields, "payload_length", "length"),
        "new_token" => change(fields, "token", flatten_raw),
        "new_connection_id" => change(fields, "stateless_reset_token", |token| {
            *token = json!({"type": "stateless_reset", "data": *token});
        }),
        // Application errors have no names here: `error` always says "unknown".
        "reset_stream" | "reset_stream_at" | "stop_sending" => {
            fields.remove("error");
        }
        "connection_close" => {
            rename(fields, "error_code", "raw_error_code");
            rename(fields, "error", "error_code");
        }
        "unknown" => {
            rename(fields, "frame_type_bytes", "raw_frame_type");
            rename(fields, "length", "raw_length");
        }
        _ => {}
    }
}

/// Moves the lengths in `raw` to the object itself.
fn flatten_raw(object: &mut Value) {
    let Value::Object(fields) = object else { return };
    if let Some(Value::Object(raw)) = fields.remove("raw") {
        fields.extend(raw);
    }
}

/// Renames a field if it is present.
fn rename(fields: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = fields.remove(from) {
        fields.insert(to.to_owned(), value);
    }
}

/// Changes a field if it is present.
fn change(fields: &mut Map<String, Value>, name: &str, by: impl FnOnce(&mut Value)) {
    if let Some(value) = fields.get_mut(name) {
        by(value);
    }
}

fn ascending_pairs(ranges: &mut Value) {
    for range in ranges.as_array_mut().into_iter().flatten() {
        if let Value::Array(ends) = range
            && ends.len() == 1
        {
            ends.push(ends[0].clone());
        }
    }
    if let Value::Array(ranges) = ranges {
        ranges.sort_by_key(|range| range[0].as_u64());
    }
}
