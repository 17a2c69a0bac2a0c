//! Trend of the queueing delay, `qdelay_trend` (RFC 8298 section 4.1.2.1).
//!
//! The trend is a x smoothed delay / target, between 0 and 1; a = R(1) / R(0), where R is the autocorrelation
//! of the last 20 delays relative to their target, less their mean. Samples are 50 ms apart at least.

use quiclab_core::{Duration, Time};

const SAMPLES: usize = 20;
const INTERVAL: Duration = Duration::from_millis(50);
/// QDELAY_WEIGHT.
const WEIGHT: f64 = 0.1;
/// Part of `qdelay_trend_mem` that remains after a sample.
const MEMORY: f64 = 0.99;

/// Trend of the queueing delay; see the module documentation.
#[derive(Debug, Default)]
pub(super) struct Trend {
    fractions: [f64; SAMPLES],
    /// Index of the next sample.
    next: usize,
    average: f64,
    /// Time of the last sample; `None` before the first.
    updated: Option<Time>,
    /// `qdelay_trend`.
    pub(super) value: f64,
    /// `qdelay_trend_mem`: maximum that decays slowly.
    pub(super) memory: f64,
}

impl Trend {
    /// Adds a delay relative to its target.
    pub(super) fn add(&mut self, now: Time, fraction: f64) {
        if self.updated.is_some_and(|updated| now.since(updated) < INTERVAL) {
            return;
        }
        self.updated = Some(now);
        self.average += WEIGHT * (fraction - self.average);
        self.fractions[self.next] = fraction;
        self.next = (self.next + 1) % SAMPLES;
        self.value = (self.coefficient() * self.average).clamp(0.0, 1.0);
        self.memory = (MEMORY * self.memory).max(self.value);
    }

    /// R(1) / R(0); 0 if all are equal.
    fn coefficient(&self) -> f64 {
        let mean = self.fractions.iter().sum::<f64>() / SAMPLES as f64;
        let at = |index: usize| self.fractions[(self.next + index) % SAMPLES] - mean;
        let r0: f64 = (0..SAMPLES).map(|index| at(index) * at(index)).sum();
        let r1: f64 = (1..SAMPLES).map(|index| at(index) * at(index - 1)).sum();
        if r0 > 0.0 { r1 / r0 } else { 0.0 }
    }
}
