//! A tunnel over two paths of 20 Mbit/s and 10 ms each way, with a download and a ping inside.

use crate::whole_runs::{self, run_text};
use quiclab_config::ConfigError;
use quiclab_scenario::Scenario;
use quiclab_sim::RunOutput;

pub const TUNNEL: &str = r#"
version = 1
name = "tunnel"
duration = "12 s"
until = "duration_over"
links.down1 = { rate = "20 Mbit/s", delay = "10 ms", queue = { kind = "drop_tail", packets = 350 } }
links.down2 = { rate = "20 Mbit/s", delay = "10 ms", queue = { kind = "drop_tail", packets = 350 } }
links.up1 = { rate = "20 Mbit/s", delay = "10 ms" }
links.up2 = { rate = "20 Mbit/s", delay = "10 ms" }
[tunnels.vpn]
stack = "lab-quic"
queue = { kind = "fq_codel" }
scheduler = "round_robin"
windows = ["62500 B", "62500 B"]
server = { congestion_control = "fixed" }
client = { congestion_control = "fixed" }
paths = [{ down = ["down1"], up = ["up1"] }, { down = ["down2"], up = ["up2"] }]
[flows.load]
stack = "lab-tcp"
down = ["vpn"]
up = ["vpn"]
workload = { kind = "download", duration = "10 s" }
start = "2 s"
sender = { congestion_control = "cubic", tcp = { mss = "1348 B" } }
receiver = { tcp = { mss = "1348 B" } }
[flows.ping]
stack = "lab-udp"
down = ["vpn"]
up = ["vpn"]
workload = { kind = "ping", count = 100, interval = "100 ms", size = "1372 B" }
start = "1 s"
"#;

/// Rate of each link in bit/s.
pub const RATE: f64 = 20e6;
/// Windows of 1.25 bandwidth-delay products: 20 Mbit/s for 20 ms are 50 000 B.
pub const WINDOW: f64 = 62_500.0;
/// Length of an IP packet in the tunnel with a full segment of 1348 B: 40 B of headers and 12 B of
/// timestamps.
pub const INNER: f64 = 1400.0;
/// The same on a link: DATAGRAM frame (3 B), short header with an ID of 8 B and 4 B of number at most (13 B), tag (16 B),
/// UDP and IP (28 B).
pub const OUTER: f64 = INNER + 3.0 + 13.0 + 16.0 + 28.0;

/// [`TUNNEL`] with other values.
pub fn load(sets: &[(&str, &str)]) -> Result<Scenario, ConfigError> {
    whole_runs::load(TUNNEL, sets)
}

pub fn run_with(sets: &[(&str, &str)]) -> RunOutput {
    run_text(TUNNEL, sets, 1)
}

/// A value of an element over the whole run.
pub fn statistic(output: &RunOutput, element: &str, name: &str) -> f64 {
    output.result.elements[element].statistics[name]
}

/// A value reported by the receiver of a flow.
pub fn received(output: &RunOutput, flow: &str, name: &str) -> f64 {
    output.result.flows[flow].receiver[name]
}

pub const FIFO: (&str, &str) = ("tunnels.vpn.queue", r#"{ kind = "head_drop", bytes = "10 MB" }"#);
