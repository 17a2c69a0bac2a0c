//! quinn-proto 0.11.19, in Rust, from its source: for a comparison of lab-quic with the real stack `quinn`.
//!
//! Configured as that stack here (path MTU discovery off). Its acknowledgements report a gap when the sender
//! would declare a loss (reordering threshold 1: at once), and more than ten packets that are not
//! ack-eliciting; the latter is not modelled. The burst has at most 256 packets.

use super::*;

profile! {
    /// Release of the stack `quinn`.
    QUINN: "quinn", "quinn-proto 0.11.19, in Rust: CUBIC, pacing at 1.25 cwnd / srtt";

    quic.version = QuicVersion::V1, "lib.rs DEFAULT_SUPPORTED_VERSIONS, 0.11.19";
    datagram_size = bytes(1200), "lib.rs INITIAL_MTU, 0.11.19";
    quic.connection_id = bytes(8), "config/mod.rs, cid_generator.rs, 0.11.19";
    fixed.client_connection_id = bytes(8), "config/mod.rs, cid_generator.rs, 0.11.19";
    quic.packet_number = None, "packet.rs PacketNumber::new, 0.11.19";
    congestion_control = CongestionControl::Cubic, "config/transport.rs TransportConfig::default, 0.11.19";
    slow_start_exit = SlowStartExit::None, "congestion/cubic.rs has none, 0.11.19";
    initial_window = InitialWindow::Bytes(12_000),
        "congestion/cubic.rs CubicConfig::default: 14720 within 2 to 10 x 1200, 0.11.19";
    quic.max_window = None, "congestion/cubic.rs has none, 0.11.19";
    quic.window_validation = true, "congestion/cubic.rs on_ack: app_limited, 0.11.19";
    fixed.window_packet = None, "congestion/cubic.rs current_mtu, 0.11.19";
    fixed.newreno_beta = 0.5, "congestion/new_reno.rs loss_reduction_factor, 0.11.19";
    pacing = Pacing::LeakyBucket {
        factor: 1.25,
        slow_start_factor: None,
        burst_packets: 10,
        burst_share: None,
        burst_time: Some(Duration::from_micros(1600)),
        idle_burst_packets: None,
        wait_for_full_burst: true,
    }, "connection/pacing.rs MIN_BURST_SIZE, BURST_INTERVAL_NANOS: 2 ms of cwnd / srtt, 0.11.19";
    quic.pacing_before_rtt = true, "connection/pacing.rs Pacer::new with the initial RTT, 0.11.19";
    packet_threshold = 3, "config/transport.rs TransportConfig::default, 0.11.19";
    time_threshold = 9.0 / 8.0, "config/transport.rs TransportConfig::default, 0.11.19";
    quic.adaptive_packet_threshold = false, "connection/mod.rs detect_lost_packets, 0.11.19";
    quic.adaptive_time_threshold = false, "connection/mod.rs detect_lost_packets, 0.11.19";
    initial_rtt = Duration::from_millis(333), "config/transport.rs TransportConfig::default, 0.11.19";
    quic.rtt_variation = RttVariation::Rfc9002, "connection/paths.rs RttEstimator::update, 0.11.19";
    fixed.initial_timeout = 3, "connection/paths.rs RttEstimator::new: var = initial RTT / 2, 0.11.19";
    fixed.timeout_variations = 4, "connection/paths.rs RttEstimator::pto_base, 0.11.19";
    quic.probe_packets = 2, "connection/mod.rs on_loss_detection_timeout, 0.11.19";
    fixed.probes_carry_data = false,
        "connection/spaces.rs maybe_queue_probe: retransmits, of which stream_frames are no part, 0.11.19";
    quic.persistent_congestion = true, "config/transport.rs persistent_congestion_threshold 3, 0.11.19";
    quic.acknowledgement = Acknowledgement::Every { packets: 2, delay: Duration::from_millis(25) },
        "connection/spaces.rs PendingAcks::packet_received, 0.11.19";
    quic.max_ack_delay = Duration::from_millis(25), "transport_parameters.rs, 0.11.19";
    quic.ack_ranges = 64, "connection/spaces.rs MAX_ACK_BLOCKS, 0.11.19";
    ack_frequency = None, "config/transport.rs ack_frequency_config None, 0.11.19";
    quic.flow_control = FlowControl::Fixed, "connection/streams/recv.rs max_stream_data, 0.11.19";
    stream_receive_window = bytes(1_250_000), "config/transport.rs STREAM_RWND, 0.11.19";
    connection_receive_window = UNLIMITED, "config/transport.rs receive_window VarInt::MAX, 0.11.19";
    quic.max_stream_receive_window = bytes(1_250_000), "does not grow";
    quic.max_connection_receive_window = UNLIMITED, "does not grow";
    send_window = bytes(10_000_000), "config/transport.rs 8 x STREAM_RWND, 0.11.19";
    quic.max_streams = 100, "config/transport.rs max_concurrent_bidi_streams, 0.11.19";
    quic.stream_scheduler = StreamScheduler::RoundRobin, "config/transport.rs send_fairness true, 0.11.19";
    quic.datagram_congestion_control = true, "connection/mod.rs populate_packet, 0.11.19";
    fixed.client_hello = bytes(281),
        "measured with 0.11.19 and rustls 0.23.46: CRYPTO bytes of the first Initial packet";
    fixed.tickets = bytes(162),
        "measured with 0.11.19 and rustls 0.23.46: CRYPTO bytes of the first 1-RTT packet";
    fixed.window_check = WindowCheck::Below,
        "connection/mod.rs poll_transmit: in_flight + bytes_to_send >= window, 0.11.19";
    fixed.flavour = Flavour::Quinn, "congestion/cubic.rs, after RFC 8312, 0.11.19";
    fixed.ignore_late_acks = true, "connection/mod.rs detect_lost_packets: spaces[..].take, retransmit, 0.11.19";
    fixed.growth_before_losses = true,
        "connection/mod.rs on_ack_received: on_packet_acked before detect_lost_packets, 0.11.19";
    fixed.ack_ping = AckOfAckPolicy::Never, "connection/spaces.rs has none, 0.11.19";
    fixed.pads_to_full = true, "connection/mod.rs poll_transmit: pad_to(min_mtu), 0.11.19";
    fixed.new_connection_ids = 4,
        "connection/mod.rs issue_first_cids, LOC_CID_COUNT 8 (assumed: 5 with the peer's limit), 0.11.19";
    quic.amplification_factor = 3, "connection/paths.rs anti_amplification_blocked, 0.11.19";
    quic.idle_timeout = Duration::from_secs(30), "config/transport.rs max_idle_timeout, 0.11.19";
}
