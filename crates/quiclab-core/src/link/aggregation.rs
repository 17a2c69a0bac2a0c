//! Aggregation: packets leave a link together, at the times at which it transmits.
//!
//! A Wi-Fi station sends the packets accumulated while it waited for the medium as one A-MPDU (IEEE 802.11-2020 section
//! 10.12); a DOCSIS modem sends in the slots that it is granted. The receiver gets the packets of a transmission
//! together.
//!
//! | | Wi-Fi | `netem slot` | here |
//! | --- | --- | --- | --- |
//! | time between transmissions | that of contention and of the frame | drawn from a range | constant, with a phase that is drawn |
//! | capacity | lower with fewer packets in a frame | that of `rate` | that of `rate`, whatever a transmission holds |
//! | limit of a transmission | 64 MPDU (256 with HE), 1 MiB, 5.484 ms | packets, bytes | none: it would be another rate |

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
}

/// Departure times of packets.
#[derive(Debug)]
pub(super) struct Aggregation {
    interval: u64,
    /// Nanoseconds of the first transmission.
    phase: u64,
}

impl Aggregation {
    /// Creates the model of `config`; `random` is its own stream.
    pub(super) fn new(config: AggregationConfig, mut random: RandomStream) -> Self {
        let interval = config.interval.as_nanos().max(1);
        let phase = random.bits() % interval;
        Self { interval, phase }
    }

    /// Departure time of a packet that is ready at `at`.
    pub(super) fn leaves(&self, at: Time) -> Time {
        let number = at.as_nanos().saturating_sub(self.phase).div_ceil(self.interval);
        Time::from_nanos(self.phase + number * self.interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_at_the_next_transmission() {
        let config = AggregationConfig { interval: Duration::from_micros(1000) };
        let aggregation = Aggregation::new(config, RandomStream::new(3, "link.aggregation"));
        let phase = aggregation.phase;
        assert!(phase < 1_000_000);
        let leaves = |micros: u64| {
            let left = aggregation.leaves(Time::from_nanos(phase + micros * 1000)).as_nanos();
            (left - phase) / 1000
        };
        // a packet that is ready in the instant of a transmission is in it
        assert_eq!([0, 1, 900, 1000, 1001, 7500].map(leaves), [0, 1000, 1000, 1000, 2000, 8000]);
    }
}
