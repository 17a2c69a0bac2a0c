//! Bucket with a minimum wait, as in quic-go (`internal/congestion/pacer.go`): operating systems have no
//! timers of less than a millisecond, so packets are sent in bursts of a millisecond.
//!
//! | Aspect | Here | quic-go |
//! | --- | --- | --- |
//! | rate | `factor` x cwnd / srtt, or the controller's | 5/4 x cwnd / srtt |
//! | bucket | `burst_packets`, or the bytes of two quanta at the rate | 10 packets, or `MinPacingDelay` + `TimerGranularity` (1 ms each) |
//! | a packet may leave | when the bucket has a full packet, also if the packet is smaller | the same |
//! | when it does not | since the last packet: the quantum, or longer | `TimeUntilSend`: the same |
//! | an ACK wakes the sender earlier | sends if the bucket has a full packet | the same |
//! | before the first RTT sample | not paced | not paced |

use super::bucket::Bucket;
use super::rate::Factor;
use super::{Pacer, PacingInput};
use quiclab_core::{DataRate, Duration, Time};

/// Pacer whose waits are never shorter than a quantum.
#[derive(Clone, Debug)]
pub struct Quantum {
    factor: Factor,
    burst_packets: u32,
    /// Minimum wait.
    quantum: Duration,
    /// Bucket; `None`: no RTT sample yet, packets are not paced.
    bucket: Option<Bucket>,
    /// Size of a full packet in bytes.
    mss: u64,
    /// Departure time of the last packet; `None` before the first.
    last: Option<Time>,
}

impl Quantum {
    /// Makes a pacer with the rate `factor` x cwnd / srtt; at least `burst_packets` full packets may be sent
    /// at once after a pause.
    #[must_use]
    pub fn new(factor: f64, burst_packets: u32, quantum: Duration) -> Self {
        let burst_packets = burst_packets.max(1);
        Self { factor: Factor::new(factor), burst_packets, quantum, bucket: None, mss: 0, last: None }
    }
}

impl Pacer for Quantum {
    fn update(&mut self, now: Time, input: &PacingInput) {
        self.mss = input.mss;
        let Some(rate) = self.factor.rate(input) else { return };
        let quanta = rate.bytes_in(self.quantum * 2).bytes();
        let capacity = quanta.max(u64::from(self.burst_packets) * input.mss);
        match &mut self.bucket {
            Some(bucket) => bucket.set(now, rate, capacity),
            None => self.bucket = Some(Bucket::new(now, rate, capacity)),
        }
    }

    fn release(&self, now: Time, bytes: u64) -> Time {
        let Some(bucket) = &self.bucket else { return now };
        let wait = bucket.wait(now, bytes.max(self.mss));
        if wait == Duration::ZERO {
            return now;
        }
        let earliest = self.last.map_or(now, |last| last + self.quantum);
        earliest.max(now + wait)
    }

    fn on_sent(&mut self, now: Time, bytes: u64) {
        self.last = Some(now);
        if let Some(bucket) = &mut self.bucket {
            bucket.take(now, bytes);
        }
    }

    fn rate(&self) -> Option<DataRate> {
        self.bucket.as_ref().map(Bucket::rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacing::testing::{MSS, at_us, greedy, input, ms, within_rate};
    use proptest::prelude::*;

    fn pacer(window: u64, burst: u32) -> Quantum {
        let mut pacer = Quantum::new(1.25, burst, Duration::from_millis(1));
        pacer.update(Time::ZERO, &input(window, 100));
        pacer
    }

    /// 384 kB in 100 ms, factor 1.25: 38.4 Mbit/s, a packet of 1200 bytes each 250 us. After the ten packets
    /// of the bucket, four are sent each millisecond: those by which it was filled in between.
    #[test]
    fn below_the_quantum_packets_leave_in_bursts() {
        let sent = greedy(&mut pacer(384_000, 10), Time::ZERO, MSS, 22);
        let expected = [[0; 10].as_slice(), &[1; 4], &[2; 4], &[3; 4]].concat();
        assert_eq!(sent, expected.into_iter().map(ms).collect::<Vec<_>>());
    }

    /// 1.2 Mbit/s: a packet each 8 ms, which is longer than the quantum.
    #[test]
    fn above_the_quantum_it_is_a_leaky_bucket() {
        let sent = greedy(&mut pacer(12_000, 2), Time::ZERO, MSS, 4);
        assert_eq!(sent, [0, 0, 8, 16].map(ms));
    }

    /// At 384 Mbit/s two quanta have 96 000 bytes, more than ten packets: 80 are sent after a pause.
    #[test]
    fn the_bucket_holds_two_quanta_at_least() {
        let mut pacer = pacer(3_840_000, 10);
        let sent = greedy(&mut pacer, ms(10), MSS, 81);
        assert_eq!(sent.iter().filter(|time| **time == ms(10)).count(), 80);
        assert_eq!(sent[80], ms(11));
    }

    #[test]
    fn an_acknowledgement_may_find_the_bucket_filled_before_the_quantum_is_over() {
        let mut pacer = pacer(384_000, 10);
        greedy(&mut pacer, Time::ZERO, MSS, 10);
        assert_eq!(pacer.release(at_us(249), MSS), ms(1));
        assert_eq!(pacer.release(at_us(250), MSS), at_us(250));
        // a full packet's worth is needed even for a small one
        assert_eq!(pacer.release(at_us(249), 100), ms(1));
    }

    proptest! {
        /// Over any window: bytes <= rate x time + bucket; waits last a quantum.
        #[test]
        fn it_is_never_faster_than_its_rate_and_its_bucket(
            window in 2_400u64..4_000_000,
            packets in prop::collection::vec((0u64..3_000_000, 40u64..=MSS), 1..120),
        ) {
            let mut pacer = pacer(window, 10);
            let capacity = pacer.rate().unwrap().bytes_in(Duration::from_millis(2)).bytes().max(10 * MSS);
            let mut sent = Vec::<(Time, u64)>::new();
            let mut asked = Time::ZERO;
            for (pause, bytes) in packets {
                asked += Duration::from_nanos(pause);
                let now = pacer.release(asked, bytes);
                if let (true, Some((last, _))) = (now > asked, sent.last()) {
                    prop_assert!(now.since(*last) >= Duration::from_millis(1));
                }
                asked = now;
                pacer.on_sent(now, bytes);
                sent.push((now, bytes));
            }
            within_rate(&sent, pacer.rate().unwrap(), capacity)?;
        }
    }
}
