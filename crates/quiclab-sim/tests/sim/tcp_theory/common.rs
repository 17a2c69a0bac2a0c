//! Scenarios with one flow, runs, and the series of its sender.

pub use crate::whole_runs::run_text;
use quiclab_core::{Duration, Time};
use quiclab_sim::RunOutput;

/// Payload of a full segment in bytes: 1500 B less 20 B IP, 20 B TCP, 12 B timestamps.
pub const PAYLOAD: f64 = 1448.0;
/// The IP packet of a full segment in bytes.
pub const PACKET: f64 = 1500.0;

/// One download on lab-tcp over a link `down` and a link `up` that only delays.
///
/// Disabled: the window's restart after idle and HyStart, which none of the formulas covers, and buffers that
/// limit the window. A lone segment is acknowledged as early as the kernel can: at the end of the next tick,
/// in up to 2 ms, unless another one arrives before.
pub const ONE_FLOW: &str = r#"
version = 1
name = "theory"
duration = "100 s"
until = "duration_over"
links.down = { rate = "1 Gbit/s", delay = "10 ms", queue = { kind = "drop_tail", packets = 100000 } }
links.up = { delay = "10 ms" }
taps.tap = {}
[flows.f]
stack = "lab-tcp"
down = ["tap", "down"]
up = ["up"]
workload = { kind = "download", size = "1000 GB" }
[flows.f.sender]
profile = "linux-7"
congestion_control = "newreno"
slow_start_exit = "none"
tcp = { restart_after_idle = false, max_send_buffer = "256 MiB" }
[flows.f.receiver]
profile = "linux-7"
tcp = { receive_buffer = "64 MiB", max_receive_buffer = "64 MiB", min_delayed_ack = "1 us", max_delayed_ack = "1 us" }
"#;

/// Runs [`ONE_FLOW`] with other values.
pub fn run_one(sets: &[(&str, &str)]) -> RunOutput {
    run_seeded(sets, 7)
}

pub fn run_seeded(sets: &[(&str, &str)], seed: u64) -> RunOutput {
    run_text(ONE_FLOW, sets, seed)
}

/// A statistic of the sender at the end.
pub fn sender(output: &RunOutput, name: &str) -> f64 {
    output.result.flows["f"].sender[name]
}

/// Values by which both links delay by half of `rtt`.
pub fn halves(rtt_ms: f64) -> String {
    format!("{} us", (rtt_ms * 500.0) as u64)
}

/// Series of the sender of flow `f`: (time in seconds, value), where the value is known.
pub fn series(output: &RunOutput, metric: &str) -> Vec<(f64, f64)> {
    let series = &output.series;
    let metric =
        series.metric_names.iter().position(|known| *known == metric).expect("a known metric") as u32;
    let element =
        output.element_names.iter().position(|name| name == "f.sender").expect("the sender is an element")
            as u32;
    (0..series.value.len())
        .filter(|&row| series.element[row] == element && series.metric[row] == metric)
        .map(|row| (series.time_ns[row] as f64 / 1e9, series.value[row]))
        .collect()
}

/// The window in packets.
pub fn windows(output: &RunOutput) -> Vec<(f64, f64)> {
    series(output, "cwnd_bytes").into_iter().map(|(time, bytes)| (time, bytes / PAYLOAD)).collect()
}

/// The last value at or before `time`.
pub fn value_at(series: &[(f64, f64)], time: f64) -> f64 {
    let after = series.partition_point(|(at, _)| *at <= time);
    series[after.checked_sub(1).expect("the series has begun")].1
}

/// Times at which a counter has grown since the previous sample.
pub fn rises(series: &[(f64, f64)]) -> Vec<f64> {
    series.windows(2).filter(|pair| pair[1].1 > pair[0].1).map(|pair| pair[1].0).collect()
}

/// Departures of packets larger than `least` bytes at the tap.
pub fn departures(output: &RunOutput, least: u64) -> Vec<Time> {
    let (_, records) = output.taps.iter().find(|(name, _)| name == "tap").expect("there is a tap");
    records.iter().filter(|record| record.size.bytes() > least).map(|record| record.time).collect()
}

pub fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Maximum number of packets by which departures exceed a rate since any earlier departure: the smallest
/// bucket that they pass.
pub fn burst(times: &[Time], rate: f64) -> f64 {
    let (mut most, mut least) = (0.0_f64, f64::INFINITY);
    for (sent, time) in times.iter().enumerate() {
        let level = sent as f64 - rate * time.as_nanos() as f64 / 1e9;
        least = least.min(level);
        most = most.max(level - least + 1.0);
    }
    most
}
