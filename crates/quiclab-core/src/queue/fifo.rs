//! First in, first out, with limits: drop-tail and head-drop.
//!
//! Drop-tail discards a packet that would exceed a limit. Its limits include the packet in service with its
//! whole size: a limit of N packets means one in service and N - 1 waiting. This is how `netem rate R
//! limit N` counts, which holds a packet until its serialisation ends. A limit in time divides that
//! backlog and the new packet by the rate at this moment; during a pause of a trace (rate 0) no
//! packet fits such a limit.
//!
//! Head-drop discards what has waited longest until the new packet fits; one that fits not even alone is
//! discarded itself. Its limits count what waits.
//!
//! | | Linux | here |
//! | --- | --- | --- |
//! | head-drop | `pfifo_head_drop`: one for one, packets only | until all limits hold, packets and bytes |

use super::{Account, Backlog, Item, Line, Outcome, QueueIndex};
use crate::element::DropReason;
use crate::time::{Duration, Time};
use crate::units::{ByteCount, DataRate};

/// First in, first out, with limits.
#[derive(Debug)]
pub(super) struct Fifo<T> {
    packets: u64,
    bytes: ByteCount,
    /// Longest time that the backlog may need; `None`: no limit.
    time: Option<Duration>,
    victim: Victim,
    line: Line<T>,
}

/// Which packet goes when one too many arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Newest,
    Oldest,
}

impl<T: Item> Fifo<T> {
    pub(super) fn drop_tail(packets: Option<u64>, bytes: Option<ByteCount>, time: Option<Duration>) -> Self {
        Self {
            packets: packets.unwrap_or(u64::MAX),
            bytes: bytes.unwrap_or(ByteCount::MAX),
            time,
            victim: Victim::Newest,
            line: Line::default(),
        }
    }

    pub(super) fn head_drop(packets: Option<u64>, bytes: Option<ByteCount>) -> Self {
        Self { victim: Victim::Oldest, ..Self::drop_tail(packets, bytes, None) }
    }

    pub(super) fn is_drop_tail(&self) -> bool {
        self.victim == Victim::Newest
    }

    pub(super) fn waiting(&self) -> Backlog {
        self.line.backlog()
    }

    pub(super) fn enqueue(
        &mut self,
        now: Time,
        item: T,
        in_service: Option<ByteCount>,
        rate: impl FnOnce() -> DataRate,
        account: &mut Account,
        dropped: &mut impl FnMut(T, DropReason),
    ) {
        let mut discard = |item, sojourn| {
            let outcome = Outcome::Dropped(DropReason::QueueFull);
            account.note(now, QueueIndex(0), sojourn, outcome);
            dropped(item, DropReason::QueueFull);
        };
        match self.victim {
            Victim::Newest => {
                if self.admits(item.bytes(), in_service, rate) {
                    self.line.push(now, item);
                } else {
                    discard(item, Duration::ZERO);
                }
            }
            Victim::Oldest => {
                self.line.push(now, item);
                while !self.holds(self.line.backlog()) {
                    let head = self.line.pop().expect("an empty queue exceeds no limit");
                    discard(head.item, now.since(head.arrived));
                }
            }
        }
    }

    pub(super) fn dequeue(&mut self, now: Time, account: &mut Account) -> Option<T> {
        let head = self.line.pop()?;
        account.note(now, QueueIndex(0), now.since(head.arrived), Outcome::Served);
        Some(head.item)
    }

    /// Whether a packet of `bytes` fits beside what waits and what is in service.
    fn admits(
        &self,
        bytes: ByteCount,
        in_service: Option<ByteCount>,
        rate: impl FnOnce() -> DataRate,
    ) -> bool {
        let backlog = in_service.iter().fold(self.line.backlog(), |backlog, size| backlog.with(*size));
        let after = backlog.with(bytes);
        self.holds(after) && self.time.is_none_or(|limit| rate().time_for(after.bytes) <= limit)
    }

    fn holds(&self, backlog: Backlog) -> bool {
        backlog.packets <= self.packets && backlog.bytes <= self.bytes
    }
}
