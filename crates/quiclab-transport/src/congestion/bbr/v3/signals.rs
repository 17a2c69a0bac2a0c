//! Signals of an acknowledgement and of a loss (section 4.1).

use super::LOSS_THRESH_PERCENT;
use crate::congestion::bbr::{ProbeRttLimited, per_second};
use crate::congestion::{Ack, LostPacket};
use quiclab_core::{Duration, Time};

/// Signals of one acknowledgement (`RS`, and `C` after it).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RateSample {
    pub(super) now: Time,
    /// Delivery rate in byte/s; 0 without a valid sample.
    pub(super) delivery_rate: u64,
    pub(super) delivered: u64,
    pub(super) prior_delivered: u64,
    pub(super) is_app_limited: bool,
    pub(super) rtt: Option<Duration>,
    pub(super) newly_acked: u64,
    pub(super) tx_in_flight: u64,
    pub(super) lost: u64,
    /// `C.delivered`, `C.inflight`, `C.is_cwnd_limited`.
    pub(super) total_delivered: u64,
    pub(super) in_flight: u64,
    pub(super) is_cwnd_limited: bool,
}

/// Signals of a lost packet, which replace those of the acknowledgement in `HandleLostPacket`.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleOfLoss {
    pub(super) tx_in_flight: u64,
    pub(super) lost: u64,
    pub(super) is_app_limited: bool,
}

impl RateSample {
    /// Signals of an acknowledgement; `None` if the transport does not measure the rate.
    pub(super) fn new(ack: &Ack, self_limited: &ProbeRttLimited) -> Option<Self> {
        let rate = ack.rate?;
        Some(Self {
            now: ack.now,
            delivery_rate: rate.interval.map_or(0, |interval| per_second(rate.delivered, interval)),
            delivered: rate.delivered,
            prior_delivered: rate.prior_delivered,
            is_app_limited: rate.app_limited || self_limited.covers(rate.prior_delivered),
            rtt: ack.rtt,
            newly_acked: ack.acked_bytes,
            tx_in_flight: rate.tx_in_flight,
            lost: rate.lost,
            total_delivered: rate.total_delivered,
            in_flight: ack.in_flight,
            is_cwnd_limited: ack.cwnd_limited,
        })
    }
}

impl SampleOfLoss {
    pub(super) fn new(packet: &LostPacket, self_limited: &ProbeRttLimited) -> Self {
        Self {
            tx_in_flight: packet.state.in_flight,
            lost: packet.total_lost - packet.state.lost,
            is_app_limited: packet.state.app_limited || self_limited.covers(packet.state.delivered),
        }
    }

    /// `IsInflightTooHigh`.
    pub(super) fn is_inflight_too_high(&self) -> bool {
        is_inflight_too_high(self.lost, self.tx_in_flight)
    }

    /// `InflightAtLoss`: bytes in flight at which losses crossed `BBR.LossThresh`, possibly within the packet
    /// of `bytes`.
    pub(super) fn inflight_at_loss(&self, bytes: u64) -> u64 {
        let inflight_prev = self.tx_in_flight.saturating_sub(bytes);
        let lost_prev = self.lost.saturating_sub(bytes);
        let allowed = inflight_prev * LOSS_THRESH_PERCENT;
        let lost_prefix = allowed.saturating_sub(lost_prev * 100) / (100 - LOSS_THRESH_PERCENT);
        inflight_prev + lost_prefix
    }
}

/// Whether losses exceed `BBR.LossThresh` of the bytes in flight.
pub(super) fn is_inflight_too_high(lost: u64, tx_in_flight: u64) -> bool {
    lost * 100 > tx_in_flight * LOSS_THRESH_PERCENT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(tx_in_flight: u64, lost: u64) -> SampleOfLoss {
        SampleOfLoss { tx_in_flight, lost, is_app_limited: false }
    }

    #[test]
    fn losses_above_two_percent_are_too_high() {
        assert!(!sample(100_000, 2000).is_inflight_too_high());
        assert!(sample(100_000, 2001).is_inflight_too_high());
    }

    /// 2 % of 99 kB are 1980 bytes. If a packet of 1000 bytes follows, 1980 / 98 % fit without other losses;
    /// 980 / 98 % with 1 kB lost before it; none with 2 kB.
    #[test]
    fn the_threshold_is_crossed_within_a_packet() {
        for (lost, crossed) in [(1000, 2020), (2000, 1000), (3000, 0)] {
            assert_eq!(sample(100_000, lost).inflight_at_loss(1000), 99_000 + crossed);
        }
    }
}
