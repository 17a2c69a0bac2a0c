//! State of a link as known to the sending end of a bearer: what was sent there, and the reports of the link.
//!
//! The state inside the link is not read. Rate and base delay are estimated from reports alone:
//!
//! - **Rate.** If more was buffered at one report than was transmitted until the next, the link was busy throughout,
//!   and its rate is the amount transmitted over that time. Otherwise it may have run dry, and the same quotient since
//!   it became busy, at most over `smoothing`, less one packet for a transmission that may have begun before, is a
//!   lower bound: it counts only if it exceeds the estimate. Of a link that was idle before, everything counts: thus
//!   the one packet of a probe shows that a link is fast again after an outage.
//! - **Base delay**, from the end of the serialisation to the end of the link, by Little's law: the mean number of
//!   bytes in transit over the bytes delivered per time.
//!
//! Both are quotients of sums in which terms of age `smoothing` have decayed by a factor of about e, in integers.

use crate::counters::Count;
use crate::delivery_status::DeliveryStatus;
use crate::time::{Duration, Time};
use crate::units::{ByteCount, DataRate};

/// Minimum estimate: a link that has paused still needs a finite expected arrival.
const MIN_RATE: u64 = 1000;

/// See the module documentation.
#[derive(Clone, Debug)]
pub(super) struct LinkEstimate {
    /// Sent to the link; bytes with the PDCP header.
    pub(super) sent: Count,
    pub(super) reports: u64,
    /// The newest report; before the first one, a report of zeros.
    pub(super) last: DeliveryStatus,
    /// Time of its arrival, and time of the last packet sent; 0 before the first one.
    pub(super) heard: Time,
    pub(super) last_sent: Time,
    /// Time since which packets have been in transit without interruption.
    busy_since: Time,
    /// The report from which a lower bound of the rate is computed.
    dry_since: DeliveryStatus,
    rate: DecayingRatio,
    base_delay: DecayingRatio,
    smoothing: Duration,
}

impl LinkEstimate {
    /// State of a link before its first report.
    pub(super) fn new(start_rate: DataRate, smoothing: Duration) -> Self {
        let start = (start_rate.bytes_in(smoothing).bytes(), smoothing.as_nanos());
        Self {
            sent: Count::default(),
            reports: 0,
            last: DeliveryStatus::default(),
            heard: Time::ZERO,
            last_sent: Time::ZERO,
            busy_since: Time::ZERO,
            dry_since: DeliveryStatus::default(),
            rate: DecayingRatio::new(start),
            base_delay: DecayingRatio::new((0, 0)),
            smoothing,
        }
    }

    /// Handles the sending of a packet of `size`.
    pub(super) fn on_sent(&mut self, now: Time, size: ByteCount) {
        if self.sent.packets == self.last.delivered.packets + self.last.lost.packets {
            self.busy_since = now;
        }
        self.last_sent = now;
        self.sent.add(size);
    }

    /// Handles a report of the link.
    pub(super) fn on_report(&mut self, now: Time, report: &DeliveryStatus) {
        self.heard = now;
        let before = std::mem::replace(&mut self.last, *report);
        self.reports += 1;
        let was_idle = self.busy_since >= before.measured;
        let since = before.measured.max(self.busy_since).as_nanos();
        let elapsed = Duration::from_nanos(report.measured.as_nanos().saturating_sub(since));
        if elapsed == Duration::ZERO {
            return;
        }
        // the estimate has aged since the report before, also while there was nothing to measure
        let age = report.measured.since(before.measured);
        let bytes = report.transmitted.bytes - before.transmitted.bytes;
        let packets = report.transmitted.packets - before.transmitted.packets;
        if before.buffered.bytes() > bytes {
            self.rate.add((bytes, elapsed.as_nanos()), age, self.smoothing);
            self.dry_since = *report;
        } else if packets > 0 {
            // of a link that was idle before, everything counts
            let at_once = if was_idle { per_second(bytes, elapsed) } else { 0 };
            let bound = self.lower_bound(report).max(at_once);
            if bound > self.rate().bits_per_second() {
                let sure = DataRate::from_bits_per_second(bound).bytes_in(elapsed);
                self.rate.add((sure.bytes(), elapsed.as_nanos()), age, self.smoothing);
            }
        }
        let delivered = report.delivered.bytes - before.delivered.bytes;
        let on_the_way = report.transmitted.bytes - report.delivered.bytes;
        let byte_nanos = on_the_way.saturating_mul(elapsed.as_nanos());
        self.base_delay.add((byte_nanos, delivered), age, self.smoothing);
    }

    /// Lower bound of the rate of a link that may have run dry [bit/s]: the amount transmitted since it became busy, or
    /// for `smoothing`, less one packet, whose transmission may have begun before.
    fn lower_bound(&mut self, report: &DeliveryStatus) -> u64 {
        let first = self.dry_since;
        let elapsed = report.measured.since(first.measured);
        if elapsed >= self.smoothing {
            self.dry_since = *report;
        }
        let bytes = report.transmitted.bytes - first.transmitted.bytes;
        let packets = report.transmitted.packets - first.transmitted.packets;
        per_second(bytes - bytes / packets.max(1), elapsed)
    }

    /// Estimated rate, in bytes with the PDCP header.
    pub(super) fn rate(&self) -> DataRate {
        let bits = self.rate.value(8_000_000_000).unwrap_or(0);
        DataRate::from_bits_per_second(bits.max(MIN_RATE))
    }

    /// Estimated delay after serialisation; 0 before the first delivery.
    pub(super) fn base_delay(&self) -> Duration {
        Duration::from_nanos(self.base_delay.value(1).unwrap_or(0))
    }

    /// Bytes sent that were reported neither as transmitted nor as lost.
    pub(super) fn unreported(&self) -> ByteCount {
        ByteCount::from_bytes(self.sent.bytes - self.last.transmitted.bytes - self.last.lost.bytes)
    }
}

fn per_second(bytes: u64, time: Duration) -> u64 {
    let bits = u128::from(bytes) * 8_000_000_000 / u128::from(time.as_nanos());
    u64::try_from(bits).unwrap_or(u64::MAX)
}

/// A quotient of two sums with exponential decay.
#[derive(Clone, Copy, Debug)]
struct DecayingRatio {
    /// Sums in units of 2^-16: decay rounds down.
    numerator: u128,
    denominator: u128,
}

impl DecayingRatio {
    fn new((numerator, denominator): (u64, u64)) -> Self {
        Self { numerator: u128::from(numerator) << 16, denominator: u128::from(denominator) << 16 }
    }

    /// Adds terms to sums that have aged by `age` since the last addition, and decay by a share of `age` in `age +
    /// smoothing`.
    fn add(&mut self, terms: (u64, u64), age: Duration, smoothing: Duration) {
        let (keep, all) = (u128::from(smoothing.as_nanos()), u128::from((smoothing + age).as_nanos()));
        let new = Self::new(terms);
        // below 2^64 x 2^16 each, times less than 2^42 (an hour in ns): no overflow
        self.numerator = self.numerator * keep / all + new.numerator;
        self.denominator = self.denominator * keep / all + new.denominator;
    }

    /// The quotient times `scale`, rounded down; `None` if the denominator is 0.
    fn value(&self, scale: u64) -> Option<u64> {
        // an exact result would need more than 128 bits for the largest numerators
        let scaled = self.numerator.checked_mul(u128::from(scale))?;
        scaled.checked_div(self.denominator).map(|value| u64::try_from(value).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;

    fn count(packets: u64) -> Count {
        Count { packets, bytes: 1000 * packets }
    }

    fn known() -> LinkEstimate {
        LinkEstimate::new(DataRate::from_mbps(10), Duration::from_millis(100))
    }

    /// 1000 packets of 1000 B sent at 0, of which `transmitted` have left and `delivered` arrived.
    fn report(ms: u64, transmitted: u64, delivered: u64) -> DeliveryStatus {
        DeliveryStatus {
            measured: at(ms),
            transmitted: count(transmitted),
            delivered: count(delivered),
            buffered: ByteCount::from_bytes(1000 * (1000 - transmitted)),
            ..DeliveryStatus::default()
        }
    }

    fn hear(link: &mut LinkEstimate, report: DeliveryStatus) {
        link.on_report(report.measured, &report);
    }

    fn send_1000(link: &mut LinkEstimate) {
        for _ in 0..1000 {
            link.on_sent(at(0), ByteCount::from_bytes(1000));
        }
    }

    #[test]
    fn a_busy_link_shows_its_rate_and_its_delay() {
        let mut link = known();
        assert_eq!((link.rate(), link.base_delay()), (DataRate::from_mbps(10), Duration::ZERO));
        send_1000(&mut link);
        // 2 packets a millisecond are 16 Mbit/s; 20 of them are in transit: 10 ms
        for step in 1..=80 {
            hear(&mut link, report(5 * step, 10 * step, (10 * step).saturating_sub(20)));
        }
        let rate = link.rate().as_mbps_f64();
        assert!((15.8..=16.0).contains(&rate), "{rate}");
        let delay = link.base_delay().as_ms_f64();
        assert!((9.9..10.3).contains(&delay), "{delay}");
        assert_eq!(link.unreported(), ByteCount::from_bytes(200_000));
        assert_eq!(link.reports, 80);
    }

    #[test]
    fn a_pause_lowers_the_rate_and_it_comes_back() {
        let mut link = known();
        send_1000(&mut link);
        hear(&mut link, report(5, 10, 0));
        for step in 2..200 {
            hear(&mut link, report(5 * step, 10, 10));
        }
        assert_eq!(link.rate().bits_per_second(), MIN_RATE.max(link.rate().bits_per_second()));
        assert!(link.rate().as_mbps_f64() < 0.1, "{}", link.rate());
        for step in 200..290 {
            hear(&mut link, report(5 * step, 10 + 10 * (step - 199), 10));
        }
        assert!(link.rate().as_mbps_f64() > 15.0, "{}", link.rate());
    }

    /// One packet each 5 ms on an empty link does not show a rate of 10 Mbit/s.
    #[test]
    fn a_link_that_runs_dry_keeps_its_estimate_or_rises() {
        let mut link = known();
        for step in 1..100 {
            link.on_sent(at(5 * step - 1), ByteCount::from_bytes(1000));
            let all = count(step);
            let measured = at(5 * step);
            hear(
                &mut link,
                DeliveryStatus { measured, transmitted: all, delivered: all, ..DeliveryStatus::default() },
            );
            assert_eq!(link.rate(), DataRate::from_mbps(10));
        }
        // a burst of 20 within 5 ms: at least 19 packets of 1000 B in 5 ms, 30 Mbit/s
        for _ in 0..20 {
            link.on_sent(at(500), ByteCount::from_bytes(1000));
        }
        let all = count(119);
        hear(
            &mut link,
            DeliveryStatus {
                measured: at(505),
                transmitted: all,
                delivered: all,
                ..DeliveryStatus::default()
            },
        );
        assert!(link.rate() > DataRate::from_mbps(10));
    }
}
