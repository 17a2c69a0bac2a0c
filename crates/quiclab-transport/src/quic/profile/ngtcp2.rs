//! ngtcp2, in C, with the programs of its `examples`.
//!
//! The stored copies are not those of the commit 20d04c3 (draft 32, late 2020) but of the months around it;
//! the release of 2022 precedes conservative slow start in its HyStart++.
//!
//! | aspect | ngtcp2 | here |
//! |---|---|---|
//! | window | does not grow above 2.89 x maximum delivery rate x minimum RTT, November 2019 to 2024 (`target_cwnd`, 5d14d661) | not modelled |
//! | packet threshold | half of the packets in flight, at least 3, from May 2020 on (853431ba) | 3 |
//! | CUBIC of 2020 | K in whole seconds, rounded down (`ngtcp2_cbrt`): the window is above the cubic curve right after a loss | RFC 9438 |
//! | HyStart++ of 2022 | exits slow start at once at a delay (eight samples, 4 ms to 16 ms) | HyStart of Chromium, which does the same |
//! | pacing of 2022 | data sent at once, at most 64 KiB, are followed by a wait | a bucket of 64 KiB |
//!
//! 2020 has no pacer: packets are sent as the window allows, as also found in the captures of the study.
//!
//! The study of Dual Connectivity used draft 27, which is in the public history from 2020-02-28 (1d84b5d9) to
//! 2020-05-20 (0c6a348f): CUBIC only from 2020-05-13 on (e2284cbb), HyStart++ after it (411a05b2), and no
//! pacer in library or examples before BBR in June 2021 (2139516a), although the study names one. Its commit
//! is not published, and no profile represents those months.

use super::*;

profile! {
    /// Release with a pacer.
    NGTCP2_2022: "ngtcp2-2022",
        "ngtcp2 of 2022 with its example programs, in C: CUBIC, pacing at 1.25 cwnd / srtt after bursts of 64 KiB";

    quic.version = QuicVersion::V1, "lib/includes/ngtcp2/ngtcp2.h NGTCP2_PROTO_VER_V1, 2022";
    datagram_size = bytes(1452),
        "lib/includes/ngtcp2/ngtcp2.h NGTCP2_MAX_PMTUD_UDP_PAYLOAD_SIZE: what its path MTU discovery finds";
    quic.connection_id = bytes(18), "examples/server.cc NGTCP2_SV_SCIDLEN (assumed: not read)";
    fixed.client_connection_id = bytes(17), "examples/client.cc, scid.datalen = 17 (assumed: not read)";
    quic.packet_number = None, "lib/ngtcp2_conn.c pktns_select_pkt_numlen (assumed: not read)";
    congestion_control = CongestionControl::Cubic,
        "examples/client.cc, server.cc cc_algo NGTCP2_CC_ALGO_CUBIC, 2022";
    slow_start_exit = SlowStartExit::HystartChromium,
        "lib/ngtcp2_cc.c NGTCP2_HS_MIN_SSTHRESH 16, NGTCP2_HS_N_RTT_SAMPLE 8: the old HyStart++";
    initial_window = InitialWindow::Bytes(12_000),
        "lib/ngtcp2_cc.c ngtcp2_cc_compute_initcwnd of the first datagrams, 1200 B";
    quic.max_window = None, "lib/ngtcp2_cc.c has none";
    quic.window_validation = true, "lib/ngtcp2_cc.c is_app_limited (assumed for slow start and after it)";
    fixed.window_packet = None, "lib/ngtcp2_cc.c max_udp_payload_size";
    fixed.newreno_beta = 0.5, "lib/ngtcp2_cc.h NGTCP2_LOSS_REDUCTION_FACTOR_BITS 1";
    pacing = Pacing::leaky_bucket(1.25, 45),
        "lib/ngtcp2_conn.c ngtcp2_conn_update_pkt_tx_time; send_quantum 64 KiB, 45 datagrams";
    quic.pacing_before_rtt = false,
        "lib/ngtcp2_conn.c ngtcp2_conn_update_pkt_tx_time: an RTT of 1 ms before a sample";
    packet_threshold = 3, "lib/ngtcp2_rtb.h (assumed: NGTCP2_PKT_THRESHOLD of RFC 9002)";
    time_threshold = 9.0 / 8.0, "lib/ngtcp2_rtb.c (assumed: 9/8 of RFC 9002)";
    quic.adaptive_packet_threshold = false, "lib/ngtcp2_rtb.c (assumed: not read)";
    quic.adaptive_time_threshold = false, "lib/ngtcp2_rtb.c (assumed: not read)";
    initial_rtt = Duration::from_millis(333), "lib/includes/ngtcp2/ngtcp2.h NGTCP2_DEFAULT_INITIAL_RTT";
    quic.rtt_variation = RttVariation::Rfc9002,
        "lib/ngtcp2_conn.c ngtcp2_conn_update_rtt (assumed: not read)";
    fixed.initial_timeout = 3, "lib/ngtcp2_conn.c conn_reset_conn_stat: rttvar = initial RTT / 2";
    fixed.timeout_variations = 4, "lib/ngtcp2_conn.c compute_pto (assumed: not read)";
    quic.probe_packets = 2,
        "lib/ngtcp2_conn.c ngtcp2_conn_on_loss_detection_timer: probe_pkt_left = 2 (assumed: not read)";
    fixed.probes_carry_data = true, "lib/ngtcp2_rtb.h ngtcp2_rtb_reclaim_on_pto";
    quic.persistent_congestion = true, "lib/ngtcp2_cc.h NGTCP2_PERSISTENT_CONGESTION_THRESHOLD 3";
    quic.acknowledgement = Acknowledgement::Every { packets: 2, delay: Duration::from_millis(25) },
        "examples/client.cc ack_thresh = 2; NGTCP2_DEFAULT_MAX_ACK_DELAY";
    quic.max_ack_delay = Duration::from_millis(25),
        "lib/includes/ngtcp2/ngtcp2.h NGTCP2_DEFAULT_MAX_ACK_DELAY";
    quic.ack_ranges = 1024,
        "lib/ngtcp2_acktr.h NGTCP2_ACKTR_MAX_ENT; a frame holds 32 (assumed: NGTCP2_MAX_ACK_BLKS)";
    quic.flow_control = FlowControl::DoubleWithinTwoRtts,
        "lib/ngtcp2_conn.c conn_should_send_max_data, max_window (assumed: doubles when used within two RTTs)";
    stream_receive_window = kib(6 * 1024), "examples/client.cc max_stream_data_bidi_local 6 MiB, 2022";
    connection_receive_window = kib(15 * 1024), "examples/client.cc max_data 15 MiB, 2022";
    quic.max_stream_receive_window = kib(16 * 1024), "examples/client.cc max_stream_window 16 MiB, 2022";
    quic.max_connection_receive_window = kib(24 * 1024), "examples/client.cc max_window 24 MiB, 2022";
    send_window = UNLIMITED, "examples/server.cc maps the file";
    quic.max_streams = 100, "examples/server.cc max_streams_bidi";
    quic.stream_scheduler = StreamScheduler::Priority, "nghttp3 0.5 and later: RFC 9218 (assumed: not read)";
    quic.datagram_congestion_control = true, "lib/ngtcp2_conn.c (assumed: not read)";
    quic.amplification_factor = 3,
        "lib/ngtcp2_conn.c conn_server_hs_tx_left (assumed: the factor of RFC 9000)";
    quic.idle_timeout = Duration::from_secs(30), "examples/client.cc, server.cc timeout";
}

profile! {
    /// State at the time of the pacing study's commit.
    NGTCP2_2020: "ngtcp2-2020",
        "ngtcp2 of late 2020 (draft 32, 20d04c3) with its example programs, in C: CUBIC without a pacer",
    base NGTCP2_2022;

    datagram_size = bytes(1252),
        "lib/includes/ngtcp2/ngtcp2.h NGTCP2_MAX_PKTLEN_IPV4: no path MTU discovery yet";
    initial_window = InitialWindow::Packets(10),
        "lib/ngtcp2_cc.c ngtcp2_cc_compute_initcwnd: min(10 x 1252, 14720), 2020";
    congestion_control = CongestionControl::Cubic, "examples/client.cc, server.cc cc = cubic, 2020";
    slow_start_exit = SlowStartExit::HystartChromium,
        "lib/ngtcp2_cc.c NGTCP2_HS_MIN_SSTHRESH 16 (assumed: there since the middle of 2020)";
    pacing = Pacing::None, "lib/ngtcp2_conn.c: none for CUBIC before 2021; the study, table 5.1";
    quic.flow_control = FlowControl::Fixed,
        "examples/client.cc extends the windows by what was read; no max_window yet, 2020";
    stream_receive_window = kib(256), "examples/client.cc max_stream_data_bidi_local 256 KiB, 2020";
    connection_receive_window = kib(1024), "examples/client.cc max_data 1 MiB, 2020";
    quic.max_stream_receive_window = kib(256), "examples/client.cc: does not grow, 2020";
    quic.max_connection_receive_window = kib(1024), "examples/client.cc: does not grow, 2020";
    quic.stream_scheduler = StreamScheduler::RoundRobin,
        "nghttp3 of 2020: equal weights in turn (assumed: not read)";
}
