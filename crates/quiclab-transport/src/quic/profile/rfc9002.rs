//! The RFCs of QUIC as they are: RFC 9000, 9001 and 9002, with NewReno. What they leave open is set so that it
//! does not decide results, and marked.

use super::super::config::{InitialWindow, UNLIMITED};
use super::{FRESH, FRESH_SOURCE, Profile, Value, bytes, kib, value};
use crate::options::{
    Acknowledgement, CongestionControl, FlowControl, Pacing, QuicVersion, RttVariation, SlowStartExit,
    StreamScheduler,
};
use quiclab_core::Duration;
use quiclab_core::scheduler::PathSchedulerKind;

/// The default.
pub(super) const RFC9002: Profile = Profile {
    name: "rfc9002",
    description: "Plain values of RFC 9000 and RFC 9002 with NewReno; what they leave open does not limit",
    base: None,
    values: &[
        value!(version = QuicVersion::V1, "RFC 9000"),
        value!(datagram_size = bytes(1200), "RFC 9000 section 14: what every path carries"),
        value!(
            connection_id = bytes(8),
            "assumed: RFC 9000 section 5.1 leaves it to the end; 8 B as most stacks"
        ),
        value!(fixed.client_connection_id = bytes(8), "assumed: the same"),
        value!(packet_number = None, "RFC 9000 section 17.1: the shortest is enough"),
        value!(
            congestion_control = CongestionControl::Newreno,
            "RFC 9002 section 7: similar to TCP NewReno (RFC 6582)"
        ),
        value!(emulated_connections = 1, "RFC 9002 has no such parameter"),
        value!(slow_start_exit = SlowStartExit::None, "RFC 9002 section 7.3.1: loss or ECN only"),
        value!(fixed.initial_window = InitialWindow::Rfc9002, "RFC 9002 section 7.2"),
        value!(max_window = None, "RFC 9002 has none"),
        value!(window_validation = true, "RFC 9002 section 7.8"),
        value!(fixed.window_packet = None, "RFC 9002 section 7.2: max_datagram_size"),
        value!(fixed.newreno_keeps = 0.5, "RFC 9002 section 7.3.2 and appendix B.2: kLossReductionFactor"),
        value!(
            pacing = Pacing::LeakyBucket {
                factor: 1.25,
                slow_start_factor: None,
                burst_packets: 10,
                burst_share: None,
                burst_time: None,
                idle_burst_packets: None,
                whole_bursts: false,
            },
            "RFC 9002 section 7.7: N = 1.25, bursts of the initial window"
        ),
        value!(pacing_before_rtt = true, "RFC 9002 section 7.7 with the initial RTT of section 6.2.2"),
        value!(packet_threshold = 3, "RFC 9002 section 6.1.1: kPacketThreshold"),
        value!(time_threshold = 9.0 / 8.0, "RFC 9002 section 6.1.2: kTimeThreshold"),
        value!(adaptive_packet_threshold = false, "RFC 9002 section 6.1 leaves it to the implementation"),
        value!(adaptive_time_threshold = false, "RFC 9002 section 6.1 leaves it to the implementation"),
        value!(initial_rtt = Duration::from_millis(333), "RFC 9002 section 6.2.2: kInitialRtt"),
        value!(rtt_variation = RttVariation::Rfc9002, "RFC 9002 section 5.3"),
        value!(
            fixed.initial_timeout = 3,
            "RFC 9002 sections 5.3 and 6.2.1: kInitialRtt + 4 x kInitialRtt / 2"
        ),
        value!(fixed.timeout_variations = 4, "RFC 9002 section 6.2.1"),
        value!(probe_packets = 2, "RFC 9002 section 6.2.4: one, or two to be robust"),
        value!(
            fixed.probes_carry_data = true,
            "RFC 9002 section 6.2.4: new data, or those of packets in flight"
        ),
        value!(persistent_congestion = true, "RFC 9002 section 7.6"),
        value!(
            acknowledgement = Acknowledgement::Every { packets: 2, delay: Duration::from_millis(25) },
            "RFC 9000 sections 13.2.1 and 13.2.2"
        ),
        value!(max_ack_delay = Duration::from_millis(25), "RFC 9000 section 18.2: the default"),
        value!(ack_ranges = 256, "assumed: RFC 9000 section 13.2.3 asks for a limit and names none"),
        value!(ack_frequency = None, "an extension"),
        value!(flow_control = FlowControl::Fixed, "assumed: RFC 9000 section 4 leaves it to the receiver"),
        value!(stream_receive_window = kib(16 * 1024), "assumed: large enough not to limit"),
        value!(connection_receive_window = kib(24 * 1024), "assumed: large enough not to limit"),
        value!(max_stream_receive_window = kib(16 * 1024), "assumed: does not grow"),
        value!(max_connection_receive_window = kib(24 * 1024), "assumed: does not grow"),
        value!(send_window = UNLIMITED, "RFC 9000 has none"),
        value!(max_streams = 100, "RFC 9114 section 6.1: at least 100 requests at a time"),
        value!(
            stream_scheduler = StreamScheduler::RoundRobin,
            "assumed: RFC 9000 section 2.3 leaves it to the application"
        ),
        value!(datagram_congestion_control = true, "RFC 9221 section 5.4"),
        value!(path_scheduler = PathSchedulerKind::LOWEST_RTT, "assumed: RFC 9000 has one path at a time"),
        value!(tls = FRESH, FRESH_SOURCE),
        value!(
            fixed.client_hello = bytes(300),
            "assumed: any that fits into the first datagram gives the same packets"
        ),
        value!(amplification_factor = 3, "RFC 9000 section 8.1"),
        value!(idle_timeout = Duration::from_secs(30), "RFC 9308 section 3.2: 30 s without need for another"),
    ],
};
