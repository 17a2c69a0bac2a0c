//! Lowest RTT: the fastest path that has room.
//!
//! | | Linux `mptcp_sched_default`, picoquic | here |
//! | --- | --- | --- |
//! | equal RTTs | the first path: two equal ones share 99.9 % to 0.1 % below saturation | in turn |
//! | equal is | the same number | up to 9/8 of the lowest |
//!
//! A strict minimum makes a number out of noise: of two paths with the same delay one gets everything until
//! its queue delays more than the other. 9/8 is the margin within which RFC 9002 section 6.1.2 takes a
//! difference of times for reordering, not for another delay.

use super::{PathScheduler, PathState, next_in_turn};
use crate::time::{Duration, Time};

/// The open path with the lowest smoothed RTT; in turn among those whose RTT is at most 9/8 of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct LowestRtt {
    /// Path of the last packet; `None` before the first.
    previous: Option<usize>,
}

/// The longest RTT that counts as equal to `lowest`.
fn longest_equal(lowest: Duration) -> Duration {
    lowest + lowest / 8
}

impl PathScheduler for LowestRtt {
    fn select(&self, _now: Time, paths: &[PathState]) -> Option<usize> {
        let lowest = paths.iter().filter(|path| path.is_open()).map(|path| path.srtt).min()?;
        let longest = longest_equal(lowest);
        next_in_turn(self.previous, paths.len(), |path| paths[path].is_open() && paths[path].srtt <= longest)
    }

    fn on_sent(&mut self, _now: Time, path: usize, _bytes: u64) {
        self.previous = Some(path);
    }
}
