//! Common code of NewReno and CUBIC: slow start, and the window at a timeout, after an undo, when idle and
//! when application-limited.
//!
//! Sizes are in bytes; in the Linux flavour all sizes are whole packets, as in Linux.
//!
//! | | Linux TCP | QUIC |
//! |---|---|---|
//! | unit | packets (`tcp_sock.snd_cwnd`) | bytes (RFC 9002 section 7) |
//! | growth | by packets acknowledged | by bytes acknowledged |
//! | credit towards the next packet at a reduction | lost (`tcp_reno_cong_avoid`: `snd_cwnd_cnt = 0`) | kept (quinn `bytes_acked`, aioquic `_congestion_stash`) |
//! | all lost | RTO: bytes in flight and 1 packet (RFC 5681 section 3.1 "loss window", `tcp_enter_loss`) | persistent congestion: 2 packets (RFC 9002 section 7.6.2) |
//! | threshold kept for an undo | at least 3/4 of the window (`tcp_current_ssthresh`) | unchanged |
//! | after a pause | halved each RTO down to the restart window (`tcp_cwnd_restart`) | the same (RFC 9002 section 7.8 names RFC 5681) |

use super::slow_start::{
    Convergence, RecoveryStep, Reduction, SlowStartDecision, SlowStartInput, SlowStartPolicy,
};
use super::{Ack, CongestionEvent, LostPacket, Phase};
use quiclab_core::{DataRate, Duration};

/// Minimum window and threshold after a reduction in packets (RFC 5681 equation 4; RFC 9002 section 7.2).
const MIN_PACKETS: u64 = 2;

/// Implementation whose details a window follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// TCP of Linux 5.15 and later.
    LinuxTcp,
    /// The RFCs of QUIC.
    Quic,
    /// quinn: as QUIC, but with its own CUBIC, and growth of NewReno packet by packet.
    Quinn,
    /// aioquic: as QUIC, but with its own CUBIC.
    Aioquic,
}

/// Parameters of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSettings {
    /// Implementation whose details it follows.
    pub flavour: Flavour,
    /// Initial and restart window in bytes; rounded down to whole packets in the Linux flavour.
    pub initial_window: u64,
    /// Size of a full packet in bytes: maximum payload in TCP, maximum datagram in QUIC. Not 0.
    pub mss: u64,
    /// Number of connections that it emulates (Chromium `num_connections`); at least 1.
    pub emulated_connections: u32,
}

/// Congestion window with its threshold.
pub(crate) struct Window {
    flavour: Flavour,
    mss: u64,
    initial: u64,
    window: u64,
    /// Slow start threshold; `None`: unlimited.
    ssthresh: Option<u64>,
    /// Window and threshold before the last reduction; `None`: no reduction, or undone.
    prior: Option<(u64, Option<u64>)>,
    policy: Box<dyn SlowStartPolicy>,
    /// Whether the policy's last decision slowed slow start.
    conservative: bool,
    /// Estimate of the policy at the handover of the window, until the control takes it.
    converged: Option<u64>,
    /// Acknowledged bytes that are less than a unit of growth in (conservative) slow start.
    carry: u64,
    /// Acknowledged bytes that are less than a packet of growth in congestion avoidance (`snd_cwnd_cnt`).
    credit: u64,
}

impl Window {
    /// # Panics
    /// If `mss` is 0.
    pub(crate) fn new(settings: &WindowSettings, policy: Box<dyn SlowStartPolicy>) -> Self {
        let WindowSettings { flavour, initial_window, mss, .. } = *settings;
        assert!(mss > 0, "a full packet has a size");
        let mut window = Self {
            flavour,
            mss,
            initial: 0,
            window: 0,
            ssthresh: None,
            prior: None,
            policy,
            conservative: false,
            converged: None,
            carry: 0,
            credit: 0,
        };
        window.initial = window.whole(initial_window).max(mss);
        let first = window.policy.initial_window(window.initial);
        window.window = window.whole(first).max(mss);
        window
    }

    pub(crate) fn mss(&self) -> u64 {
        self.mss
    }

    pub(crate) fn flavour(&self) -> Flavour {
        self.flavour
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.window
    }

    pub(crate) fn ssthresh(&self) -> Option<u64> {
        self.ssthresh
    }

    /// Whether the window is below its threshold.
    pub(crate) fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.window < ssthresh)
    }

    pub(crate) fn phase(&self) -> Phase {
        match (self.in_slow_start(), self.conservative) {
            (true, false) => Phase::SlowStart,
            (true, true) => Phase::ConservativeSlowStart,
            (false, _) => Phase::CongestionAvoidance,
        }
    }

    /// Unit of the window in bytes.
    pub(crate) fn unit(&self) -> u64 {
        match self.flavour {
            Flavour::LinuxTcp => self.mss,
            Flavour::Quic | Flavour::Quinn | Flavour::Aioquic => 1,
        }
    }

    /// `bytes` rounded down to the unit.
    fn whole(&self, bytes: u64) -> u64 {
        bytes - bytes % self.unit()
    }

    /// Grows in slow start, with the RTTs that the controller accepts, and returns the acknowledged bytes
    /// that remain for congestion avoidance: none if the window may not grow.
    pub(crate) fn slow_start(&mut self, ack: &Ack, rtt: Option<Duration>, min_rtt: Option<Duration>) -> u64 {
        // RFC 9002 section 7.8: a window that is not used "SHOULD NOT be increased in either slow start or
        // congestion avoidance"
        let grows = ack.may_grow && ack.cwnd_limited;
        let acked = match self.flavour {
            Flavour::LinuxTcp => u64::from(ack.acked_packets) * self.mss,
            Flavour::Quic | Flavour::Quinn | Flavour::Aioquic => ack.acked_bytes,
        };
        let acked = if grows { acked.min(ack.growth_limit.unwrap_or(u64::MAX)) } else { 0 };
        if self.policy.owns_recovery() {
            self.follow(ack);
            return 0;
        }
        if !self.in_slow_start() {
            return acked;
        }
        let (window, mss, initial) = (self.window, self.mss, self.ssthresh.is_none());
        match self.policy.on_ack(&SlowStartInput { ack, rtt, min_rtt, window, mss, initial }) {
            SlowStartDecision::Leave => self.leave(self.window, acked),
            SlowStartDecision::LeaveAt(window) => {
                self.leave(window.min(self.window), 0);
                0
            }
            SlowStartDecision::Window(window) => {
                self.window = self.threshold(window);
                (self.carry, self.conservative) = (0, false);
                0
            }
            SlowStartDecision::Hold => 0,
            SlowStartDecision::Continue { gain, divisor, limit } => {
                self.conservative = divisor > 1;
                self.carry += acked.min(limit.unwrap_or(u64::MAX));
                let growth = self.whole(self.carry * gain / divisor);
                // tcp_slow_start: exactly up to the threshold; the rest is for congestion avoidance
                let room = self.ssthresh.map_or(u64::MAX, |ssthresh| ssthresh - self.window);
                let growth = growth.min(room);
                self.window = self.window.saturating_add(growth);
                self.carry -= growth * divisor / gain;
                if self.in_slow_start() { 0 } else { std::mem::take(&mut self.carry) }
            }
        }
    }

    /// Ends slow start at a window of `window` bytes; returns `acked`.
    fn leave(&mut self, window: u64, acked: u64) -> u64 {
        self.window = self.threshold(window);
        self.ssthresh = Some(self.window);
        (self.carry, self.conservative) = (0, false);
        acked
    }

    /// Handles a packet that is sent.
    pub(crate) fn on_sent(&mut self, bytes: u64) {
        self.policy.on_sent(bytes);
    }

    /// Handles a packet that is declared lost.
    pub(crate) fn on_lost(&mut self, packet: &LostPacket) {
        self.policy.on_lost(packet);
    }

    /// Starts a recovery period of a control that keeps `beta`; returns whether the policy of slow start sets
    /// the window.
    pub(crate) fn converge(&mut self, event: &CongestionEvent, beta: f64) -> bool {
        if self.ssthresh.is_some() {
            return false;
        }
        let Some(window) = self.policy.on_congestion(&Reduction { event, window: self.window, beta }) else {
            return false;
        };
        self.cut(window);
        true
    }

    /// Handles an acknowledgement in a recovery period in which the policy sets the window.
    fn follow(&mut self, ack: &Ack) {
        match self.policy.on_recovery_ack(ack, self.window) {
            RecoveryStep::Hold => {}
            RecoveryStep::Window(window) => {
                self.window = self.threshold(window);
                self.ssthresh = Some(self.window);
            }
            RecoveryStep::Done(found) => self.hand_over(found),
        }
    }

    /// Handles the end of a recovery period.
    pub(crate) fn on_recovery_end(&mut self) {
        if self.policy.owns_recovery() {
            let found = self.policy.on_recovery_end(self.window);
            self.hand_over(found);
        }
    }

    fn hand_over(&mut self, found: Convergence) {
        self.ssthresh = Some(self.threshold(found.ssthresh));
        self.converged = Some(self.threshold(found.full));
    }

    /// Takes the capacity of path and queue in bytes, if the policy has handed over the window since the last
    /// call.
    pub(crate) fn take_converged(&mut self) -> Option<u64> {
        self.converged.take()
    }

    /// Whether the policy sets the window in the current recovery period.
    pub(crate) fn owns_recovery(&self) -> bool {
        self.policy.owns_recovery()
    }

    /// Pacing rate of the policy while it sets the window.
    pub(crate) fn pacing_rate(&self) -> Option<DataRate> {
        let is_asked = self.ssthresh.is_none() || self.policy.owns_recovery();
        if is_asked { self.policy.pacing_rate(self.window) } else { None }
    }

    /// Grows by a packet for each `per_packet` bytes of `acked` (`tcp_cong_avoid_ai`; appropriate byte
    /// counting, RFC 9002 section 7.3.3: at most one packet "for each congestion window that is
    /// acknowledged").
    pub(crate) fn grow_per(&mut self, per_packet: u64, acked: u64) {
        // Linux: credit accumulated at a larger window is worth one packet, not several
        if self.flavour == Flavour::LinuxTcp && self.credit >= per_packet {
            self.credit = 0;
            self.window = self.window.saturating_add(self.mss);
        }
        self.credit += acked;
        let packets = self.credit / per_packet;
        self.credit -= packets * per_packet;
        self.window = self.window.saturating_add(packets * self.mss);
    }

    /// Grows as in quinn (`congestion/new_reno.rs`, `on_ack`) for `acked` bytes in `packets`: by at most one
    /// packet for each packet acknowledged, at the window after the previous one.
    pub(crate) fn grow_each(&mut self, packets: u32, acked: u64) {
        let packets = u64::from(packets.max(1));
        for packet in 0..packets {
            self.credit += acked * (packet + 1) / packets - acked * packet / packets;
            if self.credit >= self.window {
                self.credit -= self.window;
                self.window = self.window.saturating_add(self.mss);
            }
        }
    }

    /// Grows to `window` if it is larger.
    pub(crate) fn raise(&mut self, window: u64) {
        self.window = self.window.max(self.whole(window));
    }

    /// Changes to `window`, larger or smaller, without a change of the threshold.
    pub(crate) fn set(&mut self, window: u64) {
        self.window = self.whole(window).max(MIN_PACKETS * self.mss);
    }

    /// Begins again with slow start at the initial window.
    pub(crate) fn begin_again(&mut self) {
        (self.window, self.ssthresh, self.prior) = (self.initial, None, None);
        (self.carry, self.conservative) = (0, false);
    }

    /// Shrinks by `bytes`, down to two packets, without a loss: the threshold is reduced with the window,
    /// which would otherwise be in slow start again and regain the bytes.
    pub(crate) fn lower(&mut self, bytes: u64) {
        self.window = self.window.saturating_sub(bytes).max(MIN_PACKETS * self.mss);
        self.ssthresh = self.ssthresh.map(|ssthresh| ssthresh.min(self.window));
    }

    /// Threshold in whole units, and at least two packets.
    fn threshold(&self, ssthresh: u64) -> u64 {
        self.whole(ssthresh).max(MIN_PACKETS * self.mss)
    }

    /// Sets the threshold before the first packet.
    pub(crate) fn start_with_threshold(&mut self, ssthresh: u64) {
        self.ssthresh = Some(self.threshold(ssthresh));
        // the path is known: no jump
        self.window = self.window.min(self.initial);
    }

    /// Reduces threshold and window to `ssthresh`.
    pub(crate) fn cut(&mut self, ssthresh: u64) {
        self.remember();
        self.reduce(ssthresh);
        self.window = self.threshold(ssthresh);
    }

    /// Handles the loss of all outstanding packets; the threshold becomes `ssthresh`, if given.
    pub(crate) fn timeout(&mut self, event: &CongestionEvent, ssthresh: Option<u64>) {
        if let Some(ssthresh) = ssthresh {
            self.remember();
            self.reduce(ssthresh);
        }
        (self.credit, self.carry, self.conservative) = (0, 0, false);
        self.window = match self.flavour {
            Flavour::LinuxTcp => (event.in_flight.div_ceil(self.mss) + 1) * self.mss,
            Flavour::Quic | Flavour::Quinn | Flavour::Aioquic => MIN_PACKETS * self.mss,
        };
        self.policy.on_timeout(event.now, event.next_position);
    }

    fn remember(&mut self) {
        let ssthresh = match self.flavour {
            Flavour::LinuxTcp => self.current_ssthresh(),
            Flavour::Quic | Flavour::Quinn | Flavour::Aioquic => self.ssthresh,
        };
        self.prior = Some((self.window, ssthresh));
    }

    fn reduce(&mut self, ssthresh: u64) {
        self.ssthresh = Some(self.threshold(ssthresh));
        (self.carry, self.conservative) = (0, false);
        if self.flavour == Flavour::LinuxTcp {
            self.credit = 0;
        }
    }

    /// Undoes a spurious last reduction (`tcp_undo_cwnd_reduction`, `tcp_reno_undo_cwnd`); returns whether
    /// there was one.
    pub(crate) fn undo(&mut self) -> bool {
        let Some((window, ssthresh)) = self.prior.take() else {
            return false;
        };
        self.policy.on_undo();
        self.window = self.window.max(window);
        // an unlimited threshold is the larger one
        self.ssthresh = self.ssthresh.zip(ssthresh).map(|(now, before)| now.max(before));
        true
    }

    /// Handles an idle period `idle` of at least an RTO (`tcp_cwnd_restart`; RFC 5681 section 4.1).
    pub(crate) fn idle(&mut self, idle: Duration, rto: Duration) {
        let restart = self.initial.min(self.window);
        self.ssthresh = self.current_ssthresh();
        let mut left = idle.saturating_sub(rto);
        while left > Duration::ZERO && self.window > restart {
            self.window = self.whole(self.window / 2);
            left = left.saturating_sub(rto);
        }
        self.window = self.window.max(restart);
        self.credit = 0;
    }

    /// Handles an RTO in which the application used at most `used` bytes of the window (RFC 2861 section 3.2,
    /// `tcp_cwnd_application_limited`); returns whether the window was reduced.
    pub(crate) fn application_limited(&mut self, used: u64) -> bool {
        let used = used.max(self.initial);
        let reduced = used < self.window;
        if reduced {
            self.ssthresh = self.current_ssthresh();
            self.window = self.whole((self.window + used) / 2);
        }
        reduced
    }

    /// Threshold at which slow start regains 3/4 of the window (`tcp_current_ssthresh`).
    fn current_ssthresh(&self) -> Option<u64> {
        let three_quarters = self.whole(self.window / 2) + self.whole(self.window / 4);
        self.ssthresh.map(|ssthresh| ssthresh.max(three_quarters))
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
