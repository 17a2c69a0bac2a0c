//! The `frames` field: one JSON object for each frame of a packet.
//!
//! After draft-ietf-quic-qlog-quic-events-13 section 8.13. The frames of draft-ietf-quic-ack-frequency and
//! draft-ietf-quic-multipath-21 are not in that draft; they use its extension point `$QuicFrame`, with the names of
//! their drafts in lower case and the path ID as `path_id`.
//!
//! The Length field of STREAM, CRYPTO and DATAGRAM frames "MUST be logged in the qlog `raw.length` field":
//! there `raw.length` is the length of the data, as is `raw.payload_length`. It is also logged for frames
//! without a Length field.

use super::json::{decimal, hex, hex_digits, raw, string, uint};
use quiclab_core::quic::{Ack, Frame, Frames};

/// Appends `"frames":[...]` with the frames of `plaintext`.
///
/// A malformed frame appears as `unknown` with its type; `raw.length` is then the length of the rest of the
/// packet.
pub(super) fn frames(out: &mut Vec<u8>, plaintext: &[u8], ack_delay_exponent: u8) {
    raw(out, "\"frames\":[");
    let mut frames = Frames::new(plaintext);
    let mut separator = "{\"frame_type\":\"";
    while let Some(parsed) = frames.next() {
        raw(out, separator);
        separator = ",{\"frame_type\":\"";
        match parsed {
            Ok(frame) => one(out, &frame, ack_delay_exponent),
            Err(error) => unknown(out, error.frame_type, frames.rest()),
        }
        raw(out, "}");
    }
    raw(out, "]");
}

/// Appends a frame from the value of `frame_type` on, without the closing brace.
fn one(out: &mut Vec<u8>, frame: &Frame<'_>, ack_delay_exponent: u8) {
    match *frame {
        Frame::Padding { length } => {
            uint(out, "padding\",\"raw\":{\"payload_length\":", length as u64);
            raw(out, "}");
        }
        Frame::Ping => raw(out, "ping\""),
        Frame::Ack(ref frame) => {
            raw(out, "ack\"");
            ack(out, frame, ack_delay_exponent);
        }
        Frame::ResetStream { stream_id, error_code, final_size } => {
            uint(out, "reset_stream\",\"stream_id\":", stream_id);
            uint(out, ",\"error\":\"unknown\",\"error_code\":", error_code);
            uint(out, ",\"final_size\":", final_size);
        }
        Frame::ResetStreamAt { stream_id, error_code, final_size, reliable_size } => {
            uint(out, "reset_stream_at\",\"stream_id\":", stream_id);
            uint(out, ",\"error\":\"unknown\",\"error_code\":", error_code);
            uint(out, ",\"final_size\":", final_size);
            uint(out, ",\"reliable_size\":", reliable_size);
        }
        Frame::StopSending { stream_id, error_code } => {
            uint(out, "stop_sending\",\"stream_id\":", stream_id);
            uint(out, ",\"error\":\"unknown\",\"error_code\":", error_code);
        }
        Frame::Crypto { offset, data } => {
            uint(out, "crypto\",\"offset\":", offset);
            data_length(out, data);
        }
        Frame::NewToken { token } => {
            uint(out, "new_token\",\"token\":{\"raw\":{\"length\":", token.len() as u64);
            raw(out, "}}");
        }
        Frame::Stream { stream_id, offset, fin, data } => {
            uint(out, "stream\",\"stream_id\":", stream_id);
            uint(out, ",\"offset\":", offset);
            if fin {
                raw(out, ",\"fin\":true");
            }
            data_length(out, data);
        }
        Frame::MaxData { maximum } => uint(out, "max_data\",\"maximum\":", maximum),
        Frame::MaxStreamData { stream_id, maximum } => {
            uint(out, "max_stream_data\",\"stream_id\":", stream_id);
            uint(out, ",\"maximum\":", maximum);
        }
        Frame::MaxStreams { bidirectional, maximum } => {
            stream_type(out, "max_streams\"", bidirectional);
            uint(out, ",\"maximum\":", maximum);
        }
        Frame::DataBlocked { limit } => uint(out, "data_blocked\",\"limit\":", limit),
        Frame::StreamDataBlocked { stream_id, limit } => {
            uint(out, "stream_data_blocked\",\"stream_id\":", stream_id);
            uint(out, ",\"limit\":", limit);
        }
        Frame::StreamsBlocked { bidirectional, limit } => {
            stream_type(out, "streams_blocked\"", bidirectional);
            uint(out, ",\"limit\":", limit);
        }
        Frame::NewConnectionId { sequence_number, retire_prior_to, connection_id, stateless_reset_token } => {
            raw(out, "new_connection_id\"");
            new_connection_id(out, (sequence_number, retire_prior_to), connection_id, stateless_reset_token);
        }
        Frame::RetireConnectionId { sequence_number } => {
            uint(out, "retire_connection_id\",\"sequence_number\":", sequence_number);
        }
        Frame::PathChallenge { data } => hex(out, "path_challenge\",\"data\":", data),
        Frame::PathResponse { data } => hex(out, "path_response\",\"data\":", data),
        Frame::ConnectionClose { error_code, frame_type, reason } => {
            connection_close(out, error_code, frame_type, reason);
        }
        Frame::HandshakeDone => raw(out, "handshake_done\""),
        Frame::Datagram { data } => {
            raw(out, "datagram\"");
            data_length(out, data);
        }
        Frame::AckFrequency {
            sequence_number,
            ack_eliciting_threshold,
            request_max_ack_delay,
            reordering_threshold,
        } => {
            uint(out, "ack_frequency\",\"sequence_number\":", sequence_number);
            uint(out, ",\"ack_eliciting_threshold\":", ack_eliciting_threshold);
            decimal::<3>(out, ",\"request_max_ack_delay\":", request_max_ack_delay);
            uint(out, ",\"reordering_threshold\":", reordering_threshold);
        }
        Frame::ImmediateAck => raw(out, "immediate_ack\""),
        Frame::PathAck { path_id, ack: ref frame } => {
            uint(out, "path_ack\",\"path_id\":", path_id);
            ack(out, frame, ack_delay_exponent);
        }
        Frame::PathAbandon { path_id, error_code } => {
            uint(out, "path_abandon\",\"path_id\":", path_id);
            uint(out, ",\"error_code\":", error_code);
        }
        Frame::PathStatus { path_id, backup, sequence_number } => {
            raw(out, if backup { "path_status_backup" } else { "path_status_available" });
            uint(out, "\",\"path_id\":", path_id);
            uint(out, ",\"path_status_sequence_number\":", sequence_number);
        }
        Frame::PathNewConnectionId {
            path_id,
            sequence_number,
            retire_prior_to,
            connection_id,
            stateless_reset_token,
        } => {
            uint(out, "path_new_connection_id\",\"path_id\":", path_id);
            new_connection_id(out, (sequence_number, retire_prior_to), connection_id, stateless_reset_token);
        }
        Frame::PathRetireConnectionId { path_id, sequence_number } => {
            uint(out, "path_retire_connection_id\",\"path_id\":", path_id);
            uint(out, ",\"sequence_number\":", sequence_number);
        }
        Frame::MaxPathId { maximum } => uint(out, "max_path_id\",\"maximum_path_identifier\":", maximum),
        Frame::PathsBlocked { maximum } => {
            uint(out, "paths_blocked\",\"maximum_path_identifier\":", maximum);
        }
        Frame::PathCidsBlocked { path_id, next_sequence_number } => {
            uint(out, "path_cids_blocked\",\"path_id\":", path_id);
            uint(out, ",\"next_sequence_number\":", next_sequence_number);
        }
        Frame::Unknown { frame_type, rest } => unknown(out, frame_type, rest),
    }
}

/// Fields common to NEW_CONNECTION_ID and PATH_NEW_CONNECTION_ID, from the sequence number on.
fn new_connection_id(
    out: &mut Vec<u8>,
    (sequence_number, retire_prior_to): (u64, u64),
    connection_id: &[u8],
    token: &[u8],
) {
    uint(out, ",\"sequence_number\":", sequence_number);
    uint(out, ",\"retire_prior_to\":", retire_prior_to);
    hex(out, ",\"connection_id\":", connection_id);
    hex(out, ",\"stateless_reset_token\":", token);
}

fn data_length(out: &mut Vec<u8>, data: &[u8]) {
    uint(out, ",\"raw\":{\"length\":", data.len() as u64);
    uint(out, ",\"payload_length\":", data.len() as u64);
    raw(out, "}");
}

fn stream_type(out: &mut Vec<u8>, name: &str, bidirectional: bool) {
    raw(out, name);
    raw(
        out,
        if bidirectional {
            ",\"stream_type\":\"bidirectional\""
        } else {
            ",\"stream_type\":\"unidirectional\""
        },
    );
}

fn unknown(out: &mut Vec<u8>, frame_type: u64, rest: &[u8]) {
    uint(out, "unknown\",\"frame_type_bytes\":", frame_type);
    uint(out, ",\"raw\":{\"length\":", rest.len() as u64);
    raw(out, "}");
}

/// Fields common to ACK and PATH_ACK.
fn ack(out: &mut Vec<u8>, ack: &Ack<'_>, ack_delay_exponent: u8) {
    // RFC 9000 section 19.3: microseconds divided by 2^exponent. A hostile value saturates.
    let delay_us = ack.delay.saturating_mul(1 << ack_delay_exponent.min(20));
    decimal::<3>(out, ",\"ack_delay\":", delay_us);
    let mut separator = ",\"acked_ranges\":[[";
    for range in ack.ranges() {
        uint(out, separator, *range.start());
        if range.start() != range.end() {
            uint(out, ",", *range.end());
        }
        separator = "],[";
    }
    raw(out, "]]");
    if let Some(ecn) = ack.ecn {
        uint(out, ",\"ect1\":", ecn.ect1);
        uint(out, ",\"ect0\":", ecn.ect0);
        uint(out, ",\"ce\":", ecn.ce);
    }
}

/// Names of the transport errors 0x00 to 0x10 (RFC 9000 section 20.1).
const TRANSPORT_ERRORS: [&str; 17] = [
    "no_error",
    "internal_error",
    "connection_refused",
    "flow_control_error",
    "stream_limit_error",
    "stream_state_error",
    "final_size_error",
    "frame_encoding_error",
    "transport_parameter_error",
    "connection_id_limit_error",
    "protocol_violation",
    "invalid_token",
    "application_error",
    "crypto_buffer_exceeded",
    "key_update_error",
    "aead_limit_reached",
    "no_viable_path",
];

fn connection_close(out: &mut Vec<u8>, error_code: u64, frame_type: Option<u64>, reason: &[u8]) {
    raw(out, "connection_close\",\"error_space\":");
    let name = usize::try_from(error_code).ok().and_then(|code| TRANSPORT_ERRORS.get(code));
    match (frame_type, name) {
        (Some(_), Some(name)) => string(out, "\"transport\",\"error\":", name),
        (Some(_), None) if (0x100..=0x1ff).contains(&error_code) => {
            // CRYPTO_ERROR: 0x100 and the TLS alert (RFC 9001 section 4.8)
            raw(out, "\"transport\",\"error\":\"crypto_error_0x1");
            hex_digits(out, &[error_code as u8]);
            raw(out, "\"");
        }
        (Some(_), None) => {
            uint(out, "\"transport\",\"error\":\"unknown\",\"error_code\":", error_code);
        }
        (None, _) => uint(out, "\"application\",\"error\":\"unknown\",\"error_code\":", error_code),
    }
    match std::str::from_utf8(reason) {
        Ok(text) => string(out, ",\"reason\":", text),
        Err(_) => hex(out, ",\"reason_bytes\":", reason),
    }
    // "A value of 0 ... is used when the frame type is unknown" (RFC 9000 section 19.19).
    if let Some(frame_type) = frame_type.filter(|&frame_type| frame_type != 0) {
        uint(out, ",\"trigger_frame_type\":", frame_type);
    }
}
