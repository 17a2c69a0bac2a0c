//! Cases by hand, and comparison with a set of numbers.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn set(ranges: &[Range<u64>]) -> RangeSet {
    let mut set = RangeSet::default();
    ranges.iter().for_each(|range| assert_eq!(set.insert(range.clone()), range.end - range.start));
    set
}

fn ranges(set: &RangeSet) -> Vec<Range<u64>> {
    set.iter().collect()
}

#[test]
fn what_touches_is_one_range() {
    let mut set = set(&[0..5, 5..10, 20..30]);
    assert_eq!(ranges(&set), [0..10, 20..30]);
    assert_eq!((set.first(), set.len()), (Some(0..10), 2));
    assert_eq!(set.insert(10..20), 10);
    assert_eq!(ranges(&set), vec![0..30]);
}

/// 8 to 35 are 27 numbers; 8, 9 (of 0..10), 12 to 14, 20 to 29 were in the set: 15 of them.
#[test]
fn a_range_swallows_others() {
    let mut set = set(&[0..10, 12..15, 20..30, 50..60]);
    assert_eq!(set.insert(8..35), 12);
    assert_eq!(ranges(&set), [0..35, 50..60]);
    assert_eq!(set.insert(3..9), 0);
    assert_eq!(set.insert(55..58), 0);
    assert_eq!(set.insert(55..63), 3);
    assert_eq!(set.insert(7..7), 0);
}

#[test]
fn removal_cuts_and_splits() {
    let mut set = set(&[0..10, 12..15, 20..30]);
    assert_eq!(set.remove(3..5), 2);
    assert_eq!(ranges(&set), [0..3, 5..10, 12..15, 20..30]);
    assert_eq!(set.remove(8..22), 7);
    assert_eq!(ranges(&set), [0..3, 5..8, 22..30]);
    assert_eq!(set.remove(3..5) + set.remove(7..7) + set.remove(40..50), 0);
    assert_eq!(set.remove(0..100), 14);
    assert!(set.is_empty());
}

#[test]
fn gaps_are_what_is_missing() {
    let set = set(&[5..10, 12..15]);
    let gaps = |range| set.gaps(range).collect::<Vec<_>>();
    assert_eq!(gaps(0..20), [0..5, 10..12, 15..20]);
    assert_eq!(gaps(7..11), vec![10..11]);
    assert_eq!(gaps(12..15), []);
    assert_eq!(gaps(3..3), []);
    assert_eq!(gaps(16..18), vec![16..18]);
}

proptest! {
    #[test]
    fn it_is_a_set(steps in prop::collection::vec((0u8..4, 0u64..120, 0u64..25), 1..120)) {
        let mut set = RangeSet::default();
        let mut model = BTreeSet::new();
        for (kind, start, length) in steps {
            let range = start..start + length;
            let before = model.len();
            match kind {
                0 | 1 => {
                    model.extend(range.clone());
                    prop_assert_eq!(set.insert(range), (model.len() - before) as u64);
                }
                2 => {
                    model.retain(|number| !range.contains(number));
                    prop_assert_eq!(set.remove(range), (before - model.len()) as u64);
                }
                _ => {
                    let gaps: Vec<_> = set.gaps(range.clone()).collect();
                    prop_assert!(gaps.windows(2).all(|pair| pair[0].end < pair[1].start));
                    let missing: Vec<_> = gaps.into_iter().flatten().collect();
                    let expected: Vec<_> = range.filter(|number| !model.contains(number)).collect();
                    prop_assert_eq!(missing, expected);
                }
            }
            prop_assert!((0..150).all(|number| set.contains(number) == model.contains(&number)));
            let known = ranges(&set);
            prop_assert!(known.iter().all(|range| !range.is_empty()));
            prop_assert!(known.windows(2).all(|pair| pair[0].end < pair[1].start), "{:?}", known);
        }
    }
}
