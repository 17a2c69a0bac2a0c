//! Estimate of the data acknowledged in excess of the bandwidth: Wi-Fi, cable and receivers aggregate
//! acknowledgements, and the window must cover the silence between them.
//!
//! An epoch lasts while more is acknowledged since its start than the bandwidth delivers; a filter keeps the
//! maximum excess.
//!
//! |            | [`ExtraAcked`] (Linux `bbr_update_ack_aggregation`) | [`AckHeight`] (Chromium `UpdateAckAggregationBytes`) |
//! |------------|---------------------------------------|------------------------------------------|
//! | unit       | packets                               | bytes                                    |
//! | maximum    | two windows of 5 rounds: 5 to 10      | windowed filter of 10 rounds             |
//! | first ACK  | counts in full                        | counts from the second of an epoch on    |
//! | limit      | the window; 100 ms at the bandwidth   | none                                     |

use super::filter::{Extremum, WindowedFilter};
use quiclab_core::{Duration, Time};

/// Number of rounds of a window (`bbr_extra_acked_win_rtts`).
const WINDOW_ROUNDS: u32 = 5;
/// Number of packets after which an epoch ends (`bbr_ack_epoch_acked_reset_thresh`).
const EPOCH_LIMIT: u64 = 1 << 20;

/// Linux's estimate, in packets.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExtraAcked {
    epoch: Time,
    acked: u64,
    maxima: [u64; 2],
    current: usize,
    rounds: u32,
}

impl ExtraAcked {
    /// Maximum number of packets acknowledged in excess of the bandwidth in the last 5 to 10 rounds.
    pub(crate) fn packets(&self) -> u64 {
        self.maxima[0].max(self.maxima[1])
    }

    /// Starts a new epoch: sending restarts after idle.
    pub(crate) fn restart(&mut self, now: Time) {
        self.epoch = now;
        self.acked = 0;
    }

    /// Adds `acked` packets; `expected` returns the number that the bandwidth delivers in a time.
    pub(crate) fn update(
        &mut self,
        now: Time,
        round_start: bool,
        acked: u64,
        window: u64,
        expected: impl Fn(Duration) -> u64,
    ) {
        if acked == 0 {
            return;
        }
        if round_start {
            self.rounds += 1;
            if self.rounds >= WINDOW_ROUNDS {
                self.rounds = 0;
                self.current = 1 - self.current;
                self.maxima[self.current] = 0;
            }
        }
        let mut due = expected(now.since(self.epoch));
        if self.acked <= due || self.acked + acked >= EPOCH_LIMIT {
            self.restart(now);
            due = 0;
        }
        self.acked += acked;
        let extra = self.acked.saturating_sub(due).min(window);
        self.maxima[self.current] = self.maxima[self.current].max(extra);
    }
}

/// Chromium's estimate, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct AckHeight {
    epoch: Time,
    acked: u64,
    maximum: WindowedFilter,
}

impl AckHeight {
    /// Makes an estimate with a maximum over `rounds`.
    pub(crate) fn new(rounds: u64) -> Self {
        Self { epoch: Time::ZERO, acked: 0, maximum: WindowedFilter::new(Extremum::Max, rounds, 0) }
    }

    /// Maximum bytes acknowledged in excess of the bandwidth within the window.
    pub(crate) fn bytes(&self) -> u64 {
        self.maximum.get()
    }

    /// Adds `acked` bytes in `round`; `expected` returns the bytes that the bandwidth delivers in a time.
    pub(crate) fn update(&mut self, now: Time, round: u64, acked: u64, expected: impl Fn(Duration) -> u64) {
        let due = expected(now.since(self.epoch));
        if self.acked <= due {
            self.acked = acked;
            self.epoch = now;
            return;
        }
        self.acked += acked;
        self.maximum.update(round, self.acked.saturating_sub(due));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ms as at;

    #[test]
    fn linux_counts_what_arrives_beyond_the_bandwidth_since_the_epoch() {
        // 1 packet per ms expected; 20 arrive at 100 ms (epoch starts) and 20 at 110 ms: 40 - 10 = 30
        let per_ms = |time: Duration| time.as_nanos() / 1_000_000;
        let mut extra = ExtraAcked::default();
        extra.update(at(100), false, 20, 1000, per_ms);
        assert_eq!(extra.packets(), 20, "all of the first acknowledgement");
        extra.update(at(110), false, 20, 1000, per_ms);
        assert_eq!(extra.packets(), 30);
        extra.update(at(110), false, 100, 50, per_ms);
        assert_eq!(extra.packets(), 50, "never more than the window");
    }

    #[test]
    fn linux_forgets_after_five_to_ten_rounds() {
        let all = |_| u64::MAX;
        let mut extra = ExtraAcked::default();
        extra.update(at(1), false, 20, 1000, all);
        for round in 1..10 {
            extra.update(at(1 + round), true, 1, 1000, all);
            assert_eq!(extra.packets(), 20, "round {round}");
        }
        extra.update(at(20), true, 1, 1000, all);
        assert_eq!(extra.packets(), 1, "the window of the 20 packets is overwritten in round 10");
    }

    #[test]
    fn chromium_counts_from_the_second_acknowledgement_of_an_epoch() {
        let per_ms = |time: Duration| time.as_nanos() / 1_000_000;
        let mut height = AckHeight::new(10);
        height.update(at(100), 1, 20, per_ms);
        assert_eq!(height.bytes(), 0);
        height.update(at(110), 1, 20, per_ms);
        assert_eq!(height.bytes(), 30);
        height.update(at(200), 2, 20, per_ms); // 40 <= 100: a new epoch
        assert_eq!(height.bytes(), 30);
        height.update(at(201), 12, 2, per_ms); // 22 - 1 = 21, 11 rounds after the 30
        assert_eq!(height.bytes(), 21);
    }
}
