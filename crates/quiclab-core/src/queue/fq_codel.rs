//! Fair queueing with controlled delay (FQ-CoDel): flows are hashed to queues, each with its own CoDel, and queues are
//! served in turn by bytes, newly busy ones first.
//!
//! RFC 8290 sections 4 and 5; Linux `net/sched/sch_fq_codel.c` (`fq_codel_enqueue`, `fq_codel_drop`,
//! `fq_codel_dequeue`), followed step by step.
//!
//! | | RFC 8290 | Linux, here by default | published tunnel |
//! | --- | --- | --- | --- |
//! | hash | Jenkins of the 5-tuple with a random number | SipHash; here XXH3 with a seed | Jenkins of a sum of fields (`hash = "field_sum"`, with XXH3); its mask covers a part of the queues |
//! | queues | 1024 | 1024 | 1024 in the text; 32 and 128 in the code (`flows`) |
//! | limit | packets | packets and memory | memory (`packets` far above) |
//! | memory of a packet | - | its whole buffer (`truesize`); here `memory_per_packet` and its bytes | its bytes |
//! | drops at a limit | half of the queue with the most bytes, at most 64 packets, from its head | same | one (`drop_batch = 1`) |
//! | they make CoDel's count larger | not specified | same | not known; here the same |
//! | new queue | has been empty and left the lists | is on no list | same |
//! | credits used up | at or below 0 | same | same in the code; below 0 in the text |
//! | quantum | the MTU | the MTU with the link's header | 1400 B (`quantum`) |
//! | backlog of CoDel's exception | the queue's | all queues' | none (`least_backlog = "0 B"`) |
//!
//! Differences of CoDel itself: see [`super::codel`]. One batch of drops follows an arrival that exceeds a limit:
//! memory may stay above its limit for a while if large packets follow small ones, as in Linux.

mod flow;

use super::codel::{self, Codel, CodelRestart, ControlLaw, HeadSource, Parameters};
use super::discipline::{Arrival, QueueDiscipline};
use super::exits::Exits;
use super::options::{Capacity, QueueOptions};
use super::rounds::Rounds;
use super::statistics::QUEUE;
use super::tc::{self, TcQueue};
use super::{Backlog, FlowKey, FlowStatistics, Item, QueueIndex, QueueStatistics, WaitingFlow};
use crate::element::DropReason;
use crate::limits;
use crate::metric::{Metric, Metrics};
use crate::problem::{Problem, quoted};
use crate::random::RandomStream;
use crate::time::Duration;
use crate::units::{ByteCount, DataRate};
use flow::{FlowQueue, Heads};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A CoDel queue for each flow, served in turn (FQ-CoDel, RFC 8290) as Linux' `fq_codel`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FqCodel {
    /// Maximum number of packets that wait in all queues.
    #[schemars(transform = limits::at_least(1))]
    pub packets: u64,
    /// Maximum memory of all queues: the bytes of packets, and `memory_per_packet` for each.
    #[schemars(transform = limits::at_least("1 B"))]
    pub memory: ByteCount,
    /// Memory of a packet in addition to its bytes (Linux counts the whole buffer).
    pub memory_per_packet: ByteCount,
    /// Maximum number of packets dropped in one batch from the longest queue when a limit is exceeded, but not more than
    /// half of its bytes.
    #[schemars(transform = limits::at_least(1).unit("packets"))]
    pub drop_batch: u32,
    /// Number of queues that flows are hashed to.
    #[schemars(transform = limits::between(1, 65536).unit("queues"))]
    pub flows: u32,
    /// Fields of a packet that the hash covers.
    pub hash: FlowHash,
    /// Bytes that a queue may send in its turn.
    #[schemars(transform = limits::between("256 B", "1 MiB"))]
    pub quantum: ByteCount,
    /// As for `codel`. Below `interval`.
    pub target: Duration,
    /// As for `codel`.
    #[schemars(transform = limits::above("0 s"))]
    pub interval: Duration,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// As for `codel`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Duration>,
    /// Backlog of all queues up to which nothing is dropped; `0 B`: no such exception.
    pub least_backlog: ByteCount,
    /// As for `codel`.
    pub control_law: ControlLaw,
    /// As for `codel`.
    pub restart: CodelRestart,
}

/// Fields of a packet that the hash of FQ-CoDel covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowHash {
    /// Addresses, protocol and ports (ICMP: type, code and identifier; fragments: identification).
    #[default]
    FiveTuple,
    /// The sum of protocol, addresses and ports, 0 for ICMP: the published tunnel.
    FieldSum,
}

impl Default for FqCodel {
    fn default() -> Self {
        let Codel { target, interval, ce_threshold, least_backlog, control_law, restart, .. } =
            Codel::default();
        Self {
            // RFC 8290 section 5.2.3 and Linux
            packets: 10_240,
            // `memory_limit` of Linux
            memory: ByteCount::from_bytes(32 << 20),
            memory_per_packet: ByteCount::ZERO,
            // `drop_batch_size` of Linux
            drop_batch: 64,
            // RFC 8290 section 5.2.4 and Linux
            flows: 1024,
            hash: FlowHash::default(),
            quantum: codel::FRAME,
            target,
            interval,
            ecn: true,
            ce_threshold,
            least_backlog,
            control_law,
            restart,
        }
    }
}

impl FqCodel {
    /// Configuration of CoDel for each of the queues.
    fn codel(&self) -> Codel {
        let Self {
            packets, target, interval, ecn, ce_threshold, least_backlog, control_law, restart, ..
        } = *self;
        Codel { packets, target, interval, ecn, ce_threshold, least_backlog, control_law, restart }
    }
}

impl QueueOptions for FqCodel {
    fn conflict(&self) -> Option<Problem> {
        self.codel().conflict()
    }

    fn capacity(&self) -> Capacity {
        let (packets, memory, flows) = (Some(self.packets), Some(self.memory), Some(self.flows));
        Capacity { packets, memory, flows, ..Capacity::default() }
    }

    fn tc(&self) -> Result<TcQueue, Problem> {
        let (control, mtu) = self.codel().tc_control()?;
        if self.hash != FlowHash::default() {
            return Err(tc::differs("hash", &self.hash, &FlowHash::default()));
        }
        if self.memory_per_packet > ByteCount::ZERO {
            return Err(Problem::conflict("memory_per_packet", quoted(self.memory_per_packet), "no value")
                .because("the kernel counts the memory of its own buffers"));
        }
        let numbers = [
            ("limit", self.packets),
            ("memory_limit", self.memory.bytes()),
            ("drop_batch", u64::from(self.drop_batch)),
            ("flows", u64::from(self.flows)),
            ("quantum", self.quantum.bytes()),
        ];
        Ok(TcQueue::Child { words: [tc::words("fq_codel", numbers), control].concat(), mtu })
    }

    #[cfg(test)]
    fn examples() -> Vec<Self> {
        let small = Self { memory: ByteCount::from_bytes(20_000), drop_batch: 1, ..Self::default() };
        vec![
            Self { packets: 40, flows: 8, ..Self::default() },
            Self { flows: 3, quantum: ByteCount::from_bytes(1400), ..small.clone() },
            Self {
                least_backlog: ByteCount::ZERO,
                hash: FlowHash::FieldSum,
                control_law: ControlLaw::InverseCount,
                restart: CodelRestart::MinusTwo,
                ..small
            },
        ]
    }
}

/// All queues.
#[derive(Debug)]
pub(super) struct FqCodelQueue<T> {
    packets: u64,
    memory: ByteCount,
    memory_per_packet: ByteCount,
    drop_batch: u32,
    hash: FlowHash,
    perturbation: u64,
    parameters: Parameters,
    queues: Vec<FlowQueue<T>>,
    /// Bytes of each queue, contiguous because all are searched at a limit (`backlogs` of Linux).
    bytes: Vec<u64>,
    rounds: Rounds,
    /// Backlog of all queues.
    waiting: Backlog,
}

impl<T: Item> FqCodelQueue<T> {
    /// Creates the queues; the hash of flows is perturbed by a random number.
    pub(super) fn new(config: &FqCodel, mut random: RandomStream) -> Self {
        Self {
            packets: config.packets,
            memory: config.memory,
            memory_per_packet: config.memory_per_packet,
            drop_batch: config.drop_batch,
            hash: config.hash,
            perturbation: random.bits(),
            parameters: Parameters::from(&config.codel()),
            queues: std::iter::repeat_with(FlowQueue::default).take(config.flows as usize).collect(),
            bytes: vec![0; config.flows as usize],
            rounds: Rounds::new(config.flows, config.quantum),
            waiting: Backlog::default(),
        }
    }

    /// Drops heads of the queue with the most bytes, as a limit is exceeded.
    fn drop_from_longest(&mut self, exits: &mut Exits<'_, impl FnMut(T, DropReason)>) {
        // the first of several equal ones, as in Linux
        let most = self.bytes.iter().copied().max().unwrap_or(0);
        let Some(longest) = self.bytes.iter().position(|bytes| *bytes == most) else { return };
        let FlowQueue { line, control, totals, .. } = &mut self.queues[longest];
        let enough = ByteCount::from_bytes(most / 2);
        let (mut packets, mut bytes) = (0, ByteCount::ZERO);
        let (index, waiting) = (QueueIndex(longest as u32), &mut self.waiting);
        let mut source = Heads { index, line, totals, bytes: &mut self.bytes[longest], waiting, exits };
        while let Some(head) = source.pop() {
            packets += 1;
            bytes += head.item.bytes();
            source.drop_for(head, DropReason::QueueFull);
            if packets >= self.drop_batch || bytes >= enough {
                break;
            }
        }
        control.overflowed(packets);
    }

    fn queue(&self, index: QueueIndex) -> &FlowQueue<T> {
        &self.queues[index.0 as usize]
    }

    fn memory_used(&self) -> ByteCount {
        let beside = self.memory_per_packet.bytes().saturating_mul(self.waiting.packets);
        self.waiting.bytes + ByteCount::from_bytes(beside)
    }
}

impl<T: Item> QueueDiscipline<T> for FqCodelQueue<T> {
    const DROPS: &'static [(DropReason, &'static Metric)] = codel::DROPS;

    fn classify(&self, key: impl FnOnce() -> FlowKey) -> QueueIndex {
        let hash = match self.hash {
            FlowHash::FiveTuple => key().hash(self.perturbation),
            FlowHash::FieldSum => xxh3_64_with_seed(&key().field_sum().to_be_bytes(), self.perturbation),
        };
        self.rounds.queue_of(hash)
    }

    fn enqueue(
        &mut self,
        item: T,
        arrival: Arrival<impl FnOnce() -> DataRate>,
        exits: &mut Exits<'_, impl FnMut(T, DropReason)>,
    ) {
        self.waiting = self.waiting.with(item.bytes());
        self.bytes[arrival.queue.0 as usize] += item.bytes().bytes();
        let queue = &mut self.queues[arrival.queue.0 as usize];
        queue.used = true;
        queue.line.push(exits.now, item);
        self.rounds.arrived(arrival.queue);
        if self.waiting.packets > self.packets || self.memory_used() > self.memory {
            self.drop_from_longest(exits);
        }
    }

    fn dequeue(&mut self, exits: &mut Exits<'_, impl FnMut(T, DropReason)>) -> Option<T> {
        while let Some(turn) = self.rounds.turn() {
            let FlowQueue { line, control, totals, .. } = &mut self.queues[turn.queue.0 as usize];
            let (index, now, waiting) = (turn.queue, exits.now, &mut self.waiting);
            let bytes = &mut self.bytes[index.0 as usize];
            let mut source = Heads { index, line, totals, bytes, waiting, exits };
            if let Some(item) = control.dequeue(now, &self.parameters, &mut source) {
                self.rounds.served(turn, item.bytes());
                return Some(item);
            }
            self.rounds.was_empty(turn);
        }
        None
    }

    fn waiting(&self) -> Backlog {
        self.waiting
    }

    fn active_flows(&self) -> u64 {
        self.rounds.listed().filter(|queue| self.queue(*queue).line.backlog().packets > 0).count() as u64
    }

    fn flows(&self) -> Vec<FlowStatistics> {
        let numbered = (0..).map(QueueIndex).zip(&self.queues).filter(|(_, queue)| queue.used);
        let statistics = |(index, queue): (QueueIndex, &FlowQueue<T>)| FlowStatistics {
            queue: index,
            waiting: queue.line.backlog(),
            totals: queue.totals,
        };
        numbered.map(statistics).collect()
    }

    fn waiting_flows(&self) -> Vec<WaitingFlow> {
        self.queues.iter().filter_map(|queue| queue.line.flow(&queue.totals)).collect()
    }

    fn statistics(&self, totals: &QueueStatistics, out: &mut Metrics) {
        totals.statistics(Self::DROPS, out);
        out.count(&QUEUE.queues_used, self.queues.iter().filter(|queue| queue.used).count() as u64);
    }
}

#[cfg(test)]
#[path = "fq_codel_tests.rs"]
mod tests;
