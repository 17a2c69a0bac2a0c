//! Writes of the application, and the send buffer that they fill (Linux `tcp_sendmsg_locked`).
//!
//! A write fills the last skb that was not sent, then further ones as long as the buffer was not full before.
//! A full skb that is the only one is sent at once, as far as window and pacing permit a burst, and is filled
//! again; all may be sent when half of the peer's maximum window was written.

use super::burst::MAX_BYTES;
use super::{INITIAL_SEGMENTS, Sender};
use crate::tcp::memory;

/// Data that are sent before a write continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PushWithinWrite {
    /// Nothing.
    Nothing,
    /// One burst.
    One,
    /// All data that may be sent.
    All,
}

impl Sender {
    /// Writes `bytes` of the application at once, regardless of the room in the buffer.
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

    /// Starts a write. If neither window nor losses kept the sender from sending all earlier data, it is
    /// application-limited (`tcp_rate_check_app_limited`).
    pub(crate) fn start_write(&mut self) {
        debug_assert!(!self.writes.is_finished(), "nothing is written after the end");
        self.writes.start_write(self.snd.next(), self.max_skb());
        let all_sent = self.writes.written().saturating_sub(self.snd.next()) < self.payload;
        let repaired = self.board.lost() <= self.board.retransmitted();
        if all_sent && repaired && self.board.in_flight() < self.cwnd() {
            self.rate.set_app_limited(self.in_flight_bytes());
        }
    }

    /// Number of `bytes` that fit into one skb; 0 if the buffer is full, and then the application waits
    /// (`sk_stream_memory_free`).
    pub(crate) fn room(&mut self, bytes: u64) -> u64 {
        let (free, new) = self.free_in_tail();
        if self.buffer.ask_for_skb(new, self.memory()) { 0 } else { free.min(bytes) }
    }

    /// Appends the data of one skb.
    pub(crate) fn append(&mut self, bytes: u64) {
        self.writes.append(bytes, self.snd.next(), self.max_skb());
    }

    /// Ends a write: the last segment of the last skb carries PSH (`tcp_mark_push`).
    pub(crate) fn end_write(&mut self) {
        self.writes.end_write();
    }

    /// Data that are sent before the write continues: none unless its last skb is full; then all that may be
    /// sent if half of the peer's maximum window was written (`forced_push`), or a burst if no other skb
    /// waits.
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

    /// Room in bytes of the last skb, or of a new one, and which of both.
    fn free_in_tail(&self) -> (u64, bool) {
        self.writes.free_in_tail(self.snd.next(), self.max_skb())
    }

    /// Maximum payload of an skb of writes: whole segments, within half of the peer's maximum window
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

    /// Grows the buffer of an application that waits although the window has room (`tcp_new_space`).
    fn check_space(&mut self) {
        if self.buffer.is_blocked() && self.board.in_flight() < self.cwnd() {
            self.expand_send_buffer();
        }
        self.buffer.release(self.memory());
    }

    /// Checks the room after a burst of new data was sent.
    pub(super) fn check_space_when_sent(&mut self) {
        if self.buffer.is_checked_when_sent() {
            self.check_space();
        }
    }

    /// Grows the send buffer to two windows of single segments, or to the number that the congestion control
    /// requests (`tcp_sndbuf_expand`).
    pub(super) fn expand_send_buffer(&mut self) {
        let segments = u64::from(self.cwnd().max(self.reordering.segments() + 1)).max(INITIAL_SEGMENTS);
        let wanted = self.controller.send_buffer_windows() * segments * memory::of_window(self.payload);
        self.buffer.expand(wanted);
    }

    /// Memory of data written and not acknowledged (`sk_wmem_queued`).
    pub(super) fn memory(&self) -> u64 {
        let skbs = self.board.skbs() + self.writes.len() as u64;
        self.writes.written().saturating_sub(self.snd.acknowledged()) + skbs * memory::SENT_OVERHEAD
    }
}
