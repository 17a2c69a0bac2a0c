//! Reassembly: data received in order and beyond, and the blocks that report them to the sender (RFC 9293
//! section 3.10.7.4, RFC 2018, RFC 2883; Linux `tcp_data_queue_ofo`, `tcp_sack_new_ofo_skb`).
//!
//! Data out of order are kept as disjoint intervals in ascending order, together with the four intervals
//! changed last, which fill the SACK option.
//!
//! | | RFC | Linux | here |
//! |---|---|---|---|
//! | block of an arrival | largest contiguous one (2018 section 4) | merged only with the four remembered | as Linux |
//! | further blocks | the most recently reported | the four changed last | as Linux |
//! | D-SACK beside a gap-filling segment | overlap | first queued segment to end of the new one | overlap |
//! | data behind a FIN | must not exist | dropped when FIN is reached | as Linux |

#[cfg(test)]
mod tests;

use crate::tcp::memory;
use quiclab_core::SackBlocks;
use std::collections::VecDeque;

/// Number of blocks that are remembered (Linux `TCP_NUM_SACKS`).
const REMEMBERED: usize = 4;
/// Number of blocks behind which a change might be missing in a merged ACK (Linux
/// `TCP_SACK_BLOCKS_EXPECTED`).
const EXPECTED: usize = 2;

/// Interval of positions, end exclusive.
type Interval = (u64, u64);

/// Interval that is held, and the memory of its segments.
#[derive(Clone, Copy, Debug)]
struct Held {
    start: u64,
    end: u64,
    memory: u64,
}

/// Effect of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// All its data had arrived in order before.
    Duplicate,
    /// It moved the next position. `filled`: no data are out of order any more, but some were.
    InOrder { filled: bool },
    /// It lies behind a gap. `distant`: its block was not among the first two.
    OutOfOrder { distant: bool },
}

/// State of reassembly.
#[derive(Clone, Debug)]
pub(super) struct Reassembly {
    /// First position not yet received in order (RCV.NXT).
    next: u64,
    /// Intervals received beyond `next`: ascending, disjoint, not adjacent.
    held: VecDeque<Held>,
    held_bytes: u64,
    /// Memory of the segments that are held or in order and not read, in bytes.
    memory: u64,
    memory_in_order: u64,
    /// Blocks for the SACK option, changed last first; `remembered` of them are valid.
    recent: [Interval; REMEMBERED],
    remembered: u8,
    /// Duplicate to report, until it is reported or other data arrive.
    duplicate: Option<Interval>,
    /// Position of FIN, if it has arrived, in order or not.
    fin: Option<u64>,
    sack: bool,
    dsack: bool,
}

impl Reassembly {
    /// Makes the state before any data. `sack`: as negotiated; `dsack`: whether duplicates are reported.
    pub(super) fn new(sack: bool, dsack: bool) -> Self {
        Self {
            next: 1,
            held: VecDeque::new(),
            held_bytes: 0,
            memory: 0,
            memory_in_order: 0,
            recent: [(0, 0); REMEMBERED],
            remembered: 0,
            duplicate: None,
            fin: None,
            sack,
            dsack: sack && dsack,
        }
    }

    /// First position not yet received in order.
    pub(super) fn next(&self) -> u64 {
        self.next
    }
    /// End of the bytes received in order: `next` without FIN.
    pub(super) fn readable(&self) -> u64 {
        self.next - u64::from(self.is_complete())
    }
    /// Whether FIN and all data before it have arrived.
    pub(super) fn is_complete(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }
    /// Position after all data that have arrived.
    pub(super) fn highest(&self) -> u64 {
        self.held.back().map_or(self.next, |last| last.end)
    }
    /// Number of positions held out of order.
    pub(super) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }
    /// Memory of the segments that are out of order, or in order and not read, in bytes.
    pub(super) fn memory(&self) -> u64 {
        self.memory
    }
    /// Handles the read of all data in order.
    pub(super) fn on_read(&mut self) {
        self.memory -= std::mem::take(&mut self.memory_in_order);
    }

    /// Adds the received positions `start..end`, the last of them FIN if `fin`; all within the window.
    pub(super) fn insert(&mut self, start: u64, end: u64, fin: bool) -> Outcome {
        self.duplicate = None; // an older one that no ACK has carried is lost, as in Linux
        if end <= self.next || self.is_complete() {
            self.report_duplicate(start, end.min(self.next));
            return Outcome::Duplicate;
        }
        if fin {
            // a FIN that contradicts an earlier one cannot extend the stream
            self.fin = Some(self.fin.map_or(end - 1, |known| known.min(end - 1)));
        }
        let memory = memory::of_received(end - start);
        self.memory += memory;
        let arrived = Held { start, end, memory };
        if start > self.next { self.insert_beyond(arrived) } else { self.insert_next(arrived) }
    }

    /// Adds data in order, and removes intervals that are then in order (Linux `tcp_ofo_queue`).
    fn insert_next(&mut self, arrived: Held) -> Outcome {
        let end = arrived.end;
        self.report_duplicate(arrived.start, self.next);
        self.memory_in_order += arrived.memory;
        let was_held = !self.held.is_empty();
        self.next = end;
        while let Some(&block) = self.held.front() {
            if block.start > self.next {
                break;
            }
            self.held.pop_front();
            self.held_bytes -= block.end - block.start;
            self.memory_in_order += block.memory;
            self.report_duplicate(block.start, block.end.min(end));
            self.next = self.next.max(block.end);
        }
        if let Some(fin) = self.fin.filter(|fin| self.next > *fin) {
            self.next = fin + 1;
            self.held.clear();
            self.held_bytes = 0;
            self.memory = self.memory_in_order;
        }
        self.forget_covered();
        Outcome::InOrder { filled: was_held && self.held.is_empty() }
    }

    fn insert_beyond(&mut self, arrived: Held) -> Outcome {
        let Held { start, end, memory } = arrived;
        match self.held.back_mut() {
            // a window behind one loss arrives in order: no search
            Some(last) if last.end == start => {
                last.end = end;
                last.memory += memory;
                self.held_bytes += end - start;
            }
            _ => self.merge(arrived),
        }
        if !self.sack {
            return Outcome::OutOfOrder { distant: false };
        }
        Outcome::OutOfOrder { distant: self.remember(start, end) }
    }

    /// Adds an interval and merges it with overlapping and adjacent ones.
    fn merge(&mut self, arrived: Held) {
        let Held { start, end, .. } = arrived;
        let first = self.held.partition_point(|block| block.end < start);
        if self.held.get(first).is_some_and(|block| block.start <= start && end <= block.end) {
            self.memory -= arrived.memory; // no part of it is new: it is dropped
            return self.report_duplicate(start, end);
        }
        let mut merged = arrived;
        let mut last = first;
        while let Some(&block) = self.held.get(last) {
            if block.start > end {
                break;
            }
            self.report_duplicate(block.start.max(start), block.end.min(end));
            self.held_bytes -= block.end - block.start;
            merged.start = merged.start.min(block.start);
            merged.end = merged.end.max(block.end);
            merged.memory += block.memory;
            last += 1;
        }
        self.held_bytes += merged.end - merged.start;
        if last == first {
            self.held.insert(first, merged);
        } else {
            self.held[first] = merged;
            self.held.drain(first + 1..last);
        }
    }

    /// Remembers a block: "The first SACK block MUST specify the contiguous block of data containing the
    /// segment which triggered this ACK" (RFC 2018 section 4). Returns whether that block was not among the
    /// first two.
    fn remember(&mut self, start: u64, end: u64) -> bool {
        let count = usize::from(self.remembered);
        let touching = self.recent[..count].iter().position(|block| touches(*block, (start, end)));
        let place = match touching {
            Some(place) => place,
            None => {
                // the oldest is dropped if there is no room
                self.remembered = (count + 1).min(REMEMBERED) as u8;
                count.min(REMEMBERED - 1)
            }
        };
        let block = touching.map_or((start, end), |place| union(self.recent[place], (start, end)));
        self.recent[..=place].rotate_right(1);
        self.recent[0] = block;
        self.coalesce();
        touching.unwrap_or(count) >= EXPECTED
    }

    /// Merges the first block with others that it has grown into (Linux `tcp_sack_maybe_coalesce`).
    fn coalesce(&mut self) {
        let mut at = 1;
        while at < usize::from(self.remembered) {
            if touches(self.recent[0], self.recent[at]) {
                self.recent[0] = union(self.recent[0], self.recent[at]);
                self.remove_recent(at);
            } else {
                at += 1;
            }
        }
    }

    /// Removes blocks that `next` has reached and thus acknowledges (Linux `tcp_sack_remove`).
    fn forget_covered(&mut self) {
        if self.held.is_empty() {
            self.remembered = 0;
        }
        let mut at = 0;
        while at < usize::from(self.remembered) {
            if self.recent[at].0 <= self.next {
                self.remove_recent(at);
            } else {
                at += 1;
            }
        }
    }

    fn remove_recent(&mut self, at: usize) {
        self.recent[at..usize::from(self.remembered)].rotate_left(1);
        self.remembered -= 1;
    }

    /// Records a duplicate for the next ACK. A further one of the same segment only extends it: "each
    /// duplicate contiguous sequence of data received is reported in at most one D-SACK block" (RFC 2883
    /// section 4).
    fn report_duplicate(&mut self, start: u64, end: u64) {
        if !self.dsack || start >= end {
            return;
        }
        match &mut self.duplicate {
            Some(known) if touches(*known, (start, end)) => *known = union(*known, (start, end)),
            Some(_) => {}
            none => *none = Some((start, end)),
        }
    }

    /// Takes the blocks for an ACK, at most `limit`, the duplicate first; it is reported once.
    pub(super) fn take_blocks(&mut self, limit: usize) -> Option<SackBlocks> {
        let duplicate = self.duplicate.take();
        let remembered = &self.recent[..usize::from(self.remembered)];
        if duplicate.is_none() && remembered.is_empty() {
            return None;
        }
        let mut blocks = SackBlocks::default();
        for (start, end) in duplicate.into_iter().chain(remembered.iter().copied()).take(limit) {
            blocks.push(start, end);
        }
        Some(blocks)
    }

    /// Whether all positions `start..end` are held out of order, and the state is consistent.
    #[cfg(test)]
    pub(super) fn holds(&self, start: u64, end: u64) -> bool {
        let intervals: Vec<_> = self.held.iter().map(|block| (block.start, block.end)).collect();
        let ordered = intervals.windows(2).all(|pair| pair[0].1 < pair[1].0)
            && intervals.first().is_none_or(|first| first.0 > self.next)
            && intervals.iter().map(|(from, to)| to - from).sum::<u64>() == self.held_bytes;
        ordered && intervals.iter().any(|(from, to)| *from <= start && end <= *to)
    }
}

/// Whether two intervals overlap or are adjacent (Linux `tcp_sack_extend`).
fn touches(a: Interval, b: Interval) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}

/// Smallest interval that contains both.
fn union(a: Interval, b: Interval) -> Interval {
    (a.0.min(b.0), a.1.max(b.1))
}
