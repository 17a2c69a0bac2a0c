//! Traces: capacity of a link over time, recorded or generated elsewhere.
//!
//! Two formats. *CSV* states a rate that holds until the next time; serialisation integrates it
//! exactly. *Mahimahi* lists the milliseconds at which up to 1504 bytes may leave. Time 0 of a
//! trace is the start of the run. Empty lines and lines that begin with `#` are skipped.
//!
//! | | CSV | Mahimahi |
//! | --- | --- | --- |
//! | header | `time_s` or `time_ms`, comma, `rate_bps`, `rate_kbps` or `rate_mbps` | none |
//! | times | decimal, from 0, strictly ascending | whole milliseconds, ascending, repeated ones add up |
//! | period of `loop` | time of the last entry, whose rate is not used: it marks the end | time of the last entry, which is used |
//! | `hold` | the last rate holds until the run ends | refused: Mahimahi traces have no rate |
//! | `stop` | the trace ends at the last entry, which marks the end | nothing leaves after the last entry |
//!
//! A sampled series that is to be looped therefore needs one line more than it has samples.

mod opportunities;
pub(super) mod parse;
mod rates;

use crate::link::{TraceEnd, TraceFormat};
use crate::time::Time;
use crate::units::{ByteCount, DataRate};
use opportunities::{Opportunities, OpportunityCursor};
pub(super) use parse::RateEntry;
use rates::{RateCursor, Rates};
use std::sync::Arc;
use thiserror::Error;

/// Capacity of a link over time. Cloning is cheap: links of many runs can share one trace.
#[derive(Clone, Debug)]
pub struct Trace(Content);

#[derive(Clone, Debug)]
enum Content {
    Rates(Arc<Rates>),
    Opportunities(Arc<Opportunities>),
}

impl Trace {
    /// Parses the text of a trace file.
    ///
    /// # Errors
    /// If the text is not a trace in this format, or cannot be continued as `at_end` specifies.
    pub fn parse(text: &str, format: TraceFormat, at_end: TraceEnd) -> Result<Self, TraceError> {
        match format {
            TraceFormat::Csv => {
                let entries = parse::csv(text)?;
                Ok(Self(Content::Rates(Arc::new(Rates::new(entries, at_end)?))))
            }
            TraceFormat::Mahimahi => {
                let looped = match at_end {
                    TraceEnd::Loop => true,
                    TraceEnd::Stop => false,
                    TraceEnd::Hold => return Err(TraceError::HoldNeedsRates),
                };
                let times = parse::mahimahi(text)?;
                Ok(Self(Content::Opportunities(Arc::new(Opportunities::new(times, looped)?))))
            }
        }
    }

    /// A rate over time: entries from 0 on, strictly ascending.
    ///
    /// # Errors
    /// If the rates cannot be continued as `at_end` specifies, or are all 0.
    pub(super) fn of_rates(entries: Vec<RateEntry>, at_end: TraceEnd) -> Result<Self, TraceError> {
        Ok(Self(Content::Rates(Arc::new(Rates::new(entries, at_end)?))))
    }

    /// Whether the rate is 0 at some time.
    #[must_use]
    pub fn pauses(&self) -> bool {
        match &self.0 {
            Content::Rates(rates) => rates.pauses(),
            Content::Opportunities(_) => false,
        }
    }
}

/// Position of a link in a trace.
#[derive(Debug)]
pub(super) enum TraceCursor {
    Rates(RateCursor),
    Opportunities(OpportunityCursor),
}

impl TraceCursor {
    pub(super) fn new(trace: &Trace) -> Self {
        match &trace.0 {
            Content::Rates(rates) => Self::Rates(RateCursor::new(Arc::clone(rates))),
            Content::Opportunities(times) => Self::Opportunities(OpportunityCursor::new(Arc::clone(times))),
        }
    }

    /// Departure of a packet of `size` whose serialisation begins at `start`; `None` if the trace ends
    /// before.
    pub(super) fn finish(&mut self, start: Time, size: ByteCount) -> Option<Time> {
        match self {
            Self::Rates(cursor) => cursor.finish(start, size),
            Self::Opportunities(cursor) => cursor.finish(start, size),
        }
    }

    /// The rate at `now`; for opportunities the mean over the trace.
    pub(super) fn rate_at(&mut self, now: Time) -> DataRate {
        match self {
            Self::Rates(cursor) => cursor.rate_at(now),
            Self::Opportunities(cursor) => cursor.mean_rate(),
        }
    }

    /// Whether no packet that arrives at `now` or later can leave.
    pub(super) fn has_ended(&self, now: Time) -> bool {
        match self {
            Self::Rates(cursor) => cursor.has_ended(now),
            Self::Opportunities(cursor) => cursor.has_ended(now),
        }
    }
}

/// Reason why a text is not a trace. Lines are counted from 1.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TraceError {
    /// There is no entry.
    #[error("expected at least one entry, got none")]
    Empty,
    /// The first line does not name the columns.
    #[error(
        "line {line}: expected a header such as `time_s,rate_mbps` (`time_s` or `time_ms`, a comma, then `rate_bps`, \
         `rate_kbps` or `rate_mbps`), got {text:?}"
    )]
    Header {
        /// Line of the file.
        line: usize,
        /// Text of the line.
        text: String,
    },
    /// A line does not have as many values as the header.
    #[error("line {line}: expected a time and a rate separated by a comma, got {text:?}")]
    Columns {
        /// Line of the file.
        line: usize,
        /// Text of the line.
        text: String,
    },
    /// A value is not a number.
    #[error("line {line}: {column}: expected {expected}, got {text:?}")]
    NotANumber {
        /// Line of the file.
        line: usize,
        /// The column.
        column: &'static str,
        /// Text of the value.
        text: String,
        /// Accepted values of the column.
        expected: &'static str,
    },
    /// A value is negative.
    #[error("line {line}: {column}: expected a number of at least 0, got {text:?}")]
    Negative {
        /// Line of the file.
        line: usize,
        /// The column.
        column: &'static str,
        /// Text of the value.
        text: String,
    },
    /// A value does not fit into 64 bits of nanoseconds or bit/s, or has more than 38 digits.
    #[error("line {line}: {column}: expected less than 2^64 {unit} in at most 38 digits, got {text:?}")]
    TooLarge {
        /// Line of the file.
        line: usize,
        /// The column.
        column: &'static str,
        /// Text of the value.
        text: String,
        /// Unit of the limit.
        unit: &'static str,
    },
    /// The first rate does not begin with the run.
    #[error("line {line}: expected 0 as the first time, got {text:?}; subtract it from all times")]
    LateStart {
        /// Line of the file.
        line: usize,
        /// The time.
        text: String,
    },
    /// A time is not later than the one before it.
    #[error("line {line}: expected a time {expected} the previous one, got {text:?}")]
    Unsorted {
        /// Line of the file.
        line: usize,
        /// The time.
        text: String,
        /// Relation of times: "later than" or "not earlier than".
        expected: &'static str,
    },
    /// The trace ends at time 0.
    #[error(
        "expected a last time above 0 with `loop` and `stop`, got 0; it is the period or the end of the trace"
    )]
    ZeroPeriod,
    /// The link would never transmit.
    #[error(
        "expected at least one rate above 0, got only 0; with `loop` and `stop` the last rate does not count"
    )]
    AllZero,
    /// Delivery opportunities cannot be held.
    #[error("`hold` requires a rate, and Mahimahi traces have none; expected `loop` or `stop`")]
    HoldNeedsRates,
}
