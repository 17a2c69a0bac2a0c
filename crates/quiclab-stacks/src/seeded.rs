//! Seeded random numbers for TLS.
//!
//! rustls draws from its `CryptoProvider`: randoms, session ids, the order of extensions, session tickets,
//! key shares. The provider's fields are `&'static`, so it cannot own the stream of one connection. Instead a
//! driver lends its stream to the current thread while it calls a connection that is still in its handshake
//! ([`with_stream`]), and the provider draws from it. A draw at any other time fails, and with it the
//! connection, so every number is seeded.
//!
//! Keys made this way are not secret. This module is only for simulations.

use quiclab_core::RandomStream;
use rustls::crypto::ring::{cipher_suite, default_provider};
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret, SupportedKxGroup,
};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, PeerMisbehaved};
use std::cell::RefCell;
use x25519_dalek::{PublicKey, StaticSecret};

thread_local! {
    /// Random stream lent by the driver that is calling a connection; `None` at other times.
    static CURRENT: RefCell<Option<RandomStream>> = const { RefCell::new(None) };
}

/// Runs `call` with `stream` lent to TLS on this thread.
pub fn with_stream<R>(stream: &mut Option<RandomStream>, call: impl FnOnce() -> R) -> R {
    /// Returns the stream when dropped, also if `call` panics.
    struct StreamLoan<'a>(&'a mut Option<RandomStream>);
    impl Drop for StreamLoan<'_> {
        fn drop(&mut self) {
            *self.0 = CURRENT.take();
        }
    }
    CURRENT.set(stream.take());
    let _lent = StreamLoan(stream);
    call()
}

fn fill(bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
    CURRENT
        .with_borrow_mut(|current| current.as_mut().map(|stream| stream.fill(bytes)))
        .ok_or(GetRandomFailed)
}

/// TLS 1.3 with TLS_AES_128_GCM_SHA256 and X25519 only, drawing from the lent stream. With one suite and one
/// group the handshake does not depend on the peer's preferences.
pub fn provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: vec![cipher_suite::TLS13_AES_128_GCM_SHA256],
        kx_groups: vec![&SeededX25519],
        secure_random: &SeededRandom,
        ..default_provider()
    }
}

#[derive(Debug)]
struct SeededRandom;

impl SecureRandom for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        fill(bytes)
    }
}

/// X25519 (RFC 7748) with a private key from the lent stream; ring's takes no key from outside.
#[derive(Debug)]
struct SeededX25519;

impl SupportedKxGroup for SeededX25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut key = [0; 32];
        fill(&mut key)?;
        let secret = StaticSecret::from(key);
        let public = PublicKey::from(&secret);
        Ok(Box::new(KeyShare { secret, public }))
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

struct KeyShare {
    secret: StaticSecret,
    public: PublicKey,
}

impl ActiveKeyExchange for KeyShare {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer: [u8; 32] = peer.try_into().map_err(|_| PeerMisbehaved::InvalidKeyShare)?;
        let shared = self.secret.diffie_hellman(&PublicKey::from(peer));
        // RFC 8446 section 7.4.2: "MUST check whether [...] the all-zero value"
        if !shared.was_contributory() {
            return Err(PeerMisbehaved::InvalidKeyShare.into());
        }
        Ok(SharedSecret::from(&shared.as_bytes()[..]))
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }

    fn pub_key(&self) -> &[u8] {
        self.public.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_only_while_a_stream_is_lent() {
        let mut bytes = [0; 8];
        assert!(fill(&mut bytes).is_err());
        let mut stream = Some(RandomStream::new(1, "a"));
        let mut drawn = || with_stream(&mut stream, || fill(&mut bytes).map(|()| bytes)).unwrap();
        let (first, second) = (drawn(), drawn());
        let mut expected = RandomStream::new(1, "a");
        for drawn in [first, second] {
            let mut bytes = [0; 8];
            expected.fill(&mut bytes);
            assert_eq!(drawn, bytes);
        }
        assert!(fill(&mut bytes).is_err());
    }

    #[test]
    fn agrees_with_the_vector_of_rfc_7748_section_6_1() {
        let secret =
            StaticSecret::from(hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"));
        let share = || Box::new(KeyShare { secret: secret.clone(), public: PublicKey::from(&secret) });
        let peer = hex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
        let shared = hex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
        assert_eq!(share().complete(&peer).unwrap().secret_bytes(), shared);
        assert!(share().complete(&[0; 32]).is_err(), "the all-zero point");
        assert!(share().complete(&peer[1..]).is_err(), "31 bytes");
    }

    fn hex(digits: &str) -> [u8; 32] {
        std::array::from_fn(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap())
    }
}
