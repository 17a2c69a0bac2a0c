//! Weighted round robin: paths carry bytes in the ratio of their weights.
//!
//! After Goyal, Vin and Cheng, "Start-time Fair Queueing" (SIGCOMM 1996), section 2: each path has a tag, its
//! bytes over its weight, and the lowest tag is next.
//!
//! | | start-time fair queueing | here |
//! | --- | --- | --- |
//! | owner of the tags | flows that share a server | paths that share the packets |
//! | equal tags | arbitrary | the first path |
//! | a path without room | | is skipped without compensation later, as a flow that was idle |

use super::{PathScheduler, PathState};
use crate::time::Time;
use crate::units::ByteCount;

/// Parts of a byte in a tag: weights up to this are distinguished.
const SCALE: u128 = 1 << 32;

/// The open path with the fewest bytes relative to its weight.
#[derive(Clone, Debug, Default)]
pub struct WeightedRoundRobin {
    /// Weights by path; further paths have weight 1.
    weights: Vec<u32>,
    /// Finish tag of each path: [`SCALE`] x bytes / weight; 0 for further paths.
    finish: Vec<u128>,
    /// Start tag of the last packet.
    virtual_time: u128,
}

impl WeightedRoundRobin {
    /// Creates a scheduler with a weight of 1 or more for each path.
    #[must_use]
    pub fn new(weights: &[u32]) -> Self {
        Self { weights: weights.to_vec(), ..Self::default() }
    }

    /// Start tag of the next packet on `path`.
    fn start(&self, path: usize) -> u128 {
        self.finish.get(path).map_or(0, |finish| *finish).max(self.virtual_time)
    }
}

impl PathScheduler for WeightedRoundRobin {
    fn select(&self, _now: Time, _backlog: ByteCount, paths: &[PathState]) -> Option<usize> {
        (0..paths.len()).filter(|path| paths[*path].is_open()).min_by_key(|path| self.start(*path))
    }

    fn on_sent(&mut self, _now: Time, path: usize, bytes: ByteCount) {
        if self.finish.len() <= path {
            self.finish.resize(path + 1, 0);
        }
        let weight = self.weights.get(path).map_or(1, |weight| *weight).max(1);
        self.virtual_time = self.start(path);
        self.finish[path] = self.virtual_time + u128::from(bytes.bytes()) * SCALE / u128::from(weight);
    }
}
