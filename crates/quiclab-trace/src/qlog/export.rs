//! Export of qlog files to qlog 0.3, the version that qvis reads: of quiclab's here, of others in `foreign.rs`.
//!
//! From draft-ietf-quic-qlog-quic-events-13 back to draft-ietf-quic-qlog-main-schema-01 and
//! draft-ietf-quic-qlog-quic-events-01 (version "0.3"). Unlike the writer this is not a hot path:
//! it reads record by record into JSON trees and holds one record at a time.
//!
//! | quic-events-13 | 0.3 |
//! | --- | --- |
//! | `quic:packet_sent` | `transport:packet_sent`, so for all events but the next two |
//! | `quic:recovery_metrics_updated` | `recovery:metrics_updated` |
//! | `quic:congestion_state_updated` | `recovery:congestion_state_updated` |
//! | `quic:packet_lost` | `recovery:packet_lost` |
//! | `raw` of a frame or token | `length` and `payload_length` of its own |
//! | `error`, `error_code` | `error_code`; of CONNECTION_CLOSE also `raw_error_code` |
//! | `frame_type_bytes` | `raw_frame_type`, `raw_length` |
//! | ACK range `[7]` | `[7,7]`: not all tools of that time read the short form |

use super::foreign;
use crate::EPOCH_UNIX_SECONDS;
use serde_json::{Map, Value, json};
use std::io::{self, BufRead, Read, Write};
use thiserror::Error;

/// Longest input of another writer: it is read as a whole.
const FOREIGN_BYTES_MAX: u64 = 1 << 30;

/// What an export has written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Traces, one for each input.
    pub traces: u64,
    /// Events of all traces.
    pub events: u64,
    /// Indices of the inputs whose last record was truncated, as in the output of a killed run.
    pub truncated: Vec<usize>,
}

/// Why an export failed.
#[derive(Debug, Error)]
pub enum ExportError {
    /// Writing failed.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// Reading failed.
    #[error("input {input}: {source}")]
    Read {
        /// Number of the input, from 1.
        input: u64,
        /// What the operating system says.
        source: io::Error,
    },
    /// A record is not JSON.
    #[error("record {record} of input {input} is not JSON")]
    Json {
        /// Number of the input, from 1.
        input: u64,
        /// Number of the record, from 1; the header is record 1.
        record: u64,
        /// What the parser says.
        source: serde_json::Error,
    },
    /// Nothing in the input is qlog.
    #[error("input {input} is no qlog file")]
    NoHeader {
        /// Number of the input, from 1.
        input: u64,
    },
    /// An input of another writer, which is read as a whole, is too long.
    #[error("input {input} has more than 1 GiB and was not written by quiclab")]
    TooLong {
        /// Number of the input, from 1.
        input: u64,
    },
}

/// Converts files written by [`super::QlogWriter`], or by others in any draft, to one qlog 0.3 file with their traces;
/// both ends of a connection in one file let qvis draw its sequence diagram.
///
/// # Errors
/// See [`ExportError`]. What has been written by then is not a complete file.
pub fn export_qlog_03<R: BufRead>(
    inputs: impl IntoIterator<Item = R>,
    mut out: impl Write,
) -> Result<Exported, ExportError> {
    let mut exported = Exported::default();
    out.write_all(b"{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON\",\"traces\":[")?;
    for (index, mut input) in inputs.into_iter().enumerate() {
        let number = index as u64 + 1;
        let failed = |source| ExportError::Read { input: number, source };
        let head = input.fill_buf().map_err(failed)?;
        if head.windows(super::FILE_SCHEMA.len()).any(|window| window == super::FILE_SCHEMA.as_bytes()) {
            exported.traces += 1;
            if exported.traces > 1 {
                out.write_all(b",")?;
            }
            trace(input, number, &mut out, &mut exported)?;
        } else {
            let mut file = Vec::new();
            input.take(FOREIGN_BYTES_MAX + 1).read_to_end(&mut file).map_err(failed)?;
            if file.len() as u64 > FOREIGN_BYTES_MAX {
                return Err(ExportError::TooLong { input: number });
            }
            if !foreign::traces(&file, index, &mut out, &mut exported)? {
                return Err(ExportError::NoHeader { input: number });
            }
        }
    }
    out.write_all(b"]}\n")?;
    out.flush()?;
    Ok(exported)
}

fn trace(
    input: impl BufRead,
    number: u64,
    out: &mut impl Write,
    exported: &mut Exported,
) -> Result<(), ExportError> {
    let no_header = ExportError::NoHeader { input: number };
    let mut records = Records { input, number, record: 0, bytes: Vec::new() };
    let Some(Record::Complete(header)) = records.next()? else { return Err(no_header) };
    if header["file_schema"] != super::FILE_SCHEMA {
        return Err(no_header);
    }
    let mut old = json!({
        "title": header["title"],
        "vantage_point": header["trace"]["vantage_point"],
        "common_fields": {
            "protocol_type": ["QUIC"],
            "time_format": "relative",
            "reference_time": EPOCH_UNIX_SECONDS * 1000,
        },
    })
    .to_string();
    old.pop(); // the closing brace: the events follow
    write!(out, "{old},\"events\":[")?;
    let mut separator = "";
    while let Some(record) = records.next()? {
        let Record::Complete(mut event) = record else {
            exported.truncated.push(number as usize - 1);
            break;
        };
        convert_event(&mut event);
        write!(out, "{separator}{event}")?;
        separator = ",";
        exported.events += 1;
    }
    out.write_all(b"]}")?;
    Ok(())
}

enum Record {
    Complete(Value),
    /// The last record of the input, which ends in the middle.
    CutOff,
}

/// The records of a JSON text sequence (RFC 7464).
struct Records<R> {
    input: R,
    /// Number of the input and of the last record, for error messages.
    number: u64,
    record: u64,
    bytes: Vec<u8>,
}

impl<R: BufRead> Records<R> {
    fn next(&mut self) -> Result<Option<Record>, ExportError> {
        loop {
            self.bytes.clear();
            let read = self.input.read_until(super::RECORD_SEPARATOR, &mut self.bytes);
            if read.map_err(|source| ExportError::Read { input: self.number, source })? == 0 {
                return Ok(None);
            }
            let followed = self.bytes.pop_if(|byte| *byte == super::RECORD_SEPARATOR).is_some();
            let record = self.bytes.trim_ascii();
            if record.is_empty() {
                continue; // before the first separator
            }
            self.record += 1;
            return match serde_json::from_slice(record) {
                Ok(value) => Ok(Some(Record::Complete(value))),
                Err(_) if !followed => Ok(Some(Record::CutOff)),
                Err(source) => Err(ExportError::Json { input: self.number, record: self.record, source }),
            };
        }
    }
}

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

/// Renames a field where it is there.
fn rename(fields: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = fields.remove(from) {
        fields.insert(to.to_owned(), value);
    }
}

/// Changes a field where it is there.
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
