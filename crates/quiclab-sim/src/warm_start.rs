//! Warm start: endpoints begin with the metrics that their kernels learned in a warm-up run.
//!
//! Linux keeps metrics of a destination ([`SavedTcpMetrics`]), so that a testbed that repeats a download starts every
//! run but the first with the metrics of the previous one. Here the warm-up run is the same scenario with a seed
//! derived from that of the run. One represents all: its endpoints start without metrics, those of a testbed's third
//! run with the metrics of its second.

use crate::build::{BuildOptions, Built, build};
use crate::drive::{Drive, RunProgress};
use crate::error::RunError;
use crate::event_loop::Simulation;
use crate::result::EndedBy;
use quiclab_core::{Endpoint, RandomStream, SavedTcpMetrics, Time, Topology};
use quiclab_scenario::{Record, Scenario, Until};
use std::ops::ControlFlow;

/// Passes the metrics of a warm-up run to the endpoints of `topology` with a warm start; nothing else of that run is
/// kept.
///
/// # Errors
/// As [`crate::run`].
pub(crate) fn prepare(
    topology: &mut Topology,
    scenario: &Scenario,
    seed: u64,
    options: &BuildOptions<'_>,
    progress: &dyn Fn(RunProgress) -> ControlFlow<()>,
) -> Result<(), RunError> {
    if metrics(topology).is_empty() {
        return Ok(());
    }
    for (element, metrics) in warm_up(scenario, seed, options, progress)? {
        let endpoint = topology.node_mut(element).endpoint_mut().and_then(Endpoint::warm_start);
        endpoint.expect("both runs have the same elements").load_metrics(metrics);
    }
    Ok(())
}

/// Endpoints whose kernels keep metrics, and those metrics if all connections are closed now.
fn metrics(topology: &mut Topology) -> Vec<(usize, SavedTcpMetrics)> {
    (0..topology.len())
        .filter_map(|element| {
            let endpoint = topology.node_mut(element).endpoint_mut()?.warm_start()?;
            Some((element, endpoint.saved_metrics()))
        })
        .collect()
}

fn warm_up(
    scenario: &Scenario,
    seed: u64,
    options: &BuildOptions<'_>,
    progress: &dyn Fn(RunProgress) -> ControlFlow<()>,
) -> Result<Vec<(usize, SavedTcpMetrics)>, RunError> {
    // an event has its cause in the run itself
    let mut scenario = Scenario { record: Record::default(), events: Vec::new(), ..scenario.clone() };
    let options = BuildOptions { transport_observer: &|_| None, ..*options };
    let seed = RandomStream::new(seed, "run before").bits();
    let Built { topology, ends } = build(&scenario, seed, &options)?;
    let mut drive = Drive::new(Simulation::new(topology, Vec::new()), &scenario, &ends);
    let progress = |_| progress(RunProgress { now: Time::ZERO, delivered_bytes: 0, fraction: 0.0 });
    if drive.advance(&scenario, Time::MAX, &progress)? == Some(EndedBy::WorkloadsDone) {
        // the last acknowledgements are in transit, and the connections close after them
        scenario.until = Until::DurationOver;
        drive.turn_to(&scenario);
        drive.advance(&scenario, Time::MAX, &progress)?;
    }
    Ok(metrics(drive.simulation.topology_mut()))
}
