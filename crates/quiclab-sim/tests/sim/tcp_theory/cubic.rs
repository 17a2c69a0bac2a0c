//! CUBIC compared with RFC 9438: the window as a function of the time since a single loss.
//!
//! In slow start the window is 10 packets and one for each acknowledged one: when the loss of the n-th is detected, n -
//! 1 are, and W_max = 10 + n - 1. No further loss occurs.

use super::common::*;
use quiclab_sim::RunOutput;

/// C and the decrease of Linux in its fractions (net/ipv4/tcp_cubic.c; RFC 9438 section 5: 0.4 and 0.7).
const C: f64 = 410.0 / 1024.0;
const BETA: f64 = 717.0 / 1024.0;

/// Runs a loss that ends slow start at a window of `w_max` packets. Numbers 0 and 1 on the link are the SYN-ACK and the
/// ACK of the request.
fn run_one_loss(w_max: u64, more: &[(&str, &str)]) -> RunOutput {
    let loss = format!(r#"{{ kind = "listed", packets = [{}] }}"#, w_max - 8);
    let mut sets = vec![("flows.f.sender.congestion_control", "cubic"), ("links.down.loss", loss.as_str())];
    sets.extend(more);
    let output = run_one(&sets);
    assert_eq!(sender(&output, "congestion_events"), 1.0);
    output
}

/// RFC 9438 section 4.2, figure 1: W(t) = C (t - K)^3 + W_max, K = cbrt((W_max - cwnd_epoch) / C).
fn curve(w_max: f64, epoch: f64, time: f64) -> f64 {
    let k = ((w_max - epoch) / C).cbrt();
    C * (time - k).powi(3) + w_max
}

/// The RTT is 100 ms, the burst of a round takes less than 5 ms of it. Linux computes the window that is due one RTT
/// later and approaches it with the ACKs of the round, (target - window) / window each; so the window is between the
/// curves one round behind and one round ahead. The start of the curve is known to a jiffy (4 ms) and the length of the
/// burst (5 ms); and a packet is not divided.
#[test]
fn after_a_loss_the_window_follows_the_cubic_curve() {
    let output = run_one_loss(
        349,
        &[
            ("duration", "15 s"),
            ("links.down.delay", "50 ms"),
            ("links.up.delay", "50 ms"),
            ("record.series_interval", "5 ms"),
        ],
    );
    let windows = windows(&output);
    let w_max = 349.0;
    let epoch = (w_max * BETA).floor();
    let (rtt, vague) = (0.1, 0.009);
    // recovery, of one round trip, comes first
    let start = rises(&series(&output, "congestion_events"))[0] + rtt;
    let k = ((w_max - epoch) / C).cbrt();
    // both branches are covered: concave until K, convex after it
    assert!(start + 2.0 * k < 15.0);
    let mut seen = 0;
    for &(time, window) in windows.iter().filter(|(time, _)| *time > start + 2.0 * rtt) {
        let time = time - start;
        let low = curve(w_max, epoch, time - rtt - vague) - 1.0;
        let high = curve(w_max, epoch, time + rtt + vague) + 1.0;
        assert!((low..=high).contains(&window), "{window} at {time} s: {low} to {high}");
        seen += 1;
    }
    assert!(seen > 2000);
    // Reno's estimate (8/15 of a packet per round trip) stays below: the cubic curve applies
    assert!(epoch + 8.0 / 15.0 * k / rtt < w_max);
}

/// RFC 9438 section 4.3: in the Reno-friendly region the window grows by α = 3 (1 - β) / (1 + β) = 0.53 packets
/// per round trip, in Linux 8/15. With an RTT of 10 ms and W_max = 49 that is 53 packets per second, and the cubic
/// curve is below for the next seconds: it needs K = 3.4 s for the first 15.
///
/// Linux grows by one packet when the estimate is ahead by one, and that over a round: two packets behind; its divisor
/// is rounded down, by 1/65 at most (15/8 of 35 packets); a burst of 12 us per packet adds to no round trip, but one
/// ACK is late in each. Segments leave singly: pairs would leave a packet of the window unused.
#[test]
fn small_windows_on_short_paths_grow_like_reno() {
    let output = run_one_loss(
        49,
        &[
            ("duration", "4 s"),
            ("links.down.delay", "5 ms"),
            ("links.up.delay", "5 ms"),
            ("flows.f.sender.tcp.gso_segments", "1"),
            ("record.series_interval", "5 ms"),
        ],
    );
    let windows = windows(&output);
    let (w_max, rtt) = (49.0, 0.01);
    let epoch = (w_max * BETA).floor();
    let start = rises(&series(&output, "congestion_events"))[0] + rtt;
    for &(time, window) in windows.iter().filter(|(time, _)| *time > start + 2.0 * rtt) {
        let rounds = (time - start) / rtt;
        let reno = |growth: f64, rounds: f64| epoch + growth * rounds;
        let low = reno(8.0 / 15.0 * 0.985, rounds - 2.0) - 2.0;
        let high = reno(8.0 / 15.0 / 0.985, rounds + 1.0) + 1.0;
        assert!((low..=high).contains(&window), "{window} at {time} s: {low} to {high}");
        // by more than the allowance, from half a second on
        assert!(rounds < 50.0 || curve(w_max, epoch, time - start + rtt) < low);
    }
}

/// Chromium's `num_connections`: one of N connections reduces its share of the window, β = (N - 1 + 0.7) / N.
#[test]
fn a_cut_of_n_connections_is_that_of_one_of_them() {
    for n in [1_u32, 2, 4, 10] {
        let connections = n.to_string();
        let output = run_one_loss(
            349,
            &[
                ("duration", "400 ms"),
                ("flows.f.sender.emulated_connections", &connections),
                ("record.series_interval", "100 us"),
            ],
        );
        let n = f64::from(n);
        let expected = 349.0 * (n - 1.0 + 0.7) / n;
        let threshold = sender(&output, "ssthresh_bytes") / PAYLOAD;
        // 717/1024 and whole packets each differ by less than a packet
        assert!((threshold - expected).abs() < 1.5, "{threshold}, expected {expected}");
    }
}
