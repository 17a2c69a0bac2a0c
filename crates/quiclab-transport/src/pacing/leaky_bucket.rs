//! Leaky bucket, which fills at a rate and has the size of a burst (RFC 9002 section 7.7).
//!
//! "A sender SHOULD pace sending of all in-flight packets", at `N * congestion_window / smoothed_rtt`, N
//! "small, but at least 1 (for example, 1.25)", and "SHOULD limit bursts to the initial congestion window".
//!
//! | Aspect | Here | RFC 9002 | others |
//! | --- | --- | --- | --- |
//! | burst | a number of full packets, fixed | at most the initial window | quinn: 2 ms worth, at least 10 packets |
//! | slow start | a separate factor, if configured | the same factor | Chromium: 2, then 1.25 |
//! | after a pause of a round trip | a larger burst, if configured | | Chromium: 10 packets when nothing is in flight, otherwise 2 |
//! | before the first RTT sample | not paced | initial RTT of 333 ms | aioquic, quic-go: not paced |
//! | rate of the controller | as it is, without the factor | "based on input from the congestion controller" | quinn: ignored |
//! | packets sent without a query (probes) | empty the bucket, no debt | | quinn, quic-go: the same |

use super::bucket::Bucket;
use super::rate::Factor;
use super::{Pacer, PacingInput};
use quiclab_core::{DataRate, Duration, Time};

/// Pacer with a bucket of `burst_packets` full packets.
#[derive(Clone, Debug)]
pub struct LeakyBucket {
    factor: Factor,
    /// Factor in slow start; `None`: the same.
    slow_start_factor: Option<Factor>,
    burst_packets: u32,
    /// Burst at the start and after a round trip without a packet; `None`: the same.
    idle_burst_packets: Option<u32>,
    /// Maximum burst as a share of the window.
    burst_share: Option<f64>,
    /// Duration at the rate of a burst that is permitted in any case.
    burst_time: Option<Duration>,
    /// Whether a packet without room waits until the bucket is full.
    wait_for_full_burst: bool,
    /// Bucket; `None`: no RTT sample yet, packets are not paced. It starts full: at its rate it would have
    /// been filled in the round trip of the first sample.
    bucket: Option<Bucket>,
    /// Bytes that may be sent regardless of the bucket: the rest of the burst after a pause.
    unpaced: u64,
    /// Size of such a burst at the last update.
    idle_burst: u64,
    /// Length of a pause after which it is available again; `None` before the first RTT sample.
    idle_time: Option<Duration>,
    last_sent: Option<Time>,
}

impl LeakyBucket {
    /// Makes a pacer with the rate `factor` x cwnd / srtt; `burst_packets` full packets, at least one, may be
    /// sent at once after a pause.
    #[must_use]
    pub fn new(factor: f64, burst_packets: u32) -> Self {
        Self {
            factor: Factor::new(factor),
            slow_start_factor: None,
            burst_packets: burst_packets.max(1),
            idle_burst_packets: None,
            burst_share: None,
            burst_time: None,
            wait_for_full_burst: false,
            bucket: None,
            unpaced: 0,
            idle_burst: 0,
            idle_time: None,
            last_sent: None,
        }
    }

    /// Sets another factor in slow start.
    #[must_use]
    pub fn with_slow_start(self, factor: Option<f64>) -> Self {
        Self { slow_start_factor: factor.map(Factor::new), ..self }
    }

    /// Sets the number of packets that may be sent at once at the start, and after a round trip without a
    /// packet, if that is more than the bucket permits.
    #[must_use]
    pub fn with_idle_burst(self, packets: Option<u32>) -> Self {
        Self { idle_burst_packets: packets, ..self }
    }

    /// Limits a burst to `share` of the window, at least two packets, and extends it to the bytes of `time`
    /// at the rate, if that is more than its packets.
    #[must_use]
    pub fn with_burst(self, share: Option<f64>, time: Option<Duration>) -> Self {
        Self { burst_share: share, burst_time: time, ..self }
    }

    /// Sets whether a packet without room waits until the bucket is full, which is then filled on demand
    /// (quinn).
    #[must_use]
    pub fn with_wait_for_full_burst(self, whole: bool) -> Self {
        Self { wait_for_full_burst: whole, ..self }
    }

    /// Bytes that may be sent now regardless of the bucket.
    fn unpaced(&self, now: Time) -> u64 {
        let paused = match (self.last_sent, self.idle_time) {
            (None, _) => true,
            (Some(last), Some(time)) => now.since(last) >= time,
            (Some(_), None) => false,
        };
        if paused { self.idle_burst } else { self.unpaced }
    }

    /// Bytes that may be sent at once after a pause.
    fn capacity(&self, rate: DataRate, input: &PacingInput) -> u64 {
        let mut capacity = u64::from(self.burst_packets) * input.mss;
        if let Some(time) = self.burst_time {
            capacity = capacity.max(rate.bytes_in(time).bytes());
        }
        if let Some(share) = self.burst_share {
            capacity = capacity.min((input.window as f64 * share) as u64).max(2 * input.mss);
        }
        capacity
    }
}

impl Pacer for LeakyBucket {
    fn update(&mut self, now: Time, input: &PacingInput) {
        let in_slow_start = input.ssthresh.is_none_or(|ssthresh| input.window < ssthresh);
        let factor = self.slow_start_factor.filter(|_| in_slow_start).unwrap_or(self.factor);
        let Some(rate) = factor.rate(input) else { return };
        let capacity = self.capacity(rate, input);
        let burst = u64::from(self.idle_burst_packets.unwrap_or(0)) * input.mss;
        // the bucket is full after such a pause, too
        self.idle_burst = burst.saturating_sub(capacity);
        self.idle_time = input.srtt;
        match &mut self.bucket {
            Some(bucket) => bucket.set(now, rate, capacity),
            None => {
                let bucket = Bucket::new(now, rate, capacity).filled_on_demand(self.wait_for_full_burst);
                self.bucket = Some(bucket);
            }
        }
    }

    fn release(&self, now: Time, bytes: u64) -> Time {
        let Some(bucket) = self.bucket.as_ref().filter(|_| self.unpaced(now) < bytes) else { return now };
        match bucket.wait(now, bytes) {
            Duration::ZERO => now,
            _ if self.wait_for_full_burst => now + bucket.wait(now, u64::MAX),
            wait => now + wait,
        }
    }

    fn on_sent(&mut self, now: Time, bytes: u64) {
        let unpaced = self.unpaced(now);
        self.last_sent = Some(now);
        let Some(bucket) = &mut self.bucket else { return };
        if unpaced >= bytes {
            self.unpaced = unpaced - bytes;
        } else {
            self.unpaced = 0;
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

    /// 12 000 bytes in 100 ms, factor 1.25: 1.2 Mbit/s, a packet of 1200 bytes each 8 ms.
    fn pacer(burst: u32) -> LeakyBucket {
        let mut pacer = LeakyBucket::new(1.25, burst);
        pacer.update(Time::ZERO, &input(12_000, 100));
        pacer
    }

    #[test]
    fn before_the_first_rtt_sample_nothing_is_paced() {
        let mut pacer = LeakyBucket::new(1.25, 1);
        pacer.update(Time::ZERO, &PacingInput { srtt: None, ..input(12_000, 100) });
        for _ in 0..50 {
            assert_eq!(pacer.release(Time::ZERO, MSS), Time::ZERO);
            pacer.on_sent(Time::ZERO, MSS);
        }
        assert_eq!(pacer.rate(), None);
    }

    /// The bucket of three packets is empty after three, full 3 x 8 ms later; for a sender that is woken
    /// after 9 ms there is room for one.
    #[test]
    fn with_wait_for_full_burst_the_timer_waits_for_a_full_bucket() {
        let mut pacer = pacer(3).with_wait_for_full_burst(true);
        let sent = greedy(&mut pacer, Time::ZERO, MSS, 9);
        assert_eq!(sent, [0, 0, 0, 24_000, 24_000, 24_000, 48_000, 48_000, 48_000].map(at_us));
        assert_eq!(pacer.release(at_us(57_000), MSS), at_us(57_000));
        pacer.on_sent(at_us(57_000), MSS);
        assert!(pacer.release(at_us(57_000), MSS) > at_us(58_000));
    }

    #[test]
    fn a_burst_is_a_share_of_the_window_or_what_the_rate_gives_in_a_time() {
        // 12 packets: a quarter is 3; the rate of 1.2 Mbit/s gives 5 packets in 40 ms
        for (share, time, burst) in [
            (Some(0.25), None, 3),
            (Some(0.01), None, 2),
            (None, Some(Duration::from_millis(40)), 5),
            (None, Some(Duration::from_millis(8)), 4),
        ] {
            let packets = if share.is_some() { 16 } else { 4 };
            let mut pacer = LeakyBucket::new(1.25, packets).with_burst(share, time);
            pacer.update(Time::ZERO, &input(12 * MSS, 120));
            let sent = greedy(&mut pacer, Time::ZERO, MSS, 20);
            let at_once = sent.iter().filter(|time| **time == Time::ZERO).count();
            assert_eq!(at_once, burst, "{share:?} {time:?}");
        }
    }

    #[test]
    fn after_the_burst_a_packet_leaves_each_interval() {
        let sent = greedy(&mut pacer(3), Time::ZERO, MSS, 6);
        assert_eq!(sent, [0, 0, 0, 8_000, 16_000, 24_000].map(at_us));
    }

    /// RFC 9002 section 7.7: bursts are limited, also after a pause.
    #[test]
    fn a_pause_of_any_length_gives_one_bucket() {
        let mut pacer = pacer(3);
        greedy(&mut pacer, Time::ZERO, MSS, 10);
        let sent = greedy(&mut pacer, ms(60_000), MSS, 5);
        assert_eq!(sent, [60_000, 60_000, 60_000, 60_008, 60_016].map(ms));
    }

    /// A bucket of two packets, and ten after a round trip of 100 ms without any: at the start, and after a
    /// pause of 100 ms. 99 ms at a packet each 8 ms fill the bucket only.
    #[test]
    fn after_a_round_trip_without_a_packet_the_burst_is_larger() {
        let mut pacer = LeakyBucket::new(1.25, 2).with_idle_burst(Some(10));
        pacer.update(Time::ZERO, &input(12_000, 100));
        let at_once = |pacer: &mut LeakyBucket, start: u64| {
            let sent = greedy(pacer, ms(start), MSS, 12);
            (sent.iter().filter(|time| **time == ms(start)).count(), *sent.last().unwrap())
        };
        // the eleventh after 8 ms, the twelfth after 16
        assert_eq!(at_once(&mut pacer, 0), (10, ms(16)));
        assert_eq!(at_once(&mut pacer, 16 + 99).0, 2);
        let last = at_once(&mut pacer, 1000).1;
        assert_eq!(last, ms(1016));
        assert_eq!(at_once(&mut pacer, 1016 + 100).0, 10);
    }

    /// 12 000 bytes in 100 ms: 1.92 Mbit/s with factor 2 below the threshold, 1.2 Mbit/s with 1.25 from it on.
    #[test]
    fn slow_start_has_a_factor_of_its_own() {
        let mut pacer = LeakyBucket::new(1.25, 1).with_slow_start(Some(2.0));
        for (ssthresh, kbps) in [(None, 1920), (Some(12_001), 1920), (Some(12_000), 1200)] {
            pacer.update(Time::ZERO, &PacingInput { ssthresh, ..input(12_000, 100) });
            assert_eq!(pacer.rate().unwrap().bits_per_second(), kbps * 1000, "{ssthresh:?}");
        }
    }

    #[test]
    fn a_small_packet_waits_only_for_its_own_bytes() {
        let mut pacer = pacer(1);
        pacer.on_sent(Time::ZERO, MSS);
        assert_eq!(pacer.release(Time::ZERO, 150), ms(1));
    }

    #[test]
    fn a_rate_of_the_controller_replaces_the_windows() {
        let mut pacer = pacer(1);
        pacer.update(Time::ZERO, &PacingInput { rate: Some(DataRate::from_mbps(96)), ..input(1, 1) });
        let sent = greedy(&mut pacer, Time::ZERO, MSS, 3);
        assert_eq!(sent, [0, 100, 200].map(at_us));
    }

    proptest! {
        /// Over any window: bytes <= rate x time + bucket.
        #[test]
        fn it_is_never_faster_than_its_rate_and_its_bucket(
            burst in 1u32..20,
            packets in prop::collection::vec((0u64..30_000_000, 40u64..=MSS), 1..120),
        ) {
            let mut pacer = pacer(burst);
            let mut sent = Vec::new();
            let mut now = Time::ZERO;
            for (pause, bytes) in packets {
                now = pacer.release(now + quiclab_core::Duration::from_nanos(pause), bytes);
                pacer.on_sent(now, bytes);
                sent.push((now, bytes));
            }
            within_rate(&sent, pacer.rate().unwrap(), u64::from(burst) * MSS)?;
        }
    }
}
