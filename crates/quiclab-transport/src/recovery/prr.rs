//! Proportional Rate Reduction: reduction of the window to the new threshold during recovery.
//!
//! RFC 9937 (which replaces RFC 6937), in segments as in `tcp_cwnd_reduction` of Linux.
//!
//! | | RFC 6937 / Linux before 5.11 | RFC 9937 / Linux since 5.11 |
//! | --- | --- | --- |
//! | in flight above ssthresh | sends prr_delivered · ssthresh / RecoverFS, less the segments sent | the same |
//! | below ssthresh | catches up (SSRB) only when retransmissions were acknowledged and none was lost again; as many as delivered otherwise (CRB) | catches up ("SafeACK": the acknowledgement advanced and declared nothing lost); as many as delivered otherwise |
//! | first acknowledgement of recovery | at least one segment | the same |

/// Version of PRR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrrVersion {
    /// RFC 6937.
    Rfc6937,
    /// RFC 9937.
    Rfc9937,
}

/// Effects of an acknowledgement that PRR uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrrAck {
    /// Number of segments newly delivered.
    pub delivered: u32,
    /// Number of segments newly declared lost.
    pub lost: u32,
    /// Whether the cumulative acknowledgement advanced.
    pub advanced: bool,
    /// Whether retransmitted data were acknowledged.
    pub retransmission_acked: bool,
    /// Whether a retransmission was declared lost.
    pub retransmission_lost: bool,
}

/// PRR in one recovery period. All counts are in segments.
#[derive(Clone, Copy, Debug)]
pub struct Prr {
    version: PrrVersion,
    /// Window before the reduction; RecoverFS of the RFCs.
    prior_window: u32,
    ssthresh: u32,
    delivered: u32,
    out: u32,
}

impl Prr {
    /// Starts a reduction from `prior_window` to `ssthresh`.
    #[must_use]
    pub const fn new(version: PrrVersion, prior_window: u32, ssthresh: u32) -> Self {
        Self { version, prior_window, ssthresh, delivered: 0, out: 0 }
    }

    /// Counts a segment sent during recovery.
    pub fn on_sent(&mut self) {
        self.out += 1;
    }

    /// Sets another target of the reduction.
    pub fn set_target(&mut self, ssthresh: u32) {
        self.ssthresh = ssthresh;
    }

    /// Target of the reduction.
    #[must_use]
    pub const fn ssthresh(&self) -> u32 {
        self.ssthresh
    }

    /// Window after an acknowledgement that leaves `in_flight` segments; `None`: no change, since nothing was
    /// delivered.
    pub fn on_ack(&mut self, in_flight: u32, ack: PrrAck) -> Option<u32> {
        if ack.delivered == 0 || self.prior_window == 0 {
            return None;
        }
        self.delivered += ack.delivered;
        let count = if in_flight > self.ssthresh {
            // "sndcnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out"
            let share = u64::from(self.delivered) * u64::from(self.ssthresh);
            let share = share.div_ceil(u64::from(self.prior_window));
            u32::try_from(share).unwrap_or(u32::MAX).saturating_sub(self.out)
        } else {
            let behind = self.delivered.saturating_sub(self.out).max(ack.delivered);
            let limit = match self.version {
                PrrVersion::Rfc9937 => behind + u32::from(ack.advanced && ack.lost == 0),
                PrrVersion::Rfc6937 if ack.retransmission_acked && !ack.retransmission_lost => behind + 1,
                PrrVersion::Rfc6937 => ack.delivered,
            };
            limit.min(self.ssthresh - in_flight)
        };
        // "Force a fast retransmit upon entering recovery"
        let count = count.max(u32::from(self.out == 0));
        Some(in_flight + count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivered(delivered: u32) -> PrrAck {
        PrrAck { delivered, ..PrrAck::default() }
    }

    /// RFC 6937 section 4.1, first example: window 20, one loss, threshold 10: one segment is sent for
    /// every second acknowledgement.
    #[test]
    fn half_as_much_is_sent_as_is_delivered() {
        let mut prr = Prr::new(PrrVersion::Rfc9937, 20, 10);
        let mut in_flight: u32 = 16; // 20 less 3 delivered and 1 lost
        let mut sent = 0;
        for _ in 0..12 {
            in_flight -= 1;
            let window = prr.on_ack(in_flight, delivered(1)).unwrap();
            while in_flight < window {
                prr.on_sent();
                sent += 1;
                in_flight += 1;
            }
        }
        assert_eq!((sent, in_flight), (6, 10));
    }

    /// Below the threshold as many segments are sent as delivered (packet conservation), and one more if the
    /// acknowledgement is safe.
    #[test]
    fn below_the_threshold_only_a_safe_ack_adds_one() {
        let ack = PrrAck { delivered: 2, advanced: true, ..PrrAck::default() };
        let fresh = || {
            let mut prr = Prr::new(PrrVersion::Rfc9937, 20, 10);
            prr.delivered = 4;
            prr.out = 4;
            prr
        };
        assert_eq!(fresh().on_ack(4, ack), Some(4 + 3));
        assert_eq!(fresh().on_ack(4, PrrAck { lost: 1, ..ack }), Some(4 + 2));
        assert_eq!(fresh().on_ack(9, ack), Some(10), "never beyond the threshold");
        let old = |ack| {
            let mut prr = fresh();
            prr.version = PrrVersion::Rfc6937;
            prr.on_ack(4, ack)
        };
        assert_eq!(old(ack), Some(4 + 2));
        assert_eq!(old(PrrAck { retransmission_acked: true, ..ack }), Some(4 + 3));
        let both = PrrAck { retransmission_acked: true, retransmission_lost: true, ..ack };
        assert_eq!(old(both), Some(4 + 2));
    }

    #[test]
    fn the_first_acknowledgement_lets_one_segment_go() {
        let mut prr = Prr::new(PrrVersion::Rfc9937, 100, 1);
        assert_eq!(prr.on_ack(90, delivered(1)), Some(91));
        prr.on_sent();
        assert_eq!(prr.on_ack(90, delivered(1)), Some(90));
        assert_eq!(prr.on_ack(90, delivered(0)), None, "nothing delivered, nothing changes");
    }
}
