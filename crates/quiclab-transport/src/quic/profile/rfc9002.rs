//! The RFCs of QUIC as they are: RFC 9000, 9001 and 9002, with NewReno. What they leave open is set so that it
//! does not decide results, and marked.

use super::super::config::InitialWindow;
use super::{FRESH, FRESH_SOURCE, Profile, Value, bytes, kib, value};
use crate::options::{CongestionControl, Pacing, SlowStartExit};
use crate::profile::UNLIMITED;
use quiclab_core::Duration;

/// The default.
pub(super) const RFC9002: Profile = Profile {
    name: "rfc9002",
    description: "Plain values of RFC 9000 and RFC 9002 with NewReno; what they leave open does not limit",
    base: None,
    values: &[
        value!(datagram_size = bytes(1200), "RFC 9000 section 14: what every path carries"),
        value!(fixed.client_connection_id = bytes(8), "assumed: the same"),
        value!(
            congestion_control = CongestionControl::Newreno,
            "RFC 9002 section 7: similar to TCP NewReno (RFC 6582)"
        ),
        value!(emulated_connections = 1, "RFC 9002 has no such parameter"),
        value!(slow_start_exit = SlowStartExit::None, "RFC 9002 section 7.3.1: loss or ECN only"),
        value!(fixed.initial_window = InitialWindow::Rfc9002, "RFC 9002 section 7.2"),
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
        value!(packet_threshold = 3, "RFC 9002 section 6.1.1: kPacketThreshold"),
        value!(time_threshold = 9.0 / 8.0, "RFC 9002 section 6.1.2: kTimeThreshold"),
        value!(initial_rtt = Duration::from_millis(333), "RFC 9002 section 6.2.2: kInitialRtt"),
        value!(
            fixed.initial_timeout = 3,
            "RFC 9002 sections 5.3 and 6.2.1: kInitialRtt + 4 x kInitialRtt / 2"
        ),
        value!(fixed.timeout_variations = 4, "RFC 9002 section 6.2.1"),
        value!(
            fixed.probes_carry_data = true,
            "RFC 9002 section 6.2.4: new data, or those of packets in flight"
        ),
        value!(ack_frequency = None, "an extension"),
        value!(stream_receive_window = kib(16 * 1024), "assumed: large enough not to limit"),
        value!(connection_receive_window = kib(24 * 1024), "assumed: large enough not to limit"),
        value!(send_window = UNLIMITED, "RFC 9000 has none"),
        value!(tls = FRESH, FRESH_SOURCE),
        value!(
            fixed.client_hello = bytes(300),
            "assumed: any that fits into the first datagram gives the same packets"
        ),
    ],
};
