//! Departure times as computed by Linux TCP: `tcp_update_pacing_rate` and `tcp_update_skb_after_send`.
//!
//! Each piece of data departs at max(now, previous departure + its time at the pacing rate). One that is late
//! has credit: its lateness shortens the wait after it, by at most half of that wait.
//!
//! | Aspect | Here | Linux |
//! | --- | --- | --- |
//! | rate | bit/s, rounded down; waits rounded up to 1 ns | bytes/s, rounded down; waits rounded down |
//! | window | the window, or the outstanding bytes if they are more, for the rate; the window against ssthresh | the same (`packets_out`) |
//! | length | as given: payload, to be exact | `skb->len` of the queued skb: payload, no headers (the rate counts `mss_cache`, payload, too) |
//! | first ten segments | not paced, regardless of the congestion control | the same, since 4.20: `data_segs_out >= 10` |

use super::PacingInput;
use super::rate::Factor;
use quiclab_core::{ByteCount, DataRate, Duration, Time};

/// Number of segments that are not paced (`tp->data_segs_out >= 10`: "Original sch_fq does not pace first 10
/// MSS").
const UNPACED_SEGMENTS: u32 = 10;

/// `sk_pacing_rate`: 200 % of cwnd / srtt (`tcp_pacing_ss_ratio`) while cwnd < ssthresh / 2, 120 %
/// (`tcp_pacing_ca_ratio`) after that, or the rate that the congestion control requests; at most `max_rate`
/// (`SO_MAX_PACING_RATE`), which also applies before the first RTT sample.
pub(crate) fn rate(input: &PacingInput, max_rate: Option<DataRate>) -> Option<DataRate> {
    let mss = input.mss.max(1);
    let packets = input.window / mss;
    // in packets, as in Linux: ssthresh / 2 is rounded down
    let slow_start = input.ssthresh.is_none_or(|ssthresh| packets < ssthresh / mss / 2);
    let rate = Factor::new(if slow_start { 2.0 } else { 1.2 }).rate(input);
    match (rate, max_rate) {
        (Some(rate), Some(max)) => Some(rate.min(max)),
        (rate, max) => rate.or(max),
    }
}

/// Departure of one piece of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DepartureTime {
    /// Time of departure.
    pub(crate) at: Time,
    /// Lateness of the departure.
    pub(crate) credit: Duration,
}

/// `tcp_wstamp_ns` and its inputs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DepartureClock {
    /// Earliest next departure.
    next: Time,
    /// Number of segments sent, counted up to [`UNPACED_SEGMENTS`].
    segments: u32,
    /// Size of a full segment in bytes.
    mss: u64,
    /// Rate; `None` or 0: not paced.
    pub(crate) rate: Option<DataRate>,
}

impl DepartureClock {
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Departure of data that are handed over now.
    pub(crate) fn stamp(&self, now: Time) -> DepartureTime {
        DepartureTime { at: self.next.max(now), credit: now.since(self.next) }
    }

    /// Updates rate and segment size.
    pub(crate) fn update(&mut self, input: &PacingInput, max_rate: Option<DataRate>) {
        self.rate = rate(input, max_rate);
        self.mss = input.mss.max(1);
    }

    /// Charges `new` bytes, sent with a piece of data that departs at `stamp` and has `bytes` so far.
    pub(crate) fn charge(&mut self, stamp: DepartureTime, bytes: u64, new: u64) {
        if self.segments < UNPACED_SEGMENTS {
            let segments = u32::try_from(new.div_ceil(self.mss.max(1)).max(1)).unwrap_or(u32::MAX);
            self.segments = self.segments.saturating_add(segments).min(UNPACED_SEGMENTS);
        }
        self.next = stamp.at;
        let Some(rate) = self.rate.filter(|rate| rate.bits_per_second() > 0) else { return };
        if self.segments == UNPACED_SEGMENTS {
            let length = rate.time_for(ByteCount::from_bytes(bytes));
            self.next = stamp.at + length.saturating_sub(stamp.credit.min(length / 2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacing::testing::{MSS, input, ms};

    /// cwnd of 10 packets in 100 ms: 960 kbit/s.
    #[test]
    fn rate_is_200_percent_below_half_the_threshold_and_120_percent_above() {
        let bits = |ssthresh| {
            let input = PacingInput { ssthresh, ..input(10 * MSS, 100) };
            rate(&input, None).unwrap().bits_per_second()
        };
        assert_eq!(bits(None), 1_920_000);
        assert_eq!(bits(Some(22 * MSS)), 1_920_000); // 10 < 11
        assert_eq!(bits(Some(21 * MSS)), 1_152_000); // 21 / 2 = 10, and 10 < 10 is false
        assert_eq!(bits(Some(MSS)), 1_152_000);
    }

    /// In a recovery whose window has fallen to 3 packets, with 10 outstanding, the rate is 200 % of those 10.
    #[test]
    fn outstanding_packets_count_for_the_rate_not_for_slow_start() {
        let recovering =
            PacingInput { outstanding: 10 * MSS, ssthresh: Some(8 * MSS), ..input(3 * MSS, 100) };
        assert_eq!(rate(&recovering, None).unwrap().bits_per_second(), 1_920_000);
        let over = PacingInput { ssthresh: Some(6 * MSS), ..recovering };
        assert_eq!(rate(&over, None).unwrap().bits_per_second(), 1_152_000);
    }

    #[test]
    fn the_largest_rate_limits_and_holds_before_the_first_sample() {
        let max = Some(DataRate::from_mbps(1));
        assert_eq!(rate(&input(12_000, 100), max), max);
        let unknown = PacingInput { srtt: None, ..input(12_000, 100) };
        assert_eq!(rate(&unknown, max), max);
        assert_eq!(rate(&unknown, None), None);
        let slower = PacingInput { rate: Some(DataRate::from_bits_per_second(9600)), ..unknown };
        assert_eq!(rate(&slower, max), slower.rate);
    }

    fn running() -> DepartureClock {
        // 1.2 Mbit/s: 1200 bytes take 8 ms
        let rate = Some(DataRate::from_bits_per_second(1_200_000));
        DepartureClock { next: ms(100), segments: UNPACED_SEGMENTS, mss: MSS, rate }
    }

    #[test]
    fn on_time_the_next_departure_is_a_length_later() {
        let mut departures = running();
        departures.charge(departures.stamp(ms(100)), MSS, MSS);
        assert_eq!(departures.next(), ms(108));
    }

    /// 3 ms late: the wait of 8 ms becomes 5 ms. 50 ms late: half of it remains.
    #[test]
    fn lateness_is_forgiven_up_to_half_a_length() {
        let mut departures = running();
        departures.charge(departures.stamp(ms(103)), MSS, MSS);
        assert_eq!(departures.next(), ms(108));
        let mut departures = running();
        departures.charge(departures.stamp(ms(150)), MSS, MSS);
        assert_eq!(departures.next(), ms(154));
    }

    #[test]
    fn what_is_handed_over_early_departs_on_time() {
        let mut departures = running();
        let stamp = departures.stamp(ms(40));
        assert_eq!(stamp, DepartureTime { at: ms(100), credit: Duration::ZERO });
        departures.charge(stamp, MSS, MSS);
        assert_eq!(departures.next(), ms(108));
    }

    #[test]
    fn ten_segments_depart_at_once_and_the_tenth_is_charged() {
        let mut departures = DepartureClock { segments: 0, next: Time::ZERO, ..running() };
        for _ in 0..9 {
            departures.charge(departures.stamp(Time::ZERO), MSS, MSS);
            assert_eq!(departures.next(), Time::ZERO);
        }
        departures.charge(departures.stamp(Time::ZERO), MSS, MSS);
        assert_eq!(departures.next(), ms(8));
    }
}
