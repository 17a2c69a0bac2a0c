//! The sending end of a split bearer: numbers packets and chooses their links.
//!
//! Packets are numbered before a link is chosen, so a packet that a link loses leaves a gap in the sequence. A packet
//! that the queue of flow control drops has no number yet.
//!
//! Split mode sends each packet on one link, which the splitter chooses (see `splitter`), except for the share of
//! `duplication`, which takes all links. Duplicate mode (TS 38.323 section 5.11) sends each packet on every link under
//! one number. A link of weight 0 gets no packet in either mode.
//!
//! Input 0 accepts packets, input 1 + k the reports of link k, which are consumed here.
//!
//! | | source | here |
//! | --- | --- | --- |
//! | choice of the link | TS 38.323 5.2.1: primary link up to a data volume, then either | one of `splitter` |
//! | share | testbed: floating-point fraction of the first link | exact weights, any number of links |
//! | duplication | TS 38.323 5.11: all packets while activated for a bearer | all, or a share, spread evenly |
//! | contiguous SDUs without feedback | 5.2.1 note 1: more than half of the number space may desynchronise HFN | not prevented: it needs a reordering of 2048 packets at 12 bits, 32768 at 16 |

use super::count::SequenceBits;
use super::duplication::Duplication;
use super::link_estimate::LinkEstimate;
use super::splitter::{
    Batches, ChooseLink, FlowControl, Function, LeastExpectedArrival, Proportional, SplitPacket, Splitter,
};
use super::weights;
use crate::bearer::{BearerConfig, BearerMode};
use crate::counters::Counters;
use crate::element::{DropReason, Element, Outputs, Port};
use crate::metric::Metrics;
use crate::packet::{Packet, Payload};
use crate::time::{Duration, Time};
use crate::units::DataRate;

crate::metrics! {
    /// Totals of the sending end of a bearer.
    pub static BEARER_SENDER: BearerSenderMetrics = Network, "bearer, sending end" {
        /// Packets sent over link *k*.
        sent_packets as "sent_port<k>_packets": Counter, End;
        /// Reports of link *k*, once it has reported.
        reports as "reports_port<k>": Counter, Both;
        /// [Estimate](scenario.md#splitter) of the rate of link *k* once it has reported, in bytes with the bearer's header.
        rate_mbps as "rate_port<k>_mbps": Gauge, Both;
        /// [Estimate](scenario.md#splitter) of the delay of link *k* after serialisation, once it has reported.
        base_delay_ms as "base_delay_port<k>_ms": Gauge, Both;
        /// Sent to link *k*, and neither transmitted nor lost as far as is known; once it has reported.
        unreported_bytes as "unreported_port<k>_bytes": Gauge, Series;
        /// Desired buffer size in the last report of link *k*.
        desired_bytes as "desired_port<k>_bytes": Gauge, Series;
        /// Of the split packets, those that were sent over all links; missing without `duplication`.
        duplicated_packets: Counter, End;
        /// Drops of the queue of `flow_control`.
        dropped_queue_full_packets: Counter, End;
        /// Maximum backlog of the queue of `flow_control`.
        queue_longest_packets: Maximum, End;
        /// Backlog of the queue of `flow_control`.
        queue_packets: Gauge, Series;
        /// Backlog of the queue of `flow_control`, IP packets.
        queue_bytes: Gauge, Series;
    }
}

/// Initial rate and smoothing of estimates that no splitter uses: metrics of a bearer whose links report nevertheless.
const ESTIMATES: (DataRate, Duration) = (DataRate::from_mbps(10), Duration::from_millis(100));

/// The sending end: input port 0 and one for the reports of each link, one output port for each link.
pub struct BearerSender {
    bits: SequenceBits,
    mode: BearerMode,
    /// TX_NEXT (TS 38.323 section 7.1): COUNT of the next packet.
    tx_next: u64,
    splitter: Splitter,
    duplication: Duplication,
    /// Links with a positive weight.
    active: Vec<usize>,
    links: Vec<LinkEstimate>,
    counters: Counters,
    /// Packets of split mode that took all links.
    duplicated: u64,
    /// Packets that the queue of flow control dropped.
    dropped: u64,
}

impl BearerSender {
    /// Creates the sending end of `bearer`; `function` is that of the splitter `function`.
    ///
    /// # Panics
    /// If the configuration is not valid, or requires a function and there is none.
    #[must_use]
    pub fn new(bearer: &BearerConfig, function: Option<Box<dyn ChooseLink>>) -> Self {
        let bits = SequenceBits::new(bearer.reordering.sequence_bits);
        let weights = weights(bearer);
        let batch = bearer.batch_packets;
        let (splitter, (start_rate, smoothing)) = match bearer.splitter {
            crate::bearer::Splitter::Batches => (Splitter::Batches(Batches::new(batch, &weights)), ESTIMATES),
            crate::bearer::Splitter::Proportional { start_rate, smoothing, floor } => {
                (Splitter::Proportional(Proportional::new(batch, floor)), (start_rate, smoothing))
            }
            crate::bearer::Splitter::LeastExpectedArrival { start_rate, smoothing, probe_interval } => {
                let splitter = LeastExpectedArrival::new(probe_interval);
                (Splitter::LeastExpectedArrival(splitter), (start_rate, smoothing))
            }
            crate::bearer::Splitter::FlowControl { queue_packets, start_buffer, poll_interval } => {
                let splitter = FlowControl::new(queue_packets, start_buffer, poll_interval);
                (Splitter::FlowControl(splitter), ESTIMATES)
            }
            crate::bearer::Splitter::Function { start_rate, smoothing, .. } => {
                let function = function.expect("the splitter `function` has one");
                (Splitter::Function(Function::new(function)), (start_rate, smoothing))
            }
        };
        Self {
            bits,
            mode: bearer.mode,
            tx_next: 0,
            splitter,
            duplication: Duplication::new(bearer.duplication),
            active: (0..weights.len()).filter(|&link| weights[link] > 0).collect(),
            links: vec![LinkEstimate::new(start_rate, smoothing); weights.len()],
            counters: Counters::default(),
            duplicated: 0,
            dropped: 0,
        }
    }

    /// Assigns the next number to `packet`.
    fn number(&mut self, packet: &mut Packet) {
        packet.sequence = self.bits.sequence(self.tx_next);
        packet.encapsulation += self.bits.encapsulation();
        self.tx_next += 1;
    }

    fn send(&mut self, now: Time, link: usize, packet: Box<Packet>, out: &mut Outputs) {
        self.counters.sent.add(packet.size);
        let size = packet.wire_size();
        self.links[link].on_sent(now, size);
        if let Splitter::LeastExpectedArrival(splitter) = &mut self.splitter {
            splitter.on_sent(now, link, size, &self.links[link]);
        }
        out.send(Port(link as u16), packet);
    }

    fn send_on_all(&mut self, now: Time, packet: Box<Packet>, out: &mut Outputs) {
        let last = self.active.len() - 1;
        for index in 0..last {
            self.counters.created.add(packet.size);
            self.send(now, self.active[index], packet.clone(), out);
        }
        self.send(now, self.active[last], packet, out);
    }

    fn split(&mut self, now: Time, mut packet: Box<Packet>, out: &mut Outputs) {
        if let Splitter::FlowControl(queue) = &self.splitter
            && !queue.has_room()
        {
            self.counters.dropped.add(packet.size);
            self.dropped += 1;
            return out.discard(DropReason::QueueFull, packet);
        }
        self.number(&mut packet);
        if self.duplication.next() {
            self.duplicated += 1;
            return self.send_on_all(now, packet, out);
        }
        let link = match &mut self.splitter {
            Splitter::Batches(batches) => batches.next(),
            Splitter::Proportional(batches) => batches.next(&self.links),
            Splitter::LeastExpectedArrival(arrival) => arrival.next(now, packet.wire_size(), &self.links),
            Splitter::Function(function) => {
                let packet = SplitPacket { now, count: self.tx_next - 1, size: packet.wire_size() };
                function.next(packet, &self.links)
            }
            Splitter::FlowControl(queue) => {
                queue.push(packet);
                return self.empty_queue(now, out);
            }
        };
        self.send(now, link, packet, out);
    }

    /// Sends as many queued packets as the links desire.
    fn empty_queue(&mut self, now: Time, out: &mut Outputs) {
        while let Splitter::FlowControl(queue) = &mut self.splitter
            && let Some((link, packet)) = queue.pop(now, &self.links)
        {
            self.send(now, link, packet, out);
        }
    }

    /// Handles a report of `link`.
    #[cold]
    fn hear(&mut self, now: Time, link: usize, packet: &Packet, out: &mut Outputs) {
        self.counters.consumed.add(packet.size);
        let Payload::DeliveryStatus(report) = &packet.payload else {
            unreachable!("only links with feedback are wired to these inputs");
        };
        self.links[link].on_report(now, report);
        if let Splitter::LeastExpectedArrival(splitter) = &mut self.splitter {
            splitter.on_report(now, link, &self.links[link]);
        }
        self.empty_queue(now, out);
    }
}

impl Element for BearerSender {
    fn receive(&mut self, now: Time, port: Port, mut packet: Box<Packet>, out: &mut Outputs) {
        self.counters.received.add(packet.size);
        if let Some(link) = port.0.checked_sub(1) {
            return self.hear(now, usize::from(link), &packet, out);
        }
        match self.mode {
            BearerMode::Split => self.split(now, packet, out),
            BearerMode::Duplicate => {
                self.number(&mut packet);
                self.send_on_all(now, packet, out);
            }
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outputs) {
        self.empty_queue(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        match &self.splitter {
            Splitter::FlowControl(queue) => queue.next_wake(&self.links),
            _ => None,
        }
    }

    fn counters(&self) -> Counters {
        match &self.splitter {
            Splitter::FlowControl(queue) => Counters { held: queue.held(), ..self.counters },
            _ => self.counters,
        }
    }

    fn statistics(&mut self, _now: Time, out: &mut Metrics) {
        for (index, link) in self.links.iter().enumerate() {
            out.count_of(&BEARER_SENDER.sent_packets, index, link.sent.packets);
        }
        for (index, link) in self.links.iter().enumerate().filter(|(_, link)| link.reports > 0) {
            out.count_of(&BEARER_SENDER.reports, index, link.reports);
            out.set_of(&BEARER_SENDER.rate_mbps, index, link.rate().as_mbps_f64());
            out.set_of(&BEARER_SENDER.base_delay_ms, index, link.base_delay().as_ms_f64());
        }
        if self.duplicated > 0 {
            out.count(&BEARER_SENDER.duplicated_packets, self.duplicated);
        }
        if let Splitter::FlowControl(queue) = &self.splitter {
            out.count(&BEARER_SENDER.dropped_queue_full_packets, self.dropped);
            out.count(&BEARER_SENDER.queue_longest_packets, queue.longest());
        }
    }

    fn sample(&mut self, _now: Time, out: &mut Metrics) {
        for (index, link) in self.links.iter().enumerate().filter(|(_, link)| link.reports > 0) {
            out.count_of(&BEARER_SENDER.reports, index, link.reports);
            out.set_of(&BEARER_SENDER.rate_mbps, index, link.rate().as_mbps_f64());
            out.set_of(&BEARER_SENDER.base_delay_ms, index, link.base_delay().as_ms_f64());
            out.count_of(&BEARER_SENDER.unreported_bytes, index, link.unreported().bytes());
            out.count_of(&BEARER_SENDER.desired_bytes, index, link.last.desired_buffer.bytes());
        }
        if let Splitter::FlowControl(queue) = &self.splitter {
            out.count(&BEARER_SENDER.queue_packets, queue.held().packets);
            out.count(&BEARER_SENDER.queue_bytes, queue.held().bytes);
        }
    }
}

#[cfg(test)]
#[path = "sender_tests.rs"]
mod tests;
