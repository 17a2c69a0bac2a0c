//! Options of the conditions of a link over time.

use super::TraceEnd;
use crate::limits;
use crate::time::Duration;
use crate::units::{DataRate, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Values of `at_end`; a link that is down at the end delivers nothing after it.
const ENDS: [&str; 2] = ["loop", "hold"];

/// Conditions of a link over time, from a file or from rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Conditions")]
pub struct ConditionsConfig {
    /// Path of a CSV file, relative to the scenario file: a header with `time_s` or `time_ms` and at least one of
    /// `rate_bps`, `rate_kbps` or `rate_mbps`, `delay_us` or `delay_ms` (one way), `deviation_us` or `deviation_ms`,
    /// `loss_share` or `loss_percent`, and `up` (0 or 1); then one line for each time. An empty value is that of the
    /// line before. Not with `rows`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::not_empty())]
    pub file: Option<PathBuf>,
    /// The same in the scenario. Not with `file`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<ConditionRow>,
    /// Behaviour after the last row: `loop` starts again, with the time of the last row as the period; `hold` keeps
    /// the last values.
    #[schemars(transform = limits::one_of(ENDS))]
    pub at_end: TraceEnd,
    /// Behaviour while the link is down.
    pub while_down: WhileDown,
}

/// Conditions from a time on. A value that is not given is that of the row before, in the first row that of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConditionRow {
    /// Time from the start of the run; 0 in the first row, then ascending.
    pub at: Duration,
    /// Rate of serialisation. Needs a constant `rate` of the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<DataRate>,
    /// Mean of the one-way delay. Not with `every` of the delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// Deviation of the delay. Needs a `distribution` of the delay. Not with `every` of the delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<Duration>,
    /// Loss probability of each packet. Needs a link whose `loss` is independent or not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Probability>,
    /// Whether the link is up. With `while_down` "hold" it needs a constant `rate` of the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<bool>,
}

/// Behaviour of a link while it is down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhileDown {
    /// Nothing is transmitted; packets wait in the queue.
    #[default]
    Hold,
    /// Packets are transmitted and lost: those whose serialisation ends while the link is down.
    Lose,
}
