//! Timeouts and window probes in a row without an answer, and the segments that they ask for.

/// Repetitions without an answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Retries {
    timeouts: u32,
    window_probes: u32,
    /// The timeout sends the first segment again, whatever window and marks say (RFC 6298 section 5.4).
    is_head_due: bool,
    is_window_probe_due: bool,
}

impl Retries {
    /// Retransmission timeouts in a row.
    pub(super) const fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Window probes in a row.
    pub(super) const fn window_probes(&self) -> u32 {
        self.window_probes
    }

    /// The larger of both; a connection gives up after 15 (`tcp_retries2`).
    pub(super) fn in_row(&self) -> u32 {
        self.timeouts.max(self.window_probes)
    }

    /// A retransmission timeout.
    pub(super) fn on_timeout(&mut self) {
        self.timeouts += 1;
        self.is_head_due = true;
    }

    /// The peer's window is still closed.
    pub(super) fn on_window_timeout(&mut self) {
        self.window_probes += 1;
        self.is_window_probe_due = true;
    }

    /// The peer has answered.
    pub(super) fn on_answer(&mut self) {
        self.window_probes = 0;
    }

    /// Data are acknowledged, or the timeout was spurious.
    pub(super) fn on_progress(&mut self) {
        self.timeouts = 0;
    }

    /// Whether the first segment must be sent again now.
    pub(super) fn take_head_due(&mut self) -> bool {
        std::mem::take(&mut self.is_head_due)
    }

    /// Whether a window probe must be sent now.
    pub(super) fn take_window_probe_due(&mut self) -> bool {
        std::mem::take(&mut self.is_window_probe_due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_timeout_asks_for_one_segment() {
        let mut retries = Retries::default();
        retries.on_timeout();
        retries.on_timeout();
        assert!(retries.take_head_due() && !retries.take_head_due() && !retries.take_window_probe_due());
        retries.on_window_timeout();
        assert!(retries.take_window_probe_due() && !retries.take_window_probe_due());
        assert_eq!((retries.timeouts(), retries.window_probes(), retries.in_row()), (2, 1, 2));
        retries.on_progress();
        assert_eq!(retries.in_row(), 1);
        retries.on_answer();
        assert_eq!(retries.in_row(), 0);
    }
}
