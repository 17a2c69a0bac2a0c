//! Delivery rate of a path, as far as packets have shown it.
//!
//! The delivery rate (draft-cheng-iccrg-delivery-rate-estimation) of a path that is not filled is the rate of
//! the sender, even if the sender's window is full: in slow start a full window is half of the next one.
//! While a sender that uses its window has packets in a queue, the rate is its share of the bottleneck. A
//! tunnel that divides a flow among paths needs the second, and also for controls whose window is never full,
//! such as BBR.
//!
//! | question | answer |
//! | --- | --- |
//! | is there a queue? | if RTTs exceed the smallest one by an eighth, at least 4 ms and at most 16 ms, as in HyStart++ for the smallest RTT of a round (RFC 9406 section 4.3); here each batch of acknowledgements during the flight of a packet must show it |
//! | is the window used? | if a quarter of it is in flight: in slow start it may be twice the most that was in flight, of which half may be in flight at a moment; always where the control has a rate of its own (BBR), whose window is not meant to be full |
//! | which samples count? | those with a queue and a used window; those of a full window after slow start, which are as valid where no queue forms, as behind a policer; others only if they exceed the known rate |
//! | a packet acknowledged alone | shows no queue: it may have waited for the peer's `max_ack_delay` |
//! | nothing in flight | no queue is known any more |
//! | a rate in the past | counts for ten round trips from the next sample that counts, the filter of BBRv1; without one, however long the path is unused |
//!
//! If others share the bottleneck, the rate is the share of this path.

use quiclab_core::{DataRate, Duration, Time};
use quiclab_stacks::lab_controller::DeliverySample;
use quiclab_transport::congestion::bbr::filter::{Extremum, WindowedFilter};

/// Number of smoothed round trips for which a rate counts.
const ROUND_TRIPS: u64 = 10;

/// Excess of an RTT over the smallest one from which on there is a queue.
fn queue_delay(min_rtt: Duration) -> Duration {
    (min_rtt / 8).clamp(Duration::from_millis(4), Duration::from_millis(16))
}

/// Load of a path after an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) min_rtt: Option<Duration>,
    /// Bytes in flight.
    pub(super) in_flight: u64,
    /// Congestion window in bytes; `None` of a control with a rate of its own, which does not fill its window.
    pub(super) window: Option<u64>,
    /// Whether the window was the limit, after slow start.
    pub(super) is_full: bool,
}

/// Estimate of a path's rate.
#[derive(Debug)]
pub(super) struct PathRate {
    /// Largest rate that counts, in bit/s, over ns; 0 before there is one.
    fastest: WindowedFilter,
    /// Time since which each RTT has shown a queue; `None`: the last one has not, or nothing is in flight.
    queued_since: Option<Time>,
}

impl Default for PathRate {
    fn default() -> Self {
        Self { fastest: WindowedFilter::new(Extremum::Max, 0, 0), queued_since: None }
    }
}

impl PathRate {
    /// Rate of the path; `None` before a queue has shown it.
    pub(super) fn get(&self) -> Option<DataRate> {
        Some(self.fastest.get()).filter(|bits| *bits > 0).map(DataRate::from_bits_per_second)
    }

    /// Processes an acknowledgement at `now`, after which the path has this load.
    pub(super) fn on_sample(&mut self, now: Time, sample: &DeliverySample, path: &Load) {
        let several = sample.packets > 1;
        if let Some((rtt, least)) = sample.rtt.zip(path.min_rtt).filter(|_| several) {
            let queue = rtt.saturating_sub(least) >= queue_delay(least);
            self.queued_since = queue.then(|| self.queued_since.unwrap_or(now));
        }
        let is_used = path.window.is_none_or(|window| 4 * (path.in_flight + sample.bytes) >= window);
        let filled = is_used && self.queued_since.is_some_and(|since| since <= sample.sent);
        self.queued_since = self.queued_since.filter(|_| path.in_flight > 0);
        let known = self.fastest.get();
        let counts = |bits: u64| (several && (filled || path.is_full)) || (known > 0 && bits > known);
        let bits = sample.rate.map(DataRate::bits_per_second).filter(|bits| counts(*bits));
        if let Some((bits, srtt)) = bits.zip(sample.srtt) {
            self.fastest.set_window(ROUND_TRIPS * srtt.as_nanos());
            self.fastest.update(now.as_nanos(), bits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Duration = Duration::from_millis(20);

    struct Path {
        rate: PathRate,
    }

    impl Path {
        /// An ACK at `at` ms of `packets` of 100 bytes that were sent `rtt` ms before, delivered at `mbps`, with as many bytes left in
        /// flight as given, under a window of 20 kB, which is full if all of it is in flight.
        fn ack(&mut self, at: u64, rtt: u64, packets: u32, mbps: u64, in_flight: u64) -> Option<u64> {
            let ms = Duration::from_millis;
            let now = Time::ZERO + ms(at);
            let sample = DeliverySample {
                sent: Time::ZERO + ms(at - rtt),
                packets,
                bytes: 100 * u64::from(packets),
                rtt: Some(ms(rtt)),
                srtt: Some(LEAST),
                rate: Some(DataRate::from_bits_per_second(mbps * 1_000_000)),
            };
            let is_full = in_flight + sample.bytes >= 20_000;
            let load = Load { min_rtt: Some(LEAST), in_flight, window: Some(20_000), is_full };
            self.rate.on_sample(now, &sample, &load);
            self.rate.get().map(|rate| rate.bits_per_second() / 1_000_000)
        }
    }

    fn path() -> Path {
        Path { rate: PathRate::default() }
    }

    /// 20 ms: 4 ms is the threshold. A rate is known when the packets between two indications of a queue are
    /// acknowledged.
    #[test]
    fn a_queue_shows_the_rate() {
        let mut path = path();
        assert_eq!(path.ack(100, 20, 10, 30, 9000), None, "no queue: the rate of the sender");
        assert_eq!(path.ack(120, 23, 10, 40, 9000), None, "less than 4 ms");
        assert_eq!(path.ack(140, 24, 10, 50, 9000), None, "sent before the queue was seen");
        assert_eq!(path.ack(160, 25, 10, 50, 9000), None, "the same");
        assert_eq!(path.ack(166, 26, 10, 50, 9000), Some(50), "sent when it was");
        assert_eq!(path.ack(170, 20, 10, 20, 9000), Some(50), "no queue: less says nothing");
        assert_eq!(path.ack(171, 20, 10, 60, 9000), Some(60), "more does");
    }

    /// A call in competition with other traffic, which fills the queue: its rate is not that of the path.
    #[test]
    fn a_window_that_is_not_used_shows_nothing() {
        let mut path = path();
        for at in [100, 140, 180, 220] {
            assert_eq!(path.ack(at, 30, 10, 1, 3900), None);
        }
        assert_eq!(path.ack(260, 30, 10, 1, 4000), Some(1), "a quarter of the window is in flight");
    }

    /// A policer drops excess packets, and no queue forms. The former rate expires.
    #[test]
    fn a_full_window_shows_the_rate_where_there_is_no_queue() {
        let mut path = path();
        path.ack(100, 40, 10, 100, 9000);
        assert_eq!(path.ack(150, 40, 10, 100, 9000), Some(100));
        assert_eq!(path.ack(1000, 20, 10, 5, 9000), Some(100), "not full");
        assert_eq!(path.ack(1020, 20, 10, 5, 19_000), Some(5));
    }

    #[test]
    fn a_packet_alone_shows_nothing() {
        let mut path = path();
        // each waits 25 ms for its acknowledgement, and nothing else is in flight
        for second in 1..5 {
            assert_eq!(path.ack(1000 * second, 45, 1, 1, 0), None);
        }
        // a burst after a pause: its queue is new
        assert_eq!(path.ack(6000, 20, 2, 3, 10_000), None);
        assert_eq!(path.ack(6010, 30, 100, 3, 0), None);
        assert_eq!(
            path.ack(7000, 30, 2, 3, 10_000),
            None,
            "the earlier queue has gone with the last packet in flight"
        );
        assert_eq!(path.ack(7010, 31, 1, 3, 10_000), None, "alone");
        assert_eq!(path.ack(7040, 40, 2, 3, 10_000), Some(3));
    }

    #[test]
    fn a_rate_is_forgotten_ten_round_trips_later_if_another_is_known() {
        let mut path = path();
        path.ack(100, 40, 10, 50, 9000);
        assert_eq!(path.ack(150, 40, 10, 50, 9000), Some(50));
        assert_eq!(path.ack(5000, 20, 1, 1, 0), Some(50), "not used: as it was");
        path.ack(5100, 40, 10, 10, 9000);
        assert_eq!(path.ack(5150, 40, 10, 10, 9000), Some(10), "long after");
        assert_eq!(path.ack(5160, 40, 10, 50, 9000), Some(50));
        assert_eq!(path.ack(5300, 40, 10, 10, 9000), Some(50), "seven round trips after");
        assert_eq!(path.ack(5400, 40, 10, 10, 9000), Some(10), "twelve");
    }
}
