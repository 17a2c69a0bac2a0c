//! One of the queues of CAKE (see [`super`]).

use super::super::QueueStatistics;
use super::super::waiting::WaitingItems;
use super::cobalt::Cobalt;

/// The rotation that a queue is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Set {
    /// None: it is free.
    #[default]
    None,
    /// That of queues which have just become busy.
    Sparse,
    /// That of the busy ones, although it was empty when its first turn was over: it counts as sparse until it has something.
    SparseWait,
    /// That of the busy ones.
    Bulk,
    /// Empty; its control is forgetting.
    Decaying,
}

/// A queue with its control.
#[derive(Debug)]
pub(super) struct CakeFlow<T> {
    pub(super) line: WaitingItems<T>,
    pub(super) control: Cobalt,
    pub(super) set: Set,
    /// Bytes it may still send in this turn.
    pub(super) deficit: i64,
    /// Its hosts: entries in the tables of sources and destinations.
    pub(super) source: u16,
    pub(super) destination: u16,
    pub(super) totals: QueueStatistics,
    /// It has had an item.
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
