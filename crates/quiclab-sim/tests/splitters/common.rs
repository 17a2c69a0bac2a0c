//! The default point of Dual Connectivity with feedback, and its runs.

use quiclab_config::{ConfigError, Document};
use quiclab_scenario::Scenario;
use quiclab_sim::{BuildOptions, NativeStacks, RunOptions, RunOutput, run};
use std::ops::ControlFlow;
use std::path::Path;

/// Two links of 20 Mbit/s, 10 ms and 100 packets each, and a download in 8 s. `shares` are left out, as adaptive
/// splitters want; batches then have equal ones.
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

pub fn load(sets: &[(&str, &str)]) -> Result<Scenario, ConfigError> {
    let sets = sets.iter().map(|(path, value)| ((*path).into(), (*value).into())).collect::<Vec<_>>();
    let stacks = |config: &_| quiclab_sim::validate(config);
    Ok(Scenario::load(&Document::from_toml(SPLIT, "splitters.toml", &sets)?, &stacks)?.resolved())
}

pub fn run_with(sets: &[(&str, &str)]) -> RunOutput {
    run_scenario(&load(sets).expect("the scenario is valid"), Path::new("."))
}

pub fn run_scenario(scenario: &Scenario, base_dir: &Path) -> RunOutput {
    let options = RunOptions {
        build: BuildOptions { stacks: &NativeStacks, base_dir, transport_observer: &|_| None },
        packet_observers: &|_| Vec::new(),
        progress: &|_| ControlFlow::Continue(()),
        compared: None,
    };
    run(scenario, 1, &options).expect("the run goes through")
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
    let metric = position(output.series.metric_names.clone(), metric) as u32;
    let series = &output.series;
    (0..series.value.len())
        .filter(|&row| (series.element[row], series.metric[row]) == (element, metric))
        .map(|row| series.value[row])
        .collect()
}
