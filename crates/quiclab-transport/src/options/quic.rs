//! Options of QUIC: the parts of lab-quic that a scenario can exchange.

use super::{Acknowledgement, RttVariation};
use quiclab_core::scheduler::PathSchedulerKind;
use quiclab_core::{ByteCount, Duration, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// RFC 9000 section 16: the largest integer on the wire, 2^62 - 1.
const MAX_OFFSET: &str = "4611686018427387903 B";

/// Options of QUIC; what is left out has the value of the profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QuicOptions {
    /// Wire format and handshake.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<QuicVersion>,
    /// Length of the connection IDs that this end chooses: its peer sends them in every packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::at_most("20 B"))]
    pub connection_id: Option<ByteCount>,
    /// Length of packet numbers; without it, the shortest that the peer can expand.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between("1 B", "4 B"))]
    pub packet_number: Option<ByteCount>,
    /// When this end acknowledges what has arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledgement: Option<Acknowledgement>,
    /// Most ranges of packet numbers that this end keeps to acknowledge.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::at_least(1))]
    pub ack_ranges: Option<u32>,
    /// Longest delay of an acknowledgement that this end announces (RFC 9000 section 18.2).
    /// At least the delay of `acknowledgement`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::at_most("16.383 s"))]
    pub max_ack_delay: Option<Duration>,
    /// The packet threshold grows with the reordering that was mistaken for loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive_packet_threshold: Option<bool>,
    /// The time threshold widens when it was too narrow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive_time_threshold: Option<bool>,
    /// What the RTT variation is the mean of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_variation: Option<RttVariation>,
    /// The window collapses when everything sent over a long time is lost (RFC 9002 section 7.6).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent_congestion: Option<bool>,
    /// Packets sent when a probe timeout expires: 1 or 2 (RFC 9002 section 6.2.4).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between(1, 2).unit("packets"))]
    pub probe_packets: Option<u32>,
    /// A window that is not used does not grow (RFC 9002 section 7.8).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_validation: Option<bool>,
    /// Largest congestion window; without it, there is none. At least `initial_window`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between("1 B", MAX_OFFSET))]
    pub max_window: Option<ByteCount>,
    /// Packets are paced before the first RTT sample, too, as if the RTT were `initial_rtt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing_before_rtt: Option<bool>,
    /// Bidirectional streams that the peer may have open at one time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between(1, 1_u64 << 60))]
    pub max_streams: Option<u64>,
    /// How the receive windows of streams and connection grow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_control: Option<FlowControl>,
    /// Largest receive window of a stream that growth reaches. At least `stream_receive_window`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between("1 B", MAX_OFFSET))]
    pub max_stream_receive_window: Option<ByteCount>,
    /// Largest receive window of the connection that growth reaches. At least `connection_receive_window`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between("1 B", MAX_OFFSET))]
    pub max_connection_receive_window: Option<ByteCount>,
    /// Which stream sends next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_scheduler: Option<StreamScheduler>,
    /// Bytes that a server may send for each byte received before the client's address is validated
    /// (RFC 9000 section 8.1: 3); 0: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amplification_factor: Option<u32>,
    /// DATAGRAM frames wait for the congestion window (RFC 9221 section 5.4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagram_congestion_control: Option<bool>,
    /// The connection ends when nothing was received for so long (RFC 9000 section 10.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between("1 ms", "1440 min"))]
    pub idle_timeout: Option<Duration>,
    /// Which path the next packet takes, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_scheduler: Option<PathSchedulerKind>,
}

/// Wire format and handshake of QUIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QuicVersion {
    /// RFC 9000 with TLS 1.3 (RFC 9001).
    V1,
    /// Google QUIC 37 with QUIC Crypto.
    #[serde(rename = "gquic-37")]
    Gquic37,
}

/// How receive windows grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "QuicFlowControl")]
pub enum FlowControl {
    /// They do not; credit is given back when an eighth of the window has been read (quinn).
    Fixed,
    /// They double whenever half of one has been used (aioquic).
    DoubleWhenHalfUsed,
    /// They double when half of one is used within two round trips (Chromium, quic-go).
    DoubleWithinTwoRtts,
}

/// Which stream sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StreamScheduler {
    /// The oldest with something to send, until it has nothing more.
    Fifo,
    /// One packet of each in turn.
    RoundRobin,
    /// The most urgent; among equals those that are incremental in turn, others one after the other
    /// (RFC 9218).
    Priority,
    /// The most urgent; among equals each in turn, 16 000 B at a time (google/quiche, `QuicWriteBlockedList`).
    PriorityInBatches,
}
