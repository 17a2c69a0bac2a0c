//! Selective acknowledgements: segments that arrived out of order, and segments that arrived twice.
//!
//! RFC 2018, RFC 2883; Linux `tcp_sacktag_write_queue`. Blocks repeat those of earlier acknowledgements: only
//! ranges that the last one did not have are processed, so that the cost does not grow with the blocks. The
//! newest block is first (RFC 2018 section 4), but blocks are processed in the order of the stream: an
//! acknowledgement with two new blocks, because those between were lost or merged, reports no reordering.

use super::Sender;
use super::acknowledge::Work;
use quiclab_core::Time;

impl Sender {
    /// Processes the blocks of an acknowledgement of `ack`.
    pub(super) fn process_sack(&mut self, now: Time, ack: u64, blocks: &[(u64, u64)], work: &mut Work) {
        if !self.sack || blocks.is_empty() {
            return;
        }
        let first = usize::from(self.check_dsack(ack, blocks, work));
        let cached = std::mem::take(&mut self.sack_cache);
        // "order SACK blocks to allow in order walk of the retrans queue"
        let mut ordered = [(0, 0); 4];
        let ordered = &mut ordered[..blocks.len() - first];
        ordered.copy_from_slice(&blocks[first..]);
        ordered.sort_unstable();
        for &(start, end) in ordered.iter() {
            // "a block that is not within what was sent" is ignored (tcp_is_sackblock_valid)
            if start >= end || end > self.snd.next() || start < self.snd.acknowledged() {
                continue;
            }
            self.sack_cache.push(start, end);
            self.mark_new_part(now, start, end, cached.as_slice(), work);
        }
        if work.reordered_from < u64::MAX && self.may_learn_reordering() {
            self.note_reordering(work.reordered_from);
        }
    }

    /// Marks the part of `start..end` that no block of the last acknowledgement covered.
    fn mark_new_part(&mut self, now: Time, mut start: u64, end: u64, cached: &[(u64, u64)], work: &mut Work) {
        while start < end {
            let next = cached
                .iter()
                .filter(|(from, to)| *to > start && *from < end && from < to)
                .min_by_key(|(from, _)| *from);
            match next {
                Some(&(from, to)) => {
                    if start < from {
                        self.mark_range(now, start, from, work);
                    }
                    start = to;
                }
                None => {
                    self.mark_range(now, start, end, work);
                    start = end;
                }
            }
        }
    }

    /// Marks the segments that are entirely in `start..end`.
    fn mark_range(&mut self, now: Time, start: u64, end: u64, work: &mut Work) {
        let mut index = self.board.index_from(start);
        while index < self.board.len() && self.board.get(index).end <= end {
            if !self.board.get(index).marks.sacked {
                self.mark_segment(now, index, work);
            }
            index += 1;
        }
    }

    fn mark_segment(&mut self, now: Time, index: usize, work: &mut Work) {
        let segment = self.board.get(index);
        let marks = segment.marks;
        let (sent, start, end, rate) = (segment.sent, segment.start, segment.end, segment.rate);
        let retransmitted = marks.retransmitted || marks.ever_retransmitted;
        self.rack.on_delivered(now, sent, end, retransmitted, self.rtt.min());
        if !retransmitted {
            // "new SACK for a frame that was not retransmitted and lay in a hole: reordering"
            if start < self.board.highest_sacked_or(0) {
                work.reordered_from = work.reordered_from.min(start);
            }
            work.original_sacked |= end <= self.high;
            work.first_sacked.get_or_insert(sent);
            work.last_sacked = Some(sent);
        }
        self.board.mark_sacked(index);
        work.sacked = true;
        self.deliver(now, &rate, end - start, sent, end, work);
    }

    /// Whether the first block reports a duplicate (RFC 2883 section 4): below the acknowledgement, or
    /// within the second block.
    fn check_dsack(&mut self, ack: u64, blocks: &[(u64, u64)], work: &mut Work) -> bool {
        let (start, end) = blocks[0];
        let below = start < ack;
        let within = blocks.get(1).is_some_and(|&(from, to)| start >= from && end <= to);
        if !below && !within {
            return false;
        }
        let duplicates = ((end.saturating_sub(start)).div_ceil(self.payload)).max(1) as u32;
        self.counts.spurious += u64::from(duplicates);
        if start >= end || self.counts.spurious > self.counts.retransmitted {
            return true; // duplicated by the network: unrelated to this end
        }
        work.dsack = true;
        work.duplicates += duplicates;
        // a probe is sent by a timer, and unrelated to the reordering window of RACK without reordering
        work.dsack_of_probe |= duplicates == 1 && self.tail_probe.ends_at(end);
        if self.reordering.is_seen() && !work.dsack_of_probe {
            self.rack.on_dsack();
        }
        let index = self.board.index_from(start);
        let known = index < self.board.len() && self.board.get(index).start == start;
        // unknown for data no longer in the queue; the rest must have been sent twice by this end
        if self.undo.covers(end) && (!known || self.board.get(index).marks.ever_retransmitted) {
            self.undo.on_duplicates(duplicates);
        }
        if within && known {
            let segment = self.board.get(index);
            if segment.marks.sacked && segment.marks.ever_retransmitted {
                work.reordered_from = work.reordered_from.min(segment.start);
            }
            self.board.clear_retransmitted(index);
        }
        true
    }

    /// Records reordering of this acknowledgement from `low` on: the tolerance grows to its extent
    /// (`tcp_check_sack_reordering`).
    pub(super) fn note_reordering(&mut self, low: u64) {
        let high = self.board.highest_sacked_or(self.snd.acknowledged());
        if low >= high {
            return;
        }
        let extent = ((high - low).div_ceil(self.payload)) as u32;
        self.reordering.on_observed(extent);
    }

    fn may_learn_reordering(&self) -> bool {
        self.state != super::State::Loss || self.undo.has_reduction()
    }
}
