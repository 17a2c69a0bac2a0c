//! Reports of losses of a path.
//!
//! A report is a datagram of a header, number 0 and the tag `report`, followed by the last number that
//! arrived on the path (3 bytes), the first number of the map (3 bytes), and one bit per number from there
//! on, the highest bit of a byte first: 1 if it is missing.

use super::number::{NUMBERS, nearest};

/// Maximum number of packet numbers that one report covers.
pub(super) const MAX_REPORTED: u64 = 4096;

/// Losses of a path as seen by the receiving end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Report {
    /// The last number that arrived on the path, below 2^18.
    pub(super) last: u32,
    /// The first number of the map.
    pub(super) start: u32,
    /// Missing numbers, from `start` on.
    pub(super) missing: Vec<u64>,
}

impl Report {
    /// The datagram without its header.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(64);
        bytes.extend_from_slice(&self.last.to_be_bytes()[1..]);
        bytes.extend_from_slice(&self.start.to_be_bytes()[1..]);
        for &offset in &self.missing {
            let at = 6 + (offset / 8) as usize;
            bytes.resize(bytes.len().max(at + 1), 0);
            bytes[at] |= 0x80 >> (offset % 8);
        }
        bytes
    }

    /// The report in the bytes after a header; `None` if there is none.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (numbers, map) = bytes.split_at_checked(6)?;
        let number = |at: usize| u32::from_be_bytes([0, numbers[at], numbers[at + 1], numbers[at + 2]]);
        let (last, start) = (number(0), number(3));
        if map.len() as u64 * 8 > MAX_REPORTED || u64::from(last.max(start)) >= NUMBERS {
            return None;
        }
        let missing =
            (0..map.len() as u64 * 8).filter(|bit| map[(bit / 8) as usize] & (0x80 >> (bit % 8)) != 0);
        Some(Self { last, start, missing: missing.collect() })
    }
}

/// Missing numbers up to `last`, the last number that arrived on a path: `awaited` is the first awaited
/// number, `next` the one above the highest that arrived, both counted from 0; `is_missing` is the state of
/// each between them.
pub(super) fn report(last: u32, awaited: u64, next: u64, is_missing: impl Fn(u64) -> bool) -> Option<Report> {
    let end = nearest(last, next)?;
    // losses of a path directly precede the arrivals on it
    let first = awaited.max(end.saturating_sub(MAX_REPORTED));
    let missing: Vec<u64> =
        (first..end).filter(|number| is_missing(*number)).map(|number| number - first).collect();
    (!missing.is_empty()).then_some(Report { last, start: (first % NUMBERS) as u32, missing })
}
