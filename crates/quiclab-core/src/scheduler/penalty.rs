//! Penalties for paths that block: Raiciu et al., "How Hard Can It Be? Designing and Implementing a Deployable
//! Multipath TCP" (NSDI 2012), section 4.2, mechanism 2 ("penalizing slow subflows").
//!
//! | | the paper, Linux MPTCP | here |
//! | --- | --- | --- |
//! | a path blocks | it holds the trailing edge of a full receive window while another has room | more than a limit is in flight on all paths; it has the longest RTT of those with packets in flight, and a faster one is open |
//! | the penalty | its window and slow-start threshold are halved | its limit in flight is halved: half of its window, or of the present limit |
//! | frequency | once in an RTT of that path | the same |
//! | recovery | congestion avoidance | a datagram more in each RTT, until the window is reached |
//! | opportunistic retransmission (mechanism 1) | the blocking data are sent again on the fast path | none: a packet of a tunnel is sent once |
//!
//! A scheduler must not change the congestion control: it lowers a limit of its own.

use super::{PathState, fastest};
use crate::time::{Duration, Time};
use crate::units::ByteCount;
use std::cell::RefCell;

/// A penalty of one path.
#[derive(Clone, Copy, Debug)]
struct Penalty {
    /// Maximum bytes in flight on the path at that time.
    limit: ByteCount,
    at: Time,
}

/// Penalties of all paths.
#[derive(Clone, Debug)]
pub(super) struct Penalties {
    above: ByteCount,
    /// Penalties by path. A query of a path that blocks imposes its penalty, hence the cell: a second one at
    /// the same time has no effect.
    of_paths: RefCell<Vec<Option<Penalty>>>,
}

impl Penalties {
    pub(super) const fn new(above: ByteCount) -> Self {
        Self { above, of_paths: RefCell::new(Vec::new()) }
    }

    /// Imposes a penalty, if a path blocks and there was none within its RTT.
    pub(super) fn penalise(&self, now: Time, paths: &[PathState]) {
        if paths.iter().map(|path| path.in_flight).sum::<ByteCount>() <= self.above {
            return;
        }
        let in_use = |path: &usize| paths[*path].usable && paths[*path].in_flight > ByteCount::ZERO;
        let Some(slowest) = (0..paths.len()).filter(in_use).max_by_key(|path| paths[*path].srtt) else {
            return;
        };
        let slow = &paths[slowest];
        if fastest(paths, |path| path.is_open() && path.srtt < slow.srtt).is_none() {
            return;
        }
        if self.of(slowest).is_some_and(|penalty| now.since(penalty.at) < slow.srtt) {
            return;
        }
        let limit = self.limit(now, slowest, slow).unwrap_or(slow.window).min(slow.window);
        let mut of_paths = self.of_paths.borrow_mut();
        if of_paths.len() <= slowest {
            of_paths.resize(slowest + 1, None);
        }
        of_paths[slowest] = Some(Penalty { limit: ByteCount::from_bytes(limit.bytes() / 2), at: now });
    }

    /// Whether the penalty of `path` permits another full datagram; the first is always permitted.
    pub(super) fn lets(&self, now: Time, path: usize, state: &PathState) -> bool {
        state.in_flight == ByteCount::ZERO
            || self.limit(now, path, state).is_none_or(|limit| state.in_flight + state.largest <= limit)
    }

    fn of(&self, path: usize) -> Option<Penalty> {
        self.of_paths.borrow().get(path).copied().flatten()
    }

    /// Maximum bytes in flight on `path`; `None` if only its window limits them.
    fn limit(&self, now: Time, path: usize, state: &PathState) -> Option<ByteCount> {
        let Penalty { limit, at } = self.of(path)?;
        let rtt = state.srtt.max(Duration::from_nanos(1));
        let grown = u128::from(now.since(at).as_nanos()) * u128::from(state.largest.bytes())
            / u128::from(rtt.as_nanos());
        let limit = limit + ByteCount::from_bytes(u64::try_from(grown).unwrap_or(u64::MAX));
        (limit < state.window).then_some(limit)
    }
}
