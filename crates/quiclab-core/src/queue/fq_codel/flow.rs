//! One of the queues of FQ-CoDel (see [`super`]).

use super::super::codel::{CodelState, HeadSource};
use super::super::exits::Exits;
use super::super::waiting::{Waiting, WaitingItems};
use super::super::{Backlog, Item, Outcome, QueueIndex, QueueStatistics};
use crate::element::DropReason;
use crate::time::Time;
use crate::units::ByteCount;

/// A queue with its CoDel.
#[derive(Debug)]
pub(super) struct FlowQueue<T> {
    pub(super) line: WaitingItems<T>,
    pub(super) control: CodelState,
    pub(super) totals: QueueStatistics,
    /// Whether it has had an item.
    pub(super) used: bool,
}

impl<T> Default for FlowQueue<T> {
    fn default() -> Self {
        Self {
            line: WaitingItems::default(),
            control: CodelState::default(),
            totals: QueueStatistics::default(),
            used: false,
        }
    }
}

/// One queue as CoDel's source of heads.
pub(super) struct Heads<'a, 'b, T, D> {
    pub(super) index: QueueIndex,
    pub(super) line: &'a mut WaitingItems<T>,
    pub(super) totals: &'a mut QueueStatistics,
    /// Bytes in this queue.
    pub(super) bytes: &'a mut u64,
    /// Backlog of all queues.
    pub(super) waiting: &'a mut Backlog,
    pub(super) exits: &'a mut Exits<'b, D>,
}

impl<T: Item, D: FnMut(T, DropReason)> Heads<'_, '_, T, D> {
    /// Drops the item for this reason.
    pub(super) fn drop_for(&mut self, item: Waiting<T>, reason: DropReason) {
        self.totals.note(self.exits.now.since(item.arrived), Outcome::Dropped(reason));
        self.exits.drop(self.index, item, reason);
    }
}

impl<T: Item, D: FnMut(T, DropReason)> HeadSource<T> for Heads<'_, '_, T, D> {
    fn pop(&mut self) -> Option<Waiting<T>> {
        let head = self.line.pop()?;
        self.waiting.packets -= 1;
        self.waiting.bytes -= head.item.bytes();
        *self.bytes -= head.item.bytes().bytes();
        Some(head)
    }
    fn backlog(&self) -> ByteCount {
        self.waiting.bytes
    }
    fn drop(&mut self, item: Waiting<T>) {
        self.drop_for(item, DropReason::Codel);
    }
    fn left(&mut self, arrived: Time, outcome: Outcome) {
        self.totals.note(self.exits.now.since(arrived), outcome);
        self.exits.left(self.index, arrived, outcome);
    }
}
