//! The pseudocode of the draft by hand; whole flows are in quiclab-sim/tests/media_theory.

use super::window::{Feedback, MIN_REF_WND, RefWindow, VIRTUAL_RTT};
use super::*;
use crate::testing::ms;
use quiclab_core::Ecn;

const RTT: Duration = Duration::from_millis(50);

fn parameters(ecn: Ecn) -> Parameters {
    Parameters {
        start_rate: 1e6,
        min_rate: 1e5,
        max_rate: 1e7,
        ramp_up_speed: 2e5,
        frame_rate: 25,
        mss: ByteCount::from_bytes(1000),
        target_delay: 0.06,
        ecn,
        is_v2: true,
        start: ms(0),
        end: ms(100_000),
    }
}

fn window(ecn: Ecn, size: f64) -> RefWindow {
    let mut window = RefWindow::new(&parameters(ecn));
    window.size = size;
    window.on_in_flight(size);
    window
}

/// Report of `packets` of 1000 B that arrived, `marked` of them with marks.
fn feedback(packets: u64, marked: u64) -> Feedback {
    Feedback {
        acked: 1000.0 * packets as f64,
        acked_ce: 1000.0 * marked as f64,
        packets,
        packets_ce: marked,
        lost: false,
        delay: 0.0,
        rtt: RTT,
        is_at_max_rate: false,
    }
}

/// Section 4.2.1.3: an eighth of a larger share, 1/128 less with a smaller one; not within 10 ms.
#[test]
fn the_share_of_marks_rises_fast_and_falls_slowly() {
    let mut share = marks::MarkShare::new(ms(0));
    share.add(ms(9), RTT, 4, 4);
    assert_eq!(share.alpha, 0.0);
    share.add(ms(10), RTT, 4, 0);
    assert_eq!(share.alpha, 0.5 / 8.0);
    share.add(ms(20), RTT, 4, 0);
    assert_eq!(share.alpha, 0.5 / 8.0 * 127.0 / 128.0);
    // nothing arrived: no share
    share.add(ms(30), RTT, 0, 0);
    assert_eq!(share.alpha, 0.5 / 8.0 * 127.0 / 128.0);
}

/// Section 4.2.2.1: 0.7 for losses, 0.8 for marks of classic ECN, once in VIRTUAL_RTT or a round trip.
#[test]
fn losses_and_classic_marks_reduce_by_a_factor() {
    let mut reduced = window(Ecn::Ect0, 20_000.0);
    assert!(reduced.on_feedback(ms(30), &Feedback { lost: true, acked: 0.0, ..feedback(0, 0) }));
    assert_eq!(reduced.size, 14_000.0);
    assert!(!reduced.on_feedback(ms(40), &Feedback { acked: 0.0, acked_ce: 0.0, ..feedback(1, 1) }));
    assert!(
        reduced.on_feedback(ms(55), &Feedback { acked: 0.0, ..feedback(0, 0) }),
        "what came in between counts"
    );
    assert_eq!(reduced.size, 14_000.0 * 0.8);
    let mut least = window(Ecn::Ect0, 4000.0);
    least.on_feedback(ms(30), &Feedback { lost: true, acked: 0.0, ..feedback(0, 0) });
    assert_eq!(least.size, MIN_REF_WND);
}

/// Half of `l4s_alpha`, shared among the reactions of a round trip of 50 ms; a quarter of it at the last maximum.
#[test]
fn marks_of_l4s_reduce_by_their_share() {
    let mut reduced = window(Ecn::Ect1, 20_000.0);
    // the share is 1/2, of which an eighth counts; the window is far from `ref_wnd_i`
    reduced.on_feedback(ms(30), &Feedback { acked: 0.0, acked_ce: 0.0, ..feedback(4, 2) });
    let first = 20_000.0 * (1.0 - 0.5 / 8.0 / 2.0 / 2.0);
    assert!((reduced.size - first).abs() < 1e-9, "{}", reduced.size);
    // now it is near: (0.015625 x 8)^2 is below a quarter, and at a queueing delay of 15 ms the closeness
    // does not count
    for (delay, part) in [(0.0, 0.25), (0.015, 1.0)] {
        let mut window = window(Ecn::Ect1, 20_000.0);
        window.on_feedback(ms(30), &Feedback { acked: 0.0, acked_ce: 0.0, ..feedback(4, 2) });
        let before = window.size;
        window.on_feedback(ms(60), &Feedback { acked: 0.0, acked_ce: 0.0, delay, ..feedback(4, 2) });
        let alpha = 0.5 / 8.0 + 0.5 / 8.0 * 7.0 / 8.0;
        assert!((window.size - before * (1.0 - alpha / 4.0 * part)).abs() < 1e-9, "{}", window.size);
    }
}

/// Section 4.2.1.4: above half of the target, 30 ms, linearly; at 45 ms the virtual share is a half. A larger
/// delay enters the average with a quarter, a smaller one in full.
#[test]
fn a_delay_acts_as_virtual_marks() {
    let mut window = window(Ecn::NotEct, 20_000.0);
    for step in 1..=3 {
        let at = Feedback { acked: 0.0, delay: 0.045, ..feedback(0, 0) };
        assert!(!window.on_feedback(ms(30 * step), &at), "the average is below 30 ms");
    }
    // 45 x (1 - 0.75^4) = 30.76 ms
    let average: f64 = 0.045 * (1.0 - 0.75_f64.powi(4));
    assert!(window.on_feedback(ms(120), &Feedback { acked: 0.0, delay: 0.045, ..feedback(0, 0) }));
    let alpha = (average - 0.03) / 0.03;
    assert!((window.size - 20_000.0 * (1.0 - alpha / 2.0 / 2.0)).abs() < 1e-6, "{}", window.size);
    assert!(!window.on_feedback(ms(150), &Feedback { acked: 0.0, ..feedback(0, 0) }));
}

/// Section 4.2.2.2: right after congestion a packet in a round trip at least VIRTUAL_RTT long, a quarter near the last maximum; after 100 round
/// trips 2 % of the window more for each packet.
#[test]
fn the_window_grows_by_a_packet_and_more_in_calm() {
    let mut grown = window(Ecn::NotEct, 20_000.0);
    grown.on_feedback(ms(50), &feedback(20, 0));
    // 50 ms without congestion of 5 s
    assert!((grown.size - (20_000.0 + 1000.0 * (1.0 + 0.4 * 0.01))).abs() < 1e-9, "{}", grown.size);
    let mut calm = window(Ecn::NotEct, 20_000.0);
    calm.on_feedback(ms(5000), &feedback(20, 0));
    assert!((calm.size - 21_400.0).abs() < 1e-9, "{}", calm.size);
    // of 20 packets, 10 have marks: half of it; at the last maximum another quarter of it
    let mut marked = window(Ecn::Ect1, 20_000.0);
    marked.on_feedback(ms(20), &Feedback { acked: 0.0, acked_ce: 0.0, ..feedback(1, 1) });
    marked.on_feedback(ms(30), &feedback(0, 0));
    let before = marked.size;
    marked.on_feedback(ms(52), &feedback(20, 10));
    assert!(
        (marked.size - (before + 10.0 * 1000.0 * 1000.0 / before * 0.25)).abs() < 10.0,
        "{} {before}",
        marked.size
    );
}

/// 1000 + 1.5 x 10000 B; no growth at the maximum rate either.
#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut unused = RefWindow::new(&parameters(Ecn::NotEct));
    unused.size = 16_000.0;
    unused.on_in_flight(10_000.0);
    unused.on_feedback(ms(50), &feedback(20, 0));
    assert_eq!(unused.size, 16_000.0);
    let mut at_most = window(Ecn::NotEct, 16_000.0);
    at_most.on_feedback(ms(50), &Feedback { is_at_max_rate: true, ..feedback(20, 0) });
    assert_eq!(at_most.size, 16_000.0);
}

/// The steady state: if two packets in a round trip have marks, reductions and growth cancel (section
/// 4.2.2.2). A window of 40 packets at an RTT of VIRTUAL_RTT, far from the last maximum: `l4s_alpha` is 1/20.
#[test]
fn two_marks_in_a_round_trip_are_the_balance() {
    let rtt = VIRTUAL_RTT;
    let mut window = window(Ecn::Ect1, 40_000.0);
    window.marks.alpha = 0.05;
    let at = |now: u64, marked: u64| (ms(now), Feedback { rtt, delay: 0.016, ..feedback(40, marked) });
    let (now, feedback) = at(25, 2);
    window.on_feedback(now, &feedback);
    // -2.5 % of 40 packets, and 38/40 of a packet
    assert!((window.size - 40_000.0).abs() < 100.0, "{}", window.size);
}

/// Section 4.4: 8 x 30000 B / 50 ms, by 1.2, and 1000 of 1020; a ratio above 0.1 reduces the rate by up to a
/// fifth; packets that wait reduce it further.
#[test]
fn the_rate_follows_window_and_rtt() {
    let mut rate = TargetBitrate::new(&parameters(Ecn::NotEct));
    rate.update(30_000.0, 1.0 / 30.0, 0.05);
    assert!((rate.target - 4.8e6 / 1.2 / 1.02).abs() < 1e-3, "{}", rate.target);
    rate.update(30_000.0, 0.2, 0.05);
    assert!((rate.target - 4.8e6 / 1.2 / 1.02 * 0.9).abs() < 1e-3, "{}", rate.target);
    // the oldest waits for a frame period of 40 ms: (1 - 1/4) / 16
    rate.on_frame(1.0, 0.04);
    rate.update(30_000.0, 1.0 / 30.0, 0.05);
    assert!((rate.target - 4.8e6 / (1.2 + 0.75 / 16.0) / 1.02).abs() < 1e-3, "{}", rate.target);
    rate.update(1e9, 1e-6, 0.05);
    assert_eq!(rate.target, 1e7);
    rate.update(1.0, 1.0, 0.05);
    assert_eq!(rate.target, 1e5);
}

/// Section 4.3.2: 1.5 times the rate, up to four times as much when it is at its maximum; at 90 % half of the
/// relaxation applies.
#[test]
fn pacing_is_relaxed_near_the_maximum() {
    for (target, pace) in [(1e6, 1.5e6), (8e6, 12e6), (9e6, 27e6), (1e7, 60e6)] {
        let mut scream = ScreamV2::new(&parameters(Ecn::NotEct));
        scream.rate.target = target;
        let found = scream.pacing_rate(RTT);
        assert!((found - pace).abs() < 1.0, "{target}: {found}");
    }
}
