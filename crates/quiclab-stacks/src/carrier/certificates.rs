//! TLS 1.3 of CONNECT-IP: X.509 certificates, which other implementations have.
//!
//! | | |
//! | --- | --- |
//! | a server knows its clients | by the Ed25519 key in their certificate, one of those configured; issuer, names and validity do not matter, as with raw keys. Without a certificate there is no connection |
//! | a client knows its server | by the same, or by authorities and the host's name (RFC 5280) |
//! | resumption, 0-RTT | none |

use super::config::Randomness;
use super::connect_ip::{ConnectIpConfig, ServerTrust};
use super::keys::PublicKey;
use super::tls::{NoClock, TLS13, provider};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoServerSessionStorage, ParsedCertificate};
use rustls::sign::SingleCertAndKey;
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible,
    RootCertStore, ServerConfig, SignatureScheme,
};
use std::sync::Arc;

/// Application protocol (RFC 9114 section 3.1).
const PROTOCOL: &[u8] = b"h3";

/// Lets in those whose certificate has one of `keys`.
#[derive(Debug)]
struct PinnedCertificateVerifier {
    keys: Vec<PublicKey>,
    provider: Arc<CryptoProvider>,
}

impl PinnedCertificateVerifier {
    fn check(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        match key_of(certificate).filter(|key| self.keys.contains(key)) {
            Some(_) => Ok(()),
            None => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }
}

/// The Ed25519 key of a certificate, if it has one.
fn key_of(certificate: &CertificateDer<'_>) -> Option<PublicKey> {
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    PublicKey::from_spki(&parsed.subject_public_key_info())
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
            certificate: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            let algorithms = &self.provider.signature_verification_algorithms;
            verify_tls13_signature(message, certificate, signature, algorithms)
        }
        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            vec![SignatureScheme::ED25519]
        }
    };
}

impl ServerCertVerifier for PinnedCertificateVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(certificate).map(|()| ServerCertVerified::assertion())
    }
    signatures!();
}

impl ClientCertVerifier for PinnedCertificateVerifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }
    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(certificate).map(|()| ClientCertVerified::assertion())
    }
    signatures!();
}

fn clock(randomness: Randomness) -> Arc<dyn TimeProvider> {
    match randomness {
        Randomness::System => Arc::new(DefaultTimeProvider),
        Randomness::Seeded(_) => Arc::new(NoClock),
    }
}

/// Who the server of a client is.
fn server_verifier(
    trust: Option<&ServerTrust>,
    provider: &Arc<CryptoProvider>,
) -> Arc<dyn ServerCertVerifier> {
    let pinned = |keys| Arc::new(PinnedCertificateVerifier { keys, provider: provider.clone() });
    match trust {
        None => pinned(Vec::new()), // no key is known
        Some(ServerTrust::Key(key)) => pinned(vec![*key]),
        Some(ServerTrust::Authorities(authorities)) => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(authorities.iter().cloned());
            match WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build() {
                Ok(verifier) => verifier,
                Err(_) => pinned(Vec::new()), // no authority is known
            }
        }
    }
}

/// Configuration of a client.
pub(super) fn client(config: &ConnectIpConfig, randomness: Randomness) -> Arc<ClientConfig> {
    let provider = provider(randomness);
    let verifier = server_verifier(config.trust.as_ref(), &provider);
    let own = SingleCertAndKey::from(config.certified.clone());
    let mut tls = ClientConfig::builder_with_details(provider, clock(randomness))
        .with_protocol_versions(TLS13)
        .expect("the provider supports TLS 1.3")
        .dangerous() // the verifier is that of an authority, or stricter
        .with_custom_certificate_verifier(verifier)
        .with_client_cert_resolver(Arc::new(own));
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    tls.resumption = Resumption::disabled();
    Arc::new(tls)
}

/// Configuration of a server whose clients have one of the keys `peers`.
pub(super) fn server(
    config: &ConnectIpConfig,
    peers: &[PublicKey],
    randomness: Randomness,
) -> Arc<ServerConfig> {
    let provider = provider(randomness);
    let pinned = PinnedCertificateVerifier { keys: peers.to_vec(), provider: provider.clone() };
    let mut tls = ServerConfig::builder_with_details(provider, clock(randomness))
        .with_protocol_versions(TLS13)
        .expect("the provider supports TLS 1.3")
        .with_client_cert_verifier(Arc::new(pinned))
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(config.certified.clone())));
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    tls.session_storage = Arc::new(NoServerSessionStorage {});
    tls.send_tls13_tickets = 0;
    Arc::new(tls)
}

/// The key of the peer of a connection, once it is proved; `None` if it is not an Ed25519 key.
pub(super) fn peer(connection: &noq_proto::Connection) -> Option<PublicKey> {
    let identity = connection.crypto_session().peer_identity()?;
    let chain = identity.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    key_of(chain.first()?)
}
