//! Queueing discipline fq of the sender's host (net/sched/sch_fq.c), as far as it affects TCP: bursts are
//! handed over before their departure, and wait there until then.
//!
//! Bursts handed over count as in flight, and as sent from their departure: RTT, delivery rate and timestamps
//! start there; before 4.20, at the handover (`tcp_update_skb_after_send`). The waiting amount is limited
//! (TCP small queues, `tcp_small_queue_check`): at the limit, the next burst is handed over when one has
//! left.

use crate::tcp::memory::SENT_OVERHEAD;
use quiclab_core::{Duration, Time};
use std::collections::VecDeque;

/// `sysctl_tcp_limit_output_bytes`.
const LIMIT: u64 = 4 << 20;

/// Queue of the host.
#[derive(Clone, Debug, Default)]
pub(super) struct HostQueue {
    /// Bursts with the time at which they leave, and their memory in bytes.
    bursts: VecDeque<(Time, u64)>,
    /// Memory of all of them (`sk_wmem_alloc`).
    memory: u64,
    /// Whether a burst could not be added (`TSQ_THROTTLED`).
    throttled: bool,
    /// Lateness of the timer (`timer_slack` of the queueing discipline).
    slack: Duration,
}

impl HostQueue {
    /// Makes an empty queue whose timer is late by `slack`.
    pub(super) fn new(slack: Duration) -> Self {
        Self { slack, ..Self::default() }
    }

    /// Adds a burst of `bytes` that waits until `due`. Returns the time at which it leaves the host.
    pub(super) fn push(&mut self, due: Time, bytes: u64) -> Time {
        let (leaves, memory) = (due + self.slack, bytes + SENT_OVERHEAD);
        self.bursts.push_back((leaves, memory));
        self.memory += memory;
        leaves
    }

    /// Removes due bursts. Returns whether the next one waited for that.
    pub(super) fn leave(&mut self, now: Time) -> bool {
        let mut left = false;
        while let Some((_, memory)) = self.bursts.front().copied().filter(|burst| burst.0 <= now) {
            self.bursts.pop_front();
            self.memory -= memory;
            left = true;
        }
        left && std::mem::take(&mut self.throttled)
    }

    /// Whether a burst of `bytes` must not be handed over yet: two, or the bytes of a `millisecond`, wait
    /// already (`tcp_small_queue_check`; retransmissions have twice the room). The only burst of the sender
    /// is always permitted.
    pub(super) fn is_full(
        &mut self,
        bytes: u64,
        millisecond: u64,
        retransmission: bool,
        is_only: bool,
    ) -> bool {
        let limit = (2 * (bytes + SENT_OVERHEAD)).max(millisecond).min(LIMIT) << u32::from(retransmission);
        // the socket itself counts as a byte
        let full = self.memory + 1 > limit && !is_only;
        self.throttled |= full;
        full
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ms as at;

    #[test]
    fn two_bursts_wait_and_the_next_one_for_them() {
        let mut queue = HostQueue::new(Duration::from_micros(10));
        assert_eq!(queue.push(at(1), 2000), at(1) + Duration::from_micros(10));
        assert!(!queue.is_full(2000, 0, false, false));
        queue.push(at(2), 2000);
        assert!(!queue.is_full(2000, 0, true, false), "twice the room");
        assert!(!queue.is_full(2000, 0, false, true), "the only one");
        assert!(!queue.is_full(2000, 10_000, false, false), "they leave within a millisecond");
        assert!(queue.is_full(2000, 0, false, false));
        assert!(!queue.leave(at(1)), "the timer is late");
        assert!(queue.leave(at(2)) && !queue.is_full(2000, 0, false, false));
        assert!(!queue.leave(at(3)), "nothing waited for the second one");
    }
}
