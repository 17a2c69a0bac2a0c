//! Media rate control: the rate requested from the coder (RFC 8298 section 4.1.3), and its inputs.
//!
//! The table in [`super`] has the differences.

use super::Parameters;
use super::window::Congestion;
use quiclab_core::{ByteCount, Duration, Time};
use std::collections::VecDeque;

/// RATE_ADJUST_INTERVAL; rates are measured over it, too.
pub(super) const INTERVAL: Duration = Duration::from_millis(200);
const BETA_R: f64 = 0.9;
const BETA_ECN: f64 = 0.9;
const PRE_CONGESTION_GUARD: f64 = 0.1;
const TX_QUEUE_SIZE_FACTOR: f64 = 1.0;
/// RTP_QDELAY_TH in seconds, and TARGET_RATE_SCALE_RTP_QDELAY.
const QUEUE_DELAY: f64 = 0.02;
const QUEUE_SCALE: f64 = 0.95;
/// Bits in the RTP queue above which the rate does not grow (Ericsson's code).
const QUEUE_BITS: f64 = 12_000.0;
/// Number of measurements of the media rate for the median: those of 10 s.
const MEDIAN: usize = 50;

/// State of the network congestion control.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub(super) fast_increase: bool,
    pub(super) trend: f64,
    pub(super) trend_memory: f64,
    /// `rtp_queue_size`.
    pub(super) queue: ByteCount,
}

/// Control of the target rate. Rates are in bit/s.
#[derive(Debug)]
pub(super) struct RateControl {
    min: f64,
    max: f64,
    ramp_up_speed: f64,
    pub(super) target: f64,
    /// `target_bitrate_last_max`; `None`: there was no congestion.
    last_max: Option<f64>,
    was_fast: bool,
    /// Time of the next adjustment of the target.
    pub(super) due: Time,
    /// Bytes of media, sent and acknowledged since the last adjustment.
    media: u64,
    sent: u64,
    acked: u64,
    /// `rate_media`, and its previous values.
    pub(super) media_rate: f64,
    media_rates: VecDeque<f64>,
    /// Larger of `rate_transmit` and `rate_ack`.
    current: f64,
}

impl RateControl {
    pub(super) fn new(parameters: &Parameters) -> Self {
        Self {
            min: parameters.min_rate,
            max: parameters.max_rate,
            ramp_up_speed: parameters.ramp_up_speed,
            target: parameters.start_rate,
            last_max: None,
            was_fast: true,
            due: parameters.start + INTERVAL,
            media: 0,
            sent: 0,
            acked: 0,
            media_rate: 0.0,
            media_rates: VecDeque::with_capacity(MEDIAN),
            current: 0.0,
        }
    }

    pub(super) fn on_media(&mut self, bytes: ByteCount) {
        self.media += bytes.bytes();
    }
    pub(super) fn on_sent(&mut self, bytes: ByteCount) {
        self.sent += bytes.bytes();
    }
    pub(super) fn on_acked(&mut self, bytes: ByteCount) {
        self.acked += bytes.bytes();
    }

    /// Handles a reduction of the window.
    pub(super) fn on_congestion(&mut self, congestion: Congestion) {
        self.last_max = Some(self.target);
        let beta = if congestion == Congestion::Loss { BETA_R } else { BETA_ECN };
        self.target = (self.target * beta).max(self.min);
    }

    /// Adjusts the target.
    pub(super) fn adjust(&mut self, view: &View) {
        self.measure();
        self.due += INTERVAL;
        let interval = INTERVAL.as_secs_f64();
        let ramp_up = self.ramp_up_speed.min(self.target / 2.0);
        let scale = self.scale();
        let queue_bits = view.queue.bytes() as f64 * 8.0;
        if view.fast_increase {
            self.target += ramp_up * interval * scale;
        } else {
            if self.was_fast {
                // congestion was detected
                self.last_max = Some(self.target);
            }
            let wanted =
                self.current * (1.0 - PRE_CONGESTION_GUARD * view.trend) - TX_QUEUE_SIZE_FACTOR * queue_bits;
            let mut delta = wanted - self.target;
            if delta > 0.0 {
                delta = if queue_bits > QUEUE_BITS { 0.0 } else { (delta * scale).min(ramp_up * interval) };
            }
            self.target += delta;
            if queue_bits > QUEUE_DELAY * self.current {
                self.target *= QUEUE_SCALE;
            }
        }
        self.was_fast = view.fast_increase;
        let limit = self.current.max(self.media_rate).max(self.median()) * (2.0 - view.trend_memory);
        self.target = self.target.min(limit).min(self.max).max(self.min);
    }

    /// Factor of growth of the rate: smaller near the rate of the last congestion.
    fn scale(&self) -> f64 {
        let Some(last) = self.last_max else { return 1.0 };
        let distance = (self.target - last) / last * 4.0;
        (distance * distance).clamp(0.2, 1.0)
    }

    fn measure(&mut self) {
        let rate = |bytes: &mut u64| std::mem::take(bytes) as f64 * 8.0 / INTERVAL.as_secs_f64();
        self.media_rate = rate(&mut self.media);
        self.current = rate(&mut self.sent).max(rate(&mut self.acked));
        if self.media_rates.len() == MEDIAN {
            self.media_rates.pop_front();
        }
        self.media_rates.push_back(self.media_rate);
    }

    /// `rate_media_median`.
    fn median(&self) -> f64 {
        let mut rates: [f64; MEDIAN] = [0.0; MEDIAN];
        let count = self.media_rates.len();
        for (place, rate) in rates.iter_mut().zip(&self.media_rates) {
            *place = *rate;
        }
        rates[..count].sort_unstable_by(f64::total_cmp);
        rates[..count].get(count / 2).map_or(0.0, |rate| *rate)
    }
}
