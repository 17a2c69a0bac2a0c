//! Control parameters: pacing rate, quantum and window (section 5.6).

use super::{MIN_PIPE_CWND, Offload, PACED_PERCENT, percent};
use crate::congestion::bbr::{bytes_in, per_second};
use quiclab_core::Duration;

/// Duration of a quantum at the pacing rate, and its maximum size.
const QUANTUM_TIME: Duration = Duration::from_millis(1);
const MAX_QUANTUM: u64 = 64 * 1024;

/// `C.pacing_rate`, `C.send_quantum` and `C.cwnd`.
#[derive(Clone, Debug)]
pub(super) struct ControlParameters {
    /// `C.SMSS`.
    mss: u64,
    initial_cwnd: u64,
    offload: Offload,
    cwnd: u64,
    prior_cwnd: u64,
    /// Pacing rate in byte/s.
    pacing_rate: u64,
    send_quantum: u64,
    has_rtt: bool,
}

impl ControlParameters {
    /// Makes the parameters for packets of `mss` bytes with an initial window in bytes.
    pub(super) fn new(mss: u64, initial_cwnd: u64, offload: Offload) -> Self {
        Self {
            mss,
            initial_cwnd,
            offload,
            cwnd: initial_cwnd,
            prior_cwnd: 0,
            pacing_rate: 0,
            send_quantum: 2 * mss,
            has_rtt: false,
        }
    }

    /// `C.SMSS`.
    pub(super) fn mss(&self) -> u64 {
        self.mss
    }

    /// `C.cwnd` in bytes.
    pub(super) fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// `C.pacing_rate` in byte/s.
    pub(super) fn pacing_rate(&self) -> u64 {
        self.pacing_rate
    }

    /// `C.send_quantum` in bytes.
    pub(super) fn send_quantum(&self) -> u64 {
        self.send_quantum
    }

    /// Whether the first pacing rate has been derived from an RTT.
    pub(super) fn has_rtt(&self) -> bool {
        self.has_rtt
    }

    /// `InitPacingRate`. Before the first RTT sample, 1 ms is assumed.
    pub(super) fn init_pacing_rate(&mut self, srtt: Option<Duration>, gain: u64) {
        self.has_rtt = srtt.is_some();
        let nominal = per_second(self.initial_cwnd, srtt.unwrap_or(Duration::from_millis(1)));
        self.pacing_rate = percent(nominal, gain);
    }

    /// `SetPacingRateWithGain`, from `BBR.bw` in byte/s: in Startup, the rate does not decrease.
    pub(super) fn set_pacing_rate(&mut self, bw: u64, gain: u64, full_bw_reached: bool) {
        let rate = percent(percent(bw, gain), PACED_PERCENT);
        if full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `SetSendQuantum`.
    pub(super) fn set_send_quantum(&mut self) {
        self.send_quantum = bytes_in(self.pacing_rate, QUANTUM_TIME).min(MAX_QUANTUM).max(2 * self.mss);
    }

    /// `BBR.bdp` at a bandwidth in byte/s; the initial window before the first RTT sample.
    pub(super) fn bdp(&self, bandwidth: u64, min_rtt: Option<Duration>) -> u64 {
        min_rtt.map_or(self.initial_cwnd, |rtt| bytes_in(bandwidth, rtt))
    }

    /// `BDPMultiple`: a gain times the BDP; the initial window itself before the first RTT sample.
    pub(super) fn bdp_multiple(&self, bandwidth: u64, min_rtt: Option<Duration>, gain: u64) -> u64 {
        if min_rtt.is_some() { percent(self.bdp(bandwidth, min_rtt), gain) } else { self.initial_cwnd }
    }

    /// `BBR.MinPipeCwnd` in bytes.
    pub(super) fn min_pipe_cwnd(&self) -> u64 {
        MIN_PIPE_CWND * self.mss
    }

    /// `QuantizationBudget`.
    pub(super) fn quantization_budget(&self, inflight_cap: u64, is_probing_up: bool) -> u64 {
        let offload_budget = match self.offload {
            Offload::Tcp => 3 * self.send_quantum,
            Offload::Quic => self.send_quantum,
        };
        let cap = inflight_cap.max(offload_budget).max(self.min_pipe_cwnd());
        if is_probing_up { cap + 2 * self.mss } else { cap }
    }

    /// `SetCwnd` without the bounds: the window grows by the bytes acknowledged, in Startup beyond
    /// `max_inflight` until the initial window is `delivered`.
    pub(super) fn grow_cwnd(&mut self, acked: u64, max_inflight: u64, full_bw_reached: bool, delivered: u64) {
        if full_bw_reached {
            self.cwnd = (self.cwnd + acked).min(max_inflight);
        } else if self.cwnd < max_inflight || delivered < self.initial_cwnd {
            self.cwnd += acked;
        }
        self.cwnd = self.cwnd.max(self.min_pipe_cwnd());
    }

    /// Limits the window to `cap`, but not below [`Self::min_pipe_cwnd`].
    pub(super) fn bound_cwnd(&mut self, cap: u64) {
        self.cwnd = self.cwnd.min(cap.max(self.min_pipe_cwnd()));
    }

    /// Handles a timeout: one packet may be sent.
    pub(super) fn on_timeout(&mut self, in_flight: u64) {
        self.cwnd = in_flight + self.mss;
    }

    /// `SaveCwnd`; a window that recovery or ProbeRTT modulates does not replace a larger saved one.
    pub(super) fn save_cwnd(&mut self, is_modulated: bool) {
        self.prior_cwnd = if is_modulated { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    /// `RestoreCwnd`.
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn control(offload: Offload) -> ControlParameters {
        ControlParameters::new(MSS, 10 * MSS, offload)
    }

    /// 10 kB in 1 ms, then in 50 ms.
    #[test]
    fn the_first_rate_follows_from_the_first_window() {
        let mut control = control(Offload::Quic);
        control.init_pacing_rate(None, 200);
        assert_eq!((control.pacing_rate(), control.has_rtt()), (20_000_000, false));
        control.init_pacing_rate(Some(Duration::from_millis(50)), 200);
        assert_eq!((control.pacing_rate(), control.has_rtt()), (400_000, true));
    }

    #[test]
    fn the_rate_falls_only_when_the_pipe_is_full() {
        let mut control = control(Offload::Quic);
        control.set_pacing_rate(1_000_000, 100, false);
        assert_eq!(control.pacing_rate(), 990_000, "99 %");
        control.set_pacing_rate(500_000, 100, false);
        assert_eq!(control.pacing_rate(), 990_000);
        control.set_pacing_rate(500_000, 100, true);
        assert_eq!(control.pacing_rate(), 495_000);
    }

    #[test]
    fn the_window_covers_the_quanta_on_their_way() {
        for (offload, quanta) in [(Offload::Tcp, 3), (Offload::Quic, 1)] {
            let mut control = control(offload);
            // 20 MB/s: 20 kB a millisecond
            control.set_pacing_rate(20_000_000, 100, true);
            control.set_send_quantum();
            assert_eq!(control.send_quantum(), 19_800);
            assert_eq!(control.quantization_budget(MSS, false), quanta * 19_800);
            assert_eq!(control.quantization_budget(100 * MSS, true), 102 * MSS);
        }
        assert_eq!(control(Offload::Quic).quantization_budget(0, false), 4 * MSS);
    }

    #[test]
    fn the_window_grows_to_what_the_model_allows() {
        let mut control = control(Offload::Quic);
        control.grow_cwnd(5 * MSS, 12 * MSS, true, 0);
        assert_eq!(control.cwnd(), 12 * MSS);
        control.grow_cwnd(5 * MSS, 12 * MSS, false, 10 * MSS);
        assert_eq!(control.cwnd(), 12 * MSS);
        control.grow_cwnd(5 * MSS, 12 * MSS, false, 9 * MSS);
        assert_eq!(control.cwnd(), 17 * MSS, "the first window is not delivered");
        control.bound_cwnd(0);
        assert_eq!(control.cwnd(), 4 * MSS);
    }

    #[test]
    fn the_window_to_restore_is_the_largest_before_it_was_modulated() {
        let mut control = control(Offload::Quic);
        control.save_cwnd(false);
        control.on_timeout(3 * MSS);
        control.save_cwnd(true);
        assert_eq!(control.cwnd(), 4 * MSS);
        control.restore_cwnd();
        assert_eq!(control.cwnd(), 10 * MSS);
    }
}
