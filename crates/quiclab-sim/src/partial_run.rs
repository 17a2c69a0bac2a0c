//! Runs: as a whole, or in parts for callers that show them while they happen. Parts change nothing: the result is
//! that of [`run`].

use crate::build::{BuildError, Built, FlowEndpoints, build};
use crate::drive::{Drive, RunProgress};
use crate::error::RunError;
use crate::event_loop::Simulation;
use crate::packet_log::{PacketLog, Record};
use crate::result::EndedBy;
use crate::run::{ResultInput, RunOptions, RunOutput, conclude};
use crate::series::Series;
use crate::warm_start;
use quiclab_core::{Time, Topology};
use quiclab_scenario::Scenario;
use std::borrow::Cow;
use std::ops::ControlFlow;

/// Runs `scenario` (resolved and valid) with `seed`. If an endpoint has a warm start, a warm-up run comes first
/// (`warm_start.rs`); `progress` reports 0 during it.
///
/// # Errors
/// If the scenario cannot be built, the simulation fails or the caller interrupts it.
pub fn run(scenario: &Scenario, seed: u64, options: &RunOptions<'_>) -> Result<RunOutput, RunError> {
    let mut run = PartialRun::new(Cow::Borrowed(scenario), seed, options)?;
    run.advance(Time::MAX, options.progress)?;
    run.finish()
}

/// A run in parts.
pub struct PartialRun<'a> {
    scenario: Cow<'a, Scenario>,
    seed: u64,
    ends: FlowEndpoints,
    drive: Drive,
    /// Why the run has ended; `None` while it has not.
    ended_by: Option<EndedBy>,
}

impl<'a> PartialRun<'a> {
    /// Begins a run of `scenario` (resolved and valid) with `seed`. If an endpoint has a warm start, this makes the
    /// whole warm-up run (`warm_start.rs`).
    ///
    /// # Errors
    /// If the scenario cannot be built, the warm-up run fails or the caller interrupts it.
    pub fn new(scenario: Cow<'a, Scenario>, seed: u64, options: &RunOptions<'_>) -> Result<Self, RunError> {
        let repeated = match scenario {
            Cow::Borrowed(scenario) => scenario.repeated(),
            Cow::Owned(scenario) => scenario.repeated().map(|repeated| Cow::Owned(repeated.into_owned())),
        };
        let scenario = repeated.map_err(|problem| BuildError::Problem(Box::new(problem)))?;
        let Built { mut topology, ends } = build(&scenario, seed, &options.build)?;
        warm_start::prepare(&mut topology, &scenario, seed, &options.build, options.progress)?;
        let observers = (options.packet_observers)(&topology);
        let mut simulation = Simulation::new(topology, observers);
        if let Some(window) = &options.compared {
            let mut log = PacketLog::new(window.clone());
            let elements = (0..simulation.topology().len()).map(|index| simulation.topology().name(index));
            log.compare(elements, scenario.flow_names().map(String::as_str));
            simulation.keep_records(log);
        } else if scenario.record.packets {
            simulation.keep_all_records();
        }
        let drive = Drive::new(simulation, &scenario, &ends);
        Ok(Self { scenario, seed, ends, drive, ended_by: None })
    }

    /// Handles all events up to `pause`; returns why the run has ended, or `None` if it has not.
    ///
    /// # Errors
    /// If the simulation fails or the caller interrupts it.
    pub fn advance(
        &mut self,
        pause: Time,
        progress: &dyn Fn(RunProgress) -> ControlFlow<()>,
    ) -> Result<Option<EndedBy>, RunError> {
        if self.ended_by.is_none() {
            self.ended_by = self.drive.advance(&self.scenario, pause, progress)?;
        }
        Ok(self.ended_by)
    }

    /// The scenario, each repeated flow as several.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The elements.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        self.drive.simulation.topology()
    }

    /// How far the run is.
    #[must_use]
    pub fn progress(&self) -> RunProgress {
        self.drive.progress(&self.scenario)
    }

    /// Time series so far; empty unless the scenario requests them.
    #[must_use]
    pub fn series(&self) -> &Series {
        &self.drive.series
    }

    /// Packet records since the previous call, which the result then lacks; empty unless the scenario requests them.
    pub fn take_packets(&mut self) -> Vec<Record> {
        self.drive.simulation.log.as_mut().map(|log| std::mem::take(&mut log.records)).unwrap_or_default()
    }

    /// Ends the run, as interrupted unless it has ended, and creates its output.
    ///
    /// # Errors
    /// If the counters of an element do not balance.
    pub fn finish(self) -> Result<RunOutput, RunError> {
        let Self { scenario, seed, ends, drive: Drive { simulation, series, reactions, .. }, ended_by } =
            self;
        let ended_by = ended_by.unwrap_or(EndedBy::Interrupted);
        let end = match ended_by {
            EndedBy::DurationOver => Time::ZERO + scenario.duration,
            _ => simulation.now(),
        };
        let (scenario, changes) = (&*scenario, reactions.into_log());
        conclude(
            simulation,
            ResultInput { scenario, seed, lane: "sim", ends, series, ended_by, end, changes },
        )
    }
}
