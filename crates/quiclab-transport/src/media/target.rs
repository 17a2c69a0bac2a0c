//! Target of the queueing delay, `qdelay_target`, which is higher if loss-based flows compete (RFC 8298
//! section 4.1.2.2, and section 4.5.4 of version 2).

use std::collections::VecDeque;

/// Number of delays for the variance, and of those for the mean.
const VARIANCE_SAMPLES: usize = 200;
const MEAN_SAMPLES: usize = 50;
/// Share of round trips with losses above which flows compete.
const LOSSES: f64 = 0.002;
/// Variance below which the delay is steady.
const STEADY: f64 = 0.2;

/// Target of the queueing delay; see the module documentation.
#[derive(Debug)]
pub(super) struct Target {
    /// QDELAY_TARGET_LO and QDELAY_TARGET_HI in seconds.
    low: f64,
    high: f64,
    /// Delays relative to `low`, the newest last.
    delays: VecDeque<f64>,
    /// `qdelay_target` in seconds.
    pub(super) value: f64,
}

impl Target {
    pub(super) fn new(low: f64, high: f64) -> Self {
        Self { low, high, delays: VecDeque::with_capacity(VARIANCE_SAMPLES), value: low }
    }

    /// Adjusts the target to a delay in seconds; `losses` is the share of round trips with losses.
    pub(super) fn adjust(&mut self, delay: f64, losses: f64) {
        if self.delays.len() == VARIANCE_SAMPLES {
            self.delays.pop_front();
        }
        self.delays.push_back(delay / self.low);
        let variance = variance(&self.delays);
        let recent = self.delays.len().min(MEAN_SAMPLES);
        let mean = self.delays.iter().rev().take(recent).sum::<f64>() / recent as f64;
        let new = (mean + variance.sqrt()) * self.low;
        self.value = if losses > LOSSES {
            1.5 * new
        } else if variance < STEADY {
            new
        } else if new < self.low {
            (self.value * 0.5).max(new)
        } else {
            self.value * 0.9
        };
        self.value = self.value.clamp(self.low, self.high);
    }
}

fn variance(values: &VecDeque<f64>) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / values.len() as f64
}
