//! Options of pacers.

use quiclab_core::no_field;
use quiclab_core::{DataRate, Duration, defaults, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Pacing of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pacing {
    /// No pacing: packets leave as soon as the window allows.
    #[serde(deserialize_with = "no_field")]
    #[schemars(title = "NoPacing")]
    None,
    /// A bucket that fills at `factor` · cwnd / srtt and holds `burst_packets`.
    LeakyBucket {
        /// Rate as a multiple of cwnd / srtt (RFC 9002 section 7.7: 1.25).
        #[serde(default = "default_factor")]
        #[schemars(transform = limits::between(0.01, 10.0))]
        factor: f64,
        /// The same in slow start (default: `factor`; Chromium: 2).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::between(0.01, 10.0))]
        slow_start_factor: Option<f64>,
        /// Packets that may leave in one burst after a pause.
        #[serde(default = "default_burst")]
        #[schemars(transform = limits::at_least(1).unit("packets"))]
        burst_packets: u32,
        /// Further limit of a burst, as a share of the window, but at least two packets (aioquic: a quarter).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::between(0.001, 1.0))]
        burst_share: Option<f64>,
        /// A burst may be what the rate sends in this time, if that is more (quinn: 1.6 ms).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::above("0 s").to("1 s"))]
        burst_time: Option<Duration>,
        /// Packets that may leave in one burst at the start, and when no packet has left for a round trip, if that is
        /// more (Chromium: 10).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::at_least(1).unit("packets"))]
        idle_burst_packets: Option<u32>,
        /// Once the burst is used up, the timer waits until a whole one may leave (quinn); a packet still
        /// leaves when something else, such as an acknowledgement, wakes the sender and there is room for it. The bucket is
        /// filled when it has too little for a packet, and not before, so that two bursts may leave at once.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        #[schemars(extend("x-aliases" = ["whole_bursts"]))]
        wait_for_full_burst: bool,
    },
    /// One packet every srtt / (`factor` · cwnd in packets), without any burst.
    Even {
        /// Rate as a multiple of cwnd / srtt.
        #[serde(default = "default_factor")]
        #[schemars(transform = limits::between(0.01, 10.0))]
        factor: f64,
    },
    /// As the leaky bucket, but a wait is never shorter than `quantum`: below it, packets leave in
    /// bursts (quic-go).
    Quantum {
        /// Rate as a multiple of cwnd / srtt.
        #[serde(default = "default_factor")]
        #[schemars(transform = limits::between(0.01, 10.0))]
        factor: f64,
        /// Packets that may leave in one burst after a pause.
        #[serde(default = "default_burst")]
        #[schemars(transform = limits::at_least(1).unit("packets"))]
        burst_packets: u32,
        /// Minimum wait.
        #[serde(default = "default_quantum")]
        #[schemars(transform = limits::above("0 s").to("1 s"))]
        quantum: Duration,
    },
    /// A bucket of time that fills with the clock; any content pays for a packet, so that packets leave at up to twice
    /// the rate (aioquic).
    TimeBucket {
        /// Rate as a multiple of cwnd / srtt.
        #[serde(default = "default_time_factor")]
        #[schemars(transform = limits::between(0.01, 10.0))]
        factor: f64,
        /// Packets that may leave in one burst after a pause.
        #[serde(default = "default_time_burst")]
        #[schemars(transform = limits::at_least(1).unit("packets"))]
        burst_packets: u32,
        /// Further limit of a burst, as a share of the window, but at least two packets.
        #[serde(default = "default_share")]
        #[schemars(transform = limits::between(0.001, 1.0))]
        burst_share: f64,
    },
    /// Linux TCP's internal pacing: 2 · cwnd / srtt in slow start, 1.2 · cwnd / srtt after it, or what
    /// the congestion control asks for; each release is worth about a millisecond, two segments at least. Of profiles
    /// before 4.20 a timer paces, which counts headers of TCP and makes nothing good.
    #[schemars(title = "LinuxPacing")]
    Linux {
        /// `SO_MAX_PACING_RATE`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::above("0 bit/s"))]
        max_rate: Option<DataRate>,
    },
    /// The same rates, kept by the fq queueing discipline of the sender's host: each packet has its
    /// own departure time. Of profiles before 4.20 fq itself spaces packets, by their frames and its quantum of two.
    #[schemars(title = "FqPacing")]
    Fq {
        /// `SO_MAX_PACING_RATE`, or `maxrate` of the queueing discipline.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::above("0 bit/s"))]
        max_rate: Option<DataRate>,
    },
}

impl Pacing {
    /// Leaky bucket with these two parameters only.
    #[must_use]
    pub const fn leaky_bucket(factor: f64, burst_packets: u32) -> Self {
        Self::LeakyBucket {
            factor,
            slow_start_factor: None,
            burst_packets,
            burst_share: None,
            burst_time: None,
            idle_burst_packets: None,
            wait_for_full_burst: false,
        }
    }
}

defaults! {
    default_factor: f64 = 1.25;
    default_burst: u32 = 10;
    default_time_factor: f64 = 1.0;
    default_time_burst: u32 = 16;
    default_share: f64 = 0.25;
    default_quantum: Duration = Duration::from_millis(1);
}
