//! Round trips, counted by delivered bytes (section 5.5.1).

/// `BBR.round_count`: a round ends with the delivery of a packet sent after its start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundCounter {
    /// Bytes delivered at the start of the round.
    next_round_delivered: u64,
    round_start: bool,
    round_count: u64,
}

impl RoundCounter {
    /// `UpdateRound`, with the bytes delivered when the acknowledged packet was sent, and now. Returns
    /// whether a round starts.
    pub(super) fn update(&mut self, prior_delivered: u64, delivered: u64) -> bool {
        self.round_start = prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start(delivered);
            self.round_count += 1;
        }
        self.round_start
    }

    /// `StartRound`: packets sent from now on end the round.
    pub(super) fn start(&mut self, delivered: u64) {
        self.next_round_delivered = delivered;
    }

    /// `BBR.round_start`: the latest acknowledgement started a round.
    pub(super) fn is_start(&self) -> bool {
        self.round_start
    }

    /// Number of rounds since the start of the connection.
    pub(super) fn count(&self) -> u64 {
        self.round_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_ends_with_a_packet_that_was_sent_after_its_start() {
        let mut round = RoundCounter::default();
        assert!(round.update(0, 3000), "the first acknowledgement begins one");
        assert!(!round.update(2999, 6000), "sent before 3000 bytes were delivered");
        assert!(round.update(3000, 9000));
        assert_eq!((round.count(), round.is_start()), (2, true));
        round.start(20_000);
        assert!(!round.update(9000, 21_000), "a new start makes it longer");
        assert!(!round.is_start());
        assert!(round.update(20_000, 40_000));
        assert_eq!(round.count(), 3);
    }
}
