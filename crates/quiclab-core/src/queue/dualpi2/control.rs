//! The controller of DualPI2, in units of Linux (see [`super`]): a probability that follows the waiting time
//! and its trend.

use super::Dualpi2;
use crate::random::RandomStream;
use crate::time::Duration;

/// `MAX_PROB` of Linux: a probability of 1.
const CERTAIN: u32 = u32::MAX;
/// `ALPHA_BETA_GRANULARITY` of Linux: gains are those for 64 ns.
const GRANULARITY_BITS: u32 = 6;
/// `ALPHA_BETA_SHIFT` of Linux: configured gains are in units of 1/256 per second.
const CONFIGURED_BITS: u32 = 8;

/// Configuration of the controller, in units of Linux.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters {
    target: Duration,
    /// Change of the probability per 64 ns.
    alpha: u32,
    beta: u32,
    coupling_factor: u32,
}

impl From<&Dualpi2> for Parameters {
    fn from(config: &Dualpi2) -> Self {
        // `dualpi2_scale_alpha_beta`
        let scaled = |gain: u32| {
            let per_second = (u64::from(gain) * u64::from(CERTAIN)) >> (CONFIGURED_BITS - GRANULARITY_BITS);
            (per_second / 1_000_000_000) as u32
        };
        Self {
            target: config.target,
            alpha: scaled(config.alpha),
            beta: scaled(config.beta),
            coupling_factor: config.coupling_factor,
        }
    }
}

/// State of the controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Control {
    /// The base probability.
    pub(super) probability: u32,
    /// The waiting time at the last update.
    last_delay: Duration,
}

impl Control {
    /// Updates the probability with the waiting time of the oldest head (`calculate_probability`).
    pub(super) fn update(&mut self, parameters: &Parameters, delay: Duration) {
        let nanos = |duration: Duration| i128::from(duration.as_nanos());
        let error = (nanos(delay) - nanos(parameters.target)) * i128::from(parameters.alpha);
        let trend = (nanos(delay) - nanos(self.last_delay)) * i128::from(parameters.beta);
        // rounded towards zero, as Linux divides the magnitude
        let change = (error + trend) / (1 << GRANULARITY_BITS);
        self.probability = (i128::from(self.probability) + change).clamp(0, i128::from(CERTAIN)) as u32;
        self.last_delay = delay;
    }

    /// Whether the probability of packets of the L queue exceeds 1.
    pub(super) fn is_overloaded(self, parameters: &Parameters) -> bool {
        self.coupled(parameters) > u64::from(CERTAIN)
    }

    /// Whether a packet of the classic queue is dropped or marked: with the squared probability.
    pub(super) fn strikes_classic(self, random: &mut RandomStream) -> bool {
        roll(self.probability, random) && roll(self.probability, random)
    }

    /// Whether a packet of the L queue is marked, without overload.
    pub(super) fn strikes_low_latency(self, parameters: &Parameters, random: &mut RandomStream) -> bool {
        roll(self.coupled(parameters) as u32, random)
    }

    fn coupled(self, parameters: &Parameters) -> u64 {
        u64::from(self.probability) * u64::from(parameters.coupling_factor)
    }
}

fn roll(probability: u32, random: &mut RandomStream) -> bool {
    (random.bits() >> 32) as u32 <= probability
}
