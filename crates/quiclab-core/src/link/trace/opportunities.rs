//! Delivery opportunities after Mahimahi's link shell (Netravali et al. 2015): at each time of the
//! trace up to 1504 bytes leave.
//!
//! A packet may need several opportunities and leaves with its last byte; the remainder of an opportunity
//! serves the next packets at that instant; unused capacity is lost. The trace restarts at its last time, so
//! an opportunity at 0 coincides with the last one.
//!
//! | | Mahimahi | here |
//! | --- | --- | --- |
//! | packet that arrives at the instant of an opportunity | misses it | may use the remainder of it |
//! | size of a packet | IP packet and 4 bytes of TUN header | IP packet and the link's overhead (4 B for the same numbers) |
//! | times | wall clock from the start of the shell, in ms | time of the run |

use super::TraceError;
use crate::time::Time;
use crate::units::{ByteCount, DataRate};
use std::sync::Arc;

/// Bytes per opportunity: a packet of 1500 bytes and four bytes of TUN header.
const OPPORTUNITY_BYTES: u64 = 1504;

/// Times at which packets may leave.
#[derive(Debug)]
pub(super) struct Opportunities {
    /// Nanoseconds since the start of the trace, ascending, not empty, the last one above 0.
    times: Vec<u64>,
    looped: bool,
}

impl Opportunities {
    /// Creates the opportunities of `times` from the parser: not empty, ascending.
    pub(super) fn new(times: Vec<u64>, looped: bool) -> Result<Self, TraceError> {
        match times.last() {
            None => Err(TraceError::Empty),
            Some(0) => Err(TraceError::ZeroPeriod),
            Some(_) => Ok(Self { times, looped }),
        }
    }

    fn length(&self) -> u64 {
        self.times[self.times.len() - 1]
    }
}

/// A position in the trace.
#[derive(Debug)]
pub(in crate::link) struct OpportunityCursor {
    trace: Arc<Opportunities>,
    /// Nanoseconds at which the present pass began.
    pass: u64,
    /// Index of the next opportunity of this pass; equal to their number if the pass is over.
    next: usize,
    /// Bytes left of the opportunity at `left_at`.
    left: u64,
    left_at: Time,
}

impl OpportunityCursor {
    pub(super) fn new(trace: Arc<Opportunities>) -> Self {
        Self { trace, pass: 0, next: 0, left: 0, left_at: Time::ZERO }
    }

    /// Departure of `size` bytes whose serialisation begins at `start`; `None` if the trace ends before.
    pub(super) fn finish(&mut self, start: Time, size: ByteCount) -> Option<Time> {
        if self.left_at < start {
            self.left = 0;
            self.skip_until(start.as_nanos());
        }
        let mut need = size.bytes();
        let mut end = start;
        loop {
            let used = need.min(self.left);
            self.left -= used;
            need -= used;
            if need == 0 {
                return Some(end);
            }
            // passes that a very large packet fills are skipped together, all but its last
            let in_pass = OPPORTUNITY_BYTES.saturating_mul(self.trace.times.len() as u64);
            if need > in_pass && self.trace.looped {
                let whole = (need - 1) / in_pass;
                self.pass = self.pass.checked_add(whole.checked_mul(self.trace.length())?)?;
                need -= whole * in_pass;
            }
            end = self.next_opportunity()?;
            (self.left, self.left_at) = (OPPORTUNITY_BYTES, end);
        }
    }

    /// Skips the opportunities before `start`.
    fn skip_until(&mut self, start: u64) {
        let length = self.trace.length();
        if self.trace.looped && start - self.pass > length {
            // to the pass that ends at `start` or after it
            self.pass += (start - self.pass - 1) / length * length;
            self.next = 0;
        }
        let missed = |time: &u64| *time < start - self.pass;
        self.next += self.trace.times[self.next..].partition_point(missed);
    }

    /// Consumes the next opportunity.
    fn next_opportunity(&mut self) -> Option<Time> {
        if self.next == self.trace.times.len() {
            if !self.trace.looped {
                return None;
            }
            self.pass = self.pass.checked_add(self.trace.length())?;
            self.next = 0;
        }
        let time = self.pass.checked_add(self.trace.times[self.next])?;
        self.next += 1;
        Some(Time::from_nanos(time))
    }

    /// Mean capacity of the trace per time, rounded down.
    pub(super) fn mean_rate(&self) -> DataRate {
        let bits = self.trace.times.len() as u128 * u128::from(OPPORTUNITY_BYTES) * 8_000_000_000;
        let rate = bits / u128::from(self.trace.length());
        DataRate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX))
    }

    /// Whether the last opportunity was before `now`.
    pub(super) fn has_ended(&self, now: Time) -> bool {
        !self.trace.looped && now.as_nanos() > self.trace.length()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn cursor(millis: &[u64], looped: bool) -> OpportunityCursor {
        let times = millis.iter().map(|ms| ms * MS).collect();
        OpportunityCursor::new(Arc::new(Opportunities::new(times, looped).unwrap()))
    }

    /// Ends of packets of the given (start, size) in (ms, bytes), each begun at the end of the previous one
    /// at the earliest.
    fn ends(cursor: &mut OpportunityCursor, packets: &[(u64, u64)]) -> Vec<Option<u64>> {
        let mut free = Time::ZERO;
        let mut ends = Vec::new();
        for &(start, bytes) in packets {
            let start = Time::from_nanos(start * MS).max(free);
            let end = cursor.finish(start, ByteCount::from_bytes(bytes));
            free = end.unwrap_or(Time::MAX);
            ends.push(end.map(|end| end.as_nanos() / MS));
        }
        ends
    }

    #[test]
    fn packets_span_opportunities_and_share_what_is_left() {
        let mut trace = cursor(&[2, 2, 5, 10], true);
        assert_eq!(
            ends(&mut trace, &[(0, 1504), (0, 1000), (0, 504), (0, 1), (0, 3000), (0, 11), (0, 1504)]),
            // the fourth begins the one at 5 (1 of 1504), the fifth needs 1503 of it and 1497 of
            // the one at 10, the sixth overlaps by four bytes into the next pass
            [2, 2, 2, 5, 10, 12, 12].map(Some)
        );
    }

    #[test]
    fn unused_opportunities_are_lost() {
        let mut trace = cursor(&[2, 5, 10], true);
        assert_eq!(ends(&mut trace, &[(0, 100), (3, 1504), (6, 1504), (11, 1404)]), [2, 5, 10, 12].map(Some));
        // after many idle passes
        assert_eq!(ends(&mut trace, &[(1000, 1504), (1000, 1504), (1003, 1)]), [1000, 1002, 1005].map(Some));
    }

    #[test]
    fn an_opportunity_at_zero_comes_with_the_last_one() {
        let mut trace = cursor(&[0, 10], true);
        let packets = [(0, 1504), (0, 1504), (0, 1504), (0, 1504), (0, 1504)];
        assert_eq!(ends(&mut trace, &packets), [0, 10, 10, 20, 20].map(Some));
    }

    #[test]
    fn stopped_and_very_large() {
        let mut trace = cursor(&[2, 5], false);
        assert_eq!(ends(&mut trace, &[(0, 1504), (0, 1505)]), [Some(2), None]);
        assert!(!trace.has_ended(Time::from_nanos(5 * MS)));
        assert!(trace.has_ended(Time::from_nanos(5 * MS + 1)));
        let mut trace = cursor(&[2, 5], true);
        // 3008 bytes a pass of 5 ms
        assert_eq!(ends(&mut trace, &[(0, 3008 * 1_000_000 + 1)]), [Some(5_000_002)]);
        assert_eq!(ends(&mut trace, &[(0, u64::MAX)]), [None]);
        assert_eq!(Opportunities::new(vec![0, 0], true).unwrap_err(), TraceError::ZeroPeriod);
        // 2 x 12 032 bits in 5 ms
        assert_eq!(cursor(&[2, 5], true).mean_rate().bits_per_second(), 4_812_800);
    }

    /// Mahimahi's loop: one opportunity after the other serves the queue.
    fn reference(millis: &[u64], packets: &[(u64, u64)]) -> Vec<Option<u64>> {
        let mut ends = Vec::new();
        let mut in_transit = None;
        let mut waiting = packets.iter().copied().peekable();
        for pass in 0.. {
            for opportunity in millis.iter().map(|ms| pass * millis[millis.len() - 1] + ms) {
                let mut left = OPPORTUNITY_BYTES;
                while left > 0 {
                    let arrived = waiting.next_if(|(start, _)| in_transit.is_none() && *start <= opportunity);
                    in_transit = in_transit.or(arrived.map(|(_, bytes)| bytes));
                    let Some(bytes) = in_transit.take() else { break };
                    let used = left.min(bytes);
                    left -= used;
                    if used == bytes {
                        ends.push(Some(opportunity));
                    } else {
                        in_transit = Some(bytes - used);
                    }
                }
                if ends.len() == packets.len() {
                    return ends;
                }
            }
        }
        unreachable!("the passes do not end")
    }

    proptest! {
        #[test]
        fn deliveries_are_those_of_mahimahi(
            gaps in prop::collection::vec(0..4u64, 1..20),
            packets in prop::collection::vec((0..30u64, 1..5000u64), 1..40),
        ) {
            let mut at = 0;
            let mut sum = |gap: &u64| { at += gap; at };
            let mut millis: Vec<u64> = gaps.iter().map(&mut sum).collect();
            if millis.last() == Some(&0) {
                millis.push(1);
            }
            let mut at = 0;
            let packets: Vec<_> = packets.iter().map(|(gap, bytes)| { at += gap; (at, *bytes) }).collect();
            prop_assert_eq!(ends(&mut cursor(&millis, true), &packets), reference(&millis, &packets));
        }
    }
}
