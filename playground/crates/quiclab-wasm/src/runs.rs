//! Runs in progress, by number.

use crate::refusal::Refusal;
use crate::scenario::ScenarioText;
use quiclab_core::Time;
use quiclab_sim::{BuildOptions, EndedBy, Event, NativeStacks, PartialRun, Record, RunOptions, Series};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

/// Runs in progress at a time.
const MAX_RUNS: usize = 8;

/// Request for a run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Start {
    scenario: ScenarioText,
    seed: u64,
    /// Metrics that `advance` passes on; all if missing.
    metrics: Option<Vec<String>>,
}

/// See the module documentation.
#[derive(Default)]
pub(crate) struct Runs {
    runs: BTreeMap<u32, Run>,
    /// Number of the last run.
    last: u32,
}

struct Run {
    run: PartialRun<'static>,
    metrics: Option<Vec<String>>,
    /// Samples that have been passed on.
    samples: usize,
    /// Whether an element is an endpoint.
    endpoints: Vec<bool>,
}

impl Runs {
    /// Begins a run; answers with its number, the names of its elements and the scenario.
    pub(crate) fn start(&mut self, start: Start) -> Result<String, Refusal> {
        if self.runs.len() >= MAX_RUNS {
            let message = format!("runs: expected at most {MAX_RUNS} at a time, got one more; discard one");
            return Err(Refusal::Other(message));
        }
        let scenario = start.scenario.scenario()?;
        let options = RunOptions {
            build: BuildOptions {
                stacks: &NativeStacks,
                base_dir: Path::new(""),
                transport_observer: &|_| None,
            },
            packet_observers: &|_| Vec::new(),
            progress: &|_| ControlFlow::Continue(()),
            compared: None,
        };
        let run = PartialRun::new(Cow::Owned(scenario), start.seed, &options)?;
        let elements = 0..run.topology().len();
        let endpoints = elements.clone().map(|it| run.topology().node(it).endpoint().is_some()).collect();
        let names: Vec<_> = elements.map(|it| run.topology().name(it)).collect();
        self.last += 1;
        let answer = json!({ "run": self.last, "elements": names, "scenario": run.scenario() });
        self.runs.insert(self.last, Run { run, metrics: start.metrics, samples: 0, endpoints });
        Ok(answer.to_string())
    }

    /// Handles all events of a run up to `until`; answers with the progress, and what has been recorded since.
    pub(crate) fn advance(&mut self, number: u32, until: Time) -> Result<String, Refusal> {
        let found = self.runs.get_mut(&number).ok_or_else(|| unknown(number))?;
        let advanced = found.run.advance(until, &|_| ControlFlow::Continue(()));
        let ended_by = match advanced {
            Ok(ended_by) => ended_by,
            Err(error) => {
                self.runs.remove(&number);
                return Err(error.into());
            }
        };
        let progress = found.run.progress();
        let packets = found.run.take_packets();
        let answer = json_text(&Advanced {
            ended_by,
            fraction: progress.fraction,
            delivered_bytes: progress.delivered_bytes,
            series: found.new_samples(),
            packets: PacketColumns::of(&packets, &found.endpoints),
        });
        found.samples = found.run.series().value.len();
        Ok(answer)
    }

    /// Ends a run, as interrupted unless it has ended; answers with its result.
    pub(crate) fn finish(&mut self, number: u32) -> Result<String, Refusal> {
        let Run { run, .. } = self.runs.remove(&number).ok_or_else(|| unknown(number))?;
        Ok(json_text(&run.finish()?.result))
    }

    /// Forgets a run.
    pub(crate) fn discard(&mut self, number: u32) -> Result<String, Refusal> {
        self.runs.remove(&number).map(|_| "null".to_owned()).ok_or_else(|| unknown(number))
    }
}

impl Run {
    /// The samples since the last call.
    fn new_samples(&self) -> SampleColumns<'_> {
        let series = self.run.series();
        let is_wanted =
            |name: &str| self.metrics.as_ref().is_none_or(|wanted| wanted.iter().any(|it| it == name));
        let wanted: Vec<bool> = series.metric_names.iter().map(|name| is_wanted(name)).collect();
        let rows: Vec<usize> =
            (self.samples..series.value.len()).filter(|row| wanted[series.metric[*row] as usize]).collect();
        SampleColumns::of(series, &rows)
    }
}

/// Answer to `advance`.
#[derive(Serialize)]
struct Advanced<'a> {
    ended_by: Option<EndedBy>,
    fraction: f64,
    delivered_bytes: u64,
    series: SampleColumns<'a>,
    packets: PacketColumns,
}

/// Columns of samples; elements and metrics are numbers of names.
#[derive(Serialize)]
struct SampleColumns<'a> {
    metric_names: &'a [Cow<'static, str>],
    time_ns: Vec<i64>,
    element: Vec<u32>,
    metric: Vec<u32>,
    value: Vec<f64>,
}

impl<'a> SampleColumns<'a> {
    fn of(series: &'a Series, rows: &[usize]) -> Self {
        Self {
            metric_names: &series.metric_names,
            time_ns: rows.iter().map(|row| series.time_ns[*row]).collect(),
            element: rows.iter().map(|row| series.element[*row]).collect(),
            metric: rows.iter().map(|row| series.metric[*row]).collect(),
            value: rows.iter().map(|row| series.value[*row]).collect(),
        }
    }
}

/// Columns of packets sent and received by endpoints, and discarded by any element; `event` is 0 for an arrival, 1 for
/// a departure, 2 for a drop.
#[derive(Default, Serialize)]
struct PacketColumns {
    time_ns: Vec<u64>,
    element: Vec<u32>,
    event: Vec<u8>,
    direction: Vec<u8>,
    flow: Vec<u32>,
    size_bytes: Vec<u64>,
    packet: Vec<u64>,
}

impl PacketColumns {
    fn of(records: &[Record], endpoints: &[bool]) -> Self {
        let mut columns = Self::default();
        for record in records {
            if record.event == Event::Drop || endpoints[record.element as usize] {
                columns.time_ns.push(record.time.as_nanos());
                columns.element.push(record.element);
                columns.event.push(record.event as u8);
                columns.direction.push(record.direction);
                columns.flow.push(record.flow);
                columns.size_bytes.push(record.size_bytes);
                columns.packet.push(record.packet);
            }
        }
        columns
    }
}

/// The JSON of an answer.
fn json_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("answers have string keys only")
}

fn unknown(number: u32) -> Refusal {
    Refusal::Other(format!("run: expected the number of a run in progress, got {number}"))
}
