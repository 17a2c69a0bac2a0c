//! Consecutive timeouts and window probes without a response, and the segments that they require.

/// Repetitions without a response.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Retries {
    timeouts: u32,
    window_probes: u32,
    /// Whether the first segment is to be retransmitted, regardless of window and marks (RFC 6298 section
    /// 5.4).
    is_head_due: bool,
    is_window_probe_due: bool,
}

impl Retries {
    /// Number of consecutive retransmission timeouts.
    pub(super) const fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Number of consecutive window probes.
    pub(super) const fn window_probes(&self) -> u32 {
        self.window_probes
    }

    /// Maximum of both; a connection fails after 15 (`tcp_retries2`).
    pub(super) fn in_row(&self) -> u32 {
        self.timeouts.max(self.window_probes)
    }

    /// Handles a retransmission timeout.
    pub(super) fn on_timeout(&mut self) {
        self.timeouts += 1;
        self.is_head_due = true;
    }

    /// Handles a timeout while the peer's window is closed.
    pub(super) fn on_window_timeout(&mut self) {
        self.window_probes += 1;
        self.is_window_probe_due = true;
    }

    /// Handles a response of the peer.
    pub(super) fn on_answer(&mut self) {
        self.window_probes = 0;
    }

    /// Handles acknowledged data, or a spurious timeout.
    pub(super) fn on_progress(&mut self) {
        self.timeouts = 0;
    }

    /// Takes whether the first segment must be retransmitted now.
    pub(super) fn take_head_due(&mut self) -> bool {
        std::mem::take(&mut self.is_head_due)
    }

    /// Takes whether a window probe must be sent now.
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
