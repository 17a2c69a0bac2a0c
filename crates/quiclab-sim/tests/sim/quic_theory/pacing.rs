//! Spacing of datagrams behind the sender.
//!
//! The window is fixed at 100 datagrams of 1200 B and the round trip is 100 ms: unpaced, 1000 datagrams a second.

use super::common::*;
use quiclab_core::Time;

/// An unpaced window each round trip, in datagrams per second.
const RATE: f64 = 1000.0;

/// Departures of full datagrams of the response in a second: from 150 ms on, when the RTT is known.
fn departures_with(pacing: &str) -> Vec<Time> {
    let output = run_one(&[
        ("duration", "1.2 s"),
        ("flows.f.workload.size", "100 MB"),
        ("flows.f.sender.congestion_control", "fixed"),
        ("flows.f.sender.initial_window", "120 kB"),
        ("flows.f.sender.pacing", pacing),
    ]);
    let request = Time::ZERO + quiclab_core::Duration::from_millis(150);
    let times: Vec<_> = departures(&output, 1000).into_iter().filter(|time| *time >= request).collect();
    assert!(times.len() > 600, "{} datagrams are not enough to say anything", times.len());
    times
}

/// RFC 9002 section 7.7: at N cwnd / srtt, with bursts of the bucket; here 1.25 and 1, 2 or 10 datagrams.
#[test]
fn a_leaky_bucket_lets_no_more_pass_than_it_holds() {
    for packets in [1_u32, 2, 10] {
        let pacing = format!(r#"{{ kind = "leaky_bucket", factor = 1.25, burst_packets = {packets} }}"#);
        let found = burst(&departures_with(&pacing), 1.25 * RATE);
        // times are rounded up to the nanosecond, which only reduces it
        assert!(found <= f64::from(packets) + 1e-3, "{packets}: {found}");
        assert!(found > f64::from(packets) - 1.0, "{packets}: {found}, it is used");
    }
}

/// Without a bucket no two leave together, and gaps within a window are 1 / (1.25 x 1000 / s).
#[test]
fn even_pacing_spaces_all_datagrams() {
    let times = departures_with(r#"{ kind = "even", factor = 1.25 }"#);
    let gap = 1e9 / (1.25 * RATE);
    let least = times.windows(2).map(|pair| pair[1].since(pair[0]).as_nanos()).min().expect("there are some");
    // acknowledgements and similar packets between them are also paced
    assert!(least as f64 >= gap - 1.0, "{least} ns");
    assert!(burst(&times, 1.25 * RATE) <= 1.0 + 1e-3);
}

/// Shows that the tests above can fail: a whole window leaves at once.
#[test]
fn without_pacing_a_window_is_a_burst() {
    assert!(burst(&departures_with(r#"{ kind = "none" }"#), 1.25 * RATE) > 50.0);
}
