//! A step of the rate while packets wait, computed by hand for both meanings of `rate_at`.

use super::*;

/// 8 Mbit/s, a byte a microsecond, then from 1.5 ms on half or twice of that.
fn step(rate_at: RateAt, queue: QueueConfig, after_mbps: u64) -> Link {
    let text = format!("time_ms,rate_mbps\n0,8\n1.5,{after_mbps}\n");
    traced_at(rate_at, queue, &text, TraceFormat::Csv, TraceEnd::Hold)
}

/// Three packets at once, and one after the step.
const ARRIVALS: [(u64, u64); 4] = [(0, 1000), (0, 1000), (0, 1000), (2000, 1000)];

#[test]
fn packets_that_wait_leave_at_the_new_rate() {
    // 500 B of the second have left at the step; then each byte takes 2 us
    let log = drive(&mut step(RateAt::Dequeue, unlimited(), 4), &packets(&ARRIVALS));
    assert_eq!(log.delivered_micros(), [1000, 2500, 4500, 6500]);
    let log = drive(&mut step(RateAt::Dequeue, unlimited(), 16), &packets(&ARRIVALS));
    assert_eq!(log.delivered_micros(), [1000, 1750, 2250, 2750]);
}

#[test]
fn packets_that_wait_keep_their_departure_times() {
    // three departures were fixed at 0; the fourth begins at the last of them, at the rate of its arrival
    let log = drive(&mut step(RateAt::Enqueue, unlimited(), 4), &packets(&ARRIVALS));
    assert_eq!(log.delivered_micros(), [1000, 2000, 3000, 5000]);
    let log = drive(&mut step(RateAt::Enqueue, unlimited(), 16), &packets(&ARRIVALS));
    assert_eq!(log.delivered_micros(), [1000, 2000, 3000, 3500]);
    // after an idle time its serialisation begins when it arrives
    let log = drive(&mut step(RateAt::Enqueue, unlimited(), 4), &packets(&[(0, 1000), (7000, 1000)]));
    assert_eq!(log.delivered_micros(), [1000, 9000]);
}

#[test]
fn a_dropped_packet_has_no_departure() {
    let queue = QueueConfig::DropTail(DropTail { packets: Some(2), ..DropTail::default() });
    let log = drive(&mut step(RateAt::Enqueue, queue, 4), &packets(&ARRIVALS));
    assert_eq!(log.dropped_for(DropReason::QueueFull), [2]);
    // the fourth finds the second in service until 2 ms
    assert_eq!(log.delivered_micros(), [1000, 2000, 4000]);
}

#[test]
fn a_constant_rate_is_the_same_with_both() {
    let arrivals = packets(&[(0, 1000), (10, 300), (5000, 40), (5010, 1500)]);
    let [one, other] = [RateAt::Dequeue, RateAt::Enqueue]
        .map(|rate_at| drive(&mut step(rate_at, unlimited(), 8), &arrivals));
    assert_eq!(one, other);
}

#[test]
fn a_late_driver_changes_nothing() {
    let arrivals = packets(&ARRIVALS);
    let late = drive_late(&mut step(RateAt::Enqueue, unlimited(), 4), &arrivals, &[true; 4]);
    assert_eq!(late.delivered_ids(), [0, 1, 2, 3]);
    assert_eq!(late.delivered.last(), Some(&(Time::from_nanos(5_000_000), 3)));
}
