//! Retransmission by the link: a transmission fails with a probability and is repeated after a time.
//!
//! HARQ of LTE and NR repeats a transport block, in FDD of LTE 8 ms later (eight processes in parallel, 3GPP TS 36.321
//! section 5.4.2 and TS 36.213 section 8); a block whose transmissions all fail is retransmitted by RLC in acknowledged
//! mode (TS 36.322 section 5.2), or lost. Wi-Fi repeats a frame in the same way, up to a retry limit (IEEE 802.11-2020
//! section 10.3.4.4).
//!
//! | | LTE, NR, Wi-Fi | here |
//! | --- | --- | --- |
//! | unit | transport block, A-MPDU subframe | packet |
//! | failure | correlated with the channel; rarer after soft combining | independent, the same each time |
//! | capacity | a repetition takes some | the `rate` is that without repetitions |
//! | order | restored by RLC, PDCP or the block acknowledgement | restored, or not with `reorder` of the delay |

use crate::limits;
use crate::random::RandomStream;
use crate::time::Duration;
use crate::units::Probability;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of transmissions of a packet, so that the loop ends: 0.9 to this power is 0 in any run.
const MAX_TRANSMISSIONS: u32 = 10_000;

/// Failed transmissions and their repetition by the link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Retransmission")]
pub struct RetransmissionConfig {
    /// Probability that a transmission fails.
    #[schemars(transform = limits::at_most(0.9))]
    pub failure: Probability,
    /// Time from a transmission that fails to the next one.
    #[schemars(transform = limits::above("0 s"))]
    pub delay: Duration,
    /// Transmissions of a packet at most, the first one included.
    #[serde(default = "transmissions")]
    #[schemars(transform = limits::between(1, 32))]
    pub transmissions: u32,
    /// Time after the last of them after which the packet is sent anew, with as many transmissions, until one succeeds
    /// (default: the packet is lost).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::above("0 s"))]
    pub recovery: Option<Duration>,
}

/// `maxHARQ-Tx` in RRC messages of LTE test networks; other networks may have another value (assumed).
const fn transmissions() -> u32 {
    5
}

/// Draws the transmissions of each packet.
#[derive(Debug)]
pub(super) struct Retransmission {
    config: RetransmissionConfig,
    random: RandomStream,
}

impl Retransmission {
    /// Creates the model of `config`; `random` is its own stream.
    pub(super) fn new(config: RetransmissionConfig, random: RandomStream) -> Self {
        Self { config, random }
    }

    /// The delay that failures add to the next packet; `None` if it is lost.
    pub(super) fn draw(&mut self) -> Option<Duration> {
        let mut added = Duration::ZERO;
        for transmission in 1..=MAX_TRANSMISSIONS {
            if !self.random.chance(self.config.failure) {
                return Some(added);
            }
            added += if transmission % self.config.transmissions == 0 {
                self.config.recovery?
            } else {
                self.config.delay
            };
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: u32 = 200_000;

    fn model(recovery: Option<Duration>) -> Retransmission {
        let failure = Probability::new(0.3).unwrap();
        let config =
            RetransmissionConfig { failure, delay: Duration::from_millis(8), transmissions: 3, recovery };
        Retransmission::new(config, RandomStream::new(9, "link.retransmission"))
    }

    /// Share of `count` in N draws, within five standard errors of `expected`.
    fn share(count: usize, expected: f64) {
        let error = libm::sqrt(expected * (1.0 - expected) / f64::from(N));
        assert!((count as f64 / f64::from(N) - expected).abs() < 5.0 * error, "{count}: {expected}");
    }

    #[test]
    fn failures_are_geometric_and_packets_that_fail_each_time_are_lost() {
        let mut model = model(None);
        let draws: Vec<_> = (0..N).map(|_| model.draw()).collect();
        let count =
            |added: Option<u64>| draws.iter().filter(|it| **it == added.map(Duration::from_millis)).count();
        for (added, expected) in [(Some(0), 0.7), (Some(8), 0.21), (Some(16), 0.063), (None, 0.027)] {
            share(count(added), expected);
        }
    }

    #[test]
    fn with_recovery_every_packet_arrives() {
        let mut model = model(Some(Duration::from_millis(50)));
        let draws: Vec<_> =
            (0..N).map(|_| model.draw().expect("nothing is lost").as_nanos() / 1_000_000).collect();
        let count = |added: u64| draws.iter().filter(|it| **it == added).count();
        // the fourth transmission comes 50 ms after the third
        for (added, expected) in
            [(16, 0.063), (66, 0.0189), (74, 0.00567), (82, 0.001_701), (132, 0.000_510_3)]
        {
            share(count(added), expected);
        }
    }
}
