//! Rapid Start (draft-kazuho-ccwg-rapid-start-02): the window triples in a round trip until a queue builds
//! up, then it doubles; at the first loss it converges to the amount that the path delivers.
//!
//! | | draft | here |
//! |---|---|---|
//! | full-RTT pacing (3.1) | SHOULD, when more is sent for the first time than slow start with pacing would send; an initial window of up to twice the usual one | the round trip after the first growth by more than the bytes acknowledged, at window / smoothed RTT; `initial_window` is a separate option |
//! | queue (3.2) | minimum RTT of about a round trip above min(min RTT + 4 ms, 1.1 min RTT) | the same; of the last four quarters of the minimum RTT, as in quicly |
//! | recovery (3.3) | window times a silence factor, then less a factor of the bytes acknowledged and lost | the same; bytes lost and delivered with the acknowledgement that starts recovery count |
//! | minimum window (3.3) | a third of beta times the window (SHOULD NOT be below); initial window times beta (MAY) | both |
//! | after it | the rules of the control; CUBIC's `W_max` is not specified | `W_max` is window / beta, the estimate of the full path (assumed) |
//! | TCP (4.1) | "it is up to each TCP implementation" how delivered and lost bytes are counted | those of the scoreboard; a retransmission that is lost again counts again; PRR is inactive |
//! | growth in TCP | | in Linux a window grows only to twice the outstanding packets (`tcp_is_cwnd_limited`) |
//! | HyStart++ | can be combined | not combined |

use super::slow_start::{
    Convergence, RecoveryStep, Reduction, SlowStartDecision, SlowStartInput, SlowStartPolicy, paced_over,
    part_of,
};
use super::{Ack, LostPacket};
use quiclab_core::{DataRate, Duration, Time};

/// K (section 3.3.1).
const K: f64 = 2.0 / 3.0;
/// Additive term of `queue_buildup_thresh` (section 3.2).
const TOLERANCE: Duration = Duration::from_millis(4);
/// Number of parts of the minimum RTT whose minimum samples are kept.
const PARTS: usize = 4;

/// Policy Rapid Start.
#[derive(Clone, Debug)]
pub struct RapidStart {
    initial_window: u64,
    stage: Stage,
    floor: RttFloor,
    pacing: FirstFlight,
    srtt: Option<Duration>,
    /// Bytes declared lost since the last acknowledgement.
    lost: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Growing,
    Recovering { beta: f64, least: u64 },
    Over,
}

/// State of the flight that is paced over a full RTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstFlight {
    Waiting,
    /// Paced until a packet beyond this position is acknowledged.
    Until(u64),
    Over,
}

/// Minimum RTT samples of the last parts of a round trip; `Duration::MAX`: none.
#[derive(Clone, Copy, Debug)]
struct RttFloor {
    samples: [Duration; PARTS],
    /// End of the newest part; `None` before the first sample.
    end: Option<Time>,
}

impl RttFloor {
    const NEW: Self = Self { samples: [Duration::MAX; PARTS], end: None };

    fn sample(&mut self, now: Time, rtt: Duration, min_rtt: Duration) {
        let part = (min_rtt / PARTS as u64).max(Duration::from_nanos(1));
        let end = *self.end.get_or_insert(now + part);
        if now < end {
            self.samples[0] = self.samples[0].min(rtt);
            return;
        }
        let passed = now.since(end).as_nanos() / part.as_nanos() + 1;
        let by = usize::try_from(passed).unwrap_or(PARTS).min(PARTS);
        self.samples.copy_within(..PARTS - by, by);
        self.samples[..by].fill(Duration::MAX);
        self.samples[0] = rtt;
        self.end = Some(end + part * passed);
    }

    fn least(&self) -> Duration {
        self.samples.into_iter().min().unwrap_or(Duration::MAX)
    }
}

impl RapidStart {
    /// Makes a policy for a sender with this initial window in bytes.
    #[must_use]
    pub fn new(initial_window: u64) -> Self {
        Self {
            initial_window,
            stage: Stage::Growing,
            floor: RttFloor::NEW,
            pacing: FirstFlight::Waiting,
            srtt: None,
            lost: 0,
        }
    }
}

/// Window after `acked` and `lost` bytes of a recovery period (section 3.3), at least `least` bytes.
fn converged(window: u64, acked: u64, lost: u64, beta: f64, least: u64) -> u64 {
    let ack_factor = K * (1.0 - beta);
    let taken = part_of(acked, ack_factor) + part_of(lost, beta + ack_factor);
    window.saturating_sub(taken).max(least)
}

impl SlowStartPolicy for RapidStart {
    fn on_ack(&mut self, question: &SlowStartInput<'_>) -> SlowStartDecision {
        let ack = question.ack;
        self.lost = 0;
        self.srtt = ack.srtt;
        if let (Some(rtt), Some(min_rtt)) = (question.rtt, question.min_rtt) {
            self.floor.sample(ack.now, rtt, min_rtt);
        }
        if matches!(self.pacing, FirstFlight::Until(position) if ack.acked_position > position) {
            self.pacing = FirstFlight::Over;
        }
        if self.stage != Stage::Growing || !question.initial {
            return SlowStartDecision::GO_ON;
        }
        let builds_queue = question
            .min_rtt
            .is_none_or(|min_rtt| self.floor.least() > (min_rtt + TOLERANCE).min(min_rtt + min_rtt / 10));
        if builds_queue {
            return SlowStartDecision::GO_ON;
        }
        if self.pacing == FirstFlight::Waiting && ack.may_grow && ack.cwnd_limited {
            self.pacing = FirstFlight::Until(ack.next_position);
        }
        SlowStartDecision::Continue { gain: 2, divisor: 1, limit: None }
    }

    fn on_lost(&mut self, packet: &LostPacket) {
        self.lost += packet.bytes;
    }

    fn on_congestion(&mut self, reduction: &Reduction<'_>) -> Option<u64> {
        if self.stage != Stage::Growing {
            return None;
        }
        let Reduction { window, beta, .. } = *reduction;
        let least = part_of(window, beta / 3.0).max(part_of(self.initial_window, beta));
        self.stage = Stage::Recovering { beta, least };
        self.pacing = FirstFlight::Over;
        let silent = part_of(window, beta + K * (1.0 - beta));
        Some(converged(silent, 0, std::mem::take(&mut self.lost), beta, least))
    }

    fn on_recovery_ack(&mut self, ack: &Ack, window: u64) -> RecoveryStep {
        let lost = std::mem::take(&mut self.lost);
        match self.stage {
            Stage::Recovering { beta, least } => {
                RecoveryStep::Window(converged(window, ack.acked_bytes, lost, beta, least))
            }
            Stage::Growing | Stage::Over => RecoveryStep::Hold,
        }
    }

    fn on_recovery_end(&mut self, window: u64) -> Convergence {
        let full = match self.stage {
            Stage::Recovering { beta, .. } => part_of(window, 1.0 / beta),
            Stage::Growing | Stage::Over => window,
        };
        self.stage = Stage::Over;
        Convergence { ssthresh: window, full }
    }

    fn owns_recovery(&self) -> bool {
        matches!(self.stage, Stage::Recovering { .. })
    }

    fn on_undo(&mut self) {
        if self.owns_recovery() {
            self.stage = Stage::Growing;
        }
    }

    fn on_timeout(&mut self, _now: Time, _next_position: u64) {
        self.stage = Stage::Over;
        self.pacing = FirstFlight::Over;
    }

    fn pacing_rate(&self, window: u64) -> Option<DataRate> {
        match self.pacing {
            FirstFlight::Until(_) => paced_over(window, self.srtt),
            FirstFlight::Waiting | FirstFlight::Over => None,
        }
    }
}

#[cfg(test)]
#[path = "rapid_start_tests.rs"]
mod tests;
