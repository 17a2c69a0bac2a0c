//! Fair queueing with PIE (FQ-PIE): flows are hashed to queues, each with its own PIE, and queues are served in turn by
//! bytes, newly busy ones first.
//!
//! Linux 5.6 to 7.3 `net/sched/sch_fq_pie.c` (`fq_pie_qdisc_enqueue`, `fq_pie_qdisc_dequeue`, `fq_pie_timer`), followed
//! step by step; no RFC describes it.
//!
//! | | Linux | here |
//! | --- | --- | --- |
//! | hash | SipHash of the 5-tuple | XXH3 with a seed |
//! | update of the probabilities | a timer for all queues, 2048 of them at a time and the others a jiffy later; the first after 500 ms | each queue by itself, exactly each `update_interval`, the first after one |
//! | `memory_limit` | counted where it is exceeded; nothing is dropped for it | none |
//! | backlog of PIE's exception | the queue's | as Linux |
//! | `burst_allowance` | 150 ms | as Linux |
//!
//! Differences of PIE itself: see [`super::pie`].

use super::codel::FRAME;
use super::discipline::{Arrival, QueueDiscipline};
use super::exits::Exits;
use super::options::{Capacity, QueueOptions};
use super::pie::{self, Controller, Parameters, Pie};
use super::rounds::Rounds;
use super::statistics::QUEUE;
use super::tc::{self, TcQueue};
use super::waiting::{Marked, WaitingItems};
use super::{Backlog, FlowKey, FlowStatistics, Item, Outcome, QueueIndex, QueueStatistics, WaitingFlow};
use crate::element::DropReason;
use crate::limits;
use crate::metric::{Metric, Metrics};
use crate::problem::Problem;
use crate::random::RandomStream;
use crate::time::Duration;
use crate::units::{ByteCount, DataRate, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A PIE queue for each flow, served in turn (FQ-PIE) as Linux' `fq_pie`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FqPie {
    /// Maximum number of packets that wait in all queues; packets that would exceed it are dropped on arrival.
    #[schemars(transform = limits::at_least(1))]
    pub packets: u64,
    /// Number of queues that flows are hashed to.
    #[schemars(transform = limits::between(1, 65536).unit("queues"))]
    pub flows: u32,
    /// Bytes that a queue may send in its turn.
    #[schemars(transform = limits::between("256 B", "1 MiB"))]
    pub quantum: ByteCount,
    /// As for `pie`.
    #[schemars(transform = limits::above("0 s"))]
    pub target: Duration,
    /// As for `pie`.
    #[schemars(transform = limits::at_least("1 ms"))]
    pub update_interval: Duration,
    /// As for `pie`.
    #[schemars(transform = limits::between(0, 32).unit("sixteenths"))]
    pub alpha: u32,
    /// As for `pie`.
    #[schemars(transform = limits::between(0, 32).unit("sixteenths"))]
    pub beta: u32,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Probability above which ECN-capable packets are also dropped (`ecn_prob`).
    pub ecn_drop_threshold: Probability,
    /// As for `pie`.
    pub byte_mode: bool,
    /// As for `pie`.
    pub rate_estimator: bool,
    /// As for `pie`, of the packets of a queue.
    #[schemars(transform = limits::between("1 B", "1 MiB"))]
    pub mtu: ByteCount,
}

// a `Probability` is never NaN
impl Eq for FqPie {}

impl Default for FqPie {
    fn default() -> Self {
        let Pie {
            target,
            update_interval,
            alpha,
            beta,
            ecn,
            ecn_drop_threshold,
            byte_mode,
            rate_estimator,
            mtu,
            ..
        } = Pie::default();
        Self {
            // `fq_pie_init` of Linux
            packets: 10_240,
            flows: 1024,
            quantum: FRAME,
            target,
            update_interval,
            alpha,
            beta,
            ecn,
            ecn_drop_threshold,
            byte_mode,
            rate_estimator,
            mtu,
        }
    }
}

impl FqPie {
    /// Configuration of PIE for each of the queues.
    fn pie(&self) -> Pie {
        let Self { packets, target, update_interval, alpha, beta, ecn, ecn_drop_threshold, .. } = *self;
        let Self { byte_mode, rate_estimator, mtu, .. } = *self;
        Pie {
            packets,
            target,
            update_interval,
            alpha,
            beta,
            ecn,
            ecn_drop_threshold,
            byte_mode,
            burst_allowance: pie::BURST_OF_LINUX,
            rate_estimator,
            mtu,
        }
    }
}

impl QueueOptions for FqPie {
    fn capacity(&self) -> Capacity {
        let (packets, flows) = (Some(self.packets), Some(self.flows));
        Capacity { packets, flows, ..Capacity::default() }
    }

    fn tc(&self) -> Result<TcQueue, Problem> {
        let percent = self.ecn_drop_threshold.value() * 100.0;
        if (percent - percent.round()).abs() > 1e-9 {
            return Err(Problem::conflict("ecn_drop_threshold", self.ecn_drop_threshold, "whole per cent"));
        }
        let numbers = [
            ("limit", self.packets),
            ("flows", u64::from(self.flows)),
            ("quantum", self.quantum.bytes()),
            ("ecn_prob", percent.round() as u64),
        ];
        let (control, mtu) = self.pie().tc_control()?;
        Ok(TcQueue::Child { words: [tc::words("fq_pie", numbers), control].concat(), mtu })
    }

    #[cfg(test)]
    fn examples() -> Vec<Self> {
        let small = Self { packets: 50, flows: 3, ..Self::default() };
        let quantum = ByteCount::from_bytes(300);
        let eager = Self { target: Duration::from_millis(1), ecn: true, quantum, ..small.clone() };
        vec![small, eager.clone(), Self { rate_estimator: true, ..eager }]
    }
}

/// The queue of some flows.
#[derive(Debug)]
struct FlowQueue<T> {
    line: WaitingItems<Marked<T>>,
    controller: Controller,
    totals: QueueStatistics,
    /// Whether it has had an item.
    used: bool,
}

/// All queues.
#[derive(Debug)]
pub(super) struct FqPieQueue<T> {
    packets: u64,
    parameters: Parameters,
    perturbation: u64,
    random: RandomStream,
    queues: Vec<FlowQueue<T>>,
    rounds: Rounds,
    /// Backlog of all queues.
    waiting: Backlog,
}

impl<T: Item> FqPieQueue<T> {
    /// Creates the queues; the hash of flows is perturbed by a random number.
    pub(super) fn new(config: &FqPie, mut random: RandomStream) -> Self {
        let parameters = Parameters::from(&config.pie());
        let queue = || FlowQueue {
            line: WaitingItems::default(),
            controller: Controller::new(&parameters),
            totals: QueueStatistics::default(),
            used: false,
        };
        Self {
            packets: config.packets,
            perturbation: random.bits(),
            random,
            queues: std::iter::repeat_with(queue).take(config.flows as usize).collect(),
            rounds: Rounds::new(config.flows, config.quantum),
            waiting: Backlog::default(),
            parameters,
        }
    }
}

impl<T: Item> QueueDiscipline<T> for FqPieQueue<T> {
    const DROPS: &'static [(DropReason, &'static Metric)] = pie::DROPS;

    fn classify(&self, key: impl FnOnce() -> FlowKey) -> QueueIndex {
        self.rounds.queue_of(key().hash(self.perturbation))
    }

    fn enqueue(
        &mut self,
        mut item: T,
        arrival: Arrival<impl FnOnce() -> DataRate>,
        exits: &mut Exits<'_, impl FnMut(T, DropReason)>,
    ) {
        let FlowQueue { line, controller, totals, used } = &mut self.queues[arrival.queue.0 as usize];
        let backlog = line.backlog().bytes.bytes();
        *used = true;
        controller.update_until(&self.parameters, exits.now, backlog);
        let judged = if self.waiting.packets < self.packets {
            controller.judge(&self.parameters, &mut item, backlog, &mut self.random)
        } else {
            controller.control.accumulated = 0;
            Err(DropReason::QueueFull)
        };
        match judged {
            Ok(marked) => {
                self.waiting = self.waiting.with(item.bytes());
                line.push(exits.now, Marked { item, marked });
                self.rounds.arrived(arrival.queue);
            }
            Err(reason) => {
                totals.note(Duration::ZERO, Outcome::Dropped(reason));
                exits.refuse(arrival.queue, item, reason);
            }
        }
    }

    fn dequeue(&mut self, exits: &mut Exits<'_, impl FnMut(T, DropReason)>) -> Option<T> {
        while let Some(turn) = self.rounds.turn() {
            let FlowQueue { line, controller, totals, .. } = &mut self.queues[turn.queue.0 as usize];
            controller.update_until(&self.parameters, exits.now, line.backlog().bytes.bytes());
            let Some(head) = line.pop() else {
                self.rounds.was_empty(turn);
                continue;
            };
            let (bytes, backlog) = (head.item.bytes(), line.backlog().bytes.bytes());
            self.waiting.packets -= 1;
            self.waiting.bytes -= bytes;
            self.rounds.served(turn, bytes);
            controller.control.departed(&self.parameters, exits.now, head.arrived, bytes.bytes(), backlog);
            let outcome = if head.item.marked { Outcome::Marked } else { Outcome::Served };
            totals.note(exits.now.since(head.arrived), outcome);
            return Some(exits.serve_marked(turn.queue, head));
        }
        None
    }

    fn waiting(&self) -> Backlog {
        self.waiting
    }

    fn active_flows(&self) -> u64 {
        let has_any = |queue: &QueueIndex| self.queues[queue.0 as usize].line.backlog().packets > 0;
        self.rounds.listed().filter(has_any).count() as u64
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
#[path = "fq_pie_tests.rs"]
mod tests;
