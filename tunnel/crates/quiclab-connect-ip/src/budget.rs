//! Limit of the frames, capsules and streams without a packet that the peer may send: each costs work, and
//! none is needed often. Exceeding it is a flood, which ends the connection with H3_EXCESSIVE_LOAD (RFC 9114
//! section 10.5). Packets are not counted: flow control limits them, as those in datagrams.

use quiclab_core::{Duration, Time};

/// Maximum number of records at one time. A session needs a few when it opens, and when addresses or
/// destinations change.
pub const BURST: u64 = 256;
/// Mean time between records.
pub const INTERVAL: Duration = Duration::from_millis(31);
/// Maximum number of bytes read from a connection's streams in one turn, for fairness: more than a packet of any length.
pub const BYTES_PER_TURN: usize = 16 << 10;

/// A token bucket.
#[derive(Debug)]
pub struct Budget {
    /// Number of records that may be received.
    left: u64,
    /// Time from which further records accrue.
    since: Time,
}

impl Default for Budget {
    fn default() -> Self {
        Self { left: BURST, since: Time::ZERO }
    }
}

impl Budget {
    /// Takes `records`; false if they exceed the budget.
    pub fn take(&mut self, now: Time, records: u64) -> bool {
        let more = now.since(self.since).as_nanos() / INTERVAL.as_nanos();
        self.since += INTERVAL * more;
        self.left = self.left.saturating_add(more).min(BURST);
        let left = self.left.checked_sub(records);
        self.left = left.unwrap_or(0);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_at_any_time_and_many_over_time_are_taken() {
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let mut budget = Budget::default();
        assert!(budget.take(at(0), 0) && budget.take(at(0), BURST) && !budget.take(at(0), 1));
        assert!(!budget.take(at(30), 1), "not yet");
        assert!(budget.take(at(31), 1) && !budget.take(at(31), 1));
        // unused records accumulate, up to a burst
        assert!(budget.take(at(93), 2) && !budget.take(at(93), 1));
        assert!(budget.take(at(1_000_000), BURST) && !budget.take(at(1_000_000), 1));
        for second in 0..1000 {
            assert!(budget.take(at(2_000_000 + 1000 * second), 32), "{second}");
        }
    }
}
