//! SCReAM of RFC 8298: combination of window and rate.

use super::Parameters;
use super::control::{Control, MEDIA_CONTROL, MIN_PACING_RATE, Report};
use super::rate::{RateControl, View};
use super::window::{Acknowledged, Window};
use quiclab_core::{ByteCount, Duration, Metrics, Time};

/// SCReAM of RFC 8298.
pub(super) struct Scream {
    window: Window,
    rate: RateControl,
}

impl Scream {
    pub(super) fn new(parameters: &Parameters) -> Self {
        let mss = parameters.mss.bytes() as f64;
        Self {
            window: Window::new(mss, parameters.target_delay, parameters.start),
            rate: RateControl::new(parameters),
        }
    }
}

impl Control for Scream {
    fn on_frame(&mut self, bytes: ByteCount, _age: Duration) {
        self.rate.on_media(bytes);
    }

    fn on_sent(&mut self, bytes: ByteCount, _in_flight: ByteCount) {
        self.rate.on_sent(bytes);
    }

    fn on_report(&mut self, now: Time, report: &Report) -> bool {
        let news = &report.news;
        self.rate.on_acked(news.acked);
        let acknowledged = Acknowledged {
            bytes: news.acked.bytes() as f64,
            in_flight: report.in_flight,
            most_in_flight: report.most_in_flight,
            delay: news.delay.as_secs_f64(),
            lost: news.lost > 0,
            marked: news.marked_packets > 0,
        };
        let congestion = self.window.on_report(now, report.rtt, &acknowledged);
        if let Some(congestion) = congestion {
            self.rate.on_congestion(congestion);
        }
        congestion.is_some()
    }

    fn on_silence(&mut self, now: Time) {
        self.window.on_silence(now);
    }

    fn due(&self) -> Time {
        self.rate.due
    }

    fn on_due(&mut self, queue: ByteCount) {
        self.rate.adjust(&View {
            fast_increase: self.window.fast_increase,
            trend: self.window.trend.value,
            trend_memory: self.window.trend.memory,
            queue,
        });
    }

    fn room(&self, in_flight: f64) -> f64 {
        self.window.room(in_flight)
    }

    /// Pacing rate (section 4.1.2.5).
    fn pacing_rate(&self, rtt: Duration) -> f64 {
        (self.window.size * 8.0 / rtt.as_secs_f64().max(1e-6)).max(MIN_PACING_RATE)
    }

    fn target_rate(&self) -> f64 {
        self.rate.target
    }

    fn sample_rates(&self, out: &mut Metrics) {
        out.set(&MEDIA_CONTROL.target_rate_mbps, self.rate.target / 1e6);
        out.set(&MEDIA_CONTROL.media_rate_mbps, self.rate.media_rate / 1e6);
        out.set(&MEDIA_CONTROL.cwnd_bytes, self.window.size);
    }

    fn sample_delays(&self, out: &mut Metrics) {
        out.set(&MEDIA_CONTROL.queue_delay_ms, self.window.delay * 1e3);
        out.set(&MEDIA_CONTROL.queue_delay_target_ms, self.window.target.value * 1e3);
    }
}
