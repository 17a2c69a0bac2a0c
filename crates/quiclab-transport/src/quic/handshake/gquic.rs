//! QUIC Crypto of Google QUIC 37: hellos and rejections on the crypto stream, stream 1.
//!
//! ```text
//! full               CHLO (inchoate)        → REJ
//!                    CHLO, data             → SHLO, data
//! chain too long     CHLO (inchoate)        → REJ without chain
//!                    CHLO (with its token)  → REJ
//!                    CHLO, data             → SHLO, data
//! cached             CHLO, data if 0-RTT    → SHLO, data
//! 0-RTT rejected     CHLO, data             → REJ
//!                    CHLO, data             → SHLO, data
//! ```
//!
//! After Chromium of 2017: `quic_crypto_client_stream.cc` (`DoSendCHLO`), `quic_crypto_client_config.cc`
//! (`FillInchoateClientHello`, `FillClientHello`), `quic_crypto_server_config.cc` (`BuildRejection`,
//! `ProcessClientHello`, `GenerateConfig`), `quic_config.cc`. A message has tag 4, number of entries 2, zeros
//! 2, and for each entry tag 4 and end 4 before the values (`crypto_framer.cc`).
//!
//! | difference | here |
//! | --- | --- |
//! | data after a hello made of a fresh REJ | `OneRtt`, although the keys are the initial ones until the SHLO |
//! | certificate chain | as long as configured: the scenario accounts for compression |
//! | cached config without early data | the client waits for the SHLO, as with `require_confirmation` |
//! | SCUP, SREJ | never sent |
//! | proof | ECDSA of P-256, 72 B; no SCT |

use super::{Config, EarlyState, Level, Streams};
use crate::options::{EarlyData, Tls};
use quiclab_core::quic::TransportParameters;
use quiclab_core::{PacketSpace, Role};

/// Length of a message of these entries.
const fn message(values: &[u64]) -> u64 {
    let mut length = 4 + 2 + 2;
    let mut index = 0;
    while index < values.len() {
        length += 4 + 4 + values[index];
        index += 1;
    }
    length
}

/// `kClientHelloMinimumSize`.
const MIN_HELLO: u64 = 1024;
/// `kFramingOverhead`: an inchoate CHLO is padded to the rest of a packet.
const FRAMING: u64 = 50;
/// Source-address token and server nonce, as in the comment on `kREJOverheadBytes`.
const TOKEN: u64 = 56;
const SERVER_NONCE: u64 = 56;
/// Signature of the server config.
const PROOF: u64 = 72;
/// Number of certificates of a chain.
const CERTIFICATES: u64 = 2;
/// Bytes of a chain of certificates that the client has: type and hash of each, end of the list
/// (`cert_compressor.cc`).
const KNOWN_CHAIN: u64 = CERTIFICATES * (1 + 8) + 1;
/// KEXS 4, AEAD 8, PUBS 3 + 32, EXPY 8, ORBT 8, SCID 16.
const SERVER_CONFIG: u64 = message(&[4, 8, 35, 8, 8, 16]);
/// SCFG, STK, STTL 8, SNO, RREJ 4.
const SHORT_REJ: u64 = message(&[SERVER_CONFIG, TOKEN, 8, SERVER_NONCE, 4]);
/// Rejection with CRT and PROF, without the chain.
const REJ: u64 = SHORT_REJ + 2 * 8 + PROOF;
/// Entries of a full CHLO beside those of an inchoate one: SCID 16, STK, CCRT 8 each, AEAD 4, KEXS 4, NONC
/// 32, SNO, PUBS 32, XLCT 8.
const FULL: u64 = message(&[16, TOKEN, CERTIFICATES * 8, 4, 4, 32, SERVER_NONCE, 32, 8]) - message(&[]);
/// VER of three versions 12, STK, CADR of IPv4 8, PUBS 32, SNO; ICSL, SCLS, MSPC, MIDS, SFCW, CFCW 4 each.
const SHLO: u64 = message(&[12, TOKEN, 8, 32, SERVER_NONCE, 4, 4, 4, 4, 4, 4]);
/// `kMultiplier`: without a valid token, chain and proof must be below this multiple of the CHLO ...
const MULTIPLIER: u64 = 3;
/// ... less `kREJOverheadBytes`.
const REJ_OVERHEAD: u64 = 166;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    /// Without certificates: the address is not validated and the chain too long.
    ShortRej,
    Rej,
    Shlo,
}

/// Replies of the server, given the length of the first CHLO.
fn replies(tls: &Tls, hello: u64) -> &'static [Reply] {
    let unverified = (MULTIPLIER * hello).saturating_sub(REJ_OVERHEAD);
    match (tls.resumption, tls.early_data) {
        (true, Some(EarlyData::Rejected)) => &[Reply::Rej, Reply::Shlo],
        (true, _) => &[Reply::Shlo],
        (false, _) if PROOF + tls.certificate.bytes() < unverified => &[Reply::Rej, Reply::Shlo],
        (false, _) => &[Reply::ShortRej, Reply::Rej, Reply::Shlo],
    }
}

/// Endpoint of QUIC Crypto.
#[derive(Clone, Debug)]
pub(super) struct Gquic {
    role: Role,
    tls: Tls,
    /// Lengths of the hellos of a client.
    inchoate: u64,
    full: u64,
    /// Replies of the server in turn; a server knows them from the first hello.
    replies: &'static [Reply],
    /// Number of replies sent (server) or received (client).
    done: usize,
    /// End of the last complete message in the peer's stream.
    heard: u64,
}

impl Gquic {
    pub(super) fn new(config: &Config, role: Role, streams: &mut Streams) -> Self {
        let content = config.fixed.client_hello.bytes();
        let inchoate = content.max(MIN_HELLO).max(config.datagram_size.bytes().saturating_sub(FRAMING));
        let full = (content + FULL).max(MIN_HELLO);
        let tls = config.tls.clone();
        let first = if tls.resumption { full } else { inchoate };
        let mut replies: &[Reply] = &[];
        if role == Role::Client {
            streams.queue(Level::Initial, first);
            replies = self::replies(&tls, first);
        }
        Self { role, tls, inchoate, full, replies, done: 0, heard: 0 }
    }

    /// Responds to the messages that have arrived.
    pub(super) fn advance(&mut self, streams: &mut Streams) {
        let Some(end) = streams.complete(Level::Initial).filter(|&end| end > self.heard) else { return };
        if self.role == Role::Server && self.replies.is_empty() {
            self.replies = replies(&self.tls, end);
        }
        self.heard = end;
        let Some(&reply) = self.replies.get(self.done) else { return };
        self.done += 1;
        let chain = if self.tls.resumption { KNOWN_CHAIN } else { self.tls.certificate.bytes() };
        let next = match (self.role, reply) {
            (Role::Client, Reply::ShortRej) => self.inchoate,
            (Role::Client, Reply::Rej) => self.full,
            (Role::Client, Reply::Shlo) => 0,
            (Role::Server, Reply::ShortRej) => SHORT_REJ,
            (Role::Server, Reply::Rej) => REJ + chain,
            (Role::Server, Reply::Shlo) => SHLO,
        };
        streams.queue(Level::Initial, next);
    }

    /// Packet number space of sent packets: only those of a client before the first packet of the server have
    /// a version.
    pub(super) fn space(&self) -> PacketSpace {
        if self.role == Role::Client && self.done == 0 {
            PacketSpace::Initial
        } else {
            PacketSpace::Handshake
        }
    }

    /// Whether a server has accepted the hello, or a client has the server's ("confirmed" in Chromium).
    fn confirmed(&self) -> bool {
        self.done > 0 && self.done == self.replies.len()
    }

    pub(super) fn can_send(&self, space: PacketSpace, streams: &Streams) -> bool {
        match (space, self.role) {
            (PacketSpace::Initial | PacketSpace::Handshake, _) => true,
            (PacketSpace::ZeroRtt, Role::Client) => {
                matches!(self.early_data(streams), EarlyState::Pending | EarlyState::Accepted)
            }
            (PacketSpace::ZeroRtt, Role::Server) => false,
            (PacketSpace::OneRtt, Role::Client) => {
                self.done > 0 && self.replies[self.done - 1] != Reply::ShortRej
            }
            (PacketSpace::OneRtt, Role::Server) => self.confirmed(),
        }
    }

    pub(super) fn can_receive(&self, space: PacketSpace, streams: &Streams) -> bool {
        match space {
            PacketSpace::Initial | PacketSpace::Handshake => true,
            PacketSpace::ZeroRtt => {
                self.role == Role::Server && self.early_data(streams) == EarlyState::Accepted
            }
            PacketSpace::OneRtt => self.confirmed(),
        }
    }

    pub(super) fn peer_parameters<'a>(&self, streams: &'a Streams) -> Option<&'a TransportParameters> {
        streams.peer(Level::Initial).filter(|_| self.confirmed())
    }

    pub(super) fn is_complete(&self, _streams: &Streams) -> bool {
        self.confirmed()
    }

    pub(super) fn early_data(&self, _streams: &Streams) -> EarlyState {
        match self.tls.early_data {
            None => EarlyState::None,
            Some(_) if self.done == 0 => EarlyState::Pending,
            Some(EarlyData::Accepted) => EarlyState::Accepted,
            Some(EarlyData::Rejected) => EarlyState::Rejected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::TlsVersion;
    use quiclab_core::ByteCount;

    /// 8 for the message, 8 for each entry, values.
    #[test]
    fn messages_are_as_long_as_their_entries() {
        assert_eq!(SERVER_CONFIG, 8 + 6 * 8 + 79);
        assert_eq!(SHORT_REJ, 8 + 5 * 8 + 135 + 56 + 8 + 56 + 4);
        assert_eq!((SHORT_REJ, REJ), (307, 395));
        assert_eq!(FULL, 9 * 8 + 224);
        assert_eq!(SHLO, 8 + 11 * 8 + 12 + 56 + 8 + 32 + 56 + 24);
    }

    /// 3 * 1300 - 166 = 3734: chain and proof of 72 are below.
    #[test]
    fn a_long_chain_needs_a_validated_address() {
        let tls = |certificate, resumption| Tls {
            version: TlsVersion::Tls13,
            resumption,
            certificate: ByteCount::from_bytes(certificate),
            early_data: None,
        };
        assert_eq!(replies(&tls(3661, false), 1300), [Reply::Rej, Reply::Shlo]);
        assert_eq!(replies(&tls(3662, false), 1300), [Reply::ShortRej, Reply::Rej, Reply::Shlo]);
        assert_eq!(replies(&tls(3662, true), 1300), [Reply::Shlo]);
    }
}
