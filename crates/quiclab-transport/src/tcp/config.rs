//! Everything about one end of a TCP connection that can be chosen, complete.

use quiclab_core::scenario::{
    CongestionControl, Pacing, RateReduction, SlowStartExit, TcpLossDetection, Tls,
};
use quiclab_core::{ByteCount, Duration};

/// A complete configuration: a profile with the overrides of a scenario. The fields are those of
/// [`quiclab_core::scenario::TcpOptions`] and [`quiclab_core::scenario::EndpointConfig`] and mean the same.
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
    pub(crate) tls: Option<Tls>,
}

impl Config {
    /// Payload of a full segment in bytes: the MSS without the timestamps option, where it is used.
    pub(crate) fn payload(&self, mss: u64, timestamps: bool) -> u64 {
        mss - if timestamps { 12 } else { 0 }
    }
}
