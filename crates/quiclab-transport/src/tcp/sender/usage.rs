//! Use of the congestion window (`tcp_cwnd_validate`, `tcp_is_cwnd_limited`; RFC 2861).

use quiclab_core::{Duration, Time};

/// Use of the window: whether it limits sending, and the time since which it does not.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowUsage {
    is_cwnd_limited: bool,
    /// Maximum number of outstanding segments in the current round (`max_packets_out`).
    most_outstanding: u32,
    /// Position whose acknowledgement ends the round (`cwnd_usage_seq`).
    round_end: u64,
    /// Time at which the window was last used, and the maximum outstanding since (`snd_cwnd_stamp`,
    /// `snd_cwnd_used`).
    used_at: Time,
    most_since: u32,
    /// Number of segments sent since there was nothing to send.
    sent: u32,
    /// Whether a burst waits for more room in the congestion window.
    is_deferred: bool,
}

/// State of the sender when no more segments may be sent; in segments and positions.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndOfPass {
    /// Free part of the window in segments.
    pub(super) room: u32,
    pub(super) outstanding: u32,
    pub(super) acknowledged: u64,
    pub(super) next: u64,
}

impl WindowUsage {
    /// Makes the state before anything is sent.
    pub(super) fn new(now: Time) -> Self {
        Self {
            is_cwnd_limited: false,
            most_outstanding: 0,
            round_end: 1,
            used_at: now,
            most_since: 0,
            sent: 0,
            is_deferred: false,
        }
    }

    /// Counts a segment that is sent.
    pub(super) fn on_sent(&mut self) {
        self.sent += 1;
    }

    /// Records that a burst waits because the window permits only a short one.
    pub(super) fn on_deferred(&mut self) {
        self.is_deferred = true;
    }

    /// Ends a send pass. Returns whether it is evidence of the use of the window.
    pub(super) fn end_pass(&mut self, pass: &EndOfPass) -> bool {
        let limited = pass.room == 0 || std::mem::take(&mut self.is_deferred);
        let is_news = std::mem::take(&mut self.sent) > 0 || limited || pass.outstanding == 0;
        if is_news {
            let new_round = pass.acknowledged >= self.round_end;
            let grows = !self.is_cwnd_limited && pass.outstanding > self.most_outstanding;
            if new_round || limited || grows {
                self.is_cwnd_limited = limited;
                self.most_outstanding = pass.outstanding;
                self.round_end = pass.next;
            }
        }
        is_news
    }

    /// Whether the window limits sending: in slow start it may grow to twice the outstanding segments.
    pub(super) fn is_limited(&self, cwnd: u32, slow_start: bool) -> bool {
        if slow_start { cwnd < 2 * self.most_outstanding } else { self.is_cwnd_limited }
    }

    /// Restarts the measurement: the window is used, or has been adapted to its use.
    pub(super) fn restart(&mut self, now: Time) {
        (self.most_since, self.used_at) = (0, now);
    }

    /// Handles an unused window. Returns the maximum number of outstanding segments if that has lasted for an
    /// RTO.
    pub(super) fn unused(&mut self, now: Time, outstanding: u32, rto: Duration) -> Option<u32> {
        self.most_since = self.most_since.max(outstanding);
        (now.since(self.used_at) >= rto).then_some(self.most_since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ms as at;

    fn pass(room: u32, outstanding: u32, acknowledged: u64, next: u64) -> EndOfPass {
        EndOfPass { room, outstanding, acknowledged, next }
    }

    #[test]
    fn the_window_is_limited_for_the_rest_of_the_round() {
        let mut usage = WindowUsage::new(at(0));
        usage.on_sent();
        assert!(usage.end_pass(&pass(0, 10, 1, 10_001)));
        assert!(usage.is_limited(10, false));
        usage.on_sent();
        assert!(usage.end_pass(&pass(3, 7, 5001, 10_001)));
        assert!(usage.is_limited(10, false), "the round is not over");
        usage.on_sent();
        usage.end_pass(&pass(3, 7, 10_001, 17_001));
        assert!(!usage.is_limited(10, false));
        assert!(usage.is_limited(13, true) && !usage.is_limited(14, true), "twice seven in slow start");
    }

    #[test]
    fn a_burst_that_waits_for_the_window_is_limited_by_it() {
        let mut usage = WindowUsage::new(at(0));
        assert!(!usage.end_pass(&pass(1, 9, 0, 1)), "nothing was sent");
        usage.on_deferred();
        assert!(usage.end_pass(&pass(1, 9, 0, 9001)));
        assert!(usage.is_limited(10, false));
    }

    #[test]
    fn use_counts_since_the_window_was_full() {
        let mut usage = WindowUsage::new(at(0));
        let rto = Duration::from_millis(200);
        assert_eq!(usage.unused(at(100), 5, rto), None);
        assert_eq!(usage.unused(at(200), 3, rto), Some(5));
        usage.restart(at(200));
        assert_eq!(usage.unused(at(399), 3, rto), None);
        assert_eq!(usage.unused(at(400), 2, rto), Some(3));
    }
}
