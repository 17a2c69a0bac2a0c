//! Careful Resume (RFC 9959; read as draft-ietf-tsvwg-careful-resume-24): a connection begins with half the
//! window that an earlier one had on the same path, paced over an RTT, and retreats if the path cannot carry
//! it.
//!
//! | phase | window | until |
//! |---|---|---|
//! | Reconnaissance | slow start | the initial window is acknowledged: Unvalidated, if the RTT is that of the path |
//! | Unvalidated | min(`max_jump`, saved window / 2), paced over the current RTT | it is sent, or its first packet is acknowledged, or an RTT has elapsed |
//! | Validating | slow start from the bytes in flight | the last packet of Unvalidated is acknowledged |
//! | Safe Retreat, after congestion in the two | half of `PipeSize`; does not grow | the same; threshold: `PipeSize` times beta |
//! | Normal | slow start | |
//!
//! `PipeSize`: bytes in flight before the jump, and all bytes acknowledged since.
//!
//! | | RFC 9959 | here |
//! |---|---|---|
//! | initial data acknowledged (3.2) | all packets of the initial window | as many bytes as the initial window, including those of the handshake |
//! | the jump may wait (3.2) | until more is to be sent than the window permits | the same: until the window is used |
//! | path confirmed (3.2, 4.2.1) | minimum RTT above half the saved one; ten times it indicates a change | both are checked when the jump is due; RTTs are not checked after it |
//! | saved values: lifetime, endpoint, one user | MUST | a scenario determines when they apply |
//! | `jump_cwnd` not above the window (3.3) | not said | no jump |
//! | everything sent (3.3) | at the moment of the last packet | detected at the next acknowledgement; nothing is sent between them |
//! | beta (3.5) | 0.5 to 1, by default 0.5 | that of the control: CUBIC 0.7 |
//! | `W_max` of CUBIC after a retreat | not said | `PipeSize` (assumed) |
//! | loss recovery (3.5) | no PRR; one packet at once | no PRR in TCP; no extra packet |
//! | other limits (4.7) | "might need to update these mechanisms" | not changed: in lab-tcp the receive window grows as in Linux, from 65,535 B on, and limits a larger jump |
//! | Normal after validation (3.7) | normal congestion control | slow start until the first loss |

use super::Ack;
use super::slow_start::{
    Convergence, RecoveryStep, Reduction, SlowStartDecision, SlowStartInput, SlowStartPolicy, paced_over,
    part_of,
};
use quiclab_core::{ByteCount, DataRate, Duration, Time, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum ratio of an RTT to the saved one; a larger RTT belongs to another path (section 4.2.1).
const LARGEST_RATIO: u64 = 10;

/// Path parameters from an earlier connection on the same path (RFC 9959 section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SavedPath {
    /// Bytes that it had in flight in a round trip, `saved_cwnd`.
    #[schemars(transform = limits::at_least("1 B"))]
    pub window: ByteCount,
    /// Its smallest RTT, `saved_rtt`.
    #[schemars(transform = limits::above("0 s"))]
    pub rtt: Duration,
}

/// Policy Careful Resume.
#[derive(Clone, Debug)]
pub struct CarefulResume {
    saved: SavedPath,
    /// Maximum window of the jump in bytes.
    max_jump: u64,
    initial_window: u64,
    phase: Phase,
    /// `PipeSize` in bytes.
    pipe: u64,
    /// Latest RTT sample; `None` before the first.
    rtt: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Before the jump, with the number of bytes acknowledged.
    Reconnaissance {
        acked: u64,
    },
    /// During the jump, since an instant, from a position on.
    Unvalidated {
        since: Time,
        first: u64,
    },
    /// After the jump, up to a position.
    Validating {
        last: u64,
    },
    SafeRetreat {
        last: u64,
        beta: f64,
    },
    Normal,
}

impl CarefulResume {
    /// Makes a policy from an earlier connection that jumps to at most `max_jump` bytes.
    #[must_use]
    pub fn new(saved: SavedPath, max_jump: Option<u64>, initial_window: u64) -> Self {
        let max_jump = max_jump.unwrap_or(u64::MAX);
        let phase = Phase::Reconnaissance { acked: 0 };
        Self { saved, max_jump, initial_window, phase, pipe: 0, rtt: None }
    }

    /// `jump_cwnd` (section 3.3).
    fn jump(&self) -> u64 {
        self.max_jump.min(self.saved.window.bytes() / 2)
    }

    /// Whether an RTT may be that of the saved path.
    fn confirms(&self, min_rtt: Option<Duration>) -> bool {
        let saved = self.saved.rtt;
        min_rtt.is_some_and(|rtt| rtt > saved / 2 && rtt <= saved * LARGEST_RATIO)
    }

    /// Step of Reconnaissance, after `acked` bytes in total.
    fn reconnoitre(&mut self, question: &SlowStartInput<'_>, acked: u64) -> SlowStartDecision {
        let ack = question.ack;
        self.phase = Phase::Reconnaissance { acked };
        if acked < self.initial_window || !ack.cwnd_limited {
            return SlowStartDecision::GO_ON;
        }
        if !self.confirms(question.min_rtt) || self.jump() <= question.window {
            self.phase = Phase::Normal;
            return SlowStartDecision::GO_ON;
        }
        self.phase = Phase::Unvalidated { since: ack.now, first: ack.next_position };
        self.pipe = ack.in_flight;
        SlowStartDecision::Window(self.jump())
    }

    /// Step of Unvalidated since an instant, with packets from `first` on.
    fn jumped(&mut self, question: &SlowStartInput<'_>, since: Time, first: u64) -> SlowStartDecision {
        let ack = question.ack;
        let all_sent = ack.prior_in_flight + question.mss > question.window;
        let flight = if all_sent { ack.prior_in_flight } else { ack.in_flight };
        let over = self.rtt.is_some_and(|rtt| ack.now.since(since) > rtt);
        if !(all_sent || over || ack.acked_position > first) {
            self.pipe += ack.acked_bytes;
            return SlowStartDecision::Hold;
        }
        let pipe = self.pipe + if all_sent { 0 } else { ack.acked_bytes };
        self.pipe += ack.acked_bytes;
        if flight < self.initial_window || flight <= pipe {
            self.phase = Phase::Normal;
            return SlowStartDecision::Window(pipe.max(self.initial_window));
        }
        self.phase = Phase::Validating { last: ack.next_position };
        SlowStartDecision::Window(flight)
    }

    fn leave_retreat(&mut self, beta: f64) -> Convergence {
        self.phase = Phase::Normal;
        Convergence { ssthresh: part_of(self.pipe, beta), full: self.pipe }
    }
}

impl SlowStartPolicy for CarefulResume {
    fn on_ack(&mut self, question: &SlowStartInput<'_>) -> SlowStartDecision {
        self.rtt = question.rtt.or(self.rtt);
        if !question.initial {
            self.phase = Phase::Normal;
        }
        let ack = question.ack;
        match self.phase {
            Phase::Reconnaissance { acked } => self.reconnoitre(question, acked + ack.acked_bytes),
            Phase::Unvalidated { since, first } => self.jumped(question, since, first),
            Phase::Validating { last } => {
                self.pipe += ack.acked_bytes;
                if ack.acked_position >= last {
                    self.phase = Phase::Normal;
                }
                SlowStartDecision::GO_ON
            }
            Phase::SafeRetreat { .. } | Phase::Normal => SlowStartDecision::GO_ON,
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction<'_>) -> Option<u64> {
        let last = match self.phase {
            Phase::Unvalidated { .. } => reduction.event.next_position,
            Phase::Validating { last } => last,
            Phase::Reconnaissance { .. } | Phase::SafeRetreat { .. } | Phase::Normal => {
                self.phase = Phase::Normal;
                return None;
            }
        };
        self.phase = Phase::SafeRetreat { last, beta: reduction.beta };
        Some(self.pipe / 2)
    }

    fn on_recovery_ack(&mut self, ack: &Ack, _window: u64) -> RecoveryStep {
        self.pipe += ack.acked_bytes;
        match self.phase {
            Phase::SafeRetreat { last, beta } if ack.acked_position >= last => {
                RecoveryStep::Done(self.leave_retreat(beta))
            }
            _ => RecoveryStep::Hold,
        }
    }

    fn on_recovery_end(&mut self, window: u64) -> Convergence {
        match self.phase {
            Phase::SafeRetreat { beta, .. } => self.leave_retreat(beta),
            _ => Convergence { ssthresh: window, full: window },
        }
    }

    fn owns_recovery(&self) -> bool {
        matches!(self.phase, Phase::SafeRetreat { .. })
    }

    fn on_undo(&mut self) {
        self.phase = Phase::Normal;
    }

    fn on_timeout(&mut self, _now: Time, _next_position: u64) {
        self.phase = Phase::Normal;
    }

    fn pacing_rate(&self, window: u64) -> Option<DataRate> {
        match self.phase {
            Phase::Unvalidated { .. } => paced_over(window, self.rtt),
            _ => None,
        }
    }
}

#[cfg(test)]
#[path = "careful_resume_tests.rs"]
mod tests;
