//! Choice of the stream that sends next.
//!
//! | Kind | Order |
//! | --- | --- |
//! | `fifo` | the stream that is the oldest at this end, until it has no data to send |
//! | `round_robin` | each in turn, a frame at a time; one with new data joins at the end |
//! | `priority` | RFC 9218 section 10: by urgency; then streams that are not incremental, the oldest first; then incremental ones in turn |
//! | `priority_in_batches` | by urgency; then each in turn, `incremental` or not, a batch of 16 000 B at a time: quiche if `quic_priority_respect_incremental` and `quic_disable_batch_write` are off (`kBatchWriteSize`, quic_write_blocked_list.h) |
//!
//! RFC 9218 does not specify the order of incremental and other streams of the same urgency; the others are
//! first, as in quiche (`StreamPriorityKey`).
//!
//! Lost data do not change the order: within a stream they precede new ones, but a stream waits for its turn
//! with them as with new ones (as in quinn-proto 0.11).

use super::Handle;
use crate::options::StreamScheduler;
use crate::workload::Priority;
use std::collections::BTreeSet;

/// Place in the order: the smaller one sends first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SchedulingKey {
    level: u8,
    /// Age of the stream, or its turn.
    order: u64,
    handle: Handle,
}

/// Streams with data to send, in their order.
#[derive(Clone, Debug)]
pub(super) struct Scheduler {
    kind: StreamScheduler,
    waiting: BTreeSet<SchedulingKey>,
    /// Number of turns assigned.
    turns: u64,
    /// Stream of the current batch, and the rest of the batch in bytes.
    batch: Option<(Handle, u64)>,
}

/// Bytes of one stream before the turn of the next.
const BATCH: u64 = 16_000;

impl Scheduler {
    pub(super) fn new(kind: StreamScheduler) -> Self {
        Self { kind, waiting: BTreeSet::new(), turns: 0, batch: None }
    }

    /// Adds a stream with data to send; `age`: the smaller, the older.
    pub(super) fn add(&mut self, handle: Handle, age: u64, priority: Priority) -> SchedulingKey {
        let (level, in_turn) = match self.kind {
            StreamScheduler::Fifo => (0, false),
            StreamScheduler::RoundRobin => (0, true),
            StreamScheduler::Priority => {
                let level = priority.urgency.min(7) * 2 + u8::from(priority.incremental);
                (level, priority.incremental)
            }
            StreamScheduler::PriorityInBatches => (priority.urgency.min(7) * 2, true),
        };
        let place = SchedulingKey { level, order: if in_turn { self.take_turn() } else { age }, handle };
        self.waiting.insert(place);
        place
    }

    /// Removes a stream without data to send.
    pub(super) fn remove(&mut self, place: SchedulingKey) {
        self.waiting.remove(&place);
    }

    /// Returns the new place of a stream that has sent a frame of `length` bytes and has more.
    pub(super) fn requeue(&mut self, place: SchedulingKey, length: u64) -> SchedulingKey {
        let in_turn = match self.kind {
            StreamScheduler::Fifo => false,
            StreamScheduler::RoundRobin => true,
            StreamScheduler::Priority => place.level % 2 == 1,
            StreamScheduler::PriorityInBatches => self.ends_batch(place.handle, length),
        };
        // the last of its level keeps its place; one stream alone costs nothing
        let is_last = || {
            let mut after =
                self.waiting.range((std::ops::Bound::Excluded(place), std::ops::Bound::Unbounded));
            after.next().is_none_or(|next| next.level != place.level)
        };
        if !in_turn || is_last() {
            return place;
        }
        self.waiting.remove(&place);
        let place = SchedulingKey { order: self.take_turn(), ..place };
        self.waiting.insert(place);
        place
    }

    /// Whether a frame of `length` bytes ends the batch of its stream.
    fn ends_batch(&mut self, handle: Handle, length: u64) -> bool {
        let left = match self.batch {
            Some((same, left)) if same == handle => left,
            _ => BATCH,
        };
        let left = left.saturating_sub(length);
        self.batch = (left > 0).then_some((handle, left));
        left == 0
    }

    /// Stream that sends next.
    pub(super) fn first(&self) -> Option<Handle> {
        self.waiting.first().map(|place| place.handle)
    }

    /// All streams with data to send, in their order.
    pub(super) fn handles(&self) -> impl Iterator<Item = Handle> {
        self.waiting.iter().map(|place| place.handle)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn take_turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Order in which streams of these priorities (urgency, incremental), the oldest last, send three frames
    /// each.
    fn order(kind: StreamScheduler, priorities: &[(u8, bool)]) -> Vec<u32> {
        let mut scheduler = Scheduler::new(kind);
        let mut places = Vec::new();
        for (index, (urgency, incremental)) in priorities.iter().enumerate() {
            let priority = Priority { urgency: *urgency, incremental: *incremental };
            places.push(scheduler.add(Handle(index as u32), 100 - index as u64, priority));
        }
        let mut left = vec![3; priorities.len()];
        let mut order = Vec::new();
        while let Some(handle) = scheduler.first() {
            let index = handle.0 as usize;
            order.push(handle.0);
            left[index] -= 1;
            if left[index] == 0 {
                scheduler.remove(places[index]);
            } else {
                places[index] = scheduler.requeue(places[index], 8000);
            }
        }
        order
    }

    #[test]
    fn the_oldest_sends_all_it_has() {
        assert_eq!(order(StreamScheduler::Fifo, &[(0, true), (3, false)]), [1, 1, 1, 0, 0, 0]);
    }

    #[test]
    fn each_sends_in_turn() {
        assert_eq!(
            order(StreamScheduler::RoundRobin, &[(0, true), (3, false), (1, true)]),
            [0, 1, 2, 0, 1, 2, 0, 1, 2]
        );
    }

    /// 4 is the most urgent; of urgency 3, 2 and 0 are not incremental and 2 is older; 1 and 3 take turns.
    #[test]
    fn priorities_decide() {
        let priorities = [(3, false), (3, true), (3, false), (3, true), (0, true), (9, false)];
        let expected = [4, 4, 4, 2, 2, 2, 0, 0, 0, 1, 3, 1, 3, 1, 3, 5, 5, 5];
        assert_eq!(order(StreamScheduler::Priority, &priorities), expected);
    }

    /// Frames of 8000 B: two make a batch; each stream has three.
    #[test]
    fn each_sends_a_batch_in_turn() {
        let priorities = [(3, true), (3, false), (0, true)];
        let expected = [2, 2, 2, 0, 0, 1, 1, 0, 1];
        assert_eq!(order(StreamScheduler::PriorityInBatches, &priorities), expected);
    }

    #[test]
    fn a_stream_that_comes_back_waits_for_the_others() {
        let mut scheduler = Scheduler::new(StreamScheduler::RoundRobin);
        let first = scheduler.add(Handle(0), 0, Priority::default());
        scheduler.add(Handle(1), 1, Priority::default());
        scheduler.remove(first);
        scheduler.add(Handle(0), 0, Priority::default());
        assert_eq!(scheduler.first(), Some(Handle(1)));
    }
}
