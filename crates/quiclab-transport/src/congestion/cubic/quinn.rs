//! Curve of quinn-proto 0.11.19 (`congestion/cubic.rs`), after RFC 8312.
//!
//! | | here and in quinn | RFC 9438, `curve.rs` |
//! |---|---|---|
//! | time starts | with the reduction | with the first growth after it |
//! | K | cbrt(`W_max` 0.3 / C): as if the window were 0.7 `W_max`, which it is not after fast convergence | cbrt((`W_max` - cwnd) / C) |
//! | Reno's estimate | 0.7 `W_max` + 0.529 t / RTT, by the clock | 0.529 packets for each window acknowledged, 1 from the old window on |
//! | growth | for each packet acknowledged, regardless of its size, rounded down to bytes; accumulated to a full packet, then the rest is dropped | bytes, nothing is dropped |
//! | target | no limit; the window grows by at most a packet for each acknowledged | at most 1.5 cwnd |
//! | growth accumulated at a reduction | 0.7 of it remains | none |
//! | time without use of the window | counts | does not count |
//! | persistent congestion | `W_max` is the reduced window, the threshold is reduced twice | as section 4.8 |
//!
//! Windows are in bytes, times in seconds.

use crate::congestion::constants::CubicConstants;
use quiclab_core::{Duration, Time};

const BETA: f64 = 0.7;
/// C in packets per second cubed.
const C: f64 = 0.4;
/// Growth of Reno's estimate in packets per round trip (RFC 8312 equation 4).
fn alpha(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}

/// Curve with its state of reductions.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    mss: u64,
    /// `W_max` in bytes; 0 before the first reduction.
    w_max: f64,
    k: f64,
    /// Part of the window that remained after the last reduction.
    kept: f64,
    beta: f64,
    c: f64,
    fast_convergence: bool,
    /// Accumulated growth of less than a full packet, in bytes (`cwnd_inc`).
    gathered: u64,
    /// Time of the last reduction, or of the first growth without one; `None` before either.
    start: Option<Time>,
}

impl Curve {
    pub(super) fn new(mss: u64) -> Self {
        Self {
            mss,
            w_max: 0.0,
            k: 0.0,
            kept: BETA,
            beta: BETA,
            c: C,
            fast_convergence: true,
            gathered: 0,
            start: None,
        }
    }

    /// Replaces the constants that are set.
    pub(super) fn change(&mut self, set: &CubicConstants) {
        self.beta = set.beta.unwrap_or(self.beta);
        self.kept = self.beta;
        self.c = set.c.unwrap_or(self.c);
        self.fast_convergence = set.fast_convergence.unwrap_or(self.fast_convergence);
    }

    /// Window in bytes after `packets` were acknowledged in congestion avoidance at a window of `window`
    /// bytes.
    pub(super) fn grow(&mut self, now: Time, mut window: u64, packets: u32, rtt: Duration) -> u64 {
        let start = *self.start.get_or_insert_with(|| {
            (self.w_max, self.k) = (window as f64, 0.0);
            now
        });
        let (t, rtt) = (now.since(start).as_secs_f64(), rtt.as_secs_f64());
        let (cubic, reno) = (self.cubic(t + rtt), self.reno(t, rtt));
        for _ in 0..packets {
            let wanted = if cubic < reno {
                window.max(reno as u64)
            } else if window < cubic as u64 {
                let growth = (cubic - window as f64) / window as f64 * self.mss as f64;
                window.saturating_add(growth as u64)
            } else {
                window
            };
            self.gathered += wanted - window;
            if self.gathered >= self.mss {
                window += self.mss;
                self.gathered = 0;
            }
        }
        window
    }

    /// W(t).
    fn cubic(&self, t: f64) -> f64 {
        let (mss, offset) = (self.mss as f64, t - self.k);
        (self.c * (offset * offset * offset) + self.w_max / mss) * mss
    }

    /// `W_est(t)`.
    fn reno(&self, t: f64, rtt: f64) -> f64 {
        let (mss, alpha) = (self.mss as f64, alpha(self.beta));
        (self.w_max / mss * self.kept + alpha * t / rtt) * mss
    }

    /// Reduces a window of `window` bytes, of which `kept` remains (quinn has β only); returns the threshold
    /// in bytes.
    pub(super) fn cut(&mut self, now: Time, window: u64, kept: f64) -> u64 {
        (self.start, self.kept) = (Some(now), kept);
        let window = window as f64;
        let lower = self.fast_convergence && window < self.w_max;
        self.w_max = if lower { window * (1.0 + self.beta) / 2.0 } else { window };
        self.k = libm::cbrt(self.w_max / self.mss as f64 * (1.0 - kept) / self.c);
        self.gathered = (self.gathered as f64 * kept) as u64;
        (window * kept) as u64
    }

    /// Handles persistent congestion after a reduction to `window` bytes; returns the threshold in bytes.
    pub(super) fn forget(&mut self, window: u64) -> u64 {
        (self.start, self.w_max, self.gathered) = (None, window as f64, 0);
        (window as f64 * self.beta) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ms as at;

    const MSS: u64 = 1000;

    /// Curve after a reduction at 100 packets, to 70 at time 0: K = cbrt(100 x 0.3 / 0.4) = 4.217163 s.
    fn reduced_at_100() -> Curve {
        let mut curve = Curve::new(MSS);
        assert_eq!(curve.cut(at(0), 100 * MSS, BETA), 70 * MSS);
        curve
    }

    /// W(2) = 95.640 packets: each packet acknowledged at 87 adds floor(8640 / 87) = 99 bytes. The eleventh
    /// completes a packet, and the excess is dropped: from 88 packets on it is floor(7640 / 88) = 86.
    #[test]
    fn growth_is_gathered_to_a_packet() {
        let mut curve = reduced_at_100();
        let second = Duration::from_secs(1);
        assert_eq!(curve.grow(at(1000), 87 * MSS, 10, second), 87 * MSS);
        assert_eq!(curve.gathered, 990);
        assert_eq!(curve.grow(at(1000), 87 * MSS, 2, second), 88 * MSS);
        assert_eq!(curve.gathered, 86);
        // 0.7 x 86 = 60.2
        curve.cut(at(1000), 88 * MSS, BETA);
        assert_eq!(curve.gathered, 60);
    }

    /// 80 packets after a maximum of 100: W_max = 80 x 1.7 / 2 = 68, K = cbrt(68 x 0.75) = 3.70843 s; W(0) is
    /// 68 - 0.4 x 51 = 47.6 packets, below the window of 56: it does not change until W has caught up,
    /// 0.4 (t - K)^3 = -12 at t = K - 3.10723 = 0.6012 s.
    #[test]
    fn after_fast_convergence_the_window_waits_for_the_curve() {
        let mut curve = reduced_at_100();
        assert_eq!(curve.cut(at(0), 80 * MSS, BETA), 56 * MSS);
        assert!((curve.w_max - 68_000.0).abs() < 1e-6 && (curve.k - 3.708_430).abs() < 1e-6);
        // an RTT of 1 s keeps Reno's estimate at 0.7 x 68 + 0.53 t
        let second = Duration::from_secs(1);
        let mut early = curve.clone();
        early.grow(at(0), 56 * MSS, 1, Duration::from_millis(600));
        assert_eq!(early.gathered, 0);
        curve.grow(at(100), 56 * MSS, 1, second);
        assert!(curve.gathered > 0);
    }

    /// With an RTT of 10 ms Reno's estimate is 70 + 0.529 x 100 t packets, after 1 s 122.9, above W(1.01): an
    /// acknowledged packet accumulates up to it, but the window grows by one packet at most.
    #[test]
    fn short_round_trips_grow_by_the_clock_like_reno() {
        let mut curve = reduced_at_100();
        let rtt = Duration::from_millis(10);
        assert_eq!(curve.grow(at(1000), 90 * MSS, 1, rtt), 91 * MSS);
        assert_eq!(curve.grow(at(1000), 91 * MSS, 5, rtt), 96 * MSS);
        // 0.5294 x 100 = 52.94 packets: the window stops at the first above 122.94
        assert_eq!(curve.grow(at(1000), 96 * MSS, 100, rtt), 123 * MSS);
    }

    #[test]
    fn without_a_reduction_the_curve_starts_at_the_first_growth() {
        let mut curve = Curve::new(MSS);
        curve.grow(at(500), 50 * MSS, 1, Duration::from_secs(1));
        assert_eq!((curve.start, curve.w_max, curve.k), (Some(at(500)), 50_000.0, 0.0));
    }

    /// 100 packets, reduced to 70, and again to 49; the next growth starts a curve at the window then.
    #[test]
    fn persistent_congestion_reduces_the_threshold_twice() {
        let mut curve = reduced_at_100();
        assert_eq!(curve.forget(70 * MSS), 49 * MSS);
        assert_eq!((curve.start, curve.w_max), (None, 70_000.0));
    }
}
