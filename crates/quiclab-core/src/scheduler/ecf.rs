//! ECF, earliest completion first: a slower path is used only if the whole backlog completes sooner with it.
//!
//! After Lim, Nahum, Towsley and Gibbens, "ECF: An MPTCP Path Scheduler to Manage Heterogeneous Paths" (CoNEXT
//! 2017), algorithm 1. With k bytes waiting, the fast path F without room, the slow one S with, and delta the
//! larger of the RTT variations, it waits for F if both hold:
//!
//! 1. (1 + k / CWND_F) RTT_F < (1 + waiting x hysteresis) (RTT_S + delta): F completes before S would;
//! 2. k / CWND_S x RTT_S >= 2 RTT_F + delta: S does not complete sooner than a round trip of F after this
//!    one.
//!
//! `waiting` is 1 after a decision to wait, 0 after 1. did not hold: the hysteresis keeps a decision.
//!
//! | | the paper | here |
//! | --- | --- | --- |
//! | k / CWND | as it is | at least 1: a packet takes a round trip; so does the authors' code for Linux (`mptcp_ecf.c`) |
//! | hysteresis (beta) | 0.25 | as given, 0.25 |
//! | F | may never have room | has packets in flight |

use super::{PathScheduler, PathState, fastest};
use crate::time::Time;
use crate::units::ByteCount;
use std::cell::Cell;

/// The fastest path; a slower one if the backlog completes sooner with it.
#[derive(Clone, Debug)]
pub struct Ecf {
    hysteresis: f64,
    /// Whether the last decision was to wait. A decision changes it, hence the cell; an equal call then has
    /// the same result.
    waiting: Cell<bool>,
}

impl Ecf {
    /// Creates a scheduler with the share by which a slower path must complete sooner after a decision to
    /// wait.
    #[must_use]
    pub const fn new(hysteresis: f64) -> Self {
        Self { hysteresis, waiting: Cell::new(false) }
    }

    /// Whether waiting for `fast` is better than `slow`.
    fn waits(&self, backlog: ByteCount, slow: &PathState, fast: &PathState) -> bool {
        let rounds = |path: &PathState| (backlog.bytes() as f64 / path.window.bytes().max(1) as f64).max(1.0);
        let seconds = |path: &PathState| path.srtt.as_nanos() as f64 / 1e9;
        let delta = slow.rtt_variation.max(fast.rtt_variation).as_nanos() as f64 / 1e9;
        let margin = if self.waiting.get() { self.hysteresis } else { 0.0 };
        if (1.0 + rounds(fast)) * seconds(fast) >= (1.0 + margin) * (seconds(slow) + delta) {
            self.waiting.set(false);
            return false;
        }
        let waits = rounds(slow) * seconds(slow) >= 2.0 * seconds(fast) + delta;
        if waits {
            self.waiting.set(true);
        }
        waits
    }
}

impl PathScheduler for Ecf {
    fn select(&self, _now: Time, backlog: ByteCount, paths: &[PathState]) -> Option<usize> {
        let open = fastest(paths, PathState::is_open)?;
        let Some(awaited) = fastest(paths, PathState::frees_room) else { return Some(open) };
        let (slow, fast) = (&paths[open], &paths[awaited]);
        if backlog == ByteCount::ZERO || fast.srtt >= slow.srtt {
            return Some(open);
        }
        (!self.waits(backlog, slow, fast)).then_some(open)
    }

    fn on_sent(&mut self, _now: Time, _path: usize, _bytes: ByteCount) {}
}
