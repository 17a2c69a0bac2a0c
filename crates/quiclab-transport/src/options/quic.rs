//! Options of QUIC: the parts of lab-quic that a scenario can replace.

use super::table::options;
use super::{Acknowledgement, RttVariation};
use quiclab_core::scheduler::PathSchedulerKind;
use quiclab_core::{ByteCount, Duration, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// RFC 9000 section 16: the largest integer on the wire, 2^62 - 1.
const MAX_OFFSET: &str = "4611686018427387903 B";

options! {
    /// Options of QUIC; unset fields inherit from the profile.
    QuicOptions, QuicValues;

    /// Wire format and handshake.
    version: QuicVersion = QuicVersion::V1, "RFC 9000";
    /// Length of the connection IDs that this end chooses: its peer sends them in every packet.
    #[schemars(transform = limits::at_most("20 B"))]
    connection_id: ByteCount =
        ByteCount::from_bytes(8), "assumed: RFC 9000 section 5.1 leaves it to the end; 8 B as most stacks";
    /// Length of packet numbers, if it is fixed; otherwise the shortest that the peer can expand.
    #[schemars(transform = limits::between("1 B", "4 B"))]
    packet_number: ByteCount, or "shortest that can be expanded" =
        None, "RFC 9000 section 17.1: the shortest is enough";
    /// ACK policy of this end.
    acknowledgement: Acknowledgement =
        Acknowledgement::Every { packets: 2, delay: Duration::from_millis(25) },
        "RFC 9000 sections 13.2.1 and 13.2.2";
    /// Maximum number of ranges of packet numbers that this end stores for acknowledgements.
    #[schemars(transform = limits::at_least(1))]
    ack_ranges: u32 = 256, "assumed: RFC 9000 section 13.2.3 asks for a limit and names none";
    /// Maximum delay of an acknowledgement that this end announces (RFC 9000 section 18.2).
    /// At least the delay of `acknowledgement`.
    #[schemars(transform = limits::at_most("16.383 s"))]
    max_ack_delay: Duration = Duration::from_millis(25), "RFC 9000 section 18.2: the default";
    /// The packet threshold grows with the reordering that was mistaken for loss.
    adaptive_packet_threshold: bool = false, "RFC 9002 section 6.1 leaves it to the implementation";
    /// The time threshold widens when it was too narrow.
    adaptive_time_threshold: bool = false, "RFC 9002 section 6.1 leaves it to the implementation";
    /// Quantity whose mean is the RTT variation.
    rtt_variation: RttVariation = RttVariation::Rfc9002, "RFC 9002 section 5.3";
    /// The window collapses when everything sent over a long time is lost (RFC 9002 section 7.6).
    persistent_congestion: bool = true, "RFC 9002 section 7.6";
    /// Packets sent when a probe timeout expires: 1 or 2 (RFC 9002 section 6.2.4).
    #[schemars(transform = limits::between(1, 2).unit("packets"))]
    probe_packets: u32 = 2, "RFC 9002 section 6.2.4: one, or two to be robust";
    /// A window that is not used does not grow (RFC 9002 section 7.8).
    window_validation: bool = true, "RFC 9002 section 7.8";
    /// A window that is not used grows all the same as long as it is below twice what was in flight at most since its last
    /// reduction, in congestion avoidance up to a packet more than that (draft-ietf-ccwg-ratelimited-increase-03).
    /// Instead of `window_validation`; without effect on BBR and `fixed`.
    rate_limited_increase: bool = false, "RFC 9002 section 7.8: a window that is not used does not grow";
    /// Maximum congestion window, if it is limited. At least `initial_window`.
    #[schemars(transform = limits::between("1 B", MAX_OFFSET))]
    max_window: ByteCount, or "none" = None, "RFC 9002 has none";
    /// Packets are also paced before the first RTT sample, as if the RTT were `initial_rtt`.
    pacing_before_rtt: bool = true, "RFC 9002 section 7.7 with the initial RTT of section 6.2.2";
    /// Maximum number of bidirectional streams that the peer may have open at one time.
    #[schemars(transform = limits::between(1, 1_u64 << 60))]
    max_streams: u64 = 100, "RFC 9114 section 6.1: at least 100 requests at a time";
    /// Growth of the receive windows of streams and connection.
    flow_control: FlowControl = FlowControl::Fixed, "assumed: RFC 9000 section 4 leaves it to the receiver";
    /// Maximum receive window of a stream that growth reaches. At least `stream_receive_window`.
    #[schemars(transform = limits::between("1 B", MAX_OFFSET))]
    max_stream_receive_window: ByteCount = ByteCount::from_bytes(16 << 20), "assumed: does not grow";
    /// Maximum receive window of the connection that growth reaches. At least `connection_receive_window`.
    #[schemars(transform = limits::between("1 B", MAX_OFFSET))]
    max_connection_receive_window: ByteCount = ByteCount::from_bytes(24 << 20), "assumed: does not grow";
    /// Algorithm that chooses the stream that sends next.
    stream_scheduler: StreamScheduler =
        StreamScheduler::RoundRobin, "assumed: RFC 9000 section 2.3 leaves it to the application";
    /// Datagrams of a client's first flight. Those after the first carry PING and padding in an Initial packet: each lets a server
    /// whose certificates are long send more before the client's address is validated.
    #[schemars(transform = limits::between(1, 10).unit("datagrams"))]
    initial_datagrams: u32 = 1, "RFC 9000 section 14.1: a ClientHello that fits into one datagram needs no other";
    /// Bytes that a server may send for each byte received before the client's address is validated
    /// (RFC 9000 section 8.1: 3); 0: no limit.
    amplification_factor: u32 = 3, "RFC 9000 section 8.1";
    /// DATAGRAM frames wait for the congestion window (RFC 9221 section 5.4).
    datagram_congestion_control: bool = true, "RFC 9221 section 5.4";
    /// Lost packets reduce the window although they carry DATAGRAM frames alone. In PQUIC they do not: what it need not
    /// send again is no sign of congestion, and with DATAGRAM frames alone the window of NewReno and CUBIC only grows.
    datagram_back_off: bool = true, "RFC 9221 section 5.4: controlled as all other packets; RFC 9002 section 7.3.2";
    /// The connection ends when nothing was received for this time (RFC 9000 section 10.1).
    #[schemars(transform = limits::between("1 ms", "1440 min"))]
    idle_timeout: Duration = Duration::from_secs(30), "RFC 9308 section 3.2: 30 s without need for another";
    /// Packets are ECN-capable, where the path and the peer pass the validation (RFC 9000 section 13.4). Marks on what
    /// arrives are always reported.
    ecn: bool = false, "RFC 9000 section 13.4: optional";
    /// Path scheduler of connections with several paths.
    path_scheduler: PathSchedulerKind = PathSchedulerKind::LOWEST_RTT, "assumed: RFC 9000 has one path at a time";
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

/// Growth of receive windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "QuicFlowControl")]
pub enum FlowControl {
    /// They do not grow; the limit is updated when an eighth of the window has been read (quinn).
    Fixed,
    /// They double whenever half of a window has been used (aioquic).
    DoubleWhenHalfUsed,
    /// They double when half of a window is used within two round trips (Chromium, quic-go).
    DoubleWithinTwoRtts,
}

/// Algorithm that chooses the stream that sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StreamScheduler {
    /// The oldest stream with data to send, until it has none left.
    Fifo,
    /// One packet of each stream in turn.
    RoundRobin,
    /// The most urgent stream; among equals, incremental streams in turn, others one after the other (RFC 9218).
    Priority,
    /// The most urgent stream; among equals each in turn, 16 000 B at a time (google/quiche, `QuicWriteBlockedList`).
    PriorityInBatches,
}
