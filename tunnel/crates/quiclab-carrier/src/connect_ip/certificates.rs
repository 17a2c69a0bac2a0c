//! TLS 1.3 of CONNECT-IP: X.509 certificates, which other implementations support.
//!
//! | | |
//! | --- | --- |
//! | a server knows its clients | by the Ed25519 key in their certificate, one of the configured keys; issuer, names and validity do not matter, as with raw keys. Without a certificate there is no connection |
//! | a client knows its server | in the same way, or by authorities and the host's name (RFC 5280) |
//! | resumption, 0-RTT | none |

use super::config::{ConnectIpConfig, ServerTrust};
use crate::keys::{KnownPeers, PublicKey};
use crate::randomness::Randomness;
use crate::tls::{NoClock, TLS13, provider};
use crate::verifier::{Identity, KnownPeerVerifier, shown};
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::ServerName;
use rustls::server::NoServerSessionStorage;
use rustls::sign::SingleCertAndKey;
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::sync::Arc;

/// Application protocol (RFC 9114 section 3.1).
const PROTOCOL: &[u8] = b"h3";

fn clock(randomness: Randomness) -> Arc<dyn TimeProvider> {
    match randomness {
        Randomness::System => Arc::new(DefaultTimeProvider),
        Randomness::Seeded(_) => Arc::new(NoClock),
    }
}

fn known(peers: KnownPeers, provider: &Arc<CryptoProvider>) -> KnownPeerVerifier {
    KnownPeerVerifier { peers, identity: Identity::Certificate, provider: provider.clone() }
}

/// Verifier of a client's server.
fn server_verifier(
    trust: Option<&ServerTrust>,
    provider: &Arc<CryptoProvider>,
) -> Arc<dyn ServerCertVerifier> {
    let pinned = |keys: &[PublicKey]| {
        let peers = keys.iter().copied().collect();
        Arc::new(known(peers, provider))
    };
    match trust {
        None => pinned(&[]), // no key is known
        Some(ServerTrust::Key(key)) => pinned(&[*key]),
        Some(ServerTrust::Authorities(authorities)) => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(authorities.iter().cloned());
            match WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build() {
                Ok(verifier) => verifier,
                Err(_) => pinned(&[]), // no authority is known
            }
        }
    }
}

impl ConnectIpConfig {
    /// TLS of a client.
    pub(crate) fn client(&self, randomness: Randomness) -> Arc<ClientConfig> {
        let provider = provider(randomness);
        let verifier = server_verifier(self.trust.as_ref(), &provider);
        let own = SingleCertAndKey::from(self.certified.clone());
        let mut tls = ClientConfig::builder_with_details(provider, clock(randomness))
            .with_protocol_versions(TLS13)
            .expect("the provider supports TLS 1.3")
            .dangerous() // the verifier is the standard one for authorities, or stricter
            .with_custom_certificate_verifier(verifier)
            .with_client_cert_resolver(Arc::new(own));
        tls.alpn_protocols = vec![PROTOCOL.to_vec()];
        tls.resumption = Resumption::disabled();
        Arc::new(tls)
    }

    /// Whether a client still knows the server of a connection by the certificates that it presented when the connection began.
    pub(crate) fn knows_server(&self, randomness: Randomness, connection: &noq_proto::Connection) -> bool {
        let (Some(chain), Ok(name)) = (shown(connection), ServerName::try_from(self.host())) else {
            return false;
        };
        let (Some((own, authorities)), Some(now)) = (chain.split_first(), clock(randomness).current_time())
        else {
            return false;
        };
        let verifier = server_verifier(self.trust.as_ref(), &provider(randomness));
        verifier.verify_server_cert(own, authorities, &name, &[], now).is_ok()
    }

    /// TLS of a server whose clients are `peers`.
    pub(crate) fn server(&self, peers: &KnownPeers, randomness: Randomness) -> Arc<ServerConfig> {
        let provider = provider(randomness);
        let pinned = known(peers.clone(), &provider);
        let mut tls = ServerConfig::builder_with_details(provider, clock(randomness))
            .with_protocol_versions(TLS13)
            .expect("the provider supports TLS 1.3")
            .with_client_cert_verifier(Arc::new(pinned))
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(self.certified.clone())));
        tls.alpn_protocols = vec![PROTOCOL.to_vec()];
        tls.session_storage = Arc::new(NoServerSessionStorage {});
        tls.send_tls13_tickets = 0;
        Arc::new(tls)
    }
}
