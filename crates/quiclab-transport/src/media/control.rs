//! Decisions of a version of SCReAM: bytes in flight, pacing rate, and rate requested from the coder. Rates
//! are in bit/s, delays in seconds.

use super::flight::AckUpdate;
use quiclab_core::{ByteCount, Duration, Metrics, Time};

quiclab_core::metrics! {
    /// State of the congestion control of media.
    pub static MEDIA_CONTROL: MediaControlMetrics = Flow, "sender of `media`" {
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

/// Report of the receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub(super) news: AckUpdate,
    /// Smoothed RTT.
    pub(super) rtt: Duration,
    /// Bytes still in flight, and their maximum in the last seconds.
    pub(super) in_flight: f64,
    pub(super) most_in_flight: f64,
}

/// Version of SCReAM.
pub(super) trait Control: Send {
    /// Handles a coded frame; `age`: time for which the oldest packet has waited.
    fn on_frame(&mut self, bytes: ByteCount, age: Duration);

    /// Handles a packet that was sent, after which `in_flight` bytes are in flight.
    fn on_sent(&mut self, bytes: ByteCount, in_flight: ByteCount);

    /// Handles a report; returns whether it is a congestion event.
    fn on_report(&mut self, now: Time, report: &Report) -> bool;

    /// Handles a long period without a report: all packets are lost.
    fn on_silence(&mut self, now: Time);

    /// Time at which [`Control::on_due`] is due.
    fn due(&self) -> Time;

    /// Measures rates, with `queue` bytes in the queue.
    fn on_due(&mut self, queue: ByteCount);

    /// `send_wnd` in bytes: bytes that may be sent with `in_flight` bytes in flight.
    fn room(&self, in_flight: f64) -> f64;

    /// Rate of the pacer.
    fn pacing_rate(&self, rtt: Duration) -> f64;

    /// Rate requested from the coder.
    fn target_rate(&self) -> f64;

    /// Reports the rates and the window for time series.
    fn sample_rates(&self, out: &mut Metrics);

    /// Reports the delays for time series.
    fn sample_delays(&self, out: &mut Metrics);
}
