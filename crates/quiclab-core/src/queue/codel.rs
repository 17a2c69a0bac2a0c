//! Controlled delay (CoDel): drops at the head while every packet of an interval has waited too long.
//!
//! RFC 8289 sections 4 and 5; Linux `include/net/codel_impl.h` (`codel_dequeue`, `codel_should_drop`,
//! `codel_Newton_step`, `codel_control_law`) and `net/sched/sch_codel.c`, followed step by step.
//!
//! | | RFC 8289 | Linux, here by default | published tunnel |
//! | --- | --- | --- | --- |
//! | time | real | in units of 1024 ns, cut off | the same here |
//! | next drop | interval / sqrt(count) | the same with a root of 16 bits that one Newton step per drop improves | interval / count |
//! | first drop | after an interval above target, or at its end | after it | the same here |
//! | count of a new series | what the last one added, if it ended within 16 intervals | the same; Newton's step only approaches the root | count - 2, at least 1, if the sojourn is below an interval; else 1 |
//! | nothing dropped | while no more than the largest packet waits | while no more than the MTU with its header waits | (no exception) |
//! | ECN | marks instead of drops (section 5.4.1) | if `ecn`; all above `ce_threshold` besides | drops only |
//! | times | unlimited | of 32 bits, which wrap after 73 min | unlimited here |
//!
//! Linux begins with a last drop at time 0 of its clock, which may count as recent or not; here there is none.
//! An item that has got both marks counts as one in `ce_marks`, and as two in Linux' `ecn_mark` and `ce_mark`.

use super::{Account, Backlog, Item, Line, Outcome, QueueIndex, Waiting};
use crate::element::DropReason;
use crate::queue::{CodelRestart, ControlLaw};
use crate::time::{Duration, Time};
use crate::units::ByteCount;

/// `CODEL_SHIFT` of Linux: a tick is 1024 ns.
const TICK_BITS: u32 = 10;
/// A series that ended this many intervals ago or earlier tells nothing (RFC 8289 section 5.5).
const RECENT_INTERVALS: u64 = 16;

/// What configures CoDel.
#[derive(Clone, Debug)]
pub(super) struct Parameters {
    target: Duration,
    interval: Duration,
    ecn: bool,
    ce_threshold: Option<Duration>,
    /// While no more waits, nothing is dropped; `None`: no exception.
    least_backlog: Option<ByteCount>,
    law: ControlLaw,
    restart: CodelRestart,
}

impl Parameters {
    /// # Panics
    /// For a discipline without CoDel.
    pub(super) fn new(config: &crate::queue::QueueConfig) -> Self {
        use crate::queue::QueueConfig::{Codel, FqCodel};
        let (Codel { target, interval, ecn, ce_threshold, least_backlog, control_law, restart, .. }
        | FqCodel { target, interval, ecn, ce_threshold, least_backlog, control_law, restart, .. }) = config
        else {
            unreachable!("only disciplines with CoDel have its parameters")
        };
        Self {
            target: whole_ticks(*target),
            interval: whole_ticks(*interval),
            ecn: *ecn,
            ce_threshold: ce_threshold.map(whole_ticks),
            least_backlog: (*least_backlog > ByteCount::ZERO).then_some(*least_backlog),
            law: *control_law,
            restart: *restart,
        }
    }
}

fn whole_ticks(duration: Duration) -> Duration {
    Duration::from_nanos(duration.as_nanos() >> TICK_BITS << TICK_BITS)
}

fn tick(time: Time) -> Time {
    Time::from_nanos(time.as_nanos() >> TICK_BITS << TICK_BITS)
}

/// Where CoDel takes heads from, and what it tells about them.
pub(super) trait Source<T> {
    /// Takes the head.
    fn pop(&mut self) -> Option<Waiting<T>>;
    /// What waits, for the exception of the least backlog.
    fn backlog(&self) -> ByteCount;
    /// `item` is dropped by CoDel.
    fn drop(&mut self, item: Waiting<T>);
    /// The item that arrived then is gone: served or dropped.
    fn left(&mut self, arrived: Time, outcome: Outcome);
}

/// What CoDel remembers of one queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Control {
    /// A series of drops is going on.
    dropping: bool,
    /// Drops of this series, with those taken over from the last one.
    count: u32,
    /// `count` when this series began.
    last_count: u32,
    /// About 2^16 / sqrt(count).
    inverse_sqrt: u16,
    /// When packets will have waited too long for an interval; `None` while they do not.
    first_above: Option<Time>,
    /// When the next drop is or was due; `None` before the first series.
    drop_next: Option<Time>,
}

impl Control {
    /// A limit has dropped `packets` of the queue: the signal becomes stronger (`fq_codel_drop`).
    pub(super) fn overflowed(&mut self, packets: u32) {
        self.count = self.count.wrapping_add(packets);
    }

    /// The next packet to serve.
    pub(super) fn dequeue<T: Item>(
        &mut self,
        now: Time,
        parameters: &Parameters,
        source: &mut impl Source<T>,
    ) -> Option<T> {
        let clock = tick(now);
        let Some(mut head) = source.pop() else {
            self.dropping = false;
            return None;
        };
        let too_long = self.should_drop(clock, parameters, Some(&head), source.backlog());
        let mut marked = false;
        if self.dropping {
            self.dropping = too_long;
            // a large backlog may need several drops at once
            while let Some(due) = self.drop_next.filter(|due| self.dropping && *due <= clock) {
                self.count = self.count.wrapping_add(1);
                self.newton_step();
                if parameters.ecn && head.item.mark() {
                    marked = true;
                    self.drop_next = Some(self.next_drop(due, parameters));
                    break;
                }
                source.drop(head);
                let next = source.pop();
                if self.should_drop(clock, parameters, next.as_ref(), source.backlog()) {
                    self.drop_next = Some(self.next_drop(due, parameters));
                } else {
                    self.dropping = false;
                }
                head = next?;
            }
        } else if too_long {
            let sojourn = clock.since(tick(head.arrived));
            let next = if parameters.ecn && head.item.mark() {
                marked = true;
                Some(head)
            } else {
                source.drop(head);
                let next = source.pop();
                // only for what it remembers: the series begins in any case
                self.should_drop(clock, parameters, next.as_ref(), source.backlog());
                next
            };
            self.begin_series(clock, sojourn, parameters);
            head = next?;
        }
        let sojourn = clock.since(tick(head.arrived));
        marked |= parameters.ce_threshold.is_some_and(|most| sojourn > most) && head.item.mark();
        source.left(head.arrived, if marked { Outcome::Marked } else { Outcome::Served });
        Some(head.item)
    }

    /// Whether packets have waited too long for an interval, with `head` the last of them.
    fn should_drop<T>(
        &mut self,
        clock: Time,
        parameters: &Parameters,
        head: Option<&Waiting<T>>,
        backlog: ByteCount,
    ) -> bool {
        let short = head.is_none_or(|head| clock.since(tick(head.arrived)) < parameters.target)
            || parameters.least_backlog.is_some_and(|least| backlog <= least);
        if short {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(clock + parameters.interval);
                false
            }
            Some(end) => clock > end,
        }
    }

    /// A series of drops begins with a packet that had waited for `sojourn`.
    fn begin_series(&mut self, clock: Time, sojourn: Duration, parameters: &Parameters) {
        self.dropping = true;
        let again = match parameters.restart {
            // if the queue was controlled a short while ago, the rate that did it is a good beginning
            CodelRestart::LastSeries => {
                let added = self.count.wrapping_sub(self.last_count);
                let recent = |due| clock.since(due) < parameters.interval * RECENT_INTERVALS;
                (self.drop_next.is_some_and(recent) && added > 1).then_some(added)
            }
            CodelRestart::MinusTwo => {
                Some(self.count.saturating_sub(2)).filter(|count| *count > 1 && sojourn < parameters.interval)
            }
        };
        if let Some(count) = again {
            self.count = count;
            self.newton_step(); // the next steps will improve it
        } else {
            self.count = 1;
            self.inverse_sqrt = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = Some(self.next_drop(clock, parameters));
    }

    /// One step of Newton's method: x becomes x (3 - count x²) / 2, in Linux' fixed-point numbers with
    /// their overflow (a count that has jumped leads nowhere near the root).
    fn newton_step(&mut self) {
        let root = u64::from(self.inverse_sqrt) << 16; // as a fraction of 2^32
        let square = (root * root) >> 32;
        let value = (3_u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square));
        let value = (value >> 2).wrapping_mul(root) >> 31;
        self.inverse_sqrt = (value >> 16) as u16;
    }

    /// When the drop after the one due at `due` is due.
    fn next_drop(&self, due: Time, parameters: &Parameters) -> Time {
        let ticks = parameters.interval.as_nanos() >> TICK_BITS;
        let wait = match parameters.law {
            ControlLaw::InverseSqrt => ((u128::from(ticks) * u128::from(self.inverse_sqrt)) >> 16) as u64,
            ControlLaw::InverseCount => ticks / u64::from(self.count.max(1)),
        };
        due + Duration::from_nanos(wait << TICK_BITS)
    }
}

/// One queue with CoDel and a limit.
#[derive(Debug)]
pub(super) struct Codel<T> {
    packets: u64,
    parameters: Parameters,
    control: Control,
    line: Line<T>,
}

impl<T: Item> Codel<T> {
    pub(super) fn new(packets: u64, parameters: Parameters) -> Self {
        Self { packets, parameters, control: Control::default(), line: Line::default() }
    }

    pub(super) fn waiting(&self) -> Backlog {
        self.line.backlog()
    }

    pub(super) fn enqueue(
        &mut self,
        now: Time,
        item: T,
        account: &mut Account,
        dropped: &mut impl FnMut(T, DropReason),
    ) {
        if self.line.backlog().packets < self.packets {
            self.line.push(now, item);
        } else {
            account.note(now, QueueIndex(0), Duration::ZERO, Outcome::Dropped(DropReason::QueueFull));
            dropped(item, DropReason::QueueFull);
        }
    }

    pub(super) fn dequeue(
        &mut self,
        now: Time,
        account: &mut Account,
        dropped: &mut impl FnMut(T, DropReason),
    ) -> Option<T> {
        let mut source = Only { now, line: &mut self.line, account, dropped };
        self.control.dequeue(now, &self.parameters, &mut source)
    }
}

/// The one queue as a source of heads.
struct Only<'a, T, D> {
    now: Time,
    line: &'a mut Line<T>,
    account: &'a mut Account,
    dropped: &'a mut D,
}

impl<T: Item, D: FnMut(T, DropReason)> Source<T> for Only<'_, T, D> {
    fn pop(&mut self) -> Option<Waiting<T>> {
        self.line.pop()
    }
    fn backlog(&self) -> ByteCount {
        self.line.bytes
    }
    fn drop(&mut self, item: Waiting<T>) {
        self.left(item.arrived, Outcome::Dropped(DropReason::Codel));
        (self.dropped)(item.item, DropReason::Codel);
    }
    fn left(&mut self, arrived: Time, outcome: Outcome) {
        self.account.note(self.now, QueueIndex(0), self.now.since(arrived), outcome);
    }
}

#[cfg(test)]
#[path = "codel_tests.rs"]
mod tests;
