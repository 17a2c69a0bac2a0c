//! Choice of the next segment: probes, retransmissions, new data (Linux `tcp_write_xmit`,
//! `tcp_xmit_retransmit_queue`).

use super::burst::{Burst, NextBurst};
use super::timer::Timer;
use super::usage::EndOfPass;
use super::{Sender, State, Transmission, timestamp};
use quiclab_core::{Duration, Time};

impl Sender {
    /// Takes the next segment that may be sent now; call it until it returns `None`.
    pub(crate) fn transmit(&mut self, now: Time) -> Option<Transmission> {
        if self.retries.take_window_probe_due() {
            // one byte below the window: the response has the window (tcp_xmit_probe_skb)
            let probe = Transmission::pure_ack(self.snd.next() - 1, self.ecn.mode(), now);
            return Some(Transmission { retransmission: true, ..probe });
        }
        if self.tail_probe.take_due() {
            return self.send_tail_probe(now);
        }
        if self.retries.take_head_due() && !self.board.is_empty() {
            // RFC 6298 section 5.4. Independent of counts: retransmissions whose losses were undone count as
            // in flight until they are acknowledged, and could block this one indefinitely
            return Some(self.retransmit_burst(now, 0, 1));
        }
        let room = self.cwnd().saturating_sub(self.board.in_flight());
        if let Some(sent) = self.continue_burst(now) {
            return Some(sent);
        }
        if room > 0 && !self.is_paced(now) {
            if !self.frto.is_new_data_first()
                && let Some(index) = self.board.next_lost()
            {
                if self.is_throttled(self.payload, true) {
                    self.note_end_of_burst(now, room);
                    return None;
                }
                return Some(self.retransmit_burst(now, index, room));
            }
            if let Some(sent) = self.send_burst(now, room, false) {
                return Some(sent);
            }
            if self.frto.is_new_data_first() && self.snd.next() <= self.high {
                self.frto.on_no_new_data();
                if let Some(index) = self.board.next_lost() {
                    return Some(self.retransmit_burst(now, index, room));
                }
            }
        }
        self.note_end_of_burst(now, room);
        None
    }

    /// Sends new data while the application writes: one burst, which does not wait to become longer
    /// (`tcp_push_one`), or all that may be sent (`__tcp_push_pending_frames`).
    pub(crate) fn push(&mut self, now: Time, one: bool) -> Option<Transmission> {
        let room = self.cwnd().saturating_sub(self.board.in_flight());
        if let Some(sent) = self.continue_burst(now) {
            return Some(sent);
        }
        if room > 0 && !self.is_paced(now) { self.send_burst(now, room, one) } else { None }
    }

    fn send_burst(&mut self, now: Time, room: u32, at_once: bool) -> Option<Transmission> {
        match self.next_burst(now, room, at_once) {
            NextBurst::Bytes(bytes) if !self.is_throttled(bytes, false) => {
                let count = bytes.div_ceil(self.snd.segment(self.payload)).max(1) as u32;
                self.begin_burst(now, bytes, Burst { left: count - 1, ..Burst::default() });
                self.board.open_burst();
                return Some(self.send_new(now));
            }
            NextBurst::Deferred => self.usage.on_deferred(),
            NextBurst::Bytes(_) | NextBurst::Nothing => {}
        }
        None
    }

    /// Whether more segments of the current burst are to be sent.
    pub(crate) const fn is_in_burst(&self) -> bool {
        !self.burst.is_at_end()
    }

    /// Starts a burst of `bytes`; its departure is not in `burst` yet.
    fn begin_burst(&mut self, now: Time, bytes: u64, burst: Burst) {
        let (departure, leaves) = self.departures.hand_over(now, bytes, self.payload);
        self.burst.begin(Burst { departure, leaves, ..burst });
    }

    /// Whether fq has too many bytes for a burst of `bytes`.
    fn is_throttled(&mut self, bytes: u64, retransmission: bool) -> bool {
        self.departures.is_throttled(bytes, retransmission, self.board.skbs() <= 1)
    }

    /// Removes due bursts from the host. Returns whether the next one waited for that.
    pub(crate) fn leave_host(&mut self, now: Time) -> bool {
        self.departures.leave_host(now)
    }

    /// Takes the next segment of the current burst, which window and pacing have permitted as a whole.
    fn continue_burst(&mut self, now: Time) -> Option<Transmission> {
        if !self.burst.advance() {
            return None;
        }
        if !self.burst.current().lost {
            return Some(self.send_new(now));
        }
        let Some(index) = self.board.next_lost() else {
            self.burst.end(); // no more is retransmitted than is lost (`retrans_out`, `lost_out`)
            return None;
        };
        Some(self.retransmit(now, index))
    }

    /// Whether the next segment is within the peer's window, including FIN (`tcp_snd_wnd_test`).
    pub(super) fn fits_window(&self) -> bool {
        let end = (self.snd.next() + self.snd.segment(self.payload)).min(self.writes.written());
        let fin = self.writes.is_finished() && end == self.writes.written();
        end + u64::from(fin) <= self.snd.window_end()
    }

    fn is_paced(&self, now: Time) -> bool {
        self.departures.held_until(now, self.payload).is_some()
    }

    /// Time at which pacing releases the next segment, if nothing else blocks it.
    pub(super) fn paced_until(&self, now: Time) -> Option<Time> {
        let room = self.cwnd().saturating_sub(self.board.in_flight());
        let new = self.snd.next() < self.writes.end() && self.fits_window();
        if room == 0 || !(new || self.board.lost() > self.board.retransmitted()) {
            return None;
        }
        self.departures.held_until(now, self.payload)
    }

    fn send_new(&mut self, now: Time) -> Transmission {
        let was_idle = self.board.is_empty();
        if was_idle {
            self.restart_after_idle(now);
        }
        let start = self.snd.next();
        let data_end = start + self.snd.segment(self.payload).min(self.writes.head(self.snd.next()));
        let length = data_end - start;
        if length < self.snd.segment(self.payload) {
            self.snd.on_short(data_end);
        }
        let ended = self.writes.take_sent(data_end);
        let fin = self.writes.is_finished() && data_end == self.writes.written();
        // PSH is a flag of the skb: its last segment carries it, which is the last one of a burst
        let written = fin || ended.is_some_and(|skb| skb.push);
        let end = data_end + u64::from(fin);
        let in_flight = self.in_flight_bytes();
        let Burst { departure, leaves, probe, .. } = *self.burst.current();
        let rate = self.rate.on_sent(departure, in_flight, end - start);
        self.controller.on_sent(now, end - start, in_flight);
        self.board.push(start, end, departure, rate, fin, written);
        self.snd.on_sent(end);
        self.after_transmission(now);
        // tcp_event_new_data_sent, then tcp_schedule_loss_probe
        if was_idle || matches!(self.timer.purpose(), Some(Timer::Probe) | None) {
            self.set_retransmission_timer(now);
        }
        if !probe && (self.timer.purpose() == Some(Timer::Retransmission)) {
            self.schedule_probe(now, false);
        }
        if self.burst.is_at_end() {
            self.check_space_when_sent();
        }
        Transmission {
            sequence: start,
            length: length as u16,
            fin,
            push: written || self.burst.carries_push(),
            retransmission: false,
            departure,
            leaves,
            // `tcp_ecn_send`: a FIN alone is not data
            ecn: if length > 0 { self.ecn.mode().field() } else { self.ecn.mode().field_without_new_data() },
            window_reduced: length > 0 && self.ecn.take_cwr(),
        }
    }

    /// Retransmits a segment and, as one burst, those after it that are lost and in the same skb, which is split if window or
    /// pacing allow less.
    fn retransmit_burst(&mut self, now: Time, index: usize, room: u32) -> Transmission {
        let (count, bytes) = self.board.lost_together(index, room.min(self.burst.limit()));
        self.board.split(index + count as usize);
        self.begin_burst(now, bytes, Burst { lost: true, left: count - 1, ..Burst::default() });
        self.retransmit(now, index)
    }

    fn retransmit(&mut self, now: Time, index: usize) -> Transmission {
        self.undo.on_retransmission(timestamp(self.burst.current().departure));
        let sent = self.send_again(now, index, false);
        if index == 0 && self.timer.purpose() != Some(Timer::Reordering) {
            self.timer.set(now, Timer::Retransmission, self.rtt.rto());
        }
        sent
    }

    fn send_again(&mut self, now: Time, index: usize, probe: bool) -> Transmission {
        let Burst { departure, leaves, .. } = *self.burst.current();
        let in_flight = self.in_flight_bytes();
        let segment = self.board.get(index);
        let (start, end, marks) = (segment.start, segment.end, segment.marks);
        let rate = self.rate.on_sent(departure, in_flight, end - start);
        self.controller.on_sent(now, end - start, in_flight);
        self.board.retransmit(index, departure, rate, probe);
        self.counts.retransmitted += 1;
        let length = end - start - u64::from(marks.fin);
        self.after_transmission(now);
        Transmission {
            sequence: start,
            length: length as u16,
            fin: marks.fin,
            push: marks.push || self.burst.carries_push(),
            retransmission: true,
            departure,
            leaves,
            ecn: self.ecn.mode().field_without_new_data(),
            window_reduced: false,
        }
    }

    /// Sends a tail loss probe (RFC 8985 section 7.3), regardless of the window.
    fn send_tail_probe(&mut self, now: Time) -> Option<Transmission> {
        if self.board.is_empty() {
            return None;
        }
        self.counts.tail_loss_probes += 1;
        let sent = if self.snd.next() < self.writes.end() && self.fits_window() {
            // new data are sent as a burst, if the window has room for one (`tcp_write_xmit` with `push_one`
            // 2)
            let bytes = self.probe_bytes(now);
            let left =
                u32::try_from(bytes.div_ceil(self.snd.segment(self.payload)).max(1)).unwrap_or(u32::MAX) - 1;
            self.begin_burst(now, bytes, Burst { left, probe: true, ..Burst::default() });
            self.board.open_burst();
            let end = self.snd.next() + bytes;
            self.tail_probe
                .on_sent(end + u64::from(self.writes.is_finished() && end == self.writes.written()), false);
            self.send_new(now)
        } else {
            let last = self.board.last_index();
            self.board.split(last);
            let sent = self.board.get(last);
            let bytes = sent.end - sent.start - u64::from(sent.marks.fin);
            self.begin_burst(now, bytes, Burst { probe: true, ..Burst::default() });
            self.tail_probe.on_sent(self.snd.next(), true);
            self.send_again(now, last, true)
        };
        // RFC 8985 section 7.3: "MUST re-arm the RTO timer", from now on: counted from the head it could have
        // expired already, if the probe has waited as long as an RTO (SRTT above 200 ms)
        self.timer.clear();
        self.set_retransmission_timer(now);
        Some(sent)
    }

    /// Bytes of new data in a tail loss probe: a burst, or a segment if the window has no room.
    fn probe_bytes(&mut self, now: Time) -> u64 {
        let room = self.cwnd().saturating_sub(self.board.in_flight()).max(1);
        match self.next_burst(now, room, true) {
            NextBurst::Bytes(bytes) => bytes,
            NextBurst::Deferred | NextBurst::Nothing => {
                self.snd.segment(self.payload).min(self.writes.head(self.snd.next()))
            }
        }
    }

    fn after_transmission(&mut self, now: Time) {
        self.departures.on_sent(now);
        self.usage.on_sent();
        if self.is_reducing() {
            self.reduction.on_sent();
        }
    }

    /// Records whether the window was used (`tcp_cwnd_validate`), or the application had nothing to send.
    fn note_end_of_burst(&mut self, now: Time, room: u32) {
        let outstanding = self.board.outstanding();
        let (acknowledged, next) = (self.snd.acknowledged(), self.snd.next());
        if self.usage.end_pass(&EndOfPass { room, outstanding, acknowledged, next }) {
            self.note_window_use(now, outstanding);
        }
        if self.board.is_empty()
            && self.timer.deadline().is_none()
            && self.snd.next() < self.writes.end()
            && !self.fits_window()
        {
            self.start_window_timer(now);
        }
    }

    /// Reduces a window that was not used for an RTO (RFC 2861; `tcp_cwnd_application_limited`).
    fn note_window_use(&mut self, now: Time, outstanding: u32) {
        if self.is_cwnd_limited() {
            self.usage.restart(now);
            return;
        }
        let unused = self.usage.unused(now, outstanding, self.rtt.rto());
        if let Some(used) = unused
            && self.options.restart_after_idle
            && self.buffer.has_free_third(self.memory())
            && self.state == State::Open
        {
            self.controller.on_application_limited(now, u64::from(used) * self.payload);
            self.usage.restart(now);
        }
    }

    /// Restarts after idle: "If the connection was idle for more than one RTO, the window falls to the
    /// restart window" (RFC 5681 section 4.1).
    fn restart_after_idle(&mut self, now: Time) {
        let idle = now.since(self.departures.last_sent());
        if self.options.restart_after_idle && idle > self.rtt.rto() && self.snd.next() > 1 {
            let rto: Duration = self.rtt.rto();
            self.controller.on_idle(now, idle, rto);
            self.update_pacing(now);
        }
    }
}
