use super::*;
use crate::carrier::config::PathConfig;
use crate::carrier::control::{Group, controller};
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
    // another path took what this one had no room for (RFC 9002 section 7.8: the window was fully used)
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
    gate.lock().min_rtt = Some(ms(20));
    gate.lock().latest_rtt = Some(ms(100));
    assert_eq!(gate.expected_rtt(time(60), ms(100)), ms(100), "in flight: the RTT is being measured");
    gate.on_end_acks(instant(100), 0, true, Some(0));
    // 80 ms of queue, 30 and 90 ms after the last answer
    assert_eq!(gate.expected_rtt(time(130), ms(100)), ms(70));
    assert_eq!(gate.expected_rtt(time(190), ms(100)), ms(20));
    // a keep-alive that met no queue: the smoothed RTT does not say so yet
    gate.on_packet_sent(instant(500), 100, 1);
    gate.on_end_acks(instant(520), 0, true, Some(1));
    gate.lock().latest_rtt = Some(ms(20));
    assert_eq!(gate.expected_rtt(time(520), ms(90)), ms(20));
}
