//! Named random streams: every element draws from its own generator, derived from the seed of the run and the
//! element's name, so that adding an element does not change the numbers of other elements.
//!
//! Transcendental functions come from the `libm` crate: the same bits on every machine.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::f64::consts::TAU;
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// A stream of random numbers that belongs to one name in one run.
#[derive(Clone, Debug)]
pub struct RandomStream {
    generator: Xoshiro256PlusPlus,
    /// The second number of the last Box-Muller pair; `None` when both have been used.
    spare_normal: Option<f64>,
}

impl RandomStream {
    /// The stream of `name` in the run with `seed`.
    #[must_use]
    pub fn new(seed: u64, name: &str) -> Self {
        let mut state = [0; 32];
        let low = xxh3_128_with_seed(name.as_bytes(), seed);
        let high = xxh3_128_with_seed(name.as_bytes(), seed ^ 0x9E37_79B9_7F4A_7C15);
        state[..16].copy_from_slice(&low.to_le_bytes());
        state[16..].copy_from_slice(&high.to_le_bytes());
        Self { generator: Xoshiro256PlusPlus::from_seed(state), spare_normal: None }
    }

    /// 64 uniformly distributed bits.
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Fills `bytes` with uniformly distributed bits.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.generator.fill_bytes(bytes);
    }

    /// A number in [0, 1) with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Whether an event of this probability occurs. Draws one number even for 0 and 1, so that changing a
    /// probability does not shift later draws.
    pub fn chance(&mut self, probability: crate::Probability) -> bool {
        self.uniform() < probability.value()
    }

    /// A standard normal number (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare_normal.take() {
            return spare;
        }
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.uniform()));
        let (sin, cos) = libm::sincos(TAU * self.uniform());
        self.spare_normal = Some(radius * sin);
        radius * cos
    }

    /// A Poisson number of this mean, which should be small (Knuth, TAOCP 2, section 3.4.1, algorithm Q): it takes one
    /// draw more than its value.
    pub fn poisson(&mut self, mean: f64) -> u64 {
        let (least, mut product, mut number) = (libm::exp(-mean), self.uniform(), 0);
        while product > least {
            product *= self.uniform();
            number += 1;
        }
        number
    }

    /// A Pareto number of minimum 1 and the given shape.
    pub fn pareto(&mut self, shape: f64) -> f64 {
        libm::pow(1.0 - self.uniform(), -1.0 / shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_and_name_only() {
        let draw = |seed, name| RandomStream::new(seed, name).bits();
        assert_eq!(draw(7, "down1"), draw(7, "down1"));
        assert_ne!(draw(7, "down1"), draw(8, "down1"));
        assert_ne!(draw(7, "down1"), draw(7, "down2"));
    }

    #[test]
    fn moments_of_the_distributions() {
        // bounds are five standard errors of the estimates at n draws
        let (n, mut random) = (200_000, RandomStream::new(1, "moments"));
        let error = 5.0 / libm::sqrt(f64::from(n));
        let mean = |draw: &mut dyn FnMut() -> f64| (0..n).map(|_| draw()).sum::<f64>() / f64::from(n);
        assert!((mean(&mut || random.uniform()) - 0.5).abs() < error * 0.289);
        assert!(mean(&mut || random.normal()).abs() < error);
        assert!((mean(&mut || random.normal().powi(2)) - 1.0).abs() < error * 1.415);
        // Poisson: mean and variance are the same; the fourth central moment is m + 3 m^2
        for expected in [1.0, 12.0] {
            let found = mean(&mut || random.poisson(expected) as f64);
            assert!((found - expected).abs() < error * libm::sqrt(expected));
            let found = mean(&mut || (random.poisson(expected) as f64 - expected).powi(2));
            assert!((found - expected).abs() < error * libm::sqrt(expected + 2.0 * expected * expected));
        }
        // shape 3: mean 3/2, variance 3/4
        assert!((mean(&mut || random.pareto(3.0)) - 1.5).abs() < error * 0.867);
    }
}
