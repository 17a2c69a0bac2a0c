//! Helpers for tests of several modules.

use crate::{Duration, Time};

/// A time after the start of a run.
pub(crate) fn at(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}
