//! Analysis of pacing and acknowledgements (`quiclab_trace::pacing`).

use crate::progress::tell;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyValueError};
use pyo3::prelude::*;
use quiclab_core::problem::system_reason;
use quiclab_trace::pacing::{Analysis, Settings};
use quiclab_trace::packets::{
    Content, EXPECTED, Flow, KeyLog, ObservedPacket, Protocol, ReadError, Reading, Sink, read_packets,
};
use std::fs::File;
use std::io::{Read, empty};
use std::path::Path;

/// Analyses a capture or qlog file from any source: JSON of an entry of `captures` of the document.
///
/// `progress` is called periodically with the bytes read so far and the total. Errors do not name the file.
#[pyfunction]
#[pyo3(signature = (path, settings, key_logs, flows, progress=None))]
pub(crate) fn analyse_packets(
    py: Python<'_>,
    path: &str,
    settings: &str,
    key_logs: Vec<String>,
    flows: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let settings =
        Settings::from_json(settings).map_err(|problem| PyValueError::new_err(problem.to_string()))?;
    let keys = secrets(&key_logs)?;
    let mut raised = None;
    let result = py.detach(|| {
        let mut analysis = Analysis::new(&settings);
        let reading = read_packets(Path::new(path), &keys, &mut analysis, &mut |done, total| {
            tell(progress.as_ref(), (done, total), |error| raised = Some(error))
        });
        reading.map(|mut reading| {
            if keys.unknown_lines() > 0 {
                let said = format!("{} lines of the key log are none of a key log", keys.unknown_lines());
                reading.notes.push(said);
            }
            analysis.finish(path.to_owned(), reading, flows)
        })
    });
    if let Some(error) = raised {
        return Err(error);
    }
    let capture = result.map_err(refused)?;
    serde_json::to_string(&capture).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// TLS secrets of all key logs together.
fn secrets(key_logs: &[String]) -> PyResult<KeyLog> {
    let mut all: Box<dyn Read> = Box::new(empty());
    for path in key_logs {
        let file = File::open(path)
            .map_err(|error| system_reason(&error))
            .map_err(|reason| PyOSError::new_err(format!("cannot read the key log {path}: {reason}")))?;
        all = Box::new(all.chain(file).chain(&b"\n"[..]));
    }
    let name = key_logs.join(", ");
    KeyLog::read(all, &name).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The error as a Python exception; the caller knows the file.
fn refused(error: ReadError) -> PyErr {
    match error {
        ReadError::Io { source, .. } => PyOSError::new_err(system_reason(&source)),
        ReadError::NotReadable { found, .. } => {
            PyValueError::new_err(format!("expected {EXPECTED}, got {found}"))
        }
        ReadError::Interrupted => PyKeyboardInterrupt::new_err(()),
        ReadError::KeyLogTooLong { .. } => PyValueError::new_err(error.to_string()),
    }
}

/// Length of the Ethernet header, which a tap counts in frames.
const LINK_BYTES: u32 = 14;

/// Analyses packets recorded by a tap of a run: JSON of a flow of the document.
///
/// `frames` are the times (int64, ns) and sizes (uint32, bytes) of packets sent by the sender; `acks` the times of
/// acknowledgements received there, with the numbers of packets that each newly acknowledges (uint32).
#[pyfunction]
pub(crate) fn analyse_columns(
    py: Python<'_>,
    settings: &str,
    frames: (PyBuffer<i64>, PyBuffer<u32>),
    acks: (PyBuffer<i64>, PyBuffer<u32>),
) -> PyResult<String> {
    let settings =
        Settings::from_json(settings).map_err(|problem| PyValueError::new_err(problem.to_string()))?;
    let (sent, heard) = (rows(py, &frames)?, rows(py, &acks)?);
    py.detach(|| {
        let mut analysis = Analysis::new(&settings);
        analysis.flow(0, &Flow { protocol: Protocol::Udp, ends: None, name: String::new() });
        let mut heard = heard.into_iter().peekable();
        for (at, frame_bytes) in sent {
            // at one instant, an arrival precedes the departures that it triggers
            while let Some((ack_at, packets)) = heard.next_if(|(ack_at, _)| *ack_at <= at) {
                analysis.packet(0, &acknowledgement(ack_at, packets));
            }
            let content = Content::Opaque;
            let packet = ObservedPacket {
                at,
                backward: false,
                frame_bytes,
                packet_bytes: frame_bytes.saturating_sub(LINK_BYTES),
                payload_bytes: frame_bytes,
                content,
            };
            analysis.packet(0, &packet);
        }
        heard.for_each(|(at, packets)| analysis.packet(0, &acknowledgement(at, packets)));
        let flow = analysis.finish(String::new(), Reading::default(), 1).flows.pop();
        serde_json::to_string(&flow).map_err(|error| PyValueError::new_err(error.to_string()))
    })
}

fn acknowledgement(at: i64, packets: u32) -> ObservedPacket<'static> {
    let content = Content::Acknowledges(u64::from(packets));
    ObservedPacket { at, backward: true, frame_bytes: 0, packet_bytes: 0, payload_bytes: 0, content }
}

/// Rows of times and their values, from columns of equal length.
fn rows(py: Python<'_>, columns: &(PyBuffer<i64>, PyBuffer<u32>)) -> PyResult<Vec<(i64, u32)>> {
    let (times, values) = (columns.0.to_vec(py)?, columns.1.to_vec(py)?);
    if times.len() != values.len() {
        let said = format!("columns: expected equal lengths, got {} and {}", times.len(), values.len());
        return Err(PyValueError::new_err(said));
    }
    Ok(times.into_iter().zip(values).collect())
}
