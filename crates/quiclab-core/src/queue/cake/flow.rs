//! One of the queues of CAKE (see [`super`]).

use super::super::QueueStatistics;
use super::super::waiting::WaitingItems;
use super::cobalt::Cobalt;

/// Rotation of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Set {
    /// No rotation: the queue is free.
    #[default]
    None,
    /// Newly busy queues.
    Sparse,
    /// Busy queues, although it was empty at the end of its first turn: it counts as sparse until it has a
    /// packet.
    SparseWait,
    /// Busy queues.
    Bulk,
    /// Empty queues whose control decays.
    Decaying,
}

/// A queue with its control.
#[derive(Debug)]
pub(super) struct CakeFlow<T> {
    pub(super) line: WaitingItems<T>,
    pub(super) control: Cobalt,
    pub(super) set: Set,
    /// Bytes that it may still send in this turn.
    pub(super) deficit: i64,
    /// Hosts of its flow: entries in the tables of sources and destinations.
    pub(super) source: u16,
    pub(super) destination: u16,
    pub(super) totals: QueueStatistics,
    /// Whether it has had an item.
    pub(super) used: bool,
}

impl<T> Default for CakeFlow<T> {
    fn default() -> Self {
        Self {
            line: WaitingItems::default(),
            control: Cobalt::default(),
            set: Set::None,
            deficit: 0,
            source: 0,
            destination: 0,
            totals: QueueStatistics::default(),
            used: false,
        }
    }
}
