//! Identities: Ed25519 keys (RFC 8032), and the peers that have them.

use ring::signature::{Ed25519KeyPair, KeyPair as _};
use std::collections::BTreeMap;
use std::fmt;

/// The private key of an end: the 32 bytes that RFC 8032 section 5.1.5 calls the private key.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey([u8; 32]);

/// The public key of an end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

/// `PrivateKeyInfo` of an Ed25519 key up to its 32 bytes (RFC 8410 section 7).
const PKCS8_PREFIX: [u8; 16] = *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";
/// `SubjectPublicKeyInfo` of an Ed25519 key up to its 32 bytes (RFC 8410 section 4).
const SPKI_PREFIX: [u8; 12] = *b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";

impl SecretKey {
    /// A key from 32 random bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, to be kept secret.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The corresponding public key.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        let pair = Ed25519KeyPair::from_seed_unchecked(&self.0).expect("any 32 bytes are a private key");
        PublicKey(pair.public_key().as_ref().try_into().expect("a public key has 32 bytes"))
    }

    /// The key as PKCS #8.
    pub(crate) fn pkcs8(&self) -> Vec<u8> {
        [&PKCS8_PREFIX[..], &self.0].concat()
    }
}

impl PublicKey {
    /// Placeholder for the key of a server that is not an Ed25519 key.
    pub const NONE: Self = Self([0; 32]);

    /// Creates a key from these bytes; whether they are a point of the curve is checked with a signature.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The key in a `SubjectPublicKeyInfo` of Ed25519; `None` for other keys.
    #[must_use]
    pub fn from_spki(spki: &[u8]) -> Option<Self> {
        Some(Self(spki.strip_prefix(&SPKI_PREFIX)?.try_into().ok()?))
    }

    /// The key as `SubjectPublicKeyInfo`.
    pub(crate) fn spki(&self) -> Vec<u8> {
        [&SPKI_PREFIX[..], &self.0].concat()
    }
}

/// Known peers. Each has one key, or several while its key is replaced: a session belongs to the peer, whichever key it has
/// proved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownPeers(BTreeMap<PublicKey, usize>);

impl KnownPeers {
    /// Peers with these keys, each of which belongs to one peer.
    #[must_use]
    pub fn new(peers: impl IntoIterator<Item = impl IntoIterator<Item = PublicKey>>) -> Self {
        let numbered = peers.into_iter().enumerate();
        Self(numbered.flat_map(|(peer, keys)| keys.into_iter().map(move |key| (key, peer))).collect())
    }

    /// Whether the key belongs to a known peer.
    #[must_use]
    pub fn has(&self, key: PublicKey) -> bool {
        self.0.contains_key(&key)
    }

    /// Whether both keys belong to one peer.
    #[must_use]
    pub fn is_same(&self, one: PublicKey, other: PublicKey) -> bool {
        one == other || self.0.get(&one).is_some_and(|peer| self.0.get(&other) == Some(peer))
    }
}

/// Peers with one key each.
impl FromIterator<PublicKey> for KnownPeers {
    fn from_iter<I: IntoIterator<Item = PublicKey>>(keys: I) -> Self {
        Self::new(keys.into_iter().map(|key| [key]))
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}
