//! Cheapest pipe first: the cheapest path, until its window is full.
//!
//! After Amend et al., "A Framework for Multiaccess Support for Unreliable Internet Traffic using Multipath
//! DCCP" (LCN 2019), section IV: an access that is paid for by volume carries only the traffic that does not
//! fit elsewhere. The cost of a path is its place in a given order.

use super::{PathScheduler, PathState};
use crate::time::Time;
use crate::units::ByteCount;

/// The first open path of a given order.
#[derive(Clone, Debug, Default)]
pub struct CheapestFirst {
    /// Paths, the cheapest first. Unlisted paths follow in the order of their numbers.
    order: Vec<u32>,
}

impl CheapestFirst {
    /// Creates a scheduler with positions of paths, from the cheapest to the most expensive.
    #[must_use]
    pub fn new(order: &[u32]) -> Self {
        Self { order: order.to_vec() }
    }
}

impl PathScheduler for CheapestFirst {
    fn select(&self, _now: Time, _backlog: ByteCount, paths: &[PathState]) -> Option<usize> {
        let ordered = self.order.iter().map(|path| *path as usize);
        ordered.chain(0..paths.len()).find(|path| paths.get(*path).is_some_and(PathState::is_open))
    }

    fn on_sent(&mut self, _now: Time, _path: usize, _bytes: ByteCount) {}
}
