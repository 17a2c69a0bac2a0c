//! Loss detection: by RACK, a count of duplicates, or both.
//!
//! RACK (RFC 8985 section 6) needs SACK. Without it a count of duplicate acknowledgements decides, as in RFC
//! 5681 section 3.2; each then represents a segment that has left the network.

use super::Sender;
use super::State;
use super::acknowledge::Work;
use super::timer::Timer;
use crate::congestion::LostPacket;
use crate::options::TcpLossDetection;
use quiclab_core::Time;

impl Sender {
    /// Counts a duplicate acknowledgement without SACK, which shows that a segment has arrived.
    pub(super) fn count_duplicate(&mut self, duplicate: bool, work: &mut Work) {
        if self.sack {
            return;
        }
        if duplicate {
            if self.board.add_duplicate() {
                work.delivered += 1;
                work.delivered_bytes += self.payload;
            }
        } else if work.advanced {
            // segments acknowledged now were counted as duplicates before, except the one that filled the
            // hole
            let counted = self.board.remove_duplicates(work.delivered.saturating_sub(1));
            work.delivered -= counted;
            work.delivered_bytes = work.delivered_bytes.saturating_sub(u64::from(counted) * self.payload);
        }
    }

    /// Marks lost segments after an acknowledgement (`tcp_identify_packet_loss`).
    pub(super) fn detect_losses(&mut self, now: Time, work: &mut Work) {
        if !self.sack {
            if self.board.duplicates() >= self.reordering.segments() && self.state < State::Recovery {
                self.mark_head_lost(now, work);
            }
            return;
        }
        let detection = self.options.loss_detection;
        if detection != TcpLossDetection::Rack {
            self.mark_by_count(now, work);
        }
        if detection != TcpLossDetection::DuplicateAcks && self.rack.take_advanced() {
            let before = self.board.retransmitted();
            let (lost, wait) = self.mark_by_rack(now);
            work.lost += lost;
            work.retransmission_lost |= self.board.retransmitted() < before;
            if let Some(deadline) = wait {
                self.timer.set(now, Timer::Reordering, deadline.since(now) + self.timer.margin());
                work.set_timer = false;
            }
        }
    }

    /// Marks lost segments by RACK (RFC 8985 section 6.2, step 5). Returns the number of segments declared
    /// lost, and the time at which the last overtaken one will be.
    pub(super) fn mark_by_rack(&mut self, now: Time) -> (u32, Option<Time>) {
        let strict = !self.reordering.is_seen()
            && (self.state >= State::Recovery || (self.board.sacked() >= self.reordering.segments()));
        let window = self.rack.reordering_window(strict, self.rtt.min(), self.rtt.smoothed());
        let mut lost = 0;
        let mut wait: Option<Time> = None;
        let mut next = self.board.oldest();
        while let Some(index) = next {
            next = self.board.transmitted_after(index);
            let segment = self.board.get(index);
            let marks = segment.marks;
            if marks.lost && !marks.retransmitted {
                continue; // waits for its retransmission
            }
            if !self.rack.is_overtaken(segment.sent, segment.end) {
                break;
            }
            let deadline = self.rack.deadline(segment.sent, window);
            if deadline <= now {
                lost += u32::from(self.declare_lost(now, index));
                self.board.remove_from_index(index);
            } else {
                wait = wait.max(Some(deadline));
            }
        }
        (lost, wait)
    }

    /// Marks lost segments by count (RFC 6675 section 4): `IsLost` with DupThresh segments above selectively
    /// acknowledged.
    fn mark_by_count(&mut self, now: Time, work: &mut Work) {
        if self.board.sacked() < self.reordering.segments() {
            return;
        }
        let mut above = self.board.sacked();
        for index in 0..self.board.len() {
            let marks = self.board.get(index).marks;
            if marks.sacked {
                above -= 1;
            }
            if above < self.reordering.segments() {
                break;
            }
            if !marks.sacked && !marks.lost {
                work.lost += u32::from(self.declare_lost(now, index));
            }
        }
    }

    /// Marks the first segment lost, the only one known to be without SACK.
    pub(super) fn mark_head_lost(&mut self, now: Time, work: &mut Work) {
        if !self.board.is_empty() && !self.board.get(0).marks.lost {
            work.lost += u32::from(self.declare_lost(now, 0));
        }
    }

    /// Declares a segment lost, or its retransmission.
    pub(super) fn declare_lost(&mut self, now: Time, index: usize) -> bool {
        let segment = self.board.get(index);
        let (position, end, state) = (segment.start, segment.end, segment.rate);
        let (lost, _) = self.board.mark_lost(index);
        if lost {
            self.counts.lost += 1;
            let bytes = end - position;
            self.rate.on_lost(bytes);
            let (total_delivered, total_lost) = (self.rate.delivered(), self.rate.lost());
            let packet = LostPacket { now, bytes, position, end, state, total_delivered, total_lost };
            self.controller.on_packet_lost(&packet);
        }
        lost
    }
}
