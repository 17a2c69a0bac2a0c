//! quic-go, in Go, at v0.18.0 (draft 29, August 2020), the release nearest to eff36f3 of the pacing study:
//! both have the pacer with waits of a millisecond, which v0.17.3 does not.
//!
//! | changes in newer releases | to v0.55.0 |
//! |---|---|
//! | datagrams | 1280 B, with path MTU discovery to 1452 B |
//! | ACK ranges | 32 |
//! | the rest: NewReno, window of 32 datagrams, pacer, thresholds, initial RTT, flow control | as here |
//!
//! The study says "CUBIC"; the code runs it with `reno` set (`newSentPacketHandler`: "use Reno"), with CUBIC's factor
//! of 0.7: set `congestion_control` for the other reading. The first packet is acknowledged at once; not modelled.

use super::*;

profile! {
    /// Release of the pacing study.
    QUIC_GO: "quic-go",
        "quic-go 0.18 (draft 29, eff36f3), in Go: NewReno keeping 0.7, waits of a millisecond at least";

    quic.version = QuicVersion::V1,
        "internal/protocol/version.go VersionMilestone0_18 (draft 29), v0.18.0: the format of version 1";
    datagram_size = bytes(1252), "internal/protocol/params.go MaxPacketSizeIPv4, v0.18.0";
    quic.connection_id = bytes(4), "internal/protocol/params.go DefaultConnectionIDLength, v0.18.0";
    fixed.client_connection_id = bytes(0),
        "config.go populateClientConfig: none on a socket of its own, v0.18.0";
    quic.packet_number = Some(bytes(2)),
        "internal/protocol/packet_number.go GetPacketNumberLengthForHeader: 2 B up to 2^15 packets in flight, v0.18.0";
    congestion_control = CongestionControl::Newreno,
        "internal/ackhandler/sent_packet_handler.go: use Reno, v0.18.0";
    emulated_connections = 1, "internal/congestion/cubic.go defaultNumConnections, v0.18.0";
    slow_start_exit = SlowStartExit::HystartChromium, "internal/congestion/hybrid_slow_start.go, v0.18.0";
    initial_window = InitialWindow::Packets(32),
        "internal/congestion/cubic_sender.go initialCongestionWindow, v0.18.0";
    quic.max_window = Some(bytes(10_000 * 1252)),
        "internal/protocol/params.go MaxCongestionWindowPackets, v0.18.0";
    quic.window_validation = true, "internal/congestion/cubic_sender.go isCwndLimited, v0.18.0";
    fixed.window_packet = None, "internal/congestion/cubic_sender.go maxDatagramSize, v0.18.0";
    fixed.newreno_beta = 0.7, "internal/congestion/cubic_sender.go renoBeta, v0.18.0";
    pacing = Pacing::Quantum { factor: 1.25, burst_packets: 10, quantum: Duration::from_millis(1) },
        "internal/congestion/pacer.go maxBurstSize, TimeUntilSend; MinPacingDelay, v0.18.0";
    quic.pacing_before_rtt = false,
        "internal/congestion/cubic_sender.go BandwidthEstimate: infinite before a sample, v0.18.0";
    packet_threshold = 3, "internal/ackhandler/sent_packet_handler.go packetThreshold, v0.18.0";
    time_threshold = 9.0 / 8.0, "internal/ackhandler/sent_packet_handler.go timeThreshold, v0.18.0";
    quic.adaptive_packet_threshold = false, "internal/ackhandler/sent_packet_handler.go: constants, v0.18.0";
    quic.adaptive_time_threshold = false, "internal/ackhandler/sent_packet_handler.go: constants, v0.18.0";
    initial_rtt = Duration::from_millis(100), "internal/utils/rtt_stats.go defaultInitialRTT, v0.18.0";
    quic.rtt_variation = RttVariation::Rfc9002, "internal/utils/rtt_stats.go UpdateRTT, v0.18.0";
    fixed.initial_timeout = 2, "internal/utils/rtt_stats.go PTO: 2 * defaultInitialRTT, v0.18.0";
    fixed.timeout_variations = 4, "internal/utils/rtt_stats.go PTO, v0.18.0";
    quic.probe_packets = 2, "internal/ackhandler/sent_packet_handler.go numProbesToSend += 2, v0.18.0";
    fixed.probes_carry_data = true, "internal/ackhandler/sent_packet_handler.go QueueProbePacket, v0.18.0";
    quic.persistent_congestion = false,
        "internal/congestion/cubic_sender.go OnRetransmissionTimeout has no caller, v0.18.0";
    quic.acknowledgement = Acknowledgement::Every { packets: 2, delay: Duration::from_millis(25) },
        "internal/ackhandler/received_packet_tracker.go packetsBeforeAck, maybeQueueAck, v0.18.0";
    quic.max_ack_delay = Duration::from_millis(26),
        "internal/protocol/params.go MaxAckDelayInclGranularity, v0.18.0";
    quic.ack_ranges = 500, "internal/protocol/params.go MaxNumAckRanges, v0.18.0";
    quic.flow_control = FlowControl::DoubleWithinTwoRtts,
        "internal/flowcontrol/base_flow_controller.go maybeAdjustWindowSize, v0.18.0";
    stream_receive_window = kib(512), "internal/protocol/params.go InitialMaxStreamData, v0.18.0";
    connection_receive_window = kib(768), "internal/protocol/params.go InitialMaxData, v0.18.0";
    quic.max_stream_receive_window = kib(6 * 1024),
        "internal/protocol/params.go DefaultMaxReceiveStreamFlowControlWindow, v0.18.0";
    quic.max_connection_receive_window = kib(15 * 1024),
        "internal/protocol/params.go DefaultMaxReceiveConnectionFlowControlWindow, v0.18.0";
    send_window = UNLIMITED, "send_stream.go: what the application has written (assumed not to limit)";
    quic.max_streams = 100, "internal/protocol/params.go DefaultMaxIncomingStreams, v0.18.0";
    quic.stream_scheduler = StreamScheduler::RoundRobin, "framer.go AppendStreamFrames: streamQueue, v0.18.0";
    quic.datagram_congestion_control = true, "no DATAGRAM frames in v0.18.0; RFC 9221 section 5.4";
    fixed.client_hello = bytes(280), "assumed: any that fits into the first datagram gives the same packets";
    quic.amplification_factor = 3, "internal/ackhandler/sent_packet_handler.go amplificationFactor, v0.18.0";
    quic.idle_timeout = Duration::from_secs(30), "internal/protocol/params.go DefaultIdleTimeout, v0.18.0";
}
