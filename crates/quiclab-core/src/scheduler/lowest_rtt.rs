//! Lowest RTT: the fastest path that has room.
//!
//! | | Linux `mptcp_sched_default`, picoquic | here |
//! | --- | --- | --- |
//! | equal RTTs | the first path: two equal ones share 99.9 % to 0.1 % below saturation | in turn |
//! | criterion of equality | the same number | up to 9/8 of the lowest |
//!
//! A strict minimum amplifies noise: of two paths with the same delay one gets all packets until its queue
//! delays more than the other. For penalties of paths that block see `penalty`.

use super::penalty::Penalties;
use super::{PathScheduler, PathState, longest_equal, next_in_turn};
use crate::time::Time;
use crate::units::ByteCount;

/// The open path with the lowest smoothed RTT; in turn among those whose RTT is at most 9/8 of it.
#[derive(Clone, Debug, Default)]
pub struct LowestRtt {
    /// Path of the last packet; `None` before the first.
    previous: Option<usize>,
    /// `None` if paths that block are not penalised.
    penalties: Option<Penalties>,
}

impl LowestRtt {
    /// Creates a scheduler that penalises the slowest path whenever more than `above` bytes are in flight on
    /// all paths together.
    #[must_use]
    pub fn penalising(above: ByteCount) -> Self {
        Self { previous: None, penalties: Some(Penalties::new(above)) }
    }
}

impl PathScheduler for LowestRtt {
    fn select(&self, now: Time, backlog: ByteCount, paths: &[PathState]) -> Option<usize> {
        if let Some(penalties) = self.penalties.as_ref().filter(|_| backlog > ByteCount::ZERO) {
            penalties.penalise(now, paths);
        }
        let lets = |path: usize| self.penalties.as_ref().is_none_or(|it| it.lets(now, path, &paths[path]));
        let may = |path: usize| paths[path].is_open() && lets(path);
        let lowest = (0..paths.len()).filter(|path| may(*path)).map(|path| paths[path].srtt).min()?;
        let longest = longest_equal(lowest);
        next_in_turn(self.previous, paths.len(), |path| may(path) && paths[path].srtt <= longest)
    }

    fn on_sent(&mut self, _now: Time, path: usize, _bytes: ByteCount) {
        self.previous = Some(path);
    }
}
