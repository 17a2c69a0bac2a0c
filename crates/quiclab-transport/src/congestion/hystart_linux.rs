//! HyStart as in Linux (Ha, Rhee: "Taming the elephants", Computer Networks 2011; net/ipv4/tcp_cubic.c,
//! `hystart_update`).
//!
//! From a window of 16 packets on, slow start ends when an *ACK train* is long or when the *delay* has grown.
//! A train consists of ACKs at most 2 ms apart; it is long when it lasts longer than the threshold of
//! [`AckTrain`] from the start of the round. The delay has grown when the minimum RTT of a round, after 8
//! samples, exceeds the minimum of the connection by an eighth of it, at least 4 and at most 16 ms.
//!
//! | | here | elsewhere |
//! |---|---|---|
//! | minimum of the round | over all its samples | over the first 8: the paper, and Linux before 5.16 (5.15.5) |
//! | samples of the ACK that ends a round | of the next round | of the old one, which ends only if the window grows: Linux before 5.16 (5.15.5) |
//! | test of the delay | from the 9th sample on, at each | at the 8th: Chromium; at the end of a round: the paper |
//! | pacing rate for the cushion | 2 · window / srtt, now | Linux: that of the previous ACK, 1.2 · near the threshold |
//! | times | exact | Linux: microseconds |

use super::slow_start::{SlowStartDecision, SlowStartInput, SlowStartPolicy, increase_threshold};
use quiclab_core::{Duration, Time};

/// Minimum window in packets at which slow start ends (`hystart_low_window`).
const LOW_WINDOW: u64 = 16;
/// Maximum spacing within a train (`hystart_ack_delta_us`).
const TRAIN_SPACING: Duration = Duration::from_millis(2);
/// Number of samples of a round before its minimum is tested (`HYSTART_MIN_SAMPLES`).
const MIN_SAMPLES: u32 = 8;
/// Maximum burst of a sender, `GSO_MAX_SIZE`, in bytes.
const MAX_BURST: u64 = 65_536;
/// Maximum that bursts may add to the threshold of the train.
const MAX_CUSHION: Duration = Duration::from_millis(1);

/// Threshold of an ACK train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckTrain {
    /// Half the minimum RTT, as in the paper and in Linux before 5.6.
    Half,
    /// The minimum RTT and a cushion for bursts of at most 1 ms, half of both if packets are not paced: a
    /// paced window is spread over up to half an RTT anyway. Linux since 5.6.
    Cushioned {
        /// Whether the sender paces.
        paced: bool,
    },
}

/// HyStart of Linux.
#[derive(Clone, Debug)]
pub struct HystartLinux {
    train: AckTrain,
    /// Whether slow start has ended; reset only by a timeout.
    found: bool,
    /// Current round; `None` before the first acknowledgement.
    round: Option<Round>,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    start: Time,
    /// Position of the next new packet at the start.
    end: u64,
    /// Time of the last ACK of the train.
    last_ack: Time,
    samples: u32,
    /// Minimum RTT of the round; `Duration::MAX` before the first sample.
    min_rtt: Duration,
}

impl Round {
    fn new(now: Time, end: u64) -> Self {
        Self { start: now, end, last_ack: now, samples: 0, min_rtt: Duration::MAX }
    }
}

impl HystartLinux {
    /// Makes a policy with this threshold for trains.
    #[must_use]
    pub fn new(train: AckTrain) -> Self {
        Self { train, found: false, round: None }
    }

    fn train_threshold(&self, question: &SlowStartInput<'_>, min_rtt: Duration) -> Duration {
        let AckTrain::Cushioned { paced } = self.train else {
            return min_rtt / 2;
        };
        // hystart_ack_delay: four of the largest bursts at the pacing rate, which is 2 cwnd / srtt
        let cushion = question.ack.srtt.map_or(Duration::ZERO, |srtt| {
            (srtt * (4 * MAX_BURST) / question.window.saturating_mul(2).max(1)).min(MAX_CUSHION)
        });
        let threshold = min_rtt + cushion;
        if paced { threshold } else { threshold / 2 }
    }
}

impl SlowStartPolicy for HystartLinux {
    fn on_ack(&mut self, question: &SlowStartInput<'_>) -> SlowStartDecision {
        let ack = question.ack;
        let mut round = self.round.unwrap_or_else(|| Round::new(ack.now, ack.next_position));
        let Some((rtt, min_rtt)) = question.rtt.zip(question.min_rtt).filter(|_| !self.found) else {
            return SlowStartDecision::GO_ON;
        };
        // the acknowledgement that ends a round belongs to the next one
        if ack.acked_position > round.end {
            round = Round::new(ack.now, ack.next_position);
        }
        if question.window >= LOW_WINDOW * question.mss {
            if ack.now.since(round.last_ack) <= TRAIN_SPACING {
                round.last_ack = ack.now;
                self.found |= ack.now.since(round.start) > self.train_threshold(question, min_rtt);
            }
            round.min_rtt = round.min_rtt.min(rtt);
            if round.samples < MIN_SAMPLES {
                round.samples += 1;
            } else {
                self.found |= round.min_rtt > min_rtt + increase_threshold(min_rtt);
            }
            if self.found {
                self.round = Some(round);
                return SlowStartDecision::Leave;
            }
        }
        self.round = Some(round);
        SlowStartDecision::GO_ON
    }

    fn on_timeout(&mut self, now: Time, next_position: u64) {
        self.found = false;
        self.round = Some(Round::new(now, next_position));
    }
}

#[cfg(test)]
mod tests {
    use super::super::slow_start::testing::Driver;
    use super::*;

    const PACED: AckTrain = AckTrain::Cushioned { paced: true };
    const UNPACED: AckTrain = AckTrain::Cushioned { paced: false };

    /// Time since the start of the round, in ms, at which the train ends slow start, if within 100 ACKs; ACKs
    /// are 1 ms apart from 100 ms on, the RTT is 50 ms.
    fn train_ends(train: AckTrain, window: u64, spacing_us: u64) -> Option<u64> {
        let mut driver = Driver::new(HystartLinux::new(train), window);
        (0..100).find_map(|i| {
            let answer = driver.ack(100_000 + i * spacing_us, 50_000, i + 1, 1000);
            (answer == SlowStartDecision::Leave).then_some(i * spacing_us / 1000)
        })
    }

    #[test]
    fn an_ack_train_ends_slow_start_when_it_is_longer_than_the_threshold() {
        // cushion: 4 x 65536 B at 2 x 100 kB / 50 ms = 4 MB/s is 65.5 ms, capped at 1 ms
        assert_eq!(train_ends(AckTrain::Half, 100, 1000), Some(26)); // > 25 ms
        assert_eq!(train_ends(UNPACED, 100, 1000), Some(26)); // > (50 + 1) / 2 ms
        assert_eq!(train_ends(PACED, 100, 1000), Some(52)); // > 51 ms
        // at 2 x 100 MB / 50 ms = 4 GB/s, the cushion is 65.536 us
        assert_eq!(train_ends(PACED, 100_000, 1000), Some(51)); // > 50.066 ms
    }

    #[test]
    fn acks_more_than_2_ms_apart_are_no_train() {
        assert_eq!(train_ends(PACED, 100, 2000), Some(52));
        assert_eq!(train_ends(PACED, 100, 2001), None);
    }

    #[test]
    fn below_16_packets_nothing_is_found() {
        assert_eq!(train_ends(PACED, 15, 1000), None);
        assert_eq!(train_ends(PACED, 16, 1000), Some(52));
    }

    /// Sample, counted from 1, at which slow start ends: a first round of one sample of 80 ms, then a round
    /// with these RTTs in ms, 10 ms apart (no train).
    fn delay_ends(rtts: &[u64]) -> Option<usize> {
        let mut driver = Driver::new(HystartLinux::new(PACED), 100);
        // first ACK: starts round 1 with end 10; that of packet 11 is the first of the next round
        assert_eq!(driver.ack(0, 80_000, 1, 10), SlowStartDecision::GO_ON);
        let mut left =
            (1..).zip(rtts).map(|(i, rtt)| driver.ack(10_000 + 10_000 * i, rtt * 1000, 11 + i, 1000));
        left.position(|answer| answer == SlowStartDecision::Leave).map(|at| at + 1)
    }

    #[test]
    fn the_delay_ends_slow_start_at_the_ninth_sample_of_a_round() {
        // threshold: 80 + 80/8 = 90 ms, exceeded
        assert_eq!(delay_ends(&[91; 20]), Some(9));
        assert_eq!(delay_ends(&[90; 20]), None);
    }

    #[test]
    fn one_small_sample_anywhere_in_the_round_prevents_the_exit() {
        let mut rtts = [91; 20];
        rtts[3] = 90;
        assert_eq!(delay_ends(&rtts), None);
        // the minimum includes the ninth sample (before Linux 5.16 it did not)
        let mut rtts = [91; 20];
        rtts[8] = 85;
        assert_eq!(delay_ends(&rtts), None);
    }

    #[test]
    fn samples_of_a_round_are_forgotten_at_its_end() {
        let mut driver = Driver::new(HystartLinux::new(PACED), 100);
        // round 1 ends with the ACK of packet 11 with a minimum of 80 ms; round 2 has only 100 ms
        for packet in 1..=11 {
            assert_eq!(driver.ack(packet * 10_000, 80_000, packet, 10), SlowStartDecision::GO_ON);
        }
        // round 2: end 10 again, since `next` was 10, so each ACK starts a round: never 9 samples
        for packet in 12..=30 {
            assert_eq!(driver.ack(packet * 10_000, 100_000, packet, 10), SlowStartDecision::GO_ON);
        }
        // the end moves on: one more ACK starts a round, eight follow
        assert_eq!(driver.ack(310_000, 100_000, 31, 100), SlowStartDecision::GO_ON);
        let left = (32..60)
            .find(|packet| driver.ack(packet * 10_000, 100_000, *packet, 100) == SlowStartDecision::Leave);
        assert_eq!(left, Some(39));
    }

    #[test]
    fn it_leaves_once_until_a_timeout() {
        let mut driver = Driver::new(HystartLinux::new(PACED), 100);
        let mut leaves = |from: u64| {
            (from..from + 100).find(|i| driver.ack(i * 1000, 50_000, *i, 1000) == SlowStartDecision::Leave)
        };
        assert_eq!(leaves(0), Some(52));
        assert_eq!(leaves(53), None);
        driver.policy.on_timeout(Time::from_nanos(200_000_000), 1000);
        let again = (200..300).find(|i| driver.ack(i * 1000, 50_000, *i, 1000) == SlowStartDecision::Leave);
        assert_eq!(again, Some(252));
    }
}
