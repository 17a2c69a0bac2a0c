//! What a version of SCReAM decides: how much may be in flight, at which rate it leaves, and the rate that the coder is asked for.
//! Rates are in bit/s, delays in seconds.

use super::flight::AckUpdate;
use quiclab_core::{ByteCount, Duration, Metrics, Time};

quiclab_core::metrics! {
    /// State of the congestion control of media.
    pub static MEDIA_CONTROL: MediaControlMetrics = "sender of `media`" {
        /// Rate requested from the encoder.
        target_rate_mbps: Gauge, Series;
        /// Rate produced by the encoder.
        media_rate_mbps: Gauge, Series;
        /// Congestion window.
        cwnd_bytes: Gauge, Series;
        /// Estimated queueing delay.
        queue_delay_ms: Gauge, Series;
        /// Target of the queueing delay.
        queue_delay_target_ms: Gauge, Series;
        /// Smoothed share of marks; version 2 of SCReAM.
        l4s_alpha: Gauge, Series;
    }
}

/// RATE_PACE_MIN of both versions.
pub(super) const MIN_PACING_RATE: f64 = 50_000.0;

/// A report of the receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub(super) news: AckUpdate,
    /// Smoothed.
    pub(super) rtt: Duration,
    /// Bytes still in flight, and the most in the last seconds.
    pub(super) in_flight: f64,
    pub(super) most_in_flight: f64,
}

/// A version of SCReAM.
pub(super) trait Control: Send {
    /// A frame was coded; the oldest packet that waits does so for `age`.
    fn on_frame(&mut self, bytes: ByteCount, age: Duration);

    /// A packet left, and so much is in flight.
    fn on_sent(&mut self, bytes: ByteCount, in_flight: ByteCount);

    /// A report arrived; whether it is a congestion event.
    fn on_report(&mut self, now: Time, report: &Report) -> bool;

    /// Without a report for long: everything is lost.
    fn on_silence(&mut self, now: Time);

    /// When [`Control::on_due`] is due.
    fn due(&self) -> Time;

    /// Rates are measured, with so much in the queue.
    fn on_due(&mut self, queue: ByteCount);

    /// `send_wnd` in bytes: what may leave with so much in flight.
    fn room(&self, in_flight: f64) -> f64;

    /// Rate of the pacer.
    fn pacing_rate(&self, rtt: Duration) -> f64;

    /// Rate that the coder is asked for.
    fn target_rate(&self) -> f64;

    /// Its part of a time series, up to the window.
    fn sample_rates(&self, out: &mut Metrics);

    /// The delays.
    fn sample_delays(&self, out: &mut Metrics);
}
