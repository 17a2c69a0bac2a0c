//! Options of path schedulers.

use crate::problem::{Problem, ensure};
use crate::shorthand::{no_field, or_kind, string_or_table};
use crate::time::Duration;
use crate::units::ByteCount;
use crate::{defaults, limits};
use schemars::JsonSchema;
use serde::de::value::{Error, MapDeserializer};
use serde::{Deserialize, Serialize, Serializer};
use std::str::FromStr;

/// Path of the next packet; a scheduler with defaults for all fields may be written as its kind alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(rename = "PathScheduler", transform = or_kind)]
pub enum PathSchedulerKind {
    /// Each path in turn that has room.
    #[serde(deserialize_with = "no_field")]
    RoundRobin,
    /// Each path in turn; if it has no room, packets wait for it.
    #[serde(deserialize_with = "no_field")]
    StrictRoundRobin,
    /// Bytes in the ratio of given weights, over the paths that have room.
    WeightedRoundRobin {
        /// Weight of each path, the first (`down` and `up` of a flow) first. One of at least 1 for each path.
        #[schemars(transform = limits::not_empty().each(limits::at_least(1)))]
        weights: Vec<u32>,
    },
    /// The path with the lowest smoothed RTT that has room.
    LowestRtt {
        /// With more in flight on all paths, the slowest may have only half as much in flight (default: no path is
        /// penalised).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::at_least("1 B"))]
        penalise_above: Option<ByteCount>,
    },
    /// The cheapest path that has room.
    CheapestFirst {
        /// Indices of the paths, from 0, the cheapest first; unlisted paths follow. Each at most once.
        #[serde(default)]
        order: Vec<u32>,
    },
    /// All paths that have room: the packet is sent several times.
    #[serde(deserialize_with = "no_field")]
    Redundant,
    /// The fastest path, or a slower one if it is estimated not to block it (BLEST).
    Blest {
        /// Factor on the amount that the fastest path could send meanwhile.
        #[serde(default = "default_scaling")]
        #[schemars(transform = limits::above(0.0).to(100.0))]
        scaling: f64,
        /// Maximum in flight on all paths (default: what they deliver in the longest RTT).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::at_least("1 B"))]
        send_window: Option<ByteCount>,
    },
    /// The fastest path, or a slower one if the whole backlog completes earlier with it (ECF).
    Ecf {
        /// Share by which the slower path must complete earlier after a decision to wait.
        #[serde(default = "default_ecf_hysteresis")]
        #[schemars(transform = limits::between(0.0, 1.0))]
        hysteresis: f64,
    },
    /// The path on which the packet is expected to arrive first.
    EarliestArrival {
        /// Share of the delay by which another path must be earlier than the last path used.
        #[serde(default = "default_hysteresis")]
        #[schemars(transform = limits::between(0.0, 1.0))]
        hysteresis: f64,
        /// Maximum time that the backlog may need to leave an earlier path that packets wait for.
        #[serde(default = "default_patience")]
        #[schemars(transform = limits::at_most("1 s"))]
        patience: Duration,
    },
}

defaults! {
    default_scaling: f64 = 1.2;
    default_ecf_hysteresis: f64 = 0.25;
    default_hysteresis: f64 = 0.125;
    default_patience: Duration = Duration::from_micros(2500);
}

impl PathSchedulerKind {
    /// Lowest RTT without penalties.
    pub const LOWEST_RTT: Self = Self::LowestRtt { penalise_above: None };

    /// Earliest arrival with the default of each option.
    #[must_use]
    pub fn earliest_arrival() -> Self {
        Self::EarliestArrival { hysteresis: default_hysteresis(), patience: default_patience() }
    }

    /// Checks the parameters that depend on each other, or on the number of paths, if it is known.
    ///
    /// # Errors
    /// The parameter, its value and the expected value.
    pub fn check(&self, paths: Option<usize>) -> Result<(), Problem> {
        match self {
            Self::WeightedRoundRobin { weights } => {
                let paths = paths.unwrap_or(weights.len());
                ensure(weights.len() == paths, || {
                    let expected = format!("one weight for each of the {paths} paths");
                    Problem::conflict("weights", format!("{weights:?}"), expected)
                })
            }
            Self::CheapestFirst { order } => {
                let repeats = (1..order.len()).any(|index| order[..index].contains(&order[index]));
                ensure(!repeats, || {
                    Problem::conflict("order", format!("{order:?}"), "a different path at each place")
                })?;
                let beyond = |paths: &usize| order.iter().any(|number| *number as usize >= *paths);
                paths.filter(beyond).map_or(Ok(()), |paths| {
                    let expected = format!("numbers of paths from 0 to {}", paths - 1);
                    Err(Problem::conflict("order", format!("{order:?}"), expected))
                })
            }
            _ => Ok(()),
        }
    }
}

/// Form as a table.
#[derive(Deserialize)]
#[serde(transparent)]
struct Table(#[serde(with = "PathSchedulerKind")] PathSchedulerKind);

impl FromStr for PathSchedulerKind {
    type Err = Error;
    /// Form as the kind alone.
    fn from_str(kind: &str) -> Result<Self, Error> {
        Self::deserialize(MapDeserializer::new([("kind", kind)].into_iter()))
    }
}

impl Serialize for PathSchedulerKind {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, to)
    }
}

string_or_table!(PathSchedulerKind, "a path scheduler such as `lowest_rtt`, or a table with `kind`", PathSchedulerKind => |kind| kind, Table => |Table(kind)| kind);
