//! Lengths of the messages of TLS, as carried in records over TCP and in CRYPTO frames of QUIC.
//!
//! They include type and length of the message, but no records.

/// Type and length of a message.
pub(crate) const MESSAGE: u64 = 4;
/// ECDSA signature of P-256 in DER, of maximum length; with algorithm and length in front.
pub(crate) const SIGNATURE: u64 = 2 + 2 + 72;
/// ALPN extension for a name of two letters, "h2" or "h3": type, length, list length, name length, name
/// (RFC 7301).
pub(crate) const ALPN: u64 = 4 + 2 + 1 + 2;
/// A session ticket of OpenSSL: key name 16, IV 16, session 144, MAC 32 (RFC 5077 section 4).
pub(crate) const TICKET: u64 = 208;

/// Hash of a suite with SHA-384: Finished, PSK binder.
const HASH: u64 = 48;

/// ServerHello of TLS 1.3 (RFC 8446 section 4.1.3) that echoes a session ID of `session_id` bytes: version 2,
/// random 32, session ID 1 + n, suite 2, compression 1, extensions 2: supported_versions 6, key_share of
/// X25519 4 + 2 + 2 + 32.
pub(crate) const fn server_hello(session_id: u64) -> u64 {
    MESSAGE + 2 + 32 + 1 + session_id + 2 + 1 + 2 + 6 + 40
}

/// pre_shared_key of a ServerHello: the selected identity (RFC 8446 section 4.2.11).
pub(crate) const PRE_SHARED_KEY: u64 = 4 + 2;
/// pre_shared_key of a ClientHello: a list of one ticket with its age, a list of one binder (ibid.).
pub(crate) const PRE_SHARED_KEY_OFFER: u64 = 4 + 2 + (2 + TICKET + 4) + 2 + (1 + HASH);
/// early_data of a ClientHello or EncryptedExtensions (RFC 8446 section 4.2.10).
pub(crate) const EARLY_DATA: u64 = 4;
/// EncryptedExtensions with ALPN (RFC 8446 section 4.3.1).
pub(crate) const ENCRYPTED_EXTENSIONS: u64 = MESSAGE + 2 + ALPN;
/// Certificate without the chain: context 1, list 3, two entries of 3 + 2 (RFC 8446 section 4.4.2).
pub(crate) const CERTIFICATE: u64 = MESSAGE + 1 + 3 + 2 * (3 + 2);
/// CertificateVerify (RFC 8446 section 4.4.3).
pub(crate) const CERTIFICATE_VERIFY: u64 = MESSAGE + SIGNATURE;
/// Finished (RFC 8446 section 4.4.4).
pub(crate) const FINISHED: u64 = MESSAGE + HASH;
/// NewSessionTicket: lifetime 4, age_add 4, nonce 1 + 8, ticket 2 + 208, extensions 2 (RFC 8446 section
/// 4.6.1).
pub(crate) const NEW_SESSION_TICKET: u64 = MESSAGE + 4 + 4 + 9 + 2 + TICKET + 2;
