//! The result of a run: the JSON that `quiclab run --json` prints.

use quiclab_core::{Counters, Metrics, Time};
use quiclab_scenario::Scenario;
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the result's format.
pub const SCHEMA: &str = "quiclab.run/1";

/// Everything a run says, except series and packet records.
#[derive(Clone, Debug, Serialize)]
pub struct RunResult {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The scenario, resolved.
    pub scenario: Scenario,
    /// Seed of the run.
    pub seed: u64,
    /// Where it ran: `sim` or `kernel`.
    pub lane: &'static str,
    /// Version of quiclab and of each stack used.
    pub versions: BTreeMap<String, String>,
    /// 128-bit hash over every departure and arrival, in hexadecimal.
    pub digest: String,
    /// How the run went.
    pub run: RunSummary,
    /// By name of the flow.
    pub flows: BTreeMap<String, FlowResult>,
    /// By name of the element.
    pub elements: BTreeMap<String, ElementResult>,
    /// Changes of links that events have made, in the order of time; left out without events.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeRecord>,
    /// What a reader should know before trusting the numbers.
    pub warnings: Vec<String>,
}

/// A change of a link by an event, or its end, and what holds at the link afterwards.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangeRecord {
    /// When, in seconds.
    pub time_s: f64,
    /// Index of the event in the scenario.
    pub event: usize,
    /// Whether the change begins; otherwise its `duration` is over.
    pub begins: bool,
    /// The link.
    pub link: String,
    /// Its rate in Mbit/s, 0 while it is down; `None` if it has no constant rate.
    pub rate_mbps: Option<f64>,
    /// Mean of its one-way delay in milliseconds.
    pub delay_ms: f64,
    /// Its loss probability.
    pub loss: f64,
    /// Whether it is up.
    pub up: bool,
}

/// How a run went.
#[derive(Clone, Debug, Serialize)]
pub struct RunSummary {
    /// Virtual time at the end in seconds.
    pub network_time_s: f64,
    /// Why it ended.
    pub ended_by: EndedBy,
    /// Events of the engine: arrivals and wakes.
    pub events: u64,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// All workloads were done.
    WorkloadsDone,
    /// The scenario's duration was over.
    DurationOver,
    /// The wanted number of bytes was delivered.
    Delivered,
    /// Nothing was left to happen.
    Idle,
    /// The run was interrupted; the result is incomplete.
    Interrupted,
}

/// What a flow achieved.
#[derive(Clone, Debug, Serialize)]
pub struct FlowResult {
    /// When the client asked, in seconds; `None` if it never did.
    pub start_s: Option<f64>,
    /// When the last byte was delivered, in seconds; `None` if it was not.
    pub finish_s: Option<f64>,
    /// Whether everything was delivered.
    pub completed: bool,
    /// Whether the connection broke.
    pub failed: bool,
    /// Why, in a sentence; `None` unless failed.
    pub failure: Option<String>,
    /// Bytes delivered to the receiving application.
    pub delivered_bytes: u64,
    /// From the start of the client to the last byte in seconds; `None` if not completed.
    pub download_time_s: Option<f64>,
    /// Delivered bits over the time from the start of the client to the last byte, or to the end
    /// of the run if not completed, in Mbit/s.
    pub goodput_mbps: f64,
    /// Statistics of the sending end.
    pub sender: BTreeMap<&'static str, f64>,
    /// Statistics of the receiving end.
    pub receiver: BTreeMap<&'static str, f64>,
}

/// What went through an element.
#[derive(Clone, Debug, Serialize)]
pub struct ElementResult {
    /// Where its packets went until the end.
    #[serde(flatten)]
    pub counters: Counters,
    /// Named values; the unit is the suffix of the name.
    pub statistics: BTreeMap<&'static str, f64>,
}

impl ElementResult {
    pub(crate) fn new(counters: Counters, metrics: Metrics) -> Self {
        Self { counters, statistics: by_name(metrics) }
    }
}

pub(crate) fn by_name(metrics: Metrics) -> BTreeMap<&'static str, f64> {
    metrics.0.into_iter().collect()
}

pub(crate) fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}
