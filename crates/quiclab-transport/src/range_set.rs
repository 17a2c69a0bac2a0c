//! A set of numbers as disjoint ranges: packet numbers that arrived, bytes of a stream.

use std::ops::Range;

/// Disjoint, non-adjacent ranges, ascending. Sets with a few ranges are the normal case: insertion at the
/// upper end takes constant time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RangeSet {
    ranges: std::collections::VecDeque<Range<u64>>,
}

impl RangeSet {
    /// Adds a range; returns how many numbers of it are new.
    pub(crate) fn insert(&mut self, _range: Range<u64>) -> u64 {
        todo!()
    }
    /// Removes a range; returns how many numbers of it were there.
    pub(crate) fn remove(&mut self, _range: Range<u64>) -> u64 {
        todo!()
    }
    pub(crate) fn contains(&self, _number: u64) -> bool {
        todo!()
    }
    /// The ranges, ascending.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = Range<u64>> + '_ {
        self.ranges.iter().cloned()
    }
    /// The lowest range.
    pub(crate) fn first(&self) -> Option<Range<u64>> {
        self.ranges.front().cloned()
    }
    /// Number of ranges.
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}
