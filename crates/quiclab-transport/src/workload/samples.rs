//! Durations that were measured, and what is reported of them.

use quiclab_core::{Duration, Metrics};

/// Measured durations.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    nanos: Vec<u64>,
}

impl Samples {
    pub(crate) fn add(&mut self, duration: Duration) {
        self.nanos.push(duration.as_nanos());
    }

    pub(crate) fn count(&self) -> u64 {
        self.nanos.len() as u64
    }

    /// Mean, smallest, largest and 95th percentile in ms as `name`_mean and so on; nothing without
    /// samples. The percentile is the nearest rank: the smallest value that 95 % do not exceed.
    pub(crate) fn report(&self, name: &'static str, out: &mut Metrics) {
        let [mean, min, max, p95] = match name {
            "rtt_ms" => ["rtt_ms_mean", "rtt_ms_min", "rtt_ms_max", "rtt_ms_p95"],
            "response_time_ms" => [
                "response_time_ms_mean",
                "response_time_ms_min",
                "response_time_ms_max",
                "response_time_ms_p95",
            ],
            "object_ms" => ["object_ms_mean", "object_ms_min", "object_ms_max", "object_ms_p95"],
            _ => unreachable!("names of metrics are static: `{name}` needs a line here"),
        };
        let mut sorted = self.nanos.clone();
        sorted.sort_unstable();
        let (Some(&first), Some(&last)) = (sorted.first(), sorted.last()) else { return };
        let sum: u128 = sorted.iter().map(|&nanos| u128::from(nanos)).sum();
        let rank = (sorted.len() * 95).div_ceil(100);
        out.set(mean, sum as f64 / sorted.len() as f64 / 1e6);
        out.set(min, first as f64 / 1e6);
        out.set(max, last as f64 / 1e6);
        out.set(p95, sorted[rank - 1] as f64 / 1e6);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_nearest_rank() {
        // 20 values 1 to 20 ms: 95 % of 20 is the 19th; their mean is 10.5
        let mut samples = Samples::default();
        (1..=20).rev().for_each(|millis| samples.add(Duration::from_millis(millis)));
        let mut out = Metrics::default();
        samples.report("rtt_ms", &mut out);
        let expected =
            [("rtt_ms_mean", 10.5), ("rtt_ms_min", 1.0), ("rtt_ms_max", 20.0), ("rtt_ms_p95", 19.0)];
        assert_eq!(out.0, expected);
        let mut nothing = Metrics::default();
        Samples::default().report("rtt_ms", &mut nothing);
        assert_eq!(nothing.0, []);
    }
}
