//! Pseudorandom bytes derived from seed, connection and purpose with HKDF (RFC 5869).

use super::ConnectionKey;
use crate::packets::quic::keys::expand;
use ring::hkdf::{HKDF_SHA384, Prk, Salt};

/// Length of one expansion [bytes].
const BLOCK: usize = 32;

/// Source of all bytes of a connection.
#[derive(Clone)]
pub(super) struct Random(Prk);

impl Random {
    pub(super) fn new(seed: u64, key: ConnectionKey) -> Self {
        let input = [&seed.to_be_bytes()[..], &key.flow.to_be_bytes(), &[key.origin]].concat();
        Self(Salt::new(HKDF_SHA384, b"quiclab lab-quic").extract(&input))
    }

    /// Derives `N` bytes for a purpose.
    pub(super) fn bytes<const N: usize>(&self, purpose: &str) -> [u8; N] {
        expand(&self.0, purpose)
    }

    /// Appends `length` bytes for a purpose.
    pub(super) fn append(&self, out: &mut Vec<u8>, purpose: &str, length: usize) {
        let end = out.len() + length;
        let mut block = 0;
        while out.len() < end {
            let bytes: [u8; BLOCK] = self.bytes(&format!("{purpose} {block}"));
            out.extend_from_slice(&bytes[..BLOCK.min(end - out.len())]);
            block += 1;
        }
    }
}
