//! CUBIC of aioquic (`quic/congestion/cubic.py`), after RFC 9438. It is the same in 0.9.25 and 1.7.2, but for persistent
//! congestion, which is new in 1.7.2.
//!
//! | | here and in aioquic | RFC 9438, `curve.rs` |
//! |---|---|---|
//! | a loss leaves | 0.7 of the bytes in flight without the lost ones | 0.7 of the window |
//! | growth in recovery | as outside of it | none |
//! | Reno's estimate | a packet for each window acknowledged | 0.529, and 1 from the old window on |
//! | that estimate above the curve | becomes the window, even if that shrinks it | is the window |
//! | RTT added to the time | the latest sample before the acknowledgement; 20 ms before the first | smoothed |
//! | a packet sent 2 s or more after the send time of the latest acknowledged one | initial window, no threshold, new curve; the recovery period stays | idle time does not count |
//! | persistent congestion | two packets, the same curve | as section 4.8 |
//!
//! Approximations, each by less than a packet or an acknowledgement: an acknowledgement counts as so many packets of equal
//! size, slow start ends exactly at its threshold, the send time is that of the packet with the RTT sample, and the window
//! after 2 s applies from the next packet, not from the next call.
//!
//! Windows are in bytes, times in seconds.

use crate::congestion::Ack;
use crate::congestion::constants::CubicConstants;
use quiclab_core::{Duration, Time};

/// `K_CUBIC_LOSS_REDUCTION_FACTOR`.
const BETA: f64 = 0.7;
/// `K_CUBIC_C` in packets per second cubed.
const C: f64 = 0.4;
/// `K_CUBIC_MAX_IDLE_TIME`.
const MAX_IDLE: Duration = Duration::from_secs(2);
/// `self.rtt` before a sample.
const FIRST_RTT: Duration = Duration::from_millis(20);

/// Why the next growth starts a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// Slow start has ended without a loss.
    SlowStart,
    /// A loss has reduced the window.
    Reduction,
}

/// Curve with its state of reductions.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    mss: u64,
    beta: f64,
    c: f64,
    fast_convergence: bool,
    starts: Option<Start>,
    /// `W_max` in bytes.
    w_max: f64,
    k: f64,
    /// Reno's estimate in bytes (`_W_est`).
    estimate: u64,
    /// Time at which the curve started.
    epoch: Time,
    /// Latest RTT sample.
    rtt: Duration,
    /// Time at which the latest acknowledged packet was sent; `None` before one.
    acked_sent: Option<Time>,
}

impl Curve {
    /// Makes a curve for an initial window of `window` bytes.
    pub(super) fn new(mss: u64, window: u64) -> Self {
        Self {
            mss,
            beta: BETA,
            c: C,
            fast_convergence: true,
            starts: Some(Start::SlowStart),
            w_max: window as f64,
            k: 0.0,
            estimate: 0,
            epoch: Time::ZERO,
            rtt: FIRST_RTT,
            acked_sent: None,
        }
    }

    /// Replaces the constants that are set.
    pub(super) fn change(&mut self, set: &CubicConstants) {
        self.beta = set.beta.unwrap_or(self.beta);
        self.c = set.c.unwrap_or(self.c);
        self.fast_convergence = set.fast_convergence.unwrap_or(self.fast_convergence);
    }

    /// Whether a packet sent at `now` comes so long after the latest acknowledged one that all starts again.
    pub(super) fn is_stale(&self, now: Time) -> bool {
        self.acked_sent.is_some_and(|sent| now.since(sent) >= MAX_IDLE)
    }

    /// Starts again with a window of `window` bytes.
    pub(super) fn reset(&mut self, window: u64) {
        (self.starts, self.w_max, self.k, self.estimate) = (Some(Start::SlowStart), window as f64, 0.0, 0);
    }

    /// Handles an acknowledgement, after the growth that it permits.
    pub(super) fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            (self.rtt, self.acked_sent) = (rtt, Some(Time::ZERO + ack.now.since(Time::ZERO + rtt)));
        }
    }

    /// Window in bytes after `acked` bytes in `packets` were acknowledged in congestion avoidance at a window
    /// of `window` bytes.
    pub(super) fn grow(&mut self, now: Time, mut window: u64, packets: u32, acked: u64) -> u64 {
        if let Some(start) = self.starts.take() {
            if start == Start::SlowStart {
                self.w_max = window as f64;
            }
            (self.epoch, self.estimate) = (now, window);
            self.k = libm::cbrt((self.w_max - window as f64) / self.mss as f64 / self.c);
        }
        let (t, rtt, mss) = (now.since(self.epoch).as_secs_f64(), self.rtt.as_secs_f64(), self.mss as f64);
        let (cubic, ahead) = (self.cubic(t), self.cubic(t + rtt));
        let bytes = acked as f64 / f64::from(packets.max(1));
        for _ in 0..packets {
            let before = window as f64;
            self.estimate = self.estimate.saturating_add((mss * bytes / before) as u64);
            window = if cubic < self.estimate as f64 {
                self.estimate
            } else {
                (before + (ahead.clamp(before, 1.5 * before) - before) * mss / before) as u64
            };
        }
        window
    }

    /// W(t).
    fn cubic(&self, t: f64) -> f64 {
        let offset = t - self.k;
        self.w_max + self.c * offset * offset * offset * self.mss as f64
    }

    /// Reduces a window of `window` bytes with `in_flight` bytes in flight without the lost ones; returns the
    /// threshold in bytes.
    pub(super) fn cut(&mut self, window: u64, in_flight: u64) -> u64 {
        let window = window as f64;
        let lower = self.fast_convergence && window < self.w_max;
        self.w_max = if lower { window * (1.0 + self.beta) / 2.0 } else { window };
        self.starts = Some(Start::Reduction);
        (in_flight as f64 * self.beta) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ms as at;

    const MSS: u64 = 1000;

    /// 0.7 x 60 packets in flight remain of 100; K = cbrt(58 / 0.4) = 5.2536 s. At first Reno's estimate is above
    /// the curve: a packet adds 1000 / 42 = 23 bytes, rounded down. After 1 s the curve is at 100 - 0.4 x 4.25³ = 69 packets: the target
    /// is half a window more, and a packet adds half of one.
    #[test]
    fn a_loss_leaves_a_part_of_what_is_in_flight() {
        let mut curve = Curve::new(MSS, 10 * MSS);
        assert_eq!(curve.cut(100 * MSS, 60 * MSS), 42 * MSS);
        assert_eq!(curve.grow(at(0), 42 * MSS, 1, MSS), 42_023);
        assert!((curve.k - 5.253_6).abs() < 1e-3);
        assert_eq!(curve.grow(at(1000), 42 * MSS, 2, 2 * MSS), 43 * MSS);
    }

    /// The window has grown to 50 packets, Reno's estimate is 42 packets and one for each window acknowledged, hence the
    /// window becomes smaller once the curve is below the estimate.
    #[test]
    fn an_estimate_above_the_curve_is_the_window() {
        let mut curve = Curve::new(MSS, 10 * MSS);
        curve.cut(42 * MSS, 42 * MSS);
        assert_eq!(curve.grow(at(0), 42 * MSS, 1, MSS), 42_023);
        assert_eq!(curve.grow(at(0), 50 * MSS, 1, MSS), 42_043);
    }

    #[test]
    fn two_seconds_after_the_latest_acknowledged_packet_all_starts_again() {
        let mut curve = Curve::new(MSS, 10 * MSS);
        assert!(!curve.is_stale(at(10_000)));
        curve.on_ack(&Ack { now: at(1100), rtt: Some(Duration::from_millis(100)), ..Ack::default() });
        assert!(!curve.is_stale(at(2999)) && curve.is_stale(at(3000)));
        curve.cut(100 * MSS, 60 * MSS);
        curve.reset(10 * MSS);
        // as at first: the curve starts at the end of slow start
        assert_eq!(curve.grow(at(4000), 50 * MSS, 1, MSS), 50_020);
        assert_eq!((curve.w_max, curve.k), (50_000.0, 0.0));
    }
}
