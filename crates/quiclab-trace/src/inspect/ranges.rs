//! Sets of numbers as ranges: acknowledged packet numbers, received bytes of a stream.

/// Ranges `[from, to)` in ascending order, disjoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Adds `[from, to)` and returns how many of its numbers are new.
    ///
    /// Above `max` ranges, the lowest gap is closed, so that numbers that arrive late in it count as not new.
    pub(crate) fn insert(&mut self, from: u64, to: u64, max: usize) -> u64 {
        if from >= to {
            return 0;
        }
        // the ranges that touch or overlap are those in first..last
        let first = self.0.partition_point(|range| range.1 < from);
        let last = first + self.0[first..].partition_point(|range| range.0 <= to);
        let mut fresh = to - from;
        if first == last {
            self.0.insert(first, (from, to));
        } else {
            for range in &self.0[first..last] {
                fresh -= range.1.min(to).saturating_sub(range.0.max(from));
            }
            self.0[first] = (self.0[first].0.min(from), self.0[last - 1].1.max(to));
            self.0.drain(first + 1..last);
        }
        if self.0.len() > max.max(1) {
            self.0[0].1 = self.0[1].1;
            self.0.remove(1);
        }
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn ranges_join() {
        let mut ranges = Ranges::default();
        assert_eq!(ranges.insert(10, 20, 8), 10);
        assert_eq!(ranges.insert(30, 40, 8), 10);
        assert_eq!(ranges.insert(15, 35, 8), 10);
        assert_eq!(ranges.insert(40, 41, 8), 1);
        assert_eq!(ranges.insert(5, 5, 8), 0);
        assert_eq!(ranges.0, [(10, 41)]);
        assert_eq!(ranges.insert(0, u64::MAX, 8), u64::MAX - 31);
    }

    proptest! {
        #[test]
        fn as_a_set_of_numbers(inserts in proptest::collection::vec((0..60_u64, 0..12_u64), 1..40)) {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for (from, length) in inserts {
                let fresh = (from..from + length).filter(|&number| set.insert(number)).count();
                prop_assert_eq!(ranges.insert(from, from + length, 64), fresh as u64);
            }
            let apart = ranges.0.windows(2).all(|pair| pair[0].1 < pair[1].0);
            prop_assert!(apart, "{:?}", ranges);
        }
    }
}
