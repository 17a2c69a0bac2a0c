//! One flow on lab-quic over links that only delay, and its statistics.

pub use crate::tcp_theory::common::{burst, departures, run_text};
use quiclab_sim::RunOutput;

/// The round trip of [`ONE_FLOW`] in ms.
pub const RTT_MS: f64 = 100.0;

/// A download on lab-quic with the values of RFC 9002: nothing is paced, every packet is acknowledged
/// immediately.
pub const ONE_FLOW: &str = r#"
version = 1
name = "theory"
duration = "100 s"
links.down = { delay = "50 ms" }
links.up = { delay = "50 ms" }
taps.tap = {}
[flows.f]
stack = "lab-quic"
down = ["tap", "down"]
up = ["up"]
workload = { kind = "download", size = "1 kB" }
[flows.f.sender]
profile = "rfc9002"
pacing = { kind = "none" }
[flows.f.receiver]
profile = "rfc9002"
pacing = { kind = "none" }
quic = { acknowledgement = { kind = "every", packets = 1, delay = "0 s" } }
"#;

/// Runs [`ONE_FLOW`] with other values; the run must succeed.
pub fn run_one(sets: &[(&str, &str)]) -> RunOutput {
    let output = run_text(ONE_FLOW, sets, 7);
    let flow = &output.result.flows["f"];
    assert!(!flow.failed, "{:?}", flow.failure);
    output
}

/// A statistic of the client at the end.
pub fn client(output: &RunOutput, name: &str) -> f64 {
    let statistics = &output.result.flows["f"].receiver;
    *statistics.get(name).unwrap_or_else(|| panic!("`{name}` is none of {statistics:?}"))
}

/// A statistic of the server at the end.
pub fn server(output: &RunOutput, name: &str) -> f64 {
    output.result.flows["f"].sender[name]
}
