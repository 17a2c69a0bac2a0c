//! What happened to each item, in order: for studies of what goes on inside a queue.

use super::QueueIndex;
use crate::element::DropReason;
use crate::time::{Duration, Time};

/// How an item left its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Served.
    Served,
    /// Served with a mark that it got here.
    Marked,
    /// Dropped.
    Dropped(DropReason),
}

/// An item has left its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueRecord {
    /// When.
    pub time: Time,
    /// Which queue.
    pub queue: QueueIndex,
    /// How long it had waited.
    pub sojourn: Duration,
    /// How.
    pub outcome: Outcome,
}

/// A bounded list of records.
#[derive(Debug)]
pub(super) struct Records {
    most: usize,
    kept: Vec<QueueRecord>,
    /// Later ones, which did not fit.
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
