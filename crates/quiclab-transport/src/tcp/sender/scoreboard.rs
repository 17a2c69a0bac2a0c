//! Scoreboard: data sent and not yet cumulatively acknowledged, the retransmission queue with its marks.
//!
//! Segments are in the order of the stream. Those that RACK may still declare lost also form a list in the
//! order of (last) transmission, linked by numbers: segments are numbered in the order of the stream, so that
//! the number less that of the first is the index.

use crate::recovery::delivery_rate::SentState;
use quiclab_core::Time;
use std::collections::VecDeque;

/// Number of a segment; `u64::MAX` is none.
type Number = u64;
const NONE: Number = u64::MAX;

/// Segment that was sent.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    /// Positions of the first byte and after the last one (FIN counts one).
    pub(super) start: u64,
    pub(super) end: u64,
    /// Time of the last transmission.
    pub(super) sent: Time,
    /// Delivery state at the last transmission.
    pub(super) rate: SentState,
    pub(super) marks: Marks,
    /// Neighbours in the order of transmission; both `NONE` and not the first: not in the list.
    before: Number,
    after: Number,
}

/// State of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// Whether it was selectively acknowledged.
    pub(super) sacked: bool,
    /// Whether it was declared lost.
    pub(super) lost: bool,
    /// Whether a retransmission is in flight.
    pub(super) retransmitted: bool,
    /// Whether it was retransmitted at least once.
    pub(super) ever_retransmitted: bool,
    /// Whether it carries FIN.
    pub(super) fin: bool,
    /// Whether the skb that it ends has PSH.
    pub(super) push: bool,
    /// Whether it is the first segment of an skb.
    first: bool,
    listed: bool,
}

/// Queue with its counts in segments.
#[derive(Debug)]
pub(super) struct Scoreboard {
    segments: VecDeque<Sent>,
    /// Number of the first segment.
    first: Number,
    /// Ends of the list in the order of transmission.
    oldest: Number,
    newest: Number,
    sacked: u32,
    lost: u32,
    retransmitted: u32,
    /// Number of segments that have arrived according to duplicate acknowledgements without SACK, which do
    /// not identify them.
    duplicates: u32,
    /// Position below which nothing waits for retransmission.
    hint: u64,
    /// End of the highest segment selectively acknowledged; 0: none.
    highest_sacked: u64,
    /// Number of skbs with outstanding segments, and whether the next segment starts another one.
    skbs: u64,
    opens: bool,
}

impl Scoreboard {
    pub(super) const fn new() -> Self {
        Self {
            segments: VecDeque::new(),
            first: 0,
            oldest: NONE,
            newest: NONE,
            sacked: 0,
            lost: 0,
            retransmitted: 0,
            duplicates: 0,
            hint: u64::MAX,
            highest_sacked: 0,
            skbs: 0,
            opens: false,
        }
    }

    /// Number of segments sent and not cumulatively acknowledged.
    pub(super) fn outstanding(&self) -> u32 {
        self.segments.len() as u32
    }
    /// Number of segments selectively acknowledged.
    pub(super) const fn sacked(&self) -> u32 {
        self.sacked
    }
    /// Number of segments declared lost.
    pub(super) const fn lost(&self) -> u32 {
        self.lost
    }
    /// Number of retransmissions in flight.
    pub(super) const fn retransmitted(&self) -> u32 {
        self.retransmitted
    }
    /// Number of segments in the network: pipe of RFC 6675, as counted by Linux.
    pub(super) fn in_flight(&self) -> u32 {
        (self.outstanding() + self.retransmitted).saturating_sub(self.sacked + self.lost + self.duplicates)
    }
    /// Number of segments that have arrived according to duplicate acknowledgements without SACK.
    pub(super) const fn duplicates(&self) -> u32 {
        self.duplicates
    }
    /// Adds a duplicate, unless all segments but the lost ones have arrived (`tcp_limit_reno_sacked`).
    pub(super) fn add_duplicate(&mut self) -> bool {
        let possible = self.outstanding().saturating_sub(self.lost.max(1));
        let counts = self.duplicates < possible;
        self.duplicates += u32::from(counts);
        counts
    }
    /// Removes at most `count` duplicates; returns the number removed.
    pub(super) fn remove_duplicates(&mut self, count: u32) -> u32 {
        let removed = count.min(self.duplicates);
        self.duplicates -= removed;
        removed
    }
    /// Resets the number of duplicates.
    pub(super) fn forget_duplicates(&mut self) {
        self.duplicates = 0;
    }
    /// End of the highest segment selectively acknowledged (`tcp_highest_sack_seq`: start of the segment
    /// after it), `other` if there is none.
    pub(super) const fn highest_sacked_or(&self, other: u64) -> u64 {
        if self.sacked == 0 { other } else { self.highest_sacked }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }
    pub(super) fn front(&self) -> Option<&Sent> {
        self.segments.front()
    }
    pub(super) fn last_index(&self) -> usize {
        self.segments.len() - 1
    }
    pub(super) fn get(&self, index: usize) -> &Sent {
        &self.segments[index]
    }
    pub(super) fn len(&self) -> usize {
        self.segments.len()
    }

    /// Number of skbs with outstanding segments.
    pub(super) const fn skbs(&self) -> u64 {
        self.skbs
    }
    /// Makes the next segment the first of an skb.
    pub(super) const fn open_burst(&mut self) {
        self.opens = true;
    }

    /// Appends a segment that is sent for the first time.
    pub(super) fn push(&mut self, start: u64, end: u64, now: Time, rate: SentState, fin: bool, push: bool) {
        let number = self.first + self.segments.len() as u64;
        let first = std::mem::take(&mut self.opens) || self.segments.is_empty();
        self.skbs += u64::from(first);
        let marks = Marks { fin, push, first, ..Marks::default() };
        self.segments.push_back(Sent { start, end, sent: now, rate, marks, before: NONE, after: NONE });
        self.list(number);
    }

    /// Removes the first segment, which is acknowledged entirely.
    pub(super) fn pop(&mut self) -> Sent {
        self.remove_from_index(0);
        let sent = self.segments.pop_front().expect("the caller has looked at the front");
        self.first += 1;
        // an skb ends where the next begins, or with everything
        if self.segments.front().is_none_or(|next| next.marks.first) {
            self.skbs -= 1;
        }
        self.sacked -= u32::from(sent.marks.sacked);
        self.lost -= u32::from(sent.marks.lost);
        self.retransmitted -= u32::from(sent.marks.retransmitted);
        if self.sacked == 0 {
            self.highest_sacked = 0;
        }
        sent
    }

    /// Removes acknowledged bytes from the start of the first segment.
    pub(super) fn trim(&mut self, start: u64) {
        self.segments.front_mut().expect("the caller has looked at the front").start = start;
    }

    /// Index of the first segment that starts at `position` or later.
    pub(super) fn index_from(&self, position: u64) -> usize {
        let Some(front) = self.segments.front() else { return 0 };
        if position <= front.start {
            return 0;
        }
        // segments usually have one size: the guess is right, or the search decides
        let guess = ((position - front.start) / (front.end - front.start).max(1)) as usize;
        match self.segments.get(guess) {
            Some(segment) if segment.start == position => guess,
            _ => self.segments.partition_point(|segment| segment.start < position),
        }
    }

    /// Marks a segment as selectively acknowledged, and updates counts and the list.
    pub(super) fn mark_sacked(&mut self, index: usize) {
        self.remove_from_index(index);
        let segment = &mut self.segments[index];
        let marks = &mut segment.marks;
        // "Normally R but no L won't result in plain S"
        let merges = marks.lost || !marks.retransmitted;
        if marks.lost {
            // a retransmission not declared lost is assumed to be still in flight
            self.lost -= 1;
            marks.lost = false;
            if marks.retransmitted {
                self.retransmitted -= 1;
                marks.retransmitted = false;
            }
        }
        marks.sacked = true;
        self.sacked += 1;
        self.highest_sacked = self.highest_sacked.max(segment.end);
        let merged = merges && self.is_merged(index);
        if index > 0 {
            self.set_first(index, !merged);
        }
        if index + 1 < self.segments.len() {
            // "Hole filled allows collapsing with the next as well"
            let next = merged && self.is_merged(index + 1);
            self.set_first(index + 1, !next);
        }
    }

    /// Whether the segment at `index` and the one before it have both arrived, so that they are merged into
    /// one skb (`tcp_shift_skb_data`); otherwise they are in two (`tcp_match_skb_to_sack`). The maximum of
    /// 512 KiB for an skb is not modelled.
    fn is_merged(&self, index: usize) -> bool {
        let Some(left) = index.checked_sub(1).and_then(|before| self.segments.get(before)) else {
            return false;
        };
        let right = &self.segments[index];
        left.marks.sacked && right.marks.sacked && left.end - left.start == right.end - right.start
    }

    /// Splits an skb before the segment at `index`, if there is one: retransmitted segments are split from
    /// the rest (`tcp_fragment`).
    pub(super) fn split(&mut self, index: usize) {
        if index > 0 && index < self.segments.len() && !self.segments[index].marks.sacked {
            self.set_first(index, true);
        }
    }

    /// Sets whether the segment at `index`, which is not the first, starts an skb.
    fn set_first(&mut self, index: usize, first: bool) {
        let marks = &mut self.segments[index].marks;
        match (marks.first, first) {
            (false, true) => self.skbs += 1,
            (true, false) => self.skbs -= 1,
            _ => {}
        }
        marks.first = first;
    }

    /// Marks a segment lost, or the retransmission in flight of one that is already lost. Returns whether a
    /// segment was declared lost, and whether it was a retransmission.
    pub(super) fn mark_lost(&mut self, index: usize) -> (bool, bool) {
        let segment = &mut self.segments[index];
        let marks = &mut segment.marks;
        if marks.sacked {
            return (false, false);
        }
        self.hint = self.hint.min(segment.start);
        if !marks.lost {
            marks.lost = true;
            self.lost += 1;
            return (true, false);
        }
        if marks.retransmitted {
            marks.retransmitted = false;
            self.retransmitted -= 1;
            return (true, true);
        }
        (false, false)
    }

    /// Handles a DSACK, which shows that the retransmission has arrived.
    pub(super) fn clear_retransmitted(&mut self, index: usize) {
        let marks = &mut self.segments[index].marks;
        if marks.retransmitted {
            marks.retransmitted = false;
            self.retransmitted -= 1;
        }
    }

    /// Withdraws all marks of loss.
    pub(super) fn clear_lost(&mut self) {
        for segment in &mut self.segments {
            segment.marks.lost = false;
        }
        self.lost = 0;
        self.hint = u64::MAX;
    }

    /// Records a retransmission of a segment; as a tail loss probe it does not count as in flight twice.
    pub(super) fn retransmit(&mut self, index: usize, now: Time, rate: SentState, probe: bool) {
        self.remove_from_index(index);
        let segment = &mut self.segments[index];
        segment.sent = now;
        segment.rate = rate;
        if !segment.marks.retransmitted && !probe {
            segment.marks.retransmitted = true;
            self.retransmitted += 1;
        }
        segment.marks.ever_retransmitted = true;
        self.list(self.first + index as u64);
    }

    /// Index of the first lost segment without a retransmission in flight.
    pub(super) fn next_lost(&mut self) -> Option<usize> {
        if self.retransmitted >= self.lost {
            return None;
        }
        let from = self.index_from(self.hint);
        let waiting = |segment: &Sent| segment.marks.lost && !segment.marks.retransmitted;
        let index = (from..self.segments.len()).find(|&index| waiting(&self.segments[index]));
        self.hint = index.map_or(u64::MAX, |index| self.segments[index].start);
        index
    }

    /// Number of segments from `index` on, at most `most`, that are lost and in one skb, and their bytes. At
    /// least one, regardless of its marks.
    pub(super) fn lost_together(&self, index: usize, most: u32) -> (u32, u64) {
        let first = &self.segments[index];
        let mut end = first.end;
        let mut count = 1;
        while count < most
            && let Some(next) = self.segments.get(index + count as usize)
            && next.marks.lost
            && !next.marks.retransmitted
            && !next.marks.first
        {
            end = next.end;
            count += 1;
        }
        (count, end - first.start)
    }

    /// Index of the first segment in the order of transmission.
    pub(super) fn oldest(&self) -> Option<usize> {
        self.index_of(self.oldest)
    }
    /// Index of the next segment in the order of transmission.
    pub(super) fn transmitted_after(&self, index: usize) -> Option<usize> {
        self.index_of(self.segments[index].after)
    }

    fn index_of(&self, number: Number) -> Option<usize> {
        (number != NONE).then(|| (number - self.first) as usize)
    }

    /// Appends to the list in the order of transmission.
    fn list(&mut self, number: Number) {
        let newest = self.newest;
        let index = (number - self.first) as usize;
        let segment = &mut self.segments[index];
        segment.marks.listed = true;
        segment.before = newest;
        segment.after = NONE;
        match self.index_of(newest) {
            Some(index) => self.segments[index].after = number,
            None => self.oldest = number,
        }
        self.newest = number;
    }

    /// Removes a segment from the list in the order of transmission.
    pub(super) fn remove_from_index(&mut self, index: usize) {
        let segment = &mut self.segments[index];
        if !std::mem::take(&mut segment.marks.listed) {
            return;
        }
        let (before, after) = (segment.before, segment.after);
        match self.index_of(before) {
            Some(index) => self.segments[index].after = after,
            None => self.oldest = after,
        }
        match self.index_of(after) {
            Some(index) => self.segments[index].before = before,
            None => self.newest = before,
        }
    }
}
