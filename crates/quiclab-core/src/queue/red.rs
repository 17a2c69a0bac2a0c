//! Random early detection (RED): drops or marks some of the arriving packets, with a probability that follows the
//! average of the backlog; adaptive RED adjusts the maximum of that probability.
//!
//! Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM ToN 1(4), 1993; Floyd,
//! Gummadi and Shenker, "Adaptive RED: An Algorithm for Increasing the Robustness of RED's Active Queue Management",
//! 2001; Linux 7.3 `net/sched/sch_red.c` (`red_enqueue`, `red_dequeue`, `red_adaptative_timer`) and `include/net/red.h`
//! (`red_calc_qavg`, `red_action`, `red_adaptative_algo`), followed step by step.
//!
//! | | papers | Linux | here |
//! | --- | --- | --- | --- |
//! | average | real, of packets or bytes | of bytes, weights of 2^-n, as whole numbers | as Linux |
//! | average after an idle time | as if packets of `packet_time` had passed | table of shifts, which iproute2 fills with a natural logarithm for base 2 and in ticks of 64 ns, although Linux reads it in microseconds: slower by 22 times | the table in microseconds; 15.625 times the `packet_time` gives that of iproute2 |
//! | idle time begins | when the last packet leaves | when the discipline is called and is empty; below `tbf` and `htb` never | as Linux below `tbf` without `packet_time`; in tunnels, which dequeue only while packets wait, never |
//! | spacing of drops | uniform: probability / (1 - count x probability) (1993, section 7) | a random number for each series: count x probability reaches it | as Linux |
//! | from the maximum threshold on | all are dropped; "gentle": probability up to 1 at twice the threshold (2001) | all are dropped, or marked without `hard_drop`; not gentle | as Linux |
//! | ECN | marks (1993, section 10) | if `ecn` | as Linux |
//! | probability adapted each | 500 ms | 500 ms, rounded up to its timers' ticks: up to 512 ms at 1000 Hz | exactly 500 ms |
//! | adaptive | | as a flag of the older form only: the request of iproute2 5.6 and later starts no timer | works |
//! | limit | packets | bytes (`bfifo`), after RED | as Linux |
//! | backlog below a token bucket | - | includes the packet that waits for tokens | includes the one in service |
//!
//! With equal thresholds and `weight_exponent = 0` the average is the backlog: all packets that find at least the
//! threshold are marked, which is the step of DCTCP's switches (RFC 8257 section 3.1). iproute2 rejects both settings;
//! the kernel accepts them.
//!
//! There is no timer: adaptations that were due by a call are computed at its beginning, with the values of their
//! times.

mod control;

use control::{Action, Control, Parameters};

use super::discipline::{Arrival, QueueDiscipline};
use super::exits::Exits;
use super::options::{Capacity, QueueOptions};
use super::statistics::QUEUE;
use super::tc::{self, DeviceMtu, TcQueue};
use super::waiting::{Marked, WaitingItems};
use super::{Backlog, Item, QueueIndex, QueueStatistics};
use crate::element::DropReason;
use crate::limits;
use crate::metric::{Metric, Metrics};
use crate::problem::{Problem, quoted};
use crate::random::RandomStream;
use crate::time::{Duration, Time};
use crate::units::{ByteCount, DataRate, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

crate::metrics! {
    /// Totals of RED.
    pub static RED: RedMetrics = Network, "queue, `red`" {
        /// Packets dropped between the thresholds.
        red_drops: Counter, Both;
        /// Packets dropped as the average was at `max_threshold` or above.
        red_forced_drops: Counter, Both;
        /// Maximum probability, which changes with `adaptive`.
        red_max_probability: Gauge, Both;
        /// Average backlog at the last arrival.
        average_queue_bytes: Gauge, Series;
    }
}

/// Random early detection (RED, Floyd and Jacobson 1993) as Linux' `red`: one queue, dropped from or marked on arrival.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Red {
    /// Maximum number of bytes that wait; packets that would exceed it are dropped on arrival.
    #[schemars(transform = limits::between("1 B", "1 GiB"))]
    pub bytes: ByteCount,
    /// Average backlog up to which nothing is dropped or marked. At most `max_threshold`.
    #[schemars(transform = limits::at_least("1 B"))]
    pub min_threshold: ByteCount,
    /// Average backlog from which on everything is dropped or marked. Below 2 GiB x 2^-`weight_exponent`. With equal
    /// thresholds and `weight_exponent = 0` it is the step of DCTCP (RFC 8257 section 3.1).
    #[schemars(transform = limits::at_least("1 B"))]
    pub max_threshold: ByteCount,
    /// Probability just below `max_threshold`, from which it decreases linearly to 0 at `min_threshold`.
    #[schemars(transform = limits::above(0.0))]
    pub max_probability: Probability,
    /// At an arrival, the backlog has the weight 2^-`weight_exponent` in the average (Linux' `Wlog`); 0: the average is the
    /// backlog.
    #[schemars(transform = limits::between(0, 30))]
    pub weight_exponent: u32,
    /// Time of a typical packet on the link: so many are taken to have met an empty queue during an idle time (default:
    /// the average stays during it, as below `tbf` of Linux). Only for links.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between("1 us", "1 s"))]
    pub packet_time: Option<Duration>,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Whether ECN-capable packets are dropped from `max_threshold` on. Needs `ecn`.
    pub hard_drop: bool,
    /// Whether packets that are not ECN-capable pass where others are marked. Needs `ecn`.
    pub no_drop: bool,
    /// Whether `max_probability` is adapted each 500 ms, between 1 % and 50 %, to keep the average between 40 % and 60 % of
    /// the way from `min_threshold` to `max_threshold` (adaptive RED).
    pub adaptive: bool,
}

// a `Probability` is never NaN
impl Eq for Red {}

impl Default for Red {
    fn default() -> Self {
        Self {
            // sizes and weight (of `burst 55 avpkt 1000`): the example of tc-red(8)
            bytes: ByteCount::from_bytes(400_000),
            min_threshold: ByteCount::from_bytes(30_000),
            max_threshold: ByteCount::from_bytes(90_000),
            // iproute2
            max_probability: Probability::new(0.02).expect("a probability"),
            weight_exponent: 5,
            packet_time: None,
            ecn: false,
            hard_drop: false,
            no_drop: false,
            adaptive: false,
        }
    }
}

/// Time between two adaptations (`HZ / 2` of Linux; section 3 of the paper of 2001).
const ADAPTATION: Duration = Duration::from_millis(500);

impl QueueOptions for Red {
    fn conflict(&self) -> Option<Problem> {
        let Self { min_threshold: min, max_threshold: max, weight_exponent, .. } = *self;
        // `red_check_params`
        let most = ByteCount::from_bytes((1 << (31 - weight_exponent)) - 1);
        if max > most {
            let expected = format!("at most {} with a `weight_exponent` of {weight_exponent}", quoted(most));
            return Some(Problem::conflict("max_threshold", quoted(max), expected));
        }
        if min > max {
            let expected = format!("at most `max_threshold` ({})", quoted(max));
            return Some(Problem::conflict("min_threshold", quoted(min), expected));
        }
        let needs_ecn = [("hard_drop", self.hard_drop), ("no_drop", self.no_drop)];
        let (name, _) = needs_ecn.into_iter().find(|(_, set)| *set && !self.ecn)?;
        Some(Problem::conflict(name, true, "false without `ecn`"))
    }

    fn capacity(&self) -> Capacity {
        Capacity { bytes: Some(self.bytes), ..Capacity::default() }
    }

    fn tc(&self) -> Result<TcQueue, Problem> {
        if let Some(time) = self.packet_time {
            return Err(Problem::conflict("packet_time", quoted(time), "no value")
                .because("the kernel's `red` learns of no idle time below `tbf`"));
        }
        if self.no_drop && self.adaptive {
            return Err(Problem::conflict("no_drop", true, "false with `adaptive`")
                .because("the kernel starts the timer of `adaptive` only without newer flags"));
        }
        let numbers = [
            ("limit", self.bytes.bytes()),
            ("min", self.min_threshold.bytes()),
            ("max", self.max_threshold.bytes()),
            ("ewma", u64::from(self.weight_exponent)),
            ("max_p", control::of_2_32(self.max_probability).max(1).into()),
        ];
        let flags = [
            (self.ecn, "ecn"),
            (self.hard_drop, "harddrop"),
            (self.no_drop, "nodrop"),
            (self.adaptive, "adaptive"),
        ];
        let mut words = tc::words("red", numbers);
        words.extend(flags.iter().filter(|(given, _)| *given).map(|(_, word)| (*word).to_owned()));
        Ok(TcQueue::Child { words, mtu: DeviceMtu::Any })
    }

    #[cfg(test)]
    fn examples() -> Vec<Self> {
        let [bytes, min_threshold, max_threshold] = [20_000, 3000, 12_000].map(ByteCount::from_bytes);
        let plain = Self { bytes, min_threshold, max_threshold, weight_exponent: 2, ..Self::default() };
        let step = Self { max_threshold: min_threshold, weight_exponent: 0, ..plain.clone() };
        vec![
            Self { packet_time: Some(Duration::from_micros(500)), adaptive: true, ..plain.clone() },
            Self { ecn: true, hard_drop: true, ..plain },
            Self { ecn: true, no_drop: true, ..step },
        ]
    }
}

/// One queue with RED and a limit.
#[derive(Debug)]
pub(super) struct RedQueue<T> {
    config: Red,
    parameters: Parameters,
    control: Control,
    /// Time of the next adaptation of the maximum probability; `None` if never.
    next_adaptation: Option<Time>,
    random: RandomStream,
    line: WaitingItems<Marked<T>>,
}

impl<T: Item> RedQueue<T> {
    pub(super) fn new(config: &Red, random: RandomStream) -> Self {
        let parameters = Parameters::from(config);
        let control = Control::new(config, &parameters);
        Self {
            config: config.clone(),
            parameters,
            control,
            next_adaptation: config.adaptive.then_some(Time::ZERO + ADAPTATION),
            random,
            line: WaitingItems::default(),
        }
    }

    /// Makes all adaptations that were due by `now`.
    fn adapt_until(&mut self, now: Time) {
        while let Some(due) = self.next_adaptation.filter(|due| *due <= now) {
            let changes = self.control.adapt(&self.parameters, due);
            let skipped = if changes { 0 } else { now.since(due).as_nanos() / ADAPTATION.as_nanos() };
            self.next_adaptation = Some(due + ADAPTATION * (skipped + 1));
        }
    }

    /// Decision on `item` with this backlog: whether it is marked, or the reason for its drop.
    fn judge(&mut self, now: Time, backlog: ByteCount, item: &mut T) -> Result<bool, DropReason> {
        let action = self.control.arrives(&self.parameters, now, backlog.bytes(), &mut self.random);
        let (reason, may_mark) = match action {
            Action::Pass => return Ok(false),
            Action::Early => (DropReason::Red, true),
            Action::Forced => (DropReason::RedForced, !self.config.hard_drop),
        };
        match self.config.ecn && may_mark {
            true if item.mark() => Ok(true),
            true if self.config.no_drop => Ok(false),
            _ => Err(reason),
        }
    }
}

impl<T: Item> QueueDiscipline<T> for RedQueue<T> {
    const DROPS: &'static [(DropReason, &'static Metric)] =
        &[(DropReason::Red, &RED.red_drops), (DropReason::RedForced, &RED.red_forced_drops)];

    fn enqueue(
        &mut self,
        mut item: T,
        arrival: Arrival<impl FnOnce() -> DataRate>,
        exits: &mut Exits<'_, impl FnMut(T, DropReason)>,
    ) {
        self.adapt_until(exits.now);
        // below `tbf`, which peeks at a packet and removes it when it has the tokens, the backlog in Linux includes
        // that packet
        let waiting = self.line.backlog().bytes;
        let backlog = arrival.in_service.map_or(waiting, |size| waiting + size);
        match self.judge(exits.now, backlog, &mut item) {
            Err(reason) => exits.refuse(QueueIndex(0), item, reason),
            Ok(_) if backlog + item.bytes() > self.config.bytes => {
                exits.refuse(QueueIndex(0), item, DropReason::QueueFull);
            }
            Ok(marked) => self.line.push(exits.now, Marked { item, marked }),
        }
    }

    fn dequeue(&mut self, exits: &mut Exits<'_, impl FnMut(T, DropReason)>) -> Option<T> {
        self.adapt_until(exits.now);
        let Some(head) = self.line.pop() else {
            self.control.is_idle(&self.parameters, exits.now);
            return None;
        };
        Some(exits.serve_marked(QueueIndex(0), head))
    }

    fn waiting(&self) -> Backlog {
        self.line.backlog()
    }

    fn statistics(&self, totals: &QueueStatistics, out: &mut Metrics) {
        totals.statistics(Self::DROPS, out);
        out.set(&RED.red_max_probability, self.control.max_probability());
    }

    fn sample(&mut self, now: Time, totals: &QueueStatistics, out: &mut Metrics) {
        self.adapt_until(now);
        totals.sample(Self::DROPS, out);
        out.count(&QUEUE.active_flows, self.active_flows());
        out.set(&RED.average_queue_bytes, self.control.average_bytes(&self.parameters));
        out.set(&RED.red_max_probability, self.control.max_probability());
    }
}

#[cfg(test)]
#[path = "red_tests.rs"]
mod tests;
