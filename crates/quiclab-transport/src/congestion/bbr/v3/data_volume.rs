//! Model of the data volume: bounds on the bytes in flight, which losses lower and probes raise (sections
//! 5.3.3.9, 5.5.10). All in bytes.

use super::{BETA_PERCENT, MIN_PIPE_CWND, larger, limited, percent};

/// `BBR.Headroom` in percent.
const HEADROOM_PERCENT: u64 = 15;
/// Limit of `BBR.bw_probe_up_rounds`.
const MAX_PROBE_UP_ROUNDS: u32 = 30;

/// `BBR.inflight_shortterm` and `BBR.inflight_longterm`; `None`: infinite.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Model {
    inflight_shortterm: Option<u64>,
    inflight_longterm: Option<u64>,
    /// Maximum volume delivered in a round trip of the current loss round.
    inflight_latest: u64,
    // growth of the long-term bound in ProbeBW_UP
    bw_probe_up_rounds: u32,
    bw_probe_up_acked: u64,
    probe_up_acked_per_inc: Option<u64>,
}

impl Model {
    /// `BBR.inflight_shortterm`.
    pub(super) fn shortterm(&self) -> Option<u64> {
        self.inflight_shortterm
    }

    /// `BBR.inflight_longterm`.
    pub(super) fn longterm(&self) -> Option<u64> {
        self.inflight_longterm
    }

    /// `BBR.inflight_latest`.
    pub(super) fn latest(&self) -> u64 {
        self.inflight_latest
    }

    /// Adds a sample of the current loss round.
    pub(super) fn update_latest(&mut self, delivered: u64) {
        self.inflight_latest = self.inflight_latest.max(delivered);
    }

    /// Starts a loss round with this sample; 0: without one.
    pub(super) fn set_latest(&mut self, delivered: u64) {
        self.inflight_latest = delivered;
    }

    /// `LossLowerBounds`, once in a round with losses.
    pub(super) fn lower_shortterm(&mut self, cwnd: u64) {
        let inflight = self.inflight_shortterm.unwrap_or(cwnd);
        self.inflight_shortterm = Some(self.inflight_latest.max(percent(inflight, BETA_PERCENT)));
    }

    /// `ResetShortTermModel`.
    pub(super) fn reset_shortterm(&mut self) {
        self.inflight_shortterm = None;
    }

    /// `InflightWithHeadroom`: long-term bound with headroom for other flows.
    pub(super) fn inflight_with_headroom(&self, mss: u64) -> Option<u64> {
        let longterm = self.inflight_longterm?;
        let headroom = percent(longterm, HEADROOM_PERCENT).max(mss);
        Some(longterm.saturating_sub(headroom).max(MIN_PIPE_CWND * mss))
    }

    /// Minimum of `bound` and the short-term bound.
    pub(super) fn limited_by_shortterm(&self, bound: Option<u64>) -> u64 {
        limited(limited(u64::MAX, bound), self.inflight_shortterm)
    }

    /// Sets the long-term bound, as shown by losses.
    pub(super) fn set_longterm(&mut self, inflight: u64) {
        self.inflight_longterm = Some(inflight);
    }

    /// Raises the long-term bound, if there is one, to `inflight`, at which losses were few.
    pub(super) fn raise_longterm(&mut self, inflight: u64) {
        self.inflight_longterm = self.inflight_longterm.map(|longterm| longterm.max(inflight));
    }

    /// Handles spurious losses: bounds are at least those before them.
    pub(super) fn undo(&mut self, shortterm: Option<u64>, longterm: Option<u64>) {
        self.inflight_shortterm = larger(self.inflight_shortterm, shortterm);
        self.inflight_longterm = larger(self.inflight_longterm, longterm);
    }

    /// Resets the slope in ProbeBW_REFILL.
    pub(super) fn reset_slope(&mut self) {
        (self.bw_probe_up_rounds, self.bw_probe_up_acked) = (0, 0);
    }

    /// Stops the growth in ProbeBW_DOWN.
    pub(super) fn stop_growth(&mut self) {
        self.probe_up_acked_per_inc = None;
    }

    /// `RaiseInflightLongtermSlope`: twice as many packets in each round.
    pub(super) fn raise_slope(&mut self, cwnd: u64, mss: u64) {
        let growth = 1_u64 << self.bw_probe_up_rounds;
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(MAX_PROBE_UP_ROUNDS);
        self.probe_up_acked_per_inc = Some((cwnd / growth).max(mss));
    }

    /// `ProbeInflightLongtermUpward` if the bound is fully used: a packet for each `probe_up_acked_per_inc`
    /// bytes.
    pub(super) fn grow_longterm(&mut self, acked: u64, mss: u64) {
        self.bw_probe_up_acked += acked;
        if let (Some(per_inc), Some(longterm)) = (self.probe_up_acked_per_inc, self.inflight_longterm) {
            let delta = self.bw_probe_up_acked / per_inc;
            self.bw_probe_up_acked -= delta * per_inc;
            self.inflight_longterm = Some(longterm + delta * mss);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    #[test]
    fn headroom_is_15_percent_and_at_least_a_packet() {
        let mut model = Model::default();
        assert_eq!(model.inflight_with_headroom(MSS), None);
        for (longterm, rest) in [(100 * MSS, 85 * MSS), (6 * MSS, 5 * MSS), (2 * MSS, 4 * MSS)] {
            model.set_longterm(longterm);
            assert_eq!(model.inflight_with_headroom(MSS), Some(rest));
        }
    }

    /// 70 % of the window, of the bound after that, and never less than the bytes delivered since.
    #[test]
    fn losses_lower_the_short_term_bound_to_what_is_delivered() {
        let mut model = Model::default();
        model.lower_shortterm(100 * MSS);
        assert_eq!(model.shortterm(), Some(70 * MSS));
        model.update_latest(60 * MSS);
        model.lower_shortterm(100 * MSS);
        assert_eq!(model.shortterm(), Some(60 * MSS), "not 49");
        assert_eq!(model.limited_by_shortterm(Some(80 * MSS)), 60 * MSS);
        assert_eq!(model.limited_by_shortterm(Some(50 * MSS)), 50 * MSS);
        model.reset_shortterm();
        assert_eq!(model.limited_by_shortterm(None), u64::MAX);
    }

    #[test]
    fn a_bound_that_is_infinite_is_not_raised() {
        let mut model = Model::default();
        model.raise_longterm(10 * MSS);
        assert_eq!(model.longterm(), None);
        model.set_longterm(10 * MSS);
        model.raise_longterm(9 * MSS);
        assert_eq!(model.longterm(), Some(10 * MSS));
        model.raise_longterm(12 * MSS);
        assert_eq!(model.longterm(), Some(12 * MSS));
    }

    /// With a window of 8 packets: one packet in the first round, two in the second, four in the third, at most eight.
    #[test]
    fn the_long_term_bound_grows_twice_as_fast_in_each_round() {
        let mut model = Model::default();
        model.set_longterm(100 * MSS);
        let mut bounds = Vec::new();
        for _ in 0..5 {
            model.raise_slope(8 * MSS, MSS);
            model.grow_longterm(8 * MSS, MSS);
            bounds.push(model.longterm().expect("set") / MSS);
        }
        assert_eq!(bounds, [101, 103, 107, 115, 123]);
        model.stop_growth();
        model.grow_longterm(8 * MSS, MSS);
        assert_eq!(model.longterm(), Some(123 * MSS));
    }

    #[test]
    fn growth_keeps_what_is_left_of_a_packet() {
        let mut model = Model::default();
        model.set_longterm(100 * MSS);
        model.raise_slope(8 * MSS, MSS);
        for bound in [100, 101, 102, 103, 103] {
            model.grow_longterm(6 * MSS, MSS);
            assert_eq!(model.longterm(), Some(bound * MSS));
        }
    }
}
