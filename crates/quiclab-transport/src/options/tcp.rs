//! Options of TCP.

use super::table::options;
use crate::acknowledgement::TcpAckRule;
use quiclab_core::{ByteCount, Duration, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

options! {
    /// Options of TCP; unset fields inherit from the profile.
    TcpOptions, TcpValues;

    /// Maximum segment size announced: payload with the timestamps option counted, as in the MSS option.
    #[schemars(transform = limits::between("88 B", "9148 B"))]
    mss: ByteCount = ByteCount::from_bytes(1460),
        "MTU of Ethernet, 1500 B, less 40 B of headers (RFC 9293 section 3.7.1)";
    /// Timestamps (RFC 7323).
    timestamps: bool = true, "sysctl tcp_timestamps 1";
    /// Selective acknowledgements (RFC 2018).
    sack: bool = true, "sysctl tcp_sack 1";
    /// Duplicates reported by SACK (RFC 2883). Needs `sack`.
    dsack: bool = true, "sysctl tcp_dsack 1";
    /// Window scaling (RFC 7323 section 2).
    window_scaling: bool = true, "sysctl tcp_window_scaling 1";
    /// Receive buffer at the start (`tcp_rmem`, second value). At most `max_receive_buffer`.
    #[schemars(transform = limits::between("4 KiB", "1048560 KiB"))]
    receive_buffer: ByteCount =
        ByteCount::from_bytes(87_380), "sysctl tcp_rmem, second value, before commit a337531b942b (4.20)";
    /// Maximum receive buffer that autotuning reaches (`tcp_rmem`, third value).
    #[schemars(transform = limits::between("4 KiB", "1048560 KiB"))]
    max_receive_buffer: ByteCount = ByteCount::from_bytes(6_291_456),
        "sysctl tcp_rmem, third value; tcp_init: 6 MiB where memory allows";
    /// Part of the receive buffer is for the overhead of packets, and the window grows from 64 KiB with what arrives; otherwise the
    /// whole buffer is window.
    receive_overhead: bool = true, "net/ipv4/tcp_input.c tcp_init_buffer_space, tcp_grow_window";
    /// Maximum send buffer that autotuning reaches (`tcp_wmem`, third value).
    #[schemars(transform = limits::between("4 KiB", "1048560 KiB"))]
    max_send_buffer: ByteCount = ByteCount::from_bytes(4_194_304),
        "sysctl tcp_wmem, third value; tcp_init: 4 MiB where memory allows";
    /// Minimum retransmission timeout (`rto_min`).
    #[schemars(transform = limits::between("1 ms", "2 min"))]
    min_rto: Duration = Duration::from_millis(200), "include/net/tcp.h TCP_RTO_MIN";
    /// Segments of reordering assumed at the start (`tcp_reordering`). At most `max_reordering`.
    #[schemars(transform = limits::at_least(3).unit("segments"))]
    reordering: u32 = 3, "sysctl tcp_reordering";
    /// Maximum reordering to which the sender adapts (`tcp_max_reordering`).
    #[schemars(transform = limits::at_least(3).unit("segments"))]
    max_reordering: u32 = 300, "sysctl tcp_max_reordering; commit dca145ffaa8d (3.18)";
    /// Algorithm of loss detection.
    loss_detection: TcpLossDetection =
        TcpLossDetection::DuplicateAcksAndRack,
        "net/ipv4/tcp_input.c tcp_time_to_recover; RACK beside it since 4.4";
    /// Tail loss probes (RFC 8985 section 7).
    tail_loss_probe: bool = true, "sysctl tcp_early_retrans 3";
    /// F-RTO: detection of spurious timeouts (RFC 5682).
    frto: bool = true, "sysctl tcp_frto 2";
    /// Reductions of the window are undone when they prove spurious (Eifel, DSACK).
    undo: bool = true, "net/ipv4/tcp_input.c tcp_try_undo_recovery";
    /// Reduction of the window during recovery.
    rate_reduction: RateReduction = RateReduction::Prr, "net/ipv4/tcp_input.c tcp_cwnd_reduction; RFC 6937";
    /// Rule by which the receiver acknowledges data in order.
    ack_rule: TcpAckRule = TcpAckRule::Linux, "net/ipv4/tcp_input.c __tcp_ack_snd_check, tcp_event_data_recv";
    /// Number of segments of which the last one is acknowledged at once: 2 for every second one.
    #[schemars(transform = limits::at_least(1).unit("segments"))]
    segments_per_ack: u32 = 2, "net/ipv4/tcp_input.c __tcp_ack_snd_check; RFC 5681 section 4.2";
    /// Minimum wait of a delayed acknowledgement with the rule of Linux. At most `max_delayed_ack`.
    #[schemars(transform = limits::above("0 s").to("2 min"))]
    min_delayed_ack: Duration = Duration::from_millis(40), "include/net/tcp.h TCP_DELACK_MIN";
    /// Maximum wait of a delayed acknowledgement; with other rules than that of Linux, its wait.
    #[schemars(transform = limits::above("0 s").to("2 min"))]
    max_delayed_ack: Duration = Duration::from_millis(200), "include/net/tcp.h TCP_DELACK_MAX";
    /// Number of segments acknowledged one by one at the start and after pauses, and with other rules than that of Linux after gaps,
    /// duplicates and waits.
    quick_acks: u32 = 16, "include/net/tcp.h TCP_MAX_QUICKACKS";
    /// Maximum number of duplicate acknowledgements that are merged into one (`tcp_comp_sack_nr`); 0: none.
    compressed_acks: u32 = 0, "none before tcp: add SACK compression";
    /// Maximum wait of merged acknowledgements (`tcp_comp_sack_delay_ns`).
    #[schemars(transform = limits::at_most("2 min"))]
    compressed_ack_delay: Duration = Duration::from_millis(1), "sysctl tcp_comp_sack_delay_ns";
    /// An application that has read everything up to the end of a write has it acknowledged at once (`tcp_cleanup_rbuf`);
    /// otherwise a segment alone waits for its delayed acknowledgement, as where the receiver is not Linux (RFC 5681 section 4.2).
    acknowledge_reads: bool = true, "net/ipv4/tcp.c tcp_cleanup_rbuf, ICSK_ACK_PUSHED";
    /// A segment that is not full waits while a smaller one is not acknowledged (Nagle's algorithm, RFC 9293 section 3.7.4; without
    /// the option TCP_NODELAY).
    nagle: bool = false, "assumed: servers and browsers set TCP_NODELAY";
    /// Maximum number of bytes that the application writes at once: a longer request or response is several writes.
    #[schemars(transform = limits::at_least("1 B"))]
    write_size: ByteCount = ByteCount::from_bytes(65_536), "assumed: as large as programs write";
    /// The window shrinks when nothing was sent for an RTO (`tcp_slow_start_after_idle`).
    restart_after_idle: bool = true, "sysctl tcp_slow_start_after_idle 1; RFC 5681 section 4.1";
    /// Maximum number of segments that leave as one burst, as with segmentation offload; 1: single segments. Bursts hold
    /// what the sender's rate brings in a millisecond, two segments at least and 64 KiB at most.
    #[schemars(transform = limits::between(1, 65535).unit("segments"))]
    gso_segments: u32 = 1,
        "a matter of the network card before commit 0a6b2a1dc2a2 (4.17): assumed to be off";
    /// Retransmission timeout before the first RTT sample, such as that of a SYN (RFC 6298 section 2); that of data is at
    /// least 3 s where the handshake gave none (section 5.7).
    #[schemars(transform = limits::between("1 ms", "2 min"))]
    initial_rto: Duration =
        Duration::from_secs(1), "include/net/tcp.h TCP_TIMEOUT_INIT; RFC 6298 section 2; 3.1";
    /// Ticks of the kernel per second (`CONFIG_HZ`): its timers end at ticks, and CUBIC counts time in them.
    #[schemars(transform = limits::between(100, 1000).unit("Hz"))]
    kernel_hz: u32, or "none" = Some(250), "kernel/Kconfig.hz HZ_250, which Debian has";
    /// Explicit congestion notification, if both ends agree to it.
    ecn: TcpEcn = TcpEcn::Off, "sysctl tcp_ecn 2: clients do not ask for it; a server would accept it, here both ends must set it";
    /// Metrics of the destination that earlier connections left in the kernel of this end (`tcp_no_metrics_save`).
    metrics: TcpMetrics = TcpMetrics::None,
        "a first connection: sysctl tcp_no_metrics_save is 0, but net/ipv4/tcp_metrics.c keeps nothing \
         for longer than an hour";
}

/// Saved metrics of a destination when a connection to it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("x-value-aliases" = {"from_run_before": "warm_start"}))]
pub enum TcpMetrics {
    /// None: the connection is the first.
    None,
    /// Metrics that Linux saves at the end of the same connection in a warm-up run, of which nothing else is kept.
    WarmStart,
}

/// How TCP uses explicit congestion notification, and what it returns of the marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TcpEcn {
    /// Not at all.
    #[default]
    Off,
    /// New data are ECN-capable; acknowledgements echo a mark until the sender has reduced its window (RFC 3168).
    Classic,
    /// All packets are ECN-capable; acknowledgements say of all data whether they had marks (RFC 8257).
    Dctcp,
    /// All packets are ECN-capable; acknowledgements count packets and bytes with marks (AccECN, RFC 9768). Beside an end with
    /// `classic` it is that.
    Accurate,
}

/// Algorithm with which TCP detects losses.
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

/// Reduction of TCP's window during recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateReduction {
    /// Immediately, to the new threshold.
    None,
    /// PRR of RFC 6937, as Linux before 5.11 has it.
    Prr,
    /// PRR of RFC 9937, as Linux since 5.11 has it.
    PrrSafeAck,
}
