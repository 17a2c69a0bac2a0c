//! Curve of Linux (net/ipv4/tcp_cubic.c, 5.15 and later), in its integers: packets, jiffies and 1/1024 s.
//!
//! | | Linux | here |
//! |---|---|---|
//! | jiffy | 1 to 10 ms | the same (`kernel_hz` of TCP); 4 ms for QUIC stacks |
//! | cube root | table and one Newton step, 0.2 % | exact, rounded down |
//! | products | wrap beyond 64 bits: stages longer than 5 minutes | do not |

use crate::congestion::constants::CubicConstants;
use quiclab_core::{Duration, Time};

/// β = 717/1024 (`beta`, `BICTCP_BETA_SCALE`).
const BETA: u64 = 717;
const BETA_SCALE: u64 = 1024;
/// C = 410/1024 (`cube_rtt_scale` = `bic_scale` · 10).
const CUBE_RTT_SCALE: u64 = 410;
/// Binary digits of 1/1024 s, cubed, and of C's denominator.
const CUBE_SHIFT: u32 = 40;
/// Default number of jiffies per second (`HZ`).
const USUAL_HZ: u64 = 250;
/// Maximum number of acknowledged packets per packet of growth before the first reduction: 5 % per round
/// trip.
const FIRST_MAX_COUNT: u64 = 20;
/// Minimum number of acknowledged packets per packet of growth: "1 packet per 2 packets ACKed, meaning cwnd
/// grows at 1.5x per RTT".
const MIN_COUNT: u64 = 2;

/// Curve with its state of reductions (`struct bictcp`).
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// Jiffies per second.
    hz: u64,
    connections: u64,
    /// β in 1024ths, for the emulated connections.
    beta: u64,
    /// Eight times the windows acknowledged per packet of Reno's growth (`beta_scale`): 8 / α.
    reno_scale: u64,
    /// C in 1024ths.
    cube_rtt_scale: u64,
    fast_convergence: bool,
    /// Packets acknowledged per packet of growth; 0 before the first result.
    count: u64,
    /// Window at the last reduction, in packets; 0: none, or reset.
    last_max: u64,
    /// Window at the last computation.
    last_window: u64,
    /// Jiffy of the last computation.
    last_time: u64,
    /// Jiffy at which the stage began, later by idle time; `None` after a reduction.
    epoch_start: Option<u64>,
    /// Window at `k`.
    origin: u64,
    /// Time from the start of the stage to `origin` in 1/1024 s.
    k: u64,
    /// Minimum RTT; `None` before the first sample.
    delay_min: Option<Duration>,
    /// Packets acknowledged since the last growth of Reno's window.
    acked: u64,
    /// Estimate of Reno's window.
    reno: u64,
}

impl Curve {
    pub(super) fn new(connections: u32) -> Self {
        let mut curve = Self {
            hz: USUAL_HZ,
            connections: u64::from(connections),
            beta: 0,
            reno_scale: 0,
            cube_rtt_scale: CUBE_RTT_SCALE,
            fast_convergence: true,
            count: 0,
            last_max: 0,
            last_window: 0,
            last_time: 0,
            epoch_start: None,
            origin: 0,
            k: 0,
            delay_min: None,
            acked: 0,
            reno: 0,
        };
        curve.keep(BETA);
        curve
    }

    /// Replaces the constants that are set, in the unit of the module's parameters.
    pub(super) fn change(&mut self, set: &CubicConstants) {
        let scaled = |value: f64| libm::round(value * BETA_SCALE as f64) as u64;
        self.keep(set.beta.map_or(BETA, scaled));
        self.cube_rtt_scale = set.c.map_or(self.cube_rtt_scale, |c| scaled(c).max(1));
        self.fast_convergence = set.fast_convergence.unwrap_or(self.fast_convergence);
    }

    /// Sets the part of a connection's window that remains after a reduction: `beta` / 1024.
    fn keep(&mut self, beta: u64) {
        let n = self.connections;
        self.beta = ((n - 1) * BETA_SCALE + beta) / n;
        // N = 1: 8 * 1741 / 3 / 307 = 15
        self.reno_scale = (8 * (BETA_SCALE + self.beta) / 3 / (BETA_SCALE - self.beta) / (n * n)).max(1);
    }

    /// Sets the number of jiffies per second.
    pub(super) fn counting(self, hz: u32) -> Self {
        Self { hz: u64::from(hz.max(1)), ..self }
    }

    fn jiffy(&self) -> u64 {
        1_000_000_000 / self.hz
    }

    fn jiffies(&self, time: Time) -> u64 {
        time.as_nanos() / self.jiffy()
    }

    /// Minimum RTT of the accepted samples.
    pub(super) fn delay_min(&self) -> Option<Duration> {
        self.delay_min
    }

    /// Filters an RTT sample; `None` if it is discarded: in the first second of a stage it includes the queue
    /// of the preceding recovery ("Discard delay samples right after fast recovery").
    pub(super) fn sample(&mut self, now: Time, rtt: Duration) -> Option<Duration> {
        if self.epoch_start.is_some_and(|start| self.jiffies(now).saturating_sub(start) < self.hz) {
            return None;
        }
        self.delay_min = Some(self.delay_min.map_or(rtt, |min| min.min(rtt)));
        Some(rtt)
    }

    /// Packets to be acknowledged per packet of growth, after `acked` more at a window of `window` packets
    /// (`bictcp_update`).
    pub(super) fn packets_per_growth(&mut self, now: Time, window: u64, acked: u64) -> u64 {
        let now = self.jiffies(now);
        self.acked += acked;
        let elapsed = now - self.last_time.min(now);
        if self.last_window == window && elapsed <= self.hz / 32 && self.count > 0 {
            return self.count;
        }
        // within a jiffy, only Reno's window is computed again
        if self.epoch_start.is_none() || elapsed > 0 {
            (self.last_window, self.last_time) = (window, now);
            self.count = self.cubic(now, window, acked);
        }
        self.count = self.friendly(window).max(MIN_COUNT);
        self.count
    }

    fn cubic(&mut self, now: u64, window: u64, acked: u64) -> u64 {
        let start = *self.epoch_start.get_or_insert_with(|| {
            (self.acked, self.reno) = (acked, window);
            (self.k, self.origin) = if self.last_max <= window {
                (0, window)
            } else {
                let cube = ((1 << CUBE_SHIFT) / self.cube_rtt_scale) * (self.last_max - window);
                (libm::cbrt(cube as f64) as u64, self.last_max)
            };
            now
        });
        // the window one (minimum) RTT from now
        let elapsed =
            Duration::from_nanos((now - start) * self.jiffy()) + self.delay_min.unwrap_or(Duration::ZERO);
        let t = elapsed.as_nanos() / 1000 * 1024 / 1_000_000;
        let offset = u128::from(t.abs_diff(self.k));
        let delta = (u128::from(self.cube_rtt_scale) * offset * offset * offset) >> CUBE_SHIFT;
        let delta = u64::try_from(delta).unwrap_or(u64::MAX);
        let target =
            if t < self.k { self.origin.saturating_sub(delta) } else { self.origin.saturating_add(delta) };
        let count = if target > window { window / (target - window) } else { 100 * window };
        if self.last_max == 0 { count.min(FIRST_MAX_COUNT) } else { count }
    }

    /// Ensures growth at least as fast as Reno's (RFC 9438 section 4.3).
    fn friendly(&mut self, window: u64) -> u64 {
        let per_packet = window * self.reno_scale / 8;
        if per_packet > 0 && self.acked > per_packet {
            let packets = self.acked / per_packet;
            self.acked -= packets * per_packet;
            self.reno += packets;
        }
        if self.reno > window { self.count.min(window / (self.reno - window)) } else { self.count }
    }

    /// Reduces a window of `window` packets; returns the threshold in packets, at least 2
    /// (`bictcp_recalc_ssthresh`).
    pub(super) fn cut(&mut self, window: u64) -> u64 {
        self.epoch_start = None;
        self.last_max = if self.fast_convergence && window < self.last_max {
            window * (BETA_SCALE + self.beta) / (2 * BETA_SCALE) // fast convergence
        } else {
            window
        };
        (window * self.beta / BETA_SCALE).max(2)
    }

    /// Resets all state after a timeout, including the minimum RTT (`bictcp_reset`).
    pub(super) fn reset(&mut self) {
        let Self { hz, beta, reno_scale, .. } = *self;
        *self = Self { hz, beta, reno_scale, ..Self::new(1) };
    }

    /// Shifts the stage by the idle time from `last` until `now`.
    pub(super) fn shift(&mut self, now: Time, last: Time) {
        let (now, last) = (self.jiffies(now), self.jiffies(last));
        self.epoch_start = self.epoch_start.map(|start| (start + now - last).min(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Curve reduced at 100 packets, with a minimum RTT of 100 ms.
    fn reduced_at_100() -> Curve {
        let mut curve = Curve::new(1);
        curve.sample(Time::ZERO, Duration::from_millis(100));
        assert_eq!(curve.cut(100), 70); // floor(100 * 717 / 1024) = floor(70.02)
        curve
    }

    #[test]
    fn growth_follows_the_curve_one_rtt_ahead() {
        let mut curve = reduced_at_100();
        // K = cbrt(2^40 / 410 * 30) = 4316.97 -> 4316; t = floor(0.1 * 1024) = 102;
        // 410 * (4316 - 102)^3 / 2^40 = 27.9 -> 27; target 73: 70 / 3 = 23
        assert_eq!(curve.packets_per_growth(millis(1000), 70, 1), 23);
        assert_eq!(curve.k, 4316);
        // 1 s later: t = floor(1.1 * 1024) = 1126; 410 * 3190^3 / 2^40 = 12.1 -> 12; target 88: 80 / 8 = 10
        assert_eq!(curve.packets_per_growth(millis(2000), 80, 1), 10);
        // at K: t = 4316 needs 4.1149 s and 0.1 s; target 100 at a window of 100: very slowly
        assert_eq!(curve.packets_per_growth(millis(1000 + 4116), 100, 1), 10_000);
        // far above: 1 packet per 2 acknowledged at most
        assert_eq!(curve.packets_per_growth(millis(60_000), 100, 1), 2);
    }

    #[test]
    fn before_the_first_reduction_growth_is_at_least_five_percent_per_round_trip() {
        let mut curve = Curve::new(1);
        assert_eq!(curve.packets_per_growth(millis(1000), 100, 1), 20); // the target is the window
        let mut later = reduced_at_100();
        later.reset(); // after a timeout as well
        assert_eq!(later.packets_per_growth(millis(1000), 100, 1), 20);
    }

    #[test]
    fn fast_convergence_and_the_smallest_threshold() {
        let mut curve = reduced_at_100();
        assert_eq!(curve.cut(80), 56); // 56.02
        assert_eq!(curve.last_max, 68); // 80 * 1741 / 2048 = 68.007
        assert_eq!(curve.cut(80), 56);
        assert_eq!(curve.last_max, 80);
        assert_eq!(curve.cut(2), 2);
    }

    #[test]
    fn small_windows_grow_like_reno() {
        // 14 packets of 20: K = cbrt(2^40 / 410 * 6) = 2524.6 -> 2524; 410 * 2524^3 / 2^40 = 5.996 -> 5:
        // target 15, 14 / 1; until t = 77 (410 * 2447^3 / 2^40 = 5.46) no growth. Reno: a packet for each
        // 14 * 15 / 8 = 26 packets acknowledged
        let mut curve = Curve::new(1);
        assert_eq!(curve.cut(20), 14);
        assert_eq!(curve.packets_per_growth(millis(4), 14, 1), 14);
        assert_eq!(curve.packets_per_growth(millis(40), 14, 25), 14); // 26 are not more than 26
        assert_eq!(curve.packets_per_growth(millis(80), 14, 27), 7); // 53 are two: 14 / (16 - 14)
        assert_eq!(curve.acked, 1);
    }

    #[test]
    fn the_same_window_is_computed_again_after_a_thirty_second_of_a_second() {
        let mut curve = reduced_at_100();
        assert_eq!(curve.packets_per_growth(millis(1000), 70, 1), 23);
        // 250 / 32 = 7 jiffies are 28 ms; after 732 ms, t = 851 and 410 * (4316 - 851)^3 / 2^40 = 15.5: the
        // target is 85: 70 / 15
        assert_eq!(curve.packets_per_growth(millis(1028), 70, 1), 23);
        assert_eq!(curve.packets_per_growth(millis(1732), 70, 1), 4);
    }

    #[test]
    fn idle_time_does_not_count() {
        let mut curve = reduced_at_100();
        assert_eq!(curve.packets_per_growth(millis(1000), 70, 1), 23);
        curve.shift(millis(9000), millis(1000));
        assert_eq!(curve.packets_per_growth(millis(9000), 70, 1), 23);
        curve.shift(millis(9000), millis(0)); // not into the future
        assert_eq!(curve.epoch_start, Some(2250));
    }

    #[test]
    fn samples_of_the_first_second_of_a_stage_are_discarded() {
        let mut curve = reduced_at_100();
        let rtt = Duration::from_millis(50);
        curve.packets_per_growth(millis(1000), 70, 1);
        assert_eq!(curve.sample(millis(1996), rtt), None);
        assert_eq!(curve.delay_min(), Some(Duration::from_millis(100)));
        assert_eq!(curve.sample(millis(2000), rtt), Some(rtt));
        assert_eq!(curve.delay_min(), Some(rtt));
        curve.cut(70); // no stage: accepted
        assert_eq!(curve.sample(millis(2004), rtt * 2), Some(rtt * 2));
        curve.reset();
        assert_eq!(curve.delay_min(), None);
    }

    /// With a constant window, the curve and Reno's window are evaluated again after HZ / 32 ticks: 7 of 4
    /// ms, or 31 of 1 ms. Until then acknowledged packets accumulate.
    #[test]
    fn ticks_decide_when_the_curve_is_looked_at() {
        for (hz, kept, again) in [(250, 28, 32), (1000, 31, 32)] {
            let mut curve = Curve::new(1).counting(hz);
            assert_eq!(curve.cut(20), 14);
            assert_eq!(curve.packets_per_growth(millis(1000), 14, 1), 14);
            assert_eq!(curve.packets_per_growth(millis(1000 + kept), 14, 52), 14);
            assert_eq!(curve.packets_per_growth(millis(1000 + again), 14, 1), 7); // 53 are two: 14 / (16 - 14)
        }
    }

    #[test]
    fn two_connections_reduce_less_and_grow_faster() {
        // β = (1024 + 717) / 2 = 870; 8 / α = 8 * 1894 / 3 / 154 / 4 = 8
        let mut curve = Curve::new(2);
        assert_eq!(curve.cut(100), 84); // 84.96
        curve.cut(84);
        assert_eq!(curve.last_max, 77); // 84 * 1894 / 2048 = 77.7
        assert_eq!(curve.reno_scale, 8);
    }
}
