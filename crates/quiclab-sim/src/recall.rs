//! The run before a run: what the kernels of its ends have learned of each other when it is over.
//!
//! Linux keeps metrics of a destination ([`DestinationMetrics`]), so that a test-bed which repeats a download
//! starts every run but the first with what the run before has found. Here the run before is the same scenario
//! with a seed derived from that of the run, and nothing known. One stands for all: its ends start with
//! nothing, those of a test-bed's third run with what its second has kept.

use crate::build::{BuildOptions, Built, build};
use crate::event_loop::Simulation;
use crate::result::EndedBy;
use crate::run::{RunError, RunOptions, RunProgress, drive};
use crate::series::Series;
use quiclab_core::{DestinationMetrics, RandomStream, Time, Topology};
use quiclab_scenario::{Record, Scenario, Until};

/// Lets the endpoints of `topology` that want it start with what a run before it has left.
///
/// # Errors
/// As [`crate::run`].
pub(crate) fn recall_run_before(
    topology: &mut Topology,
    scenario: &Scenario,
    seed: u64,
    options: &RunOptions<'_>,
) -> Result<(), RunError> {
    if metrics(topology).is_empty() {
        return Ok(());
    }
    for (element, metrics) in run_before(scenario, seed, options)? {
        let endpoint = topology.node_mut(element).endpoint().expect("both runs have the same elements");
        endpoint.recall(metrics);
    }
    Ok(())
}

/// Endpoints whose kernels keep something, and what, if all connections are closed now.
fn metrics(topology: &Topology) -> Vec<(usize, DestinationMetrics)> {
    (0..topology.len())
        .filter_map(|element| {
            let endpoint = topology.node(element).as_endpoint()?;
            Some((element, endpoint.destination_metrics()?))
        })
        .collect()
}

fn run_before(
    scenario: &Scenario,
    seed: u64,
    options: &RunOptions<'_>,
) -> Result<Vec<(usize, DestinationMetrics)>, RunError> {
    let mut scenario = Scenario { record: Record::default(), ..scenario.clone() };
    let build_options = BuildOptions { transport_observer: &|_| None, ..options.build };
    let seed = RandomStream::new(seed, "run before").bits();
    let Built { topology, ends } = build(&scenario, seed, &build_options)?;
    let mut simulation = Simulation::new(topology, Vec::new());
    let progress = |_| (options.progress)(RunProgress { now: Time::ZERO, delivered_bytes: 0, fraction: 0.0 });
    let mut go_on = |scenario: &Scenario| {
        drive(&mut simulation, scenario, &ends.receivers, &mut Series::default(), &progress)
    };
    if go_on(&scenario)? == EndedBy::WorkloadsDone {
        // the last acknowledgements are on their way, and the connections close after them
        scenario.until = Until::DurationOver;
        go_on(&scenario)?;
    }
    Ok(metrics(simulation.topology()))
}
