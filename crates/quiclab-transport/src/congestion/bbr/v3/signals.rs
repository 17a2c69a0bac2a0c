//! What an acknowledgement or a loss says (sections 4.1, 5.5.1 to 5.5.8).

use super::{BbrV3, EXTRA_ACKED_FILTER_LEN, LOSS_THRESH_PERCENT, MIN_RTT_FILTER_LEN, limited};
use crate::congestion::bbr::{ProbeRttLimited, bytes_in, per_second};
use crate::congestion::{Ack, LostPacket};
use quiclab_core::{Duration, Time};

/// Signals of one acknowledgement (`RS`, and `C` after it).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RateSample {
    pub(super) now: Time,
    /// Byte/s; 0 without a valid sample.
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

/// Signals of a lost packet, with which `HandleLostPacket` replaces those of the acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleOfLoss {
    pub(super) tx_in_flight: u64,
    pub(super) lost: u64,
    pub(super) is_app_limited: bool,
}

impl RateSample {
    /// `None` where the transport does not measure the rate.
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
}

/// Whether losses exceed `BBR.LossThresh` of what was in flight.
pub(super) fn is_inflight_too_high(lost: u64, tx_in_flight: u64) -> bool {
    lost * 100 > tx_in_flight * LOSS_THRESH_PERCENT
}

impl BbrV3 {
    pub(super) fn update_latest_delivery_signals(&mut self) {
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(self.rs.delivery_rate);
        self.inflight_latest = self.inflight_latest.max(self.rs.delivered);
        if self.rs.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = self.rs.total_delivered;
            self.loss_round_start = true;
        }
    }

    pub(super) fn advance_latest_delivery_signals(&mut self) {
        if self.loss_round_start {
            (self.bw_latest, self.inflight_latest) = (self.rs.delivery_rate, self.rs.delivered);
            self.lost_ranges = 0;
            self.is_state_saved &= self.is_in_recovery();
        }
    }

    pub(super) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        (self.bw_latest, self.inflight_latest) = (0, 0);
    }

    pub(super) fn update_congestion_signals(&mut self) {
        self.update_max_bw();
        if self.loss_round_start {
            self.adapt_lower_bounds_from_congestion();
            self.is_loss_in_round = false;
        }
    }

    fn update_max_bw(&mut self) {
        self.update_round();
        let rate = self.rs.delivery_rate;
        if rate > 0 && (rate >= self.max_bw() || !self.rs.is_app_limited) {
            self.max_bw_filter[1] = self.max_bw_filter[1].max(rate);
        }
    }

    /// A cycle is over. (One without a sample leaves what is known.)
    pub(super) fn advance_max_bw_filter(&mut self) {
        if self.max_bw_filter[1] > 0 {
            self.max_bw_filter = [self.max_bw_filter[1], 0];
        }
    }

    fn update_round(&mut self) {
        self.round_start = self.rs.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.rounds_since_probe_up += 1;
        }
    }

    pub(super) fn start_round(&mut self) {
        self.next_round_delivered = self.rs.total_delivered;
    }

    pub(super) fn update_ack_aggregation(&mut self) {
        let now = self.rs.now;
        let mut expected = bytes_in(self.bw, now.since(self.extra_acked_interval_start));
        if self.extra_acked_delivered <= expected {
            (self.extra_acked_delivered, self.extra_acked_interval_start, expected) = (0, now, 0);
        }
        self.extra_acked_delivered += self.rs.newly_acked;
        let extra = self.extra_acked_delivered.saturating_sub(expected).min(self.cwnd);
        // in Startup, of one round
        let window = if self.full_bw_reached { EXTRA_ACKED_FILTER_LEN } else { 1 };
        self.extra_acked_filter.set_window(window);
        self.extra_acked = self.extra_acked_filter.update(self.round_count, extra);
    }

    pub(super) fn update_min_rtt(&mut self) {
        let now = self.rs.now;
        self.probe_rtt_expired = now > self.probe_rtt_min_stamp + self.constants.probe_rtt_interval;
        if let Some(rtt) = self.rs.rtt
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

    pub(super) fn bound_bw_for_model(&mut self) {
        self.bw = limited(self.max_bw(), self.bw_shortterm);
    }
}
