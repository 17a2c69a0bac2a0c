//! Tests of [`RttRise`].

use super::super::slow_start::testing::{Driver, MSS};
use super::super::window::{Flavour, WindowSettings};
use super::super::{Ack, Controller, newreno::NewReno};
use super::*;

/// Number, from 0, of the acknowledgement with which the RTT has risen often enough; samples are 2 ms apart.
fn risen(rtts_ms: impl IntoIterator<Item = u64>) -> Option<usize> {
    let mut policy = RttRise::default();
    let at = |index: usize| Time::from_nanos(index as u64 * 2_000_000);
    rtts_ms
        .into_iter()
        .enumerate()
        .position(|(index, rtt)| policy.has_risen(at(index), Duration::from_millis(rtt)))
}

fn constant(rtt: u64, count: usize) -> impl Iterator<Item = u64> {
    std::iter::repeat_n(rtt, count)
}

/// Samples 0 to 4 set the baseline, 9 is the first of which the last five are all 50: rises at 9 to 13.
#[test]
fn the_fifth_rise_by_a_quarter_ends_it() {
    assert_eq!(risen(constant(40, 5).chain(constant(50, 30))), Some(13));
    assert_eq!(risen(constant(40, 5).chain(constant(49, 1000))), None, "less than a quarter");
}

/// 4 rises (9 to 12). Then 45: for five samples the minimum is 45, less than a quarter but more than 0: the
/// count restarts at 18 and reaches five at 22. With 40 instead the rise is 0: the count does not change, 18
/// is the fifth.
#[test]
fn a_small_rise_forgets_the_others_and_none_does_not() {
    let dip = |rtt| constant(40, 5).chain(constant(50, 8)).chain([rtt]).chain(constant(50, 30));
    assert_eq!(risen(dip(45)), Some(22));
    assert_eq!(risen(dip(40)), Some(18));
}

/// A first sample of 48 makes the baseline 48, until five of 40 lower it to 40 (sample 5): then as above.
#[test]
fn the_baseline_is_the_smallest_maximum_of_five() {
    assert_eq!(risen([48].into_iter().chain(constant(40, 5)).chain(constant(50, 30))), Some(14));
    // only 48 and 40 in turn: the baseline stays 48, 59 is less than a quarter above it, 60 is not
    let turns = || [48, 40].into_iter().cycle().take(10);
    assert_eq!(risen(turns().chain(constant(59, 100))), None);
    assert_eq!(risen(turns().chain(constant(60, 100))), Some(18));
}

/// Samples 1 ms apart are too close, hence every second one counts, the first at once: 5 + 5 + 4 samples, 2 ms
/// apart. A sample of another acknowledgement in between changes nothing.
#[test]
fn at_most_one_sample_counts_each_millisecond() {
    let mut policy = RttRise::default();
    let mut taken = 0;
    let risen = (0..100u64).find(|millis| {
        let counts = millis % 2 == 0;
        let rtt = if !counts {
            1
        } else if taken < 5 {
            40
        } else {
            50
        };
        taken += u64::from(counts);
        policy.has_risen(Time::from_nanos(millis * 1_000_000), Duration::from_millis(rtt))
    });
    assert_eq!(risen, Some(2 * 13));
}

/// Results of aioquic's class for the same numbers, drawn by the generator of the C standard's example.
#[test]
fn it_answers_as_aioquic_does() {
    for (seed, index) in [(1, 237), (2, 248), (3, 249), (4, 253)] {
        let mut state: u64 = seed;
        let mut draw = || {
            state = (state * 1_103_515_245 + 12_345) % (1 << 31);
            state >> 16
        };
        let (mut policy, mut now_us) = (RttRise::default(), 1_000_000);
        let found = (0..2000).find(|&index| {
            now_us += 300 + draw() % 1200;
            let rtt = Duration::from_micros(40_000 + index * 60 + draw() % 6000);
            policy.has_risen(Time::from_nanos(now_us * 1000), rtt)
        });
        assert_eq!(found, Some(index), "seed {seed}");
    }
}

/// The 14th of acknowledgements 2 ms apart shows the fifth rise and still increases the window; at the next
/// one the window is at its threshold.
#[test]
fn the_threshold_is_the_window_after_the_acknowledgement() {
    let settings = WindowSettings {
        flavour: Flavour::Quic,
        initial_window: 10 * MSS,
        mss: MSS,
        emulated_connections: 1,
    };
    let mut reno = NewReno::new(&settings, Box::new(RttRise::default()));
    let mut acknowledge = |index: u64, rtt| {
        reno.on_ack(&Ack {
            now: Time::from_nanos(index * 2_000_000),
            acked_bytes: MSS,
            acked_packets: 1,
            rtt: Some(Duration::from_millis(rtt)),
            may_grow: true,
            cwnd_limited: true,
            ..Ack::default()
        });
        (reno.window(), reno.ssthresh())
    };
    for index in 0..5 {
        acknowledge(index, 40);
    }
    for index in 5..13 {
        acknowledge(index, 50);
    }
    assert_eq!(acknowledge(13, 50), (24 * MSS, None)); // 10 + 14
    assert_eq!(acknowledge(14, 50), (24 * MSS, Some(24 * MSS)));
}

#[test]
fn it_looks_at_the_first_slow_start_only() {
    let mut driver = Driver::new(RttRise::default(), 100);
    driver.initial = false;
    for packet in 0..100 {
        let rtt_us = if packet < 5 { 40_000 } else { 80_000 };
        assert_eq!(driver.ack(packet * 2000, rtt_us, packet, 1000), SlowStartDecision::GO_ON);
    }
}
