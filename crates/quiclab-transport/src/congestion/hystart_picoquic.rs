//! Exit from slow start of picoquic: the RTT has risen by a quarter (picoquic/cc_common.c at bf84867, 2020,
//! `picoquic_hystart_test`): the minimum of 7 samples, at least 1 ms apart, exceeds the minimum "largest of
//! 7" so far by a quarter, 7 times. NewReno and CUBIC use it, and BBR if the RTT is above 100 ms.

use super::slow_start::{SlowStartDecision, SlowStartInput, SlowStartPolicy};
use quiclab_core::{Duration, Time};

/// Number of samples in a group (`PICOQUIC_MIN_MAX_RTT_SCOPE`).
const SCOPE: usize = 7;
/// Minimum time between two samples (`picoquic_hystart_test`).
const SPACING: Duration = Duration::from_millis(1);

/// Test for a rise of the RTT by a quarter (`picoquic_hystart_test`).
#[derive(Clone, Debug, Default)]
pub struct DelayTest {
    samples: [Duration; SCOPE],
    next: usize,
    filled: bool,
    last: Time,
    /// Minimum of the maxima of seven samples; `None` before the first seven.
    reference: Option<Duration>,
    excesses: usize,
}

impl DelayTest {
    /// Adds a sample; returns whether slow start must end.
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

/// As in newreno.c and cubic.c: the threshold becomes the window before the growth by the acknowledgement.
impl SlowStartPolicy for DelayTest {
    fn on_ack(&mut self, question: &SlowStartInput<'_>) -> SlowStartDecision {
        let Some(rtt) = question.rtt.filter(|_| question.initial) else { return SlowStartDecision::GO_ON };
        if self.risen(question.ack.now, rtt) { SlowStartDecision::Leave } else { SlowStartDecision::GO_ON }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Ack;

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
        // the minimum of seven is 126 ms from the 7th sample on, for the 7th time with the 13th
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
    fn only_the_first_slow_start_ends_by_delay() {
        for initial in [true, false] {
            let (mut test, mut left) = (DelayTest::default(), false);
            for step in 0..60 {
                let ack = Ack { now: Time::ZERO + Duration::from_millis(2 * step), ..Ack::default() };
                let rtt = Some(Duration::from_millis(if step < 20 { 100 } else { 130 }));
                let known =
                    SlowStartInput { ack: &ack, rtt, min_rtt: rtt, window: 20_000, mss: 1000, initial };
                left |= test.on_ack(&known) == SlowStartDecision::Leave;
            }
            assert_eq!(left, initial);
        }
    }
}
