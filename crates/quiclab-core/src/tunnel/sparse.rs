//! Flows with few packets, which do not wait for the order of others.
//!
//! A missing packet holds back all later numbers, whatever their flow. Calls, games and pings send too few
//! packets to be distributed over paths at one time, and would wait in vain.

use crate::queue::FlowKey;
use crate::time::{Duration, Time};

/// Maximum number of packets within [`PERIOD`] of a sparse flow.
const FEW_PACKETS: u8 = 8;
/// Period in which packets are counted.
const PERIOD: Duration = Duration::from_millis(100);
/// Number of counters to which flows are hashed; flows that share one are treated as one.
const COUNTERS: usize = 1024;

/// Packets of each flow, with those of earlier periods, each weighted half as much as the next: a flow of n
/// packets per period has 2 n at the end of one.
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
    /// Whether the flow of `key` is sparse, including its next packet.
    pub(super) fn is_sparse(&mut self, now: Time, key: &FlowKey) -> bool {
        self.forget(now);
        self.counts[Self::place(key)] < 2 * FEW_PACKETS
    }

    /// Counts a packet of the flow of `key` that leaves.
    pub(super) fn count(&mut self, now: Time, key: &FlowKey) {
        self.forget(now);
        let count = &mut self.counts[Self::place(key)];
        *count = count.saturating_add(1);
    }

    fn forget(&mut self, now: Time) {
        if now < self.until {
            return;
        }
        let periods = 1 + now.since(self.until).as_nanos() / PERIOD.as_nanos();
        let halvings = periods.min(u64::from(u8::BITS) - 1) as u32;
        self.counts.iter_mut().for_each(|count| *count >>= halvings);
        self.until = now + PERIOD;
    }

    fn place(key: &FlowKey) -> usize {
        key.hash(0) as usize % COUNTERS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;

    #[test]
    fn a_call_is_sparse_and_a_download_is_not() {
        let key = FlowKey::of_packet(&Packet::default());
        for (gap_ms, expected) in [(20, 0), (15, 0), (1, 90)] {
            let mut flows = SparseFlows::default();
            let bulk = (0..100).filter(|packet| {
                let now = Time::ZERO + Duration::from_millis(gap_ms) * *packet;
                let sparse = flows.is_sparse(now, &key);
                flows.count(now, &key);
                !sparse
            });
            // a tenth of a second of the download passes before it is one
            assert!(bulk.count().abs_diff(expected) <= 25, "{gap_ms} ms");
        }
        let mut flows = SparseFlows::default();
        (0..100).for_each(|_| flows.count(Time::ZERO, &key));
        assert!(!flows.is_sparse(Time::ZERO, &key));
        assert!(
            flows.is_sparse(Time::ZERO + Duration::from_secs(1), &key),
            "what was long ago does not count"
        );
    }
}
