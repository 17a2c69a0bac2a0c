//! A flow on two paths, its runs, and the packets that passed the taps.

pub use crate::whole_runs::{load, native, run_text};
use quiclab_core::{TapRecord, Time};
use quiclab_sim::RunOutput;

/// IP packet of a full datagram in bytes: 1200 B and the headers of IP and UDP.
pub const PACKET: f64 = 1228.0;
/// Minimum stream data in a full datagram: less 27 B of short header (ID of 8 B, number of 2 B) and tag, and
/// at most 10 B of frame header (stream, offset) as no Length follows.
pub const PAYLOAD: f64 = 1200.0 - 27.0 - 10.0;
/// Rate of each link in bit/s.
pub const RATE: f64 = 20e6;

/// Two paths of 20 Mbit/s and 10 ms each way. A queue holds 100 packets, more than the 41 of the
/// bandwidth-delay product: NewReno, which halves 141 packets, leaves no link idle. Taps: `in1` and `in2` before
/// the links down, `out1` and `out2` after them, `up1` and `up2` before the links up.
pub const TWO_PATHS: &str = r#"
version = 1
name = "multipath"
duration = "10 s"
links.down1 = { rate = "20 Mbit/s", delay = "10 ms", queue = { kind = "drop_tail", packets = 100 } }
links.down2 = { rate = "20 Mbit/s", delay = "10 ms", queue = { kind = "drop_tail", packets = 100 } }
links.back1 = { delay = "10 ms" }
links.back2 = { delay = "10 ms" }
taps = { in1 = {}, in2 = {}, out1 = {}, out2 = {}, up1 = {}, up2 = {} }
[flows.f]
stack = "lab-quic"
down = ["in1", "down1", "out1"]
up = ["up1", "back1"]
paths = [{ down = ["in2", "down2", "out2"], up = ["up2", "back2"] }]
sender = { profile = "rfc9002" }
receiver = { profile = "rfc9002" }
workload = { kind = "download", duration = "10 s" }
"#;

/// [`TWO_PATHS`] with other values.
pub fn run_two(sets: &[(&str, &str)]) -> RunOutput {
    run_text(TWO_PATHS, sets, 1)
}

/// Packets that passed a tap.
pub fn passed(output: &RunOutput, tap: &str) -> Vec<TapRecord> {
    output.taps.iter().find(|(name, _)| name == tap).expect("there is such a tap").1.iter().collect()
}

pub fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}

/// A list of packet numbers of a link, which loses these.
pub fn listed(range: std::ops::Range<u64>) -> String {
    let numbers: Vec<_> = range.map(|number| number.to_string()).collect();
    format!("{{ kind = \"listed\", packets = [{}] }}", numbers.join(", "))
}
