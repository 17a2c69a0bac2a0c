//! Comparison of a link with its scenario, from the packets that passed it.
//!
//! | figure | from |
//! | --- | --- |
//! | rate | bytes over time between packets that all waited: the serialiser was never idle |
//! | delay | packets that certainly found an idle serialiser: their time inside minus their own serialisation |
//! | queue | the last packet before each dropped one: its waiting time, in packets |
//!
//! Times are those of the machine's clock, so that the check includes its timers.

use quiclab_core::link::{Distribution, LinkConfig, Rate, ShapedRate, WireFormat};
use quiclab_core::queue::TcQueue;
use quiclab_core::{ByteCount, DataRate, Duration, Time};
use serde::Serialize;

/// Maximum number of transits stored per link; later ones are ignored.
const MAX_TRANSITS: usize = 2_000_000;
/// Minimum number of packets for a mean.
const MIN_PACKETS: usize = 20;
/// Rates may differ by this share.
const RATE_TOLERANCE: f64 = 0.02;
/// Delays may differ by this in addition to two per cent: the lateness of timers, in milliseconds.
const DELAY_TOLERANCE_MS: f64 = 0.3;
/// Limits of queues may differ by this many packets in addition to two per cent: the packet in service is on
/// average half serialised.
const QUEUE_TOLERANCE_PACKETS: f64 = 1.5;

/// Times at which packets entered and left a link, in the order of entry.
#[derive(Debug, Default)]
pub struct LinkTransits {
    passages: Vec<Transit>,
    /// Whether an idle link passes a packet immediately, as a full bucket does.
    at_once: bool,
}

/// One packet.
#[derive(Clone, Copy, Debug)]
struct Transit {
    entered: Time,
    /// Time of departure; `None`: dropped, or still inside.
    left: Option<Time>,
    size: ByteCount,
}

/// Values of a link, expected or measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LinkValues {
    /// Rate of the serialiser in 10⁶ bit/s; `None`: there is none, or it was never busy for long.
    pub rate_mbps: Option<f64>,
    /// Mean delay after serialisation in milliseconds; `None`: too few packets found an idle link.
    pub delay_ms: Option<f64>,
    /// Limit of the queue in packets; `None`: none in packets, or it was never reached.
    pub queue_packets: Option<f64>,
}

/// Expected and measured values of a link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LinkCheck {
    /// Values in the scenario.
    pub wanted: LinkValues,
    /// Values in the run.
    pub achieved: LinkValues,
}

impl LinkTransits {
    /// Transits of a link whose rate is that of a token bucket.
    #[must_use]
    pub fn of_bucket() -> Self {
        Self { at_once: true, ..Self::default() }
    }

    /// Records the entry of packet `number`, counted from 0.
    pub fn on_enter(&mut self, number: u32, entered: Time, size: ByteCount) {
        if self.passages.len() < MAX_TRANSITS && number as usize == self.passages.len() {
            self.passages.push(Transit { entered, left: None, size });
        }
    }

    /// Records the departure of a packet.
    pub fn on_leave(&mut self, number: u32, left: Time) {
        if let Some(passage) = self.passages.get_mut(number as usize) {
            passage.left = Some(left);
        }
    }

    /// Measured values of the link `link`.
    #[must_use]
    pub fn figures(&self, link: &LinkConfig) -> LinkValues {
        let rate = constant_rate(link);
        let delay_ms = self.delay_ms(link, drain_rate(link));
        // random loss and a policer's drops cannot be distinguished from those of a full queue
        let queued = rate.filter(|_| link.loss.is_none() && link.policer.is_none());
        LinkValues {
            rate_mbps: rate.and_then(|rate| self.rate_mbps(link, rate)),
            delay_ms,
            queue_packets: queued.and_then(|rate| {
                self.queue_packets(link, rate, delay_ms.unwrap_or(link.delay.mean.as_ms_f64()))
            }),
        }
    }

    fn service(link: &LinkConfig, rate: Option<DataRate>, passage: &Transit) -> Duration {
        rate.map_or(Duration::ZERO, |rate| rate.time_for(wire_size(link, passage)))
    }

    /// Mean over packets that found the serialiser idle, under the assumption that no packet was dropped and
    /// that at most a full queue was before them.
    fn delay_ms(&self, link: &LinkConfig, rate: Option<DataRate>) -> Option<f64> {
        let at_once = self.at_once || matches!(link.rate, Some(Rate::Shaped(ShapedRate::TokenBucket { .. })));
        let mut free = Time::ZERO;
        let mut delays = Vec::new();
        for passage in &self.passages {
            let service = Self::service(link, rate, passage);
            if passage.entered >= free
                && let Some(left) = passage.left
            {
                let own = if at_once { 0.0 } else { service.as_ms_f64() };
                delays.push(left.since(passage.entered).as_ms_f64() - own);
            }
            free = free.max(passage.entered) + service;
            if let (Some(rate), Some(packets)) = (rate, limit_packets(link)) {
                let full = ByteCount::from_bytes(packets.saturating_mul(LARGE_BYTES));
                free = free.min(passage.entered + rate.time_for(full));
            }
        }
        let fewest = if link.delay.deviation == Duration::ZERO { 1 } else { MIN_PACKETS };
        (delays.len() >= fewest).then(|| middle(delays, link.delay.distribution))
    }

    fn rate_mbps(&self, link: &LinkConfig, rate: DataRate) -> Option<f64> {
        let mut out: Vec<_> =
            self.passages.iter().filter_map(|passage| Some((passage.left?, passage))).collect();
        out.sort_by_key(|(left, _)| *left);
        // the shortest delay is shorter by at most eight deviations than the longest
        let spread = Duration::from_nanos(8 * link.delay.deviation.as_nanos());
        let service = |passage: &Transit| Self::service(link, Some(rate), passage);
        let least = out
            .iter()
            .map(|(left, passage)| left.since(passage.entered).saturating_sub(service(passage)))
            .min()?;
        let (mut bits, mut time) = (0.0, 0.0);
        let mut run: Option<(Time, Time, u64, usize)> = None;
        let mut close = |run: Option<(Time, Time, u64, usize)>| {
            if let Some((first, last, bytes, packets)) = run
                && packets >= MIN_PACKETS
            {
                bits += bytes as f64 * 8.0;
                time += last.since(first).as_secs_f64();
            }
        };
        for (left, passage) in out {
            let service = service(passage);
            let waited = left.since(passage.entered) > least + service + service + spread;
            // it arrived before the previous one was serialised
            let behind = run.is_none_or(|(_, last, ..)| passage.entered + least < last);
            let bytes = wire_size(link, passage).bytes();
            run = match (waited && behind, run) {
                (true, None) => Some((left, left, 0, 0)),
                (true, Some((first, _, sum, packets))) => Some((first, left, sum + bytes, packets + 1)),
                (false, run) => {
                    close(run);
                    None
                }
            };
        }
        close(run);
        (time > 0.0).then(|| bits / time / 1e6)
    }

    fn queue_packets(&self, link: &LinkConfig, rate: DataRate, delay_ms: f64) -> Option<f64> {
        limit_packets(link)?;
        let last = self.passages.iter().rposition(|passage| passage.left.is_some())?;
        let waits: Vec<_> = self.passages[..last]
            .windows(2)
            .filter(|pair| pair[1].left.is_none())
            .filter_map(|pair| {
                let service = Self::service(link, Some(rate), &pair[0]).as_ms_f64();
                let inside = pair[0].left?.since(pair[0].entered).as_ms_f64();
                Some((inside - delay_ms) / service)
            })
            .collect();
        // on average the packet in service is half serialised
        (!waits.is_empty()).then(|| middle(waits, Distribution::Constant) + 0.5)
    }
}

/// Packet size by which a limit in packets is converted to time.
const LARGE_BYTES: u64 = 1600;

/// Median, which is robust against single late timers; the mean for distributions in which the two differ.
fn middle(mut values: Vec<f64>, distribution: Distribution) -> f64 {
    if distribution == Distribution::Pareto {
        return values.iter().sum::<f64>() / values.len() as f64;
    }
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Rate of packets that wait; a bucket passes its tokens faster.
fn constant_rate(link: &LinkConfig) -> Option<DataRate> {
    match &link.rate {
        Some(Rate::Constant(rate)) => Some(*rate),
        _ => None,
    }
}

/// Rate at which a queue drains: until it is empty the link is not idle.
fn drain_rate(link: &LinkConfig) -> Option<DataRate> {
    match &link.rate {
        Some(Rate::Constant(rate) | Rate::Shaped(ShapedRate::TokenBucket { rate, .. })) => Some(*rate),
        _ => None,
    }
}

/// Bytes of a packet on the wire of `link`.
fn wire_size(link: &LinkConfig, passage: &Transit) -> ByteCount {
    WireFormat::of(link).length_of(passage.size, ByteCount::ZERO)
}

fn limit_packets(link: &LinkConfig) -> Option<u64> {
    // other disciplines also drop at other lengths, and another limit may be reached first
    match link.queue.options().tc() {
        Ok(TcQueue::Limits { packets, bytes: None }) => packets,
        _ => None,
    }
}

/// Expected values of a link, from the scenario.
#[must_use]
pub fn wanted(link: &LinkConfig) -> LinkValues {
    let rate = constant_rate(link);
    LinkValues {
        rate_mbps: rate.map(DataRate::as_mbps_f64),
        delay_ms: Some(link.delay.mean.as_ms_f64()),
        queue_packets: rate.and(limit_packets(link)).map(|packets| packets as f64),
    }
}

impl LinkCheck {
    /// Messages about all values that differ from the expected ones.
    #[must_use]
    pub fn warnings(&self, name: &str, link: &LinkConfig) -> Vec<String> {
        let Self { wanted, achieved } = *self;
        let spread = link.delay.deviation.as_ms_f64() * 3.0 / (MIN_PACKETS as f64).sqrt();
        let delay = wanted.delay_ms.unwrap_or(0.0) * RATE_TOLERANCE + DELAY_TOLERANCE_MS + spread;
        let queue = wanted.queue_packets.unwrap_or(0.0) * RATE_TOLERANCE + QUEUE_TOLERANCE_PACKETS;
        let rows = [
            (
                "rate",
                "Mbit/s",
                wanted.rate_mbps,
                achieved.rate_mbps,
                wanted.rate_mbps.unwrap_or(0.0) * RATE_TOLERANCE,
            ),
            ("delay", "ms", wanted.delay_ms, achieved.delay_ms, delay),
            ("queue", "packets", wanted.queue_packets, achieved.queue_packets, queue),
        ];
        rows.into_iter()
            .filter_map(|(what, unit, wanted, achieved, tolerance)| {
                let (wanted, achieved) = (wanted?, achieved?);
                ((wanted - achieved).abs() > tolerance).then(|| {
                    format!(
                        "links.{name} did not do what the scenario says: its {what} was {achieved:.2} {unit} \
                         instead of {wanted:.2} {unit}"
                    )
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclab_core::queue::{DropTail, QueueConfig};

    /// 12 Mbit/s: one packet of 1500 bytes per millisecond; ten places, 5 ms delay.
    fn link() -> LinkConfig {
        LinkConfig {
            rate: Some(Rate::Constant(DataRate::from_mbps(12))),
            queue: QueueConfig::DropTail(DropTail { packets: Some(10), ..DropTail::default() }),
            delay: quiclab_core::link::Delay { mean: Duration::from_millis(5), ..Default::default() },
            ..LinkConfig::default()
        }
    }

    /// Transits of bursts of packets through an ideal link.
    fn passages(service_ms: f64, delay_ms: f64, places: usize) -> LinkTransits {
        let ms = |ms: f64| Time::from_nanos((ms * 1e6) as u64);
        let mut passages = LinkTransits::default();
        let (mut number, mut free) = (0, 0.0_f64);
        for burst in 0..60 {
            let entered = 100.0 * f64::from(burst);
            free = free.max(entered);
            for packet in 0..40 {
                passages.on_enter(number, ms(entered), ByteCount::from_bytes(1500));
                if packet < places {
                    free += service_ms;
                    passages.on_leave(number, ms(free + delay_ms));
                }
                number += 1;
            }
        }
        passages
    }

    #[test]
    fn an_ideal_link_achieves_what_is_wanted() {
        let check = LinkCheck { wanted: wanted(&link()), achieved: passages(1.0, 5.0, 10).figures(&link()) };
        assert_eq!(check.achieved.delay_ms, Some(5.0));
        // ten packets of a burst, of which the last has waited for nine: on average half a packet less than ten
        assert_eq!(check.achieved.queue_packets, Some(10.5));
        assert_eq!(check.warnings("a", &link()), Vec::<String>::new());
    }

    #[test]
    fn what_differs_is_said() {
        let check = LinkCheck { wanted: wanted(&link()), achieved: passages(1.0, 7.0, 6).figures(&link()) };
        let warnings = check.warnings("a", &link());
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].contains("its delay was 7.00 ms instead of 5.00 ms"), "{warnings:?}");
    }

    #[test]
    fn the_rate_is_measured_while_packets_wait() {
        // one burst of 300 packets over a link that is 10 % too slow
        let unlimited = LinkConfig { queue: QueueConfig::DropTail(DropTail::default()), ..link() };
        let mut passages = LinkTransits::default();
        for number in 0..300 {
            passages.on_enter(number, Time::ZERO, ByteCount::from_bytes(1500));
            passages.on_leave(number, Time::from_nanos(5_000_000 + 1_111_111 * (u64::from(number) + 1)));
        }
        let rate = passages.figures(&unlimited).rate_mbps.unwrap();
        assert!((rate - 10.8).abs() < 0.01, "{rate}");
        let check = LinkCheck { wanted: wanted(&unlimited), achieved: passages.figures(&unlimited) };
        assert!(check.warnings("a", &unlimited)[0].contains("its rate was 10.80 Mbit/s instead of 12.00"));
    }
}
