//! A run: computes a result from a resolved scenario and a seed.

use crate::arrivals::{Arriving, Completion};
use crate::build::{BuildOptions, FlowEndpoints};
use crate::drive::RunProgress;
use crate::error::RunError;
use crate::event_loop::Simulation;
use crate::packet_log::Record;
use crate::result::{
    ChangeRecord, ElementResult, EndedBy, FlowResult, RunResult, RunSummary, SCHEMA, by_name, seconds,
};
use crate::series::Series;
use quiclab_core::tunnel::{SojournRecord, TunnelElement};
use quiclab_core::{Element, Metrics, PacketObserver, RequestTimes, Role, Tap, TapRecords, Time, Topology};
use quiclab_scenario::{Scenario, Until};
use quiclab_transport::{NativeStack, stack};
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

/// Options of a run.
#[derive(Clone)]
pub struct RunOptions<'a> {
    /// Construction of endpoints, and location of traces.
    pub build: BuildOptions<'a>,
    /// Creates the observers of packets, once the elements are known.
    pub packet_observers: &'a dyn Fn(&Topology) -> Vec<Box<dyn PacketObserver>>,
    /// Called periodically (every 4096 events) with the progress of the run; its result determines whether
    /// the run continues.
    pub progress: &'a dyn Fn(RunProgress) -> ControlFlow<()>,
    /// For a comparison with another run: range of records to keep, by their number; `None` for the records
    /// configured by the scenario.
    pub compared: Option<Range<u64>>,
}

/// A result with the recordings of the run.
pub struct RunOutput {
    /// The result.
    pub result: RunResult,
    /// Time series; empty unless the scenario requests them.
    pub series: Series,
    /// Packet records; empty unless requested.
    pub packets: Vec<Record>,
    /// Records of the taps, by name.
    pub taps: Vec<(String, TapRecords)>,
    /// Waiting times of packets at the ends of tunnels, by name.
    pub sojourns: Vec<(String, Vec<SojournRecord>)>,
    /// Times of the requests of pages, by number of the flow.
    pub requests: Vec<(u32, Vec<RequestTimes>)>,
    /// Downloads of the connections that have arrived, by number of the flow.
    pub completions: Vec<(u32, Vec<Completion>)>,
    /// Names of the elements by index.
    pub element_names: Vec<String>,
    /// See [`PacketLog::into_checkpoints`].
    pub(crate) checkpoints: Vec<u128>,
}

/// Input of [`conclude`] in addition to the simulation.
pub struct ResultInput<'a> {
    /// The scenario, resolved.
    pub scenario: &'a Scenario,
    /// Seed of the run.
    pub seed: u64,
    /// Lane of the run: `sim` or `kernel`.
    pub lane: &'static str,
    /// Endpoints of the flows.
    pub ends: FlowEndpoints,
    /// Time series so far.
    pub series: Series,
    /// Reason why the run ended.
    pub ended_by: EndedBy,
    /// End of the run.
    pub end: Time,
    /// Changes of links that events have made.
    pub changes: Vec<ChangeRecord>,
}

/// Creates the output of a run whose simulation has ended.
///
/// # Errors
/// If the counters of an element do not balance.
pub fn conclude(mut simulation: Simulation, conclusion: ResultInput<'_>) -> Result<RunOutput, RunError> {
    let ResultInput { scenario, seed, lane, ends, series, ended_by, end, changes } = conclusion;
    check_balance(simulation.topology())?;
    let flows = scenario
        .flows
        .keys()
        .zip(ends.senders.iter().zip(&ends.receivers))
        .map(|(name, (&sender, &receiver))| {
            (name.clone(), flow_result(simulation.topology_mut(), sender, receiver, end))
        })
        .collect::<BTreeMap<_, _>>();
    let elements = (0..simulation.topology().len())
        .map(|index| {
            let metrics = statistics(simulation.topology_mut(), index, end);
            let counters = simulation.topology().node(index).counters();
            let result = ElementResult::new(counters, metrics);
            (simulation.topology().name(index).to_owned(), result)
        })
        .collect();
    let bound: Vec<String> = scenario
        .flows
        .keys()
        .zip(ends.senders.iter().zip(&ends.receivers))
        .flat_map(|(name, (&sender, &receiver))| [(name, "sender", sender), (name, "receiver", receiver)])
        .filter_map(|(name, end, index)| {
            let warning = simulation.topology().node(index).endpoint()?.warning()?;
            Some(format!("{end} of flow `{name}`: {warning}"))
        })
        .collect();
    let run = RunSummary { network_time_s: seconds(end), ended_by, events: simulation.events() };
    let result = RunResult {
        schema: SCHEMA,
        scenario: scenario.clone(),
        seed,
        lane,
        versions: versions(scenario),
        digest: simulation.digest.hex(),
        run,
        warnings: warnings(scenario, &flows, &changes, ended_by, end).into_iter().chain(bound).collect(),
        flows,
        elements,
        changes,
    };
    let element_names =
        (0..simulation.topology().len()).map(|i| simulation.topology().name(i).to_owned()).collect();
    let (packets, checkpoints) = simulation
        .log
        .take()
        .map(|mut log| (std::mem::take(&mut log.records), log.into_checkpoints()))
        .unwrap_or_default();
    let requests = requests(simulation.topology(), scenario, &ends);
    let completions = completions(simulation.topology_mut(), &ends);
    let taps = records(simulation.topology_mut(), Tap::take_records);
    let mut sojourns = records(simulation.topology_mut(), TunnelElement::take_sojourns);
    sojourns.retain(|(_, records)| !records.is_empty());
    Ok(RunOutput {
        result,
        series,
        packets,
        taps,
        sojourns,
        requests,
        completions,
        element_names,
        checkpoints,
    })
}

/// Results of `take` for each element that is a `T`, by name.
fn records<T: Element, R>(topology: &mut Topology, take: fn(&mut T) -> R) -> Vec<(String, R)> {
    let elements = 0..topology.len();
    let of = |index| {
        let records = take(topology.get_mut(index)?);
        Some((topology.name(index).to_owned(), records))
    };
    elements.filter_map(of).collect()
}

/// Times of the requests of each page, if the scenario requests them.
fn requests(topology: &Topology, scenario: &Scenario, ends: &FlowEndpoints) -> Vec<(u32, Vec<RequestTimes>)> {
    let pages = (0..).zip(&ends.receivers).filter(|_| scenario.record.requests);
    let client = |receiver: &usize| topology.node(*receiver).endpoint()?.page_client();
    pages.filter_map(|(flow, receiver)| Some((flow, client(receiver)?.requests()))).collect()
}

/// Downloads of flows with arrivals.
fn completions(topology: &mut Topology, ends: &FlowEndpoints) -> Vec<(u32, Vec<Completion>)> {
    let clients = (0..).zip(&ends.receivers);
    let of = |(flow, receiver): (u32, &usize)| {
        Some((flow, topology.get_mut::<Arriving>(*receiver)?.completions()))
    };
    clients.filter_map(of).collect()
}

fn check_balance(topology: &Topology) -> Result<(), RunError> {
    for index in 0..topology.len() {
        let (packets, bytes) = topology.node(index).counters().balance();
        if (packets, bytes) != (0, 0) {
            return Err(RunError::Unbalanced { element: topology.name(index).to_owned(), packets, bytes });
        }
    }
    Ok(())
}

fn statistics(topology: &mut Topology, element: usize, now: Time) -> Metrics {
    let mut metrics = Metrics::default();
    topology.node_mut(element).statistics(now, &mut metrics);
    metrics
}

fn flow_result(topology: &mut Topology, sender: usize, receiver: usize, end: Time) -> FlowResult {
    let endpoint = topology.node(receiver).endpoint().expect("receivers are endpoints");
    let progress = endpoint.progress();
    let failure = progress.failed.then(|| failure(topology, sender, receiver));
    let started = progress.started.filter(|started| *started < end);
    let elapsed = started.map(|started| progress.finished.unwrap_or(end).since(started).as_secs_f64());
    let bits = progress.delivered_bytes as f64 * 8.0;
    FlowResult {
        start_s: started.map(seconds),
        finish_s: progress.finished.map(seconds),
        completed: progress.finished.is_some(),
        failed: progress.failed,
        failure,
        delivered_bytes: progress.delivered_bytes,
        download_time_s: elapsed.filter(|_| progress.finished.is_some()),
        goodput_mbps: elapsed.filter(|elapsed| *elapsed > 0.0).map_or(0.0, |elapsed| bits / elapsed / 1e6),
        sender: by_name(statistics(topology, sender, end)),
        receiver: by_name(statistics(topology, receiver, end)),
    }
}

/// Reason for the failure of a flow: that of the receiver, and that of the sender if it differs. The cause
/// may be at either end, whose peer knows only that the connection is lost.
fn failure(topology: &Topology, sender: usize, receiver: usize) -> String {
    let of = |element: usize| topology.node(element).endpoint().and_then(|endpoint| endpoint.failure());
    match (of(receiver), of(sender)) {
        (None, None) => "its connection broke".to_owned(),
        (Some(only), None) | (None, Some(only)) => only.to_owned(),
        (Some(receiver), Some(sender)) if receiver == sender => receiver.to_owned(),
        (Some(receiver), Some(sender)) => format!("{receiver}; at the sender: {sender}"),
    }
}

fn versions(scenario: &Scenario) -> BTreeMap<String, String> {
    let ends = scenario
        .flows
        .values()
        .flat_map(|flow| [&flow.sender, &flow.receiver].map(|end| flow.inherited(end)));
    let used = ends.filter_map(|end| end.stack).collect::<Vec<_>>();
    let native = crate::stacks().into_iter().map(NativeStack::info);
    let stacks = native.filter(|stack| used.iter().any(|name| name == stack.name));
    std::iter::once(("quiclab".to_owned(), env!("CARGO_PKG_VERSION").to_owned()))
        .chain(stacks.map(|stack| (stack.name.to_owned(), stack.version.to_owned())))
        .collect()
}

fn warnings(
    scenario: &Scenario,
    flows: &BTreeMap<String, FlowResult>,
    changes: &[ChangeRecord],
    ended_by: EndedBy,
    end: Time,
) -> Vec<String> {
    let mut warnings = scenario.unused();
    for (name, flow) in flows {
        if let Some(failure) = &flow.failure {
            warnings.push(format!("flow `{name}` failed before everything was delivered: {failure}"));
        } else if let Some(failed) = flow.receiver.get("failed_connections").filter(|failed| **failed > 0.0) {
            let all = flow.receiver["connections"];
            warnings.push(format!("{failed} of {all} connections of flow `{name}` failed"));
        } else if flow.receiver.get("connections") == Some(&0.0) {
            warnings.push(format!("no connection of flow `{name}` arrived"));
        } else if flow.start_s.is_none() {
            let (start, end) = (scenario.flows[name].start, end.since(Time::ZERO));
            warnings
                .push(format!("flow `{name}` never started: the run ended at {end}, its `start` is {start}"));
        } else if ended_by == EndedBy::Idle && !flow.completed {
            warnings.push(format!("flow `{name}` stalled: nothing was left to happen before it was done"));
        } else if ended_by == EndedBy::DurationOver
            && scenario.until == Until::WorkloadsDone
            && !flow.completed
        {
            warnings.push(format!("flow `{name}` was not done when the duration was over"));
        }
    }
    for event in (0..scenario.events.len()).filter(|event| changes.iter().all(|it| it.event != *event)) {
        warnings.push(format!("event {event} has changed nothing: its cause has not come about"));
    }
    let record = &scenario.record;
    for (name, flow) in &scenario.flows {
        if flow.arrivals.is_some() && (record.qlog || record.acks || record.pcapng) {
            warnings.push(format!(
                "flow `{name}`: no qlog, acknowledgements or captures are recorded of connections that arrive"
            ));
        }
        let config = scenario.endpoint(flow, Role::Server);
        let stack = stack::find(&crate::stacks(), &config).ok();
        if let Some(warning) = stack.and_then(|stack| stack.warning(&config)) {
            warnings.push(format!("sender of flow `{name}`: {warning}"));
        }
        for host in [&flow.sender.host, &flow.receiver.host].into_iter().flatten() {
            if scenario.hosts[host].buffer_never_fills() {
                let warning =
                    format!("hosts.{host}.receive_buffer never fills: its CPU takes no time for anything");
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
        }
    }
    warnings
}
