//! State of F-RTO (RFC 5682): detection of spurious timeouts.

/// Detection after a retransmission timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frto {
    is_enabled: bool,
    is_active: bool,
    /// Whether new data precede retransmissions: step 2b of section 3.1.
    is_new_data_first: bool,
}

impl Frto {
    /// Makes the state before a timeout.
    pub(super) const fn new(is_enabled: bool) -> Self {
        Self { is_enabled, is_active: false, is_new_data_first: false }
    }

    /// Starts detection at a timeout; step 1: not if a timeout or recovery was in progress, unless by a
    /// second timeout.
    pub(super) fn on_timeout(&mut self, is_fresh: bool) {
        self.is_active = self.is_enabled && is_fresh;
        self.is_new_data_first = false;
    }

    /// Whether detection is active: the next acknowledgements decide.
    pub(super) const fn is_active(&self) -> bool {
        self.is_active
    }

    /// Ends detection.
    pub(super) fn end(&mut self) {
        self.is_active = false;
    }

    /// Whether new data are sent before retransmissions.
    pub(super) const fn is_new_data_first(&self) -> bool {
        self.is_new_data_first
    }

    /// Sets whether new data precede retransmissions from the current acknowledgement on.
    pub(super) fn set_new_data_first(&mut self, wanted: bool) {
        self.is_new_data_first = wanted;
    }

    /// Handles a lack of new data (`tcp_xmit_recovery`).
    pub(super) fn on_no_new_data(&mut self) {
        (self.is_active, self.is_new_data_first) = (false, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_begins_it_where_it_may() {
        for (enabled, fresh) in [(true, true), (true, false), (false, true)] {
            let mut frto = Frto::new(enabled);
            frto.set_new_data_first(true);
            frto.on_timeout(fresh);
            assert_eq!((frto.is_active(), frto.is_new_data_first()), (enabled && fresh, false));
        }
    }

    #[test]
    fn without_new_data_it_cannot_decide() {
        let mut frto = Frto::new(true);
        frto.on_timeout(true);
        frto.set_new_data_first(true);
        assert!(frto.is_new_data_first() && frto.is_active());
        frto.on_no_new_data();
        assert!(!frto.is_new_data_first() && !frto.is_active());
    }
}
