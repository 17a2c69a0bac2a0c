//! Send buffer (`sk_sndbuf`), which only grows, and the application that waits for room in it.

/// Send buffer, with sizes in bytes of memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendBuffer {
    size: u64,
    max: u64,
    /// Whether the application waits for room (`SOCK_NOSPACE`).
    is_blocked: bool,
    is_checked_when_sent: bool,
}

impl SendBuffer {
    /// Makes a buffer that grows to `max`; `is_checked_when_sent`: whether room is checked when data are
    /// sent, too.
    pub(super) const fn new(max: u64, is_checked_when_sent: bool) -> Self {
        Self { size: 0, max, is_blocked: false, is_checked_when_sent }
    }

    /// Whether room is checked when data are sent.
    pub(super) const fn is_checked_when_sent(&self) -> bool {
        self.is_checked_when_sent
    }

    /// Whether the application waits.
    pub(super) const fn is_blocked(&self) -> bool {
        self.is_blocked
    }

    /// Grows the buffer to `wanted`, within its limit (`tcp_sndbuf_expand`).
    pub(super) fn expand(&mut self, wanted: u64) {
        self.size = self.size.max(wanted.min(self.max));
    }

    /// Whether a third is free with `memory` in use (`sk_stream_is_writeable`).
    pub(super) const fn has_free_third(&self, memory: u64) -> bool {
        2 * self.size >= 3 * memory
    }

    /// Requests another skb for the application, which waits if the buffer is full (`sk_stream_memory_free`).
    /// Returns whether it must.
    pub(super) fn ask_for_skb(&mut self, is_new: bool, memory: u64) -> bool {
        self.is_blocked = is_new && memory >= self.size;
        self.is_blocked
    }

    /// Makes the application wait until a third is free. Returns whether it need not.
    pub(super) fn ask_for_third(&mut self, memory: u64) -> bool {
        self.is_blocked = !self.has_free_third(memory);
        !self.is_blocked
    }

    /// Ends the wait if a third is free.
    pub(super) fn release(&mut self, memory: u64) {
        self.is_blocked &= !self.has_free_third(memory);
    }

    /// Size in bytes.
    #[cfg(test)]
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Sets the size in bytes.
    #[cfg(test)]
    pub(super) fn set_size(&mut self, size: u64) {
        self.size = size;
    }

    /// Sets whether room is checked when data are sent.
    #[cfg(test)]
    pub(super) fn set_checked_when_sent(&mut self, checked: bool) {
        self.is_checked_when_sent = checked;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_within_its_limit_and_never_shrinks() {
        let mut buffer = SendBuffer::new(100_000, true);
        for (wanted, size) in [(60_000, 60_000), (30_000, 60_000), (200_000, 100_000)] {
            buffer.expand(wanted);
            assert_eq!(buffer.size(), size);
        }
    }

    #[test]
    fn an_application_that_waits_is_let_go_with_a_third_free() {
        let mut buffer = SendBuffer::new(60_000, true);
        buffer.expand(60_000);
        assert!(!buffer.ask_for_skb(true, 59_999) && !buffer.ask_for_skb(false, 60_000));
        assert!(buffer.ask_for_skb(true, 60_000));
        buffer.release(40_001);
        assert!(buffer.is_blocked());
        buffer.release(40_000);
        assert!(!buffer.is_blocked());
        assert!(!buffer.ask_for_third(40_001) && buffer.is_blocked());
        assert!(buffer.ask_for_third(40_000) && !buffer.is_blocked());
    }
}
