//! ClientHello and ServerHello (RFC 8446 sections 4.1.2 and 4.1.3), with the lengths of the model.

use super::ids::Ids;
use super::message::{extension, message, of_length};
use super::random::Random;
use super::{Sender, parameters};
use quiclab_core::quic::{TlsSession, TransportParameters};

pub(super) const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
/// `legacy_version`: "TLS 1.2".
const LEGACY_VERSION: [u8; 2] = [3, 3];
const TLS13: [u8; 2] = [3, 4];
/// `TLS_AES_256_GCM_SHA384`: the modelled Finished has 48 bytes.
const SUITE: [u8; 2] = [0x13, 0x02];
const X25519: [u8; 2] = [0, 0x1d];
const KEY_SHARE_BYTES: usize = 32;
/// `ecdsa_secp256r1_sha256`.
pub(super) const SIGNATURE_SCHEME: [u8; 2] = [4, 3];
/// Purpose of the bytes that identify the connection in a key log.
pub(super) const CLIENT_RANDOM: &str = "client random";
/// The ALPN name, with two letters like "h2" and "h3".
const PROTOCOL: &[u8] = b"lq";
const HOST_NAME: &[u8] = b"quiclab.test";
/// Length of a session ticket in the model, and of a PSK binder.
const TICKET_BYTES: usize = 208;
const BINDER_BYTES: usize = 48;
/// Type and length of an extension.
const EXTENSION: usize = 4;

/// Types of extensions (RFC 8446 section 4.2; RFC 6066, RFC 7301, RFC 7685).
mod kind {
    pub(super) const SERVER_NAME: u16 = 0;
    pub(super) const SUPPORTED_GROUPS: u16 = 10;
    pub(super) const SIGNATURE_ALGORITHMS: u16 = 13;
    pub(super) const ALPN: u16 = 16;
    pub(super) const PADDING: u16 = 21;
    pub(super) const PRE_SHARED_KEY: u16 = 41;
    pub(super) const EARLY_DATA: u16 = 42;
    pub(super) const SUPPORTED_VERSIONS: u16 = 43;
    pub(super) const PSK_KEY_EXCHANGE_MODES: u16 = 45;
    pub(super) const KEY_SHARE: u16 = 51;
}

/// The ClientHello of `length` bytes; `None`: it is too short for its fields.
pub(super) fn client(
    length: usize,
    of: &TransportParameters,
    ids: &mut Ids,
    random: &Random,
) -> Option<Vec<u8>> {
    let offer = offer(of.session, random);
    let mut extensions = Vec::new();
    client_extensions(&mut extensions, of, ids, random);
    // type and length 4, version 2, random 32, no session ID 1, one suite 4, no compression 2, length of extensions 2
    let fields = 4 + 2 + 32 + 1 + 4 + 2 + 2;
    let spare = length.checked_sub(fields + extensions.len() + offer.len())?;
    // the server's name: type and length, list 2, type 1, length 2
    let name = EXTENSION + 5 + HOST_NAME.len();
    if let Some(padding) = spare.checked_sub(name) {
        // a remainder too short for the padding extension extends the name
        let (longer, padding) =
            if padding < EXTENSION { (padding, None) } else { (0, Some(padding - EXTENSION)) };
        let host = [&b"www."[..longer], HOST_NAME].concat();
        let [list, own] = [host.len() as u16 + 3, host.len() as u16].map(u16::to_be_bytes);
        extension(&mut extensions, kind::SERVER_NAME, &[&list[..], &[0], &own, &host].concat());
        if let Some(padding) = padding {
            extension(&mut extensions, kind::PADDING, &vec![0; padding]);
        }
    } else if spare > 0 {
        extension(&mut extensions, kind::PADDING, &vec![0; spare.checked_sub(EXTENSION)?]);
    }
    // "The "pre_shared_key" extension MUST be the last extension" (RFC 8446 section 4.2.11)
    extensions.extend(offer);
    let body = [
        &LEGACY_VERSION[..],
        &random.bytes::<32>(CLIENT_RANDOM),
        &[0],
        &[0, 2],
        &SUITE,
        &[1, 0],
        &(extensions.len() as u16).to_be_bytes(),
        &extensions,
    ];
    Some(message(CLIENT_HELLO, &body.concat()))
}

/// Extensions that every ClientHello has.
fn client_extensions(out: &mut Vec<u8>, of: &TransportParameters, ids: &mut Ids, random: &Random) {
    extension(out, kind::SUPPORTED_VERSIONS, &[&[2], &TLS13[..]].concat());
    extension(out, kind::SUPPORTED_GROUPS, &[&[0, 2], &X25519[..]].concat());
    extension(out, kind::SIGNATURE_ALGORITHMS, &[&[0, 2], &SIGNATURE_SCHEME[..]].concat());
    let share = share(random, "client share");
    extension(out, kind::KEY_SHARE, &[&(share.len() as u16).to_be_bytes()[..], &share].concat());
    extension(out, kind::PSK_KEY_EXCHANGE_MODES, &[1, 1]);
    alpn(out);
    parameters::write(out, of, Sender::Client, ids, random);
}

/// A KeyShareEntry.
fn share(random: &Random, purpose: &str) -> Vec<u8> {
    let key: [u8; KEY_SHARE_BYTES] = random.bytes(purpose);
    [&X25519[..], &(KEY_SHARE_BYTES as u16).to_be_bytes(), &key].concat()
}

/// The ALPN extension, of either endpoint.
pub(super) fn alpn(out: &mut Vec<u8>) {
    let length = PROTOCOL.len() as u8;
    extension(out, kind::ALPN, &[&[0, length + 1, length], PROTOCOL].concat());
}

/// Extensions of a ClientHello that offer an earlier session.
fn offer(session: TlsSession, random: &Random) -> Vec<u8> {
    let mut out = Vec::new();
    if session == TlsSession::Early {
        extension(&mut out, kind::EARLY_DATA, &[]);
    }
    if session != TlsSession::New {
        let mut body = ((2 + TICKET_BYTES + 4) as u16).to_be_bytes().to_vec();
        body.extend_from_slice(&(TICKET_BYTES as u16).to_be_bytes());
        random.append(&mut body, "offered ticket", TICKET_BYTES + 4);
        body.extend_from_slice(&(1 + BINDER_BYTES as u16).to_be_bytes());
        body.push(BINDER_BYTES as u8);
        random.append(&mut body, "binder", BINDER_BYTES);
        extension(&mut out, kind::PRE_SHARED_KEY, &body);
    }
    out
}

/// The empty extension by which a server accepts 0-RTT.
pub(super) fn early_data(out: &mut Vec<u8>) {
    extension(out, kind::EARLY_DATA, &[]);
}

/// The ServerHello of `length` bytes; `None`: its fields have another length.
pub(super) fn server(length: usize, session: TlsSession, random: &Random) -> Option<Vec<u8>> {
    let mut extensions = Vec::new();
    extension(&mut extensions, kind::SUPPORTED_VERSIONS, &TLS13);
    extension(&mut extensions, kind::KEY_SHARE, &share(random, "server share"));
    if session != TlsSession::New {
        extension(&mut extensions, kind::PRE_SHARED_KEY, &[0, 0]);
    }
    let body = [
        &LEGACY_VERSION[..],
        &random.bytes::<32>("server random"),
        &[0],
        &SUITE,
        &[0],
        &(extensions.len() as u16).to_be_bytes(),
        &extensions,
    ];
    of_length(message(SERVER_HELLO, &body.concat()), length)
}
