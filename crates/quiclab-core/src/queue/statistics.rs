//! Statistics of a discipline.

use super::{Backlog, FlowKey, Outcome, QueueIndex};
use crate::element::DropReason;
use crate::metric::{Metric, Metrics};
use crate::time::{Duration, Time};

crate::metrics! {
    /// Totals of a queue discipline.
    pub static QUEUE: QueueMetrics = Network, "link or tunnel, all queues but `drop_tail`" {
        /// Mean sojourn time of served packets.
        mean_sojourn_ms as "queue_sojourn_ms": Mean, End;
        /// Sojourn time of the packet served last; links only.
        last_sojourn_ms as "queue_sojourn_ms": Gauge, Series;
        /// The longest sojourn time of a packet in the queue.
        longest_sojourn_ms: Maximum, End;
        /// Packets dropped because of a limit.
        overflow_drops: Counter, Both;
        /// Packets that got a mark in the queue.
        ce_marks: Counter, Both;
        /// Queues with a packet; links only.
        active_flows: Gauge, Series;
        /// Queues that held a packet at any time; only with queues of flows.
        queues_used: Gauge, End;
    }
}

/// Totals of the items of a queue, or of all queues. Sojourn times are those of served items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStatistics {
    /// Items served.
    pub served: u64,
    /// Sum of their sojourn times, in ns.
    pub sojourn_nanos: u128,
    /// The longest of them.
    pub longest_sojourn: Duration,
    /// The last of them.
    pub last_sojourn: Duration,
    /// Items served with a mark set by this queue; one that was marked before counts too, as in Linux.
    pub ce_marks: u64,
    /// Items dropped, in the order of [`DropReason::ALL`].
    drops: [u64; DropReason::ALL.len()],
}

impl QueueStatistics {
    pub(super) fn note(&mut self, sojourn: Duration, outcome: Outcome) {
        match outcome {
            Outcome::Served | Outcome::Marked => {
                self.served += 1;
                self.sojourn_nanos += u128::from(sojourn.as_nanos());
                self.longest_sojourn = self.longest_sojourn.max(sojourn);
                self.last_sojourn = sojourn;
                self.ce_marks += u64::from(outcome == Outcome::Marked);
            }
            Outcome::Dropped(reason) => self.drops[reason as usize] += 1,
        }
    }

    /// Number of items dropped for `reason`.
    #[must_use]
    pub fn drops(&self, reason: DropReason) -> u64 {
        self.drops[reason as usize]
    }

    /// Number of items dropped for any reason.
    #[must_use]
    pub(crate) fn all_drops(&self) -> u64 {
        self.drops.iter().sum()
    }

    /// Mean sojourn time of served items, in ms; 0 before the first.
    #[must_use]
    pub fn mean_sojourn_ms(&self) -> f64 {
        self.sojourn_nanos as f64 / 1e6 / self.served.max(1) as f64
    }

    /// Adds the values of a whole run; `own`: drop reasons of the discipline, with their metrics.
    pub(super) fn statistics(&self, own: &[(DropReason, &'static Metric)], out: &mut Metrics) {
        out.set(&QUEUE.mean_sojourn_ms, self.mean_sojourn_ms());
        out.set(&QUEUE.longest_sojourn_ms, self.longest_sojourn.as_ms_f64());
        self.events(own, out);
    }

    /// Adds the present values.
    pub(super) fn sample(&self, own: &[(DropReason, &'static Metric)], out: &mut Metrics) {
        out.set(&QUEUE.last_sojourn_ms, self.last_sojourn.as_ms_f64());
        self.events(own, out);
    }

    fn events(&self, own: &[(DropReason, &'static Metric)], out: &mut Metrics) {
        for (reason, metric) in own {
            out.count(metric, self.drops(*reason));
        }
        out.count(&QUEUE.overflow_drops, self.drops(DropReason::QueueFull));
        out.count(&QUEUE.ce_marks, self.ce_marks);
    }
}

/// One of the queues of a discipline that has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowStatistics {
    /// Queue of the statistics.
    pub queue: QueueIndex,
    /// Backlog of waiting items.
    pub waiting: Backlog,
    /// Totals of the queue.
    pub totals: QueueStatistics,
}

/// A non-empty queue of a discipline that has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingFlow {
    /// Flow of the item that leaves next.
    pub key: FlowKey,
    /// Arrival time of that item.
    pub since: Time,
    /// Backlog of the queue.
    pub waiting: Backlog,
    /// Number of items dropped in the queue so far.
    pub dropped: u64,
}
