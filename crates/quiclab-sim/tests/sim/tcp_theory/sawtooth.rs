//! The sawtooth of NewReno behind a drop-tail queue (RFC 5681 section 3.1; Chiu and Jain 1989).
//!
//! A link of R packets per second, round trip D without queue, a queue of Q packets (including the one in
//! service). The pipe holds P = R D + Q packets. The window grows one packet per round trip; the first window
//! above P loses one packet, which is detected a round trip later, when the window has grown once more at
//! most. Then it is halved.

use super::common::*;
use quiclab_sim::RunOutput;

const RATE_MBPS: f64 = 10.0;
const BASE_RTT: f64 = 0.04;
const QUEUE: f64 = 60.0;

/// Seconds to serialise a packet.
fn packet_time() -> f64 {
    PACKET * 8.0 / (RATE_MBPS * 1e6)
}

/// Packets that the network holds, a fraction included.
fn pipe() -> f64 {
    BASE_RTT / packet_time() + QUEUE
}

/// Round trip in seconds with `window` packets in flight, at most a full pipe.
fn round_trip(window: f64) -> f64 {
    (window.min(pipe()) * packet_time()).max(BASE_RTT)
}

fn output() -> RunOutput {
    run_one(&[
        ("links.down.rate", "10 Mbit/s"),
        ("links.down.delay", "20 ms"),
        ("links.up.delay", "20 ms"),
        ("links.down.queue.packets", "60"),
        ("record.series_interval", "2 ms"),
    ])
}

#[test]
fn each_overflow_loses_one_packet_and_halves_the_window_once() {
    let output = output();
    let windows = windows(&output);
    let (lost, threshold) = (series(&output, "lost_packets"), series(&output, "ssthresh_bytes"));
    let cuts = rises(&series(&output, "congestion_events"));
    // the first one ends slow start
    assert!(cuts.len() > 10);
    for &cut in &cuts[1..] {
        let (before, at) = (value_at(&windows, cut - 0.002), value_at(&lost, cut));
        assert!((pipe().ceil()..=pipe().ceil() + 1.0).contains(&before), "{before} of {}", pipe());
        assert_eq!(at - value_at(&lost, cut - 0.002), 1.0, "one packet too many, one loss");
        assert_eq!(value_at(&threshold, cut) / PAYLOAD, (before / 2.0).floor());
        // proportional rate reduction is complete within the round trip
        let after = value_at(&windows, cut + round_trip(before) + 0.002);
        assert_eq!(after, (before / 2.0).floor(), "at {cut} s");
    }
    // every drop was detected, except possibly the last
    let dropped = output.result.elements["down"].counters.dropped.packets as f64;
    assert!((0.0..=1.0).contains(&(dropped - sender(&output, "lost_packets"))));
}

#[test]
fn the_window_grows_a_packet_per_round_trip() {
    let output = output();
    let windows = windows(&output);
    let cuts = rises(&series(&output, "congestion_events"));
    for pair in cuts[1..].windows(2) {
        // from the end of recovery on
        let mut time = pair[0] + round_trip(pipe()) + 0.002;
        let mut expected = value_at(&windows, time);
        while time < pair[1] - 0.01 {
            let window = value_at(&windows, time);
            assert!((window - expected).abs() <= 1.0, "{window} at {time}, not {expected}");
            time += round_trip(window);
            expected += 1.0;
        }
    }
}

/// A period has the rounds of all windows from m to M, the last of which reveals the loss, and the round trip
/// of recovery. The sum does not determine which parts of the first and last round belong to the period: a
/// full round trip either way, 112 ms of 4.17 s.
#[test]
fn the_period_is_the_sum_of_the_round_trips() {
    let most = pipe().ceil();
    let least = (most / 2.0).floor();
    let rounds = (least as u32..=most as u32).map(|window| round_trip(f64::from(window))).sum::<f64>();
    let expected = rounds + round_trip(pipe());
    let output = output();
    let cuts = rises(&series(&output, "congestion_events"));
    for pair in cuts[1..].windows(2) {
        let period = pair[1] - pair[0];
        assert!((period - expected).abs() <= round_trip(pipe()), "{period} s, expected {expected} s");
    }
    // half of the pipe exceeds the capacity of the link without queue: it never runs empty after slow start,
    // which takes at most two round trips of handshake and request and four of growth
    assert!(least * packet_time() > BASE_RTT);
    let idle = 6.0 * BASE_RTT / 100.0;
    let most_mbps = RATE_MBPS * PAYLOAD / PACKET;
    // and lost packets went over the link twice at most
    let lost = sender(&output, "lost_packets") / sender(&output, "packets_sent");
    let goodput = output.result.flows["f"].goodput_mbps;
    assert!(goodput <= most_mbps && goodput >= most_mbps * (1.0 - idle - lost), "{goodput} of {most_mbps}");
}
