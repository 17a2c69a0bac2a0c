//! Fair queueing with controlled delay (FQ-CoDel): flows are hashed to queues, each with a CoDel of its own, and
//! queues are served in turn by bytes, those that have just become busy first.
//!
//! RFC 8290 sections 4 and 5; Linux `net/sched/sch_fq_codel.c` (`fq_codel_enqueue`, `fq_codel_drop`,
//! `fq_codel_dequeue`), followed step by step.
//!
//! | | RFC 8290 | Linux, here by default | published tunnel |
//! | --- | --- | --- | --- |
//! | hash | Jenkins of the 5-tuple with a random number | SipHash; here XXH3 with a seed | Jenkins of a sum of fields (`hash = "field_sum"`, with XXH3); its mask covers a part of the queues |
//! | queues | 1024 | 1024 | 1024 said; 32 and 128 in the code (`flows`) |
//! | limit | packets | packets and memory | memory (`packets` far above) |
//! | memory of a packet | - | its whole buffer (`truesize`); here `memory_per_packet` and its bytes | its bytes |
//! | drops at a limit | half of the queue with the most bytes, at most 64 packets, from its head | same | one (`drop_batch = 1`) |
//! | they make CoDel's count larger | not said | same | not known; here the same |
//! | new queue | has been empty and left the lists | is on no list | same |
//! | credits used up | at or below 0 | same | same in the code; below 0 in the text |
//! | quantum | the MTU | the MTU with the link's header | 1400 B (`quantum`) |
//! | backlog of CoDel's exception | the queue's | all queues' | none (`least_backlog = "0 B"`) |
//!
//! CoDel's own differences: see [`super::codel`]. One batch of drops follows an arrival that exceeds a limit: memory may
//! stay above its limit for a while if large packets follow small ones, as in Linux.

use super::codel::{Control, Parameters, Source};
use super::{
    Account, Backlog, FlowKey, FlowStatistics, Item, Line, Outcome, QueueIndex, QueueStatistics, Waiting,
};
use crate::element::DropReason;
use crate::queue::FlowHash;
use crate::time::Time;
use crate::units::ByteCount;
use std::collections::VecDeque;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// All queues.
#[derive(Debug)]
pub(super) struct FqCodel<T> {
    packets: u64,
    memory: ByteCount,
    memory_per_packet: ByteCount,
    drop_batch: u32,
    hash: FlowHash,
    perturbation: u64,
    quantum: ByteCount,
    parameters: Parameters,
    queues: Vec<Queue<T>>,
    /// Queues that have just become busy, in their order of service.
    new: VecDeque<QueueIndex>,
    /// The others that have or had something, in their order of service.
    old: VecDeque<QueueIndex>,
    /// In all queues.
    waiting: Backlog,
}

#[derive(Debug)]
struct Queue<T> {
    line: Line<T>,
    control: Control,
    /// Bytes it may still send in this turn; below 0 after a packet that was larger than the rest.
    credits: i64,
    /// It is on one of the lists.
    listed: bool,
    totals: QueueStatistics,
    /// It has had an item.
    used: bool,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self {
            line: Line::default(),
            control: Control::default(),
            credits: 0,
            listed: false,
            totals: QueueStatistics::default(),
            used: false,
        }
    }
}

impl<T: Item> FqCodel<T> {
    /// # Panics
    /// For another discipline.
    pub(super) fn new(config: &crate::queue::QueueConfig, perturbation: u64) -> Self {
        let crate::queue::QueueConfig::FqCodel {
            packets,
            memory,
            memory_per_packet,
            drop_batch,
            flows,
            hash,
            quantum,
            ..
        } = config
        else {
            unreachable!("only FQ-CoDel has its parameters")
        };
        Self {
            packets: *packets,
            memory: *memory,
            memory_per_packet: *memory_per_packet,
            drop_batch: *drop_batch,
            hash: *hash,
            perturbation,
            quantum: *quantum,
            parameters: Parameters::new(config),
            queues: std::iter::repeat_with(Queue::default).take(*flows as usize).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            waiting: Backlog::default(),
        }
    }

    pub(super) fn waiting(&self) -> Backlog {
        self.waiting
    }

    pub(super) fn active_flows(&self) -> u64 {
        self.listed().filter(|queue| !self.queue(*queue).line.items.is_empty()).count() as u64
    }

    pub(super) fn flows(&self) -> impl Iterator<Item = FlowStatistics> + '_ {
        let numbered = (0..).map(QueueIndex).zip(&self.queues).filter(|(_, queue)| queue.used);
        numbered.map(|(index, queue)| FlowStatistics {
            queue: index,
            waiting: queue.line.backlog(),
            totals: queue.totals,
        })
    }

    /// The queue of a flow: the hash as a fraction of 2^32, of the queues (`reciprocal_scale`).
    pub(super) fn classify(&self, key: FlowKey) -> QueueIndex {
        let hash = match self.hash {
            FlowHash::FiveTuple => key.hash(self.perturbation),
            FlowHash::FieldSum => xxh3_64_with_seed(&key.field_sum().to_be_bytes(), self.perturbation),
        };
        QueueIndex((((hash & 0xffff_ffff) * self.queues.len() as u64) >> 32) as u32)
    }

    pub(super) fn enqueue(
        &mut self,
        now: Time,
        item: T,
        index: QueueIndex,
        account: &mut Account,
        dropped: &mut impl FnMut(T, DropReason),
    ) {
        self.waiting = self.waiting.with(item.bytes());
        let queue = &mut self.queues[index.0 as usize];
        queue.used = true;
        queue.line.push(now, item);
        if !queue.listed {
            queue.listed = true;
            queue.credits = self.quantum.bytes() as i64;
            self.new.push_back(index);
        }
        if self.waiting.packets > self.packets || self.memory_used() > self.memory {
            self.drop_from_longest(now, account, dropped);
        }
    }

    pub(super) fn dequeue(
        &mut self,
        now: Time,
        account: &mut Account,
        dropped: &mut impl FnMut(T, DropReason),
    ) -> Option<T> {
        loop {
            let (is_new, index) = match self.new.front() {
                Some(index) => (true, *index),
                None => (false, *self.old.front()?),
            };
            let queue = &mut self.queues[index.0 as usize];
            if queue.credits <= 0 {
                queue.credits += self.quantum.bytes() as i64;
                self.unlist_first(is_new);
                self.old.push_back(index);
                continue;
            }
            let Queue { line, control, totals, .. } = queue;
            let waiting = &mut self.waiting;
            let mut source = Heads { now, index, line, totals, waiting, account, dropped };
            if let Some(item) = control.dequeue(now, &self.parameters, &mut source) {
                queue.credits -= item.bytes().bytes() as i64;
                return Some(item);
            }
            self.unlist_first(is_new);
            if is_new && !self.old.is_empty() {
                // else a flow that comes back at once, again and again, would starve the old ones
                self.old.push_back(index);
            } else {
                self.queues[index.0 as usize].listed = false;
            }
        }
    }

    /// A limit is exceeded: drops heads of the queue with the most bytes.
    fn drop_from_longest(
        &mut self,
        now: Time,
        account: &mut Account,
        dropped: &mut impl FnMut(T, DropReason),
    ) {
        // the first one of several equals, as Linux finds it in the order of all queues
        let longest =
            self.listed().max_by_key(|index| (self.queue(*index).line.bytes, std::cmp::Reverse(*index)));
        let Some(index) = longest else { return };
        let Queue { line, control, totals, .. } = &mut self.queues[index.0 as usize];
        let enough = ByteCount::from_bytes(line.bytes.bytes() / 2);
        let (mut packets, mut bytes) = (0, ByteCount::ZERO);
        let waiting = &mut self.waiting;
        let mut source = Heads { now, index, line, totals, waiting, account, dropped };
        while let Some(head) = source.pop() {
            packets += 1;
            bytes += head.item.bytes();
            source.left(head.arrived, Outcome::Dropped(DropReason::QueueFull));
            (source.dropped)(head.item, DropReason::QueueFull);
            if packets >= self.drop_batch || bytes >= enough {
                break;
            }
        }
        control.overflowed(packets);
    }

    /// Queues on the lists; all others are empty.
    fn listed(&self) -> impl Iterator<Item = QueueIndex> + '_ {
        self.new.iter().chain(&self.old).copied()
    }

    fn queue(&self, index: QueueIndex) -> &Queue<T> {
        &self.queues[index.0 as usize]
    }

    fn unlist_first(&mut self, is_new: bool) {
        if is_new {
            self.new.pop_front()
        } else {
            self.old.pop_front()
        };
    }

    fn memory_used(&self) -> ByteCount {
        let beside = self.memory_per_packet.bytes().saturating_mul(self.waiting.packets);
        self.waiting.bytes + ByteCount::from_bytes(beside)
    }
}

/// One queue as CoDel's source of heads.
struct Heads<'a, T, D> {
    now: Time,
    index: QueueIndex,
    line: &'a mut Line<T>,
    totals: &'a mut QueueStatistics,
    /// In all queues.
    waiting: &'a mut Backlog,
    account: &'a mut Account,
    dropped: &'a mut D,
}

impl<T: Item, D: FnMut(T, DropReason)> Source<T> for Heads<'_, T, D> {
    fn pop(&mut self) -> Option<Waiting<T>> {
        let head = self.line.pop()?;
        self.waiting.packets -= 1;
        self.waiting.bytes -= head.item.bytes();
        Some(head)
    }
    fn backlog(&self) -> ByteCount {
        self.waiting.bytes
    }
    fn drop(&mut self, item: Waiting<T>) {
        self.left(item.arrived, Outcome::Dropped(DropReason::Codel));
        (self.dropped)(item.item, DropReason::Codel);
    }
    fn left(&mut self, arrived: Time, outcome: Outcome) {
        let sojourn = self.now.since(arrived);
        self.totals.note(sojourn, outcome);
        self.account.note(self.now, self.index, sojourn, outcome);
    }
}
