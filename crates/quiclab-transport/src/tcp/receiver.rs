//! Receiving half of a TCP connection: received data, data read by the application, and acknowledgements (RFC
//! 9293 section 3.10.7.4; Linux `tcp_rcv_established`).
//!
//! ```text
//! reassembly    intervals out of order, SACK blocks, duplicates
//! window        limit of data of the peer; the buffer grows with the rate
//! timestamps    choice of the echo, PAWS
//! acknowledgement::delayed   when to acknowledge
//! ```
//!
//! | | RFC 9293 | Linux | here |
//! |---|---|---|---|
//! | segment over the right edge | trimmed | taken whole (dropped whole from 6.17 on) | trimmed |
//! | ACK of a FIN | | delayed, unless this end has sent FIN | at once |
//! | responses to unacceptable empty segments | each | one in 500 ms | as Linux |
//!
//! The clock of timestamps is `now` in milliseconds, modulo 2^32: the received echo gives the RTT.

mod reassembly;
mod timestamps;
mod window;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use crate::acknowledgement::delayed::{Arrival, DelayedAck, Settings, State};
use crate::options::TcpValues;
use crate::tcp::accecn::Received;
use crate::tcp::config::Config;
use crate::tcp::ecn::{Echo, PriorAck, QUICK_ACKS};
use crate::ticks::Ticks;
use quiclab_core::{AccEcnOption, Duration, Ecn, Flags, SackBlocks, Segment, Time};
use reassembly::{Outcome, Reassembly};
use timestamps::Timestamps;
use window::{GROWTH_PAYLOAD, Window};

/// Minimum time between responses to unacceptable empty segments (Linux `tcp_invalid_ratelimit`).
const ANSWER_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum number of blocks with the timestamps option, and without it (RFC 2018 section 3).
const BLOCKS_WITH_TIMESTAMPS: usize = 3;
const BLOCKS: usize = 4;

/// Receiving half.
pub(crate) struct Receiver {
    reassembly: Reassembly,
    window: Window,
    acks: DelayedAck,
    timestamps: Timestamps,
    echo: Echo,
    /// Counts of packets by ECN field; `None` if AccECN is not in use.
    counts: Option<Received>,
    prior_ack: Option<PriorAck>,
    /// First position that the application has not read.
    unread: u64,
    /// Acknowledgement number sent last (Linux `rcv_wup`).
    acknowledged: u64,
    /// Time of the last response to an unacceptable segment without data.
    answered: Option<Time>,
    sack: bool,
    has_timestamps: bool,
    /// Whether segments out of order are measured, too.
    measures_out_of_order: bool,
}

impl Receiver {
    /// Makes the receiver of a connection. `payload` is that of a full segment; position 1 is the first of
    /// the peer's stream. `window_scaling` and `ecn` of `config.tcp` must be the negotiated values, as `sack`
    /// and `timestamps`.
    pub(crate) fn new(config: &Config, payload: u64, sack: bool, timestamps: bool) -> Self {
        let window = Window::new(config, payload);
        let fixed = config.fixed.clone();
        let config = &config.tcp;
        let settings = Settings {
            rule: config.ack_rule,
            segments: config.segments_per_ack,
            min_delay: config.min_delayed_ack,
            max_delay: config.max_delayed_ack,
            quick_acks: config.quick_acks,
            compressed_acks: config.compressed_acks,
            compressed_delay: config.compressed_ack_delay,
            compressed_percent: fixed.compressed_ack_percent,
            min_rto: config.min_rto,
            initial_rto: config.initial_rto,
            payload,
            ticks: Ticks::new(config.kernel_hz),
            at_reads: config.acknowledge_reads,
            full_pushes: fixed.acknowledge_full_pushes,
        };
        Self {
            reassembly: Reassembly::new(sack, config.dsack),
            window,
            acks: DelayedAck::new(settings, window.announced()),
            timestamps: Timestamps::new(timestamps, config.min_rto.as_nanos() / 1_000_000),
            echo: Echo::new(config.ecn),
            counts: None,
            prior_ack: None,
            unread: 1,
            acknowledged: 1,
            answered: None,
            sack,
            has_timestamps: timestamps,
            measures_out_of_order: fixed.measures_out_of_order,
        }
    }

    /// Opens the connection at `now`; SYN or SYN-ACK has offered a window of `offered` bytes.
    pub(crate) fn opened(mut self, now: Time, offered: u32) -> Self {
        self.window.open(now, offered.into());
        self
    }

    /// Reports marks with AccECN in acknowledgements.
    pub(crate) fn count_marks(&mut self, counts: Received) {
        self.counts = Some(counts);
    }

    /// Shift count of the window to announce in SYN or SYN-ACK (RFC 7323 section 2.2); 0 without scaling.
    pub(crate) fn window_scale(config: &TcpValues) -> u8 {
        window::window_scale(config)
    }

    /// Handles a segment (the caller has checked PAWS) with data or FIN, or an empty one, whose timestamp is
    /// echoed, too, and which is responded to if it is a window probe. `srtt` is that of the sending half, if
    /// it has one: it bounds the delayed acknowledgement. `field` is the ECN field of the packet.
    pub(crate) fn on_segment(&mut self, now: Time, segment: &Segment, field: Ecn, srtt: Option<Duration>) {
        self.acks.set_srtt(srtt);
        if segment.flags.has(Flags::SYN) {
            // of the handshake
            return self.timestamps.update(segment, self.acknowledged);
        }
        let (start, end) = (segment.sequence, segment.end());
        if end < self.acknowledged || start > self.window.edge() {
            return self.refuse(now, segment);
        }
        self.timestamps.update(segment, self.acknowledged);
        self.count(segment, field);
        if segment.flags.has(Flags::CWR) && self.echo.on_cwr() && start != end {
            self.acks.require(); // the sender's window may be a single segment
        }
        if self.has_timestamps {
            // the echo of a pure ACK is not new any more when data repeat it
            let full_sized = end - start >= self.acks.segment();
            let unread = self.reassembly.readable() > self.unread;
            self.window.measure_by_echo(now, segment.timestamp_echo, full_sized, unread);
        }
        if start == end {
            return;
        }
        self.take(now, segment, field);
        let state = self.state();
        self.acks.decide(now, &state);
    }

    /// Counts an acceptable segment by the ECN field of its packet (`tcp_ecn_received_counters`).
    fn count(&mut self, segment: &Segment, field: Ecn) {
        let Some(counts) = &mut self.counts else { return };
        // RFC 9768 section 3.2.2.5.1: change-triggered acknowledgements
        if counts.on_packet(field, u64::from(segment.length)) || counts.is_urgent() {
            self.acks.hasten();
        }
    }

    /// Handles new data in a packet with this ECN field (`tcp_data_ecn_check`).
    fn note_mark(&mut self, field: Ecn) {
        let demand = self.echo.on_data(field, self.next_expected(), self.acks.is_delayed());
        if demand.quick {
            self.acks.enter_short_quick_mode(self.window.announced(), QUICK_ACKS);
        }
        if demand.now {
            self.acks.require();
        }
        if demand.before.is_some() {
            self.prior_ack = demand.before;
        }
    }

    /// Rejects a segment: "If an incoming segment is not acceptable, an acknowledgment should be sent in
    /// reply" (RFC 9293 section 3.10.7.4; Linux `tcp_send_dupack`).
    fn refuse(&mut self, now: Time, segment: &Segment) {
        let (start, end) = (segment.sequence, segment.end());
        if start == end {
            if self.answered.is_some_and(|last| now.since(last) < ANSWER_INTERVAL) {
                return;
            }
            self.answered = Some(now);
        } else if start < self.next_expected() {
            self.acks.enter_quick_mode(self.window.announced());
            self.reassembly.insert(start, end.min(self.next_expected()), false);
        }
        self.acks.acknowledge_now(now);
    }

    /// Acknowledges and drops a segment that PAWS rejects ([`Receiver::is_too_old`]) (RFC 7323 section 5.3,
    /// R1).
    pub(crate) fn on_too_old(&mut self, now: Time, segment: &Segment) {
        self.refuse(now, segment);
    }

    /// Handles an acceptable segment with data or FIN.
    fn take(&mut self, now: Time, segment: &Segment, field: Ecn) {
        let (start, edge) = (segment.sequence, self.window.edge());
        let end = segment.end().min(edge);
        let next = self.next_expected();
        if end > next && start >= edge || edge <= next {
            // no part of it fits; its old part is still a duplicate
            if start < next {
                self.reassembly.insert(start, end.min(next), false);
            }
            return self.acks.enter_quick_mode(self.window.announced());
        }
        let fin = segment.flags.has(Flags::FIN) && end == segment.end();
        let held = self.held();
        match self.reassembly.insert(start, end, fin) {
            Outcome::Duplicate => self.acks.enter_quick_mode(self.window.announced()),
            Outcome::InOrder { filled } => {
                self.on_order(now, segment, field);
                // RFC 5681 section 4.2: "SHOULD send an immediate ACK when it receives a data segment that
                // fills in all or part of a gap"; Linux: all of it
                if filled || self.reassembly.is_complete() {
                    self.acks.require();
                }
            }
            Outcome::OutOfOrder { distant } => {
                self.note_mark(field);
                if distant {
                    self.acks.flush_merged(now);
                }
                self.acks.schedule();
                if self.measures_out_of_order {
                    let arrival = self.measure(segment);
                    self.acks.measure_segment(&arrival);
                }
                // without SACK the window must not move, or the ACK is not a duplicate (RFC 5681 section 2);
                // the segment is charged afterwards (skb_set_owner_r)
                if self.sack {
                    self.grow(u64::from(segment.length), held);
                }
                self.window.on_out_of_order(self.reassembly.highest().saturating_sub(self.next_expected()));
            }
        }
    }

    /// Handles data in order (Linux `tcp_event_data_recv`).
    fn on_order(&mut self, now: Time, segment: &Segment, field: Ecn) {
        let payload = u64::from(segment.length);
        if payload == 0 {
            return self.acks.schedule();
        }
        let arrival = self.measure(segment);
        self.acks.on_data(now, &arrival);
        self.note_mark(field);
        self.window.measure_by_window(now, self.next_expected());
        if payload >= GROWTH_PAYLOAD {
            self.grow(payload, self.held());
        }
    }

    /// Arrival of a segment for the acknowledgement policy; one larger than before shows the share of payload
    /// in its memory (Linux `tcp_measure_rcv_mss`).
    fn measure(&mut self, segment: &Segment) -> Arrival {
        let payload = u64::from(segment.length);
        let plain = if self.has_timestamps { 32 } else { 20 };
        let push = segment.flags.has(Flags::PSH);
        let arrival = Arrival {
            payload,
            extra_header: segment.header_bytes(self.has_timestamps) - plain,
            ends_write: push || segment.flags.has(Flags::FIN),
            push,
            window: self.window.announced(),
        };
        if payload > self.acks.segment() {
            self.window.measure_ratio(payload);
        }
        arrival
    }

    fn grow(&mut self, payload: u64, held: u64) {
        if self.window.grow(payload, held) {
            self.acks.on_window_grown();
        }
    }

    /// Part of the window that is occupied by unread data and data out of order.
    fn held(&self) -> u64 {
        let bytes = self.reassembly.readable().saturating_sub(self.unread) + self.reassembly.held_bytes();
        self.window.taken(bytes, self.reassembly.memory())
    }

    fn state(&self) -> State {
        let held = self.held();
        let nothing_unread = self.reassembly.readable() == self.unread;
        State {
            next: self.next_expected(),
            unacknowledged: self.next_expected() - self.acknowledged,
            window_advances: nothing_unread
                || self.window.select(held, self.acks.segment()) >= self.window.announced(),
            out_of_order: self.reassembly.held_bytes() > 0,
            sack: self.sack,
            rtt: self.window.rtt(),
        }
    }

    /// Reads all data in order for the application; returns the number of bytes. Moves the window; the buffer
    /// grows with the bytes read in an RTT (dynamic right-sizing).
    pub(crate) fn read(&mut self, now: Time) -> u64 {
        let readable = self.reassembly.readable();
        let bytes = readable - self.unread;
        self.unread = readable;
        self.reassembly.on_read();
        let beyond = self.reassembly.highest().saturating_sub(readable);
        if bytes > 0 {
            // the buffer is adjusted when the first of the queued skbs is copied; those of a device without
            // page fragments are not merged (`skb_head_is_locked`)
            let left = bytes.saturating_sub(self.acks.segment());
            self.window.on_read(now, readable - left, left, beyond);
        }
        let state = self.state();
        self.acks.on_read(now, bytes, &state);
        if bytes > 0 && self.acks.due().is_none_or(|due| due > now) && !self.reassembly.is_complete() {
            self.update_window(now);
        }
        bytes
    }

    /// Acknowledges at once if reading made enough room to notify the sender: at least twice the window known
    /// to it (RFC 9293 section 3.8.6.2.2; Linux `tcp_cleanup_rbuf`).
    fn update_window(&mut self, now: Time) {
        let known = self.window.edge().saturating_sub(self.next_expected());
        if 2 * known <= self.window.clamp() {
            let window = self.window.select(self.held(), self.acks.segment());
            if window > 0 && window >= 2 * known {
                self.acks.acknowledge_now(now);
            }
        }
    }

    /// Whether FIN has arrived and all data before it were read.
    pub(crate) fn is_finished(&self) -> bool {
        self.reassembly.is_complete() && self.unread == self.reassembly.readable()
    }
    /// Whether an acknowledgement sent now echoes a mark (ECE).
    pub(crate) fn echoes_mark(&self) -> bool {
        self.echo.is_on()
    }
    /// Takes AE, CWR and ECE of a segment that is sent now, with AccECN.
    pub(crate) fn tell_marks(&mut self) -> Flags {
        self.counts.as_mut().map_or(Flags::NONE, Received::tell)
    }
    /// Takes the AccECN option of a segment that is sent now with `blocks`, if options are in use, and the
    /// remaining blocks.
    pub(crate) fn accecn_option(
        &mut self,
        in_use: bool,
        mut blocks: SackBlocks,
    ) -> Option<(AccEcnOption, SackBlocks)> {
        let option = self.counts.as_mut().filter(|_| in_use)?.option(self.has_timestamps, &mut blocks)?;
        Some((option, blocks))
    }
    /// Takes an acknowledgement of a part of the received data that must be sent before any other.
    pub(crate) fn take_prior_ack(&mut self) -> Option<PriorAck> {
        self.prior_ack.take()
    }
    /// Time at which an acknowledgement must be sent, at once if it is not in the future; `None`: nothing to
    /// acknowledge.
    pub(crate) fn ack_due(&self) -> Option<Time> {
        self.acks.due()
    }
    /// Next position expected: the acknowledgement number.
    pub(crate) fn next_expected(&self) -> u64 {
        self.reassembly.next()
    }
    /// Window to announce now, in bytes; its edge never moves back (RFC 9293 section 3.8.6).
    pub(crate) fn window(&mut self) -> u32 {
        let held = self.held();
        if self.window.is_short(held) {
            self.acks.on_little_room();
        }
        self.window.announce(self.next_expected(), held, self.acks.segment())
    }
    /// Takes the blocks for a segment that is sent now: the DSACK block, if one is due, and the latest
    /// arrivals first; at most three with timestamps, four without.
    pub(crate) fn sack_blocks(&mut self) -> Option<SackBlocks> {
        self.reassembly.take_blocks(if self.has_timestamps { BLOCKS_WITH_TIMESTAMPS } else { BLOCKS })
    }
    /// Handles a sent segment with acknowledgement and window, a pure ACK or data (`pure` false).
    pub(crate) fn on_ack_sent(&mut self, now: Time, pure: bool) {
        self.acknowledged = self.next_expected();
        self.acks.on_ack_sent(now, pure);
    }
    /// Handles a sent segment of data that is not a retransmission: the connection is interactive (pingpong)
    /// if it responds to data just received.
    pub(crate) fn on_data_sent(&mut self, now: Time) {
        self.acks.on_data_sent(now);
    }
    /// TSval to echo (RFC 7323 section 4.3), `None` before the first.
    pub(crate) fn timestamp_to_echo(&self) -> Option<u32> {
        self.timestamps.recent()
    }
    /// Whether a segment's timestamp is older than the last one accepted (PAWS, RFC 7323 section 5).
    pub(crate) fn is_too_old(&self, segment: &Segment) -> bool {
        self.timestamps.is_too_old(segment, self.next_expected())
    }
}
