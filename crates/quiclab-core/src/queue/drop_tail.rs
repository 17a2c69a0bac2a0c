//! Drop-tail: first in, first out; an arriving packet that would exceed a limit is dropped.
//!
//! Limits include the packet in service with its whole size: a limit of N packets means one in service and N - 1
//! waiting. `netem rate R limit N` counts in the same way, as it holds a packet until its serialisation ends. A limit
//! in time divides that backlog and the new packet by the present rate; during a pause of a trace (rate 0) no packet
//! fits such a limit.
//!
//! `bytes` favours small packets where flows compete: they still fit in a queue that is nearly full. Dummynet checks
//! only whether the waiting bytes exceed its limit (`dn_enqueue`, sys/netpfil/ipfw/ip_dn_io.c of FreeBSD 13):
//! `waiting_bytes`.

use super::ack_filter::AckFilter;
use super::cake::ACK_FILTER;
use super::discipline::{Arrival, QueueDiscipline};
use super::exits::Exits;
use super::options::{Capacity, QueueOptions};
use super::tc::{self, TcQueue};
use super::waiting::WaitingItems;
use super::{Backlog, Item, QueueIndex, QueueStatistics};
use crate::element::DropReason;
use crate::limits;
use crate::metric::Metrics;
use crate::problem::{Problem, quoted};
use crate::random::RandomStream;
use crate::time::{Duration, Time};
use crate::units::{ByteCount, DataRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// First in, first out; a packet that would exceed a limit is dropped. All given limits apply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DropTail {
    /// Maximum number of packets, the packet in service included.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::at_least(1))]
    pub packets: Option<u64>,
    /// Maximum number of bytes (with the link's overhead), the packet in service included.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::at_least("1 B"))]
    pub bytes: Option<ByteCount>,
    /// Maximum number of bytes that wait when a packet arrives, without itself and the packet in service: whatever its
    /// size, it fits while no more wait (Dummynet).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::at_least("1 B"))]
    pub waiting_bytes: Option<ByteCount>,
    /// Maximum time that the backlog (with the new packet) needs at the present rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::above("0 s"))]
    pub time: Option<Duration>,
    /// Filter of TCP acknowledgements.
    #[serde(skip_serializing_if = "is_off")]
    pub ack_filter: AckFilter,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_off(filter: &AckFilter) -> bool {
    *filter == AckFilter::Off
}

impl QueueOptions for DropTail {
    fn conflict(&self) -> Option<Problem> {
        (Self { ack_filter: AckFilter::Off, ..self.clone() } == Self::default()).then(|| {
            Problem::conflict(
                "",
                "{ kind = \"drop_tail\" }",
                "one or more of `packets`, `bytes`, `waiting_bytes` and `time`",
            )
        })
    }

    fn capacity(&self) -> Capacity {
        let Self { packets, bytes, time, .. } = *self;
        Capacity { packets, bytes, time, ..Capacity::default() }
    }

    fn needs_rate(&self) -> Option<&'static str> {
        self.time.and(Some("time"))
    }

    fn ack_filter(&self) -> AckFilter {
        self.ack_filter
    }

    fn tc(&self) -> Result<TcQueue, Problem> {
        match *self {
            Self { ack_filter: filter @ (AckFilter::Conservative | AckFilter::Aggressive), .. } => {
                Err(tc::differs("ack_filter", &filter, &AckFilter::Off))
            }
            Self { time: Some(time), .. } => {
                Err(Problem::conflict("time", quoted(time), "a limit in `packets` or `bytes`"))
            }
            Self { waiting_bytes: Some(bytes), .. } => {
                Err(Problem::conflict("waiting_bytes", quoted(bytes), "a limit in `packets` or `bytes`"))
            }
            Self { packets: Some(_), bytes: Some(bytes), .. } => {
                Err(Problem::conflict("bytes", quoted(bytes), "one limit, in `packets` or `bytes`"))
            }
            Self { packets, bytes, .. } => Ok(TcQueue::Limits { packets, bytes }),
        }
    }

    #[cfg(test)]
    fn examples() -> Vec<Self> {
        let bytes = Some(ByteCount::from_bytes(9000));
        vec![
            Self { packets: Some(20), bytes, ..Self::default() },
            Self { waiting_bytes: bytes, ..Self::default() },
            Self { packets: Some(20), ack_filter: AckFilter::Conservative, ..Self::default() },
        ]
    }
}

/// First in, first out, with limits.
#[derive(Debug)]
pub(super) struct DropTailQueue<T> {
    packets: u64,
    bytes: ByteCount,
    waiting_bytes: ByteCount,
    /// Maximum time to serialise the backlog; `None`: no limit.
    time: Option<Duration>,
    ack_filter: AckFilter,
    line: WaitingItems<T>,
}

impl<T: Item> DropTailQueue<T> {
    pub(super) fn new(config: &DropTail, _: RandomStream) -> Self {
        Self {
            packets: config.packets.unwrap_or(u64::MAX),
            bytes: config.bytes.unwrap_or(ByteCount::MAX),
            waiting_bytes: config.waiting_bytes.unwrap_or(ByteCount::MAX),
            time: config.time,
            ack_filter: config.ack_filter,
            line: WaitingItems::default(),
        }
    }

    /// Whether a packet of `bytes` fits in addition to the waiting ones and the one in service.
    fn admits(
        &self,
        bytes: ByteCount,
        in_service: Option<ByteCount>,
        rate: impl FnOnce() -> DataRate,
    ) -> bool {
        let backlog = in_service.iter().fold(self.line.backlog(), |backlog, size| backlog.with(*size));
        let after = backlog.with(bytes);
        after.packets <= self.packets
            && after.bytes <= self.bytes
            && self.line.backlog().bytes <= self.waiting_bytes
            && self.time.is_none_or(|limit| rate().time_for(after.bytes) <= limit)
    }
}

impl<T: Item> QueueDiscipline<T> for DropTailQueue<T> {
    fn enqueue(
        &mut self,
        item: T,
        arrival: Arrival<impl FnOnce() -> DataRate>,
        exits: &mut Exits<'_, impl FnMut(T, DropReason)>,
    ) {
        if self.admits(item.bytes(), arrival.in_service, arrival.rate) {
            self.line.push(exits.now, item);
            if let Some(ack) = self.ack_filter.filter(&mut self.line) {
                exits.drop(QueueIndex(0), ack, DropReason::AckFiltered);
            }
        } else {
            exits.refuse(QueueIndex(0), item, DropReason::QueueFull);
        }
    }

    fn dequeue(&mut self, exits: &mut Exits<'_, impl FnMut(T, DropReason)>) -> Option<T> {
        self.line.pop().map(|head| exits.serve(QueueIndex(0), head))
    }

    fn waiting(&self) -> Backlog {
        self.line.backlog()
    }

    /// Adds the filtered acknowledgements; the owner of the queue reports its other values.
    fn statistics(&self, totals: &QueueStatistics, out: &mut Metrics) {
        if self.ack_filter != AckFilter::Off {
            out.count(&ACK_FILTER.filtered_acks, totals.drops(DropReason::AckFiltered));
        }
    }

    /// Adds nothing: the owner of the queue reports its values.
    fn sample(&mut self, _: Time, _: &QueueStatistics, _: &mut Metrics) {}
}

#[cfg(test)]
#[path = "drop_tail_tests.rs"]
mod tests;
