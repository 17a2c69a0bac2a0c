//! The machine's clock as the time of the state machines: nanoseconds since the program started.

use quiclab_core::{Duration, Time};
use std::time::Instant;

/// A monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Creates a clock that is zero now.
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }
    /// Time since the start.
    #[must_use]
    pub fn now(&self) -> Time {
        Time::ZERO + Duration::from_nanos(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
