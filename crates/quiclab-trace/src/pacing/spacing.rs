//! Packets of one direction: intervals, bursts, rate over time.

use super::clusters;
use super::distribution::Distribution;
use super::document;
use super::settings::{MILLISECOND_NS, SECOND_NS, Settings};
use crate::packets::ObservedPacket;
use std::collections::BTreeMap;

/// Maximum number of steps of the rate over time.
const STEPS_MAX: usize = 5000;
/// Header and tag of an Ethernet frame: added to an IP packet for the comparison with the longest frame,
/// independent of the link header in the file.
const LINK_BYTES: u32 = 18;
/// Quantiles of the document.
const PARTS: [(&str, f64); 11] = [
    ("0.001", 0.001),
    ("0.01", 0.01),
    ("0.05", 0.05),
    ("0.1", 0.1),
    ("0.25", 0.25),
    ("0.5", 0.5),
    ("0.75", 0.75),
    ("0.9", 0.9),
    ("0.95", 0.95),
    ("0.99", 0.99),
    ("0.999", 0.999),
];

/// Statistics of the packets of one direction.
#[derive(Debug)]
pub(super) struct Spacing {
    burst_gap: u64,
    frame_limit: u32,
    first: Option<i64>,
    last: i64,
    first_frame: u32,
    packets: u64,
    frame_bytes: u64,
    payload_bytes: u64,
    frames: Distribution,
    oversized: u64,
    backwards: u64,
    intervals: Distribution,
    /// Packets of the current burst, and its start.
    burst: u64,
    burst_at: i64,
    bursts: Distribution,
    bursty_packets: u64,
    within: Distribution,
    between: Distribution,
    rate: Rate,
}

impl Spacing {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            burst_gap: settings.burst_gap_ns(),
            frame_limit: settings.frame_limit_bytes,
            first: None,
            last: 0,
            first_frame: 0,
            packets: 0,
            frame_bytes: 0,
            payload_bytes: 0,
            frames: Distribution::default(),
            oversized: 0,
            backwards: 0,
            intervals: Distribution::default(),
            burst: 0,
            burst_at: 0,
            bursts: Distribution::default(),
            bursty_packets: 0,
            within: Distribution::default(),
            between: Distribution::default(),
            rate: Rate { step: settings.rate_step_ns(), bytes: BTreeMap::new() },
        }
    }

    /// Adds a packet; returns whether it begins a burst.
    pub(super) fn add(&mut self, packet: &ObservedPacket<'_>) -> bool {
        let &ObservedPacket { at, frame_bytes, packet_bytes, payload_bytes, .. } = packet;
        self.packets += 1;
        self.frame_bytes += u64::from(frame_bytes);
        self.payload_bytes += u64::from(payload_bytes);
        self.frames.add(u64::from(frame_bytes));
        self.oversized += u64::from(packet_bytes.saturating_add(LINK_BYTES) > self.frame_limit);
        let Some(first) = self.first else {
            (self.first, self.last, self.first_frame) = (Some(at), at, frame_bytes);
            (self.burst, self.burst_at) = (1, at);
            self.rate.add(0, frame_bytes);
            return true;
        };
        let begins = match u64::try_from(at.saturating_sub(self.last)) {
            Ok(interval) => {
                self.intervals.add(interval);
                let begins = interval > self.burst_gap;
                if begins {
                    self.between.add(at.saturating_sub(self.burst_at).unsigned_abs());
                    self.close_burst();
                    (self.burst, self.burst_at) = (1, at);
                } else {
                    self.burst += 1;
                    self.within.add(interval);
                }
                begins
            }
            // the clock was set back: no interval, and a new burst
            Err(_) => {
                self.backwards += 1;
                self.close_burst();
                (self.burst, self.burst_at) = (1, at);
                true
            }
        };
        self.rate.add(u64::try_from(at.saturating_sub(first)).unwrap_or(0), frame_bytes);
        self.last = at;
        begins
    }

    fn close_burst(&mut self) {
        self.bursts.add(self.burst);
        self.bursty_packets += if self.burst > 1 { self.burst } else { 0 };
    }

    pub(super) fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    pub(super) fn packets(&self) -> u64 {
        self.packets
    }

    /// Time from the first packet to the last [ns]: the sum of the intervals, unaffected by a clock set back.
    pub(super) fn duration_ns(&self) -> u64 {
        u64::try_from(self.intervals.sum()).unwrap_or(u64::MAX)
    }

    /// Returns the results, after the last packet.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn finish(mut self, settings: &Settings) -> document::Spacing {
        if self.burst > 0 {
            self.close_burst();
        }
        let duration_s = self.duration_ns() as f64 / SECOND_NS;
        // the first packet is before the start of the time
        let bits = 8.0 * (self.frame_bytes - u64::from(self.first_frame)) as f64;
        let rate_mbps = (duration_s > 0.0).then(|| bits / duration_s / 1e6);
        let frame_median_bytes = self.frames.quantile(0.5).unwrap_or(0.0).round() as u32;
        document::Spacing {
            packets: self.packets,
            frame_bytes: self.frame_bytes,
            payload_bytes: self.payload_bytes,
            frame_median_bytes,
            frame_largest_bytes: self.frames.range().map_or(0, |(_, largest)| largest as u32),
            rate_mbps,
            utilisation: settings.link_mbps.and_then(|link| rate_mbps.map(|rate| rate / link)),
            oversized: self.oversized,
            backwards: self.backwards,
            bursts: document::Bursts {
                count: self.bursts.count(),
                share_of_packets: (self.packets > 0)
                    .then(|| self.bursty_packets as f64 / self.packets as f64),
                mean_packets: self.bursts.mean(),
                p99_packets: self.bursts.quantile(0.99).map(|packets| packets.round() as u64),
                largest_packets: self.bursts.range().map_or(0, |(_, largest)| largest),
                sizes: counts(&self.bursts),
                within: intervals(&self.within),
                between: intervals(&self.between),
            },
            clusters: document::Clusters {
                expected: clusters::expected(&self.intervals, f64::from(frame_median_bytes), settings),
                found: clusters::found(&self.intervals),
            },
            intervals: intervals(&self.intervals),
            rate_step_s: self.rate.step as f64 / SECOND_NS,
            rate_over_time_mbps: self.rate.mbps(),
        }
    }
}

/// Bytes in steps of time.
#[derive(Debug)]
struct Rate {
    step: u64,
    /// Only steps with bytes: two packets far apart must not cost more than two.
    bytes: BTreeMap<usize, u64>,
}

impl Rate {
    fn add(&mut self, since_first: u64, bytes: u32) {
        let step = loop {
            match usize::try_from(since_first / self.step) {
                Ok(step) if step < STEPS_MAX => break step,
                _ => self.double(),
            }
        };
        *self.bytes.entry(step).or_default() += u64::from(bytes);
    }

    fn double(&mut self) {
        self.step = self.step.saturating_mul(2);
        let mut together = BTreeMap::new();
        for (step, bytes) in &self.bytes {
            *together.entry(step / 2).or_default() += bytes;
        }
        self.bytes = together;
    }

    #[allow(clippy::cast_precision_loss)]
    fn mbps(&self) -> Vec<f64> {
        let steps = self.bytes.keys().next_back().map_or(0, |last| last + 1);
        let bytes = (0..steps).map(|step| self.bytes.get(&step).copied().unwrap_or(0));
        bytes.map(|bytes| 8e3 * bytes as f64 / self.step as f64).collect()
    }
}

/// Number of occurrences of each number.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(super) fn counts(distribution: &Distribution) -> BTreeMap<u64, u64> {
    distribution.fine().into_iter().map(|(_, bin)| (bin.mean().round() as u64, bin.count)).collect()
}

/// A distribution of nanoseconds in the document's form.
#[allow(clippy::cast_precision_loss)]
pub(super) fn intervals(distribution: &Distribution) -> document::Intervals {
    let ms = |value: f64| value / MILLISECOND_NS;
    let mean_ms = distribution.mean().map(ms);
    let std_ms = distribution.deviation().map(ms);
    let bins = distribution.coarse();
    let quantiles = distribution.quantiles(&PARTS.map(|(_, part)| part));
    document::Intervals {
        count: distribution.count(),
        mean_ms,
        std_ms,
        variation: mean_ms.zip(std_ms).filter(|(mean, _)| *mean > 0.0).map(|(mean, std)| std / mean),
        least_ms: distribution.range().map(|(least, _)| ms(least as f64)),
        largest_ms: distribution.range().map(|(_, largest)| ms(largest as f64)),
        quantiles_ms: PARTS
            .iter()
            .zip(quantiles)
            .map(|((name, _), value)| ((*name).to_owned(), ms(value)))
            .collect(),
        at_ms: bins.iter().map(|(_, bin)| ms(bin.mean())).collect(),
        counts: bins.iter().map(|(_, bin)| bin.count).collect(),
    }
}
