//! States, eras and transitions (section 4).

use super::{C4, MIN_MAX_RTT, ONE, Signal, bytes_in};
use crate::congestion::bbr::time_of;
use crate::congestion::{Phase, SavedPath};
use quiclab_core::Duration;

/// Number of eras without an increase after which Initial ends, and after which delay or marks may end it
/// (section 4.2).
const ERAS_NO_INCREASE: u32 = 3;
const ERAS_BEFORE_SIGNAL: u32 = 2;
/// Number of packets after which losses may end Initial.
const PACKETS_BEFORE_LOSS: u64 = 20;
/// Number of eras of Resuming and of Cruising, and minimum and maximum number of eras of Pushing (sections
/// 4.3, 4.5, 4.7, 4).
const RESUMING_ERAS: u32 = 2;
const CRUISING_ERAS: u32 = 2;
const PUSHING_ERAS: u32 = 2;
const MAX_PUSHING_ERAS: u32 = 3;
/// Number of successive Recoveries with congestion that constitute persistent congestion (section 5.5.2).
const PERSISTENT: u32 = 2;

/// Multiple of the nominal rate, in units of 1/32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Alpha(u64);

impl Alpha {
    pub(super) const INITIAL: Self = Self(64);
    pub(super) const NEUTRAL: Self = Self(32);
    pub(super) const RECOVERY: Self = Self(30);
    pub(super) const DRAINING: Self = Self(28);
    pub(super) const PROBING: Self = Self(34);
    pub(super) const PROBING_MARKED: Self = Self(33);
    pub(super) const PUSHING: Self = Self(40);
    /// Alpha of Resuming, without effect on rate and window, which are those of the saved path; above
    /// neutral, as the queue is its own.
    pub(super) const RESUMING: Self = Self(96);

    /// Product with a rate, rounded down.
    pub(super) fn of(self, rate: u64) -> u64 {
        rate.saturating_mul(self.0) / 32
    }
}

/// States of section 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Initial,
    Resuming,
    Recovery,
    Cruising,
    Probing,
    Pushing,
}

impl State {
    pub(super) fn phase(self) -> Phase {
        match self {
            Self::Initial => Phase::C4Initial,
            Self::Resuming => Phase::C4Resuming,
            Self::Recovery => Phase::C4Recovery,
            Self::Cruising => Phase::C4Cruising,
            Self::Probing => Phase::C4Probing,
            Self::Pushing => Phase::C4Pushing,
        }
    }
}

impl C4 {
    /// Starts an era with packet `next`.
    fn begin_era(&mut self, next: u64) {
        self.era_sequence = next;
        (self.era_max_rtt, self.era_min_rtt) = (None, None);
        (self.era_limited, self.era_filled) = (false, false);
        self.last_flight = std::mem::take(&mut self.era_flight);
        self.alpha_previous = self.alpha_current;
        self.update_ecn_alpha();
    }

    pub(super) fn enter(&mut self, state: State, alpha: Alpha, next: u64) {
        self.begin_era(next);
        (self.state, self.alpha_current, self.eras) = (state, alpha, 0);
        self.era_rate = self.nominal_rate;
    }

    /// Ends the era, as its first packet is acknowledged.
    pub(super) fn end_era(&mut self, next: u64) {
        if self.state != State::Initial {
            self.update_max_rtt();
        }
        self.eras += 1;
        match self.state {
            State::Initial => self.end_initial_era(next),
            State::Resuming if self.era_limited && self.eras == 1 => {
                self.eras = 0;
                self.begin_era(next);
            }
            State::Resuming if self.eras >= RESUMING_ERAS => self.enter_recovery(next),
            State::Recovery => self.exit_recovery(next),
            State::Cruising if self.eras >= CRUISING_ERAS && !self.era_limited => {
                let alpha = if self.saw_marks { Alpha::PROBING_MARKED } else { Alpha::PROBING };
                self.enter(State::Probing, alpha, next);
            }
            State::Probing => self.enter_recovery(next),
            State::Pushing => self.end_pushing_era(next),
            State::Resuming | State::Cruising => self.begin_era(next),
        }
    }

    /// Enters Initial again, with an estimate of rate and RTT (section 4.2.1).
    pub(super) fn reenter_initial(&mut self, next: u64) {
        self.nb_eras_no_increase = 0;
        if let Some(max_rtt) = self.nominal_max_rtt {
            self.initial_cwnd = bytes_in(self.nominal_rate, max_rtt);
        }
        self.enter(State::Initial, Alpha::INITIAL, next);
    }

    /// Ends an era of Initial (section 4.2).
    fn end_initial_era(&mut self, next: u64) {
        if self.nominal_rate * 4 >= self.era_rate * 5 && self.nominal_rate > 0 {
            self.nb_eras_no_increase = 0;
        } else if (!self.era_limited || self.era_filled) && self.nominal_rate > 0 {
            self.nb_eras_no_increase += 1;
        }
        if self.nb_eras_no_increase >= ERAS_NO_INCREASE {
            self.exit_initial(next);
        } else {
            self.begin_era(next);
            self.era_rate = self.nominal_rate;
        }
    }

    /// Leaves Initial: the capacity of the path is half of the window.
    fn exit_initial(&mut self, next: u64) {
        if self.nominal_rate > 0 {
            let time = time_of(self.nominal_rate, self.cwnd / 2);
            self.nominal_max_rtt = Some(time.max(MIN_MAX_RTT));
        }
        self.draining = true;
        self.enter_recovery(next);
    }

    /// Resumes with window and rate of an earlier connection (section 4.3).
    pub(super) fn resume(&mut self, saved: SavedPath, next: u64) {
        if self.state == State::Initial {
            self.resumed = Some(saved);
            self.enter(State::Resuming, Alpha::RESUMING, next);
        }
    }

    /// Enters Recovery (section 4.4), with draining (section 5.7).
    fn enter_recovery(&mut self, next: u64) {
        self.after_probing = self.state == State::Probing;
        let before = self.era_rate;
        let draining = std::mem::take(&mut self.draining);
        self.enter(State::Recovery, if draining { Alpha::DRAINING } else { Alpha::RECOVERY }, next);
        if self.after_probing {
            self.era_rate = before;
        }
    }

    /// Leaves Recovery with the result of a probe (section 4.4).
    fn exit_recovery(&mut self, next: u64) {
        let has_grown = self.after_probing && !self.congested && self.nominal_rate > self.era_rate;
        self.reset_or_trim();
        (self.recent_max_rate, self.cycle_rate) = (0, self.nominal_rate);
        (self.congested, self.limited, self.loss_rate) = (false, false, 0);
        let jitters = match (self.running_min_rtt, self.cycle_max_rtt.take()) {
            (Some(least), Some(most)) => least * 5 < most * 2,
            _ => false,
        };
        if jitters && !self.initial_after_jitter {
            self.initial_after_jitter = true;
            self.reenter_initial(next);
        } else if has_grown {
            self.enter(State::Pushing, Alpha::PUSHING, next);
        } else {
            self.enter(State::Cruising, Alpha::NEUTRAL, next);
        }
        // of packets that were sent before
        self.ecn_alpha = 0;
    }

    /// Handles persistent congestion (section 5.5.2) and trimming (section 5.6).
    fn reset_or_trim(&mut self) {
        self.congestions = if self.congested { self.congestions + 1 } else { 0 };
        let recent = self.recent_max_rate;
        if recent == 0 || recent >= self.nominal_rate {
            return;
        }
        if self.congestions >= PERSISTENT {
            self.nominal_rate = recent;
        } else if !self.congested && !self.limited && self.nominal_rate <= self.cycle_rate {
            self.nominal_rate = (self.nominal_rate + recent) / 2;
        }
    }

    /// Ends an era of Pushing (section 4.7).
    fn end_pushing_era(&mut self, next: u64) {
        let has_grown = self.nominal_rate * 16 >= self.era_rate * 19;
        if self.eras >= PUSHING_ERAS && !has_grown {
            self.draining = true;
            self.enter_recovery(next);
        } else if self.eras >= MAX_PUSHING_ERAS {
            self.reenter_initial(next);
        } else {
            self.begin_era(next);
            self.era_rate = self.nominal_rate;
        }
    }

    /// Handles a signal (section 5.5); packets from `next` on are sent after it.
    pub(super) fn on_signal(&mut self, signal: Signal, next: u64) {
        match (self.state, signal) {
            (State::Initial, Signal::Delay(_) | Signal::Ecn(_)) => {
                if self.nb_eras_no_increase >= ERAS_BEFORE_SIGNAL {
                    self.exit_initial(next);
                    self.congested = true;
                }
                return;
            }
            (State::Initial, Signal::Loss(_)) => {
                if self.received > PACKETS_BEFORE_LOSS {
                    self.exit_initial(next);
                    self.congested = true;
                }
                return;
            }
            (State::Recovery, _) => {}
            (State::Cruising, _) => {
                let left = ONE - signal.beta();
                self.nominal_rate = part(self.nominal_rate, left);
                if let (Signal::Loss(_), Some(max_rtt)) = (signal, self.nominal_max_rtt) {
                    let lower = Duration::from_nanos(part(max_rtt.as_nanos(), left));
                    self.nominal_max_rtt = Some(lower.max(MIN_MAX_RTT));
                }
                self.enter_recovery(next);
            }
            (State::Pushing, _) => {
                self.draining = true;
                self.enter_recovery(next);
            }
            (State::Probing | State::Resuming, _) => self.enter_recovery(next),
        }
        self.congested = true;
    }
}

/// `value` x `fraction` / [`ONE`].
fn part(value: u64, fraction: u64) -> u64 {
    u64::try_from(u128::from(value) * u128::from(fraction) / u128::from(ONE)).unwrap_or(u64::MAX)
}
