//! Records of the departures of items, in order: for studies of the behaviour inside a queue.

use super::QueueIndex;
use crate::element::DropReason;
use crate::time::{Duration, Time};

/// Outcome of an item in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Served.
    Served,
    /// Served with a mark set by this queue.
    Marked,
    /// Dropped.
    Dropped(DropReason),
}

/// Departure of an item from its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueRecord {
    /// Time of the departure.
    pub time: Time,
    /// Queue of the item.
    pub queue: QueueIndex,
    /// Waiting time.
    pub sojourn: Duration,
    /// Outcome.
    pub outcome: Outcome,
}

/// A bounded list of records.
#[derive(Debug)]
pub(super) struct Records {
    most: usize,
    kept: Vec<QueueRecord>,
    /// Number of later ones, which did not fit.
    lost: u64,
}

impl Records {
    pub(super) fn new(most: usize) -> Self {
        Self { most, kept: Vec::new(), lost: 0 }
    }

    pub(super) fn push(&mut self, record: QueueRecord) {
        if self.kept.len() < self.most {
            self.kept.push(record);
        } else {
            self.lost += 1;
        }
    }

    pub(super) fn take(&mut self) -> (Vec<QueueRecord>, u64) {
        (std::mem::take(&mut self.kept), std::mem::take(&mut self.lost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::{add, at, drain, piece, queue};

    #[test]
    fn records_are_bounded_and_tell_how_packets_left() {
        let mut queue = queue("head_drop", "packets = 1");
        queue.record(2);
        add(&mut queue, at(0), [piece(0, 0, 1)]);
        add(&mut queue, at(7), [piece(0, 1, 1)]); // 0 is dropped after 7 us
        drain(&mut queue, at(10)); // 1 has waited for 3 us
        add(&mut queue, at(10), [piece(0, 2, 1)]);
        drain(&mut queue, at(10));
        let record = |time, sojourn, outcome| QueueRecord {
            time: at(time),
            queue: QueueIndex(0),
            sojourn: Duration::from_micros(sojourn),
            outcome,
        };
        let full = Outcome::Dropped(DropReason::QueueFull);
        assert_eq!(queue.take_records(), (vec![record(7, 7, full), record(10, 3, Outcome::Served)], 1));
        assert_eq!(queue.take_records(), (vec![], 0));
    }
}
