//! Rounds in which losses are evaluated (section 5.5.10.3), and the number of losses in them.

use crate::congestion::LostPacket;

/// `BBR.loss_round_start` and `BBR.loss_in_round`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossRound {
    loss_round_delivered: u64,
    loss_round_start: bool,
    is_loss_in_round: bool,
    /// Number of discontiguous ranges lost in this round, and the end of the last one.
    lost_ranges: u32,
    lost_up_to: u64,
}

impl LossRound {
    /// Handles an acknowledgement, with the bytes delivered when its packet was sent, and now.
    pub(super) fn update(&mut self, prior_delivered: u64, delivered: u64) {
        self.loss_round_start = prior_delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = delivered;
        }
    }

    /// `BBR.loss_round_start`: the latest acknowledgement started a round.
    pub(super) fn is_start(&self) -> bool {
        self.loss_round_start
    }

    /// `BBR.loss_in_round`.
    pub(super) fn has_loss(&self) -> bool {
        self.is_loss_in_round
    }

    /// `BBR.loss_events_in_round`: discontiguous ranges.
    pub(super) fn lost_ranges(&self) -> u32 {
        self.lost_ranges
    }

    /// `NoteLoss`: the first loss starts a round.
    pub(super) fn on_loss(&mut self, packet: &LostPacket) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = packet.total_delivered;
        }
        self.is_loss_in_round = true;
        if self.lost_ranges == 0 || packet.position != self.lost_up_to {
            self.lost_ranges += 1;
        }
        self.lost_up_to = packet.end;
    }

    /// Clears the losses of this round after they were evaluated.
    pub(super) fn clear_loss(&mut self) {
        self.is_loss_in_round = false;
    }

    /// Resets the count of ranges for the next round.
    pub(super) fn clear_ranges(&mut self) {
        self.lost_ranges = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(position: u64, total_delivered: u64) -> LostPacket {
        LostPacket { position, end: position + 1000, total_delivered, ..LostPacket::default() }
    }

    #[test]
    fn neighbours_are_one_range() {
        let mut round = LossRound::default();
        for (position, ranges) in [(5000, 1), (6000, 1), (8000, 2), (9000, 2), (7000, 3)] {
            round.on_loss(&lost(position, 0));
            assert_eq!(round.lost_ranges(), ranges, "{position}");
        }
        round.clear_ranges();
        round.on_loss(&lost(8000, 0));
        assert_eq!(round.lost_ranges(), 1);
    }

    /// The first loss starts a round, which ends with a packet sent after it.
    #[test]
    fn the_first_loss_begins_a_round() {
        let mut round = LossRound::default();
        round.update(0, 1000);
        assert!(round.is_start() && !round.has_loss());
        round.on_loss(&lost(0, 5000));
        round.on_loss(&lost(2000, 7000));
        round.update(4999, 8000);
        assert!(!round.is_start() && round.has_loss());
        round.update(5000, 9000);
        assert!(round.is_start(), "the second loss has begun none");
        round.clear_loss();
        assert!(!round.has_loss());
        round.update(8999, 10_000);
        assert!(!round.is_start());
    }
}
