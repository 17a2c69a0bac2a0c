//! Export of qlog files of other stacks and drafts to version 0.3: events that [`crate::inspect`] reads.
//!
//! | in the file | in the export |
//! | --- | --- |
//! | trace | a trace, with its original connection ID as `ODCID` and `group_id`: the same for both endpoints |
//! | event as a list (draft-00, draft-01) | an object; `name` from category and event |
//! | `quic:`, `h3:` and the names of later drafts | those of 0.3 |
//! | times of any format and unit | relative, in milliseconds; `reference_time` where it is known |
//! | `packet_type` and sizes next to the header or in it | `header.packet_type`, `raw.length` |
//! | all else | unchanged |

use super::convert::convert_event;
use super::exported::{ExportError, Exported};
use crate::inspect::{Described, Event, Sink, read_document};
use serde_json::{Map, Value, json};
use std::io::Write;

/// Time and connection of the last event.
#[derive(Default)]
struct Last(Option<f64>);

impl Sink for Last {
    fn event(&mut self, _: usize, time_ms: f64, _: Event<'_>) {
        self.0 = Some(time_ms);
    }
}

/// Writes the traces of a file, each after a comma unless it is the first of all; `false` if the file is no qlog.
///
/// # Errors
/// Errors of `out`.
pub(super) fn traces(
    file: &[u8],
    input: usize,
    out: &mut impl Write,
    exported: &mut Exported,
) -> Result<bool, ExportError> {
    let Some((mut decoder, traces)) = Described::of(file) else { return Ok(false) };
    let (mut index, mut separator, mut failed) = (None, "", Ok(()));
    let ending = read_document(file, |piece| {
        let mut last = Last::default();
        let (begins, event) = (piece.is_trace(), piece.event());
        decoder.take(piece, &mut last);
        if failed.is_err() {
            return;
        }
        if begins {
            let next = index.map_or(0, |index| index + 1);
            if let Some(trace) = traces.get(next) {
                failed = begin(trace, index.is_some(), out, exported);
            }
            (index, separator) = (Some(next), "");
        } else if let (Some(json), Some(time_ms), Some(trace)) =
            (event, last.0, index.and_then(|index| traces.get(index)))
            && let Some(event) = converted(json, time_ms, trace)
        {
            failed = write!(out, "{separator}{event}");
            separator = ",";
            exported.events += 1;
        }
    })?;
    failed?;
    if index.is_some() && !traces.is_empty() {
        out.write_all(b"]}")?;
    }
    if ending.stopped_at.is_some() {
        exported.truncated.push(input);
    }
    Ok(true)
}

/// Ends the previous trace and begins one.
fn begin(
    trace: &Described,
    further: bool,
    out: &mut impl Write,
    exported: &mut Exported,
) -> std::io::Result<()> {
    if further {
        out.write_all(b"]}")?;
    }
    if exported.traces > 0 {
        out.write_all(b",")?;
    }
    exported.traces += 1;
    let mut common = Map::new();
    common.insert("protocol_type".into(), json!(["QUIC"]));
    common.insert("time_format".into(), "relative".into());
    if let Some(zero_ms) = trace.zero_ms {
        common.insert("reference_time".into(), json!(zero_ms));
    }
    if let Some(original) = &trace.original {
        common.insert("ODCID".into(), original.as_str().into());
        common.insert("group_id".into(), original.as_str().into());
    }
    let mut header = json!({
        "title": trace.title,
        "vantage_point": {"type": trace.vantage},
        "common_fields": common,
    })
    .to_string();
    header.pop(); // the closing brace: the events follow
    write!(out, "{header},\"events\":[")
}

/// An event as an object of 0.3; `None` if it is not an event.
fn converted(json: &[u8], time_ms: f64, trace: &Described) -> Option<Value> {
    let mut event = match serde_json::from_slice(json).ok()? {
        Value::Array(places) => listed(places, trace),
        Value::Object(fields) => fields,
        _ => return None,
    };
    for key in ["relative_time", "delta_time", "time_format", "reference_time"] {
        event.remove(key);
    }
    event.insert("time".into(), json!((time_ms * 1e6).round() / 1e6));
    let data = event.entry("data").or_insert_with(|| json!({}));
    if let Value::Object(data) = data {
        unified(data);
    }
    let mut event = Value::Object(event);
    convert_event(&mut event);
    let name = event["name"].as_str().unwrap_or_default().to_ascii_lowercase();
    event["name"] = name.replacen("h3:", "http:", 1).into();
    Some(event)
}

/// Fields of an event that is a list: `event_fields` defines the meaning of each position.
fn listed(places: Vec<Value>, trace: &Described) -> Map<String, Value> {
    let mut event = Map::new();
    let (mut category, mut kind) = (String::new(), String::new());
    for (value, name) in places.into_iter().zip(&trace.event_fields) {
        match (name.to_ascii_lowercase().as_str(), value) {
            ("category", Value::String(text)) => category = text,
            ("event" | "event_type" | "type", Value::String(text)) => kind = text,
            ("data" | "trigger", value @ Value::Object(_)) => drop(event.insert("data".into(), value)),
            ("time" | "relative_time" | "delta_time" | "trigger", _) => {}
            (name, value) => drop(event.insert(name.to_owned(), value)),
        }
    }
    event.insert("name".into(), format!("{category}:{kind}").into());
    event
}

/// Puts the type of a packet into its header and its size into `raw`.
fn unified(data: &mut Map<String, Value>) {
    let Some(Value::Object(header)) = data.get_mut("header") else { return };
    let size = header.remove("packet_size");
    if let Some(number) =
        header.get("packet_number").and_then(Value::as_str).and_then(|text| text.parse::<u64>().ok())
    {
        header.insert("packet_number".into(), number.into());
    }
    let kind = data.remove("packet_type");
    let size = size.or_else(|| data.remove("packet_size"));
    if let (Some(kind), Some(Value::Object(header))) = (kind, data.get_mut("header")) {
        header.entry("packet_type").or_insert(kind);
    }
    if let Some(size) = size {
        let raw = data.entry("raw").or_insert_with(|| json!({}));
        if let Value::Object(raw) = raw {
            raw.entry("length").or_insert(size);
        }
    }
}
