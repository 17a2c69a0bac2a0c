//! Set of numbers as disjoint ranges: packet numbers that arrived, bytes of a stream.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::ops::Range;

/// Set of disjoint, non-adjacent ranges, ascending. Sets usually have few ranges: operations at either end
/// take constant time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RangeSet {
    ranges: VecDeque<Range<u64>>,
}

impl RangeSet {
    /// Adds a range; returns the count of new numbers.
    pub(crate) fn insert(&mut self, range: Range<u64>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        match self.ranges.back_mut() {
            Some(last) if range.start > last.end => {}
            // it starts in the last range or touches it
            Some(last) if range.start >= last.start => {
                let new = range.end.saturating_sub(last.end);
                last.end += new;
                return new;
            }
            Some(_) => return self.merge(range),
            None => {}
        }
        let new = range.end - range.start;
        self.ranges.push_back(range);
        new
    }

    /// Adds a range that starts before the last one.
    fn merge(&mut self, range: Range<u64>) -> u64 {
        let first = self.ranges.partition_point(|known| known.end < range.start);
        let (mut merged, mut known, mut last) = (range.clone(), 0, first);
        while let Some(next) = self.ranges.get(last).filter(|next| next.start <= range.end) {
            merged = merged.start.min(next.start)..merged.end.max(next.end);
            known += next.end - next.start;
            last += 1;
        }
        let new = merged.end - merged.start - known;
        if last == first {
            self.ranges.insert(first, merged);
        } else {
            self.ranges[first] = merged;
            self.ranges.drain(first + 1..last);
        }
        new
    }

    /// Removes a range; returns the count of numbers that were in the set.
    pub(crate) fn remove(&mut self, range: Range<u64>) -> u64 {
        let mut at = self.ranges.partition_point(|known| known.end <= range.start);
        let mut removed = 0;
        let mut covered = 0;
        while let Some(known) = self.ranges.get_mut(at + covered).filter(|known| known.start < range.end) {
            let cut = known.start.max(range.start)..known.end.min(range.end);
            if cut.is_empty() {
                break; // the range is empty
            }
            removed += cut.end - cut.start;
            match (cut.start == known.start, cut.end == known.end) {
                (true, true) => covered += 1,
                (true, false) => known.start = cut.end,
                (false, true) => {
                    known.end = cut.start;
                    at += 1;
                }
                (false, false) => {
                    let rest = cut.end..known.end;
                    known.end = cut.start;
                    self.ranges.insert(at + 1, rest);
                    break;
                }
            }
        }
        self.ranges.drain(at..at + covered);
        removed
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        let at = self.ranges.partition_point(|known| known.end <= number);
        self.ranges.get(at).is_some_and(|known| known.start <= number)
    }

    /// Parts of `range` that are not in the set, ascending.
    pub(crate) fn gaps(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let first = self.ranges.partition_point(|known| known.end <= range.start);
        let mut known = self.ranges.range(first..).take_while(move |known| known.start < range.end);
        let mut next = range.start;
        std::iter::from_fn(move || {
            while next < range.end {
                let covered = known.next().map_or(range.end..range.end, Range::clone);
                let gap = next..covered.start.max(next);
                next = covered.end;
                if !gap.is_empty() {
                    return Some(gap);
                }
            }
            None
        })
    }

    /// Ranges, ascending.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = Range<u64>> + '_ {
        self.ranges.iter().cloned()
    }
    /// Lowest range.
    pub(crate) fn first(&self) -> Option<Range<u64>> {
        self.ranges.front().cloned()
    }
    /// Removes and returns the lowest range.
    pub(crate) fn pop_first(&mut self) -> Option<Range<u64>> {
        self.ranges.pop_front()
    }
    /// Number of ranges.
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
    /// Removes all ranges.
    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
    }
}
