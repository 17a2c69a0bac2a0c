//! Choice of the packets of a split bearer that take all links.
//!
//! A share p of the packets, evenly spaced: each adds p to an error, and the packet that raises it to 1 or
//! more is duplicated and subtracts 1 (error diffusion, as Bresenham's line). Of the first n packets floor(n
//! p) are duplicated, for every n.

use crate::units::Probability;

/// See the module documentation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Duplication {
    /// p in units of 2^-32.
    step: u64,
    error: u64,
}

impl Duplication {
    pub(super) fn new(share: Probability) -> Self {
        Self { step: (share.value() * (1u64 << 32) as f64).round() as u64, error: 0 }
    }

    /// Whether the next packet is duplicated.
    #[inline]
    pub(super) fn next(&mut self) -> bool {
        self.error += self.step;
        let duplicated = self.error >= 1 << 32;
        self.error -= u64::from(duplicated) << 32;
        duplicated
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_fifth_none_and_all() {
        let duplicated = |share: f64| {
            let mut duplication = Duplication::new(Probability::new(share).unwrap());
            (1..=20).filter(|_| duplication.next()).collect::<Vec<_>>()
        };
        assert_eq!(duplicated(0.25), [4, 8, 12, 16, 20]);
        assert_eq!(duplicated(0.0), [0; 0]);
        assert_eq!(duplicated(1.0), (1..=20).collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn the_share_holds_at_any_time(share in 0.0f64..=1.0) {
            let mut duplication = Duplication::new(Probability::new(share).unwrap());
            let mut duplicated = 0;
            for packets in 1..1000u32 {
                duplicated += u32::from(duplication.next());
                prop_assert!((f64::from(duplicated) - share * f64::from(packets)).abs() < 1.000_001);
            }
        }
    }
}
