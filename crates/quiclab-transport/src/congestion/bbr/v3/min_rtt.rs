//! Model of the round trip: the minimum RTT, and the time of its next measurement (sections 5.3.4.3, 5.5.7).

use quiclab_core::{Duration, Time};

/// `BBR.MinRTTFilterLen`.
const MIN_RTT_FILTER_LEN: Duration = Duration::from_secs(10);

/// `BBR.min_rtt`, the minimum RTT of ten seconds, and `BBR.probe_rtt_min_delay`, that since the last probe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    /// Whether a packet was sent: only then are the stamps those of the connection.
    is_started: bool,
    min_rtt: Option<Duration>,
    min_rtt_stamp: Time,
    probe_rtt_min_delay: Option<Duration>,
    probe_rtt_min_stamp: Time,
    probe_rtt_expired: bool,
}

impl MinRtt {
    /// `BBR.min_rtt`; `None` before the first sample.
    pub(super) fn get(&self) -> Option<Duration> {
        self.min_rtt
    }

    /// `BBR.probe_rtt_expired`: ProbeRTT is due.
    pub(super) fn is_expired(&self) -> bool {
        self.probe_rtt_expired
    }

    /// Sets the RTT of a handshake.
    pub(super) fn set_handshake(&mut self, rtt: Option<Duration>) {
        (self.min_rtt, self.probe_rtt_min_delay) = (rtt, rtt);
    }

    /// Handles a packet that is sent.
    pub(super) fn on_sent(&mut self, now: Time) {
        if !self.is_started {
            self.is_started = true;
            (self.probe_rtt_min_stamp, self.min_rtt_stamp) = (now, now);
        }
    }

    /// `UpdateMinRTT`, with `BBR.ProbeRTTInterval`.
    pub(super) fn update(&mut self, now: Time, rtt: Option<Duration>, probe_rtt_interval: Duration) {
        self.probe_rtt_expired = now > self.probe_rtt_min_stamp + probe_rtt_interval;
        if let Some(rtt) = rtt
            && (self.probe_rtt_expired || self.probe_rtt_min_delay.is_none_or(|least| rtt < least))
        {
            (self.probe_rtt_min_delay, self.probe_rtt_min_stamp) = (Some(rtt), now);
        }
        let expired = now > self.min_rtt_stamp + MIN_RTT_FILTER_LEN;
        if let Some(delay) = self.probe_rtt_min_delay
            && (expired || self.min_rtt.is_none_or(|least| delay < least))
        {
            (self.min_rtt, self.min_rtt_stamp) = (Some(delay), self.probe_rtt_min_stamp);
        }
    }

    /// Handles the end of ProbeRTT.
    pub(super) fn on_probed(&mut self, now: Time) {
        self.probe_rtt_min_stamp = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ms as at;

    const INTERVAL: Duration = Duration::from_secs(5);

    fn rtt(milliseconds: u64) -> Option<Duration> {
        Some(Duration::from_millis(milliseconds))
    }

    #[test]
    fn five_seconds_without_a_smaller_rtt_make_a_probe_due() {
        let mut min = MinRtt::default();
        min.on_sent(at(20_000));
        min.update(at(20_040), rtt(40), INTERVAL);
        min.update(at(25_040), rtt(50), INTERVAL);
        assert!(!min.is_expired(), "exactly 5 s");
        min.update(at(25_041), rtt(50), INTERVAL);
        assert!(min.is_expired());
        assert_eq!(min.get(), rtt(40), "the minimum of ten seconds");
        min.update(at(25_042), rtt(50), INTERVAL);
        assert!(!min.is_expired(), "the 50 ms are the sample of this interval");
    }

    #[test]
    fn a_minimum_of_ten_seconds_ago_gives_way_to_the_smallest_since() {
        let mut min = MinRtt::default();
        min.on_sent(at(0));
        min.update(at(40), rtt(40), INTERVAL);
        min.update(at(6000), rtt(60), INTERVAL);
        min.update(at(8000), rtt(70), INTERVAL);
        assert_eq!(min.get(), rtt(40));
        min.update(at(10_041), rtt(80), INTERVAL);
        assert_eq!(min.get(), rtt(60));
        min.update(at(10_050), rtt(30), INTERVAL);
        assert_eq!(min.get(), rtt(30), "a smaller one at once");
    }

    #[test]
    fn a_probe_or_a_start_begins_the_interval() {
        let mut min = MinRtt::default();
        min.set_handshake(rtt(40));
        assert_eq!(min.get(), rtt(40));
        min.on_sent(at(9000));
        min.on_sent(at(9500));
        min.update(at(14_000), rtt(45), INTERVAL);
        assert!(!min.is_expired());
        min.update(at(14_001), None, INTERVAL);
        assert!(min.is_expired(), "5 s after the first packet, without a sample");
        min.on_probed(at(14_300));
        min.update(at(19_300), None, INTERVAL);
        assert!(!min.is_expired());
    }
}
