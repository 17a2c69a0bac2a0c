//! Arrivals: connections of a flow that begin over time, as those of many users do.
//!
//! | process | times between arrivals | sizes |
//! | --- | --- | --- |
//! | `poisson` | exponential and independent of each other | the workload's, or drawn |
//! | `regular` | all equal; the first connection arrives at the start of the flow | the workload's, or drawn |
//! | `file` | as recorded | as recorded |

mod draw;
mod file;

pub use file::{ArrivalFileError, read_arrivals};

use quiclab_core::problem::{ensure, quoted};
use quiclab_core::{ByteCount, Duration, Probability, Problem, Time, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Maximum number of connections of a flow: some ten bytes of each are kept when it is closed.
const MAX_CONNECTIONS: u64 = 1_000_000;

/// Connections that arrive over time, each with the workload of the flow and an end of its own at both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// A Poisson process.
    Poisson {
        /// Mean time between two arrivals.
        #[schemars(transform = limits::at_least("1 us"))]
        interval: Duration,
        /// Time in which connections arrive, from the start of the flow. At most a million intervals.
        #[schemars(transform = limits::above("0 s"))]
        duration: Duration,
        /// Distribution of the sizes of the downloads (default: `size` of the workload).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sizes: Option<Sizes>,
    },
    /// Arrivals at a constant rate.
    Regular {
        /// Time between two arrivals.
        #[schemars(transform = limits::at_least("1 us"))]
        interval: Duration,
        /// Time in which connections arrive, from the start of the flow. At most a million intervals.
        #[schemars(transform = limits::above("0 s"))]
        duration: Duration,
        /// Distribution of the sizes of the downloads (default: `size` of the workload).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sizes: Option<Sizes>,
    },
    /// Arrivals and sizes from a file.
    File {
        /// Path, relative to the scenario file. Lines `time,size` with a header naming the units: `time_s` or `time_ms`,
        /// `size_bytes`. Times are from the start of the flow, ascending; sizes are those of the downloads. At most a
        /// million lines.
        #[schemars(transform = limits::not_empty())]
        file: PathBuf,
    },
}

/// Distribution of sizes, drawn for each connection independently.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Sizes {
    /// Exponential.
    Exponential {
        /// Mean.
        #[schemars(transform = limits::at_least("1 B"))]
        mean: ByteCount,
    },
    /// Log-normal: the logarithm is normal.
    LogNormal {
        /// Median.
        #[schemars(transform = limits::at_least("1 B"))]
        median: ByteCount,
        /// Standard deviation of the natural logarithm.
        #[schemars(transform = limits::above(0.0).to(10.0))]
        deviation: f64,
    },
    /// Pareto between two bounds.
    Pareto {
        /// Minimum.
        #[schemars(transform = limits::at_least("1 B"))]
        minimum: ByteCount,
        /// Maximum. Above `minimum`.
        #[schemars(transform = limits::at_least("1 B"))]
        maximum: ByteCount,
        /// Shape: the smaller, the heavier the tail.
        #[schemars(transform = limits::above(0.0).to(10.0))]
        shape: f64,
    },
    /// A measured distribution, linear between its points; below the first point, its size.
    Empirical {
        /// Sizes, ascending.
        #[schemars(transform = limits::not_empty())]
        sizes: Vec<ByteCount>,
        /// Part of the connections that are at most as large as each size. Ascending, the last one 1; as many as `sizes`.
        #[schemars(transform = limits::not_empty())]
        probabilities: Vec<Probability>,
    },
}

/// A connection that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Time at which its client connects.
    pub at: Time,
    /// Size of its download; `None` for that of the workload.
    pub size: Option<ByteCount>,
}

impl Arrivals {
    /// Whether they specify the size of each download.
    #[must_use]
    pub const fn have_sizes(&self) -> bool {
        match self {
            Self::Poisson { sizes, .. } | Self::Regular { sizes, .. } => sizes.is_some(),
            Self::File { .. } => true,
        }
    }

    /// Checks constraints across fields; paths of problems are those below the arrivals.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let (Self::Poisson { interval, duration, sizes } | Self::Regular { interval, duration, sizes }) =
            self
        else {
            return Ok(());
        };
        ensure(duration.as_nanos() / interval.as_nanos() <= MAX_CONNECTIONS, || {
            let expected = format!("at least \"{}\"", *duration / MAX_CONNECTIONS);
            Problem::conflict("interval", quoted(interval), expected)
                .because(format!("a flow has at most {MAX_CONNECTIONS} connections"))
        })?;
        sizes.as_ref().map_or(Ok(()), |sizes| sizes.check().map_err(|problem| problem.below(&"sizes".into())))
    }
}

impl Sizes {
    fn check(&self) -> Result<(), Problem> {
        match self {
            Self::Exponential { .. } | Self::LogNormal { .. } => Ok(()),
            Self::Pareto { minimum, maximum, .. } => ensure(minimum < maximum, || {
                Problem::conflict("maximum", quoted(maximum), format!("more than `minimum`, \"{minimum}\""))
            }),
            Self::Empirical { sizes, probabilities } => {
                ensure(sizes.len() == probabilities.len(), || {
                    let expected = format!("{} values, one for each of `sizes`", sizes.len());
                    Problem::conflict("probabilities", format!("{} values", probabilities.len()), expected)
                })?;
                ensure(sizes.is_sorted_by(|a, b| a < b), || {
                    let listed = sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                    Problem::value("sizes", format!("[{listed}]"), "sizes in ascending order")
                })?;
                let values = || probabilities.iter().map(|probability| probability.value());
                ensure(values().is_sorted_by(|a, b| a < b) && values().next_back() == Some(1.0), || {
                    let listed = values().map(|value| value.to_string()).collect::<Vec<_>>().join(", ");
                    let expected = "probabilities in ascending order, the last one 1";
                    Problem::value("probabilities", format!("[{listed}]"), expected)
                })
            }
        }
    }
}
