//! TLS 1.3 between two ends that know each other's key: raw Ed25519 public keys (RFC 7250) on both sides.
//!
//! | | |
//! | --- | --- |
//! | identity | the public key in a SubjectPublicKeyInfo; no certificate, no name, no validity, no wall clock |
//! | verification | the key is one of those configured, and the peer proves to have its private key (RFC 8446 section 4.4.3) |
//! | resumption, 0-RTT | none: each connection proves both keys, and nothing can be replayed |
//! | randomness | the system's, or seeded for simulations ([`crate::seeded`]) |

use super::config::Randomness;
use super::keys::{PublicKey, SecretKey};
use crate::seeded;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage};
use rustls::sign::CertifiedKey;
use rustls::time_provider::TimeProvider;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible,
    ServerConfig, SignatureScheme,
};
use std::sync::Arc;

/// Application protocol.
pub(crate) const PROTOCOL: &[u8] = b"quiclab-tunnel/1";
/// No name is looked up or checked, but TLS wants one.
pub(crate) const SERVER_NAME: &str = "tunnel.quiclab.test";

/// Lets in those who prove to have one of `keys`.
#[derive(Debug)]
struct PinnedKeyVerifier {
    keys: Vec<PublicKey>,
    provider: Arc<CryptoProvider>,
}

impl PinnedKeyVerifier {
    fn check(&self, spki: &[u8], chain: &[CertificateDer<'_>]) -> Result<(), Error> {
        let known = PublicKey::from_spki(spki).is_some_and(|key| self.keys.contains(&key));
        if known && chain.is_empty() {
            Ok(())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn check_signature(
        &self,
        message: &[u8],
        spki: &[u8],
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature_with_raw_key(
            message,
            &SubjectPublicKeyInfoDer::from(spki),
            signature,
            algorithms,
        )
    }
}

/// What both traits share; TLS 1.2 is not configured.
macro_rules! signatures {
    () => {
        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Err(PeerIncompatible::Tls12NotOffered.into())
        }
        fn verify_tls13_signature(
            &self,
            message: &[u8],
            key: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.check_signature(message, key, signature)
        }
        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            vec![SignatureScheme::ED25519]
        }
        fn requires_raw_public_keys(&self) -> bool {
            true
        }
    };
}

impl ServerCertVerifier for PinnedKeyVerifier {
    fn verify_server_cert(
        &self,
        key: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(key, chain).map(|()| ServerCertVerified::assertion())
    }
    signatures!();
}

impl ClientCertVerifier for PinnedKeyVerifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }
    fn verify_client_cert(
        &self,
        key: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(key, chain).map(|()| ClientCertVerified::assertion())
    }
    signatures!();
}

/// Nothing here is valid only for a time.
#[derive(Debug)]
pub(super) struct NoClock;

impl TimeProvider for NoClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(std::time::Duration::from_secs(crate::tls::NOW)))
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
pub(crate) fn client(key: &SecretKey, peers: &[PublicKey], randomness: Randomness) -> Arc<ClientConfig> {
    let provider = provider(randomness);
    let pinned = PinnedKeyVerifier { keys: peers.to_vec(), provider: provider.clone() };
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
pub(crate) fn server(key: &SecretKey, peers: &[PublicKey], randomness: Randomness) -> Arc<ServerConfig> {
    let provider = provider(randomness);
    let pinned = PinnedKeyVerifier { keys: peers.to_vec(), provider: provider.clone() };
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

/// The key of the peer of a connection, once it is proved.
pub(crate) fn peer(connection: &noq_proto::Connection) -> Option<PublicKey> {
    let identity = connection.crypto_session().peer_identity()?;
    let keys = identity.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    PublicKey::from_spki(keys.first()?)
}
