//! The deadlines of all elements: an indexed 4-ary heap with one entry an element at most.
//!
//! Re-arming moves the entry in place, so there are never stale timers to skip. Order is by
//! (time, sequence number of scheduling): equal times fire in the order in which they were armed.

use quiclab_core::Time;

/// Position of an element without a deadline.
const ABSENT: u32 = u32::MAX;
const ARITY: usize = 4;

#[derive(Clone, Copy)]
struct Entry {
    key: (Time, u64),
    element: u32,
}

/// See the module documentation.
#[derive(Default)]
pub(crate) struct Deadlines {
    heap: Vec<Entry>,
    /// Index into `heap` by element.
    position: Vec<u32>,
}

impl Deadlines {
    pub(crate) fn new(elements: usize) -> Self {
        Self { heap: Vec::with_capacity(elements), position: vec![ABSENT; elements] }
    }

    /// The earliest deadline: its (time, sequence) and element.
    pub(crate) fn first(&self) -> Option<((Time, u64), usize)> {
        self.heap.first().map(|entry| (entry.key, entry.element as usize))
    }

    /// Sets the deadline of `element`. An unchanged time keeps its place among equal times, unless the
    /// deadline has just `fired`; `sequence` is used (and `true` returned) only if it gets a new place.
    #[inline]
    pub(crate) fn set(&mut self, element: usize, time: Option<Time>, sequence: u64, fired: bool) -> bool {
        let position = self.position[element];
        match (time, position) {
            (None, ABSENT) => false,
            (None, at) => {
                self.remove(at as usize);
                false
            }
            (Some(time), ABSENT) => {
                self.heap.push(Entry { key: (time, sequence), element: element as u32 });
                let last = self.heap.len() - 1;
                self.position[element] = last as u32;
                self.up(last);
                true
            }
            (Some(time), at) => {
                let at = at as usize;
                let before = self.heap[at].key;
                if before.0 == time && !fired {
                    return false;
                }
                self.heap[at].key = (time, sequence);
                if (time, sequence) < before {
                    self.up(at)
                } else {
                    self.down(at)
                }
                true
            }
        }
    }

    fn remove(&mut self, at: usize) {
        let removed = self.heap.swap_remove(at);
        self.position[removed.element as usize] = ABSENT;
        if at < self.heap.len() {
            self.position[self.heap[at].element as usize] = at as u32;
            self.up(at);
            self.down(at);
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.position[self.heap[a].element as usize] = a as u32;
        self.position[self.heap[b].element as usize] = b as u32;
    }

    fn up(&mut self, mut at: usize) {
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.heap[parent].key <= self.heap[at].key {
                break;
            }
            self.swap(parent, at);
            at = parent;
        }
    }

    fn down(&mut self, mut at: usize) {
        loop {
            let children = at * ARITY + 1..(at * ARITY + 1 + ARITY).min(self.heap.len());
            let Some(least) = children.min_by_key(|&child| self.heap[child].key) else { break };
            if self.heap[at].key <= self.heap[least].key {
                break;
            }
            self.swap(at, least);
            at = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Against a sorted map: the first deadline is always the same.
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
