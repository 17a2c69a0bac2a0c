//! Cases by hand, and invariants for any paths.

mod arrival;
mod waiting;

use super::*;
use crate::units::{DataRate, Probability};
use proptest::prelude::*;

const FULL: ByteCount = ByteCount::from_bytes(1200);
const NOTHING: ByteCount = ByteCount::ZERO;

fn bytes(bytes: u64) -> ByteCount {
    ByteCount::from_bytes(bytes)
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at(millis: u64) -> Time {
    Time::ZERO + ms(millis)
}

/// An open path with a window of ten packets, none of them in flight.
fn path(srtt_ms: u64) -> PathState {
    PathState {
        usable: true,
        has_room: true,
        srtt: ms(srtt_ms),
        min_rtt: ms(srtt_ms),
        window: bytes(12_000),
        largest: FULL,
        ..PathState::default()
    }
}

/// The same with a full window.
fn full(srtt_ms: u64) -> PathState {
    PathState { has_room: false, in_flight: bytes(12_000), ..path(srtt_ms) }
}

/// The paths of `count` packets, all of which are sent.
fn sequence(scheduler: &mut dyn PathScheduler, paths: &[PathState], count: usize) -> Vec<usize> {
    let mut next = || {
        let path = scheduler.select(Time::ZERO, FULL, paths)?;
        scheduler.on_sent(Time::ZERO, path, FULL);
        Some(path)
    };
    (0..count).map_while(|_| next()).collect()
}

#[test]
fn round_robin_takes_each_in_turn_whatever_its_rtt() {
    let paths = [path(10), path(300), path(50)];
    assert_eq!(sequence(&mut RoundRobin::default(), &paths, 7), [0, 1, 2, 0, 1, 2, 0]);
}

#[test]
fn a_path_without_room_is_passed_over_and_gets_nothing_later_for_it() {
    let (mut scheduler, mut paths) = (RoundRobin::default(), [path(10), path(10), path(10)]);
    paths[1].has_room = false;
    assert_eq!(sequence(&mut scheduler, &paths, 4), [0, 2, 0, 2]);
    paths[1].has_room = true;
    assert_eq!(sequence(&mut scheduler, &paths, 4), [0, 1, 2, 0]);
}

/// 11.25 ms are 9/8 of 10 ms.
#[test]
fn lowest_rtt_takes_the_fastest_and_equals_in_turn() {
    assert_eq!(sequence(&mut LowestRtt::default(), &[path(30), path(10)], 3), [1, 1, 1]);
    assert_eq!(sequence(&mut LowestRtt::default(), &[path(10), path(10)], 4), [0, 1, 0, 1]);
    assert_eq!(sequence(&mut LowestRtt::default(), &[path(11), path(30), path(10)], 4), [0, 2, 0, 2]);
    let mut paths = [path(10), path(10)];
    paths[1].srtt = Duration::from_micros(11_250);
    assert_eq!(sequence(&mut LowestRtt::default(), &paths, 4), [0, 1, 0, 1]);
    paths[1].srtt = Duration::from_micros(11_251);
    assert_eq!(sequence(&mut LowestRtt::default(), &paths, 4), [0, 0, 0, 0]);
}

#[test]
fn lowest_rtt_falls_back_to_the_next_fastest_with_room() {
    let mut paths = [path(10), path(30), path(20)];
    paths[0].has_room = false;
    assert_eq!(LowestRtt::default().select(Time::ZERO, FULL, &paths), Some(2));
    paths[2].usable = false;
    assert_eq!(LowestRtt::default().select(Time::ZERO, FULL, &paths), Some(1));
}

#[test]
fn asking_without_sending_does_not_use_up_a_turn() {
    let mut scheduler = RoundRobin::default();
    let paths = [path(10), path(10)];
    scheduler.on_sent(Time::ZERO, 0, FULL);
    for _ in 0..3 {
        assert_eq!(scheduler.select(Time::ZERO, FULL, &paths), Some(1));
    }
}

#[test]
fn strict_round_robin_waits_for_a_full_path_but_not_for_a_dead_one() {
    let (mut scheduler, mut paths) = (StrictRoundRobin::default(), [path(10), full(10), path(10)]);
    assert_eq!(sequence(&mut scheduler, &paths, 4), [0]);
    paths[1] = path(10);
    assert_eq!(sequence(&mut scheduler, &paths, 4), [1, 2, 0, 1]);
    paths[2] = PathState { usable: false, ..full(10) };
    assert_eq!(sequence(&mut scheduler, &paths, 3), [0, 1, 0]);
    // without packets in flight nothing would end the wait
    paths[1] = PathState { in_flight: NOTHING, ..full(10) };
    assert_eq!(sequence(&mut scheduler, &paths, 2), [0, 0]);
}

/// Tags by packets: 0 has 1/3, 2/3, 1 after its packets, 1 has 1, 2; the lower start tag is next, the first of
/// equals: starts 0 0 | 1/3 0 | 1/3 1 | 2/3 1 | 1 1 | 4/3 1.
#[test]
fn weights_give_shares_of_bytes() {
    let paths = [path(10), path(10)];
    let mut scheduler = WeightedRoundRobin::new(&[3, 1]);
    assert_eq!(sequence(&mut scheduler, &paths, 8), [0, 1, 0, 0, 0, 1, 0, 0]);
    // packets half as long on path 1: two of them for each on path 0, with equal weights
    let mut scheduler = WeightedRoundRobin::new(&[1, 1]);
    let mut taken = [0; 2];
    for _ in 0..30 {
        let path = scheduler.select(Time::ZERO, FULL, &paths).unwrap();
        scheduler.on_sent(Time::ZERO, path, bytes(if path == 0 { 1200 } else { 600 }));
        taken[path] += 1;
    }
    assert_eq!(taken, [10, 20]);
}

#[test]
fn a_weighted_path_has_no_claim_to_what_it_missed() {
    let mut scheduler = WeightedRoundRobin::new(&[1, 1]);
    assert_eq!(sequence(&mut scheduler, &[full(10), path(10)], 5), [1, 1, 1, 1, 1]);
    // the start tag of the last packet is 4: path 0 starts there, path 1 at 5
    assert_eq!(sequence(&mut scheduler, &[path(10), path(10)], 4), [0, 0, 1, 0]);
}

#[test]
fn the_cheapest_path_is_filled_first() {
    let mut paths = [path(10), path(5), path(300)];
    let scheduler = CheapestFirst::new(&[2, 0]);
    assert_eq!(scheduler.select(Time::ZERO, FULL, &paths), Some(2));
    paths[2] = full(300);
    assert_eq!(scheduler.select(Time::ZERO, FULL, &paths), Some(0));
    paths[0] = full(10);
    assert_eq!(scheduler.select(Time::ZERO, FULL, &paths), Some(1));
    // without an order, and with one that contains paths that do not exist
    assert_eq!(CheapestFirst::default().select(Time::ZERO, FULL, &[full(1), path(2)]), Some(1));
    assert_eq!(CheapestFirst::new(&[7, 1]).select(Time::ZERO, FULL, &paths[..2]), Some(1));
}

#[test]
fn redundant_copies_to_all_and_names_the_fastest_with_room() {
    assert!(Redundant.copies());
    assert_eq!(Redundant.select(Time::ZERO, FULL, &[path(30), path(20), full(10)]), Some(1));
}

/// Windows of 12000 B, all of the slow one in flight, 10000 allowed: half of it are 6000. It grows by 1200 in
/// each RTT of 100 ms, so a packet more fits at 50 ms with 5400 in flight (6600 <= 6000 + 600).
#[test]
fn a_path_that_blocks_is_used_half_as_much() {
    let scheduler = LowestRtt::penalising(bytes(10_000));
    let fast = |open: bool| if open { path(10) } else { full(10) };
    let slow = |in_flight: u64| PathState { in_flight: bytes(in_flight), ..path(100) };
    // no penalty while less is in flight, or no faster path is open
    assert_eq!(scheduler.select(at(0), FULL, &[fast(true), slow(10_000)]), Some(0));
    assert_eq!(scheduler.select(at(0), FULL, &[fast(false), slow(10_800)]), Some(1));
    assert_eq!(scheduler.select(at(0), NOTHING, &[fast(true), slow(10_800)]), Some(0));
    assert_eq!(scheduler.select(at(0), FULL, &[fast(false), slow(10_800)]), Some(1));
    // the penalty
    assert_eq!(scheduler.select(at(0), FULL, &[fast(true), slow(10_800)]), Some(0));
    assert_eq!(scheduler.select(at(0), FULL, &[fast(false), slow(5400)]), None);
    assert_eq!(scheduler.select(at(49), FULL, &[fast(false), slow(5400)]), None);
    assert_eq!(scheduler.select(at(50), FULL, &[fast(false), slow(5400)]), Some(1));
    // no second penalty within an RTT; after it, half of 6000 + 1200
    assert_eq!(scheduler.select(at(50), FULL, &[fast(true), slow(10_800)]), Some(0));
    assert_eq!(scheduler.select(at(50), FULL, &[fast(false), slow(5400)]), Some(1));
    assert_eq!(scheduler.select(at(100), FULL, &[fast(true), slow(10_800)]), Some(0));
    assert_eq!(scheduler.select(at(100), FULL, &[fast(false), slow(2400)]), Some(1));
    assert_eq!(scheduler.select(at(100), FULL, &[fast(false), slow(2401)]), None);
    // 3600 + 7 x 1200 is the window: at 800 ms the penalty has ended
    assert_eq!(scheduler.select(at(799), FULL, &[fast(false), slow(11_000)]), None);
    assert_eq!(scheduler.select(at(800), FULL, &[fast(false), slow(11_000)]), Some(1));
}

fn any_path() -> impl Strategy<Value = PathState> {
    let flags = (any::<bool>(), any::<bool>());
    let times = (0_u64..200_000_000, 0_u64..200_000_000, 0_u64..50_000_000);
    let sizes = (0_u64..200_000, 0_u64..200_000, prop::option::of(0_u64..100_000_000));
    (flags, times, sizes, 0.0..=1.0).prop_map(|((usable, has_room), (a, b, variation), sizes, loss)| {
        PathState {
            usable,
            has_room,
            srtt: Duration::from_nanos(a.max(b)),
            min_rtt: Duration::from_nanos(a.min(b)),
            rtt_variation: Duration::from_nanos(variation),
            window: bytes(sizes.0),
            in_flight: bytes(sizes.1),
            rate: sizes.2.map(DataRate::from_bits_per_second),
            loss: Probability::new(loss).unwrap(),
            largest: FULL,
        }
    })
}

/// One scheduler of each kind that uses an open path whenever there is one.
fn conserving() -> Vec<Box<dyn PathScheduler>> {
    vec![
        Box::new(LowestRtt::default()),
        Box::new(RoundRobin::default()),
        Box::new(WeightedRoundRobin::new(&[1, 1, 1, 1, 1, 1, 1, 1])),
        Box::new(CheapestFirst::new(&[3, 1])),
        Box::new(Redundant),
    ]
}

/// The same, and those that may wait.
fn all() -> Vec<Box<dyn PathScheduler>> {
    let mut all = conserving();
    all.push(Box::new(StrictRoundRobin::default()));
    all.push(Box::new(LowestRtt::penalising(bytes(50_000))));
    all.push(Box::new(Blest::new(1.2, None)));
    all.push(Box::new(Blest::new(1.2, Some(bytes(100_000)))));
    all.push(Box::new(Ecf::new(0.25)));
    all.push(Box::new(EarliestArrival::new(0.125, Duration::from_micros(2500))));
    all
}

proptest! {
    /// An open path is selected if and only if there is one; lowest RTT selects none that is slower than 9/8
    /// of the fastest open one.
    #[test]
    fn an_open_path_is_always_found(steps in prop::collection::vec(prop::collection::vec(any_path(), 0..=8), 1..50)) {
        for (kind, mut scheduler) in conserving().into_iter().enumerate() {
            for paths in &steps {
                let selected = scheduler.select(Time::ZERO, FULL, paths);
                prop_assert_eq!(selected.is_some(), paths.iter().any(PathState::is_open));
                let Some(path) = selected else { continue };
                prop_assert!(paths[path].is_open());
                let fastest = paths.iter().filter(|path| path.is_open()).map(|path| path.srtt).min().unwrap();
                prop_assert!(kind != 0 || paths[path].srtt.as_nanos() * 8 <= fastest.as_nanos() * 9);
                scheduler.on_sent(Time::ZERO, path, FULL);
            }
        }
    }

    /// Only open paths are selected, equal calls have equal results, and no scheduler waits unless packets in
    /// flight will end the wait: with idle paths one is selected immediately.
    #[test]
    fn no_wait_is_without_end(
        steps in prop::collection::vec((prop::collection::vec(any_path(), 0..=8), 0_u64..300, 0_u64..100_000), 1..50),
    ) {
        for mut scheduler in all() {
            let mut now = Time::ZERO;
            for (paths, step, backlog) in &steps {
                now += ms(*step);
                let backlog = bytes(*backlog);
                let selected = scheduler.select(now, backlog, paths);
                prop_assert_eq!(scheduler.select(now, backlog, paths), selected);
                let waited_for =
                    |path: &PathState| path.frees_room() || path.usable && path.in_flight > NOTHING;
                let open = paths.iter().any(PathState::is_open);
                prop_assert!(selected.is_some() || !open || paths.iter().any(waited_for));
                let idle: Vec<_> =
                    paths.iter().map(|path| PathState { in_flight: NOTHING, ..*path }).collect();
                prop_assert_eq!(scheduler.select(now, backlog, &idle).is_some(), open);
                let Some(path) = selected else { continue };
                prop_assert!(paths[path].is_open());
                scheduler.on_sent(now, path, FULL);
            }
        }
    }

    /// Equal paths that stay open share equally to within a packet, from any initial turn.
    #[test]
    fn equal_paths_share_equally(count in 1_usize..=8, start in 0_usize..8, rounds in 1_usize..40) {
        let paths = vec![path(20); count];
        let mut in_turn: Vec<Box<dyn PathScheduler>> = conserving();
        in_turn.truncate(2);
        in_turn.push(Box::new(StrictRoundRobin::default()));
        for mut scheduler in in_turn {
            scheduler.on_sent(Time::ZERO, start % count, FULL);
            let taken = sequence(&mut *scheduler, &paths, count * rounds);
            for path in 0..count {
                prop_assert_eq!(taken.iter().filter(|taken| **taken == path).count(), rounds);
            }
        }
    }
}
