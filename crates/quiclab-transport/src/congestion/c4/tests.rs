//! The networks of draft-huitema-ccwg-c4-test that a link by hand can represent, and the arithmetic of
//! signals and transitions.

use super::*;
use crate::congestion::link_by_hand::{Link, MSS, Seen};
use crate::recovery::delivery_rate::RateSample;
use quiclab_core::ByteCount;

fn c4() -> C4 {
    C4::new(MSS, 10 * MSS, None)
}

/// Controller in a state, with known rate and RTT.
fn at(state: State, rate: u64, rtt_ms: u64) -> C4 {
    let mut c4 = c4();
    (c4.state, c4.nominal_rate, c4.cycle_rate, c4.era_rate) = (state, rate, rate, rate);
    c4.nominal_max_rtt = Some(Duration::from_millis(rtt_ms));
    c4.running_min_rtt = c4.nominal_max_rtt;
    c4
}

/// Phases in their order, each with the time at which it began.
fn phases(link: &mut Link, c4: &mut C4, time: Duration) -> Vec<(Phase, Time)> {
    let mut found: Vec<(Phase, Time)> = Vec::new();
    link.run(c4, time, |seen: &Seen| {
        if found.last().map(|last| last.0) != Some(seen.phase) {
            found.push((seen.phase, seen.now));
        }
    });
    found
}

/// Section 5.1: a line from 50 kB/s to 0.92 at 1 MB/s, and one from there to 1 at 10 MB/s.
#[test]
fn the_sensitivity_grows_with_the_rate() {
    for (rate, percent) in [
        (0, 0.0),
        (50_000, 0.0),
        (525_000, 46.0),
        (1_000_000, 92.0),
        (5_500_000, 96.0),
        (10_000_000, 100.0),
        (50_000_000, 100.0),
    ] {
        let found = at(State::Cruising, rate, 40).sensitivity() as f64 / ONE as f64 * 100.0;
        assert!((found - percent).abs() < 1e-3, "{rate}: {found}");
    }
}

/// Sections 5.2 to 5.4, at both ends and in the middle: 1/4 to 1/16 of the RTT and 25 ms at most, 52 % to 2 %, 3/16 to 3/32.
#[test]
fn thresholds_fall_with_the_sensitivity() {
    let parts = |c4: &C4| (c4.loss_threshold() as f64 / ONE as f64, c4.ecn_threshold() as f64 / ONE as f64);
    for (rate, rtt_ms, delay_us, loss, ecn) in [
        (0, 40, 10_000, 0.52, 0.1875),
        (525_000, 40, 6_550, 0.29, 0.144_375),
        (10_000_000, 40, 2_500, 0.02, 0.093_75),
        (0, 200, 25_000, 0.52, 0.1875),
    ] {
        let c4 = at(State::Cruising, rate, rtt_ms);
        let delay = c4.delay_threshold(Duration::from_millis(rtt_ms));
        assert!(delay.as_nanos().abs_diff(delay_us * 1000) < 100, "{rate}: {delay}");
        let (found_loss, found_ecn) = parts(&c4);
        assert!(
            (found_loss - loss).abs() < 1e-5 && (found_ecn - ecn).abs() < 1e-5,
            "{rate}: {found_loss} {found_ecn}"
        );
    }
}

fn ack(rtt_ms: u64, acked_packets: u32) -> Ack {
    Ack { rtt: Some(Duration::from_millis(rtt_ms)), acked_packets, ..Ack::default() }
}

/// Section 5.5.1: the excess by the threshold, a quarter at most. At 10 MB/s and 80 ms the threshold is 5 ms.
#[test]
fn a_delay_takes_its_excess_by_the_threshold() {
    let mut c4 = at(State::Cruising, 10_000_000, 80);
    assert_eq!(c4.detect(&ack(85, 1)), None);
    assert_eq!(c4.detect(&ack(86, 1)), Some(Signal::Delay(ONE / 5)));
    assert_eq!(c4.detect(&ack(100, 1)), Some(Signal::Delay(ONE / 4)));
    c4.on_signal(Signal::Delay(ONE / 5), 0);
    assert!(c4.state == State::Recovery && c4.nominal_rate.abs_diff(8_000_000) <= 1, "{}", c4.nominal_rate);
}

/// Section 5.3: of 1 in 16 packets, the smoothed rate is 1/16 after the loss: above 2 % at 10 MB/s, below 6 % and more at lower rates.
#[test]
fn a_loss_counts_by_the_rate() {
    for (rate, expected) in [(10_000_000, Some(Signal::Loss(ONE / 4))), (500_000, None)] {
        let mut c4 = at(State::Cruising, rate, 80);
        c4.on_packet_lost(&LostPacket::default());
        assert_eq!(c4.detect(&ack(80, 1)), expected, "{rate}");
        assert!(c4.loss_rate.abs_diff(ONE / 16 * 15 / 16) <= 2);
    }
    // detected by a timer: no signal (section 5.3.1)
    let mut c4 = at(State::Cruising, 10_000_000, 80);
    c4.on_packet_lost(&LostPacket::default());
    c4.on_timeout(&CongestionEvent::default(), true);
    assert_eq!(c4.detect(&ack(80, 1)), None);
    // persistent congestion of QUIC is detected by an acknowledgement
    c4.on_packet_lost(&LostPacket::default());
    c4.on_timeout(&CongestionEvent { persistent: true, ..CongestionEvent::default() }, true);
    assert_eq!(c4.detect(&ack(80, 1)), Some(Signal::Loss(ONE / 4)));
}

/// Section 5.4: a share of half and more counts as it is, another by a sixteenth; the share is that of all packets since the last mark.
#[test]
fn marks_count_as_a_share() {
    let mut c4 = at(State::Cruising, 10_000_000, 80);
    let marks =
        |delivered_packets, marked_packets| Marks { delivered_packets, marked_packets, ..Marks::default() };
    c4.on_marks(&marks(98, 0));
    c4.on_marks(&marks(2, 1));
    assert_eq!(c4.detect(&ack(80, 2)), None, "1 % by a sixteenth");
    assert!(c4.ecn_alpha.abs_diff(ONE / 1600) <= 1);
    c4.on_marks(&marks(2, 2));
    assert_eq!((c4.detect(&ack(80, 2)), c4.ecn_alpha), (Some(Signal::Ecn(ONE / 4)), ONE));
    // section 4.6: probes are smaller on a path with marks
    c4.eras = 1;
    c4.end_era(10);
    assert_eq!((c4.state, c4.alpha_current), (State::Probing, Alpha::PROBING_MARKED));
}

/// Section 3.2: 40 and 48 ms; a larger maximum counts at once, a smaller by an eighth, and none of packets above the nominal rate.
#[test]
fn the_nominal_max_rtt_rises_at_once_and_falls_slowly() {
    let mut c4 = at(State::Cruising, 1_000_000, 40);
    let era = |c4: &mut C4, least: u64, most: u64| {
        (c4.era_min_rtt, c4.era_max_rtt) =
            (Some(Duration::from_millis(least)), Some(Duration::from_millis(most)));
        c4.update_max_rtt();
        (c4.running_min_rtt.unwrap().as_nanos() / 1000, c4.nominal_max_rtt.unwrap().as_nanos() / 1000)
    };
    c4.alpha_previous = Alpha::NEUTRAL;
    assert_eq!(era(&mut c4, 40, 48), (40_000, 48_000));
    assert_eq!(era(&mut c4, 48, 40), (41_000, 47_000));
    assert_eq!(era(&mut c4, 32, 400), (32_000, 282_000), "MAX_JITTER above the smallest");
    c4.alpha_previous = Alpha::PROBING;
    assert_eq!(era(&mut c4, 1, 900), (32_000, 282_000));
}

/// Section 4.1: 1 MB/s x (40 ms + 10 ms), and 4 ms of sending as the quantum.
#[test]
fn window_and_quantum_follow_rate_and_rtt() {
    let mut c4 = at(State::Cruising, 1_000_000, 40);
    c4.alpha_current = Alpha::NEUTRAL;
    c4.apply_rate_and_cwnd();
    assert_eq!((c4.window(), c4.send_quantum()), (50_000, Some(4_000)));
    // 15 ms at most, 17/16 of the rate
    c4.nominal_max_rtt = Some(Duration::from_millis(100));
    c4.alpha_current = Alpha::PROBING;
    c4.apply_rate_and_cwnd();
    assert_eq!(c4.window(), 1_062_500 * 115 / 1000);
    // a window of two packets grows by one: 1/16 of 25 kB/s in 100 ms are 156 B
    c4.nominal_rate = 25_000;
    c4.state = State::Probing;
    c4.apply_rate_and_cwnd();
    assert_eq!(c4.window(), 26_562 * 115 / 1000 + MSS - 156);
    // section 4.1: no slower than 1,048,576 bit/s in Initial, and two packets in a quantum
    let mut c4 = at(State::Initial, 10_000, 40);
    c4.apply_rate_and_cwnd();
    assert_eq!((c4.pacing_rate().unwrap().bits_per_second(), c4.send_quantum()), (1_048_576, Some(2 * MSS)));
    // entered again at 10 kB/s x 40 ms = 400 B: a window of two packets
    c4.reenter_initial(0);
    c4.apply_rate_and_cwnd();
    assert_eq!((c4.initial_cwnd, c4.window()), (400, 2 * MSS));
}

/// Section 4.4: a probe that raised the rate without a signal leads to Pushing; 4.7: two eras at least, and one more as long as the rate grows
/// by 3/16; after three, Initial (section 4).
#[test]
fn a_probe_that_succeeds_leads_to_pushing() {
    let mut c4 = at(State::Probing, 1_000_000, 40);
    c4.end_era(1);
    assert_eq!((c4.state, c4.alpha_current), (State::Recovery, Alpha::RECOVERY));
    c4.nominal_rate = 1_060_000;
    c4.end_era(2);
    assert_eq!((c4.state, c4.alpha_current), (State::Pushing, Alpha::PUSHING));
    c4.end_era(3);
    assert_eq!(c4.state, State::Pushing, "the first era says nothing of it");
    c4.nominal_rate = 1_300_000;
    c4.end_era(4);
    assert_eq!(c4.state, State::Pushing, "1.3 of 1.06");
    let mut slow = c4.clone();
    slow.nominal_rate = 1_400_000;
    slow.end_era(5);
    assert_eq!((slow.state, slow.alpha_current), (State::Recovery, Alpha::DRAINING));
    c4.nominal_rate = 1_600_000;
    c4.end_era(5);
    assert_eq!((c4.state, c4.initial_cwnd), (State::Initial, 64_000));
}

/// The same with a signal: no Pushing, and no reduction (section 5.5).
#[test]
fn a_probe_with_a_signal_fails() {
    let mut c4 = at(State::Probing, 1_000_000, 40);
    c4.on_signal(Signal::Delay(ONE / 4), 1);
    c4.nominal_rate = 1_060_000;
    c4.end_era(2);
    assert_eq!((c4.state, c4.nominal_rate), (State::Cruising, 1_060_000));
}

/// The same for losses of packets sent in Probing, detected in Recovery: 1/16 is above the threshold at 10
/// MB/s.
#[test]
fn a_probe_with_losses_fails() {
    let mut c4 = at(State::Probing, 10_000_000, 40);
    c4.end_era(1);
    c4.on_packet_lost(&LostPacket::default());
    let signal = c4.detect(&ack(40, 1)).expect("a loss");
    c4.on_signal(signal, 2);
    c4.nominal_rate = 10_600_000;
    c4.end_era(2);
    assert_eq!((c4.state, c4.nominal_rate), (State::Cruising, 10_600_000));
}

/// Section 5.5.2: at the second Recovery in a row with congestion, the rate is that of arrivals since the
/// first.
#[test]
fn persistent_congestion_lowers_the_rate_to_what_arrived() {
    let mut c4 = at(State::Cruising, 1_000_000, 40);
    for (recent, left) in [(300_000, 800_000), (300_000, 300_000)] {
        c4.on_signal(Signal::Delay(ONE / 5), 1);
        c4.recent_max_rate = recent;
        c4.end_era(2);
        assert_eq!((c4.state, c4.nominal_rate), (State::Cruising, left));
    }
}

/// Section 5.6: halfway to the measured rate, unless the rate grew or the application limited it.
#[test]
fn a_rate_that_is_not_reached_is_trimmed() {
    for (limited, left) in [(false, 950_000), (true, 1_000_000)] {
        let mut c4 = at(State::Recovery, 1_000_000, 40);
        (c4.recent_max_rate, c4.limited) = (900_000, limited);
        c4.end_era(1);
        assert_eq!(c4.nominal_rate, left);
    }
}

/// Section 4.2: delay and marks end Initial after two eras without growth, losses after 20 packets; half of the window by the rate is
/// the nominal max RTT.
#[test]
fn signals_end_initial_late() {
    let mut c4 = at(State::Initial, 1_000_000, 40);
    c4.cwnd = 100_000;
    for eras in 0..2 {
        c4.nb_eras_no_increase = eras;
        c4.on_signal(Signal::Delay(ONE / 4), 1);
        c4.on_signal(Signal::Ecn(ONE / 4), 1);
        assert_eq!(c4.state, State::Initial);
    }
    c4.received = 20;
    c4.on_signal(Signal::Loss(ONE / 4), 1);
    assert_eq!(c4.state, State::Initial);
    c4.nb_eras_no_increase = 2;
    c4.on_signal(Signal::Delay(ONE / 4), 1);
    assert_eq!((c4.state, c4.alpha_current, c4.nominal_rate), (State::Recovery, Alpha::DRAINING, 1_000_000));
    assert_eq!(c4.nominal_max_rtt, Some(Duration::from_millis(50)));
}

/// An application that uses little of the window: in Initial it grows to twice the bytes in flight, and not
/// at all if the sender reports that it is unused; otherwise by the bytes acknowledged.
#[test]
fn a_window_that_is_not_used_does_not_grow() {
    for (in_flight, cwnd_limited, packets) in
        [(4, true, 10), (8, true, 16), (1000, false, 10), (1000, true, 110)]
    {
        let mut c4 = c4();
        let prior_in_flight = in_flight * MSS;
        for _ in 0..100 {
            c4.on_ack(&Ack { acked_bytes: MSS, prior_in_flight, cwnd_limited, ..ack(40, 1) });
        }
        assert_eq!((c4.state, c4.window()), (State::Initial, packets * MSS), "{in_flight} {cwnd_limited}");
    }
}

/// Section 4.2 and `push_was_not_limited` of picoquic: 1 MB/s x 40 ms are 40 kB. An era that the application limits counts if more arrived, and three of
/// them end Initial.
#[test]
fn initial_ends_although_the_application_limits_it() {
    for (app_limited, delivered, expected) in
        [(false, 39_000, State::Recovery), (true, 39_000, State::Initial), (true, 41_000, State::Recovery)]
    {
        let mut c4 = at(State::Initial, 1_000_000, 40);
        for acked_position in 1..=3 {
            let interval = Some(Duration::from_millis(60));
            let rate = Some(RateSample { delivered, interval, app_limited, ..RateSample::default() });
            c4.on_ack(&Ack { rate, acked_position, next_position: acked_position, ..ack(40, 1) });
        }
        assert_eq!(c4.state, expected, "{app_limited} {delivered}");
    }
}

/// Section 4.4.1, and once (draft-huitema-ccwg-c4-design): 20 ms are less than 2/5 of 60 ms, where they are RTTs that count.
#[test]
fn high_jitter_begins_initial_again_once() {
    let mut c4 = at(State::Recovery, 1_000_000, 60);
    c4.running_min_rtt = Some(Duration::from_millis(20));
    let mut unseen = c4.clone();
    unseen.end_era(1);
    assert_eq!(unseen.state, State::Cruising, "a nominal max RTT that Initial left");
    c4.alpha_previous = Alpha::NEUTRAL;
    (c4.era_min_rtt, c4.era_max_rtt) = (Some(Duration::from_millis(20)), Some(Duration::from_millis(60)));
    c4.end_era(1);
    assert_eq!((c4.state, c4.initial_cwnd), (State::Initial, 60_000));
    c4.enter(State::Recovery, Alpha::RECOVERY, 2);
    c4.end_era(3);
    assert_eq!(c4.state, State::Cruising);
}

/// Without jitter Initial is entered once, however deep the buffer: its contribution to the nominal max RTT
/// is a queue, half of its window.
#[test]
fn the_queue_of_initial_is_no_jitter() {
    for bdps in [1, 3, 20] {
        let mut link = Link::new(20, 40);
        link.buffer = link.bdp() * bdps;
        let mut c4 = c4();
        let found: Vec<_> =
            phases(&mut link, &mut c4, Duration::from_secs(10)).iter().map(|(phase, _)| *phase).collect();
        assert_eq!(found[..3], [Phase::C4Initial, Phase::C4Recovery, Phase::C4Cruising], "{bdps}");
        assert!(!found[1..].contains(&Phase::C4Initial), "{bdps}: {found:?}");
        let mut most = 0;
        link.run(&mut c4, Duration::from_secs(2), |seen: &Seen| most = most.max(seen.in_flight));
        // Initial ends at four BDPs (the rate stops growing at two, and the era after it doubles once more) x (1 + 1/8 + 1/64): half of that, and a
        // margin of a quarter of the RTT, by 17/16
        assert!(most * 100 <= link.bdp() * 270, "{bdps}: {most} of {}", link.bdp());
    }
}

/// "alone": 20 Mbit/s, 80 ms, a buffer of a BDP. Five RTTs double ten packets to a BDP and more, and three eras without growth have two RTTs each at most,
/// with a full buffer: 880 ms (section 2.1.1 of the test draft: 800 ms). Then the cycle is Recovery, two eras of Cruising, Probing; the RTT stays near that
/// of the path, and nothing is lost.
#[test]
fn alone_it_finds_the_rate_and_keeps_the_queue_small() {
    let mut link = Link::new(20, 80);
    link.buffer = link.bdp();
    let mut c4 = c4();
    let found = phases(&mut link, &mut c4, Duration::from_secs(8));
    let initial_end = found[1].1;
    assert_eq!((found[0].0, found[1].0), (Phase::C4Initial, Phase::C4Recovery));
    assert!(initial_end.since(Time::ZERO) < Duration::from_millis(880), "{initial_end}");
    let names: Vec<_> = found.iter().rev().map(|(phase, _)| *phase).take(9).collect();
    let cycle = [Phase::C4Probing, Phase::C4Cruising, Phase::C4Recovery];
    let first = cycle.iter().position(|phase| *phase == names[0]).expect("a phase of the cycle");
    for (index, phase) in names.iter().enumerate() {
        assert_eq!(*phase, cycle[(first + index) % 3], "{names:?}");
    }
    let (lost, capacity) = (link.lost(), link.capacity());
    let (mut first, mut last, mut most) = (None, 0, 0);
    link.run(&mut c4, Duration::from_secs(20), |seen: &Seen| {
        first.get_or_insert(seen.delivered);
        (last, most) = (seen.delivered, most.max(seen.in_flight));
    });
    let rate = (last - first.unwrap()) / 20;
    assert!(rate * 100 >= capacity * 95, "{rate} of {capacity}");
    assert_eq!(link.lost(), lost, "nothing is lost after Initial");
    // 17/16 of the rate over an RTT with margin and threshold
    assert!(most * 100 <= link.bdp() * 135, "{most} of {}", link.bdp());
}

/// "low_and_up": 5 Mbit/s become 10 after 2.5 s, at 100 ms; Probing, Pushing and then Initial find it within a second and a half.
#[test]
fn twice_the_rate_is_found() {
    let mut link = Link::new(5, 100);
    link.buffer = link.bdp();
    let mut c4 = c4();
    link.run(&mut c4, Duration::from_millis(2500), |_| {});
    link.rate = DataRate::from_mbps(10);
    link.run(&mut c4, Duration::from_millis(2500), |_| {});
    let (capacity, rate) = (link.capacity(), c4.nominal_rate);
    assert!(rate * 100 >= capacity * 90, "{rate} of {capacity}");
}

/// "drop_and_back": half of the rate is accepted.
#[test]
fn half_of_the_rate_is_accepted() {
    let mut link = Link::new(10, 100);
    link.buffer = link.bdp();
    let mut c4 = c4();
    link.run(&mut c4, Duration::from_millis(3500), |_| {});
    link.rate = DataRate::from_mbps(5);
    link.run(&mut c4, Duration::from_secs(4), |_| {});
    let (capacity, rate) = (link.capacity(), c4.nominal_rate);
    assert!((capacity * 90 / 100..=capacity * 110 / 100).contains(&rate), "{rate} of {capacity}");
}

/// "short_long": 30 ms become 100 ms; the window follows within some cycles.
#[test]
fn a_longer_path_is_accepted() {
    let mut link = Link::new(20, 30);
    link.buffer = link.bdp() * 3;
    link.detour = Some((Time::ZERO + Duration::from_secs(2), Duration::from_millis(70)));
    let mut c4 = c4();
    link.run(&mut c4, Duration::from_secs(6), |_| {});
    assert!(c4.nominal_max_rtt >= Some(Duration::from_millis(100)), "{:?}", c4.nominal_max_rtt);
    let (capacity, rate) = (link.capacity(), c4.nominal_rate);
    assert!(rate * 100 >= capacity * 90, "{rate} of {capacity}");
}

/// Section 4.3: RTTs of packets sent in Resuming do not measure the path.
#[test]
fn the_queue_of_resuming_does_not_count() {
    let saved = SavedPath { window: ByteCount::from_bytes(100_000), rtt: Duration::from_millis(40) };
    let mut c4 = c4();
    c4.measure_rtt(Duration::from_millis(40));
    c4.resume(saved, 1);
    for next in 2..5 {
        assert_ne!(c4.state, State::Cruising);
        c4.measure_rtt(Duration::from_millis(400));
        c4.end_era(next);
        assert_eq!(c4.nominal_max_rtt, Some(Duration::from_millis(40)));
    }
    assert_eq!(c4.state, State::Cruising);
}

/// Section 4.3 and the satellite of the test draft: window and rate of an earlier connection for two eras.
#[test]
fn a_connection_resumes_with_window_and_rate() {
    let saved = SavedPath { window: ByteCount::from_bytes(18_750_000), rtt: Duration::from_micros(600_123) };
    let mut link = Link::new(250, 600);
    link.buffer = link.bdp();
    let mut c4 = C4::new(MSS, 10 * MSS, Some(saved));
    let found = phases(&mut link, &mut c4, Duration::from_millis(3500));
    let names: Vec<_> = found.iter().map(|(phase, _)| *phase).collect();
    assert_eq!(names[..3], [Phase::C4Resuming, Phase::C4Recovery, Phase::C4Cruising]);
    let (capacity, rate) = (link.capacity(), c4.nominal_rate);
    assert!(rate * 100 >= capacity * 95, "{rate} of {capacity}");
}
