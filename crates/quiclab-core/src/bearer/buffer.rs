//! State of the receiving end of a bearer: packets that wait for their turn, and numbers that were given up.
//! Both are rings indexed by COUNT, so a packet costs no search and no allocation.

use crate::counters::Count;
use crate::packet::Packet;
use crate::time::Time;

/// A packet that waits for its turn.
#[derive(Debug)]
pub(super) struct Waiting {
    /// Arrival time.
    pub(super) since: Time,
    pub(super) packet: Box<Packet>,
}

/// Packets by COUNT. The ring doubles until it spans the waiting packets and never shrinks; the
/// receiving window of half of the sequence space bounds it.
#[derive(Debug, Default)]
pub(super) struct ReceptionBuffer {
    /// The packet of COUNT c is at c modulo the length, which is 0 or a power of two.
    slots: Vec<Option<Waiting>>,
    held: Count,
    /// Maximum number of packets at one time.
    longest: u64,
}

impl ReceptionBuffer {
    /// Slots of the first allocation.
    const MIN_SLOTS: u64 = 64;

    /// Whether the packet of `count` waits; `first` is the smallest COUNT that may wait.
    pub(super) fn contains(&self, first: u64, count: u64) -> bool {
        count - first < self.slots.len() as u64 && self.slots[self.index(count)].is_some()
    }

    /// Stores the packet of `count`, which is at least `first` and is not stored yet.
    pub(super) fn insert(&mut self, first: u64, count: u64, waiting: Waiting) {
        let span = count - first + 1;
        if span > self.slots.len() as u64 {
            self.grow(first, span);
        }
        self.held.add(waiting.packet.size);
        self.longest = self.longest.max(self.held.packets);
        let index = self.index(count);
        debug_assert!(self.slots[index].is_none(), "a COUNT waits once");
        self.slots[index] = Some(waiting);
    }

    /// Removes the packet of `count`, the smallest COUNT that may wait.
    pub(super) fn take(&mut self, count: u64) -> Option<Waiting> {
        if self.held.packets == 0 {
            return None; // an empty buffer is the common case on a link in order
        }
        let index = self.index(count);
        let waiting = self.slots[index].take()?;
        self.held.remove(waiting.packet.size);
        Some(waiting)
    }

    /// Packets and bytes that wait.
    pub(super) const fn held(&self) -> Count {
        self.held
    }

    /// Maximum number of packets that waited at one time.
    pub(super) const fn longest(&self) -> u64 {
        self.longest
    }

    fn index(&self, count: u64) -> usize {
        count as usize & (self.slots.len() - 1)
    }

    #[cold]
    fn grow(&mut self, first: u64, span: u64) {
        let longer = span.next_power_of_two().max(Self::MIN_SLOTS) as usize;
        let mut slots: Vec<Option<Waiting>> = Vec::new();
        slots.resize_with(longer, || None);
        for count in first..first + self.slots.len() as u64 {
            let old = self.index(count);
            slots[count as usize & (longer - 1)] = self.slots[old].take();
        }
        self.slots = slots;
    }
}

/// Numbers of the last half of the sequence space that were skipped and have not arrived since. They
/// distinguish late packets from copies in the statistics; both are dropped.
#[derive(Debug)]
pub(super) struct SkippedCounts {
    /// The bit of COUNT c is number c modulo the number of bits, a power of two.
    bits: Vec<u64>,
}

impl SkippedCounts {
    /// Creates a record of `window` numbers, a power of two and at least 64.
    pub(super) fn new(window: u64) -> Self {
        Self { bits: vec![0; (window / 64) as usize] }
    }

    /// Records whether `count` was given up; returns the former record in its slot.
    pub(super) fn replace(&mut self, count: u64, given_up: bool) -> bool {
        let index = (count / 64) as usize & (self.bits.len() - 1);
        let word = &mut self.bits[index];
        let bit = 1 << (count % 64);
        let before = *word & bit != 0;
        *word = if given_up { *word | bit } else { *word & !bit };
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::ByteCount;

    fn waiting(id: u64) -> Waiting {
        Waiting {
            since: Time::ZERO,
            packet: Box::new(Packet { id, size: ByteCount::from_bytes(id), ..Packet::default() }),
        }
    }

    #[test]
    fn keeps_everything_while_it_grows_in_the_middle_of_the_ring() {
        let mut buffer = ReceptionBuffer::default();
        // 64 slots at first; COUNT 100 .. 163 lie across their end
        for count in 101..164 {
            buffer.insert(100, count, waiting(count));
        }
        assert_eq!(buffer.slots.len(), 64);
        buffer.insert(100, 300, waiting(300));
        assert_eq!(buffer.slots.len(), 256);
        assert!(!buffer.contains(100, 100) && buffer.contains(100, 300) && !buffer.contains(100, 356));
        for count in 100..=301 {
            let expected = ((101..164).contains(&count) || count == 300).then_some(count);
            assert_eq!(buffer.take(count).map(|waiting| waiting.packet.id), expected);
        }
        assert_eq!(buffer.held(), Count::default());
        assert_eq!(buffer.longest(), 64);
    }

    #[test]
    fn given_up_numbers_are_forgotten_after_a_window() {
        let mut given_up = SkippedCounts::new(2048);
        assert!(!given_up.replace(5, true));
        assert!(!given_up.replace(6, false));
        assert!(given_up.replace(5 + 2048, false));
        assert!(!given_up.replace(5, false));
    }
}
