//! Schedule of datagrams: at a constant rate, all the time or in periods with pauses.
//!
//! Datagram n of a period is sent n times (payload / rate) after its start, rounded up, so that rounding does
//! not accumulate; no datagram is sent at or after the end of its period.

use quiclab_core::{ByteCount, DataRate, Duration, Time};

/// Send times of datagrams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    rate: DataRate,
    pub(crate) size: ByteCount,
    start: Time,
    /// Time at which the sender ends.
    pub(crate) end: Time,
    /// Length of a period from start to start, `Duration::MAX` without pauses.
    period: Duration,
    /// Number of datagrams of a full period.
    per_period: u64,
    /// Total number of datagrams.
    pub(crate) total: u64,
}

impl Schedule {
    pub(crate) fn new(
        rate: DataRate,
        size: ByteCount,
        duration: Duration,
        pauses: Option<(Duration, Duration)>,
        start: Time,
    ) -> Self {
        let mut schedule = Self {
            rate,
            size,
            start,
            end: start + duration,
            period: Duration::MAX,
            per_period: u64::MAX,
            total: 0,
        };
        match pauses {
            None => schedule.total = schedule.count(duration),
            Some((on, off)) => {
                schedule.period = on + off;
                schedule.per_period = schedule.count(on);
                let full = duration.as_nanos() / schedule.period.as_nanos();
                let rest = Duration::from_nanos(duration.as_nanos() % schedule.period.as_nanos());
                schedule.total = full * schedule.per_period + schedule.count(rest.min(on));
            }
        }
        schedule
    }

    /// Sets another start.
    pub(crate) fn starting(self, start: Time) -> Self {
        Self { start, end: start + self.end.since(self.start), ..self }
    }

    /// Time of datagram `index` of a period, from its start.
    fn offset(&self, index: u64) -> Duration {
        // in 128 bits: exact for a run of any length
        let bits = u128::from(index) * u128::from(self.size.bytes()) * 8 * 1_000_000_000;
        let nanos = bits.div_ceil(u128::from(self.rate.bits_per_second()));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Number of datagrams sent in a period of this length: those whose time is before its end.
    fn count(&self, length: Duration) -> u64 {
        let nanos = u128::from(length.as_nanos()) * u128::from(self.rate.bits_per_second());
        let count = nanos.div_ceil(u128::from(self.size.bytes()) * 8 * 1_000_000_000);
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        // rounding up may put the last one at the end itself
        if count > 0 && self.offset(count - 1) >= length { count - 1 } else { count }
    }

    /// Send time of datagram `number`; `None` after the last.
    pub(crate) fn time(&self, number: u64) -> Option<Time> {
        if number >= self.total {
            return None;
        }
        let (period, index) = (number / self.per_period, number % self.per_period);
        let begin = if period == 0 { Duration::ZERO } else { self.period * period };
        Some(self.start + begin + self.offset(index))
    }
}
