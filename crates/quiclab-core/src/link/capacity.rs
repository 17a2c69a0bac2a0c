//! Exact arithmetic of capacity: a rate over a time is a product of bit/s and ns.

/// One byte at one bit per second, in the unit of (bit/s x ns) in which capacities are compared exactly.
pub(super) const UNITS_PER_BYTE: u128 = 8_000_000_000;

/// Nanoseconds that `rate` needs for `units` of (bit/s x ns), rounded up.
///
/// # Panics
/// At rate 0, which callers exclude.
pub(super) fn nanos_for(units: u128, rate: u64) -> u128 {
    match u64::try_from(units) {
        // all packets below 2.3 GB: keeps the 128-bit division off the hot path
        Ok(units) => u128::from(units.div_ceil(rate)),
        Err(_) => units.div_ceil(u128::from(rate)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_short_divisions_agree() {
        for units in [1, 7, 8_000_000_000, u128::from(u64::MAX), u128::from(u64::MAX) + 1, 1 << 100] {
            for rate in [1, 3, 20_000_000, u64::MAX] {
                assert_eq!(nanos_for(units, rate), units.div_ceil(u128::from(rate)));
            }
        }
    }
}
