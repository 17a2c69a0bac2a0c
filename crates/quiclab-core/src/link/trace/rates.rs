//! A rate that holds until the next time of the trace.
//!
//! A packet has left when the integral of the rate over time since its start reaches its size. The
//! integral is exact: 128-bit integers of (bit/s x ns); the result is rounded up to a nanosecond.

use super::TraceError;
use super::parse::RateEntry;
use crate::link::TraceEnd;
use crate::link::capacity::{UNITS_PER_BYTE, nanos_for};
use crate::time::Time;
use crate::units::{ByteCount, DataRate};
use std::sync::Arc;

/// Segments of constant rate, each up to the start of the next one, the last one up to `length`.
#[derive(Debug)]
pub(super) struct Rates {
    segments: Vec<RateEntry>,
    /// Nanoseconds until the trace restarts or ends; `u64::MAX` if the last rate holds.
    length: u64,
    looped: bool,
    /// Capacity of one pass, in (bit/s x ns); above 0.
    capacity: u128,
}

impl Rates {
    /// Creates the rates of `entries` from the parser: not empty, from 0, strictly ascending.
    pub(super) fn new(mut entries: Vec<RateEntry>, at_end: TraceEnd) -> Result<Self, TraceError> {
        let last = *entries.last().ok_or(TraceError::Empty)?;
        // except where a positive rate holds, the last entry marks the end
        let holds = at_end == TraceEnd::Hold && last.rate > 0;
        let length = if holds { u64::MAX } else { last.start };
        if !holds {
            entries.pop();
            if entries.is_empty() && at_end != TraceEnd::Hold {
                return Err(TraceError::ZeroPeriod);
            }
        }
        let mut rates = Self { segments: entries, length, looped: at_end == TraceEnd::Loop, capacity: 0 };
        rates.capacity = (0..rates.segments.len()).map(|index| rates.room(index, 0)).sum();
        if rates.capacity == 0 { Err(TraceError::AllZero) } else { Ok(rates) }
    }

    /// Whether a rate is 0.
    pub(super) fn pauses(&self) -> bool {
        self.segments.iter().any(|segment| segment.rate == 0)
    }

    /// End of segment `index`.
    fn end(&self, index: usize) -> u64 {
        self.segments.get(index + 1).map_or(self.length, |next| next.start)
    }

    /// Capacity of segment `index` from `from` on, in (bit/s x ns).
    fn room(&self, index: usize, from: u64) -> u128 {
        let RateEntry { start, rate } = self.segments[index];
        u128::from(rate) * u128::from(self.end(index) - start.max(from))
    }
}

/// A position in the trace.
#[derive(Debug)]
pub(in crate::link) struct RateCursor {
    rates: Arc<Rates>,
    /// Segment of the last lookup, which the next one tries first.
    hint: usize,
}

impl RateCursor {
    pub(super) fn new(rates: Arc<Rates>) -> Self {
        Self { rates, hint: 0 }
    }

    /// Start of the pass that `at` falls into, time since then, and segment; `None` after the end.
    fn locate(&mut self, at: Time) -> Option<(u64, u64, usize)> {
        let (at, rates) = (at.as_nanos(), &self.rates);
        let offset = match (at < rates.length, rates.looped) {
            (true, _) => at,
            (false, true) => at % rates.length,
            (false, false) => return None,
        };
        let covers = |index: usize| index < rates.segments.len() && rates.segments[index].start <= offset;
        let hit = |index: usize| covers(index) && offset < rates.end(index);
        if !hit(self.hint) {
            self.hint = if hit(self.hint + 1) {
                self.hint + 1
            } else {
                // the first segment starts at 0, so there is one before the partition point
                rates.segments.partition_point(|segment| segment.start <= offset) - 1
            };
        }
        Some((at - offset, offset, self.hint))
    }

    /// Departure of `size` bytes whose serialisation begins at `start`; `None` if the trace ends before.
    pub(super) fn finish(&mut self, start: Time, size: ByteCount) -> Option<Time> {
        let mut need = u128::from(size.bytes()) * UNITS_PER_BYTE;
        if need == 0 {
            return Some(start);
        }
        let (pass, mut offset, mut index) = self.locate(start)?;
        let mut pass = u128::from(pass);
        let rates = &self.rates;
        loop {
            let room = rates.room(index, offset);
            if need <= room {
                let nanos = nanos_for(need, rates.segments[index].rate);
                return u64::try_from(pass + u128::from(offset) + nanos).ok().map(Time::from_nanos);
            }
            need -= room;
            index += 1;
            if index == rates.segments.len() {
                if !rates.looped {
                    return None;
                }
                // passes that a very large packet fills are skipped together, all but its last
                let whole = (need - 1) / rates.capacity;
                need -= whole * rates.capacity;
                pass = pass.saturating_add((whole + 1).saturating_mul(u128::from(rates.length)));
                index = 0;
            }
            offset = rates.segments[index].start;
        }
    }

    /// The rate at `now`, 0 after the end.
    pub(super) fn rate_at(&mut self, now: Time) -> DataRate {
        let rate = self.locate(now).map_or(0, |(.., index)| self.rates.segments[index].rate);
        DataRate::from_bits_per_second(rate)
    }

    /// Whether the trace is over at `now`.
    pub(super) fn has_ended(&self, now: Time) -> bool {
        !self.rates.looped && now.as_nanos() >= self.rates.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn cursor(entries: &[(u64, u64)], at_end: TraceEnd) -> Result<RateCursor, TraceError> {
        let entries = entries.iter().map(|&(start, rate)| RateEntry { start, rate }).collect();
        Rates::new(entries, at_end).map(|rates| RateCursor::new(Arc::new(rates)))
    }

    fn finish(cursor: &mut RateCursor, start: u64, bytes: u64) -> Option<u64> {
        cursor.finish(Time::from_nanos(start), ByteCount::from_bytes(bytes)).map(Time::as_nanos)
    }

    #[test]
    fn a_packet_spans_rates_and_pauses() {
        // 8 Mbit/s is a byte per microsecond: 1000 bytes in the first millisecond, none in the
        // second, 500 in the third
        let trace = [(0, 8_000_000), (MS, 0), (2 * MS, 4_000_000), (3 * MS, 0)];
        let mut looped = cursor(&trace, TraceEnd::Loop).unwrap();
        assert_eq!(finish(&mut looped, 0, 1000), Some(MS));
        assert_eq!(finish(&mut looped, 0, 1001), Some(2 * MS + 2_000));
        assert_eq!(finish(&mut looped, MS, 1), Some(2 * MS + 2_000));
        assert_eq!(finish(&mut looped, MS + 1, 500), Some(3 * MS));
        // the last entry marks the end; the next pass begins there
        assert_eq!(finish(&mut looped, 2 * MS, 501), Some(3 * MS + 1_000));
        assert_eq!(finish(&mut looped, 3_000 * MS + MS / 2, 501), Some(3_002 * MS + 2_000));
        // 1500 bytes a pass
        assert_eq!(finish(&mut looped, 0, 1_500_001), Some(3_000 * MS + 1_000));
        assert_eq!(looped.rate_at(Time::from_nanos(5 * MS)).bits_per_second(), 4_000_000);
    }

    #[test]
    fn hold_and_stop() {
        let trace = [(0, 8_000_000), (MS, 16_000_000)];
        let mut held = cursor(&trace, TraceEnd::Hold).unwrap();
        assert_eq!(finish(&mut held, 0, 3000), Some(2 * MS));
        assert!(!held.has_ended(Time::from_nanos(u64::MAX - 1)));
        let mut stopped = cursor(&trace, TraceEnd::Stop).unwrap();
        assert_eq!(finish(&mut stopped, 0, 1000), Some(MS));
        assert_eq!(finish(&mut stopped, 1, 1000), None);
        assert_eq!(finish(&mut stopped, MS, 1), None);
        assert!(!stopped.has_ended(Time::from_nanos(MS - 1)));
        assert!(stopped.has_ended(Time::from_nanos(MS)));
        assert_eq!(stopped.rate_at(Time::from_nanos(MS)), DataRate::default());
        // a rate of 0 that holds is an end
        let mut dark = cursor(&[(0, 8_000_000), (MS, 0)], TraceEnd::Hold).unwrap();
        assert!(dark.has_ended(Time::from_nanos(MS)));
        assert_eq!(finish(&mut dark, 0, 1001), None);
        assert!(cursor(&[(0, 1)], TraceEnd::Hold).is_ok());
    }

    #[test]
    fn traces_that_serve_nothing_are_refused() {
        for at_end in [TraceEnd::Loop, TraceEnd::Stop] {
            assert_eq!(cursor(&[(0, 5)], at_end).unwrap_err(), TraceError::ZeroPeriod);
            assert_eq!(cursor(&[(0, 0), (MS, 5)], at_end).unwrap_err(), TraceError::AllZero);
        }
        assert_eq!(cursor(&[(0, 0), (MS, 0)], TraceEnd::Hold).unwrap_err(), TraceError::AllZero);
        assert_eq!(cursor(&[(0, 0)], TraceEnd::Hold).unwrap_err(), TraceError::AllZero);
    }

    #[test]
    fn the_end_of_time_is_never() {
        let mut slow = cursor(&[(0, 1), (MS, 0)], TraceEnd::Loop).unwrap();
        assert_eq!(finish(&mut slow, 0, u64::MAX), None);
        assert_eq!(finish(&mut slow, u64::MAX - 5, 1), None);
        let mut constant = cursor(&[(0, 1)], TraceEnd::Hold).unwrap();
        assert_eq!(finish(&mut constant, u64::MAX - 5, 1), None);
    }

    /// Capacity of a trace between two instants, segment by segment, pass by pass.
    fn integral(entries: &[(u64, u64)], from: u64, until: u64) -> u128 {
        let period = entries.last().unwrap().0;
        let mut sum = 0;
        for pass in from / period..=until / period {
            for pair in entries.windows(2) {
                let start = (pass * period + pair[0].0).max(from);
                let end = (pass * period + pair[1].0).min(until);
                sum += u128::from(pair[0].1) * u128::from(end.saturating_sub(start));
            }
        }
        sum
    }

    proptest! {
        #[test]
        fn packets_finish_at_the_first_nanosecond_at_which_the_integral_suffices(
            steps in prop::collection::vec((1..2_000_000u64, prop_oneof![Just(0), 1..200_000_000u64]), 1..40),
            packets in prop::collection::vec((0..3_000_000u64, 1..3000u64), 1..30),
        ) {
            let mut entries = Vec::new();
            let mut at = 0;
            for (length, rate) in &steps {
                entries.push((at, *rate));
                at += length;
            }
            entries.push((at, 0));
            prop_assume!(steps.iter().any(|(_, rate)| *rate > 0));
            let total = integral(&entries, 0, at);
            let mut cursor = cursor(&entries, TraceEnd::Loop).unwrap();
            let mut start = 0;
            for (gap, bytes) in packets {
                start += gap;
                let need = u128::from(bytes) * UNITS_PER_BYTE;
                prop_assume!(need / total < 1000);
                let end = finish(&mut cursor, start, bytes).unwrap();
                prop_assert!(integral(&entries, start, end) >= need);
                prop_assert!(integral(&entries, start, end - 1) < need);
                start = end;
            }
        }
    }
}
