//! The default point of Dual Connectivity with feedback, and its runs.

use crate::whole_runs::{self, run_text};
use quiclab_config::ConfigError;
use quiclab_scenario::Scenario;
use quiclab_sim::RunOutput;
use std::path::Path;

/// Two links of 20 Mbit/s, 10 ms and 100 packets each, and a download in 8 s. `shares` are omitted, as
/// adaptive splitters require; batches then have equal ones.
pub const SPLIT: &str = r#"
version = 1
name = "splitters"
duration = "8 s"
[links.down1]
rate = "20 Mbit/s"
overhead_per_packet = "14 B"
queue = { kind = "drop_tail", packets = 100 }
delay = { mean = "10 ms", deviation = "1 ms", distribution = "normal", reorder = true }
feedback = {}
[links.down2]
rate = "20 Mbit/s"
overhead_per_packet = "14 B"
queue = { kind = "drop_tail", packets = 100 }
delay = { mean = "10 ms", deviation = "1 ms", distribution = "normal", reorder = true }
feedback = {}
[links.up]
rate = "20 Mbit/s"
delay = "10 ms"
queue = { kind = "drop_tail", packets = 10000 }
[bearers.dc]
links = ["down1", "down2"]
[flows.f]
stack = "lab-quic"
down = ["dc"]
up = ["up"]
sender = { profile = "rfc9002", congestion_control = "newreno", datagram_size = "1280 B" }
receiver = { profile = "rfc9002", datagram_size = "1280 B" }
workload = { kind = "download", duration = "8 s" }
"#;

pub const BATCHES: &str = r#"{ kind = "batches" }"#;
pub const PROPORTIONAL: &str = r#"{ kind = "proportional" }"#;
pub const LEAST_EXPECTED_ARRIVAL: &str = r#"{ kind = "least_expected_arrival" }"#;
pub const FLOW_CONTROL: &str = r#"{ kind = "flow_control" }"#;
pub const ALL: [&str; 4] = [BATCHES, PROPORTIONAL, LEAST_EXPECTED_ARRIVAL, FLOW_CONTROL];

/// 30 and 10 Mbit/s.
pub const UNEQUAL: [(&str, &str); 2] = [("links.down1.rate", "30 Mbit/s"), ("links.down2.rate", "10 Mbit/s")];

/// [`SPLIT`] with other values.
pub fn load(sets: &[(&str, &str)]) -> Result<Scenario, ConfigError> {
    whole_runs::load(SPLIT, sets)
}

pub fn run_with(sets: &[(&str, &str)]) -> RunOutput {
    run_text(SPLIT, sets, 1)
}

/// A run with the files of this folder.
pub fn run_scenario(scenario: &Scenario, base_dir: &Path) -> RunOutput {
    whole_runs::run_scenario(scenario, 1, whole_runs::native(base_dir))
}

pub fn goodput(output: &RunOutput) -> f64 {
    output.result.flows["f"].goodput_mbps
}

pub fn statistic(output: &RunOutput, element: &str, name: &str) -> f64 {
    output.result.elements[element].statistics[name]
}

/// Values of a metric over time.
pub fn series(output: &RunOutput, element: &str, metric: &str) -> Vec<f64> {
    let position =
        |names: Vec<&str>, name| names.iter().position(|known| *known == name).expect("a known name");
    let element = position(output.element_names.iter().map(String::as_str).collect(), element) as u32;
    let metric = position(output.series.metric_names.iter().map(AsRef::as_ref).collect(), metric) as u32;
    let series = &output.series;
    (0..series.value.len())
        .filter(|&row| (series.element[row], series.metric[row]) == (element, metric))
        .map(|row| series.value[row])
        .collect()
}
