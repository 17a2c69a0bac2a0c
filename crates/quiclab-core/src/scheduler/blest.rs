//! BLEST: a slower path is used only if its packets cannot block the fastest one.
//!
//! After Ferlin, Alay, Mehani and Boreli, "BLEST: Blocking Estimation-based MPTCP Scheduler for Heterogeneous
//! Networks" (IFIP Networking 2016), section III. While a packet is on the slow path S for its RTT, the fast
//! path F could send X = (CWND_F + MSS_F (r - 1) / 2) r bytes, r = RTT_S / RTT_F. The slow path is used only
//! if they fit into the send window in addition to the bytes in flight on S: scaling x X <= window - in
//! flight_S - MSS_S.
//!
//! | | the paper, Linux `mptcp_blest.c` | here |
//! | --- | --- | --- |
//! | send window | that of the MPTCP connection | a configured one; without it, the bytes that all paths together deliver in the longest RTT: a tunnel has no window |
//! | the scaling (lambda) | 1.2 at first (Linux), adapted by 1 % or 4 % to whether the window blocked | as given, 1.2: no window can block |
//! | r | whole round trips, and one more (Linux) | the quotient (the paper) |
//! | only the fast path waits | it may never have room | it has packets in flight |

use super::{PathScheduler, PathState, fastest};
use crate::time::Time;
use crate::units::ByteCount;

/// The fastest path; a slower one if it is estimated not to block.
#[derive(Clone, Copy, Debug)]
pub struct Blest {
    scaling: f64,
    /// `None`: the bytes that all paths together deliver in the longest RTT.
    send_window: Option<ByteCount>,
}

impl Blest {
    /// Creates a scheduler with the factor on the bytes that the fast path could send, and the send window
    /// that must contain them.
    #[must_use]
    pub const fn new(scaling: f64, send_window: Option<ByteCount>) -> Self {
        Self { scaling, send_window }
    }

    /// Maximum number of bytes in flight on all paths together.
    fn send_window(&self, paths: &[PathState]) -> ByteCount {
        self.send_window.unwrap_or_else(|| {
            let usable = || paths.iter().filter(|path| path.usable);
            let longest = usable().map(|path| path.srtt).max().unwrap_or_default();
            usable().map(|path| path.rate_or_window().bytes_in(longest)).sum()
        })
    }

    /// Whether sending on `slow` would block `fast`.
    fn blocks(&self, slow: &PathState, fast: &PathState, window: ByteCount) -> bool {
        let round_trips = slow.srtt.as_nanos() as f64 / fast.srtt.as_nanos().max(1) as f64;
        let growth = fast.largest.bytes() as f64 * (round_trips - 1.0) / 2.0;
        let fast_bytes = (fast.window.bytes() as f64 + growth) * round_trips;
        let room = window.saturating_sub(slow.in_flight + slow.largest);
        fast_bytes * self.scaling > room.bytes() as f64
    }
}

impl PathScheduler for Blest {
    fn select(&self, _now: Time, _backlog: ByteCount, paths: &[PathState]) -> Option<usize> {
        let open = fastest(paths, PathState::is_open)?;
        let Some(awaited) = fastest(paths, PathState::frees_room) else { return Some(open) };
        let (slow, fast) = (&paths[open], &paths[awaited]);
        let waits = fast.srtt < slow.srtt && self.blocks(slow, fast, self.send_window(paths));
        (!waits).then_some(open)
    }

    fn on_sent(&mut self, _now: Time, _path: usize, _bytes: ByteCount) {}
}
