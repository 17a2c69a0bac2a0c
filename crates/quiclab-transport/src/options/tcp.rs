//! Options of TCP.

use quiclab_core::{ByteCount, Duration, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of TCP; unset fields inherit from the profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TcpOptions {
    /// Maximum segment size announced: payload with the timestamps option counted, as in the MSS option.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between("88 B", "9148 B"))]
    pub mss: Option<ByteCount>,
    /// Timestamps (RFC 7323).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<bool>,
    /// Selective acknowledgements (RFC 2018).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sack: Option<bool>,
    /// Duplicates reported by SACK (RFC 2883). Needs `sack`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dsack: Option<bool>,
    /// Window scaling (RFC 7323 section 2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_scaling: Option<bool>,
    /// Receive buffer at the start (`tcp_rmem`, second value). At most `max_receive_buffer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between("4 KiB", "1048560 KiB"))]
    pub receive_buffer: Option<ByteCount>,
    /// Largest receive buffer that autotuning reaches (`tcp_rmem`, third value).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between("4 KiB", "1048560 KiB"))]
    pub max_receive_buffer: Option<ByteCount>,
    /// Largest send buffer that autotuning reaches (`tcp_wmem`, third value).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between("4 KiB", "1048560 KiB"))]
    pub max_send_buffer: Option<ByteCount>,
    /// Smallest retransmission timeout (`rto_min`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between("1 ms", "2 min"))]
    pub min_rto: Option<Duration>,
    /// Segments of reordering assumed at the start (`tcp_reordering`). At most `max_reordering`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::at_least(3).unit("segments"))]
    pub reordering: Option<u32>,
    /// Largest reordering that is adapted to (`tcp_max_reordering`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::at_least(3).unit("segments"))]
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
    /// Shortest wait of a delayed acknowledgement. At most `max_delayed_ack`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::above("0 s").to("2 min"))]
    pub min_delayed_ack: Option<Duration>,
    /// Longest wait of a delayed acknowledgement.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::above("0 s").to("2 min"))]
    pub max_delayed_ack: Option<Duration>,
    /// Segments acknowledged one by one at the start and after pauses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quick_acks: Option<u32>,
    /// Most duplicate acknowledgements that are merged into one (`tcp_comp_sack_nr`); 0: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compressed_acks: Option<u32>,
    /// Longest wait of merged acknowledgements (`tcp_comp_sack_delay_ns`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::at_most("2 min"))]
    pub compressed_ack_delay: Option<Duration>,
    /// The window shrinks when nothing was sent for an RTO (`tcp_slow_start_after_idle`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_after_idle: Option<bool>,
    /// Most segments that leave in one burst, as segmentation offload makes them; 1: single segments.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between(1, 65535).unit("segments"))]
    pub gso_segments: Option<u32>,
    /// Shortest time to the next SYN without an answer (RFC 6298 section 2).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between("1 ms", "2 min"))]
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
