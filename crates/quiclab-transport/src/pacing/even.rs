//! Even pacing: one packet each interval, without any burst.
//!
//! The interval is that of a full packet at `factor` x cwnd / srtt (RFC 9002 section 7.7:
//! `interval = smoothed_rtt * packet_size / congestion_window / N`), regardless of the packet's size: a train
//! of small packets is as evenly spaced as one of full packets. A pause gives no credit.

use super::rate::Factor;
use super::{Pacer, PacingInput};
use quiclab_core::{ByteCount, DataRate, Time};

/// Pacer that never releases two packets within one interval.
#[derive(Clone, Debug)]
pub struct Even {
    factor: Factor,
    rate: Option<DataRate>,
    /// Size of a full packet in bytes.
    mss: u64,
    /// Departure time of the last packet, and its size in bytes; `None` before the first.
    last: Option<(Time, u64)>,
}

impl Even {
    /// Makes a pacer with the rate `factor` x cwnd / srtt.
    #[must_use]
    pub fn new(factor: f64) -> Self {
        Self { factor: Factor::new(factor), rate: None, mss: 0, last: None }
    }
}

impl Pacer for Even {
    fn update(&mut self, _now: Time, input: &PacingInput) {
        self.rate = self.factor.rate(input).or(self.rate);
        self.mss = input.mss;
    }

    fn release(&self, now: Time, _bytes: u64) -> Time {
        let (Some(rate), Some((sent, bytes))) = (self.rate, self.last) else { return now };
        // a packet larger than a full one (an MTU probe) takes its own time: the rate is kept
        now.max(sent + rate.time_for(ByteCount::from_bytes(bytes.max(self.mss))))
    }

    fn on_sent(&mut self, now: Time, bytes: u64) {
        self.last = Some((now, bytes));
    }

    fn rate(&self) -> Option<DataRate> {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacing::testing::{MSS, at_us, greedy, input, ms, within_rate};
    use proptest::prelude::*;
    use quiclab_core::Duration;

    /// 1.2 Mbit/s: a packet of 1200 bytes each 8 ms.
    fn pacer() -> Even {
        let mut pacer = Even::new(1.25);
        pacer.update(Time::ZERO, &input(12_000, 100));
        pacer
    }

    #[test]
    fn one_packet_leaves_each_interval() {
        assert_eq!(greedy(&mut pacer(), Time::ZERO, MSS, 4), [0, 8, 16, 24].map(ms));
        assert_eq!(greedy(&mut pacer(), Time::ZERO, 100, 4), [0, 8, 16, 24].map(ms));
    }

    #[test]
    fn a_pause_earns_no_burst() {
        let mut pacer = pacer();
        greedy(&mut pacer, Time::ZERO, MSS, 3);
        assert_eq!(greedy(&mut pacer, ms(5000), MSS, 3), [5000, 5008, 5016].map(ms));
    }

    #[test]
    fn a_new_rate_holds_for_the_wait_that_runs() {
        let mut pacer = pacer();
        pacer.on_sent(Time::ZERO, MSS);
        pacer.update(ms(1), &input(24_000, 100));
        assert_eq!(pacer.release(ms(1), MSS), ms(4));
    }

    #[test]
    fn before_the_first_rtt_sample_nothing_is_paced() {
        let mut pacer = Even::new(1.25);
        pacer.update(Time::ZERO, &PacingInput { srtt: None, ..input(12_000, 100) });
        pacer.on_sent(Time::ZERO, MSS);
        assert_eq!(pacer.release(at_us(1), MSS), at_us(1));
    }

    proptest! {
        /// Over any window: bytes <= rate x time + one packet.
        #[test]
        fn it_is_never_faster_than_its_rate_and_a_packet(
            packets in prop::collection::vec((0u64..30_000_000, 40u64..=MSS), 1..120),
        ) {
            let mut pacer = pacer();
            let mut sent = Vec::new();
            let mut now = Time::ZERO;
            for (pause, bytes) in packets {
                now = pacer.release(now + Duration::from_nanos(pause), bytes);
                pacer.on_sent(now, bytes);
                sent.push((now, bytes));
            }
            within_rate(&sent, pacer.rate().unwrap(), MSS)?;
        }
    }
}
