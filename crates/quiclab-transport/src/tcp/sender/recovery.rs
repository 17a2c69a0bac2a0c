//! The states of recovery and of reductions for marks (Linux `tcp_fastretrans_alert`): when it begins and ends, when a reduction of
//! the window was wrong and is undone, and what follows a timeout.
//!
//! | undo | evidence | after |
//! | --- | --- | --- |
//! | Eifel (RFC 3522, 4015) | the acknowledgement echoes a timestamp older than the first retransmission | recovery, partial acknowledgement, timeout |
//! | DSACK (RFC 3708) | every retransmission was reported as a duplicate | recovery |
//! | F-RTO (RFC 5682) | data sent before the timeout arrives without having been retransmitted | timeout |

use super::acknowledge::{Retransmit, Work};
use super::{Sender, State, Undo, timestamp};
use crate::congestion::CongestionEvent;
use crate::recovery::prr::Prr;
use quiclab_core::Time;

impl Sender {
    /// Recovery looks at an acknowledgement that is not plain progress.
    pub(super) fn alert(&mut self, now: Time, duplicate: bool, work: &mut Work) -> Retransmit {
        self.new_data_first = false;
        // congestion is proven, the reduction is required
        self.undo_allowed &= !work.marked;
        self.count_duplicate(duplicate, work);
        if self.state == State::Open {
            self.first_retransmission = None;
        } else if self.state == State::Recovery && self.acknowledged >= self.high {
            self.finish_recovery(now, work);
        } else if self.state == State::Cwr && self.acknowledged > self.high {
            // something behind `high` has brought CWR to the receiver
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
                // the timeout was undone, or a retransmission was lost: a recovery of its own
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

    /// Recovery begins: once for all losses of a round trip (RFC 6675 section 5). A reduction for marks goes on.
    pub(super) fn enter_recovery(&mut self, now: Time, marked: bool) {
        self.begin_undo();
        self.undo_allowed = !marked && self.state != State::Cwr;
        if self.state == State::Cwr {
            self.controller.on_loss_after_marks(u64::from(self.cwnd()) * self.payload);
            self.retarget();
        } else if self.state != State::Recovery {
            self.cut(now, false);
        }
        self.state = State::Recovery;
    }

    /// Marks are reported: the window is reduced, once in a round trip (RFC 3168 section 6.1.2; `tcp_enter_cwr`).
    fn enter_cwr(&mut self, now: Time) {
        self.undo_allowed = false;
        if self.state < State::Cwr {
            self.undo = None;
            self.cut(now, true);
            self.state = State::Cwr;
        }
    }

    /// Whether the window is being reduced step by step (`tcp_in_cwnd_reduction`).
    pub(super) fn is_reducing(&self) -> bool {
        matches!(self.state, State::Cwr | State::Recovery)
    }

    /// The window is cut, for marks or losses, and what follows paced by PRR (`tcp_init_cwnd_reduction`).
    fn cut(&mut self, now: Time, ecn: bool) {
        let prior = self.cwnd();
        self.high = self.next;
        self.probe = None;
        self.counts.congestion_events += 1;
        let event = self.event(now, ecn);
        self.controller.on_congestion(&event);
        self.cwr_due = self.ecn.echoes();
        if self.controller.owns_recovery() {
            return;
        }
        let target = u32::try_from(self.controller.window() / self.payload).unwrap_or(u32::MAX);
        self.prr = self.prr_version().map(|version| Prr::new(version, prior, target));
        self.recovery_window = self.prr.map(|_| prior);
    }

    /// The controller has another window than when the reduction began.
    fn retarget(&mut self) {
        let target = u32::try_from(self.controller.window() / self.payload).unwrap_or(u32::MAX);
        if let Some(prr) = &mut self.prr {
            prr.set_target(target);
        }
    }

    fn event(&self, now: Time, ecn: bool) -> CongestionEvent {
        CongestionEvent {
            now,
            in_flight: self.in_flight_bytes(),
            next_position: self.next,
            ecn,
            persistent: false,
        }
    }

    /// The tail loss probe repaired a loss: the window is reduced without recovery (RFC 8985
    /// section 7.4.2).
    pub(super) fn cut_for_probe(&mut self, now: Time) {
        self.cut(now, false);
        self.end_reduction(now);
        self.try_keep_open();
    }

    fn end_reduction(&mut self, now: Time) {
        self.prr = None;
        self.recovery_window = None;
        self.controller.on_recovery_end(now);
    }

    /// Everything sent before recovery is acknowledged.
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
        // the marker for an undo stays: a DSACK may come later (RFC 3708)
        self.state = State::Open;
        self.end_reduction(now);
    }

    /// Without SACK one waits until something beyond `high` is acknowledged: duplicates of the
    /// retransmissions may still come (RFC 6582 section 3.2 step 2 and section 4;
    /// `tcp_is_non_sack_preventing_reopen`).
    fn must_hold_state(&self) -> bool {
        !self.sack && self.acknowledged == self.high
    }

    /// A retransmission timeout (`tcp_enter_loss`); segments were marked lost already.
    pub(super) fn enter_loss(&mut self, now: Time) {
        let fresh = self.state < State::Recovery;
        let cut = self.state <= State::Disorder
            || self.high <= self.acknowledged
            || (self.state == State::Loss && self.timeouts_in_row == 0);
        self.prr = None;
        self.recovery_window = None;
        if cut {
            self.begin_undo();
            self.undo_allowed = true;
            self.counts.congestion_events += 1;
        }
        let event = self.event(now, false);
        self.controller.on_timeout(&event, cut);
        self.cwr_due = self.ecn.echoes();
        if self.state <= State::Disorder && self.board.sacked() >= self.options.reordering {
            // many duplicates and yet a timeout: reordering was overestimated
            self.reordering = self.reordering.min(self.options.reordering);
        }
        self.state = State::Loss;
        self.high = self.next;
        // RFC 5682 section 3.1, step 1: not if a timeout or recovery was going on, unless by a second timeout
        self.frto = self.options.frto && (fresh || self.timeouts_in_row > 0);
        self.new_data_first = false;
        self.probe = None; // what is acknowledged from now on tells nothing about it
    }

    /// An acknowledgement after a timeout (`tcp_process_loss`).
    fn process_loss(&mut self, now: Time, duplicate: bool, work: &Work) -> Retransmit {
        let recovered = self.acknowledged >= self.high;
        if work.advanced && self.undo_loss(now, false, work) {
            return Retransmit::Nothing;
        }
        if self.frto {
            // step 3.b: data that was not retransmitted arrives: the timeout was spurious
            if work.original_sacked && self.undo_loss(now, true, work) {
                return Retransmit::Nothing;
            }
            if self.next > self.high {
                if work.sacked || duplicate {
                    self.frto = false; // step 3.a: the loss was real
                }
            } else if work.advanced && !recovered {
                self.high = self.next;
                // step 2.b: new data, if there is some and the peer's window lets it
                if self.next < self.end() && self.next < self.window_end() {
                    return Retransmit::NewDataFirst;
                }
                self.frto = false;
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
        let retransmissions = self.board.retransmitted();
        self.undo = self.options.undo.then_some(Undo {
            marker: self.acknowledged,
            retransmissions: (retransmissions > 0).then_some(retransmissions),
        });
    }

    /// A segment was retransmitted: it counts among those that a DSACK must report for an undo.
    pub(super) fn note_retransmission(&mut self, now: Time) {
        let stamp = timestamp(now);
        self.first_retransmission.get_or_insert(stamp);
        if let Some(undo) = &mut self.undo {
            undo.retransmissions = Some(undo.retransmissions.unwrap_or(0) + 1);
        }
    }

    /// Whether the reduction proves wrong (`tcp_may_undo`).
    fn may_undo(&self, work: &Work) -> bool {
        self.undo.is_some_and(|undo| undo.retransmissions == Some(0) || self.is_delayed(work))
    }

    /// Eifel detection: what is acknowledged was sent before anything was retransmitted.
    fn is_delayed(&self, work: &Work) -> bool {
        match (self.first_retransmission, work.echo) {
            (Some(first), Some(echo)) if echo != 0 => (echo.wrapping_sub(first) as i32) < 0,
            // nothing was retransmitted yet; without SACK that is forgotten when recovery is over
            (None, _) => self.sack || self.acknowledged < self.high,
            _ => false,
        }
    }

    pub(super) fn undo(&mut self, now: Time, clear_lost: bool) {
        if clear_lost {
            self.board.clear_lost();
        }
        self.prr = None;
        self.recovery_window = None;
        if self.undo_allowed {
            self.controller.on_spurious(now);
            self.cwr_due = false;
        }
        self.counts.undos += 1;
        self.undo = None;
        self.rack.reconsider();
    }

    /// A partial acknowledgement of something delayed, not lost (`tcp_try_undo_partial`). Returns whether
    /// nothing else is to be done: retransmissions are still out.
    fn undo_partial(&mut self, now: Time, work: &Work) -> bool {
        if self.undo.is_none() || !self.is_delayed(work) {
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
        if self.undo.is_none_or(|undo| undo.retransmissions != Some(0)) {
            return false;
        }
        self.rack.on_undo();
        self.undo(now, false);
        true
    }

    fn undo_loss(&mut self, now: Time, by_frto: bool, work: &Work) -> bool {
        if !self.options.undo || !(by_frto || self.may_undo(work)) {
            return false;
        }
        self.undo(now, true);
        self.timeouts_in_row = 0;
        self.state = State::Open;
        self.frto = false;
        true
    }

    /// Nothing is lost: back to Open or Disorder, or a reduction for marks (`tcp_try_to_open`).
    fn try_open(&mut self, now: Time, work: &Work) {
        if self.board.retransmitted() == 0 && !self.any_retransmitted() {
            self.first_retransmission = None;
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
            self.high = self.next;
        }
    }

    fn any_retransmitted(&self) -> bool {
        self.board.retransmitted() > 0 || self.board.front().is_some_and(|head| head.marks.ever_retransmitted)
    }
}
