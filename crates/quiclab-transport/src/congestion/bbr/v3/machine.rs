//! States and their transitions (sections 5.3, 5.4).

use super::signals::is_inflight_too_high;
use super::{BbrV3, DRAIN_ROUNDS, PROBE_UP_CWND_GAIN, STARTUP_FULL_LOSS_COUNT, UNIT};
use crate::congestion::{Phase, RecoveryPhase};
use quiclab_core::Time;

/// `BBR.state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Startup,
    Drain,
    ProbeDown,
    ProbeCruise,
    ProbeRefill,
    ProbeUp,
    ProbeRtt,
}

impl State {
    pub(super) const fn phase(self) -> Phase {
        match self {
            Self::Startup => Phase::Startup,
            Self::Drain => Phase::Drain,
            Self::ProbeDown => Phase::ProbeDown,
            Self::ProbeCruise => Phase::ProbeCruise,
            Self::ProbeRefill => Phase::ProbeRefill,
            Self::ProbeUp => Phase::ProbeUp,
            Self::ProbeRtt => Phase::ProbeRtt,
        }
    }

    /// `IsInAProbeBWState`.
    pub(super) const fn is_probe_bw(self) -> bool {
        matches!(self, Self::ProbeDown | Self::ProbeCruise | Self::ProbeRefill | Self::ProbeUp)
    }

    /// `IsProbingBW`.
    pub(super) const fn is_probing_bw(self) -> bool {
        matches!(self, Self::Startup | Self::ProbeRefill | Self::ProbeUp)
    }
}

impl BbrV3 {
    /// `BBR.pacing_gain` and `BBR.cwnd_gain` (section 5.6.1).
    pub(super) const fn gains(&self) -> (u64, u64) {
        let constants = &self.constants;
        match self.state {
            State::Startup => (constants.startup_pacing, constants.startup_cwnd),
            State::Drain => (constants.drain_pacing, constants.startup_cwnd),
            State::ProbeDown => (constants.down, constants.probe_bw_cwnd),
            State::ProbeCruise | State::ProbeRefill => (UNIT, constants.probe_bw_cwnd),
            State::ProbeUp => (constants.up, PROBE_UP_CWND_GAIN),
            State::ProbeRtt => (UNIT, constants.probe_rtt_cwnd),
        }
    }

    pub(super) fn update_model_and_state(&mut self) {
        self.update_latest_delivery_signals();
        self.update_congestion_signals();
        self.update_ack_aggregation();
        self.check_full_bw_reached();
        self.check_startup_done();
        self.check_drain_done();
        self.update_probe_bw_cycle_phase();
        self.min_rtt.update(self.rs.now, self.rs.rtt, self.constants.probe_rtt_interval);
        self.check_probe_rtt();
        self.advance_latest_delivery_signals();
        self.data_rate.bound_bw();
    }

    fn start_round(&mut self) {
        self.round.start(self.rs.total_delivered);
    }

    fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    fn check_full_bw_reached(&mut self) {
        if self.round.is_start() && !self.rs.is_app_limited {
            self.full_pipe.on_round(self.rs.delivery_rate);
        }
    }

    fn check_startup_done(&mut self) {
        self.check_startup_high_loss();
        if self.state == State::Startup && self.full_pipe.is_reached() {
            self.state = State::Drain;
            self.drain_start_round = self.round.count();
        }
    }

    /// Ends Startup on losses in six ranges and above 2 % within a round of fast recovery.
    fn check_startup_high_loss(&mut self) {
        let in_recovery = self.recovery == RecoveryPhase::Recovery;
        if self.state != State::Startup
            || self.full_pipe.is_reached()
            || !(self.loss_round.is_start() && in_recovery)
            || self.loss_round.lost_ranges() < STARTUP_FULL_LOSS_COUNT
            || !is_inflight_too_high(self.rs.lost, self.rs.tx_in_flight)
        {
            return;
        }
        self.undo.set_ended(State::Startup);
        self.full_pipe.set_reached();
        self.data_volume.set_longterm(self.bdp().max(self.data_volume.latest()));
    }

    fn check_drain_done(&mut self) {
        if self.state == State::Drain
            && (self.rs.in_flight <= self.inflight(self.data_rate.bw())
                || self.round.count() > self.drain_start_round + DRAIN_ROUNDS)
        {
            self.start_probe_bw_down(self.rs.now);
        }
    }

    pub(super) fn start_probe_bw_down(&mut self, now: Time) {
        self.reset_congestion_signals();
        self.data_volume.stop_growth();
        self.probe_cycle.start_down(now);
        self.start_round();
        self.state = State::ProbeDown;
    }

    fn start_probe_bw_refill(&mut self) {
        self.reset_short_term_model();
        self.data_volume.reset_slope();
        self.probe_cycle.start_refill();
        self.start_round();
        self.state = State::ProbeRefill;
    }

    fn start_probe_bw_up(&mut self) {
        self.probe_cycle.start_up();
        self.start_round();
        self.full_pipe.restart(self.rs.delivery_rate);
        self.state = State::ProbeUp;
        self.data_volume.raise_slope(self.control.cwnd(), self.control.mss());
    }

    fn update_probe_bw_cycle_phase(&mut self) {
        if !self.full_pipe.is_reached() || self.adapt_long_term_model() {
            return;
        }
        let goes_down = self.state == State::ProbeUp && self.is_time_to_go_down();
        match self.state {
            State::ProbeDown if self.is_time_to_probe_bw() => self.start_probe_bw_refill(),
            State::ProbeDown if self.is_time_to_cruise() => self.state = State::ProbeCruise,
            State::ProbeCruise if self.is_time_to_probe_bw() => self.start_probe_bw_refill(),
            State::ProbeRefill if self.round.is_start() => self.start_probe_bw_up(),
            State::ProbeUp if goes_down => {
                self.probe_cycle.on_not_too_high();
                self.start_probe_bw_down(self.rs.now);
            }
            _ => {}
        }
    }

    /// Adapts the long-term model; returns whether a transition was made.
    fn adapt_long_term_model(&mut self) -> bool {
        if self.round.is_start() && self.probe_cycle.on_round_start() && self.state.is_probe_bw() {
            if !self.rs.is_app_limited {
                self.data_rate.advance_max_bw_filter();
            }
            if self.probe_cycle.can_probe_in_full() {
                self.start_probe_bw_refill();
                return true;
            }
        }
        self.adapt_upper_bounds();
        false
    }

    fn is_time_to_cruise(&self) -> bool {
        let in_flight = self.rs.in_flight;
        self.inflight_with_headroom().is_none_or(|limit| in_flight <= limit)
            && in_flight <= self.inflight(self.data_rate.max_bw())
    }

    fn is_time_to_go_down(&mut self) -> bool {
        if let Some(longterm) = self.data_volume.longterm() {
            if self.probe_cycle.was_too_high() && self.rs.in_flight >= longterm {
                self.probe_cycle.on_precaution();
                return true;
            }
            if self.rs.is_cwnd_limited && self.control.cwnd() >= longterm {
                // the bandwidth is limited by it
                self.full_pipe.restart(self.rs.delivery_rate);
                return false;
            }
        }
        self.full_pipe.is_full_now()
    }

    fn is_time_to_probe_bw(&self) -> bool {
        self.probe_cycle.is_due(self.rs.now, self.target_inflight() / self.control.mss())
    }

    fn check_probe_rtt(&mut self) {
        if self.state != State::ProbeRtt && self.min_rtt.is_expired() && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt.enter();
            self.probe_cycle.stop_probe();
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt();
        }
        if self.rs.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self) {
        self.self_limited.mark(self.rs.total_delivered, self.rs.in_flight);
        if self.probe_rtt.is_running() {
            if self.probe_rtt.on_ack(self.round.is_start()) {
                self.check_probe_rtt_done(self.rs.now);
            }
        } else if self.rs.in_flight <= self.probe_rtt_cwnd() {
            self.probe_rtt.run_until(self.rs.now + self.constants.probe_rtt_duration);
            self.start_round();
        }
    }

    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt.is_over(now) {
            self.min_rtt.on_probed(now);
            self.control.restore_cwnd();
            self.reset_short_term_model();
            if self.full_pipe.is_reached() {
                self.start_probe_bw_down(now);
                self.state = State::ProbeCruise;
            } else {
                self.enter_startup();
            }
        }
    }

    pub(super) fn handle_restart_from_idle(&mut self, now: Time) {
        self.idle_restart = true;
        self.extra_acked.restart(now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate_with_gain(UNIT);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }

    /// Handles a spurious recovery: the state that its losses ended is resumed.
    pub(super) fn handle_spurious_loss_detection(&mut self) {
        self.control.restore_cwnd();
        self.loss_round.clear_loss();
        self.full_pipe.reset();
        match self.undo.restore(&mut self.data_rate, &mut self.data_volume) {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_pipe.undo_reached();
                if self.state != State::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(State::ProbeUp) if self.state != State::ProbeUp && self.state != State::ProbeRtt => {
                self.start_probe_bw_refill();
            }
            _ => {}
        }
    }
}
