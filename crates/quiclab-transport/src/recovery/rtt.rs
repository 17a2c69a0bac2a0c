//! RTT of a QUIC path (RFC 9002 section 5).
//!
//! | Aspect | Here | RFC 9002 |
//! | --- | --- | --- |
//! | unit | nanoseconds, each division rounds down | not specified |
//! | ACK delay in Initial packets | the caller passes 0 | section 5.3: "MAY ignore" |
//! | limit on the ACK delay | the caller passes it once the handshake is confirmed | section 5.3: max_ack_delay, "SHOULD ignore [it] until the handshake is confirmed" |
//! | persistent congestion | the next sample is the new minimum | section 5.2: "SHOULD set the min_rtt to the newest RTT sample" |
//!
//! With [`RttVariation::FromMinRtt`] it follows aioquic 0.9.25 (`quic/recovery.py`, `on_ack_received` and
//! `get_probe_timeout`):
//!
//! | Aspect | RFC 9002 | aioquic |
//! | --- | --- | --- |
//! | rttvar | mean of abs(smoothed - adjusted) | mean of abs(min - adjusted), which grows with a standing queue |
//! | a sample below 1 ms | as it is | counts as 1 ms, except for the first smoothed RTT and rttvar |
//! | the ACK delay is subtracted | if at least min_rtt is left | if more than min_rtt is left |
//! | latest | the sample | the adjusted one: time thresholds are multiples of it |

use quiclab_core::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// kGranularity (RFC 9002 section 6.1.2).
pub const GRANULARITY: Duration = Duration::from_millis(1);
/// RTT of satellites, from which the variation has no floor (picoquic_internal.h `PICOQUIC_TARGET_SATELLITE_RTT`).
const SATELLITE_RTT: Duration = Duration::from_millis(610);

/// Quantity whose mean is the RTT variation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("x-value-aliases" = {"from_minimum": "from_min_rtt"}))]
pub enum RttVariation {
    /// |smoothed - adjusted sample| (RFC 9002 section 5.3).
    #[serde(rename = "rfc9002")]
    Rfc9002,
    /// |smallest - sample| (aioquic): a standing queue makes it large.
    FromMinRtt,
    /// As `rfc9002`, of samples from which the peer's delay is always subtracted, and at least a quarter of the smallest
    /// RTT where that is below 610 ms (picoquic).
    QuarterMinRtt,
}

/// Estimates of the RTT from samples.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    /// Estimates; `None` before the first sample.
    sampled: Option<Sampled>,
    /// RTT assumed before the first sample.
    initial: Duration,
    /// Rules for the variation.
    variation: RttVariation,
    /// Number of variations in a probe timeout, and of initial RTTs in the first one.
    timeout: (u64, u64),
}

#[derive(Clone, Copy, Debug)]
struct Sampled {
    /// Latest sample, as in [`RttEstimator::latest`].
    latest: Duration,
    /// Minimum RTT; `None` after persistent congestion, until the next sample.
    min: Option<Duration>,
    smoothed: Duration,
    variation: Duration,
    /// Time of the first sample.
    first: Time,
}

impl RttEstimator {
    /// Makes an estimator that assumes `initial` before the first sample: 333 ms in RFC 9002 section 6.2.2.
    #[must_use]
    pub fn new(initial: Duration) -> Self {
        Self { sampled: None, initial, variation: RttVariation::Rfc9002, timeout: (4, 3) }
    }

    /// Sets the rules of `variation`.
    #[must_use]
    pub fn with_variation(self, variation: RttVariation) -> Self {
        Self { variation, ..self }
    }

    /// Sets the number of variations of the RTT in a probe timeout (RFC 9002 section 6.2.1: 4), and a timeout
    /// of `initial` initial RTTs before the first sample (RFC 9002: 3, as the variation is half of it then).
    #[must_use]
    pub fn with_timeout(self, variations: u32, initial: u32) -> Self {
        Self { timeout: (u64::from(variations), u64::from(initial)), ..self }
    }

    /// Adds a sample: `latest` from sending to acknowledgement, of which the peer reports a delay of
    /// `ack_delay`, limited to `max_ack_delay` (`None`: not limited yet). Only acknowledgements that newly
    /// acknowledge their largest packet, and an ack-eliciting one, give a sample (section 5.1). Returns the
    /// sample for congestion control: `latest`, in picoquic less the delay; `None` if nothing remains.
    pub fn on_sample(
        &mut self,
        now: Time,
        latest: Duration,
        ack_delay: Duration,
        max_ack_delay: Option<Duration>,
    ) -> Option<Duration> {
        let from_min_rtt = self.variation == RttVariation::FromMinRtt;
        let from_delay = self.variation == RttVariation::QuarterMinRtt;
        if from_delay && latest <= ack_delay {
            return None; // `rtt_estimate > 0`
        }
        let (latest, ack_delay) =
            if from_delay { (latest.saturating_sub(ack_delay), Duration::ZERO) } else { (latest, ack_delay) };
        // aioquic: "RTT estimate, which cannot be < 1 ms"
        let sample = if from_min_rtt { latest.max(GRANULARITY) } else { latest };
        let Some(sampled) = &mut self.sampled else {
            let (min, variation) = (Some(sample), latest / 2);
            self.sampled = Some(Sampled { latest: sample, min, smoothed: latest, variation, first: now });
            return Some(latest);
        };
        // the minimum is of unadjusted samples: the delay reported by the peer does not make it smaller
        // (section 5.2)
        let min = sampled.min.map_or(sample, |min| min.min(sample));
        sampled.min = Some(min);
        let delay = max_ack_delay.map_or(ack_delay, |max| ack_delay.min(max));
        // "MUST NOT subtract [...] if the resulting value is smaller than the min_rtt" (section 5.3)
        let subtract = if from_min_rtt { sample > min + delay } else { sample >= min + delay };
        let adjusted = if subtract { sample.saturating_sub(delay) } else { sample };
        let mean = if from_min_rtt { min } else { sampled.smoothed };
        let (low, high) = (mean.min(adjusted), mean.max(adjusted));
        sampled.latest = if from_min_rtt { adjusted } else { latest };
        sampled.variation = (sampled.variation * 3 + (high - low)) / 4;
        if from_delay && min < SATELLITE_RTT {
            sampled.variation = sampled.variation.max(min / 4); // picoquic_update_path_rtt
        }
        sampled.smoothed = (sampled.smoothed * 7 + adjusted) / 8;
        Some(latest)
    }

    /// Handles persistent congestion: the path may have changed (section 5.2).
    pub fn on_persistent_congestion(&mut self) {
        if let Some(sampled) = &mut self.sampled {
            sampled.min = None;
        }
    }

    /// Handles a change of the path of acknowledgements: the next sample is the new minimum
    /// (draft-ietf-quic-multipath-21 section 5.4).
    pub fn on_another_way_back(&mut self) {
        self.on_persistent_congestion();
    }

    /// Latest sample, in aioquic less the ACK delay; `None` before the first.
    #[must_use]
    pub fn latest(&self) -> Option<Duration> {
        self.sampled.map(|sampled| sampled.latest)
    }

    /// Minimum of the samples; `None` before the first, and after persistent congestion before the next.
    #[must_use]
    pub fn min(&self) -> Option<Duration> {
        self.sampled?.min
    }

    /// Smoothed RTT; `None` before the first sample.
    #[must_use]
    pub fn smoothed(&self) -> Option<Duration> {
        self.sampled.map(|sampled| sampled.smoothed)
    }

    /// Smoothed RTT, or the initial one.
    #[must_use]
    pub fn smoothed_or_initial(&self) -> Duration {
        self.smoothed().unwrap_or(self.initial)
    }

    /// Mean deviation (rttvar), half of the initial RTT before the first sample.
    #[must_use]
    pub fn variation(&self) -> Duration {
        self.sampled.map_or(self.initial / 2, |sampled| sampled.variation)
    }

    /// Time of the first sample.
    #[must_use]
    pub fn first_sample(&self) -> Option<Time> {
        self.sampled.map(|sampled| sampled.first)
    }

    /// max(smoothed, latest), of which time thresholds are multiples (section 6.1.2).
    #[must_use]
    pub fn conservative(&self) -> Duration {
        self.sampled.map_or(self.initial, |sampled| sampled.smoothed.max(sampled.latest))
    }

    /// PTO base, smoothed + max(4 rttvar, granularity), without ACK delay and backoff (section 6.2.1).
    #[must_use]
    pub fn pto_base(&self) -> Duration {
        let (variations, initial) = self.timeout;
        match self.sampled {
            None => self.initial * initial,
            Some(sampled) => sampled.smoothed + (sampled.variation * variations).max(GRANULARITY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn sampled(first: u64) -> RttEstimator {
        let mut rtt = RttEstimator::new(ms(333));
        rtt.on_sample(Time::from_nanos(7), ms(first), ms(20), Some(ms(25)));
        rtt
    }

    /// Section 6.2.2: 333 ms, and rttvar is half of it: 333 + 4 x 166.5 = 999 ms.
    #[test]
    fn before_a_sample_the_initial_rtt_stands() {
        let rtt = RttEstimator::new(ms(333));
        assert_eq!((rtt.latest(), rtt.min(), rtt.smoothed(), rtt.first_sample()), (None, None, None, None));
        assert_eq!((rtt.smoothed_or_initial(), rtt.conservative()), (ms(333), ms(333)));
        assert_eq!(rtt.pto_base(), ms(999));
    }

    /// Section 5.3: smoothed_rtt = latest_rtt, rttvar = latest_rtt / 2; the ACK delay does not count.
    #[test]
    fn the_first_sample_is_taken_as_it_is() {
        let rtt = sampled(100);
        assert_eq!((rtt.latest(), rtt.min(), rtt.smoothed()), (Some(ms(100)), Some(ms(100)), Some(ms(100))));
        assert_eq!((rtt.variation(), rtt.pto_base()), (ms(50), ms(300)));
        assert_eq!(rtt.first_sample(), Some(Time::from_nanos(7)));
    }

    /// 140 ms less 24 ms: rttvar = (3 x 50 + 16) / 4 = 41.5, smoothed = (7 x 100 + 116) / 8 = 102 ms.
    #[test]
    fn the_ack_delay_is_subtracted() {
        let mut rtt = sampled(100);
        rtt.on_sample(Time::ZERO, ms(140), ms(24), Some(ms(25)));
        assert_eq!((rtt.smoothed(), rtt.variation()), (Some(ms(102)), Duration::from_micros(41_500)));
        assert_eq!((rtt.latest(), rtt.min(), rtt.conservative()), (Some(ms(140)), Some(ms(100)), ms(140)));
    }

    /// Of 40 ms only 16 count: as 124 ms, (700 + 124) / 8 = 103 ms. Not limited: 100 ms.
    #[test]
    fn the_ack_delay_is_limited() {
        let mut rtt = sampled(100);
        rtt.on_sample(Time::ZERO, ms(140), ms(40), Some(ms(16)));
        assert_eq!(rtt.smoothed(), Some(ms(103)));
        let mut rtt = sampled(100);
        rtt.on_sample(Time::ZERO, ms(140), ms(40), None);
        assert_eq!(rtt.smoothed(), Some(ms(100)));
    }

    /// 108 - 10 < 100: not subtracted; (700 + 108) / 8 = 101 ms. A sample of 60 ms is a new minimum, and
    /// 60 - 10 is smaller than it: (707 + 60) / 8 = 95.875 ms.
    #[test]
    fn the_adjusted_sample_is_never_below_the_minimum() {
        let mut rtt = sampled(100);
        rtt.on_sample(Time::ZERO, ms(108), ms(10), Some(ms(25)));
        assert_eq!(rtt.smoothed(), Some(ms(101)));
        rtt.on_sample(Time::ZERO, ms(60), ms(10), Some(ms(25)));
        assert_eq!((rtt.min(), rtt.smoothed()), (Some(ms(60)), Some(Duration::from_micros(95_875))));
    }

    #[test]
    fn after_persistent_congestion_the_next_sample_is_the_minimum() {
        let mut rtt = sampled(100);
        rtt.on_persistent_congestion();
        assert_eq!(rtt.min(), None);
        rtt.on_sample(Time::ZERO, ms(400), ms(0), Some(ms(25)));
        rtt.on_sample(Time::ZERO, ms(410), ms(0), Some(ms(25)));
        assert_eq!(rtt.min(), Some(ms(400)));
    }

    #[test]
    fn a_quarter_of_the_smallest_rtt_is_the_least_variation_below_that_of_satellites() {
        for (millis, variation) in [(40, ms(10)), (600, ms(150)), (610, Duration::ZERO)] {
            let mut rtt = RttEstimator::new(ms(100)).with_variation(RttVariation::QuarterMinRtt);
            for _ in 0..200 {
                rtt.on_sample(Time::ZERO, ms(millis), Duration::ZERO, None);
            }
            assert_eq!(rtt.variation().as_nanos() / 1000, variation.as_nanos() / 1000, "{millis} ms");
        }
    }

    #[test]
    fn the_delay_is_always_subtracted_for_picoquic_and_what_leaves_nothing_is_no_sample() {
        let mut rtt = RttEstimator::new(ms(100)).with_variation(RttVariation::QuarterMinRtt);
        assert_eq!(rtt.on_sample(Time::ZERO, ms(60), ms(8), Some(ms(1))), Some(ms(52)));
        assert_eq!((rtt.min(), rtt.smoothed()), (Some(ms(52)), Some(ms(52))));
        assert_eq!(rtt.on_sample(Time::ZERO, ms(8), ms(8), None), None);
        assert_eq!((rtt.min(), rtt.latest()), (Some(ms(52)), Some(ms(52))));
    }

    fn from_min_rtt(first: u64) -> RttEstimator {
        let mut rtt = RttEstimator::new(ms(100)).with_variation(RttVariation::FromMinRtt);
        rtt.on_sample(Time::ZERO, ms(first), ms(20), Some(ms(25)));
        rtt
    }

    /// A queue of 60 ms over 100 ms: rttvar = (3 x 50 + 60) / 4 = 52.5, then (3 x 52.5 + 60) / 4 = 54.375,
    /// towards 60. By RFC 9002 it decreases towards 0, as the smoothed RTT approaches 160 ms.
    #[test]
    fn a_standing_queue_is_variation_from_the_minimum() {
        let mut rtt = from_min_rtt(100);
        let mut rfc = sampled(100);
        for variation_us in [52_500, 54_375] {
            rtt.on_sample(Time::ZERO, ms(160), ms(0), Some(ms(25)));
            assert_eq!(rtt.variation(), Duration::from_micros(variation_us));
        }
        // (700 + 160) / 8 = 107.5; (752.5 + 160) / 8 = 114.0625
        assert_eq!(rtt.smoothed(), Some(Duration::from_nanos(114_062_500)));
        for _ in 0..100 {
            rtt.on_sample(Time::ZERO, ms(160), ms(0), Some(ms(25)));
            rfc.on_sample(Time::ZERO, ms(160), ms(0), Some(ms(25)));
        }
        assert!(rtt.pto_base() > ms(160 + 4 * 59), "{}", rtt.pto_base());
        assert!(rfc.pto_base() < ms(165), "{}", rfc.pto_base());
    }

    /// 140 less 24 ms are 116: rttvar = (150 + 16) / 4 = 41.5, smoothed = (700 + 116) / 8 = 102 ms, and the time
    /// threshold is of 116 ms. 110 less 10 would be the minimum itself: not subtracted, (714 + 110) / 8 = 103 ms.
    #[test]
    fn aioquic_adjusts_the_latest_sample_and_leaves_more_than_the_minimum() {
        let mut rtt = from_min_rtt(100);
        rtt.on_sample(Time::ZERO, ms(140), ms(24), Some(ms(25)));
        assert_eq!((rtt.smoothed(), rtt.variation()), (Some(ms(102)), Duration::from_micros(41_500)));
        assert_eq!((rtt.latest(), rtt.min(), rtt.conservative()), (Some(ms(116)), Some(ms(100)), ms(116)));
        rtt.on_sample(Time::ZERO, ms(110), ms(10), Some(ms(25)));
        assert_eq!((rtt.latest(), rtt.smoothed()), (Some(ms(110)), Some(ms(103))));
    }

    /// 0.4 ms at first: smoothed 0.4, rttvar 0.2, but the minimum is 1 ms. The next 0.4 ms count as 1:
    /// rttvar = (3 x 0.2 + 0) / 4 = 0.15, smoothed = (7 x 0.4 + 1) / 8 = 0.475 ms.
    #[test]
    fn aioquic_takes_no_sample_below_a_millisecond() {
        let us = Duration::from_micros;
        let mut rtt = RttEstimator::new(ms(100)).with_variation(RttVariation::FromMinRtt);
        rtt.on_sample(Time::ZERO, us(400), ms(0), Some(ms(25)));
        assert_eq!((rtt.smoothed(), rtt.variation(), rtt.min()), (Some(us(400)), us(200), Some(ms(1))));
        rtt.on_sample(Time::ZERO, us(400), ms(0), Some(ms(25)));
        assert_eq!((rtt.smoothed(), rtt.variation(), rtt.latest()), (Some(us(475)), us(150), Some(ms(1))));
    }

    /// `2 * self._rtt_initial`: 200 ms. With the first sample of 100 ms: 100 + 4 x 50 ms.
    #[test]
    fn aioquic_waits_two_initial_rtts_before_a_sample() {
        let rtt = RttEstimator::new(ms(100)).with_variation(RttVariation::FromMinRtt).with_timeout(4, 2);
        assert_eq!((rtt.pto_base(), rtt.conservative()), (ms(200), ms(100)));
        assert_eq!(from_min_rtt(100).pto_base(), ms(300));
    }

    proptest! {
        /// The smoothed RTT is a mean: it is between the minimum and the maximum sample.
        #[test]
        fn the_smoothed_rtt_stays_within_the_samples(
            samples in prop::collection::vec((1_000_000u64..1_000_000_000, 0u64..100_000_000), 1..50),
        ) {
            let mut rtt = RttEstimator::new(ms(333));
            for (latest, delay) in &samples {
                let (latest, delay) = (Duration::from_nanos(*latest), Duration::from_nanos(*delay));
                rtt.on_sample(Time::ZERO, latest, delay, Some(ms(25)));
            }
            let min = samples.iter().map(|(latest, _)| *latest).min().unwrap();
            let max = samples.iter().map(|(latest, _)| *latest).max().unwrap();
            let smoothed = rtt.smoothed().unwrap().as_nanos();
            prop_assert_eq!(rtt.min(), Some(Duration::from_nanos(min)));
            prop_assert!((min..=max).contains(&smoothed));
            prop_assert!(rtt.variation().as_nanos() <= max);
        }
    }
}
