//! ECN as negotiated: marks that acknowledgements report, and the response to them.

use crate::options::TcpEcn;
use crate::tcp::accecn::{Acknowledged, Feedback};

/// State of ECN at the sender.
#[derive(Clone, Debug)]
pub(super) struct EcnState {
    mode: TcpEcn,
    /// Whether the next new data report a reduction (`TCP_ECN_QUEUE_CWR`).
    is_cwr_due: bool,
    /// Counter of marks reported with AccECN; `None` without AccECN, or if it is not trusted.
    feedback: Option<Feedback>,
    /// Timestamp of the latest acknowledgement.
    latest: u32,
}

impl EcnState {
    /// Makes the state after the handshake.
    pub(super) const fn new(mode: TcpEcn, feedback: Option<Feedback>) -> Self {
        Self { mode, is_cwr_due: false, feedback, latest: 0 }
    }

    /// ECN mode as negotiated.
    pub(super) const fn mode(&self) -> TcpEcn {
        self.mode
    }

    /// Whether acknowledgements count marks (AccECN).
    pub(super) const fn counts_marks(&self) -> bool {
        self.feedback.is_some()
    }

    /// Counts the marks that an acknowledgement reports with AccECN (`tcp_accecn_process`), if none was sent after it: it
    /// `delivers` something, or its timestamp is new. `None`: it reports none.
    pub(super) fn on_ack(
        &mut self,
        timestamp: Option<u32>,
        delivers: bool,
        acknowledged: impl FnOnce() -> Acknowledged,
    ) -> Option<u64> {
        let feedback = self.feedback.as_mut()?;
        let new = timestamp.filter(|timestamp| (timestamp.wrapping_sub(self.latest) as i32) > 0);
        self.latest = new.unwrap_or(self.latest);
        (delivers || new.is_some()).then(|| feedback.on_ack(&acknowledged()))
    }

    /// Handles a reduction of the window, of which the receiver is to be notified.
    pub(super) fn on_reduction(&mut self) {
        self.is_cwr_due = self.mode.echoes();
    }

    /// Handles a spurious reduction.
    pub(super) fn on_undo(&mut self) {
        self.is_cwr_due = false;
    }

    /// Takes whether new data sent now report a reduction (CWR).
    pub(super) fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.is_cwr_due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reduction_is_told_once_unless_it_was_spurious() {
        let mut state = EcnState::new(TcpEcn::Classic, None);
        state.on_reduction();
        assert!(state.take_cwr() && !state.take_cwr());
        state.on_reduction();
        state.on_undo();
        assert!(!state.take_cwr());
        let mut off = EcnState::new(TcpEcn::Off, None);
        off.on_reduction();
        assert!(!off.take_cwr());
    }

    /// ACE counts from 5 (RFC 9768 section 3.2.2.1).
    #[test]
    fn marks_of_an_acknowledgement_that_is_not_new_do_not_count() {
        let acknowledged =
            |ace| Acknowledged { ace, option: None, packets: 1, bytes: 1000, payload: 1000, exact: true };
        let mut state = EcnState::new(TcpEcn::Accurate, Some(Feedback::new(false, false)));
        assert_eq!(state.on_ack(Some(7), false, || acknowledged(6)), Some(1));
        assert_eq!(
            state.on_ack(Some(7), false, || acknowledged(7)),
            None,
            "neither data nor a new timestamp"
        );
        assert_eq!(state.on_ack(Some(7), true, || acknowledged(7)), Some(1));
        assert_eq!(state.on_ack(None, false, || acknowledged(0)), None);
    }
}
