//! Handshake messages other than the hellos: EncryptedExtensions, Certificate, CertificateVerify, Finished,
//! NewSessionTicket (RFC 8446 sections 4.3.1, 4.4.2, 4.4.3, 4.4.4 and 4.6.1).

use super::certificate;
use super::hello::{SIGNATURE_SCHEME, alpn, early_data};
use super::ids::Ids;
use super::message::{MESSAGE, message, of_length};
use super::random::Random;
use super::{Sender, parameters};
use quiclab_core::quic::{TlsSession, TransportParameters};

const NEW_SESSION_TICKET: u8 = 4;
const ENCRYPTED_EXTENSIONS: u8 = 8;
const CERTIFICATE: u8 = 11;
const CERTIFICATE_VERIFY: u8 = 15;
const FINISHED: u8 = 20;
/// Length of a hash of SHA-384.
const HASH_BYTES: usize = 48;
/// Maximum length of a P-256 signature in DER.
const SIGNATURE_BYTES: usize = 72;
/// Lifetime 4, age_add 4, nonce 1 + 8, length of the ticket 2, of the extensions 2.
const TICKET_FIELDS: usize = MESSAGE + 4 + 4 + 9 + 2 + 2;
/// Length of a message with a ticket as OpenSSL makes it.
const TICKET_MESSAGE: usize = TICKET_FIELDS + 208;
/// Lifetime of a ticket: two hours.
const LIFETIME_S: u32 = 7200;

/// The server's messages at the Handshake level, of `length` bytes in all; `None`: too short for their fields.
pub(super) fn server(
    length: usize,
    of: &TransportParameters,
    ids: &mut Ids,
    random: &Random,
) -> Option<Vec<u8>> {
    let mut extensions = Vec::new();
    alpn(&mut extensions);
    parameters::write(&mut extensions, of, Sender::Server, ids, random);
    if of.session == TlsSession::Early {
        early_data(&mut extensions);
    }
    let length_field = (extensions.len() as u16).to_be_bytes();
    let mut out = message(ENCRYPTED_EXTENSIONS, &[&length_field[..], &extensions].concat());
    let rest = length.checked_sub(out.len() + MESSAGE + HASH_BYTES)?;
    if rest > 0 {
        let verify = MESSAGE + 2 + 2 + SIGNATURE_BYTES;
        let chain = certificate::chain(rest.checked_sub(verify + MESSAGE)?, random)?;
        out.extend(message(CERTIFICATE, &chain));
        let mut body = SIGNATURE_SCHEME.to_vec();
        body.extend_from_slice(&(SIGNATURE_BYTES as u16).to_be_bytes());
        random.append(&mut body, "signature", SIGNATURE_BYTES);
        out.extend(message(CERTIFICATE_VERIFY, &body));
    }
    out.extend(finished(random, "server finished"));
    of_length(out, length)
}

/// The client's message at the Handshake level.
pub(super) fn client(length: usize, random: &Random) -> Option<Vec<u8>> {
    of_length(finished(random, "client finished"), length)
}

fn finished(random: &Random, purpose: &str) -> Vec<u8> {
    message(FINISHED, &random.bytes::<HASH_BYTES>(purpose))
}

/// NewSessionTicket messages of `length` bytes in all: as many as OpenSSL would make, or one.
pub(super) fn tickets(length: usize, random: &Random) -> Option<Vec<u8>> {
    let count = if length.is_multiple_of(TICKET_MESSAGE) { length / TICKET_MESSAGE } else { 1 };
    let ticket =
        (length / count.max(1)).checked_sub(TICKET_FIELDS).filter(|ticket| (1..1 << 16).contains(ticket))?;
    let mut out = Vec::new();
    for number in 0..count as u64 {
        let mut body = LIFETIME_S.to_be_bytes().to_vec();
        random.append(&mut body, "age", 4);
        body.push(8);
        body.extend_from_slice(&number.to_be_bytes());
        body.extend_from_slice(&(ticket as u16).to_be_bytes());
        random.append(&mut body, &format!("ticket {number}"), ticket);
        body.extend_from_slice(&[0, 0]);
        out.extend(message(NEW_SESSION_TICKET, &body));
    }
    of_length(out, length)
}
