//! Cases by hand, and what holds for any paths.

use super::*;
use proptest::prelude::*;

fn path(srtt_ms: u64) -> PathState {
    let srtt = Duration::from_millis(srtt_ms);
    PathState { usable: true, has_room: true, srtt, window: 12_000, in_flight: 0 }
}

/// The paths of `count` packets, each of which leaves.
fn sequence(scheduler: &mut dyn PathScheduler, paths: &[PathState], count: usize) -> Vec<usize> {
    let mut next = || {
        let path = scheduler.select(Time::ZERO, paths)?;
        scheduler.on_sent(Time::ZERO, path, 1200);
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
    assert_eq!(LowestRtt::default().select(Time::ZERO, &paths), Some(2));
    paths[2].usable = false;
    assert_eq!(LowestRtt::default().select(Time::ZERO, &paths), Some(1));
}

#[test]
fn asking_without_sending_does_not_use_up_a_turn() {
    let mut scheduler = RoundRobin::default();
    let paths = [path(10), path(10)];
    scheduler.on_sent(Time::ZERO, 0, 1200);
    for _ in 0..3 {
        assert_eq!(scheduler.select(Time::ZERO, &paths), Some(1));
    }
}

fn any_path() -> impl Strategy<Value = PathState> {
    (any::<bool>(), any::<bool>(), 0_u64..200_000_000).prop_map(|(usable, has_room, srtt)| PathState {
        usable,
        has_room,
        srtt: Duration::from_nanos(srtt),
        window: 12_000,
        in_flight: 0,
    })
}

fn schedulers() -> [Box<dyn PathScheduler>; 2] {
    [Box::new(RoundRobin::default()), Box::new(LowestRtt::default())]
}

proptest! {
    /// An open path is taken if and only if there is one; lowest RTT takes none that is slower than 9/8 of the
    /// fastest open one.
    #[test]
    fn an_open_path_is_always_found(steps in prop::collection::vec(prop::collection::vec(any_path(), 0..=8), 1..50)) {
        for (kind, mut scheduler) in schedulers().into_iter().enumerate() {
            for paths in &steps {
                let selected = scheduler.select(Time::ZERO, paths);
                prop_assert_eq!(selected.is_some(), paths.iter().any(PathState::is_open));
                let Some(path) = selected else { continue };
                prop_assert!(paths[path].is_open());
                let fastest = paths.iter().filter(|path| path.is_open()).map(|path| path.srtt).min().unwrap();
                prop_assert!(kind == 0 || paths[path].srtt.as_nanos() * 8 <= fastest.as_nanos() * 9);
                scheduler.on_sent(Time::ZERO, path, 1200);
            }
        }
    }

    /// Paths that stay open and are equal share to within a packet, from wherever the turn was.
    #[test]
    fn equal_paths_share_equally(count in 1_usize..=8, start in 0_usize..8, rounds in 1_usize..40) {
        let paths = vec![path(20); count];
        for mut scheduler in schedulers() {
            scheduler.on_sent(Time::ZERO, start % count, 1200);
            let taken = sequence(&mut *scheduler, &paths, count * rounds);
            for path in 0..count {
                prop_assert_eq!(taken.iter().filter(|taken| **taken == path).count(), rounds);
            }
        }
    }
}
