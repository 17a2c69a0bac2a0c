//! Media rate control: rate requested from the coder (section 4.4), from reference window and RTT.

use crate::media::Parameters;

/// PACKET_OVERHEAD in bytes.
const PACKET_OVERHEAD: f64 = 20.0;
/// RATE_ADJUST_GAIN and FRAME_SIZE_DEV_ALPHA.
const RATE_ADJUST_GAIN: f64 = 1.0 / 16.0;
const FRAME_SIZE_DEV_ALPHA: f64 = 1.0 / 64.0;
/// Minimum factor by which the target is below window / RTT.
const MARGIN: f64 = 1.2;

/// Target bitrate, in bit/s.
#[derive(Debug)]
pub(super) struct TargetBitrate {
    mss: f64,
    min: f64,
    max: f64,
    /// Frame period in seconds.
    frame_period: f64,
    pub(super) target: f64,
    /// `rate_adjust_factor`: packets wait for window and pacer.
    rate_adjust: f64,
    /// `frame_size_dev`: frames are larger than the target permits.
    frame_size_dev: f64,
}

impl TargetBitrate {
    pub(super) fn new(parameters: &Parameters) -> Self {
        Self {
            mss: parameters.mss.bytes() as f64,
            min: parameters.min_rate,
            max: parameters.max_rate,
            frame_period: 1.0 / f64::from(parameters.frame_rate),
            target: parameters.start_rate,
            rate_adjust: 0.0,
            frame_size_dev: 0.0,
        }
    }

    /// Handles a coded frame of `bytes`; the oldest packet has waited for `age` seconds.
    pub(super) fn on_frame(&mut self, bytes: f64, age: f64) {
        let error = (age - self.frame_period / 4.0) / self.frame_period;
        self.rate_adjust = (self.rate_adjust + error * RATE_ADJUST_GAIN).clamp(0.0, 0.5);
        let nominal = self.target * self.frame_period / 8.0;
        let deviation = ((bytes - nominal) / nominal).max(0.0);
        let dev = (1.0 - FRAME_SIZE_DEV_ALPHA) * self.frame_size_dev + FRAME_SIZE_DEV_ALPHA * deviation;
        self.frame_size_dev = dev.min(0.2);
    }

    /// Updates the target after an update of the window in bytes; `ratio` is `ref_wnd_ratio`, `rtt` in
    /// seconds.
    pub(super) fn update(&mut self, window: f64, ratio: f64, rtt: f64) {
        let mut scale = 1.0 - (ratio - 0.1).clamp(0.0, 0.2);
        scale *= self.mss / (self.mss + PACKET_OVERHEAD);
        scale /= MARGIN + self.rate_adjust + self.frame_size_dev;
        self.target = (scale * 8.0 * window / rtt.max(1e-6)).min(self.max).max(self.min);
    }
}
