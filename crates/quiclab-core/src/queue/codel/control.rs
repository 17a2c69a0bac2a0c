//! Control of one queue by CoDel: which packets are dropped or marked, and when (see [`super`]).

use super::super::waiting::Waiting;
use super::super::{Item, Outcome};
use crate::time::{Duration, Time};
use crate::units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `CODEL_SHIFT` of Linux: a tick is 1024 ns.
const TICK_BITS: u32 = 10;
/// A series that ended this many intervals ago or earlier has no effect (RFC 8289 section 5.5).
const RECENT_INTERVALS: u64 = 16;

/// Time of CoDel's next drop, after `count` drops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ControlLaw {
    /// `interval` / sqrt(count), in Linux' fixed-point numbers (RFC 8289 section 5.5).
    #[default]
    InverseSqrt,
    /// `interval` / count: the published tunnel.
    InverseCount,
}

/// Count with which CoDel begins a new series of drops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CodelRestart {
    /// Count that the last series has added, if it ended within 16 intervals, else 1 (RFC 8289 section 5.5).
    #[default]
    LastSeries,
    /// Two less than before, at least 1, if the packet has waited less than one interval, else 1: the published tunnel.
    MinusTwo,
}

/// Configuration of the control.
#[derive(Clone, Debug)]
pub(in crate::queue) struct Parameters {
    target: Duration,
    interval: Duration,
    ecn: bool,
    ce_threshold: Option<Duration>,
    /// Backlog up to which nothing is dropped; `None`: no exception.
    least_backlog: Option<ByteCount>,
    law: ControlLaw,
    restart: CodelRestart,
}

impl From<&super::Codel> for Parameters {
    fn from(config: &super::Codel) -> Self {
        Self {
            target: whole_ticks(config.target),
            interval: whole_ticks(config.interval),
            ecn: config.ecn,
            ce_threshold: config.ce_threshold.map(whole_ticks),
            least_backlog: Some(config.least_backlog).filter(|least| *least > ByteCount::ZERO),
            law: config.control_law,
            restart: config.restart,
        }
    }
}

fn whole_ticks(duration: Duration) -> Duration {
    Duration::from_nanos(duration.as_nanos() >> TICK_BITS << TICK_BITS)
}

fn tick(time: Time) -> Time {
    Time::from_nanos(time.as_nanos() >> TICK_BITS << TICK_BITS)
}

/// Source of heads for CoDel, with its backlog.
pub(in crate::queue) trait HeadSource<T> {
    /// Removes the head.
    fn pop(&mut self) -> Option<Waiting<T>>;
    /// Waiting bytes, for the exception of the least backlog.
    fn backlog(&self) -> ByteCount;
    /// Handles the drop of `item` by CoDel.
    fn drop(&mut self, item: Waiting<T>);
    /// Handles the departure of an item that arrived at `arrived`: served or dropped.
    fn left(&mut self, arrived: Time, outcome: Outcome);
}

/// State of CoDel for one queue.
#[derive(Clone, Debug, Default)]
pub(in crate::queue) struct CodelState {
    /// Whether a series of drops is in progress.
    dropping: bool,
    /// Drops of this series, including those taken over from the last one.
    count: u32,
    /// `count` when this series began.
    last_count: u32,
    /// About 2^16 / sqrt(count).
    inverse_sqrt: u16,
    /// Time at which packets will have waited too long for an interval; `None` while they do not.
    first_above: Option<Time>,
    /// Time at which the next drop is or was due; `None` before the first series.
    drop_next: Option<Time>,
}

impl CodelState {
    /// Handles the drop of `packets` of the queue by a limit: the signal becomes stronger (`fq_codel_drop`).
    pub(in crate::queue) fn overflowed(&mut self, packets: u32) {
        self.count = self.count.wrapping_add(packets);
    }

    /// The next packet to serve.
    pub(in crate::queue) fn dequeue<T: Item>(
        &mut self,
        now: Time,
        parameters: &Parameters,
        source: &mut impl HeadSource<T>,
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
            // a large backlog may need several drops together
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
                // only to update the state: the series begins in any case
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

    /// Whether packets have waited too long for an interval, `head` being the last of them.
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

    /// Begins a series of drops with a packet that had waited for `sojourn`.
    fn begin_series(&mut self, clock: Time, sojourn: Duration, parameters: &Parameters) {
        self.dropping = true;
        let again = match parameters.restart {
            // if the queue was controlled recently, the rate of that time is a good initial value
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

    /// One step of Newton's method: x becomes x (3 - count x²) / 2, in fixed-point numbers with overflow as
    /// in Linux (after a jump of the count the result is nowhere near the root).
    fn newton_step(&mut self) {
        let root = u64::from(self.inverse_sqrt) << 16; // as a fraction of 2^32
        let square = (root * root) >> 32;
        let value = (3_u64 << 32).wrapping_sub(u64::from(self.count).wrapping_mul(square));
        let value = (value >> 2).wrapping_mul(root) >> 31;
        self.inverse_sqrt = (value >> 16) as u16;
    }

    /// Time of the drop after the one due at `due`.
    fn next_drop(&self, due: Time, parameters: &Parameters) -> Time {
        let ticks = parameters.interval.as_nanos() >> TICK_BITS;
        let wait = match parameters.law {
            ControlLaw::InverseSqrt => ((u128::from(ticks) * u128::from(self.inverse_sqrt)) >> 16) as u64,
            ControlLaw::InverseCount => ticks / u64::from(self.count.max(1)),
        };
        due + Duration::from_nanos(wait << TICK_BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Codel;
    use super::*;
    use crate::testing::at;

    #[test]
    fn the_root_of_newton_approaches_the_root_of_the_count() {
        let mut control = CodelState { inverse_sqrt: u16::MAX, count: 1, ..CodelState::default() };
        for count in 2..=1000_u32 {
            control.count = count;
            control.newton_step();
            let root = f64::from(control.inverse_sqrt) / 65536.0;
            let n = f64::from(count);
            let error = root * n.sqrt() - 1.0;
            // the root is off by 1 / 2n when the count grows; a step squares that, times 1.5, and truncates
            // bits
            let bound = 1.5 / (4.0 * n * n) * 1.3 + 2.0 * n.sqrt() / 65536.0;
            assert!(error <= 0.0 && (count < 10 || -error < bound), "{count}: {error}");
        }
    }

    #[test]
    fn a_new_series_soon_after_begins_with_what_the_last_one_added() {
        let parameters = Parameters::from(&Codel::default());
        let series = |count, last_count, ago: u64| {
            let drop_next = Some(at(10_000));
            let mut control =
                CodelState { count, last_count, drop_next, inverse_sqrt: 20_000, ..CodelState::default() };
            control.begin_series(at(10_000 + ago), Duration::from_millis(200), &parameters);
            (control.count, control.last_count)
        };
        assert_eq!(series(9, 4, 100), (5, 5)); // 9 - 4 added
        assert_eq!(series(5, 4, 100), (1, 1)); // one drop only: the state was hardly needed
        assert_eq!(series(9, 4, 1599), (5, 5));
        assert_eq!(series(9, 4, 1601), (1, 1)); // 16 intervals are over
        // the published rule: count - 2 if the sojourn is below an interval
        let published = Parameters::from(&Codel { restart: CodelRestart::MinusTwo, ..Codel::default() });
        let restart = |count, sojourn| {
            let mut control = CodelState { count, inverse_sqrt: 20_000, ..CodelState::default() };
            control.begin_series(at(10_000), Duration::from_millis(sojourn), &published);
            control.count
        };
        assert_eq!([restart(9, 99), restart(9, 101), restart(3, 50), restart(0, 50)], [7, 1, 1, 1]);
    }
}
