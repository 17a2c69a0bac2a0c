//! Round robin: each path in turn that has room.

use super::{PathScheduler, PathState, next_in_turn};
use crate::time::Time;
use crate::units::ByteCount;

/// Each path in turn; one without room is skipped, without compensation later.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundRobin {
    /// Path of the last packet; `None` before the first.
    previous: Option<usize>,
}

impl PathScheduler for RoundRobin {
    fn select(&self, _now: Time, _backlog: ByteCount, paths: &[PathState]) -> Option<usize> {
        next_in_turn(self.previous, paths.len(), |path| paths[path].is_open())
    }

    fn on_sent(&mut self, _now: Time, path: usize, _bytes: ByteCount) {
        self.previous = Some(path);
    }
}
