//! Strict round robin: each path in turn, with or without room.
//!
//! All paths carry the same number of packets, so all are as slow as the slowest: the lower bound in a study.
//! Paths that cannot free room are skipped ([`PathState::frees_room`]): a failed path, or one without room
//! that has nothing in flight.

use super::{PathScheduler, PathState, next_in_turn};
use crate::time::Time;
use crate::units::ByteCount;

/// Each path in turn; if it has no room, packets wait for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct StrictRoundRobin {
    /// Path of the last packet; `None` before the first.
    previous: Option<usize>,
}

impl PathScheduler for StrictRoundRobin {
    fn select(&self, _now: Time, _backlog: ByteCount, paths: &[PathState]) -> Option<usize> {
        let counts = |path: usize| paths[path].is_open() || paths[path].frees_room();
        next_in_turn(self.previous, paths.len(), counts).filter(|path| paths[*path].is_open())
    }

    fn on_sent(&mut self, _now: Time, path: usize, _bytes: ByteCount) {
        self.previous = Some(path);
    }
}
