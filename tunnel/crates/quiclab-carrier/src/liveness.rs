//! Liveness of a path as the tunnel detects it: faster than QUIC's idle timeout and separately for each path.
//!
//! | | |
//! | --- | --- |
//! | dead | a packet has been unanswered for the longer of 3 PTO and 500 ms |
//! | probed | while silent, by a PING every keep-alive interval; while dead, four times a second |
//! | alive again | with the first acknowledgement |
//!
//! PTO without the peer's delay of acknowledgements is smoothed RTT + 4 · its variation (RFC 9002 section 6.2.1);
//! noq does not report the variation, so half the RTT is used, as for a first sample, and 25 ms are added.

use super::gated_controller::GatedController;
use quiclab_core::{Duration, Time};

pub(super) const MIN_SILENCE: Duration = Duration::from_millis(500);
pub(super) const PROBE_INTERVAL: Duration = Duration::from_millis(250);
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

/// Maximum time of an answer: 3 PTO, at least [`MIN_SILENCE`].
pub(super) fn patience(srtt: Duration) -> Duration {
    let pto = srtt * 3 + MAX_ACK_DELAY;
    MIN_SILENCE.max(pto * 3)
}

/// Result of a check at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LivenessCheck {
    /// Whether the path is alive, if that has changed.
    pub(crate) changed: Option<bool>,
    /// Whether a PING is due.
    pub(crate) ask: bool,
}

/// Liveness of a path.
#[derive(Clone, Debug)]
pub(crate) struct Liveness {
    keep_alive: Duration,
    /// Time since which it is dead; `None` while alive.
    dead_since: Option<Time>,
    asked: Time,
}

impl Liveness {
    pub(crate) fn new(now: Time, keep_alive: Duration) -> Self {
        Self { keep_alive, dead_since: None, asked: now }
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.dead_since.is_none()
    }

    /// Marks the path as suspect because the peer reports that it does not answer: it must be probed.
    pub(crate) fn mark_suspect(&mut self, now: Time) {
        if self.is_alive() {
            self.dead_since = Some(now);
            self.asked = Time::ZERO;
        }
    }

    /// Whether it was probed after `time`.
    pub(crate) fn asked_since(&self, time: Time) -> bool {
        self.asked > time
    }

    /// Time since it was probed.
    pub(crate) fn asked_for(&self, now: Time) -> Duration {
        now.since(self.asked)
    }

    /// Records that it is probed now.
    pub(crate) fn ask(&mut self, now: Time) {
        self.asked = now;
    }

    /// Time of the next check.
    pub(crate) fn deadline(&self, gate: &GatedController, srtt: Duration) -> Time {
        if self.dead_since.is_some() {
            return self.asked + PROBE_INTERVAL;
        }
        match gate.waiting_since() {
            Some(since) => since + patience(srtt),
            None => self.asked.max(gate.answered().unwrap_or_default()) + self.keep_alive,
        }
    }

    pub(crate) fn look(&mut self, now: Time, gate: &GatedController, srtt: Duration) -> LivenessCheck {
        let mut changed = None;
        if let Some(since) = self.dead_since {
            if gate.answered().is_some_and(|answered| answered > since) {
                self.dead_since = None;
                changed = Some(true);
            }
        } else if gate.waiting_since().is_some_and(|since| since + patience(srtt) <= now) {
            self.dead_since = Some(now);
            self.asked = Time::ZERO;
            changed = Some(false);
        }
        let silent = self.dead_since.is_some() || gate.waiting_since().is_none();
        let ask = silent && self.deadline(gate, srtt) <= now;
        if ask {
            self.asked = now;
        }
        LivenessCheck { changed, ask }
    }
}
