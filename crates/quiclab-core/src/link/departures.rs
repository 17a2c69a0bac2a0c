//! Departure times that are fixed when packets arrive, as those of netem.
//!
//! netem computes the departure of a packet when it is enqueued: serialisation begins when the last packet in
//! the queue leaves, and takes its length at the present rate (`netem_enqueue` in net/sched/sch_netem.c of
//! Linux). A later change of the rate (`tc qdisc change ... rate`) does not affect packets that wait.
//!
//! | | netem | here |
//! | --- | --- | --- |
//! | time of a packet | rounded down to 1 ns | rounded up |
//! | rate 0 | no limit | not supported: traces with it are refused |

use super::trace::TraceCursor;
use crate::time::Time;
use crate::units::ByteCount;
use std::collections::VecDeque;

/// Departure times of the packets that wait, first in, first out.
#[derive(Debug)]
pub(super) struct FixedDepartures {
    pub(super) trace: TraceCursor,
    /// Departure of the last packet that was enqueued.
    last: Time,
    waiting: VecDeque<Time>,
}

impl FixedDepartures {
    pub(super) fn new(trace: TraceCursor) -> Self {
        Self { trace, last: Time::ZERO, waiting: VecDeque::new() }
    }

    /// Handles the enqueuing of a packet of `size` at `now`.
    pub(super) fn enqueued(&mut self, now: Time, size: ByteCount) {
        self.last = self.last.max(now) + self.trace.rate_at(now).time_for(size);
        self.waiting.push_back(self.last);
    }

    /// Departure of the packet whose serialisation begins now.
    pub(super) fn next(&mut self) -> Option<Time> {
        self.waiting.pop_front()
    }
}
