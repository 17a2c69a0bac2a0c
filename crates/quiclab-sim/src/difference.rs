//! Difference of two runs: the first departure, arrival or drop that differs.
//!
//! Both runs are repeated from scenario and seed. The first pass compares a hash of all records at
//! checkpoints, the second keeps only the records between the last equal checkpoint and the next, so memory
//! does not grow with the length of the run. Elements and flows are compared by name.

use crate::error::RunError;
use crate::packet_log::{CHECKPOINT, Event, Record};
use crate::partial_run::run;
use crate::run::{RunOptions, RunOutput};
use quiclab_core::{Direction, DropReason};
use quiclab_scenario::Scenario;
use serde::Serialize;

/// One side of a comparison.
pub struct ComparedRun<'a> {
    /// The scenario, resolved.
    pub scenario: &'a Scenario,
    /// The seed.
    pub seed: u64,
    /// Options of the run.
    pub options: RunOptions<'a>,
}

/// The first difference of two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Whether all arrivals, departures and drops are equal.
    pub identical: bool,
    /// Index of the first difference, counted from 0; `None` if identical.
    pub index: Option<u64>,
    /// Event of the first run at that index; `None` if it had ended.
    pub a: Option<PacketEvent>,
    /// Event of the second run at that index; `None` if it had ended.
    pub b: Option<PacketEvent>,
}

/// A departure, an arrival or a drop, with names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PacketEvent {
    /// Nanoseconds since the start of the run.
    pub time_ns: u64,
    /// Name of the element.
    pub element: String,
    /// Kind of event.
    pub event: Event,
    /// Input or output; `None` for drops.
    pub port: Option<u16>,
    /// Reason for a drop; `None` otherwise.
    pub reason: Option<&'static str>,
    /// Direction of the packet.
    pub direction: &'static str,
    /// Name of the flow.
    pub flow: String,
    /// IP length.
    pub size_bytes: u64,
}

/// Finds the first departure, arrival or drop in which two runs differ.
///
/// # Errors
/// If one of them cannot be run.
pub fn first_difference(a: &mut ComparedRun<'_>, b: &mut ComparedRun<'_>) -> Result<Difference, RunError> {
    let (whole_a, whole_b) = (pass(a, 0..0)?, pass(b, 0..0)?);
    if whole_a.checkpoints == whole_b.checkpoints {
        return Ok(Difference { identical: true, index: None, a: None, b: None });
    }
    let pairs = whole_a.checkpoints.iter().zip(&whole_b.checkpoints);
    let start = pairs.take_while(|(a, b)| a == b).count() as u64 * CHECKPOINT;
    let window = start..start + CHECKPOINT;
    let (events_a, events_b) = (events(&pass(a, window.clone())?), events(&pass(b, window)?));
    let common = events_a.iter().zip(&events_b).take_while(|(a, b)| a == b).count();
    Ok(Difference {
        identical: false,
        index: Some(start + common as u64),
        a: events_a.get(common).cloned(),
        b: events_b.get(common).cloned(),
    })
}

fn events(output: &RunOutput) -> Vec<PacketEvent> {
    output.packets.iter().map(|record| describe(output, record)).collect()
}

fn pass(side: &mut ComparedRun<'_>, window: std::ops::Range<u64>) -> Result<RunOutput, RunError> {
    side.options.compared = Some(window);
    run(side.scenario, side.seed, &side.options)
}

fn describe(output: &RunOutput, record: &Record) -> PacketEvent {
    let dropped = record.event == Event::Drop;
    let scenario = &output.result.scenario;
    PacketEvent {
        time_ns: record.time.as_nanos(),
        element: output.element_names[record.element as usize].clone(),
        event: record.event,
        port: (!dropped).then_some(record.port),
        reason: dropped.then(|| DropReason::ALL[usize::from(record.port)].name()),
        direction: if record.direction == Direction::Down as u8 { "down" } else { "up" },
        flow: scenario.flow_names().nth(record.flow as usize).cloned().unwrap_or_default(),
        size_bytes: record.size_bytes,
    }
}
