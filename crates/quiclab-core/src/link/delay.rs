//! Propagation delay of a link, drawn for each packet independently, or for a time (`every`).
//!
//! | distribution | value, truncated at 0 | smallest value |
//! | --- | --- | --- |
//! | constant | mean | mean |
//! | normal | mean + deviation x N(0, 1) | 0 |
//! | uniform | mean - deviation to mean + deviation: the deviation is half of the width | mean - deviation |
//! | Pareto | mean + deviation x (P - 3/2) / (sqrt(3)/2), P of shape 3 and minimum 1 | mean - deviation/sqrt(3) |
//! | Wi-Fi | mean + N1 x 1 ms, less U(0, 1 ms) if N1 >= 1, + N2 x 7.5 ms for a share of (deviation - 1 ms) / 90 ms of the packets, N1 and N2 Poisson of mean 1 and 12 | mean |
//!
//! `tc-netem` reads its distributions from tables of up to 16 384 values that end at four times its
//! jitter, and scales its Pareto table (the same shape) by 4/3 instead of 2/sqrt(3), which makes the
//! deviation 15 % larger than configured. Its delay without `distribution` is the uniform one.
//!
//! Truncation at 0 raises the mean if the deviation is large: for a normal delay with a deviation of a tenth of the
//! mean it does not.
//!
//! The Wi-Fi jitter is that of draft-huitema-ccwg-c4-test-04, section "Handling of High Jitter Environments": N1 stands
//! for collision avoidance and deferral, N2 for retransmission. `deviation` is the "average jitter" of the draft, from
//! which it derives the share (0 up to 1 ms, 1 from 91 ms on); the mean of the formula is 0.68 ms + 90 ms x share. The
//! program of the draft (picoquictest/sim_link.c of picoquic) differs from its text: the share is
//! (deviation - 1 ms) / 84 ms, and U(0, 7.5 ms) is subtracted where N2 > 1. As there, packets keep their order unless
//! `reorder` is set, and a `deviation` of 0 is no jitter.
//!
//! With `every` the delay of a packet is that of the time at which it enters: as a script that changes `tc-netem`
//! repeatedly. The first change comes after a part of `every` that is also drawn. A change is made in `steps` equal
//! steps, the first immediately and the others `every / steps` apart: fewer packets overtake after small decreases.

use crate::link::{Delay, Distribution};
use crate::random::RandomStream;
use crate::time::{Duration, Time};

/// Shape of the Pareto distribution; its variance is finite above 2.
const PARETO_SHAPE: f64 = 3.0;
/// Mean of a Pareto number of shape 3 and minimum 1: shape / (shape - 1).
const PARETO_MEAN: f64 = 1.5;
/// Its standard deviation: sqrt(shape / (shape - 2)) / (shape - 1) = sqrt(3) / 2.
const PARETO_DEVIATION: f64 = 0.866_025_403_784_438_6;

/// One draw of `config` from `random`: for a time that is needed only once.
#[must_use]
pub fn draw(config: &Delay, random: RandomStream) -> Duration {
    DelayModel::new(config, random).draw(Time::ZERO)
}

/// Mean of the number of intervals of `WIFI_SHORT`, and the interval [ns].
const WIFI_DEFERRALS: f64 = 1.0;
const WIFI_SHORT: f64 = 1e6;
/// The same for retransmissions.
const WIFI_RETRANSMISSIONS: f64 = 12.0;
const WIFI_LONG: f64 = 7.5e6;

/// Draws the delay of each packet.
#[derive(Debug)]
pub(crate) struct DelayModel {
    mean: Duration,
    /// Standard deviation in nanoseconds; half of the width for a uniform delay.
    deviation: f64,
    /// Constant where the deviation is 0.
    distribution: Distribution,
    random: RandomStream,
    /// `None` if each packet has a new draw.
    held: Option<SteppedDelay>,
}

/// A delay that holds for a time.
#[derive(Debug)]
struct SteppedDelay {
    every: Duration,
    steps: u32,
    /// Delay before the last change, and delay drawn at that change.
    before: Duration,
    drawn: Duration,
    /// Time of the last draw; the first one is before the run.
    since: Time,
    next: Time,
}

impl SteppedDelay {
    /// The delay at `at`, not before the last change.
    fn at(&self, at: Time) -> Duration {
        let steps = u64::from(self.steps);
        let step = (at.since(self.since).as_nanos() * steps / self.every.as_nanos().max(1) + 1).min(steps);
        let (before, drawn) = (self.before.as_nanos(), self.drawn.as_nanos());
        Duration::from_nanos(match drawn.checked_sub(before) {
            Some(rise) => before + rise * step / steps,
            None => before - (before - drawn) * step / steps,
        })
    }
}

impl DelayModel {
    /// Creates the model of `config`; `random` is its own stream.
    pub(crate) fn new(config: &Delay, random: RandomStream) -> Self {
        let distribution = match config.deviation {
            Duration::ZERO => Distribution::Constant,
            _ => config.distribution,
        };
        let deviation = config.deviation.as_nanos() as f64;
        let mut model = Self { mean: config.mean, deviation, distribution, random, held: None };
        if let Some(every) = config.every.filter(|_| !model.is_constant()) {
            let drawn = model.draw_new();
            let drawn_first = model.random.uniform() * every.as_nanos() as f64;
            let next = Time::ZERO + config.first.unwrap_or(Duration::from_nanos_f64(drawn_first));
            let steps = config.steps;
            model.held = Some(SteppedDelay { every, steps, before: drawn, drawn, since: Time::ZERO, next });
        }
        model
    }

    /// Sets the distribution whose mean and deviation are set by conditions; a deviation of 0 may become another.
    pub(crate) fn follow(&mut self, distribution: Distribution) {
        self.distribution = distribution;
    }

    /// Sets mean and deviation from now on.
    pub(crate) fn set(&mut self, mean: Duration, deviation: Duration) {
        (self.mean, self.deviation) = (mean, deviation.as_nanos() as f64);
    }

    /// Whether all packets have the same delay.
    pub(crate) fn is_constant(&self) -> bool {
        self.distribution == Distribution::Constant
    }

    /// Lower bound of all draws.
    pub(crate) fn shortest(&self) -> Duration {
        let below_mean = match self.distribution {
            Distribution::Constant | Distribution::Wifi => 0.0,
            Distribution::Normal => return Duration::ZERO,
            Distribution::Uniform => self.deviation,
            Distribution::Pareto => self.deviation * (PARETO_MEAN - 1.0) / PARETO_DEVIATION,
        };
        // one more nanosecond: draws are rounded to the nearest
        Duration::from_nanos_f64(self.mean.as_nanos() as f64 - below_mean - f64::from(below_mean > 0.0))
    }

    /// Delay of a packet that enters at `at`, not before the previous packet.
    pub(crate) fn draw(&mut self, at: Time) -> Duration {
        let Some(mut held) = self.held.take() else { return self.draw_new() };
        while held.next <= at {
            held.since = held.next;
            held.next = held.since + held.every;
            held.before = std::mem::replace(&mut held.drawn, self.draw_new());
        }
        let delay = held.at(at);
        self.held = Some(held);
        delay
    }

    fn draw_new(&mut self) -> Duration {
        let standard = match self.distribution {
            Distribution::Constant => return self.mean,
            Distribution::Normal => self.random.normal(),
            Distribution::Uniform => 2.0 * self.random.uniform() - 1.0,
            Distribution::Pareto => (self.random.pareto(PARETO_SHAPE) - PARETO_MEAN) / PARETO_DEVIATION,
            Distribution::Wifi => {
                let jitter = self.wifi_jitter();
                return Duration::from_nanos_f64(self.mean.as_nanos() as f64 + jitter);
            }
        };
        // floating point, as for every draw from a distribution; rounded to the nearest nanosecond
        Duration::from_nanos_f64(self.mean.as_nanos() as f64 + self.deviation * standard)
    }
}

impl DelayModel {
    /// Jitter of Wi-Fi, which is added to the mean [ns].
    fn wifi_jitter(&mut self) -> f64 {
        if self.deviation == 0.0 {
            return 0.0;
        }
        let deferrals = self.random.poisson(WIFI_DEFERRALS);
        let mut jitter = deferrals as f64 * WIFI_SHORT;
        if deferrals > 0 {
            jitter -= self.random.uniform() * WIFI_SHORT;
        }
        let share = (self.deviation - WIFI_SHORT) / (WIFI_RETRANSMISSIONS * WIFI_LONG);
        if self.random.uniform() < share {
            jitter += self.random.poisson(WIFI_RETRANSMISSIONS) as f64 * WIFI_LONG;
        }
        jitter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEAN: f64 = 10e6;
    const DEVIATION: f64 = 1e6;
    const N: usize = 200_000;

    fn draws(distribution: Distribution) -> Vec<f64> {
        let config = Delay {
            mean: Duration::from_millis(10),
            deviation: Duration::from_millis(1),
            distribution,
            reorder: true,
            ..Delay::default()
        };
        let mut model = DelayModel::new(&config, RandomStream::new(5, "link.delay"));
        (0..N).map(|_| model.draw(Time::ZERO).as_nanos() as f64).collect()
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / N as f64;
        (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (N as f64 - 1.0))
    }

    #[test]
    fn normal_has_the_configured_moments() {
        let (mean, variance) = moments(&draws(Distribution::Normal));
        assert!((mean - MEAN).abs() < 5.0 * DEVIATION / libm::sqrt(N as f64));
        // the variance of a normal sample has the relative standard error sqrt(2/n)
        assert!((variance / DEVIATION.powi(2) - 1.0).abs() < 5.0 * libm::sqrt(2.0 / N as f64));
    }

    #[test]
    fn uniform_fills_its_interval() {
        let values = draws(Distribution::Uniform);
        assert!(values.iter().all(|value| (value - MEAN).abs() <= DEVIATION));
        // variance of a uniform number of half width a: a^2/3; of its square: 4 a^4/45
        let (mean, variance) = moments(&values);
        assert!((mean - MEAN).abs() < 5.0 * DEVIATION / libm::sqrt(3.0 * N as f64));
        let error = DEVIATION.powi(2) * libm::sqrt(4.0 / 45.0 / N as f64);
        assert!((variance - DEVIATION.powi(2) / 3.0).abs() < 5.0 * error);
    }

    #[test]
    fn pareto_has_the_configured_mean_minimum_and_median() {
        let values = draws(Distribution::Pareto);
        let (mean, _) = moments(&values);
        assert!((mean - MEAN).abs() < 5.0 * DEVIATION / libm::sqrt(N as f64));
        let at = |pareto: f64| MEAN + DEVIATION * (pareto - 1.5) / libm::sqrt(0.75);
        assert!(values.iter().all(|value| *value >= libm::round(at(1.0))));
        // half of the draws are below the median, 2^(1/3): the standard error is sqrt(1/4n)
        let below = values.iter().filter(|value| **value < at(libm::cbrt(2.0))).count() as f64 / N as f64;
        assert!((below - 0.5).abs() < 5.0 * libm::sqrt(0.25 / N as f64));
    }

    #[test]
    fn delays_are_never_negative_and_constant_ones_draw_nothing() {
        let wide = Delay {
            mean: Duration::from_nanos(1),
            deviation: Duration::from_secs(1),
            distribution: Distribution::Normal,
            ..Delay::default()
        };
        let mut model = DelayModel::new(&wide, RandomStream::new(5, "link.delay"));
        let zeros = (0..1000).filter(|_| model.draw(Time::ZERO) == Duration::ZERO).count();
        // half of a normal distribution around 0 is truncated; five standard errors of 1000 draws
        assert!((zeros as f64 - 500.0).abs() < 5.0 * libm::sqrt(250.0));
        let constant = Delay { deviation: Duration::ZERO, ..wide };
        let mut model = DelayModel::new(&constant, RandomStream::new(5, "link.delay"));
        assert!(model.is_constant());
        assert_eq!(model.draw(Time::ZERO), Duration::from_nanos(1));
    }

    /// Changes every 100 ms from a drawn phase on, in two steps 50 ms apart, the first immediately.
    #[test]
    fn a_held_delay_changes_at_its_times_and_in_steps() {
        let config = Delay {
            mean: Duration::from_millis(38),
            deviation: Duration::from_millis(25),
            distribution: Distribution::Uniform,
            reorder: true,
            every: Some(Duration::from_millis(100)),
            first: None,
            steps: 2,
            ..Delay::default()
        };
        let mut model = DelayModel::new(&config, RandomStream::new(5, "link.delay"));
        let at = |tenths: u64| Time::ZERO + Duration::from_micros(100 * tenths);
        let delays: Vec<_> = (0..100_000).map(|tenths| model.draw(at(tenths)).as_nanos()).collect();
        let changes: Vec<_> = (1..delays.len()).filter(|&i| delays[i] != delays[i - 1]).collect();
        let phase = changes[0];
        assert!(phase <= 1000, "the first change is within the first 100 ms");
        assert_eq!(
            changes.len(),
            2 * (100_000 - phase).div_ceil(1000) - usize::from((100_000 - phase) % 1000 < 500)
        );
        for pair in changes.chunks_exact(2) {
            assert_eq!((pair[0] - phase) % 1000, 0, "a change");
            // the phase is no multiple of 100 us
            assert!((500..=501).contains(&(pair[1] - pair[0])), "its second step");
            let step = |at: usize| delays[at] as i64 - delays[at - 1] as i64;
            assert!((step(pair[0]) - step(pair[1])).abs() <= 1, "both are as long");
        }
        assert!(delays.iter().all(|delay| (13_000_000..=63_000_000).contains(delay)));
    }

    #[test]
    fn a_first_change_is_at_its_time() {
        let config = Delay {
            mean: Duration::from_millis(30),
            deviation: Duration::from_millis(10),
            distribution: Distribution::Uniform,
            every: Some(Duration::from_secs(15)),
            first: Some(Duration::from_secs(12)),
            ..Delay::default()
        };
        let mut model = DelayModel::new(&config, RandomStream::new(5, "link.delay"));
        let delays: Vec<_> = (0..60).map(|s| model.draw(Time::ZERO + Duration::from_secs(s))).collect();
        let changes: Vec<_> = (1..60).filter(|&s| delays[s] != delays[s - 1]).collect();
        assert_eq!(changes, [12, 27, 42, 57]);
    }

    /// Moments of the formula of the draft: N1 has mean and variance 1, and U is subtracted with 1 - 1/e.
    #[test]
    fn wifi_jitter_has_the_moments_of_its_formula() {
        for (average, share) in [(0.5, 0.0), (1.0, 0.0), (7.0, 6.0 / 90.0), (91.0, 1.0), (200.0, 1.0)] {
            let config = Delay {
                mean: Duration::from_millis(10),
                deviation: Duration::from_micros((average * 1000.0) as u64),
                distribution: Distribution::Wifi,
                ..Delay::default()
            };
            let mut model = DelayModel::new(&config, RandomStream::new(5, "link.delay"));
            let values: Vec<f64> =
                (0..N).map(|_| model.draw(Time::ZERO).as_nanos() as f64 / 1e6 - 10.0).collect();
            assert!(values.iter().all(|value| *value >= 0.0), "it is added to the mean");
            let (mean, variance) = moments(&values);
            let some = 1.0 - libm::exp(-1.0);
            let expected = 1.0 - some / 2.0 + share * 90.0;
            assert!((mean - expected).abs() < 5.0 * libm::sqrt(variance / N as f64), "{average}: {mean}");
            // no jitter with e^-1 if no retransmission, or one of zero, is added
            let none = libm::exp(-1.0) * (1.0 - share * (1.0 - libm::exp(-12.0)));
            let zeros = values.iter().filter(|value| **value == 0.0).count() as f64 / N as f64;
            assert!(
                (zeros - none).abs() <= 5.0 * libm::sqrt(none * (1.0 - none) / N as f64) + 1e-9,
                "{average}"
            );
            // long: N2 >= 4 exceeds any contribution of N1
            let long = values.iter().filter(|value| **value > 30.0).count() as f64 / N as f64;
            // P(Poisson(12) <= 3) = e^-12 (1 + 12 + 72 + 288)
            let expected = share * (1.0 - libm::exp(-12.0) * 373.0);
            assert!((long - expected).abs() < 5.0 * libm::sqrt(expected.max(1e-4) / N as f64) + 1e-3 * share);
        }
    }
}
