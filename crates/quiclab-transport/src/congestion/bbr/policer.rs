//! Long-term bandwidth ("lt_bw"): the rate of a policer, from two intervals of equal throughput and many
//! losses (Linux net/ipv4/tcp_bbr.c, `bbr_lt_bw_sampling`; picoquic/bbr.c, `BBRltbwSampling`; Flach et
//! al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016).
//!
//! An interval starts with a loss, when the bucket is empty, lasts 4 to 16 round trips and ends with a loss
//! once the losses are a fifth of the packets delivered. If two in a row differ by at most 1/8, their mean is
//! the bandwidth for 48 round trips.
//!
//! |                            | Linux              | picoquic                                     |
//! |----------------------------|--------------------|----------------------------------------------|
//! | lost / delivered           | at least 50 / 256  | at least 205 / 1024                          |
//! | equal if they differ by    | 1/8 or 500 byte/s  | less than 1/8 or 4000 byte/s                 |
//! | an interval may end        | at any loss        | at the end of a round that had losses        |
//! | while the rate is in use   | no sampling        | sampling continues and counts rounds; the    |
//! |                            |                    | rate is given up after 9 rounds without loss |

use quiclab_core::Time;

/// Minimum number of rounds of an interval (`bbr_lt_intvl_min_rtts`).
const MIN_ROUNDS: u32 = 4;
/// Maximum number of rounds of an interval.
const MAX_ROUNDS: u32 = 4 * MIN_ROUNDS;
/// Number of rounds for which the rate is used (`bbr_lt_bw_max_rtts`).
const ROUNDS_IN_USE: u32 = 48;
/// Minimum interval in nanoseconds: 1 ms.
const MIN_INTERVAL: u64 = 1_000_000;

/// Implementation whose rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PolicerRules {
    Linux,
    Picoquic,
}

/// State at an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PolicerInput {
    pub(crate) now: Time,
    /// Total bytes delivered.
    pub(crate) delivered: u64,
    /// Total bytes lost.
    pub(crate) lost: u64,
    /// Whether this acknowledgement declared packets lost.
    pub(crate) losses: bool,
    pub(crate) round_start: bool,
    pub(crate) app_limited: bool,
    /// Whether the controller is in PROBE_BW.
    pub(crate) probing: bool,
}

/// Detector of a policer.
#[derive(Clone, Debug)]
pub(crate) struct Policer {
    rules: PolicerRules,
    /// Rate in byte/s; 0: none yet.
    rate: u64,
    in_use: bool,
    sampling: bool,
    rounds: u32,
    start: Time,
    /// Totals at the start of the interval.
    delivered: u64,
    lost: u64,
    /// Total bytes lost at the start of the round (picoquic).
    lost_at_round: u64,
}

impl Policer {
    pub(crate) fn new(rules: PolicerRules) -> Self {
        Self {
            rules,
            rate: 0,
            in_use: false,
            sampling: false,
            rounds: 0,
            start: Time::ZERO,
            delivered: 0,
            lost: 0,
            lost_at_round: 0,
        }
    }

    /// Rate of the policer in byte/s while it is in use.
    pub(crate) fn rate(&self) -> Option<u64> {
        self.in_use.then_some(self.rate)
    }

    /// Resets the state; the totals are the current ones.
    pub(crate) fn reset(&mut self, now: Time, delivered: u64, lost: u64) {
        self.rate = 0;
        self.in_use = false;
        self.sampling = false;
        self.start_interval(now, delivered, lost);
    }

    fn start_interval(&mut self, now: Time, delivered: u64, lost: u64) {
        self.start = now;
        self.delivered = delivered;
        self.lost = lost;
        self.lost_at_round = lost;
        self.rounds = 0;
    }

    /// Handles an acknowledgement; returns whether the rate was just abandoned and the gain cycle restarts.
    pub(crate) fn update(&mut self, input: &PolicerInput) -> bool {
        let picoquic = self.rules == PolicerRules::Picoquic;
        if self.in_use {
            if input.probing && input.round_start {
                self.rounds += 1;
                if self.rounds >= ROUNDS_IN_USE + u32::from(picoquic) {
                    self.reset(input.now, input.delivered, input.lost);
                    return true;
                }
            }
            if !picoquic {
                return false;
            }
        }
        let losses = if picoquic { input.lost > self.lost_at_round } else { input.losses };
        if !self.sampling {
            if !losses {
                return false;
            }
            // the bucket is empty now: packets passed before do not show its rate
            self.start_interval(input.now, input.delivered, input.lost);
            self.sampling = true;
        }
        if input.app_limited {
            self.reset(input.now, input.delivered, input.lost);
            return false;
        }
        if input.round_start {
            self.rounds += 1;
            self.lost_at_round = input.lost;
        } else if picoquic {
            return false;
        }
        if self.rounds < MIN_ROUNDS {
            return false;
        }
        if self.rounds > MAX_ROUNDS {
            self.reset(input.now, input.delivered, input.lost);
            return false;
        }
        if losses {
            self.try_end(input);
        }
        false
    }

    fn try_end(&mut self, input: &PolicerInput) {
        let lost = input.lost.saturating_sub(self.lost);
        let delivered = input.delivered.saturating_sub(self.delivered);
        let enough = match self.rules {
            PolicerRules::Linux => lost * 256 >= 50 * delivered,
            PolicerRules::Picoquic => lost * 1024 >= 205 * delivered,
        };
        let nanos = input.now.since(self.start).as_nanos();
        if delivered == 0 || !enough || nanos < MIN_INTERVAL {
            return;
        }
        let rate = u128::from(delivered) * 1_000_000_000 / u128::from(nanos);
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        let difference = rate.abs_diff(self.rate);
        let equal = match self.rules {
            PolicerRules::Linux => difference <= self.rate / 8 || difference <= 500,
            PolicerRules::Picoquic => difference.saturating_mul(8) < self.rate || difference < 4000,
        };
        if self.rate != 0 && equal {
            self.rate = u64::midpoint(rate, self.rate);
            self.in_use = true;
            self.rounds = 0;
            return;
        }
        self.rate = rate;
        self.start_interval(input.now, input.delivered, input.lost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclab_core::Duration;

    /// Runs a round of 100 ms in which `delivered` bytes arrive and `lost` are lost.
    fn round(policer: &mut Policer, number: u64, delivered: u64, lost: u64) -> bool {
        policer.update(&PolicerInput {
            now: Time::ZERO + Duration::from_millis(100 * number),
            delivered: delivered * number,
            lost: lost * number,
            losses: lost > 0,
            round_start: true,
            app_limited: false,
            probing: true,
        })
    }

    #[test]
    fn two_equal_lossy_intervals_of_four_rounds_give_the_policed_rate() {
        // 100 kB in 100 ms are 1 MB/s; 30 kB of 100 kB are 77/256, more than 50/256
        let mut policer = Policer::new(PolicerRules::Linux);
        round(&mut policer, 1, 100_000, 30_000); // starts the interval and counts as its first round
        for number in 2..=4 {
            round(&mut policer, number, 100_000, 30_000);
        }
        assert_eq!(policer.rate(), None, "one interval is not enough");
        for number in 5..=8 {
            assert_eq!(policer.rate(), None);
            round(&mut policer, number, 100_000, 30_000);
        }
        assert_eq!(policer.rate(), Some(1_000_000));
        for number in 9..56 {
            assert!(!round(&mut policer, number, 100_000, 0));
        }
        assert!(round(&mut policer, 56, 100_000, 0), "given up in the 48th round");
        assert_eq!(policer.rate(), None);
    }

    #[test]
    fn losses_below_a_fifth_are_no_policer() {
        // 19 of 100 are 48.6/256
        let mut policer = Policer::new(PolicerRules::Linux);
        for number in 1..100 {
            round(&mut policer, number, 100_000, 19_000);
            assert_eq!(policer.rate(), None);
        }
    }

    #[test]
    fn picoquic_gives_the_rate_up_after_nine_rounds_without_losses() {
        // both counters run, two per round: 18 > 16 in the ninth
        let mut policer = Policer::new(PolicerRules::Picoquic);
        let mut number = 0;
        while policer.rate().is_none() {
            number += 1;
            round(&mut policer, number, 100_000, 30_000);
            assert!(number <= 20, "found within two intervals");
        }
        let (delivered, lost) = (100_000, 30_000 * number);
        for after in 1..=9 {
            assert!(policer.rate().is_some(), "round {after}");
            policer.update(&PolicerInput {
                now: Time::ZERO + Duration::from_millis(100 * (number + after)),
                delivered: delivered * (number + after),
                lost,
                losses: false,
                round_start: true,
                app_limited: false,
                probing: true,
            });
        }
        assert!(policer.rate().is_none());
    }
}
