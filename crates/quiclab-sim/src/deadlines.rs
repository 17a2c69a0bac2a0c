//! Deadlines of all elements: a winner tree with one leaf per element (docs/decisions/0123-winner-tree.md).
//!
//! Re-arming replaces the leaf and compares it with its sibling at each level, so there are never stale timers to skip.
//! Order is by (time, sequence number of scheduling): equal times fire in the order in which they were armed.

use quiclab_core::Time;

/// A deadline of an element.
#[derive(Clone, Copy)]
struct Entry {
    /// Time in the upper half, sequence number in the lower one.
    key: u128,
    element: u32,
}

/// Key without a deadline: after all others, as sequence numbers never reach their maximum.
const NEVER: u128 = u128::MAX;

/// See the module documentation.
pub(crate) struct Deadlines {
    /// The earlier deadline of the two nodes below each node: those of node n are 2n and 2n + 1, the root is 1. Leaves
    /// are in the second half.
    nodes: Vec<Entry>,
}

impl Deadlines {
    pub(crate) fn new(elements: usize) -> Self {
        let leaves = elements.next_power_of_two();
        Self { nodes: vec![Entry { key: NEVER, element: 0 }; 2 * leaves] }
    }

    /// Maximum number of elements.
    pub(crate) fn capacity(&self) -> usize {
        self.nodes.len() / 2
    }

    /// Doubles the maximum number of elements.
    pub(crate) fn double(&mut self) {
        let leaves = self.capacity();
        let mut larger = Self::new(2 * leaves);
        for entry in self.nodes.split_off(leaves).into_iter().filter(|entry| entry.key != NEVER) {
            larger.replace(2 * leaves + entry.element as usize, entry);
        }
        *self = larger;
    }

    /// The earliest deadline: its (time, sequence) and element.
    #[inline]
    pub(crate) fn first(&self) -> Option<((Time, u64), usize)> {
        let Entry { key, element } = self.nodes[1];
        (key != NEVER).then(|| ((time_of(key), key as u64), element as usize))
    }

    /// Sets the deadline of `element`. An unchanged time keeps its place among equal times, unless the
    /// deadline has just `fired`; `sequence` is used (and `true` returned) only if it gets a new place.
    #[inline]
    pub(crate) fn set(&mut self, element: usize, time: Option<Time>, sequence: u64, fired: bool) -> bool {
        let leaf = self.nodes.len() / 2 + element;
        let before = self.nodes[leaf].key;
        let key = time.map_or(NEVER, |time| u128::from(time.as_nanos()) << 64 | u128::from(sequence));
        let unchanged = match time {
            None => before == NEVER,
            Some(time) => before != NEVER && time_of(before) == time && !fired,
        };
        if unchanged {
            return false;
        }
        self.replace(leaf, Entry { key, element: element as u32 });
        time.is_some()
    }

    /// Replaces a leaf, and the winners above it.
    fn replace(&mut self, leaf: usize, entry: Entry) {
        let nodes = self.nodes.as_mut_slice();
        let (mut node, mut first) = (leaf, entry);
        nodes[node] = entry;
        while node > 1 {
            let sibling = nodes[node ^ 1];
            first = if sibling.key < first.key { sibling } else { first };
            node /= 2;
            if nodes[node].key == first.key {
                return; // another element was first here, and still is
            }
            nodes[node] = first;
        }
    }
}

fn time_of(key: u128) -> Time {
    Time::from_nanos((key >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Agrees with a sorted map: the first deadline is always the same.
        #[test]
        fn agrees_with_a_sorted_map(
            operations in prop::collection::vec((0usize..20, prop::option::of(0u64..10), any::<bool>()), 1..300)
        ) {
            let mut deadlines = Deadlines::new(20);
            let mut reference: BTreeMap<usize, (Time, u64)> = BTreeMap::new();
            for (sequence, (element, time, fired)) in operations.into_iter().enumerate() {
                let sequence = sequence as u64;
                let time = time.map(Time::from_nanos);
                deadlines.set(element, time, sequence, fired);
                match time {
                    None => { reference.remove(&element); }
                    Some(time) if !fired && reference.get(&element).is_some_and(|known| known.0 == time) => {}
                    Some(time) => { reference.insert(element, (time, sequence)); }
                }
                let least = reference.iter().map(|(element, key)| (*key, *element)).min();
                prop_assert_eq!(deadlines.first(), least);
            }
        }
    }
}
