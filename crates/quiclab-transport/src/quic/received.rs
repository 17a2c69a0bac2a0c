//! Packets received in a packet number space, and their acknowledgement (RFC 9000 section 13.2).
//!
//! | Aspect | Here | RFC 9000 |
//! | --- | --- | --- |
//! | ranges kept | the newest `most_ranges` | section 13.2.3: "limits the number of ACK Ranges" |
//! | packets in or below a dropped range | count as duplicates | "MUST retain an ACK Range unless it can ensure that it will not subsequently accept packets with numbers in that range" |
//! | ranges in a frame | the largest that fit | "A receiver SHOULD include an ACK Range containing the largest received packet number in every ACK frame" |
//! | a packet out of order | any except the one after the largest; never the first | section 13.2.1 |
//! | ECN counts | of all packets of the space, once one was ECN-capable | section 13.4.1 |

#[cfg(test)]
mod tests;

use crate::acknowledgement::{AckPolicy, Arrival};
use crate::range_set::RangeSet;
use quiclab_core::quic::{AckFrame, EcnCounts, varint_length};
use quiclab_core::{Duration, Ecn, Time};

/// Unit of ACK Delay: 2^3 microseconds (RFC 9000 section 18.2, ack_delay_exponent).
const DELAY_UNIT_NS: u64 = 8_000;

/// Packets received in a space.
pub(crate) struct Received {
    policy: Box<dyn AckPolicy>,
    ranges: RangeSet,
    most_ranges: usize,
    /// Number below which all count as received.
    forgotten: u64,
    /// Largest number received, and its time; `None`: none.
    largest: Option<(u64, Time)>,
    /// Number of ECN-capable packets, by their field.
    ecn: EcnCounts,
    /// Number of ack-eliciting packets since the last acknowledgement.
    unacknowledged: u32,
    /// Whether the last packet was out of order.
    out_of_order: bool,
    /// Time at which an acknowledgement must be sent, instead of that of the policy.
    asked_due: Option<Time>,
}

impl Received {
    /// Makes the state before the first packet; it keeps the newest ranges, at most `most_ranges` (0 counts
    /// as 1).
    pub(crate) fn new(policy: Box<dyn AckPolicy>, most_ranges: u32) -> Self {
        Self {
            policy,
            ranges: RangeSet::default(),
            most_ranges: most_ranges.max(1) as usize,
            forgotten: 0,
            largest: None,
            ecn: EcnCounts::default(),
            unacknowledged: 0,
            out_of_order: false,
            asked_due: None,
        }
    }

    /// Whether packet `number` was received before, or is too old to be known, and must be ignored (RFC 9000
    /// section 12.3).
    pub(crate) fn is_duplicate(&self, number: u64) -> bool {
        // the next packet in order needs no search
        self.largest.is_some_and(|(largest, _)| number <= largest)
            && (number < self.forgotten || self.ranges.contains(number))
    }

    /// Handles packet `number`, not a duplicate, received with the ECN field `field`; `srtt` as measured by
    /// this end.
    pub(crate) fn on_packet(
        &mut self,
        now: Time,
        number: u64,
        ack_eliciting: bool,
        field: Ecn,
        srtt: Option<Duration>,
    ) {
        self.ranges.insert(number..number + 1);
        if self.ranges.len() > self.most_ranges {
            self.forget_first();
        }
        let largest = self.largest.map(|(largest, _)| largest);
        if largest.is_none_or(|largest| number > largest) {
            self.largest = Some((number, now));
        }
        match field {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.ecn.ect0 += 1,
            Ecn::Ect1 => self.ecn.ect1 += 1,
            Ecn::Ce => self.ecn.ce += 1,
        }
        let ce = field == Ecn::Ce;
        if ack_eliciting {
            let out_of_order = largest.is_some_and(|largest| number != largest + 1);
            self.unacknowledged += 1;
            self.out_of_order = out_of_order;
            self.policy.on_arrival(&Arrival { now, number, largest, out_of_order, ce, srtt });
        } else {
            self.policy.on_other(number);
        }
    }

    /// Policy, for ACK_FREQUENCY and IMMEDIATE_ACK.
    pub(crate) fn policy(&mut self) -> &mut dyn AckPolicy {
        self.policy.as_mut()
    }

    /// Time at which an acknowledgement must be sent, at once if it is not in the future; `None`: none is
    /// due.
    pub(crate) fn due(&self) -> Option<Time> {
        self.asked_due.or_else(|| self.policy.due())
    }

    /// Time at which the policy alone would acknowledge.
    pub(crate) fn native_due(&self) -> Option<Time> {
        self.policy.due()
    }

    /// Requires an acknowledgement at `due`, regardless of the policy, or at the earlier time required by an
    /// earlier packet.
    pub(crate) fn ask_due(&mut self, due: Time) {
        if self.asked_due.is_some() || self.policy.due() != Some(due) {
            self.asked_due = Some(self.asked_due.map_or(due, |earlier| earlier.min(due)));
        }
    }

    /// Number of ack-eliciting packets since the last acknowledgement, and whether the last one was out of
    /// order.
    pub(crate) fn unacknowledged(&self) -> (u32, bool) {
        (self.unacknowledged, self.out_of_order)
    }

    /// Whether an ack-eliciting packet has not been acknowledged: an acknowledgement may be bundled with
    /// another packet.
    pub(crate) fn is_pending(&self) -> bool {
        self.due().is_some()
    }

    /// Frame that acknowledges all packets, with as many ranges as fit into `room` bytes (RFC 9000 section
    /// 19.3); `None`: no range is kept, or it does not fit. The caller calls [`Received::on_ack_sent`] when
    /// it is sent.
    pub(crate) fn ack_frame(&self, now: Time, room: usize) -> Option<AckFrame> {
        let (largest, arrived) = self.largest?;
        let mut ranges = self.ranges.iter().rev().map(|range| range.start..=range.end - 1);
        let first = ranges.next()?;
        let mut frame = AckFrame { delay: now.since(arrived), ..AckFrame::default() };
        frame.ecn = (self.ecn != EcnCounts::default()).then_some(self.ecn);
        // all but the count of further ranges, which may itself grow: type, Largest Acknowledged, ACK
        // Delay, First ACK Range, and the counts of ECT(0), ECT(1), CE
        let mut length = 1
            + varint_length(largest)
            + varint_length(frame.delay.as_nanos() / DELAY_UNIT_NS)
            + varint_length(first.end() - first.start())
            + frame.ecn.map_or(0, |EcnCounts { ect0, ect1, ce }| {
                varint_length(ect0) + varint_length(ect1) + varint_length(ce)
            });
        if length + varint_length(0) > room {
            return None;
        }
        let mut above = *first.start();
        frame.ranges.push(first);
        for range in ranges {
            length += varint_length(above - range.end() - 2) + varint_length(range.end() - range.start());
            if length + varint_length(frame.ranges.len() as u64) > room {
                break;
            }
            above = *range.start();
            frame.ranges.push(range);
        }
        Some(frame)
    }

    /// Handles an acknowledgement that was sent.
    pub(crate) fn on_ack_sent(&mut self, now: Time) {
        (self.unacknowledged, self.asked_due) = (0, None);
        self.policy.on_ack_sent(now);
    }

    /// Handles the acknowledgement of an ACK frame up to `largest`, which need not be repeated (RFC 9000
    /// section 13.2.4): removes ranges that end there or before.
    pub(crate) fn forget_up_to(&mut self, largest: u64) {
        while self.ranges.first().is_some_and(|range| range.end - 1 <= largest) {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some(range) = self.ranges.pop_first() {
            self.forgotten = range.end;
        }
    }
}
