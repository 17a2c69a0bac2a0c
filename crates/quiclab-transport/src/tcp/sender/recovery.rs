//! States of recovery and of reductions for marks (Linux `tcp_fastretrans_alert`): start, end and undo, and
//! the response to a timeout.
//!
//! | undo | evidence | after |
//! | --- | --- | --- |
//! | Eifel (RFC 3522, 4015) | the acknowledgement echoes a timestamp older than the first retransmission | recovery, partial acknowledgement, timeout |
//! | DSACK (RFC 3708) | every retransmission was reported as a duplicate | recovery |
//! | F-RTO (RFC 5682) | data sent before the timeout arrive without a retransmission | timeout |

use super::acknowledge::{Retransmit, Work};
use super::{Sender, State};
use crate::congestion::CongestionEvent;
use quiclab_core::Time;

impl Sender {
    /// Handles an acknowledgement that is not plain progress.
    pub(super) fn alert(&mut self, now: Time, duplicate: bool, work: &mut Work) -> Retransmit {
        self.frto.set_new_data_first(false);
        if work.marked {
            self.undo.on_marks();
        }
        self.count_duplicate(duplicate, work);
        if self.state == State::Open {
            self.undo.forget_retransmissions();
        } else if self.state == State::Recovery && self.snd.acknowledged() >= self.high {
            self.finish_recovery(now, work);
        } else if self.state == State::Cwr && self.snd.acknowledged() > self.high {
            // a segment behind `high` has delivered CWR to the receiver
            self.state = State::Open;
            if !self.controller.owns_recovery() {
                self.end_reduction(now);
            }
        }
        match self.state {
            State::Recovery => {
                if work.advanced && !self.sack {
                    self.mark_head_lost(now, work); // NewReno's partial acknowledgement (RFC 6582 section 3.2)
                }
                if work.advanced && self.undo_partial(now, work) {
                    return Retransmit::Nothing;
                }
                if self.undo_by_dsack(now) {
                    self.try_open(now, work);
                }
                self.detect_losses(now, work);
                if self.state != State::Recovery && self.must_recover() {
                    self.enter_recovery(now, work.marked);
                }
            }
            State::Loss => {
                let next = self.process_loss(now, duplicate, work);
                self.detect_losses(now, work);
                // the timeout was undone, or a retransmission was lost: a separate recovery
                if self.state != State::Open && !work.retransmission_lost {
                    return next;
                }
                self.open_or_recover(now, work);
            }
            State::Open | State::Disorder | State::Cwr => {
                if work.advanced {
                    self.board.forget_duplicates(); // they were of another hole (tcp_reset_reno_sack)
                }
                if self.state != State::Cwr {
                    self.undo_by_dsack(now);
                }
                self.detect_losses(now, work);
                self.open_or_recover(now, work);
            }
        }
        Retransmit::Nothing
    }

    fn open_or_recover(&mut self, now: Time, work: &Work) {
        if self.must_recover() { self.enter_recovery(now, work.marked) } else { self.try_open(now, work) }
    }

    fn must_recover(&self) -> bool {
        self.board.lost() > 0
    }

    /// Starts recovery, once for all losses of a round trip (RFC 6675 section 5). A reduction for marks
    /// continues.
    pub(super) fn enter_recovery(&mut self, now: Time, marked: bool) {
        self.begin_undo();
        self.undo.allow(!marked && self.state != State::Cwr);
        if self.state == State::Cwr {
            self.controller.on_loss_after_marks(u64::from(self.cwnd()) * self.payload);
            self.reduction.set_target(self.target());
        } else if self.state != State::Recovery {
            self.cut(now, false);
        }
        self.state = State::Recovery;
    }

    /// Handles reported marks: the window is reduced, once in a round trip (RFC 3168 section 6.1.2;
    /// `tcp_enter_cwr`).
    fn enter_cwr(&mut self, now: Time) {
        self.undo.on_marks();
        if self.state < State::Cwr {
            self.undo.forget_reduction();
            self.cut(now, true);
            self.state = State::Cwr;
        }
    }

    /// Whether the window is being reduced step by step (`tcp_in_cwnd_reduction`).
    pub(super) fn is_reducing(&self) -> bool {
        matches!(self.state, State::Cwr | State::Recovery)
    }

    /// Starts a reduction of the window for marks or losses, which PRR paces (`tcp_init_cwnd_reduction`).
    fn cut(&mut self, now: Time, ecn: bool) {
        let prior = self.cwnd();
        self.high = self.snd.next();
        self.tail_probe.forget();
        self.counts.congestion_events += 1;
        let event = self.event(now, ecn);
        self.controller.on_congestion(&event);
        self.ecn.on_reduction();
        if self.controller.owns_recovery() {
            return;
        }
        self.reduction.begin(prior, self.target());
    }

    /// Target of the reduction: the controller's window in segments.
    fn target(&self) -> u32 {
        u32::try_from(self.controller.window() / self.payload).unwrap_or(u32::MAX)
    }

    fn event(&self, now: Time, ecn: bool) -> CongestionEvent {
        CongestionEvent {
            now,
            in_flight: self.in_flight_bytes(),
            next_position: self.snd.next(),
            ecn,
            persistent: false,
        }
    }

    /// Reduces the window without recovery after the tail loss probe repaired a loss (RFC 8985 section
    /// 7.4.2).
    pub(super) fn cut_for_probe(&mut self, now: Time) {
        self.cut(now, false);
        self.end_reduction(now);
        self.try_keep_open();
    }

    fn end_reduction(&mut self, now: Time) {
        self.reduction.end();
        self.controller.on_recovery_end(now);
    }

    /// Ends recovery: all data sent before it are acknowledged.
    fn finish_recovery(&mut self, now: Time, work: &Work) {
        self.board.forget_duplicates();
        if self.may_undo(work) {
            self.undo(now, false);
        } else {
            self.rack.on_recovery_end();
        }
        if self.must_hold_state() {
            return;
        }
        // the marker for an undo remains: a DSACK may arrive later (RFC 3708)
        self.state = State::Open;
        self.end_reduction(now);
    }

    /// Whether to wait without SACK until data beyond `high` are acknowledged: duplicates of the
    /// retransmissions may still arrive (RFC 6582 section 3.2 step 2 and section 4;
    /// `tcp_is_non_sack_preventing_reopen`).
    fn must_hold_state(&self) -> bool {
        !self.sack && self.snd.acknowledged() == self.high
    }

    /// Handles a retransmission timeout (`tcp_enter_loss`); segments are already marked lost.
    pub(super) fn enter_loss(&mut self, now: Time) {
        let fresh = self.state < State::Recovery;
        let cut = self.state <= State::Disorder
            || self.high <= self.snd.acknowledged()
            || (self.state == State::Loss && self.retries.timeouts() == 0);
        self.reduction.end();
        if cut {
            self.begin_undo();
            self.undo.allow(true);
            self.counts.congestion_events += 1;
        }
        let event = self.event(now, false);
        self.controller.on_timeout(&event, cut);
        self.ecn.on_reduction();
        if self.state <= State::Disorder {
            self.reordering.on_timeout(self.board.sacked());
        }
        self.state = State::Loss;
        self.high = self.snd.next();
        self.frto.on_timeout(fresh || self.retries.timeouts() > 0);
        self.tail_probe.forget(); // acknowledgements from now on do not show it
    }

    /// Handles an acknowledgement after a timeout (`tcp_process_loss`).
    fn process_loss(&mut self, now: Time, duplicate: bool, work: &Work) -> Retransmit {
        let recovered = self.snd.acknowledged() >= self.high;
        if work.advanced && self.undo_loss(now, false, work) {
            return Retransmit::Nothing;
        }
        if self.frto.is_active() {
            // step 3.b: data that were not retransmitted arrive: the timeout was spurious
            if work.original_sacked && self.undo_loss(now, true, work) {
                return Retransmit::Nothing;
            }
            if self.snd.next() > self.high {
                if work.sacked || duplicate {
                    self.frto.end(); // step 3.a: the loss was real
                }
            } else if work.advanced && !recovered {
                self.high = self.snd.next();
                // step 2.b: new data, if there are any and the peer's window permits them
                if self.snd.next() < self.writes.end() && self.snd.next() < self.snd.window_end() {
                    return Retransmit::NewDataFirst;
                }
                self.frto.end();
            }
        }
        if recovered {
            self.board.forget_duplicates();
            if self.may_undo(work) {
                self.undo(now, false);
            } else {
                self.rack.on_recovery_end();
            }
            if !self.must_hold_state() {
                self.state = State::Open;
                self.controller.on_recovery_end(now);
            }
        } else if !self.sack && work.advanced {
            self.board.forget_duplicates();
        }
        Retransmit::Nothing
    }

    fn begin_undo(&mut self) {
        self.undo.begin(self.snd.acknowledged(), self.board.retransmitted());
    }

    /// Whether the reduction proves wrong (`tcp_may_undo`).
    fn may_undo(&self, work: &Work) -> bool {
        self.undo.are_all_duplicates() || (self.undo.has_reduction() && self.is_delayed(work))
    }

    /// Whether a segment was delayed, not lost (Eifel detection); without SACK, this is unknown after
    /// recovery for segments not retransmitted yet.
    fn is_delayed(&self, work: &Work) -> bool {
        self.undo.is_delayed(work.echo, self.sack || self.snd.acknowledged() < self.high)
    }

    pub(super) fn undo(&mut self, now: Time, clear_lost: bool) {
        if clear_lost {
            self.board.clear_lost();
        }
        self.reduction.end();
        if self.undo.is_allowed() {
            self.controller.on_spurious(now);
            self.ecn.on_undo();
        }
        self.counts.undos += 1;
        self.undo.forget_reduction();
        self.rack.reconsider();
    }

    /// Handles a partial acknowledgement of a segment that was delayed, not lost (`tcp_try_undo_partial`).
    /// Returns whether processing ends here, as retransmissions are still in flight.
    fn undo_partial(&mut self, now: Time, work: &Work) -> bool {
        if !self.undo.has_reduction() || !self.is_delayed(work) {
            return false;
        }
        self.note_reordering(work.prior_acknowledged);
        if self.board.retransmitted() > 0 {
            return true;
        }
        self.undo(now, true);
        self.try_keep_open();
        false
    }

    pub(super) fn undo_by_dsack(&mut self, now: Time) -> bool {
        if !self.undo.are_all_duplicates() {
            return false;
        }
        self.rack.on_undo();
        self.undo(now, false);
        true
    }

    fn undo_loss(&mut self, now: Time, by_frto: bool, work: &Work) -> bool {
        if !self.undo.is_enabled() || !(by_frto || self.may_undo(work)) {
            return false;
        }
        self.undo(now, true);
        self.retries.on_progress();
        self.state = State::Open;
        self.frto.end();
        true
    }

    /// Returns to Open or Disorder, or to a reduction for marks, as nothing is lost (`tcp_try_to_open`).
    fn try_open(&mut self, now: Time, work: &Work) {
        if self.board.retransmitted() == 0 && !self.any_retransmitted() {
            self.undo.forget_retransmissions();
        }
        if work.marked {
            self.enter_cwr(now);
        }
        if self.state != State::Cwr {
            self.try_keep_open();
        }
    }

    fn try_keep_open(&mut self) {
        let left = self.board.sacked() + self.board.lost() + self.board.duplicates() > 0;
        let state = if left || self.any_retransmitted() { State::Disorder } else { State::Open };
        if self.state != state {
            self.state = state;
            self.high = self.snd.next();
        }
    }

    fn any_retransmitted(&self) -> bool {
        self.board.retransmitted() > 0 || self.board.front().is_some_and(|head| head.marks.ever_retransmitted)
    }
}
