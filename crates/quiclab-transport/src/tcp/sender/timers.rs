//! Purposes of the sender's timer, and the reaction to its expiry.
//!
//! | timer | when | after |
//! | --- | --- | --- |
//! | retransmission | RTO after the head was sent | RFC 6298; doubles each time |
//! | tail loss probe | 2 SRTT after the last transmission | RFC 8985 section 7.2 |
//! | reordering | when the last overtaken segment counts as lost | RFC 8985 section 6.2 |
//! | window probe | RTO after the peer closed its window, doubling | RFC 9293 section 3.8.6.1 |

use super::acknowledge::Work;
use super::tail_probe::ProbeAck;
use super::timer::Timer;
use super::{Sender, State};
use crate::recovery::prr::PrrAck;
use crate::recovery::tcp_rtt::MAX_RTO;
use quiclab_core::{Duration, Time};

impl Sender {
    /// Time at which [`Sender::on_timer`] must be called, or a paced segment may be sent.
    pub(crate) fn next_timer(&self, now: Time) -> Option<Time> {
        let timer = self.timer.deadline();
        let pacing = self.paced_until(now);
        match (timer, pacing) {
            (Some(timer), Some(pacing)) => Some(timer.min(pacing)),
            (timer, pacing) => timer.or(pacing),
        }
    }

    /// Handles the deadline of [`Sender::next_timer`] if it is due. Returns whether it was;
    /// [`Sender::transmit`] sends paced segments.
    pub(crate) fn on_timer(&mut self, now: Time) -> bool {
        let Some(timer) = self.timer.take_due(now) else { return false };
        match timer {
            Timer::Retransmission => self.on_retransmission_timeout(now),
            Timer::Probe => self.on_probe_timeout(now),
            Timer::Reordering => self.on_reordering_timeout(now),
            Timer::Window => self.on_window_timeout(now),
        }
        true
    }

    /// Sets the timer after an acknowledgement or new data: a tail loss probe if one may be sent, otherwise
    /// the retransmission timeout (`tcp_set_xmit_timer`).
    pub(super) fn set_timer(&mut self, now: Time) {
        if !self.schedule_probe(now, true) {
            self.set_retransmission_timer(now);
        }
    }

    /// Sets the retransmission timer (`tcp_rearm_rto`) from now, or from the send time of the head if another
    /// timer replaced it.
    pub(super) fn set_retransmission_timer(&mut self, now: Time) {
        let replaced = matches!(self.timer.purpose(), Some(Timer::Reordering | Timer::Probe));
        self.start_retransmission_timer(now, replaced);
    }

    /// Starts the retransmission timer from now, or from the send time of the head.
    fn start_retransmission_timer(&mut self, now: Time, from_head: bool) {
        if self.board.is_empty() {
            self.timer.clear();
            return;
        }
        let wait = if from_head { self.head_timeout().since(now) } else { self.rtt.rto() };
        self.timer.set(now, Timer::Retransmission, wait);
    }

    /// Time of the RTO after the send time of the head.
    fn head_timeout(&self) -> Time {
        self.board.front().map_or(Time::MAX, |head| head.sent + self.rtt.rto())
    }

    /// Schedules a tail loss probe (`tcp_schedule_loss_probe`). `advancing`: the retransmission timeout would
    /// restart now; otherwise it runs from the send time of the head.
    pub(super) fn schedule_probe(&mut self, now: Time, advancing: bool) -> bool {
        let open = matches!(self.state, State::Open | State::Cwr);
        if !(self.options.tail_loss_probe && self.sack)
            || self.board.is_empty()
            || !open
            || self.board.sacked() > 0
        {
            return false;
        }
        // "PTO = 2 * SRTT; if FlightSize is one segment, PTO += WCDelAckT"
        let wait = match self.rtt.smoothed() {
            Some(srtt) if self.board.outstanding() == 1 => srtt * 2 + self.rtt.min_rto(),
            Some(srtt) => srtt * 2 + self.timer.margin(),
            None => self.rtt.rto(),
        };
        let timeout = if advancing { now + self.rtt.rto() } else { self.head_timeout() };
        let wait = if timeout > now { wait.min(timeout.since(now)) } else { wait };
        self.timer.set(now, Timer::Probe, wait);
        true
    }

    /// Handles a retransmission timeout: "The sender retransmits the earliest segment not acknowledged" (RFC
    /// 6298 section 5.4).
    fn on_retransmission_timeout(&mut self, now: Time) {
        if self.board.is_empty() {
            return;
        }
        self.counts.timeouts += 1;
        // segments sent within the last RTT are probably in flight (tcp_timeout_mark_lost)
        for index in 0..self.board.len() {
            let segment = self.board.get(index);
            let recent = index > 0 && self.rack.deadline(segment.sent, Duration::ZERO) > now && self.sack;
            if !segment.marks.sacked && !recent {
                self.declare_lost(now, index);
            }
        }
        self.board.forget_duplicates();
        self.enter_loss(now);
        self.retries.on_timeout();
        self.rtt.back_off();
        self.timer.set(now, Timer::Retransmission, self.rtt.rto());
        self.update_pacing(now);
    }

    /// Handles a probe timeout (RFC 8985 section 7.3): new data if there are any, otherwise the last segment
    /// again.
    fn on_probe_timeout(&mut self, now: Time) {
        self.tail_probe.on_timeout();
        self.start_retransmission_timer(now, true);
    }

    /// Whether the probe repaired a loss (RFC 8985 section 7.4.2; `tcp_process_tlp_ack`).
    pub(super) fn on_probe_acked(&mut self, now: Time, ack: u64, work: &mut Work) {
        let is_pure_duplicate = !work.advanced && !work.not_duplicate && !work.sacked;
        if self.tail_probe.on_ack(&ProbeAck { ack, is_dsack: work.dsack_of_probe, is_pure_duplicate }) {
            self.cut_for_probe(now);
        }
    }

    /// Handles the reordering timeout (RFC 8985 section 6.3): segments overtaken for longer than the window
    /// are lost.
    fn on_reordering_timeout(&mut self, now: Time) {
        let prior = self.board.in_flight();
        let (lost, _) = self.mark_by_rack(now);
        if self.board.in_flight() != prior {
            if self.state != State::Recovery {
                self.enter_recovery(now, false);
                if !self.controller.owns_recovery() {
                    self.reduce(PrrAck { delivered: 1, lost, ..PrrAck::default() });
                }
            }
            self.update_pacing(now);
        }
        if self.timer.deadline().is_none() {
            self.start_retransmission_timer(now, true);
        }
    }

    /// Handles the window timeout: the peer's window is closed and nothing is outstanding, so it must be
    /// probed.
    fn on_window_timeout(&mut self, now: Time) {
        if self.is_window_closed() {
            self.retries.on_window_timeout();
            self.start_window_timer(now);
        }
    }

    pub(super) fn start_window_timer(&mut self, now: Time) {
        let wait = self.rtt.rto() * (1 << self.retries.window_probes().min(10));
        self.timer.set(now, Timer::Window, wait.min(MAX_RTO));
    }

    /// Handles an acknowledgement while nothing is outstanding: the window may be open again.
    pub(super) fn window_opened(&mut self, now: Time) {
        if !self.is_window_closed() && (self.timer.purpose() == Some(Timer::Window)) {
            self.timer.clear();
        } else if self.is_window_closed() {
            self.start_window_timer(now);
        }
    }

    /// Whether data wait and not even the next segment fits into the peer's window.
    fn is_window_closed(&self) -> bool {
        self.board.is_empty() && self.snd.next() < self.writes.end() && !self.fits_window()
    }
}
