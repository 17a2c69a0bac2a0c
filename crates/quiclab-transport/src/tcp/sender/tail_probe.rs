//! Tail loss probe (RFC 8985 section 7): due and outstanding probes, and evaluation of their acknowledgement.

/// `TLP.end_seq` and `TLP.is_retrans`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TailLossProbe {
    is_due: bool,
    /// End of the data sent with the probe, and whether it was a retransmission.
    outstanding: Option<(u64, bool)>,
}

/// Fields of an acknowledgement that concern the probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeAck {
    pub(super) ack: u64,
    /// Whether a DSACK reports the probe.
    pub(super) is_dsack: bool,
    /// Whether it has no new information.
    pub(super) is_pure_duplicate: bool,
}

impl TailLossProbe {
    /// Handles the expiry of the timer: one probe at a time.
    pub(super) fn on_timeout(&mut self) {
        self.is_due |= self.outstanding.is_none();
    }

    /// Takes whether a probe is to be sent now.
    pub(super) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.is_due)
    }

    /// Handles a probe that is sent: `end` is the end of the data sent.
    pub(super) fn on_sent(&mut self, end: u64, retransmission: bool) {
        self.outstanding = Some((end, retransmission));
    }

    /// Discards the outstanding probe.
    pub(super) fn forget(&mut self) {
        self.outstanding = None;
    }

    /// Whether duplicates with the end `end` are the probe.
    pub(super) fn ends_at(&self, end: u64) -> bool {
        self.outstanding.is_some_and(|(high, _)| high == end)
    }

    /// Handles an acknowledgement (`tcp_process_tlp_ack`). Returns whether the probe repaired a loss (section
    /// 7.4.2): an acknowledgement beyond it without DSACK.
    pub(super) fn on_ack(&mut self, ack: &ProbeAck) -> bool {
        let Some((high, retransmission)) = self.outstanding.filter(|(high, _)| ack.ack >= *high) else {
            return false;
        };
        if !retransmission || ack.is_dsack {
            self.outstanding = None; // new data, or both copies have arrived
            return false;
        }
        let repaired = ack.ack > high;
        if repaired || ack.is_pure_duplicate {
            self.outstanding = None;
        }
        repaired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(ack: u64) -> ProbeAck {
        ProbeAck { ack, is_dsack: false, is_pure_duplicate: false }
    }

    fn probe(retransmission: bool) -> TailLossProbe {
        let mut probe = TailLossProbe::default();
        probe.on_timeout();
        assert!(probe.take_due() && !probe.take_due());
        probe.on_sent(5000, retransmission);
        probe
    }

    #[test]
    fn one_probe_at_a_time() {
        let mut probe = probe(true);
        probe.on_timeout();
        assert!(!probe.take_due());
        probe.forget();
        probe.on_timeout();
        assert!(probe.take_due());
    }

    #[test]
    fn an_acknowledgement_beyond_a_retransmission_shows_a_loss() {
        let mut probe = probe(true);
        assert!(probe.ends_at(5000) && !probe.on_ack(&ack(4999)) && !probe.on_ack(&ack(5000)));
        assert!(probe.on_ack(&ack(5001)));
        assert!(!probe.on_ack(&ack(5001)), "once");
    }

    #[test]
    fn both_copies_have_arrived() {
        for ack in
            [ProbeAck { is_dsack: true, ..ack(5001) }, ProbeAck { is_pure_duplicate: true, ..ack(5000) }]
        {
            let mut probe = probe(true);
            assert!(!probe.on_ack(&ack));
            assert!(!probe.ends_at(5000), "it is not outstanding");
        }
    }

    #[test]
    fn new_data_show_no_loss() {
        let mut probe = probe(false);
        assert!(!probe.on_ack(&ack(9000)));
        assert!(!probe.ends_at(5000));
    }
}
