//! Token bucket: of a shaper, after Linux `tc-tbf`, and of a policer, after `act_police`.
//!
//! The bucket starts full with `burst` bytes and refills at `rate` up to `burst`. A packet leaves
//! immediately, without serialisation time, as soon as the bucket contains as many tokens as it has bytes.
//! Hence at most rate x window + burst leaves in any window.
//!
//! | | tc-tbf | here |
//! | --- | --- | --- |
//! | tokens | nanoseconds at the rate, rounded | exact integers |
//! | packet above `burst` | dropped (or segmented, if GSO) | dropped (`too_large`) |
//! | `limit` or `latency` | bytes that wait | the limits of the link's queue, which include the packet that waits for tokens |
//! | `peakrate`, `mtu`, `mpu` | optional second bucket, rounding of sizes | none |
//!
//! A policer has no queue: a packet with more bytes than there are tokens is dropped, and consumes none (RFC
//! 2697 section 3 with one bucket and two colours).
//!
//! | | act_police | here |
//! | --- | --- | --- |
//! | tokens | nanoseconds at the rate, rounded | exact integers |
//! | sizes | with the header of Ethernet | with `overhead_per_packet` and `framing` |
//! | packet that does not conform | dropped, or the action of `conform-exceed` | dropped (`policed`) |
//! | `peakrate`, `avrate`, `mtu`, packets per second | optional | none |

use super::capacity::{UNITS_PER_BYTE, nanos_for};
use crate::time::{Duration, Time};
use crate::units::{ByteCount, DataRate};

/// The bucket and the time of its last update. Tokens are counted in units of (bit/s x ns), of which `rate`
/// are added each nanosecond.
#[derive(Debug)]
pub(super) struct TokenBucket {
    rate: DataRate,
    burst: ByteCount,
    /// Tokens at `updated`.
    tokens: u128,
    updated: Time,
}

impl TokenBucket {
    /// Creates a full bucket. `rate` must not be 0.
    pub(super) fn new(rate: DataRate, burst: ByteCount) -> Self {
        Self { rate, burst, tokens: units(burst), updated: Time::ZERO }
    }

    pub(super) fn rate(&self) -> DataRate {
        self.rate
    }

    pub(super) fn burst(&self) -> ByteCount {
        self.burst
    }

    /// Departure of a packet of `size` that is the next one from `start` on.
    ///
    /// # Panics
    /// In debug builds if `size` exceeds the burst: the link has dropped such packets.
    pub(super) fn finish(&mut self, start: Time, size: ByteCount) -> Time {
        debug_assert!(size <= self.burst, "no packet above the burst reaches the bucket");
        self.refill(start);
        let price = units(size);
        if let Some(missing) = price.checked_sub(self.tokens) {
            let wait = nanos_for(missing, self.rate.bits_per_second());
            self.refill(start + Duration::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX)));
        }
        self.tokens = self.tokens.saturating_sub(price);
        self.updated
    }

    /// Whether a packet of `size` that arrives at `now` conforms; if so, it consumes its tokens.
    pub(super) fn conforms(&mut self, now: Time, size: ByteCount) -> bool {
        self.refill(now);
        let left = self.tokens.checked_sub(units(size));
        self.tokens = left.unwrap_or(self.tokens);
        left.is_some()
    }

    fn refill(&mut self, now: Time) {
        let elapsed = u128::from(now.since(self.updated).as_nanos());
        let earned = u128::from(self.rate.bits_per_second()) * elapsed;
        self.tokens = self.tokens.saturating_add(earned).min(units(self.burst));
        self.updated = self.updated.max(now);
    }
}

fn units(size: ByteCount) -> u128 {
    u128::from(size.bytes()) * UNITS_PER_BYTE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 Mbit/s: one byte per microsecond; a burst of 3000 bytes.
    fn bucket() -> TokenBucket {
        TokenBucket::new(DataRate::from_mbps(8), ByteCount::from_bytes(3000))
    }

    fn micros(micros: u64) -> Time {
        Time::from_nanos(micros * 1000)
    }

    #[test]
    fn a_full_bucket_passes_a_burst_at_once_then_the_rate() {
        let mut bucket = bucket();
        let size = ByteCount::from_bytes(1000);
        let mut next = micros(5);
        let mut left = Vec::new();
        for _ in 0..6 {
            next = bucket.finish(next, size);
            left.push(next.as_nanos() / 1000);
        }
        assert_eq!(left, [5, 5, 5, 1005, 2005, 3005]);
    }

    #[test]
    fn tokens_refill_up_to_the_burst_only() {
        let mut bucket = bucket();
        assert_eq!(bucket.finish(micros(0), ByteCount::from_bytes(3000)), micros(0));
        // 500 tokens at 500, so 700 more are needed
        assert_eq!(bucket.finish(micros(500), ByteCount::from_bytes(1200)), micros(1200));
        // after a second the bucket is full and contains no more than its burst
        assert_eq!(bucket.finish(micros(1_000_000), ByteCount::from_bytes(3000)), micros(1_000_000));
        assert_eq!(bucket.finish(micros(1_000_000), ByteCount::from_bytes(1)), micros(1_000_001));
    }

    #[test]
    fn a_policer_drops_what_meets_too_few_tokens_and_takes_none_of_them() {
        let mut bucket = bucket();
        let conforms =
            [(0, 1500), (0, 1500), (0, 1), (999, 1000), (1000, 1000), (1000, 1), (9000, 3001), (9000, 3000)]
                .map(|(at, size)| bucket.conforms(micros(at), ByteCount::from_bytes(size)));
        assert_eq!(conforms, [true, true, false, false, true, false, false, true]);
    }

    #[test]
    fn fractions_of_a_token_are_kept() {
        // 3 bit/s: a byte takes 2.67 s; three of them take exactly 8 s although each wait rounds up
        let mut bucket = TokenBucket::new(DataRate::from_bits_per_second(3), ByteCount::from_bytes(1));
        let mut next = bucket.finish(Time::ZERO, ByteCount::from_bytes(1));
        for _ in 0..3 {
            next = bucket.finish(next, ByteCount::from_bytes(1));
        }
        // a bucket as deep as the packet is full when the packet leaves: no fraction remains
        assert_eq!(next, Time::from_nanos(3 * 2_666_666_667));
        let mut deeper = TokenBucket::new(DataRate::from_bits_per_second(3), ByteCount::from_bytes(2));
        let mut next = deeper.finish(Time::ZERO, ByteCount::from_bytes(2));
        for _ in 0..3 {
            next = deeper.finish(next, ByteCount::from_bytes(1));
        }
        assert_eq!(next, Time::from_nanos(8_000_000_000));
    }
}
