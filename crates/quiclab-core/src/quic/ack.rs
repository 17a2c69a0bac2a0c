//! The ACK frame (RFC 9000 section 19.3): its ranges are checked once and decoded lazily.

use super::Cursor;
use super::error::FrameFault;
use std::ops::RangeInclusive;

/// An ACK frame whose ranges have been checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack<'a> {
    /// The largest packet number acknowledged.
    pub largest: u64,
    /// ACK Delay as encoded: microseconds divided by 2^ack_delay_exponent.
    pub delay: u64,
    /// Packets before `largest` in the first range.
    pub first_range: u64,
    /// ECN counts; `None` in a frame of type 0x02.
    pub ecn: Option<EcnCounts>,
    /// Encoded Gap and ACK Range Length pairs.
    ranges: &'a [u8],
}

/// ECN counts of an ACK frame (RFC 9000 section 19.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounts {
    /// Packets received with ECT(0).
    pub ect0: u64,
    /// Packets received with ECT(1).
    pub ect1: u64,
    /// Packets received with ECN-CE.
    pub ce: u64,
}

impl<'a> Ack<'a> {
    /// Parses the fields after the type and, in PATH_ACK, after the path ID.
    ///
    /// # Errors
    /// If the frame is truncated, or a range goes below packet number 0.
    pub fn parse(cursor: &mut Cursor<'a>, has_ecn: bool) -> Result<Self, FrameFault> {
        let mut next = || cursor.varint().ok_or(FrameFault::Truncated);
        let (largest, delay, count, first_range) = (next()?, next()?, next()?, next()?);
        let negative = FrameFault::OutOfRange("a range goes below packet number 0");
        let mut smallest = largest.checked_sub(first_range).ok_or(negative)?;
        let start = *cursor;
        // A range takes two bytes at least: a false count ends the loop at the packet's end.
        for _ in 0..count {
            let gap = cursor.varint().ok_or(FrameFault::Truncated)?;
            let length = cursor.varint().ok_or(FrameFault::Truncated)?;
            smallest = smallest.checked_sub(gap + 2).and_then(|s| s.checked_sub(length)).ok_or(negative)?;
        }
        let ranges = &start.rest()[..start.rest().len() - cursor.rest().len()];
        let mut next = || cursor.varint().ok_or(FrameFault::Truncated);
        let ecn = if has_ecn { Some(EcnCounts { ect0: next()?, ect1: next()?, ce: next()? }) } else { None };
        Ok(Self { largest, delay, first_range, ecn, ranges })
    }

    /// The ranges of acknowledged packet numbers, the largest first.
    #[must_use]
    pub fn ranges(&self) -> AckRanges<'a> {
        AckRanges { next: Some((self.largest, self.first_range)), encoded: Cursor::new(self.ranges) }
    }
}

/// Iterator over the ranges of an ACK frame, the largest packet numbers first.
#[derive(Clone, Debug)]
pub struct AckRanges<'a> {
    /// Largest packet number of the next range, and number of packets that precede it in the range.
    next: Option<(u64, u64)>,
    encoded: Cursor<'a>,
}

impl Iterator for AckRanges<'_> {
    type Item = RangeInclusive<u64>;

    fn next(&mut self) -> Option<Self::Item> {
        let (largest, length) = self.next?;
        let smallest = largest - length; // checked in `Ack::parse`, as is the next subtraction
        self.next = self.encoded.varint().zip(self.encoded.varint()).map(|(gap, l)| (smallest - gap - 2, l));
        Some(smallest..=largest)
    }
}
