//! Model, updated by acknowledgements and losses, and the window derived from it (sections 5.5, 5.6).

use super::extra_acked::Acknowledged;
use super::machine::State;
use super::signals::{SampleOfLoss, is_inflight_too_high};
use super::{BETA_PERCENT, BbrV3, percent};
use crate::congestion::LostPacket;
use quiclab_core::Time;

impl BbrV3 {
    pub(super) fn update_latest_delivery_signals(&mut self) {
        self.data_rate.update_latest(self.rs.delivery_rate);
        self.data_volume.update_latest(self.rs.delivered);
        self.loss_round.update(self.rs.prior_delivered, self.rs.total_delivered);
    }

    pub(super) fn advance_latest_delivery_signals(&mut self) {
        if self.loss_round.is_start() {
            self.data_rate.set_latest(self.rs.delivery_rate);
            self.data_volume.set_latest(self.rs.delivered);
            self.loss_round.clear_ranges();
            if !self.is_in_recovery() {
                self.undo.on_recovery_end();
            }
        }
    }

    pub(super) fn reset_congestion_signals(&mut self) {
        self.loss_round.clear_loss();
        self.data_rate.set_latest(0);
        self.data_volume.set_latest(0);
    }

    pub(super) fn update_congestion_signals(&mut self) {
        if self.round.update(self.rs.prior_delivered, self.rs.total_delivered) {
            self.probe_cycle.on_round();
        }
        self.data_rate.update_max_bw(self.rs.delivery_rate, self.rs.is_app_limited);
        if self.loss_round.is_start() {
            self.adapt_lower_bounds_from_congestion();
            self.loss_round.clear_loss();
        }
    }

    pub(super) fn update_ack_aggregation(&mut self) {
        self.extra_acked.update(&Acknowledged {
            now: self.rs.now,
            bytes: self.rs.newly_acked,
            bw: self.data_rate.bw(),
            cwnd: self.control.cwnd(),
            round: self.round.count(),
            full_bw_reached: self.full_pipe.is_reached(),
        });
    }

    pub(super) fn reset_short_term_model(&mut self) {
        self.data_rate.reset_shortterm();
        self.data_volume.reset_shortterm();
    }

    /// Lowers the bounds once in a round trip with losses, unless the flow probes for bandwidth.
    fn adapt_lower_bounds_from_congestion(&mut self) {
        if self.state.is_probing_bw() || !self.loss_round.has_loss() {
            return;
        }
        self.data_rate.lower_shortterm();
        self.data_volume.lower_shortterm(self.control.cwnd());
    }

    pub(super) fn inflight_with_headroom(&self) -> Option<u64> {
        self.data_volume.inflight_with_headroom(self.control.mss())
    }

    /// Estimated BDP, unless congestion has reduced the window.
    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp().min(self.control.cwnd())
    }

    /// Raises the upper bounds if the loss rate is safe.
    pub(super) fn adapt_upper_bounds(&mut self) {
        if is_inflight_too_high(self.rs.lost, self.rs.tx_in_flight) {
            return;
        }
        self.data_volume.raise_longterm(self.rs.tx_in_flight);
        if self.state == State::ProbeUp {
            self.probe_inflight_longterm_upward();
        }
    }

    fn probe_inflight_longterm_upward(&mut self) {
        let (cwnd, mss) = (self.control.cwnd(), self.control.mss());
        let fully_used = |longterm| self.rs.is_cwnd_limited && cwnd >= longterm;
        if !self.data_volume.longterm().is_some_and(fully_used) {
            return;
        }
        self.data_volume.grow_longterm(self.rs.newly_acked, mss);
        if self.round.is_start() {
            self.data_volume.raise_slope(cwnd, mss);
        }
    }

    pub(super) fn handle_lost_packet(&mut self, packet: &LostPacket) {
        self.rs.total_delivered = packet.total_delivered;
        if !self.loss_round.has_loss() {
            self.save_state_upon_loss();
        }
        self.loss_round.on_loss(packet);
        if !self.probe_cycle.is_probe_sample() {
            return; // not sent while probing for bandwidth
        }
        let mut sample = SampleOfLoss::new(packet, &self.self_limited);
        if sample.is_inflight_too_high() {
            sample.tx_in_flight = sample.inflight_at_loss(packet.bytes);
            self.handle_inflight_too_high(packet.now, &sample);
        }
    }

    fn handle_inflight_too_high(&mut self, now: Time, sample: &SampleOfLoss) {
        self.probe_cycle.on_too_high();
        if !sample.is_app_limited {
            let least = percent(self.target_inflight(), BETA_PERCENT);
            self.data_volume.set_longterm(sample.tx_in_flight.max(least));
        }
        if self.state == State::ProbeUp {
            self.undo.set_ended(State::ProbeUp);
            self.start_probe_bw_down(now);
        }
    }

    /// Saves the state once for a recovery.
    pub(super) fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        self.undo.save(&self.data_rate, &self.data_volume);
    }

    pub(super) fn save_cwnd(&mut self) {
        self.control.save_cwnd(self.is_in_recovery() || self.state == State::ProbeRtt);
    }

    pub(super) fn update_control_parameters(&mut self) {
        self.set_pacing_rate_with_gain(self.gains().0);
        self.control.set_send_quantum();
        self.set_cwnd();
    }

    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: u64) {
        self.control.set_pacing_rate(self.data_rate.bw(), gain, self.full_pipe.is_reached());
    }

    /// `BBR.bdp`.
    pub(super) fn bdp(&self) -> u64 {
        self.control.bdp(self.data_rate.bw(), self.min_rtt.get())
    }

    /// `Inflight(1.0)` at a bandwidth.
    pub(super) fn inflight(&self, bandwidth: u64) -> u64 {
        self.quantization_budget(self.control.bdp(bandwidth, self.min_rtt.get()))
    }

    fn quantization_budget(&self, inflight_cap: u64) -> u64 {
        self.control.quantization_budget(inflight_cap, self.state == State::ProbeUp)
    }

    fn bdp_multiple(&self, gain: u64) -> u64 {
        self.control.bdp_multiple(self.data_rate.bw(), self.min_rtt.get(), gain)
    }

    fn max_inflight(&self) -> u64 {
        self.quantization_budget(self.bdp_multiple(self.gains().1) + self.extra_acked.bytes())
    }

    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp_multiple(self.constants.probe_rtt_cwnd).max(self.control.min_pipe_cwnd())
    }

    fn set_cwnd(&mut self) {
        let (max_inflight, full_bw_reached) = (self.max_inflight(), self.full_pipe.is_reached());
        self.control.grow_cwnd(self.rs.newly_acked, max_inflight, full_bw_reached, self.rs.total_delivered);
        if self.state == State::ProbeRtt {
            self.control.bound_cwnd(self.probe_rtt_cwnd());
        }
        // `BoundCwndForModel`
        let cap = match self.state {
            State::ProbeDown | State::ProbeRefill | State::ProbeUp => self.data_volume.longterm(),
            State::ProbeCruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => None,
        };
        self.control.bound_cwnd(self.data_volume.limited_by_shortterm(cap));
    }
}
