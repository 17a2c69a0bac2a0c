//! Control of one queue by PIE: which packets are dropped or marked, in units of Linux (see [`super`]).

use super::super::Item;
use super::Pie;
use crate::element::DropReason;
use crate::random::RandomStream;
use crate::time::{Duration, Time};

/// `MAX_PROB` of Linux: a probability of 1.
pub(super) const CERTAIN: u64 = u64::MAX >> 8;
/// `PSCHED_SHIFT` of Linux: a tick is 64 ns.
pub(super) const TICK_BITS: u32 = 6;
const TICKS_PER_SECOND: u64 = 1_000_000_000 >> TICK_BITS;
/// Waiting time above which the probability grows by an additional 2 % at each update.
const HIGH_DELAY: u64 = 250_000_000 >> TICK_BITS;
/// DQ_THRESHOLD (RFC 8033 section 5.2): bytes over which a departure rate is measured, and minimum backlog for a
/// measurement.
pub(super) const RATE_BYTES: u64 = 16_384;
/// `PIE_SCALE` of Linux: a departure rate is in units of 2^-8 bytes per tick.
const RATE_BITS: u32 = 8;

fn ticks(duration: Duration) -> u64 {
    duration.as_nanos() >> TICK_BITS
}

/// Configuration of the control, in units of Linux.
#[derive(Clone, Debug)]
pub(in crate::queue) struct Parameters {
    pub(super) target: u64,
    /// Change of the probability per tick.
    pub(super) alpha: u64,
    pub(super) beta: u64,
    pub(super) burst: u64,
    pub(super) byte_mode: bool,
    pub(super) rate_estimator: bool,
    pub(super) mtu: u64,
    /// Time between two updates.
    pub(super) interval: Duration,
    /// Probability up to which ECN-capable packets are marked; `None`: no packet is.
    pub(super) marks_up_to: Option<u64>,
}

impl From<&Pie> for Parameters {
    fn from(config: &Pie) -> Self {
        let per_tick = |sixteenths: u32| (u64::from(sixteenths) * (CERTAIN / TICKS_PER_SECOND)) >> 4;
        Self {
            target: ticks(config.target),
            alpha: per_tick(config.alpha),
            beta: per_tick(config.beta),
            burst: ticks(config.burst_allowance),
            byte_mode: config.byte_mode,
            rate_estimator: config.rate_estimator,
            mtu: config.mtu.bytes(),
            interval: config.update_interval,
            marks_up_to: config.ecn.then_some((config.ecn_drop_threshold.value() * CERTAIN as f64) as u64),
        }
    }
}

/// State of PIE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::queue) struct Control {
    pub(super) probability: u64,
    /// Sum of the probabilities of packets since the last drop.
    pub(in crate::queue) accumulated: u64,
    /// The waiting time, in ticks: of the last departure, or estimated at the last update.
    pub(super) delay: u64,
    /// The waiting time of the update before.
    pub(super) last_delay: u64,
    /// Remaining burst allowance, in ticks.
    pub(super) burst: u64,
    /// Time of the previous departure, or start of the measurement of the rate, in ticks; `None`: none since the last
    /// restart.
    pub(super) since: Option<u64>,
    /// Bytes in the present measurement of the rate; `None` while there is none.
    pub(super) measured: Option<u64>,
    /// Mean departure rate; 0 before the first measurement.
    pub(super) rate: u64,
}

impl Control {
    pub(super) fn new(parameters: &Parameters) -> Self {
        let burst = parameters.burst;
        Self {
            probability: 0,
            accumulated: 0,
            delay: 0,
            last_delay: 0,
            burst,
            since: None,
            measured: None,
            rate: 0,
        }
    }

    /// Whether a packet of `bytes` that finds `backlog` is dropped or marked (RFC 8033 sections 4.1, 4.4 and 5.4).
    pub(super) fn strikes(
        &mut self,
        parameters: &Parameters,
        bytes: u64,
        backlog: u64,
        random: &mut RandomStream,
    ) -> bool {
        let relaxed = self.delay < parameters.target / 2 && self.probability < CERTAIN / 5;
        if self.burst > 0 || relaxed || backlog < 2 * parameters.mtu {
            return false;
        }
        let probability = if parameters.byte_mode && bytes <= parameters.mtu {
            bytes * (self.probability / parameters.mtu)
        } else {
            self.probability
        };
        // neither soon after the last drop nor long after it
        self.accumulated = if probability == 0 { 0 } else { self.accumulated.wrapping_add(probability) };
        if self.accumulated < CERTAIN / 100 * 85 {
            return false;
        }
        if self.accumulated >= CERTAIN / 2 * 17 {
            return true;
        }
        let struck = random.bits() >> 8 < probability;
        if struck {
            self.accumulated = 0;
        }
        struck
    }

    /// Handles the departure of a packet of `bytes` that arrived at `arrived` and leaves `backlog` behind.
    pub(in crate::queue) fn departed(
        &mut self,
        parameters: &Parameters,
        now: Time,
        arrived: Time,
        bytes: u64,
        backlog: u64,
    ) {
        let clock = now.as_nanos() >> TICK_BITS;
        let passed = if parameters.rate_estimator {
            self.measure(clock, bytes, backlog)
        } else {
            self.delay = if backlog > 0 { clock - (arrived.as_nanos() >> TICK_BITS) } else { 0 };
            self.since.replace(clock).map(|before| clock - before)
        };
        self.burst = self.burst.saturating_sub(passed.unwrap_or(0));
    }

    /// Measures the departure rate over some packets during a large backlog (RFC 8033 section 5.2). Returns the
    /// duration of a completed measurement.
    fn measure(&mut self, clock: u64, bytes: u64, backlog: u64) -> Option<u64> {
        let waits = backlog >= RATE_BYTES;
        if waits && self.measured.is_none() {
            (self.since, self.measured) = (Some(clock), Some(0));
        }
        let measured = self.measured.as_mut()?;
        *measured += bytes;
        let passed = clock - self.since?;
        if *measured < RATE_BYTES || passed == 0 {
            return None;
        }
        let rate = (*measured << RATE_BITS) / passed;
        self.rate = if self.rate == 0 { rate } else { self.rate - (self.rate >> 3) + (rate >> 3) };
        self.measured = waits.then_some(0);
        if waits {
            self.since = Some(clock);
        }
        Some(passed)
    }

    /// Number of bits by which changes are scaled down at small probabilities (RFC 8033 section 4.2).
    pub(super) fn scale(&self) -> u32 {
        if self.probability >= CERTAIN / 10 {
            return 0;
        }
        let powers = [100, 1000, 10_000, 100_000, 1_000_000];
        1 + powers.iter().take_while(|power| self.probability < CERTAIN / **power).map(|_| 2).sum::<u32>()
    }

    /// The periodic update, with a backlog of `backlog` (RFC 8033 sections 4.2, 4.4 and 5.5).
    pub(super) fn update(&mut self, parameters: &Parameters, backlog: u64) {
        if parameters.rate_estimator {
            self.last_delay = self.delay;
            self.delay = (backlog << RATE_BITS).checked_div(self.rate).unwrap_or(0);
        }
        let (delay, before, target) = (self.delay, self.last_delay, parameters.target);
        let part =
            |factor: u64, from: u64| (factor >> self.scale()).wrapping_mul(delay.wrapping_sub(from)) as i64;
        let mut change = part(parameters.alpha, target).wrapping_add(part(parameters.beta, before));
        if self.probability >= CERTAIN / 10 {
            change = change.min((CERTAIN / 50) as i64);
        }
        if delay > HIGH_DELAY {
            change = change.wrapping_add((CERTAIN / 50) as i64);
        }
        let limit = if change > 0 { CERTAIN } else { 0 };
        self.probability = self.probability.checked_add_signed(change).unwrap_or(limit);
        if delay == 0 && before == 0 && backlog == 0 {
            self.probability -= self.probability / 64;
        }
        let is_short = delay < target / 2 && before < target / 2;
        if is_short && self.probability == 0 && (!parameters.rate_estimator || self.rate > 0) {
            *self = Self { delay, last_delay: before, ..Self::new(parameters) };
        }
        if !parameters.rate_estimator {
            self.last_delay = delay;
        }
    }
}

/// Control of a queue with the time of its next update.
#[derive(Clone, Debug)]
pub(in crate::queue) struct Controller {
    pub(in crate::queue) control: Control,
    pub(in crate::queue) next_update: Time,
}

impl Controller {
    pub(in crate::queue) fn new(parameters: &Parameters) -> Self {
        Self { control: Control::new(parameters), next_update: Time::ZERO + parameters.interval }
    }

    /// Makes all updates that were due by `now`, with the `backlog` since then.
    pub(in crate::queue) fn update_until(&mut self, parameters: &Parameters, now: Time, backlog: u64) {
        let interval = parameters.interval;
        while self.next_update <= now {
            let before = self.control;
            self.control.update(parameters, backlog);
            if self.control == before {
                let passed = now.since(self.next_update).as_nanos() / interval.as_nanos();
                self.next_update += interval * passed;
            }
            self.next_update += interval;
        }
    }

    /// Decision on `item`, which finds `backlog`: whether it is marked, or the reason for its drop.
    pub(in crate::queue) fn judge<T: Item>(
        &mut self,
        parameters: &Parameters,
        item: &mut T,
        backlog: u64,
        random: &mut RandomStream,
    ) -> Result<bool, DropReason> {
        if !self.control.strikes(parameters, item.bytes().bytes(), backlog, random) {
            return Ok(false);
        }
        let may_mark = parameters.marks_up_to.is_some_and(|most| self.control.probability <= most);
        if may_mark && item.mark() {
            return Ok(true);
        }
        self.control.accumulated = 0;
        Err(DropReason::Pie)
    }
}
