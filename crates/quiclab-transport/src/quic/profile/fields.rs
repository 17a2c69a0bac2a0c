//! What a profile has a value for: the fields of [`Config`], how they are called and how they are printed.

use super::super::config::{AckPing, Config, Fixed, InitialWindow, WindowCheck};
use crate::congestion::Flavour;
use crate::options::{CongestionControl, Pacing, QuicValues, SlowStartExit, Tls, TlsVersion, name};
use crate::profile::{UNLIMITED, describe};
use quiclab_core::{ByteCount, Duration};

/// A field of the configuration.
pub(super) struct Field {
    /// Where it is in [`Config`].
    pub(super) key: &'static str,
    /// Name of the option in scenarios; `None` for a property that no option changes.
    pub(super) option: Option<&'static str>,
    pub(super) meaning: &'static str,
    pub(super) print: fn(&Config) -> String,
}

/// `field!("option", field, "meaning", |config| text)`; without the name for what no option changes.
macro_rules! field {
    ($option:literal, $($field:ident).+, $meaning:literal, $print:expr) => {
        Field { key: stringify!($($field).+), option: Some($option), meaning: $meaning, print: $print }
    };
    ($($field:ident).+, $meaning:literal, $print:expr) => {
        Field { key: stringify!($($field).+), option: None, meaning: $meaning, print: $print }
    };
}

pub(super) const FIELDS: &[Field] = &[
    field!("datagram_size", datagram_size, "UDP payload of a full datagram", |c| c.datagram_size.to_string()),
    field!(fixed.client_connection_id, "length of a connection ID that a client chooses", |c| {
        c.fixed.client_connection_id.to_string()
    }),
    field!("congestion_control", congestion_control, "congestion control", |c| name(&c.congestion_control)),
    field!(
        "emulated_connections",
        emulated_connections,
        "connections that newreno and cubic stand for",
        |c| c.emulated_connections.to_string()
    ),
    field!("slow_start_exit", slow_start_exit, "what ends slow start before a loss", |c| {
        name(&c.slow_start_exit)
    }),
    field!("initial_window", fixed.initial_window, "initial congestion window", |c| {
        let bytes = c.initial_window;
        match c.fixed.initial_window {
            InitialWindow::Packets(packets) => format!("{packets} datagrams, {bytes}"),
            InitialWindow::Bytes(_) => bytes.to_string(),
            InitialWindow::Rfc9002 => format!("{bytes}; 10 datagrams, 14720 B or 2 datagrams at most"),
        }
    }),
    field!(fixed.window_packet, "what the congestion control takes a full packet for", |c| {
        c.fixed.window_packet.map_or("the size of a datagram".to_owned(), |size| size.to_string())
    }),
    field!(fixed.newreno_keeps, "part of the window that newreno, one connection, keeps at a loss", |c| {
        c.fixed.newreno_keeps.to_string()
    }),
    field!("pacing", pacing, "how packets are spaced", |c| describe(&c.pacing)),
    field!("packet_threshold", packet_threshold, "reordering before a packet is lost, in packets", |c| {
        count(c.packet_threshold)
    }),
    field!("time_threshold", time_threshold, "reordering before a packet is lost, in RTTs", |c| {
        c.time_threshold.to_string()
    }),
    field!("initial_rtt", initial_rtt, "RTT before the first sample", |c| c.initial_rtt.to_string()),
    field!(fixed.initial_timeout, "first probe timeout before a sample, in initial RTTs", |c| {
        c.fixed.initial_timeout.to_string()
    }),
    field!(fixed.timeout_variations, "RTT variations in a probe timeout", |c| {
        c.fixed.timeout_variations.to_string()
    }),
    field!(fixed.probes_carry_data, "probes carry data again", |c| on(c.fixed.probes_carry_data)),
    field!("ack_frequency", ack_frequency, "what is asked of the peer's acknowledgements", |c| {
        c.ack_frequency.map_or("nothing asked".to_owned(), |asked| {
            format!("every {} packets", u64::from(asked.ack_eliciting_threshold) + 1)
        })
    }),
    field!("stream_receive_window", stream_receive_window, "receive window of a stream at the start", |c| {
        window(c.stream_receive_window)
    }),
    field!(
        "connection_receive_window",
        connection_receive_window,
        "receive window of the connection at the start",
        |c| window(c.connection_receive_window)
    ),
    field!("send_window", send_window, "stream data sent and not acknowledged, at most", |c| {
        window(c.send_window)
    }),
    field!("tls", tls, "TLS or QUIC Crypto", |c| describe(&c.tls)),
    field!(fixed.client_hello, "length of the ClientHello", |c| c.fixed.client_hello.to_string()),
    field!(fixed.tickets, "length of the session tickets", |c| c.fixed.tickets.to_string()),
    field!(fixed.window_check, "what the window must have room for", |c| {
        match c.fixed.window_check {
            WindowCheck::Fits => "a full datagram",
            WindowCheck::Below => "more than a full datagram",
            WindowCheck::Filled => "anything: the last datagram is shorter",
        }
        .to_owned()
    }),
    field!(fixed.flavour, "whose cubic", |c| {
        match c.fixed.flavour {
            Flavour::Quic => "RFC 9438",
            Flavour::Quinn => "quinn, after RFC 8312",
            Flavour::LinuxTcp => "Linux",
        }
        .to_owned()
    }),
    field!(fixed.forgets_lost, "late acknowledgements of packets declared lost are ignored", |c| {
        on(c.fixed.forgets_lost)
    }),
    field!(
        fixed.growth_before_losses,
        "the window grows before the losses of an acknowledgement cut it",
        |c| { on(c.fixed.growth_before_losses) }
    ),
    field!(
        fixed.streams_when_half_left,
        "the peer is allowed more streams when half is left, and not by eighths",
        |c| { on(c.fixed.streams_when_half_left) }
    ),
    field!(fixed.acks_only_when_due, "acknowledgements ride with other packets only when due", |c| {
        on(c.fixed.acks_only_when_due)
    }),
    field!(fixed.ack_ping, "PING beside acknowledgements", |c| match c.fixed.ack_ping {
        AckPing::Never => "none".to_owned(),
        AckPing::After(packets) => format!("after {packets} packets with nothing else"),
        AckPing::EighthWithGaps => "each eighth packet number, if packets are missing".to_owned(),
    }),
    field!(fixed.stream_length_always, "STREAM frames always have a Length field", |c| {
        on(c.fixed.stream_length_always)
    }),
    field!(fixed.one_stream_frame, "one STREAM frame in a packet", |c| on(c.fixed.one_stream_frame)),
    field!(fixed.new_connection_ids, "NEW_CONNECTION_ID frames after the handshake", |c| {
        c.fixed.new_connection_ids.to_string()
    }),
    field!(fixed.kept_packets, "packets kept until their keys are there", |c| {
        c.fixed.kept_packets.to_string()
    }),
    field!(
        fixed.restarts_handshake,
        "crypto data that arrive too early or twice, and handshake timeouts, are congestion events",
        |c| on(c.fixed.restarts_handshake)
    ),
    field!(fixed.pads_server, "Initial packets of servers are padded", |c| on(c.fixed.pads_server)),
    field!(fixed.pads_to_full, "Initial packets of clients are padded to a full datagram", |c| {
        on(c.fixed.pads_to_full)
    }),
];

fn on(value: bool) -> String {
    if value { "on" } else { "off" }.to_owned()
}

fn count(value: u32) -> String {
    if value == u32::MAX { "no limit".to_owned() } else { value.to_string() }
}

fn window(value: ByteCount) -> String {
    if value == UNLIMITED { "no limit".to_owned() } else { value.to_string() }
}

/// Before everything: each field is set by [`FIELDS`].
pub(super) const EMPTY: Config = Config {
    congestion_control: CongestionControl::Fixed,
    emulated_connections: 0,
    slow_start_exit: SlowStartExit::None,
    pacing: Pacing::None,
    datagram_size: ByteCount::ZERO,
    initial_window: ByteCount::ZERO,
    stream_receive_window: ByteCount::ZERO,
    connection_receive_window: ByteCount::ZERO,
    send_window: ByteCount::ZERO,
    packet_threshold: 0,
    time_threshold: 0.0,
    initial_rtt: Duration::ZERO,
    ack_frequency: None,
    quic: QuicValues::DEFAULTS,
    tls: Tls {
        version: TlsVersion::Tls13,
        resumption: false,
        certificate: ByteCount::ZERO,
        early_data: None,
    },
    fixed: Fixed {
        initial_window: InitialWindow::Packets(0),
        window_packet: None,
        newreno_keeps: 0.0,
        timeout_variations: 0,
        initial_timeout: 0,
        probes_carry_data: false,
        client_connection_id: ByteCount::ZERO,
        client_hello: ByteCount::ZERO,
        tickets: ByteCount::ZERO,
        window_check: WindowCheck::Fits,
        flavour: Flavour::LinuxTcp,
        forgets_lost: false,
        growth_before_losses: false,
        streams_when_half_left: false,
        acks_only_when_due: false,
        ack_ping: AckPing::Never,
        stream_length_always: false,
        one_stream_frame: false,
        new_connection_ids: 0,
        kept_packets: 0,
        restarts_handshake: false,
        pads_server: false,
        pads_to_full: false,
    },
};
