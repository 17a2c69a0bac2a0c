//! Feedback in acknowledgements about marks of packets sent (RFC 9768 sections 3.2.2 and 3.2.3, appendix A.2;
//! Linux `__tcp_accecn_process`, `tcp_accecn_process_option`).
//!
//! The ACE field counts modulo 8. With an acknowledgement of more packets it may have wrapped: then the count
//! is the largest that fits (the safest likely case), unless the option, or acknowledgements that usually
//! cover many packets, show that it was less.

use super::{INITIAL, MASK};
use quiclab_core::{AccEcnOption, counter_difference};

/// Unit and weight of averages of packets acknowledged at once: 1/2^6 (`PKTS_ACKED_PREC`,
/// `PKTS_ACKED_WEIGHT`).
const PRECISION: u32 = 6;
const WEIGHT: u32 = 6;
/// Average number of packets per acknowledgement from which acknowledgements count as thinned on the path
/// (`ACK_COMP_THRESH`).
const THINNED: u64 = 4;
/// Index of CE in the option.
const CE: usize = 1;

/// Acknowledgement that was not overtaken by another.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Acknowledged {
    /// Its ACE field, and its option.
    pub(in crate::tcp) ace: u8,
    pub(in crate::tcp) option: Option<AccEcnOption>,
    /// Packets and bytes newly delivered.
    pub(in crate::tcp) packets: u64,
    pub(in crate::tcp) bytes: u64,
    /// Payload of a full segment in bytes.
    pub(in crate::tcp) payload: u64,
    /// Whether the number of delivered packets is exact: with SACK, or without losses.
    pub(in crate::tcp) exact: bool,
}

/// Counts of the sending half.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Feedback {
    /// Number of packets with marks (`delivered_ce`), without the initial value.
    marked: u64,
    /// Payload by field, as in the option, in bytes.
    bytes: [u64; 3],
    /// Field whose bytes were counted last, if it was only one: bytes acknowledged without an option belong
    /// to it.
    estimated: Option<usize>,
    /// Whether the peer has sent options.
    option: bool,
    /// Average of packets acknowledged at once; `None` before the first.
    average: Option<u64>,
}

impl Feedback {
    /// Makes the state; `marked`: whether the SYN-ACK had a mark; `option`: whether the peer sends options.
    pub(in crate::tcp) fn new(marked: bool, option: bool) -> Self {
        Self { marked: u64::from(marked), bytes: [0; 3], estimated: None, option, average: None }
    }

    /// Handles an acknowledgement; returns the number of packets newly reported as marked.
    pub(in crate::tcp) fn on_ack(&mut self, ack: &Acknowledged) -> u64 {
        let marks = self.marks(ack);
        self.marked += marks;
        marks
    }

    fn marks(&mut self, ack: &Acknowledged) -> u64 {
        let before = self.bytes[CE];
        let bytes_known = self.take_bytes(ack);
        self.note_packets(ack.packets);
        let least = (u64::from(ack.ace).wrapping_sub(INITIAL).wrapping_sub(self.marked)) & MASK;
        if ack.packets <= MASK {
            return least;
        }
        let most = ack.packets - ((ack.packets - least) & MASK);
        if !bytes_known {
            let is_thinned = self.average.is_some_and(|average| average > THINNED << PRECISION);
            return if is_thinned { least } else { most };
        }
        let marked_bytes = self.bytes[CE].wrapping_sub(before);
        if marked_bytes == 0 {
            return least;
        }
        if ack.packets >= 2 * (MASK + 1) && ack.exact {
            if ack.bytes <= marked_bytes {
                return most;
            }
            let estimate = (marked_bytes * ack.packets).div_ceil(ack.bytes);
            return most.min(least + (estimate & !MASK));
        }
        if marked_bytes > least * ack.payload {
            return most;
        }
        if marked_bytes < most * ack.payload / 2 { least } else { most }
    }

    /// Counts the bytes of the option, or an estimate of them. Returns whether the bytes with marks are
    /// known.
    fn take_bytes(&mut self, ack: &Acknowledged) -> bool {
        let estimated = self.estimated;
        let Some(option) = ack.option else {
            if let Some(index) = estimated.filter(|_| self.option) {
                self.bytes[index] += ack.bytes;
                return true;
            }
            return false;
        };
        let (mut known, mut changed) = (estimated.is_some(), false);
        let mut ambiguous = false;
        for (index, received) in option.bytes().enumerate() {
            let delta = counter_difference(received, self.bytes[index]);
            self.bytes[index] = self.bytes[index].wrapping_add_signed(i64::from(delta));
            ambiguous |= delta < 0;
            if delta != 0 && estimated != Some(index) {
                ambiguous |= changed;
                if !changed {
                    self.estimated = Some(index);
                    changed = true;
                }
            }
        }
        if ambiguous {
            (self.estimated, known) = (None, false);
        }
        known
    }

    fn note_packets(&mut self, packets: u64) {
        if packets > 0 {
            let now = packets << PRECISION;
            let average = self.average.map_or(now, |average| ((average << WEIGHT) - average + now) >> WEIGHT);
            self.average = Some(average.min(0xffff));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYLOAD: u64 = 1000;

    /// Acknowledgement of `packets` full segments with the ACE field of `marked` marks.
    fn ack(packets: u64, marked: u64) -> Acknowledged {
        let ace = ((INITIAL + marked) & MASK) as u8;
        Acknowledged { ace, option: None, packets, bytes: packets * PAYLOAD, payload: PAYLOAD, exact: true }
    }

    fn with_option(packets: u64, marked: u64, bytes: [u64; 3]) -> Acknowledged {
        Acknowledged { option: Some(AccEcnOption::of_bytes(bytes, 3)), ..ack(packets, marked) }
    }

    /// State in which acknowledgements usually cover two packets.
    fn usual(option: bool) -> Feedback {
        Feedback { average: Some(2 << PRECISION), ..Feedback::new(false, option) }
    }

    /// Section 3.2.2.2: the minimum increment, also across the wrap from 7 to 0.
    #[test]
    fn few_packets_are_counted_exactly() {
        let mut feedback = Feedback::new(false, false);
        let marks: Vec<_> = [0, 2, 2, 9, 10].map(|marked| feedback.on_ack(&ack(7, marked))).into();
        assert_eq!((marks, feedback.marked), (vec![0, 2, 0, 7, 1], 10));
    }

    /// A SYN-ACK with a mark has been counted: 6 is not a new mark.
    #[test]
    fn the_mark_of_the_handshake_is_counted_once() {
        let mut feedback = Feedback::new(true, false);
        assert_eq!(feedback.on_ack(&ack(1, 1)), 0);
        assert_eq!(feedback.on_ack(&ack(1, 2)), 1);
    }

    /// Appendix A.2: of 12 packets, 3 more in the field may be 3 or 11: 11 is the safest likely case; of 10 they are 3.
    #[test]
    fn a_field_that_may_have_wrapped_counts_as_much_as_fits() {
        assert_eq!(usual(false).on_ack(&ack(12, 3)), 11);
        assert_eq!(usual(false).on_ack(&ack(10, 3)), 3);
        // no change of the field: none, or 8
        assert_eq!(usual(false).on_ack(&ack(8, 0)), 8);
    }

    /// Acknowledgements that usually cover more than four packets: not every one of them has wrapped.
    #[test]
    fn where_acknowledgements_are_thinned_out_the_least_counts() {
        let mut feedback = Feedback { average: Some((THINNED << PRECISION) + 1), ..usual(false) };
        assert_eq!(feedback.on_ack(&ack(12, 3)), 3);
        // the first acknowledgement is the average
        assert_eq!(Feedback::new(false, false).on_ack(&ack(12, 3)), 3);
    }

    /// With bytes: none had marks; all had; and a part, to the next whole number of rounds.
    #[test]
    fn the_option_tells_how_often_the_field_has_wrapped() {
        let known = || {
            let mut feedback = usual(true);
            feedback.on_ack(&with_option(1, 0, [0, 0, 1000]));
            assert_eq!(feedback.estimated, Some(2));
            feedback
        };
        assert_eq!(known().on_ack(&with_option(16, 0, [0, 0, 17_000])), 0);
        // one field only changed, but another one than before: the estimate of the field is kept
        assert_eq!(known().on_ack(&with_option(16, 16, [0, 16_000, 1000])), 16);
        assert_eq!(known().on_ack(&with_option(12, 3, [0, 3000, 10_000])), 3);
        assert_eq!(known().on_ack(&with_option(12, 3, [0, 11_000, 2000])), 11);
        // 20 packets, 11 of them marked: 3 in the field, and 8 by bytes
        assert_eq!(known().on_ack(&with_option(20, 11, [0, 11_000, 10_000])), 11);
    }

    /// Two fields changed at once, or one decreased: the bytes of this acknowledgement are not known to be
    /// complete.
    #[test]
    fn ambiguous_options_leave_the_safest_likely_case() {
        let mut feedback = usual(true);
        assert_eq!(feedback.on_ack(&with_option(12, 3, [0, 3000, 9000])), 11);
        assert_eq!(feedback.bytes, [0, 3000, 9000]);
        let mut feedback = usual(true);
        feedback.on_ack(&with_option(2, 0, [0, 0, 2000]));
        feedback.on_ack(&with_option(1, 0, [0, 0, 1000]));
        assert_eq!((feedback.estimated, feedback.bytes[2]), (None, 1000));
    }

    /// Without an option, acknowledged bytes count for the field that changed last.
    #[test]
    fn an_acknowledgement_without_an_option_is_of_the_field_before() {
        let mut feedback = usual(true);
        feedback.on_ack(&with_option(1, 0, [0, 0, 1000]));
        assert_eq!(feedback.on_ack(&ack(8, 0)), 0);
        assert_eq!(feedback.bytes, [0, 0, 9000]);
    }
}
