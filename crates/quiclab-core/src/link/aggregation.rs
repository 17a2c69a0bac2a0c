//! Aggregation: packets leave a link together, at the times at which it transmits.
//!
//! A Wi-Fi station sends what has accumulated while it waited for the medium as one A-MPDU (IEEE 802.11-2020 section
//! 10.12); a DOCSIS modem sends in the slots that it is granted. The receiver gets the packets of a transmission at
//! once.
//!
//! | | Wi-Fi | `netem slot` | here |
//! | --- | --- | --- | --- |
//! | time between transmissions | that of contention and of the frame | drawn from a range | constant, with a phase that is drawn |
//! | capacity | lower with fewer packets in a frame | that of `rate` | that of `rate`, whatever a transmission holds |
//! | limit of a transmission | 64 MPDU (256 with HE), 1 MiB, 5.484 ms | packets, bytes | packets |

use crate::limits;
use crate::random::RandomStream;
use crate::time::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Transmission of several packets at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Aggregation")]
pub struct AggregationConfig {
    /// Time from one transmission to the next; the first one is at a time that is drawn.
    #[schemars(transform = limits::at_least("10 us"))]
    pub interval: Duration,
    /// Packets in one transmission at most (default: no limit); the others wait for the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::at_least(1))]
    pub packets: Option<u32>,
}

/// When packets leave.
#[derive(Debug)]
pub(super) struct Aggregation {
    interval: u64,
    /// Nanoseconds of the first transmission.
    phase: u64,
    /// Packets in one transmission at most.
    limit: u32,
    /// Number of the transmission of the last packet, and packets in it so far.
    last: u64,
    inside: u32,
}

impl Aggregation {
    /// The model of `config`; `random` belongs to it alone.
    pub(super) fn new(config: AggregationConfig, mut random: RandomStream) -> Self {
        let interval = config.interval.as_nanos().max(1);
        let phase = random.bits() % interval;
        Self { interval, phase, limit: config.packets.unwrap_or(u32::MAX), last: 0, inside: 0 }
    }

    /// When a packet leaves that is ready at `at`, not before the one before.
    pub(super) fn leaves(&mut self, at: Time) -> Time {
        let next = at.as_nanos().saturating_sub(self.phase).div_ceil(self.interval);
        if next > self.last {
            (self.last, self.inside) = (next, 0);
        } else if self.inside == self.limit {
            (self.last, self.inside) = (self.last + 1, 0);
        }
        self.inside += 1;
        Time::from_nanos(self.phase + self.last * self.interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_at_the_next_transmission_that_has_room() {
        let config = AggregationConfig { interval: Duration::from_micros(1000), packets: Some(2) };
        let mut aggregation = Aggregation::new(config, RandomStream::new(3, "link.aggregation"));
        let phase = aggregation.phase;
        assert!(phase < 1_000_000);
        let mut leaves = |micros: u64| {
            let left = aggregation.leaves(Time::from_nanos(phase + micros * 1000)).as_nanos();
            (left - phase) / 1000
        };
        // the third of the first transmission waits for the second, which the fourth fills
        assert_eq!([0, 0, 0, 900].map(&mut leaves), [0, 0, 1000, 1000]);
        // a packet that is ready in the instant of a transmission is in it; after an idle time the count is new
        assert_eq!([1000, 1001, 7500, 7900, 7950].map(&mut leaves), [2000, 2000, 8000, 8000, 9000]);
    }
}
