//! Queue disciplines: what waits, who is served next, who is dropped or marked.
//!
//! A discipline holds items of any kind. It decides when one arrives and again when the next one is
//! wanted, and may drop on both occasions. Links have one before their serialiser, tunnels one before their
//! scheduler.
//!
//! | discipline | dropped | reference |
//! | --- | --- | --- |
//! | [`fifo`] drop-tail | what arrives and does not fit | - |
//! | [`fifo`] head-drop | what has waited longest, until the new one fits | Linux `pfifo_head_drop` |
//! | [`codel`] | at the head, by the time it has waited | RFC 8289, Linux `codel` |
//! | [`fq_codel`] | the same in each queue of one or several flows; heads of the longest at a limit | RFC 8290, Linux `fq_codel` |

mod codel;
mod config;
mod fifo;
mod flow_key;
mod fq_codel;
mod record;
mod statistics;

#[cfg(test)]
mod tests;

pub use config::{CodelRestart, ControlLaw, FlowHash, QueueConfig};
pub use flow_key::FlowKey;
pub use record::{Outcome, QueueRecord};
pub use statistics::{FlowStatistics, QueueStatistics};

use crate::element::{DropReason, Metrics};
use crate::random::RandomStream;
use crate::time::{Duration, Time};
use crate::units::{ByteCount, DataRate};
use codel::{Codel, Parameters};
use fifo::Fifo;
use fq_codel::FqCodel;
use record::Records;
use std::collections::VecDeque;

/// What can wait.
pub trait Item {
    /// Its size, as limits, quanta and backlogs count it.
    fn bytes(&self) -> ByteCount;
    /// The flow it belongs to. Asked once, on arrival, by disciplines that tell flows apart.
    fn key(&self) -> FlowKey;
    /// Sets "congestion experienced"; `false` if it is not ECN-capable. One that has the mark already is.
    fn mark(&mut self) -> bool;
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
    /// The backlog with one more packet of `bytes`.
    #[must_use]
    pub fn with(self, bytes: ByteCount) -> Self {
        Self { packets: self.packets + 1, bytes: self.bytes + bytes }
    }
}

/// The queue of a discipline that an item belongs to: 0 where there is one only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueIndex(pub u32);

/// An item with the time of its arrival.
#[derive(Debug)]
struct Waiting<T> {
    item: T,
    arrived: Time,
}

/// Waiting items in the order of arrival, with their bytes.
#[derive(Debug)]
struct Line<T> {
    items: VecDeque<Waiting<T>>,
    bytes: ByteCount,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { items: VecDeque::new(), bytes: ByteCount::ZERO }
    }
}

impl<T: Item> Line<T> {
    fn push(&mut self, now: Time, item: T) {
        self.bytes += item.bytes();
        self.items.push_back(Waiting { item, arrived: now });
    }
    fn pop(&mut self) -> Option<Waiting<T>> {
        let head = self.items.pop_front()?;
        self.bytes -= head.item.bytes();
        Some(head)
    }
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.items.len() as u64, bytes: self.bytes }
    }
}

/// A queue discipline: see the module documentation.
#[derive(Debug)]
pub struct Discipline<T> {
    kind: Kind<T>,
    account: Account,
}

#[derive(Debug)]
enum Kind<T> {
    Fifo(Fifo<T>),
    Codel(Box<Codel<T>>),
    FqCodel(Box<FqCodel<T>>),
}

/// What has happened to items.
#[derive(Debug, Default)]
struct Account {
    totals: QueueStatistics,
    /// `None`: nobody looks.
    records: Option<Box<Records>>,
}

impl Account {
    /// An item of `queue` that has waited for `sojourn` is gone: served or dropped.
    #[inline]
    fn note(&mut self, now: Time, queue: QueueIndex, sojourn: Duration, outcome: Outcome) {
        self.totals.note(sojourn, outcome);
        if let Some(records) = &mut self.records {
            records.push(QueueRecord { time: now, queue, sojourn, outcome });
        }
    }
}

impl<T: Item> Discipline<T> {
    /// The discipline that `config` describes. The hash of flows is perturbed by a number from `random`
    /// (drawn by every kind, so that a change of the kind changes no other draw).
    #[must_use]
    pub fn new(config: &crate::queue::QueueConfig, random: &mut RandomStream) -> Self {
        let perturbation = random.bits();
        let kind = match config {
            crate::queue::QueueConfig::DropTail { packets, bytes, time } => {
                Kind::Fifo(Fifo::drop_tail(*packets, *bytes, *time))
            }
            crate::queue::QueueConfig::HeadDrop { packets, bytes } => {
                Kind::Fifo(Fifo::head_drop(*packets, *bytes))
            }
            crate::queue::QueueConfig::Codel { packets, .. } => {
                Kind::Codel(Box::new(Codel::new(*packets, Parameters::new(config))))
            }
            crate::queue::QueueConfig::FqCodel { .. } => {
                Kind::FqCodel(Box::new(FqCodel::new(config, perturbation)))
            }
        };
        Self { kind, account: Account::default() }
    }

    /// `item` arrives. It and others may go to `dropped` at once.
    pub fn enqueue(&mut self, now: Time, item: T, dropped: &mut impl FnMut(T, DropReason)) {
        let queue = self.classify(|| item.key());
        self.enqueue_at(now, item, queue, None, || UNKNOWN_RATE, dropped);
    }

    /// The queue of an item with this key, for [`Discipline::enqueue_at`].
    #[must_use]
    pub fn classify(&self, key: impl FnOnce() -> FlowKey) -> QueueIndex {
        match &self.kind {
            Kind::FqCodel(discipline) => discipline.classify(key()),
            Kind::Fifo(_) | Kind::Codel(_) => QueueIndex(0),
        }
    }

    /// `item` arrives for `queue` while a packet of `in_service` bytes is on its way out, which limits of
    /// drop-tail count; what leaves does so at `rate`.
    pub fn enqueue_at(
        &mut self,
        now: Time,
        item: T,
        queue: QueueIndex,
        in_service: Option<ByteCount>,
        rate: impl FnOnce() -> DataRate,
        dropped: &mut impl FnMut(T, DropReason),
    ) {
        let account = &mut self.account;
        match &mut self.kind {
            Kind::Fifo(discipline) => discipline.enqueue(now, item, in_service, rate, account, dropped),
            Kind::Codel(discipline) => discipline.enqueue(now, item, account, dropped),
            Kind::FqCodel(discipline) => discipline.enqueue(now, item, queue, account, dropped),
        }
    }

    /// The next item. Others may go to `dropped` before.
    pub fn dequeue(&mut self, now: Time, dropped: &mut impl FnMut(T, DropReason)) -> Option<T> {
        let account = &mut self.account;
        match &mut self.kind {
            Kind::Fifo(discipline) => discipline.dequeue(now, account),
            Kind::Codel(discipline) => discipline.dequeue(now, account, dropped),
            Kind::FqCodel(discipline) => discipline.dequeue(now, account, dropped),
        }
    }

    /// What waits.
    #[must_use]
    pub fn waiting(&self) -> Backlog {
        match &self.kind {
            Kind::Fifo(discipline) => discipline.waiting(),
            Kind::Codel(discipline) => discipline.waiting(),
            Kind::FqCodel(discipline) => discipline.waiting(),
        }
    }

    /// Nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting().packets == 0
    }

    /// Queues in which something waits.
    #[must_use]
    pub fn active_flows(&self) -> u64 {
        match &self.kind {
            Kind::FqCodel(discipline) => discipline.active_flows(),
            Kind::Fifo(_) | Kind::Codel(_) => u64::from(!self.is_empty()),
        }
    }

    /// What has happened to all items so far.
    #[must_use]
    pub fn totals(&self) -> &QueueStatistics {
        &self.account.totals
    }

    /// What has happened so far in each queue that was ever used, in the order of their numbers. Only FQ-CoDel
    /// keeps it: the other disciplines have one queue and its [`Discipline::totals`].
    pub fn flows(&self) -> impl Iterator<Item = FlowStatistics> + '_ {
        let flows = match &self.kind {
            Kind::FqCodel(discipline) => Some(discipline.flows()),
            Kind::Fifo(_) | Kind::Codel(_) => None,
        };
        flows.into_iter().flatten()
    }

    /// Records from now on what happens to each item, up to `most` of them; later ones are counted only.
    pub fn record(&mut self, most: usize) {
        self.account.records = Some(Box::new(Records::new(most)));
    }

    /// The records so far, and how many did not fit; recording goes on.
    pub fn take_records(&mut self) -> (Vec<QueueRecord>, u64) {
        self.account.records.as_mut().map_or_else(Default::default, |records| records.take())
    }

    /// Adds the values of a whole run: nothing for drop-tail, whose values are its user's.
    pub fn statistics(&self, out: &mut Metrics) {
        if !self.is_drop_tail() {
            self.account.totals.statistics(out);
        }
        if let Kind::FqCodel(discipline) = &self.kind {
            out.count("queues_used", discipline.flows().count() as u64);
        }
    }

    /// Adds the values of this moment: nothing for drop-tail.
    pub fn sample(&self, out: &mut Metrics) {
        if !self.is_drop_tail() {
            self.account.totals.sample(out);
            out.count("active_flows", self.active_flows());
        }
    }

    fn is_drop_tail(&self) -> bool {
        matches!(&self.kind, Kind::Fifo(discipline) if discipline.is_drop_tail())
    }
}

/// So fast that no limit in time is ever reached.
const UNKNOWN_RATE: DataRate = DataRate::from_bits_per_second(u64::MAX);
