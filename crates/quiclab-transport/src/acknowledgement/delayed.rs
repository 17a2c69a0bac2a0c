//! Delayed acknowledgements of TCP (RFC 9293 section 3.8.6.3, RFC 5681 section 4.2; Linux
//! `tcp_event_data_recv`, `__tcp_ack_snd_check`, `tcp_send_delayed_ack`, `tcp_cleanup_rbuf`).
//!
//! Every second full segment is acknowledged at once, a single one after the delayed-ACK timeout, which
//! follows the gaps between segments. At the start, after pauses and after duplicates every segment is
//! acknowledged (quick mode), unless the connection responds to received data (pingpong): then the ACK is
//! sent with the response. Behind a gap, ACKs beyond the third at one position may be merged.
//!
//! | | RFC 5681, 9293 | Linux | here |
//! |---|---|---|---|
//! | wait | < 500 ms | 40 to 200 ms, adapted | as Linux |
//! | behind a gap | each at once | first three, then merged for 5 % of the RTT (33 % since 6.18), 1 ms at most | as Linux |
//! | gap filled | at once | at once when nothing is out of order any more | as Linux |
//! | pingpong | | after 1 response (3 from 5.1 to 5.19) | after 1 |
//! | merged ACK before a distant block changes | | sent before the change | sent after it |
//! | full segment with PSH | | acknowledged when it is read, since 6.6 | by release |
//! | quick mode counts | | segments sent (since 6.6 only with an ACK due) | as 6.6 |
//! | clock of the gaps | | jiffies | nanoseconds |
//! | end of a wait | | a tick | as Linux |
//!
//! Receivers other than Linux count, and wait for a fixed time ([`TcpAckRule`]):
//!
//! | | FreeBSD `DELAY_ACK` | Windows | macOS `tcp_cc_delay_ack`, `tcp_output` | here |
//! |---|---|---|---|---|
//! | counts | segments | segments | bytes, in full segments | as the system |
//! | at once besides | gaps, duplicates | | gaps, duplicates, 16 ACKs after them, after a wait and at the start; PSH when read | as the system; Windows as FreeBSD |
//! | application that reads late | | | fewer ACKs, at least two per RTT | applications read at once |
//! | larger window | when a quarter of the buffer is free | | at once | as Linux |

#[cfg(test)]
mod tests;

use crate::ticks::Ticks;
use quiclab_core::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of duplicates at a position that are not merged (Linux `TCP_FASTRETRANS_THRESH`).
const UNMERGED: u8 = 3;
/// Initial estimate of the peer's segment payload, and its minimum (Linux `TCP_MSS_DEFAULT`, `TCP_MIN_MSS`).
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
    /// Rule by which an acknowledgement is due at once.
    pub rule: TcpAckRule,
    /// Number of segments after which an acknowledgement is due at once.
    pub segments: u32,
    /// Minimum delay. Rules other than Linux's use the maximum only.
    pub min_delay: Duration,
    /// Maximum delay.
    pub max_delay: Duration,
    /// Maximum number of segments acknowledged one by one in quick mode.
    pub quick_acks: u32,
    /// Maximum number of ACKs merged into one; 0: none.
    pub compressed_acks: u32,
    /// Maximum delay of merged ACKs.
    pub compressed_delay: Duration,
    /// Maximum delay of merged ACKs as a share of the RTT in percent.
    pub compressed_percent: u32,
    /// Retransmission timeout as the receiver estimates it: this plus srtt.
    pub min_rto: Duration,
    /// The same before the first RTT.
    pub initial_rto: Duration,
    /// Payload of a full segment in bytes.
    pub payload: u64,
    /// Ticks of the kernel, at which delayed acknowledgements are sent.
    pub ticks: Ticks,
    /// Whether data read up to the end of a write are acknowledged at once.
    pub at_reads: bool,
    /// Whether a full segment that ends a write counts as its end, as a shorter one does.
    pub full_pushes: bool,
}

/// Segment that arrived in order, or is measured although it did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its payload in bytes.
    pub payload: u64,
    /// Bytes of its TCP header that only some segments have (SACK), at the expense of the payload.
    pub extra_header: u64,
    /// Whether it ends a write of the application (PSH) or the stream (FIN).
    pub ends_write: bool,
    /// Whether PSH is set.
    pub push: bool,
    /// Receive window announced last in bytes.
    pub window: u64,
}

/// State of the receiver after a segment or a read, on which decisions are based.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Next position expected.
    pub next: u64,
    /// Bytes received in order since the last ACK sent.
    pub unacknowledged: u64,
    /// Whether the window to be announced is not smaller than the last one, or all data are read.
    pub window_advances: bool,
    /// Whether data are held behind a gap.
    pub out_of_order: bool,
    /// Whether SACK is in use.
    pub sack: bool,
    /// RTT as measured by the receiver.
    pub rtt: Option<Duration>,
}

/// State of delayed acknowledgements.
#[derive(Clone, Copy, Debug)]
pub struct DelayedAck {
    settings: Settings,
    /// Delayed-ACK timeout; zero before the first data.
    timeout: Duration,
    /// Segments still to be acknowledged one by one.
    quick: u32,
    /// Segments received in order since the last acknowledgement.
    segments: u32,
    /// Whether the connection responds to received data.
    pingpong: bool,
    /// Time of the last data in order.
    received: Time,
    srtt: Option<Duration>,
    /// Payload of the peer's full segments, and of the last one that was smaller.
    segment: u64,
    smaller: u64,
    /// Whether an acknowledgement is pending.
    scheduled: bool,
    /// Whether the rule requires one at once.
    required: bool,
    /// Whether a write of the application has ended, and whether two have.
    pushed: bool,
    pushed_again: bool,
    /// Time at which an immediate acknowledgement was decided.
    immediate: Option<Time>,
    delayed: Option<Time>,
    /// ACKs merged, and the time at which they are sent.
    merged: u32,
    merged_until: Option<Time>,
    /// Duplicates acknowledged at once at a position.
    duplicates: u8,
    duplicates_at: u64,
}

impl DelayedAck {
    /// Makes the policy of a new connection with an initial receive window of `window` bytes.
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

    /// Sets the smoothed RTT of the sending half.
    pub fn set_srtt(&mut self, srtt: Option<Duration>) {
        self.srtt = srtt;
    }

    fn rto(&self) -> Duration {
        self.srtt.map_or(self.settings.initial_rto, |srtt| srtt + self.settings.min_rto)
    }

    /// Notes data that must be acknowledged eventually.
    pub fn schedule(&mut self) {
        self.scheduled = true;
    }
    /// Requires an acknowledgement at the next decision.
    pub fn require(&mut self) {
        self.scheduled = true;
        self.required = true;
    }
    /// Makes a pending acknowledgement immediate (`ICSK_ACK_NOW`).
    pub fn hasten(&mut self) {
        self.required = true;
    }
    /// Acknowledges now: for a window update or an unacceptable segment.
    pub fn acknowledge_now(&mut self, now: Time) {
        self.immediate.get_or_insert(now);
    }

    /// Handles data in order: the timeout follows the gap to the previous data (`tcp_event_data_recv`).
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
            // the sender is presumably in slow start again
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
    /// Enters quick mode after a duplicate or data outside the window: the sender's state is wrong
    /// (`tcp_enter_quickack_mode`).
    pub fn enter_quick_mode(&mut self, window: u64) {
        self.enter_short_quick_mode(window, self.settings.quick_acks);
    }
    /// Enters quick mode for at most `most` segments.
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
    /// Handles an increase of the window, which the sender should learn of (`tcp_grow_window`).
    pub fn on_window_grown(&mut self) {
        self.quick |= u32::from(self.is_linux());
    }
    /// Handles a lack of space: ACKs need not be quick (`__tcp_select_window`).
    pub fn on_little_room(&mut self) {
        if self.is_linux() {
            self.quick = 0;
        }
    }

    /// Decides after a segment whether to acknowledge it now or later (`__tcp_ack_snd_check`).
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

    /// Whether enough segments have arrived in order for an acknowledgement at once.
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

    /// "The receiver SHOULD send an immediate duplicate ACK when an out-of-order segment arrives" (RFC 5681
    /// section 4.2): this holds for the first three at a position, as fast retransmit needs.
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

    /// Sends merged ACKs before a change of a block that they might push out of the option
    /// (`tcp_sack_compress_send_ack`).
    pub fn flush_merged(&mut self, now: Time) {
        if self.merged > 0 {
            self.acknowledge_now(now);
        }
    }

    /// Handles a read of all data, `bytes`, by the application (`tcp_cleanup_rbuf`).
    pub fn on_read(&mut self, now: Time, bytes: u64, state: &State) {
        let end_of_write = self.pushed_again || (self.pushed && !self.pingpong);
        let emptied = self.settings.at_reads && bytes > 0 && end_of_write && !state.out_of_order;
        if self.scheduled && (self.is_enough(state) || emptied) {
            self.acknowledge_now(now);
        }
    }

    /// Time at which an acknowledgement must be sent, at once if it is not in the future; `None`: nothing to
    /// acknowledge.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        self.immediate.or(match (self.delayed, self.merged_until) {
            (Some(delayed), Some(merged)) => Some(delayed.min(merged)),
            (delayed, merged) => delayed.or(merged),
        })
    }

    /// Handles the departure of an acknowledgement of all data, `pure` or with data (`tcp_event_ack_sent`).
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

    /// Handles new data that is sent: a response, if it follows received data within the timeout
    /// (`tcp_event_data_sent`).
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
