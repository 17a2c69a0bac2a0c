//! Options of acknowledgement policies.

use quiclab_core::{Duration, defaults, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(extend("x-value-aliases" = {"as_asked": "as_requested"}))]
pub enum Acknowledgement {
    /// Every few packets, after a delay, and immediately where packets are missing (RFC 9000 section 13.2).
    #[schemars(title = "AckEvery")]
    Every {
        /// Packets that ask for an acknowledgement before there is one.
        #[serde(default = "default_packets")]
        #[schemars(transform = limits::at_least(1))]
        packets: u32,
        /// Longest wait.
        #[serde(default = "default_delay")]
        #[schemars(transform = limits::at_most("16.383 s"))]
        delay: Duration,
    },
    /// After a delay only, whatever arrives (aioquic).
    #[schemars(title = "AckTimer")]
    Timer {
        /// The wait.
        #[schemars(transform = limits::at_most("16.383 s"))]
        delay: Duration,
    },
    /// After a part of the RTT, or a number of packets: decimation (Chromium).
    #[schemars(title = "AckRttFraction")]
    RttFraction {
        /// Part of the smoothed RTT.
        #[serde(default = "default_fraction")]
        #[schemars(transform = limits::between(0.001, 1.0))]
        fraction: f64,
        /// Packets that ask for an acknowledgement before there is one.
        #[serde(default = "default_decimation")]
        #[schemars(transform = limits::at_least(1))]
        packets: u32,
        /// Longest wait.
        #[serde(default = "default_delay")]
        #[schemars(transform = limits::at_most("16.383 s"))]
        delay: Duration,
        /// Packet number from which on this holds; before it, every second packet is acknowledged.
        #[serde(default = "default_from_packet")]
        from_packet: u64,
    },
    /// As the peer requests with ACK_FREQUENCY frames; before it does, as `every` second packet.
    #[schemars(title = "AckAsRequested")]
    AsRequested {
        /// Longest wait before the peer asks.
        #[serde(default = "default_delay")]
        #[schemars(transform = limits::at_most("16.383 s"))]
        delay: Duration,
    },
}

impl Acknowledgement {
    /// Longest wait before a packet is acknowledged, unless the peer asks for another one.
    #[must_use]
    pub const fn delay(&self) -> Duration {
        match *self {
            Self::Every { delay, .. }
            | Self::Timer { delay }
            | Self::RttFraction { delay, .. }
            | Self::AsRequested { delay } => delay,
        }
    }
}

defaults! {
    default_packets: u32 = 2;
    default_delay: Duration = Duration::from_millis(25);
    default_fraction: f64 = 0.25;
    default_decimation: u32 = 10;
    default_from_packet: u64 = 100;
}
