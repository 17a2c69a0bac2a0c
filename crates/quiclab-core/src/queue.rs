//! Queue disciplines: which packets wait, which is served next, which are dropped or marked.
//!
//! A discipline holds items of any type. It decides when one arrives and again when the next one is
//! requested, and may drop on both occasions. Links have a queue before their serialiser, tunnels before
//! their scheduler.
//!
//! | discipline | dropped | reference |
//! | --- | --- | --- |
//! | [`drop_tail`] | arriving packets that do not fit | - |
//! | [`head_drop`] | packets that have waited longest, until the new one fits | Linux `pfifo_head_drop` |
//! | [`codel`] | at the head, by the time it has waited | RFC 8289, Linux `codel` |
//! | [`fq_codel`] | the same in each queue of one or several flows; heads of the longest at a limit | RFC 8290, Linux `fq_codel` |
//! | [`pie`] | on arrival, with a probability that follows the waiting time | RFC 8033, Linux `pie` |
//! | [`fq_pie`] | the same in each queue of one or several flows | Linux `fq_pie` |
//! | [`red`] | on arrival, with a probability that follows the average backlog | Floyd and Jacobson 1993, Linux `red` |
//! | [`cake`] | at the head, by the time it has waited, in each queue of a flow; heads of the longest at a limit | Høiland-Jørgensen et al. 2018, Linux `cake` |
//! | [`dualpi2`] | on departure, by such a probability; marked in a separate queue if they are scalable | RFC 9332, Linux `dualpi2` |
//!
//! A discipline is one file: its configuration with its properties ([`options`]), its algorithm
//! ([`discipline`]), its tests. It is registered at the end of this file.

mod ack_filter;
mod cake;
mod codel;
mod discipline;
mod drop_tail;
mod dualpi2;
mod exits;
mod flow_key;
mod fq_codel;
mod fq_pie;
mod head_drop;
mod options;
mod pie;
mod record;
mod red;
mod registry;
mod rounds;
mod statistics;
mod tc;
mod waiting;

#[cfg(test)]
mod tests;

pub use ack_filter::AckFilter;
pub(crate) use ack_filter::segment_of;
pub use codel::{CodelRestart, ControlLaw};
pub use discipline::Discipline;
pub use dualpi2::LowLatency;
pub use flow_key::FlowKey;
pub use fq_codel::FlowHash;
pub use options::{Capacity, QueueOptions};
pub use record::{Outcome, QueueRecord};
pub use statistics::{FlowStatistics, QueueStatistics, WaitingFlow};
pub use tc::{DeviceMtu, TcQueue};

use crate::element::DropReason;
use crate::ip::Ecn;
use crate::metric::{MetricGroup, Metrics};
use crate::random::RandomStream;
use crate::segment::Segment;
use crate::time::Time;
use crate::units::{ByteCount, DataRate};
use discipline::{Arrival, QueueDiscipline};
use exits::Exits;

/// An item that can wait in a queue.
pub trait Item {
    /// Size, as limits, quanta and backlogs count it.
    fn bytes(&self) -> ByteCount;
    /// Flow of the item. Called once, on arrival, by disciplines that distinguish flows.
    fn key(&self) -> FlowKey;
    /// ECN field.
    fn ecn(&self) -> Ecn;
    /// Sets "congestion experienced"; `false` if it is not ECN-capable. An item that is already marked is
    /// ECN-capable.
    fn mark(&mut self) -> bool;
    /// TCP segment, if the header is visible; `None` for QUIC, which is encrypted.
    fn segment(&self) -> Option<&Segment> {
        None
    }
}

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Number of packets.
    pub packets: u64,
    /// Sum of their sizes.
    pub bytes: ByteCount,
}

impl Backlog {
    /// The backlog with an additional packet of `bytes`.
    #[must_use]
    pub fn with(self, bytes: ByteCount) -> Self {
        Self { packets: self.packets + 1, bytes: self.bytes + bytes }
    }
}

/// Queue of a discipline to which an item belongs: 0 if there is only one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueIndex(pub u32);

registry::disciplines! {
    drop_tail: DropTail => DropTailQueue,
    head_drop: HeadDrop => HeadDropQueue,
    codel: Codel => CodelQueue,
    fq_codel: FqCodel => FqCodelQueue,
    pie: Pie => PieQueue,
    dualpi2: Dualpi2 => Dualpi2Queue,
    red: Red => RedQueue,
    fq_pie: FqPie => FqPieQueue,
    cake: Cake => CakeQueue,
    #[cfg(test)]
    tests::paced: Paced => PacedQueue,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self::DropTail(DropTail { packets: Some(1000), ..DropTail::default() })
    }
}

impl QueueConfig {
    /// FQ-CoDel with all its defaults.
    #[must_use]
    pub fn fq_codel() -> Self {
        Self::FqCodel(FqCodel::default())
    }
}

/// Metrics of queues: those of all, then those of some disciplines.
pub(crate) fn metric_groups() -> Vec<MetricGroup> {
    vec![
        statistics::QUEUE.group(),
        codel::CODEL.group(),
        pie::PIE.group(),
        red::RED.group(),
        dualpi2::DUALPI2.group(),
        cake::CAKE.group(),
        cake::ACK_FILTER.group(),
    ]
}
