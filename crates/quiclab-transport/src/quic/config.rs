//! Complete configuration of one end of a QUIC connection: a profile with the overrides of a scenario. The
//! defaults are those of the RFCs, or common to stacks of which no value was read.

use crate::congestion::{Constants, Flavour};
use crate::options::values;
use crate::options::{
    AckFrequency, BbrConstants, CongestionControl, CubicConstants, EndpointConfig, Multipath,
    NewRenoConstants, Pacing, QuicValues, SavedPath, SlowStartExit, Tls, TlsVersion,
};
use crate::profile::UNLIMITED;
use crate::tls_messages::NEW_SESSION_TICKET;
use quiclab_core::{ByteCount, Duration, Ecn, Role};

pub(super) const fn bytes(bytes: u64) -> ByteCount {
    ByteCount::from_bytes(bytes)
}

pub(super) const fn kib(count: u64) -> ByteCount {
    bytes(count * 1024)
}

values! {
    /// A complete configuration: options of [`EndpointConfig`], which has their meanings.
    pub struct Config of EndpointConfig;

    datagram_size: ByteCount = bytes(1200), "RFC 9000 section 14: what every path carries";
    congestion_control: CongestionControl =
        CongestionControl::Newreno, "RFC 9002 section 7: similar to TCP NewReno (RFC 6582)";
    emulated_connections: u32 = 1, "RFC 9002 has no such parameter";
    slow_start_exit: SlowStartExit = SlowStartExit::None, "RFC 9002 section 7.3.1: loss or ECN only";
    saved_path: SavedPath, or "none" = None, "a first connection";
    max_jump: ByteCount, or "none" = None, "no jump";
    newreno: NewRenoConstants, or "those of the profile" = None, "no other";
    cubic: CubicConstants, or "those of the profile" = None, "no other";
    bbr: BbrConstants, or "those of the profile" = None, "no other";
    ecn_beta: f64, or "as for losses" = None, "RFC 9002 section 7.3.2: marks are as losses";
    initial_window: InitialWindow = InitialWindow::Rfc9002, "RFC 9002 section 7.2", as |config| {
        let bytes = config.initial_window();
        match config.initial_window {
            InitialWindow::Packets(packets) => format!("{packets} datagrams, {bytes}"),
            InitialWindow::Bytes(_) => bytes.to_string(),
            InitialWindow::Rfc9002 => format!("{bytes}; 10 datagrams, 14720 B or 2 datagrams at most"),
        }
    };
    pacing: Pacing = BUCKET, "RFC 9002 section 7.7: N = 1.25, bursts of the initial window";
    packet_threshold: u32 = 3, "RFC 9002 section 6.1.1: kPacketThreshold";
    time_threshold: f64 = 9.0 / 8.0, "RFC 9002 section 6.1.2: kTimeThreshold";
    initial_rtt: Duration = Duration::from_millis(333), "RFC 9002 section 6.2.2: kInitialRtt";
    ack_frequency: AckFrequency, or "no request" = None, "an extension";
    multipath: Multipath, or "none: further paths are there after the handshake" = None, "an extension";
    stream_receive_window: ByteCount = kib(16 * 1024), "assumed: large enough not to limit";
    connection_receive_window: ByteCount = kib(24 * 1024), "assumed: large enough not to limit";
    send_window: ByteCount = UNLIMITED, "RFC 9000 has none";
    tls: Tls = FRESH, "the same in all profiles: set by quiclab";
    .. { quic: QuicValues, fixed: Fixed }
}

values! {
    /// Properties of a stack that no option changes, unless stated otherwise: published stacks differ in them.
    pub(crate) struct Fixed;

    /// Length of a connection ID that a client chooses. `quic.connection_id` also replaces it.
    client_connection_id: ByteCount = bytes(8), "assumed: the same";
    /// Packet size assumed by the congestion controller. Chromium: 1460 B.
    window_packet: ByteCount, or "the size of a datagram" = None, "RFC 9002 section 7.2: max_datagram_size";
    /// Share of the window that remains after a loss, with newreno of one connection. Chromium and quic-go: 0.7.
    newreno_beta: f64 = 0.5, "RFC 9002 section 7.3.2 and appendix B.2: kLossReductionFactor";
    /// First probe timeout before a sample, in initial RTTs. RFC 9002: 3, since the variation is assumed to be half of
    /// it.
    initial_timeout: u32 = 3, "RFC 9002 sections 5.3 and 6.2.1: kInitialRtt + 4 x kInitialRtt / 2";
    /// Number of RTT variations in a probe timeout.
    timeout_variations: u32 = 4, "RFC 9002 section 6.2.1";
    /// Probes carry data again. A PING without them otherwise.
    probes_carry_data: bool = true, "RFC 9002 section 6.2.4: new data, or those of packets in flight";
    /// A probe for which there are no further data carries those of the one before it again. A PING otherwise.
    probes_repeat_data: bool = true, "RFC 9002 section 6.2.4: a PING where there are no data to send (assumed)";
    /// Length of the ClientHello. gQUIC: of the inchoate CHLO before padding.
    client_hello: ByteCount =
        bytes(300), "assumed: any that fits into the first datagram gives the same packets";
    /// Length of the session tickets. These are the NewSessionTicket messages of a server.
    tickets: ByteCount =
        bytes(2 * NEW_SESSION_TICKET), "OpenSSL 3 SSL_CTX_set_num_tickets: two (assumed)";
    /// Room in the window that a packet requires.
    window_check: WindowCheck = WindowCheck::Fits, "RFC 9002 section 7 (assumed)", as |fixed| {
        match fixed.window_check {
            WindowCheck::Fits => "a full datagram",
            WindowCheck::Below => "more than a full datagram",
            WindowCheck::Filled => "anything: the last datagram is shorter",
        }
        .to_owned()
    };
    /// Implementation of cubic.
    flavour: Flavour = Flavour::Quic, "RFC 9438", as |fixed| {
        match fixed.flavour {
            Flavour::Quic => "RFC 9438",
            Flavour::Quinn => "quinn, after RFC 8312",
            Flavour::Aioquic => "aioquic, after RFC 9438",
            Flavour::LinuxTcp => "Linux",
        }
        .to_owned()
    };
    /// Late acknowledgements of packets declared lost are ignored. Such packets are discarded immediately, and their
    /// data sent again (quinn, aioquic); otherwise data that were received after all are not sent again.
    ignore_late_acks: bool = false, "RFC 9002 appendix A.7 does not say (assumed)";
    /// The window grows before the losses of an acknowledgement reduce it. So it does in quinn and aioquic; RFC 9002
    /// appendix A.7 has the reverse order.
    growth_before_losses: bool = false, "RFC 9002 appendix A.7 (assumed)";
    /// The stream limit of the peer is raised when half of it is left, and not by eighths.
    max_streams_update_at_half: bool = false, "as quinn-proto 0.11 (assumed)";
    /// Other packets contain acknowledgements only when these are due. So in aioquic.
    acks_only_when_due: bool = false, "RFC 9000 section 13.2.1: SHOULD bundle (assumed)";
    /// The pacer counts packets. Each costs it a full one, those with acknowledgements only, too, which wait for it
    /// (picoquic); otherwise these leave at once and cost nothing.
    paces_packets: bool = false, "RFC 9002 section 7.7: ACK frames SHOULD NOT be delayed by the pacer";
    /// A probe timeout after the handshake is a congestion event. So it is in picoquic.
    timeout_is_congestion: bool = false, "RFC 9002 section 6.2: a probe timeout is no sign of loss";
    /// PING in addition to acknowledgements.
    ack_ping: AckOfAckPolicy = AckOfAckPolicy::After(20),
        "RFC 9000 section 13.2.4: periodically (assumed: each twentieth, as quic-go and Chromium)",
        as |fixed| match fixed.ack_ping {
            AckOfAckPolicy::Never => "none".to_owned(),
            AckOfAckPolicy::After(packets) => format!("after {packets} packets with nothing else"),
            AckOfAckPolicy::OneInFlight(packets) => {
                format!("{packets} packets and a smoothed RTT after the last that was acknowledged, if none is in flight")
            }
            AckOfAckPolicy::EighthWithGaps => "each eighth packet number, if packets are missing".to_owned(),
        };
    /// STREAM frames always have a Length field. So they do in aioquic.
    stream_length_always: bool = false, "RFC 9000 section 19.8: optional (assumed)";
    /// One STREAM frame per packet. Space that a lost frame leaves free stays free (aioquic).
    one_stream_frame: bool = false, "RFC 9000 section 12.4: several (assumed)";
    /// Number of NEW_CONNECTION_ID frames after the handshake.
    new_connection_ids: u8 = 1, "RFC 9000 section 5.1.1: at least one more than in use (assumed)";
    /// Number of packets stored until their keys are available. Others are dropped (RFC 9001 section 5.7).
    kept_packets: usize = 10, "Chromium kDefaultMaxUndecryptablePackets (assumed)";
    /// What a probe timeout declares lost. CRYPTO data in flight are also declared lost, once, when a packet arrives before
    /// its keys or CRYPTO data arrive again (aioquic).
    timeout_losses: TimeoutLosses = TimeoutLosses::Nothing,
        "RFC 9002 section 6.2: a probe timeout must not mark packets as lost", as |fixed| {
        match fixed.timeout_losses {
            TimeoutLosses::Nothing => "nothing",
            TimeoutLosses::CryptoWithCongestion => {
                "CRYPTO in flight during the handshake, as a congestion event"
            }
            TimeoutLosses::CryptoOrOldest => {
                "CRYPTO in flight during the handshake, later the oldest packet; without a congestion event"
            }
        }
        .to_owned()
    };
    /// Initial packets of servers are padded. Ack-eliciting ones are (RFC 9000 section 14.1); aioquic does not.
    pads_server: bool = true, "RFC 9000 section 14.1";
    /// Initial packets of clients are padded to a full datagram. So they are in aioquic, not to 1200 bytes.
    pads_to_full: bool = false, "RFC 9000 section 14.1: at least 1200 (assumed)";
    /// Padding counts as in flight. In aioquic 1.7.2 it is bytes behind the packets of a datagram, and does not.
    padding_in_flight: bool = true, "RFC 9002 section 2: PADDING frames";
}

/// Pacer of RFC 9002 section 7.7; also used by BBR with a profile without a pacer: its rate replaces the
/// factor.
pub(super) const BUCKET: Pacing = Pacing::leaky_bucket(1.25, 10);

/// TLS of all profiles, for a comparison of stacks and not of set-ups.
const FRESH: Tls =
    Tls { version: TlsVersion::Tls13, resumption: false, certificate: bytes(3000), early_data: None };

impl Config {
    /// Length of the connection IDs that an end with `role` chooses.
    pub(crate) fn connection_id(&self, role: Role) -> ByteCount {
        match role {
            Role::Client => self.fixed.client_connection_id,
            Role::Server => self.quic.connection_id,
        }
    }

    /// Constants of the congestion control that a scenario sets.
    pub(crate) fn constants(&self) -> Constants {
        Constants {
            newreno: self.newreno.unwrap_or_default(),
            cubic: self.cubic.unwrap_or_default(),
            bbr: self.bbr.unwrap_or_default(),
        }
    }

    /// ECN field of packets on paths that support it.
    pub(crate) fn codepoint(&self) -> Ecn {
        if self.quic.ecn { self.congestion_control.family().codepoint() } else { Ecn::NotEct }
    }

    /// Initial congestion window: at least a datagram.
    pub(crate) fn initial_window(&self) -> ByteCount {
        self.initial_window.bytes(self.datagram_size).max(self.datagram_size)
    }

    /// Packet size assumed by the congestion controller.
    pub(crate) fn window_packet(&self) -> ByteCount {
        self.fixed.window_packet.unwrap_or(self.datagram_size)
    }
}

/// Initial window as specified by a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InitialWindow {
    /// Datagrams of the size in effect.
    Packets(u64),
    /// Bytes, regardless of the size of a datagram.
    Bytes(u64),
    /// Ten datagrams, but at most 14 720 bytes or two datagrams (RFC 9002 section 7.2).
    Rfc9002,
}

impl InitialWindow {
    /// Window in bytes with datagrams of `size`.
    pub(crate) fn bytes(self, size: ByteCount) -> ByteCount {
        let size = size.bytes();
        ByteCount::from_bytes(match self {
            Self::Packets(packets) => packets * size,
            Self::Bytes(bytes) => bytes,
            Self::Rfc9002 => (10 * size).min((2 * size).max(14_720)),
        })
    }
}

/// Trigger of acknowledgements of packets that carry only an acknowledgement: a periodic PING, so that old
/// ranges can be removed (RFC 9000 section 13.2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckOfAckPolicy {
    /// Nothing.
    Never,
    /// A PING after this many such packets in a row.
    After(u32),
    /// A PING this many packet numbers and a smoothed RTT after the last acknowledged packet, unless an
    /// ack-eliciting packet is in flight (picoquic).
    OneInFlight(u32),
    /// A PING in every eighth packet number, if there is more than one range (aioquic).
    EighthWithGaps,
}

/// What a probe timeout declares lost (`reschedule_data` of aioquic).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeoutLosses {
    /// Nothing.
    Nothing,
    /// CRYPTO in flight during the handshake, which is a congestion event (0.9.25).
    CryptoWithCongestion,
    /// CRYPTO in flight during the handshake, later the oldest ack-eliciting packet, none a congestion event
    /// (1.7.2).
    CryptoOrOldest,
}

/// Condition under which a congestion window permits another datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowCheck {
    /// The datagram fits: RFC 9002 section 7 ("MUST NOT send a packet if it would cause bytes_in_flight [...]
    /// to be larger than the congestion window").
    Fits,
    /// A part of the window remains afterwards (quinn).
    Below,
    /// A part of the window remains before: the last datagram is as short as that part (aioquic).
    Filled,
}

/// Values of RFC 9000 and RFC 9002 with windows that a test can fill, for tests of the parts.
#[cfg(test)]
pub(crate) fn test_config() -> Config {
    Config {
        pacing: Pacing::None,
        initial_window: InitialWindow::Packets(10),
        stream_receive_window: kib(1024),
        connection_receive_window: kib(1536),
        send_window: bytes(10_000_000),
        quic: QuicValues { pacing_before_rtt: false, ..QuicValues::DEFAULTS },
        fixed: Fixed { new_connection_ids: 0, ..Fixed::DEFAULTS },
        ..Config::DEFAULTS
    }
}
