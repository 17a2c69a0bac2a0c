//! Everything about one end of a QUIC connection that can be chosen, complete.

use quiclab_core::scenario::{
    AckFrequency, Acknowledgement, CongestionControl, FlowControl, Pacing, PathSchedulerKind, QuicVersion,
    RttVariation, SlowStartExit, StreamScheduler, Tls,
};
use quiclab_core::{ByteCount, Duration};

/// A complete configuration: a profile with the overrides of a scenario. The fields are those of
/// [`quiclab_core::scenario::QuicOptions`] and [`quiclab_core::scenario::EndpointConfig`] and mean the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub(crate) congestion_control: CongestionControl,
    pub(crate) emulated_connections: u32,
    pub(crate) slow_start_exit: SlowStartExit,
    pub(crate) pacing: Pacing,
    /// UDP payload of a full datagram.
    pub(crate) datagram_size: ByteCount,
    pub(crate) initial_window: ByteCount,
    pub(crate) stream_receive_window: ByteCount,
    pub(crate) connection_receive_window: ByteCount,
    pub(crate) send_window: ByteCount,
    pub(crate) packet_threshold: u32,
    pub(crate) time_threshold: f64,
    pub(crate) initial_rtt: Duration,
    pub(crate) ack_frequency: Option<AckFrequency>,
    pub(crate) version: QuicVersion,
    /// 0 to 20 bytes.
    pub(crate) connection_id: ByteCount,
    /// In bytes; `None`: the shortest that the peer can expand.
    pub(crate) packet_number: Option<ByteCount>,
    pub(crate) acknowledgement: Acknowledgement,
    pub(crate) ack_ranges: u32,
    pub(crate) max_ack_delay: Duration,
    pub(crate) adaptive_packet_threshold: bool,
    pub(crate) adaptive_time_threshold: bool,
    pub(crate) rtt_variation: RttVariation,
    pub(crate) persistent_congestion: bool,
    pub(crate) probe_packets: u32,
    pub(crate) window_validation: bool,
    pub(crate) max_streams: u64,
    pub(crate) flow_control: FlowControl,
    pub(crate) max_stream_receive_window: ByteCount,
    pub(crate) max_connection_receive_window: ByteCount,
    pub(crate) stream_scheduler: StreamScheduler,
    /// 0: no limit.
    pub(crate) amplification_factor: u32,
    pub(crate) datagram_congestion_control: bool,
    pub(crate) idle_timeout: Duration,
    pub(crate) path_scheduler: PathSchedulerKind,
    /// Resumption, certificate and early data; the version is always 1.3.
    pub(crate) tls: Tls,
    /// What no option changes.
    pub(crate) fixed: Fixed,
}

/// Properties of a profile that no option changes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fixed {
    /// Length of the ClientHello (gQUIC: of the inchoate CHLO before padding) in bytes.
    pub(crate) client_hello: ByteCount,
    /// A probe timeout during the handshake counts as a congestion event (aioquic 0.9.25).
    pub(crate) handshake_timeout_is_congestion: bool,
    /// When the window lets another datagram leave.
    pub(crate) window_check: WindowCheck,
    /// An acknowledgement lets the window grow before the losses that it shows cut it (quinn, aioquic); RFC
    /// 9002 appendix A.7 has it the other way round.
    pub(crate) growth_before_losses: bool,
    /// Acknowledgements ride with other packets only once they are due (aioquic).
    pub(crate) acks_only_when_due: bool,
    /// Most packets sent in one go before timers and arrivals are looked at again; `None`: no limit.
    pub(crate) burst: Option<u32>,
}

/// When a congestion window lets another datagram leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowCheck {
    /// It fits: RFC 9002 section 7 ("MUST NOT send a packet if it would cause bytes_in_flight [...] to be
    /// larger than the congestion window").
    Fits,
    /// Something is left of the window afterwards (quinn).
    Below,
    /// Something is left of it before: the last datagram may exceed it (aioquic).
    Started,
}

/// Values of RFC 9000 and RFC 9002, for tests of the parts.
#[cfg(test)]
pub(crate) fn test_config() -> Config {
    use quiclab_core::scenario::TlsVersion;
    let kib = |count: u64| ByteCount::from_bytes(count * 1024);
    Config {
        congestion_control: CongestionControl::Newreno,
        emulated_connections: 1,
        slow_start_exit: SlowStartExit::None,
        pacing: Pacing::None,
        datagram_size: ByteCount::from_bytes(1200),
        initial_window: ByteCount::from_bytes(12_000),
        stream_receive_window: kib(1024),
        connection_receive_window: kib(1536),
        send_window: ByteCount::from_bytes(10_000_000),
        packet_threshold: 3,
        time_threshold: 1.125,
        initial_rtt: Duration::from_millis(333),
        ack_frequency: None,
        version: QuicVersion::V1,
        connection_id: ByteCount::from_bytes(8),
        packet_number: None,
        acknowledgement: Acknowledgement::Every { packets: 2, delay: Duration::from_millis(25) },
        ack_ranges: 256,
        max_ack_delay: Duration::from_millis(25),
        adaptive_packet_threshold: false,
        adaptive_time_threshold: false,
        rtt_variation: RttVariation::Rfc9002,
        persistent_congestion: true,
        probe_packets: 2,
        window_validation: true,
        max_streams: 100,
        flow_control: FlowControl::Fixed,
        max_stream_receive_window: kib(16 * 1024),
        max_connection_receive_window: kib(24 * 1024),
        stream_scheduler: StreamScheduler::RoundRobin,
        amplification_factor: 3,
        datagram_congestion_control: true,
        idle_timeout: Duration::from_secs(30),
        path_scheduler: PathSchedulerKind::LowestRtt,
        tls: Tls {
            version: TlsVersion::Tls13,
            resumption: false,
            certificate: ByteCount::from_bytes(3000),
            early_data: None,
        },
        fixed: Fixed {
            client_hello: ByteCount::from_bytes(300),
            handshake_timeout_is_congestion: false,
            window_check: WindowCheck::Fits,
            growth_before_losses: false,
            acks_only_when_due: false,
            burst: None,
        },
    }
}
