//! Drives a simulation to the end of its scenario.

use crate::build::FlowEndpoints;
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

/// A simulation in progress, up to the end of its scenario.
pub(crate) struct Drive {
    pub(crate) simulation: Simulation,
    /// Samples so far; empty unless the scenario requests them.
    pub(crate) series: Series,
    pub(crate) reactions: Reactions,
    receivers: Vec<usize>,
    goal: EndCondition,
    /// Time of the next sample.
    next_sample: Option<Time>,
}

impl Drive {
    pub(crate) fn new(simulation: Simulation, scenario: &Scenario, ends: &FlowEndpoints) -> Self {
        let FlowEndpoints { senders, receivers } = ends;
        let reactions = Reactions::new(scenario, simulation.topology(), senders, receivers);
        let goal = EndCondition::new(scenario.until, simulation.topology(), receivers);
        let next_sample = scenario.record.series_interval.map(|_| Time::ZERO);
        let receivers = receivers.clone();
        Self { simulation, series: Series::default(), reactions, receivers, goal, next_sample }
    }

    /// Takes the end condition of `scenario`, which differs from the former one in nothing else.
    pub(crate) fn turn_to(&mut self, scenario: &Scenario) {
        self.goal = EndCondition::new(scenario.until, self.simulation.topology(), &self.receivers);
    }

    /// Progress of the run.
    pub(crate) fn progress(&self, scenario: &Scenario) -> RunProgress {
        self.goal.progress(self.simulation.now(), scenario)
    }

    /// Handles all events up to `pause`, or to the scenario's end if that is earlier; samples series on the way.
    /// `None`: the run has not ended. Pauses change nothing.
    pub(crate) fn advance(
        &mut self,
        scenario: &Scenario,
        pause: Time,
        progress: &dyn Fn(RunProgress) -> ControlFlow<()>,
    ) -> Result<Option<EndedBy>, RunError> {
        let Self { simulation, series, reactions, receivers, goal, next_sample } = self;
        let end = Time::ZERO + scenario.duration;
        let limit = end.min(pause);
        loop {
            // a change precedes all other events at its instant
            let change = reactions.next().filter(|change| {
                *change <= end && simulation.next_event().is_none_or(|event| event >= *change)
            });
            if let (Some(interval), Some(sample)) = (scenario.record.series_interval, &mut *next_sample) {
                // nothing changes after the last event: one more sample shows that, unless time continues
                let last = match (change.or_else(|| simulation.next_event()), scenario.until) {
                    (Some(next), _) => next.min(end + Duration::from_nanos(1)),
                    (None, Until::DurationOver) => end + Duration::from_nanos(1),
                    (None, _) => *sample + Duration::from_nanos(1),
                };
                while *sample < last {
                    series.sample(*sample, simulation.topology_mut(), receivers);
                    *sample += interval;
                }
            }
            if let Some(change) = change {
                if change > limit {
                    return Ok(None);
                }
                reactions.make_next(simulation)?;
                continue;
            }
            match simulation.step(limit)? {
                Step::Nothing => match simulation.next_event() {
                    Some(event) if event <= end => return Ok(None),
                    None if scenario.until != Until::DurationOver => return Ok(Some(EndedBy::Idle)),
                    _ => return Ok(Some(EndedBy::DurationOver)),
                },
                Step::Handled(element) => {
                    reactions.happened(simulation, element)?;
                    if let Some(ended_by) = goal.reached(simulation.topology(), element) {
                        return Ok(Some(ended_by));
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
