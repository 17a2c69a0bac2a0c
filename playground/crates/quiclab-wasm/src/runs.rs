//! Runs in progress, by number.

use crate::refusal::Refusal;
use crate::scenario::ScenarioText;
use quiclab_core::Time;
use quiclab_sim::{BuildOptions, Event, NativeStacks, PartialRun, RunOptions};
use serde::Deserialize;
use serde_json::{Value, json};
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
    pub(crate) fn start(&mut self, start: Start) -> Result<Value, Refusal> {
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
        Ok(answer)
    }

    /// Handles all events of a run up to `until`; answers with the progress, and what has been recorded since.
    pub(crate) fn advance(&mut self, number: u32, until: Time) -> Result<Value, Refusal> {
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
        Ok(json!({
            "ended_by": ended_by,
            "fraction": progress.fraction,
            "delivered_bytes": progress.delivered_bytes,
            "series": found.new_series(),
            "packets": found.new_packets(),
        }))
    }

    /// Ends a run, as interrupted unless it has ended; answers with its result.
    pub(crate) fn finish(&mut self, number: u32) -> Result<Value, Refusal> {
        let Run { run, .. } = self.runs.remove(&number).ok_or_else(|| unknown(number))?;
        Ok(json!(run.finish()?.result))
    }

    /// Forgets a run.
    pub(crate) fn discard(&mut self, number: u32) -> Result<Value, Refusal> {
        self.runs.remove(&number).map(|_| Value::Null).ok_or_else(|| unknown(number))
    }
}

impl Run {
    /// Columns of the samples since the last call; elements and metrics are numbers of names.
    fn new_series(&mut self) -> Value {
        let series = self.run.series();
        let wanted: Vec<bool> = series
            .metric_names
            .iter()
            .map(|name| self.metrics.as_ref().is_none_or(|wanted| wanted.iter().any(|it| it == name)))
            .collect();
        let all = self.samples..series.value.len();
        self.samples = series.value.len();
        let rows: Vec<usize> = all.filter(|row| wanted[series.metric[*row] as usize]).collect();
        let rows = || rows.iter();
        json!({
            "metric_names": series.metric_names,
            "time_ns": rows().map(|row| series.time_ns[*row]).collect::<Vec<_>>(),
            "element": rows().map(|row| series.element[*row]).collect::<Vec<_>>(),
            "metric": rows().map(|row| series.metric[*row]).collect::<Vec<_>>(),
            "value": rows().map(|row| series.value[*row]).collect::<Vec<_>>(),
        })
    }

    /// Columns of the packets sent and received by endpoints and discarded by any element since the last call;
    /// `event` is 0 for an arrival, 1 for a departure, 2 for a drop.
    fn new_packets(&mut self) -> Value {
        let mut records = self.run.take_packets();
        records.retain(|record| record.event == Event::Drop || self.endpoints[record.element as usize]);
        let records = || records.iter();
        json!({
            "time_ns": records().map(|record| record.time.as_nanos()).collect::<Vec<_>>(),
            "element": records().map(|record| record.element).collect::<Vec<_>>(),
            "event": records().map(|record| record.event as u8).collect::<Vec<_>>(),
            "direction": records().map(|record| record.direction).collect::<Vec<_>>(),
            "flow": records().map(|record| record.flow).collect::<Vec<_>>(),
            "size_bytes": records().map(|record| record.size_bytes).collect::<Vec<_>>(),
            "packet": records().map(|record| record.packet).collect::<Vec<_>>(),
        })
    }
}

fn unknown(number: u32) -> Refusal {
    Refusal::Other(format!("run: expected the number of a run in progress, got {number}"))
}
