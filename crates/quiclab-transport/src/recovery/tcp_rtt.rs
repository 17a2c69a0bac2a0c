//! RTT and retransmission timeout of TCP: RFC 6298, as computed by Linux.
//!
//! | | RFC 6298 | here, as in Linux (`tcp_rtt_estimator`) |
//! | --- | --- | --- |
//! | samples | one for each flight is enough | every acknowledgement |
//! | RTTVAR | 1/4 of each deviation | of a decreasing deviation: 1/32, so that a decreasing RTT does not increase it; the largest of a round trip counts at once, and it decays by 1/4 once per round trip |
//! | minimum RTO | 1 s, on SRTT + 4 · RTTVAR | 200 ms, on 4 · RTTVAR: the RTO is never below SRTT + 200 ms |
//! | maximum RTO | at least 60 s | 120 s |

use quiclab_core::{Duration, Time};
use std::collections::VecDeque;

/// `TCP_RTO_MAX`.
pub const MAX_RTO: Duration = Duration::from_secs(120);
/// `tcp_min_rtt_wlen`: the window of the minimum RTT is five minutes.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);

/// Estimator of a connection. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub struct TcpRtt {
    /// Smoothed RTT; `None` before the first sample.
    smoothed: Option<u64>,
    /// Mean deviation times 4, as in Linux.
    deviation: u64,
    /// Largest deviation (times 4) of the current round trip.
    deviation_max: u64,
    /// Four times RTTVAR.
    variation: u64,
    /// Position whose acknowledgement ends the round trip.
    round_end: u64,
    min_rto: Duration,
    rto: Duration,
    /// Whether the timer has expired without a sample since (`icsk_backoff`).
    backed_off: bool,
    /// Candidates for the minimum RTT, ascending in time and RTT.
    minima: VecDeque<(Time, Duration)>,
}

impl TcpRtt {
    /// Makes an estimator without samples. `initial_rto` applies until the first one.
    #[must_use]
    pub fn new(min_rto: Duration, initial_rto: Duration) -> Self {
        Self {
            smoothed: None,
            deviation: 0,
            deviation_max: 0,
            variation: 0,
            round_end: 0,
            min_rto,
            rto: initial_rto,
            backed_off: false,
            minima: VecDeque::new(),
        }
    }

    /// Adds a sample. `acknowledged` and `next` are positions: the end of the acknowledged data, and the next
    /// new byte.
    pub fn on_sample(&mut self, rtt: Duration, acknowledged: u64, next: u64) {
        let sample = rtt.as_nanos().max(1);
        let floor = self.min_rto.as_nanos();
        match self.smoothed {
            None => {
                // "SRTT <- R, RTTVAR <- R/2" (section 2.2)
                self.smoothed = Some(sample);
                self.deviation = sample * 2;
                self.variation = self.deviation.max(floor);
                self.deviation_max = self.variation;
                self.round_end = next;
            }
            Some(smoothed) => {
                // "SRTT <- 7/8 SRTT + 1/8 R" (section 2.3)
                let error = sample as i64 - smoothed as i64;
                self.smoothed = Some((smoothed as i64 + error / 8).max(1) as u64);
                let mut change = error.abs() - (self.deviation / 4) as i64;
                if error < 0 && change > 0 {
                    change /= 8;
                }
                self.deviation = (self.deviation as i64 + change).max(0) as u64;
                if self.deviation > self.deviation_max {
                    self.deviation_max = self.deviation;
                    self.variation = self.variation.max(self.deviation_max);
                }
                if acknowledged > self.round_end {
                    if self.deviation_max < self.variation {
                        self.variation -= (self.variation - self.deviation_max) / 4;
                    }
                    self.round_end = next;
                    self.deviation_max = floor;
                }
            }
        }
        self.reset_backoff();
    }

    /// Adds a sample to the minimum RTT.
    pub fn on_min_sample(&mut self, now: Time, rtt: Duration) {
        while self.minima.back().is_some_and(|(_, other)| *other >= rtt) {
            self.minima.pop_back();
        }
        // candidates of one millisecond count as one: the list remains short on a path with a growing RTT
        let near = |(time, _): &(Time, Duration)| now.since(*time) < Duration::from_millis(1);
        if !self.minima.back().is_some_and(near) || self.minima.len() < 2 {
            if self.minima.len() == MAX_MINIMA {
                self.minima.remove(1);
            }
            self.minima.push_back((now, rtt));
        }
        while self.minima.len() > 1 && now.since(self.minima[0].0) > MIN_RTT_WINDOW {
            self.minima.pop_front();
        }
    }

    /// Resets the backoff (section 5.7: it is doubled only until the next sample).
    pub fn reset_backoff(&mut self) {
        self.backed_off = false;
        if let Some(smoothed) = self.smoothed {
            self.rto = Duration::from_nanos(smoothed + self.variation).min(MAX_RTO);
        }
    }

    /// Handles the expiry of the timer: "RTO <- RTO * 2" (section 5.5).
    pub fn back_off(&mut self) {
        self.backed_off = true;
        self.rto = (self.rto * 2).min(MAX_RTO);
    }

    /// Sets the timeout, and nothing else, from an RTT `known` from an earlier connection, before the first
    /// sample of data, if it is longer than that of the handshake or the only one (`tcp_init_metrics`, since
    /// commit 1b7fdd2ab585, 3.12).
    pub fn expect(&mut self, known: Duration) {
        if self.smoothed.is_none_or(|smoothed| known.as_nanos() > smoothed) {
            self.rto = (known + (known * 2).max(self.min_rto)).min(MAX_RTO);
        }
    }

    /// Whether the timeout was doubled without a sample since.
    #[must_use]
    pub const fn is_backed_off(&self) -> bool {
        self.backed_off
    }

    /// Timeout in effect.
    #[must_use]
    pub const fn rto(&self) -> Duration {
        self.rto
    }

    /// Configured minimum timeout.
    #[must_use]
    pub const fn min_rto(&self) -> Duration {
        self.min_rto
    }

    /// Smoothed RTT; `None` before the first sample.
    #[must_use]
    pub fn smoothed(&self) -> Option<Duration> {
        self.smoothed.map(Duration::from_nanos)
    }

    /// Minimum RTT of the last five minutes; `None` before the first sample.
    #[must_use]
    pub fn min(&self) -> Option<Duration> {
        self.minima.front().map(|(_, rtt)| *rtt)
    }
}

/// Maximum number of candidates; Linux keeps three.
const MAX_MINIMA: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn estimator() -> TcpRtt {
        TcpRtt::new(ms(200), ms(1000))
    }

    /// First sample 100 ms: SRTT 100, RTTVAR 50, 4 · RTTVAR = 200: RTO 300 ms.
    #[test]
    fn the_first_sample_sets_both() {
        let mut rtt = estimator();
        assert_eq!((rtt.rto(), rtt.smoothed()), (ms(1000), None));
        rtt.on_sample(ms(100), 1, 100);
        assert_eq!((rtt.smoothed(), rtt.rto()), (Some(ms(100)), ms(300)));
    }

    /// 4 · RTTVAR of 20 ms would be 40 ms; Linux takes 200 ms instead: RTO = SRTT + 200 ms.
    #[test]
    fn the_floor_is_added_to_the_smoothed_rtt() {
        let mut rtt = estimator();
        rtt.on_sample(ms(20), 1, 100);
        assert_eq!(rtt.rto(), ms(220));
        for round in 0..50 {
            rtt.on_sample(ms(20), round * 100 + 101, round * 100 + 200);
        }
        assert_eq!(rtt.rto(), ms(220));
    }

    /// SRTT 100 ms, sample 180 ms: SRTT = 100 + 80/8 = 110 ms; deviation (times 4): 200 + 80 - 50 = 230 ms.
    #[test]
    fn a_rising_rtt_counts_at_once() {
        let mut rtt = estimator();
        rtt.on_sample(ms(100), 1, 1000);
        rtt.on_sample(ms(180), 2, 1000);
        assert_eq!((rtt.smoothed(), rtt.rto()), (Some(ms(110)), ms(110 + 230)));
    }

    /// SRTT 400 ms, sample 0.001 ms: the deviation (times 4) of 800 rises by (400 - 200)/8 = 25 ms only.
    #[test]
    fn a_falling_rtt_raises_the_timeout_slowly() {
        let mut rtt = estimator();
        rtt.on_sample(ms(400), 1, 1000);
        rtt.on_sample(Duration::from_nanos(1), 2, 1000);
        let expected = 350 * MS + 825 * MS;
        assert!(rtt.rto().as_nanos().abs_diff(expected) < 10, "{}", rtt.rto());
    }

    #[test]
    fn the_timeout_doubles_up_to_its_limit_and_returns_with_a_sample() {
        let mut rtt = estimator();
        rtt.on_sample(ms(100), 1, 100);
        rtt.back_off();
        assert_eq!(rtt.rto(), ms(600));
        (0..20).for_each(|_| rtt.back_off());
        assert_eq!(rtt.rto(), MAX_RTO);
        rtt.on_sample(ms(100), 2, 100);
        assert!(rtt.rto() < ms(301));
    }

    /// Handshake 30 ms: RTO 230 ms. Known are 50 ms: 50 + max(100, 200) = 250 ms; 150 ms: 150 + 300 = 450 ms;
    /// 30 ms are no longer than the handshake. The next sample sets the timeout as without a known RTT.
    #[test]
    fn a_known_rtt_makes_the_first_timeout_only() {
        let after = |known: u64| {
            let mut rtt = estimator();
            rtt.on_sample(ms(30), 1, 1);
            rtt.expect(ms(known));
            let first = rtt.rto();
            rtt.on_sample(ms(30), 100, 200);
            (first, rtt.rto(), rtt.smoothed())
        };
        for (known, first) in [(50, 250), (150, 450), (30, 230), (10, 230)] {
            assert_eq!(after(known), (ms(first), ms(230), Some(ms(30))), "{known} ms");
        }
        // the SYN-ACK was retransmitted: there is no sample, and the RTO would be one second
        let mut rtt = estimator();
        rtt.expect(ms(30));
        assert_eq!((rtt.rto(), rtt.smoothed()), (ms(230), None));
    }

    #[test]
    fn a_backoff_lasts_until_the_next_sample() {
        let mut rtt = estimator();
        rtt.on_sample(ms(100), 1, 100);
        assert!(!rtt.is_backed_off());
        rtt.back_off();
        assert!(rtt.is_backed_off());
        rtt.on_sample(ms(100), 2, 100);
        assert!(!rtt.is_backed_off());
    }

    #[test]
    fn the_smallest_rtt_is_forgotten_after_five_minutes() {
        let mut rtt = estimator();
        let at = |seconds: u64| Time::ZERO + Duration::from_secs(seconds);
        rtt.on_min_sample(at(0), ms(10));
        rtt.on_min_sample(at(100), ms(30));
        rtt.on_min_sample(at(200), ms(20));
        assert_eq!(rtt.min(), Some(ms(10)));
        rtt.on_min_sample(at(301), ms(40));
        assert_eq!(rtt.min(), Some(ms(20)));
        rtt.on_min_sample(at(302), ms(5));
        assert_eq!(rtt.min(), Some(ms(5)));
    }
}
