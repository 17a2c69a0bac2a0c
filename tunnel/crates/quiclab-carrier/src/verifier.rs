//! Verifier of peers: accepts known peers by the key whose possession they prove (RFC 8446 section 4.4.3).

use super::keys::{KnownPeers, PublicKey};
use noq_proto::TransportError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError, PeerIncompatible,
    SignatureScheme,
};
use std::sync::Arc;

/// Identity that an end presents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    /// Its key, and nothing else (RFC 7250).
    RawKey,
    /// A certificate of its key; issuer, names and validity do not matter.
    Certificate,
}

impl Identity {
    /// Ed25519 key in `identity`, if it is one.
    pub(super) fn key(self, identity: &CertificateDer<'_>) -> Option<PublicKey> {
        match self {
            Self::RawKey => PublicKey::from_spki(identity),
            Self::Certificate => {
                let parsed = ParsedCertificate::try_from(identity).ok()?;
                PublicKey::from_spki(&parsed.subject_public_key_info())
            }
        }
    }

    /// The key of the peer of a connection, once it is proved; `None` if it is not an Ed25519 key.
    pub(super) fn peer(self, connection: &noq_proto::Connection) -> Option<PublicKey> {
        self.key(shown(connection)?.first()?)
    }
}

/// Identity that the peer of a connection has presented, after it is proved: its certificate first, then those of authorities.
pub(super) fn shown(connection: &noq_proto::Connection) -> Option<Vec<CertificateDer<'static>>> {
    let identity = connection.crypto_session().peer_identity()?;
    identity.downcast::<Vec<CertificateDer<'static>>>().ok().map(|chain| *chain)
}

/// Error of TLS at an end that does not know its peer, with the offered key, if it is an Ed25519 key. Whether the peer has the
/// private key is then unknown.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("unknown key")]
pub(super) struct UnknownKey(pub(super) Option<PublicKey>);

impl UnknownKey {
    /// Returns the cause of an error of QUIC, if it is this error.
    pub(super) fn behind(error: &TransportError) -> Option<Self> {
        let tls = error.crypto.as_ref()?.downcast_ref::<Error>()?;
        match tls {
            Error::InvalidCertificate(CertificateError::Other(OtherError(cause))) => {
                cause.downcast_ref::<Self>().copied()
            }
            _ => None,
        }
    }
}

/// Accepts peers that prove possession of a key of `peers`.
#[derive(Debug)]
pub(super) struct KnownPeerVerifier {
    pub(super) peers: KnownPeers,
    pub(super) identity: Identity,
    pub(super) provider: Arc<CryptoProvider>,
}

impl KnownPeerVerifier {
    fn check(&self, identity: &CertificateDer<'_>, chain: &[CertificateDer<'_>]) -> Result<(), Error> {
        let key = self.identity.key(identity);
        let known = key.is_some_and(|key| self.peers.has(key));
        if known && (self.identity == Identity::Certificate || chain.is_empty()) {
            Ok(())
        } else {
            Err(CertificateError::Other(OtherError(Arc::new(UnknownKey(key)))).into())
        }
    }

    fn check_signature(
        &self,
        message: &[u8],
        identity: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        match self.identity {
            Identity::Certificate => verify_tls13_signature(message, identity, signature, algorithms),
            Identity::RawKey => {
                let key = SubjectPublicKeyInfoDer::from(identity.as_ref());
                verify_tls13_signature_with_raw_key(message, &key, signature, algorithms)
            }
        }
    }
}

/// Methods common to both traits; TLS 1.2 is not configured.
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
            identity: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.check_signature(message, identity, signature)
        }
        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            vec![SignatureScheme::ED25519]
        }
        fn requires_raw_public_keys(&self) -> bool {
            self.identity == Identity::RawKey
        }
    };
}

impl ServerCertVerifier for KnownPeerVerifier {
    fn verify_server_cert(
        &self,
        identity: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(identity, chain).map(|()| ServerCertVerified::assertion())
    }
    signatures!();
}

impl ClientCertVerifier for KnownPeerVerifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }
    fn verify_client_cert(
        &self,
        identity: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(identity, chain).map(|()| ClientCertVerified::assertion())
    }
    signatures!();
}
