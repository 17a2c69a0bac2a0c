//! aioquic, in Python, from its sources on PyPI.
//!
//! | release | draft | differences from 0.9.25 |
//! |---|---|---|
//! | 0.8.8 | 27 | datagrams of 1280 B, initial RTT 500 ms; never raises its limit of 128 streams |
//! | 0.9.0 | 28 | `recovery.py`, `packet_builder.py` and `rangeset.py` are those of 0.8.8 byte by byte; hence no profile |
//! | 0.9.25 | 29 to 32, version 1 | |
//! | 1.7.2 | version 1 and 2 | 64 ACK ranges, persistent congestion, streams in turn, a longer ClientHello, padding of servers and behind the packets, a probe timeout declares the oldest packet lost without a congestion event (0.9.25: PING), handshake timeouts are not congestion events |
//!
//! An acknowledgement is due 1 ms after the first packet and never earlier: neither packets nor gaps count.
//! Packets with acknowledgements are not paced. The pacer's bucket starts empty.
//!
//! Not modelled, of 1.7.2: persistent congestion is that of one detection, keeps `min_rtt` and the bytes counted towards the
//! next packet of NewReno; probe timeouts of the handshake have no max_ack_delay (0.9.25: they have); MAX_STREAMS counts
//! closed streams.

use super::*;

profile! {
    /// Release of the Dual Connectivity study.
    AIOQUIC: "aioquic",
        "aioquic 0.9.25, in Python: NewReno, pacing at cwnd / srtt, acknowledgements by a timer of 1 ms";

    quic.version = QuicVersion::V1, "quic/configuration.py supported_versions, 0.9.25";
    datagram_size = bytes(1200), "quic/configuration.py SMALLEST_MAX_DATAGRAM_SIZE, 0.9.25";
    quic.connection_id = bytes(8), "quic/configuration.py connection_id_length, 0.9.25";
    fixed.client_connection_id = bytes(8), "quic/configuration.py connection_id_length, 0.9.25";
    quic.packet_number = Some(bytes(2)), "quic/packet_builder.py PACKET_NUMBER_SEND_SIZE, 0.9.25";
    congestion_control = CongestionControl::Newreno,
        "quic/configuration.py congestion_control_algorithm `reno`, 0.9.25";
    slow_start_exit = SlowStartExit::Aioquic, "quic/congestion/base.py QuicRttMonitor, 0.9.25";
    initial_window = InitialWindow::Packets(10), "quic/congestion/base.py K_INITIAL_WINDOW, 0.9.25";
    quic.max_window = None, "quic/congestion/reno.py has none, 0.9.25";
    quic.window_validation = false, "quic/congestion/reno.py on_packet_acked does not look at it, 0.9.25";
    fixed.window_packet = None, "quic/congestion/reno.py max_datagram_size, 0.9.25";
    fixed.flavour = Flavour::Aioquic, "quic/congestion/cubic.py, 0.9.25";
    fixed.newreno_beta = 0.5, "quic/congestion/reno.py K_LOSS_REDUCTION_FACTOR, 0.9.25";
    pacing = Pacing::TimeBucket { factor: 1.0, burst_packets: 16, burst_share: 0.25 },
        "quic/recovery.py QuicPacketPacer.update_rate, 0.9.25";
    quic.pacing_before_rtt = false,
        "quic/recovery.py QuicPacketPacer: packet_time is None before a sample, 0.9.25";
    packet_threshold = 3, "quic/recovery.py K_PACKET_THRESHOLD, 0.9.25";
    time_threshold = 9.0 / 8.0, "quic/recovery.py K_TIME_THRESHOLD, 0.9.25";
    quic.adaptive_packet_threshold = false, "quic/recovery.py _detect_loss: constants, 0.9.25";
    quic.adaptive_time_threshold = false, "quic/recovery.py _detect_loss: constants, 0.9.25";
    initial_rtt = Duration::from_millis(100), "quic/configuration.py initial_rtt, 0.9.25";
    quic.rtt_variation = RttVariation::FromMinRtt,
        "quic/recovery.py on_ack_received: |rtt_min - rtt_latest|, 0.9.25";
    fixed.initial_timeout = 2, "quic/recovery.py get_probe_timeout: 2 * rtt_initial, 0.9.25";
    fixed.timeout_variations = 4, "quic/recovery.py get_probe_timeout, 0.9.25";
    quic.probe_packets = 1, "quic/connection.py _probe_pending: one datagram, 0.9.25";
    fixed.probes_carry_data = false,
        "quic/connection.py _write_application: a PING; only CRYPTO is sent again, 0.9.25";
    quic.persistent_congestion = false, "quic/congestion/reno.py on_packets_lost: TODO, 0.9.25";
    quic.acknowledgement = Acknowledgement::Timer { delay: Duration::from_millis(1) },
        "quic/connection.py _ack_delay = K_GRANULARITY, 0.9.25";
    quic.max_ack_delay = Duration::from_millis(25),
        "quic/connection.py _serialize_transport_parameters, 0.9.25";
    quic.ack_ranges = u32::MAX, "quic/rangeset.py has no limit, 0.9.25";
    quic.flow_control = FlowControl::DoubleWhenHalfUsed,
        "quic/connection.py _write_connection_limits, _write_stream_limits, 0.9.25";
    stream_receive_window = kib(1024), "quic/configuration.py max_stream_data, 0.9.25";
    connection_receive_window = kib(1024), "quic/configuration.py max_data, 0.9.25";
    quic.max_stream_receive_window = UNLIMITED, "quic/connection.py _write_stream_limits has none, 0.9.25";
    quic.max_connection_receive_window = UNLIMITED,
        "quic/connection.py _write_connection_limits has none, 0.9.25";
    send_window = UNLIMITED, "quic/stream.py QuicStreamSender buffers everything, 0.9.25";
    quic.max_streams = 128, "quic/connection.py _local_max_streams_bidi, 0.9.25";
    quic.stream_scheduler = StreamScheduler::Fifo,
        "quic/connection.py _write_application: streams in order, each as much as fits, 0.9.25";
    quic.datagram_congestion_control = true,
        "quic/connection.py _write_application: max_flight_bytes, 0.9.25";
    fixed.client_hello = bytes(355), "measured with 0.9.25: CRYPTO bytes of the first Initial packet";
    fixed.tickets = bytes(0), "quic/connection.py: none without a session_ticket_handler, 0.9.25";
    quic.amplification_factor = 3, "quic/connection.py datagrams_to_send, 0.9.25";
    fixed.window_check = WindowCheck::Filled,
        "quic/packet_builder.py start_packet: datagram_flight_bytes, 0.9.25";
    fixed.ignore_late_acks = true, "quic/recovery.py _detect_loss: del space.sent_packets, 0.9.25";
    fixed.growth_before_losses = true,
        "quic/recovery.py on_ack_received: on_packet_acked before _detect_loss, 0.9.25";
    fixed.acks_only_when_due = true,
        "quic/connection.py _write_application: ack_at is not None and ack_at <= now, 0.9.25";
    fixed.ack_ping = AckOfAckPolicy::EighthWithGaps,
        "quic/connection.py _write_ack_frame: packet_number % 8 == 0 and several ranges, 0.9.25";
    fixed.stream_length_always = true, "quic/connection.py _write_stream_frame, 0.9.25";
    fixed.one_stream_frame = true, "quic/stream.py get_frame: the first pending range, 0.9.25";
    fixed.new_connection_ids = 7, "quic/connection.py _replenish_connection_ids, 0.9.25";
    fixed.kept_packets = 0, "quic/connection.py receive_datagram drops them, 0.9.25";
    fixed.timeout_losses = TimeoutLosses::CryptoWithCongestion,
        "quic/connection.py receive_datagram, _handle_crypto_frame; recovery.py reschedule_data, 0.9.25";
    fixed.pads_server = false, "quic/packet_builder.py _end_packet: clients only, 0.9.25";
    fixed.pads_to_full = true, "quic/packet_builder.py _end_packet: the flight's room, 0.9.25";
    quic.idle_timeout = Duration::from_secs(60), "quic/configuration.py idle_timeout, 0.9.25";
}

profile! {
    /// Last release of draft 27; also of draft 28.
    AIOQUIC_0_8_8: "aioquic-0.8.8",
        "aioquic 0.8.8 (draft 27) and 0.9.0 (draft 28): as 0.9.25, with larger datagrams and initial RTT",
    base AIOQUIC;

    datagram_size = bytes(1280), "quic/packet_builder.py PACKET_MAX_SIZE, 0.8.8 and 0.9.0";
    initial_rtt = Duration::from_millis(500), "quic/recovery.py K_INITIAL_RTT, 0.8.8 and 0.9.0";
    congestion_control = CongestionControl::Newreno,
        "quic/recovery.py QuicCongestionControl, the only one, 0.8.8 and 0.9.0";
    fixed.flavour = Flavour::Quic, "assumed: 0.8.8 and 0.9.0 have no CUBIC";
    slow_start_exit = SlowStartExit::Aioquic, "quic/recovery.py QuicRttMonitor, 0.8.8 and 0.9.0";
    initial_window = InitialWindow::Packets(10), "quic/recovery.py K_INITIAL_WINDOW, 0.8.8 and 0.9.0";
}

profile! {
    /// Release of the stack `aioquic` in the process.
    AIOQUIC_1_7_2: "aioquic-1.7.2",
        "aioquic 1.7.2: as 0.9.25, with probes that carry the oldest data and persistent congestion",
    base AIOQUIC;

    quic.persistent_congestion = true, "quic/recovery.py _in_persistent_congestion, 1.7.2";
    quic.ack_ranges = 64, "quic/recovery.py MAX_ACK_RANGES, 1.7.2";
    quic.stream_scheduler = StreamScheduler::RoundRobin,
        "quic/connection.py _streams_queue: those that sent go to its end, 1.7.2";
    fixed.client_hello = bytes(478), "measured with 1.7.2: CRYPTO bytes of the first Initial packet";
    fixed.max_streams_update_at_half = true, "quic/connection.py _write_connection_limits, 1.7.2";
    fixed.pads_server = true, "quic/packet_builder.py _end_packet: ack-eliciting ones, 1.7.2";
    fixed.padding_in_flight = false, "quic/packet_builder.py _flush_current_datagram, 1.7.2";
    fixed.timeout_losses = TimeoutLosses::CryptoOrOldest, "quic/recovery.py reschedule_data, 1.7.2";
}
