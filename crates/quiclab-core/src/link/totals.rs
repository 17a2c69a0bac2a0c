//! What a link counts over a run.

use super::feedback::Feedback;
use crate::counters::Counters;
use crate::element::{DropReason, Metrics, Outputs};
use crate::packet::Packet;
use crate::queue::{Backlog, QueueStatistics};
use crate::time::{Duration, Time};
use crate::units::ByteCount;

/// Why a link drops packets, and under which name it reports how many.
const DROPS: [(DropReason, &str); 4] = [
    (DropReason::QueueFull, "dropped_queue_full_packets"),
    (DropReason::Loss, "dropped_loss_packets"),
    (DropReason::LinkEnded, "dropped_link_ended_packets"),
    (DropReason::TooLarge, "dropped_too_large_packets"),
];

/// Counters and statistics of a link.
#[derive(Debug, Default)]
pub(super) struct LinkCounters {
    pub(super) counters: Counters,
    /// In the order of `DROPS`.
    drops: [u64; DROPS.len()],
    /// The same of reasons that only some links have.
    further: Box<[(DropReason, &'static str, u64)]>,
    longest_queue_packets: u64,
    longest_queue_bytes: ByteCount,
    /// Time spent on serialisations that have ended.
    busy: Duration,
    /// What the link reports to a bearer; `None`: nothing.
    pub(super) feedback: Option<Box<Feedback>>,
}

impl LinkCounters {
    /// Nothing yet; `feedback` hears of every packet; `further`: reasons for drops that this link has besides, with their
    /// names in statistics.
    pub(super) fn new(
        feedback: Option<Box<Feedback>>,
        further: impl IntoIterator<Item = (DropReason, &'static str)>,
    ) -> Self {
        let further = further.into_iter().map(|(reason, name)| (reason, name, 0)).collect();
        Self { further, feedback, ..Self::default() }
    }

    /// `packet` has arrived and is inside.
    pub(super) fn received(&mut self, now: Time, packet: &Packet) {
        self.counters.received.add(packet.size);
        self.counters.held.add(packet.size);
        if let Some(feedback) = &mut self.feedback {
            feedback.received(now, packet);
        }
    }

    /// `packet` leaves at the end of the link.
    pub(super) fn sent(&mut self, packet: &Packet) {
        self.counters.held.remove(packet.size);
        self.counters.sent.add(packet.size);
        if let Some(feedback) = &mut self.feedback {
            feedback.delivered(packet);
        }
    }

    /// A packet that was inside is dropped.
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

    /// The queue, with the packet in service, is `backlog` long after an arrival.
    pub(super) fn queue_grew(&mut self, backlog: Backlog) {
        self.longest_queue_packets = self.longest_queue_packets.max(backlog.packets);
        self.longest_queue_bytes = self.longest_queue_bytes.max(backlog.bytes);
    }

    /// A packet's serialisation has ended after `length`.
    pub(super) fn service_ended(&mut self, length: Duration) {
        self.busy += length;
    }

    /// Adds the statistics up to `now`; `serving`: how long the packet in service has been so; `queue`: what it
    /// had to wait for.
    pub(super) fn statistics(
        &self,
        now: Time,
        serving: Duration,
        queue: &QueueStatistics,
        out: &mut Metrics,
    ) {
        for ((_, name), drops) in DROPS.iter().zip(self.drops) {
            out.count(name, drops);
        }
        for (_, name, drops) in &self.further {
            out.count(name, *drops);
        }
        out.count("queue_longest_packets", self.longest_queue_packets);
        out.count("queue_longest_bytes", self.longest_queue_bytes.bytes());
        out.set("queueing_mean_ms", queue.mean_sojourn_ms());
        out.set("queueing_longest_ms", queue.longest_sojourn.as_ms_f64());
        let share = |busy: Duration| busy.as_nanos() as f64 / now.as_nanos().max(1) as f64;
        out.set("utilisation_share", share(self.busy + serving));
        if let Some(feedback) = &self.feedback {
            out.count("reports_sent", feedback.sent().packets);
        }
    }
}
