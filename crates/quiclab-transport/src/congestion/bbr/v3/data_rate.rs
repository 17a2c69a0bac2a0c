//! Model of the data rate: the maximum bandwidth, and the short-term bound that losses set (sections 5.5.2 to
//! 5.5.6, 5.5.10.3). All in byte/s.

use super::{BETA_PERCENT, larger, limited, percent};

/// `BBR.max_bw`, `BBR.bw_shortterm` and `BBR.bw`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Model {
    /// Maximum bandwidth of the last full cycle and of the current one.
    max_bw_filter: [u64; 2],
    /// `BBR.bw_shortterm`; `None`: infinite.
    bw_shortterm: Option<u64>,
    /// Maximum bandwidth of the current loss round.
    bw_latest: u64,
    bw: u64,
}

impl Model {
    /// `BBR.max_bw`.
    pub(super) fn max_bw(&self) -> u64 {
        self.max_bw_filter[0].max(self.max_bw_filter[1])
    }

    /// `BBR.bw`: bandwidth that the flow may use now.
    pub(super) fn bw(&self) -> u64 {
        self.bw
    }

    /// `BBR.bw_shortterm`.
    pub(super) fn shortterm(&self) -> Option<u64> {
        self.bw_shortterm
    }

    /// Adds a sample of the current loss round.
    pub(super) fn update_latest(&mut self, delivery_rate: u64) {
        self.bw_latest = self.bw_latest.max(delivery_rate);
    }

    /// Starts a loss round with this sample; 0: without one.
    pub(super) fn set_latest(&mut self, delivery_rate: u64) {
        self.bw_latest = delivery_rate;
    }

    /// `UpdateMaxBw`: an application-limited sample counts only if it is the maximum.
    pub(super) fn update_max_bw(&mut self, delivery_rate: u64, is_app_limited: bool) {
        if delivery_rate > 0 && (delivery_rate >= self.max_bw() || !is_app_limited) {
            self.max_bw_filter[1] = self.max_bw_filter[1].max(delivery_rate);
        }
    }

    /// `AdvanceMaxBwFilter`: a cycle is over. (A cycle without a sample does not change the filter.)
    pub(super) fn advance_max_bw_filter(&mut self) {
        if self.max_bw_filter[1] > 0 {
            self.max_bw_filter = [self.max_bw_filter[1], 0];
        }
    }

    /// `LossLowerBounds`, once in a round with losses.
    pub(super) fn lower_shortterm(&mut self) {
        let bw = self.bw_shortterm.unwrap_or(self.max_bw());
        self.bw_shortterm = Some(self.bw_latest.max(percent(bw, BETA_PERCENT)));
    }

    /// `ResetShortTermModel`.
    pub(super) fn reset_shortterm(&mut self) {
        self.bw_shortterm = None;
    }

    /// Handles spurious losses: the bound is at least the one before them.
    pub(super) fn undo_shortterm(&mut self, before: Option<u64>) {
        self.bw_shortterm = larger(self.bw_shortterm, before);
    }

    /// `BoundBWForModel`.
    pub(super) fn bound_bw(&mut self) {
        self.bw = limited(self.max_bw(), self.bw_shortterm);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_is_that_of_two_cycles() {
        let mut model = Model::default();
        model.update_max_bw(1000, false);
        model.advance_max_bw_filter();
        model.update_max_bw(600, false);
        assert_eq!(model.max_bw(), 1000);
        model.advance_max_bw_filter();
        assert_eq!(model.max_bw(), 600, "the cycle of the 1000 is two cycles ago");
        model.advance_max_bw_filter();
        assert_eq!(model.max_bw(), 600, "a cycle without a sample does not count");
    }

    #[test]
    fn the_application_limits_smaller_samples_only() {
        let mut model = Model::default();
        model.update_max_bw(1000, false);
        model.advance_max_bw_filter();
        model.update_max_bw(900, true);
        model.advance_max_bw_filter();
        assert_eq!(model.max_bw(), 1000, "it is no sample");
        model.update_max_bw(1100, true);
        assert_eq!(model.max_bw(), 1100);
    }

    /// 70 % of the bandwidth, of the bound after that, and never less than the rate delivered since.
    #[test]
    fn losses_lower_the_bound_to_what_is_delivered() {
        let mut model = Model::default();
        model.update_max_bw(1_000_000, false);
        model.lower_shortterm();
        assert_eq!(model.shortterm(), Some(700_000));
        model.update_latest(600_000);
        model.update_latest(500_000);
        model.lower_shortterm();
        assert_eq!(model.shortterm(), Some(600_000), "not 490000");
        model.bound_bw();
        assert_eq!((model.bw(), model.max_bw()), (600_000, 1_000_000));
        model.set_latest(0);
        model.lower_shortterm();
        assert_eq!(model.shortterm(), Some(420_000));
        model.reset_shortterm();
        model.bound_bw();
        assert_eq!(model.bw(), 1_000_000);
    }

    #[test]
    fn an_undo_never_lowers_the_bound() {
        let mut model = Model::default();
        model.update_max_bw(1000, false);
        model.lower_shortterm();
        model.undo_shortterm(Some(600));
        assert_eq!(model.shortterm(), Some(700));
        model.undo_shortterm(Some(900));
        assert_eq!(model.shortterm(), Some(900));
        model.undo_shortterm(None);
        assert_eq!(model.shortterm(), None, "infinite");
    }
}
