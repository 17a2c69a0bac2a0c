//! Export of qlog files to qlog 0.3, the version that qvis reads: quiclab's files here, those of other stacks
//! in `foreign.rs`.
//!
//! From draft-ietf-quic-qlog-quic-events-13 back to draft-ietf-quic-qlog-main-schema-01 and
//! draft-ietf-quic-qlog-quic-events-01 (version "0.3"). Unlike the writer this is not a hot path:
//! it reads record by record into JSON trees and holds one record at a time.
//!
//! | quic-events-13 | 0.3 |
//! | --- | --- |
//! | `quic:packet_sent` | `transport:packet_sent`, likewise for all events except the next two |
//! | `quic:recovery_metrics_updated` | `recovery:metrics_updated` |
//! | `quic:congestion_state_updated` | `recovery:congestion_state_updated` |
//! | `quic:packet_lost` | `recovery:packet_lost` |
//! | `raw` of a frame or token | `length` and `payload_length` of its own |
//! | `error`, `error_code` | `error_code`; of CONNECTION_CLOSE also `raw_error_code` |
//! | `frame_type_bytes` | `raw_frame_type`, `raw_length` |
//! | ACK range `[7]` | `[7,7]`: not all tools of that time read the short form |

use super::convert::convert_event;
use super::exported::{ExportError, Exported, FOREIGN_BYTES_MAX};
use super::{QlogTrace, RECORD_SEPARATOR, foreign};
use crate::EPOCH_UNIX_SECONDS;
use quiclab_core::Role;
use serde_json::{Value, json};
use std::io::{self, BufRead, Read, Write};

/// Maximum length of a header that is recognised as quiclab's.
const HEADER_BYTES_MAX: u64 = 1 << 20;

/// Converts files written by [`super::QlogWriter`], or by others in any draft, to one qlog 0.3 file with all their
/// traces; with both endpoints of a connection in one file, qvis draws its sequence diagram.
///
/// # Errors
/// See [`ExportError`]. The output is then incomplete.
pub fn export_qlog_03<R: BufRead>(
    inputs: impl IntoIterator<Item = R>,
    mut out: impl Write,
) -> Result<Exported, ExportError> {
    let mut exported = Exported::default();
    out.write_all(b"{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON\",\"traces\":[")?;
    for (index, mut input) in inputs.into_iter().enumerate() {
        let number = index as u64 + 1;
        let failed = |source| ExportError::Read { input: number, source };
        let mut file = first_record(&mut input).map_err(failed)?;
        if let Some(header) = own_header(&file) {
            exported.traces += 1;
            if exported.traces > 1 {
                out.write_all(b",")?;
            }
            let records = Records { input, number, record: 1, bytes: Vec::new() };
            trace(&header, records, &mut out, &mut exported)?;
        } else {
            let left = FOREIGN_BYTES_MAX + 1 - file.len() as u64;
            input.take(left).read_to_end(&mut file).map_err(failed)?;
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

/// Reads a file up to the separator after its first record.
fn first_record(input: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut input = input.take(HEADER_BYTES_MAX);
    for _ in 0..2 {
        input.read_until(RECORD_SEPARATOR, &mut head)?;
    }
    Ok(head)
}

/// Header of a file, if it equals the one that [`super::QlogWriter`] writes byte by byte: the schema alone is that of every
/// file of records, whose times may have another format or origin.
fn own_header(head: &[u8]) -> Option<Value> {
    let record = head.strip_suffix(&[RECORD_SEPARATOR]).unwrap_or(head);
    let header: Value = serde_json::from_slice(record.strip_prefix(&[RECORD_SEPARATOR])?).ok()?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let trace = &header["trace"];
    let vantage_point = &trace["vantage_point"];
    let role = match vantage_point["type"].as_str()? {
        "client" => Role::Client,
        "server" => Role::Server,
        _ => return None,
    };
    let trace = QlogTrace {
        title: text(&header["title"])?,
        group_id: text(&trace["common_fields"]["group_id"]),
        ..QlogTrace::new(text(&vantage_point["name"])?, role)
    };
    let mut own = Vec::new();
    super::header(&mut own, &trace);
    (own == record).then_some(header)
}

fn trace(
    header: &Value,
    mut records: Records<impl BufRead>,
    out: &mut impl Write,
    exported: &mut Exported,
) -> Result<(), ExportError> {
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
            exported.truncated.push(records.number as usize - 1);
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
    /// The last record of the input, which is truncated.
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
            let read = self.input.read_until(RECORD_SEPARATOR, &mut self.bytes);
            if read.map_err(|source| ExportError::Read { input: self.number, source })? == 0 {
                return Ok(None);
            }
            let followed = self.bytes.pop_if(|byte| *byte == RECORD_SEPARATOR).is_some();
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
