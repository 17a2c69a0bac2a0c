//! RACK: a segment is lost if it has not arrived a little more than an RTT after it was sent, although one
//! sent later has (RFC 8985 section 6; Linux net/ipv4/tcp_recovery.c).
//!
//! | | RFC 8985 | here, as in Linux |
//! | --- | --- | --- |
//! | reordering window before reordering was detected | 0 once DupThresh segments were selectively acknowledged or in recovery, min_rtt / 4 otherwise | the same |
//! | after it was detected | a multiple of min_rtt / 4 that grows with each round trip with DSACK, at most SRTT | the same |
//! | the multiple returns to 1 | after 16 recoveries | the same |

use quiclab_core::{Duration, Time};

/// Number of recoveries after which the reordering window returns to its initial size.
const RECOVERY_THRESHOLD: u8 = 16;

/// State of RACK (section 6.1 of the RFC).
#[derive(Clone, Debug)]
pub struct Rack {
    /// Send time and end position of the segment sent last among those delivered.
    newest: (Time, u64),
    /// RTT of the segment delivered last.
    rtt: Duration,
    /// Whether a segment was delivered since the last detection of losses.
    advanced: bool,
    /// Reordering window in multiples of min_rtt / 4.
    steps: u8,
    /// Number of recoveries until `steps` returns to 1.
    persist: u8,
    dsack_seen: bool,
    /// Bytes delivered at the last increase of `steps`.
    raised_at: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            newest: (Time::ZERO, 0),
            rtt: Duration::ZERO,
            advanced: false,
            steps: 1,
            persist: 0,
            dsack_seen: false,
            raised_at: 0,
        }
    }
}

impl Rack {
    /// Handles the delivery of a segment with the end `end`, sent (last) at `sent` (section 6.2, step 2).
    pub fn on_delivered(
        &mut self,
        now: Time,
        sent: Time,
        end: u64,
        retransmitted: bool,
        min_rtt: Option<Duration>,
    ) {
        let rtt = now.since(sent);
        // "the RTT is less than the minimum: the ACK is likely of the original transmission"
        if retransmitted && min_rtt.is_none_or(|min| rtt < min) {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        self.newest = self.newest.max((sent, end));
    }

    /// Takes whether losses must be detected: false until the next delivery.
    pub fn take_advanced(&mut self) -> bool {
        std::mem::take(&mut self.advanced)
    }

    /// Requests a detection of losses without a delivery, as marks of losses were withdrawn.
    pub fn reconsider(&mut self) {
        self.advanced = true;
    }

    /// Whether a segment was sent before the newest delivered one (section 6.2: `RACK_sent_after`).
    #[must_use]
    pub fn is_overtaken(&self, sent: Time, end: u64) -> bool {
        (sent, end) < self.newest
    }

    /// Time at which a segment sent at `sent` is lost, if it is overtaken (section 6.2, step 5).
    #[must_use]
    pub fn deadline(&self, sent: Time, window: Duration) -> Time {
        sent + self.rtt + window
    }

    /// Reordering window (section 6.2, step 4). `strict`: no reordering was detected, and recovery has
    /// started or enough segments were selectively acknowledged.
    #[must_use]
    pub fn reordering_window(
        &self,
        strict: bool,
        min_rtt: Option<Duration>,
        srtt: Option<Duration>,
    ) -> Duration {
        if strict {
            return Duration::ZERO;
        }
        let quarter = min_rtt.unwrap_or(Duration::ZERO) / 4;
        (quarter * u64::from(self.steps)).min(srtt.unwrap_or(Duration::ZERO))
    }

    /// Handles a duplicate reported by the receiver that is not due to a tail loss probe.
    pub fn on_dsack(&mut self) {
        self.dsack_seen = true;
    }

    /// Adapts the window after an acknowledgement whose newest segment was sent when `prior_delivered`
    /// bytes were delivered; `delivered` are now (section 6.2, step 4: once per round trip).
    pub fn update_window(&mut self, prior_delivered: u64, delivered: u64) {
        if prior_delivered < self.raised_at {
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            self.steps = self.steps.saturating_add(1);
            self.dsack_seen = false;
            self.raised_at = delivered;
            self.persist = RECOVERY_THRESHOLD;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// Handles the end of a recovery that was not undone.
    pub fn on_recovery_end(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// Handles the undo of a recovery, all retransmissions of which were duplicates.
    pub fn on_undo(&mut self) {
        self.persist = (self.persist + 1).min(RECOVERY_THRESHOLD);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ms as at;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_segment_sent_earlier_is_lost_an_rtt_and_the_window_after_it_was_sent() {
        let mut rack = Rack::default();
        rack.on_delivered(at(110), at(10), 200, false, Some(ms(100)));
        assert!(rack.is_overtaken(at(5), 100) && rack.is_overtaken(at(10), 100));
        assert!(!rack.is_overtaken(at(10), 200) && !rack.is_overtaken(at(11), 100));
        assert_eq!(rack.deadline(at(5), ms(25)), at(5 + 100 + 25));
    }

    #[test]
    fn an_ack_too_early_for_a_retransmission_is_not_its_own() {
        let mut rack = Rack::default();
        rack.on_delivered(at(150), at(100), 200, true, Some(ms(100)));
        assert!(!rack.take_advanced() && !rack.is_overtaken(at(1), 1));
        rack.on_delivered(at(200), at(100), 200, true, Some(ms(100)));
        assert!(rack.take_advanced() && !rack.take_advanced());
    }

    /// min_rtt 40 ms: 10 ms, then 20 ms after a round trip with DSACK, at most the SRTT; 16 recoveries
    /// later 10 ms again.
    #[test]
    fn the_window_grows_once_per_round_trip_with_dsack_and_returns() {
        let mut rack = Rack::default();
        let window = |rack: &Rack| rack.reordering_window(false, Some(ms(40)), Some(ms(45)));
        assert_eq!(window(&rack), ms(10));
        rack.on_dsack();
        rack.update_window(0, 1000);
        rack.on_dsack();
        rack.update_window(500, 2000); // sent before the last rise
        assert_eq!(window(&rack), ms(20));
        for round in 2..10 {
            rack.on_dsack();
            rack.update_window(round * 1000, round * 1000 + 900);
        }
        assert_eq!(window(&rack), ms(45), "the smoothed RTT bounds it");
        for _ in 0..15 {
            rack.on_recovery_end();
        }
        rack.update_window(20_000, 21_000);
        assert_eq!(window(&rack), ms(45));
        rack.on_recovery_end();
        rack.update_window(22_000, 23_000);
        assert_eq!(window(&rack), ms(10));
        assert_eq!(rack.reordering_window(true, Some(ms(40)), Some(ms(45))), Duration::ZERO);
    }
}
