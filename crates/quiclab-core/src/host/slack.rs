//! Draws from a [`Delay`]: how late a timer fires.

use crate::random::RandomStream;
use crate::scenario::{Delay, Distribution};
use crate::time::Duration;

/// A duration distributed as `delay` says, cut off at 0; a constant draws no number.
pub(super) fn draw(delay: &Delay, random: &mut RandomStream) -> Duration {
    let standard = match delay.distribution {
        Distribution::Constant => return delay.mean,
        Distribution::Normal => random.normal(),
        Distribution::Uniform => 2.0 * random.uniform() - 1.0,
        // shape 3 and minimum 1 have the mean 3/2 and the variance 3/4
        Distribution::Pareto => (random.pareto(3.0) - 1.5) / libm::sqrt(0.75),
    };
    let (mean, deviation) = (delay.mean.as_nanos() as f64, delay.deviation.as_nanos() as f64);
    Duration::from_nanos_f64(mean + deviation * standard)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_mean_the_deviation_and_the_bounds_it_is_asked_for() {
        let (mean, deviation) = (Duration::from_millis(10), Duration::from_millis(1));
        let n = 100_000u32;
        // bounds: five standard errors of a mean over n draws
        let error = 5.0 / libm::sqrt(f64::from(n));
        for (distribution, sigma, least, most) in [
            (Distribution::Constant, 0.0, 10.0, 10.0),
            (Distribution::Normal, 1.0, 0.0, f64::INFINITY),
            (Distribution::Uniform, 1.0 / libm::sqrt(3.0), 9.0, 11.0),
            (Distribution::Pareto, 1.0, 10.0 - 0.5 / libm::sqrt(0.75) - 1e-6, f64::INFINITY),
        ] {
            let delay = Delay { mean, deviation, distribution, reorder: false };
            let mut random = RandomStream::new(5, "slack");
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..n {
                let ms = draw(&delay, &mut random).as_ms_f64();
                assert!((least..=most).contains(&ms), "{distribution:?}: {ms} ms");
                sum += ms - 10.0;
                squares += (ms - 10.0) * (ms - 10.0);
            }
            assert!((sum / f64::from(n)).abs() <= sigma * error + 1e-9, "{distribution:?}");
            // the fourth moment of the Pareto distribution of shape 3 is infinite: no such bound
            if distribution != Distribution::Pareto {
                let variance = squares / f64::from(n);
                assert!((variance - sigma * sigma).abs() <= sigma * sigma * 1.5 * error + 1e-9);
            }
        }
    }

    #[test]
    fn is_cut_off_at_zero() {
        let delay = Delay {
            mean: Duration::ZERO,
            deviation: Duration::from_millis(1),
            distribution: Distribution::Normal,
            reorder: false,
        };
        let mut random = RandomStream::new(1, "cut");
        let zeros = (0..1000).filter(|_| draw(&delay, &mut random) == Duration::ZERO).count();
        // half of them, within five standard deviations (16) of a binomial count
        assert!((420..=580).contains(&zeros), "{zeros}");
    }
}
