//! Where two runs part: the first departure, arrival or drop that differs.
//!
//! Both runs are repeated from scenario and seed. The first pass compares digests at checkpoints,
//! the second keeps the records between the last equal checkpoint and the next only, so memory
//! does not grow with the length of the run.

use crate::digest::CHECKPOINT;
use crate::packet_log::{Event, Record};
use crate::run::{RunError, RunOptions, RunOutput, run};
use quiclab_core::scenario::Scenario;
use serde::Serialize;

/// One side of a comparison.
pub struct Side<'a> {
    /// The scenario, resolved.
    pub scenario: &'a Scenario,
    /// The seed.
    pub seed: u64,
    /// How to run it.
    pub options: RunOptions<'a>,
}

/// Where two runs part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Whether the digests are equal.
    pub identical: bool,
    /// Departures and arrivals before the first event that differs; `None` if identical.
    pub index: Option<u64>,
    /// What the first run did there; `None` if it had ended.
    pub a: Option<PacketEvent>,
    /// What the second run did there; `None` if it had ended.
    pub b: Option<PacketEvent>,
}

/// A departure, an arrival or a drop, in words.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PacketEvent {
    /// Nanoseconds since the start of the run.
    pub time_ns: u64,
    /// Name of the element.
    pub element: String,
    /// What happened.
    pub event: Event,
    /// Input or output; for drops the number of the reason.
    pub port: u16,
    /// Number of the flow.
    pub flow: u32,
    /// IP length.
    pub size_bytes: u64,
}

/// Finds the first departure, arrival or drop in which two runs differ.
///
/// # Errors
/// When one of them cannot be run.
pub fn first_difference(a: &mut Side<'_>, b: &mut Side<'_>) -> Result<Difference, RunError> {
    let whole = (pass(a, 0..0)?, pass(b, 0..0)?);
    let equal =
        whole.0.checkpoints.iter().zip(&whole.1.checkpoints).take_while(|(a, b)| a == b).count() as u64;
    if whole.0.result.digest == whole.1.result.digest {
        return Ok(Difference { identical: true, index: None, a: None, b: None });
    }
    // Records before the first difference are equal, so numbers count the same events in both runs.
    // A drop is not part of the digest and shows there only when the packet should have left: one
    // checkpoint more is looked at.
    let start = equal.saturating_sub(1) * CHECKPOINT;
    let window = start..(equal + 1) * CHECKPOINT + 1;
    let (log_a, log_b) = (pass(a, window.clone())?, pass(b, window)?);
    let (events_a, events_b) = (events(&log_a), events(&log_b));
    let common = events_a.iter().zip(&events_b).take_while(|(a, b)| a == b).count();
    let counted = events_a[..common].iter().filter(|event| event.event != Event::Drop).count() as u64;
    Ok(Difference {
        identical: false,
        index: Some(start + counted),
        a: events_a.get(common).cloned(),
        b: events_b.get(common).cloned(),
    })
}

fn events(output: &RunOutput) -> Vec<PacketEvent> {
    output.packets.iter().map(|record| describe(output, record)).collect()
}

fn pass(side: &mut Side<'_>, window: std::ops::Range<u64>) -> Result<RunOutput, RunError> {
    side.options.records = Some(window);
    run(side.scenario, side.seed, &side.options)
}

fn describe(output: &RunOutput, record: &Record) -> PacketEvent {
    PacketEvent {
        time_ns: record.time.as_nanos(),
        element: output.element_names[record.element as usize].clone(),
        event: record.event,
        port: record.port,
        flow: record.flow,
        size_bytes: record.size_bytes,
    }
}
