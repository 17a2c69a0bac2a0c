//! Serialisation of a link: unlimited, at a constant rate, or shaped.
//!
//! All kinds compute when the last bit of a packet leaves whose serialisation begins now. The result is
//! rounded up to a nanosecond, so a link is never faster than its rate, and slower by less than 1 ns per
//! packet (2 ppm for 1310-byte packets at 20 Mbit/s; `netem` rounds down instead).

use super::departures::FixedDepartures;
use super::token_bucket::TokenBucket;
use super::trace::TraceCursor;
use crate::time::Time;
use crate::units::{ByteCount, DataRate};

/// The serialiser of a link.
#[derive(Debug)]
pub(super) enum Serialiser {
    /// Packets take no time and never wait.
    Unlimited,
    /// The same rate all the time, except for changes that the driver makes; 0 while the link is down.
    Constant(DataRate),
    /// Token bucket.
    TokenBucket(TokenBucket),
    /// A rate over time, or opportunities, from a file.
    Trace(TraceCursor),
    /// A rate over time from a file; each packet has that of its arrival.
    Fixed(FixedDepartures),
}

impl Serialiser {
    /// Departure of the last bit of a packet of `size` whose serialisation may begin at `start`. `None` if
    /// never, because the trace ends before: the packet then occupies the serialiser indefinitely. `start`
    /// must not be earlier than the end of the previous packet.
    pub(super) fn finish(&mut self, start: Time, size: ByteCount) -> Option<Time> {
        match self {
            Self::Unlimited => Some(start),
            Self::Constant(rate) if *rate == DataRate::default() => None,
            Self::Constant(rate) => Some(start + rate.time_for(size)),
            Self::TokenBucket(bucket) => Some(bucket.finish(start, size)),
            Self::Trace(trace) => trace.finish(start, size),
            Self::Fixed(departures) => departures.next(),
        }
    }

    /// The present rate, for queue limits in units of time. For a token bucket it is the refill rate, for a
    /// list of opportunities the mean.
    pub(super) fn rate_at(&mut self, now: Time) -> DataRate {
        match self {
            Self::Unlimited => DataRate::from_bits_per_second(u64::MAX),
            Self::Constant(rate) => *rate,
            Self::TokenBucket(bucket) => bucket.rate(),
            Self::Trace(trace) | Self::Fixed(FixedDepartures { trace, .. }) => trace.rate_at(now),
        }
    }

    /// Whether a packet that arrives at `now` will never leave.
    pub(super) fn has_ended(&self, now: Time) -> bool {
        match self {
            Self::Unlimited | Self::Constant(_) | Self::TokenBucket(_) => false,
            Self::Trace(trace) | Self::Fixed(FixedDepartures { trace, .. }) => trace.has_ended(now),
        }
    }

    /// The largest packet that can ever leave.
    pub(super) fn largest_packet(&self) -> ByteCount {
        match self {
            Self::TokenBucket(bucket) => bucket.burst(),
            Self::Unlimited | Self::Constant(_) | Self::Trace(_) | Self::Fixed(_) => ByteCount::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_rate_rounds_up_and_unlimited_takes_no_time() {
        let start = Time::from_nanos(7);
        let mut third = Serialiser::Constant(DataRate::from_bits_per_second(3));
        assert_eq!(third.finish(start, ByteCount::from_bytes(1)), Some(Time::from_nanos(2_666_666_674)));
        assert_eq!(Serialiser::Unlimited.finish(start, ByteCount::MAX), Some(start));
    }
}
