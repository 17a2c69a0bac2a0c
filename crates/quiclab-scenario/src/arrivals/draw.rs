//! Draws the times and sizes of a run from a process of arrivals.

use super::{Arrival, Arrivals, Sizes};
use quiclab_core::{ByteCount, Duration, RandomStream, Time};

impl Arrivals {
    /// The connections of a run, in the order of arrival, from `start` on; `None` if they are in a file.
    #[must_use]
    pub fn draw(&self, start: Time, mut random: RandomStream) -> Option<Vec<Arrival>> {
        let (interval, duration, sizes, is_poisson) = match self {
            Self::Poisson { interval, duration, sizes } => (*interval, *duration, sizes, true),
            Self::Regular { interval, duration, sizes } => (*interval, *duration, sizes, false),
            Self::File { .. } => return None,
        };
        let gap = |random: &mut RandomStream| {
            if is_poisson { scaled(interval, exponential(random)) } else { interval }
        };
        let mut after = if is_poisson { gap(&mut random) } else { Duration::ZERO };
        let mut arrivals = Vec::new();
        while after < duration {
            let size = sizes.as_ref().map(|sizes| sizes.draw(&mut random));
            arrivals.push(Arrival { at: start + after, size });
            after += gap(&mut random);
        }
        Some(arrivals)
    }
}

impl Sizes {
    /// Draws a size of at least a byte.
    fn draw(&self, random: &mut RandomStream) -> ByteCount {
        let bytes = match self {
            Self::Exponential { mean } => bytes(*mean) * exponential(random),
            Self::LogNormal { median, deviation } => bytes(*median) * libm::exp(deviation * random.normal()),
            Self::Pareto { minimum, maximum, shape } => {
                // inverse of the distribution function of a Pareto number that is at most `maximum`
                let (low, high) = (bytes(*minimum), bytes(*maximum));
                let within = 1.0 - libm::pow(low / high, *shape);
                low / libm::pow(1.0 - random.uniform() * within, 1.0 / shape)
            }
            Self::Empirical { sizes, probabilities } => {
                let drawn = random.uniform();
                let above = probabilities.partition_point(|probability| probability.value() <= drawn);
                let upper = bytes(sizes[above]);
                match above.checked_sub(1) {
                    None => upper,
                    Some(below) => {
                        let (lower, from) = (bytes(sizes[below]), probabilities[below].value());
                        let part = (drawn - from) / (probabilities[above].value() - from);
                        lower + part * (upper - lower)
                    }
                }
            }
        };
        ByteCount::from_bytes((libm::round(bytes) as u64).max(1))
    }
}

/// An exponential number of mean 1.
fn exponential(random: &mut RandomStream) -> f64 {
    -libm::log(1.0 - random.uniform())
}

fn scaled(duration: Duration, factor: f64) -> Duration {
    Duration::from_nanos(libm::round(duration.as_nanos() as f64 * factor) as u64)
}

fn bytes(size: ByteCount) -> f64 {
    size.bytes() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclab_core::Probability;

    fn kb(count: u64) -> ByteCount {
        ByteCount::from_bytes(1000 * count)
    }

    fn drawn(arrivals: &Arrivals, seed: u64) -> Vec<Arrival> {
        let start = Time::ZERO + Duration::from_secs(1);
        arrivals.draw(start, RandomStream::new(seed, "web.arrivals")).expect("it is no file")
    }

    #[test]
    fn a_poisson_process_has_independent_exponential_gaps() {
        let (interval, duration) = (Duration::from_millis(1), Duration::from_secs(100));
        let arrivals = drawn(&Arrivals::Poisson { interval, duration, sizes: None }, 1);
        // 100,000 expected; five standard deviations of a Poisson number are 5 * 316
        assert!(arrivals.len().abs_diff(100_000) < 1582, "{}", arrivals.len());
        assert!(arrivals.iter().all(|arrival| arrival.size.is_none()));
        assert!(arrivals.first().unwrap().at >= Time::ZERO + Duration::from_secs(1));
        assert!(arrivals.last().unwrap().at < Time::ZERO + Duration::from_secs(101));
        let gaps: Vec<f64> =
            arrivals.windows(2).map(|pair| pair[1].at.since(pair[0].at).as_ms_f64()).collect();
        // a share of exp(-1) of exponential numbers exceeds the mean: 5 standard deviations of that share are
        // 0.0076
        let above = gaps.iter().filter(|gap| **gap > 1.0).count() as f64 / gaps.len() as f64;
        assert!((above - libm::exp(-1.0)).abs() < 0.0077, "{above}");
        // gaps after long ones are no longer than others
        let (mut sum, mut count) = (0.0, 0.0);
        for pair in gaps.windows(2).filter(|pair| pair[0] > 1.0) {
            (sum, count) = (sum + pair[1], count + 1.0);
        }
        let mean: f64 = sum / count;
        assert!((mean - 1.0).abs() < 0.027, "{mean}");
    }

    #[test]
    fn regular_arrivals_begin_at_the_start() {
        let (interval, duration) = (Duration::from_millis(400), Duration::from_secs(1));
        let arrivals = drawn(&Arrivals::Regular { interval, duration, sizes: None }, 1);
        let times: Vec<f64> = arrivals.iter().map(|arrival| arrival.at.as_ms_f64()).collect();
        assert_eq!(times, [1000.0, 1400.0, 1800.0]);
    }

    #[test]
    fn runs_differ_by_their_seeds_only() {
        let (interval, duration) = (Duration::from_millis(10), Duration::from_secs(1));
        let sizes = Some(Sizes::Exponential { mean: kb(10) });
        let arrivals = Arrivals::Poisson { interval, duration, sizes };
        assert_eq!(drawn(&arrivals, 7), drawn(&arrivals, 7));
        assert_ne!(drawn(&arrivals, 7), drawn(&arrivals, 8));
    }

    /// Shares of 100,000 sizes that are at most these limits in kB.
    fn parts<const N: usize>(sizes: &Sizes, limits: [u64; N]) -> [f64; N] {
        let mut random = RandomStream::new(3, "sizes");
        let drawn: Vec<ByteCount> = (0..100_000).map(|_| sizes.draw(&mut random)).collect();
        limits.map(|limit| drawn.iter().filter(|size| **size <= kb(limit)).count() as f64 / 1e5)
    }

    fn assert_near<const N: usize>(found: [f64; N], expected: [f64; N]) {
        // five standard deviations of a share are at most 5 * 0.5 / sqrt(100,000)
        let close = found.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < 0.008);
        assert!(close, "{found:?} instead of {expected:?}");
    }

    #[test]
    fn sizes_have_their_distributions() {
        let e = |value: f64| 1.0 - libm::exp(-value);
        assert_near(parts(&Sizes::Exponential { mean: kb(20) }, [10, 20, 60]), [e(0.5), e(1.0), e(3.0)]);
        // the median, and one standard deviation: 20 kB = 10 kB * exp(0.693)
        let log_normal = Sizes::LogNormal { median: kb(10), deviation: std::f64::consts::LN_2 };
        assert_near(parts(&log_normal, [5, 10, 20]), [0.1587, 0.5, 0.8413]);
        // (1 - (1/x)^a) / (1 - (1/100)^a) for a = 1
        let pareto = Sizes::Pareto { minimum: kb(1), maximum: kb(100), shape: 1.0 };
        assert_near(parts(&pareto, [2, 10, 100]), [0.5 / 0.99, 0.9 / 0.99, 1.0]);
        let at = |value| Probability::new(value).unwrap();
        let empirical = Sizes::Empirical {
            sizes: vec![kb(1), kb(3), kb(7)],
            probabilities: vec![at(0.25), at(0.75), at(1.0)],
        };
        assert_near(parts(&empirical, [1, 2, 3, 5, 7]), [0.25, 0.5, 0.75, 0.875, 1.0]);
    }
}
