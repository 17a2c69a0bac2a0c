//! What an end says of its transfer, as `quiclab.report/1`.

use quinn::Connection;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value, json};
use std::path::Path;

/// What CLOCK_MONOTONIC shows, in nanoseconds.
pub fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A report that grows.
#[derive(Default)]
pub struct Report {
    pub started_ns: Option<u64>,
    pub connected_ns: Option<u64>,
    pub first_byte_ns: Option<u64>,
    pub finished_ns: Option<u64>,
    /// Bytes of answers written or read.
    pub bytes: u64,
    pub failure: Option<String>,
    statistics: Map<String, Value>,
    times_ns: Vec<u64>,
    columns: Map<String, Value>,
}

impl Report {
    /// One more row of the time series; metrics are those of all rows.
    pub fn sample(&mut self, values: &[(&str, f64)]) {
        self.times_ns.push(monotonic_ns());
        for &(name, value) in values {
            let column = self.columns.entry(name).or_insert_with(|| json!([]));
            column.as_array_mut().expect("columns are lists").push(json!(value));
        }
    }

    /// A value over the whole transfer.
    pub fn tell(&mut self, name: &str, value: f64) {
        self.statistics.insert(name.to_owned(), json!(value));
    }

    /// Response times in nanoseconds: mean, smallest, largest and 95th percentile (nearest rank).
    pub fn tell_response_times(&mut self, mut times_ns: Vec<u64>) {
        times_ns.sort_unstable();
        let (Some(&least), Some(&largest)) = (times_ns.first(), times_ns.last()) else { return };
        let mean = times_ns.iter().sum::<u64>() as f64 / times_ns.len() as f64;
        let rank = (times_ns.len() * 95).div_ceil(100);
        self.tell("responses", times_ns.len() as f64);
        self.tell("response_time_ms_mean", mean / 1e6);
        self.tell("response_time_ms_min", least as f64 / 1e6);
        self.tell("response_time_ms_max", largest as f64 / 1e6);
        self.tell("response_time_ms_p95", times_ns[rank - 1] as f64 / 1e6);
    }

    /// Values of the connection over the whole transfer.
    pub fn tell_connection(&mut self, connection: &Connection) {
        let stats = connection.stats();
        for (name, value) in state(connection) {
            self.tell(name, value);
        }
        self.tell("packets_sent", stats.path.sent_packets as f64);
        self.tell("datagrams_sent", stats.udp_tx.datagrams as f64);
        self.tell("datagrams_received", stats.udp_rx.datagrams as f64);
        self.tell("bytes_sent", stats.udp_tx.bytes as f64);
        self.tell("datagram_size_bytes", f64::from(stats.path.current_mtu));
    }

    /// Writes it; the file appears when it is complete.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let mut samples = self.columns.clone();
        samples.insert("time_ns".to_owned(), json!(self.times_ns));
        let report = json!({
            "schema": "quiclab.report/1",
            "started_ns": self.started_ns,
            "connected_ns": self.connected_ns,
            "first_byte_ns": self.first_byte_ns,
            "finished_ns": self.finished_ns,
            "bytes": self.bytes,
            "failure": self.failure,
            "statistics": self.statistics,
            "samples": samples,
        });
        let temporary = path.with_extension("tmp");
        std::fs::write(&temporary, report.to_string())
            .and_then(|()| std::fs::rename(&temporary, path))
            .map_err(|error| format!("{} cannot be written: {error}", path.display()))
    }
}

/// State of recovery, with the names that all stacks share.
pub fn state(connection: &Connection) -> [(&'static str, f64); 5] {
    let path = connection.stats().path;
    [
        ("cwnd_bytes", path.cwnd as f64),
        ("srtt_ms", path.rtt.as_secs_f64() * 1e3),
        ("min_rtt_ms", path.min_rtt.as_secs_f64() * 1e3),
        ("lost_packets", path.lost_packets as f64),
        ("congestion_events", path.congestion_events as f64),
    ]
}
