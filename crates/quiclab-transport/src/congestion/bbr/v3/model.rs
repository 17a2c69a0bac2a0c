//! How much may be in flight: bounds that losses lower and probes raise (sections 5.3.3.6, 5.5.9, 5.5.10).

use super::machine::State;
use super::signals::{SampleOfLoss, is_inflight_too_high};
use super::{BETA_PERCENT, BbrV3, HEADROOM_PERCENT, LOSS_THRESH_PERCENT, MIN_PIPE_CWND, Undo, percent};
use crate::congestion::LostPacket;
use quiclab_core::Time;

impl BbrV3 {
    pub(super) fn reset_short_term_model(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (None, None);
    }

    /// Once in a round trip with losses, where the flow does not probe for bandwidth.
    pub(super) fn adapt_lower_bounds_from_congestion(&mut self) {
        if self.state.is_probing_bw() || !self.is_loss_in_round {
            return;
        }
        let bw = self.bw_shortterm.unwrap_or(self.max_bw());
        let inflight = self.inflight_shortterm.unwrap_or(self.cwnd);
        self.bw_shortterm = Some(self.bw_latest.max(percent(bw, BETA_PERCENT)));
        self.inflight_shortterm = Some(self.inflight_latest.max(percent(inflight, BETA_PERCENT)));
    }

    /// What leaves free headroom for other flows; `None`: infinite.
    pub(super) fn inflight_with_headroom(&self) -> Option<u64> {
        let longterm = self.inflight_longterm?;
        let headroom = percent(longterm, HEADROOM_PERCENT).max(self.mss);
        Some(longterm.saturating_sub(headroom).max(MIN_PIPE_CWND * self.mss))
    }

    /// The estimated BDP, unless congestion has cut the window.
    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp().min(self.cwnd)
    }

    pub(super) fn raise_inflight_longterm_slope(&mut self) {
        let growth = 1_u64 << self.bw_probe_up_rounds;
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(30);
        self.probe_up_acked_per_inc = Some((self.cwnd / growth).max(self.mss));
    }

    fn probe_inflight_longterm_upward(&mut self) {
        let Some(longterm) = self.inflight_longterm else { return };
        if !self.rs.is_cwnd_limited || self.cwnd < longterm {
            return; // it is not fully used
        }
        self.bw_probe_up_acked += self.rs.newly_acked;
        if let Some(per_inc) = self.probe_up_acked_per_inc {
            let delta = self.bw_probe_up_acked / per_inc;
            self.bw_probe_up_acked -= delta * per_inc;
            self.inflight_longterm = Some(longterm + delta * self.mss);
        }
        if self.round_start {
            self.raise_inflight_longterm_slope();
        }
    }

    /// The loss rate is safe: upper bounds are adjusted upward.
    pub(super) fn adapt_upper_bounds(&mut self) {
        let Some(longterm) = self.inflight_longterm else { return };
        if is_inflight_too_high(self.rs.lost, self.rs.tx_in_flight) {
            return;
        }
        self.inflight_longterm = Some(longterm.max(self.rs.tx_in_flight));
        if self.state == State::ProbeUp {
            self.probe_inflight_longterm_upward();
        }
    }

    pub(super) fn handle_lost_packet(&mut self, packet: &LostPacket) {
        self.rs.total_delivered = packet.total_delivered;
        self.note_loss(packet);
        if !self.is_bw_probe_sample {
            return; // not sent while probing for bandwidth
        }
        let mut sample = SampleOfLoss::new(packet, &self.self_limited);
        if sample.is_inflight_too_high() {
            sample.tx_in_flight = inflight_at_loss(&sample, packet.bytes);
            self.handle_inflight_too_high(packet.now, &sample);
        }
    }

    fn note_loss(&mut self, packet: &LostPacket) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = packet.total_delivered;
            self.save_state_upon_loss();
        }
        self.is_loss_in_round = true;
        if self.lost_ranges == 0 || packet.position != self.lost_up_to {
            self.lost_ranges += 1;
        }
        self.lost_up_to = packet.end;
    }

    fn handle_inflight_too_high(&mut self, now: Time, sample: &SampleOfLoss) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false; // only one reaction for each probe
        if !sample.is_app_limited {
            let least = percent(self.target_inflight(), BETA_PERCENT);
            self.inflight_longterm = Some(sample.tx_in_flight.max(least));
        }
        if self.state == State::ProbeUp {
            self.undo.state = Some(State::ProbeUp);
            self.start_probe_bw_down(now);
        }
    }

    /// Once for a recovery.
    pub(super) fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        if std::mem::replace(&mut self.is_state_saved, true) {
            return;
        }
        self.undo = Undo {
            state: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    pub(super) fn handle_spurious_loss_detection(&mut self) {
        /// The larger of two limits, of which either may be infinite.
        fn larger(one: Option<u64>, other: Option<u64>) -> Option<u64> {
            Some(one?.max(other?))
        }
        self.restore_cwnd();
        (self.is_loss_in_round, self.is_state_saved) = (false, false);
        self.reset_full_bw();
        self.bw_shortterm = larger(self.bw_shortterm, self.undo.bw_shortterm);
        self.inflight_shortterm = larger(self.inflight_shortterm, self.undo.inflight_shortterm);
        self.inflight_longterm = larger(self.inflight_longterm, self.undo.inflight_longterm);
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_bw_reached = false;
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

/// At what inflight losses crossed `BBR.LossThresh`, which may have been within the packet of `bytes` (`InflightAtLoss`).
fn inflight_at_loss(sample: &SampleOfLoss, bytes: u64) -> u64 {
    let inflight_prev = sample.tx_in_flight.saturating_sub(bytes);
    let lost_prev = sample.lost.saturating_sub(bytes);
    let allowed = inflight_prev * LOSS_THRESH_PERCENT;
    let lost_prefix = allowed.saturating_sub(lost_prev * 100) / (100 - LOSS_THRESH_PERCENT);
    inflight_prev + lost_prefix
}
