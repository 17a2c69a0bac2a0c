//! Detection of a full pipe: the delivery rate has stopped growing (section 5.3.1.2).

/// Growth of the delivery rate by 25 % as a fraction.
const GROWTH: (u128, u128) = (5, 4);
/// Number of rounds without it after which the pipe is full.
pub(super) const FULL_BW_COUNT: u32 = 3;

/// Estimator of a full pipe, in Startup and in each probe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimator {
    full_bw_reached: bool,
    full_bw_now: bool,
    /// Rate in byte/s with which later rounds are compared.
    full_bw: u64,
    full_bw_count: u32,
}

impl Estimator {
    /// `BBR.full_bw_reached`: Startup has filled the pipe.
    pub(super) fn is_reached(&self) -> bool {
        self.full_bw_reached
    }

    /// `BBR.full_bw_now`: the pipe is full since the latest reset.
    pub(super) fn is_full_now(&self) -> bool {
        self.full_bw_now
    }

    /// `CheckFullBWReached` at the end of a round whose sample, in byte/s, is not application-limited.
    pub(super) fn on_round(&mut self, delivery_rate: u64) {
        if self.full_bw_now {
            return;
        }
        if u128::from(delivery_rate) * GROWTH.1 >= u128::from(self.full_bw) * GROWTH.0 {
            self.restart(delivery_rate);
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= FULL_BW_COUNT;
        self.full_bw_reached |= self.full_bw_now;
    }

    /// `ResetFullBW`: starts a new search; the result of Startup remains.
    pub(super) fn reset(&mut self) {
        self.restart(0);
    }

    /// Starts a new search for growth over `delivery_rate`.
    pub(super) fn restart(&mut self, delivery_rate: u64) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (delivery_rate, 0, false);
    }

    /// Marks the pipe as full: losses end Startup.
    pub(super) fn set_reached(&mut self) {
        self.full_bw_reached = true;
    }

    /// Reverts this: the losses were spurious.
    pub(super) fn undo_reached(&mut self) {
        self.full_bw_reached = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_rounds_without_growth_by_a_quarter_fill_the_pipe() {
        let mut pipe = Estimator::default();
        for rate in [1000, 1250, 1562, 1562] {
            pipe.on_round(rate);
        }
        // 1562 is 0.5 less than 1250 x 1.25: two rounds without growth
        assert!(!pipe.is_reached());
        pipe.on_round(1562);
        assert!(pipe.is_reached() && pipe.is_full_now());
    }

    #[test]
    fn growth_begins_the_count_again() {
        let mut pipe = Estimator::default();
        for rate in [1000, 1000, 1000, 1250, 1250, 1250] {
            pipe.on_round(rate);
        }
        assert!(!pipe.is_full_now());
        pipe.on_round(1250);
        assert!(pipe.is_full_now());
    }

    #[test]
    fn a_probe_searches_anew_and_startup_stays_over() {
        let mut pipe = Estimator::default();
        pipe.set_reached();
        assert!(pipe.is_reached() && !pipe.is_full_now());
        pipe.restart(1000);
        for _ in 0..FULL_BW_COUNT {
            assert!(!pipe.is_full_now());
            pipe.on_round(1249);
        }
        assert!(pipe.is_full_now());
        pipe.reset();
        assert!(pipe.is_reached() && !pipe.is_full_now());
        pipe.undo_reached();
        assert!(!pipe.is_reached());
    }
}
