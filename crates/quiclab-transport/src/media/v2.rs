//! SCReAM version 2: draft-ietf-ccwg-rfc8298bis-screamv2, the editors' text of 10 August 2026 (version 01). Variables and constants
//! have the names of the draft.
//!
//! ```text
//! marks   l4s_alpha, from the share of packets with marks (section 4.2.1.3)
//! window  ref_wnd: reduced and increased (section 4.2.2)
//! rate    target_bitrate (section 4.4)
//! ```
//!
//! | | draft | here |
//! |---|---|---|
//! | increase of `ref_wnd` (4.2.2) | "once per smoothed RTT" | the same; Ericsson's code: once in 30 ms or an RTT |
//! | `scl_t` (4.2.2.1) | "`ref_wnd_i` is updated before this code", but is below it | with the `ref_wnd_i` before the reduction, as in Ericsson's code |
//! | reaction to losses and marks of one interval | losses alone | losses alone |
//! | REDUCE_JITTER (4.2.1.4) | optional, false | false: `ref_wnd_delay_scale` is 1, and `ref_wnd_overhead` REF_WND_OVERHEAD_MAX |
//! | clock drift (4.5.1) | optional | none: the clocks agree |
//! | losses by links, policers (4.5.2), undershoot (4.5.3) | optional | none |
//! | competing flows (4.5.4) | optional | as in version 1, with the same history |
//! | rate before the first report | `target_bitrate` 0 | `start_rate` |
//! | base delay, feedback that stops, old packets | | as in version 1 |
//! | POST_CONGESTION_DELAY_RTT, VIRTUAL_RTT, relaxed pacing | 100, 25 ms, 4 | the same; Ericsson's code: 200, 30 ms, 5 |

mod marks;
mod rate;
#[cfg(test)]
mod tests;
mod window;

use super::Parameters;
use super::control::{Control, MEDIA_CONTROL, MIN_PACING_RATE, Report};
use quiclab_core::{ByteCount, Duration, Metrics, Time};
use rate::TargetBitrate;
use window::{Feedback, RefWindow};

/// PACKET_PACING_HEADROOM, MAX_RELAXED_PACING_FACTOR and RELAXED_PACING_LIMIT_LOW (section 4.3.2).
const PACKET_PACING_HEADROOM: f64 = 1.5;
const MAX_RELAXED_PACING_FACTOR: f64 = 4.0;
const RELAXED_PACING_LIMIT_LOW: f64 = 0.8;
/// REF_WND_OVERHEAD_MAX (section 4.3.1).
const REF_WND_OVERHEAD: f64 = 3.0;
/// Interval over which the rate of the coder is measured for time series.
const INTERVAL: Duration = Duration::from_millis(200);

/// SCReAM version 2.
pub(super) struct ScreamV2 {
    window: RefWindow,
    rate: TargetBitrate,
    max_rate: f64,
    /// Bytes of media since the last measurement of the rate, that rate, and the time of the next
    /// measurement.
    media: u64,
    media_rate: f64,
    due: Time,
}

impl ScreamV2 {
    pub(super) fn new(parameters: &Parameters) -> Self {
        Self {
            window: RefWindow::new(parameters),
            rate: TargetBitrate::new(parameters),
            max_rate: parameters.max_rate,
            media: 0,
            media_rate: 0.0,
            due: parameters.start + INTERVAL,
        }
    }
}

impl Control for ScreamV2 {
    fn on_frame(&mut self, bytes: ByteCount, age: Duration) {
        self.media += bytes.bytes();
        self.rate.on_frame(bytes.bytes() as f64, age.as_secs_f64());
    }

    fn on_sent(&mut self, _bytes: ByteCount, in_flight: ByteCount) {
        self.window.on_in_flight(in_flight.bytes() as f64);
    }

    fn on_report(&mut self, now: Time, report: &Report) -> bool {
        let news = &report.news;
        let feedback = Feedback {
            acked: news.acked.bytes() as f64,
            acked_ce: news.marked.bytes() as f64,
            packets: news.arrived_packets,
            packets_ce: news.marked_packets,
            lost: news.lost > 0,
            delay: news.delay.as_secs_f64(),
            rtt: report.rtt,
            is_at_max_rate: self.rate.target >= self.max_rate,
        };
        let reduced = self.window.on_feedback(now, &feedback);
        self.rate.update(self.window.size, self.window.ratio(), report.rtt.as_secs_f64());
        reduced
    }

    fn on_silence(&mut self, now: Time) {
        self.window.on_silence(now);
    }

    fn due(&self) -> Time {
        self.due
    }

    fn on_due(&mut self, _queue: ByteCount) {
        self.media_rate = std::mem::take(&mut self.media) as f64 * 8.0 / INTERVAL.as_secs_f64();
        self.due += INTERVAL;
    }

    /// Bytes that may be sent (section 4.3.1).
    fn room(&self, in_flight: f64) -> f64 {
        self.window.size * REF_WND_OVERHEAD - in_flight
    }

    /// Pacing rate (section 4.3.2), relaxed as the rate approaches its maximum.
    fn pacing_rate(&self, _rtt: Duration) -> f64 {
        let nominal = self.rate.target / self.max_rate;
        let scale = ((nominal - RELAXED_PACING_LIMIT_LOW) / (1.0 - RELAXED_PACING_LIMIT_LOW)).min(1.0);
        let scale = (1.0 - scale).clamp(1.0 / MAX_RELAXED_PACING_FACTOR, 1.0);
        self.rate.target.max(MIN_PACING_RATE) * PACKET_PACING_HEADROOM / scale
    }

    fn target_rate(&self) -> f64 {
        self.rate.target
    }

    fn sample_rates(&self, out: &mut Metrics) {
        out.set(&MEDIA_CONTROL.target_rate_mbps, self.rate.target / 1e6);
        out.set(&MEDIA_CONTROL.media_rate_mbps, self.media_rate / 1e6);
        out.set(&MEDIA_CONTROL.cwnd_bytes, self.window.size);
        out.set(&MEDIA_CONTROL.l4s_alpha, self.window.marks.alpha);
    }

    fn sample_delays(&self, out: &mut Metrics) {
        out.set(&MEDIA_CONTROL.queue_delay_ms, self.window.qdelay * 1e3);
        out.set(&MEDIA_CONTROL.queue_delay_target_ms, self.window.target.value * 1e3);
    }
}
