//! Algorithms of the start of a connection in whole runs of lab-quic and lab-tcp, compared with their definitions.
//!
//! Every bound is computed from the parameters of the scenario by a formula that the test states; none was taken from a
//! run.

use crate::tcp_theory::common::{series, value_at};
use crate::whole_runs::run_text;
use quiclab_sim::RunOutput;

const RTT: f64 = 0.1;
const RATE: f64 = 100e6;
/// CUBIC.
const BETA: f64 = 0.7;

/// One download in QUIC, paced at 1.25 windows per round trip (RFC 9002 section 7.7), with windows that limit nothing.
const QUIC: &str = r#"
version = 1
name = "start"
duration = "3 s"
until = "duration_over"
links.down = { rate = "100 Mbit/s", delay = "50 ms", overhead_per_packet = "14 B", queue = { kind = "drop_tail", packets = 100000 } }
links.up = { delay = "50 ms" }
record.series_interval = "1 ms"
[flows.f]
stack = "lab-quic"
down = ["down"]
up = ["up"]
workload = { kind = "download", duration = "3 s" }
sender = { congestion_control = "cubic", send_window = "256 MiB" }
receiver = { stream_receive_window = "256 MiB", connection_receive_window = "256 MiB" }
"#;

/// The same in TCP, paced by fq at twice the window per round trip of slow start.
const TCP: &str = r#"
version = 1
name = "start"
duration = "3 s"
until = "duration_over"
links.down = { rate = "100 Mbit/s", delay = "50 ms", overhead_per_packet = "14 B", queue = { kind = "drop_tail", packets = 100000 } }
links.up = { delay = "50 ms" }
record.series_interval = "1 ms"
[flows.f]
stack = "lab-tcp"
down = ["down"]
up = ["up"]
workload = { kind = "download", duration = "3 s" }
sender = { congestion_control = "cubic", pacing = { kind = "fq" }, tcp = { max_send_buffer = "256 MiB" } }
receiver = { tcp = { receive_buffer = "256 MiB", max_receive_buffer = "256 MiB" } }
"#;

/// Text of a scenario, bytes of a packet that the window counts, and bytes of its frame.
const STACKS: [(&str, f64, f64); 2] = [(QUIC, 1200.0, 1242.0), (TCP, 1448.0, 1514.0)];

fn run(text: &str, start: &str, sets: &[(&str, &str)]) -> RunOutput {
    let sets = [&[("flows.f.sender.slow_start_exit", start)], sets].concat();
    run_text(text, &sets, 7)
}

/// Growth of the window in the round trip until `time`.
fn growth(output: &RunOutput, time: f64) -> f64 {
    let windows = series(output, "cwnd_bytes");
    value_at(&windows, time) / value_at(&windows, time - RTT)
}

/// A sender that is paced at N windows per round trip and grows by `gain` bytes for each one acknowledged cannot keep
/// its window in flight if N is small: with growth by g in a round trip, bytes that leave at N w are acknowledged, and
/// added `gain` times, a round trip later, so that g ln g = N gain. At N = 2 the window limits: g is 1 + gain.
#[test]
fn windows_double_or_triple_unless_pacing_is_too_slow() {
    let root = |product: f64| (0..50).fold(2.0_f64, |g, _| g - (g * g.ln() - product) / (g.ln() + 1.0));
    for (start, gain) in [("none", 1.0), ("rapid-start", 2.0)] {
        let fast = [("links.down.rate", "10 Gbit/s"), ("duration", "0.95 s")];
        let paced = growth(&run(QUIC, start, &fast), 0.9);
        let expected = root(1.25 * gain);
        assert!((paced / expected - 1.0).abs() < 0.02, "{start}: {paced}, {expected}");
        let limited = growth(&run(TCP, start, &fast), 0.9);
        assert!((limited / (1.0 + gain) - 1.0).abs() < 0.02, "{start}: {limited}");
    }
}

/// Section 3.3.1 of the draft: after recovery the window is beta times the capacity of path and queue, if only the
/// queue drops; and never less than a third of beta times the window before it (section 3.3).
#[test]
fn rapid_start_converges_to_beta_of_path_and_queue() {
    for (text, size, frame) in STACKS {
        let queue = 800.0;
        let output = run(text, "rapid-start", &[("links.down.queue.packets", "800")]);
        let windows = series(&output, "cwnd_bytes");
        let (end, _) = *series(&output, "phase").iter().find(|(_, phase)| *phase == 2.0).expect("a loss");
        let before =
            windows.iter().filter(|(time, _)| *time < end).map(|(_, bytes)| *bytes).fold(0.0, f64::max);
        // a recovery period takes one round trip, with the queue
        let after = value_at(&series(&output, "ssthresh_bytes"), end + 3.0 * RTT);
        let path = (RATE * RTT / 8.0 / frame + queue) * size;
        let floor = before * BETA / 3.0;
        let expected = (path * BETA).max(floor);
        // in TCP a retransmission that is lost again counts twice
        let least = if text == TCP { floor } else { 0.98 * expected };
        assert!((least * 0.999..=1.02 * expected).contains(&after), "{after}: {least} to {expected}");
    }
}

/// Three bins of 0.35 initial round trips: the window becomes the amount that the bottleneck delivers in 1.05 of them.
/// Behind a queue of 8 bandwidth-delay products nothing is lost by then.
#[test]
fn search_leaves_slow_start_at_what_the_path_holds() {
    for (text, size, frame) in STACKS {
        let output = run(text, "search", &[("links.down.queue.packets", "6600")]);
        let thresholds = series(&output, "ssthresh_bytes");
        let (end, threshold) = *thresholds.iter().find(|(_, bytes)| *bytes > 0.0).expect("it ends");
        let expected = 1.05 * RATE * RTT / 8.0 / frame * size;
        assert!((threshold / expected - 1.0).abs() < 0.02, "{threshold}, {expected}");
        assert_eq!(value_at(&series(&output, "lost_packets"), end), 0.0);
    }
}

/// A window of 120 kB was saved: 60 kB, in whole segments in TCP, are the window from the moment when the initial
/// window is acknowledged, and leave evenly in a round trip; then slow start continues from the bytes in flight.
#[test]
fn careful_resume_jumps_to_half_of_the_saved_window() {
    const JUMP: f64 = 60_000.0;
    let saved = r#"{ window = "120 kB", rtt = "100 ms" }"#;
    for (text, size, _) in STACKS {
        let output =
            run(text, "careful-resume", &[("flows.f.sender.saved_path", saved), ("duration", "0.6 s")]);
        let windows = series(&output, "cwnd_bytes");
        let least = JUMP - size;
        let (jump, window) = *windows.iter().find(|(_, bytes)| *bytes > least).expect("it jumps");
        assert!((least..=JUMP).contains(&window), "{window}");
        // handshake and first window: two round trips in QUIC, where a server waits for the request, as in TCP
        assert!((2.5 * RTT..2.7 * RTT).contains(&jump), "{jump}");
        let flights = series(&output, "in_flight_bytes");
        let half = value_at(&flights, jump + RTT / 2.0);
        // up to two initial windows were in flight before, and the pacers let ten packets go first
        let earlier = 3.0 * 10.0 * size;
        assert!((0.5 * JUMP - 2.0 * size..0.5 * JUMP + earlier).contains(&half), "{half}");
        assert!(value_at(&flights, jump + 0.9 * RTT) > 0.85 * JUMP);
        let after = value_at(&windows, jump + 1.9 * RTT);
        assert!((1.5 * JUMP..=2.1 * JUMP).contains(&after), "{after}");
        assert_eq!(value_at(&series(&output, "lost_packets"), 0.59), 0.0);
    }
}

/// Only the RTT is known: the window is 60 kB before the first of them is acknowledged.
#[test]
fn jump_start_jumps_with_the_first_rtt() {
    for (text, size, _) in STACKS {
        let output = run(text, "jump-start", &[("flows.f.sender.max_jump", "60 kB"), ("duration", "0.5 s")]);
        let windows = series(&output, "cwnd_bytes");
        let (jump, _) = *windows.iter().find(|(_, bytes)| *bytes > 60_000.0 - size).expect("it jumps");
        assert!(jump < 2.0 * RTT, "{jump}");
        assert_eq!(value_at(&series(&output, "lost_packets"), 0.49), 0.0);
    }
}

/// The path holds a quarter of the saved window: the retreat leaves half of the bytes delivered by then, and slow start
/// ends at beta times the bytes delivered of the jump. Both are below the capacity of the path with its queue.
#[test]
fn careful_resume_retreats_from_a_path_that_holds_less() {
    let saved = r#"{ window = "5 MB", rtt = "100 ms" }"#;
    let sets = [("flows.f.sender.saved_path", saved), ("links.down.queue.packets", "200")];
    let output = run(QUIC, "careful-resume", &sets);
    let windows = series(&output, "cwnd_bytes");
    let (jump, _) = *windows.iter().find(|(_, bytes)| *bytes >= 2.4e6).expect("it jumps");
    let thresholds = series(&output, "ssthresh_bytes");
    let (retreat, _) = *thresholds.iter().find(|(_, bytes)| *bytes > 0.0).expect("it retreats");
    assert!((jump..jump + 3.0 * RTT).contains(&retreat), "{jump}, {retreat}");
    let path = (RATE * RTT / 8.0 / 1242.0 + 200.0) * 1200.0;
    assert!(value_at(&windows, retreat) <= path / 2.0, "{}", value_at(&windows, retreat));
    let threshold = value_at(&thresholds, retreat + 2.0 * RTT);
    assert!(threshold <= BETA * 2.0 * path && threshold > 0.3 * path, "{threshold}, {path}");
}
