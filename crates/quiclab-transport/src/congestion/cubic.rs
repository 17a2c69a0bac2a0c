//! CUBIC (RFC 9438): after a reduction, the window follows a cubic function of the time since then.
//!
//! Slow start, timeouts and pauses are those of `window.rs` (with aioquic a pause is its own); the growth is one of these curves, by flavour, or those
//! of quinn and aioquic, which `quinn.rs` and `aioquic.rs` compare with that of the RFC:
//!
//! | | `curve.rs`: RFC 9438 (QUIC) | `linux.rs`: net/ipv4/tcp_cubic.c |
//! |---|---|---|
//! | arithmetic | floating point, bytes | integers, whole packets, jiffies |
//! | β, C | 0.7, 0.4 | 717/1024, 410/1024 |
//! | RTT added to the time | smoothed | minimum (that of CUBIC) |
//! | growth per packet acknowledged | (target - cwnd) / cwnd, target at most 1.5 cwnd | 1 / cnt, cnt = cwnd / (target - cwnd), at least 2 |
//! | before the first reduction | K = 0 | and cnt at most 20: at least 5 % per round trip |
//! | α of the Reno estimate | 0.529, and 1 from the old window on | 8/15, always |
//! | time that does not count | idle, and while the window is not used (section 5.8) | idle |
//! | an undo restores (section 4.9) | window, threshold and curve | window and threshold |
//! | after an idle restart | a new curve | the same curve |
//!
//! N emulated connections are as in Chromium (`CubicBytes`): β = (N - 1 + 0.7) / N, fast convergence to (N -
//! 1 + 0.85) / N of the window, which is (1 + β) / 2, and α = 3 N² (1 - β) / (1 + β), from the old window on
//! N.
//!
//! Both columns reduce the *window*, not the bytes in flight, which RFC 9438 section 4.6 permits if an
//! unused window does not grow; the minimum is two packets.

mod aioquic;
mod curve;
mod linux;
mod quinn;
#[cfg(test)]
mod tests;

use super::constants::CubicConstants;
use super::slow_start::SlowStartPolicy;
use super::window::{Flavour, Window, WindowSettings};
use super::{Ack, CongestionEvent, Controller, LostPacket, Phase};
use quiclab_core::{DataRate, Duration, Time};

/// `β_cubic` (section 4.6).
const BETA: f64 = 0.7;

/// Controller CUBIC.
pub struct Cubic {
    window: Window,
    curve: Curve,
    connections: u32,
    /// Part of the window that remains after a loss, for one connection and for N.
    kept: f64,
    beta: f64,
    /// Part that remains after marks (ABE, RFC 8511); `None`: as for a loss. K follows from the remaining
    /// window; fast convergence and α are those of a loss.
    beta_at_marks: Option<f64>,
    /// Part that remains after a loss in slow start; `None`: as for other losses.
    beta_in_slow_start: Option<f64>,
    /// Time at which the last packet was sent; `None` before the first.
    last_sent: Option<Time>,
    /// Arrival time of the last acknowledgement; the start of the run before the first.
    last_ack: Time,
}

/// β of `connections` that each keep `beta`.
fn of_all(connections: u32, beta: f64) -> f64 {
    (f64::from(connections) - 1.0 + beta) / f64::from(connections)
}

enum Curve {
    Rfc(curve::Curve),
    Linux(linux::Curve),
    Quinn(quinn::Curve),
    Aioquic(aioquic::Curve),
}

impl Cubic {
    /// Makes a controller in slow start, which `policy` may end.
    ///
    /// # Panics
    /// If `mss` is 0.
    #[must_use]
    pub fn new(settings: &WindowSettings, policy: Box<dyn SlowStartPolicy>) -> Self {
        let connections = settings.emulated_connections.max(1);
        let window = Window::new(settings, policy);
        let curve = match settings.flavour {
            // those of stacks emulate one connection only
            Flavour::Quinn if connections == 1 => Curve::Quinn(quinn::Curve::new(settings.mss)),
            Flavour::Aioquic if connections == 1 => {
                Curve::Aioquic(aioquic::Curve::new(settings.mss, window.bytes()))
            }
            Flavour::Quic | Flavour::Quinn | Flavour::Aioquic => {
                Curve::Rfc(curve::Curve::new(settings.mss, connections))
            }
            Flavour::LinuxTcp => Curve::Linux(linux::Curve::new(connections)),
        };
        Self {
            window,
            curve,
            connections,
            kept: BETA,
            beta: of_all(connections, BETA),
            beta_at_marks: None,
            beta_in_slow_start: None,
            last_sent: None,
            last_ack: Time::ZERO,
        }
    }

    /// Sets the part of the window that remains after marks (RFC 8511).
    #[must_use]
    pub fn keeping_at_marks(self, part: Option<f64>) -> Self {
        Self { beta_at_marks: part, ..self }
    }

    /// Sets other constants.
    #[must_use]
    pub fn with(mut self, set: &CubicConstants) -> Self {
        self.kept = set.beta.unwrap_or(self.kept);
        self.beta = of_all(self.connections, self.kept);
        self.beta_in_slow_start = set.slow_start_beta;
        match &mut self.curve {
            Curve::Rfc(curve) => curve.change(set),
            Curve::Linux(curve) => curve.change(set),
            Curve::Quinn(curve) => curve.change(set),
            Curve::Aioquic(curve) => curve.change(set),
        }
        self
    }

    /// Sets the ticks per second, `hz`, in which the curve of Linux counts time.
    #[must_use]
    pub fn counting(mut self, hz: Option<u32>) -> Self {
        if let (Curve::Linux(curve), Some(hz)) = (&mut self.curve, hz) {
            *curve = curve.clone().counting(hz);
        }
        self
    }

    /// Reduces a window of `window` bytes, of which `kept` remains with one connection, with `in_flight` bytes in
    /// flight without the lost ones; returns the threshold in bytes.
    fn reduced_from(&mut self, now: Time, window: u64, in_flight: u64, kept: f64) -> u64 {
        let mss = self.window.mss();
        match &mut self.curve {
            Curve::Rfc(curve) => curve.cut(window),
            Curve::Linux(curve) => curve.cut(window / mss) * mss,
            Curve::Quinn(curve) => curve.cut(now, window, kept),
            Curve::Aioquic(curve) => curve.cut(window, in_flight),
        }
    }

    /// Takes over the window from the policy of slow start, if it has ended: the curve starts there.
    fn take_over(&mut self, now: Time) {
        if let Some(full) = self.window.take_converged() {
            self.reduced_from(now, full, full, self.kept);
        }
    }
}

impl Controller for Cubic {
    fn start_with_threshold(&mut self, ssthresh: u64) {
        self.window.start_with_threshold(ssthresh);
    }

    fn on_sent(&mut self, now: Time, bytes: u64, in_flight: u64) {
        if let Curve::Aioquic(curve) = &mut self.curve
            && curve.is_stale(now)
        {
            self.window.begin_again();
            curve.reset(self.window.bytes());
        }
        // the first packet after a pause (CA_EVENT_TX_START): idle time does not count
        if in_flight == 0
            && let Some(last) = self.last_sent
        {
            match &mut self.curve {
                Curve::Rfc(curve) => curve.shift(now, now.since(last.max(self.last_ack))),
                Curve::Linux(curve) => curve.shift(now, last),
                Curve::Quinn(_) | Curve::Aioquic(_) => {}
            }
        }
        self.last_sent = Some(now);
        self.window.on_sent(bytes);
    }

    fn on_packet_lost(&mut self, packet: &LostPacket) {
        self.window.on_lost(packet);
    }

    fn on_recovery_end(&mut self, now: Time) {
        self.window.on_recovery_end();
        self.take_over(now);
    }

    fn owns_recovery(&self) -> bool {
        matches!(self.curve, Curve::Aioquic(_)) || self.window.owns_recovery()
    }

    fn pacing_rate(&self) -> Option<DataRate> {
        self.window.pacing_rate()
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.last_ack = ack.now;
        let mss = self.window.mss();
        match &mut self.curve {
            Curve::Rfc(curve) => {
                curve.use_window(ack.now, ack.cwnd_limited);
                let acked = self.window.slow_start(ack, ack.rtt, ack.min_rtt);
                if acked > 0 {
                    let rtt = ack.srtt.unwrap_or(Duration::ZERO);
                    self.window.raise(curve.grow(ack.now, self.window.bytes(), acked, rtt));
                }
            }
            Curve::Linux(curve) => {
                let rtt = ack.rtt.and_then(|rtt| curve.sample(ack.now, rtt));
                let acked = self.window.slow_start(ack, rtt, curve.delay_min());
                if acked > 0 {
                    let packets = curve.packets_per_growth(ack.now, self.window.bytes() / mss, acked / mss);
                    self.window.grow_per(packets * mss, acked);
                }
            }
            Curve::Quinn(curve) => {
                if self.window.slow_start(ack, ack.rtt, ack.min_rtt) > 0 {
                    let rtt = ack.srtt.unwrap_or(Duration::ZERO);
                    self.window.raise(curve.grow(ack.now, self.window.bytes(), ack.acked_packets, rtt));
                }
            }
            Curve::Aioquic(curve) => {
                let acked = self.window.slow_start(ack, ack.rtt, ack.min_rtt);
                if acked > 0 {
                    self.window.set(curve.grow(ack.now, self.window.bytes(), ack.acked_packets, acked));
                }
                curve.on_ack(ack);
            }
        }
        self.take_over(ack.now);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let in_slow_start = self.beta_in_slow_start.filter(|_| self.window.in_slow_start());
        let special = self.beta_at_marks.filter(|_| event.ecn).or(in_slow_start);
        if self.window.converge(event, special.unwrap_or(self.beta)) {
            return;
        }
        let before = self.window.bytes();
        let reduced = self.reduced_from(event.now, before, event.in_flight, special.unwrap_or(self.kept));
        // in Linux, whole packets
        let unit = self.window.unit();
        let kept = |part: f64| libm::round((before / unit) as f64 * part * unit as f64) as u64 / unit * unit;
        self.window.cut(special.map_or(reduced, kept));
    }

    fn on_timeout(&mut self, event: &CongestionEvent, cut: bool) {
        let before = self.window.bytes();
        let mut ssthresh = cut.then(|| self.reduced_from(event.now, before, event.in_flight, self.kept));
        if let (Curve::Quinn(curve), Some(reduced)) = (&mut self.curve, &mut ssthresh) {
            *reduced = curve.forget(*reduced);
        }
        self.window.timeout(event, ssthresh);
        // RFC 9438 section 4.8: in the stage after it, K is 0 and W_max the window at its start
        match &mut self.curve {
            Curve::Rfc(curve) => curve.forget(),
            Curve::Linux(curve) => curve.reset(),
            Curve::Quinn(_) | Curve::Aioquic(_) => {}
        }
    }

    fn on_spurious(&mut self, _now: Time) {
        if self.window.undo()
            && let Curve::Rfc(curve) = &mut self.curve
        {
            curve.undo();
        }
    }

    fn on_idle(&mut self, _now: Time, idle: Duration, rto: Duration) {
        self.window.idle(idle, rto);
        if let Curve::Rfc(curve) = &mut self.curve {
            curve.end_epoch();
        }
    }

    fn on_application_limited(&mut self, _now: Time, used: u64) {
        if self.window.application_limited(used)
            && let Curve::Rfc(curve) = &mut self.curve
        {
            curve.end_epoch();
        }
    }

    fn window(&self) -> u64 {
        self.window.bytes()
    }

    fn ssthresh(&self) -> Option<u64> {
        self.window.ssthresh()
    }

    fn phase(&self) -> Phase {
        self.window.phase()
    }
}
