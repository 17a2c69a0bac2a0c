//! picoquic, in C, at bf84867 (October 2020), the commit of the pacing study, and as the base of PQUIC.
//!
//! Values were read at that commit, except those marked *assumed*.
//!
//! | aspect | picoquic | here |
//! |---|---|---|
//! | loss | RACK: a later packet, sent srtt / 4 later, is acknowledged; with fewer than three later ones, max_ack_delay + srtt / 4 after that | time threshold of 1.25, no packet threshold |
//! | ACKs above 16 Mbit/s | every 4 packets, every 10 with an RTT above 100 ms | every 2, as below: the pacer of the receiver decides |
//! | packets with acknowledgements only | in flight until acknowledged | not in flight: some hundred bytes |
//! | the peer's packets with acknowledgements only | every eighth is acknowledged, together with other frames (`picoquic_is_ack_needed`); gives RTT samples | a PING after 24 |
//! | a timeout | the oldest packet counts as lost | the window is reduced, nothing counts as lost |
//! | minimum window of NewReno and CUBIC | 2 x 1536 B | two datagrams |
//! | growth of receive windows | to three times as much when half is used | to twice as much |
//! | stream that sends next | the first that has data | round robin |
//! | window below eight packets | not paced | paced |
//!
//! **Acknowledgements are paced.** `picoquic_prepare_packet_ready` checks for an acknowledgement to send only
//! when the pacer releases a packet, and `picoquic_queue_for_retransmit` charges any packet with the time of
//! a full one. A receiver has little in flight, so its window and its bandwidth are the minimum of its
//! congestion control, and these determine how often it acknowledges (docs/studies/pacing.md).
//!
//! The study runs it with BBR and with CUBIC: set `congestion_control`. The example program picoquicdemo has
//! BBR at both ends without option `-G`.

use super::*;

profile! {
    /// Commit of the pacing study.
    PICOQUIC: "picoquic",
        "picoquic at bf84867 (2020), in C: NewReno or BBR, pacing at cwnd / srtt, acknowledgements paced, too";

    quic.version = QuicVersion::V1,
        "picoquic_internal.h PICOQUIC_INTEROP_VERSION_LATEST (draft 29), bf84867; the study says draft 27";
    datagram_size = bytes(1440),
        "picoquic_internal.h PICOQUIC_PRACTICAL_MAX_MTU, bf84867: what its path MTU discovery finds (from 1252 B)";
    quic.connection_id = bytes(8),
        "picoquic_internal.h PICOQUIC_ENFORCED_INITIAL_CID_LENGTH, bf84867 (assumed for later ones)";
    fixed.client_connection_id = bytes(8),
        "picoquic_internal.h PICOQUIC_ENFORCED_INITIAL_CID_LENGTH, bf84867 (assumed for later ones)";
    quic.packet_number = Some(bytes(4)),
        "sender.c picoquic_create_packet_header: 4 B in long headers (assumed for short ones)";
    congestion_control = CongestionControl::Newreno, "picoquic.h PICOQUIC_DEFAULT_CONGESTION_ALGORITHM";
    slow_start_exit = SlowStartExit::Picoquic,
        "cc_common.c picoquic_hystart_test, PICOQUIC_MIN_MAX_RTT_SCOPE 7";
    initial_window = InitialWindow::Bytes(10 * 1536), "picoquic_internal.h PICOQUIC_CWIN_INITIAL, bf84867";
    quic.max_window = None, "newreno.c, cubic.c have none";
    quic.window_validation = true, "newreno.c picoquic_newreno_notify: last_sender_limited_time";
    fixed.window_packet = None, "newreno.c picoquic_newreno_sim_notify: send_mtu";
    fixed.newreno_beta = 0.5, "newreno.c picoquic_newreno_sim_enter_recovery: cwin / 2";
    fixed.paces_packets = true,
        "sender.c picoquic_prepare_packet_ready, picoquic_queue_for_retransmit, bf84867";
    fixed.timeout_is_congestion = true,
        "sender.c picoquic_retransmit_needed: picoquic_congestion_notification_timeout, bf84867";
    fixed.ack_ping = AckOfAckPolicy::OneInFlight(24),
        "sender.c picoquic_prepare_packet_ready: highest_acknowledged + 24 < send_sequence, bf84867";
    pacing = Pacing::LeakyBucket {
        factor: 1.0,
        slow_start_factor: Some(1.25),
        burst_packets: 16,
        burst_share: Some(0.25),
        burst_time: None,
        idle_burst_packets: None,
        wait_for_full_burst: false,
    }, "sender.c picoquic_update_pacing_data: cwin / 4, 2 to 16 packets; 1.25 in slow start";
    quic.pacing_before_rtt = false, "sender.c picoquic_update_pacing_data is called with RTT samples";
    packet_threshold = u32::MAX, "sender.c picoquic_retransmit_needed_by_packet: RACK, no count alone";
    time_threshold = 1.25, "sender.c picoquic_retransmit_needed_by_packet: srtt >> 2 after";
    quic.adaptive_packet_threshold = false, "sender.c picoquic_retransmit_needed_by_packet";
    quic.adaptive_time_threshold = false, "sender.c picoquic_retransmit_needed_by_packet";
    initial_rtt = Duration::from_millis(250), "picoquic_internal.h PICOQUIC_INITIAL_RTT, bf84867";
    quic.rtt_variation = RttVariation::QuarterMinRtt, "frames.c picoquic_update_path_rtt, bf84867";
    fixed.initial_timeout = 1, "picoquic_internal.h PICOQUIC_INITIAL_RETRANSMIT_TIMER 250 ms, bf84867";
    fixed.timeout_variations = 4, "frames.c picoquic_update_path_rtt, bf84867; 50 ms at least, not modelled";
    quic.probe_packets = 1, "sender.c picoquic_retransmit_needed: one packet at a time";
    fixed.probes_carry_data = true, "sender.c picoquic_copy_before_retransmit";
    quic.persistent_congestion = false, "each timeout is a congestion event instead, as above";
    quic.acknowledgement = Acknowledgement::RttFraction {
        fraction: 0.25,
        packets: 2,
        delay: Duration::from_millis(10),
        from_packet: 0
    }, "frames.c picoquic_compute_ack_gap, picoquic_compute_ack_delay_max (of the smallest RTT), bf84867";
    quic.max_ack_delay = Duration::from_millis(10),
        "quicctx.c picoquic_init_transport_parameters: PICOQUIC_ACK_DELAY_MAX";
    quic.ack_ranges = u32::MAX, "sacks.c has no limit (assumed)";
    ack_frequency = None,
        "frames.c: asked only of a peer that announces min_ack_delay; not modelled by default";
    quic.flow_control = FlowControl::DoubleWhenHalfUsed,
        "frames.c picoquic_format_required_max_stream_data_frames, bf84867 (three times as much there)";
    stream_receive_window = kib(2 * 1024), "quicctx.c picoquic_init_transport_parameters: 0x200000";
    connection_receive_window = kib(1024), "quicctx.c picoquic_init_transport_parameters: 0x100000";
    quic.max_stream_receive_window = UNLIMITED, "frames.c has none (assumed)";
    quic.max_connection_receive_window = UNLIMITED, "frames.c has none (assumed)";
    send_window = UNLIMITED, "sender.c asks the application for data when they can leave";
    quic.max_streams = 512, "quicctx.c picoquic_init_transport_parameters: 2048 / 4";
    quic.stream_scheduler = StreamScheduler::RoundRobin,
        "frames.c picoquic_find_ready_stream (the first that has data there)";
    quic.datagram_congestion_control = true, "sender.c (assumed)";
    fixed.client_hello = bytes(280), "assumed: any that fits into the first datagram gives the same packets";
    quic.amplification_factor = 3, "sender.c: 3 * initial_data_received";
    quic.idle_timeout = Duration::from_secs(30),
        "quicctx.c picoquic_init_transport_parameters: PICOQUIC_MICROSEC_HANDSHAKE_MAX, bf84867";
}

profile! {
    /// Fork of 2019 on which the multipath tunnel is built. Its pacer and its timeouts were not read: they
    /// are those of other stacks.
    PQUIC: "pquic",
        "PQUIC at 5bde5bb (2019), a fork of picoquic, in C: as picoquic, acknowledgements not paced",
    base PICOQUIC;

    slow_start_exit = SlowStartExit::Aioquic,
        "assumed: written after picoquic's; the published tunnel has fixed windows";
    fixed.paces_packets = false, "assumed";
    fixed.timeout_is_congestion = false, "assumed";
    fixed.ack_ping = AckOfAckPolicy::After(20), "assumed";
    quic.rtt_variation = RttVariation::Rfc9002, "frames.c picoquic_update_path_rtt (assumed)";
}
