//! Slow start: doubling (RFC 5681 section 3.1 with a segment of growth for each acknowledged), and its early end by
//! HyStart (Ha, Rhee: "Taming the elephants", Computer Networks 55, 2011).

use super::common::*;

#[test]
fn slow_start_doubles_the_window_each_round_trip() {
    for control in ["newreno", "cubic"] {
        let output = run_one(&[
            ("duration", "1.1 s"),
            ("links.down.delay", "50 ms"),
            ("links.up.delay", "50 ms"),
            ("flows.f.sender.congestion_control", control),
            ("record.series_interval", "10 ms"),
        ]);
        let windows = windows(&output);
        // SYN at 0, request at 100 ms, the first window leaves at 150 ms and is acknowledged from 250 ms on;
        // 640 packets need 8 ms at 1 Gbit/s: in the middle of a round trip all are acknowledged
        for round in 0..7 {
            let expected = 10.0 * f64::from(1 << round);
            assert_eq!(
                value_at(&windows, 0.2 + 0.1 * f64::from(round)),
                expected,
                "{control}, round {round}"
            );
        }
    }
}

const RATE: f64 = 100e6;
const RTT: f64 = 0.1;

/// A link of 833 packets of bandwidth-delay product with a queue of twice that length.
fn run_with_queue(exit: &str) -> quiclab_sim::RunOutput {
    let queue = format!("{}", (2.0 * bdp()) as u64);
    run_one(&[
        ("duration", "3 s"),
        ("links.down.rate", "100 Mbit/s"),
        ("links.down.delay", "50 ms"),
        ("links.up.delay", "50 ms"),
        ("links.down.queue.packets", &queue),
        ("flows.f.sender.congestion_control", "cubic"),
        ("flows.f.sender.slow_start_exit", exit),
        ("record.series_interval", "1 ms"),
    ])
}

fn bdp() -> f64 {
    RATE * RTT / (PACKET * 8.0)
}

/// Without pacing the ACKs of a window F arrive over F / rate. The train is long when it lasts half of the minimum RTT
/// (and half a cushion of up to 1 ms): F is at least half of the BDP, and then half of the BDP has been acknowledged in
/// this round, each with a packet of growth: the window is F + BDP / 2. The window before F was at most half of the
/// BDP, or it had ended slow start itself, so F is at most the BDP: 1 to 1.5 BDP.
#[test]
fn hystart_leaves_slow_start_before_the_queue_overflows() {
    let output = run_with_queue("hystart-linux");
    let phases = series(&output, "phase");
    let left = phases.iter().find(|(_, phase)| *phase == 2.0).expect("slow start ends").0;
    let window = value_at(&windows(&output), left);
    let cushion = 0.001 / RTT;
    // a sample may come one millisecond later
    let late = 0.001 * RATE / (PACKET * 8.0);
    let allowed = bdp() * (1.0 - cushion)..=bdp() * (1.5 + cushion) + late;
    assert!(allowed.contains(&window), "{window} packets: {allowed:?}");
    assert_eq!(output.result.elements["down"].counters.dropped.packets, 0);
    assert_eq!(sender(&output, "lost_packets"), 0.0);
}

/// Without an exit the window doubles until BDP and queue are full, and overflows.
#[test]
fn without_an_exit_slow_start_overflows_the_same_queue() {
    let output = run_with_queue("none");
    let phases = series(&output, "phase");
    let left = phases.iter().find(|(_, phase)| *phase == 2.0).expect("a loss ends slow start").0;
    let lost = series(&output, "lost_packets");
    assert_eq!(value_at(&phases, left - 0.001), 0.0);
    assert_eq!(value_at(&lost, left - 0.002), 0.0);
    assert!(output.result.elements["down"].counters.dropped.packets > 0);
    // the threshold is 0.7 of a window detected to be too large a round trip late: more than BDP and queue, at most
    // twice
    let threshold = sender(&output, "ssthresh_bytes") / PAYLOAD;
    let pipe = 3.0 * bdp();
    assert!((0.7 * pipe..=0.7 * 2.0 * (pipe + 1.0)).contains(&threshold), "{threshold}");
}
