//! Measured durations, and their statistics.

use quiclab_core::{Duration, Metric, Metrics};

/// Measured durations.
#[derive(Debug, Default)]
pub struct Samples {
    nanos: Vec<u64>,
}

impl Samples {
    /// Adds a duration.
    pub fn add(&mut self, duration: Duration) {
        self.nanos.push(duration.as_nanos());
    }

    /// Number of durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.nanos.len() as u64
    }

    /// Reports mean, minimum, maximum, median, 95th and 99th percentile in ms, the numbers of the
    /// distribution `metric`; none without samples. A percentile is the nearest rank: the smallest value that
    /// this share does not exceed.
    pub fn report(&self, metric: &'static Metric, out: &mut Metrics) {
        let mut sorted = self.nanos.clone();
        sorted.sort_unstable();
        let (Some(&first), Some(&last)) = (sorted.first(), sorted.last()) else { return };
        let sum: u128 = sorted.iter().map(|&nanos| u128::from(nanos)).sum();
        let percentile = |percent: usize| sorted[(sorted.len() * percent).div_ceil(100) - 1] as f64 / 1e6;
        let mean = sum as f64 / sorted.len() as f64 / 1e6;
        let [min, max] = [first, last].map(|nanos| nanos as f64 / 1e6);
        let numbers = [mean, min, max, percentile(50), percentile(95), percentile(99)];
        numbers.into_iter().enumerate().for_each(|(index, value)| out.set_of(metric, index, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_nearest_rank() {
        // 20 values 1 to 20 ms: 50 % of 20 is the 10th, 95 % the 19th, 99 % the 20th; their mean is 10.5
        let mut samples = Samples::default();
        (1..=20).rev().for_each(|millis| samples.add(Duration::from_millis(millis)));
        let mut out = Metrics::default();
        samples.report(&crate::workload::PROBES.rtt_ms, &mut out);
        let expected = [
            ("rtt_ms_mean", 10.5),
            ("rtt_ms_min", 1.0),
            ("rtt_ms_max", 20.0),
            ("rtt_ms_p50", 10.0),
            ("rtt_ms_p95", 19.0),
            ("rtt_ms_p99", 20.0),
        ];
        assert_eq!(out, expected);
        let mut nothing = Metrics::default();
        Samples::default().report(&crate::workload::PROBES.rtt_ms, &mut nothing);
        assert_eq!(nothing, []);
    }
}
