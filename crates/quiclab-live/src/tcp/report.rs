//! Report of an end about its transfer: one JSON object, common to all programs of quiclab.

use super::counters::Counters;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// Version of the format.
const SCHEMA: &str = "quiclab.report/1";

/// The report. Times are those of CLOCK_MONOTONIC in nanoseconds; `None` for events that did not occur.
#[derive(Debug, Serialize)]
pub struct Report {
    schema: &'static str,
    /// Time at which the client began to connect, or the server had a connection.
    pub started_ns: Option<u64>,
    /// Time at which the handshake was complete.
    pub connected_ns: Option<u64>,
    /// Arrival time of the first byte of the answer.
    pub first_byte_ns: Option<u64>,
    /// Time of completion; `None` if the end was stopped before.
    pub finished_ns: Option<u64>,
    /// Bytes of answers that the application has read (client) or written (server).
    pub bytes: u64,
    /// Error message.
    pub failure: Option<String>,
    /// Values over the whole transfer.
    pub statistics: Counters,
    /// Time series: column `time_ns`, and one for each metric, of the same length.
    pub samples: Samples,
    /// Time series with a row per acknowledgement, if the kernel traced them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledgements: Option<Samples>,
}

/// Values at equal times; unknown ones are null.
#[derive(Debug, Default, Serialize)]
pub struct Samples {
    time_ns: Vec<u64>,
    #[serde(flatten)]
    columns: BTreeMap<&'static str, Vec<Option<f64>>>,
}

impl Samples {
    /// Adds a row.
    pub fn add(&mut self, time_ns: u64, values: impl IntoIterator<Item = (&'static str, Option<f64>)>) {
        let rows = self.time_ns.len();
        self.time_ns.push(time_ns);
        for (name, value) in values {
            let column = self.columns.entry(name).or_default();
            column.resize(rows, None);
            column.push(value);
        }
        for column in self.columns.values_mut() {
            column.resize(rows + 1, None);
        }
    }
}

impl Report {
    /// Creates the report of a transfer, which returns an error message on failure.
    pub fn of(transfer: impl FnOnce(&mut Self) -> Result<(), String>) -> Self {
        let mut report = Self::new();
        if let Err(sentence) = transfer(&mut report) {
            report.failure = Some(sentence);
        }
        report
    }

    /// Creates a report without events.
    fn new() -> Self {
        Self {
            schema: SCHEMA,
            started_ns: None,
            connected_ns: None,
            first_byte_ns: None,
            finished_ns: None,
            bytes: 0,
            failure: None,
            statistics: Counters::new(),
            samples: Samples::default(),
            acknowledgements: None,
        }
    }

    /// Adds values over the whole transfer; unknown ones are omitted.
    pub fn tell(&mut self, values: impl IntoIterator<Item = (&'static str, Option<f64>)>) {
        let known = values.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        self.statistics.extend(known);
    }

    /// Writes the report atomically.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let temporary = path.with_extension("json.tmp");
        std::fs::write(&temporary, serde_json::to_vec(self)?)?;
        std::fs::rename(temporary, path)
    }
}

/// Mean, smallest, largest and 95th percentile (nearest rank) of response times in nanoseconds.
#[must_use]
pub fn response_times(mut times_ns: Vec<u64>) -> Vec<(&'static str, Option<f64>)> {
    times_ns.sort_unstable();
    let (Some(&least), Some(&largest)) = (times_ns.first(), times_ns.last()) else { return Vec::new() };
    let mean = times_ns.iter().sum::<u64>() as f64 / times_ns.len() as f64;
    let rank = (times_ns.len() * 95).div_ceil(100);
    vec![
        ("responses", Some(times_ns.len() as f64)),
        ("response_time_ms_mean", Some(mean / 1e6)),
        ("response_time_ms_min", Some(least as f64 / 1e6)),
        ("response_time_ms_max", Some(largest as f64 / 1e6)),
        ("response_time_ms_p95", Some(times_ns[rank - 1] as f64 / 1e6)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_equal_length_whatever_is_known() {
        let mut samples = Samples::default();
        samples.add(1, [("a", Some(1.0))]);
        samples.add(2, [("b", Some(2.0))]);
        samples.add(3, [("a", None), ("b", Some(3.0))]);
        let json = serde_json::to_value(&samples).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"time_ns": [1, 2, 3], "a": [1.0, null, null], "b": [null, 2.0, 3.0]})
        );
    }

    #[test]
    fn a_percentile_is_the_nearest_rank() {
        // 1 to 20 ms: 95 % of 20 is the 19th; their mean is 10.5
        let values = response_times((1..=20).rev().map(|ms| ms * 1_000_000).collect());
        let expected = [20.0, 10.5, 1.0, 20.0, 19.0].map(Some);
        assert_eq!(values.iter().map(|(_, value)| *value).collect::<Vec<_>>(), expected);
        assert!(response_times(Vec::new()).is_empty());
    }
}
