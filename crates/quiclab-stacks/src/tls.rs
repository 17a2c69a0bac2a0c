//! TLS 1.3 as both stacks use it: a fixed certificate, a fixed time, seeded randomness.
//!
//! Real TLS is used because it costs little and keeps packets as they are on the wire; a simulation only has
//! to remove its randomness:
//!
//! | source of variation | here |
//! | --- | --- |
//! | random numbers, key shares | from the endpoint's stream ([`crate::seeded`]) |
//! | certificate | one, embedded; Ed25519, since ECDSA signatures vary in length and would change traces |
//! | wall clock | always [`NOW`] |
//! | session tickets | issued as by default (two), not stored |
//!
//! The certificate is for `quiclab.test`, self-signed, valid for a hundred years, made by `openssl genpkey
//! -algorithm ed25519` and `openssl req -x509 -subj /CN=quiclab.test -days 36500 -addext
//! subjectAltName=DNS:quiclab.test -addext basicConstraints=critical,CA:FALSE -addext
//! extendedKeyUsage=serverAuth`. The client trusts it as its only root.

use crate::observation::SharedObservation;
use crate::seeded;
use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::StoresServerSessions;
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, KeyLog, RootCertStore, ServerConfig};
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// The name in the certificate.
pub const SERVER_NAME: &str = "quiclab.test";
/// Application protocol of the download workload.
pub const APPLICATION_PROTOCOL: &[u8] = b"quiclab";
/// Wall-clock time in seconds since 1970: 2027-01-15, within the validity of the certificate.
pub const NOW: u64 = 1_800_000_000;

static CERTIFICATE: &[u8] = include_bytes!("certificate/certificate.der");
static PRIVATE_KEY: &[u8] = include_bytes!("certificate/key.der");

/// Certificate and private key of the server (DER), for endpoints of stacks that are adapted elsewhere.
#[must_use]
pub fn certificate() -> (&'static [u8], &'static [u8]) {
    (CERTIFICATE, PRIVATE_KEY)
}

/// Configuration of a client; with an observation, its secrets are logged.
pub(crate) fn client(observation: Option<&SharedObservation>) -> Arc<ClientConfig> {
    static CONFIG: LazyLock<Arc<ClientConfig>> = LazyLock::new(|| {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(CERTIFICATE)).expect("the embedded certificate is well-formed");
        let mut config =
            ClientConfig::builder_with_details(Arc::new(seeded::provider()), Arc::new(FixedClock))
                .with_protocol_versions(&[&rustls::version::TLS13])
                .expect("the provider supports TLS 1.3")
                .with_root_certificates(roots)
                .with_no_client_auth();
        config.alpn_protocols = vec![APPLICATION_PROTOCOL.to_vec()];
        config.resumption = Resumption::disabled();
        Arc::new(config)
    });
    let mut config = CONFIG.clone();
    if let Some(observation) = observation {
        Arc::make_mut(&mut config).key_log = Arc::new(SecretLog(observation.clone()));
    }
    config
}

/// Configuration of a server; with an observation, its secrets are logged.
pub(crate) fn server(observation: Option<&SharedObservation>) -> Arc<ServerConfig> {
    static CONFIG: LazyLock<Arc<ServerConfig>> = LazyLock::new(|| {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(PRIVATE_KEY));
        let mut config =
            ServerConfig::builder_with_details(Arc::new(seeded::provider()), Arc::new(FixedClock))
                .with_protocol_versions(&[&rustls::version::TLS13])
                .expect("the provider supports TLS 1.3")
                .with_no_client_auth()
                .with_single_cert(vec![CertificateDer::from(CERTIFICATE)], key)
                .expect("the embedded key belongs to the embedded certificate");
        config.alpn_protocols = vec![APPLICATION_PROTOCOL.to_vec()];
        config.session_storage = Arc::new(DiscardingSessionStore);
        Arc::new(config)
    });
    let mut config = CONFIG.clone();
    if let Some(observation) = observation {
        Arc::make_mut(&mut config).key_log = Arc::new(SecretLog(observation.clone()));
    }
    config
}

#[derive(Debug)]
struct FixedClock;

impl TimeProvider for FixedClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(NOW)))
    }
}

/// Session store that accepts sessions, so that tickets are issued and take space on the wire, but keeps
/// none: a connection must not depend on earlier ones or on other threads.
#[derive(Debug)]
struct DiscardingSessionStore;

impl StoresServerSessions for DiscardingSessionStore {
    fn put(&self, _key: Vec<u8>, _value: Vec<u8>) -> bool {
        true
    }
    fn get(&self, _key: &[u8]) -> Option<Vec<u8>> {
        None
    }
    fn take(&self, _key: &[u8]) -> Option<Vec<u8>> {
        None
    }
    fn can_cache(&self) -> bool {
        true
    }
}

/// Passes on secrets as lines of the NSS key log format.
struct SecretLog(SharedObservation);

impl std::fmt::Debug for SecretLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretLog")
    }
}

impl KeyLog for SecretLog {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let mut line = format!("{label} ");
        for (index, part) in [client_random, secret].into_iter().enumerate() {
            line.push_str(if index == 0 { "" } else { " " });
            for byte in part {
                let _ = write!(line, "{byte:02x}"); // writing to a String cannot fail
            }
        }
        self.0.lock().secret(&line);
    }
}
