//! Proportional integral controller, enhanced (PIE): drops or marks some of the arriving packets, with a probability
//! that follows the waiting time and its trend.
//!
//! RFC 8033 sections 4 and 5; Linux 5.6 to 7.3 `net/sched/sch_pie.c` (`pie_drop_early`, `pie_process_dequeue`,
//! `pie_calculate_probability`) and `include/net/pie.h`, followed step by step.
//!
//! | | RFC 8033 | Linux | here |
//! | --- | --- | --- | --- |
//! | time | real | in units of 64 ns, truncated | as Linux |
//! | probability | real, at most 1 | in units of 2^-56, limited by its 64 bits only: above 1 after a long stall | as Linux |
//! | waiting time | of the packet served last, or estimated from the rate (section 5.2) | same; 0 if that packet left nothing behind | as Linux |
//! | burst allowance | decreases by the interval at each update | by the time since the departure before, at each departure | as Linux |
//! | ECN | marks up to a probability of 10 % (section 5.1) | same; an accumulated probability of 8.5 stays until a drop, so that all packets are marked | as Linux |
//! | begins | with a third of the buffer, as an option (section 5.3) | at once; first update after 500 ms | at once; first update after one interval |
//! | update | a timer | `tupdate` rounded up to jiffies, and one jiffy more: 16 ms at 1000 Hz, 20 ms at 250 Hz, 30 ms at 100 Hz for 15 ms | exactly `update_interval` |
//! | time between departures | - | of 32 bits, which wrap after 275 s | unlimited |
//! | backlog with the estimator | - | of 32 bits, which wrap at 16 MiB | unlimited |
//! | backlog below a token bucket | - | includes the packet that waits for tokens | not the one in service |
//!
//! There is no timer. An update uses values set by arrivals and departures (backlog, waiting time of the last
//! departure, departure rate) and its own state; none of these changes between two calls. All updates that were due by
//! a call are therefore computed at its beginning with the values that a timer would have found; one due at exactly the
//! time of a call precedes it, where the order in Linux is arbitrary. An update that changes nothing is the last one
//! computed.

mod control;

pub(super) use control::{Controller, Parameters};

use super::codel::FRAME;
use super::discipline::{Arrival, QueueDiscipline};
use super::exits::Exits;
use super::options::{Capacity, QueueOptions};
use super::tc::{self, DeviceMtu, TcQueue};
use super::waiting::{Marked, WaitingItems};
use super::{Backlog, Item, QueueIndex};
use crate::element::DropReason;
use crate::limits;
use crate::metric::Metric;
use crate::problem::{Problem, quoted};
use crate::random::RandomStream;
use crate::time::Duration;
use crate::units::{ByteCount, DataRate, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

crate::metrics! {
    /// Drops of PIE.
    pub static PIE: PieMetrics = Network, "queue, `pie` and `fq_pie`" {
        /// Packets dropped by PIE.
        pie_drops: Counter, Both;
    }
}

/// Proportional integral controller, enhanced (PIE, RFC 8033) as Linux' `pie`: one queue, dropped from or marked on arrival.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pie {
    /// Maximum number of packets that wait; packets that would exceed it are dropped on arrival.
    #[schemars(transform = limits::at_least(1))]
    pub packets: u64,
    /// Target waiting time of the controller.
    #[schemars(transform = limits::above("0 s"))]
    pub target: Duration,
    /// Time between two updates of the drop probability. Linux rounds it up to jiffies, and its timer takes one more.
    #[schemars(transform = limits::at_least("1 ms"))]
    pub update_interval: Duration,
    /// Increase of the probability at an update for each second of waiting time above `target`. Linux' unit: 2 is
    /// 0.125.
    #[schemars(transform = limits::between(0, 32).unit("sixteenths"))]
    pub alpha: u32,
    /// Increase of the probability for each second by which the waiting time has grown since the last update.
    #[schemars(transform = limits::between(0, 32).unit("sixteenths"))]
    pub beta: u32,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Probability above which ECN-capable packets are also dropped (`mark_ecnth`).
    pub ecn_drop_threshold: Probability,
    /// Whether the probability is proportional to the size of a packet, up to `mtu`.
    pub byte_mode: bool,
    /// Time with departures during which nothing is dropped or marked after the queue was short.
    pub burst_allowance: Duration,
    /// Whether the waiting time is the backlog divided by an estimate of the departure rate (Linux'
    /// `dq_rate_estimator`); otherwise it is that of the packet served last.
    pub rate_estimator: bool,
    /// Size of the largest packet, its header included; while less than two of them wait, nothing is dropped or marked.
    #[schemars(transform = limits::between("1 B", "1 MiB"))]
    pub mtu: ByteCount,
}

// a `Probability` is never NaN
impl Eq for Pie {}

impl Default for Pie {
    fn default() -> Self {
        Self {
            // `pie_params_init` of Linux
            packets: 1000,
            // QDELAY_REF of RFC 8033 section 4.2
            target: Duration::from_millis(15),
            // T_UPDATE of RFC 8033 section 4.2
            update_interval: Duration::from_millis(15),
            // 0.125 and 1.25 per second (RFC 8033 section 4.2)
            alpha: 2,
            beta: 20,
            ecn: false,
            // RFC 8033 section 5.1
            ecn_drop_threshold: Probability::new(MARKED_BY_LINUX).expect("a probability"),
            byte_mode: false,
            burst_allowance: BURST_OF_LINUX,
            rate_estimator: false,
            mtu: FRAME,
        }
    }
}

/// MAX_BURST of RFC 8033 section 4.4.
pub(super) const BURST_OF_LINUX: Duration = Duration::from_millis(150);
const MARKED_BY_LINUX: f64 = 0.1;

impl Pie {
    /// Arguments of `tc` for the control, and the MTU that it uses.
    ///
    /// # Errors
    /// The first value that the kernel does not support.
    pub(super) fn tc_control(&self) -> Result<(Vec<String>, DeviceMtu), Problem> {
        let mtu = DeviceMtu::Always(tc::device_mtu("mtu", self.mtu)?);
        let mut words = Vec::new();
        for (name, time) in [("target", self.target), ("tupdate", self.update_interval)] {
            words.extend([name.to_owned(), tc::micros(time)]);
        }
        for (name, number) in [("alpha", self.alpha), ("beta", self.beta)] {
            words.extend([name.to_owned(), number.to_string()]);
        }
        words.push(if self.ecn { "ecn" } else { "noecn" }.to_owned());
        words.push(if self.byte_mode { "bytemode" } else { "nobytemode" }.to_owned());
        words.push(if self.rate_estimator { "dq_rate_estimator" } else { "no_dq_rate_estimator" }.to_owned());
        Ok((words, mtu))
    }
}

impl QueueOptions for Pie {
    fn capacity(&self) -> Capacity {
        Capacity { packets: Some(self.packets), ..Capacity::default() }
    }

    fn tc(&self) -> Result<TcQueue, Problem> {
        if self.ecn_drop_threshold.value() != MARKED_BY_LINUX {
            let value = self.ecn_drop_threshold.value();
            return Err(Problem::conflict("ecn_drop_threshold", value, MARKED_BY_LINUX.to_string()));
        }
        if self.burst_allowance != BURST_OF_LINUX {
            let (value, expected) = (quoted(self.burst_allowance), quoted(BURST_OF_LINUX));
            return Err(Problem::conflict("burst_allowance", value, expected));
        }
        let (control, mtu) = self.tc_control()?;
        Ok(TcQueue::Child { words: [tc::words("pie", [("limit", self.packets)]), control].concat(), mtu })
    }

    #[cfg(test)]
    fn examples() -> Vec<Self> {
        let plain = Self { packets: 50, ..Self::default() };
        let eager =
            Self { target: Duration::from_millis(1), burst_allowance: Duration::ZERO, ..plain.clone() };
        vec![
            plain,
            Self { ecn: true, byte_mode: true, ..eager.clone() },
            Self { rate_estimator: true, ..eager },
        ]
    }
}

/// Drop reasons of disciplines with PIE.
pub(super) const DROPS: &[(DropReason, &Metric)] = &[(DropReason::Pie, &PIE.pie_drops)];

/// One queue with PIE and a limit.
#[derive(Debug)]
pub(super) struct PieQueue<T> {
    packets: u64,
    parameters: Parameters,
    controller: Controller,
    random: RandomStream,
    line: WaitingItems<Marked<T>>,
}

impl<T: Item> PieQueue<T> {
    pub(super) fn new(config: &Pie, random: RandomStream) -> Self {
        let parameters = Parameters::from(config);
        let controller = Controller::new(&parameters);
        Self { packets: config.packets, parameters, controller, random, line: WaitingItems::default() }
    }
}

impl<T: Item> QueueDiscipline<T> for PieQueue<T> {
    const DROPS: &'static [(DropReason, &'static Metric)] = DROPS;

    fn enqueue(
        &mut self,
        mut item: T,
        _: Arrival<impl FnOnce() -> DataRate>,
        exits: &mut Exits<'_, impl FnMut(T, DropReason)>,
    ) {
        let Backlog { packets, bytes } = self.line.backlog();
        self.controller.update_until(&self.parameters, exits.now, bytes.bytes());
        let judged = if packets < self.packets {
            self.controller.judge(&self.parameters, &mut item, bytes.bytes(), &mut self.random)
        } else {
            self.controller.control.accumulated = 0;
            Err(DropReason::QueueFull)
        };
        match judged {
            Ok(marked) => self.line.push(exits.now, Marked { item, marked }),
            Err(reason) => exits.refuse(QueueIndex(0), item, reason),
        }
    }

    fn dequeue(&mut self, exits: &mut Exits<'_, impl FnMut(T, DropReason)>) -> Option<T> {
        self.controller.update_until(&self.parameters, exits.now, self.line.backlog().bytes.bytes());
        let head = self.line.pop()?;
        let (arrived, bytes) = (head.arrived, head.item.bytes().bytes());
        let backlog = self.line.backlog().bytes.bytes();
        self.controller.control.departed(&self.parameters, exits.now, arrived, bytes, backlog);
        Some(exits.serve_marked(QueueIndex(0), head))
    }

    fn waiting(&self) -> Backlog {
        self.line.backlog()
    }
}

#[cfg(test)]
#[path = "pie_tests.rs"]
mod tests;
