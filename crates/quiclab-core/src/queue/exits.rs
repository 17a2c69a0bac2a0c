//! Departures of items from a discipline: each is counted and, on request, recorded.

use super::record::Records;
use super::waiting::{Marked, Waiting};
use super::{Outcome, QueueIndex, QueueRecord, QueueStatistics};
use crate::element::DropReason;
use crate::time::Time;

/// Statistics and records of the items of a discipline.
#[derive(Debug, Default)]
pub(super) struct QueueCounters {
    pub(super) totals: QueueStatistics,
    /// `None` if not recorded.
    pub(super) records: Option<Box<Records>>,
}

/// Exits of a discipline during one call at the time `now`.
#[derive(Debug)]
pub(super) struct Exits<'a, D> {
    pub(super) now: Time,
    pub(super) account: &'a mut QueueCounters,
    /// Receives items that are dropped.
    pub(super) dropped: &'a mut D,
}

impl<D> Exits<'_, D> {
    /// Records the departure of an item of `queue` that has waited since `arrived`.
    #[inline]
    pub(super) fn left(&mut self, queue: QueueIndex, arrived: Time, outcome: Outcome) {
        let sojourn = self.now.since(arrived);
        self.account.totals.note(sojourn, outcome);
        if let Some(records) = &mut self.account.records {
            records.push(QueueRecord { time: self.now, queue, sojourn, outcome });
        }
    }

    /// Serves an item of `queue`.
    #[inline]
    pub(super) fn serve<T>(&mut self, queue: QueueIndex, item: Waiting<T>) -> T {
        self.left(queue, item.arrived, Outcome::Served);
        item.item
    }

    /// Serves an item of `queue` that may have been marked on arrival.
    #[inline]
    pub(super) fn serve_marked<T>(&mut self, queue: QueueIndex, head: Waiting<Marked<T>>) -> T {
        let Waiting { item: Marked { item, marked }, arrived } = head;
        self.left(queue, arrived, if marked { Outcome::Marked } else { Outcome::Served });
        item
    }

    /// Drops an item of `queue`.
    #[inline]
    pub(super) fn drop<T>(&mut self, queue: QueueIndex, item: Waiting<T>, reason: DropReason)
    where
        D: FnMut(T, DropReason),
    {
        self.left(queue, item.arrived, Outcome::Dropped(reason));
        (self.dropped)(item.item, reason);
    }

    /// Drops an item for `queue` on arrival.
    #[inline]
    pub(super) fn refuse<T>(&mut self, queue: QueueIndex, item: T, reason: DropReason)
    where
        D: FnMut(T, DropReason),
    {
        self.drop(queue, Waiting { item, arrived: self.now }, reason);
    }
}
