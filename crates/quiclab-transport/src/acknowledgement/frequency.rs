//! Acknowledgement as requested by the peer: ACK_FREQUENCY and IMMEDIATE_ACK
//! (draft-ietf-quic-ack-frequency-11 sections 4 to 6).
//!
//! | Aspect | Here | draft |
//! | --- | --- | --- |
//! | before the first request | every second packet, max_ack_delay, gaps and CE at once | RFC 9000 section 13.2.1 |
//! | Ack-Eliciting Threshold t | at once when more than t packets wait | the same |
//! | Reordering Threshold r >= 2 | at once when the sender detects a new loss by it | section 6.2, see below |
//! | r = 1, r = 0 | at once on any gap; never | the same |
//! | CE mark | at once if the previous packet had none | section 6.3 |
//! | an obsolete request | ignored, by its sequence number | section 4 |
//!
//! Section 6.2: with r >= 2 the *largest reported* number is the largest acknowledged - r + 1: the sender,
//! whose packet threshold is r, has detected the loss of all below it. Missing numbers from there to the
//! largest received are unreported; when the largest received is r or more above the smallest of these, an
//! acknowledgement is sent at once. (quinn excludes the largest reported number itself, whose loss no sender
//! can have detected; here it counts.)

use super::{AckPolicy, AckRequest, Arrival};
use quiclab_core::{Duration, Time};

/// Policy that the peer sets.
#[derive(Clone, Debug)]
pub struct Frequency {
    /// Parameters in effect.
    threshold: u64,
    max_ack_delay: Duration,
    reordering_threshold: u64,
    /// Sequence number of the latest request; `None` before the first.
    sequence: Option<u64>,
    /// Ack-eliciting packets not acknowledged.
    pending: u64,
    /// Arrival time of the first of them; `None`: there are none.
    first: Option<Time>,
    /// Time since which an acknowledgement is due at once; `None`: not at once.
    at_once: Option<Time>,
    /// Whether the last ack-eliciting packet had a CE mark.
    ce: bool,
    /// Largest number received; `None` before the first packet.
    largest: Option<u64>,
    /// Largest number received that is ack-eliciting.
    largest_eliciting: u64,
    /// Largest number acknowledged; `None` before the first acknowledgement.
    largest_acked: Option<u64>,
    /// Missing numbers that are unreported: ranges (first, last), ascending.
    missing: Vec<(u64, u64)>,
}

/// Maximum number of ranges of missing numbers that are kept; the oldest are discarded first.
const MAX_RANGES: usize = 256;

impl Frequency {
    /// Acknowledges as in RFC 9000, within `max_ack_delay`, until the peer requests another policy.
    #[must_use]
    pub fn new(max_ack_delay: Duration) -> Self {
        Self {
            threshold: 1,
            max_ack_delay,
            reordering_threshold: 1,
            sequence: None,
            pending: 0,
            first: None,
            at_once: None,
            ce: false,
            largest: None,
            largest_eliciting: 0,
            largest_acked: None,
            missing: Vec::with_capacity(MAX_RANGES),
        }
    }

    /// Delay in effect, on which the peer may rely in its PTO.
    #[must_use]
    pub fn max_ack_delay(&self) -> Duration {
        self.max_ack_delay
    }

    /// Records the arrival of `number`.
    fn receive(&mut self, number: u64) {
        let Some(largest) = self.largest else {
            // nothing is missing before the first packet
            self.largest = Some(number);
            return;
        };
        if number > largest {
            if number > largest + 1 {
                if self.missing.len() == MAX_RANGES {
                    self.missing.remove(0);
                }
                self.missing.push((largest + 1, number - 1));
            }
            self.largest = Some(number);
            return;
        }
        let index = self.missing.partition_point(|(_, last)| *last < number);
        let Some((first, last)) = self.missing.get_mut(index).filter(|(first, _)| *first <= number) else {
            return;
        };
        match (*first == number, *last == number) {
            (true, true) => drop(self.missing.remove(index)),
            (true, false) => *first += 1,
            (false, true) => *last -= 1,
            (false, false) => {
                let rest = (number + 1, *last);
                *last = number - 1;
                if self.missing.len() < MAX_RANGES {
                    self.missing.insert(index + 1, rest);
                }
            }
        }
    }

    /// Whether an acknowledgement would show the sender a new loss (section 6.2).
    fn reports_a_loss(&self) -> bool {
        let smallest = self.missing.first().map(|(first, _)| *first);
        smallest.is_some_and(|missing| {
            self.largest_eliciting.saturating_sub(missing) >= self.reordering_threshold
        })
    }

    /// Forgets the missing numbers below the largest reported one: their loss has been detected.
    fn forget_reported(&mut self) {
        let Some(acked) = self.largest_acked else { return };
        let reported = (acked + 1).saturating_sub(self.reordering_threshold.max(1));
        let old = self.missing.partition_point(|(_, last)| *last < reported);
        self.missing.drain(..old);
        if let Some((first, _)) = self.missing.first_mut() {
            *first = (*first).max(reported);
        }
    }
}

impl AckPolicy for Frequency {
    fn on_arrival(&mut self, arrival: &Arrival) {
        self.receive(arrival.number);
        self.largest_eliciting = self.largest_eliciting.max(arrival.number);
        self.pending += 1;
        self.first.get_or_insert(arrival.now);
        let gap = match self.reordering_threshold {
            0 => false,
            1 => arrival.out_of_order,
            _ => self.reports_a_loss(),
        };
        let marked = arrival.ce && (self.sequence.is_none() || !self.ce);
        self.ce = arrival.ce;
        if self.pending > self.threshold || gap || marked {
            self.at_once.get_or_insert(arrival.now);
        }
    }

    fn on_other(&mut self, number: u64) {
        self.receive(number);
    }

    fn on_request(&mut self, now: Time, request: &AckRequest) {
        if self.sequence.is_some_and(|seen| request.sequence <= seen) {
            return;
        }
        self.sequence = Some(request.sequence);
        self.threshold = request.ack_eliciting_threshold;
        self.max_ack_delay = request.max_ack_delay;
        self.reordering_threshold = request.reordering_threshold;
        self.forget_reported();
        if self.pending > self.threshold {
            self.at_once.get_or_insert(now);
        }
    }

    fn on_immediate_ack(&mut self, now: Time) {
        self.at_once.get_or_insert(now);
    }

    fn due(&self) -> Option<Time> {
        let delayed = self.first.map(|first| first + self.max_ack_delay);
        self.at_once.into_iter().chain(delayed).min()
    }

    fn on_ack_sent(&mut self, _now: Time) {
        self.pending = 0;
        self.first = None;
        self.at_once = None;
        self.largest_acked = self.largest;
        self.forget_reported();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acknowledgement::testing::{arrival, ms};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn request(sequence: u64, threshold: u64, delay_ms: u64, reordering: u64) -> AckRequest {
        AckRequest {
            sequence,
            ack_eliciting_threshold: threshold,
            max_ack_delay: Duration::from_millis(delay_ms),
            reordering_threshold: reordering,
        }
    }

    fn policy(threshold: u64, delay_ms: u64, reordering: u64) -> Frequency {
        let mut policy = Frequency::new(Duration::from_millis(25));
        policy.on_request(Time::ZERO, &request(0, threshold, delay_ms, reordering));
        policy
    }

    /// Delivers packets in turn, one each microsecond; returns those after which an acknowledgement was sent.
    fn acknowledged(policy: &mut Frequency, numbers: &[u64]) -> Vec<u64> {
        let mut result = Vec::new();
        let mut largest = None;
        for (index, number) in numbers.iter().enumerate() {
            let now = Time::from_nanos(index as u64 * 1000);
            let out_of_order = largest.is_some_and(|largest: u64| *number != largest + 1);
            let arrival = Arrival { now, largest, out_of_order, ..arrival(0, *number) };
            policy.on_arrival(&arrival);
            largest = largest.max(Some(*number));
            if policy.due().is_some_and(|due| due <= now) {
                policy.on_ack_sent(now);
                result.push(*number);
            }
        }
        result
    }

    /// Section 4: "The maximum number of ack-eliciting packets the recipient of this frame can receive before
    /// sending an acknowledgment"; 0: each is acknowledged.
    #[test]
    fn more_packets_than_the_threshold_are_acknowledged_at_once() {
        assert_eq!(acknowledged(&mut policy(0, 25, 1), &[0, 1, 2]), [0, 1, 2]);
        assert_eq!(acknowledged(&mut policy(3, 25, 1), &[0, 1, 2, 3, 4, 5, 6, 7, 8]), [3, 7]);
    }

    #[test]
    fn before_a_request_it_acknowledges_as_rfc_9000_says() {
        let mut policy = Frequency::new(Duration::from_millis(25));
        assert_eq!(acknowledged(&mut policy, &[0, 1, 2, 4, 5, 6]), [1, 4, 6]);
        let mut policy = Frequency::new(Duration::from_millis(25));
        for number in 0..3 {
            policy.on_arrival(&Arrival { ce: true, ..arrival(1, number) });
            assert_eq!(policy.due(), Some(ms(1)));
            policy.on_ack_sent(ms(1));
        }
    }

    #[test]
    fn the_requested_delay_holds_at_once() {
        let mut policy = Frequency::new(Duration::from_millis(25));
        policy.on_arrival(&arrival(10, 0));
        assert_eq!(policy.due(), Some(ms(35)));
        policy.on_request(ms(12), &request(0, 10, 5, 1));
        assert_eq!((policy.due(), policy.max_ack_delay()), (Some(ms(15)), Duration::from_millis(5)));
        policy.on_request(ms(13), &request(1, 0, 100, 1));
        assert_eq!(policy.due(), Some(ms(13)));
    }

    /// Section 4: "If the frame's sequence number is not greater than the largest one seen so far, the
    /// endpoint MUST ignore this frame."
    #[test]
    fn an_obsolete_request_is_ignored() {
        let mut policy = policy(10, 5, 1);
        policy.on_request(ms(0), &request(3, 10, 7, 1));
        for sequence in [0, 2, 3] {
            policy.on_request(ms(0), &request(sequence, 0, 100, 0));
        }
        assert_eq!(policy.max_ack_delay(), Duration::from_millis(7));
    }

    /// r = 3. 2 is missing: reported when 5 arrives (5 - 2 = 3). Largest reported is then 5 - 3 + 1 = 3.
    /// 6 and 7 are missing: 9 - 6 = 3 reports 6; largest reported 7. 10 - 7 = 3 reports 7.
    #[test]
    fn an_acknowledgement_leaves_when_it_shows_a_loss() {
        let numbers = [0, 1, 3, 4, 5, 8, 9, 10, 11, 12, 13];
        assert_eq!(acknowledged(&mut policy(100, 25, 3), &numbers), [5, 9, 10]);
    }

    /// 2 arrives before 5: the gap is filled in time and nothing is sent.
    #[test]
    fn a_gap_that_is_filled_in_time_is_not_reported() {
        assert_eq!(acknowledged(&mut policy(100, 25, 3), &[0, 1, 3, 4, 2, 5, 6, 7]), [0u64; 0]);
        // with r = 1 each packet out of order is, including the one that fills the gap; with 0 none
        assert_eq!(acknowledged(&mut policy(100, 25, 1), &[0, 1, 3, 4, 2, 5, 6, 7]), [3, 2]);
        assert_eq!(acknowledged(&mut policy(100, 25, 0), &[0, 1, 3, 4, 2, 5, 90, 91]), [0u64; 0]);
    }

    #[test]
    fn packets_that_ask_for_nothing_are_not_missing() {
        let mut policy = policy(100, 25, 2);
        policy.on_arrival(&arrival(0, 0));
        policy.on_other(1);
        policy.on_arrival(&arrival(0, 2));
        policy.on_arrival(&arrival(0, 3));
        assert_eq!(policy.due(), Some(ms(25)));
        policy.on_other(5); // 4 is missing, 5 is not ack-eliciting: nothing is due for it
        assert_eq!(policy.due(), Some(ms(25)));
        policy.on_arrival(&arrival(1, 6));
        assert_eq!(policy.due(), Some(ms(1)));
    }

    /// Section 6.3: "and the previously received packet was not marked CE".
    #[test]
    fn the_first_mark_of_a_row_is_acknowledged_at_once() {
        let mut policy = policy(100, 25, 1);
        let mut due = |number, ce| {
            policy.on_arrival(&Arrival { ce, ..arrival(3, number) });
            let due = policy.due().expect("a packet has arrived");
            policy.on_ack_sent(due);
            due
        };
        assert_eq!([due(0, true), due(1, true), due(2, false), due(3, true)], [3, 28, 28, 3].map(ms));
    }

    #[test]
    fn an_immediate_ack_is_acknowledged_at_once() {
        let mut policy = policy(100, 25, 0);
        policy.on_arrival(&arrival(3, 0));
        policy.on_immediate_ack(ms(3));
        assert_eq!(policy.due(), Some(ms(3)));
        policy.on_ack_sent(ms(3));
        assert_eq!(policy.due(), None);
    }

    proptest! {
        /// Compared with the definition, with a set of all numbers received: an acknowledgement is sent
        /// exactly when a sender with a packet threshold of r would detect a new loss.
        #[test]
        fn it_reports_exactly_what_a_sender_would_take_for_lost(
            reordering in 2u64..6,
            steps in prop::collection::vec(0u64..7, 1..80),
        ) {
            let mut policy = policy(1_000_000, 25, reordering);
            // a permutation with losses: some numbers are delayed, some are never sent
            let mut numbers = Vec::new();
            let mut held = Vec::new();
            for (number, step) in steps.iter().enumerate() {
                match step {
                    0 => {}
                    1 => held.push(number as u64),
                    2 => {
                        numbers.push(number as u64);
                        numbers.append(&mut held);
                    }
                    _ => numbers.push(number as u64),
                }
            }
            let mut received = BTreeSet::new();
            let mut seen_lost = BTreeSet::new();
            let mut expected = Vec::new();
            for number in &numbers {
                received.insert(*number);
                let largest = *received.last().expect("just inserted");
                let lost = |n: &u64| largest - n >= reordering && !received.contains(n);
                let first = numbers[0];
                let news = (first..largest).filter(lost).any(|n| !seen_lost.contains(&n));
                if news {
                    seen_lost.extend((first..largest).filter(lost));
                    expected.push(*number);
                }
            }
            prop_assert_eq!(acknowledged(&mut policy, &numbers), expected);
        }
    }
}
