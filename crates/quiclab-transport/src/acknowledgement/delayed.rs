//! Delayed acknowledgements of TCP (RFC 9293 section 3.8.6.3, RFC 5681 section 4.2; Linux
//! `tcp_event_data_recv`, `__tcp_ack_snd_check`, `tcp_send_delayed_ack`, `tcp_cleanup_rbuf`).
//!
//! Every second full segment is acknowledged at once, one alone after the delayed-ACK timeout, which
//! follows the gaps between segments. At the start, after pauses and after duplicates every segment is
//! acknowledged (quick mode), unless the connection answers what it receives (pingpong): then the ACK
//! is sent with the answer. Behind a gap, ACKs beyond the third at one position may be merged.
//!
//! | | RFC 5681, 9293 | Linux | here |
//! |---|---|---|---|
//! | wait | < 500 ms | 40 to 200 ms, adapted | as Linux |
//! | behind a gap | each at once | first three, then merged for 5 % of the RTT (33 % since 6.18), 1 ms at most | as Linux |
//! | gap filled | at once | at once when nothing is out of order any more | as Linux |
//! | pingpong | | after 1 answer (3 from 5.1 to 5.19) | after 1 |
//! | merged ACK before a distant block changes | | leaves before the change | leaves after it |
//! | full segment with PSH | | acknowledged when it is read, since 6.6 | by release |
//! | quick mode counts | | segments sent (since 6.6 only with an ACK due) | as 6.6 |
//! | clock of the gaps | | jiffies | nanoseconds |
//! | end of a wait | | a tick | as Linux |
//!
//! Receivers that are not Linux count, and wait for a fixed time ([`TcpAckRule`]):
//!
//! | | FreeBSD `DELAY_ACK` | Windows | macOS `tcp_cc_delay_ack`, `tcp_output` | here |
//! |---|---|---|---|---|
//! | counts | segments | segments | bytes, in full segments | as the system |
//! | at once besides | gaps, duplicates | | gaps, duplicates, 16 ACKs after them, after a wait and at the start; PSH that is read | as the system; Windows as FreeBSD |
//! | application that reads late | | | fewer ACKs, two per RTT at least | applications read at once |
//! | larger window | when a quarter of the buffer is free | | at once | as Linux |

#[cfg(test)]
mod tests;

use crate::ticks::Ticks;
use quiclab_core::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Duplicates that are not merged at a position (Linux `TCP_FASTRETRANS_THRESH`).
const UNMERGED: u8 = 3;
/// First guess of the peer's segment payload, its smallest (Linux `TCP_MSS_DEFAULT`, `TCP_MIN_MSS`).
const FIRST_PAYLOAD: u64 = 536;
const MIN_PAYLOAD: u64 = 88;

/// Rule by which a receiver of TCP acknowledges data in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TcpAckRule {
    /// Bytes are counted, in full segments; the wait follows the gaps between segments; an end that answers has no quick
    /// acknowledgements.
    Linux,
    /// Segments of any size are counted; the wait is fixed (FreeBSD, Windows).
    Segments,
    /// Bytes are counted, in full segments; the wait is fixed (macOS).
    FullSegments,
}

/// Parameters, in the terms of `TcpOptions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What makes an acknowledgement due at once.
    pub rule: TcpAckRule,
    /// Number of segments of which the last one is acknowledged at once.
    pub segments: u32,
    /// Shortest and longest wait; the longest one is that of all rules but Linux's.
    pub min_delay: Duration,
    /// Maximum delay.
    pub max_delay: Duration,
    /// Maximum number of segments acknowledged one by one in quick mode.
    pub quick_acks: u32,
    /// Maximum number of ACKs merged into one; 0: none.
    pub compressed_acks: u32,
    /// Longest wait of merged ACKs, and the same as a share of the RTT in percent.
    pub compressed_delay: Duration,
    /// ... in percent.
    pub compressed_percent: u32,
    /// Retransmission timeout as the receiver estimates it: this plus srtt.
    pub min_rto: Duration,
    /// The same before the first RTT.
    pub initial_rto: Duration,
    /// Payload of a full segment in bytes.
    pub payload: u64,
    /// Ticks of the kernel, at which delayed acknowledgements leave.
    pub ticks: Ticks,
    /// What was read up to the end of a write is acknowledged at once.
    pub at_reads: bool,
    /// A full segment that ends a write counts as the end of it, as a shorter one does.
    pub full_pushes: bool,
}

/// A segment that arrived: in order, or measured although it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its payload in bytes.
    pub payload: u64,
    /// Bytes of its TCP header that only some segments have (SACK): they make the payload smaller.
    pub extra_header: u64,
    /// It ends a write of the application (PSH) or the stream (FIN).
    pub ends_write: bool,
    /// PSH alone.
    pub push: bool,
    /// Receive window announced last in bytes.
    pub window: u64,
}

/// State of the receiver after a segment or a read, from which to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Position expected next.
    pub next: u64,
    /// Bytes received in order since the last ACK sent.
    pub unacknowledged: u64,
    /// The window that would be announced is not smaller than the last one, or nothing is unread.
    pub window_advances: bool,
    /// Something is held behind a gap.
    pub out_of_order: bool,
    /// SACK is in use.
    pub sack: bool,
    /// RTT as measured by the receiver.
    pub rtt: Option<Duration>,
}

/// When to acknowledge.
#[derive(Clone, Copy, Debug)]
pub struct DelayedAck {
    settings: Settings,
    /// Delayed-ACK timeout; zero before the first data.
    timeout: Duration,
    /// Segments still to be acknowledged one by one.
    quick: u32,
    /// Segments in order since the last acknowledgement.
    segments: u32,
    /// The connection answers what it receives.
    pingpong: bool,
    /// Last data in order.
    received: Time,
    srtt: Option<Duration>,
    /// Payload of the peer's full segments, and of the last one that was smaller.
    segment: u64,
    smaller: u64,
    /// Something is to be acknowledged, some time.
    scheduled: bool,
    /// ... at once, by rule.
    required: bool,
    /// A write of the application has ended, twice.
    pushed: bool,
    pushed_again: bool,
    /// Decided: at once, since when.
    immediate: Option<Time>,
    delayed: Option<Time>,
    /// ACKs merged, and when they leave.
    merged: u32,
    merged_until: Option<Time>,
    /// Duplicates acknowledged at once at a position.
    duplicates: u8,
    duplicates_at: u64,
}

impl DelayedAck {
    /// The policy of a new connection with a first receive window of `window` bytes.
    #[must_use]
    pub fn new(settings: Settings, window: u64) -> Self {
        Self {
            settings,
            timeout: Duration::ZERO,
            quick: 0,
            segments: 0,
            pingpong: false,
            received: Time::ZERO,
            srtt: None,
            segment: settings.payload.min(window / 2).clamp(MIN_PAYLOAD, FIRST_PAYLOAD),
            smaller: 0,
            scheduled: false,
            required: false,
            pushed: false,
            pushed_again: false,
            immediate: None,
            delayed: None,
            merged: 0,
            merged_until: None,
            duplicates: 0,
            duplicates_at: 0,
        }
    }

    /// Payload of the peer's full segments as observed.
    #[must_use]
    pub fn segment(&self) -> u64 {
        self.segment
    }

    /// Whether segments are acknowledged one by one (`tcp_in_quickack_mode`).
    #[must_use]
    pub fn is_quick(&self) -> bool {
        self.quick > 0 && !self.pingpong
    }

    /// Whether the timer of a delayed acknowledgement runs.
    #[must_use]
    pub fn is_delayed(&self) -> bool {
        self.delayed.is_some()
    }

    /// Smoothed RTT of the sending half.
    pub fn set_srtt(&mut self, srtt: Option<Duration>) {
        self.srtt = srtt;
    }

    fn rto(&self) -> Duration {
        self.srtt.map_or(self.settings.initial_rto, |srtt| srtt + self.settings.min_rto)
    }

    /// Something has arrived that must be acknowledged at some time.
    pub fn schedule(&mut self) {
        self.scheduled = true;
    }
    /// ... at the next decision.
    pub fn require(&mut self) {
        self.scheduled = true;
        self.required = true;
    }
    /// What is to be acknowledged is not to wait (`ICSK_ACK_NOW`).
    pub fn hasten(&mut self) {
        self.required = true;
    }
    /// ... now: a window update, an unacceptable segment.
    pub fn acknowledge_now(&mut self, now: Time) {
        self.immediate.get_or_insert(now);
    }

    /// Data has arrived in order: the timeout follows the gap to the last (`tcp_event_data_recv`).
    pub fn on_data(&mut self, now: Time, arrival: &Arrival) {
        self.schedule();
        self.measure_segment(arrival);
        self.segments += 1;
        if !self.is_linux() {
            if self.timeout == Duration::ZERO {
                self.quick = self.settings.quick_acks;
                self.timeout = self.settings.max_delay;
            }
            (self.pushed, self.pushed_again) = (arrival.push, false); // TF_LAST_IS_PSH of macOS
            self.received = now;
            return;
        }
        let half = self.settings.min_delay / 2;
        let gap = now.since(self.received);
        if self.timeout == Duration::ZERO {
            self.raise_quick(arrival.window);
            self.timeout = self.settings.min_delay;
        } else if gap <= half {
            self.timeout = self.timeout / 2 + half;
        } else if gap < self.timeout {
            self.timeout = (self.timeout / 2 + gap).min(self.rto());
        } else if gap > self.rto() {
            // the sender seems to start slowly again
            self.raise_quick(arrival.window);
        }
        self.received = now;
    }

    /// Learns the peer's segment payload, without SACK's jitter; a smaller segment counts as the end of a
    /// write, unless two of a size follow each other (`tcp_measure_rcv_mss`).
    pub fn measure_segment(&mut self, arrival: &Arrival) {
        let before = std::mem::take(&mut self.smaller);
        if arrival.payload >= self.segment {
            self.segment = arrival.payload.min(self.settings.payload);
            self.pushed |= arrival.push && self.settings.full_pushes;
            return;
        }
        let length = arrival.payload + arrival.extra_header;
        if length >= FIRST_PAYLOAD || (length >= MIN_PAYLOAD && !arrival.ends_write) {
            self.smaller = length;
            if length == before {
                self.segment = length;
                return;
            }
        }
        self.pushed_again |= self.pushed;
        self.pushed = true;
    }

    fn is_linux(&self) -> bool {
        self.settings.rule == TcpAckRule::Linux
    }

    fn raise_quick(&mut self, window: u64) {
        self.raise_quick_to(window, self.settings.quick_acks);
    }
    fn raise_quick_to(&mut self, window: u64, most: u32) {
        let segments = match window / (2 * self.segment) {
            0 => 2,
            segments => u32::try_from(segments).unwrap_or(u32::MAX),
        };
        self.quick = self.quick.max(segments.min(most));
    }
    /// A duplicate, or data outside the window: the sender's picture is wrong (`tcp_enter_quickack_mode`).
    pub fn enter_quick_mode(&mut self, window: u64) {
        self.enter_short_quick_mode(window, self.settings.quick_acks);
    }
    /// The same for at most `most` segments.
    pub fn enter_short_quick_mode(&mut self, window: u64, most: u32) {
        if !self.is_linux() {
            self.quick = self.settings.quick_acks;
            return self.require();
        }
        self.raise_quick_to(window, most);
        self.pingpong = false;
        self.timeout = self.settings.min_delay;
        self.schedule();
    }
    /// The window has grown: the sender should hear of it (`tcp_grow_window`).
    pub fn on_window_grown(&mut self) {
        self.quick |= u32::from(self.is_linux());
    }
    /// Little room is left: ACKs need not come quickly (`__tcp_select_window`).
    pub fn on_little_room(&mut self) {
        if self.is_linux() {
            self.quick = 0;
        }
    }

    /// A segment has been taken in: acknowledge it now, or when (`__tcp_ack_snd_check`)?
    pub fn decide(&mut self, now: Time, state: &State) {
        if !self.scheduled {
            return;
        }
        let enough = self.is_enough(state) && (state.window_advances || !self.is_linux());
        if !self.is_linux() && state.out_of_order {
            self.quick = self.settings.quick_acks;
        }
        if enough || self.is_quick() || self.required {
            return self.acknowledge_now(now);
        }
        if state.out_of_order { self.merge(now, state) } else { self.delay(now) }
    }

    /// So many segments have arrived in order that they do not wait.
    fn is_enough(&self, state: &State) -> bool {
        match self.settings.rule {
            TcpAckRule::Segments => self.segments >= self.settings.segments,
            TcpAckRule::Linux | TcpAckRule::FullSegments => {
                state.unacknowledged > u64::from(self.settings.segments - 1) * self.segment
            }
        }
    }

    fn delay(&mut self, now: Time) {
        if !self.is_linux() {
            self.delayed.get_or_insert(self.settings.ticks.end(now, self.settings.max_delay));
            return;
        }
        let mut wait = self.timeout;
        if wait > self.settings.min_delay {
            let bound = self.srtt.map_or(Duration::MAX, |srtt| srtt.max(self.settings.min_delay));
            wait = wait.min(bound);
        }
        wait = wait.min(self.settings.max_delay);
        match self.delayed {
            // about to expire
            Some(earlier) if earlier <= now + wait / 4 => self.acknowledge_now(now),
            Some(earlier) => self.delayed = Some(earlier.min(self.settings.ticks.end(now, wait))),
            None => self.delayed = Some(self.settings.ticks.end(now, wait)),
        }
    }

    /// "The receiver SHOULD send an immediate duplicate ACK when an out-of-order segment arrives"
    /// (RFC 5681 section 4.2): the first three at a position do, which is what fast retransmit needs.
    fn merge(&mut self, now: Time, state: &State) {
        if !state.sack || self.merged >= self.settings.compressed_acks {
            return self.acknowledge_now(now);
        }
        if self.duplicates_at != state.next {
            self.duplicates_at = state.next;
            self.duplicates = 0;
        }
        if self.duplicates < UNMERGED {
            self.duplicates += 1;
            return self.acknowledge_now(now);
        }
        self.merged += 1;
        if self.merged_until.is_none() {
            let rtt = match (state.rtt, self.srtt) {
                (Some(rtt), Some(srtt)) => rtt.min(srtt),
                (rtt, _) => rtt.unwrap_or(Duration::ZERO),
            };
            let share = rtt * u64::from(self.settings.compressed_percent) / 100;
            self.merged_until = Some(now + self.settings.compressed_delay.min(share));
        }
    }

    /// A block changes that merged ACKs might push out of the option: they leave
    /// (`tcp_sack_compress_send_ack`).
    pub fn flush_merged(&mut self, now: Time) {
        if self.merged > 0 {
            self.acknowledge_now(now);
        }
    }

    /// The application has read everything, `bytes` (`tcp_cleanup_rbuf`).
    pub fn on_read(&mut self, now: Time, bytes: u64, state: &State) {
        let end_of_write = self.pushed_again || (self.pushed && !self.pingpong);
        let emptied = self.settings.at_reads && bytes > 0 && end_of_write && !state.out_of_order;
        if self.scheduled && (self.is_enough(state) || emptied) {
            self.acknowledge_now(now);
        }
    }

    /// When an acknowledgement must leave; not after now: at once; `None`: nothing to acknowledge.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        self.immediate.or(match (self.delayed, self.merged_until) {
            (Some(delayed), Some(merged)) => Some(delayed.min(merged)),
            (delayed, merged) => delayed.or(merged),
        })
    }

    /// An acknowledgement of everything has left, `pure` or with data (`tcp_event_ack_sent`).
    pub fn on_ack_sent(&mut self, now: Time, pure: bool) {
        let expired = self.delayed.is_some_and(|deadline| deadline <= now);
        if pure && self.immediate.is_none() && self.scheduled && expired {
            // nothing followed within the timeout (tcp_delack_timer_handler; TCPT_DELACK of macOS)
            if !self.is_linux() {
                self.quick = self.settings.quick_acks;
            } else if self.pingpong {
                self.pingpong = false;
                self.timeout = self.settings.min_delay;
            } else {
                self.timeout = (self.timeout * 2).min(self.rto());
            }
        }
        if self.scheduled && self.quick > 0 && (pure || self.is_linux()) {
            self.quick -= 1;
            if self.quick == 0 && self.is_linux() {
                self.timeout = self.settings.min_delay;
            }
        }
        self.scheduled = false;
        self.required = false;
        self.segments = 0;
        self.pushed = false;
        self.pushed_again = false;
        self.immediate = None;
        self.delayed = None;
        self.merged = 0;
        self.merged_until = None;
    }

    /// New data leaves: an answer, if it follows data within the timeout (`tcp_event_data_sent`).
    pub fn on_data_sent(&mut self, now: Time) {
        if !self.is_linux() {
            // tcp_output of macOS
            if now.since(self.received) >= self.rto() {
                self.quick = self.settings.quick_acks;
            }
        } else if now.since(self.received) < self.timeout {
            self.pingpong = true;
        }
    }
}
