//! HyStart++ (RFC 9406): slow start that slows down before it ends.
//!
//! When the minimum RTT of a round exceeds that of the previous round, *conservative slow start* (CSS)
//! begins: a quarter of the growth for at most 5 rounds. If the RTT falls again, the increase was a jitter
//! and slow start resumes; otherwise it ends.
//!
//! | | RFC 9406 | here |
//! |---|---|---|
//! | end of a round (4.2) | "when windowEnd is ACKed" | when a packet sent after its start is; that ACK is the first of the next round |
//! | L (4.3) | RECOMMENDED: 8 without pacing, infinite with | the same |
//! | slow starts (4.3) | SHOULD only be used for the first | the same: later ones are unaffected |
//! | test of the delay (4.2) | in rounds with at least 8 samples | at each sample from the 8th on |

use super::slow_start::{SlowStartDecision, SlowStartInput, SlowStartPolicy, increase_threshold};
use quiclab_core::Duration;

/// `N_RTT_SAMPLE` (section 4.3).
const SAMPLES: u32 = 8;
/// `CSS_GROWTH_DIVISOR` (section 4.3).
const GROWTH_DIVISOR: u64 = 4;
/// `CSS_ROUNDS` (section 4.3).
const CONSERVATIVE_ROUNDS: u32 = 5;
/// L, the limit of packets per acknowledgement, for a sender that does not pace (section 4.3).
const UNPACED_LIMIT: u64 = 8;

/// Policy HyStart++.
#[derive(Clone, Debug)]
pub struct HystartPlusPlus {
    paced: bool,
    /// Position of the next new packet at the start of the round (`windowEnd`); `None` before the first.
    round_end: Option<u64>,
    samples: u32,
    /// `currentRoundMinRTT`; `Duration::MAX`: no sample.
    round_min: Duration,
    /// `lastRoundMinRTT`; `Duration::MAX`: no sample.
    last_min: Duration,
    /// State of CSS; `None` in slow start.
    conservative: Option<Conservative>,
}

#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// `cssBaselineMinRtt`: an RTT below it ends CSS.
    baseline: Duration,
    /// Number of rounds that ended in CSS, including the one in which it began (section 4.2).
    rounds: u32,
}

impl HystartPlusPlus {
    /// Makes a policy for a sender that paces or does not.
    #[must_use]
    pub fn new(paced: bool) -> Self {
        Self {
            paced,
            round_end: None,
            samples: 0,
            round_min: Duration::MAX,
            last_min: Duration::MAX,
            conservative: None,
        }
    }

    /// Starts a round when due; returns whether CSS has lasted long enough.
    fn roll(&mut self, acked: u64, next: u64) -> bool {
        if self.round_end.is_some_and(|end| acked <= end) {
            return false;
        }
        let over = self.round_end.replace(next).is_some();
        if !over {
            return false;
        }
        self.last_min = std::mem::replace(&mut self.round_min, Duration::MAX);
        self.samples = 0;
        self.conservative.as_mut().is_some_and(|css| {
            css.rounds += 1;
            css.rounds >= CONSERVATIVE_ROUNDS
        })
    }

    fn sample(&mut self, rtt: Duration) {
        self.round_min = self.round_min.min(rtt);
        self.samples += 1;
        if self.samples < SAMPLES {
            return;
        }
        match self.conservative {
            // section 4.2: "if (currentRoundMinRTT < cssBaselineMinRtt) ... resume slow start"
            Some(css) if self.round_min < css.baseline => self.conservative = None,
            Some(_) => {}
            None => {
                // no minimum yet is Duration::MAX, and additions saturate: never true then
                let grown = self.last_min < Duration::MAX
                    && self.round_min >= self.last_min + increase_threshold(self.last_min);
                if grown {
                    self.conservative = Some(Conservative { baseline: self.round_min, rounds: 0 });
                }
            }
        }
    }
}

impl SlowStartPolicy for HystartPlusPlus {
    fn on_ack(&mut self, question: &SlowStartInput<'_>) -> SlowStartDecision {
        let limit = (!self.paced).then_some(UNPACED_LIMIT * question.mss);
        // section 4.3: "SHOULD use HyStart++ only for the initial slow start"
        if !question.initial {
            return SlowStartDecision::Continue { gain: 1, divisor: 1, limit };
        }
        if self.roll(question.ack.acked_position, question.ack.next_position) {
            return SlowStartDecision::Leave;
        }
        if let Some(rtt) = question.rtt {
            self.sample(rtt);
        }
        let divisor = if self.conservative.is_some() { GROWTH_DIVISOR } else { 1 };
        SlowStartDecision::Continue { gain: 1, divisor, limit }
    }
}

#[cfg(test)]
mod tests {
    use super::super::slow_start::testing::{Driver, MSS};
    use super::*;

    const FAST: SlowStartDecision = SlowStartDecision::GO_ON;
    const SLOW: SlowStartDecision = SlowStartDecision::Continue { gain: 1, divisor: 4, limit: None };

    /// Rounds of `n` packets.
    struct Rounds {
        driver: Driver<HystartPlusPlus>,
        packet: u64,
        size: u64,
    }

    impl Rounds {
        fn new(size: u64) -> Self {
            Self { driver: Driver::new(HystartPlusPlus::new(true), 100), packet: 0, size }
        }

        /// Decisions in a round whose samples are all `rtt_ms`. A round starts with the ACK of the first
        /// packet sent after the start of the previous one.
        fn round(&mut self, rtt_ms: u64) -> Vec<SlowStartDecision> {
            let next = self.packet + self.size;
            (0..self.size)
                .map(|_| {
                    self.packet += 1;
                    self.driver.ack(self.packet * 100, rtt_ms * 1000, self.packet, next)
                })
                .collect()
        }
    }

    #[test]
    fn an_rtt_increase_from_round_to_round_starts_conservative_slow_start_at_the_eighth_sample() {
        // RFC 9406 section 4.2: threshold of 40 ms is max(4, min(40/8, 16)) = 5 ms
        let mut rounds = Rounds::new(10);
        assert_eq!(rounds.round(40), [FAST; 10]);
        let second = rounds.round(45);
        assert_eq!((&second[..7], &second[7..]), (&[FAST; 7][..], &[SLOW; 3][..]));
        let mut rounds = Rounds::new(10);
        rounds.round(40);
        assert_eq!(rounds.round(44), [FAST; 10]);
    }

    #[test]
    fn the_threshold_is_at_least_4_and_at_most_16_ms() {
        for (before, after, slow) in [(8, 11, false), (8, 12, true), (400, 415, false), (400, 416, true)] {
            let mut rounds = Rounds::new(8);
            rounds.round(before);
            assert_eq!(rounds.round(after)[7] == SLOW, slow, "{before} ms, then {after} ms");
        }
    }

    #[test]
    fn rounds_with_fewer_than_8_samples_find_nothing() {
        let mut rounds = Rounds::new(7);
        for rtt in [40, 60, 80, 100] {
            assert_eq!(rounds.round(rtt), [FAST; 7]);
        }
    }

    #[test]
    fn a_slow_increase_is_compared_with_the_round_before_only() {
        // 40, 44, 48, ... ms: below the threshold of 5 to 6 ms in each round
        let mut rounds = Rounds::new(10);
        for rtt in [40, 44, 48, 52, 56, 60] {
            assert_eq!(rounds.round(rtt), [FAST; 10]);
        }
    }

    #[test]
    fn conservative_slow_start_ends_after_five_rounds_with_the_one_it_began_in() {
        let mut rounds = Rounds::new(10);
        rounds.round(40);
        assert_eq!(rounds.round(50)[9], SLOW); // first
        for _ in 2..=5 {
            assert_eq!(rounds.round(50), [SLOW; 10]);
        }
        assert_eq!(rounds.round(50)[0], SlowStartDecision::Leave); // the first ACK after the fifth
    }

    #[test]
    fn slow_start_resumes_when_the_rtt_recovers() {
        let mut rounds = Rounds::new(10);
        rounds.round(40);
        rounds.round(50);
        assert_eq!(rounds.round(50), [SLOW; 10]); // not below the baseline of 50 ms
        let recovered = rounds.round(49);
        assert_eq!((&recovered[..7], &recovered[7..]), (&[SLOW; 7][..], &[FAST; 3][..]));
        // and can end again: 49 + 6.125 ms
        let again = rounds.round(56);
        assert_eq!(again[9], SLOW);
        // five rounds are counted again
        for _ in 2..=5 {
            assert_eq!(rounds.round(56), [SLOW; 10]);
        }
        assert_eq!(rounds.round(56)[0], SlowStartDecision::Leave);
    }

    #[test]
    fn a_sender_that_does_not_pace_counts_at_most_8_packets_per_ack() {
        let mut driver = Driver::new(HystartPlusPlus::new(false), 100);
        let answer = driver.ack(100, 40_000, 1, 100);
        assert_eq!(answer, SlowStartDecision::Continue { gain: 1, divisor: 1, limit: Some(8 * MSS) });
    }

    #[test]
    fn later_slow_starts_are_not_disturbed() {
        let mut rounds = Rounds::new(10);
        rounds.driver.initial = false;
        for rtt in [40, 80, 160, 320] {
            assert_eq!(rounds.round(rtt), [FAST; 10]);
        }
    }
}
