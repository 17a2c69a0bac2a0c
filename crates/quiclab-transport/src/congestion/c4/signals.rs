//! Signals of congestion (section 5): delay, losses and marks above thresholds that decrease as the rate
//! grows, so that the larger of two flows yields first.

use super::{Ack, C4};
use quiclab_core::Duration;

/// Fixed-point representation of 1.
pub(super) const ONE: u64 = 1 << 20;
/// Maximum of `beta` (section 5.5.1).
const MAX_BETA: u64 = ONE / 4;
/// Points of the sensitivity (section 5.1): rate in byte/s, and percent.
const SENSITIVITY: [(u64, u64); 3] = [(50_000, 0), (1_000_000, 92), (10_000_000, 100)];
/// Maximum delay threshold (section 5.2).
const MAX_DELAY_THRESHOLD: Duration = Duration::from_millis(25);
/// Inverse weight of a new sample in the smoothed rates of losses and marks.
const SMOOTHING: u64 = 16;

/// Signal of congestion, with its relative reduction of the nominal rate (`beta`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    Delay(u64),
    Loss(u64),
    Ecn(u64),
}

impl Signal {
    /// `beta` in units of 1/[`ONE`].
    pub(super) fn beta(self) -> u64 {
        match self {
            Self::Delay(beta) | Self::Loss(beta) | Self::Ecn(beta) => beta,
        }
    }
}

impl C4 {
    /// Sensitivity (section 5.1) in units of 1/[`ONE`].
    pub(super) fn sensitivity(&self) -> u64 {
        let rate = self.nominal_rate;
        for pair in SENSITIVITY.windows(2) {
            let ((from, low), (to, high)) = (pair[0], pair[1]);
            if rate < to {
                return ONE * (low * (to - from) + (high - low) * rate.saturating_sub(from))
                    / (100 * (to - from));
            }
        }
        ONE
    }

    /// Delay threshold (section 5.2): a sixteenth to a quarter of the nominal max RTT.
    pub(super) fn delay_threshold(&self, max_rtt: Duration) -> Duration {
        let sixteenths = ONE + 3 * (ONE - self.sensitivity());
        let nanos = u128::from(max_rtt.as_nanos()) * u128::from(sixteenths) / u128::from(16 * ONE);
        Duration::from_nanos(nanos as u64).min(MAX_DELAY_THRESHOLD)
    }

    /// Loss threshold (section 5.3): 0.02 + 0.50 x (1 - sensitivity).
    pub(super) fn loss_threshold(&self) -> u64 {
        ONE / 50 + (ONE - self.sensitivity()) / 2
    }

    /// Threshold of marks (section 5.4): (2 - sensitivity) x 3 / 32.
    pub(super) fn ecn_threshold(&self) -> u64 {
        (2 * ONE - self.sensitivity()) * 3 / 32
    }

    /// Signal of an acknowledgement: losses take precedence over marks, marks over delay.
    pub(super) fn detect(&mut self, ack: &Ack) -> Option<Signal> {
        let loss = self.detect_loss(ack.acked_packets);
        let marks = self.detect_marks();
        loss.or(marks).or_else(|| self.detect_delay(ack.rtt?))
    }

    /// Adds each packet to the loss rate, lost ones first, as packets after them have arrived.
    fn detect_loss(&mut self, acked: u32) -> Option<Signal> {
        let lost = std::mem::take(&mut self.pending_losses);
        for _ in 0..lost {
            self.loss_rate += (ONE - self.loss_rate) / SMOOTHING;
        }
        let exceeds = lost > 0 && self.loss_rate > self.loss_threshold();
        for _ in 0..acked {
            self.loss_rate -= self.loss_rate / SMOOTHING;
        }
        exceeds.then_some(Signal::Loss(MAX_BETA))
    }

    fn detect_marks(&mut self) -> Option<Signal> {
        if !std::mem::take(&mut self.pending_marks) {
            return None;
        }
        self.update_ecn_alpha();
        let threshold = self.ecn_threshold();
        let excess = self.ecn_alpha.checked_sub(threshold + 1)? + 1;
        Some(Signal::Ecn(MAX_BETA.min(excess * ONE / threshold)))
    }

    /// Updates `ecn_alpha` with the share of marks among all packets since the last update.
    pub(super) fn update_ecn_alpha(&mut self) {
        let (marked, delivered) =
            (std::mem::take(&mut self.ecn_marked), std::mem::take(&mut self.ecn_delivered));
        if delivered == 0 {
            return;
        }
        let share = ONE * marked / delivered;
        self.ecn_alpha =
            if share >= ONE / 2 { share } else { (self.ecn_alpha * (SMOOTHING - 1) + share) / SMOOTHING };
    }

    fn detect_delay(&self, rtt: Duration) -> Option<Signal> {
        let max_rtt = self.nominal_max_rtt?;
        let threshold = self.delay_threshold(max_rtt);
        let excess = rtt.saturating_sub(max_rtt + threshold);
        let part = u128::from(excess.as_nanos()) * u128::from(ONE) / u128::from(threshold.as_nanos().max(1));
        (excess > Duration::ZERO)
            .then(|| Signal::Delay(u64::try_from(part).unwrap_or(MAX_BETA).min(MAX_BETA)))
    }
}
