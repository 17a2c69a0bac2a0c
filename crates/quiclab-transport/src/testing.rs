//! Helpers of tests of several modules.

use quiclab_core::{Duration, Time};

/// Time after the start of a run.
pub(crate) fn ms(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}
