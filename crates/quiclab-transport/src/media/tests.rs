//! Cases by hand; whole flows are in quiclab-sim/tests/media_theory.

use super::flight::Flight;
use super::queue::Queue;
use super::rate::{RateControl, View};
use super::source::Source;
use super::target::Target;
use super::trend::Trend;
use super::window::{Acknowledged, Congestion, Window};
use super::*;
use crate::testing::ms;
use proptest::prelude::*;
use quiclab_core::{MediaArrival, MediaFeedback, RtpPacket};

fn bytes(bytes: u64) -> ByteCount {
    ByteCount::from_bytes(bytes)
}

const RTT: Duration = Duration::from_millis(50);

fn parameters() -> Parameters {
    Parameters {
        start_rate: 1e6,
        min_rate: 1e5,
        max_rate: 1e7,
        ramp_up_speed: 2e5,
        frame_rate: 25,
        mss: bytes(1000),
        target_delay: 0.1,
        ecn: Ecn::NotEct,
        is_v2: false,
        start: ms(0),
        end: ms(1000),
    }
}

/// 1 Mbit/s in 25 frames: 5000 B each, five packets of 1000 B; at 1.01 Mbit/s 5050 B, a sixth of 50 B.
#[test]
fn a_frame_is_cut_into_full_packets_and_a_rest() {
    let mut source = Source::new(&parameters());
    let mut sizes = |rate: f64| {
        let mut sizes = Vec::new();
        let now = source.next().unwrap();
        source.capture(now, rate, |packet, size| {
            assert_eq!((packet.captured, packet.packets), (now, if rate > 1e6 { 6 } else { 5 }));
            sizes.push(size.bytes());
        });
        sizes
    };
    assert_eq!(sizes(1e6), [1000; 5]);
    assert_eq!(sizes(1.01e6), [1000, 1000, 1000, 1000, 1000, 50]);
    assert_eq!(source.next(), Some(ms(80)));
    // 25 frames before the end, one in 40 ms
    for _ in 2..25 {
        source.capture(ms(0), 1.0, |_, size| assert_eq!(size, bytes(13)));
    }
    assert_eq!(source.next(), None);
}

#[test]
fn what_waits_too_long_is_given_up() {
    let mut queue = Queue::default();
    let packet = |at: u64| RtpPacket { number: 0, captured: ms(at), frame: 0, packets: 1, marker: true };
    queue.put(packet(0), bytes(1000));
    queue.put(packet(40), bytes(500));
    queue.expire(ms(499));
    assert_eq!(
        (queue.bytes(), queue.age(ms(499)), queue.discarded),
        (bytes(1500), Duration::from_millis(499), 0)
    );
    assert_eq!(queue.take(), Some((packet(0), bytes(1000))));
    queue.expire(ms(540));
    assert_eq!((queue.bytes(), queue.next(), queue.discarded), (bytes(0), None, 1));
}

/// A 1 after 19 zeros: mean 0.05, R(0) = 0.9025 + 19 x 0.0025 = 0.95, R(1) = 18 x 0.0025 - 0.0475 < 0. A second
/// 1: mean 0.1, R(0) = 2 x 0.81 + 18 x 0.01 = 1.8, R(1) = 0.81 - 0.09 + 17 x 0.01 = 0.89; average 0.1 + 0.09.
#[test]
fn a_growing_delay_is_a_trend_and_one_peak_is_none() {
    let mut trend = Trend::default();
    trend.add(ms(0), 1.0);
    assert_eq!(trend.value, 0.0);
    trend.add(ms(49), 9.0);
    assert_eq!(trend.value, 0.0, "samples are 50 ms apart");
    trend.add(ms(50), 1.0);
    assert!((trend.value - 0.89 / 1.8 * 0.19).abs() < 1e-12, "{}", trend.value);
    let first = trend.value;
    (2..200).for_each(|step| trend.add(ms(50 * step), 0.0));
    assert_eq!(trend.value, 0.0);
    assert!(trend.memory > 0.0 && trend.memory < first);
}

#[test]
fn the_target_follows_competing_flows_within_its_limits() {
    let mut target = Target::new(0.1, 0.4);
    // a steady delay of 0.2 s: mean 2, variance 0
    (0..200).for_each(|_| target.adjust(0.2, 0.0));
    assert!((target.value - 0.2).abs() < 1e-12);
    target.adjust(0.2, 0.01);
    assert!((target.value - 0.3).abs() < 1e-12, "1.5 times with losses");
    (0..200).for_each(|_| target.adjust(0.9, 0.0));
    assert_eq!(target.value, 0.4);
    (0..400).for_each(|_| target.adjust(0.0, 0.0));
    assert_eq!(target.value, 0.1);
}

fn ack(in_flight: f64, delay: f64) -> Acknowledged {
    Acknowledged { bytes: 1000.0, in_flight, most_in_flight: 1e6, delay, lost: false, marked: false }
}

/// In fast increase the window grows by the bytes acknowledged, if 1.5 times the bytes in flight plus these
/// exceed the window.
#[test]
fn a_window_that_is_used_grows_fast() {
    let mut window = Window::new(1000.0, 0.1, ms(0));
    assert_eq!(window.on_report(ms(0), RTT, &ack(1000.0, 0.0)), None);
    assert_eq!(window.size, 3000.0, "1.5 x 1000 + 1000 are not above 3000");
    window.on_report(ms(10), RTT, &ack(2000.0, 0.0));
    assert_eq!(window.size, 4000.0);
    // below the target one more packet may be sent
    assert_eq!(window.room(4000.0), 1000.0);
}

/// Losses reduce the window to 0.8, once in a round trip; then it follows LEDBAT: half of the target off,
/// 1000 x 1000 / 8000 / 2.
#[test]
fn losses_cut_the_window_and_the_delay_steers_it() {
    let mut window = Window::new(1000.0, 0.1, ms(0));
    window.size = 10_000.0;
    let lost = Acknowledged { lost: true, ..ack(9000.0, 0.05) };
    assert_eq!(window.on_report(ms(100), RTT, &lost), Some(Congestion::Loss));
    assert_eq!((window.size, window.fast_increase), (8000.0, false));
    assert_eq!(window.on_report(ms(101), RTT, &Acknowledged { bytes: 0.0, ..lost }), None);
    assert_eq!(window.size, 8000.0);
    window.target.value = 0.1;
    window.on_report(ms(102), RTT, &ack(9000.0, 0.05));
    assert_eq!(window.size, 8062.5);
    // not used: no growth; above the target: less, whether used or not
    window.target.value = 0.1;
    window.on_report(ms(103), RTT, &ack(5000.0, 0.05));
    assert_eq!(window.size, 8062.5);
    window.target.value = 0.1;
    window.on_report(ms(104), RTT, &ack(5000.0, 0.2));
    assert!((window.size - (8062.5 - 1e6 / 8062.5)).abs() < 1e-9, "{}", window.size);
    let marked = Acknowledged { marked: true, ..ack(9000.0, 0.0) };
    let before = window.size;
    assert_eq!(window.on_report(ms(200), RTT, &marked), Some(Congestion::Mark));
    assert_eq!(window.size, before * 0.9);
    assert_eq!(window.room(window.size), 1000.0);
}

#[test]
fn without_a_trend_for_five_seconds_it_grows_fast_again() {
    let mut window = Window::new(1000.0, 0.1, ms(0));
    window.on_report(ms(1000), RTT, &Acknowledged { lost: true, ..ack(9000.0, 0.0) });
    window.on_report(ms(4999), RTT, &ack(9000.0, 0.0));
    assert!(!window.fast_increase);
    window.on_report(ms(5000), RTT, &ack(9000.0, 0.0));
    assert!(window.fast_increase);
}

/// 200 kbit/s in a second are 40 kbit/s in 200 ms; a loss reduces the rate to 0.9; near the last maximum a
/// fifth of the growth counts.
#[test]
fn the_rate_ramps_up_and_yields_to_losses() {
    let mut rate = RateControl::new(&parameters());
    let view = View { fast_increase: true, trend: 0.0, trend_memory: 0.0, queue: bytes(0) };
    rate.on_media(bytes(25_000));
    rate.adjust(&view);
    assert_eq!((rate.target, rate.media_rate), (1.04e6, 1e6));
    rate.on_congestion(Congestion::Loss);
    assert!((rate.target - 0.936e6).abs() < 1e-6);
    rate.on_media(bytes(25_000));
    rate.adjust(&view);
    // (0.1 x 4)^2 = 0.16 is below 0.2
    assert!((rate.target - 0.944e6).abs() < 1e-6, "{}", rate.target);
    // no more than twice the rate sent
    (0..50).for_each(|_| rate.adjust(&view));
    assert!(rate.target <= 2e6, "{}", rate.target);
}

/// Without fast increase the rate moves towards 0.8 Mbit/s, the rate acknowledged, less the queue of 2000 B;
/// only at 0.1 Mbit/s that is more than 20 ms.
#[test]
fn without_fast_increase_the_rate_follows_what_arrives() {
    let mut rate = RateControl::new(&parameters());
    rate.on_media(bytes(25_000));
    rate.on_acked(bytes(20_000));
    let view = View { fast_increase: false, trend: 0.5, trend_memory: 0.5, queue: bytes(1000) };
    rate.adjust(&view);
    // 0.8e6 x (1 - 0.05) - 8000; 8000 bit are 10 ms
    assert!((rate.target - 752_000.0).abs() < 1e-6, "{}", rate.target);
    rate.on_media(bytes(25_000));
    rate.on_acked(bytes(20_000));
    rate.adjust(&View { queue: bytes(3000), ..view });
    // 24000 bit are 30 ms: less by 5 %
    assert!((rate.target - 736_000.0 * 0.95).abs() < 1e-6, "{}", rate.target);
}

fn arrival(at: u64) -> Option<MediaArrival> {
    Some(MediaArrival { at: ms(at), ce: false })
}

/// Packets of 1000 B at 0, 1, 2, 3 ms, delay 10 ms, but 30 ms for the last. The report of 40 ms arrives at 50.
#[test]
fn a_report_acknowledges_finds_losses_and_measures() {
    let mut flight = Flight::default();
    (0..4).for_each(|number| flight.on_sent(ms(number), number, bytes(1000)));
    assert_eq!((flight.in_flight, flight.most(ms(3))), (bytes(4000), bytes(4000)));
    let report = MediaFeedback { sent: ms(15), begin: 0, reports: vec![arrival(10), None, arrival(12)] };
    let news = flight.on_report(ms(25), &report).unwrap();
    assert_eq!((news.acked, news.lost, news.delay), (bytes(3000), 1, Duration::ZERO));
    assert_eq!(flight.in_flight, bytes(1000));
    // 23 ms less the wait of 3 ms
    assert_eq!(flight.rtt, Some(Duration::from_millis(20)));
    let report =
        MediaFeedback { sent: ms(40), begin: 0, reports: vec![arrival(10), None, arrival(12), arrival(33)] };
    let news = flight.on_report(ms(50), &report).unwrap();
    assert_eq!((news.acked, news.lost, news.delay), (bytes(1000), 0, Duration::from_millis(20)));
    // the missing one is kept for a while, in case it was reordered
    assert_eq!(flight.kept(), 3);
    flight.on_report(ms(125), &report);
    assert_eq!((flight.kept(), flight.in_flight), (0, bytes(0)));
}

/// The packet was missing from 25 to 50 ms: later ones are lost after 25 ms.
#[test]
fn reordering_widens_the_window() {
    let mut flight = Flight::default();
    (0..2).for_each(|number| flight.on_sent(ms(number), number, bytes(1000)));
    let without = MediaFeedback { sent: ms(15), begin: 0, reports: vec![None, arrival(12)] };
    assert_eq!(flight.on_report(ms(25), &without).unwrap().lost, 1);
    let with = MediaFeedback { sent: ms(40), begin: 0, reports: vec![arrival(30), arrival(12)] };
    assert_eq!(flight.on_report(ms(50), &with).unwrap().lost, 0);
    (2..4).for_each(|number| flight.on_sent(ms(60), number, bytes(1000)));
    let without = MediaFeedback { sent: ms(75), begin: 2, reports: vec![None, arrival(72)] };
    assert_eq!(flight.on_report(ms(100), &without).unwrap().lost, 0);
    assert_eq!(flight.on_report(ms(124), &without).unwrap().lost, 0);
    assert_eq!(flight.on_report(ms(125), &without).unwrap().lost, 1);
}

proptest! {
    /// For all reports, the packets in flight are those sent above the highest number acknowledged, and each
    /// packet is newly acknowledged once.
    #[test]
    fn bytes_are_acknowledged_once(steps in prop::collection::vec((1_u64..20, 0_u64..30, any::<u16>()), 1..60)) {
        let (mut flight, mut sent, mut acked, mut next_ack) = (Flight::default(), 0_u64, 0, 0);
        for (step, (more, back, pattern)) in steps.into_iter().enumerate() {
            let now = ms(20 * step as u64 + 20);
            for _ in 0..more {
                flight.on_sent(now, sent, bytes(1000));
                sent += 1;
            }
            let newest = (sent - 1).saturating_sub(back);
            let begin = newest.saturating_sub(15);
            let arrived = |number: u64| number == newest || pattern >> (number - begin) & 1 == 1;
            let arrival = Some(MediaArrival { at: now, ce: false });
            let reports = (begin..=newest).map(|number| arrival.filter(|_| arrived(number))).collect();
            let report = MediaFeedback { sent: now, begin, reports };
            if let Some(news) = flight.on_report(now, &report) {
                acked += news.acked.bytes();
                next_ack = next_ack.max(newest + 1);
            }
            prop_assert_eq!(acked + flight.in_flight.bytes(), 1000 * sent);
            prop_assert_eq!(acked, 1000 * next_ack);
            prop_assert!(flight.kept() as u64 <= sent - next_ack + 200);
        }
    }
}
