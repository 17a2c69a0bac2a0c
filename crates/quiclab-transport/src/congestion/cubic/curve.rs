//! Curve of RFC 9438: W(t) = C (t - K)³ + W_max, or Reno's window if that is larger.
//!
//! Windows are in packets of `mss` bytes, as in the RFC; times in seconds.

use crate::congestion::constants::CubicConstants;
use quiclab_core::{Duration, Time};

/// C in packets per second cubed (section 4.1 and 5.1).
const C: f64 = 0.4;
/// `β_cubic` (section 4.6).
const BETA: f64 = 0.7;
/// Maximum ratio of the target to the window (section 4.2).
const MAX_TARGET: f64 = 1.5;

/// Curve with its state of reductions.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    mss: f64,
    connections: f64,
    beta: f64,
    /// α of the Reno estimate below the old window, packets per round trip.
    alpha: f64,
    /// C in packets per second cubed.
    c: f64,
    fast_convergence: bool,
    state: State,
    /// State before the last reduction.
    prior: State,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// `W_max`; 0: no reduction, or reset.
    w_max: f64,
    /// `cwnd_prior`: window at the last reduction; 0 before it.
    cwnd_prior: f64,
    /// Stage of congestion avoidance; `None` between a reduction and the first growth after it.
    epoch: Option<Epoch>,
    /// Growth that is less than a byte so far.
    fraction: f64,
    /// Time since which the window is not used; `None`: it is used.
    unused_since: Option<Time>,
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Start, shifted by the time that does not count.
    start: Time,
    k: f64,
    /// Value of W at K.
    origin: f64,
    /// `W_est`.
    reno: f64,
}

impl Epoch {
    /// W(t) (section 4.2, figure 1).
    fn at(&self, c: f64, seconds: f64) -> f64 {
        let offset = seconds - self.k;
        c * offset * offset * offset + self.origin
    }
}

impl Curve {
    pub(super) fn new(mss: u64, connections: u32) -> Self {
        let mut curve = Self {
            mss: mss as f64,
            connections: f64::from(connections),
            beta: 0.0,
            alpha: 0.0,
            c: C,
            fast_convergence: true,
            state: State::default(),
            prior: State::default(),
        };
        curve.keep(BETA);
        curve
    }

    /// Sets the part `beta` of a connection's window that remains after a reduction.
    fn keep(&mut self, beta: f64) {
        let n = self.connections;
        self.beta = (n - 1.0 + beta) / n;
        self.alpha = 3.0 * n * n * (1.0 - self.beta) / (1.0 + self.beta); // N = 1: section 4.3
    }

    /// Replaces the constants that are set.
    pub(super) fn change(&mut self, set: &CubicConstants) {
        self.keep(set.beta.unwrap_or(BETA));
        self.c = set.c.unwrap_or(self.c);
        self.fast_convergence = set.fast_convergence.unwrap_or(self.fast_convergence);
    }

    /// Window in bytes after `acked` bytes were acknowledged at a window of `window` bytes.
    pub(super) fn grow(&mut self, now: Time, window: u64, acked: u64, rtt: Duration) -> u64 {
        let State { w_max, cwnd_prior, fraction, .. } = self.state;
        let cwnd = (window as f64 + fraction) / self.mss;
        let acked = acked as f64 / self.mss;
        let epoch = self.state.epoch.get_or_insert_with(|| {
            // figure 2: K = cbrt((W_max - cwnd_epoch) / C)
            let (k, origin) =
                if w_max > cwnd { (libm::cbrt((w_max - cwnd) / self.c), w_max) } else { (0.0, cwnd) };
            Epoch { start: now, k, origin, reno: cwnd }
        });
        let t = now.since(epoch.start).as_secs_f64();
        // section 4.3: from the old window on, "SHOULD set α_cubic to 1"; N connections grow by N
        let alpha = if epoch.reno >= cwnd_prior { self.connections } else { self.alpha };
        epoch.reno += alpha * acked / cwnd;
        let new = if epoch.at(self.c, t) < epoch.reno {
            cwnd.max(epoch.reno) // figure 4 and section 4.3: "cwnd SHOULD be set to W_est"
        } else {
            // sections 4.4 and 4.5
            let target = epoch.at(self.c, t + rtt.as_secs_f64()).clamp(cwnd, MAX_TARGET * cwnd);
            cwnd + (target - cwnd) / cwnd * acked
        };
        let bytes = new * self.mss;
        self.state.fraction = bytes - libm::floor(bytes);
        bytes as u64
    }

    /// Reduces a window of `window` bytes; returns the threshold in bytes.
    pub(super) fn cut(&mut self, window: u64) -> u64 {
        self.prior = self.state;
        let cwnd = window as f64 / self.mss;
        // section 4.7: "if (cwnd < W_max) W_max = cwnd (1 + β) / 2", fast convergence
        let lower = self.fast_convergence && cwnd < self.state.w_max;
        let w_max = if lower { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd };
        self.state = State { w_max, cwnd_prior: cwnd, ..State::default() };
        // to the nearest byte: 0.7 is a little less in binary
        libm::round(window as f64 * self.beta) as u64
    }

    /// Resets the curve: the next stage is as without an earlier reduction (section 4.8).
    pub(super) fn forget(&mut self) {
        self.state.w_max = 0.0;
        self.end_epoch();
    }

    /// Reverts the last reduction (section 4.9.2).
    pub(super) fn undo(&mut self) {
        self.state = self.prior;
    }

    /// Ends the stage of congestion avoidance.
    pub(super) fn end_epoch(&mut self) {
        self.state.epoch = None;
        self.state.fraction = 0.0;
        self.state.unused_since = None;
    }

    /// Records whether the window is used; time in which it is not does not count (section 5.8).
    pub(super) fn use_window(&mut self, now: Time, used: bool) {
        if !used {
            self.state.unused_since.get_or_insert(now);
        } else if let Some(since) = self.state.unused_since.take() {
            self.delay(now, now.since(since));
        }
    }

    /// Shifts the stage by the idle time `idle` until `now`.
    pub(super) fn shift(&mut self, now: Time, idle: Duration) {
        if self.state.unused_since.is_none() {
            self.delay(now, idle);
        }
    }

    fn delay(&mut self, now: Time, time: Duration) {
        if let Some(epoch) = &mut self.state.epoch {
            epoch.start = (epoch.start + time).min(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// Curve after a reduction at 100 packets, with a stage that started at 70 packets at time 0.
    fn reduced_at_100() -> Curve {
        let mut curve = Curve::new(MSS, 1);
        assert_eq!(curve.cut(100 * MSS), 70 * MSS);
        curve.grow(Time::ZERO, 70 * MSS, 0, Duration::ZERO);
        curve
    }

    #[test]
    fn the_curve_is_the_closed_form() {
        let curve = reduced_at_100();
        let epoch = curve.state.epoch.unwrap();
        // K = cbrt(30 / 0.4) = cbrt(75) = 4.217163 s
        assert!((epoch.k - 4.217_163).abs() < 1e-6, "{}", epoch.k);
        // 0.4 (t - K)^3 + 100 with t - K = -4.217163, -3.217163, -2.217163, 0, 4.217163
        for (t, w) in [(0.0, 70.0), (1.0, 86.681), (2.0, 95.640), (epoch.k, 100.0), (2.0 * epoch.k, 130.0)] {
            assert!((epoch.at(0.4, t) - w).abs() < 1e-3, "W({t}) = {}", epoch.at(0.4, t));
        }
    }

    #[test]
    fn without_a_higher_maximum_k_is_zero() {
        let mut curve = Curve::new(MSS, 1);
        curve.grow(Time::ZERO, 50 * MSS, 0, Duration::ZERO);
        let epoch = curve.state.epoch.unwrap();
        assert_eq!((epoch.k, epoch.origin), (0.0, 50.0));
        assert!((epoch.at(0.4, 2.0) - 53.2).abs() < 1e-9); // 50 + 0.4 * 8
    }

    #[test]
    fn each_packet_acknowledged_adds_target_minus_window_by_window() {
        // t = 1 s, RTT 1 s: target W(2) = 95.640; 1 packet acknowledged at 87 packets (Reno has less):
        // 87 + 8.640 / 87 = 87.0993
        let mut curve = reduced_at_100();
        let new = curve.grow(Time::from_nanos(1_000_000_000), 87 * MSS, MSS, Duration::from_secs(1));
        assert_eq!(new, 87_099);
    }

    #[test]
    fn the_target_is_between_the_window_and_one_and_a_half() {
        // W(t + RTT) far above: each packet adds half a packet
        let mut curve = reduced_at_100();
        let late = Time::from_nanos(60_000_000_000);
        assert_eq!(curve.grow(late, 80 * MSS, MSS, Duration::ZERO), 80_500);
        // far below the window: no growth
        let mut curve = reduced_at_100();
        let second = Time::from_nanos(1_000_000_000);
        assert_eq!(curve.grow(second, 200 * MSS, MSS, Duration::ZERO), 200_000);
    }

    #[test]
    fn fractions_of_bytes_add_up() {
        // 87 + 8.640 / 87 packets by 100 acknowledgements of 10 bytes each: 0.993 bytes each, less the
        // reduction of the gap, 0.1 of 8.64 packets: 98.2 to 99.4 bytes
        let mut curve = reduced_at_100();
        let mut window = 87 * MSS;
        for _ in 0..100 {
            window = curve.grow(Time::from_nanos(1_000_000_000), window, 10, Duration::from_secs(1));
        }
        assert!((87_098..=87_099).contains(&window), "{window}");
    }

    #[test]
    fn fast_convergence_lowers_a_maximum_that_was_not_reached() {
        let mut curve = reduced_at_100();
        curve.cut(80 * MSS);
        assert!((curve.state.w_max - 68.0).abs() < 1e-9); // 80 * 1.7 / 2
        curve.cut(80 * MSS);
        assert!((curve.state.w_max - 80.0).abs() < 1e-9); // reached: more than 68
    }

    #[test]
    fn small_windows_grow_like_reno() {
        // reduced at 10 packets: 7, K = 1.96 s; a window acknowledged each 10 ms adds
        // α = 3 * 0.3 / 1.7 = 0.5294 packets up to the old window of 10, and one packet from there on
        let mut curve = Curve::new(MSS, 1);
        let mut window = curve.cut(10 * MSS);
        let mut expected = 7.0;
        for round in 0..10_u64 {
            let now = Time::from_nanos(round * 10_000_000);
            window = curve.grow(now, window, window, Duration::from_millis(10));
            expected += if expected >= 10.0 { 1.0 } else { 0.9 / 1.7 };
            // below a byte of rounding per call
            assert!((window as f64 / 1000.0 - expected).abs() < 0.01, "{round}: {window}");
        }
    }

    #[test]
    fn n_connections_reduce_less_and_grow_faster() {
        // N = 2: β = 1.7 / 2 = 0.85; W_max = 85 * (1 + 0.85) / 2; α = 12 * 0.15 / 1.85 = 0.97297
        let mut curve = Curve::new(MSS, 2);
        assert_eq!(curve.cut(100 * MSS), 85 * MSS);
        curve.cut(85 * MSS);
        assert!((curve.state.w_max - 85.0 * 1.85 / 2.0).abs() < 1e-9);
        // small windows grow by α per round trip, then by 2
        let mut curve = Curve::new(MSS, 2);
        let window = curve.cut(20 * MSS); // 17
        let grown = curve.grow(Time::ZERO, window, window, Duration::from_millis(1));
        assert_eq!(grown, 17_972); // 17.97297
        let mut reached = Curve::new(MSS, 2);
        reached.grow(Time::ZERO, 20 * MSS, 0, Duration::ZERO);
        assert_eq!(reached.grow(Time::ZERO, 20 * MSS, 20 * MSS, Duration::ZERO), 22_000);
    }

    #[test]
    fn time_in_which_the_window_is_not_used_does_not_count() {
        let mut curve = reduced_at_100();
        let second = |n: u64| Time::from_nanos(n * 1_000_000_000);
        curve.use_window(second(1), false);
        curve.use_window(second(3), false);
        curve.shift(second(4), Duration::from_secs(1)); // already not counted
        curve.use_window(second(5), true);
        assert_eq!(curve.state.epoch.unwrap().start, second(4));
        curve.shift(second(6), Duration::from_secs(1));
        assert_eq!(curve.state.epoch.unwrap().start, second(5));
        curve.shift(second(6), Duration::from_secs(9)); // not into the future
        assert_eq!(curve.state.epoch.unwrap().start, second(6));
    }

    #[test]
    fn an_undo_restores_the_curve() {
        let mut curve = reduced_at_100();
        curve.cut(90 * MSS);
        curve.undo();
        assert_eq!(curve.state.w_max, 100.0);
        assert_eq!(curve.state.epoch.unwrap().start, Time::ZERO);
    }

    /// K = cbrt(30 / 0.8); without fast convergence the maximum after 100 packets is 80.
    #[test]
    fn c_and_fast_convergence_are_those_of_a_scenario() {
        let mut curve = Curve::new(MSS, 1);
        curve.change(&CubicConstants {
            c: Some(0.8),
            fast_convergence: Some(false),
            ..CubicConstants::default()
        });
        curve.cut(100 * MSS);
        curve.grow(Time::ZERO, 70 * MSS, MSS, Duration::from_secs(1));
        assert!((curve.state.epoch.unwrap().k - libm::cbrt(37.5)).abs() < 1e-9);
        curve.cut(80 * MSS);
        assert_eq!(curve.state.w_max, 80.0);
    }
}
