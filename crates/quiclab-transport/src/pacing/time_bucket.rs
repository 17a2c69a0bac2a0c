//! Bucket of time: it fills by the clock, and any content pays for a packet (aioquic 0.9.25,
//! `quic/recovery.py`, `QuicPacketPacer`; the same in 0.8.8 and 0.9.0).
//!
//! | Aspect | Here and in aioquic | [`LeakyBucket`](super::LeakyBucket) |
//! | --- | --- | --- |
//! | unit | time; a packet costs mss / rate, regardless of its size | bytes |
//! | a packet may leave | while the bucket is not empty; the missing part is forgiven | when the bucket has the packet's bytes |
//! | an empty bucket | the next deadline is one packet's time from now; an earlier query (after an ACK) finds a small amount in the bucket and sends | it waits |
//! | a change of rate | keeps the time, not the bytes; the time since the last packet counts at the new rate | the level does not change |
//! | cost of a packet | 1 µs to 1 s | |
//!
//! A deadline is rounded up, so a remainder is left after its packet, with which a second one is sent: by the
//! timer alone the rate is two packets in the time of one, 2 x cwnd / srtt. aioquic's floats have the same
//! effect, and on a host timers are late. Packets released by ACKs are in between.

use super::rate::Factor;
use super::{Pacer, PacingInput};
use quiclab_core::{DataRate, Duration, Time};

/// Picoseconds in a nanosecond: finer than the clock, so that the rounding of deadlines leaves its remainder.
const NANOSECOND: u64 = 1000;
/// Bits x ps/s in a byte.
const BYTE: u128 = 8_000_000_000_000;
/// Minimum and maximum cost of a packet in ps (`K_MICRO_SECOND`, `K_SECOND`).
const COST: (u64, u64) = (1_000_000, 1_000_000_000_000);

/// Pacer whose bucket has the duration of a burst of `burst_packets` full packets.
#[derive(Clone, Debug)]
pub struct TimeBucket {
    factor: Factor,
    burst_packets: u32,
    /// Maximum burst as a share of the window, but at least two packets.
    burst_share: f64,
    /// Bucket; `None`: no RTT sample yet, packets are not paced. It starts full: by the clock it has been
    /// filled long before.
    bucket: Option<Bucket>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    rate: DataRate,
    /// Cost of a packet in ps.
    cost: u64,
    /// Capacity in ps.
    capacity: u64,
    /// Level at `updated` in ps; at most `capacity`.
    level: u64,
    updated: Time,
}

impl Bucket {
    fn level_at(&self, now: Time) -> u64 {
        let elapsed = now.since(self.updated).as_nanos().saturating_mul(NANOSECOND);
        self.level.saturating_add(elapsed).min(self.capacity)
    }
}

impl TimeBucket {
    /// Makes a pacer with the rate `factor` x cwnd / srtt. After a pause, a burst of `burst_packets` full
    /// packets may be sent, or of `burst_share` of the window, if that is less; at least two packets.
    #[must_use]
    pub fn new(factor: f64, burst_packets: u32, burst_share: f64) -> Self {
        Self { factor: Factor::new(factor), burst_packets, burst_share, bucket: None }
    }

    /// Minimum bytes that may be sent at once after a pause.
    fn capacity(&self, input: &PacingInput) -> u64 {
        let packets = u64::from(self.burst_packets) * input.mss;
        let share = (input.window as f64 * self.burst_share) as u64;
        packets.min(share).max(2 * input.mss)
    }
}

/// Duration of `bytes` at `rate` in ps.
fn time(bytes: u64, rate: DataRate) -> u64 {
    let time = u128::from(bytes) * BYTE / u128::from(rate.bits_per_second().max(1));
    u64::try_from(time).unwrap_or(u64::MAX)
}

impl Pacer for TimeBucket {
    fn update(&mut self, now: Time, input: &PacingInput) {
        let Some(rate) = self.factor.rate(input) else { return };
        let (cost, capacity) =
            (time(input.mss, rate).clamp(COST.0, COST.1), time(self.capacity(input), rate));
        let (level, updated) =
            self.bucket.map_or((capacity, now), |bucket| (bucket.level.min(capacity), bucket.updated));
        self.bucket = Some(Bucket { rate, cost, capacity, level, updated });
    }

    fn release(&self, now: Time, _bytes: u64) -> Time {
        match self.bucket {
            Some(bucket) if bucket.level_at(now) == 0 => {
                now + Duration::from_nanos(bucket.cost.div_ceil(NANOSECOND))
            }
            _ => now,
        }
    }

    fn on_sent(&mut self, now: Time, _bytes: u64) {
        if let Some(bucket) = &mut self.bucket {
            bucket.level = bucket.level_at(now).saturating_sub(bucket.cost);
            bucket.updated = bucket.updated.max(now);
        }
    }

    fn rate(&self) -> Option<DataRate> {
        self.bucket.map(|bucket| bucket.rate)
    }
}

#[cfg(test)]
#[path = "time_bucket_tests.rs"]
mod tests;
