//! Configuration of an end of CONNECT-IP, in addition to the values shared with the tunnel's own protocol.

use super::streams::Http3Streams;
use crate::keys::PublicKey;
use quiclab_connect_ip::http3::Http3;
use quiclab_connect_ip::message::Target;
use quiclab_core::Role;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use std::fmt;
use std::sync::Arc;

/// Identification of a server by its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerTrust {
    /// Its certificate has this key; names and validity do not matter.
    Key(PublicKey),
    /// One of these certificates has signed its certificate, which is valid for the host (RFC 5280, RFC 9525).
    Authorities(Vec<CertificateDer<'static>>),
}

/// Configuration of CONNECT-IP at one end.
#[derive(Clone)]
pub struct ConnectIpConfig {
    /// Tunnel that a client requests, or that a server has.
    pub target: Target,
    /// Identification of the server at a client. A server knows its clients by their keys.
    pub trust: Option<ServerTrust>,
    /// UDP ports at which a server accepts HTTP/3; at all others it uses the tunnel's own protocol.
    pub ports: Vec<u16>,
    /// Certificate of this end, and its key.
    pub(super) certified: Arc<CertifiedKey>,
}

impl ConnectIpConfig {
    /// Creates the configuration of an end with a chain of certificates, its own first, and its private key.
    ///
    /// # Errors
    /// If the key is not that of the certificate, or of an unsupported kind.
    pub fn new(
        target: Target,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, rustls::Error> {
        let certified = Arc::new(CertifiedKey::from_der(chain, key, &ring::default_provider())?);
        Ok(Self { target, trust: None, ports: Vec::new(), certified })
    }

    /// Returns the configuration with another chain of certificates for the same key, its own first.
    ///
    /// # Errors
    /// If the first one has another key.
    pub fn renewed(&self, chain: Vec<CertificateDer<'static>>) -> Result<Self, rustls::Error> {
        let certified = CertifiedKey::new(chain, self.certified.key.clone());
        certified.keys_match()?;
        Ok(Self { certified: Arc::new(certified), ..self.clone() })
    }

    /// Whether it has the same certificates as `other`, those of authorities included.
    #[must_use]
    pub fn has_certificates_of(&self, other: &Self) -> bool {
        self.certified.cert == other.certified.cert && self.trust == other.trust
    }

    /// Whether a client identifies its server in the same way as with `other`.
    pub(crate) fn has_trust_of(&self, other: &Self) -> bool {
        self.trust == other.trust
    }

    /// Whether a server accepts HTTP/3 at a port.
    pub(crate) fn has_port(&self, port: u16) -> bool {
        self.ports.contains(&port)
    }

    /// Creates the HTTP/3 of a new connection.
    pub(crate) fn streams(&self, role: Role) -> Box<Http3Streams> {
        Box::new(Http3Streams::new(Http3::new(role, self.target.clone())))
    }

    /// The host of the target, without a port.
    pub(crate) fn host(&self) -> &str {
        let authority = self.target.authority.as_str();
        match authority.strip_prefix('[') {
            Some(literal) => literal.split(']').next().unwrap_or_default(),
            None => authority.split(':').next().unwrap_or_default(),
        }
    }
}

impl fmt::Debug for ConnectIpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, trust, ports, certified: _ } = self;
        f.debug_struct("ConnectIpConfig")
            .field("target", target)
            .field("trust", trust)
            .field("ports", ports)
            .finish_non_exhaustive()
    }
}
