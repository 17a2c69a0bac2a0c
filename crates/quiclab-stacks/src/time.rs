//! Virtual time as the `Instant` that the stacks take, and back.
//!
//! The stacks compute with differences of instants only, so any epoch gives the same run. An
//! `Instant` cannot be made from a number: one is taken from the clock, once per process.

use quiclab_core::Time;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Mapping between [`Time`] and [`Instant`]; all its values are equal.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Instant that corresponds to [`Time::ZERO`].
    epoch: Instant,
}

impl Clock {
    /// Makes the mapping.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "it reads a clock, once per process")]
    pub fn new() -> Self {
        static EPOCH: OnceLock<Instant> = OnceLock::new();
        #[allow(clippy::disallowed_methods, reason = "an arbitrary epoch; its value never reaches a result")]
        let epoch = *EPOCH.get_or_init(Instant::now);
        Self { epoch }
    }

    /// Instant that corresponds to `time`.
    #[must_use]
    pub fn instant(self, time: Time) -> Instant {
        self.epoch + Duration::from_nanos(time.as_nanos())
    }

    /// First time at which `deadline` is due. `Instant` counts nanoseconds, so nothing needs to be rounded; a
    /// deadline before the epoch is due at once.
    #[must_use]
    pub fn deadline(self, deadline: Instant) -> Time {
        let nanos = deadline.saturating_duration_since(self.epoch).as_nanos();
        Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_never_early() {
        let clock = Clock::new();
        for nanos in [0, 1, 99, 1_000_000_007, 86_400_000_000_001] {
            let instant = clock.instant(Time::from_nanos(nanos));
            assert_eq!(clock.deadline(instant), Time::from_nanos(nanos));
            assert!(clock.instant(clock.deadline(instant)) >= instant);
        }
        assert_eq!(clock.deadline(clock.instant(Time::ZERO)), Time::ZERO);
    }
}
