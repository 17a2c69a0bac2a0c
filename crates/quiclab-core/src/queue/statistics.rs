//! What a discipline counts.

use super::{Backlog, Outcome, QueueIndex};
use crate::element::{DropReason, Metrics};
use crate::time::Duration;

/// What has happened to the items of a queue, or of all queues. Sojourn times are those of served items.
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
    /// Items that CoDel has dropped.
    pub codel_drops: u64,
    /// Items dropped because of a limit.
    pub overflow_drops: u64,
    /// Marks set in place of drops, and above `ce_threshold`.
    pub ce_marks: u64,
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
            Outcome::Dropped(DropReason::Codel) => self.codel_drops += 1,
            Outcome::Dropped(_) => self.overflow_drops += 1,
        }
    }

    /// Mean sojourn time of what was served, in ms; 0 before.
    #[must_use]
    pub fn mean_sojourn_ms(&self) -> f64 {
        self.sojourn_nanos as f64 / 1e6 / self.served.max(1) as f64
    }

    pub(super) fn statistics(&self, out: &mut Metrics) {
        out.set("queue_sojourn_ms", self.mean_sojourn_ms());
        out.set("longest_sojourn_ms", self.longest_sojourn.as_ms_f64());
        self.events(out);
    }

    pub(super) fn sample(&self, out: &mut Metrics) {
        out.set("queue_sojourn_ms", self.last_sojourn.as_ms_f64());
        self.events(out);
    }

    fn events(&self, out: &mut Metrics) {
        out.count("codel_drops", self.codel_drops);
        out.count("overflow_drops", self.overflow_drops);
        out.count("ce_marks", self.ce_marks);
    }
}

/// One of the queues of FQ-CoDel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowStatistics {
    /// Which one.
    pub queue: QueueIndex,
    /// What waits in it.
    pub waiting: Backlog,
    /// What has happened in it.
    pub totals: QueueStatistics,
}
