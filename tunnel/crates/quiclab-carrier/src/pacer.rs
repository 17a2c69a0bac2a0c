//! The pacer of a path: a token bucket, as in noq (`connection/pacing.rs`).
//!
//! quiclab has its own, because noq does not report whether its own would let a packet leave now, and a datagram that
//! is given to QUIC and may not leave collapses the throughput (see [`super`]).
//!
//! | | noq | here |
//! | --- | --- | --- |
//! | rate without one of the controller's | 1.25 windows per smoothed RTT (RFC 9002 section 7.7) | the same |
//! | capacity | bytes of 2 ms, between 10 and 256 datagrams, at most 10 ms | the same |
//! | arithmetic | floating point | integers; credit is never lost by rounding |
//! | paced packets | all packets | those with tunnel payloads; other packets use credit, and do not wait |

use quiclab_core::{Duration, Time};

/// Nanobytes in a byte: credit is counted in these, so that a nanosecond at any rate in bytes/s is a whole number.
const NANO: u128 = 1_000_000_000;
/// Maximum burst, as a duration at the rate.
const BURST: Duration = Duration::from_millis(2);
/// Maximum burst on a slow path.
const MAX_BURST: Duration = Duration::from_millis(10);
const MIN_BURST_PACKETS: u64 = 10;
const MAX_BURST_PACKETS: u64 = 256;

/// A token bucket.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    /// Credit in nanobytes.
    credit: u128,
    /// Time at which it was counted.
    counted: Time,
    /// Rate in bytes/s; 0 if not paced.
    rate: u64,
    /// Capacity in bytes.
    capacity: u64,
}

impl Pacer {
    /// Creates a bucket without a limit until it has a rate.
    pub(crate) fn new(now: Time) -> Self {
        Self { credit: 0, counted: now, rate: 0, capacity: 0 }
    }

    fn earned(&self, now: Time) -> u128 {
        let new = u128::from(self.rate) * u128::from(now.since(self.counted).as_nanos());
        (self.credit + new).min(u128::from(self.capacity) * NANO)
    }

    /// Sets the rate to `rate` bytes/s, on a path with datagrams of `mtu` bytes.
    pub(crate) fn set_rate(&mut self, now: Time, rate: u64, mtu: u16) {
        if rate == self.rate {
            return;
        }
        let (first, mtu) = (self.rate == 0, u64::from(mtu));
        let within = |time: Duration| {
            u64::try_from(u128::from(rate) * u128::from(time.as_nanos()) / NANO).unwrap_or(u64::MAX)
        };
        self.credit = self.earned(now);
        self.counted = self.counted.max(now);
        self.rate = rate;
        self.capacity = within(BURST)
            .clamp(MIN_BURST_PACKETS * mtu, MAX_BURST_PACKETS * mtu)
            .min(within(MAX_BURST).max(mtu));
        let full = u128::from(self.capacity) * NANO;
        self.credit = if first { full } else { self.credit.min(full) };
    }

    /// Time at which `bytes` may leave; at most `now` if immediately.
    pub(crate) fn when(&self, now: Time, bytes: u64) -> Time {
        // more bytes than the capacity leave when the bucket is full
        let wanted = u128::from(bytes.min(self.capacity)) * NANO;
        let missing = wanted.saturating_sub(self.earned(now));
        if self.rate == 0 || missing == 0 {
            return now;
        }
        let wait = missing.div_ceil(u128::from(self.rate));
        now + Duration::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX))
    }

    /// Spends the credit of `bytes` that have left.
    pub(crate) fn spend(&mut self, now: Time, bytes: u64) {
        self.credit = self.earned(now).saturating_sub(u128::from(bytes) * NANO);
        self.counted = self.counted.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_the_rate() {
        // 2.5 MB/s (20 Mbit/s): 2 ms are 5000 bytes, less than 10 datagrams of 1000; 10 ms are 25 000: 10 000
        let mut pacer = Pacer::new(Time::ZERO);
        assert_eq!(pacer.when(Time::ZERO, 1_000_000), Time::ZERO, "no rate yet");
        pacer.set_rate(Time::ZERO, 2_500_000, 1000);
        for _ in 0..10 {
            assert_eq!(pacer.when(Time::ZERO, 1000), Time::ZERO);
            pacer.spend(Time::ZERO, 1000);
        }
        // 1000 bytes at 2.5 bytes/us take 400 us
        let next = Time::from_nanos(400_000);
        assert_eq!(pacer.when(Time::ZERO, 1000), next);
        assert_eq!(pacer.when(Time::from_nanos(399_999), 1000), next);
        pacer.spend(next, 1000);
        assert_eq!(pacer.when(next, 1000), Time::from_nanos(800_000));
        // after a long pause, no more than the bucket
        let late = Time::from_nanos(1_000_000_000);
        pacer.spend(late, 10_000);
        assert_eq!(pacer.when(late, 1000), late + Duration::from_micros(400));
    }

    #[test]
    fn a_slow_path_holds_ten_milliseconds_but_a_datagram() {
        let mut pacer = Pacer::new(Time::ZERO);
        pacer.set_rate(Time::ZERO, 1_000_000, 1000); // 10 ms: 10 000 bytes
        assert_eq!(pacer.capacity, 10_000);
        pacer.set_rate(Time::ZERO, 300_000, 1000); // 10 ms: 3000 bytes
        assert_eq!(pacer.capacity, 3000);
        pacer.set_rate(Time::ZERO, 1000, 1000); // 10 bytes
        assert_eq!(pacer.capacity, 1000);
        pacer.set_rate(Time::ZERO, 10_000_000_000, 1000); // 2 ms: 20 MB
        assert_eq!(pacer.capacity, 256_000);
    }
}
