//! Options of acknowledgement policies.

use quiclab_core::{Duration, defaults, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// ACK policy of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(extend("x-value-aliases" = {"as_asked": "as_requested"}))]
pub enum Acknowledgement {
    /// After a number of packets or a delay, and immediately when packets are missing (RFC 9000 section 13.2).
    #[schemars(title = "AckEvery")]
    Every {
        /// Number of ack-eliciting packets that trigger an acknowledgement.
        #[serde(default = "default_packets")]
        #[schemars(transform = limits::at_least(1))]
        packets: u32,
        /// Maximum delay.
        #[serde(default = "default_delay")]
        #[schemars(transform = limits::at_most("16.383 s"))]
        delay: Duration,
    },
    /// After a delay only, regardless of the number of packets (aioquic).
    #[schemars(title = "AckTimer")]
    Timer {
        /// Delay of an acknowledgement.
        #[schemars(transform = limits::at_most("16.383 s"))]
        delay: Duration,
    },
    /// After a fraction of the RTT, or a number of packets: decimation (Chromium).
    #[schemars(title = "AckRttFraction")]
    RttFraction {
        /// Fraction of the smoothed RTT.
        #[serde(default = "default_fraction")]
        #[schemars(transform = limits::between(0.001, 1.0))]
        fraction: f64,
        /// Number of ack-eliciting packets that trigger an acknowledgement.
        #[serde(default = "default_decimation")]
        #[schemars(transform = limits::at_least(1))]
        packets: u32,
        /// Maximum delay.
        #[serde(default = "default_delay")]
        #[schemars(transform = limits::at_most("16.383 s"))]
        delay: Duration,
        /// Packet number from which this applies; before it, every second packet is acknowledged.
        #[serde(default = "default_from_packet")]
        from_packet: u64,
    },
    /// As the peer requests with ACK_FREQUENCY frames; before the first request, as `every` second packet.
    #[schemars(title = "AckAsRequested")]
    AsRequested {
        /// Maximum delay before the first request of the peer.
        #[serde(default = "default_delay")]
        #[schemars(transform = limits::at_most("16.383 s"))]
        delay: Duration,
    },
}

impl Acknowledgement {
    /// Maximum delay of an acknowledgement, unless the peer requests another.
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
