//! qlog: events of a QUIC transport as JSON text sequences.
//!
//! After draft-ietf-quic-qlog-main-schema-14 (file schema `sequential`, RFC 7464 records) and
//! draft-ietf-quic-qlog-quic-events-13 (events), both of July 2026. Later drafts may rename fields: the
//! header of a file specifies its draft. `schema/qlog-sequential.schema.json` is the part used here as a JSON
//! schema, against which the tests check every record.
//!
//! | transport event | qlog event |
//! | --- | --- |
//! | packet sent, received | `quic:packet_sent`, `quic:packet_received` with all frames |
//! | packets lost | one `quic:packet_lost` for each packet |
//! | recovery state | `quic:congestion_state_updated` if the phase has changed, then |
//! | | `quic:recovery_metrics_updated` with the metrics that have changed |
//! | acknowledgement received | none: the ACK frame is in its packet |
//! | secret | none: secrets belong in the capture, see [`crate::pcapng`] |
//!
//! The recovery event has three metrics of quiclab in addition to the draft's, `lost_packets`,
//! `spurious_losses` and `congestion_events` ("can contain any number of unspecified fields"). Congestion
//! states are the phases of [`Phase`](quiclab_core::Phase) by name: the draft leaves them to the algorithm.
//!
//! Each event is written without a serialiser into one reusable buffer: a simulation with qlog at both
//! endpoints must not take twice the time of one without.

mod convert;
mod export;
mod exported;
mod foreign;
mod frame;
mod json;
mod packet;

pub use export::export_qlog_03;
pub use exported::{ExportError, Exported};

use crate::EPOCH_UNIX_SECONDS;
use json::{decimal, raw, string, uint};
use packet::TransportPacket;
use quiclab_core::{RecoveryState, Role, Time, TransportEvent, TransportObserver};
use std::io::{self, Write};
use std::sync::{Arc, OnceLock};

/// Schema of the events; an implementation of a draft appends the draft's number.
pub const EVENT_SCHEMA: &str = "urn:ietf:params:qlog:events:quic-13";
/// Schema of the file.
pub const FILE_SCHEMA: &str = "urn:ietf:params:qlog:file:sequential";
/// First byte of every record (RFC 7464 section 2.2).
const RECORD_SEPARATOR: u8 = 0x1e;
/// The buffer is written to the output once it has this many bytes.
const FLUSH_BYTES: usize = 1 << 16;
// The header states the epoch as text.
const _: () = assert!(EPOCH_UNIX_SECONDS == 946_684_800);
const WALL_CLOCK_TIME: &str = "2000-01-01T00:00:00.000Z";

/// Description of the trace in the header of a qlog file.
#[derive(Clone, Debug)]
pub struct QlogTrace {
    /// Title of the trace, such as the name of the scenario.
    pub title: String,
    /// Name of the vantage point, such as the name of the endpoint.
    pub name: String,
    /// Role of the vantage point in the connection.
    pub role: Role,
    /// Connection or flow that all events belong to, if several traces must be distinguished.
    pub group_id: Option<String>,
    /// Exponent by which the ACK Delay fields of both sides are scaled (RFC 9000 section 18.2).
    /// The transports here keep the default, 3.
    pub ack_delay_exponent: u8,
}

impl QlogTrace {
    /// Describes a trace of the endpoint `name` without title and group.
    #[must_use]
    pub fn new(name: impl Into<String>, role: Role) -> Self {
        Self { title: String::new(), name: name.into(), role, group_id: None, ack_delay_exponent: 3 }
    }
}

/// Writes the events of a transport as qlog.
///
/// An observer cannot fail, so the writer keeps the first error, writes nothing after it, and returns it from
/// [`QlogWriter::finish`]. Before the writer is passed on as a boxed observer, get its [`QlogStatus`].
/// Dropping the writer writes the remaining data.
pub struct QlogWriter {
    out: Box<dyn Write + Send>,
    /// Events not yet written to `out`.
    buffer: Vec<u8>,
    ack_delay_exponent: u8,
    /// Metrics as last logged; `None` before the first recovery event.
    logged: Option<RecoveryState>,
    status: QlogStatus,
}

/// Whether the output of a [`QlogWriter`] has failed.
#[derive(Clone, Debug, Default)]
pub struct QlogStatus(Arc<OnceLock<io::Error>>);

impl QlogStatus {
    /// First error of the output; `None` if there was none.
    #[must_use]
    pub fn error(&self) -> Option<&io::Error> {
        self.0.get()
    }
}

impl QlogWriter {
    /// Creates a writer to `out`, which needs no buffer of its own.
    #[must_use]
    pub fn new(out: Box<dyn Write + Send>, trace: &QlogTrace) -> Self {
        let mut buffer = Vec::with_capacity(2 * FLUSH_BYTES);
        header(&mut buffer, trace);
        let ack_delay_exponent = trace.ack_delay_exponent;
        Self { out, buffer, ack_delay_exponent, logged: None, status: QlogStatus::default() }
    }

    /// Handle that reports, also after the writer is dropped, whether writing succeeded.
    #[must_use]
    pub fn status(&self) -> QlogStatus {
        self.status.clone()
    }

    /// Writes the remaining data.
    ///
    /// # Errors
    /// The first error of the output since the writer was created.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush();
        self.status.error().map_or(Ok(()), |error| Err(io::Error::new(error.kind(), error.to_string())))
    }

    fn write_buffer(&mut self) {
        if self.status.error().is_none()
            && let Err(error) = self.out.write_all(&self.buffer)
        {
            self.fail(error);
        }
        self.buffer.clear();
    }

    fn flush(&mut self) {
        self.write_buffer();
        if self.status.error().is_none()
            && let Err(error) = self.out.flush()
        {
            self.fail(error);
        }
    }

    fn fail(&self, error: io::Error) {
        // Only the first error is kept; this one cannot be a second, see the callers.
        let _first = self.status.0.set(error);
    }

    fn packet(&mut self, now: Time, event: &str, fields: &TransportPacket<'_>) {
        let out = &mut self.buffer;
        begin(out, now, event);
        packet::header_and_raw(out, fields);
        raw(out, ",");
        frame::frames(out, fields.payload, self.ack_delay_exponent);
        end(out);
    }

    /// Logs a phase and metrics that differ from the last event; without differences, no event.
    fn recovery(&mut self, now: Time, state: &RecoveryState) {
        let last = self.logged.replace(*state);
        if last.as_ref() == Some(state) {
            return;
        }
        let last_phase = last.as_ref().and_then(RecoveryState::phase_name);
        if let Some(phase) = state.phase_name().filter(|phase| Some(*phase) != last_phase) {
            let out = &mut self.buffer;
            begin(out, now, "congestion_state_updated");
            if let Some(old) = last_phase {
                string(out, "\"old\":", old);
                raw(out, ",");
            }
            string(out, "\"new\":", phase);
            end(out);
        }
        // `None` as last value differs from every metric.
        let changed = |metric: fn(&RecoveryState) -> Option<u64>| {
            metric(state).filter(|_| last.as_ref().and_then(metric) != metric(state))
        };
        let out = &mut self.buffer;
        let start = out.len();
        begin(out, now, "recovery_metrics_updated");
        let empty = out.len();
        if let Some(nanos) = changed(|state| state.min_rtt_ns) {
            decimal::<6>(out, ",\"min_rtt\":", nanos);
        }
        if let Some(nanos) = changed(|state| state.srtt_ns) {
            decimal::<6>(out, ",\"smoothed_rtt\":", nanos);
        }
        if let Some(bytes) = changed(|state| Some(state.cwnd_bytes)) {
            uint(out, ",\"congestion_window\":", bytes);
        }
        if let Some(bytes) = changed(|state| state.in_flight_bytes) {
            uint(out, ",\"bytes_in_flight\":", bytes);
        }
        if let Some(bytes) = changed(|state| state.ssthresh_bytes) {
            uint(out, ",\"ssthresh\":", bytes);
        }
        if let Some(rate) = changed(|state| state.pacing_rate_bps) {
            uint(out, ",\"pacing_rate\":", rate);
        }
        if let Some(packets) = changed(|state| Some(state.lost_packets)) {
            uint(out, ",\"lost_packets\":", packets);
        }
        if let Some(packets) = changed(|state| state.spurious_losses) {
            uint(out, ",\"spurious_losses\":", packets);
        }
        if let Some(events) = changed(|state| Some(state.congestion_events)) {
            uint(out, ",\"congestion_events\":", events);
        }
        if out.len() == empty {
            out.truncate(start); // only a metric that has become unknown
        } else {
            out.remove(empty); // the comma before the first metric
            end(out);
        }
    }
}

impl TransportObserver for QlogWriter {
    fn observe(&mut self, now: Time, event: &TransportEvent<'_>) {
        match *event {
            TransportEvent::PacketSent { space, path, number, header, payload } => {
                self.packet(now, "packet_sent", &TransportPacket { space, path, number, header, payload });
            }
            TransportEvent::PacketReceived { space, path, number, header, payload } => {
                self.packet(
                    now,
                    "packet_received",
                    &TransportPacket { space, path, number, header, payload },
                );
            }
            TransportEvent::PacketsLost { space, path, numbers } => {
                for &number in numbers {
                    begin(&mut self.buffer, now, "packet_lost");
                    packet::open_header(&mut self.buffer, space, path, number);
                    raw(&mut self.buffer, "}");
                    end(&mut self.buffer);
                }
            }
            TransportEvent::Recovery(ref state) => self.recovery(now, state),
            // the ACK frame is in its packet
            TransportEvent::AckReceived { .. } | TransportEvent::Secret(_) => {}
        }
        if self.buffer.len() >= FLUSH_BYTES {
            self.write_buffer();
        }
    }
}

impl Drop for QlogWriter {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Appends a record up to the opening brace of `data`.
fn begin(out: &mut Vec<u8>, now: Time, event: &str) {
    out.push(RECORD_SEPARATOR);
    decimal::<6>(out, "{\"time\":", now.as_nanos());
    raw(out, ",\"name\":\"quic:");
    raw(out, event);
    raw(out, "\",\"data\":{");
}

/// Appends the end of a record that `begin` started.
fn end(out: &mut Vec<u8>) {
    raw(out, "}}\n");
}

/// Appends the first record. `file_schema` and `serialization_format` come first because they
/// "SHOULD be in the first 256 characters/bytes" (main schema section 3).
fn header(out: &mut Vec<u8>, trace: &QlogTrace) {
    out.push(RECORD_SEPARATOR);
    string(out, "{\"file_schema\":", FILE_SCHEMA);
    string(out, ",\"serialization_format\":", "application/qlog+json-seq");
    string(out, ",\"title\":", &trace.title);
    string(out, ",\"trace\":{\"vantage_point\":{\"name\":", &trace.name);
    let role = match trace.role {
        Role::Client => "client",
        Role::Server => "server",
    };
    string(out, ",\"type\":", role);
    // Virtual time has no calendar: "When using the "monotonic" clock type, the epoch field MUST
    // have the value "unknown"" (main schema section 7.1).
    raw(out, "},\"common_fields\":{\"time_format\":\"relative_to_epoch\",");
    raw(out, "\"reference_time\":{\"clock_type\":\"monotonic\",\"epoch\":\"unknown\",");
    string(out, "\"wall_clock_time\":", WALL_CLOCK_TIME);
    raw(out, "}");
    if let Some(group_id) = &trace.group_id {
        string(out, ",\"group_id\":", group_id);
    }
    string(out, "},\"event_schemas\":[", EVENT_SCHEMA);
    raw(out, "]}}\n");
}
