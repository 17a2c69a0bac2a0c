//! Earliest arrival.

use super::*;

const PATIENCE: Duration = Duration::from_millis(2);

/// 9.6 Mbit/s: a full datagram in 1 ms; the window is `rtt_ms` of it.
fn line(rtt_ms: u64) -> PathState {
    let rate = Some(DataRate::from_bits_per_second(9_600_000));
    PathState { rate, window: bytes(1200 * rtt_ms), ..path(rtt_ms) }
}

fn scheduler() -> EarliestArrival {
    EarliestArrival::new(0.125, PATIENCE)
}

/// Alone the packet arrives after 5 + 1 ms or after 10 + 1 ms. At one time, five more fill the first queue by 5 ms; 6 +
/// 5 is not more than 11 x 9/8, and the sixth stays on the path, the seventh (12) and eighth (13 > 12.375) ...
#[test]
fn a_burst_fills_the_fast_queue_until_the_slow_path_is_as_early() {
    let paths = [line(10), line(20)];
    // path 0 has 6, 7, .. ms: it is kept up to 12.375 ms, that is for seven packets; then path 1 has 11 ms
    assert_eq!(sequence(&mut scheduler(), &paths, 8), [0, 0, 0, 0, 0, 0, 0, 1]);
    // then it is kept as long: 11, 12, 13, 14 against 13 x 9/8 = 14.625; with 15 the other is used again
    assert_eq!(sequence(&mut scheduler(), &paths, 13)[7..], [1, 1, 1, 1, 0, 0]);
}

/// Eight packets at once; after 4 ms half of the queue has drained.
#[test]
fn the_queue_drains_with_the_rate() {
    let (mut scheduler, paths) = (scheduler(), [line(10), line(20)]);
    assert_eq!(sequence(&mut scheduler, &paths, 7), [0; 7]);
    assert_eq!(scheduler.select(at(0), FULL, &paths), Some(1));
    // 6 + 7 - 0.5 ms are 12.5, then 12.375: the same as 11 x 9/8
    assert_eq!(scheduler.select(Time::from_nanos(500_000), FULL, &paths), Some(1));
    assert_eq!(scheduler.select(Time::from_nanos(625_000), FULL, &paths), Some(0));
}

/// 12000 B are in transit with 10 ms; bytes in flight beyond that are a queue: 6 ms for 7200 B.
#[test]
fn what_others_queued_counts() {
    let busy = |in_flight: u64| [PathState { in_flight: bytes(in_flight), ..line(10) }, line(20)];
    assert_eq!(scheduler().select(Time::ZERO, FULL, &busy(12_000)), Some(0));
    assert_eq!(scheduler().select(Time::ZERO, FULL, &busy(12_000 + 5_999)), Some(0));
    assert_eq!(scheduler().select(Time::ZERO, FULL, &busy(12_000 + 6_001)), Some(1));
}

/// 20 % of losses cost 0.25 x 20 ms: 11 + 5 ms; 12 % of them 13.7 ms.
#[test]
fn losses_cost_round_trips() {
    let lossy = |loss: f64| [PathState { loss: Probability::new(loss).unwrap(), ..line(20) }, line(26)];
    assert_eq!(scheduler().select(Time::ZERO, FULL, &lossy(0.12)), Some(0));
    assert_eq!(scheduler().select(Time::ZERO, FULL, &lossy(0.2)), Some(1));
}

/// The fast path is full: no queue behind its window. A backlog of 1 packet would arrive after 6 ms, on the slow path
/// after 51; of 2 packets too, and they leave within 2 ms. A third exceeds the patience.
#[test]
fn it_waits_for_a_faster_path_but_not_long() {
    let paths = [PathState { has_room: false, in_flight: bytes(12_000), ..line(10) }, line(100)];
    let select = |packets: u64| scheduler().select(Time::ZERO, bytes(1200 * packets), &paths);
    assert_eq!([select(1), select(2), select(3), select(100)], [None, None, Some(1), Some(1)]);
    // nor if it is not earlier: 6 ms of additional queue, against 11 ms
    let late = PathState { in_flight: bytes(18_000), ..paths[0] };
    assert_eq!(scheduler().select(Time::ZERO, FULL, &[late, line(20)]), Some(1));
}

/// The rate is unknown: a window per round trip, 12000 B in 10 ms, is the same 9.6 Mbit/s.
#[test]
fn a_window_in_each_round_trip_stands_for_the_rate() {
    assert_eq!(path(10).rate_or_window().bits_per_second(), 9_600_000);
    let unknown = PathState { rate: None, ..line(10) };
    assert_eq!(sequence(&mut scheduler(), &[unknown, line(20)], 8), [0, 0, 0, 0, 0, 0, 0, 1]);
}
