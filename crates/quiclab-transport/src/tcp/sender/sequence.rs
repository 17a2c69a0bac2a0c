//! Send sequence variables (RFC 9293 section 3.3.1) and the window of the peer.

/// Maximum window in bytes that is not halved to bound the segment's size (`TCP_MSS_DEFAULT`).
const DEFAULT_PAYLOAD: u64 = 536;
/// Minimum bound of a segment by the window: an MTU of 68 bytes less the headers of TCP and IP.
const MIN_BOUND: u64 = 28;

/// Positions in the stream; 0 is SYN.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendSequence {
    acknowledged: u64,
    next: u64,
    window: u64,
    largest_window: u64,
    /// End of the last segment that was not full (`snd_sml`); 0: none.
    short_end: u64,
}

impl SendSequence {
    /// Makes the state after the handshake, with the initial window of the peer.
    pub(super) const fn new(window: u64) -> Self {
        Self { acknowledged: 1, next: 1, window, largest_window: window, short_end: 0 }
    }

    /// First position not acknowledged (SND.UNA).
    pub(super) const fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Next new position (SND.NXT).
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Receive window of the peer in bytes (SND.WND).
    pub(super) const fn window(&self) -> u64 {
        self.window
    }

    /// Maximum window of the peer so far (`max_window`).
    pub(super) const fn largest_window(&self) -> u64 {
        self.largest_window
    }

    /// End of the peer's window.
    pub(super) const fn window_end(&self) -> u64 {
        self.acknowledged + self.window
    }

    /// Whether an acknowledgement number is neither of data never sent nor too old.
    pub(super) fn is_acceptable(&self, ack: u64, payload: u64) -> bool {
        ack <= self.next && ack + self.largest_window.max(payload) >= self.acknowledged
    }

    /// Updates the window from an acknowledgement; an older one does not reduce the window
    /// (`tcp_may_update_window`). Returns whether it changes.
    pub(super) fn update_window(&mut self, ack: u64, window: u64) -> bool {
        if ack <= self.acknowledged && window <= self.window && window != 0 {
            return false;
        }
        let changed = window != self.window;
        self.window = window;
        self.largest_window = self.largest_window.max(window);
        changed
    }

    /// Updates the acknowledgement number. Returns whether it advances.
    pub(super) fn acknowledge(&mut self, ack: u64) -> bool {
        let advances = ack > self.acknowledged;
        self.acknowledged = self.acknowledged.max(ack);
        advances
    }

    /// Handles new data sent up to `end`.
    pub(super) fn on_sent(&mut self, end: u64) {
        self.next = end;
    }

    /// Records a segment with the end `end` that is not full.
    pub(super) fn on_short(&mut self, end: u64) {
        self.short_end = end;
    }

    /// Whether such a segment is outstanding (`tcp_minshall_check`).
    pub(super) const fn is_short_outstanding(&self) -> bool {
        self.short_end > self.acknowledged
    }

    /// Maximum payload of a new segment: half of the maximum window so far, as a segment larger than the
    /// window would never fit (`tcp_bound_to_half_wnd`). It counts as one segment nevertheless.
    pub(super) fn segment(&self, payload: u64) -> u64 {
        let largest = self.largest_window;
        let bound = if largest > DEFAULT_PAYLOAD { largest / 2 } else { largest };
        if bound == 0 { payload } else { payload.min(bound.max(MIN_BOUND)) }
    }
}

#[cfg(test)]
impl SendSequence {
    /// Sets the window.
    pub(super) fn set_window(&mut self, window: u64) {
        self.window = window;
    }

    /// Sets the maximum window.
    pub(super) fn set_largest_window(&mut self, window: u64) {
        self.largest_window = window;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_acknowledgement_does_not_take_the_window_back() {
        let mut snd = SendSequence::new(10_000);
        snd.on_sent(5001);
        assert!(snd.acknowledge(3001) && !snd.acknowledge(2001));
        assert!(!snd.update_window(3001, 8000), "no news");
        assert_eq!(snd.window_end(), 13_001);
        assert!(snd.update_window(4001, 8000), "a later one may");
        assert!(snd.update_window(3001, 12_000), "a larger window is new");
        assert!(snd.update_window(3001, 0), "a closed one, too");
        assert_eq!((snd.window(), snd.largest_window()), (0, 12_000));
    }

    #[test]
    fn acknowledgements_of_data_never_sent_and_of_long_ago_are_not_acceptable() {
        let mut snd = SendSequence::new(1000);
        snd.on_sent(5001);
        snd.acknowledge(5001);
        for (ack, acceptable) in [(5002, false), (5001, true), (4001, true), (4000, false)] {
            assert_eq!(snd.is_acceptable(ack, 500), acceptable, "{ack}");
        }
        assert!(snd.is_acceptable(3501, 1500), "a segment ago");
    }

    #[test]
    fn a_short_segment_is_outstanding_until_it_is_acknowledged() {
        let mut snd = SendSequence::new(10_000);
        assert!(!snd.is_short_outstanding());
        snd.on_short(501);
        snd.on_sent(1501);
        snd.acknowledge(500);
        assert!(snd.is_short_outstanding());
        snd.acknowledge(501);
        assert!(!snd.is_short_outstanding());
    }

    #[test]
    fn a_segment_fits_into_half_of_the_largest_window() {
        for (window, segment) in [(10_000, 1448), (2000, 1000), (537, 268), (536, 536), (20, 28), (0, 1448)] {
            assert_eq!(SendSequence::new(window).segment(1448), segment, "{window}");
        }
    }
}
