//! Packet protection and header protection (RFC 9001 section 5), for reading and for writing.

use super::super::key_log::Secret;
use super::header::Version;
use ring::aead::quic::{AES_128, AES_256, CHACHA20, HeaderProtectionKey};
use ring::aead::{
    AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey, quic,
};
use ring::hkdf::{HKDF_SHA256, HKDF_SHA384, KeyType, Prk, Salt};

/// "the sample of ciphertext is taken starting from an offset of 4 bytes after the start of the Packet Number field"
/// (RFC 9001 section 5.4.2).
pub(crate) const SAMPLE_OFFSET: usize = 4;
const SAMPLE_BYTES: usize = 16;
/// Length of the tag of all cipher suites.
pub(crate) const TAG_BYTES: usize = 16;
const NONCE_BYTES: usize = 12;

/// A cipher suite of TLS 1.3 that QUIC uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suite {
    Aes128,
    Aes256,
    ChaCha20,
}

impl Suite {
    fn algorithms(self) -> (&'static Algorithm, &'static quic::Algorithm) {
        match self {
            Self::Aes128 => (&AES_128_GCM, &AES_128),
            Self::Aes256 => (&AES_256_GCM, &AES_256),
            Self::ChaCha20 => (&CHACHA20_POLY1305, &CHACHA20),
        }
    }

    /// Cipher suites that a secret may belong to: its length is that of the hash.
    pub(super) fn of(secret: &Secret) -> &'static [Self] {
        match secret {
            Secret::Short(_) => &[Self::Aes128, Self::ChaCha20],
            Secret::Long(_) => &[Self::Aes256],
        }
    }
}

/// Length of the expanded output.
struct Bytes(usize);

impl KeyType for Bytes {
    fn len(&self) -> usize {
        self.0
    }
}

/// HKDF-Expand-Label with an empty context (RFC 8446 section 7.1).
pub(crate) fn expand<const N: usize>(secret: &Prk, label: &str) -> [u8; N] {
    let lengths = [0, N as u8, b"tls13 ".len() as u8 + label.len() as u8];
    let info = [&lengths[..], b"tls13 ", label.as_bytes(), &[0]];
    let mut bytes = [0; N];
    let expanded = secret.expand(&info, Bytes(N)).and_then(|okm| okm.fill(&mut bytes));
    expanded.expect("48 bytes are less than 255 hashes");
    bytes
}

fn extracted(secret: &Secret) -> Prk {
    match secret {
        Secret::Short(bytes) => Prk::new_less_safe(HKDF_SHA256, bytes),
        Secret::Long(bytes) => Prk::new_less_safe(HKDF_SHA384, bytes),
    }
}

/// Labels of RFC 9001 section 5.1 and RFC 9369 section 3.3.2.
struct Labels {
    key: &'static str,
    iv: &'static str,
    header: &'static str,
    update: &'static str,
}

impl Version {
    fn labels(self) -> Labels {
        match self {
            Self::Two => {
                Labels { key: "quicv2 key", iv: "quicv2 iv", header: "quicv2 hp", update: "quicv2 ku" }
            }
            _ => Labels { key: "quic key", iv: "quic iv", header: "quic hp", update: "quic ku" },
        }
    }

    /// Salts of RFC 9001 section 5.2, RFC 9369 section 3.3.1 and draft-ietf-quic-tls-29 and -27, section 5.2.
    fn salt(self) -> &'static [u8; 20] {
        match self {
            Self::One => b"\x38\x76\x2c\xf7\xf5\x59\x34\xb3\x4d\x17\x9a\xe6\xa4\xc8\x0c\xad\xcc\xbb\x7f\x0a",
            Self::Two => b"\x0d\xed\xe3\xde\xf7\x00\xa6\xdb\x81\x93\x81\xbe\x6e\x26\x9d\xcb\xf9\xbd\x2e\xd9",
            Self::Draft29 => {
                b"\xaf\xbf\xec\x28\x99\x93\xd2\x4c\x9e\x97\x86\xf1\x9c\x61\x11\xe0\x43\x90\xa8\x99"
            }
            Self::Draft27 => {
                b"\xc3\xee\xf7\x12\xc7\x2e\xbb\x5a\x11\xa7\xd2\x43\x2b\xb4\x63\x65\xbe\xf9\xf5\x02"
            }
        }
    }
}

/// Key and IV that protect payloads.
pub(crate) struct PacketKey {
    key: LessSafeKey,
    iv: [u8; NONCE_BYTES],
}

impl PacketKey {
    pub(crate) fn new(version: Version, suite: Suite, secret: &Secret) -> Self {
        let (secret, labels) = (extracted(secret), version.labels());
        let algorithm = suite.algorithms().0;
        let key = match algorithm.key_len() {
            16 => UnboundKey::new(algorithm, &expand::<16>(&secret, labels.key)),
            _ => UnboundKey::new(algorithm, &expand::<32>(&secret, labels.key)),
        };
        Self {
            key: LessSafeKey::new(key.expect("the key has the length of its algorithm")),
            iv: expand(&secret, labels.iv),
        }
    }

    /// `path`: path ID of Multipath QUIC, otherwise 0.
    fn nonce(&self, path: u32, number: u64) -> Nonce {
        // "The 62 bits of the reconstructed QUIC packet number in network byte order are left-padded with zeros to
        // the size of the IV. The exclusive OR of the padded packet number and the IV forms the AEAD nonce."
        let mut nonce = self.iv;
        // "a 96-bit path-and-packet-number is composed of the least significant 32 bits of the Path ID [...], two zero
        // bits, and the 62 bits of the reconstructed QUIC packet number" (draft-ietf-quic-multipath-21 section 2.4)
        let input = path.to_be_bytes().into_iter().chain(number.to_be_bytes());
        for (byte, input) in nonce.iter_mut().zip(input) {
            *byte ^= input;
        }
        Nonce::assume_unique_for_key(nonce)
    }

    /// Decrypts the unmasked `packet` in `scratch`, which then has the header and the payload, without the tag. `path`: path
    /// ID of Multipath QUIC, otherwise 0.
    pub(crate) fn open(
        &self,
        packet: &[u8],
        unmasked: &Unmasked,
        (path, number): (u32, u64),
        scratch: &mut Vec<u8>,
    ) -> bool {
        scratch.clear();
        scratch.extend_from_slice(packet);
        let (header, payload) = scratch.split_at_mut(unmasked.end());
        header[0] = unmasked.first;
        header[unmasked.at..].copy_from_slice(&unmasked.number.to_be_bytes()[4 - unmasked.length..]);
        let opened = self.key.open_in_place(self.nonce(path, number), Aad::from(&*header), payload);
        let Ok(length) = opened.map(|plaintext| plaintext.len()) else { return false };
        scratch.truncate(unmasked.end() + length);
        true
    }

    /// Encrypts `payload` and returns its tag; `path`: path ID of Multipath QUIC, otherwise 0.
    pub(crate) fn seal(&self, header: &[u8], path: u32, number: u64, payload: &mut [u8]) -> [u8; TAG_BYTES] {
        let nonce = self.nonce(path, number);
        let sealed = self.key.seal_in_place_separate_tag(nonce, Aad::from(header), payload);
        let tag = sealed.expect("a packet is short");
        tag.as_ref().try_into().expect("a tag has 16 bytes")
    }
}

/// First byte and packet number without header protection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unmasked {
    pub(crate) first: u8,
    /// Offset of the packet number.
    pub(crate) at: usize,
    /// Length of the packet number, and its truncated value.
    pub(crate) length: usize,
    pub(crate) number: u32,
}

impl Unmasked {
    /// Length of the header.
    pub(super) fn end(&self) -> usize {
        self.at + self.length
    }

    /// Number of values of the truncated packet number.
    pub(super) fn window(&self) -> u64 {
        1 << (8 * self.length)
    }

    /// Full packet number, given the `largest` one before it (RFC 9000 appendix A.3).
    pub(crate) fn expanded(&self, largest: Option<u64>) -> u64 {
        let (expected, window) = (largest.map_or(0, |largest| largest + 1), self.window());
        let candidate = expected & !(window - 1) | u64::from(self.number);
        if candidate + window / 2 <= expected && candidate < (1 << 62) - window {
            candidate + window
        } else if candidate > expected + window / 2 && candidate >= window {
            candidate - window
        } else {
            candidate
        }
    }
}

/// Key of header protection.
pub(crate) struct HeaderKey(HeaderProtectionKey);

impl HeaderKey {
    pub(crate) fn new(version: Version, suite: Suite, secret: &Secret) -> Self {
        let (secret, label) = (extracted(secret), version.labels().header);
        let algorithm = suite.algorithms().1;
        let key = match algorithm.key_len() {
            16 => HeaderProtectionKey::new(algorithm, &expand::<16>(&secret, label)),
            _ => HeaderProtectionKey::new(algorithm, &expand::<32>(&secret, label)),
        };
        Self(key.expect("the key has the length of its algorithm"))
    }

    /// Unprotected fields of a header whose packet number begins at `at`; `None`: the packet is too short, or its
    /// reserved bits are set, which also means that the key is wrong.
    pub(crate) fn unmask(&self, packet: &[u8], at: usize) -> Option<Unmasked> {
        let sample = packet.get(at + SAMPLE_OFFSET..at + SAMPLE_OFFSET + SAMPLE_BYTES)?;
        let mask = self.0.new_mask(sample).expect("a sample has 16 bytes");
        let protected = protected_bits(packet[0]);
        let reserved = if packet[0] & 0x80 == 0 { 0x18 } else { 0x0c };
        let first = packet[0] ^ mask[0] & protected;
        let length = usize::from(first & 3) + 1;
        let number = (0..length)
            .fold(0, |number, index| number << 8 | u32::from(packet[at + index] ^ mask[1 + index]));
        (first & reserved == 0).then_some(Unmasked { first, at, length, number })
    }

    /// Protects the header of an encrypted packet whose packet number begins at `at` and has `length` bytes.
    ///
    /// # Panics
    /// If the packet is too short for a sample.
    pub(crate) fn protect(&self, packet: &mut [u8], at: usize, length: usize) {
        let sample = &packet[at + SAMPLE_OFFSET..][..SAMPLE_BYTES];
        let mask = self.0.new_mask(sample).expect("a sample has 16 bytes");
        packet[0] ^= mask[0] & protected_bits(packet[0]);
        for (byte, mask) in packet[at..at + length].iter_mut().zip(&mask[1..]) {
            *byte ^= mask;
        }
    }
}

/// "the four least significant bits of the first byte are protected for packets with long headers; the five least
/// significant bits [...] for packets with short headers" (RFC 9001 section 5.4.1).
fn protected_bits(first: u8) -> u8 {
    if first & 0x80 == 0 { 0x1f } else { 0x0f }
}

/// The secret after a key update (RFC 9001 section 6.1).
pub(super) fn updated(version: Version, secret: &Secret) -> Secret {
    let label = version.labels().update;
    match secret {
        Secret::Short(_) => Secret::Short(expand(&extracted(secret), label)),
        Secret::Long(_) => Secret::Long(expand(&extracted(secret), label)),
    }
}

/// The secrets of the Initial packets of a client that chose this destination, and of its server (RFC 9001 section 5.2).
pub(crate) fn initial_secrets(version: Version, destination: &[u8]) -> [Secret; 2] {
    let initial = Salt::new(HKDF_SHA256, version.salt()).extract(destination);
    ["client in", "server in"].map(|label| Secret::Short(expand(&initial, label)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figure 3 of draft-ietf-quic-multipath-21: path ID 3, packet number 54321.
    #[test]
    fn nonce_of_multipath_quic() {
        let mut key = PacketKey::new(Version::One, Suite::Aes128, &Secret::Short([0; 32]));
        key.iv = *b"\x6b\x26\x11\x4b\x9c\xba\x2b\x63\xa9\xe8\xdd\x4f";
        let nonce = key.nonce(3, 54_321);
        assert_eq!(nonce.as_ref(), b"\x6b\x26\x11\x48\x9c\xba\x2b\x63\xa9\xe8\x09\x7e");
    }
}
