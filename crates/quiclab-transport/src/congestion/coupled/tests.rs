use super::super::slow_start::NoSlowStartExit;
use super::super::window::Flavour;
use super::*;
use quiclab_core::Duration;

const MSS: u64 = 1000;

fn view(packets: u64, rtt_ms: u64, losses_apart: u64) -> PathView {
    PathView { window: packets * MSS, srtt: Some(Duration::from_millis(rtt_ms)), losses_apart }
}

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-12 * expected.abs().max(1.0), "{value} is not {expected}");
}

/// With one path each increase is NewReno's: 1 / w.
#[test]
fn one_path_grows_by_a_packet_per_round_trip() {
    let path = [view(20, 50, 5000)];
    let mss = MSS as f64;
    close(increase::lia(&path, 0, mss), 1.0 / 20.0);
    close(increase::olia(&path, 0, mss), 1.0 / 20.0);
    close(increase::balia(&path, 0, mss), 1.0 / 20.0);
    close(increase::balia_decrease(&path, 0), 0.5);
}

/// Two equal paths of 10 packets and 0.1 s: sum w/rtt = 200, LIA's alpha = 20 · 1000 / 200² = 1/2, increase
/// 1/40; OLIA 1000 / 40 000 = 1/40; BALIA 100 / (0.1 · 40 000) = 1/40: together they grow as one path of 20.
#[test]
fn two_equal_paths_grow_together_as_one() {
    let paths = [view(10, 100, 7), view(10, 100, 7)];
    for own in [0, 1] {
        close(increase::lia(&paths, own, 1000.0), 1.0 / 40.0);
        close(increase::olia(&paths, own, 1000.0), 1.0 / 40.0);
        close(increase::balia(&paths, own, 1000.0), 1.0 / 40.0);
    }
}

/// Windows 30 and 10, RTT 0.1 s: sum w/rtt = 400, squared 160 000. LIA: alpha = 40 · 3000 / 160 000 = 0.75,
/// 0.75 / 40 = 0.01875 on both. OLIA: 3000 / 160 000 = 0.01875 and 1000 / 160 000 = 0.00625; the second path is
/// the best (more bytes between losses) and has the smaller window: + 1/2 / 10 and - 1/2 / 30. BALIA: x = 300 and
/// 100; second: a = 3, 100 / (0.1 · 160 000) · 2 · 1.4 = 0.0175, decrease 1.5 / 2.
#[test]
fn unequal_paths_by_hand() {
    let paths = [view(30, 100, 10_000), view(10, 100, 20_000)];
    close(increase::lia(&paths, 0, 1000.0), 0.01875);
    close(increase::lia(&paths, 1, 1000.0), 0.01875);
    close(increase::olia(&paths, 0, 1000.0), 0.01875 - 0.5 / 30.0);
    close(increase::olia(&paths, 1, 1000.0), 0.00625 + 0.5 / 10.0);
    close(increase::balia(&paths, 1, 1000.0), 0.0175);
    close(increase::balia_decrease(&paths, 1), 0.75);
    close(increase::balia_decrease(&paths, 0), 0.5);
}

/// A path is never more aggressive than NewReno (RFC 6356 section 3, goal 2): min(.., 1 / w).
#[test]
fn lia_is_bounded_by_newreno() {
    let paths = [view(2, 10, 1), view(50, 500, 1)];
    assert!(increase::lia(&paths, 0, 1000.0) <= 0.5);
    assert!(increase::lia(&paths, 1, 1000.0) <= 1.0 / 50.0);
}

fn controller(coupling: Coupling) -> Coupled {
    let settings = WindowSettings {
        flavour: Flavour::Quic,
        initial_window: 10 * MSS,
        mss: MSS,
        emulated_connections: 1,
    };
    Coupled::new(coupling, &settings, Box::new(NoSlowStartExit))
}

fn ack(packets: u64) -> Ack {
    Ack {
        acked_bytes: packets * MSS,
        acked_packets: packets as u32,
        srtt: Some(Duration::from_millis(100)),
        may_grow: true,
        cwnd_limited: true,
        ..Ack::default()
    }
}

/// 10 packets in slow start become 20; the reduction leaves 10, and ten round trips add ten.
#[test]
fn a_controller_alone_is_newreno() {
    for coupling in [Coupling::Lia, Coupling::Olia, Coupling::Balia] {
        let mut alone = controller(coupling);
        alone.on_ack(&ack(10));
        assert_eq!(alone.window(), 20 * MSS, "{coupling:?}");
        alone.on_congestion(&CongestionEvent::default());
        assert_eq!(alone.window(), 10 * MSS);
        for _ in 0..10 {
            for _ in 0..alone.window() / MSS {
                alone.on_ack(&ack(1));
            }
        }
        let grown = alone.window() / MSS;
        assert!((19..=20).contains(&grown), "{coupling:?}: {grown}");
    }
}

/// OLIA moves window from the path with the largest one to a better path. Windows 50 and 5, RTT 0.1 s and
/// 0.01 s: sum w/rtt = 1000; (50 / 0.01) / 1000² = 0.005, less 1/2 / 50 = 0.01. 250 times -0.005 are -1.25:
/// the window shrinks by a packet, and slow start, which ended at 50, does not restore it.
#[test]
fn olia_shrinks_a_large_window_beside_a_better_path() {
    let mut large = controller(Coupling::Olia);
    large.on_ack(&ack(90));
    large.on_congestion(&CongestionEvent::default());
    assert_eq!(large.window(), 50 * MSS);
    for _ in 0..5 {
        for _ in 0..50 {
            large.on_paths(&[view(50, 100, 1), view(5, 10, 1_000_000)], 0);
            large.on_ack(&ack(1));
        }
    }
    assert_eq!((large.window(), large.phase()), (49 * MSS, Phase::CongestionAvoidance));
}
