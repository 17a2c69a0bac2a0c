//! Drives a simulation to the end of its scenario.

use crate::error::RunError;
use crate::event_loop::{Simulation, Step};
use crate::reactions::Reactions;
use crate::result::EndedBy;
use crate::series::Series;
use quiclab_core::{ByteCount, Duration, Progress, Time, Topology};
use quiclab_scenario::{Scenario, Until};
use std::ops::ControlFlow;

/// Events between two reports of progress.
const PROGRESS_EVENTS: u64 = 1 << 12;

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunProgress {
    /// Virtual time.
    pub now: Time,
    /// Bytes that all flows have delivered to their applications.
    pub delivered_bytes: u64,
    /// Completed share of the run, from 0 to 1: of the bytes to be delivered if known, of the duration
    /// otherwise.
    pub fraction: f64,
}

/// Steps until the scenario's end; samples series on the way.
pub(crate) fn drive(
    simulation: &mut Simulation,
    scenario: &Scenario,
    receivers: &[usize],
    series: &mut Series,
    reactions: &mut Reactions<'_>,
    progress: &dyn Fn(RunProgress) -> ControlFlow<()>,
) -> Result<EndedBy, RunError> {
    let limit = Time::ZERO + scenario.duration;
    let mut goal = EndCondition::new(scenario.until, simulation.topology(), receivers);
    let mut next_sample = scenario.record.series_interval.map(|_| Time::ZERO);
    loop {
        // a change precedes all other events at its instant
        let change = reactions.next().filter(|change| {
            *change <= limit && simulation.next_event().is_none_or(|event| event >= *change)
        });
        if let (Some(interval), Some(sample)) = (scenario.record.series_interval, &mut next_sample) {
            // nothing changes after the last event: one more sample shows that, unless time continues
            let last = match (change.or_else(|| simulation.next_event()), scenario.until) {
                (Some(next), _) => next.min(limit + Duration::from_nanos(1)),
                (None, Until::DurationOver) => limit + Duration::from_nanos(1),
                (None, _) => *sample + Duration::from_nanos(1),
            };
            while *sample < last {
                series.sample(*sample, simulation.topology_mut(), receivers);
                *sample += interval;
            }
        }
        if change.is_some() {
            reactions.make_next(simulation)?;
            continue;
        }
        match simulation.step(limit)? {
            Step::Nothing if simulation.next_event().is_some() => return Ok(EndedBy::DurationOver),
            Step::Nothing if scenario.until == Until::DurationOver => return Ok(EndedBy::DurationOver),
            Step::Nothing => return Ok(EndedBy::Idle),
            Step::Handled(element) => {
                reactions.happened(simulation, element)?;
                if let Some(ended_by) = goal.reached(simulation.topology(), element) {
                    return Ok(ended_by);
                }
            }
        }
        if simulation.events().is_multiple_of(PROGRESS_EVENTS)
            && progress(goal.progress(simulation.now(), scenario)).is_break()
        {
            return Err(RunError::Interrupted);
        }
    }
}

/// Watches the receivers for the end of the run; only the receiver with an event is checked.
struct EndCondition {
    until: Until,
    /// Index into `seen` of receivers, by element.
    receiver: Vec<Option<usize>>,
    seen: Vec<Progress>,
    /// Number of receivers that are neither finished nor failed.
    running: usize,
    delivered_bytes: u64,
}

impl EndCondition {
    fn new(until: Until, topology: &Topology, receivers: &[usize]) -> Self {
        let mut receiver = vec![None; topology.len()];
        for (index, &element) in receivers.iter().enumerate() {
            receiver[element] = Some(index);
        }
        let seen = vec![Progress::default(); receivers.len()];
        Self { until, receiver, seen, running: receivers.len(), delivered_bytes: 0 }
    }

    fn progress(&self, now: Time, scenario: &Scenario) -> RunProgress {
        let sizes = || scenario.flows.values().map(|flow| flow.size()).sum::<Option<ByteCount>>();
        let wanted = match self.until {
            Until::WorkloadsDone => sizes(),
            Until::Delivered(size) => Some(size),
            Until::DurationOver => None,
        };
        let fraction = match wanted {
            Some(wanted) => self.delivered_bytes as f64 / wanted.bytes() as f64,
            None => now.as_ms_f64() / scenario.duration.as_ms_f64(),
        };
        RunProgress { now, delivered_bytes: self.delivered_bytes, fraction }
    }

    #[inline]
    fn reached(&mut self, topology: &Topology, element: usize) -> Option<EndedBy> {
        let seen = &mut self.seen[self.receiver[element]?];
        let progress = topology.node(element).endpoint().expect("receivers are endpoints").progress();
        let over = |progress: &Progress| progress.finished.is_some() || progress.failed;
        if over(&progress) && !over(seen) {
            self.running -= 1;
        }
        self.delivered_bytes += progress.delivered_bytes - seen.delivered_bytes;
        *seen = progress;
        match self.until {
            Until::WorkloadsDone => (self.running == 0).then_some(EndedBy::WorkloadsDone),
            Until::Delivered(wanted) => {
                (self.delivered_bytes >= wanted.bytes()).then_some(EndedBy::Delivered)
            }
            Until::DurationOver => None,
        }
    }
}
