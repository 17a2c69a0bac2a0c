//! Evidence that a reduction of the window was spurious (RFC 4015, RFC 3708).

/// Latest reduction, and evidence of whether it can be undone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// Value of `options.undo`.
    is_enabled: bool,
    /// Reduction; `None`: none, or it is undone.
    reduction: Option<Reduction>,
    /// Whether the controller may restore its window, as the reduction was not for marks (`prior_ssthresh` is
    /// not 0).
    is_allowed: bool,
    /// Timestamp of the first retransmission of the current recovery (`retrans_stamp`).
    first_retransmission: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Reduction {
    /// First position not acknowledged at the start of the reduction (`undo_marker`).
    marker: u64,
    /// Retransmissions not yet reported as duplicates; `None`: unknown (`undo_retrans`).
    retransmissions: Option<u32>,
}

impl Undo {
    /// Makes the state without a reduction.
    pub(super) fn new(is_enabled: bool) -> Self {
        Self { is_enabled, ..Self::default() }
    }

    /// Whether reductions are undone.
    pub(super) fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// Starts a reduction with `retransmitted` segments in flight (`tcp_init_undo`).
    pub(super) fn begin(&mut self, acknowledged: u64, retransmitted: u32) {
        self.reduction = self.is_enabled.then_some(Reduction {
            marker: acknowledged,
            retransmissions: (retransmitted > 0).then_some(retransmitted),
        });
    }

    /// Whether there is a reduction to undo.
    pub(super) fn has_reduction(&self) -> bool {
        self.reduction.is_some()
    }

    /// Removes the reduction, which is undone or replaced.
    pub(super) fn forget_reduction(&mut self) {
        self.reduction = None;
    }

    /// Whether the controller may restore its window.
    pub(super) fn is_allowed(&self) -> bool {
        self.is_allowed
    }

    /// Sets whether the reduction is for losses alone, not for marks.
    pub(super) fn allow(&mut self, is_allowed: bool) {
        self.is_allowed = is_allowed;
    }

    /// Handles marks, which prove congestion: the reduction is required.
    pub(super) fn on_marks(&mut self) {
        self.is_allowed = false;
    }

    /// Handles a retransmission at the time `stamp`: a DSACK must report it for an undo.
    pub(super) fn on_retransmission(&mut self, stamp: u32) {
        self.first_retransmission.get_or_insert(stamp);
        if let Some(reduction) = &mut self.reduction {
            reduction.retransmissions = Some(reduction.retransmissions.unwrap_or(0) + 1);
        }
    }

    /// Resets the state of retransmissions, none of which is outstanding.
    pub(super) fn forget_retransmissions(&mut self) {
        self.first_retransmission = None;
    }

    /// Whether duplicates up to `end` are of retransmissions of the current reduction.
    pub(super) fn covers(&self, end: u64) -> bool {
        self.reduction.is_some_and(|reduction| end > reduction.marker)
    }

    /// Handles a DSACK that reports `count` of its retransmissions.
    pub(super) fn on_duplicates(&mut self, count: u32) {
        if let Some(left) = self.reduction.as_mut().and_then(|reduction| reduction.retransmissions.as_mut()) {
            *left = left.saturating_sub(count);
        }
    }

    /// Whether every retransmission was reported as a duplicate (RFC 3708).
    pub(super) fn are_all_duplicates(&self) -> bool {
        self.reduction.is_some_and(|reduction| reduction.retransmissions == Some(0))
    }

    /// Whether the acknowledged data were sent before any retransmission: Eifel detection (RFC 3522).
    /// `unanswered`: result if nothing was retransmitted.
    pub(super) fn is_delayed(&self, echo: Option<u32>, unanswered: bool) -> bool {
        match (self.first_retransmission, echo) {
            (Some(first), Some(echo)) if echo != 0 => (echo.wrapping_sub(first) as i32) < 0,
            (None, _) => unanswered,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_retransmission_must_be_reported() {
        let mut undo = Undo::new(true);
        undo.begin(1000, 0);
        assert!(!undo.are_all_duplicates(), "nothing was retransmitted");
        undo.on_retransmission(10);
        undo.on_retransmission(11);
        undo.on_duplicates(1);
        assert!(!undo.are_all_duplicates());
        undo.on_duplicates(2);
        assert!(undo.are_all_duplicates() && undo.covers(1001) && !undo.covers(1000));
        undo.forget_reduction();
        assert!(!undo.are_all_duplicates() && !undo.covers(1001));
    }

    #[test]
    fn retransmissions_before_the_reduction_count() {
        let mut undo = Undo::new(true);
        undo.begin(1000, 2);
        undo.on_retransmission(10);
        undo.on_duplicates(2);
        assert!(!undo.are_all_duplicates());
        undo.on_duplicates(1);
        assert!(undo.are_all_duplicates());
    }

    #[test]
    fn an_echo_before_the_first_retransmission_is_of_the_original() {
        let mut undo = Undo::new(true);
        assert!(undo.is_delayed(None, true) && !undo.is_delayed(Some(5), false));
        undo.on_retransmission(10);
        undo.on_retransmission(20);
        for (echo, delayed) in [(9, true), (10, false), (15, false), (0, false), (u32::MAX, true)] {
            assert_eq!(undo.is_delayed(Some(echo), false), delayed, "{echo}");
        }
        assert!(!undo.is_delayed(None, true), "no timestamps");
    }

    #[test]
    fn without_the_option_there_is_no_reduction_to_undo() {
        let mut undo = Undo::new(false);
        undo.begin(1000, 1);
        undo.on_duplicates(1);
        assert!(!undo.has_reduction() && !undo.are_all_duplicates());
    }
}
