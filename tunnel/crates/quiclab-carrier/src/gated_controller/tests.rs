use super::*;
use crate::config::PathConfig;
use crate::control::{Group, controller};
use quiclab_core::{ByteCount, RandomStream};
use quiclab_transport::options::CongestionControl;

fn gate(path: PathConfig) -> GatedController {
    let lab = controller(path, 1000, RandomStream::new(1, "gate"), &Group::default(), 0);
    GatedController::new(Time::ZERO, lab, MtuSearch::new(1000, true), Duration::from_millis(100))
}

fn fixed(window: u64) -> GatedController {
    let window = Some(ByteCount::from_bytes(window));
    gate(PathConfig { congestion_control: CongestionControl::Fixed, window, ..PathConfig::default() })
}

fn instant(millis: u64) -> Instant {
    Clock::new().instant(Time::ZERO + Duration::from_millis(millis))
}

#[test]
fn the_window_is_gated_and_metrics_are_not() {
    let gate = fixed(5000);
    for (mode, window) in [(GateMode::Open, 5000), (GateMode::Closed, 0), (GateMode::Granted, u64::MAX)] {
        gate.set(mode);
        assert_eq!(Controller::window(&gate), window);
        assert_eq!(Controller::metrics(&gate).congestion_window, u64::MAX, "noq's pacer stays off");
        assert_eq!(Controller::metrics(&gate).pacing_rate, None);
        assert_eq!((gate.window(), Controller::initial_window(&gate)), (5000, 5000));
    }
}

#[test]
fn bytes_in_flight_are_mirrored_and_set_right() {
    let mut gate = fixed(5000);
    // a second apart: the pacer never waits
    let time = |second: u64| Time::ZERO + Duration::from_secs(second);
    for number in 0..4 {
        assert!(gate.has_room(time(number), 0));
        gate.on_packet_sent(instant(number * 1000), 1000, number);
    }
    // 4000 in flight: one more fits, two do not
    assert_eq!((gate.has_room(time(4), 0), gate.has_room(time(4), 1)), (true, false));
    gate.on_packet_sent(instant(4000), 1000, 4);
    assert_eq!((gate.in_flight(), gate.room(time(5), 0)), (5000, None));
    gate.on_packet_lost(1000, 0, instant(5000));
    assert_eq!(gate.in_flight(), 4000);
    gate.on_end_acks(instant(5000), 2500, true, Some(1));
    assert_eq!(gate.in_flight(), 2500);
}

#[test]
fn unanswered_since_the_first_packet_after_the_last_answer() {
    let mut gate = fixed(5000);
    let time = |millis| Some(Time::ZERO + Duration::from_millis(millis));
    assert_eq!(gate.waiting_since(), None);
    gate.on_packet_sent(instant(3), 1000, 0);
    gate.on_packet_sent(instant(5), 1000, 1);
    assert_eq!(gate.waiting_since(), time(3));
    gate.on_end_acks(instant(8), 1000, true, Some(0));
    assert_eq!((gate.waiting_since(), gate.answered()), (time(8), time(8)));
    gate.on_packet_lost(1000, 1, instant(30));
    assert_eq!(gate.waiting_since(), time(8), "lost is not answered");
    gate.on_end_acks(instant(40), 0, true, Some(2));
    assert_eq!(gate.waiting_since(), None);
}

#[test]
fn the_pacer_lets_a_datagram_leave_when_it_is_due() {
    // 10 000 bytes per 100 ms, and a quarter more: 125 000 bytes/s; 10 ms of it are 1250 bytes
    let mut gate = fixed(10_000);
    assert!(gate.has_room(Time::ZERO, 0));
    gate.on_packet_sent(instant(0), 1000, 0);
    // 250 left, 750 missing: 6 ms
    assert_eq!(gate.room(Time::ZERO, 0), Some(Time::ZERO + Duration::from_millis(6)));
    assert!(!gate.has_room(Time::ZERO + Duration::from_micros(5999), 0));
    assert!(gate.has_room(Time::ZERO + Duration::from_millis(6), 0));
}

#[test]
fn clones_share_everything() {
    let gate = fixed(5000);
    let mut clone = gate.clone_box();
    clone.on_packet_sent(instant(0), 700, 0);
    gate.set(GateMode::Closed);
    assert_eq!((gate.in_flight(), clone.window()), (700, 0));
    let found = clone.into_any().downcast::<GatedController>().unwrap();
    assert_eq!(found.in_flight(), 700);
}

#[test]
fn a_full_window_limits_without_a_backlog() {
    // another path took the datagrams for which this one had no room (RFC 9002 section 7.8: the window was
    // fully used)
    let mut gate = fixed(5000);
    let limited = |gate: &GatedController, number| !gate.lock().is_app_limited(Some(number));
    (0..4).for_each(|number| gate.on_packet_sent(instant(0), 1000, number));
    assert!(!limited(&gate, 0), "there was room");
    gate.on_packet_sent(instant(0), 1000, 4);
    assert!(
        (0..5).all(|number| limited(&gate, number)),
        "all of these were in flight when the window was full"
    );
    gate.on_end_acks(instant(100), 1000, true, Some(3));
    gate.on_packet_sent(instant(100), 1000, 5);
    assert!(!limited(&gate, 5), "sent when there was room");
    gate.set_limited(true);
    assert!(limited(&gate, 5), "a backlog, and no room");
}

#[test]
fn a_path_that_is_not_used_is_as_fast_again_as_its_queue_drains() {
    let mut gate = fixed(5000);
    let (time, ms) = (|millis| Time::ZERO + Duration::from_millis(millis), Duration::from_millis);
    assert_eq!(gate.expected_rtt(time(0), ms(100)), ms(100), "without a sample, as assumed");
    gate.on_packet_sent(instant(0), 1000, 0);
    gate.lock().sample_rtt(time(0), ms(20));
    gate.lock().latest_rtt = Some(ms(100));
    assert_eq!(gate.expected_rtt(time(60), ms(100)), ms(100), "in flight: the RTT is being measured");
    gate.on_end_acks(instant(100), 0, true, Some(0));
    // 80 ms of queue, 30 and 90 ms after the last answer
    assert_eq!(gate.expected_rtt(time(130), ms(100)), ms(70));
    assert_eq!(gate.expected_rtt(time(190), ms(100)), ms(20));
    // a keep-alive that found no queue: the smoothed RTT does not show it yet
    gate.on_packet_sent(instant(500), 100, 1);
    gate.on_end_acks(instant(520), 0, true, Some(1));
    gate.lock().latest_rtt = Some(ms(20));
    assert_eq!(gate.expected_rtt(time(520), ms(90)), ms(20));
}

#[test]
fn a_route_that_becomes_longer_is_no_queue_for_ever() {
    let mut gate = fixed(5000);
    let (ms, at) = (Duration::from_millis, |second| Time::ZERO + Duration::from_secs(second));
    // 20 ms, and then 60 ms between the same addresses
    let least = |gate: &GatedController, second: u64, rtt: u64| {
        gate.lock().sample_rtt(at(second), ms(rtt));
        gate.min_rtt()
    };
    assert_eq!((gate.min_rtt(), least(&gate, 1, 20)), (None, Some(ms(20))));
    for second in [100, 200, 301] {
        assert_eq!(least(&gate, second, 60), Some(ms(20)), "after {second} s");
    }
    assert_eq!(least(&gate, 302, 60), Some(ms(60)), "301 s later");
    assert_eq!(least(&gate, 400, 30), Some(ms(30)), "a smaller one counts at once");
    // all packets were lost for long: the next sample is the smallest
    gate.on_congestion_event(instant(501_000), instant(500_900), false, false, 1000, 500);
    assert_eq!(gate.min_rtt(), Some(ms(30)));
    gate.on_congestion_event(instant(501_000), instant(500_900), true, false, 1000, 500);
    assert_eq!((gate.min_rtt(), least(&gate, 502, 80)), (None, Some(ms(80))));
}

/// With every congestion control: a queue shows the rate of the path, and the rate of another path is unknown.
#[test]
fn the_rate_of_a_path_is_told() {
    for congestion_control in [
        CongestionControl::Fixed,
        CongestionControl::Cubic,
        CongestionControl::Lia,
        CongestionControl::BbrLinux,
    ] {
        let window = Some(ByteCount::from_bytes(30_000));
        let mut gate = gate(PathConfig { congestion_control, window, ..PathConfig::default() });
        gate.lock().sample_rtt(Time::ZERO, Duration::from_millis(20));
        // ten packets of 1000 bytes every 40 ms, of which the next ten are sent when they are acknowledged: 2 Mbit/s
        let mut number = 0;
        let mut send = |gate: &mut GatedController, at| {
            (0..10).for_each(|_| {
                gate.on_packet_sent(instant(at), 1000, number);
                number += 1;
            });
        };
        send(&mut gate, 0);
        for (at, rate) in [(40, None), (80, Some(2_000_000))] {
            send(&mut gate, at);
            let srtt = std::time::Duration::from_millis(40);
            (0..10).for_each(|_| gate.lock().inner.acknowledged(instant(at), instant(at - 40), 1000, srtt));
            gate.on_end_acks(instant(at), 10_000, true, Some(0));
            assert_eq!(gate.rate().map(DataRate::bits_per_second), rate, "{congestion_control:?}");
        }
        gate.hand_over(Time::ZERO, &gate.clone());
        assert_eq!(gate.rate(), None, "another path");
    }
}

/// A slow start of an inner flow sends half of the window, and twice as much in the next round trip: by then the
/// window has doubled (draft-ietf-ccwg-ratelimited-increase).
#[test]
fn a_window_in_slow_start_grows_to_twice_what_was_in_flight() {
    let windows = |congestion_control| {
        let mut gate = gate(PathConfig { congestion_control, ..PathConfig::default() });
        [10, 20, 20, 5].map(|packets: u64| {
            (0..packets).for_each(|number| gate.on_packet_sent(instant(0), 1000, number));
            let rtt = std::time::Duration::from_millis(100);
            for _ in 0..packets {
                gate.lock().inner.acknowledged(instant(100), instant(0), 1000, rtt);
                let left = gate.in_flight() - 1000;
                gate.on_end_acks(instant(100), left, true, Some(0));
            }
            gate.window() / 1000
        })
    };
    for control in [CongestionControl::Cubic, CongestionControl::Newreno, CongestionControl::Prague] {
        assert_eq!(windows(control), [20, 40, 40, 40], "{control:?}");
    }
    assert_eq!(windows(CongestionControl::Fixed)[0], windows(CongestionControl::Fixed)[3]);
}
