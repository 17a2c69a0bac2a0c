//! Redundant: each packet on every path that has room.
//!
//! After Frömmgen et al., "ReMP TCP: Low Latency Multipath TCP" (ICC 2016). The first copy to arrive counts;
//! the receiving end drops the others. A path without room does not get the packet: ReMP TCP sends it there
//! later.

use super::{PathScheduler, PathState, fastest};
use crate::time::Time;
use crate::units::ByteCount;

/// The fastest open path, and all others that are open.
#[derive(Clone, Copy, Debug, Default)]
pub struct Redundant;

impl PathScheduler for Redundant {
    fn select(&self, _now: Time, _backlog: ByteCount, paths: &[PathState]) -> Option<usize> {
        fastest(paths, PathState::is_open)
    }

    fn on_sent(&mut self, _now: Time, _path: usize, _bytes: ByteCount) {}

    fn copies(&self) -> bool {
        true
    }
}
