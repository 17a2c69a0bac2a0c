//! What the application writes, and the send buffer that it fills (Linux `tcp_sendmsg_locked`).
//!
//! A write fills the last skb that was not sent, then further ones as long as the buffer was not full before. A full skb that
//! is the only one leaves at once, as far as window and pacing let a burst go, and is filled again; all may leave when half of
//! the peer's largest window was written.

use super::burst::MAX_BYTES;
use super::{INITIAL_SEGMENTS, Sender, Skb};
use crate::tcp::memory;

/// What leaves before a write goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PushWithinWrite {
    /// Nothing.
    Nothing,
    /// A burst.
    One,
    /// All that may.
    All,
}

impl Sender {
    /// The application writes `bytes` at once, whatever the buffer has room for.
    pub(crate) fn write(&mut self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.start_write();
        let end = self.written + bytes;
        while self.written < end {
            let (free, _) = self.free_in_tail();
            self.append((end - self.written).min(free));
        }
        self.end_write();
    }

    /// A write begins. If neither window nor losses kept the sender from having sent everything before, it is limited by its
    /// application (`tcp_rate_check_app_limited`). The skb that it fills first loses its PSH (`tcp_sendmsg_locked`: `if (!copied)`);
    /// a full one, after which it begins another, does not.
    pub(crate) fn start_write(&mut self) {
        debug_assert!(!self.finished, "nothing is written after the end");
        let (_, new) = self.free_in_tail();
        if let Some(tail) = self.skbs.back_mut().filter(|_| !new) {
            tail.push = false;
        }
        let all_sent = self.written.saturating_sub(self.next) < self.payload;
        let repaired = self.board.lost() <= self.board.retransmitted();
        if all_sent && repaired && self.board.in_flight() < self.cwnd() {
            self.rate.set_app_limited(self.in_flight_bytes());
        }
    }

    /// How many of `bytes` go into one skb; 0 if the buffer is full, and then the application waits
    /// (`sk_stream_memory_free`).
    pub(crate) fn room(&mut self, bytes: u64) -> u64 {
        let (free, new) = self.free_in_tail();
        self.blocked = new && self.memory() >= self.send_buffer;
        if self.blocked { 0 } else { free.min(bytes) }
    }

    /// Appends what goes into one skb.
    pub(crate) fn append(&mut self, bytes: u64) {
        let (free, new) = self.free_in_tail();
        debug_assert!(bytes <= free, "{bytes} bytes in an skb with room for {free}");
        let push = !new && self.skbs.pop_back().is_some_and(|tail| tail.push);
        self.written += bytes;
        self.skbs.push_back(Skb { end: self.written, push });
    }

    /// The write ends: the last segment of the last skb carries PSH (`tcp_mark_push`).
    pub(crate) fn end_write(&mut self) {
        self.pushed = self.written;
        if let Some(tail) = self.skbs.back_mut() {
            tail.push = true;
        }
    }

    /// What leaves before the write goes on: nothing unless its last skb is full; then all that may if half of the peer's
    /// largest window was written (`forced_push`), or a burst if no other skb waits.
    pub(crate) fn push_within_write(&mut self) -> PushWithinWrite {
        let (_, full) = self.free_in_tail();
        if !full {
            PushWithinWrite::Nothing
        } else if self.written > self.pushed + self.largest_window / 2 {
            self.end_write();
            PushWithinWrite::All
        } else if self.skbs.len() == 1 {
            PushWithinWrite::One
        } else {
            PushWithinWrite::Nothing
        }
    }

    /// What the last skb has room for, or a new one, and which of both.
    fn free_in_tail(&self) -> (u64, bool) {
        let goal = self.max_skb();
        let start = match self.skbs.len() {
            0 => return (goal, true),
            1 => self.next,
            skbs => self.skbs[skbs - 2].end,
        };
        let free = goal.saturating_sub(self.written - start);
        if free > 0 { (free, false) } else { (goal, true) }
    }

    /// What is left of the first skb that was not sent completely, in bytes; 0 if there is none.
    pub(super) fn head(&self) -> u64 {
        self.skbs.front().map_or(0, |skb| skb.end - self.next)
    }

    /// The first skb is filled up to `bytes` with what the second one has, which since 6.10 happens when it is to leave, and
    /// keeps its PSH (`tcp_grow_skb`).
    pub(super) fn fill_head(&mut self, bytes: u64) {
        let (Some(&head), Some(&second)) = (self.skbs.front(), self.skbs.get(1)) else { return };
        let end = head.end.max(self.next + bytes).min(second.end);
        if !self.fills_when_sent || end == head.end {
            return;
        }
        if end == second.end {
            self.skbs.pop_front();
            self.skbs[0].push |= head.push;
        } else {
            self.skbs[0].end = end;
        }
    }

    /// Maximum payload of an skb of writes: whole segments, within half of the peer's largest window
    /// (`tcp_xmit_size_goal`).
    pub(super) fn max_skb(&self) -> u64 {
        let segment = self.segment();
        let segments = MAX_BYTES.min(self.largest_window / 2) / segment;
        segments.min(self.options.gso_segments.into()).max(1) * segment
    }

    /// Whether the application may write: a third of the send buffer is free (`sk_stream_is_writeable`). It waits if not.
    pub(crate) fn is_writable(&mut self) -> bool {
        self.check_space();
        self.blocked = !self.has_free_third();
        !self.blocked
    }

    /// An application that waits although the window has room gets a larger buffer (`tcp_new_space`).
    fn check_space(&mut self) {
        if self.blocked && self.board.in_flight() < self.cwnd() {
            self.expand_send_buffer();
        }
        self.blocked &= !self.has_free_third();
    }

    /// A burst of new data has left.
    pub(super) fn check_space_when_sent(&mut self) {
        if self.space_checked_when_sent {
            self.check_space();
        }
    }

    /// A third of the send buffer is free.
    pub(super) fn has_free_third(&self) -> bool {
        2 * self.send_buffer >= 3 * self.memory()
    }

    /// Memory for two windows of single segments, or what the congestion control asks for (`tcp_sndbuf_expand`).
    pub(super) fn expand_send_buffer(&mut self) {
        let segments = u64::from(self.cwnd().max(self.reordering + 1)).max(INITIAL_SEGMENTS);
        let wanted = self.controller.send_buffer_windows() * segments * memory::of_window(self.payload);
        self.send_buffer = self.send_buffer.max(wanted.min(self.options.max_send_buffer.bytes()));
    }

    /// Memory of what is written and not acknowledged (`sk_wmem_queued`).
    pub(super) fn memory(&self) -> u64 {
        let skbs = self.board.skbs() + self.skbs.len() as u64;
        self.written.saturating_sub(self.acknowledged) + skbs * memory::SENT_OVERHEAD
    }
}
