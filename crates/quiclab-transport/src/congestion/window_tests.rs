use super::super::slow_start::NoSlowStartExit;
use super::*;
use proptest::prelude::*;
use quiclab_core::Time;

const MSS: u64 = 1000;

fn window(flavour: Flavour, packets: u64) -> Window {
    with_policy(flavour, packets, NoSlowStartExit)
}

fn with_policy(flavour: Flavour, packets: u64, policy: impl SlowStartPolicy + 'static) -> Window {
    let settings =
        WindowSettings { flavour, initial_window: packets * MSS, mss: MSS, emulated_connections: 1 };
    Window::new(&settings, Box::new(policy))
}

fn ack(packets: u32) -> Ack {
    Ack {
        acked_bytes: u64::from(packets) * MSS,
        acked_packets: packets,
        may_grow: true,
        cwnd_limited: true,
        ..Ack::default()
    }
}

/// Policy that always makes the same decision.
struct Says(SlowStartDecision);
impl SlowStartPolicy for Says {
    fn on_ack(&mut self, _question: &SlowStartInput<'_>) -> SlowStartDecision {
        self.0
    }
}

const BOTH: [Flavour; 2] = [Flavour::LinuxTcp, Flavour::Quic];

#[test]
fn slow_start_doubles_the_window_each_round() {
    for flavour in BOTH {
        let mut window = window(flavour, 10);
        for expected in [20, 40, 80, 160] {
            // two packets per ACK
            for _ in 0..window.bytes() / MSS / 2 {
                assert_eq!(window.slow_start(&ack(2), None, None), 0);
            }
            assert_eq!(window.bytes(), expected * MSS);
        }
    }
}

#[test]
fn linux_counts_packets_and_quic_bytes() {
    // two packets of 300 bytes
    let small = Ack { acked_bytes: 600, ..ack(2) };
    let (mut linux, mut quic) = (window(Flavour::LinuxTcp, 10), window(Flavour::Quic, 10));
    linux.slow_start(&small, None, None);
    quic.slow_start(&small, None, None);
    assert_eq!((linux.bytes(), quic.bytes()), (12_000, 10_600));
}

#[test]
fn a_window_that_is_not_used_or_may_not_grow_stays() {
    for flavour in BOTH {
        let mut window = window(flavour, 10);
        for cut in [false, true] {
            if cut {
                window.cut(5 * MSS);
            }
            let before = window.bytes();
            assert_eq!(window.slow_start(&Ack { cwnd_limited: false, ..ack(5) }, None, None), 0);
            assert_eq!(window.slow_start(&Ack { may_grow: false, ..ack(5) }, None, None), 0);
            assert_eq!(window.bytes(), before);
        }
    }
}

#[test]
fn slow_start_stops_at_the_threshold_and_leaves_the_rest() {
    for flavour in BOTH {
        let mut window = window(flavour, 20);
        window.timeout(&CongestionEvent::default(), Some(10 * MSS));
        let start = window.bytes(); // 1 packet or 2
        let needed = u32::try_from((10 * MSS - start) / MSS).unwrap();
        assert_eq!(window.slow_start(&ack(needed + 3), None, None), 3 * MSS);
        assert_eq!((window.bytes(), window.phase()), (10 * MSS, Phase::CongestionAvoidance));
        assert_eq!(window.slow_start(&ack(4), None, None), 4 * MSS);
    }
}

#[test]
fn conservative_slow_start_divides_the_growth_and_loses_nothing() {
    let answer = SlowStartDecision::Continue { gain: 1, divisor: 4, limit: None };
    for flavour in BOTH {
        let mut window = with_policy(flavour, 10, Says(answer));
        for _ in 0..7 {
            window.slow_start(&ack(1), None, None);
        }
        // 7/4 packets; Linux has whole ones
        let seven = if flavour == Flavour::LinuxTcp { 11_000 } else { 11_750 };
        assert_eq!((window.bytes(), window.phase()), (seven, Phase::ConservativeSlowStart));
        window.slow_start(&ack(1), None, None);
        assert_eq!(window.bytes(), 12_000);
    }
}

#[test]
fn the_limit_of_an_ack_bounds_its_growth() {
    let answer = SlowStartDecision::Continue { gain: 1, divisor: 1, limit: Some(8 * MSS) };
    for flavour in BOTH {
        let mut window = with_policy(flavour, 100, Says(answer));
        window.slow_start(&ack(50), None, None);
        assert_eq!(window.bytes(), 108 * MSS);
    }
}

#[test]
fn leaving_makes_the_window_the_threshold() {
    for flavour in BOTH {
        let mut window = with_policy(flavour, 30, Says(SlowStartDecision::Leave));
        assert_eq!(window.slow_start(&ack(2), None, None), 2 * MSS);
        assert_eq!((window.bytes(), window.ssthresh()), (30 * MSS, Some(30 * MSS)));
        assert_eq!(window.phase(), Phase::CongestionAvoidance);
    }
}

#[test]
fn credit_of_a_larger_window_is_worth_one_packet() {
    let mut window = window(Flavour::LinuxTcp, 100);
    window.grow_per(100 * MSS, 99 * MSS);
    assert_eq!(window.bytes(), 100 * MSS);
    // 99 packets would be 9 growths at 10 packets each; they are one, and 10 more another
    window.grow_per(10 * MSS, 10 * MSS);
    assert_eq!(window.bytes(), 102 * MSS);
}

#[test]
fn a_reduction_and_a_timeout_forget_credit() {
    // snd_cwnd_cnt is 0 after tcp_init_cwnd_reduction and tcp_enter_loss: 9 packets of credit and one
    // acknowledged after it would be a growth at 10 packets
    for timeout in [false, true] {
        let mut window = window(Flavour::LinuxTcp, 20);
        window.grow_per(20 * MSS, 9 * MSS);
        if timeout {
            window.timeout(&CongestionEvent { in_flight: 9 * MSS, ..CongestionEvent::default() }, None);
        } else {
            window.cut(10 * MSS);
        }
        window.grow_per(10 * MSS, MSS);
        assert_eq!(window.bytes(), 10 * MSS);
    }
}

#[test]
fn an_undo_restores_window_and_threshold_once() {
    for flavour in BOTH {
        let mut window = window(flavour, 40);
        assert!(!window.undo());
        window.cut(20 * MSS);
        assert!(window.undo());
        assert_eq!((window.bytes(), window.ssthresh()), (40 * MSS, None)); // it was unlimited
        window.cut(20 * MSS);
        window.cut(10 * MSS);
        // since then it has grown above its previous value: the larger one remains
        window.grow_per(MSS, 15 * MSS);
        assert!(window.undo());
        assert_eq!(window.bytes(), 25 * MSS);
        assert_eq!(window.ssthresh(), Some(20 * MSS));
        assert!(!window.undo());
        assert_eq!(window.bytes(), 25 * MSS);
    }
}

#[test]
fn linux_keeps_three_quarters_of_the_window_as_the_threshold_of_an_undo() {
    // threshold 10, window 40 packets: max(10, 20 + 10)
    for (flavour, ssthresh) in [(Flavour::LinuxTcp, 30), (Flavour::Quic, 10)] {
        let mut window = window(flavour, 10);
        window.cut(10 * MSS);
        window.grow_per(MSS, 30 * MSS);
        window.timeout(&CongestionEvent::default(), Some(5 * MSS));
        window.undo();
        assert_eq!((window.bytes(), window.ssthresh()), (40 * MSS, Some(ssthresh * MSS)));
    }
}

#[test]
fn idle_time_halves_the_window_each_rto_down_to_the_restart_window() {
    let rto = Duration::from_millis(200);
    // tcp_cwnd_restart: delta -= rto before each halving: 1.5 RTO halve once, 2 RTO once, 2.5 RTO twice
    for (idle_ms, packets) in [(200, 101), (300, 50), (400, 50), (500, 25), (700, 12), (900, 10), (9000, 10)]
    {
        let mut window = window(Flavour::LinuxTcp, 10);
        window.grow_per(MSS, 91 * MSS);
        window.cut(101 * MSS);
        window.idle(Duration::from_millis(idle_ms), rto);
        assert_eq!(window.bytes(), packets * MSS, "{idle_ms} ms");
        // max(101, 50 + 25)
        assert_eq!(window.ssthresh(), Some(101 * MSS));
    }
}

#[test]
fn idle_time_raises_a_low_threshold_and_does_not_raise_the_window() {
    let rto = Duration::from_millis(200);
    let mut window = window(Flavour::LinuxTcp, 10);
    window.cut(4 * MSS);
    window.idle(rto * 10, rto);
    assert_eq!((window.bytes(), window.ssthresh()), (4 * MSS, Some(4 * MSS))); // below the restart window
    window.grow_per(MSS, 36 * MSS);
    window.idle(rto * 10, rto);
    assert_eq!((window.bytes(), window.ssthresh()), (10 * MSS, Some(30 * MSS)));
}

#[test]
fn an_application_that_uses_less_gets_the_mean_of_use_and_window() {
    let mut window = window(Flavour::LinuxTcp, 10);
    window.grow_per(MSS, 30 * MSS);
    assert!(!window.application_limited(40 * MSS));
    assert!(window.application_limited(25 * MSS)); // floor(65 / 2)
    assert_eq!((window.bytes(), window.ssthresh()), (32 * MSS, None));
    assert!(window.application_limited(0)); // the initial window counts as used: (32 + 10) / 2
    assert_eq!(window.bytes(), 21 * MSS);
    window.cut(8 * MSS);
    assert!(!window.application_limited(0));
    assert_eq!(window.bytes(), 8 * MSS);
}

#[test]
fn a_linux_window_starts_with_whole_packets() {
    let made = |flavour| {
        let settings = WindowSettings { flavour, initial_window: 14_600, mss: 1448, emulated_connections: 1 };
        Window::new(&settings, Box::new(NoSlowStartExit)).bytes()
    };
    assert_eq!((made(Flavour::LinuxTcp), made(Flavour::Quic)), (14_480, 14_600));
}

proptest! {
    #[test]
    fn windows_stay_whole_and_never_fall_on_an_ack(
        linux in any::<bool>(),
        divisor in 1_u64..5,
        operations in proptest::collection::vec((0_u8..7, 1_u32..50), 1..200),
    ) {
        let flavour = if linux { Flavour::LinuxTcp } else { Flavour::Quic };
        let mut window = with_policy(flavour, 10, Says(SlowStartDecision::Continue { gain: 1, divisor, limit: None }));
        for (operation, n) in operations {
            let before = window.bytes();
            match operation {
                0 => window.cut(before * 7 / 10),
                1 => window.timeout(&CongestionEvent { in_flight: u64::from(n) * 300, now: Time::ZERO, ..CongestionEvent::default() }, Some(before / 2)),
                2 => window.idle(Duration::from_millis(u64::from(n)), Duration::from_millis(10)),
                3 => { window.application_limited(u64::from(n) * 777); }
                4 => { window.undo(); }
                _ => {
                    let rest = window.slow_start(&ack(n), None, None);
                    prop_assert!(rest <= u64::from(n) * MSS + 4 * MSS);
                    prop_assert!(window.bytes() <= before + u64::from(n) * MSS + 4 * MSS);
                    if rest > 0 {
                        window.grow_per(window.bytes(), rest);
                    }
                    prop_assert!(window.bytes() >= before);
                }
            }
            prop_assert!(window.bytes() >= MSS);
            prop_assert!(window.ssthresh().is_none_or(|ssthresh| ssthresh >= 2 * MSS));
            if linux {
                prop_assert_eq!(window.bytes() % MSS, 0);
                prop_assert_eq!(window.ssthresh().unwrap_or(0) % MSS, 0);
            }
        }
    }
}
