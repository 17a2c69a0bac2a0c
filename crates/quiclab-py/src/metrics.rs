//! The definitions of metrics and phases.

use crate::endpoint::PYTHON;
use pyo3::prelude::*;
use quiclab_core::{Metric, MetricOwner, Phase, Recorded};

/// Return the metrics of each element: its name, whether it is an end of a flow, and for each metric the names of its
/// numbers, its kind, its unit, whether it is in the statistics of a run, whether it is in time series, and its meaning.
#[pyfunction]
pub(crate) fn metric_groups() -> Vec<(&'static str, bool, Vec<MetricRow>)> {
    let groups = quiclab_sim::metric_groups().into_iter().chain([PYTHON.group()]);
    groups
        .map(|group| {
            let rows = group.metrics.iter().map(|metric| row(metric)).collect();
            (group.element, group.owner == MetricOwner::Flow, rows)
        })
        .collect()
}

/// Names, kind, unit, in statistics, in series, meaning.
type MetricRow = (Vec<String>, &'static str, &'static str, bool, bool, &'static str);

fn row(metric: &'static Metric) -> MetricRow {
    let names = metric.names().map(|name| name.into_owned()).collect();
    let at_end = metric.recorded != Recorded::Series;
    let in_series = metric.recorded != Recorded::End;
    (names, metric.kind.name(), metric.unit(), at_end, in_series, metric.meaning())
}

/// Return the JSON schema of results, without the metrics.
#[pyfunction]
pub(crate) fn result_schema() -> String {
    quiclab_sim::result_schema()
}

/// Return name, colour and meaning of each phase of congestion controls, in the order of their numbers.
#[pyfunction]
pub(crate) fn phases() -> Vec<(&'static str, &'static str, &'static str)> {
    Phase::ALL.iter().map(|phase| (phase.name(), phase.colour(), phase.meaning())).collect()
}
