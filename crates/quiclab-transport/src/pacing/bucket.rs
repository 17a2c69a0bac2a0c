//! Bucket of bytes that fills at a rate, used by the leaky bucket and the quantum pacer.
//!
//! Its level is kept in bits x 10^-9, the product of bit/s and nanoseconds, so that filling involves no
//! rounding, regardless of the number of calls.

use quiclab_core::{DataRate, Duration, Time};

/// Bits x 10^-9 in a byte.
const BYTE: u128 = 8_000_000_000;

/// Bucket, which starts full.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    /// Level at `updated`, in bits x 10^-9; at most `capacity`.
    level: u128,
    updated: Time,
    /// Capacity in bits x 10^-9.
    capacity: u128,
    rate: DataRate,
    /// Whether it is filled only when its level is too low for a packet (quinn).
    on_demand: bool,
}

impl Bucket {
    pub(crate) fn new(now: Time, rate: DataRate, capacity_bytes: u64) -> Self {
        let capacity = u128::from(capacity_bytes) * BYTE;
        Self { level: capacity, updated: now, capacity, rate, on_demand: false }
    }

    /// Sets whether it is filled on demand: its level then does not limit the amount of the next fill, so
    /// that twice its capacity may be sent at once.
    pub(crate) fn filled_on_demand(self, on_demand: bool) -> Self {
        Self { on_demand, ..self }
    }

    pub(crate) fn rate(&self) -> DataRate {
        self.rate
    }

    /// Fills at the old rate until now, at the new one from now on. The excess is lost.
    pub(crate) fn set(&mut self, now: Time, rate: DataRate, capacity_bytes: u64) {
        // on demand, the time since then counts at the new rate
        if !self.on_demand {
            self.level = self.level_at(now);
            self.updated = self.updated.max(now);
        }
        self.capacity = u128::from(capacity_bytes) * BYTE;
        self.level = self.level.min(self.capacity);
        self.rate = rate;
    }

    fn level_at(&self, now: Time) -> u128 {
        let filled = u128::from(self.rate.bits_per_second()) * u128::from(now.since(self.updated).as_nanos());
        (self.level + filled).min(self.capacity)
    }

    /// Time until the level is `bytes`, rounded up; a packet larger than the bucket waits until it is full.
    pub(crate) fn wait(&self, now: Time, bytes: u64) -> Duration {
        let needed = (u128::from(bytes) * BYTE).min(self.capacity);
        if self.on_demand && self.level >= needed {
            return Duration::ZERO;
        }
        let missing = needed.saturating_sub(self.level_at(now));
        let rate = u128::from(self.rate.bits_per_second());
        if missing == 0 {
            Duration::ZERO
        } else if rate == 0 {
            Duration::MAX
        } else {
            let nanos = match (u64::try_from(missing), u64::try_from(rate)) {
                // the 128-bit division is kept off the hot path
                (Ok(missing), Ok(rate)) => missing.div_ceil(rate),
                _ => u64::try_from(missing.div_ceil(rate)).unwrap_or(u64::MAX),
            };
            Duration::from_nanos(nanos)
        }
    }

    /// Removes `bytes`. A packet sent without a query, such as a probe, at most empties the bucket: there is
    /// no debt.
    pub(crate) fn take(&mut self, now: Time, bytes: u64) {
        let taken = u128::from(bytes) * BYTE;
        if !self.on_demand || self.level < taken.min(self.capacity) {
            self.level = self.level_at(now);
            self.updated = self.updated.max(now);
        }
        self.level = self.level.saturating_sub(taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacing::testing::ms;

    /// 8 Mbit/s are 1000 bytes in a millisecond.
    fn bucket() -> Bucket {
        Bucket::new(Time::ZERO, DataRate::from_mbps(8), 3000)
    }

    #[test]
    fn it_starts_full_and_fills_at_its_rate() {
        let mut bucket = bucket();
        assert_eq!(bucket.wait(Time::ZERO, 3000), Duration::ZERO);
        bucket.take(Time::ZERO, 3000);
        assert_eq!(bucket.wait(Time::ZERO, 1), Duration::from_micros(1));
        assert_eq!(bucket.wait(Time::ZERO, 1500), Duration::from_micros(1500));
        assert_eq!(bucket.wait(ms(1), 1500), Duration::from_micros(500));
        assert_eq!(bucket.wait(ms(100), 3000), Duration::ZERO);
        // more than its capacity: until it is full
        assert_eq!(bucket.wait(Time::ZERO, 9000), Duration::from_millis(3));
    }

    #[test]
    fn a_change_of_rate_keeps_what_has_been_filled() {
        let mut bucket = bucket();
        bucket.take(Time::ZERO, 3000);
        bucket.set(ms(1), DataRate::from_mbps(4), 3000);
        // 1000 bytes of the first millisecond; the other 500 take 1 ms at 500 bytes in a millisecond
        assert_eq!(bucket.wait(ms(1), 1500), Duration::from_millis(1));
        bucket.set(ms(1), DataRate::from_mbps(4), 400);
        assert_eq!(bucket.wait(ms(1), 400), Duration::ZERO);
    }

    #[test]
    fn there_is_no_debt() {
        let mut bucket = bucket();
        bucket.take(Time::ZERO, 30_000);
        assert_eq!(bucket.wait(Time::ZERO, 1000), Duration::from_millis(1));
    }

    /// 1000 bytes are sent at 0 ms, 2000 at 10 ms, after a fill of 3000; a bucket that is filled by the clock
    /// has lost 2000 of them by then.
    #[test]
    fn on_demand_twice_its_capacity_leaves_at_once() {
        for (on_demand, waits) in [(true, 0), (false, 2)] {
            let mut bucket = bucket().filled_on_demand(on_demand);
            bucket.take(Time::ZERO, 1000);
            for _ in 0..3 {
                assert_eq!(bucket.wait(ms(10), 1000), Duration::ZERO);
                bucket.take(ms(10), 1000);
            }
            assert_eq!(bucket.wait(ms(10), 2000), Duration::from_millis(waits), "{on_demand}");
        }
    }

    #[test]
    fn an_empty_bucket_without_a_rate_waits_for_ever() {
        let mut bucket = Bucket::new(Time::ZERO, DataRate::default(), 1000);
        bucket.take(Time::ZERO, 1000);
        assert_eq!(bucket.wait(ms(1), 1), Duration::MAX);
    }
}
