//! Linux TCP's internal pacing before 4.20 (`tcp_internal_pacing`, `tcp_pacing_check`; since 4.13): after a
//! burst, a timer delays the next one by the duration of the burst at the rate.
//!
//! | Aspect | Here | Linux |
//! | --- | --- | --- |
//! | length | payload and one TCP header of the burst | the same (`skb->len`), where fq counts all headers |
//! | a timer or a sender that is late | lateness is not compensated | the same; since 4.20 up to half a wait |
//! | first segments | paced like all others | the same; since 4.20 ten are not |
//! | a packet sent while the timer runs, such as a probe | restarts it | the same |

use super::{Pacer, PacingInput, departure};
use quiclab_core::{ByteCount, DataRate, Time};

/// Pacer with a timer.
#[derive(Clone, Debug)]
pub struct Timer {
    max_rate: Option<DataRate>,
    rate: Option<DataRate>,
    /// Length of the TCP header with its options, in bytes.
    tcp_header: u64,
    /// End of the timer.
    until: Time,
}

impl Timer {
    /// Makes the pacer; `max_rate` is `SO_MAX_PACING_RATE`; `tcp_header` is in bytes.
    #[must_use]
    pub fn new(max_rate: Option<DataRate>, tcp_header: u64) -> Self {
        Self { max_rate, rate: None, tcp_header, until: Time::ZERO }
    }
}

impl Pacer for Timer {
    fn update(&mut self, _now: Time, input: &PacingInput) {
        self.rate = departure::rate(input, self.max_rate);
    }

    fn release(&self, now: Time, _bytes: u64) -> Time {
        now.max(self.until)
    }

    fn on_sent(&mut self, now: Time, bytes: u64) {
        if let Some(rate) = self.rate.filter(|rate| rate.bits_per_second() > 0) {
            self.until = now + rate.time_for(ByteCount::from_bytes(bytes + self.tcp_header));
        }
    }

    fn rate(&self) -> Option<DataRate> {
        self.rate
    }

    fn paces_bursts(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacing::testing::{greedy, input, ms};

    /// 9.6 Mbit/s: 1168 B of payload and 32 B of header take 1 ms.
    fn paced() -> Timer {
        let mut timer = Timer::new(None, 32);
        let rate = Some(DataRate::from_bits_per_second(9_600_000));
        timer.update(Time::ZERO, &PacingInput { rate, ..input(12_000, 100) });
        timer
    }

    #[test]
    fn the_first_segments_are_paced_too() {
        assert_eq!(greedy(&mut paced(), Time::ZERO, 1168, 4), [0, 1, 2, 3].map(ms));
    }

    #[test]
    fn a_burst_has_one_header() {
        assert_eq!(greedy(&mut paced(), Time::ZERO, 2 * 1184, 3), [0, 2, 4].map(ms));
    }

    #[test]
    fn lateness_is_not_made_good() {
        let mut timer = paced();
        timer.on_sent(Time::ZERO, 1168);
        assert_eq!(greedy(&mut timer, ms(100), 1168, 2), [100, 101].map(ms));
    }

    #[test]
    fn a_probe_starts_the_timer_again() {
        let mut timer = paced();
        timer.on_sent(Time::ZERO, 3 * 1200 - 32);
        timer.on_sent(ms(1), 1168);
        assert_eq!(timer.release(ms(1), 1168), ms(2));
    }

    #[test]
    fn without_a_rate_nothing_is_paced() {
        let mut timer = Timer::new(None, 32);
        timer.update(Time::ZERO, &PacingInput { srtt: None, ..input(12_000, 100) });
        assert_eq!(greedy(&mut timer, ms(1), 1168, 3), [ms(1); 3]);
    }
}
