//! One of the two queues of DualPI2 (see [`super`]).

use super::super::waiting::WaitingItems;
use super::super::{FlowStatistics, Item, QueueIndex, QueueStatistics};

/// Packets in the order of arrival, and statistics of earlier ones.
#[derive(Debug)]
pub(super) struct Line<T> {
    pub(super) items: WaitingItems<T>,
    pub(super) totals: QueueStatistics,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { items: WaitingItems::default(), totals: QueueStatistics::default() }
    }
}

impl<T: Item> Line<T> {
    pub(super) fn statistics(&self, queue: QueueIndex) -> FlowStatistics {
        FlowStatistics { queue, waiting: self.items.backlog(), totals: self.totals }
    }
}
