//! Reference window (sections 4.2.1.4 and 4.2.2): bytes in flight may exceed it, and the rate of the coder
//! follows it.

use super::marks::MarkShare;
use crate::media::Parameters;
use crate::media::target::Target;
use quiclab_core::{Duration, Time};

/// MIN_REF_WND in bytes.
pub(super) const MIN_REF_WND: f64 = 3000.0;
/// QDELAY_TARGET_HI in seconds.
const QDELAY_TARGET_HI: f64 = 0.4;
/// QDELAY_AVG_G.
const QDELAY_AVG_G: f64 = 0.25;
/// BYTES_IN_FLIGHT_HEAD_ROOM.
const BYTES_IN_FLIGHT_HEAD_ROOM: f64 = 1.5;
const BETA_LOSS: f64 = 0.7;
const BETA_ECN: f64 = 0.8;
/// POST_CONGESTION_DELAY_RTT.
const POST_CONGESTION_DELAY_RTT: f64 = 100.0;
/// Number of round trips without a reaction after which the window is limited by the bytes in flight.
const LONG_WITHOUT_CONGESTION_RTT: u64 = 100;
const MUL_INCREASE_FACTOR: f64 = 0.02;
/// VIRTUAL_RTT.
pub(super) const VIRTUAL_RTT: Duration = Duration::from_millis(25);
/// Part of the rate of round trips with losses that remains after a round trip, as in version 1.
const LOSS_MEMORY: f64 = 0.99;

/// Information of a report of the receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feedback {
    /// Bytes newly acknowledged, and those of them with marks.
    pub(super) acked: f64,
    pub(super) acked_ce: f64,
    /// Packets that arrived, and those of them with marks.
    pub(super) packets: u64,
    pub(super) packets_ce: u64,
    pub(super) lost: bool,
    /// `qdelay` in seconds.
    pub(super) delay: f64,
    /// `s_rtt`.
    pub(super) rtt: Duration,
    /// Whether the target bitrate is TARGET_BITRATE_MAX.
    pub(super) is_at_max_rate: bool,
}

/// Reference window; see the module documentation.
#[derive(Debug)]
pub(super) struct RefWindow {
    mss: f64,
    /// IS_L4S.
    is_l4s: bool,
    /// `ref_wnd` in bytes.
    pub(super) size: f64,
    /// `ref_wnd_i` and `ref_wnd_i_update_allowed`.
    inflection: f64,
    may_inflect: bool,
    pub(super) target: Target,
    pub(super) marks: MarkShare,
    pub(super) qdelay: f64,
    qdelay_avg: f64,
    qdelay_updated: Time,
    /// Whether losses and marks were reported since the last reaction.
    lost: bool,
    marked: bool,
    /// `last_congestion_detected_time` and `last_reaction_to_congestion_time`.
    detected: Time,
    reacted: Time,
    /// `bytes_newly_acked` and `bytes_newly_acked_ce` since the last increase, which is once in a round trip.
    acked: f64,
    acked_ce: f64,
    round: Time,
    /// `max_bytes_in_flight` and `max_bytes_in_flight_prev`.
    max_in_flight: f64,
    max_in_flight_prev: f64,
    /// `loss_event_rate`, and losses in this round trip.
    loss_event_rate: f64,
    is_loss_in_round: bool,
}

impl RefWindow {
    pub(super) fn new(parameters: &Parameters) -> Self {
        let (start, low) = (parameters.start, parameters.target_delay);
        Self {
            mss: parameters.mss.bytes() as f64,
            is_l4s: parameters.ecn == quiclab_core::Ecn::Ect1,
            size: MIN_REF_WND,
            inflection: 1.0,
            may_inflect: true,
            target: Target::new(low, low.max(QDELAY_TARGET_HI)),
            marks: MarkShare::new(start),
            qdelay: 0.0,
            qdelay_avg: 0.0,
            qdelay_updated: start,
            lost: false,
            marked: false,
            detected: start,
            reacted: start,
            acked: 0.0,
            acked_ce: 0.0,
            round: start,
            max_in_flight: 0.0,
            max_in_flight_prev: 0.0,
            loss_event_rate: 0.0,
            is_loss_in_round: false,
        }
    }

    /// `ref_wnd_ratio`.
    pub(super) fn ratio(&self) -> f64 {
        (self.mss / self.size).min(1.0)
    }

    /// Records the bytes in flight.
    pub(super) fn on_in_flight(&mut self, bytes: f64) {
        self.max_in_flight = self.max_in_flight.max(bytes);
    }

    /// Handles the loss of all packets.
    pub(super) fn on_silence(&mut self, now: Time) {
        (self.size, self.detected, self.reacted) = (MIN_REF_WND, now, now);
    }

    /// Handles a report; returns whether the window was reduced.
    pub(super) fn on_feedback(&mut self, now: Time, feedback: &Feedback) -> bool {
        let rtt = feedback.rtt;
        self.marks.add(now, rtt, feedback.packets, feedback.packets_ce);
        self.update_qdelay(now, rtt, feedback.delay);
        self.acked += feedback.acked;
        self.acked_ce += feedback.acked_ce;
        self.lost |= feedback.lost;
        self.is_loss_in_round |= feedback.lost;
        self.marked |= feedback.packets_ce > 0;
        if self.lost || self.marked {
            self.detected = now;
        }
        let closeness = self.closeness();
        let reduced = now.since(self.reacted) >= VIRTUAL_RTT.min(rtt) && self.reduce(now, rtt, closeness);
        if now.since(self.round) >= rtt {
            self.increase(now, rtt, closeness, feedback.is_at_max_rate);
            self.end_round(now);
        }
        self.target.adjust(feedback.delay, self.loss_event_rate);
        reduced
    }

    /// `qdelay_avg`: slow up, fast down.
    fn update_qdelay(&mut self, now: Time, rtt: Duration, delay: f64) {
        self.qdelay = delay;
        if now.since(self.qdelay_updated) >= VIRTUAL_RTT.min(rtt) {
            self.qdelay_avg = if delay < self.qdelay_avg {
                delay
            } else {
                QDELAY_AVG_G * delay + (1.0 - QDELAY_AVG_G) * self.qdelay_avg
            };
            self.qdelay_updated = now;
        }
    }

    /// `scl_t`: 0.1 at the last known maximum before congestion, 1 an eighth away from it.
    fn closeness(&self) -> f64 {
        let distance = (self.size - self.inflection) / self.inflection * 8.0;
        (distance * distance).clamp(0.1, 1.0)
    }

    /// Reduces the window (section 4.2.2.1).
    fn reduce(&mut self, now: Time, rtt: Duration, closeness: f64) -> bool {
        let half = self.target.value / 2.0;
        let is_virtual_ce = !self.lost && !self.marked && self.qdelay_avg > half;
        if !self.lost && !self.marked && !is_virtual_ce {
            return false;
        }
        if self.may_inflect {
            (self.inflection, self.may_inflect) = (self.size, false);
        }
        // several reactions in a long round trip share the effect of one
        let share = 1.0 / (rtt.as_secs_f64() / VIRTUAL_RTT.as_secs_f64()).max(1.0);
        if self.lost {
            self.size *= BETA_LOSS;
        } else if self.marked && self.is_l4s {
            let mut backoff = self.marks.alpha / 2.0 * share;
            if self.qdelay < self.target.value / 4.0 {
                backoff *= closeness.max(0.25);
            }
            if now.since(self.reacted) > VIRTUAL_RTT.max(rtt) * LONG_WITHOUT_CONGESTION_RTT {
                self.size = self.size.min(self.max_in_flight_prev);
            }
            self.size *= 1.0 - backoff;
        } else if self.marked {
            self.size *= BETA_ECN;
        } else {
            let alpha = ((self.qdelay_avg - half) / half).clamp(0.0, 1.0);
            self.size *= 1.0 - alpha / 2.0 * share;
        }
        self.size = self.size.max(MIN_REF_WND);
        (self.lost, self.marked, self.reacted) = (false, false, now);
        true
    }

    /// Increases the window (section 4.2.2.2): by a packet in a round trip, more if there was no congestion
    /// for long, less near the last maximum.
    fn increase(&mut self, now: Time, rtt: Duration, closeness: f64, is_at_max_rate: bool) {
        let calm = now.since(self.detected).as_secs_f64()
            / (POST_CONGESTION_DELAY_RTT * VIRTUAL_RTT.max(rtt).as_secs_f64());
        let factor = 1.0 + MUL_INCREASE_FACTOR * self.size / self.mss * calm.clamp(0.0, 1.0) * closeness;
        let short = (rtt.as_secs_f64() / VIRTUAL_RTT.as_secs_f64()).min(1.0);
        let increment =
            (self.acked - self.acked_ce).max(0.0) * self.ratio() * short * closeness.max(0.25) * factor;
        let most = self.mss + self.max_in_flight.max(self.max_in_flight_prev) * BYTES_IN_FLIGHT_HEAD_ROOM;
        if increment > 0.0 && self.size + increment <= most && !is_at_max_rate {
            self.size += increment;
            self.may_inflect = true;
        }
    }

    fn end_round(&mut self, now: Time) {
        (self.acked, self.acked_ce, self.round) = (0.0, 0.0, now);
        (self.max_in_flight_prev, self.max_in_flight) = (self.max_in_flight, 0.0);
        let lost = f64::from(u8::from(std::mem::take(&mut self.is_loss_in_round)));
        self.loss_event_rate = LOSS_MEMORY * self.loss_event_rate + (1.0 - LOSS_MEMORY) * lost;
    }
}
