//! The random of a ClientHello, out of the Initial packets of a client.
//!
//! Only the first 38 bytes of the hello are kept. Clients divide and reorder the hello on purpose (Chromium: "chaos
//! protection"), so they are put together by offset.

use super::super::key_log::ClientRandom;
use super::header::{Long, Version};
use super::keys::{HeaderKey, PacketKey, Suite, client_initial};
use quiclab_core::quic::{Frame, Frames};

/// Type, length, `legacy_version`, random (RFC 8446 sections 4 and 4.1.2).
const HELLO_BYTES: usize = 38;
const RANDOM_AT: usize = 6;
const CLIENT_HELLO: u8 = 1;

/// The beginning of a ClientHello.
#[derive(Clone, Debug)]
pub(super) struct ClientHelloPrefix {
    bytes: [u8; HELLO_BYTES],
    /// Which of them are there.
    known: u64,
}

impl ClientHelloPrefix {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; HELLO_BYTES], known: 0 }
    }

    fn add(&mut self, offset: u64, data: &[u8]) {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        for (at, &byte) in (offset..HELLO_BYTES).zip(data) {
            self.bytes[at] = byte;
            self.known |= 1 << at;
        }
    }

    /// The random, once it is there.
    pub(super) fn random(&self) -> Option<ClientRandom> {
        let whole = self.known == (1 << HELLO_BYTES) - 1 && self.bytes[0] == CLIENT_HELLO;
        whole.then(|| self.bytes[RANDOM_AT..].try_into().expect("32 bytes"))
    }
}

/// Keys of a client's Initial packets.
pub(super) struct InitialKeys {
    header: HeaderKey,
    packet: PacketKey,
}

impl InitialKeys {
    pub(super) fn new(version: Version, destination: &[u8]) -> Self {
        let secret = client_initial(version, destination);
        Self {
            header: HeaderKey::new(version, Suite::Aes128, &secret),
            packet: PacketKey::new(version, Suite::Aes128, &secret),
        }
    }

    /// Puts the CRYPTO frames of a packet into `hello`; `false` if it does not open.
    pub(super) fn read(&self, long: &Long<'_>, hello: &mut ClientHelloPrefix, scratch: &mut Vec<u8>) -> bool {
        let Some(unmasked) = self.header.unmask(long.packet, long.number) else { return false };
        let number = u64::from(unmasked.number);
        if !self.packet.open(long.packet, &unmasked, number, scratch) {
            return false;
        }
        for frame in Frames::new(&scratch[unmasked.end()..]).flatten() {
            if let Frame::Crypto { offset, data } = frame {
                hello.add(offset, data);
            }
        }
        true
    }
}
