//! Controlled delay (CoDel): drops at the head while every packet of an interval has waited too long.
//!
//! RFC 8289 sections 4 and 5; Linux `include/net/codel_impl.h` (`codel_dequeue`, `codel_should_drop`,
//! `codel_Newton_step`, `codel_control_law`) and `net/sched/sch_codel.c`, followed step by step.
//!
//! | | RFC 8289 | Linux, here by default | published tunnel |
//! | --- | --- | --- | --- |
//! | time | real | in units of 1024 ns, truncated | the same here |
//! | next drop | interval / sqrt(count) | the same with a root of 16 bits that one Newton step per drop improves | interval / count |
//! | first drop | after an interval above target, or at its end | after it | the same here |
//! | count of a new series | the number that the last one added, if it ended within 16 intervals | the same; Newton's step only approaches the root | count - 2, at least 1, if the sojourn is below an interval; else 1 |
//! | nothing dropped | while no more than the largest packet waits | while no more than the MTU with its header waits | (no exception) |
//! | ECN | marks instead of drops (section 5.4.1) | if `ecn`; all above `ce_threshold` besides | drops only |
//! | times | unlimited | of 32 bits, which wrap after 73 min | unlimited here |
//!
//! Linux starts with a last drop at time 0 of its clock, which may count as recent or not; here there is
//! none. An item with both marks counts as one in `ce_marks`, and as two in `ecn_mark` and `ce_mark` of
//! Linux.

mod control;

pub use control::{CodelRestart, ControlLaw};
pub(super) use control::{CodelState, HeadSource, Parameters};

use super::discipline::{Arrival, QueueDiscipline};
use super::exits::Exits;
use super::options::{Capacity, QueueOptions};
use super::tc::{self, DeviceMtu, TcQueue};
use super::waiting::{Waiting, WaitingItems};
use super::{Backlog, Item, Outcome, QueueIndex};
use crate::element::DropReason;
use crate::limits;
use crate::metric::Metric;
use crate::problem::Problem;
use crate::random::RandomStream;
use crate::time::{Duration, Time};
use crate::units::{ByteCount, DataRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

crate::metrics! {
    /// Drops of CoDel.
    pub static CODEL: CodelMetrics = Network, "queue, `codel`, `fq_codel` and `head_drop`, which has 0" {
        /// Packets dropped by CoDel.
        codel_drops: Counter, Both;
    }
}

/// Controlled delay (CoDel, RFC 8289) as Linux' `codel`: one queue, dropped from or marked at its head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Codel {
    /// Maximum number of packets that wait; packets that would exceed it are dropped on arrival.
    #[schemars(transform = limits::at_least(1))]
    pub packets: u64,
    /// Acceptable standing queue delay. Below `interval`.
    pub target: Duration,
    /// Time during which every packet must have waited longer than `target` before the first drop.
    #[schemars(transform = limits::above("0 s"))]
    pub interval: Duration,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// ECN-capable packets that have waited longer are marked immediately (default: none).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<Duration>,
    /// Backlog up to which nothing is dropped; `0 B`: no such exception.
    pub least_backlog: ByteCount,
    /// Time of the next drop.
    pub control_law: ControlLaw,
    /// Count of drops with which a new series begins.
    pub restart: CodelRestart,
}

impl Default for Codel {
    fn default() -> Self {
        Self {
            // `DEFAULT_CODEL_LIMIT` of Linux
            packets: 1000,
            // RFC 8289 section 4.4
            target: Duration::from_millis(5),
            // RFC 8289 section 4.3
            interval: Duration::from_millis(100),
            ecn: false,
            ce_threshold: None,
            least_backlog: FRAME,
            control_law: ControlLaw::default(),
            restart: CodelRestart::default(),
        }
    }
}

/// The largest packet of an Ethernet with its header, as `psched_mtu` of Linux counts it.
pub(super) const FRAME: ByteCount = ByteCount::from_bytes(1514);
/// Drop reasons of disciplines with CoDel.
pub(super) const DROPS: &[(DropReason, &Metric)] = &[(DropReason::Codel, &CODEL.codel_drops)];

impl Codel {
    /// Arguments of `tc` for the control, and the MTU from which it derives its least backlog.
    ///
    /// # Errors
    /// The first value that the kernel does not support.
    pub(super) fn tc_control(&self) -> Result<(Vec<String>, DeviceMtu), Problem> {
        let mtu = tc::device_mtu("least_backlog", self.least_backlog)?;
        if self.control_law != ControlLaw::default() {
            return Err(tc::differs("control_law", &self.control_law, &ControlLaw::default()));
        }
        if self.restart != CodelRestart::default() {
            return Err(tc::differs("restart", &self.restart, &CodelRestart::default()));
        }
        let time = |name: &str, time| [name.to_owned(), tc::micros(time)];
        let mut words = [time("target", self.target), time("interval", self.interval)].concat();
        words.push(if self.ecn { "ecn" } else { "noecn" }.to_owned());
        words.extend(self.ce_threshold.into_iter().flat_map(|threshold| time("ce_threshold", threshold)));
        Ok((words, DeviceMtu::AtCreation(mtu)))
    }
}

impl QueueOptions for Codel {
    fn conflict(&self) -> Option<Problem> {
        let Self { target, interval, .. } = self;
        (target >= interval).then(|| {
            Problem::conflict(
                "target",
                format!("\"{target}\""),
                format!("a duration below `interval` (\"{interval}\")"),
            )
        })
    }

    fn capacity(&self) -> Capacity {
        Capacity { packets: Some(self.packets), ..Capacity::default() }
    }

    fn tc(&self) -> Result<TcQueue, Problem> {
        let (control, mtu) = self.tc_control()?;
        Ok(TcQueue::Child { words: [tc::words("codel", [("limit", self.packets)]), control].concat(), mtu })
    }

    #[cfg(test)]
    fn examples() -> Vec<Self> {
        let plain = Self { packets: 50, ..Self::default() };
        let ce_threshold = Some(Duration::from_millis(2));
        vec![plain.clone(), Self { ecn: true, ce_threshold, ..plain }]
    }
}

/// One queue with CoDel and a limit.
#[derive(Debug)]
pub(super) struct CodelQueue<T> {
    packets: u64,
    parameters: Parameters,
    control: CodelState,
    line: WaitingItems<T>,
}

impl<T: Item> CodelQueue<T> {
    pub(super) fn new(config: &Codel, _: RandomStream) -> Self {
        let (parameters, control) = (Parameters::from(config), CodelState::default());
        Self { packets: config.packets, parameters, control, line: WaitingItems::default() }
    }
}

impl<T: Item> QueueDiscipline<T> for CodelQueue<T> {
    const DROPS: &'static [(DropReason, &'static Metric)] = DROPS;

    fn enqueue(
        &mut self,
        item: T,
        _: Arrival<impl FnOnce() -> DataRate>,
        exits: &mut Exits<'_, impl FnMut(T, DropReason)>,
    ) {
        if self.line.backlog().packets < self.packets {
            self.line.push(exits.now, item);
        } else {
            exits.refuse(QueueIndex(0), item, DropReason::QueueFull);
        }
    }

    fn dequeue(&mut self, exits: &mut Exits<'_, impl FnMut(T, DropReason)>) -> Option<T> {
        let now = exits.now;
        self.control.dequeue(now, &self.parameters, &mut SingleQueue { line: &mut self.line, exits })
    }

    fn waiting(&self) -> Backlog {
        self.line.backlog()
    }
}

/// The single queue as a source of heads.
struct SingleQueue<'a, 'b, T, D> {
    line: &'a mut WaitingItems<T>,
    exits: &'a mut Exits<'b, D>,
}

impl<T: Item, D: FnMut(T, DropReason)> HeadSource<T> for SingleQueue<'_, '_, T, D> {
    fn pop(&mut self) -> Option<Waiting<T>> {
        self.line.pop()
    }
    fn backlog(&self) -> ByteCount {
        self.line.backlog().bytes
    }
    fn drop(&mut self, item: Waiting<T>) {
        self.exits.drop(QueueIndex(0), item, DropReason::Codel);
    }
    fn left(&mut self, arrived: Time, outcome: Outcome) {
        self.exits.left(QueueIndex(0), arrived, outcome);
    }
}

#[cfg(test)]
#[path = "codel_tests.rs"]
mod tests;
