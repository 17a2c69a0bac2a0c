//! What the application writes, and the send buffer that it fills (Linux `tcp_sendmsg_locked`).
//!
//! A write fills the last skb that was not sent, then further ones as long as the buffer was not full before. A full skb that
//! is the only one leaves at once, as far as window and pacing let a burst go, and is filled again; all may leave when half of
//! the peer's largest window was written.

use super::burst::MAX_BYTES;
use super::{INITIAL_SEGMENTS, Sender};
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
        let end = self.writes.written() + bytes;
        while self.writes.written() < end {
            let (free, _) = self.free_in_tail();
            self.append((end - self.writes.written()).min(free));
        }
        self.end_write();
    }

    /// A write begins. If neither window nor losses kept the sender from having sent everything before, it is limited by its
    /// application (`tcp_rate_check_app_limited`).
    pub(crate) fn start_write(&mut self) {
        debug_assert!(!self.writes.is_finished(), "nothing is written after the end");
        self.writes.start_write(self.snd.next(), self.max_skb());
        let all_sent = self.writes.written().saturating_sub(self.snd.next()) < self.payload;
        let repaired = self.board.lost() <= self.board.retransmitted();
        if all_sent && repaired && self.board.in_flight() < self.cwnd() {
            self.rate.set_app_limited(self.in_flight_bytes());
        }
    }

    /// How many of `bytes` go into one skb; 0 if the buffer is full, and then the application waits
    /// (`sk_stream_memory_free`).
    pub(crate) fn room(&mut self, bytes: u64) -> u64 {
        let (free, new) = self.free_in_tail();
        if self.buffer.ask_for_skb(new, self.memory()) { 0 } else { free.min(bytes) }
    }

    /// Appends what goes into one skb.
    pub(crate) fn append(&mut self, bytes: u64) {
        self.writes.append(bytes, self.snd.next(), self.max_skb());
    }

    /// The write ends: the last segment of the last skb carries PSH (`tcp_mark_push`).
    pub(crate) fn end_write(&mut self) {
        self.writes.end_write();
    }

    /// What leaves before the write goes on: nothing unless its last skb is full; then all that may if half of the peer's
    /// largest window was written (`forced_push`), or a burst if no other skb waits.
    pub(crate) fn push_within_write(&mut self) -> PushWithinWrite {
        let (_, full) = self.free_in_tail();
        if !full {
            PushWithinWrite::Nothing
        } else if self.writes.is_push_forced(self.snd.largest_window()) {
            self.end_write();
            PushWithinWrite::All
        } else if self.writes.len() == 1 {
            PushWithinWrite::One
        } else {
            PushWithinWrite::Nothing
        }
    }

    /// What the last skb has room for, or a new one, and which of both.
    fn free_in_tail(&self) -> (u64, bool) {
        self.writes.free_in_tail(self.snd.next(), self.max_skb())
    }

    /// Maximum payload of an skb of writes: whole segments, within half of the peer's largest window
    /// (`tcp_xmit_size_goal`).
    pub(super) fn max_skb(&self) -> u64 {
        let segment = self.snd.segment(self.payload);
        let segments = MAX_BYTES.min(self.snd.largest_window() / 2) / segment;
        segments.min(self.options.gso_segments.into()).max(1) * segment
    }

    /// Whether the application may write: a third of the send buffer is free (`sk_stream_is_writeable`). It waits if not.
    pub(crate) fn is_writable(&mut self) -> bool {
        self.check_space();
        self.buffer.ask_for_third(self.memory())
    }

    /// An application that waits although the window has room gets a larger buffer (`tcp_new_space`).
    fn check_space(&mut self) {
        if self.buffer.is_blocked() && self.board.in_flight() < self.cwnd() {
            self.expand_send_buffer();
        }
        self.buffer.release(self.memory());
    }

    /// A burst of new data has left.
    pub(super) fn check_space_when_sent(&mut self) {
        if self.buffer.is_checked_when_sent() {
            self.check_space();
        }
    }

    /// Memory for two windows of single segments, or what the congestion control asks for (`tcp_sndbuf_expand`).
    pub(super) fn expand_send_buffer(&mut self) {
        let segments = u64::from(self.cwnd().max(self.reordering.segments() + 1)).max(INITIAL_SEGMENTS);
        let wanted = self.controller.send_buffer_windows() * segments * memory::of_window(self.payload);
        self.buffer.expand(wanted);
    }

    /// Memory of what is written and not acknowledged (`sk_wmem_queued`).
    pub(super) fn memory(&self) -> u64 {
        let skbs = self.board.skbs() + self.writes.len() as u64;
        self.writes.written().saturating_sub(self.snd.acknowledged()) + skbs * memory::SENT_OVERHEAD
    }
}
