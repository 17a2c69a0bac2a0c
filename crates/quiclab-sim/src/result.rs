//! The result of a run: the JSON that `quiclab run --json` prints.

use quiclab_core::{Counters, Metrics, Time};
use quiclab_scenario::Scenario;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Version of the result's format.
pub const SCHEMA: &str = "quiclab.run/1";

/// The JSON schema of a result; metrics are in statistics by name ([`metric_groups`](crate::metric_groups)).
#[must_use]
pub fn result_schema() -> String {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    serde_json::to_string(&generator.into_root_schema_for::<RunResult>()).expect("a schema is JSON")
}

/// Everything a run says, except series and packet records.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunResult {
    /// `quiclab.run/1`.
    pub schema: &'static str,
    /// The resolved scenario, which runs again unchanged.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub scenario: Scenario,
    /// Seed of the run.
    pub seed: u64,
    /// Lane of the run: `sim` or `kernel` ([kernel.md](../kernel.md)).
    pub lane: &'static str,
    /// Version of quiclab and of each stack; `build` is a hash of the native extension, `commit` that of the checkout, with `+dirty` if it has changes.
    pub versions: BTreeMap<String, String>,
    /// Hash over every departure and arrival: see [below](#digest).
    pub digest: String,
    /// End of the run.
    pub run: RunSummary,
    /// Results of each flow.
    pub flows: BTreeMap<String, FlowResult>,
    /// Counters and statistics of each element.
    pub elements: BTreeMap<String, ElementResult>,
    /// Changes of links by [events](#changes), in the order of time; missing without events.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeRecord>,
    /// Warnings about the validity of the results.
    pub warnings: Vec<String>,
}

/// A change of a link by an event, or its end, and what holds at the link afterwards.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChangeRecord {
    /// Time since the start of the run [s].
    pub time_s: f64,
    /// Index of the event in the scenario.
    pub event: usize,
    /// Whether the change begins; false: its `duration` is over.
    pub begins: bool,
    /// Name of the link.
    pub link: String,
    /// Rate from then on [Mbit/s], 0 while down; null if it is not constant.
    pub rate_mbps: Option<f64>,
    /// Mean of the one-way delay [ms].
    pub delay_ms: f64,
    /// Loss probability.
    pub loss: f64,
    /// Whether the link is up.
    pub up: bool,
}

/// How a run went.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunSummary {
    /// Virtual time at the end [s]; the scenario's `duration` if that ended the run.
    pub network_time_s: f64,
    /// Why it ended.
    pub ended_by: EndedBy,
    /// Processed events: arrivals of packets and wakes of elements.
    pub events: u64,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// All workloads were complete.
    WorkloadsDone,
    /// The scenario's duration was over.
    DurationOver,
    /// The wanted number of bytes was delivered.
    Delivered,
    /// No event was pending.
    Idle,
    /// The run was interrupted; the result is incomplete.
    Interrupted,
}

/// Result of a flow.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FlowResult {
    /// Start of the connection at the client [s]; null if the run ended before it, which is a warning.
    pub start_s: Option<f64>,
    /// Delivery of the last byte [s]; null if it was not delivered.
    pub finish_s: Option<f64>,
    /// Whether everything was delivered.
    pub completed: bool,
    /// Whether the connection was lost before that.
    pub failed: bool,
    /// Error message; null unless failed.
    pub failure: Option<String>,
    /// Bytes that the receiving application has read, in order: no headers, nothing twice. A run in which they exceed what arrived, or the capacity of the links, is an error.
    pub delivered_bytes: u64,
    /// `finish_s` − `start_s` [s], the handshake included; null if not completed.
    pub download_time_s: Option<f64>,
    /// `delivered_bytes` over the time from `start_s` to `finish_s`, or to the end of the run [Mbit/s]; 0 if it never started.
    pub goodput_mbps: f64,
    /// [Statistics](#statistics) of the sending end.
    pub sender: BTreeMap<Cow<'static, str>, f64>,
    /// [Statistics](#statistics) of the receiving end.
    pub receiver: BTreeMap<Cow<'static, str>, f64>,
}

/// Counters and statistics of an element.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ElementResult {
    /// Where its packets went until the end.
    #[serde(flatten)]
    pub counters: Counters,
    /// [Statistics](#statistics) of the element.
    pub statistics: BTreeMap<Cow<'static, str>, f64>,
}

impl ElementResult {
    pub(crate) fn new(counters: Counters, metrics: Metrics) -> Self {
        Self { counters, statistics: by_name(metrics) }
    }
}

pub(crate) fn by_name(metrics: Metrics) -> BTreeMap<Cow<'static, str>, f64> {
    metrics.named().into_iter().collect()
}

pub(crate) fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}
