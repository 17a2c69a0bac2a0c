//! Jump Start (Liu, Allman, Jin, Wang, "Congestion Control Without a Startup Phase", `PFLDnet` 2007), as in
//! quicly for a connection without history (`include/quicly/cc.h`, `lib/quicly.c`, commit b11d3634): a window
//! of given size at once, paced over the RTT of the handshake, then slow start.
//!
//! | | quicly | here |
//! |---|---|---|
//! | size | `default_jumpstart_cwnd_packets`; 0, none, by default | `max_jump` |
//! | moment | when the window is full for the first time and an RTT is known | the first RTT: of the handshake in TCP, of the first acknowledgement in QUIC |
//! | pace | jump / minimum RTT | the same, with the first RTT |
//! | first packet of the jump acknowledged | the window becomes the bytes in flight; slow start continues | the same |
//! | loss of a packet of the jump | bytes of it acknowledged so far, at least one initial window, times beta | the same |
//! | recovery | the window follows the bytes of the jump that are acknowledged, times beta | the same; threshold as the window |
//!
//! The paper was not read. According to others, the window is that of the receiver and the data queued by the
//! application; here the size is an option.

use super::slow_start::{
    Convergence, RecoveryStep, Reduction, SlowStartDecision, SlowStartInput, SlowStartPolicy, paced_over,
    part_of,
};
use super::{Ack, LostPacket};
use quiclab_core::{DataRate, Duration, Time};

/// Policy Jump Start.
#[derive(Clone, Debug)]
pub struct JumpStart {
    jump: u64,
    initial_window: u64,
    /// RTT over which the jump is paced; `None` before the first sample.
    rtt: Option<Duration>,
    stage: Stage,
    /// Bytes of the jump acknowledged.
    acked: u64,
    /// Position of the first packet declared lost since the last acknowledgement.
    lost: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Waiting,
    /// During the jump, from a position on.
    Jumping {
        first: u64,
    },
    /// Slow start; packets of the jump up to a position are in flight.
    Jumped {
        first: u64,
        last: u64,
    },
    Recovering {
        first: u64,
        last: u64,
        beta: f64,
    },
    Over,
}

impl JumpStart {
    /// Makes a policy that jumps to `jump` bytes; `rtt`: RTT of the handshake, if known.
    #[must_use]
    pub fn new(jump: u64, rtt: Option<Duration>, initial_window: u64) -> Self {
        Self { jump, initial_window, rtt, stage: Stage::Waiting, acked: 0, lost: None }
    }
}

impl SlowStartPolicy for JumpStart {
    fn initial_window(&mut self, initial: u64) -> u64 {
        if self.rtt.is_none() || self.jump <= initial {
            return initial;
        }
        self.stage = Stage::Jumping { first: 0 };
        self.jump
    }

    fn on_ack(&mut self, question: &SlowStartInput<'_>) -> SlowStartDecision {
        let ack = question.ack;
        self.lost = None;
        match self.stage {
            Stage::Waiting => {
                let Some(rtt) = question.rtt else { return SlowStartDecision::GO_ON };
                if self.jump <= question.window || !question.initial {
                    self.stage = Stage::Over;
                    return SlowStartDecision::GO_ON;
                }
                self.rtt = Some(rtt);
                self.stage = Stage::Jumping { first: ack.next_position };
                SlowStartDecision::Window(self.jump)
            }
            Stage::Jumping { first } if ack.acked_position > first => {
                self.acked += ack.acked_bytes;
                self.stage = Stage::Jumped { first, last: ack.next_position };
                SlowStartDecision::Window(ack.prior_in_flight)
            }
            Stage::Jumping { .. } => SlowStartDecision::Hold,
            Stage::Jumped { last, .. } => {
                self.acked += ack.acked_bytes;
                if ack.acked_position >= last {
                    self.stage = Stage::Over;
                }
                SlowStartDecision::GO_ON
            }
            Stage::Recovering { .. } | Stage::Over => SlowStartDecision::GO_ON,
        }
    }

    fn on_lost(&mut self, packet: &LostPacket) {
        self.lost = Some(self.lost.map_or(packet.position, |lost| lost.min(packet.position)));
    }

    fn on_congestion(&mut self, reduction: &Reduction<'_>) -> Option<u64> {
        let beta = reduction.beta;
        let next = reduction.event.next_position;
        let (first, last) = match self.stage {
            Stage::Jumping { first } => (first, next),
            Stage::Jumped { first, last } => (first, last),
            _ => return None,
        };
        if self.lost.is_some_and(|lost| lost >= last) {
            self.stage = Stage::Over;
            return None;
        }
        self.stage = Stage::Recovering { first, last, beta };
        Some(part_of(self.acked.max(self.initial_window), beta))
    }

    fn on_recovery_ack(&mut self, ack: &Ack, window: u64) -> RecoveryStep {
        let Stage::Recovering { first, last, beta } = self.stage else { return RecoveryStep::Hold };
        if ack.acked_position > first {
            self.acked += ack.acked_bytes;
        }
        let window = window.max(part_of(self.acked, beta));
        if ack.acked_position >= last {
            self.stage = Stage::Over;
            return RecoveryStep::Done(Convergence { ssthresh: window, full: part_of(window, 1.0 / beta) });
        }
        RecoveryStep::Window(window)
    }

    fn on_recovery_end(&mut self, window: u64) -> Convergence {
        let full = match self.stage {
            Stage::Recovering { beta, .. } => part_of(window, 1.0 / beta),
            _ => window,
        };
        self.stage = Stage::Over;
        Convergence { ssthresh: window, full }
    }

    fn owns_recovery(&self) -> bool {
        matches!(self.stage, Stage::Recovering { .. })
    }

    fn on_undo(&mut self) {
        self.stage = Stage::Over;
    }

    fn on_timeout(&mut self, _now: Time, _next_position: u64) {
        self.stage = Stage::Over;
    }

    fn pacing_rate(&self, _window: u64) -> Option<DataRate> {
        match self.stage {
            Stage::Jumping { .. } => paced_over(self.jump, self.rtt),
            _ => None,
        }
    }
}

#[cfg(test)]
#[path = "jump_start_tests.rs"]
mod tests;
