//! Maximum or minimum of the recent past, in constant space and time per sample.
//!
//! Kathleen Nichols' algorithm as in Linux `lib/win_minmax.c` and QUICHE's `windowed_filter.h`: the three
//! best samples are kept, each younger than the better one, and spread over the window, so that a successor
//! is available when the best sample expires. The result is never above the exact maximum (below the exact
//! minimum); if the samples fall throughout the window, it may be that of a shorter one.

/// Kind of extremum that the filter keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extremum {
    /// Maximum.
    Max,
    /// Minimum.
    Min,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sample {
    /// Round or time of the sample, in the unit of the window.
    at: u64,
    value: u64,
}

/// Windowed filter. The unit of its time (rounds, nanoseconds) is the caller's.
#[derive(Clone, Debug)]
pub struct WindowedFilter {
    which: Extremum,
    window: u64,
    /// Best, second best and third best, in the order of their age.
    best: [Sample; 3],
}

impl WindowedFilter {
    /// Makes a filter over `window` with the value `value` since time 0.
    #[must_use]
    pub fn new(which: Extremum, window: u64, value: u64) -> Self {
        Self { which, window, best: [Sample { at: 0, value }; 3] }
    }

    /// Sets the window from the next sample on.
    pub fn set_window(&mut self, window: u64) {
        self.window = window;
    }

    /// Extremum of the window.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.best[0].value
    }

    /// Replaces all samples by this one.
    pub fn reset(&mut self, at: u64, value: u64) {
        self.best = [Sample { at, value }; 3];
    }

    /// Adds a sample; `at` never decreases. Returns the extremum.
    pub fn update(&mut self, at: u64, value: u64) -> u64 {
        let sample = Sample { at, value };
        let age = |of: Sample| at.saturating_sub(of.at);
        if self.not_worse(value, self.best[0].value) || age(self.best[2]) > self.window {
            self.reset(at, value);
            return value;
        }
        if self.not_worse(value, self.best[1].value) {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if self.not_worse(value, self.best[2].value) {
            self.best[2] = sample;
        }
        if age(self.best[0]) > self.window {
            // the second may be too old, too; the third is not, as checked above
            self.shift(sample);
            if age(self.best[0]) > self.window {
                self.shift(sample);
            }
        } else if self.best[1].at == self.best[0].at && age(self.best[0]) > self.window / 4 {
            // a quarter of the window without a second choice
            self.best[1] = sample;
            self.best[2] = sample;
        } else if self.best[2].at == self.best[1].at && age(self.best[0]) > self.window / 2 {
            self.best[2] = sample;
        }
        self.best[0].value
    }

    fn shift(&mut self, last: Sample) {
        self.best = [self.best[1], self.best[2], last];
    }

    fn not_worse(&self, value: u64, than: u64) -> bool {
        match self.which {
            Extremum::Max => value >= than,
            Extremum::Min => value <= than,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_maximum_lasts_for_the_window_and_no_longer() {
        let mut filter = WindowedFilter::new(Extremum::Max, 10, 0);
        assert_eq!(filter.update(1, 100), 100);
        for round in 2..=11 {
            assert_eq!(filter.update(round, 50), 100, "round {round} is within 10 rounds of round 1");
        }
        assert_eq!(filter.update(12, 50), 50, "11 rounds later");
    }

    #[test]
    fn a_minimum_gives_way_to_a_smaller_one_at_once() {
        let mut filter = WindowedFilter::new(Extremum::Min, 10, u64::MAX);
        assert_eq!(filter.update(1, 100), 100);
        assert_eq!(filter.update(2, 120), 100);
        assert_eq!(filter.update(3, 90), 90);
        filter.reset(4, 200);
        assert_eq!(filter.get(), 200);
    }

    #[test]
    fn everything_is_forgotten_after_a_pause_longer_than_the_window() {
        let mut filter = WindowedFilter::new(Extremum::Max, 10, 0);
        filter.update(1, 100);
        filter.update(5, 80);
        assert_eq!(filter.update(40, 7), 7);
    }

    proptest! {
        /// Never more than the exact maximum of the window, never less than the sample itself.
        #[test]
        fn the_maximum_lies_between_the_sample_and_the_exact_maximum(
            steps in prop::collection::vec((0_u64..3, 0_u64..1000), 1..200)
        ) {
            let window = 12;
            let mut filter = WindowedFilter::new(Extremum::Max, window, 0);
            let mut seen: Vec<(u64, u64)> = Vec::new();
            let mut at = 0;
            for (step, value) in steps {
                at += step;
                seen.push((at, value));
                let got = filter.update(at, value);
                let of = |span: u64| {
                    seen.iter().filter(|(then, _)| at - then <= span).map(|(_, value)| *value).max()
                };
                prop_assert!(Some(got) <= of(window));
                prop_assert!(got >= value);
            }
        }
    }
}
