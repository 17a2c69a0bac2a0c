//! TLS above TCP as flights of a known size with their round trips, and application data as records.
//!
//! Nothing is encrypted: both ends know from the configuration the length of each flight, and from the length
//! of the message the ends of records (see [`crate::workload`]): each record has 16384 B (RFC 8446 section
//! 5.1), the last of a message the rest. "The application sees a record's bytes only when it is complete",
//! because its tag is at its end.
//!
//! Round trips from SYN to the first byte of the response, including that of TCP: TLS 1.3 three, resumed
//! three (no certificate); TLS 1.2 four, resumed three.
//!
//! | flight | TLS 1.3 | resumed | TLS 1.2 | resumed |
//! | --- | --- | --- | --- | --- |
//! | client | ClientHello 517 | 517 | ClientHello 517 | 517 |
//! | server | ServerHello ... Finished 386 + chain | 250 | ServerHello ... ServerHelloDone 257 + chain | ... Finished 160 |
//! | client | Finished 80, request | 80, request | ClientKeyExchange ... Finished 93 | Finished 51, request |
//! | server | two tickets 510 | 510 | ticket, Finished 274 | |
//!
//! Differences from a TLS stack: no 0-RTT, no HelloRetryRequest, no alerts (closing is TCP's FIN alone), a
//! resumed ClientHello is not longer than the padding; a record is written as soon as there is room for a
//! part of it.

use crate::options::{Tls, TlsVersion};
use crate::tls_messages::{self, ALPN, MESSAGE, PRE_SHARED_KEY, SIGNATURE, TICKET};
use quiclab_core::Role;

/// Maximum plaintext of a record in bytes (RFC 8446 section 5.1, RFC 5246 section 6.2.1).
pub(super) const RECORD: u64 = 16_384;
/// Header of a record: type, version, length.
const HEADER: u64 = 5;
/// Overhead of TLS 1.3 on a protected record: header, content type, tag of an AEAD (RFC 8446 section 5.2).
const OVERHEAD_13: u64 = HEADER + 1 + 16;
/// Overhead of TLS 1.2 with AES-GCM: header, explicit nonce, tag (RFC 5288 section 3).
const OVERHEAD_12: u64 = HEADER + 8 + 16;

/// ClientHello as padded by OpenSSL, BoringSSL and NSS: a handshake message of 512 B (RFC 7685) in a record.
const CLIENT_HELLO: u64 = HEADER + 512;
/// ChangeCipherSpec record; TLS 1.3 sends it for middleboxes (RFC 8446 appendix D.4).
const CHANGE_CIPHER_SPEC: u64 = HEADER + 1;
/// ServerHello with the echo of a session ID of 32 B, for middleboxes (RFC 8446 appendix D.4).
const SERVER_HELLO_13: u64 = HEADER + tls_messages::server_hello(32);
const ENCRYPTED_EXTENSIONS: u64 = OVERHEAD_13 + tls_messages::ENCRYPTED_EXTENSIONS;
/// Certificate without the chain.
const CERTIFICATE_13: u64 = OVERHEAD_13 + tls_messages::CERTIFICATE;
const CERTIFICATE_VERIFY: u64 = OVERHEAD_13 + tls_messages::CERTIFICATE_VERIFY;
const FINISHED_13: u64 = OVERHEAD_13 + tls_messages::FINISHED;
/// Tickets: OpenSSL sends two.
const TICKETS_13: u64 = 2 * (OVERHEAD_13 + tls_messages::NEW_SESSION_TICKET);

/// TLS 1.2 (RFC 5246 section 7.4.1.3): as above, with renegotiation_info 5, extended_master_secret 4,
/// session_ticket 4, ec_point_formats 6, ALPN.
const SERVER_HELLO_12: u64 = HEADER + MESSAGE + 2 + 32 + 33 + 2 + 1 + 2 + 5 + 4 + 4 + 6 + ALPN;
/// Certificate without the chain: list 3, two entries of 3 (RFC 5246 section 7.4.2).
const CERTIFICATE_12: u64 = HEADER + MESSAGE + 3 + 2 * 3;
/// ServerKeyExchange: curve 1 + 2, X25519 point 1 + 32, signature (RFC 8422 section 5.4).
const SERVER_KEY_EXCHANGE: u64 = HEADER + MESSAGE + 3 + 33 + SIGNATURE;
/// ServerHelloDone (RFC 5246 section 7.4.5).
const SERVER_HELLO_DONE: u64 = HEADER + MESSAGE;
/// ClientKeyExchange: point 1 + 32 (RFC 8422 section 5.7).
const CLIENT_KEY_EXCHANGE: u64 = HEADER + MESSAGE + 33;
/// Finished: 12 B of verify_data (RFC 5246 section 7.4.9).
const FINISHED_12: u64 = OVERHEAD_12 + MESSAGE + 12;
/// NewSessionTicket: lifetime 4, ticket 2 + 208 (RFC 5077 section 3.3).
const TICKET_12: u64 = HEADER + MESSAGE + 4 + 2 + TICKET;

/// Flights in turn, that of the client first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    /// Sizes in bytes; unused ones are 0.
    flights: [u64; 4],
    /// Number of flights.
    length: usize,
    /// Number of flights after which the client may send its request.
    client_ready: usize,
    /// Bytes added to each record of application data.
    overhead: u64,
}

impl Plan {
    fn new(tls: &Tls) -> Self {
        let chain = |overhead: u64| {
            let chain = tls.certificate.bytes();
            // a message longer than a record is divided into several
            chain + (chain / RECORD) * overhead
        };
        match (tls.version, tls.resumption) {
            (TlsVersion::Tls13, resumption) => {
                let begin = SERVER_HELLO_13 + CHANGE_CIPHER_SPEC + ENCRYPTED_EXTENSIONS + FINISHED_13;
                let identity = if resumption {
                    PRE_SHARED_KEY
                } else {
                    CERTIFICATE_13 + chain(OVERHEAD_13) + CERTIFICATE_VERIFY
                };
                let client = CHANGE_CIPHER_SPEC + FINISHED_13;
                let flights = [CLIENT_HELLO, begin + identity, client, TICKETS_13];
                Self { flights, length: 4, client_ready: 3, overhead: OVERHEAD_13 }
            }
            (TlsVersion::Tls12, false) => {
                let server = SERVER_HELLO_12
                    + CERTIFICATE_12
                    + chain(HEADER)
                    + SERVER_KEY_EXCHANGE
                    + SERVER_HELLO_DONE;
                let client = CLIENT_KEY_EXCHANGE + CHANGE_CIPHER_SPEC + FINISHED_12;
                let end = TICKET_12 + CHANGE_CIPHER_SPEC + FINISHED_12;
                let flights = [CLIENT_HELLO, server, client, end];
                Self { flights, length: 4, client_ready: 4, overhead: OVERHEAD_12 }
            }
            (TlsVersion::Tls12, true) => {
                let finished = CHANGE_CIPHER_SPEC + FINISHED_12;
                let flights = [CLIENT_HELLO, SERVER_HELLO_12 + finished, finished, 0];
                Self { flights, length: 3, client_ready: 3, overhead: OVERHEAD_12 }
            }
        }
    }
}

/// Maps messages of the application to bytes of the stream, and back; with TLS or without.
pub(super) struct Channel {
    role: Role,
    /// Flights of TLS; `None`: without TLS.
    plan: Option<Plan>,
    /// Number of flights sent or received.
    done: usize,
    /// Bytes of the stream that are ready to be written: flights and records.
    queued: u64,
    /// Bytes of the outgoing message that are not in a record yet; `u64::MAX`: without end.
    message: u64,
    /// Bytes of the stream received that belong to a flight or record that is not complete.
    incoming: u64,
    /// Bytes since the start of flights, and of records of an application that makes them itself: made here,
    /// and taken from received data.
    made: u64,
    consumed: u64,
}

impl Channel {
    pub(super) fn new(role: Role, tls: Option<&Tls>) -> Self {
        Self {
            role,
            plan: tls.map(Plan::new),
            done: 0,
            queued: 0,
            message: 0,
            incoming: 0,
            made: 0,
            consumed: 0,
        }
    }

    /// Opens the stream: the client's first flight is ready.
    pub(super) fn open(&mut self) {
        self.shake_hands();
    }

    /// Whether the application may send, with data that are not part of the handshake.
    pub(super) fn is_ready(&self) -> bool {
        self.plan.is_none_or(|plan| match self.role {
            Role::Client => self.done >= plan.client_ready,
            Role::Server => self.done == plan.length,
        })
    }

    /// Queues a message of `bytes` of the application.
    pub(super) fn send(&mut self, bytes: u64) {
        debug_assert_eq!(self.message, 0, "one message at a time");
        self.message = bytes;
    }

    /// Takes up to `most` bytes to write to the stream.
    pub(super) fn take(&mut self, most: u64) -> u64 {
        let overhead = self.plan.map_or(0, |plan| plan.overhead);
        while self.queued < most && self.message > 0 {
            let record = self.message.min(RECORD);
            if self.message != u64::MAX {
                self.message -= record;
            }
            self.queued += record + overhead;
        }
        let taken = self.queued.min(most);
        self.queued -= taken;
        taken
    }

    /// Whether all data queued have been taken.
    pub(super) fn is_empty(&self) -> bool {
        self.queued == 0 && self.message == 0
    }

    /// Discards queued data: the connection ends.
    pub(super) fn discard(&mut self) {
        self.queued = 0;
        self.message = 0;
    }

    /// Handles `bytes` read from the stream while `expected` are missing of the message; returns the number
    /// of bytes that the application receives now.
    pub(super) fn received(&mut self, bytes: u64, mut expected: u64) -> u64 {
        self.incoming += bytes;
        let Some(plan) = self.plan else { return std::mem::take(&mut self.incoming).min(expected) };
        self.shake_hands();
        let mut delivered = 0;
        while self.done == plan.length && expected > 0 {
            let record = expected.min(RECORD);
            if self.incoming < record + plan.overhead {
                break;
            }
            self.incoming -= record + plan.overhead;
            delivered += record;
            if expected != u64::MAX {
                expected -= record;
            }
        }
        delivered
    }

    // records that the application makes

    /// Queues a record of `bytes` of the application; returns the position of its first byte in the stream.
    pub(super) fn send_record(&mut self, bytes: u64) -> u64 {
        let position = 1 + self.made;
        let size = bytes + self.plan.map_or(0, |plan| plan.overhead);
        self.queued += size;
        self.made += size;
        position
    }

    /// Handles `bytes` read from the stream.
    pub(super) fn arrive(&mut self, bytes: u64) {
        self.incoming += bytes;
        self.shake_hands();
    }

    /// Position of the next record to be read.
    pub(super) const fn next_record(&self) -> u64 {
        1 + self.consumed
    }

    /// Takes the bytes of a record with `left` missing bytes that the application reads now: with TLS none
    /// before it is complete.
    pub(super) fn take_record(&mut self, left: u64) -> u64 {
        let (bytes, size) = match self.plan {
            None => (left.min(self.incoming), left.min(self.incoming)),
            Some(plan) if self.done == plan.length && self.incoming >= left + plan.overhead => {
                (left, left + plan.overhead)
            }
            Some(_) => (0, 0),
        };
        self.incoming -= size;
        self.consumed += size;
        bytes
    }

    /// Queues flights of this end and takes complete ones of the peer, as far as they are due.
    fn shake_hands(&mut self) {
        let Some(plan) = self.plan else { return };
        while self.done < plan.length {
            let size = plan.flights[self.done];
            let own = (self.role == Role::Client) == self.done.is_multiple_of(2);
            if own {
                self.queued += size;
                self.made += size;
            } else if self.incoming >= size {
                self.incoming -= size;
                self.consumed += size;
            } else {
                return;
            }
            self.done += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclab_core::ByteCount;

    fn tls(version: TlsVersion, resumption: bool) -> Tls {
        Tls { version, resumption, certificate: ByteCount::from_bytes(3000), early_data: None }
    }

    /// Sums computed by hand from the structures of the messages; the chain is 3000 B.
    #[test]
    fn flights_are_as_long_as_their_messages() {
        // SH 127 + CCS 6 + EE 37 + Certificate 40 + chain + CV 102 + Finished 74; CCS 6 + Finished 74;
        // two tickets of 255
        let full = Plan::new(&tls(TlsVersion::Tls13, false));
        assert_eq!(full.flights, [517, 127 + 6 + 37 + 40 + 3000 + 102 + 74, 80, 510]);
        let resumed = Plan::new(&tls(TlsVersion::Tls13, true));
        assert_eq!(resumed.flights, [517, 127 + 6 + 6 + 37 + 74, 80, 510]);
        // SH 109 + Certificate 18 + chain + SKE 121 + SHD 9; CKE 42 + CCS 6 + Finished 45; ticket 223
        let full = Plan::new(&tls(TlsVersion::Tls12, false));
        assert_eq!(full.flights, [517, 109 + 18 + 3000 + 121 + 9, 42 + 6 + 45, 223 + 6 + 45]);
        let resumed = Plan::new(&tls(TlsVersion::Tls12, true));
        assert_eq!(resumed.flights, [517, 109 + 6 + 45, 6 + 45, 0]);
        let long = Tls { certificate: ByteCount::from_bytes(20_000), ..tls(TlsVersion::Tls13, false) };
        assert_eq!(Plan::new(&long).flights[1], 127 + 6 + 37 + 40 + 20_000 + 22 + 102 + 74);
    }

    /// Exchanges all data of both ends, one direction per half round trip; returns the half round trips until
    /// the client has the first byte of a response of `size`, and the bytes of the stream from client and
    /// server until then.
    fn exchange(tls: Option<&Tls>, size: u64) -> (u32, [u64; 2]) {
        let (mut client, mut server) = (Channel::new(Role::Client, tls), Channel::new(Role::Server, tls));
        client.open();
        server.open();
        assert_eq!(server.is_ready(), tls.is_none(), "not before the client's Finished");
        let (mut asked, mut answered, mut bytes) = (false, false, [0; 2]);
        for half in 0.. {
            assert!(half < 20, "the handshake never ends");
            if half % 2 == 0 {
                if client.is_ready() && !asked {
                    client.send(100);
                    asked = true;
                }
                let sent = client.take(u64::MAX);
                bytes[0] += sent;
                if server.received(sent, 100) == 100 {
                    assert!(server.is_ready());
                    server.send(size);
                    answered = true;
                }
            } else {
                let sent = server.take(u64::MAX);
                bytes[1] += sent;
                if client.received(sent, size) > 0 {
                    assert!(asked && answered && client.is_empty() && server.is_empty());
                    return (half + 1, bytes);
                }
            }
        }
        unreachable!()
    }

    /// Round trips after that of TCP: 2 for TLS 1.3, 3 for TLS 1.2, 2 for a resumed one, 1 without TLS.
    #[test]
    fn the_answer_comes_after_the_round_trips_of_the_version() {
        // application records: request 100 + overhead, response 50 + overhead
        let (tls13, tls12) = (TlsVersion::Tls13, TlsVersion::Tls12);
        assert_eq!(exchange(None, 50), (2, [100, 50]));
        assert_eq!(exchange(Some(&tls(tls13, false)), 50), (4, [517 + 80 + 122, 3386 + 510 + 72]));
        assert_eq!(exchange(Some(&tls(tls13, true)), 50), (4, [517 + 80 + 122, 250 + 510 + 72]));
        assert_eq!(exchange(Some(&tls(tls12, false)), 50), (6, [517 + 93 + 129, 3257 + 274 + 79]));
        assert_eq!(exchange(Some(&tls(tls12, true)), 50), (4, [517 + 51 + 129, 160 + 79]));
    }

    #[test]
    fn a_record_is_delivered_when_it_is_complete() {
        let config = tls(TlsVersion::Tls13, true);
        let mut channel = Channel::new(Role::Client, Some(&config));
        channel.open();
        assert_eq!((channel.take(u64::MAX), channel.is_ready()), (517, false));
        assert_eq!((channel.received(249, 0), channel.is_ready()), (0, false));
        assert_eq!((channel.received(1, 0), channel.is_ready()), (0, true));
        assert_eq!(channel.take(10), 10, "a part of the flight, where there is no more room");
        assert_eq!(channel.take(u64::MAX), 70);
        // tickets, then a message of 20000: records of 16384 + 22 and 3616 + 22
        assert_eq!(channel.received(510 + 16_405, 20_000), 0);
        assert_eq!(channel.received(1, 20_000), 16_384);
        assert_eq!((channel.received(3637, 3616), channel.received(1, 3616)), (0, 3616));
    }

    #[test]
    fn records_of_a_message_do_not_depend_on_how_it_is_taken() {
        let config = tls(TlsVersion::Tls12, true);
        let total = |most: u64| {
            let mut channel = Channel::new(Role::Server, Some(&config));
            channel.open();
            channel.received(517, 0);
            channel.received(51, 0);
            channel.take(u64::MAX);
            channel.send(100_000);
            let mut sum = 0;
            while !channel.is_empty() {
                sum += channel.take(most);
            }
            sum
        };
        // 6 records of 16384 and one of 1696: 7 times 29 B
        assert_eq!((total(1448), total(65_536), total(u64::MAX)), (100_203, 100_203, 100_203));
    }
}
