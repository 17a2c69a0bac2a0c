//! Totals of a link over a run.

use super::feedback::Feedback;
use crate::counters::Counters;
use crate::element::{DropReason, Outputs};
use crate::metric::{Metric, Metrics};
use crate::packet::Packet;
use crate::queue::{Backlog, QueueStatistics};
use crate::time::{Duration, Time};
use crate::units::ByteCount;

crate::metrics! {
    /// Totals of a link.
    pub static LINK: LinkMetrics = Network, "link" {
        /// Drops of the full queue.
        dropped_queue_full_packets: Counter, End;
        /// Random or listed losses.
        dropped_loss_packets: Counter, End;
        /// Arrivals after the end of a trace.
        dropped_link_ended_packets: Counter, End;
        /// Packets above the token bucket or the MTU.
        dropped_too_large_packets: Counter, End;
        /// Packets that did not conform to the policer; only with one.
        dropped_policed_packets: Counter, End;
        /// Packets lost in outages; only where the link can be down.
        dropped_link_down_packets: Counter, End;
        /// Packets above the limit of packets in flight; only with one.
        dropped_delay_full_packets: Counter, End;
        /// Maximum backlog, the packet in service included.
        queue_longest_packets: Maximum, End;
        /// Maximum backlog on the wire, the packet in service included.
        queue_longest_bytes: Maximum, End;
        /// Mean wait of a packet before the start of its serialisation.
        queueing_mean_ms: Mean, End;
        /// The longest wait of a packet before the start of its serialisation.
        queueing_longest_ms: Maximum, End;
        /// Time spent serialising over the time of the run.
        utilisation_share: Mean, End;
        /// Reports to the bearer; only with feedback.
        reports_sent: Counter, End;
        /// Backlog, the packet in service included.
        queue_packets: Gauge, Series;
        /// Backlog on the wire, the packet in service included.
        queue_bytes: Gauge, Series;
        /// Bytes of IP packets delivered so far at the end of the link.
        sent_bytes: Counter, Series;
    }
}

/// Drop reasons of all links, with their metrics.
const DROPS: [(DropReason, &Metric); 4] = [
    (DropReason::QueueFull, &LINK.dropped_queue_full_packets),
    (DropReason::Loss, &LINK.dropped_loss_packets),
    (DropReason::LinkEnded, &LINK.dropped_link_ended_packets),
    (DropReason::TooLarge, &LINK.dropped_too_large_packets),
];

/// Counters and statistics of a link.
#[derive(Debug, Default)]
pub(super) struct LinkCounters {
    pub(super) counters: Counters,
    /// Numbers of drops in the order of `DROPS`.
    drops: [u64; DROPS.len()],
    /// Drop reasons of this link only, with their metrics and counts.
    further: Box<[(DropReason, &'static Metric, u64)]>,
    longest_queue_packets: u64,
    longest_queue_bytes: ByteCount,
    /// Total duration of completed serialisations.
    busy: Duration,
    /// Reports to a bearer; `None` without feedback.
    pub(super) feedback: Option<Box<Feedback>>,
}

impl LinkCounters {
    /// Creates counters of zero; `feedback` is notified of every packet; `further`: additional drop reasons
    /// of this link, with their metrics.
    pub(super) fn new(
        feedback: Option<Box<Feedback>>,
        further: impl IntoIterator<Item = (DropReason, &'static Metric)>,
    ) -> Self {
        let further = further.into_iter().map(|(reason, metric)| (reason, metric, 0)).collect();
        Self { further, feedback, ..Self::default() }
    }

    /// Counts the arrival of `packet`, which is inside from now on.
    pub(super) fn received(&mut self, now: Time, packet: &Packet) {
        self.counters.received.add(packet.size);
        self.counters.held.add(packet.size);
        if let Some(feedback) = &mut self.feedback {
            feedback.received(now, packet);
        }
    }

    /// Counts the departure of `packet` at the end of the link.
    pub(super) fn sent(&mut self, packet: &Packet) {
        self.counters.held.remove(packet.size);
        self.counters.sent.add(packet.size);
        if let Some(feedback) = &mut self.feedback {
            feedback.delivered(packet);
        }
    }

    /// Drops a packet that was inside.
    pub(super) fn discard(&mut self, reason: DropReason, packet: Box<Packet>, out: &mut Outputs) {
        self.counters.held.remove(packet.size);
        self.counters.dropped.add(packet.size);
        if let Some(feedback) = &mut self.feedback {
            feedback.lost(&packet);
        }
        for ((known, _), drops) in DROPS.iter().zip(&mut self.drops) {
            *drops += u64::from(*known == reason);
        }
        for (known, _, drops) in &mut self.further {
            *drops += u64::from(*known == reason);
        }
        out.discard(reason, packet);
    }

    /// Records `backlog`, the length of the queue with the packet in service after an arrival.
    pub(super) fn queue_grew(&mut self, backlog: Backlog) {
        self.longest_queue_packets = self.longest_queue_packets.max(backlog.packets);
        self.longest_queue_bytes = self.longest_queue_bytes.max(backlog.bytes);
    }

    /// Records the end of a serialisation that took `length`.
    pub(super) fn service_ended(&mut self, length: Duration) {
        self.busy += length;
    }

    /// Adds the statistics up to `now`; `serving`: time for which the packet in service has been served;
    /// `queue`: its waiting time.
    pub(super) fn statistics(
        &self,
        now: Time,
        serving: Duration,
        queue: &QueueStatistics,
        out: &mut Metrics,
    ) {
        for ((_, metric), drops) in DROPS.iter().zip(self.drops) {
            out.count(metric, drops);
        }
        for (_, metric, drops) in &self.further {
            out.count(metric, *drops);
        }
        out.count(&LINK.queue_longest_packets, self.longest_queue_packets);
        out.count(&LINK.queue_longest_bytes, self.longest_queue_bytes.bytes());
        out.set(&LINK.queueing_mean_ms, queue.mean_sojourn_ms());
        out.set(&LINK.queueing_longest_ms, queue.longest_sojourn.as_ms_f64());
        let share = |busy: Duration| busy.as_nanos() as f64 / now.as_nanos().max(1) as f64;
        out.set(&LINK.utilisation_share, share(self.busy + serving));
        if let Some(feedback) = &self.feedback {
            out.count(&LINK.reports_sent, feedback.sent().packets);
        }
    }
}
