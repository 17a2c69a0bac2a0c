//! Head-drop: first in, first out; the packets that have waited longest are dropped until the new one fits.
//! One that does not fit even alone is dropped itself. Limits apply to waiting packets.
//!
//! | | Linux `pfifo_head_drop` | here |
//! | --- | --- | --- |
//! | limits | packets | packets and bytes |
//! | dropped | one for one | until all limits hold |

use super::codel::CODEL;
use super::discipline::{Arrival, QueueDiscipline};
use super::exits::Exits;
use super::options::{Capacity, QueueOptions};
use super::tc::{self, DeviceMtu, TcQueue};
use super::waiting::WaitingItems;
use super::{Backlog, Item, QueueIndex};
use crate::element::DropReason;
use crate::limits;
use crate::metric::Metric;
use crate::problem::{Problem, ProblemKind, quoted};
use crate::random::RandomStream;
use crate::units::{ByteCount, DataRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// First in, first out; packets that have waited longest are dropped until the new packet fits. All given limits apply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HeadDrop {
    /// Maximum number of packets that wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::at_least(1))]
    pub packets: Option<u64>,
    /// Maximum number of bytes that wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::at_least("1 B"))]
    pub bytes: Option<ByteCount>,
}

impl QueueOptions for HeadDrop {
    fn conflict(&self) -> Option<Problem> {
        (*self == Self::default()).then(|| {
            Problem::conflict("", "{ kind = \"head_drop\" }", "one or more of `packets` and `bytes`")
        })
    }

    fn capacity(&self) -> Capacity {
        Capacity { packets: self.packets, bytes: self.bytes, ..Capacity::default() }
    }

    fn tc(&self) -> Result<TcQueue, Problem> {
        const EXPECTED: &str = "a limit in `packets` only";
        match (self.packets, self.bytes) {
            (_, Some(bytes)) => Err(Problem::conflict("bytes", quoted(bytes), EXPECTED)),
            (None, None) => Err(Problem::new(ProblemKind::MissingField, "packets", EXPECTED)),
            (Some(packets), None) => Ok(TcQueue::Child {
                words: tc::words("pfifo_head_drop", [("limit", packets)]),
                mtu: DeviceMtu::Any,
            }),
        }
    }

    #[cfg(test)]
    fn examples() -> Vec<Self> {
        vec![Self { packets: Some(20), bytes: Some(ByteCount::from_bytes(9000)) }]
    }
}

/// First in, first out, with limits on the waiting packets.
#[derive(Debug)]
pub(super) struct HeadDropQueue<T> {
    packets: u64,
    bytes: ByteCount,
    line: WaitingItems<T>,
}

impl<T: Item> HeadDropQueue<T> {
    pub(super) fn new(config: &HeadDrop, _: RandomStream) -> Self {
        Self {
            packets: config.packets.unwrap_or(u64::MAX),
            bytes: config.bytes.unwrap_or(ByteCount::MAX),
            line: WaitingItems::default(),
        }
    }

    fn is_too_long(&self) -> bool {
        let Backlog { packets, bytes } = self.line.backlog();
        packets > self.packets || bytes > self.bytes
    }
}

impl<T: Item> QueueDiscipline<T> for HeadDropQueue<T> {
    /// Results of all disciplines but drop-tail contain the number of CoDel's drops; here it is 0.
    const DROPS: &'static [(DropReason, &'static Metric)] = &[(DropReason::Codel, &CODEL.codel_drops)];

    fn enqueue(
        &mut self,
        item: T,
        _: Arrival<impl FnOnce() -> DataRate>,
        exits: &mut Exits<'_, impl FnMut(T, DropReason)>,
    ) {
        self.line.push(exits.now, item);
        while self.is_too_long() {
            let head = self.line.pop().expect("an empty queue exceeds no limit");
            exits.drop(QueueIndex(0), head, DropReason::QueueFull);
        }
    }

    fn dequeue(&mut self, exits: &mut Exits<'_, impl FnMut(T, DropReason)>) -> Option<T> {
        self.line.pop().map(|head| exits.serve(QueueIndex(0), head))
    }

    fn waiting(&self) -> Backlog {
        self.line.backlog()
    }
}

#[cfg(test)]
#[path = "head_drop_tests.rs"]
mod tests;
