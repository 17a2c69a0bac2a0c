//! picoquic's two filters of slow start (picoquic/cc_common.c, 2021): when the RTT has risen, and when
//! losses are too many.
//!
//! | Filter | Rule |
//! |---|---|
//! | [`DelayTest`] | the smallest of 7 samples, 1 ms apart at least, exceeds the smallest "largest of 7" so far by a quarter, 7 times |
//! | [`LossTest`] | the share of lost packets, smoothed by 1/16 per packet, exceeds 20 % |

use quiclab_core::{Duration, Time};

/// Samples that are looked at together (`PICOQUIC_MIN_MAX_RTT_SCOPE`).
const SCOPE: usize = 7;
/// Shortest time between two samples (`picoquic_hystart_test`).
const SPACING: Duration = Duration::from_millis(1);
/// Packets that smoothing looks back at most (`PICOQUIC_SMOOTHED_LOSS_SCOPE`).
const LOSS_SCOPE: u32 = 32;
/// `PICOQUIC_SMOOTHED_LOSS_FACTOR`.
const LOSS_FACTOR: f64 = 1.0 / 16.0;
/// `PICOQUIC_SMOOTHED_LOSS_THRESHOLD`.
const LOSS_THRESHOLD: f64 = 0.2;

/// Whether the RTT has risen by a quarter (`picoquic_hystart_test`).
#[derive(Clone, Debug, Default)]
pub(crate) struct DelayTest {
    samples: [Duration; SCOPE],
    next: usize,
    filled: bool,
    last: Time,
    /// Smallest of the largest of seven; `None` before the first seven.
    reference: Option<Duration>,
    excesses: usize,
}

impl DelayTest {
    /// Takes a sample; `true` if slow start must end.
    pub(crate) fn risen(&mut self, now: Time, rtt: Duration) -> bool {
        if now <= self.last + SPACING {
            return false;
        }
        self.last = now;
        self.samples[self.next] = rtt;
        self.next = (self.next + 1) % SCOPE;
        self.filled |= self.next == 0;
        if !self.filled {
            return false;
        }
        let (mut smallest, mut largest) = (self.samples[0], self.samples[0]);
        for &sample in &self.samples[1..] {
            smallest = smallest.min(sample);
            largest = largest.max(sample);
        }
        let reference = self.reference.map_or(largest, |reference| reference.min(largest));
        self.reference = Some(reference);
        if smallest > reference + reference / 4 {
            self.excesses += 1;
            return self.excesses >= SCOPE;
        }
        if smallest <= reference {
            self.excesses = 0;
        }
        false
    }
}

/// Whether losses are too many (`picoquic_hystart_loss_test`).
#[derive(Clone, Debug, Default)]
pub(crate) struct LossTest {
    share: f64,
    /// Packets delivered since the last loss.
    delivered: u32,
}

impl LossTest {
    /// `packets` are delivered.
    pub(crate) fn on_delivered(&mut self, packets: u32) {
        self.delivered = self.delivered.saturating_add(packets).min(LOSS_SCOPE - 1);
    }

    /// A packet is lost; `true` if the share of losses is above 20 %.
    pub(crate) fn lost_too_many(&mut self) -> bool {
        for _ in 0..=self.delivered {
            self.share *= 1.0 - LOSS_FACTOR;
        }
        self.delivered = 0;
        self.share += (1.0 - self.share) * LOSS_FACTOR;
        self.share > LOSS_THRESHOLD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rise_by_more_than_a_quarter_is_noticed_once_seven_windows_lie_above_it() {
        let mut test = DelayTest::default();
        let mut now = Time::ZERO;
        let mut sample = |test: &mut DelayTest, millis: u64| {
            now += Duration::from_millis(2);
            test.risen(now, Duration::from_millis(millis))
        };
        for _ in 0..20 {
            assert!(!sample(&mut test, 100));
        }
        for _ in 0..50 {
            assert!(!sample(&mut test, 125), "a quarter is not more than a quarter");
        }
        // the smallest of seven is 126 ms from the 7th sample on, for the 7th time with the 13th
        for number in 1..=13 {
            assert_eq!(sample(&mut test, 126), number == 13, "sample {number}");
        }
    }

    #[test]
    fn samples_within_a_millisecond_count_once() {
        let mut test = DelayTest::default();
        for step in 0..100 {
            let now = Time::ZERO + Duration::from_micros(5000 + 10 * step);
            assert!(!test.risen(now, Duration::from_millis(100 * (1 + step))));
        }
        assert!(!test.filled, "two samples at most in 1 ms");
    }

    #[test]
    fn four_losses_in_a_row_are_above_a_fifth_and_one_in_ten_is_not() {
        // n losses in a row: s(n) = (15/16) s' + 1/16 (1 - (15/16) s'), s' the last share:
        // 0.0625, 0.1174, 0.1656, 0.2081 by s = 1 - (1 - s'·15/16)·15/16
        let mut test = LossTest::default();
        assert_eq!([0; 4].map(|_| test.lost_too_many()), [false, false, false, true]);
        // one in ten: s = 1/16 + (15/16)^11 s, so s = 0.0625 / (1 - 0.4917) = 0.123
        let mut test = LossTest::default();
        for _ in 0..100 {
            test.on_delivered(9);
            assert!(!test.lost_too_many());
        }
    }
}
