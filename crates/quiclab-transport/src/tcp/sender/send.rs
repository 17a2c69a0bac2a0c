//! What may leave now: probes, retransmissions, new data (Linux `tcp_write_xmit`,
//! `tcp_xmit_retransmit_queue`).

use super::burst::NextBurst;
use super::timers::Timer;
use super::{Burst, Sender, State, Transmission};
use quiclab_core::{Duration, Time};

/// Windows up to this are not halved for the sake of the segment's size (`TCP_MSS_DEFAULT`), in bytes.
const DEFAULT_PAYLOAD: u64 = 536;
/// Smallest bound of a segment by the window: an MTU of 68 bytes less the headers of TCP and IP.
const MIN_BOUND: u64 = 28;

impl Sender {
    /// The next segment that may leave now; call it until it returns `None`.
    pub(crate) fn transmit(&mut self, now: Time) -> Option<Transmission> {
        if std::mem::take(&mut self.window_probe_due) {
            // one byte below the window: the answer tells the window (tcp_xmit_probe_skb)
            let probe = Transmission::pure_ack(self.next - 1, self.ecn, now);
            return Some(Transmission { retransmission: true, ..probe });
        }
        if std::mem::take(&mut self.tail_probe_due) {
            return self.send_tail_probe(now);
        }
        if std::mem::take(&mut self.head_due) && !self.board.is_empty() {
            // RFC 6298 section 5.4. Counts do not decide: retransmissions that an undo has made no losses of
            // count as in flight until they are acknowledged, and could block this one indefinitely
            return Some(self.retransmit_burst(now, 0, 1));
        }
        let room = self.cwnd().saturating_sub(self.board.in_flight());
        if let Some(sent) = self.continue_burst(now) {
            return Some(sent);
        }
        if room > 0 && !self.is_paced(now) {
            if !self.new_data_first
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
            if self.new_data_first && self.next <= self.high {
                // F-RTO had no new data after all (tcp_xmit_recovery)
                self.new_data_first = false;
                self.frto = false;
                if let Some(index) = self.board.next_lost() {
                    return Some(self.retransmit_burst(now, index, room));
                }
            }
        }
        self.note_end_of_burst(now, room);
        None
    }

    /// New data leaves while the application writes: one burst, which does not wait until it can be longer (`tcp_push_one`), or
    /// all that may (`__tcp_push_pending_frames`).
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
                let count = bytes.div_ceil(self.segment()).max(1) as u32;
                self.begin_burst(now, bytes, Burst { left: count - 1, ..Burst::default() });
                self.board.open_burst();
                return Some(self.send_new(now));
            }
            NextBurst::Deferred => self.deferred = true,
            NextBurst::Bytes(_) | NextBurst::Nothing => {}
        }
        None
    }

    /// Whether more segments of the burst that has begun are to leave.
    pub(crate) const fn is_in_burst(&self) -> bool {
        self.burst.left > 0
    }

    /// A burst of `bytes` begins; when it departs is not in `burst` yet.
    fn begin_burst(&mut self, now: Time, bytes: u64, burst: Burst) {
        let (departure, leaves) = self.hand_over(now, bytes);
        let forced = self.push_bursts && burst.left > 0;
        self.burst = Burst { departure, leaves, forced, ..burst };
    }

    /// The next segment of the burst that leaves now: window and pacing have let the whole of it go.
    fn continue_burst(&mut self, now: Time) -> Option<Transmission> {
        self.burst.left = self.burst.left.checked_sub(1)?;
        if !self.burst.lost {
            return Some(self.send_new(now));
        }
        let Some(index) = self.board.next_lost() else {
            self.burst.left = 0; // no more is sent again than is lost (`retrans_out`, `lost_out`)
            return None;
        };
        Some(self.retransmit(now, index))
    }

    /// End of what the peer's window lets go.
    pub(super) const fn window_end(&self) -> u64 {
        self.acknowledged + self.window
    }

    /// Whether the next segment lies within the peer's window, FIN included (`tcp_snd_wnd_test`).
    pub(super) fn fits_window(&self) -> bool {
        let end = (self.next + self.segment()).min(self.written);
        let fin = self.finished && end == self.written;
        end + u64::from(fin) <= self.window_end()
    }

    /// Payload of a new segment at most: half of the largest window there was, or a segment larger than the
    /// window would never fit (`tcp_bound_to_half_wnd`). It counts as one segment nevertheless.
    pub(super) fn segment(&self) -> u64 {
        let largest = self.largest_window;
        let bound = if largest > DEFAULT_PAYLOAD { largest / 2 } else { largest };
        if bound == 0 { self.payload } else { self.payload.min(bound.max(MIN_BOUND)) }
    }

    fn is_paced(&self, now: Time) -> bool {
        self.host_queue.is_none() && self.pacer.release(now, self.payload) > now
    }

    /// When pacing lets the next segment go, if nothing else holds it.
    pub(super) fn paced_until(&self, now: Time) -> Option<Time> {
        let room = self.cwnd().saturating_sub(self.board.in_flight());
        let new = self.next < self.end() && self.fits_window();
        if self.host_queue.is_some() || room == 0 || !(new || self.board.lost() > self.board.retransmitted())
        {
            return None;
        }
        Some(self.pacer.release(now, self.payload)).filter(|release| *release > now)
    }

    fn send_new(&mut self, now: Time) -> Transmission {
        let was_idle = self.board.is_empty();
        if was_idle {
            self.restart_after_idle(now);
        }
        let start = self.next;
        let data_end = start + self.segment().min(self.head());
        let length = data_end - start;
        if length < self.segment() {
            self.short_end = data_end;
        }
        let ended = self.skbs.front().copied().filter(|skb| skb.end == data_end);
        if ended.is_some() {
            self.skbs.pop_front();
        }
        let fin = self.finished && data_end == self.written;
        // PSH is a flag of the skb: its last segment carries it, which is the last one of a burst
        let written = fin || ended.is_some_and(|skb| skb.push);
        let end = data_end + u64::from(fin);
        let in_flight = self.in_flight_bytes();
        let Burst { departure, leaves, .. } = self.burst;
        let rate = self.rate.on_sent(departure, in_flight, end - start);
        self.controller.on_sent(now, end - start, in_flight);
        self.board.push(start, end, departure, rate, fin, written);
        self.next = end;
        self.after_transmission(now);
        // tcp_event_new_data_sent, then tcp_schedule_loss_probe
        if was_idle || matches!(self.timer, Some((Timer::Probe, _)) | None) {
            self.set_retransmission_timer(now);
        }
        if !self.burst.probe && matches!(self.timer, Some((Timer::Retransmission, _))) {
            self.schedule_probe(now, false);
        }
        if self.burst.left == 0 {
            self.check_space_when_sent();
        }
        Transmission {
            sequence: start,
            length: length as u16,
            fin,
            push: written || (self.burst.left == 0 && self.burst.forced),
            retransmission: false,
            departure,
            leaves,
            // `tcp_ecn_send`: a FIN alone is no data
            ecn: if length > 0 { self.ecn.field() } else { self.ecn.field_without_new_data() },
            window_reduced: length > 0 && std::mem::take(&mut self.cwr_due),
        }
    }

    /// Retransmits a segment and, as one burst, those after it that are lost and in the same skb, which is split if window or
    /// pacing allow less.
    fn retransmit_burst(&mut self, now: Time, index: usize, room: u32) -> Transmission {
        let (count, bytes) = self.board.lost_together(index, room.min(self.burst_limit));
        self.board.split(index + count as usize);
        self.begin_burst(now, bytes, Burst { lost: true, left: count - 1, ..Burst::default() });
        self.retransmit(now, index)
    }

    fn retransmit(&mut self, now: Time, index: usize) -> Transmission {
        self.note_retransmission(self.burst.departure);
        let sent = self.send_again(now, index, false);
        if index == 0 && !matches!(self.timer, Some((Timer::Reordering, _))) {
            self.set_for(now, Timer::Retransmission, self.rtt.rto());
        }
        sent
    }

    fn send_again(&mut self, now: Time, index: usize, probe: bool) -> Transmission {
        let Burst { departure, leaves, left, forced, .. } = self.burst;
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
            push: marks.push || (left == 0 && forced),
            retransmission: true,
            departure,
            leaves,
            ecn: self.ecn.field_without_new_data(),
            window_reduced: false,
        }
    }

    /// RFC 8985 section 7.3; the window does not hold a probe back.
    fn send_tail_probe(&mut self, now: Time) -> Option<Transmission> {
        if self.board.is_empty() {
            return None;
        }
        self.counts.tail_loss_probes += 1;
        let sent = if self.next < self.end() && self.fits_window() {
            // new data leave as a burst, if the window has room for one (`tcp_write_xmit` with `push_one` 2)
            let bytes = self.probe_bytes(now);
            let left = u32::try_from(bytes.div_ceil(self.segment()).max(1)).unwrap_or(u32::MAX) - 1;
            self.begin_burst(now, bytes, Burst { left, probe: true, ..Burst::default() });
            self.board.open_burst();
            let end = self.next + bytes;
            self.probe = Some((end + u64::from(self.finished && end == self.written), false));
            self.send_new(now)
        } else {
            let last = self.board.last_index();
            self.board.split(last);
            let sent = self.board.get(last);
            let bytes = sent.end - sent.start - u64::from(sent.marks.fin);
            self.begin_burst(now, bytes, Burst { probe: true, ..Burst::default() });
            self.probe = Some((self.next, true));
            self.send_again(now, last, true)
        };
        // RFC 8985 section 7.3: "MUST re-arm the RTO timer", from now on: counted from the head it could be over
        // already, where the probe has waited as long as an RTO (SRTT above 200 ms)
        self.timer = None;
        self.set_retransmission_timer(now);
        Some(sent)
    }

    /// Bytes of new data in a tail loss probe: a burst, or a segment where the window has no room.
    fn probe_bytes(&mut self, now: Time) -> u64 {
        let room = self.cwnd().saturating_sub(self.board.in_flight()).max(1);
        match self.next_burst(now, room, true) {
            NextBurst::Bytes(bytes) => bytes,
            NextBurst::Deferred | NextBurst::Nothing => self.segment().min(self.head()),
        }
    }

    fn after_transmission(&mut self, now: Time) {
        self.counts.sent += 1;
        self.last_sent = now;
        self.usage_burst += 1;
        if self.is_reducing()
            && let Some(prr) = &mut self.prr
        {
            prr.on_sent();
        }
    }

    /// Notes whether the window was used (`tcp_cwnd_validate`), or the application had nothing to send.
    fn note_end_of_burst(&mut self, now: Time, room: u32) {
        let limited = room == 0 || std::mem::take(&mut self.deferred);
        if self.usage_burst > 0 || limited || self.board.is_empty() {
            let outstanding = self.board.outstanding();
            let new_round = self.acknowledged >= self.usage_end;
            if new_round || limited || (!self.cwnd_limited && outstanding > self.most_outstanding) {
                self.cwnd_limited = limited;
                self.most_outstanding = outstanding;
                self.usage_end = self.next;
            }
            self.note_window_use(now, outstanding);
        }
        self.usage_burst = 0;
        if self.board.is_empty() && self.timer.is_none() && self.next < self.end() && !self.fits_window() {
            self.start_window_timer(now);
        }
    }

    /// A window that was not used for an RTO shrinks (RFC 2861; `tcp_cwnd_application_limited`).
    fn note_window_use(&mut self, now: Time, outstanding: u32) {
        if self.is_cwnd_limited() {
            self.usage_most = 0;
            self.usage_stamp = now;
            return;
        }
        self.usage_most = self.usage_most.max(outstanding);
        let unused = now.since(self.usage_stamp) >= self.rtt.rto();
        let by_application = self.has_free_third();
        if self.options.restart_after_idle && unused && by_application && self.state == State::Open {
            let used = u64::from(self.usage_most) * self.payload;
            self.controller.on_application_limited(now, used);
            self.usage_most = 0;
            self.usage_stamp = now;
        }
    }

    /// "If the connection was idle for more than one RTO, the window falls to the restart window" (RFC 5681
    /// section 4.1).
    fn restart_after_idle(&mut self, now: Time) {
        let idle = now.since(self.last_sent);
        if self.options.restart_after_idle && idle > self.rtt.rto() && self.next > 1 {
            let rto: Duration = self.rtt.rto();
            self.controller.on_idle(now, idle, rto);
            self.update_pacing(now);
        }
    }
}
