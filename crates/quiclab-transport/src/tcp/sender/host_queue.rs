//! The fq queueing discipline of the sender's host (net/sched/sch_fq.c), as far as TCP sees it: bursts are handed over
//! before their departure, and wait there until then.
//!
//! What was handed over counts as in flight, and is sent as of its departure: RTT, delivery rate and timestamps begin
//! there; before 4.20, when it was handed over (`tcp_update_skb_after_send`). Only so much may wait (TCP small queues, `tcp_small_queue_check`): when that is the limit, the next burst is
//! handed over when one has left.

use super::Sender;
use crate::tcp::memory::SENT_OVERHEAD;
use quiclab_core::{Duration, Time};
use std::collections::VecDeque;

/// `sysctl_tcp_limit_output_bytes`.
const LIMIT: u64 = 4 << 20;

/// What waits in the queue.
#[derive(Clone, Debug, Default)]
pub(super) struct HostQueue {
    /// Bursts: when they leave, and their memory in bytes.
    bursts: VecDeque<(Time, u64)>,
    /// Memory of all of them (`sk_wmem_alloc`).
    memory: u64,
    /// More would wait if it could (`TSQ_THROTTLED`).
    throttled: bool,
    /// The timer is late by this (`timer_slack` of the queueing discipline).
    slack: Duration,
}

impl HostQueue {
    pub(super) fn new(slack: Duration) -> Self {
        Self { slack, ..Self::default() }
    }
}

impl Sender {
    /// A burst of `bytes` is handed over now. Returns when it is sent as of, and when it leaves the host.
    pub(super) fn hand_over(&mut self, now: Time, bytes: u64) -> (Time, Time) {
        let due = if self.host_queue.is_some() { self.pacer.release(now, self.payload) } else { now };
        self.pacer.on_sent(now, bytes);
        let departure = if self.departure_times { due } else { now };
        let Some(queue) = self.host_queue.as_mut().filter(|_| due > now) else { return (departure, due) };
        let (leaves, memory) = (due + queue.slack, bytes + SENT_OVERHEAD);
        queue.bursts.push_back((leaves, memory));
        queue.memory += memory;
        (departure, leaves)
    }

    /// Bursts that are due have left. Returns whether the next one waited for that.
    pub(crate) fn leave_host(&mut self, now: Time) -> bool {
        let Some(queue) = &mut self.host_queue else { return false };
        let mut left = false;
        while let Some((_, memory)) = queue.bursts.front().copied().filter(|burst| burst.0 <= now) {
            queue.bursts.pop_front();
            queue.memory -= memory;
            left = true;
        }
        left && std::mem::take(&mut queue.throttled)
    }

    /// Whether a burst of `bytes` must not be handed over yet: two, or what leaves in a millisecond, wait already
    /// (`tcp_small_queue_check`; retransmissions have twice the room).
    pub(super) fn is_throttled(&mut self, bytes: u64, retransmission: bool) -> bool {
        let millisecond = self.pacer.rate().map_or(0, |rate| (rate.bits_per_second() / 8) >> 10);
        let single = self.board.skbs() <= 1;
        let Some(queue) = &mut self.host_queue else { return false };
        let limit = (2 * (bytes + SENT_OVERHEAD)).max(millisecond).min(LIMIT) << u32::from(retransmission);
        // the socket itself counts as a byte
        let full = queue.memory + 1 > limit && !single;
        queue.throttled |= full;
        full
    }
}
