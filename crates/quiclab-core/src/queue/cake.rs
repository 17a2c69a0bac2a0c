//! CAKE: fair queueing of flows within hosts, with COBALT for each flow.
//!
//! Follows `net/sched/sch_cake.c` of Linux 7.3 (`cake_enqueue`, `cake_dequeue`, `cake_hash`, `cake_drop`) step by step;
//! Høiland-Jørgensen, Täht and Morton, "Piece of CAKE" (LANMAN 2018). Flows have queues by set-associative hashing
//! (`cake/places.rs`) and are served in turn by bytes, newly busy ones first; each has a CoDel and a BLUE
//! (`cake/cobalt.rs`). The quantum of a flow is divided by the number of busy flows of its source or destination,
//! whichever has more (triple isolation), so that a host with many flows gets no more than one with a single flow.
//!
//! | | Linux | here |
//! | --- | --- | --- |
//! | shaper | its own: the next packet leaves when the previous one would have been serialised | that of the link, with the same effect of `rate` and `overhead_per_packet` |
//! | rate of quanta and times of COBALT | that of the shaper | that of the link when a packet arrives; without one, `unlimited` of Linux |
//! | hash | Jenkins or SipHash of the 5-tuple and of the addresses | XXH3 with a seed |
//! | memory | of buffers (`truesize`) | of packets |
//! | the longest queue | of equal ones the first in a heap | the one with the lowest number |
//! | classes (tins) | three by default | one, `besteffort` |
//! | `ingress`, `autorate-ingress`, `nat`, `wash`, `atm`, `mpu` | optional | none |

mod cobalt;
mod flow;
mod places;

use super::ack_filter::AckFilter;
use super::codel::FRAME;
use super::discipline::{Arrival, QueueDiscipline};
use super::exits::Exits;
use super::options::{Capacity, QueueOptions};
use super::statistics::QUEUE;
use super::tc::{self, DeviceMtu, TcQueue};
use super::{Backlog, FlowKey, FlowStatistics, Item, Outcome, QueueIndex, QueueStatistics, WaitingFlow};
use crate::element::DropReason;
use crate::limits;
use crate::metric::{Metric, Metrics};
use crate::problem::{Problem, quoted};
use crate::random::RandomStream;
use crate::time::Duration;
use crate::units::{ByteCount, DataRate};
use cobalt::{Times, Verdict};
use flow::{CakeFlow, Set};
use places::{Hashes, Places, QUEUES};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

crate::metrics! {
    /// Totals of CAKE.
    pub static CAKE: CakeMetrics = Network, "queue, `cake`" {
        /// Packets dropped by COBALT.
        cobalt_drops: Counter, Both;
        /// Flows that had to share a queue.
        queue_collisions: Counter, End;
    }

    /// Dropped acknowledgements.
    pub static ACK_FILTER: AckFilterMetrics = Network, "queue, `cake` or `ack_filter`" {
        /// Acknowledgements dropped by the filter.
        filtered_acks: Counter, Both;
    }
}

/// Fair queueing of flows and hosts with COBALT as Linux' `cake besteffort`; its shaper is the rate of the link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Cake {
    /// Acceptable standing queue delay; at least 1.5 of the largest packets at the rate of the link are. Below
    /// `interval`.
    pub target: Duration,
    /// Time during which packets must have waited longer than `target` before signals become regular (`rtt`).
    #[schemars(transform = limits::above("0 s"))]
    pub interval: Duration,
    /// Maximum number of bytes that wait in all queues; above it, heads of the longest queue are dropped.
    #[schemars(transform = limits::at_least("1514 B"))]
    pub memory: ByteCount,
    /// Whether hosts share the link, and flows the part of their host; otherwise flows share it (`flows`).
    pub host_isolation: bool,
    /// Filter of TCP acknowledgements.
    pub ack_filter: AckFilter,
}

impl Default for Cake {
    fn default() -> Self {
        Self {
            // `cake_config_init` of Linux
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            // `cake_reconfigure` of Linux up to a rate of 84 Mbit/s
            memory: ByteCount::from_bytes(4 << 20),
            host_isolation: true,
            ack_filter: AckFilter::Off,
        }
    }
}

impl QueueOptions for Cake {
    fn conflict(&self) -> Option<Problem> {
        (self.target >= self.interval).then(|| {
            let expected = format!("a duration below `interval`, \"{}\"", self.interval);
            Problem::conflict("target", quoted(self.target), expected)
        })
    }

    fn capacity(&self) -> Capacity {
        Capacity { memory: Some(self.memory), ..Capacity::default() }
    }

    fn ack_filter(&self) -> AckFilter {
        self.ack_filter
    }

    fn tc(&self) -> Result<TcQueue, Problem> {
        let isolation = if self.host_isolation { "triple-isolate" } else { "flows" };
        let ack_filter = match self.ack_filter {
            AckFilter::Off => "no-ack-filter",
            AckFilter::Conservative => "ack-filter",
            AckFilter::Aggressive => "ack-filter-aggressive",
        };
        let times =
            ["target", &tc::micros(self.target), "rtt", &tc::micros(self.interval)].map(str::to_owned);
        let memory = ["memlimit".to_owned(), self.memory.bytes().to_string()];
        let modes = ["cake", "besteffort", isolation, ack_filter].map(str::to_owned);
        // the MTU sets the quantum and the times of slow links, for which the model uses `FRAME`
        let mtu = DeviceMtu::AtCreation(FRAME);
        Ok(TcQueue::Shaper { words: [&modes[..], &times, &memory].concat(), mtu })
    }

    #[cfg(test)]
    fn examples() -> Vec<Self> {
        let small = Self { memory: ByteCount::from_bytes(20_000), ..Self::default() };
        vec![
            small.clone(),
            Self { host_isolation: false, ack_filter: AckFilter::Aggressive, ..small.clone() },
            Self {
                target: Duration::from_micros(1500),
                interval: Duration::from_millis(10),
                ack_filter: AckFilter::Conservative,
                ..small
            },
        ]
    }
}

/// All queues.
#[derive(Debug)]
pub(super) struct CakeQueue<T> {
    config: Cake,
    perturbation: u64,
    random: RandomStream,
    flows: Vec<CakeFlow<T>>,
    places: Places,
    /// Newly busy queues, busy queues, and empty ones whose control still decays, in their order of service.
    new: VecDeque<u16>,
    old: VecDeque<u16>,
    decaying: VecDeque<u16>,
    /// Rate of the last arrival, and the values derived from it.
    rate: DataRate,
    times: Times,
    /// Quantum in bytes of a flow that is alone on its hosts.
    quantum: u64,
    /// Backlog of all queues.
    waiting: Backlog,
}

impl<T: Item> CakeQueue<T> {
    /// Creates the queues; the hash of flows is perturbed by a random number.
    pub(super) fn new(config: &Cake, mut random: RandomStream) -> Self {
        let rate = DataRate::from_bits_per_second(u64::MAX);
        Self {
            config: config.clone(),
            perturbation: random.bits(),
            random,
            flows: std::iter::repeat_with(CakeFlow::default).take(QUEUES).collect(),
            places: Places::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            decaying: VecDeque::new(),
            rate,
            times: Times::new(config.target, config.interval, Duration::ZERO),
            quantum: FRAME.bytes(),
            waiting: Backlog::default(),
        }
    }

    /// Updates the values that depend on the rate (`cake_set_rate`).
    fn follow(&mut self, rate: DataRate) {
        if rate == self.rate || rate == DataRate::default() {
            return; // while a link pauses, the former values hold
        }
        self.rate = rate;
        self.times = Times::new(self.config.target, self.config.interval, rate.time_for(FRAME));
        self.quantum = (rate.bits_per_second() / 8 / 4096).clamp(300, FRAME.bytes());
    }

    fn hashes(&self, key: &FlowKey) -> Hashes {
        let flow = key.hash(self.perturbation) as u32;
        if !self.config.host_isolation {
            return Hashes { flow, source: 0, destination: 0 };
        }
        let [source, destination] = key.hosts(self.perturbation);
        Hashes { flow, source: source as u32, destination: destination as u32 }
    }

    fn quantum_of(&mut self, flow: usize) -> i64 {
        if self.config.host_isolation {
            self.places.quantum(self.quantum, &self.flows[flow], &mut self.random)
        } else {
            self.quantum as i64
        }
    }

    /// Drops the head of the queue with the most bytes, as the limit is exceeded.
    fn drop_from_longest(&mut self, exits: &mut Exits<'_, impl FnMut(T, DropReason)>) {
        let busy = self.new.iter().chain(&self.old);
        let bytes = |queue: u16| self.flows[usize::from(queue)].line.backlog().bytes;
        let longest = busy.max_by_key(|queue| (bytes(**queue), std::cmp::Reverse(**queue)));
        let Some(&queue) = longest else { return };
        let flow = &mut self.flows[usize::from(queue)];
        let Some(head) = flow.line.pop() else { return };
        self.waiting.packets -= 1;
        self.waiting.bytes -= head.item.bytes();
        flow.control.overflowed(exits.now, &self.times);
        flow.totals.note(exits.now.since(head.arrived), Outcome::Dropped(DropReason::QueueFull));
        exits.drop(QueueIndex(u32::from(queue)), head, DropReason::QueueFull);
    }

    /// The queue whose turn it is, at the head of its list, and its list; `decaying_first` gives precedence to decaying
    /// ones.
    fn head(&self, decaying_first: bool) -> Option<(u16, Rotation)> {
        let first =
            self.decaying.front().filter(|_| decaying_first).map(|queue| (*queue, Rotation::Decaying));
        let of = |list: &VecDeque<u16>, rotation| list.front().map(|queue| (*queue, rotation));
        first
            .or_else(|| of(&self.new, Rotation::New))
            .or_else(|| of(&self.old, Rotation::Old))
            .or_else(|| of(&self.decaying, Rotation::Decaying))
    }

    fn unlist(&mut self, rotation: Rotation) {
        match rotation {
            Rotation::New => self.new.pop_front(),
            Rotation::Old => self.old.pop_front(),
            Rotation::Decaying => self.decaying.pop_front(),
        };
    }

    /// Ends the turn of `queue`, which goes to the end of the rotation of busy ones.
    fn end_turn(&mut self, queue: u16, rotation: Rotation) {
        let index = usize::from(queue);
        if self.flows[index].set == Set::Sparse {
            if self.flows[index].line.backlog().packets > 0 {
                self.places.enter_bulk(&self.flows[index]);
                self.flows[index].set = Set::Bulk;
            } else {
                self.flows[index].set = Set::SparseWait;
            }
        }
        self.flows[index].deficit += self.quantum_of(index);
        self.unlist(rotation);
        self.old.push_back(queue);
    }

    /// Handles a turn of `queue` in which it was empty.
    fn was_empty(&mut self, queue: u16, rotation: Rotation, exits: &Exits<'_, impl FnMut(T, DropReason)>) {
        let flow = &mut self.flows[usize::from(queue)];
        flow.control.was_empty(exits.now, &self.times);
        let rests = flow.control.is_at_rest(exits.now);
        self.places.leave_bulk(&self.flows[usize::from(queue)]);
        self.flows[usize::from(queue)].set = if rests { Set::None } else { Set::Decaying };
        self.unlist(rotation);
        if !rests {
            self.decaying.push_back(queue);
        }
    }
}

/// List that a queue is in.
#[derive(Clone, Copy, Debug)]
enum Rotation {
    New,
    Old,
    Decaying,
}

impl<T: Item> QueueDiscipline<T> for CakeQueue<T> {
    const DROPS: &'static [(DropReason, &'static Metric)] =
        &[(DropReason::Cobalt, &CAKE.cobalt_drops), (DropReason::AckFiltered, &ACK_FILTER.filtered_acks)];

    fn enqueue(
        &mut self,
        item: T,
        arrival: Arrival<impl FnOnce() -> DataRate>,
        exits: &mut Exits<'_, impl FnMut(T, DropReason)>,
    ) {
        self.follow((arrival.rate)());
        let hashes = self.hashes(&item.key());
        let index = self.places.queue(hashes, &mut self.flows);
        let queue = index as u16;
        self.waiting = self.waiting.with(item.bytes());
        let flow = &mut self.flows[index];
        flow.used = true;
        flow.line.push(exits.now, item);
        if let Some(ack) = self.config.ack_filter.filter(&mut flow.line) {
            self.waiting.packets -= 1;
            self.waiting.bytes -= ack.item.bytes();
            flow.totals.note(exits.now.since(ack.arrived), Outcome::Dropped(DropReason::AckFiltered));
            exits.drop(QueueIndex(index as u32), ack, DropReason::AckFiltered);
        }
        match self.flows[index].set {
            Set::None | Set::Decaying => {
                if self.flows[index].set == Set::Decaying {
                    self.decaying.retain(|other| *other != queue);
                }
                self.new.push_back(queue);
                self.flows[index].set = Set::Sparse;
                self.flows[index].deficit = self.quantum_of(index);
            }
            Set::SparseWait => {
                self.flows[index].set = Set::Bulk;
                self.places.enter_bulk(&self.flows[index]);
            }
            Set::Sparse | Set::Bulk => {}
        }
        while self.waiting.bytes > self.config.memory {
            self.drop_from_longest(exits);
        }
    }

    fn dequeue(&mut self, exits: &mut Exits<'_, impl FnMut(T, DropReason)>) -> Option<T> {
        let mut decaying_first = true;
        while self.waiting.packets > 0 {
            let (queue, rotation) = self.head(decaying_first)?;
            decaying_first = false;
            let index = usize::from(queue);
            if self.flows[index].deficit <= 0 {
                self.end_turn(queue, rotation);
                continue;
            }
            let (times, random) = (&self.times, &mut self.random);
            let CakeFlow { line, control, totals, deficit, .. } = &mut self.flows[index];
            let queue_index = QueueIndex(u32::from(queue));
            while let Some(mut head) = line.pop() {
                self.waiting.packets -= 1;
                self.waiting.bytes -= head.item.bytes();
                let sojourn = exits.now.since(head.arrived);
                let verdict = control.judge(exits.now, times, sojourn, || head.item.mark(), random);
                // the last packet of a queue is never dropped
                if verdict == Verdict::Drop && line.backlog().packets > 0 {
                    totals.note(sojourn, Outcome::Dropped(DropReason::Cobalt));
                    exits.drop(queue_index, head, DropReason::Cobalt);
                    continue;
                }
                let outcome = if verdict == Verdict::Mark { Outcome::Marked } else { Outcome::Served };
                *deficit -= head.item.bytes().bytes() as i64;
                totals.note(sojourn, outcome);
                exits.left(queue_index, head.arrived, outcome);
                return Some(head.item);
            }
            self.was_empty(queue, rotation, exits);
        }
        None
    }

    fn waiting(&self) -> Backlog {
        self.waiting
    }

    fn active_flows(&self) -> u64 {
        let busy = self.new.iter().chain(&self.old).map(|queue| &self.flows[usize::from(*queue)]);
        busy.filter(|flow| flow.line.backlog().packets > 0).count() as u64
    }

    fn flows(&self) -> Vec<FlowStatistics> {
        let numbered = (0..).map(QueueIndex).zip(&self.flows).filter(|(_, flow)| flow.used);
        let statistics = |(index, flow): (QueueIndex, &CakeFlow<T>)| FlowStatistics {
            queue: index,
            waiting: flow.line.backlog(),
            totals: flow.totals,
        };
        numbered.map(statistics).collect()
    }

    fn waiting_flows(&self) -> Vec<WaitingFlow> {
        self.flows.iter().filter_map(|queue| queue.line.flow(&queue.totals)).collect()
    }

    fn statistics(&self, totals: &QueueStatistics, out: &mut Metrics) {
        totals.statistics(Self::DROPS, out);
        out.count(&QUEUE.queues_used, self.flows.iter().filter(|flow| flow.used).count() as u64);
        out.count(&CAKE.queue_collisions, self.places.collisions);
    }
}

#[cfg(test)]
#[path = "cake_tests.rs"]
mod tests;
