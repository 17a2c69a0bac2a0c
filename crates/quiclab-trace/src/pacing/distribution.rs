//! Distribution of any number of integers in bounded memory.
//!
//! Values below 8192 have a bin of their own; above, each octave has 4096 bins, as in an HDR histogram of 13 bits. A bin
//! stores the number of its values and their sum, so that a quantile is exact wherever a bin has one value only, and
//! within 1/4096 of the value elsewhere. Count, mean, deviation, minimum and maximum are exact.

use std::collections::HashMap;

/// Significant bits of a value that distinguish bins.
const FINE_BITS: u32 = 13;
/// Significant bits that distinguish the bins of a figure: each octave has 64, which are 0.8 to 1.6 % wide.
const COARSE_BITS: u32 = 7;

/// Number of occurrences of each value.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    bins: HashMap<u32, Bin>,
    count: u64,
    sum: u128,
    squares: u128,
    least: u64,
    largest: u64,
}

/// Values that are close to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Number of values.
    pub count: u64,
    /// Their sum.
    pub sum: u128,
}

impl Bin {
    /// Mean of its values.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "2^53 ns are 104 days")]
    pub fn mean(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.sum as f64 / self.count as f64 }
    }
}

/// Number of the bin of `value` with `bits` significant bits. Bins are in the order of their values.
const fn bin(value: u64, bits: u32) -> u32 {
    let length = u64::BITS - value.leading_zeros();
    let shift = length.saturating_sub(bits);
    // at most 2^bits + 64 * 2^(bits - 1), which is far below 2^32
    #[allow(clippy::cast_possible_truncation)]
    let number = (shift << (bits - 1)) + (value >> shift) as u32;
    number
}

/// Minimum value of a bin.
const fn floor(number: u32, bits: u32) -> u64 {
    let half = 1 << (bits - 1);
    if number < 2 * half {
        return number as u64;
    }
    let shift = number / half - 1;
    ((number % half + half) as u64) << shift
}

impl Distribution {
    /// Adds a value.
    pub fn add(&mut self, value: u64) {
        let bin = self.bins.entry(bin(value, FINE_BITS)).or_default();
        bin.count += 1;
        bin.sum += u128::from(value);
        self.least = if self.count == 0 { value } else { self.least.min(value) };
        self.largest = self.largest.max(value);
        self.count += 1;
        self.sum += u128::from(value);
        self.squares = self.squares.saturating_add(u128::from(value) * u128::from(value));
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of all values.
    #[must_use]
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Minimum and maximum; `None` without values.
    #[must_use]
    pub fn range(&self) -> Option<(u64, u64)> {
        (self.count > 0).then_some((self.least, self.largest))
    }

    /// Arithmetic mean; `None` without values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| Bin { count: self.count, sum: self.sum }.mean())
    }

    /// Standard deviation of a sample (divided by n - 1); `None` with fewer than two values.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "of a difference that was made of whole numbers")]
    pub fn deviation(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        let n = self.count as f64;
        let apart = u128::from(self.count)
            .checked_mul(self.squares)
            .and_then(|left| self.sum.checked_mul(self.sum).map(|right| left.saturating_sub(right)));
        let variance = match apart {
            Some(apart) => apart as f64 / n / (n - 1.0),
            // more than 128 bits: rounded
            None => {
                let mean = self.sum as f64 / n;
                (self.squares as f64 / n - mean * mean).max(0.0) * n / (n - 1.0)
            }
        };
        Some(variance.sqrt())
    }

    /// Bins in ascending order.
    #[must_use]
    pub fn fine(&self) -> Vec<(u64, Bin)> {
        self.grouped(FINE_BITS)
    }

    /// Bins of about 1 % of their value, in ascending order, each with its lower end.
    #[must_use]
    pub fn coarse(&self) -> Vec<(u64, Bin)> {
        self.grouped(COARSE_BITS)
    }

    /// Number of the bin of a value with `bits` significant bits.
    pub(super) fn bin_of(value: u64, bits: u32) -> u32 {
        bin(value, bits)
    }

    /// Minimum value of a bin.
    pub(super) fn bin_floor(number: u32, bits: u32) -> u64 {
        floor(number, bits)
    }

    /// Bins in ascending order with `bits` significant bits, at most 13.
    pub(super) fn grouped(&self, bits: u32) -> Vec<(u64, Bin)> {
        let mut sorted: Vec<_> = self.bins.iter().map(|(&number, &bin)| (number, bin)).collect();
        sorted.sort_unstable_by_key(|&(number, _)| number);
        let mut groups: Vec<(u32, Bin)> = Vec::new();
        for (number, added) in sorted {
            let group = bin(floor(number, FINE_BITS), bits);
            match groups.last_mut() {
                Some((last, bin)) if *last == group => {
                    bin.count += added.count;
                    bin.sum += added.sum;
                }
                _ => groups.push((group, added)),
            }
        }
        groups.into_iter().map(|(group, bin)| (floor(group, bits), bin)).collect()
    }

    /// Smallest value that at least the share `part` of all values does not exceed; `None` without values.
    ///
    /// It is the mean of its bin.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Option<f64> {
        self.quantiles(&[part]).first().copied()
    }

    /// [`Distribution::quantile`] for several shares, ascending; empty without values.
    #[must_use]
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn quantiles(&self, parts: &[f64]) -> Vec<f64> {
        let bins = self.fine();
        let Some(last) = bins.last() else { return Vec::new() };
        let mut below = bins.iter();
        let (mut seen, mut at) = (0, last.1.mean());
        let mut found = Vec::with_capacity(parts.len());
        for part in parts {
            let rank = ((part * self.count as f64).ceil() as u64).clamp(1, self.count);
            while seen < rank {
                let Some((_, bin)) = below.next() else { break };
                seen += bin.count;
                at = bin.mean();
            }
            found.push(at);
        }
        found
    }

    /// The mode, the smallest of several; `None` without values.
    ///
    /// Exact below 8192, the mean of the bin above.
    #[must_use]
    pub fn mode(&self) -> Option<f64> {
        let fullest = self
            .fine()
            .into_iter()
            .reduce(|best, next| if next.1.count > best.1.count { next } else { best });
        fullest.map(|(_, bin)| bin.mean())
    }

    /// Number of values from `from` to `to`, both inclusive, and their sum; bins count by their mean.
    #[must_use]
    pub fn within(&self, from: f64, to: f64) -> Bin {
        self.bins
            .values()
            .filter(|bin| (from..=to).contains(&bin.mean()))
            .fold(Bin::default(), |all, bin| Bin { count: all.count + bin.count, sum: all.sum + bin.sum })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Distribution {
        let mut all = Distribution::default();
        values.iter().for_each(|&value| all.add(value));
        all
    }

    #[test]
    fn bins_ascend_and_know_their_ends() {
        for bits in [COARSE_BITS, FINE_BITS] {
            for value in [0, 1, 127, 128, 129, 8191, 8192, 8193, 1 << 20, (1 << 40) + 12_345, u64::MAX] {
                let number = bin(value, bits);
                assert!(floor(number, bits) <= value, "{value} {bits}");
                assert_eq!(bin(floor(number, bits), bits), number);
                assert!(bin(value.saturating_sub(1), bits) <= number);
            }
        }
        // 128 bins of one value each, then 64 an octave: 128 and 129 share the first of them
        assert_eq!((bin(127, COARSE_BITS), bin(128, COARSE_BITS), bin(129, COARSE_BITS)), (127, 128, 128));
        assert_eq!((floor(128, COARSE_BITS), floor(129, COARSE_BITS)), (128, 130));
    }

    #[test]
    fn numbers_of_a_few_values() {
        // mean 5; squares of the differences 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32, over 7
        let all = of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!((all.count(), all.range(), all.mode()), (8, Some((2, 9)), Some(4.0)));
        assert_eq!(all.mean(), Some(5.0));
        assert!((all.deviation().unwrap() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(all.quantiles(&[0.0, 0.125, 0.126, 0.5, 0.51, 1.0]), [2.0, 2.0, 4.0, 4.0, 5.0, 9.0]);
        assert_eq!(all.within(4.0, 5.0), Bin { count: 5, sum: 22 });
    }

    #[test]
    fn equal_values_are_exact_however_large() {
        let all = of(&[1_211_200; 1000]);
        assert_eq!(
            (all.quantile(0.5), all.mean(), all.deviation()),
            (Some(1_211_200.0), Some(1_211_200.0), Some(0.0))
        );
        assert_eq!(all.coarse().len(), 1);
    }

    #[test]
    fn nothing() {
        let all = Distribution::default();
        assert_eq!(
            (all.mean(), all.deviation(), all.quantile(0.5), all.mode(), all.range()),
            (None, None, None, None, None)
        );
        assert_eq!(of(&[7]).deviation(), None);
    }

    #[test]
    fn values_beyond_what_squares_can_hold() {
        let all = of(&[u64::MAX, u64::MAX, 0]);
        assert!(all.deviation().is_some_and(f64::is_finite));
    }

    proptest! {
        #[test]
        fn quantiles_are_near_those_of_the_sorted_values(mut values in proptest::collection::vec(0..1_u64 << 40, 1..200), part in 0.0..=1.0) {
            let found = of(&values).quantile(part).unwrap();
            values.sort_unstable();
            let rank = ((part * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1] as f64;
            prop_assert!((found - exact).abs() <= exact / 4096.0, "{found} {exact}");
        }
    }
}
