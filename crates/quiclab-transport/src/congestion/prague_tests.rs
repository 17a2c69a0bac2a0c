//! Prague by hand, in the units of the reference.

use super::*;

const MSS: u64 = 1000;

fn prague(packets: u64) -> Prague {
    of(Flavour::LinuxTcp, packets, MSS)
}

fn of(flavour: Flavour, packets: u64, mss: u64) -> Prague {
    Prague::new(&WindowSettings { flavour, initial_window: packets * mss, mss, emulated_connections: 1 })
}

/// Controller in congestion avoidance after marks: no growth of slow start, no halving at the next mark.
fn avoiding(packets: u64) -> Prague {
    let mut prague = prague(packets);
    (prague.ssthresh, prague.has_feedback, prague.saw_marks) = (Some(packets), true, true);
    prague
}

/// An acknowledgement after `millis` of `packets`, of which `marked` have marks; the round continues.
fn ack(prague: &mut Prague, millis: u64, packets: u32, marked: u64) {
    acked(prague, millis, packets, marked, 50, 0);
}

fn acked(prague: &mut Prague, millis: u64, packets: u32, marked: u64, rtt_millis: u64, acked_position: u64) {
    prague.on_marks(&Marks {
        delivered_packets: packets.into(),
        marked_packets: marked,
        acked_position,
        next_position: acked_position + 1,
    });
    prague.on_ack(&Ack {
        now: Time::ZERO + Duration::from_millis(millis),
        acked_packets: packets,
        srtt: Some(Duration::from_millis(rtt_millis)),
        cwnd_limited: true,
        acked_position,
        next_position: acked_position + 1,
        ..Ack::default()
    });
}

fn marks(millis: u64) -> CongestionEvent {
    CongestionEvent {
        now: Time::ZERO + Duration::from_millis(millis),
        ecn: true,
        ..CongestionEvent::default()
    }
}

#[test]
fn slow_start_doubles_until_the_first_mark_halves() {
    let mut growing = prague(10);
    ack(&mut growing, 1, 10, 0);
    assert_eq!((growing.window(), growing.phase()), (20 * MSS, Phase::SlowStart));
    // the nine packets without a mark count in slow start, which overwrites the halved window, as in the
    // reference
    ack(&mut growing, 2, 10, 1);
    assert_eq!(growing.fraction, 29 * PACKET);
    let mut halved = prague(20);
    ack(&mut halved, 1, 1, 1);
    assert_eq!(
        (halved.fraction, halved.window(), halved.ssthresh()),
        (10 * PACKET, 19 * MSS, Some(19 * MSS))
    );
    for millis in 2..20 {
        ack(&mut halved, millis, 1, 1);
    }
    assert_eq!(halved.window(), 10 * MSS, "one packet for each acknowledgement");
}

#[test]
fn the_average_keeps_what_a_division_leaves() {
    let mut prague = avoiding(100);
    for (round, marked, expected) in
        [(1, 16, ONE), (2, 8, ONE * 15 / 16 + ONE / 2), (3, 0, (ONE * 15 / 16 + ONE / 2) / 16 * 15)]
    {
        acked(&mut prague, 100 * round, 16, marked, 50, round);
        assert_eq!(prague.alpha, expected);
    }
}

#[test]
fn marks_cost_half_of_their_share_once_a_target_rtt() {
    let mut prague = avoiding(100);
    prague.alpha = (ONE / 2) << SHIFT;
    prague.on_congestion(&marks(0));
    assert_eq!(prague.fraction, 75 * PACKET);
    // a round later: RTTs are not independent yet
    prague.on_congestion(&marks(5));
    assert_eq!(prague.fraction, 75 * PACKET * 3 / 4);
    prague.rounds = TRANSITION_ROUNDS;
    let before = prague.fraction;
    prague.on_congestion(&marks(29));
    assert_eq!(prague.fraction, before, "24 ms after the last reduction");
    prague.on_congestion(&marks(30));
    assert_eq!(prague.fraction, before * 3 / 4);
}

#[test]
fn packets_without_marks_grow_the_window_by_1500_bytes_in_a_round_trip() {
    for (flavour, mss, packet) in [(Flavour::LinuxTcp, 1448, 1500.0), (Flavour::Quic, 1200, 1200.0)] {
        let mut prague = of(flavour, 10, mss);
        (prague.ssthresh, prague.has_feedback, prague.saw_marks) = (Some(10), true, true);
        for millis in 0..10 {
            ack(&mut prague, millis, 1, 0);
        }
        // 1/10 + 1/10.1 + ...: a bit less than one of 1500 bytes
        let growth = (prague.fraction as f64 / PACKET as f64 - 10.0) * packet / 1500.0;
        assert!((0.94..1.0).contains(&growth), "{growth}");
        assert_eq!(
            prague.window(),
            prague.fraction.div_ceil(PACKET) * mss,
            "the window in use is rounded up"
        );
        let before = prague.fraction;
        ack(&mut prague, 10, 5, 5);
        assert_eq!(prague.fraction, before, "nothing for packets with marks");
    }
}

#[test]
fn short_round_trips_grow_as_one_of_25_ms() {
    let mut prague = avoiding(10);
    prague.srtt = Some(Duration::from_millis(5));
    prague.scale_increase();
    assert_eq!(prague.increase, PACKET, "not in the first rounds");
    prague.rounds = TRANSITION_ROUNDS;
    prague.has_feedback = false;
    prague.scale_increase();
    assert_eq!(prague.increase, PACKET, "without marks it is Reno");
    prague.has_feedback = true;
    for (millis, expected) in [(5, (PACKET as f64 / 25.0).round() as u64), (25, PACKET), (200, PACKET)] {
        prague.srtt = Some(Duration::from_millis(millis));
        prague.scale_increase();
        assert_eq!(prague.increase, expected);
    }
}

#[test]
fn a_loss_halves_and_stops_growth_until_it_is_over() {
    let mut prague = avoiding(20);
    prague.on_congestion(&CongestionEvent::default());
    assert_eq!(prague.fraction, 10 * PACKET);
    for millis in 0..20 {
        ack(&mut prague, millis, 1, 0);
    }
    assert_eq!((prague.fraction, prague.window()), (10 * PACKET, 10 * MSS));
    prague.on_recovery_end(Time::ZERO);
    ack(&mut prague, 30, 1, 0);
    assert!(prague.fraction > 10 * PACKET);
    prague.on_spurious(Time::ZERO);
    assert_eq!((prague.fraction, prague.window()), (20 * PACKET, 20 * MSS));
    assert_eq!(prague.ssthresh(), Some(20 * MSS));
    // losses while marks reduce the window count, too
    prague.on_loss_after_marks(20 * MSS);
    assert_eq!(prague.fraction, 10 * PACKET);
}

#[test]
fn a_false_loss_in_slow_start_leaves_slow_start_unlimited() {
    let mut prague = prague(20);
    prague.on_congestion(&CongestionEvent::default());
    for millis in 0..5 {
        ack(&mut prague, millis, 1, 0);
    }
    assert_eq!((prague.window(), prague.ssthresh()), (15 * MSS, Some(15 * MSS)));
    prague.on_spurious(Time::ZERO);
    assert_eq!((prague.window(), prague.ssthresh(), prague.phase()), (20 * MSS, None, Phase::SlowStart));
}

#[test]
fn persistent_congestion_leaves_two_packets() {
    let mut prague = of(Flavour::Quic, 20, 1200);
    prague.on_timeout(&CongestionEvent { in_flight: 12_000, ..CongestionEvent::default() }, true);
    assert_eq!(prague.window(), 2 * 1200);
}

#[test]
fn a_timeout_leaves_what_is_in_flight_and_one() {
    let mut prague = avoiding(20);
    prague.on_timeout(&CongestionEvent { in_flight: 2 * MSS, ..CongestionEvent::default() }, true);
    assert_eq!((prague.window(), prague.fraction), (3 * MSS, 10 * PACKET));
    prague.on_timeout(&CongestionEvent::default(), false);
    assert_eq!((prague.window(), prague.fraction), (MSS, 10 * PACKET));
}

#[test]
fn the_rate_is_that_of_the_window_with_headers() {
    let mut prague = avoiding(100);
    assert_eq!(prague.pacing_rate(), None);
    ack(&mut prague, 0, 1, 1);
    // 100 packets of 1052 bytes in 50 ms
    assert_eq!(prague.pacing_rate(), Some(DataRate::from_bits_per_second(16_832_000)));
    // 2000 packets a second: less than one in 0.24 ms
    assert_eq!(prague.send_quantum(), Some(MSS));
    prague.ssthresh = Some(300);
    assert_eq!(prague.pacing_rate(), Some(DataRate::from_bits_per_second(33_664_000)));
    acked(&mut prague, 1, 1, 1, 1, 0);
    // 200,000 packets a second: 48 in 0.24 ms
    assert_eq!(prague.send_quantum(), Some(48 * MSS));
}
