//! Rate of a pacer: a multiple of the window per RTT, or the rate that the congestion control requests (RFC
//! 9002 section 7.7: `rate = N * congestion_window / smoothed_rtt`).

use super::PacingInput;
use quiclab_core::{DataRate, Duration};

/// Multiple of cwnd / srtt, exact to a millionth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Factor {
    millionths: u64,
}

impl Factor {
    /// Rounds `factor` to the nearest millionth; negative values and NaN give 0.
    pub(crate) fn new(factor: f64) -> Self {
        Self { millionths: libm::round(factor * 1e6) as u64 }
    }

    /// Rate of the controller if it has one; otherwise `factor` x cwnd / srtt; `None` before the first RTT
    /// sample.
    pub(crate) fn rate(self, input: &PacingInput) -> Option<DataRate> {
        input.rate.or_else(|| Some(self.times(input.carried(), input.srtt?)))
    }

    /// Rate of `factor` x `window` bytes per `srtt`, rounded down to one bit/s.
    pub(crate) fn times(self, window: u64, srtt: Duration) -> DataRate {
        // bits x 1e9 ns/s x millionths / 1e6 / ns
        let scaled = u128::from(window) * 8_000 * u128::from(self.millionths);
        let bits = scaled / u128::from(srtt.as_nanos().max(1));
        DataRate::from_bits_per_second(u64::try_from(bits).unwrap_or(u64::MAX))
    }
}

/// Rate of `bytes` per `rtt`, rounded down to one bit/s.
pub(crate) fn in_each(bytes: u64, rtt: Duration) -> DataRate {
    Factor { millionths: 1_000_000 }.times(bytes, rtt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacing::testing::input;

    /// 12 000 bytes in 100 ms are 960 kbit/s; 1.25 of it are 1.2 Mbit/s.
    #[test]
    fn rate_is_the_factor_times_the_window_in_each_rtt() {
        let bits = |factor: f64| Factor::new(factor).rate(&input(12_000, 100)).unwrap().bits_per_second();
        assert_eq!(bits(1.0), 960_000);
        assert_eq!(bits(1.25), 1_200_000);
        assert_eq!(bits(2.0), 1_920_000);
    }

    #[test]
    fn the_controllers_rate_has_precedence_and_needs_no_rtt() {
        let asked = DataRate::from_mbps(7);
        let with = PacingInput { rate: Some(asked), srtt: None, ..input(12_000, 100) };
        assert_eq!(Factor::new(1.25).rate(&with), Some(asked));
        let without = PacingInput { srtt: None, ..input(12_000, 100) };
        assert_eq!(Factor::new(1.25).rate(&without), None);
    }

    #[test]
    fn extreme_windows_and_rtts_do_not_overflow() {
        assert_eq!(Factor::new(2.0).times(u64::MAX, Duration::ZERO).bits_per_second(), u64::MAX);
        assert_eq!(Factor::new(2.0).times(0, Duration::from_millis(1)).bits_per_second(), 0);
    }
}
