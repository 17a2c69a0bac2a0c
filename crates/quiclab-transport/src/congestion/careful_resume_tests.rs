use super::super::cubic::Cubic;
use super::super::newreno::NewReno;
use super::super::{CongestionEvent, Controller, Flavour, WindowSettings};
use super::*;

const MSS: u64 = 1000;
const SAVED: SavedPath =
    SavedPath { window: ByteCount::from_bytes(400 * MSS), rtt: Duration::from_millis(100) };

fn settings() -> WindowSettings {
    WindowSettings { flavour: Flavour::Quic, initial_window: 10 * MSS, mss: MSS, emulated_connections: 1 }
}

fn policy(max_jump: Option<u64>) -> Box<CarefulResume> {
    Box::new(CarefulResume::new(SAVED, max_jump, 10 * MSS))
}

/// An acknowledgement of `packets` up to position `acked`, after which `in_flight` packets are in flight and
/// `next` is the next position.
fn ack(now_ms: u64, packets: u64, acked: u64, in_flight: u64, next: u64) -> Ack {
    let rtt = Some(Duration::from_millis(100));
    Ack {
        now: Time::from_nanos(now_ms * 1_000_000),
        acked_bytes: packets * MSS,
        acked_packets: packets as u32,
        rtt,
        srtt: rtt,
        min_rtt: rtt,
        prior_in_flight: (in_flight + packets) * MSS,
        in_flight: in_flight * MSS,
        acked_position: acked,
        next_position: next,
        may_grow: true,
        cwnd_limited: true,
        ..Ack::default()
    }
}

/// Acknowledges the initial window at 100 ms with 8 packets of the next round trip in flight, which causes
/// the jump.
fn jumped(control: &mut dyn Controller) {
    control.on_ack(&ack(100, 9, 9, 1, 10));
    assert_eq!((control.window(), control.pacing_rate()), (19 * MSS, None));
    control.on_ack(&ack(101, 1, 10, 18, 28));
}

#[test]
fn the_window_jumps_to_half_of_the_saved_one_paced_over_the_rtt() {
    let mut reno = NewReno::new(&settings(), policy(None));
    jumped(&mut reno);
    assert_eq!((reno.window(), reno.ssthresh()), (200 * MSS, None));
    // 200 packets of 1000 bytes in 100 ms
    assert_eq!(reno.pacing_rate(), Some(DataRate::from_bits_per_second(16_000_000)));
    let mut reno = NewReno::new(&settings(), policy(Some(50 * MSS)));
    jumped(&mut reno);
    assert_eq!(reno.window(), 50 * MSS);
}

/// Section 3.3: the window is constant while the jump is sent; at its first acknowledgement the window
/// becomes the bytes in flight, from which slow start continues.
#[test]
fn what_is_in_flight_is_validated() {
    let mut reno = NewReno::new(&settings(), policy(None));
    jumped(&mut reno);
    reno.on_ack(&ack(150, 9, 19, 100, 119));
    assert_eq!(reno.window(), 200 * MSS);
    // position 28 is the first of the jump
    reno.on_ack(&ack(201, 10, 29, 150, 179));
    assert_eq!((reno.window(), reno.pacing_rate()), (150 * MSS, None));
    reno.on_ack(&ack(205, 20, 49, 150, 199));
    assert_eq!(reno.window(), 170 * MSS);
    // the last of it is 178: after that a loss is an ordinary one
    reno.on_ack(&ack(300, 130, 179, 40, 219));
    reno.on_congestion(&CongestionEvent::default());
    assert!(!reno.owns_recovery());
    assert_eq!(reno.window(), 150 * MSS); // half of 300
}

/// The jump is complete when less than a packet of the window is unused; no more than 200 packets are
/// validated.
#[test]
fn the_jump_ends_when_it_is_sent() {
    let mut reno = NewReno::new(&settings(), policy(None));
    jumped(&mut reno);
    reno.on_ack(&ack(180, 1, 20, 199, 220));
    assert_eq!((reno.window(), reno.pacing_rate()), (200 * MSS, None));
    reno.on_ack(&ack(181, 1, 21, 199, 221));
    assert_eq!(reno.window(), 201 * MSS);
}

/// Section 3.3: for an application that sends less, the window becomes the part used, at least one initial
/// window.
#[test]
fn an_unused_jump_is_taken_back() {
    for (in_flight, window) in [(5, 28), (20, 28), (30, 30)] {
        let mut reno = NewReno::new(&settings(), policy(None));
        jumped(&mut reno);
        // PipeSize: 18 packets in flight at the jump, and 10
        reno.on_ack(&ack(250, 10, 20, in_flight, 60));
        assert_eq!(reno.window(), window * MSS, "{in_flight} packets in flight");
    }
}

/// Section 3.5: half of PipeSize, which is 18 + 10 + 20 packets; then the threshold is PipeSize times beta.
#[test]
fn congestion_leads_to_a_safe_retreat() {
    for (cubic, beta) in [(false, 0.5), (true, 0.7)] {
        let mut control: Box<dyn Controller> = if cubic {
            Box::new(Cubic::new(&settings(), policy(None)))
        } else {
            Box::new(NewReno::new(&settings(), policy(None)))
        };
        jumped(control.as_mut());
        control.on_ack(&ack(201, 10, 29, 150, 179));
        control.on_ack(&ack(205, 20, 49, 150, 199));
        control.on_congestion(&CongestionEvent { next_position: 199, ..CongestionEvent::default() });
        assert_eq!((control.window(), control.owns_recovery()), (24 * MSS, true));
        // it does not grow, and PipeSize does
        control.on_ack(&ack(210, 52, 101, 50, 199));
        assert_eq!((control.window(), control.owns_recovery()), (24 * MSS, true));
        control.on_ack(&ack(299, 20, 179, 10, 199));
        assert!(!control.owns_recovery());
        assert_eq!(control.window(), 24 * MSS);
        assert_eq!(control.ssthresh(), Some((120.0 * beta) as u64 * MSS));
        // slow start up to there
        control.on_ack(&ack(300, 5, 199, 10, 230));
        assert_eq!(control.window(), 29 * MSS);
    }
}

#[test]
fn congestion_before_the_jump_is_ordinary() {
    let mut reno = NewReno::new(&settings(), policy(None));
    reno.on_congestion(&CongestionEvent::default());
    assert_eq!((reno.window(), reno.owns_recovery()), (5 * MSS, false));
    jumped_not(&mut reno, 5);
}

fn jumped_not(control: &mut dyn Controller, packets: u64) {
    (0..10).for_each(|_| control.on_ack(&ack(100, 1, 9, 1, 10)));
    assert!(control.window() < (packets + 11) * MSS, "{}", control.window());
    assert!(control.pacing_rate().is_none());
}

/// Section 3.2: an RTT of at most half of the saved one is another path, as is one of more than ten times it;
/// and a window already reached is not a jump.
#[test]
fn another_path_is_not_resumed() {
    let rtt = |ms| SavedPath { rtt: Duration::from_millis(ms), ..SAVED };
    let small = SavedPath { window: ByteCount::from_bytes(30 * MSS), ..SAVED };
    for (saved, jumps) in
        [(rtt(200), false), (rtt(199), true), (rtt(10), true), (rtt(9), false), (small, false)]
    {
        let mut reno = NewReno::new(&settings(), Box::new(CarefulResume::new(saved, None, 10 * MSS)));
        reno.on_ack(&ack(100, 10, 10, 0, 10));
        assert_eq!(reno.window() > 20 * MSS, jumps, "{saved:?}");
    }
}

/// Section 4.2: a sender that is limited by its data may wait in Reconnaissance.
#[test]
fn the_jump_waits_until_the_window_is_used() {
    let mut reno = NewReno::new(&settings(), policy(None));
    reno.on_ack(&Ack { cwnd_limited: false, ..ack(100, 10, 10, 0, 10) });
    assert_eq!(reno.window(), 10 * MSS);
    reno.on_ack(&ack(300, 2, 12, 9, 21));
    assert_eq!(reno.window(), 200 * MSS);
}

#[test]
fn a_timeout_ends_careful_resume() {
    let mut reno = NewReno::new(&settings(), policy(None));
    jumped(&mut reno);
    reno.on_congestion(&CongestionEvent { next_position: 199, ..CongestionEvent::default() });
    reno.on_timeout(&CongestionEvent::default(), true);
    assert!(!reno.owns_recovery());
    assert_eq!(reno.window(), 2 * MSS);
}
