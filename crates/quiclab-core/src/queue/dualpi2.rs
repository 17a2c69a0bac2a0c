//! Dual-queue coupled AQM with PI2 (DualPI2): a low-latency queue for scalable congestion controls, in which packets
//! are marked above a step and by the controller of the other queue, and a classic queue for all others.
//!
//! RFC 9332 section 2 and appendix A; Linux 6.17 to 7.3 `net/sched/sch_dualpi2.c` (`dualpi2_enqueue_skb`,
//! `__dualpi2_qdisc_dequeue`, `must_drop`, `calculate_probability`), followed step by step.
//!
//! | | RFC 9332 appendix A | Linux | here |
//! | --- | --- | --- | --- |
//! | marks of low-latency packets | a ramp by the waiting time, or the coupled probability if greater | step at 1 ms; besides the coupled probability | as Linux |
//! | probabilities | real; a deterministic accumulation | in units of 2^-32, random | as Linux |
//! | change above 1 in one update | bounded | wraps at 32 bits | bounded |
//! | scheduler | time-shifted FIFO, or weighted round robin | weighted round robin with a credit in bytes | as Linux |
//! | waiting time | of the head of the classic queue | the longer one of both heads | as Linux |
//! | nothing dropped or marked by the controller | - | while less than two MTUs wait in both queues | as Linux |
//! | overload | above a coupled probability of 100 % both queues drop | same (`drop_overload`) | same |
//! | decision | on departure (appendix A.1) | same by default (`drop_on_dequeue`) | on departure |
//! | limit | packets or bytes | packets and memory (twice the bytes of a full queue) | packets |
//! | update | a timer | a timer of nanoseconds that starts with the discipline | every `update_interval` from the start |
//! | backlog below a token bucket | - | includes the packet that waits for tokens | not the one in service |
//!
//! A packet belongs to the low-latency queue by its ECN field (RFC 9331 section 5.1): ECT(1) and CE, or every
//! ECN-capable one (`low_latency`). There is no timer: updates that are due are made at the next call, as in
//! [`super::pie`].

mod control;
mod line;

use control::{Control, Parameters};
use line::Line;

use super::codel::FRAME;
use super::discipline::{Arrival, QueueDiscipline};
use super::exits::Exits;
use super::options::{Capacity, QueueOptions};
use super::tc::{self, DeviceMtu, TcQueue};
use super::waiting::Waiting;
use super::{Backlog, FlowStatistics, Item, Outcome, QueueIndex, QueueStatistics};
use crate::element::DropReason;
use crate::ip::Ecn;
use crate::limits;
use crate::metric::{Metric, Metrics};
use crate::problem::Problem;
use crate::random::RandomStream;
use crate::time::{Duration, Time};
use crate::units::{ByteCount, DataRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

crate::metrics! {
    /// Totals of DualPI2.
    pub static DUALPI2: Dualpi2Metrics = Network, "queue, `dualpi2`" {
        /// Packets dropped by DualPI2.
        dualpi2_drops: Counter, Both;
        /// Mean sojourn time of the packets of the classic queue.
        classic_sojourn_ms: Mean, End;
        /// The longest sojourn time in the classic queue.
        classic_longest_sojourn_ms: Maximum, End;
        /// Packets marked in the classic queue.
        classic_ce_marks: Counter, End;
        /// Mean sojourn time of the packets of the low-latency queue.
        low_latency_sojourn_ms: Mean, End;
        /// The longest sojourn time in the low-latency queue.
        low_latency_longest_sojourn_ms: Maximum, End;
        /// Packets marked in the low-latency queue.
        low_latency_ce_marks: Counter, End;
    }
}

/// Dual-queue coupled AQM (DualPI2, RFC 9332) as Linux' `dualpi2`: a low-latency queue for scalable congestion controls
/// (L4S), and a classic queue for all others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dualpi2 {
    /// Maximum number of packets that wait in both queues; packets that would exceed it are dropped on arrival.
    #[schemars(transform = limits::between(1, u32::MAX))]
    pub packets: u64,
    /// Target waiting time of the controller.
    #[schemars(transform = limits::between("1 us", "1 s"))]
    pub target: Duration,
    /// Time between two updates of the probability.
    #[schemars(transform = limits::between("1 ms", "1 s"))]
    pub update_interval: Duration,
    /// Increase of the probability at an update for each second of waiting time above `target`. Linux' unit: 41 is 0.16.
    #[schemars(transform = limits::between(1, 8_388_607).unit("256ths"))]
    pub alpha: u32,
    /// Increase of the probability for each second by which the waiting time has grown since the last update.
    #[schemars(transform = limits::between(1, 8_388_607).unit("256ths"))]
    pub beta: u32,
    /// Probability of a mark in the low-latency queue as a multiple of the controller's; that of a drop or mark in the
    /// classic queue is the controller's squared.
    #[schemars(transform = limits::between(1, 255))]
    pub coupling_factor: u32,
    /// Packets of the low-latency queue that have waited longer are marked.
    #[schemars(transform = limits::between("0 s", "4 s"))]
    pub step_threshold: Duration,
    /// Share of the rate that the classic queue has at least.
    #[schemars(transform = limits::between(0, 100).unit("percent"))]
    pub classic_protection: u32,
    /// Packets of the low-latency queue.
    pub low_latency: LowLatency,
    /// Size of the largest packet, its header included; while less than two of them wait, the controller drops or marks
    /// nothing.
    #[schemars(transform = limits::between("1 B", "1 MiB"))]
    pub mtu: ByteCount,
}

/// Packets that go to the low-latency queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LowLatency {
    /// ECT(1) and CE (RFC 9331).
    #[default]
    L4s,
    /// All that are ECN-capable: for DCTCP, which sends ECT(0).
    AnyEct,
}

impl Default for Dualpi2 {
    fn default() -> Self {
        Self {
            // `dualpi2_reset_default` of Linux
            packets: 10_000,
            // RFC 9332 appendix A.1
            target: Duration::from_millis(15),
            update_interval: Duration::from_millis(16),
            // 0.16 and 3.2 per second (RFC 9332 appendix A.1)
            alpha: 41,
            beta: 819,
            // RFC 9332 section 2.1
            coupling_factor: 2,
            step_threshold: Duration::from_millis(1),
            classic_protection: 10,
            low_latency: LowLatency::default(),
            mtu: FRAME,
        }
    }
}

impl QueueOptions for Dualpi2 {
    fn capacity(&self) -> Capacity {
        Capacity { packets: Some(self.packets), ..Capacity::default() }
    }

    fn tc(&self) -> Result<TcQueue, Problem> {
        let mtu = DeviceMtu::Always(tc::device_mtu("mtu", self.mtu)?);
        let numbers = [
            ("limit", self.packets),
            ("alpha", self.alpha.into()),
            ("beta", self.beta.into()),
            ("coupling_factor", self.coupling_factor.into()),
            ("classic_protection", self.classic_protection.into()),
        ];
        let times = [
            ("target", self.target),
            ("tupdate", self.update_interval),
            ("step_thresh", self.step_threshold),
        ];
        let times = times.into_iter().flat_map(|(name, time)| [name.to_owned(), tc::micros(time)]);
        let packets = match self.low_latency {
            LowLatency::L4s => "l4s_ect",
            LowLatency::AnyEct => "any_ect",
        };
        let words =
            tc::words("dualpi2", numbers).into_iter().chain(times).chain([packets.to_owned()]).collect();
        Ok(TcQueue::Child { words, mtu })
    }

    #[cfg(test)]
    fn examples() -> Vec<Self> {
        let plain = Self { packets: 50, ..Self::default() };
        let eager = Self {
            target: Duration::from_millis(1),
            step_threshold: Duration::from_micros(100),
            alpha: 4000,
            beta: 80_000,
            low_latency: LowLatency::AnyEct,
            mtu: ByteCount::from_bytes(100),
            ..plain.clone()
        };
        vec![plain, Self { classic_protection: 90, ..eager.clone() }, eager]
    }
}

/// Sum of the weights of both queues in Linux.
const WHOLE: i64 = 100;
const CLASSIC: QueueIndex = QueueIndex(0);
const LOW_LATENCY: QueueIndex = QueueIndex(1);

/// Decision of the controller on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    Mark,
    Drop,
}

/// Both queues.
#[derive(Debug)]
pub(super) struct Dualpi2Queue<T> {
    config: Dualpi2,
    parameters: Parameters,
    control: Control,
    /// Time of the next update of the probability.
    next_update: Time,
    /// Weight of the classic queue; that of the other one is [`WHOLE`] minus this.
    weight: i64,
    /// Credit in bytes that determines the next queue: the low-latency queue at 0 or below.
    credit: i64,
    random: RandomStream,
    /// The classic and the low-latency queue.
    lines: Box<[Line<T>; 2]>,
}

impl<T: Item> Dualpi2Queue<T> {
    pub(super) fn new(config: &Dualpi2, random: RandomStream) -> Self {
        let mut queue = Self {
            config: config.clone(),
            parameters: Parameters::from(config),
            control: Control::default(),
            next_update: Time::ZERO + config.update_interval,
            weight: config.classic_protection.into(),
            credit: 0,
            random,
            lines: Box::default(),
        };
        queue.reset_credit();
        queue
    }

    /// Resets the credit: the low-latency queue is served first unless the classic one has more than half of the rate.
    fn reset_credit(&mut self) {
        self.credit = self.config.mtu.bytes() as i64 * (2 * self.weight - WHOLE);
    }

    fn line(&mut self, index: QueueIndex) -> &mut Line<T> {
        &mut self.lines[index.0 as usize]
    }

    fn is_active(&self, index: QueueIndex) -> bool {
        self.lines[index.0 as usize].items.backlog().packets > 0
    }

    fn is_low_latency(&self, item: &T) -> bool {
        match item.ecn() {
            Ecn::NotEct => false,
            Ecn::Ect0 => self.config.low_latency == LowLatency::AnyEct,
            Ecn::Ect1 | Ecn::Ce => true,
        }
    }

    /// Makes all updates that were due by `now`.
    fn update_until(&mut self, now: Time) {
        let oldest = self.lines.iter().filter_map(|line| line.items.head()).map(|head| head.arrived).min();
        let interval = self.config.update_interval;
        while self.next_update <= now {
            let before = self.control;
            self.control
                .update(&self.parameters, oldest.map_or(Duration::ZERO, |at| self.next_update.since(at)));
            if oldest.is_none() && self.control == before {
                let passed = now.since(self.next_update).as_nanos() / interval.as_nanos();
                self.next_update += interval * passed;
            }
            self.next_update += interval;
        }
    }

    /// The next packet, its queue, and the change of the credit by its bytes.
    fn next(&mut self) -> Option<(QueueIndex, Waiting<T>, i64)> {
        let [is_classic, is_low_latency] = [CLASSIC, LOW_LATENCY].map(|index| self.is_active(index));
        let (index, weight) = if is_low_latency && (!is_classic || self.credit <= 0) {
            (LOW_LATENCY, if is_classic { self.weight } else { 0 })
        } else {
            (CLASSIC, if is_low_latency { self.weight - WHOLE } else { 0 })
        };
        let head = self.line(index).items.pop()?;
        let change = weight * head.item.bytes().bytes() as i64;
        Some((index, head, change))
    }

    fn verdict(&mut self, index: QueueIndex, ecn: Ecn) -> Verdict {
        if self.waiting().bytes.bytes() < 2 * self.config.mtu.bytes() {
            return Verdict::Pass;
        }
        let is_overloaded = self.control.is_overloaded(&self.parameters);
        let strikes = if index == CLASSIC || is_overloaded {
            self.control.strikes_classic(&mut self.random)
        } else {
            self.control.strikes_low_latency(&self.parameters, &mut self.random)
        };
        match (strikes, index == LOW_LATENCY && is_overloaded) {
            (true, true) => Verdict::Drop,
            (false, true) => Verdict::Mark,
            (true, false) if ecn == Ecn::NotEct || is_overloaded => Verdict::Drop,
            (true, false) => Verdict::Mark,
            (false, false) => Verdict::Pass,
        }
    }
}

impl<T: Item> QueueDiscipline<T> for Dualpi2Queue<T> {
    const DROPS: &'static [(DropReason, &'static Metric)] = &[(DropReason::Dualpi2, &DUALPI2.dualpi2_drops)];

    fn enqueue(
        &mut self,
        item: T,
        arrival: Arrival<impl FnOnce() -> DataRate>,
        exits: &mut Exits<'_, impl FnMut(T, DropReason)>,
    ) {
        self.update_until(exits.now);
        let index = if self.is_low_latency(&item) { LOW_LATENCY } else { CLASSIC };
        let waiting = self.waiting().packets;
        if waiting == 0 && arrival.in_service.is_none() {
            // Linux finds the queues empty after its last packet, where a link of quiclab may not dequeue
            self.reset_credit();
        }
        if waiting < self.config.packets {
            self.line(index).items.push(exits.now, item);
        } else {
            self.line(index).totals.note(Duration::ZERO, Outcome::Dropped(DropReason::QueueFull));
            exits.refuse(index, item, DropReason::QueueFull);
        }
    }

    fn dequeue(&mut self, exits: &mut Exits<'_, impl FnMut(T, DropReason)>) -> Option<T> {
        self.update_until(exits.now);
        while let Some((index, mut head, change)) = self.next() {
            let sojourn = exits.now.since(head.arrived);
            let verdict = self.verdict(index, head.item.ecn());
            if verdict == Verdict::Drop {
                self.line(index).totals.note(sojourn, Outcome::Dropped(DropReason::Dualpi2));
                exits.drop(index, head, DropReason::Dualpi2);
                continue;
            }
            let steps = index == LOW_LATENCY && sojourn > self.config.step_threshold;
            let marked = (verdict == Verdict::Mark || steps) && head.item.mark();
            self.credit += change;
            let outcome = if marked { Outcome::Marked } else { Outcome::Served };
            self.line(index).totals.note(sojourn, outcome);
            exits.left(index, head.arrived, outcome);
            return Some(head.item);
        }
        self.reset_credit();
        None
    }

    fn waiting(&self) -> Backlog {
        let [classic, low_latency] = [&self.lines[0], &self.lines[1]].map(|line| line.items.backlog());
        Backlog { packets: classic.packets + low_latency.packets, bytes: classic.bytes + low_latency.bytes }
    }

    fn active_flows(&self) -> u64 {
        u64::from(self.is_active(CLASSIC)) + u64::from(self.is_active(LOW_LATENCY))
    }

    fn flows(&self) -> Vec<FlowStatistics> {
        [CLASSIC, LOW_LATENCY]
            .into_iter()
            .zip(&*self.lines)
            .map(|(queue, line)| line.statistics(queue))
            .collect()
    }

    fn statistics(&self, totals: &QueueStatistics, out: &mut Metrics) {
        totals.statistics(Self::DROPS, out);
        for (line, [sojourn, longest, marks]) in self.lines.iter().zip([
            [&DUALPI2.classic_sojourn_ms, &DUALPI2.classic_longest_sojourn_ms, &DUALPI2.classic_ce_marks],
            [
                &DUALPI2.low_latency_sojourn_ms,
                &DUALPI2.low_latency_longest_sojourn_ms,
                &DUALPI2.low_latency_ce_marks,
            ],
        ]) {
            out.set(sojourn, line.totals.mean_sojourn_ms());
            out.set(longest, line.totals.longest_sojourn.as_ms_f64());
            out.count(marks, line.totals.ce_marks);
        }
    }
}

#[cfg(test)]
#[path = "dualpi2_tests.rs"]
mod tests;
