//! Network congestion control: limit of the bytes in flight (RFC 8298 sections 4.1.2.1, 4.1.2.4, 4.1.2.6).

use super::target::Target;
use super::trend::Trend;
use quiclab_core::{Duration, Time};

/// MIN_CWND in bytes.
pub(super) const MIN_WINDOW: f64 = 3000.0;
const GAIN: f64 = 1.0;
const BETA_LOSS: f64 = 0.8;
const BETA_ECN: f64 = 0.9;
/// MAX_BYTES_IN_FLIGHT_HEAD_ROOM.
const HEAD_ROOM: f64 = 1.1;
/// QDELAY_TREND_TH and QDELAY_TREND_LO.
const INCIPIENT: f64 = 0.2;
const ABATED: f64 = 0.2;
/// T_RESUME_FAST_INCREASE.
const RESUME: Duration = Duration::from_secs(5);
/// Ratio of QDELAY_TARGET_HI to QDELAY_TARGET_LO: 0.4 s / 0.1 s.
const HIGH: f64 = 4.0;
/// Part of the rate of round trips with losses that remains after a round trip.
const LOSS_MEMORY: f64 = 0.99;

/// Information of a report of the receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Acknowledged {
    /// `bytes_newly_acked`.
    pub(super) bytes: f64,
    /// Bytes still in flight, and their maximum in the last seconds.
    pub(super) in_flight: f64,
    pub(super) most_in_flight: f64,
    /// Queueing delay in seconds.
    pub(super) delay: f64,
    pub(super) lost: bool,
    pub(super) marked: bool,
}

/// Cause of a reduction of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Congestion {
    Loss,
    Mark,
}

/// Congestion window.
#[derive(Debug)]
pub(super) struct Window {
    mss: f64,
    /// `cwnd` in bytes.
    pub(super) size: f64,
    pub(super) trend: Trend,
    pub(super) target: Target,
    pub(super) fast_increase: bool,
    /// Time at which the trend was last above [`ABATED`].
    congested: Time,
    /// Time of the last reduction for losses or marks; `None`: never.
    cut: Option<Time>,
    /// `loss_event_rate`, and the end of its last round trip.
    losses: f64,
    round: Time,
    /// Queueing delay of the last report.
    pub(super) delay: f64,
}

impl Window {
    pub(super) fn new(mss: f64, target_delay: f64, start: Time) -> Self {
        Self {
            mss,
            size: MIN_WINDOW,
            trend: Trend::default(),
            target: Target::new(target_delay, target_delay * HIGH),
            fast_increase: true,
            congested: start,
            cut: None,
            losses: 0.0,
            round: start,
            delay: 0.0,
        }
    }

    /// Handles a report; returns the cause if it reduced the window, which happens at most once in a round
    /// trip.
    pub(super) fn on_report(&mut self, now: Time, rtt: Duration, ack: &Acknowledged) -> Option<Congestion> {
        self.delay = ack.delay;
        self.trend.add(now, ack.delay / self.target.value);
        if self.trend.value > ABATED {
            self.congested = now;
        }
        let may_cut = self.cut.is_none_or(|cut| now.since(cut) > rtt);
        let congestion = match (ack.lost, ack.marked) {
            (true, _) if may_cut => Some(Congestion::Loss),
            (_, true) if may_cut => Some(Congestion::Mark),
            _ => None,
        };
        self.count_round(now, rtt, congestion == Some(Congestion::Loss));
        if let Some(congestion) = congestion {
            let beta = if congestion == Congestion::Loss { BETA_LOSS } else { BETA_ECN };
            (self.cut, self.fast_increase) = (Some(now), false);
            self.size = (self.size * beta).max(MIN_WINDOW);
        } else {
            self.grow(ack);
        }
        self.target.adjust(ack.delay, self.losses);
        if !self.fast_increase && now.since(self.congested) >= RESUME {
            self.fast_increase = true;
        }
        congestion
    }

    /// Handles a long period without a report: all packets are lost.
    pub(super) fn on_silence(&mut self, now: Time) {
        (self.cut, self.fast_increase, self.size) = (Some(now), false, MIN_WINDOW);
    }

    /// `update_cwnd`.
    fn grow(&mut self, ack: &Acknowledged) {
        if self.fast_increase {
            if self.trend.value >= INCIPIENT {
                self.fast_increase = false;
            } else {
                if ack.in_flight * 1.5 + ack.bytes > self.size {
                    self.size += ack.bytes;
                }
                return;
            }
        }
        // as in LEDBAT (RFC 6817)
        let off_target = (self.target.value - ack.delay) / self.target.value;
        let is_used = ack.in_flight * 1.25 + ack.bytes > self.size;
        if off_target <= 0.0 || is_used {
            self.size += GAIN * off_target * ack.bytes * self.mss / self.size;
        }
        self.size = self.size.min(ack.most_in_flight * HEAD_ROOM).max(MIN_WINDOW);
    }

    /// `loss_event_rate`: the share of round trips with losses.
    fn count_round(&mut self, now: Time, rtt: Duration, lost: bool) {
        if lost {
            self.losses = LOSS_MEMORY * self.losses + (1.0 - LOSS_MEMORY);
            self.round = now;
        } else if now.since(self.round) > rtt {
            self.losses *= LOSS_MEMORY;
            self.round = now;
        }
    }

    /// `send_wnd` in bytes: bytes that may be sent with `in_flight` bytes in flight.
    pub(super) fn room(&self, in_flight: f64) -> f64 {
        let slack = if self.delay <= self.target.value { self.mss } else { 0.0 };
        self.size + slack - in_flight
    }
}
