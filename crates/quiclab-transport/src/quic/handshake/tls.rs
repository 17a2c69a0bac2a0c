//! TLS 1.3 in CRYPTO frames (RFC 9001; RFC 8446 section 2): no records, no ChangeCipherSpec.
//!
//! | level | client | server |
//! | --- | --- | --- |
//! | Initial | ClientHello | ServerHello |
//! | Handshake | Finished | EncryptedExtensions, Certificate and CertificateVerify unless resumed, Finished |
//! | Application | | NewSessionTickets, with the length of the profile |
//!
//! | keys | client has them with | server has them with |
//! | --- | --- | --- |
//! | 0-RTT | the beginning | ClientHello, if it accepts (RFC 9001 section 4.6.2: otherwise never) |
//! | Handshake | ServerHello | ClientHello |
//! | 1-RTT, to send | server's Finished | ClientHello: "0.5-RTT data" (section 5.7) |
//! | 1-RTT, to receive | server's Finished | client's Finished (section 5.7) |
//!
//! Differences from a TLS stack: no HelloRetryRequest, no client certificate, the client trusts the server's
//! parameters from EncryptedExtensions on.

use super::{Config, EarlyState, Level, Streams};
use crate::options::{self, EarlyData};
use crate::tls_messages::{
    CERTIFICATE, CERTIFICATE_VERIFY, EARLY_DATA, ENCRYPTED_EXTENSIONS, FINISHED, PRE_SHARED_KEY,
    PRE_SHARED_KEY_OFFER, server_hello,
};
use quiclab_core::quic::{TlsSession, TransportParameters, varint_length};
use quiclab_core::{PacketSpace, Role};

/// Length of the ServerHello: "TLS's middlebox compatibility mode" is not used: the session ID is empty (RFC
/// 9001 section 8.4).
const SERVER_HELLO: u64 = server_hello(0);
/// Length of the connection ID chosen by the client, in original_destination_connection_id.
const ORIGINAL_ID: u64 = 8;

/// Length of the extension quic_transport_parameters of a server (RFC 9001 section 8.2): type and length 4,
/// then each parameter as ID, length, value (RFC 9000 section 18).
fn parameters_extension(parameters: &TransportParameters) -> u64 {
    // ID and length take one byte each
    let integer = |value: u64| 2 + varint_length(value) as u64;
    let optional = |value: u64| if value == 0 { 0 } else { integer(value) };
    let ms = |duration: quiclab_core::Duration| duration.as_nanos() / 1_000_000;
    // initial_source_connection_id, stateless_reset_token
    let ids = (2 + ORIGINAL_ID) + (2 + u64::from(parameters.connection_id_length)) + (2 + 16);
    let windows = [
        parameters.max_data,
        parameters.max_stream_data_bidi_local,
        parameters.max_stream_data_bidi_remote,
        parameters.max_stream_data_uni,
        parameters.max_streams_bidi,
        parameters.max_streams_uni,
    ];
    // active_connection_id_limit: a small number
    let limits = windows.into_iter().map(optional).sum::<u64>() + integer(2);
    // max_ack_delay is omitted at its default
    let delay = if ms(parameters.max_ack_delay) == 25 { 0 } else { integer(ms(parameters.max_ack_delay)) };
    let idle = parameters.idle_timeout.map_or(0, |timeout| integer(ms(timeout)));
    let datagrams = optional(parameters.max_datagram_frame_size);
    // draft-ietf-quic-ack-frequency-11: ID 0xff04de1b in 8 bytes, microseconds
    let frequency = parameters.min_ack_delay.map_or(0, |delay| 7 + integer(delay.as_nanos() / 1000));
    // draft-ietf-quic-multipath-21: initial_max_path_id, ID 0x3e
    let assumed = (parameters.paths > 1).then(|| u32::from(parameters.paths) - 1);
    let multipath = parameters.max_path_id.or(assumed).map_or(0, |most| integer(most.into()));
    4 + ids + limits + delay + idle + datagrams + frequency + multipath
}

fn encrypted_extensions(parameters: &TransportParameters, accepts_early_data: bool) -> u64 {
    let early = if accepts_early_data { EARLY_DATA } else { 0 };
    ENCRYPTED_EXTENSIONS + parameters_extension(parameters) + early
}

/// Messages of the handshake. Its state follows from the streams.
#[derive(Clone, Debug)]
pub(super) struct Tls {
    role: Role,
    options: options::Tls,
    /// Bytes of the server's NewSessionTicket messages.
    tickets: u64,
}

impl Tls {
    pub(super) fn new(config: &Config, role: Role, streams: &mut Streams) -> Self {
        let options = config.tls.clone();
        let early =
            options.early_data.is_some_and(|early| role == Role::Client || early == EarlyData::Accepted);
        let session = match (options.resumption, early) {
            (false, _) => TlsSession::New,
            (true, false) => TlsSession::Resumed,
            (true, true) => TlsSession::Early,
        };
        streams.own.iter_mut().for_each(|own| own.session = session);
        if role == Role::Client {
            let offer = if options.resumption { PRE_SHARED_KEY_OFFER } else { 0 };
            let early = if options.early_data.is_some() { EARLY_DATA } else { 0 };
            streams.queue(Level::Initial, config.fixed.client_hello.bytes() + offer + early);
        }
        Self { role, options, tickets: config.fixed.tickets.bytes() }
    }

    /// Queues the messages that follow from the received ones.
    pub(super) fn advance(&self, streams: &mut Streams) {
        match self.role {
            Role::Client => {
                if self.is_complete(streams) && streams.queued(Level::Handshake) == 0 {
                    streams.queue(Level::Handshake, FINISHED);
                }
            }
            Role::Server => {
                if hello(streams) && streams.queued(Level::Initial) == 0 {
                    let selected = if self.options.resumption { PRE_SHARED_KEY } else { 0 };
                    streams.queue(Level::Initial, SERVER_HELLO + selected);
                    let identity = if self.options.resumption {
                        0
                    } else {
                        CERTIFICATE + self.options.certificate.bytes() + CERTIFICATE_VERIFY
                    };
                    let extensions = self.extensions(&streams.own[Level::Handshake as usize]);
                    streams.queue(Level::Handshake, extensions + identity + FINISHED);
                }
                if self.is_complete(streams) && streams.queued(Level::Application) == 0 {
                    streams.queue(Level::Application, self.tickets);
                }
            }
        }
    }

    /// Length of EncryptedExtensions with the server's parameters.
    fn extensions(&self, parameters: &TransportParameters) -> u64 {
        encrypted_extensions(parameters, self.options.early_data == Some(EarlyData::Accepted))
    }

    /// Parameters of the server, when the client has its EncryptedExtensions.
    fn read_extensions<'a>(&self, streams: &'a Streams) -> Option<&'a TransportParameters> {
        let peer = streams.peer(Level::Handshake).filter(|_| hello(streams))?;
        (streams.arrived(Level::Handshake) >= self.extensions(peer)).then_some(peer)
    }

    pub(super) fn can_send(&self, space: PacketSpace, streams: &Streams) -> bool {
        match (space, self.role) {
            (PacketSpace::Initial, _) => true,
            (PacketSpace::Handshake, _) | (PacketSpace::OneRtt, Role::Server) => hello(streams),
            (PacketSpace::ZeroRtt, Role::Client) => {
                matches!(self.early_data(streams), EarlyState::Pending | EarlyState::Accepted)
            }
            (PacketSpace::ZeroRtt, Role::Server) => false,
            (PacketSpace::OneRtt, Role::Client) => self.is_complete(streams),
        }
    }

    pub(super) fn can_receive(&self, space: PacketSpace, streams: &Streams) -> bool {
        match (space, self.role) {
            (PacketSpace::Initial, _) => true,
            (PacketSpace::Handshake, _) => hello(streams),
            (PacketSpace::ZeroRtt, Role::Server) => self.early_data(streams) == EarlyState::Accepted,
            (PacketSpace::ZeroRtt, Role::Client) => false,
            (PacketSpace::OneRtt, _) => self.is_complete(streams),
        }
    }

    pub(super) fn peer_parameters<'a>(&self, streams: &'a Streams) -> Option<&'a TransportParameters> {
        match self.role {
            Role::Client => self.read_extensions(streams),
            Role::Server => streams.peer(Level::Initial).filter(|_| hello(streams)),
        }
    }

    /// Whether the handshake is complete: "when the TLS stack has both sent a Finished message and verified
    /// the peer's Finished message": its own is sent at once.
    pub(super) fn is_complete(&self, streams: &Streams) -> bool {
        hello(streams) && streams.complete(Level::Handshake).is_some()
    }

    pub(super) fn early_data(&self, streams: &Streams) -> EarlyState {
        let decided = match self.role {
            Role::Client => self.read_extensions(streams).is_some(),
            Role::Server => hello(streams),
        };
        match self.options.early_data {
            None => EarlyState::None,
            Some(_) if !decided => EarlyState::Pending,
            Some(EarlyData::Accepted) => EarlyState::Accepted,
            Some(EarlyData::Rejected) => EarlyState::Rejected,
        }
    }
}

/// Whether the peer's ClientHello or ServerHello has arrived.
fn hello(streams: &Streams) -> bool {
    streams.complete(Level::Initial).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclab_core::Duration;

    /// Parameter by parameter: ID 1, length 1, value.
    #[test]
    fn parameters_are_as_long_as_their_fields() {
        // 4, original ID 10, source ID 2, token 18, active_connection_id_limit 3
        let none = TransportParameters::default();
        let delay = 3; // a delay of 0 ms is not the default of 25
        assert_eq!(parameters_extension(&none), 4 + 10 + 2 + 18 + 3 + delay);
        let all = TransportParameters {
            max_data: 1 << 20,                             // 2 + 4
            max_stream_data_bidi_local: 1 << 14,           // 2 + 4
            max_stream_data_bidi_remote: (1 << 14) - 1,    // 2 + 2
            max_stream_data_uni: 1 << 30,                  // 2 + 8
            max_streams_bidi: 100,                         // 2 + 2
            max_streams_uni: 3,                            // 2 + 1
            max_ack_delay: Duration::from_millis(25),      // omitted
            idle_timeout: Some(Duration::from_secs(30)),   // 30000 ms: 2 + 4
            max_datagram_frame_size: 65_535,               // 2 + 4
            min_ack_delay: Some(Duration::from_millis(1)), // 8 + 1 + 2
            connection_id_length: 8,
            paths: 2, // 2 + 1
            max_path_id: None,
            message_end: 0,
            session: TlsSession::New,
        };
        let sum = 4 + 10 + (2 + 8) + 18 + 3 + 6 + 6 + 4 + 10 + 4 + 3 + 6 + 6 + 11 + 3;
        assert_eq!(parameters_extension(&all), sum);
        assert_eq!(encrypted_extensions(&all, false), 15 + sum);
        assert_eq!(encrypted_extensions(&all, true), 15 + sum + 4);
    }
}
