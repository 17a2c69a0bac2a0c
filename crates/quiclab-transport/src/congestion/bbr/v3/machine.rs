//! The states, and when each ends (sections 5.3, 5.4).

use super::signals::is_inflight_too_high;
use super::{BbrV3, DRAIN_ROUNDS, FULL_BW_COUNT, PROBE_UP_CWND_GAIN, STARTUP_FULL_LOSS_COUNT, UNIT};
use crate::congestion::{Phase, RecoveryPhase};
use quiclab_core::{Duration, Time};

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

/// `BBR.ack_phase`: what acknowledgements say of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
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
        self.update_min_rtt();
        self.check_probe_rtt();
        self.advance_latest_delivery_signals();
        self.bound_bw_for_model();
    }

    pub(super) fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    pub(super) fn reset_full_bw(&mut self) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (0, 0, false);
    }

    fn check_full_bw_reached(&mut self) {
        if self.full_bw_now || !self.round_start || self.rs.is_app_limited {
            return;
        }
        if u128::from(self.rs.delivery_rate) * 4 >= u128::from(self.full_bw) * 5 {
            self.reset_full_bw();
            self.full_bw = self.rs.delivery_rate;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= FULL_BW_COUNT;
        self.full_bw_reached |= self.full_bw_now;
    }

    fn check_startup_done(&mut self) {
        self.check_startup_high_loss();
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
            self.drain_start_round = self.round_count;
        }
    }

    /// Losses in six ranges and above 2 % within a round of fast recovery.
    fn check_startup_high_loss(&mut self) {
        let in_recovery = self.recovery == RecoveryPhase::Recovery;
        if self.state != State::Startup
            || self.full_bw_reached
            || !(self.loss_round_start && in_recovery)
            || self.lost_ranges < STARTUP_FULL_LOSS_COUNT
            || !is_inflight_too_high(self.rs.lost, self.rs.tx_in_flight)
        {
            return;
        }
        self.undo.state = Some(State::Startup);
        self.full_bw_reached = true;
        self.inflight_longterm = Some(self.bdp().max(self.inflight_latest));
    }

    fn check_drain_done(&mut self) {
        if self.state == State::Drain
            && (self.rs.in_flight <= self.inflight(self.bw)
                || self.round_count > self.drain_start_round + DRAIN_ROUNDS)
        {
            self.start_probe_bw_down(self.rs.now);
        }
    }

    pub(super) fn start_probe_bw_down(&mut self, now: Time) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = None;
        self.pick_probe_wait();
        self.cycle_stamp = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::ProbeDown;
    }

    pub(super) fn start_probe_bw_refill(&mut self) {
        self.reset_short_term_model();
        (self.bw_probe_up_rounds, self.bw_probe_up_acked) = (0, 0);
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::ProbeRefill;
    }

    fn start_probe_bw_up(&mut self) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.reset_full_bw();
        self.full_bw = self.rs.delivery_rate;
        self.state = State::ProbeUp;
        self.raise_inflight_longterm_slope();
    }

    fn update_probe_bw_cycle_phase(&mut self) {
        if !self.full_bw_reached || self.adapt_long_term_model() {
            return;
        }
        let goes_down = self.state == State::ProbeUp && self.is_time_to_go_down();
        match self.state {
            State::ProbeDown if self.is_time_to_probe_bw() => self.start_probe_bw_refill(),
            State::ProbeDown if self.is_time_to_cruise() => self.state = State::ProbeCruise,
            State::ProbeCruise if self.is_time_to_probe_bw() => self.start_probe_bw_refill(),
            State::ProbeRefill if self.round_start => {
                self.is_bw_probe_sample = true;
                self.start_probe_bw_up();
            }
            State::ProbeUp if goes_down => {
                self.prev_probe_too_high = false;
                self.start_probe_bw_down(self.rs.now);
            }
            _ => {}
        }
    }

    /// Returns whether it has decided a transition.
    fn adapt_long_term_model(&mut self) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() {
                if !self.rs.is_app_limited {
                    self.advance_max_bw_filter();
                }
                // precautionary probing: there was no excess loss, so that it can be done in full
                if self.prev_probe_precautionary && !self.prev_probe_too_high {
                    self.start_probe_bw_refill();
                    return true;
                }
            }
        }
        self.adapt_upper_bounds();
        false
    }

    fn is_time_to_cruise(&self) -> bool {
        let in_flight = self.rs.in_flight;
        self.inflight_with_headroom().is_none_or(|limit| in_flight <= limit)
            && in_flight <= self.inflight(self.max_bw())
    }

    fn is_time_to_go_down(&mut self) -> bool {
        if let Some(longterm) = self.inflight_longterm {
            if self.prev_probe_too_high && self.rs.in_flight >= longterm {
                self.prev_probe_precautionary = true;
                return true;
            }
            if self.rs.is_cwnd_limited && self.cwnd >= longterm {
                // the bandwidth is limited by it
                self.reset_full_bw();
                self.full_bw = self.rs.delivery_rate;
                return false;
            }
        }
        self.full_bw_now
    }

    fn is_time_to_probe_bw(&self) -> bool {
        let rounds = (self.target_inflight() / self.mss).min(63);
        self.rs.now > self.cycle_stamp + self.bw_probe_wait || self.rounds_since_probe_up >= rounds
    }

    /// 2 to 3 s, or as many rounds as Reno would need, less one or none.
    fn pick_probe_wait(&mut self) {
        self.rounds_since_probe_up = self.random.bits() % 2;
        self.bw_probe_wait = Duration::from_secs(2) + Duration::from_nanos_f64(self.random.uniform() * 1e9);
    }

    fn check_probe_rtt(&mut self) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_done_stamp = None;
            self.ack_phase = AckPhase::ProbeStopping;
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
        if self.probe_rtt_done_stamp.is_some() {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(self.rs.now);
            }
        } else if self.rs.in_flight <= self.probe_rtt_cwnd() {
            self.probe_rtt_done_stamp = Some(self.rs.now + self.constants.probe_rtt_duration);
            self.probe_rtt_round_done = false;
            self.start_round();
        }
    }

    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_done_stamp.is_some_and(|done| now > done) {
            self.probe_rtt_min_stamp = now;
            self.restore_cwnd();
            self.reset_short_term_model();
            if self.full_bw_reached {
                self.start_probe_bw_down(now);
                self.state = State::ProbeCruise;
            } else {
                self.enter_startup();
            }
        }
    }

    pub(super) fn handle_restart_from_idle(&mut self, now: Time) {
        self.idle_restart = true;
        self.extra_acked_interval_start = now;
        if self.state.is_probe_bw() {
            self.set_pacing_rate_with_gain(UNIT);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }
}
