//! Flows with few packets: what belongs to them does not wait for the order of others.
//!
//! A missing packet holds back all that has a higher number, whatever flow it belongs to. Calls, games and pings send too little
//! to be spread over paths at one time, and would wait for nothing.

use crate::queue::FlowKey;
use crate::time::{Duration, Time};

/// Packets within [`PERIOD`] up to which a flow is sparse.
const FEW_PACKETS: u8 = 16;
/// Period in which packets are counted.
const PERIOD: Duration = Duration::from_millis(100);
/// Counters that flows are hashed to; flows that share one are taken for one.
const COUNTERS: usize = 1024;

/// Packets of each flow in this period.
#[derive(Debug)]
pub(super) struct SparseFlows {
    counts: Box<[u8; COUNTERS]>,
    until: Time,
}

impl Default for SparseFlows {
    fn default() -> Self {
        Self { counts: Box::new([0; COUNTERS]), until: Time::ZERO }
    }
}

impl SparseFlows {
    /// Counts a packet of the flow of `key`. Returns whether the flow is sparse.
    pub(super) fn is_sparse(&mut self, now: Time, key: &FlowKey) -> bool {
        if now >= self.until {
            // half of a period's packets count in the next: a bulk flow does not begin anew
            self.counts.iter_mut().for_each(|count| *count /= 2);
            self.until = now + PERIOD;
        }
        let count = &mut self.counts[key.hash(0) as usize % COUNTERS];
        *count = count.saturating_add(1);
        *count <= FEW_PACKETS
    }
}
