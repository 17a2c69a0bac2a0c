//! Processing of an acknowledgement in the sender (Linux `tcp_ack`).

use super::{AckOutcome, Sender, State, timestamp};
use crate::congestion::{Ack, Marks, RecoveryPhase};
use crate::recovery::delivery_rate::{RateSample, SentState};
use crate::recovery::prr::PrrAck;
use crate::tcp::accecn::Acknowledged;
use quiclab_core::{Duration, Flags, Segment, Time};

/// Results of the steps that process one acknowledgement.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) prior_acknowledged: u64,
    /// Whether the cumulative acknowledgement advanced, and whether over data.
    pub(super) advanced: bool,
    /// Whether data were selectively acknowledged.
    pub(super) sacked: bool,
    /// Whether it reports a duplicate, and whether of the tail loss probe.
    pub(super) dsack: bool,
    pub(super) dsack_of_probe: bool,
    pub(super) duplicates: u32,
    /// Whether it is not a duplicate acknowledgement: the window changed, or it carries data.
    pub(super) not_duplicate: bool,
    /// Whether retransmitted data were acknowledged, and whether data sent once before recovery were
    /// acknowledged (selectively).
    pub(super) retransmission_acked: bool,
    pub(super) original_sacked: bool,
    /// Whether a retransmission was declared lost.
    pub(super) retransmission_lost: bool,
    /// Start of the lowest segment that arrived after one sent later; `u64::MAX`: none.
    pub(super) reordered_from: u64,
    /// Send times of the first and last segment newly (selectively) acknowledged, never retransmitted.
    pub(super) first_acked: Option<Time>,
    pub(super) last_acked: Option<Time>,
    pub(super) first_sacked: Option<Time>,
    pub(super) last_sacked: Option<Time>,
    pub(super) delivered: u32,
    pub(super) delivered_bytes: u64,
    pub(super) lost: u32,
    pub(super) rtt: Option<Duration>,
    /// TSecr of the acknowledgement; `None` without timestamps.
    pub(super) echo: Option<u32>,
    /// Bytes delivered when the newest delivered segment was sent.
    pub(super) prior_delivered: u64,
    /// Whether the timer must be set again.
    pub(super) set_timer: bool,
    /// Whether it may have been delayed: a single short segment.
    pub(super) maybe_delayed: bool,
    /// Whether it reports marks (`FLAG_ECE`), and with AccECN their number.
    pub(super) marked: bool,
    pub(super) marks: u64,
}

/// Data that may be sent after an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retransmit {
    /// Default: retransmissions, then new data.
    Nothing,
    /// New data; retransmissions only if there is none (F-RTO).
    NewDataFirst,
}

impl Sender {
    /// Handles an acknowledgement (the caller has checked timestamps, PAWS).
    pub(crate) fn on_ack(&mut self, now: Time, segment: &Segment) -> AckOutcome {
        let before = self.snd.acknowledged();
        let outcome = self.take_ack(now, segment);
        let covered = (self.snd.acknowledged() - before).div_ceil(self.payload.max(1));
        AckOutcome { covered_segments: u32::try_from(covered).unwrap_or(u32::MAX), ..outcome }
    }

    fn take_ack(&mut self, now: Time, segment: &Segment) -> AckOutcome {
        let ack = segment.acknowledgement;
        if !self.snd.is_acceptable(ack, self.payload) {
            return AckOutcome { ignored: true, ..AckOutcome::default() };
        }
        let mut work = Work::new(self.snd.acknowledged(), self.timestamps.then_some(segment.timestamp_echo));
        let prior_in_flight = self.board.in_flight();
        if ack < self.snd.acknowledged() {
            return self.on_old_ack(now, segment, work);
        }
        work.marked = self.ecn.mode().echoes() && segment.flags.has(Flags::ECE);
        let window_changed = self.snd.update_window(ack, u64::from(segment.window));
        work.not_duplicate = window_changed || segment.length > 0;
        if self.snd.acknowledge(ack) {
            self.retries.on_progress();
        }
        self.retries.on_answer();
        if self.board.is_empty() {
            self.process_sack(now, ack, segment.sack(), &mut work);
            // the second copy of a probe is usually reported when nothing is outstanding any more
            self.on_probe_acked(now, ack, &mut work);
            if work.dsack && self.state <= State::Disorder {
                self.undo_by_dsack(now);
            }
            self.count_marks(segment, &mut work);
            self.counts.marked += work.marks;
            self.window_opened(now);
            return AckOutcome::default();
        }
        let prior_high = self.board.highest_sacked_or(work.prior_acknowledged);
        let prior_sacked = self.board.sacked();
        self.process_sack(now, ack, segment.sack(), &mut work);
        self.clean(now, ack, prior_high, prior_sacked, &mut work);
        if work.prior_delivered > 0 {
            self.rack.update_window(work.prior_delivered, self.rate.delivered());
        }
        self.count_marks(segment, &mut work);
        if self.ecn.mode().is_on() {
            self.report_marks(&work);
        }
        self.on_probe_acked(now, ack, &mut work);
        let mut retransmit = Retransmit::Nothing;
        if self.is_dubious(&work) {
            let duplicate = !work.advanced && !work.not_duplicate && !work.dsack;
            retransmit = self.alert(now, duplicate, &mut work);
        }
        if work.set_timer {
            self.set_timer(now);
        }
        self.control(now, prior_in_flight, &work);
        if retransmit == Retransmit::NewDataFirst {
            self.frto.set_new_data_first(true);
        }
        work.outcome()
    }

    /// Handles an acknowledgement older than the last one, of which only the blocks are new.
    fn on_old_ack(&mut self, now: Time, segment: &Segment, mut work: Work) -> AckOutcome {
        if segment.sack().is_empty() || self.board.is_empty() {
            return AckOutcome { ignored: true, ..AckOutcome::default() };
        }
        let cache = self.sack_cache;
        self.process_sack(now, segment.acknowledgement, segment.sack(), &mut work);
        self.sack_cache = cache;
        if self.is_dubious(&work) {
            self.alert(now, false, &mut work);
        }
        // the window does not follow old acknowledgements
        self.rate.sample(now, self.rtt.min(), false);
        work.outcome()
    }

    /// Whether recovery must process the acknowledgement (`tcp_ack_is_dubious`).
    fn is_dubious(&self, work: &Work) -> bool {
        let progress = work.advanced || work.not_duplicate;
        !progress || work.sacked || work.dsack || work.marked || self.state != State::Open
    }

    /// Counts the marks that the acknowledgement reports with AccECN (`tcp_accecn_process`), if none was sent after it: it
    /// delivers something, or its timestamp is new.
    fn count_marks(&mut self, segment: &Segment, work: &mut Work) {
        let timestamp = self.timestamps.then_some(segment.timestamp);
        let marks = self.ecn.on_ack(timestamp, work.advanced || work.sacked, || Acknowledged {
            ace: segment.flags.ace(),
            option: segment.accecn(),
            packets: u64::from(work.delivered),
            bytes: work.delivered_bytes,
            payload: self.payload,
            exact: self.sack || matches!(self.state, State::Open | State::Cwr),
        });
        if let Some(marks) = marks {
            work.marks = marks;
            work.marked = marks > 0;
        }
    }

    /// Reports the marks to the controller before the window is reduced for them (`tcp_in_ack_event`).
    fn report_marks(&mut self, work: &Work) {
        let delivered = u64::from(work.delivered);
        let marked = if self.ecn.counts_marks() {
            work.marks
        } else if work.marked {
            delivered
        } else {
            0
        };
        self.counts.marked += marked;
        self.controller.on_marks(&Marks {
            delivered_packets: delivered,
            marked_packets: marked,
            acked_position: self.snd.acknowledged(),
            next_position: self.snd.next(),
        });
    }

    /// Removes cumulatively acknowledged data from the queue, and takes their RTT (`tcp_clean_rtx_queue`).
    fn clean(&mut self, now: Time, ack: u64, prior_high: u64, prior_sacked: u32, work: &mut Work) {
        let mut reordered_from = prior_high;
        let mut segments = 0;
        while let Some(front) = self.board.front() {
            if front.end > ack {
                if front.start < ack {
                    self.board.trim(ack);
                    work.advanced = true;
                }
                break;
            }
            let segment = self.board.pop();
            segments += 1;
            work.advanced = true;
            let marks = segment.marks;
            let retransmitted = marks.retransmitted || marks.ever_retransmitted;
            if retransmitted {
                work.retransmission_acked = true;
            } else if !marks.sacked {
                work.first_acked.get_or_insert(segment.sent);
                work.last_acked = Some(segment.sent);
                reordered_from = reordered_from.min(segment.start);
                work.original_sacked |= segment.end <= self.high;
            }
            if !marks.sacked {
                if self.sack && !(retransmitted && is_echo_before(work.echo, segment.sent)) {
                    self.rack.on_delivered(now, segment.sent, segment.end, retransmitted, self.rtt.min());
                }
                let bytes = segment.end - segment.start;
                self.deliver(now, &segment.rate, bytes, segment.sent, segment.end, work);
            }
        }
        if !self.sack && work.retransmission_acked {
            // without SACK data acknowledged beyond a retransmission may have arrived before: they do not
            // show that the timeout was spurious
            work.original_sacked = false;
        }
        let short = ack - work.prior_acknowledged < self.payload;
        let plain = !work.sacked && !work.dsack && !work.retransmission_acked;
        work.maybe_delayed = segments == 1 && short && prior_sacked == 0 && plain;
        let rtt_known = self.take_rtt(now, work);
        if work.advanced {
            work.set_timer = true;
            // "a hole that was not retransmitted got filled: that is reordering"
            if reordered_from < prior_high {
                self.note_reordering(reordered_from);
            }
        } else if rtt_known && self.head_was_sent_after(work.first_sacked) {
            // the timer runs since the head was sent; a sample of an older segment must not extend it
            work.set_timer = true;
        }
    }

    fn head_was_sent_after(&self, first_sacked: Option<Time>) -> bool {
        match (self.board.front(), first_sacked) {
            (Some(head), Some(sacked)) => sacked < head.sent,
            _ => false,
        }
    }

    /// RTT of the acknowledgement (`tcp_ack_update_rtt`). Returns whether there was a sample.
    fn take_rtt(&mut self, now: Time, work: &mut Work) -> bool {
        let since = |sent: Option<Time>| sent.map(|sent| now.since(sent));
        // Karn: a retransmitted segment gives no sample, except by its timestamp
        let cumulative = if work.retransmission_acked { None } else { work.first_acked };
        let latest = if work.retransmission_acked { None } else { work.last_acked };
        let mut sample = since(cumulative).or(since(work.first_sacked));
        let mut congestion = since(work.last_sacked).or(since(latest));
        if sample.is_none()
            && work.advanced
            && let Some(echo) = work.echo.filter(|echo| *echo != 0)
        {
            let millis = timestamp(now).wrapping_sub(echo);
            if millis < u32::MAX / 2 {
                let rtt = Duration::from_millis(u64::from(millis.max(1)));
                (sample, congestion) = (Some(rtt), Some(rtt));
            }
        }
        let Some(sample) = sample else { return false };
        let congestion = congestion.unwrap_or(sample);
        work.rtt = Some(congestion);
        if !(work.maybe_delayed && self.rtt.min().is_some_and(|min| congestion > min)) {
            self.rtt.on_min_sample(now, congestion);
        }
        self.rtt.on_sample(sample, self.snd.acknowledged(), self.snd.next());
        true
    }

    /// Handles the first delivery of a segment.
    pub(super) fn deliver(
        &mut self,
        now: Time,
        state: &SentState,
        bytes: u64,
        sent: Time,
        end: u64,
        work: &mut Work,
    ) {
        self.rate.on_delivered(now, state, bytes, sent, end);
        work.delivered += 1;
        work.delivered_bytes += bytes;
        work.prior_delivered = work.prior_delivered.max(state.delivered);
    }

    /// Updates window and rate after the acknowledgement (`tcp_cong_control`).
    pub(super) fn control(&mut self, now: Time, prior_in_flight: u32, work: &Work) {
        let rate = self.rate.sample(now, self.rtt.min(), work.maybe_delayed);
        let reducing = self.is_reducing();
        let progress = work.advanced || (self.reordering.segments() > self.reordering.usual() && work.sacked);
        let may_grow = self.controller.owns_recovery() || (!reducing && progress);
        let delivered = work.delivered + work.duplicates;
        self.inform(now, prior_in_flight, work, rate, may_grow);
        if !self.controller.owns_recovery() && reducing {
            let ack = PrrAck {
                delivered,
                lost: work.lost,
                advanced: work.advanced,
                retransmission_acked: work.retransmission_acked,
                retransmission_lost: work.retransmission_lost,
            };
            self.reduce(ack);
        }
        self.update_pacing(now);
    }

    /// Performs one step of the reduction (`tcp_cwnd_reduction`).
    pub(super) fn reduce(&mut self, ack: PrrAck) {
        self.reduction.on_ack(self.board.in_flight(), ack);
    }

    fn inform(&mut self, now: Time, prior_in_flight: u32, work: &Work, rate: RateSample, may_grow: bool) {
        let ack = Ack {
            now,
            acked_bytes: work.delivered_bytes,
            acked_packets: work.delivered,
            lost_bytes: u64::from(work.lost) * self.payload,
            rtt: work.rtt,
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min(),
            prior_in_flight: u64::from(prior_in_flight) * self.payload,
            in_flight: self.in_flight_bytes(),
            departure: self.departures.next(now, self.payload),
            acked_position: self.snd.acknowledged(),
            next_position: self.snd.next(),
            phase: match self.state {
                State::Open | State::Disorder | State::Cwr => RecoveryPhase::Open,
                State::Recovery => RecoveryPhase::Recovery,
                State::Loss => RecoveryPhase::Loss,
            },
            growth_limit: None,
            cwnd_limited: self.is_cwnd_limited(),
            may_grow,
            rate: Some(rate),
        };
        self.controller.on_ack(&ack);
    }

    /// Whether the window limits sending (`tcp_is_cwnd_limited`).
    pub(super) fn is_cwnd_limited(&self) -> bool {
        let slow_start =
            self.controller.ssthresh().is_none_or(|ssthresh| self.controller.window() < ssthresh);
        self.usage.is_limited(self.cwnd(), slow_start)
    }
}

/// Whether an acknowledgement echoes a time before `sent`: then it does not acknowledge the segment sent at
/// that time (RFC 8985 section 6.2 step 2; `tcp_skb_spurious_retrans`).
fn is_echo_before(echo: Option<u32>, sent: Time) -> bool {
    echo.is_some_and(|echo| echo != 0 && (echo.wrapping_sub(timestamp(sent)) as i32) < 0)
}

impl Work {
    pub(super) const fn new(prior_acknowledged: u64, echo: Option<u32>) -> Self {
        Self {
            prior_acknowledged,
            advanced: false,
            sacked: false,
            dsack: false,
            dsack_of_probe: false,
            duplicates: 0,
            not_duplicate: false,
            retransmission_acked: false,
            original_sacked: false,
            retransmission_lost: false,
            reordered_from: u64::MAX,
            first_acked: None,
            last_acked: None,
            first_sacked: None,
            last_sacked: None,
            delivered: 0,
            delivered_bytes: 0,
            lost: 0,
            rtt: None,
            echo,
            prior_delivered: 0,
            set_timer: false,
            maybe_delayed: false,
            marked: false,
            marks: 0,
        }
    }

    const fn outcome(&self) -> AckOutcome {
        AckOutcome {
            acked_segments: self.delivered,
            acked_bytes: self.delivered_bytes,
            covered_segments: 0,
            ignored: false,
        }
    }
}
