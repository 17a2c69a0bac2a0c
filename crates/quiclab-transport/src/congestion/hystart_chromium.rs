//! Hybrid slow start of Chromium (quiche, quic/core/congestion_control/hybrid_slow_start.cc).
//!
//! Only the delay counts: slow start ends when the minimum of the first 8 RTTs of a round exceeds the minimum
//! of the connection by an eighth of it, at least 4 and at most 16 ms, and the window has at least 16
//! packets.
//!
//! | | here and in Chromium | Linux |
//! |---|---|---|
//! | ACK train | none (removed in 2015) | yes |
//! | test of the delay | once per round, at the 8th sample | at each from the 9th on |
//! | small windows | count samples | count none |
//! | end of a round | all packets sent before its start are acknowledged; the next begins with the next ACK | a packet sent later is acknowledged |
//!
//! One difference: an increase detected below 16 packets ends slow start at 16 packets; in Chromium at the
//! next ACK. The effect is small: with 8 samples in a round, the window has 15 packets or more.

use super::slow_start::{SlowStartDecision, SlowStartInput, SlowStartPolicy, increase_threshold};
use quiclab_core::{Duration, Time};

/// Minimum window in packets at which slow start ends (`kHybridStartLowWindow`).
const LOW_WINDOW: u64 = 16;
/// Number of samples of a round that count (`kHybridStartMinSamples`).
const MIN_SAMPLES: u32 = 8;

/// Hybrid slow start of Chromium.
#[derive(Clone, Debug, Default)]
pub struct HystartChromium {
    /// Whether the delay has grown.
    found: bool,
    /// Current round; `None` before the first acknowledgement and between rounds.
    round: Option<Round>,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    /// Position of the next new packet at the start.
    end: u64,
    samples: u32,
    /// Minimum of the first [`MIN_SAMPLES`] RTTs; `Duration::MAX` before the first.
    min_rtt: Duration,
}

impl SlowStartPolicy for HystartChromium {
    fn on_ack(&mut self, question: &SlowStartInput<'_>) -> SlowStartDecision {
        let ack = question.ack;
        if let (Some(rtt), Some(min_rtt)) = (question.rtt, question.min_rtt) {
            let fresh = Round { end: ack.next_position, samples: 0, min_rtt: Duration::MAX };
            let round = self.round.get_or_insert(fresh);
            round.samples += 1;
            if round.samples <= MIN_SAMPLES {
                round.min_rtt = round.min_rtt.min(rtt);
            }
            if round.samples == MIN_SAMPLES {
                self.found |= round.min_rtt > min_rtt + increase_threshold(min_rtt);
            }
            if self.found && question.window >= LOW_WINDOW * question.mss {
                return SlowStartDecision::Leave;
            }
        }
        if self.round.is_some_and(|round| ack.acked_position >= round.end) {
            self.round = None;
        }
        SlowStartDecision::GO_ON
    }

    fn on_timeout(&mut self, _now: Time, _next_position: u64) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::super::slow_start::testing::Driver;
    use super::*;

    /// Sample, counted from 1, at which slow start ends with this window in packets: one ACK of 80 ms, which
    /// is a separate round, then a round with these RTTs in ms.
    fn ends(window: u64, rtts: &[u64]) -> Option<usize> {
        let mut driver = Driver::new(HystartChromium::default(), window);
        assert_eq!(driver.ack(0, 80_000, 1, 1), SlowStartDecision::GO_ON);
        let mut answers = (1..).zip(rtts).map(|(i, rtt)| driver.ack(i * 100, rtt * 1000, i + 1, 1000));
        answers.position(|answer| answer == SlowStartDecision::Leave).map(|at| at + 1)
    }

    #[test]
    fn slow_start_ends_at_the_eighth_sample_of_a_round_with_more_delay() {
        // threshold: 80 + 80/8 = 90 ms, exceeded
        assert_eq!(ends(100, &[91; 20]), Some(8));
        assert_eq!(ends(100, &[90; 20]), None);
    }

    #[test]
    fn only_the_first_eight_samples_of_a_round_count() {
        let mut rtts = [91; 20];
        rtts[7] = 90;
        assert_eq!(ends(100, &rtts), None);
        let mut rtts = [91; 20];
        rtts[8] = 85;
        assert_eq!(ends(100, &rtts), Some(8));
    }

    #[test]
    fn below_16_packets_slow_start_goes_on() {
        assert_eq!(ends(15, &[91; 20]), None);
        assert_eq!(ends(16, &[91; 20]), Some(8));
    }

    #[test]
    fn found_early_it_ends_slow_start_at_16_packets() {
        let mut driver = Driver::new(HystartChromium::default(), 15);
        driver.ack(0, 80_000, 1, 1);
        for packet in 2..=9 {
            assert_eq!(driver.ack(packet, 100_000, packet, 100), SlowStartDecision::GO_ON);
        }
        driver.window = 16;
        assert_eq!(driver.ack(10, 80_000, 10, 100), SlowStartDecision::Leave);
    }

    #[test]
    fn a_round_ends_when_all_that_had_left_at_its_start_is_acknowledged() {
        let mut driver = Driver::new(HystartChromium::default(), 100);
        driver.ack(0, 80_000, 1, 1);
        // a round of 7 samples, packets 2 to 8: too few; the next needs 8 of its own
        for packet in 2..=8 {
            assert_eq!(driver.ack(packet, 100_000, packet, 8), SlowStartDecision::GO_ON);
        }
        let left =
            (9..30).find(|packet| driver.ack(*packet, 100_000, *packet, 100) == SlowStartDecision::Leave);
        assert_eq!(left, Some(16));
    }

    #[test]
    fn an_ack_without_sample_does_not_count() {
        let mut driver = Driver::new(HystartChromium::default(), 100);
        driver.ack(0, 80_000, 1, 1);
        for packet in 2..=8 {
            driver.ack(packet, 100_000, packet, 100);
        }
        assert_eq!(driver.ack(9, 0, 9, 100), SlowStartDecision::GO_ON);
        assert_eq!(driver.ack(10, 100_000, 10, 100), SlowStartDecision::Leave);
    }
}
