//! The interface of queue disciplines, and a discipline as links and tunnels hold it.

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
/// Methods are called in the order of time. There is no timer: a periodic computation whose inputs change with arrivals
/// and departures only is done when the next call comes, for all periods that have passed, with the same result.
/// What leaves goes through [`Exits`]; an item may be dropped, or marked ([`Item::mark`]), on arrival and at any later call.
pub(super) trait QueueDiscipline<T: Item> {
    /// Reasons of its own for drops, each with the metric of their number.
    const DROPS: &'static [(DropReason, &'static Metric)] = &[];

    /// The queue of an item with this key, where there is more than one.
    fn classify(&self, _key: impl FnOnce() -> FlowKey) -> QueueIndex {
        QueueIndex(0)
    }

    /// `item` arrives.
    fn enqueue(
        &mut self,
        item: T,
        arrival: Arrival<impl FnOnce() -> DataRate>,
        exits: &mut Exits<'_, impl FnMut(T, DropReason)>,
    );

    /// The next item. `None`: there is none, or not before [`QueueDiscipline::next_wake`].
    fn dequeue(&mut self, exits: &mut Exits<'_, impl FnMut(T, DropReason)>) -> Option<T>;

    /// When `dequeue` must be called again although nothing arrives; `None`: whenever something waits, it has an item.
    fn next_wake(&self) -> Option<Time> {
        None
    }

    /// What waits.
    fn waiting(&self) -> Backlog;

    /// Queues in which something waits.
    fn active_flows(&self) -> u64 {
        u64::from(self.waiting().packets > 0)
    }

    /// What has happened in each queue that was ever used, in the order of their numbers; none where there is one queue.
    fn flows(&self) -> Vec<FlowStatistics> {
        Vec::new()
    }

    /// Queues in which something waits, in the order of their numbers; none where flows have no queues of their own.
    fn waiting_flows(&self) -> Vec<WaitingFlow> {
        Vec::new()
    }

    /// Adds the values of a whole run, in which this has happened.
    fn statistics(&self, totals: &QueueStatistics, out: &mut Metrics) {
        totals.statistics(Self::DROPS, out);
    }

    /// Adds the values of this moment.
    fn sample(&mut self, _now: Time, totals: &QueueStatistics, out: &mut Metrics) {
        totals.sample(Self::DROPS, out);
        out.count(&QUEUE.active_flows, self.active_flows());
    }
}

/// The place where an item arrives.
#[derive(Debug)]
pub(super) struct Arrival<R> {
    /// The queue, as [`QueueDiscipline::classify`] has chosen it.
    pub(super) queue: QueueIndex,
    /// Size of the item that is in service, which no longer waits; `None`: none is.
    pub(super) in_service: Option<ByteCount>,
    /// The rate at which items are served now.
    pub(super) rate: R,
}

/// A queue discipline: see the module documentation.
#[derive(Debug)]
pub struct Discipline<T: Item> {
    queue: AnyQueue<T>,
    account: QueueCounters,
}

/// So fast that no limit in time is ever reached.
const UNKNOWN_RATE: DataRate = DataRate::from_bits_per_second(u64::MAX);

impl<T: Item> Discipline<T> {
    /// The discipline that `config` describes. What it draws comes from `random`, which nothing else draws from.
    #[must_use]
    pub fn new(config: &QueueConfig, random: RandomStream) -> Self {
        Self { queue: AnyQueue::new(config, random), account: QueueCounters::default() }
    }

    /// `item` arrives. It and others may go to `dropped` at once.
    pub fn enqueue(&mut self, now: Time, item: T, dropped: &mut impl FnMut(T, DropReason)) {
        let queue = self.classify(|| item.key());
        self.enqueue_at(now, item, queue, None, || UNKNOWN_RATE, dropped);
    }

    /// The queue of an item with this key, for [`Discipline::enqueue_at`].
    #[must_use]
    pub fn classify(&self, key: impl FnOnce() -> FlowKey) -> QueueIndex {
        self.queue.classify(key)
    }

    /// `item` arrives for `queue` while a packet of `in_service` bytes is in service; packets leave at `rate`.
    pub fn enqueue_at(
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

    /// The next item. Others may go to `dropped` before. `None`: nothing waits, or what waits must until
    /// [`Discipline::next_wake`].
    pub fn dequeue(&mut self, now: Time, dropped: &mut impl FnMut(T, DropReason)) -> Option<T> {
        self.queue.dequeue(&mut Exits { now, account: &mut self.account, dropped })
    }

    /// When [`Discipline::dequeue`] must be called again although nothing arrives.
    #[must_use]
    pub fn next_wake(&self) -> Option<Time> {
        self.queue.next_wake()
    }

    /// What waits.
    #[must_use]
    pub fn waiting(&self) -> Backlog {
        self.queue.waiting()
    }

    /// Nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting().packets == 0
    }

    /// Queues in which something waits.
    #[must_use]
    pub fn active_flows(&self) -> u64 {
        self.queue.active_flows()
    }

    /// What has happened to all items so far.
    #[must_use]
    pub fn totals(&self) -> &QueueStatistics {
        &self.account.totals
    }

    /// What has happened so far in each queue that was ever used, in the order of their numbers. A discipline with one
    /// queue has its [`Discipline::totals`] only.
    #[must_use]
    pub fn flows(&self) -> Vec<FlowStatistics> {
        self.queue.flows()
    }

    /// Queues in which something waits now, each with the flow of its head; none where flows have no queues of their own.
    /// Flows that share a queue are one.
    #[must_use]
    pub fn waiting_flows(&self) -> Vec<WaitingFlow> {
        self.queue.waiting_flows()
    }

    /// Records from now on what happens to each item, up to `most` of them; later ones are counted only.
    pub fn record(&mut self, most: usize) {
        self.account.records = Some(Box::new(Records::new(most)));
    }

    /// The records so far, and how many did not fit; recording goes on.
    pub fn take_records(&mut self) -> (Vec<QueueRecord>, u64) {
        self.account.records.as_mut().map_or_else(Default::default, |records| records.take())
    }

    /// Adds the values of a whole run.
    pub fn statistics(&self, out: &mut Metrics) {
        self.queue.statistics(&self.account.totals, out);
    }

    /// Adds the values of this moment.
    pub fn sample(&mut self, now: Time, out: &mut Metrics) {
        self.queue.sample(now, &self.account.totals, out);
    }
}
