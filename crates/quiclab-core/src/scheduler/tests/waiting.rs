//! BLEST and ECF: conditions of waiting.

use super::*;

/// Fast: window 12000 B, RTT 10 ms; slow: RTT 40 ms. While a packet is on the slow one, the fast one could
/// send X = (12000 + 1200 x 3 / 2) x 4 = 55200 B, by 1.2 = 66240 B. The slow one has 2400 B in flight: the
/// window must be 66240 + 3600 = 69840 B.
#[test]
fn blest_takes_the_slow_path_only_if_the_window_holds_what_the_fast_one_could_send() {
    let paths = [full(10), PathState { in_flight: bytes(2400), ..path(40) }];
    let select = |window: u64, paths: &[PathState]| {
        Blest::new(1.2, Some(bytes(window))).select(Time::ZERO, FULL, paths)
    };
    assert_eq!(select(69_840, &paths), Some(1));
    assert_eq!(select(69_839, &paths), None);
    // the fast path has room, has nothing in flight, has failed, or is not the faster one
    assert_eq!(select(0, &[path(10), paths[1]]), Some(0));
    assert_eq!(select(0, &[PathState { in_flight: NOTHING, ..full(10) }, paths[1]]), Some(1));
    assert_eq!(select(0, &[PathState { usable: false, ..full(10) }, paths[1]]), Some(1));
    assert_eq!(select(0, &[full(41), paths[1]]), Some(1));
}

/// Without a window: 12000 B in each RTT are 9.6 and 2.4 Mbit/s, in 40 ms 48000 + 12000 B. That is less than
/// 66240 B, so it waits; with a scaling of 1, 55200 + 1200 + in flight fit up to 3600 B.
#[test]
fn blest_without_a_window_takes_what_all_paths_deliver_in_the_longest_rtt() {
    let paths = |in_flight: u64| [full(10), PathState { in_flight: bytes(in_flight), ..path(40) }];
    assert_eq!(Blest::new(1.2, None).select(Time::ZERO, FULL, &paths(0)), None);
    assert_eq!(Blest::new(1.0, None).select(Time::ZERO, FULL, &paths(3600)), Some(1));
    assert_eq!(Blest::new(1.0, None).select(Time::ZERO, FULL, &paths(3601)), None);
}

/// Fast: RTT 10 ms, slow: 50 ms, windows of 12000 B. Condition 1: (1 + k / 12000) x 10 < 50, so k < 48000.
/// Condition 2: max(k, 12000) / 12000 x 50 >= 20 holds always.
#[test]
fn ecf_waits_while_the_fast_path_ends_sooner() {
    let paths = [full(10), path(50)];
    assert_eq!(Ecf::new(0.25).select(Time::ZERO, bytes(47_999), &paths), None);
    assert_eq!(Ecf::new(0.25).select(Time::ZERO, bytes(48_000), &paths), Some(1));
    // a packet on the slow path takes 50 ms, two rounds of a fast one with 25 ms or more as long
    assert_eq!(Ecf::new(0.25).select(Time::ZERO, FULL, &[full(24), path(50)]), None);
    assert_eq!(Ecf::new(0.25).select(Time::ZERO, FULL, &[full(25), path(50)]), Some(1));
    assert_eq!(Ecf::new(0.25).select(Time::ZERO, NOTHING, &paths), Some(1));
    assert_eq!(Ecf::new(0.25).select(Time::ZERO, FULL, &[path(10), path(50)]), Some(0));
}

/// Having waited, (1 + k / 12000) x 10 < 1.25 x 50 = 62.5: k < 63000. Having not, 48000 again.
#[test]
fn ecf_keeps_a_decision_within_its_hysteresis() {
    let (scheduler, paths) = (Ecf::new(0.25), [full(10), path(50)]);
    let select = |backlog: u64| scheduler.select(Time::ZERO, bytes(backlog), &paths);
    assert_eq!(select(55_000), Some(1));
    assert_eq!(select(40_000), None);
    assert_eq!(select(62_999), None);
    assert_eq!(select(63_000), Some(1));
    assert_eq!(select(55_000), Some(1));
}

/// With a variation of 14 ms on either path: 10 (1 + k / 12000) < 64 for k < 64800, and 50 >= 34.
/// With one of 31 ms the second condition fails: 50 < 51.
#[test]
fn ecf_allows_for_the_variation_of_the_rtt() {
    let varying = |variation: u64| [full(10), PathState { rtt_variation: ms(variation), ..path(50) }];
    assert_eq!(Ecf::new(0.25).select(Time::ZERO, bytes(64_799), &varying(14)), None);
    assert_eq!(Ecf::new(0.25).select(Time::ZERO, bytes(64_800), &varying(14)), Some(1));
    assert_eq!(Ecf::new(0.25).select(Time::ZERO, FULL, &varying(31)), Some(1));
}
