//! Parts of a transport that a scenario can exchange, and the options of TCP.

use crate::time::Duration;
use crate::units::{ByteCount, DataRate};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// Congestion control of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CongestionControl {
    /// NewReno (RFC 9002 section 7, RFC 6582); Linux calls it reno.
    Newreno,
    /// CUBIC (RFC 9438).
    Cubic,
    /// BBR version 1 as in Linux 5.15 and later.
    BbrLinux,
    /// BBR version 1 as in Chromium's QUIC.
    BbrChromium,
    /// BBR version 1 as in picoquic.
    BbrPicoquic,
    /// A window that stays what `initial_window` says.
    Fixed,
    /// Coupled over several paths: linked increases (RFC 6356).
    Lia,
    /// Coupled over several paths: opportunistic linked increases.
    Olia,
    /// Coupled over several paths: balanced linked adaptation.
    Balia,
}

impl CongestionControl {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Newreno,
        Self::Cubic,
        Self::BbrLinux,
        Self::BbrChromium,
        Self::BbrPicoquic,
        Self::Fixed,
        Self::Lia,
        Self::Olia,
        Self::Balia,
    ];

    /// Name in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Newreno => "newreno",
            Self::Cubic => "cubic",
            Self::BbrLinux => "bbr-linux",
            Self::BbrChromium => "bbr-chromium",
            Self::BbrPicoquic => "bbr-picoquic",
            Self::Fixed => "fixed",
            Self::Lia => "lia",
            Self::Olia => "olia",
            Self::Balia => "balia",
        }
    }

    /// Whether it is one of the variants of BBR, which control a rate.
    #[must_use]
    pub const fn is_bbr(self) -> bool {
        matches!(self, Self::BbrLinux | Self::BbrChromium | Self::BbrPicoquic)
    }
}

/// What ends slow start before a loss does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SlowStartExit {
    /// Nothing.
    None,
    /// HyStart as in Linux: ACK train and delay.
    HystartLinux,
    /// HyStart as in Chromium: delay only, from a window of 16 packets on.
    HystartChromium,
    /// HyStart++ (RFC 9406).
    HystartPlusPlus,
    /// aioquic's: five RTT samples a quarter above the smallest.
    Aioquic,
}

impl SlowStartExit {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::None, Self::HystartLinux, Self::HystartChromium, Self::HystartPlusPlus, Self::Aioquic];

    /// Name in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::HystartLinux => "hystart-linux",
            Self::HystartChromium => "hystart-chromium",
            Self::HystartPlusPlus => "hystart-plus-plus",
            Self::Aioquic => "aioquic",
        }
    }
}

/// How a sender spaces its packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pacing {
    /// Not at all: as soon as the window allows.
    #[serde(deserialize_with = "no_field")]
    None,
    /// A bucket that fills at `factor` · cwnd / srtt and holds `burst_packets`.
    LeakyBucket {
        /// Rate as a multiple of cwnd / srtt (RFC 9002 section 7.7: 1.25).
        #[serde(default = "default_factor")]
        factor: f64,
        /// The same in slow start, without it as after it (Chromium: 2).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slow_start_factor: Option<f64>,
        /// Packets that may leave at once after a pause.
        #[serde(default = "default_burst")]
        burst_packets: u32,
        /// A burst is at most this part of the window, too; two packets at least (aioquic: a quarter).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        burst_share: Option<f64>,
        /// A burst may be as long as the rate gives in this time, if that is more (quinn: 2 ms).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        burst_time: Option<Duration>,
        /// Packets that may leave at once at the start, and when none has left for a round trip, if that is
        /// more (Chromium: 10).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idle_burst_packets: Option<u32>,
        /// Once the burst is used up, the timer waits until a whole one may leave (quinn); a packet still
        /// leaves when something else, such as an acknowledgement, wakes the sender and there is room for it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        whole_bursts: bool,
    },
    /// One packet each srtt / (`factor` · cwnd in packets), without any burst.
    Even {
        /// Rate as a multiple of cwnd / srtt.
        #[serde(default = "default_factor")]
        factor: f64,
    },
    /// As the leaky bucket, but a wait is never shorter than `quantum`: below it, packets leave in
    /// bursts (quic-go).
    Quantum {
        /// Rate as a multiple of cwnd / srtt.
        #[serde(default = "default_factor")]
        factor: f64,
        /// Packets that may leave at once after a pause.
        #[serde(default = "default_burst")]
        burst_packets: u32,
        /// Shortest wait.
        #[serde(default = "default_quantum")]
        quantum: Duration,
    },
    /// A bucket of time that fills by the clock; whatever it holds pays for a packet, so that the pace is up
    /// to twice the rate (aioquic).
    TimeBucket {
        /// Rate as a multiple of cwnd / srtt.
        #[serde(default = "default_time_factor")]
        factor: f64,
        /// Packets that may leave at once after a pause.
        #[serde(default = "default_time_burst")]
        burst_packets: u32,
        /// A burst is at most this part of the window, too; two packets at least.
        #[serde(default = "default_share")]
        burst_share: f64,
    },
    /// Linux TCP's internal pacing: 2 · cwnd / srtt in slow start, 1.2 · cwnd / srtt after it, or what
    /// the congestion control asks for; each release is worth about a millisecond, two segments at least.
    Linux {
        /// `SO_MAX_PACING_RATE`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_rate: Option<DataRate>,
    },
    /// The same rates, kept by the fq queueing discipline of the sender's host: each packet has a
    /// departure time of its own.
    Fq {
        /// `SO_MAX_PACING_RATE`, or `maxrate` of the queueing discipline.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_rate: Option<DataRate>,
    },
}

/// serde lets a variant without fields have any, against `deny_unknown_fields`.
pub(super) fn no_field<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    Nothing::deserialize(from).map(|Nothing {}| ())
}

fn default_factor() -> f64 {
    1.25
}

fn default_burst() -> u32 {
    10
}

fn default_time_factor() -> f64 {
    1.0
}

fn default_time_burst() -> u32 {
    16
}

fn default_share() -> f64 {
    0.25
}

fn default_quantum() -> Duration {
    Duration::from_millis(1)
}

/// Whose congestion control a real stack uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Controller {
    /// The stack's own.
    Stack,
    /// That of quiclab's transports, behind the stack's interface.
    Quiclab,
}

/// Options of TCP; what is left out has the value of the profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TcpOptions {
    /// Maximum segment size announced: payload with the timestamps option counted, as in the MSS option.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mss: Option<ByteCount>,
    /// Timestamps (RFC 7323).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<bool>,
    /// Selective acknowledgements (RFC 2018).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sack: Option<bool>,
    /// Duplicates reported by SACK (RFC 2883).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dsack: Option<bool>,
    /// Window scaling (RFC 7323 section 2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_scaling: Option<bool>,
    /// Receive buffer at the start (`tcp_rmem`, second value).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<ByteCount>,
    /// Largest receive buffer that autotuning reaches (`tcp_rmem`, third value).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_receive_buffer: Option<ByteCount>,
    /// Largest send buffer that autotuning reaches (`tcp_wmem`, third value).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_send_buffer: Option<ByteCount>,
    /// Smallest retransmission timeout (`rto_min`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rto: Option<Duration>,
    /// Segments of reordering assumed at the start (`tcp_reordering`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordering: Option<u32>,
    /// Largest reordering that is adapted to (`tcp_max_reordering`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_reordering: Option<u32>,
    /// How losses are detected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_detection: Option<TcpLossDetection>,
    /// Tail loss probes (RFC 8985 section 7).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail_loss_probe: Option<bool>,
    /// F-RTO: whether a timeout was spurious is found out (RFC 5682).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frto: Option<bool>,
    /// Reductions of the window are undone when they prove spurious (Eifel, DSACK).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<bool>,
    /// How the window shrinks during recovery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_reduction: Option<RateReduction>,
    /// Shortest wait of a delayed acknowledgement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_delayed_ack: Option<Duration>,
    /// Longest wait of a delayed acknowledgement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_delayed_ack: Option<Duration>,
    /// Segments acknowledged one by one at the start and after pauses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quick_acks: Option<u32>,
    /// Most duplicate acknowledgements that are merged into one (`tcp_comp_sack_nr`); 0: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compressed_acks: Option<u32>,
    /// Longest wait of merged acknowledgements (`tcp_comp_sack_delay_ns`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compressed_ack_delay: Option<Duration>,
    /// The window shrinks when nothing was sent for an RTO (`tcp_slow_start_after_idle`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_after_idle: Option<bool>,
    /// Most segments that leave in one burst, as segmentation offload makes them; 1: single segments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gso_segments: Option<u32>,
    /// Shortest time to the next SYN without an answer (RFC 6298 section 2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_rto: Option<Duration>,
    /// What the kernel of this end knows of the other from connections before (`tcp_no_metrics_save`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<TcpMetrics>,
}

/// What is known of a destination when a connection to it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TcpMetrics {
    /// Nothing: the connection is the first.
    None,
    /// What Linux saves when the same connection of a run before this one ends, of which nothing else is kept.
    FromRunBefore,
}

/// How TCP detects losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TcpLossDetection {
    /// SACK and a count of duplicates (RFC 6675).
    DuplicateAcks,
    /// Both: a count of duplicates, and RACK (Linux 4.15).
    DuplicateAcksAndRack,
    /// RACK (RFC 8985; Linux since 4.18).
    Rack,
}

/// How TCP shrinks its window during recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateReduction {
    /// At once, to the new threshold.
    None,
    /// PRR of RFC 6937, as Linux before 5.11 has it.
    Prr,
    /// PRR of RFC 9937, as Linux since 5.11 has it.
    PrrSafeAck,
}

/// TLS above TCP, as flights of exact size with their round trips.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Protocol version.
    pub version: TlsVersion,
    /// The session is resumed: no certificate; with TLS 1.2 a round trip less.
    #[serde(default)]
    pub resumption: bool,
    /// Length of the server's certificate chain.
    #[serde(default = "default_certificate")]
    pub certificate: ByteCount,
    /// What becomes of data in the client's first flight (0-RTT, RFC 8446 section 2.3); without it, there
    /// are none. Needs `resumption`; QUIC only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early_data: Option<EarlyData>,
}

fn default_certificate() -> ByteCount {
    ByteCount::from_bytes(3000)
}

/// What becomes of 0-RTT data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EarlyData {
    /// The server takes them.
    Accepted,
    /// The server does not: the client sends them again after the handshake.
    Rejected,
}

/// Version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum TlsVersion {
    /// RFC 5246: two round trips, one if resumed.
    #[serde(rename = "1.2")]
    Tls12,
    /// RFC 8446: one round trip.
    #[serde(rename = "1.3")]
    Tls13,
}
