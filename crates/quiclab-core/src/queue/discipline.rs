//! The interface of queue disciplines, and a discipline as used by links and tunnels.

use super::exits::{Exits, QueueCounters};
use super::record::Records;
use super::statistics::QUEUE;
use super::{
    AnyQueue, Backlog, FlowKey, FlowStatistics, Item, QueueConfig, QueueIndex, QueueRecord, QueueStatistics,
    WaitingFlow,
};
use crate::element::DropReason;
use crate::metric::{Metric, Metrics};
use crate::random::RandomStream;
use crate::time::Time;
use crate::units::{ByteCount, DataRate};

/// The algorithm of a discipline over items of one type.
///
/// Methods are called in the order of time. There is no timer: a periodic computation whose inputs change only with
/// arrivals and departures is done at the next call, for all periods that have passed, with the same result. Items
/// leave through [`Exits`]; an item may be dropped, or marked ([`Item::mark`]), on arrival and at any later call.
pub(super) trait QueueDiscipline<T: Item> {
    /// Drop reasons of the discipline, each with the metric of their number.
    const DROPS: &'static [(DropReason, &'static Metric)] = &[];

    /// Queue of an item with this key, if there is more than one.
    fn classify(&self, _key: impl FnOnce() -> FlowKey) -> QueueIndex {
        QueueIndex(0)
    }

    /// Handles the arrival of `item`.
    fn enqueue(
        &mut self,
        item: T,
        arrival: Arrival<impl FnOnce() -> DataRate>,
        exits: &mut Exits<'_, impl FnMut(T, DropReason)>,
    );

    /// The next item; `None` if there is none, or not before [`QueueDiscipline::next_wake`].
    fn dequeue(&mut self, exits: &mut Exits<'_, impl FnMut(T, DropReason)>) -> Option<T>;

    /// Time at which `dequeue` must be called again without an arrival; `None` if a non-empty discipline always has an
    /// item to return.
    fn next_wake(&self) -> Option<Time> {
        None
    }

    /// Backlog of waiting items.
    fn waiting(&self) -> Backlog;

    /// Number of non-empty queues.
    fn active_flows(&self) -> u64 {
        u64::from(self.waiting().packets > 0)
    }

    /// Statistics of each queue that was ever used, in the order of their numbers; empty if there is only one queue.
    fn flows(&self) -> Vec<FlowStatistics> {
        Vec::new()
    }

    /// Non-empty queues, in the order of their numbers; none if flows have no queues of their own.
    fn waiting_flows(&self) -> Vec<WaitingFlow> {
        Vec::new()
    }

    /// Adds the values of a whole run with these `totals`.
    fn statistics(&self, totals: &QueueStatistics, out: &mut Metrics) {
        totals.statistics(Self::DROPS, out);
    }

    /// Adds the present values.
    fn sample(&mut self, _now: Time, totals: &QueueStatistics, out: &mut Metrics) {
        totals.sample(Self::DROPS, out);
        out.count(&QUEUE.active_flows, self.active_flows());
    }
}

/// Circumstances of the arrival of an item.
#[derive(Debug)]
pub(super) struct Arrival<R> {
    /// The queue, as chosen by [`QueueDiscipline::classify`].
    pub(super) queue: QueueIndex,
    /// Size of the item in service, which no longer waits; `None` if there is none.
    pub(super) in_service: Option<ByteCount>,
    /// The rate at which items are served at present.
    pub(super) rate: R,
}

/// A queue discipline: see the module documentation.
#[derive(Debug)]
pub struct Discipline<T: Item> {
    queue: AnyQueue<T>,
    account: QueueCounters,
}

/// A rate so high that no limit in time is ever reached.
const UNKNOWN_RATE: DataRate = DataRate::from_bits_per_second(u64::MAX);

impl<T: Item> Discipline<T> {
    /// Creates the discipline that `config` describes. `random` is its own stream.
    #[must_use]
    pub fn new(config: &QueueConfig, random: RandomStream) -> Self {
        Self { queue: AnyQueue::new(config, random), account: QueueCounters::default() }
    }

    /// Handles the arrival of `item`. It and others may be passed to `dropped` immediately.
    pub fn enqueue(&mut self, now: Time, item: T, dropped: &mut impl FnMut(T, DropReason)) {
        let queue = self.classify(|| item.key());
        self.enqueue_at(now, item, queue, None, || UNKNOWN_RATE, dropped);
    }

    /// Queue of an item with this key, for [`Discipline::enqueue_at`].
    #[must_use]
    pub fn classify(&self, key: impl FnOnce() -> FlowKey) -> QueueIndex {
        self.queue.classify(key)
    }

    /// Handles the arrival of `item` for `queue` while a packet of `in_service` bytes is in service; packets leave at
    /// `rate`.
    pub(crate) fn enqueue_at(
        &mut self,
        now: Time,
        item: T,
        queue: QueueIndex,
        in_service: Option<ByteCount>,
        rate: impl FnOnce() -> DataRate,
        dropped: &mut impl FnMut(T, DropReason),
    ) {
        let arrival = Arrival { queue, in_service, rate };
        self.queue.enqueue(item, arrival, &mut Exits { now, account: &mut self.account, dropped });
    }

    /// The next item. Others may be passed to `dropped` before. `None` if no item waits, or all must wait until
    /// [`Discipline::next_wake`].
    pub fn dequeue(&mut self, now: Time, dropped: &mut impl FnMut(T, DropReason)) -> Option<T> {
        self.queue.dequeue(&mut Exits { now, account: &mut self.account, dropped })
    }

    /// Time at which [`Discipline::dequeue`] must be called again without an arrival.
    #[must_use]
    pub fn next_wake(&self) -> Option<Time> {
        self.queue.next_wake()
    }

    /// Backlog of waiting items.
    #[must_use]
    pub fn waiting(&self) -> Backlog {
        self.queue.waiting()
    }

    /// Whether no item waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting().packets == 0
    }

    /// Number of non-empty queues.
    #[must_use]
    pub fn active_flows(&self) -> u64 {
        self.queue.active_flows()
    }

    /// Statistics of all items so far.
    #[must_use]
    pub fn totals(&self) -> &QueueStatistics {
        &self.account.totals
    }

    /// Statistics so far of each queue that was ever used, in the order of their numbers. A discipline with one queue
    /// has only its [`Discipline::totals`].
    #[must_use]
    pub fn flows(&self) -> Vec<FlowStatistics> {
        self.queue.flows()
    }

    /// Non-empty queues, each with the flow of its head; none if flows have no queues of their own. Flows that share a
    /// queue count as one.
    #[must_use]
    pub fn waiting_flows(&self) -> Vec<WaitingFlow> {
        self.queue.waiting_flows()
    }

    /// Records the departures of all items from now on, up to `most` of them; later ones are only counted.
    pub fn record(&mut self, most: usize) {
        self.account.records = Some(Box::new(Records::new(most)));
    }

    /// The records so far, and the number that did not fit; recording continues.
    pub fn take_records(&mut self) -> (Vec<QueueRecord>, u64) {
        self.account.records.as_mut().map_or_else(Default::default, |records| records.take())
    }

    /// Adds the values of a whole run.
    pub fn statistics(&self, out: &mut Metrics) {
        self.queue.statistics(&self.account.totals, out);
    }

    /// Adds the present values.
    pub fn sample(&mut self, now: Time, out: &mut Metrics) {
        self.queue.sample(now, &self.account.totals, out);
    }
}
