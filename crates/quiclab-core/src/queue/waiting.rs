//! Waiting items in the order of arrival.

use super::{Backlog, FlowKey, Item, QueueStatistics, WaitingFlow};
use crate::ip::Ecn;
use crate::segment::Segment;
use crate::time::Time;
use crate::units::ByteCount;
use std::collections::VecDeque;

/// An item with the time of its arrival.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    pub(super) item: T,
    pub(super) arrived: Time,
}

/// An item that a discipline may have marked on arrival.
#[derive(Debug)]
pub(super) struct Marked<T> {
    pub(super) item: T,
    /// Whether it was marked here.
    pub(super) marked: bool,
}

impl<T: Item> Item for Marked<T> {
    fn bytes(&self) -> ByteCount {
        self.item.bytes()
    }
    fn key(&self) -> FlowKey {
        self.item.key()
    }
    fn ecn(&self) -> Ecn {
        self.item.ecn()
    }
    fn mark(&mut self) -> bool {
        self.item.mark()
    }
    fn segment(&self) -> Option<&Segment> {
        self.item.segment()
    }
}

/// Waiting items in the order of arrival, with their bytes.
#[derive(Debug)]
pub(super) struct WaitingItems<T> {
    items: VecDeque<Waiting<T>>,
    bytes: ByteCount,
}

impl<T> Default for WaitingItems<T> {
    fn default() -> Self {
        Self { items: VecDeque::new(), bytes: ByteCount::ZERO }
    }
}

impl<T: Item> WaitingItems<T> {
    pub(super) fn push(&mut self, now: Time, item: T) {
        self.bytes += item.bytes();
        self.items.push_back(Waiting { item, arrived: now });
    }

    pub(super) fn pop(&mut self) -> Option<Waiting<T>> {
        let head = self.items.pop_front()?;
        self.bytes -= head.item.bytes();
        Some(head)
    }

    /// The item that has waited longest.
    pub(super) fn head(&self) -> Option<&Waiting<T>> {
        self.items.front()
    }

    /// The last arrival, and the earlier items with their positions; `None` if empty.
    pub(super) fn split_last(&self) -> Option<(&T, impl Iterator<Item = (usize, &T)>)> {
        let last = self.items.back()?;
        let before = self.items.iter().take(self.items.len() - 1).enumerate();
        Some((&last.item, before.map(|(place, waiting)| (place, &waiting.item))))
    }

    /// Removes the item at a position.
    pub(super) fn remove(&mut self, place: usize) -> Option<Waiting<T>> {
        let removed = self.items.remove(place)?;
        self.bytes -= removed.item.bytes();
        Some(removed)
    }

    /// The backlog, with the flow of the head; `None` if empty.
    pub(super) fn flow(&self, totals: &QueueStatistics) -> Option<WaitingFlow> {
        let head = self.items.front()?;
        let (key, waiting, dropped) = (head.item.key(), self.backlog(), totals.all_drops());
        Some(WaitingFlow { key, since: head.arrived, waiting, dropped })
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn backlog(&self) -> Backlog {
        Backlog { packets: self.items.len() as u64, bytes: self.bytes }
    }
}
