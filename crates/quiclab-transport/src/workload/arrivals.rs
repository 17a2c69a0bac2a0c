//! Record of received numbers: losses, reordering, duplicates.

/// Number of numbers below the largest within which a duplicate is recognised; an older one counts as new.
const WINDOW: u64 = 4096;
const WORDS: usize = (WINDOW / 64) as usize;

/// Numbers that have arrived, in 512 bytes.
pub(crate) struct Arrivals {
    /// Bit `number % WINDOW` of the numbers within the window below `next`.
    seen: [u64; WORDS],
    /// Largest number received plus one; 0: none.
    next: u64,
    /// Count of distinct numbers received.
    pub(crate) distinct: u64,
    /// Count of arrivals with a number below an earlier one.
    pub(crate) reordered: u64,
    /// Count of arrivals of a number received before.
    pub(crate) duplicates: u64,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self { seen: [0; WORDS], next: 0, distinct: 0, reordered: 0, duplicates: 0 }
    }
}

impl Arrivals {
    /// Adds `number`; returns whether it is new.
    pub(crate) fn add(&mut self, number: u64) -> bool {
        if number >= self.next {
            if number - self.next >= WINDOW {
                self.seen = [0; WORDS];
            } else {
                (self.next..number).for_each(|skipped| self.set(skipped, false));
            }
            self.set(number, true);
            self.next = number + 1;
            self.distinct += 1;
            return true;
        }
        if self.next - number <= WINDOW {
            if self.seen[word(number)] & bit(number) != 0 {
                self.duplicates += 1;
                return false;
            }
            self.set(number, true);
        }
        self.reordered += 1;
        self.distinct += 1;
        true
    }

    /// Count of missing numbers of the first `sent`, or of those up to the largest received.
    pub(crate) fn lost(&self, sent: Option<u64>) -> u64 {
        sent.unwrap_or(self.next).saturating_sub(self.distinct)
    }

    fn set(&mut self, number: u64, value: bool) {
        if value {
            self.seen[word(number)] |= bit(number);
        } else {
            self.seen[word(number)] &= !bit(number);
        }
    }
}

fn word(number: u64) -> usize {
    (number % WINDOW / 64) as usize
}

fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn gaps_are_losses_until_they_are_filled() {
        let mut arrivals = Arrivals::default();
        for (number, new) in [(0, true), (3, true), (1, true), (1, false), (3, false)] {
            assert_eq!(arrivals.add(number), new, "{number}");
        }
        assert_eq!((arrivals.lost(None), arrivals.lost(Some(10))), (1, 7), "2; 2 and 4 to 9");
        assert_eq!((arrivals.distinct, arrivals.reordered, arrivals.duplicates), (3, 1, 2));
    }

    proptest! {
        /// Comparison with a set, with jumps across the window's edge and numbers within it.
        #[test]
        fn agrees_with_a_set(steps in prop::collection::vec((0u64..5000, any::<bool>()), 1..200)) {
            let (mut arrivals, mut set, mut largest) = (Arrivals::default(), BTreeSet::new(), 0u64);
            for (step, back) in steps {
                let number = if back { largest.saturating_sub(step % WINDOW) } else { largest + step % 100 * step % 5000 };
                prop_assert_eq!(arrivals.add(number), set.insert(number));
                largest = largest.max(number);
                prop_assert_eq!(arrivals.distinct, set.len() as u64);
                prop_assert_eq!(arrivals.lost(None), largest + 1 - set.len() as u64);
            }
        }
    }
}
