//! The extension `quic_transport_parameters` (RFC 9001 section 8.2, RFC 9000 section 18), with the modelled
//! parameters.

use super::Sender;
use super::ids::{Ids, ORIGINAL_ID};
use super::message::extension;
use super::random::Random;
use quiclab_core::Duration;
use quiclab_core::quic::{TransportParameters, varint_length, write_varint};

/// Extension type.
const QUIC_TRANSPORT_PARAMETERS: u16 = 57;

/// IDs of RFC 9000 section 18.2 and of the extensions of QUIC.
mod id {
    pub(super) const ORIGINAL_DESTINATION_CONNECTION_ID: u64 = 0x00;
    pub(super) const MAX_IDLE_TIMEOUT: u64 = 0x01;
    pub(super) const STATELESS_RESET_TOKEN: u64 = 0x02;
    pub(super) const INITIAL_MAX_DATA: u64 = 0x04;
    pub(super) const INITIAL_MAX_STREAM_DATA_BIDI_LOCAL: u64 = 0x05;
    pub(super) const INITIAL_MAX_STREAM_DATA_BIDI_REMOTE: u64 = 0x06;
    pub(super) const INITIAL_MAX_STREAM_DATA_UNI: u64 = 0x07;
    pub(super) const INITIAL_MAX_STREAMS_BIDI: u64 = 0x08;
    pub(super) const INITIAL_MAX_STREAMS_UNI: u64 = 0x09;
    pub(super) const MAX_ACK_DELAY: u64 = 0x0b;
    pub(super) const ACTIVE_CONNECTION_ID_LIMIT: u64 = 0x0e;
    pub(super) const INITIAL_SOURCE_CONNECTION_ID: u64 = 0x0f;
    /// RFC 9221 section 3.
    pub(super) const MAX_DATAGRAM_FRAME_SIZE: u64 = 0x20;
    /// draft-ietf-quic-multipath-21 section 2.1.
    pub(super) const INITIAL_MAX_PATH_ID: u64 = 0x3e;
    /// draft-ietf-quic-ack-frequency-11 section 3.
    pub(super) const MIN_ACK_DELAY: u64 = 0xff04_de1b;
}

/// Value of `active_connection_id_limit`.
const ACTIVE_CONNECTION_IDS: u64 = 8;
/// "If this value is absent, a default of 25 milliseconds is assumed" (RFC 9000 section 18.2).
const DEFAULT_ACK_DELAY_MS: u64 = 25;

/// Appends the extension with the parameters of the end `of`.
pub(super) fn write(
    out: &mut Vec<u8>,
    parameters: &TransportParameters,
    of: Sender,
    ids: &mut Ids,
    random: &Random,
) {
    let ms = |duration: Duration| duration.as_nanos() / 1_000_000;
    let mut body = Vec::new();
    let own = ids.first(of);
    bytes(&mut body, id::INITIAL_SOURCE_CONNECTION_ID, &own[..usize::from(parameters.connection_id_length)]);
    if of == Sender::Server {
        bytes(&mut body, id::ORIGINAL_DESTINATION_CONNECTION_ID, &ids.original()[..ORIGINAL_ID]);
        bytes(&mut body, id::STATELESS_RESET_TOKEN, &random.bytes::<16>("reset token"));
    }
    for (id, value) in [
        (id::INITIAL_MAX_DATA, parameters.max_data),
        (id::INITIAL_MAX_STREAM_DATA_BIDI_LOCAL, parameters.max_stream_data_bidi_local),
        (id::INITIAL_MAX_STREAM_DATA_BIDI_REMOTE, parameters.max_stream_data_bidi_remote),
        (id::INITIAL_MAX_STREAM_DATA_UNI, parameters.max_stream_data_uni),
        (id::INITIAL_MAX_STREAMS_BIDI, parameters.max_streams_bidi),
        (id::INITIAL_MAX_STREAMS_UNI, parameters.max_streams_uni),
        (id::MAX_DATAGRAM_FRAME_SIZE, parameters.max_datagram_frame_size),
    ] {
        if value > 0 {
            integer(&mut body, id, value);
        }
    }
    integer(&mut body, id::ACTIVE_CONNECTION_ID_LIMIT, ACTIVE_CONNECTION_IDS);
    if ms(parameters.max_ack_delay) != DEFAULT_ACK_DELAY_MS {
        integer(&mut body, id::MAX_ACK_DELAY, ms(parameters.max_ack_delay));
    }
    if let Some(timeout) = parameters.idle_timeout {
        integer(&mut body, id::MAX_IDLE_TIMEOUT, ms(timeout));
    }
    if let Some(delay) = parameters.min_ack_delay {
        integer(&mut body, id::MIN_ACK_DELAY, delay.as_nanos() / 1000);
    }
    let assumed = (parameters.paths > 1).then(|| u32::from(parameters.paths) - 1);
    if let Some(most) = parameters.max_path_id.or(assumed) {
        integer(&mut body, id::INITIAL_MAX_PATH_ID, most.into());
    }
    extension(out, QUIC_TRANSPORT_PARAMETERS, &body);
}

fn bytes(out: &mut Vec<u8>, id: u64, value: &[u8]) {
    write_varint(out, id);
    write_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

fn integer(out: &mut Vec<u8>, id: u64, value: u64) {
    write_varint(out, id);
    write_varint(out, varint_length(value) as u64);
    write_varint(out, value);
}
