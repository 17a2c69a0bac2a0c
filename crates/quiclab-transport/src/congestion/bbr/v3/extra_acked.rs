//! Aggregation: bytes acknowledged in excess of the bandwidth (section 5.5.9).

use super::super::bytes_in;
use super::super::filter::{Extremum, WindowedFilter};
use quiclab_core::Time;

/// `BBR.ExtraAckedFilterLen` in rounds.
const EXTRA_ACKED_FILTER_LEN: u64 = 10;

/// `BBR.extra_acked`.
#[derive(Clone, Debug)]
pub(super) struct ExtraAcked {
    interval_start: Time,
    /// Bytes acknowledged since the start of the interval.
    delivered: u64,
    filter: WindowedFilter,
}

/// Fields of an acknowledgement that aggregation needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledged {
    pub(super) now: Time,
    pub(super) bytes: u64,
    /// `BBR.bw` in byte/s.
    pub(super) bw: u64,
    pub(super) cwnd: u64,
    pub(super) round: u64,
    pub(super) full_bw_reached: bool,
}

impl ExtraAcked {
    /// Makes an estimator without a sample.
    pub(super) fn new() -> Self {
        let filter = WindowedFilter::new(Extremum::Max, 1, 0);
        Self { interval_start: Time::ZERO, delivered: 0, filter }
    }

    /// Bytes of the window that cover the silence between acknowledgements.
    pub(super) fn bytes(&self) -> u64 {
        self.filter.get()
    }

    /// Restarts the interval: sending resumes after a pause.
    pub(super) fn restart(&mut self, now: Time) {
        self.interval_start = now;
    }

    /// `UpdateACKAggregation`: an interval ends when the bytes acknowledged do not exceed those that the
    /// bandwidth delivers. In Startup, the maximum is that of one round.
    pub(super) fn update(&mut self, ack: &Acknowledged) {
        let mut expected = bytes_in(ack.bw, ack.now.since(self.interval_start));
        if self.delivered <= expected {
            (self.delivered, self.interval_start, expected) = (0, ack.now, 0);
        }
        self.delivered += ack.bytes;
        let extra = self.delivered.saturating_sub(expected).min(ack.cwnd);
        self.filter.set_window(if ack.full_bw_reached { EXTRA_ACKED_FILTER_LEN } else { 1 });
        self.filter.update(ack.round, extra);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ms as at;

    /// 1 MB/s: 1000 bytes in a millisecond.
    fn ack(now: Time, bytes: u64, round: u64) -> Acknowledged {
        Acknowledged { now, bytes, bw: 1_000_000, cwnd: 50_000, round, full_bw_reached: true }
    }

    #[test]
    fn what_arrives_beyond_the_bandwidth_is_extra() {
        let mut extra = ExtraAcked::new();
        extra.update(&ack(at(100), 20_000, 1));
        assert_eq!(extra.bytes(), 20_000, "an interval begins");
        extra.update(&ack(at(110), 20_000, 1));
        assert_eq!(extra.bytes(), 30_000, "40 kB, of which 10 kB are due");
        extra.update(&ack(at(110), 100_000, 1));
        assert_eq!(extra.bytes(), 50_000, "not more than the window");
    }

    #[test]
    fn the_maximum_lasts_ten_rounds_and_one_in_startup() {
        let mut extra = ExtraAcked::new();
        extra.update(&ack(at(100), 20_000, 1));
        extra.update(&ack(at(1000), 5000, 11));
        assert_eq!(extra.bytes(), 20_000);
        extra.update(&ack(at(2000), 5000, 12));
        assert_eq!(extra.bytes(), 5000);
        extra.update(&Acknowledged { full_bw_reached: false, ..ack(at(3000), 1000, 14) });
        assert_eq!(extra.bytes(), 1000);
    }

    /// 20 kB at 100 ms would be used up at 120 ms; the pause makes the interval shorter.
    #[test]
    fn a_pause_is_not_counted_as_time_to_deliver() {
        let mut extra = ExtraAcked::new();
        extra.update(&ack(at(100), 20_000, 1));
        extra.restart(at(200));
        extra.update(&ack(at(201), 5000, 2));
        assert_eq!(extra.bytes(), 24_000, "25 kB, of which 1 kB is due");
    }
}
