//! Chromium's QUIC: google/quiche at Chromium 111 (2023), and proto-quic at 60.0.3108 (2017, gQUIC 37).
//!
//! Client and server are one profile: flow control is that of the browser (Chromium `net/quic`), the rest
//! that of the common code. The sample server's own windows, 64 KiB and 1 MiB (`quic/tools/quic_server.cc`),
//! limit uploads and are not modelled. The server's datagrams grow from `kDefaultServerMaxPacketSize`, 1000
//! B, to the size of the client's first one (`QuicConnection::ProcessUdpPacket`), which is used from the
//! start here.
//!
//! | aspect | Chromium | here |
//! |---|---|---|
//! | window unit | `kDefaultTCPMSS`, 1460 B, regardless of the datagram size | the same |
//! | pacing | an ideal send time, 10 packets after quiescence, otherwise pairs ("lumpy", from 1.2 Mbit/s on) | a bucket of 2, and 10 after a pause |
//! | time threshold | of max(previous srtt, latest) | of max(srtt, latest) |
//! | first probe timeout | at least 1.5 srtt after the last packet (`kFirstPtoSrttMultiplier`) | not modelled |
//! | retransmission timeouts of gQUIC | two tail loss probes, then an RTO of at least 200 ms | probe timeouts of RFC 9002 |
//! | acknowledgement delay | of the minimum RTT | of the smoothed RTT |
//! | initial RTT of a repeated connection | of the earlier one (`initial_round_trip_time_us`) | 100 ms: set `initial_rtt` |
//!
//! The stored copy of quiche that was read is that of January 2023 (039c155d9adc) or, where a file has not
//! changed since, a later one; the copy of C43017f itself could not be read. That of proto-quic is from 2016
//! to 2017.

use super::*;

profile! {
    /// IETF QUIC of Chromium 111.
    QUIC1: "chromium-quic1",
        "IETF QUIC of Chromium 111 (google/quiche C43017f, 2023) with its sample server: CUBIC for two connections";

    quic.version = QuicVersion::V1, "net/quic/quic_context.h DefaultSupportedQuicVersions";
    datagram_size = bytes(1250), "quic_constants.h kDefaultMaxPacketSize; quic_context.h max_packet_length";
    quic.connection_id = bytes(8), "quic_constants.h kQuicDefaultConnectionIdLength";
    fixed.client_connection_id = bytes(0), "quic_connection.cc: clients choose none (assumed; not read)";
    quic.packet_number = None,
        "quic_packet_creator.cc UpdatePacketNumberLength: by packets in flight (assumed: 3 B, which it leaves out, make no difference)";
    congestion_control = CongestionControl::Cubic,
        "quic_connection.cc GetDefaultCongestionControlType, kCubicBytes";
    emulated_connections = 2, "quic_constants.h kDefaultNumConnections; tcp_cubic_sender_bytes.cc";
    slow_start_exit = SlowStartExit::HystartChromium,
        "tcp_cubic_sender_bytes.cc hybrid_slow_start_; hybrid_slow_start.cc";
    initial_window = InitialWindow::Bytes(32 * 1460),
        "quic_constants.h kInitialCongestionWindow x kDefaultTCPMSS";
    quic.max_window = Some(bytes(2000 * 1460)),
        "quic_protocol_flags_list.h quic_max_congestion_window x kDefaultTCPMSS";
    quic.window_validation = true, "tcp_cubic_sender_bytes.cc IsCwndLimited";
    fixed.window_packet = Some(bytes(1460)), "quic_constants.h kDefaultTCPMSS, used for all of the window";
    fixed.newreno_beta = 0.7, "tcp_cubic_sender_bytes.cc kRenoBeta";
    pacing = Pacing::LeakyBucket {
        factor: 1.25,
        slow_start_factor: Some(2.0),
        burst_packets: 2,
        burst_share: None,
        burst_time: None,
        idle_burst_packets: Some(10),
        wait_for_full_burst: false,
    }, "tcp_cubic_sender_bytes.cc PacingRate; pacing_sender.cc kInitialUnpacedBurst; quic_lumpy_pacing_size 2";
    quic.pacing_before_rtt = true, "tcp_cubic_sender_bytes.cc PacingRate: SmoothedOrInitialRtt";
    packet_threshold = 3, "quic_constants.h kDefaultPacketReorderingThreshold";
    time_threshold = 1.25,
        "quic_constants.h kDefaultLossDelayShift 2; general_loss_algorithm.h reordering_shift_";
    quic.adaptive_packet_threshold = true, "general_loss_algorithm.h use_adaptive_reordering_threshold_";
    quic.adaptive_time_threshold = false, "general_loss_algorithm.h use_adaptive_time_threshold_";
    initial_rtt = Duration::from_millis(100), "quic_constants.h kInitialRttMs";
    quic.rtt_variation = RttVariation::Rfc9002,
        "congestion_control/rtt_stats.cc UpdateRtt (assumed the same: not read)";
    fixed.initial_timeout = 3, "quic_sent_packet_manager.cc kPtoMultiplierWithoutRttSamples";
    fixed.timeout_variations = 2, "quic_constants.h kPtoRttvarMultiplier; GetProbeTimeoutDelay";
    quic.probe_packets = 1, "quic_sent_packet_manager.cc pending_timer_transmission_count_ = 1";
    fixed.probes_carry_data = true, "quic_sent_packet_manager.cc MaybeSendProbePacket";
    quic.persistent_congestion = false,
        "tcp_cubic_sender_bytes.cc: OnRetransmissionTimeout is not called in IETF QUIC (assumed)";
    quic.acknowledgement = Acknowledgement::RttFraction {
        fraction: 0.25,
        packets: 10,
        delay: Duration::from_millis(25),
        from_packet: 100
    }, "quic_received_packet_manager.cc MaybeEnableAckDecimation, GetMaxAckDelay";
    quic.max_ack_delay = Duration::from_millis(25), "quic_constants.h kDefaultDelayedAckTimeMs";
    quic.ack_ranges = 255, "quic_connection.cc set_max_ack_ranges(255)";
    ack_frequency = None, "quic_can_send_ack_frequency is off";
    quic.flow_control = FlowControl::DoubleWithinTwoRtts,
        "quic_flow_controller.cc MaybeIncreaseMaxWindowSize";
    stream_receive_window = kib(6 * 1024), "net/quic/quic_context.cc kQuicStreamMaxRecvWindowSize";
    connection_receive_window = kib(15 * 1024), "net/quic/quic_context.cc kQuicSessionMaxRecvWindowSize";
    quic.max_stream_receive_window = kib(16 * 1024), "quic_constants.h kStreamReceiveWindowLimit";
    quic.max_connection_receive_window = kib(24 * 1024), "quic_constants.h kSessionReceiveWindowLimit";
    send_window = UNLIMITED, "quic_stream.cc buffers what flow control allows (assumed)";
    quic.max_streams = 100, "quic_constants.h kDefaultMaxStreamsPerConnection";
    fixed.max_streams_update_at_half = true,
        "quic_stream_id_manager.cc MaybeSendMaxStreamsFrame; quic_max_streams_window_divisor 2";
    quic.stream_scheduler = StreamScheduler::PriorityInBatches,
        "quic_write_blocked_list.h kBatchWriteSize; quic_priority_respect_incremental and quic_disable_batch_write are off";
    quic.datagram_congestion_control = true, "quic_datagram_queue.cc (assumed: not read)";
    fixed.client_hello = bytes(350), "assumed: any that fits into the first datagram gives the same packets";
    quic.amplification_factor = 3,
        "quic_protocol_flags_list.h quic_anti_amplification_factor (assumed: the factor of RFC 9000)";
    quic.idle_timeout = Duration::from_secs(30), "net/quic/quic_context.h kIdleConnectionTimeout";
}

profile! {
    /// Google QUIC of Chromium 60.
    GQUIC37: "chromium-gquic37",
        "Google QUIC 37 of Chromium 60 (proto-quic 60.0.3108, 2017) with its sample server: CUBIC for two connections",
    base QUIC1;

    quic.version = QuicVersion::Gquic37, "the version of the study; proto-quic 60.0.3108";
    datagram_size = bytes(1350), "quic_constants.h kDefaultMaxPacketSize, proto-quic";
    quic.connection_id = bytes(8), "quic_framer.cc: 64 bits, the client's choice for both directions";
    fixed.client_connection_id = bytes(8),
        "quic_framer.cc: 64 bits in both directions (assumed: browsers may ask the server to leave them out)";
    congestion_control = CongestionControl::Cubic,
        "quic_connection.cc sent_packet_manager_(.., kCubicBytes, kNack), proto-quic";
    emulated_connections = 2,
        "tcp_cubic_sender_base.cc kDefaultNumConnections (assumed: the constant of 2019)";
    slow_start_exit = SlowStartExit::HystartChromium, "congestion_control/hybrid_slow_start.h, proto-quic";
    initial_window = InitialWindow::Bytes(32 * 1460),
        "quic_constants.h kInitialCongestionWindow x kDefaultTCPMSS, proto-quic";
    quic.max_window = Some(bytes(2000 * 1460)),
        "quic_flags_list.h quic_max_congestion_window (assumed: 2000 as the thesis says of gQUIC 37)";
    fixed.window_packet = Some(bytes(1460)), "quic_constants.h kDefaultTCPMSS, proto-quic";
    pacing = Pacing::LeakyBucket {
        factor: 1.25,
        slow_start_factor: Some(2.0),
        burst_packets: 1,
        burst_share: None,
        burst_time: None,
        idle_burst_packets: Some(10),
        wait_for_full_burst: false,
    }, "pacing_sender.cc kInitialUnpacedBurst, proto-quic: no lumps yet";
    quic.adaptive_packet_threshold = false,
        "general_loss_algorithm.h kNumberOfNacksBeforeRetransmission, kNack, proto-quic";
    packet_threshold = 3, "general_loss_algorithm.h kNumberOfNacksBeforeRetransmission, proto-quic";
    time_threshold = 1.25,
        "general_loss_algorithm.h reordering_shift_ (assumed: early retransmission after 1/4 RTT)";
    initial_rtt = Duration::from_millis(100), "rtt_stats.cc kInitialRttMs (assumed: the constant of 2019)";
    fixed.initial_timeout = 2,
        "quic_sent_packet_manager.cc GetCryptoRetransmissionDelay: 1.5 srtt, rounded up";
    fixed.timeout_variations = 4,
        "quic_sent_packet_manager.cc GetRetransmissionDelay: srtt + 4 x mean deviation";
    quic.probe_packets = 1, "quic_sent_packet_manager.cc: one packet for a tail loss probe";
    quic.acknowledgement = Acknowledgement::Every { packets: 2, delay: Duration::from_millis(25) },
        "quic_connection.cc TCP_ACKING, kDefaultRetransmittablePacketsBeforeAck, kMaxDelayedAckTimeMs, proto-quic";
    quic.max_ack_delay = Duration::from_millis(25),
        "quic_constants.h kMaxDelayedAckTimeMs; gQUIC does not announce it";
    quic.ack_ranges = 255, "quic_connection.cc set_max_ack_ranges(255), proto-quic";
    stream_receive_window = kib(6 * 1024), "quic_stream_factory.cc kQuicStreamMaxRecvWindowSize";
    connection_receive_window = kib(15 * 1024), "quic_stream_factory.cc kQuicSessionMaxRecvWindowSize";
    quic.max_streams = 100, "quic_constants.h kDefaultMaxStreamsPerConnection, proto-quic";
    fixed.client_hello = bytes(350), "assumed: an inchoate CHLO is padded to 1024 B";
    quic.amplification_factor = 0,
        "gQUIC has no such limit (assumed: it rejects with certificates only what fits)";
    quic.idle_timeout = Duration::from_secs(30), "quic_constants.h kDefaultIdleTimeoutSecs, proto-quic";
}
