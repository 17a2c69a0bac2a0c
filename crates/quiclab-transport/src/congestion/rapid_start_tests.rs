use super::super::cubic::Cubic;
use super::super::newreno::NewReno;
use super::super::{CongestionEvent, Controller, Flavour, WindowSettings};
use super::*;

const MSS: u64 = 1000;
const FAST: SlowStartDecision = SlowStartDecision::Continue { gain: 2, divisor: 1, limit: None };

fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn settings(packets: u64) -> WindowSettings {
    WindowSettings {
        flavour: Flavour::Quic,
        initial_window: packets * MSS,
        mss: MSS,
        emulated_connections: 1,
    }
}

fn ack(now_ms: u64, rtt_ms: u64, packets: u32) -> Ack {
    Ack {
        now: Time::from_nanos(now_ms * 1_000_000),
        acked_bytes: u64::from(packets) * MSS,
        acked_packets: packets,
        rtt: Some(millis(rtt_ms)),
        srtt: Some(millis(rtt_ms)),
        min_rtt: Some(millis(rtt_ms.min(40))),
        may_grow: true,
        cwnd_limited: true,
        ..Ack::default()
    }
}

fn lost(packets: u64) -> LostPacket {
    LostPacket { bytes: packets * MSS, ..LostPacket::default() }
}

fn asked(rapid: &mut RapidStart, now_ms: u64, rtt_ms: u64, min_ms: u64, initial: bool) -> SlowStartDecision {
    let ack = ack(now_ms, rtt_ms, 1);
    rapid.on_ack(&SlowStartInput {
        ack: &ack,
        rtt: ack.rtt,
        min_rtt: Some(millis(min_ms)),
        window: 100 * MSS,
        mss: MSS,
        initial,
    })
}

#[test]
fn the_window_triples_in_a_round_trip() {
    let mut reno = NewReno::new(&settings(10), Box::new(RapidStart::new(10 * MSS)));
    for expected in [30, 90, 270] {
        for _ in 0..reno.window() / MSS {
            reno.on_ack(&ack(100, 40, 1));
        }
        assert_eq!(reno.window(), expected * MSS);
    }
}

/// Section 3.2: min(min RTT + 4 ms, 1.1 min RTT): 44 ms for 40, 11 for 10, 104 for 100.
#[test]
fn a_queue_of_a_tenth_or_4_ms_makes_it_double() {
    for (min, most) in [(40, 44), (10, 11), (100, 104)] {
        let mut rapid = RapidStart::new(10 * MSS);
        assert_eq!(asked(&mut rapid, 1000, most, min, true), FAST, "{min} ms");
        let mut rapid = RapidStart::new(10 * MSS);
        assert_eq!(asked(&mut rapid, 1000, most + 1, min, true), SlowStartDecision::GO_ON, "{min} ms");
    }
}

/// The minimum sample of about a round trip: one of 40 ms counts in the part of 10 ms in which it arrived,
/// and in three more.
#[test]
fn the_smallest_rtt_of_a_round_trip_decides() {
    let mut rapid = RapidStart::new(10 * MSS);
    assert_eq!(asked(&mut rapid, 1000, 40, 40, true), FAST);
    assert_eq!(asked(&mut rapid, 1039, 60, 40, true), FAST);
    assert_eq!(asked(&mut rapid, 1040, 60, 40, true), SlowStartDecision::GO_ON);
    assert_eq!(asked(&mut rapid, 1055, 41, 40, true), FAST);
}

#[test]
fn later_slow_starts_double() {
    let mut rapid = RapidStart::new(10 * MSS);
    assert_eq!(asked(&mut rapid, 1000, 40, 40, false), SlowStartDecision::GO_ON);
    assert!(rapid.pacing_rate(MSS).is_none());
}

/// 100 packets, of which path and queue have room for 50: half of them are lost. Section 3.3.1 with beta 0.5:
/// 5/6 x 100 - 1/3 x 50 - 5/6 x 50 = 25 packets, beta times 50; with 0.7: 90 - 1/5 x 50 - 9/10 x 50 = 35.
#[test]
fn the_window_converges_to_beta_of_what_is_delivered() {
    for (cubic, silent, after) in [(false, 83_333, 25_000), (true, 90_000, 35_000)] {
        let policy = Box::new(RapidStart::new(10 * MSS));
        let mut control: Box<dyn Controller> = if cubic {
            Box::new(Cubic::new(&settings(100), policy))
        } else {
            Box::new(NewReno::new(&settings(100), policy))
        };
        control.on_congestion(&CongestionEvent::default());
        assert!(control.window().abs_diff(silent) <= 1, "{}", control.window());
        assert!(control.owns_recovery());
        for _ in 0..50 {
            control.on_packet_lost(&lost(1));
            control.on_ack(&ack(1000, 40, 1));
        }
        // each step rounds down by less than a byte
        assert!(control.window().abs_diff(after) <= 101, "{}", control.window());
        control.on_recovery_end(Time::from_nanos(1_100_000_000));
        assert!(!control.owns_recovery());
        assert_eq!(control.ssthresh(), Some(control.window()));
        // the rules of the control
        let before = control.window();
        control.on_congestion(&CongestionEvent::default());
        let kept = control.window() as f64 / before as f64;
        assert!((kept - if cubic { 0.7 } else { 0.5 }).abs() < 0.001, "{kept}");
    }
}

/// Section 3.3: not below a third of beta times the window, and not below the initial window times beta.
#[test]
fn the_window_has_two_lower_bounds() {
    for (window, initial, least) in [(120, 10, 20), (12, 10, 5)] {
        let mut reno = NewReno::new(&settings(window), Box::new(RapidStart::new(initial * MSS)));
        reno.on_packet_lost(&lost(2 * window));
        reno.on_congestion(&CongestionEvent::default());
        assert_eq!(reno.window(), least * MSS);
    }
}

/// Section 3.3.2: without a loss beta times the window remains: 5/6 - 1/3.
#[test]
fn marks_alone_leave_beta() {
    let mut reno = NewReno::new(&settings(90), Box::new(RapidStart::new(10 * MSS)));
    reno.on_congestion(&CongestionEvent { ecn: true, ..CongestionEvent::default() });
    (0..90).for_each(|_| reno.on_ack(&ack(1000, 40, 1)));
    assert!(reno.window().abs_diff(45 * MSS) <= 90, "{}", reno.window());
}

/// The flight after the first growth is paced at window / RTT, until a packet of it is acknowledged.
#[test]
fn the_first_larger_flight_is_paced_over_a_round_trip() {
    let mut reno = NewReno::new(&settings(10), Box::new(RapidStart::new(10 * MSS)));
    assert!(reno.pacing_rate().is_none());
    reno.on_ack(&Ack { acked_position: 1, next_position: 10, ..ack(40, 40, 1) });
    // 12 packets of 1000 bytes in 40 ms
    assert_eq!(reno.pacing_rate(), Some(DataRate::from_bits_per_second(2_400_000)));
    reno.on_ack(&Ack { acked_position: 10, next_position: 30, ..ack(41, 40, 9) });
    assert!(reno.pacing_rate().is_some());
    reno.on_ack(&Ack { acked_position: 11, next_position: 32, ..ack(80, 40, 1) });
    assert!(reno.pacing_rate().is_none());
}

#[test]
fn a_spurious_reduction_restores_the_window_and_growth() {
    let mut reno = NewReno::new(&settings(90), Box::new(RapidStart::new(10 * MSS)));
    reno.on_congestion(&CongestionEvent::default());
    reno.on_spurious(Time::ZERO);
    assert_eq!((reno.window(), reno.ssthresh(), reno.owns_recovery()), (90 * MSS, None, false));
    reno.on_ack(&ack(1000, 40, 1));
    assert_eq!(reno.window(), 92 * MSS);
}

#[test]
fn after_a_timeout_slow_start_is_that_of_the_control() {
    let mut reno = NewReno::new(&settings(90), Box::new(RapidStart::new(10 * MSS)));
    reno.on_congestion(&CongestionEvent::default());
    reno.on_timeout(&CongestionEvent::default(), true);
    assert!(!reno.owns_recovery());
    assert_eq!(reno.window(), 2 * MSS);
    reno.on_ack(&ack(1000, 40, 1));
    assert_eq!(reno.window(), 3 * MSS);
}
