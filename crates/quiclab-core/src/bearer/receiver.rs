//! The receiving end of a split bearer: PDCP reordering (TS 38.323 sections 5.2.2.1 and 5.2.2.2).
//!
//! Packets in sequence leave immediately. A gap starts t-Reordering; packets after the gap wait until it is filled or
//! the timer expires. Packets that become deliverable leave in one burst.
//!
//! With [`BearerReceiver::with_timer_for_each_gap`], which is not in the standard, a packet waits at most one timer.
//!
//! The code published with Hasselquist et al. 2022 and its descriptions depart from the standard,
//! which is followed here:
//!
//! | | published | standard, and here |
//! | --- | --- | --- |
//! | expiry, RX_REORD has not arrived (code) | a run from RX_REORD + 1 is delivered, too, and RX_DELIV becomes at least RX_REORD + 1, so packet RX_REORD is dropped when it comes | the run must begin at RX_REORD; RX_DELIV stays there, and the packet is delivered when it comes |
//! | expiry, limit of the first step (thesis, algorithm 2) | the first packet not delivered yet | RX_REORD |
//! | a copy of a waiting packet (thesis, algorithm 1) | no check | dropped |
//! | accuracy of the timer | a thread that polls | exact |
//! | bytes of the number after delivery | two surplus bytes stay behind a UDP datagram | removed |
//!
//! t-Reordering may follow the skew of the links (see `skew`) instead of being fixed.
//!
//! Further differences from the standard: COUNT has 64 bits (see `count`), and with reordering disabled everything
//! passes, copies too, whereas outOfOrderDelivery of the standard drops them.

use super::buffer::{ReceptionBuffer, SkippedCounts, Waiting};
use super::count::SequenceBits;
use super::timer::ReorderingTimers;
use super::weights;
use crate::bearer::BearerConfig;
use crate::counters::Counters;
use crate::element::{DropReason, Element, Outputs, Port};
use crate::metric::Metrics;
use crate::packet::Packet;
use crate::time::{Duration, Time};
use std::collections::BTreeSet;

crate::metrics! {
    /// Totals of the receiving end of a bearer.
    pub static BEARER_RECEIVER: BearerReceiverMetrics = Network, "bearer, receiving end; tunnel with resequencing" {
        /// Packets received over link *k*.
        received_packets as "received_port<k>_packets": Counter, End;
        /// Packets delivered in the instant of their arrival.
        in_order_packets: Counter, End;
        /// Packets that waited for earlier ones.
        buffered_total_packets: Counter, End;
        /// Packets with a number below one that had arrived before, without duplicates and late packets.
        overtaken_packets: Counter, End;
        /// Maximum number of waiting packets.
        longest_buffer_packets: Maximum, End;
        /// Starts of t-Reordering by an arriving packet.
        reordering_events: Counter, End;
        /// Expiries of t-Reordering.
        timer_expiries: Counter, End;
        /// Packets dropped because their number had been skipped.
        late_packets: Counter, End;
        /// Dropped duplicates.
        duplicate_packets: Counter, End;
        /// Numbers skipped after a timeout; some of their packets may have arrived late.
        skipped_packets: Counter, End;
        /// Packets delivered after a wait.
        waited_packets: Counter, End;
        /// Mean wait of packets that were delivered after one.
        waiting_mean_ms: Mean, End;
        /// The longest wait for earlier packets.
        waiting_max_ms: Maximum, End;
        /// Value with which t-Reordering would start; in series of bearers only.
        reordering_timer_ms: Gauge, Both;
        /// Minimum value of t-Reordering at its starts; missing if it never started.
        reordering_timer_least_ms: Minimum, End;
        /// Maximum value of t-Reordering at its starts; missing if it never started.
        reordering_timer_largest_ms: Maximum, End;
        /// Packets that wait for their turn; bearers only.
        buffered_packets: Gauge, Series;
        /// Bytes of IP packets delivered in order so far; bearers only.
        sent_bytes: Counter, Series;
    }
}

/// The receiving end: one input port for each link, output port 0.
pub struct BearerReceiver {
    bits: SequenceBits,
    /// Whether packets are reordered; if not, the number is stripped and they pass.
    enabled: bool,
    timer: ReorderingTimers,
    /// COUNT above the highest one received.
    rx_next: u64,
    /// First COUNT that is neither delivered nor given up.
    rx_deliv: u64,
    buffer: ReceptionBuffer,
    /// Neither delivered nor awaited: see [`BearerReceiver::pass_over`].
    passed_over: BTreeSet<u64>,
    given_up: SkippedCounts,
    /// Counters without the held packets, which are in `buffer`.
    counters: Counters,
    statistics: Statistics,
}

#[derive(Debug, Default)]
struct Statistics {
    /// Packets received from each link.
    received: Vec<u64>,
    /// Packets that left in the call in which they arrived.
    in_order: u64,
    /// Packets that had to wait.
    buffered: u64,
    /// Packets whose number is below one that had arrived before.
    overtaken: u64,
    /// Times a packet started the timer.
    reordering_events: u64,
    timer_expiries: u64,
    /// Packets that arrived after their turn was over.
    late: u64,
    /// Copies of packets that had arrived before.
    duplicates: u64,
    /// Skipped numbers; some of their packets may have arrived late.
    skipped: u64,
    /// Packets that were delivered after a wait, and their total wait.
    waited: u64,
    waiting_sum: Duration,
    waiting_max: Duration,
}

impl BearerReceiver {
    /// Creates the receiving end of `bearer`.
    ///
    /// # Panics
    /// If the configuration is not valid.
    #[must_use]
    pub fn new(bearer: &BearerConfig) -> Self {
        let bits = SequenceBits::new(bearer.reordering.sequence_bits);
        let links = weights(bearer).len();
        Self {
            bits,
            enabled: bearer.reordering.enabled,
            timer: ReorderingTimers::new(bearer.reordering.timer),
            rx_next: 0,
            rx_deliv: 0,
            buffer: ReceptionBuffer::default(),
            passed_over: BTreeSet::new(),
            given_up: SkippedCounts::new(bits.window()),
            counters: Counters::default(),
            statistics: Statistics { received: vec![0; links], ..Statistics::default() },
        }
    }

    /// Uses one timer per gap, which starts when the gap is detected: a gap detected during the wait for another is
    /// given up one timer later, not after the remainder of the running timer and a whole one. Not in the standard,
    /// which has one timer.
    ///
    /// # Panics
    /// If t-Reordering is not constant.
    #[must_use]
    pub(crate) fn with_timer_for_each_gap(mut self) -> Self {
        self.timer.run_for_each_gap();
        self
    }

    /// Sets all state variables to `count`, as if all earlier packets had been delivered.
    #[cfg(test)]
    pub(super) fn starting_at(mut self, count: u64) -> Self {
        (self.rx_next, self.rx_deliv) = (count, count);
        self
    }

    /// Section 5.2.2.1: returns the COUNT of a packet; one that must be discarded goes to `out`, with `None`.
    fn admit(
        &mut self,
        now: Time,
        packet: Box<Packet>,
        sequence: u32,
        out: &mut Outputs,
    ) -> Option<(u64, Box<Packet>)> {
        let count = self.bits.received_count(sequence, self.rx_deliv);
        let is_copy = match count {
            Some(count) if count >= self.rx_deliv => {
                if !self.buffer.contains(self.rx_deliv, count) && !self.passed_over.contains(&count) {
                    return Some((count, packet));
                }
                true
            }
            Some(count) => !self.given_up.replace(count, false),
            None => false,
        };
        if is_copy {
            self.statistics.duplicates += 1;
        } else {
            self.statistics.late += 1;
            if let Some(count) = count {
                self.timer.came(now, count, self.rx_next);
            }
        }
        self.counters.dropped.add(packet.size);
        out.discard(DropReason::DuplicateOrLate, packet);
        None
    }

    fn deliver(&mut self, packet: Box<Packet>, out: &mut Outputs) {
        self.counters.sent.add(packet.size);
        out.send(Port(0), packet);
    }

    /// Delivers the packet of RX_DELIV if it is in the buffer; it may also have been passed over.
    fn deliver_next(&mut self, now: Time, out: &mut Outputs) -> bool {
        if !self.passed_over.is_empty() && self.passed_over.remove(&self.rx_deliv) {
            self.pass(false);
            return true;
        }
        let Some(Waiting { since, packet }) = self.buffer.take(self.rx_deliv) else {
            return false;
        };
        let waiting = now.since(since);
        self.statistics.waited += 1;
        self.statistics.waiting_sum += waiting;
        self.statistics.waiting_max = self.statistics.waiting_max.max(waiting);
        self.deliver(packet, out);
        self.pass(false);
        true
    }

    /// Advances RX_DELIV by one number, which was delivered or given up.
    fn pass(&mut self, given_up: bool) {
        self.given_up.replace(self.rx_deliv, given_up);
        self.statistics.skipped += u64::from(given_up);
        self.rx_deliv += 1;
    }

    /// Handles the arrival of the packet of `sequence` that is not to be delivered: later packets do not wait for it.
    /// For links without copies, of which another one might still be delivered.
    pub(crate) fn pass_over(&mut self, now: Time, sequence: u32, out: &mut Outputs) {
        let count = self.bits.received_count(sequence, self.rx_deliv);
        let Some(count) = count.filter(|count| self.enabled && *count >= self.rx_deliv) else { return };
        self.came(now, count);
        self.passed_over.insert(count);
        while self.deliver_next(now, out) {}
        self.statistics.reordering_events += u64::from(self.update_timer(now));
    }

    /// COUNT of the first awaited packet, and the one above the highest that has arrived.
    #[must_use]
    pub const fn awaited(&self) -> (u64, u64) {
        (self.rx_deliv, self.rx_next)
    }

    /// Whether the packet of `count`, which is awaited or above that, is missing.
    #[must_use]
    pub(crate) fn is_missing(&self, count: u64) -> bool {
        !self.buffer.contains(self.rx_deliv, count) && !self.passed_over.contains(&count)
    }

    /// Handles the arrival of the packet of `sequence`, which the caller delivers immediately: later packets do not
    /// wait for it. Returns whether it is the first arrival.
    pub(crate) fn came_unordered(&mut self, now: Time, sequence: u32, out: &mut Outputs) -> bool {
        match self.bits.received_count(sequence, self.rx_deliv) {
            Some(count) if count >= self.rx_deliv => {
                let first = self.is_missing(count);
                if first {
                    self.pass_over(now, sequence, out);
                }
                first
            }
            Some(count) => self.given_up.replace(count, false),
            None => false,
        }
    }

    /// Handles the first arrival of the packet of `count`, whose turn is not over.
    fn came(&mut self, now: Time, count: u64) {
        self.timer.came(now, count, self.rx_next);
        let opens_gap = count > self.rx_next;
        self.rx_next = self.rx_next.max(count + 1);
        if opens_gap && self.timer.runs_for_each_gap() {
            self.timer.start(now, self.rx_next);
            self.statistics.reordering_events += 1;
        }
    }

    /// Stops the timer if the packets that it was started for are no longer awaited, and starts it if it is not running
    /// and a packet is missing. Returns whether it has started.
    fn update_timer(&mut self, now: Time) -> bool {
        self.timer.stop_until(self.rx_deliv);
        let starts = !self.timer.is_running() && self.rx_deliv < self.rx_next;
        if starts {
            self.timer.start(now, self.rx_next);
        }
        starts
    }

    /// Section 5.2.2.2.
    fn expire(&mut self, now: Time, rx_reord: u64, out: &mut Outputs) {
        self.statistics.timer_expiries += 1;
        while self.rx_deliv < rx_reord {
            if !self.deliver_next(now, out) {
                self.pass(true);
            }
        }
        while self.deliver_next(now, out) {}
        self.update_timer(now);
    }
}

impl Element for BearerReceiver {
    fn receive(&mut self, now: Time, port: Port, mut packet: Box<Packet>, out: &mut Outputs) {
        self.counters.received.add(packet.size);
        self.statistics.received[usize::from(port.0)] += 1;
        let sequence = std::mem::take(&mut packet.sequence);
        packet.encapsulation -= self.bits.encapsulation();
        if !self.enabled {
            return self.deliver(packet, out);
        }
        let Some((count, packet)) = self.admit(now, packet, sequence, out) else {
            return;
        };
        self.statistics.overtaken += u64::from(count < self.rx_next);
        self.came(now, count);
        if count == self.rx_deliv {
            // stored and delivered immediately: the buffer is not needed
            self.statistics.in_order += 1;
            self.deliver(packet, out);
            self.pass(false);
            while self.deliver_next(now, out) {}
        } else {
            self.statistics.buffered += 1;
            self.buffer.insert(self.rx_deliv, count, Waiting { since: now, packet });
        }
        self.statistics.reordering_events += u64::from(self.update_timer(now));
    }

    fn wake(&mut self, now: Time, out: &mut Outputs) {
        if let Some(rx_reord) = self.timer.expired(now) {
            self.expire(now, rx_reord, out);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.timer.expires()
    }

    fn counters(&self) -> Counters {
        Counters { held: self.buffer.held(), ..self.counters }
    }

    fn statistics(&mut self, _now: Time, out: &mut Metrics) {
        let statistics = &self.statistics;
        for (index, &received) in statistics.received.iter().enumerate() {
            out.count_of(&BEARER_RECEIVER.received_packets, index, received);
        }
        out.count(&BEARER_RECEIVER.in_order_packets, statistics.in_order);
        out.count(&BEARER_RECEIVER.buffered_total_packets, statistics.buffered);
        out.count(&BEARER_RECEIVER.overtaken_packets, statistics.overtaken);
        out.count(&BEARER_RECEIVER.longest_buffer_packets, self.buffer.longest());
        out.count(&BEARER_RECEIVER.reordering_events, statistics.reordering_events);
        out.count(&BEARER_RECEIVER.timer_expiries, statistics.timer_expiries);
        out.count(&BEARER_RECEIVER.late_packets, statistics.late);
        out.count(&BEARER_RECEIVER.duplicate_packets, statistics.duplicates);
        out.count(&BEARER_RECEIVER.skipped_packets, statistics.skipped);
        out.count(&BEARER_RECEIVER.waited_packets, statistics.waited);
        out.set(
            &BEARER_RECEIVER.waiting_mean_ms,
            statistics.waiting_sum.as_ms_f64() / statistics.waited.max(1) as f64,
        );
        out.set(&BEARER_RECEIVER.waiting_max_ms, statistics.waiting_max.as_ms_f64());
        out.set(&BEARER_RECEIVER.reordering_timer_ms, self.timer.value().as_ms_f64());
        if let Some((least, most)) = self.timer.values() {
            out.set(&BEARER_RECEIVER.reordering_timer_least_ms, least.as_ms_f64());
            out.set(&BEARER_RECEIVER.reordering_timer_largest_ms, most.as_ms_f64());
        }
    }

    fn sample(&mut self, _now: Time, out: &mut Metrics) {
        out.count(&BEARER_RECEIVER.buffered_packets, self.buffer.held().packets);
        out.count(&BEARER_RECEIVER.sent_bytes, self.counters.sent.bytes);
        out.set(&BEARER_RECEIVER.reordering_timer_ms, self.timer.value().as_ms_f64());
    }
}

#[cfg(test)]
#[path = "receiver_tests.rs"]
mod tests;
