//! Pacing rate, quantum and window (section 5.6).

use super::machine::State;
use super::{BbrV3, MIN_PIPE_CWND, Offload, PACED_PERCENT, UNIT};
use super::{limited, percent};
use crate::congestion::bbr::{bytes_in, per_second};
use quiclab_core::Duration;

/// Time that a quantum takes at the pacing rate, and its limit.
const QUANTUM_TIME: Duration = Duration::from_millis(1);
const MAX_QUANTUM: u64 = 64 * 1024;

impl BbrV3 {
    pub(super) fn update_control_parameters(&mut self) {
        self.set_pacing_rate_with_gain(self.gains().0);
        self.set_send_quantum();
        self.set_cwnd();
    }

    /// Before there is an RTT, one of 1 ms is assumed.
    pub(super) fn init_pacing_rate(&mut self, srtt: Option<Duration>) {
        self.has_rtt = srtt.is_some();
        let nominal = per_second(self.initial_cwnd, srtt.unwrap_or(Duration::from_millis(1)));
        self.pacing_rate = percent(nominal, self.constants.startup_pacing);
    }

    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: u64) {
        let rate = percent(percent(self.bw, gain), PACED_PERCENT);
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn set_send_quantum(&mut self) {
        self.send_quantum = bytes_in(self.pacing_rate, QUANTUM_TIME).min(MAX_QUANTUM).max(2 * self.mss);
    }

    /// `BBR.bdp`: the first window before there is an RTT.
    pub(super) fn bdp(&self) -> u64 {
        self.bdp_of(self.bw)
    }

    /// A gain times the BDP; the first window itself before there is an RTT.
    fn bdp_multiple(&self, gain: u64) -> u64 {
        if self.min_rtt.is_some() { percent(self.bdp(), gain) } else { self.initial_cwnd }
    }

    fn bdp_of(&self, bandwidth: u64) -> u64 {
        self.min_rtt.map_or(self.initial_cwnd, |rtt| bytes_in(bandwidth, rtt))
    }

    fn quantization_budget(&self, inflight_cap: u64) -> u64 {
        let offload_budget = match self.offload {
            Offload::Tcp => 3 * self.send_quantum,
            Offload::Quic => self.send_quantum,
        };
        let cap = inflight_cap.max(offload_budget).max(MIN_PIPE_CWND * self.mss);
        if self.state == State::ProbeUp { cap + 2 * self.mss } else { cap }
    }

    /// `Inflight(1.0)` at a bandwidth.
    pub(super) fn inflight(&self, bandwidth: u64) -> u64 {
        self.quantization_budget(self.bdp_of(bandwidth))
    }

    fn max_inflight(&self) -> u64 {
        let cap = self.bdp_multiple(self.gains().1) + self.extra_acked;
        self.quantization_budget(cap)
    }

    fn set_cwnd(&mut self) {
        let (max_inflight, acked) = (self.max_inflight(), self.rs.newly_acked);
        if self.full_bw_reached {
            self.cwnd = (self.cwnd + acked).min(max_inflight);
        } else if self.cwnd < max_inflight || self.rs.total_delivered < self.initial_cwnd {
            self.cwnd += acked;
        }
        self.cwnd = self.cwnd.max(MIN_PIPE_CWND * self.mss);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model();
    }

    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp_multiple(self.constants.probe_rtt_cwnd).max(MIN_PIPE_CWND * self.mss)
    }

    fn bound_cwnd_for_model(&mut self) {
        let cap = match self.state {
            State::ProbeDown | State::ProbeRefill | State::ProbeUp => self.inflight_longterm,
            State::ProbeCruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => None,
        };
        let cap = limited(limited(u64::MAX, cap), self.inflight_shortterm).max(MIN_PIPE_CWND * self.mss);
        self.cwnd = self.cwnd.min(cap);
    }

    pub(super) fn save_cwnd(&mut self) {
        let modulated = self.is_in_recovery() || self.state == State::ProbeRtt;
        self.prior_cwnd = if modulated { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}

const _: () = assert!(UNIT == 100, "percentages are gains");
