//! Chromium's QUIC: google/quiche at Chromium 111 (2023), and proto-quic at 60.0.3108 (2017, gQUIC 37).
//!
//! Client and server are one profile: flow control is that of the browser (Chromium `net/quic`), the rest that of
//! the common code. The sample server's own windows, 64 KiB and 1 MiB (`quic/tools/quic_server.cc`), bound
//! uploads and are not modelled. The server's datagrams grow from `kDefaultServerMaxPacketSize`, 1000 B, to the
//! size of the client's first one (`QuicConnection::ProcessUdpPacket`): taken from the start here.
//!
//! | what | Chromium | here |
//! |---|---|---|
//! | window unit | `kDefaultTCPMSS`, 1460 B, whatever a datagram is | the same |
//! | pacing | an ideal send time, 10 packets after quiescence, else pairs ("lumpy", from 1.2 Mbit/s on) | a bucket of 2, and 10 after a pause |
//! | time threshold | of max(previous srtt, latest) | of max(srtt, latest) |
//! | first probe timeout | 1.5 srtt after the last packet at least (`kFirstPtoSrttMultiplier`) | not modelled |
//! | retransmission timeouts of gQUIC | two tail loss probes, then an RTO of 200 ms at least | probe timeouts of RFC 9002 |
//! | acknowledgement delay | of the smallest RTT | of the smoothed RTT |
//! | initial RTT of a repeated connection | of the earlier one (`initial_round_trip_time_us`) | 100 ms: set `initial_rtt` |
//!
//! The stored copy of quiche that was read is that of January 2023 (039c155d9adc) or, where a file has not
//! changed since, a later one; it was not possible to read the copy of C43017f itself. That of proto-quic is from
//! 2016 to 2017.

use super::super::config::InitialWindow;
use super::{ONE_PATH, Profile, bytes, kib, value};
use crate::options::{
    Acknowledgement, CongestionControl, FlowControl, Pacing, QuicVersion, RttVariation, SlowStartExit,
    StreamScheduler,
};
use crate::profile::UNLIMITED;
use quiclab_core::Duration;
use quiclab_core::scheduler::PathSchedulerKind;

/// IETF QUIC of Chromium 111.
pub(super) const QUIC1: Profile = Profile {
    name: "chromium-quic1",
    description: "IETF QUIC of Chromium 111 (google/quiche C43017f, 2023) with its sample server: CUBIC for two connections",
    base: None,
    values: &[
        value!(quic.version = QuicVersion::V1, "net/quic/quic_context.h DefaultSupportedQuicVersions"),
        value!(
            datagram_size = bytes(1250),
            "quic_constants.h kDefaultMaxPacketSize; quic_context.h max_packet_length"
        ),
        value!(quic.connection_id = bytes(8), "quic_constants.h kQuicDefaultConnectionIdLength"),
        value!(
            fixed.client_connection_id = bytes(0),
            "quic_connection.cc: clients choose none (assumed; not read)"
        ),
        value!(
            quic.packet_number = None,
            "quic_packet_creator.cc UpdatePacketNumberLength: by packets in flight (assumed: 3 B, which it leaves out, make no difference)"
        ),
        value!(
            congestion_control = CongestionControl::Cubic,
            "quic_connection.cc GetDefaultCongestionControlType, kCubicBytes"
        ),
        value!(
            emulated_connections = 2,
            "quic_constants.h kDefaultNumConnections; tcp_cubic_sender_bytes.cc"
        ),
        value!(
            slow_start_exit = SlowStartExit::HystartChromium,
            "tcp_cubic_sender_bytes.cc hybrid_slow_start_; hybrid_slow_start.cc"
        ),
        value!(
            initial_window = InitialWindow::Bytes(32 * 1460),
            "quic_constants.h kInitialCongestionWindow x kDefaultTCPMSS"
        ),
        value!(
            quic.max_window = Some(bytes(2000 * 1460)),
            "quic_protocol_flags_list.h quic_max_congestion_window x kDefaultTCPMSS"
        ),
        value!(quic.window_validation = true, "tcp_cubic_sender_bytes.cc IsCwndLimited"),
        value!(
            fixed.window_packet = Some(bytes(1460)),
            "quic_constants.h kDefaultTCPMSS, used for all of the window"
        ),
        value!(fixed.newreno_keeps = 0.7, "tcp_cubic_sender_bytes.cc kRenoBeta"),
        value!(
            pacing = Pacing::LeakyBucket {
                factor: 1.25,
                slow_start_factor: Some(2.0),
                burst_packets: 2,
                burst_share: None,
                burst_time: None,
                idle_burst_packets: Some(10),
                whole_bursts: false,
            },
            "tcp_cubic_sender_bytes.cc PacingRate; pacing_sender.cc kInitialUnpacedBurst; quic_lumpy_pacing_size 2"
        ),
        value!(quic.pacing_before_rtt = true, "tcp_cubic_sender_bytes.cc PacingRate: SmoothedOrInitialRtt"),
        value!(packet_threshold = 3, "quic_constants.h kDefaultPacketReorderingThreshold"),
        value!(
            time_threshold = 1.25,
            "quic_constants.h kDefaultLossDelayShift 2; general_loss_algorithm.h reordering_shift_"
        ),
        value!(
            quic.adaptive_packet_threshold = true,
            "general_loss_algorithm.h use_adaptive_reordering_threshold_"
        ),
        value!(quic.adaptive_time_threshold = false, "general_loss_algorithm.h use_adaptive_time_threshold_"),
        value!(initial_rtt = Duration::from_millis(100), "quic_constants.h kInitialRttMs"),
        value!(
            quic.rtt_variation = RttVariation::Rfc9002,
            "congestion_control/rtt_stats.cc UpdateRtt (assumed the same: not read)"
        ),
        value!(fixed.initial_timeout = 3, "quic_sent_packet_manager.cc kPtoMultiplierWithoutRttSamples"),
        value!(fixed.timeout_variations = 2, "quic_constants.h kPtoRttvarMultiplier; GetProbeTimeoutDelay"),
        value!(quic.probe_packets = 1, "quic_sent_packet_manager.cc pending_timer_transmission_count_ = 1"),
        value!(fixed.probes_carry_data = true, "quic_sent_packet_manager.cc MaybeSendProbePacket"),
        value!(
            quic.persistent_congestion = false,
            "tcp_cubic_sender_bytes.cc: OnRetransmissionTimeout is not called in IETF QUIC (assumed)"
        ),
        value!(
            quic.acknowledgement = Acknowledgement::RttFraction {
                fraction: 0.25,
                packets: 10,
                delay: Duration::from_millis(25),
                from_packet: 100
            },
            "quic_received_packet_manager.cc MaybeEnableAckDecimation, GetMaxAckDelay"
        ),
        value!(quic.max_ack_delay = Duration::from_millis(25), "quic_constants.h kDefaultDelayedAckTimeMs"),
        value!(quic.ack_ranges = 255, "quic_connection.cc set_max_ack_ranges(255)"),
        value!(ack_frequency = None, "quic_can_send_ack_frequency is off"),
        value!(
            quic.flow_control = FlowControl::DoubleWithinTwoRtts,
            "quic_flow_controller.cc MaybeIncreaseMaxWindowSize"
        ),
        value!(
            stream_receive_window = kib(6 * 1024),
            "net/quic/quic_context.cc kQuicStreamMaxRecvWindowSize"
        ),
        value!(
            connection_receive_window = kib(15 * 1024),
            "net/quic/quic_context.cc kQuicSessionMaxRecvWindowSize"
        ),
        value!(quic.max_stream_receive_window = kib(16 * 1024), "quic_constants.h kStreamReceiveWindowLimit"),
        value!(
            quic.max_connection_receive_window = kib(24 * 1024),
            "quic_constants.h kSessionReceiveWindowLimit"
        ),
        value!(send_window = UNLIMITED, "quic_stream.cc buffers what flow control allows (assumed)"),
        value!(quic.max_streams = 100, "quic_constants.h kDefaultMaxStreamsPerConnection"),
        value!(
            fixed.streams_when_half_left = true,
            "quic_stream_id_manager.cc MaybeSendMaxStreamsFrame; quic_max_streams_window_divisor 2"
        ),
        value!(
            quic.stream_scheduler = StreamScheduler::PriorityInBatches,
            "quic_write_blocked_list.h kBatchWriteSize; quic_priority_respect_incremental and quic_disable_batch_write are off"
        ),
        value!(quic.datagram_congestion_control = true, "quic_datagram_queue.cc (assumed: not read)"),
        value!(quic.path_scheduler = PathSchedulerKind::LOWEST_RTT, ONE_PATH),
        value!(
            fixed.client_hello = bytes(350),
            "assumed: any that fits into the first datagram gives the same packets"
        ),
        value!(
            quic.amplification_factor = 3,
            "quic_protocol_flags_list.h quic_anti_amplification_factor (assumed: the factor of RFC 9000)"
        ),
        value!(quic.idle_timeout = Duration::from_secs(30), "net/quic/quic_context.h kIdleConnectionTimeout"),
    ],
};

/// Google QUIC of Chromium 60.
pub(super) const GQUIC37: Profile = Profile {
    name: "chromium-gquic37",
    description: "Google QUIC 37 of Chromium 60 (proto-quic 60.0.3108, 2017) with its sample server: CUBIC for two connections",
    base: Some(&QUIC1),
    values: &[
        value!(quic.version = QuicVersion::Gquic37, "the version of the study; proto-quic 60.0.3108"),
        value!(datagram_size = bytes(1350), "quic_constants.h kDefaultMaxPacketSize, proto-quic"),
        value!(
            quic.connection_id = bytes(8),
            "quic_framer.cc: 64 bits, the client's choice for both directions"
        ),
        value!(
            fixed.client_connection_id = bytes(8),
            "quic_framer.cc: 64 bits in both directions (assumed: browsers may ask the server to leave them out)"
        ),
        value!(
            congestion_control = CongestionControl::Cubic,
            "quic_connection.cc sent_packet_manager_(.., kCubicBytes, kNack), proto-quic"
        ),
        value!(
            emulated_connections = 2,
            "tcp_cubic_sender_base.cc kDefaultNumConnections (assumed: the constant of 2019)"
        ),
        value!(
            slow_start_exit = SlowStartExit::HystartChromium,
            "congestion_control/hybrid_slow_start.h, proto-quic"
        ),
        value!(
            initial_window = InitialWindow::Bytes(32 * 1460),
            "quic_constants.h kInitialCongestionWindow x kDefaultTCPMSS, proto-quic"
        ),
        value!(
            quic.max_window = Some(bytes(2000 * 1460)),
            "quic_flags_list.h quic_max_congestion_window (assumed: 2000 as the thesis says of gQUIC 37)"
        ),
        value!(fixed.window_packet = Some(bytes(1460)), "quic_constants.h kDefaultTCPMSS, proto-quic"),
        value!(
            pacing = Pacing::LeakyBucket {
                factor: 1.25,
                slow_start_factor: Some(2.0),
                burst_packets: 1,
                burst_share: None,
                burst_time: None,
                idle_burst_packets: Some(10),
                whole_bursts: false,
            },
            "pacing_sender.cc kInitialUnpacedBurst, proto-quic: no lumps yet"
        ),
        value!(
            quic.adaptive_packet_threshold = false,
            "general_loss_algorithm.h kNumberOfNacksBeforeRetransmission, kNack, proto-quic"
        ),
        value!(
            packet_threshold = 3,
            "general_loss_algorithm.h kNumberOfNacksBeforeRetransmission, proto-quic"
        ),
        value!(
            time_threshold = 1.25,
            "general_loss_algorithm.h reordering_shift_ (assumed: early retransmission after 1/4 RTT)"
        ),
        value!(
            initial_rtt = Duration::from_millis(100),
            "rtt_stats.cc kInitialRttMs (assumed: the constant of 2019)"
        ),
        value!(
            fixed.initial_timeout = 2,
            "quic_sent_packet_manager.cc GetCryptoRetransmissionDelay: 1.5 srtt, rounded up"
        ),
        value!(
            fixed.timeout_variations = 4,
            "quic_sent_packet_manager.cc GetRetransmissionDelay: srtt + 4 x mean deviation"
        ),
        value!(quic.probe_packets = 1, "quic_sent_packet_manager.cc: one packet for a tail loss probe"),
        value!(
            quic.acknowledgement = Acknowledgement::Every { packets: 2, delay: Duration::from_millis(25) },
            "quic_connection.cc TCP_ACKING, kDefaultRetransmittablePacketsBeforeAck, kMaxDelayedAckTimeMs, proto-quic"
        ),
        value!(
            quic.max_ack_delay = Duration::from_millis(25),
            "quic_constants.h kMaxDelayedAckTimeMs; gQUIC does not announce it"
        ),
        value!(quic.ack_ranges = 255, "quic_connection.cc set_max_ack_ranges(255), proto-quic"),
        value!(stream_receive_window = kib(6 * 1024), "quic_stream_factory.cc kQuicStreamMaxRecvWindowSize"),
        value!(
            connection_receive_window = kib(15 * 1024),
            "quic_stream_factory.cc kQuicSessionMaxRecvWindowSize"
        ),
        value!(quic.max_streams = 100, "quic_constants.h kDefaultMaxStreamsPerConnection, proto-quic"),
        value!(fixed.client_hello = bytes(350), "assumed: an inchoate CHLO is padded to 1024 B"),
        value!(
            quic.amplification_factor = 0,
            "gQUIC has no such limit (assumed: it rejects with certificates only what fits)"
        ),
        value!(
            quic.idle_timeout = Duration::from_secs(30),
            "quic_constants.h kDefaultIdleTimeoutSecs, proto-quic"
        ),
    ],
};
