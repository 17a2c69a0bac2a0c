//! Stack and options of one end of a flow.

use super::table::options;
use super::{
    BbrConstants, CongestionControl, CubicConstants, Multipath, NewRenoConstants, Pacing, QuicOptions,
    SavedPath, SlowStartExit, TcpOptions, Tls,
};
use quiclab_core::{ByteCount, Duration, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

options! {
    /// Stack and options of one end. Unset options have the default of the stack.
    EndpointConfig;

    /// Name of the stack: see `quiclab stack list`.
    stack: String;
    /// A named parameter set of the stack. See `quiclab stack show`.
    profile: String;
    /// Host template: a name in `hosts` (default: a host that costs nothing).
    host: String;
    /// Congestion control.
    congestion_control: CongestionControl;
    /// Maximum UDP payload sent; path MTU discovery is off.
    #[schemars(transform = limits::between("1200 B", "65507 B"))]
    datagram_size: ByteCount;
    /// Initial congestion window.
    /// lab-quic, lab-tcp: one datagram or segment to 1 GiB; quinn, noq: more than a datagram, below 4 GiB; aioquic: ten datagrams.
    #[schemars(transform = limits::at_least("1 B"))]
    initial_window: ByteCount;
    /// Flow-control window offered for each stream.
    #[schemars(transform = limits::at_least("1 B"))]
    stream_receive_window: ByteCount;
    /// Flow-control window offered for the connection.
    #[schemars(transform = limits::at_least("1 B"))]
    connection_receive_window: ByteCount;
    /// Maximum number of bytes of stream data sent and not acknowledged.
    #[schemars(transform = limits::at_least("1 B"))]
    send_window: ByteCount;
    /// Maximum reordering, in packets, before a packet is declared lost (RFC 9002 section 6.1.1).
    #[schemars(transform = limits::at_least(3).unit("packets"))]
    packet_threshold: u32;
    /// Maximum reordering, as a multiple of the RTT, before a packet is declared lost (RFC 9002 section 6.1.2).
    #[schemars(transform = limits::between(1.0, 1000.0).unit("round-trip times"))]
    time_threshold: f64;
    /// RTT assumed before the first sample (RFC 9002 section 6.2.2).
    #[schemars(transform = limits::between("1 us", "30 s"))]
    initial_rtt: Duration;
    /// ACK policy that this end requests of its peer (QUIC ACK Frequency extension).
    ack_frequency: AckFrequency;
    /// Frames that open, rank and close paths (Multipath QUIC).
    multipath: Multipath;
    /// Implementation of the congestion control that a real stack uses (default: its own, if it has the selected one).
    controller: Controller;
    /// Number of connections that CUBIC or NewReno emulates, N of Chromium. 1 without `newreno` or `cubic`.
    #[schemars(transform = limits::at_least(1))]
    emulated_connections: u32;
    /// Algorithm of the start: what ends slow start before a loss, or takes its place. `none` without `newreno` or `cubic`.
    slow_start_exit: SlowStartExit;
    /// Path parameters from an earlier connection, with which `careful-resume` (RFC 9959 section 3.1) and
    /// `c4` begin.
    saved_path: SavedPath;
    /// Largest window to jump to: of `careful-resume` (RFC 9959 section 3.3; default: half of the saved one), and the window of
    /// `jump-start`.
    #[schemars(transform = limits::at_least("1 B"))]
    max_jump: ByteCount;
    /// Part of the window that NewReno and CUBIC keep when packets are marked (ABE, RFC 8511, which recommends 0.8 for NewReno and
    /// 0.85 for CUBIC; default: as when packets are lost). Needs ECN.
    #[schemars(transform = limits::between(0.5, 0.99))]
    ecn_beta: f64;
    /// Constants of `newreno`.
    newreno: NewRenoConstants;
    /// Constants of `cubic`.
    cubic: CubicConstants;
    /// Constants of `bbr-linux`, `bbr-chromium`, `bbr-picoquic` and `bbr-v3`.
    bbr: BbrConstants;
    /// Pacing of packets. Not `none` with BBR.
    pacing: Pacing;
    /// Options of TCP.
    tcp: TcpOptions;
    /// Options of QUIC.
    quic: QuicOptions;
    /// Options of HTTP/2, which a page over TCP uses.
    http2: Http2Options;
    /// TLS above TCP (default: none), or of QUIC (default: that of the profile).
    tls: Tls;
}

impl EndpointConfig {
    /// Options of the stack that are set, as in a scenario, without the name of the stack and its host.
    pub fn set_options(&self) -> Map<String, Value> {
        let Ok(Value::Object(mut fields)) = serde_json::to_value(self) else {
            unreachable!("a struct is an object")
        };
        fields.retain(|name, _| name != "stack" && name != "host");
        fields
    }
}

/// RFC 9113 section 6.9.1: "A sender MUST NOT allow a flow-control window to exceed 2^31-1 octets".
const MAX_HTTP2_WINDOW: &str = "2147483647 B";

options! {
    /// Options of an end of HTTP/2 (RFC 9113); unset fields have the values of the deployed programs.
    Http2Options, Http2Values;

    /// Receive window that this end offers for each stream.
    #[schemars(transform = limits::between("1 B", MAX_HTTP2_WINDOW))]
    stream_window: ByteCount = ByteCount::from_bytes(65_535), "H2WindowSize (Apache httpd 2.4 mod_http2)";
    /// Receive window that this end offers for the connection; it cannot be smaller than its initial value (RFC 9113
    /// section 6.9.2).
    #[schemars(transform = limits::between("65535 B", MAX_HTTP2_WINDOW))]
    connection_window: ByteCount = ByteCount::from_bytes((1 << 31) - 1),
        "h2_session_start (Apache httpd 2.4 mod_http2): the connection window can only get in the way";
    /// Maximum number of streams that the peer may have open at one time.
    #[schemars(transform = limits::at_least(1))]
    max_streams: u32 = 100, "H2MaxSessionStreams (Apache httpd 2.4 mod_http2)";
    /// Maximum payload of a DATA frame that this end sends; a larger one would need SETTINGS_MAX_FRAME_SIZE (RFC 9113
    /// section 4.2).
    #[schemars(transform = limits::between("1 B", "16 KiB"))]
    frame_size: ByteCount = ByteCount::from_bytes(16_384),
        "SETTINGS_MAX_FRAME_SIZE where the peer says nothing (RFC 9113 section 6.5.2)";
    /// Bytes that a server writes in records of 1300 B, before those of 16 KB.
    warm_up: ByteCount = ByteCount::from_bytes(1 << 20),
        "H2TLSWarmUpSize (Apache httpd 2.4 mod_http2): records that fit into one TCP segment";
}

/// ACK policy that a sender requests of its peer (draft-ietf-quic-ack-frequency).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AckFrequency {
    /// Number of ack-eliciting packets that the peer may receive without acknowledging immediately.
    pub ack_eliciting_threshold: u32,
    /// Maximum time that the peer may wait (default: its own max_ack_delay).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between("1 ms", "16.383 s"))]
    pub max_ack_delay: Option<Duration>,
    /// Reordering, in packets, that the peer ignores before it acknowledges immediately.
    #[serde(default = "default_reordering_threshold")]
    pub reordering_threshold: u32,
}

fn default_reordering_threshold() -> u32 {
    2
}

/// Implementation of the congestion control that a real stack uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Controller {
    /// The stack's own.
    Stack,
    /// That of quiclab's transports, behind the stack's interface.
    Quiclab,
}
