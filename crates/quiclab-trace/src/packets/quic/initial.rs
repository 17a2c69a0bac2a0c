//! The random of a ClientHello, from the Initial packets of a client.
//!
//! Only the first 38 bytes of the hello are stored. Clients split and reorder the hello on purpose (Chromium:
//! "chaos protection"), so it is reassembled by offset.

use super::super::key_log::ClientRandom;
use super::header::{Long, Version};
use super::keys::{HeaderKey, PacketKey, Suite, initial_secrets};
use super::secrets::TrialDecryptionBudget;
use quiclab_core::quic::{Frame, Frames};

/// Type, length, `legacy_version`, random (RFC 8446 sections 4 and 4.1.2).
const HELLO_BYTES: usize = 38;
const RANDOM_AT: usize = 6;
const CLIENT_HELLO: u8 = 1;

/// The beginning of a ClientHello.
#[derive(Clone, Debug)]
pub(in super::super) struct ClientHelloPrefix {
    bytes: [u8; HELLO_BYTES],
    /// Bytes that have been received, as bits.
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

    /// Reads the CRYPTO frames of a packet's payload.
    pub(super) fn read(&mut self, payload: &[u8]) {
        for frame in Frames::new(payload).flatten() {
            if let Frame::Crypto { offset, data } = frame {
                self.add(offset, data);
            }
        }
    }

    /// The random, or `None` before it is complete.
    pub(super) fn random(&self) -> Option<ClientRandom> {
        let whole = self.known == (1 << HELLO_BYTES) - 1 && self.bytes[0] == CLIENT_HELLO;
        whole.then(|| self.bytes[RANDOM_AT..].try_into().expect("32 bytes"))
    }
}

/// Keys of Initial packets, derived from the destination that a client chose.
pub(super) struct InitialKeys {
    version: Version,
    destination: Vec<u8>,
    /// Keys of the client, and of the server.
    keys: [(HeaderKey, PacketKey); 2],
}

impl InitialKeys {
    pub(super) fn new(version: Version, destination: &[u8]) -> Self {
        let keys = initial_secrets(version, destination).map(|secret| {
            let header = HeaderKey::new(version, Suite::Aes128, &secret);
            (header, PacketKey::new(version, Suite::Aes128, &secret))
        });
        Self { version, destination: destination.to_vec(), keys }
    }

    /// Switches to another version: "Initial packets [...] using the Negotiated Version" are protected with its salt and
    /// the same destination (RFC 9369 section 4.1).
    pub(super) fn change(&mut self, version: Version, budget: &mut TrialDecryptionBudget) {
        if version != self.version && budget.derive() {
            *self = Self::new(version, &self.destination);
        }
    }

    /// Decrypts a packet; true on success, and then `scratch` is its payload.
    pub(super) fn open(&self, of_server: bool, long: &Long<'_>, scratch: &mut Vec<u8>) -> bool {
        let (header, packet) = &self.keys[usize::from(of_server)];
        let Some(unmasked) = header.unmask(long.packet, long.number) else { return false };
        if !packet.open(long.packet, &unmasked, (0, u64::from(unmasked.number)), scratch) {
            return false;
        }
        scratch.drain(..unmasked.end());
        true
    }
}
