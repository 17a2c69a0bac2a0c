//! Control of one queue by RED: its average and the resulting action on a packet, in units of Linux (see [`super`]).

use super::Red;
use crate::random::RandomStream;
use crate::time::{Duration, Time};
use crate::units::Probability;

const TWO_32: f64 = 4_294_967_296.0;
/// `RED_ONE_PERCENT` of Linux: 2^32 is 1.
const ONE_PERCENT: u32 = 42_949_673;
/// Bounds of the maximum probability within which it is adapted.
const ADAPTED: std::ops::RangeInclusive<u32> = ONE_PERCENT..=50 * ONE_PERCENT;
/// Entries of the table for idle times; longer ones use the last entry (`RED_STAB_SIZE`).
const TABLE: usize = 256;
/// Maximum shift of an average (`red_check_params`).
const LONGEST_SHIFT: f64 = 31.0;

/// A probability in units of 2^-32, rounded down; 1 itself is also rounded down.
pub(super) fn of_2_32(probability: Probability) -> u32 {
    (probability.value() * TWO_32) as u32
}

/// Configuration of the control, in units of Linux.
#[derive(Clone, Debug)]
pub(super) struct Parameters {
    /// `Wlog`: an average is in units of 2^-weight bytes.
    weight: u32,
    /// Thresholds as averages.
    min: u64,
    max: u64,
    /// Bytes between the thresholds, at least 1.
    span: u32,
    /// Averages in bytes between which the maximum probability stays.
    target: (u64, u64),
    /// `None` if the average stays while the queue is empty.
    idle: Option<Box<Damping>>,
}

impl From<&Red> for Parameters {
    fn from(config: &Red) -> Self {
        let (min, max) = (config.min_threshold.bytes(), config.max_threshold.bytes());
        let fifth = max.saturating_sub(min).max(1) / 5;
        let idle = config.packet_time.map(|time| Box::new(Damping::new(config.weight_exponent, time)));
        Self {
            weight: config.weight_exponent,
            min: min << config.weight_exponent,
            max: max << config.weight_exponent,
            span: u32::try_from(max.saturating_sub(min).max(1)).unwrap_or(u32::MAX),
            target: (min + 2 * fifth, min + 3 * fifth),
            idle,
        }
    }
}

/// Decrease of an average over an idle time (`Stab` of Linux, as `tc_red_eval_idle_damping` of iproute2 computes it
/// from the weight and the time of a packet, here in the microseconds in which Linux reads it).
#[derive(Clone, Debug)]
struct Damping {
    /// Bits by which an average is shifted.
    shifts: [u8; TABLE],
    /// `Scell_log`: an entry is for 2^cell microseconds.
    cell: u32,
}

impl Damping {
    fn new(weight: u32, packet_time: Duration) -> Self {
        let decay = -libm::log(1.0 - 1.0 / (1_u64 << weight) as f64);
        let of_a_microsecond = decay / (packet_time.as_nanos() as f64 / 1e3);
        let longest = LONGEST_SHIFT / of_a_microsecond;
        let cell = (0..31).find(|cell| longest / ((1_u64 << cell) as f64) < 512.0).unwrap_or(31);
        let mut shifts = [LONGEST_SHIFT as u8; TABLE];
        for (index, shift) in (0_u64..).zip(&mut shifts[..TABLE - 1]) {
            *shift = ((index << cell) as f64 * of_a_microsecond).min(LONGEST_SHIFT) as u8;
        }
        shifts[0] = 0; // without a weight, 0 times infinity
        Self { shifts, cell }
    }

    /// The average after `idle` (`red_calc_qavg_from_idle_time`).
    fn after(&self, average: u64, idle: Duration) -> u64 {
        let micros = (idle.as_nanos() / 1000).min((TABLE as u64 - 1) << self.cell);
        match self.shifts[(micros >> self.cell) as usize] {
            // the start of the exponential function as a straight line
            0 => match average.saturating_mul(micros) >> self.cell {
                decrease if decrease < average >> 1 => average - decrease,
                _ => average >> 1,
            },
            shift => average >> shift,
        }
    }
}

/// Action of RED on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// The packet passes.
    Pass,
    /// The packet was drawn between the thresholds.
    Early,
    /// The average is at `max_threshold` or above.
    Forced,
}

/// State of RED.
#[derive(Clone, Debug)]
pub(super) struct Control {
    /// The average.
    average: u64,
    /// Time since which the queue has been empty; `None` if it is not, or if that has no effect.
    idle_since: Option<Time>,
    /// Packets since the last one that was drawn; `None`: the average was not between the thresholds.
    count: Option<u64>,
    /// `qR`: the next packet is drawn when count times the excess of the average in bytes reaches it.
    drawn: u64,
    /// The maximum probability; 2^32 is 1.
    max_probability: u32,
    /// The maximum probability per byte between the thresholds.
    slope: u32,
}

impl Control {
    pub(super) fn new(config: &Red, parameters: &Parameters) -> Self {
        let max_probability = of_2_32(config.max_probability);
        Self {
            average: 0,
            idle_since: parameters.idle.as_ref().map(|_| Time::ZERO),
            count: None,
            drawn: 0,
            max_probability,
            slope: (max_probability / parameters.span).max(1),
        }
    }

    /// The average in bytes.
    pub(super) fn average_bytes(&self, parameters: &Parameters) -> f64 {
        self.average as f64 / (1_u64 << parameters.weight) as f64
    }

    /// The maximum probability.
    pub(super) fn max_probability(&self) -> f64 {
        f64::from(self.max_probability) / TWO_32
    }

    /// Action on a packet that arrives and finds `backlog` bytes (`red_calc_qavg`, `red_action`).
    pub(super) fn arrives(
        &mut self,
        parameters: &Parameters,
        now: Time,
        backlog: u64,
        random: &mut RandomStream,
    ) -> Action {
        self.average = match self.idle_since.take() {
            None => self.average + backlog - (self.average >> parameters.weight),
            Some(since) => Self::decayed(self.average, parameters, now.since(since)),
        };
        if self.average < parameters.min {
            self.count = None;
            return Action::Pass;
        }
        if self.average >= parameters.max {
            self.count = None;
            return Action::Forced;
        }
        let excess = (self.average - parameters.min) >> parameters.weight;
        let count = self.count.map_or(0, |count| count + 1);
        let is_drawn = count > 0 && excess * count >= self.drawn;
        if is_drawn || count == 0 {
            self.drawn = (random.bits() >> 32) / u64::from(self.slope);
        }
        self.count = Some(if is_drawn { 0 } else { count });
        if is_drawn { Action::Early } else { Action::Pass }
    }

    /// Records that the queue is empty at `now`.
    pub(super) fn is_idle(&mut self, parameters: &Parameters, now: Time) {
        if parameters.idle.is_some() {
            self.idle_since.get_or_insert(now);
        }
    }

    fn decayed(average: u64, parameters: &Parameters, idle: Duration) -> u64 {
        parameters.idle.as_ref().map_or(average, |damping| damping.after(average, idle))
    }

    /// The periodic computation of adaptive RED, due at `now` (`red_adaptative_algo`). Returns whether another one has
    /// an effect while the average stays.
    pub(super) fn adapt(&mut self, parameters: &Parameters, now: Time) -> bool {
        let average = match self.idle_since {
            None => self.average,
            Some(since) => Self::decayed(self.average, parameters, now.since(since)),
        } >> parameters.weight;
        let (low, high) = parameters.target;
        let before = self.max_probability;
        if average > high && before <= *ADAPTED.end() {
            self.max_probability += (before / 4).min(ONE_PERCENT);
        } else if average < low && before >= *ADAPTED.start() {
            self.max_probability = before / 10 * 9;
        }
        let half = u64::from(parameters.span / 2);
        let slope = (u64::from(self.max_probability) + half) / u64::from(parameters.span);
        self.slope = u32::try_from(slope.max(1)).expect("less than the probability");
        self.max_probability != before || self.idle_since.is_some() && average >= low
    }
}

#[cfg(test)]
impl Control {
    /// Returns a control with this average in bytes.
    pub(super) fn at(self, parameters: &Parameters, bytes: u64) -> Self {
        Self { average: bytes << parameters.weight, idle_since: None, ..self }
    }
}
