//! Constants that both ends must share, by their names in tunnel/docs/protocol.md, and examples of frames: a test compares
//! the document with them.

use super::config::TunnelEndpointConfig;
use super::connection::ATTEMPT;
use super::connection_events::{
    CLOSED, NO_ANSWER, REPLACED, TOO_MANY, UNKNOWN_KEY, UNKNOWN_TOKEN, VIOLATION,
};
use super::half_open::UNVALIDATED_PER_PREFIX;
use super::keys::{KnownPeers, SecretKey};
use super::liveness::{MIN_SILENCE, PROBE_INTERVAL};
use super::path_mtu::{MIN_UDP_PAYLOAD, RAISE_TIMER};
use super::randomness::Randomness;
use super::wire::{
    CONTROL_BACKLOG, DATAGRAM_OVERHEAD, FRAGMENT_OVERHEAD, Frame, MAGIC, MAX_CONTROL_BYTES, MAX_FRAGMENTS,
    MAX_WIRE_PATHS, NO_TOKEN, encode_fragment,
};
use super::{fragments, session, tls};
use bytes::BytesMut;
use quiclab_core::Role;

/// Names and values.
#[must_use]
pub fn constants() -> Vec<(&'static str, String)> {
    let text = |bytes: &[u8]| format!("{:?}", String::from_utf8_lossy(bytes));
    let bytes = |count: usize| if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") };
    let usual = TunnelEndpointConfig::new(
        Role::Server,
        SecretKey::from_bytes([0; 32]),
        KnownPeers::default(),
        Randomness::Seeded(0),
    );
    let mut all = vec![
        ("ALPN", text(tls::PROTOCOL)),
        ("first bytes of a Hello", text(MAGIC)),
        ("paths of a session, at most", MAX_WIRE_PATHS.to_string()),
        ("control message, at most", bytes(MAX_CONTROL_BYTES)),
        ("control messages that wait at a sender, at most", bytes(CONTROL_BACKLOG)),
        ("kind of a datagram", bytes(DATAGRAM_OVERHEAD)),
        ("header of a fragment", bytes(FRAGMENT_OVERHEAD)),
        ("fragments of a datagram, at most", MAX_FRAGMENTS.to_string()),
        ("incomplete datagrams that wait, at most", fragments::MAX_INCOMPLETE.to_string()),
        ("bytes of incomplete datagrams, at most", bytes(fragments::MAX_INCOMPLETE_BYTES)),
        ("smallest UDP payload of a path", bytes(MIN_UDP_PAYLOAD.into())),
        ("a connection without Hello or Welcome ends after", ATTEMPT.to_string()),
        ("first wait before a client connects again", session::FIRST_BACKOFF.to_string()),
        ("longest wait before a client connects again", session::MAX_BACKOFF[1].to_string()),
        (
            "wait after a close with code 3 of a connection that the client itself has not replaced",
            session::MAX_BACKOFF[1].to_string(),
        ),
        ("search for a larger MTU again after", format!("{} s", RAISE_TIMER.as_secs())),
    ];
    all.extend([
        (
            "a path that has not answered for so long, and three probe timeouts, is dead",
            MIN_SILENCE.to_string(),
        ),
        ("a dead path is asked each", PROBE_INTERVAL.to_string()),
        ("connections of a server without Hello, at most", usual.max_half_open.to_string()),
        ("from so many of them on, it sends Retry", usual.max_half_open.div_ceil(4).to_string()),
        ("from so many of one /24 or /56 on, it sends Retry", UNVALIDATED_PER_PREFIX.to_string()),
        ("of one /24 or /56, at most", usual.max_half_open.div_ceil(4).to_string()),
        ("sessions of a server, at most", usual.max_sessions.to_string()),
    ]);
    let codes = [CLOSED, VIOLATION, UNKNOWN_TOKEN, REPLACED, TOO_MANY, NO_ANSWER, UNKNOWN_KEY];
    all.extend(codes.map(|(code, reason)| (reason, format!("code {code} of CONNECTION_CLOSE (0x1d)"))));
    all
}

/// Names and bytes: frames of the control stream, and a fragment.
#[must_use]
pub fn examples() -> Vec<(&'static str, Vec<u8>)> {
    let frame = |frame: &Frame| {
        let mut out = BytesMut::new();
        frame.encode(&mut out);
        out.to_vec()
    };
    let token = [0xa5; 16];
    vec![
        (
            "Hello: a new session, path 0, 1472 bytes",
            frame(&Frame::Hello { token: NO_TOKEN, path: 0, payload: 1472 }),
        ),
        ("Welcome", frame(&Frame::Welcome { token })),
        ("Hello: path 1 of that session", frame(&Frame::Hello { token, path: 1, payload: 1472 })),
        ("Message 0 with the bytes `hi`", frame(&Frame::Message { number: 0, message: "hi".into() })),
        ("Received: 1 is expected next", frame(&Frame::Received { next: 1 })),
        ("Path: identifier 2 of QUIC is path 1", frame(&Frame::Path { id: 2, path: 1 })),
        (
            "the second of two fragments of datagram 7, with the bytes `xy`",
            encode_fragment(7, 1, 2, b"xy").to_vec(),
        ),
    ]
}
