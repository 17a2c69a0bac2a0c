//! TLS 1.3 between endpoints that know each other's key: raw Ed25519 public keys (RFC 7250) on both sides.
//!
//! | | |
//! | --- | --- |
//! | identity | the public key in a SubjectPublicKeyInfo; no certificate, no name, no validity, no wall clock |
//! | verification | the key is one of the configured ones, and the peer proves possession of its private key (RFC 8446 section 4.4.3) |
//! | resumption, 0-RTT | none: each connection proves both keys, and no data can be replayed |
//! | randomness | the system's, or seeded for simulations ([`quiclab_stacks::seeded`]) |

use super::keys::{KnownPeers, SecretKey};
use super::randomness::Randomness;
use super::verifier::{Identity, KnownPeerVerifier};
use quiclab_stacks::seeded;
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage};
use rustls::sign::CertifiedKey;
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, ServerConfig};
use std::sync::Arc;

/// Application protocol.
pub(crate) const PROTOCOL: &[u8] = b"quiclab-tunnel/1";
/// Server name: not resolved or checked, but TLS requires one.
pub(crate) const SERVER_NAME: &str = "tunnel.quiclab.test";

/// Time source of TLS: no identity here has a limited validity.
#[derive(Debug)]
pub(super) struct NoClock;

impl TimeProvider for NoClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(std::time::Duration::from_secs(quiclab_stacks::NOW)))
    }
}

pub(super) fn provider(randomness: Randomness) -> Arc<CryptoProvider> {
    Arc::new(match randomness {
        Randomness::System => ring::default_provider(),
        Randomness::Seeded(_) => seeded::provider(),
    })
}

fn identity(key: &SecretKey) -> Arc<CertifiedKey> {
    let signing = ring::sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(key.pkcs8()))
        .expect("any 32 bytes are a private key");
    Arc::new(CertifiedKey::new(vec![CertificateDer::from(key.public().spki())], signing))
}

pub(super) const TLS13: &[&rustls::SupportedProtocolVersion] = &[&rustls::version::TLS13];

/// Configuration of a client.
pub(crate) fn client(key: &SecretKey, peers: &KnownPeers, randomness: Randomness) -> Arc<ClientConfig> {
    let provider = provider(randomness);
    let pinned =
        KnownPeerVerifier { peers: peers.clone(), identity: Identity::RawKey, provider: provider.clone() };
    let mut config = ClientConfig::builder_with_details(provider, Arc::new(NoClock))
        .with_protocol_versions(TLS13)
        .expect("the provider supports TLS 1.3")
        .dangerous() // the verifier above is stricter than any authority
        .with_custom_certificate_verifier(Arc::new(pinned))
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(identity(key))));
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    Arc::new(config)
}

/// Configuration of a server.
pub(crate) fn server(key: &SecretKey, peers: &KnownPeers, randomness: Randomness) -> Arc<ServerConfig> {
    let provider = provider(randomness);
    let pinned =
        KnownPeerVerifier { peers: peers.clone(), identity: Identity::RawKey, provider: provider.clone() };
    let mut config = ServerConfig::builder_with_details(provider, Arc::new(NoClock))
        .with_protocol_versions(TLS13)
        .expect("the provider supports TLS 1.3")
        .with_client_cert_verifier(Arc::new(pinned))
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(identity(key))));
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Arc::new(config)
}
