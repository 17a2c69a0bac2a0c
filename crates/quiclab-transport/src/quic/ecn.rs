//! ECN of a path: whether packets are ECN-capable, and whether the peer's counts of marks are valid (RFC 9000
//! section 13.4.2 and appendix A.4).
//!
//! | | RFC 9000 | here |
//! | --- | --- | --- |
//! | capable packets before the path is validated | ten, or those of three PTO (A.4) | ten |
//! | counts that fail | fewer than the ECN-capable packets newly acknowledged; another codepoint than sent; none; more than sent | the same, with marks included in the packets sent, and counts that decrease |
//! | acknowledgements that do not increase the largest number | ignored | the same |
//! | after a failure | not capable; may be tried again | not capable |

use quiclab_core::Ecn;
use quiclab_core::quic::EcnCounts;

/// Number of ECN-capable packets before the path is validated (RFC 9000 appendix A.4).
const TESTED: u64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Off,
    Testing,
    /// These packets were sent, without feedback so far.
    Unknown,
    Capable,
    Failed,
}

/// ECN of packets sent on a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathEcn {
    /// Codepoint of ECN-capable packets.
    codepoint: Ecn,
    state: State,
    sent: u64,
    marked: u64,
}

impl PathEcn {
    /// Makes the state of a path whose packets are sent with `codepoint` if it passes the validation;
    /// [`Ecn::NotEct`]: without ECN.
    pub(super) fn new(codepoint: Ecn) -> Self {
        let state = if codepoint == Ecn::NotEct { State::Off } else { State::Testing };
        Self { codepoint, state, sent: 0, marked: 0 }
    }

    /// ECN field of the next datagram.
    pub(super) fn field(&self) -> Ecn {
        match self.state {
            State::Testing | State::Capable => self.codepoint,
            State::Off | State::Unknown | State::Failed => Ecn::NotEct,
        }
    }

    /// Handles an ECN-capable packet that is sent.
    pub(super) fn on_sent(&mut self) {
        self.sent += 1;
        if self.state == State::Testing && self.sent >= TESTED {
            self.state = State::Unknown;
        }
    }

    /// Number of packets with marks that the peer has reported; `None` if ECN is not in use.
    pub(super) fn marked(&self) -> Option<u64> {
        (self.state != State::Off).then_some(self.marked)
    }

    /// Handles an acknowledgement that increases the largest number in its space: it newly acknowledges
    /// `capable` packets, and has these counts; those of the space were `before`. Returns the number of
    /// packets newly reported as marked.
    pub(super) fn on_ack(&mut self, capable: u64, before: &mut EcnCounts, counts: Option<EcnCounts>) -> u64 {
        if matches!(self.state, State::Off | State::Failed) {
            return 0;
        }
        let new = match counts {
            Some(counts) => {
                self.increase(*before, counts).filter(|new| new.ect0 + new.ect1 + new.ce >= capable)
            }
            None => (capable == 0).then(EcnCounts::default),
        };
        let Some(new) = new else {
            self.state = State::Failed;
            return 0;
        };
        *before = counts.unwrap_or(*before);
        if capable > 0 {
            self.state = State::Capable;
        }
        self.marked += new.ce;
        new.ce
    }

    /// Increase of `counts`; `None`: they are invalid.
    fn increase(&self, before: EcnCounts, counts: EcnCounts) -> Option<EcnCounts> {
        let new = EcnCounts {
            ect0: counts.ect0.checked_sub(before.ect0)?,
            ect1: counts.ect1.checked_sub(before.ect1)?,
            ce: counts.ce.checked_sub(before.ce)?,
        };
        let other = if self.codepoint == Ecn::Ect0 { new.ect1 } else { new.ect0 };
        let total = counts.ect0 + counts.ect1 + counts.ce;
        (other == 0 && total <= self.sent).then_some(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(ect0: u64, ect1: u64, ce: u64) -> Option<EcnCounts> {
        Some(EcnCounts { ect0, ect1, ce })
    }

    fn sent(packets: u64) -> PathEcn {
        let mut ecn = PathEcn::new(Ecn::Ect0);
        (0..packets).for_each(|_| ecn.on_sent());
        ecn
    }

    #[test]
    fn ten_packets_test_a_path_and_an_answer_validates_it() {
        let mut ecn = sent(9);
        assert_eq!(ecn.field(), Ecn::Ect0);
        ecn.on_sent();
        assert_eq!(ecn.field(), Ecn::NotEct, "nothing is known of the ten");
        let mut before = EcnCounts::default();
        assert_eq!(ecn.on_ack(2, &mut before, counts(1, 0, 1)), 1);
        assert_eq!((ecn.field(), ecn.marked()), (Ecn::Ect0, Some(1)));
        assert_eq!(ecn.on_ack(1, &mut before, counts(2, 0, 1)), 0);
        assert_eq!(Some(before), counts(2, 0, 1));
    }

    /// A path that clears the field, or sets another; a peer that decreases counts, or reports fewer packets
    /// than it acknowledges, more than were sent, or none.
    #[test]
    fn counts_that_cannot_be_true_end_it() {
        for (capable, before, reported) in [
            (2, (0, 0, 0), None),
            (2, (0, 0, 0), counts(1, 0, 0)),
            (2, (0, 0, 0), counts(0, 2, 0)),
            (2, (3, 0, 1), counts(5, 0, 0)),
            (2, (0, 0, 0), counts(11, 0, 0)),
        ] {
            let mut ecn = sent(10);
            let mut before = EcnCounts { ect0: before.0, ect1: before.1, ce: before.2 };
            assert_eq!(ecn.on_ack(capable, &mut before, reported), 0);
            assert_eq!(ecn.field(), Ecn::NotEct, "{reported:?}");
            // permanently
            assert_eq!(ecn.on_ack(1, &mut EcnCounts::default(), counts(1, 0, 0)), 0);
            assert_eq!(ecn.field(), Ecn::NotEct);
        }
    }

    #[test]
    fn a_mark_counts_for_the_packet_that_it_replaces() {
        let mut ecn = sent(4);
        assert_eq!(ecn.on_ack(4, &mut EcnCounts::default(), counts(0, 0, 4)), 4);
        assert_eq!(ecn.field(), Ecn::Ect0);
    }

    #[test]
    fn without_ecn_counts_are_ignored() {
        let mut ecn = PathEcn::new(Ecn::NotEct);
        assert_eq!(ecn.on_ack(0, &mut EcnCounts::default(), counts(1, 2, 3)), 0);
        assert_eq!((ecn.field(), ecn.marked()), (Ecn::NotEct, None));
    }
}
