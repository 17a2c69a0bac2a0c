//! Everything about one end of a TCP connection that can be chosen, complete.

use crate::options::{
    CongestionControl, Pacing, RateReduction, SlowStartExit, TcpLossDetection, TcpMetrics, Tls,
};
use quiclab_core::{ByteCount, Duration};

/// Largest window without scaling (RFC 9293 section 3.1: 16 bits).
pub(super) const UNSCALED_WINDOW: u64 = 65_535;
/// Initial window where none is given, in segments (RFC 6928; Linux `TCP_INIT_CWND`).
pub(super) const INITIAL_SEGMENTS: u64 = 10;

/// A complete configuration: a profile with the overrides of a scenario. The fields are those of
/// [`crate::options::TcpOptions`] and [`crate::options::EndpointConfig`] and mean the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub(crate) congestion_control: CongestionControl,
    pub(crate) emulated_connections: u32,
    pub(crate) slow_start_exit: SlowStartExit,
    pub(crate) pacing: Pacing,
    /// In bytes; full segments of the MSS in effect where the profile says 10 segments.
    pub(crate) initial_window: Option<ByteCount>,
    pub(crate) mss: ByteCount,
    pub(crate) timestamps: bool,
    pub(crate) sack: bool,
    pub(crate) dsack: bool,
    pub(crate) window_scaling: bool,
    pub(crate) receive_buffer: ByteCount,
    pub(crate) max_receive_buffer: ByteCount,
    pub(crate) max_send_buffer: ByteCount,
    pub(crate) min_rto: Duration,
    pub(crate) initial_rto: Duration,
    pub(crate) reordering: u32,
    pub(crate) max_reordering: u32,
    pub(crate) loss_detection: TcpLossDetection,
    pub(crate) tail_loss_probe: bool,
    pub(crate) frto: bool,
    pub(crate) undo: bool,
    pub(crate) rate_reduction: RateReduction,
    pub(crate) min_delayed_ack: Duration,
    pub(crate) max_delayed_ack: Duration,
    pub(crate) quick_acks: u32,
    pub(crate) compressed_acks: u32,
    pub(crate) compressed_ack_delay: Duration,
    pub(crate) restart_after_idle: bool,
    pub(crate) gso_segments: u32,
    pub(crate) metrics: TcpMetrics,
    pub(crate) tls: Option<Tls>,
}

impl Config {
    /// Payload of a full segment in bytes: the MSS without the timestamps option, where it is used.
    pub(crate) fn payload(&self, mss: u64, timestamps: bool) -> u64 {
        mss - if timestamps { 12 } else { 0 }
    }
}

/// Values of Linux, for tests of the parts.
#[cfg(test)]
pub(crate) fn test_config() -> Config {
    Config {
        congestion_control: CongestionControl::Newreno,
        emulated_connections: 1,
        slow_start_exit: SlowStartExit::None,
        pacing: Pacing::None,
        initial_window: None,
        mss: ByteCount::from_bytes(1460),
        timestamps: true,
        sack: true,
        dsack: true,
        window_scaling: true,
        receive_buffer: ByteCount::from_bytes(131_072),
        max_receive_buffer: ByteCount::from_bytes(6_291_456),
        max_send_buffer: ByteCount::from_bytes(4_194_304),
        min_rto: Duration::from_millis(200),
        initial_rto: Duration::from_secs(1),
        reordering: 3,
        max_reordering: 300,
        loss_detection: TcpLossDetection::Rack,
        tail_loss_probe: true,
        frto: true,
        undo: true,
        rate_reduction: RateReduction::PrrSafeAck,
        min_delayed_ack: Duration::from_millis(40),
        max_delayed_ack: Duration::from_millis(200),
        quick_acks: 16,
        compressed_acks: 44,
        compressed_ack_delay: Duration::from_millis(1),
        restart_after_idle: true,
        gso_segments: 1,
        metrics: TcpMetrics::None,
        tls: None,
    }
}
