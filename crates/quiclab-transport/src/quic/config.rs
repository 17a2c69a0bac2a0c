//! Everything about one end of a QUIC connection that can be chosen, complete.

use crate::congestion::Flavour;
use crate::options::{AckFrequency, CongestionControl, Pacing, QuicValues, SlowStartExit, Tls};
use quiclab_core::{ByteCount, Duration, Role};

/// A complete configuration: a profile with the overrides of a scenario. The fields are those of
/// [`crate::options::QuicOptions`] and [`crate::options::EndpointConfig`] and mean the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub(crate) congestion_control: CongestionControl,
    pub(crate) emulated_connections: u32,
    pub(crate) slow_start_exit: SlowStartExit,
    pub(crate) pacing: Pacing,
    /// UDP payload of a full datagram.
    pub(crate) datagram_size: ByteCount,
    pub(crate) initial_window: ByteCount,
    pub(crate) stream_receive_window: ByteCount,
    pub(crate) connection_receive_window: ByteCount,
    pub(crate) send_window: ByteCount,
    pub(crate) packet_threshold: u32,
    pub(crate) time_threshold: f64,
    pub(crate) initial_rtt: Duration,
    pub(crate) ack_frequency: Option<AckFrequency>,
    pub(crate) quic: QuicValues,
    /// Resumption, certificate and early data; the version is always 1.3.
    pub(crate) tls: Tls,
    /// What no option changes.
    pub(crate) fixed: Fixed,
}

impl Config {
    /// Length of the connection IDs that an end with `role` chooses.
    pub(crate) fn connection_id(&self, role: Role) -> ByteCount {
        match role {
            Role::Client => self.fixed.client_connection_id,
            Role::Server => self.quic.connection_id,
        }
    }

    /// What the congestion control takes a full packet for.
    pub(crate) fn window_packet(&self) -> ByteCount {
        self.fixed.window_packet.unwrap_or(self.datagram_size)
    }
}

/// How a stack states its initial window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InitialWindow {
    /// Datagrams of the size in effect.
    Packets(u64),
    /// Bytes, whatever the size of a datagram.
    Bytes(u64),
    /// Ten datagrams, but 14 720 bytes or two datagrams at most (RFC 9002 section 7.2).
    Rfc9002,
}

impl InitialWindow {
    /// The window of datagrams of `size`.
    pub(crate) fn bytes(self, size: ByteCount) -> ByteCount {
        let size = size.bytes();
        ByteCount::from_bytes(match self {
            Self::Packets(packets) => packets * size,
            Self::Bytes(bytes) => bytes,
            Self::Rfc9002 => (10 * size).min((2 * size).max(14_720)),
        })
    }
}

/// Properties of a profile that no option changes, except where it says so: what published stacks do each in
/// its own way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fixed {
    /// What [`Config::initial_window`] comes from where no option gives it.
    pub(crate) initial_window: InitialWindow,
    /// What the congestion control takes a full packet for, whatever the size of a datagram (Chromium: 1460 B);
    /// `None`: the size of a datagram.
    pub(crate) window_packet: Option<ByteCount>,
    /// Part of the window that one connection with NewReno keeps at a loss: 0.5, or 0.7 (Chromium, quic-go).
    pub(crate) newreno_keeps: f64,
    /// Multiple of the RTT variation in a probe timeout (RFC 9002 section 6.2.1: 4).
    pub(crate) timeout_variations: u32,
    /// Multiple of the initial RTT that the first probe timeout is, before there is a sample (RFC 9002: 3,
    /// since the variation is taken for half of it).
    pub(crate) initial_timeout: u32,
    /// A probe carries data, if there are any (RFC 9002 section 6.2.4); a PING without them otherwise.
    pub(crate) probes_carry_data: bool,
    /// Length of the connection IDs that a client chooses; `quic.connection_id` replaces it, too.
    pub(crate) client_connection_id: ByteCount,
    /// Length of the ClientHello (gQUIC: of the inchoate CHLO before padding) in bytes.
    pub(crate) client_hello: ByteCount,
    /// Bytes of the NewSessionTicket messages of a server.
    pub(crate) tickets: ByteCount,
    /// When the window lets another datagram leave.
    pub(crate) window_check: WindowCheck,
    /// The peer is allowed more streams when half of the first number is left, not when an eighth is over.
    pub(crate) streams_when_half_left: bool,
    /// Whose CUBIC: that of RFC 9438 or quinn's.
    pub(crate) flavour: Flavour,
    /// Packets declared lost are forgotten at once: from a late acknowledgement of one follows nothing, and its
    /// data are sent again (quinn, aioquic). Otherwise what was received after all is not sent again.
    pub(crate) forgets_lost: bool,
    /// An acknowledgement lets the window grow before the losses that it shows cut it (quinn, aioquic); RFC
    /// 9002 appendix A.7 has it the other way round.
    pub(crate) growth_before_losses: bool,
    /// Acknowledgements ride with other packets only once they are due (aioquic).
    pub(crate) acks_only_when_due: bool,
    /// What makes the peer acknowledge packets that carry nothing but an acknowledgement.
    pub(crate) ack_ping: AckPing,
    /// STREAM frames always have a Length field (aioquic).
    pub(crate) stream_length_always: bool,
    /// A packet holds one STREAM frame: what a lost one leaves free stays free (aioquic).
    pub(crate) one_stream_frame: bool,
    /// NEW_CONNECTION_ID frames that each end sends once the handshake is complete.
    pub(crate) new_connection_ids: u8,
    /// Packets that are kept until their keys are there; the others are dropped (RFC 9001 section 5.7).
    pub(crate) kept_packets: usize,
    /// Crypto data in flight are taken for lost, with a congestion event, when a probe timeout expires during
    /// the handshake, and once when a packet arrives before its keys or crypto data for the second time
    /// (aioquic).
    pub(crate) restarts_handshake: bool,
    /// Ack-eliciting Initial packets of servers are padded, too (RFC 9000 section 14.1); aioquic does not.
    pub(crate) pads_server: bool,
    /// Clients pad Initial packets to the full datagram, not to 1200 bytes (aioquic).
    pub(crate) pads_to_full: bool,
}

/// What makes the peer acknowledge packets that carry nothing but an acknowledgement: a PING now and then, so
/// that old ranges can be forgotten (RFC 9000 section 13.2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckPing {
    /// Nothing.
    Never,
    /// A PING after this many such packets in a row.
    After(u32),
    /// A PING in every eighth packet number, if there is more than one range (aioquic).
    EighthWithGaps,
}

/// When a congestion window lets another datagram leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowCheck {
    /// It fits: RFC 9002 section 7 ("MUST NOT send a packet if it would cause bytes_in_flight [...] to be
    /// larger than the congestion window").
    Fits,
    /// Something is left of the window afterwards (quinn).
    Below,
    /// Something is left of it: the last datagram is as short as what is left (aioquic).
    Filled,
}

/// Values of RFC 9000 and RFC 9002, for tests of the parts.
#[cfg(test)]
pub(crate) fn test_config() -> Config {
    use crate::options::TlsVersion;
    let kib = |count: u64| ByteCount::from_bytes(count * 1024);
    Config {
        congestion_control: CongestionControl::Newreno,
        emulated_connections: 1,
        slow_start_exit: SlowStartExit::None,
        pacing: Pacing::None,
        datagram_size: ByteCount::from_bytes(1200),
        initial_window: ByteCount::from_bytes(12_000),
        stream_receive_window: kib(1024),
        connection_receive_window: kib(1536),
        send_window: ByteCount::from_bytes(10_000_000),
        packet_threshold: 3,
        time_threshold: 1.125,
        initial_rtt: Duration::from_millis(333),
        ack_frequency: None,
        quic: QuicValues { pacing_before_rtt: false, ..QuicValues::DEFAULTS },
        tls: Tls {
            version: TlsVersion::Tls13,
            resumption: false,
            certificate: ByteCount::from_bytes(3000),
            early_data: None,
        },
        fixed: Fixed {
            initial_window: InitialWindow::Packets(10),
            window_packet: None,
            newreno_keeps: 0.5,
            timeout_variations: 4,
            initial_timeout: 3,
            probes_carry_data: true,
            client_connection_id: ByteCount::from_bytes(8),
            client_hello: ByteCount::from_bytes(300),
            tickets: ByteCount::from_bytes(466),
            window_check: WindowCheck::Fits,
            flavour: Flavour::Quic,
            forgets_lost: false,
            growth_before_losses: false,
            streams_when_half_left: false,
            acks_only_when_due: false,
            ack_ping: AckPing::After(20),
            stream_length_always: false,
            one_stream_frame: false,
            new_connection_ids: 0,
            kept_packets: 10,
            restarts_handshake: false,
            pads_server: true,
            pads_to_full: false,
        },
    }
}
