//! Reassembly: what has arrived, in order and beyond, and the blocks that tell the sender
//! (RFC 9293 section 3.10.7.4, RFC 2018, RFC 2883; Linux `tcp_data_queue_ofo`, `tcp_sack_new_ofo_skb`).
//!
//! Data out of order is kept as disjoint intervals in ascending order. Beside them stand the four
//! intervals changed last, which fill the SACK option.
//!
//! | | RFC | Linux | here |
//! |---|---|---|---|
//! | block of an arrival | largest contiguous one (2018 section 4) | merged only with the four remembered | as Linux |
//! | further blocks | the most recently reported | the four changed last | as Linux |
//! | D-SACK beside a gap-filling segment | overlap | first queued segment to end of the new one | overlap |
//! | data behind a FIN | must not exist | dropped when FIN is reached | as Linux |

use quiclab_core::SackBlocks;
use std::collections::VecDeque;

/// Blocks that are remembered (Linux `TCP_NUM_SACKS`).
const REMEMBERED: usize = 4;
/// A change behind this many blocks might not be seen in a merged ACK (Linux `TCP_SACK_BLOCKS_EXPECTED`).
const EXPECTED: usize = 2;

/// An interval of positions, end exclusive.
type Interval = (u64, u64);

/// What a segment did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Everything had arrived in order before.
    Duplicate,
    /// It moved the next position. `filled`: nothing is out of order any more, but something was.
    InOrder { filled: bool },
    /// It lies behind a gap. `distant`: its block was not among the first two.
    OutOfOrder { distant: bool },
}

/// What has arrived.
#[derive(Clone, Debug)]
pub(super) struct Reassembly {
    /// First position not yet received in order (RCV.NXT).
    next: u64,
    /// Received beyond `next`: ascending, disjoint, not even touching.
    held: VecDeque<Interval>,
    held_bytes: u64,
    /// Blocks for the SACK option, changed last first; `remembered` of them are valid.
    recent: [Interval; REMEMBERED],
    remembered: u8,
    /// The duplicate to report, until it is reported or other data arrives.
    duplicate: Option<Interval>,
    /// Position of FIN, if it has arrived, in order or not.
    fin: Option<u64>,
    sack: bool,
    dsack: bool,
}

impl Reassembly {
    /// Nothing has arrived. `sack` as negotiated, `dsack` whether duplicates are reported.
    pub(super) fn new(sack: bool, dsack: bool) -> Self {
        Self {
            next: 1,
            held: VecDeque::new(),
            held_bytes: 0,
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
    /// FIN and everything before it has arrived.
    pub(super) fn is_complete(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }
    /// Positions held out of order.
    pub(super) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// The positions `start..end` have arrived, the last of them FIN if `fin`; all within the window.
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
        if start > self.next { self.insert_beyond(start, end) } else { self.insert_next(start, end) }
    }

    /// What is in order leaves the store (Linux `tcp_ofo_queue`).
    fn insert_next(&mut self, start: u64, end: u64) -> Outcome {
        self.report_duplicate(start, self.next);
        let was_held = !self.held.is_empty();
        self.next = end;
        while let Some(&(from, to)) = self.held.front() {
            if from > self.next {
                break;
            }
            self.held.pop_front();
            self.held_bytes -= to - from;
            self.report_duplicate(from, to.min(end));
            self.next = self.next.max(to);
        }
        if let Some(fin) = self.fin.filter(|fin| self.next > *fin) {
            self.next = fin + 1;
            self.held.clear();
            self.held_bytes = 0;
        }
        self.forget_covered();
        Outcome::InOrder { filled: was_held && self.held.is_empty() }
    }

    fn insert_beyond(&mut self, start: u64, end: u64) -> Outcome {
        match self.held.back_mut() {
            // a window behind one loss arrives in order: no search
            Some(last) if last.1 == start => {
                last.1 = end;
                self.held_bytes += end - start;
            }
            _ => self.merge(start, end),
        }
        if !self.sack {
            return Outcome::OutOfOrder { distant: false };
        }
        Outcome::OutOfOrder { distant: self.remember(start, end) }
    }

    /// Puts an interval into the store and merges what it touches.
    fn merge(&mut self, start: u64, end: u64) {
        let first = self.held.partition_point(|block| block.1 < start);
        let mut merged = (start, end);
        let mut last = first;
        while let Some(&(from, to)) = self.held.get(last) {
            if from > end {
                break;
            }
            self.report_duplicate(from.max(start), to.min(end));
            self.held_bytes -= to - from;
            merged = (merged.0.min(from), merged.1.max(to));
            last += 1;
        }
        self.held_bytes += merged.1 - merged.0;
        if last == first {
            self.held.insert(first, merged);
        } else {
            self.held[first] = merged;
            self.held.drain(first + 1..last);
        }
    }

    /// "The first SACK block MUST specify the contiguous block of data containing the segment which
    /// triggered this ACK" (RFC 2018 section 4). Returns whether that block was not among the first two.
    fn remember(&mut self, start: u64, end: u64) -> bool {
        let count = usize::from(self.remembered);
        let touching = self.recent[..count].iter().position(|block| touches(*block, (start, end)));
        let place = match touching {
            Some(place) => place,
            None => {
                // the oldest is forgotten if there is no place left
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

    /// The first block may have grown into others (Linux `tcp_sack_maybe_coalesce`).
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

    /// Blocks that `next` has reached are acknowledged by it (Linux `tcp_sack_remove`).
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

    /// Notes a duplicate for the next ACK. A further one of the same segment only extends it: "each
    /// duplicate contiguous sequence of data received is reported in at most one D-SACK block"
    /// (RFC 2883 section 4).
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

    /// The blocks for an ACK, at most `limit`, the duplicate in front; it is reported once.
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

    /// Whether all positions `start..end` are held out of order, and the store is in good order.
    #[cfg(test)]
    pub(super) fn holds(&self, start: u64, end: u64) -> bool {
        let intervals: Vec<_> = self.held.iter().copied().collect();
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

/// The smallest interval that contains both.
fn union(a: Interval, b: Interval) -> Interval {
    (a.0.min(b.0), a.1.max(b.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(store: &mut Reassembly) -> Vec<Interval> {
        store.take_blocks(4).map_or(Vec::new(), |blocks| blocks.as_slice().to_vec())
    }

    /// RFC 2018 section 7: segments of 500 bytes at 5000 to 8500; the stream here begins at 5000, too.
    fn at_5000() -> Reassembly {
        let mut store = Reassembly::new(true, true);
        assert_eq!(store.insert(1, 5000, false), Outcome::InOrder { filled: false });
        store
    }
    fn arrive(store: &mut Reassembly, start: u64) -> Vec<Interval> {
        store.insert(start, start + 500, false);
        blocks(store)
    }

    /// RFC 2018 section 7, case 1: the first four segments arrive, the last four do not.
    #[test]
    fn without_a_gap_there_is_no_block() {
        let mut store = at_5000();
        for start in [5000, 5500, 6000, 6500] {
            assert_eq!(arrive(&mut store, start), []);
        }
        assert_eq!(store.next(), 7000);
    }

    /// RFC 2018 section 7, case 2: the first segment is lost, the others arrive: one growing block.
    #[test]
    fn a_lost_first_segment_gives_one_growing_block() {
        let mut store = at_5000();
        for start in (5500..9000).step_by(500) {
            assert_eq!(arrive(&mut store, start), [(5500, start + 500)]);
        }
        assert_eq!((store.next(), store.held_bytes()), (5000, 3500));
    }

    /// RFC 2018 section 7, case 3: the 2nd, 4th, 6th and 8th segment are lost; then the 4th arrives,
    /// then the 2nd. The ACK of the 4th lists 6000-7500 first, then 8000-8500; that of the 2nd 8000-8500.
    #[test]
    fn every_second_segment_lost_gives_the_blocks_of_the_rfc() {
        let mut store = at_5000();
        assert_eq!(arrive(&mut store, 5000), []);
        assert_eq!(arrive(&mut store, 6000), [(6000, 6500)]);
        assert_eq!(arrive(&mut store, 7000), [(7000, 7500), (6000, 6500)]);
        assert_eq!(arrive(&mut store, 8000), [(8000, 8500), (7000, 7500), (6000, 6500)]);
        assert_eq!(arrive(&mut store, 6500), [(6000, 7500), (8000, 8500)]);
        assert_eq!(arrive(&mut store, 5500), [(8000, 8500)]);
        assert_eq!((store.next(), store.held_bytes()), (7500, 500));
        assert_eq!(store.insert(7500, 8000, false), Outcome::InOrder { filled: true });
        assert_eq!((blocks(&mut store), store.next()), (vec![], 8500));
    }

    /// Five gaps, four places: the oldest block is forgotten although its data is held, as in Linux. A
    /// neighbour of the forgotten block makes a block of its own.
    #[test]
    fn the_four_blocks_changed_last_are_remembered() {
        let mut store = at_5000();
        for start in [6000, 7000, 8000, 9000] {
            arrive(&mut store, start);
        }
        let expected = [(10000, 10500), (9000, 9500), (8000, 8500), (7000, 7500)];
        assert_eq!(arrive(&mut store, 10000), expected);
        assert!(store.holds(6000, 6500));
        assert_eq!(
            arrive(&mut store, 6500),
            [(6500, 7500), (10000, 10500), (9000, 9500), (8000, 8500)],
            "joined with 7000, not with the forgotten 6000"
        );
        assert!(store.holds(6000, 7500));
        // the block at the fourth place moves to the front
        assert_eq!(
            arrive(&mut store, 8500),
            [(8000, 9500), (6500, 7500), (10000, 10500)],
            "8000 grew into 9000: both are one"
        );
    }

    /// Linux sends a merged ACK at once before a block beyond the second changes.
    #[test]
    fn a_change_behind_the_second_block_is_distant() {
        let mut store = at_5000();
        let near = Outcome::OutOfOrder { distant: false };
        let far = Outcome::OutOfOrder { distant: true };
        assert_eq!(store.insert(6000, 6500, false), near);
        assert_eq!(store.insert(7000, 7500, false), near);
        assert_eq!(store.insert(6500, 6600, false), near, "second place");
        assert_eq!(store.insert(8000, 8500, false), far, "a third block");
        assert_eq!(store.insert(7500, 7600, false), far, "third place");
        assert_eq!(store.insert(7600, 7700, false), near, "it is the first now");
    }

    /// A receiver of RFC 2883's examples, where everything before `next` has arrived.
    fn from(next: u64) -> Reassembly {
        let mut store = Reassembly::new(true, true);
        store.insert(1, next, false);
        store
    }
    /// The ACK of a segment: acknowledgement number and blocks.
    fn ack(store: &mut Reassembly, start: u64, end: u64) -> (u64, Vec<Interval>) {
        store.insert(start, end, false);
        (store.next(), blocks(store))
    }

    /// RFC 2883 section 4, example 1: two ACKs are lost, the first segment is sent again.
    #[test]
    fn a_duplicate_segment_is_reported_once() {
        let mut store = from(3000);
        assert_eq!(ack(&mut store, 3000, 3500), (3500, vec![]));
        assert_eq!(ack(&mut store, 3500, 4000), (4000, vec![]));
        assert_eq!(store.insert(3000, 3500, false), Outcome::Duplicate);
        assert_eq!(blocks(&mut store), [(3000, 3500)]);
        assert_eq!(blocks(&mut store), [], "the next ACK has it no more");
    }

    /// RFC 2883 section 4, example 2: 4000-4499 is lost, all ACKs, too.
    #[test]
    fn a_duplicate_stands_before_the_other_blocks() {
        let mut store = from(4000);
        assert_eq!(ack(&mut store, 4500, 5000), (4000, vec![(4500, 5000)]));
        assert_eq!(ack(&mut store, 3000, 3500), (4000, vec![(3000, 3500), (4500, 5000)]));
    }

    /// RFC 2883 section 4, example 3: the network duplicates a segment behind a gap.
    #[test]
    fn a_duplicate_out_of_order_is_followed_by_its_block() {
        let mut store = from(3500);
        assert_eq!(ack(&mut store, 3500, 4000), (4000, vec![]));
        assert_eq!(ack(&mut store, 4500, 5000), (4000, vec![(4500, 5000)]));
        assert_eq!(ack(&mut store, 5000, 5500), (4000, vec![(4500, 5500)]));
        assert_eq!(ack(&mut store, 5000, 5500), (4000, vec![(5000, 5500), (4500, 5500)]));
    }

    /// RFC 2883 section 4, example 4: segments of 1000 bytes instead of 500 after a retransmission.
    #[test]
    fn a_partly_old_segment_reports_the_old_part() {
        let mut store = from(1000);
        assert_eq!(ack(&mut store, 2000, 2500), (1000, vec![(2000, 2500)]));
        assert_eq!(ack(&mut store, 1000, 1500), (1500, vec![(2000, 2500)]));
        assert_eq!(ack(&mut store, 1000, 2000), (2500, vec![(1000, 1500)]));
    }

    /// RFC 2883 section 4, example 5: of two old parts below the acknowledgement the first is reported.
    #[test]
    fn of_two_duplicate_parts_the_first_is_reported() {
        let mut store = from(1000);
        assert_eq!(ack(&mut store, 3000, 3500), (1000, vec![(3000, 3500)]));
        assert_eq!(ack(&mut store, 1000, 1500), (1500, vec![(3000, 3500)]));
        assert_eq!(ack(&mut store, 2000, 2500), (1500, vec![(2000, 2500), (3000, 3500)]));
        assert_eq!(ack(&mut store, 1000, 2500), (2500, vec![(1000, 1500), (3000, 3500)]));
    }

    /// RFC 2883 section 4, example 6: of two old parts above the acknowledgement, too, and the block that
    /// contains it follows.
    #[test]
    fn a_segment_over_two_blocks_reports_the_first_overlap() {
        let mut store = from(1000);
        assert_eq!(ack(&mut store, 3500, 4000), (1000, vec![(3500, 4000)]));
        assert_eq!(ack(&mut store, 1500, 2000), (1000, vec![(1500, 2000), (3500, 4000)]));
        let three = vec![(2500, 3000), (1500, 2000), (3500, 4000)];
        assert_eq!(ack(&mut store, 2500, 3000), (1000, three));
        let three = vec![(1500, 2000), (1500, 3000), (3500, 4000)];
        assert_eq!(ack(&mut store, 1500, 3000), (1000, three));
        assert!(store.holds(1500, 3000) && !store.holds(1500, 3001));
    }

    /// What fills a gap may overlap what is held behind it.
    #[test]
    fn a_segment_that_fills_more_than_the_gap_reports_the_overlap() {
        let mut store = from(1000);
        store.insert(2000, 3000, false);
        assert_eq!(ack(&mut store, 1000, 2500), (3000, vec![(2000, 2500)]));
    }

    #[test]
    fn without_sack_or_dsack_nothing_is_reported() {
        let mut plain = Reassembly::new(false, true);
        plain.insert(100, 200, false);
        plain.insert(100, 200, false);
        assert_eq!(blocks(&mut plain), []);
        let mut sack = Reassembly::new(true, false);
        sack.insert(100, 200, false);
        sack.insert(100, 200, false);
        assert_eq!(blocks(&mut sack), [(100, 200)]);
    }

    #[test]
    fn fin_counts_when_everything_before_it_is_there() {
        let mut store = Reassembly::new(true, true);
        store.insert(101, 202, true); // 100 bytes and FIN at 201
        store.insert(300, 400, false); // behind FIN: must not exist
        assert!(!store.is_complete());
        store.insert(1, 101, false);
        assert!(store.is_complete());
        assert_eq!((store.next(), store.readable(), store.held_bytes()), (202, 201, 0));
        assert_eq!(store.insert(250, 260, false), Outcome::Duplicate, "nothing follows FIN");
        assert_eq!((store.next(), blocks(&mut store)), (202, vec![]));
    }

    /// Ten thousand gaps, filled from behind: only the last filling makes data readable.
    #[test]
    fn thousands_of_gaps_are_merged() {
        let mut store = Reassembly::new(true, true);
        for gap in 1..=10_000_u64 {
            store.insert(gap * 20 + 1, gap * 20 + 11, false);
        }
        assert_eq!((store.held_bytes(), store.held.len()), (100_000, 10_000));
        for gap in (1..=10_000_u64).rev() {
            store.insert(gap * 20 - 9, gap * 20 + 1, false);
        }
        assert_eq!((store.held.len(), store.next()), (1, 1));
        assert_eq!(store.insert(1, 11, false), Outcome::InOrder { filled: true });
        assert_eq!(store.next(), 200_011);
    }
}
