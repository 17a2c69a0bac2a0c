//! What tests of several modules share.

use quiclab_core::{Duration, Time};

/// A time after the start of a run.
pub(crate) fn ms(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}
