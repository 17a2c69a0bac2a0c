//! Files named in a configuration of CONNECT-IP: certificates and their keys.

use super::Config;
use crate::files;
use crate::keys::{self, KeyError, Owners};
use quiclab_carrier::SecretKey;
use quiclab_carrier::connect_ip::{ConnectIpConfig, ServerTrust};
use quiclab_connect_ip::message::Target;
use quiclab_core::problem::{quoted, system_reason};
use quiclab_core::{FieldPath, Problem};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use std::io::ErrorKind::PermissionDenied;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// Maximum length of a file of certificates: those trusted by Linux distributions take 250 kB.
const MAX_FILE: u64 = 1 << 20;
/// Default port of an authority (RFC 9110 section 4.2.2).
const HTTPS: u16 = 443;

/// Configuration of CONNECT-IP for the endpoint, if there is one; files are relative to the configuration in
/// `file`. With `before`, the current configuration, it is a reload: a process that has dropped its
/// privileges may not be permitted to read the private key again, and need not for a new certificate of the
/// same key.
pub(super) fn read(
    file: &Path,
    config: &Config,
    key: &SecretKey,
    owners: Owners,
    before: Option<&ConnectIpConfig>,
) -> Result<Option<ConnectIpConfig>, Problem> {
    let directory = file.parent().unwrap_or(Path::new(""));
    let certificates = |field: FieldPath, name: &Path| certificates(&directory.join(name), field);
    if let Some(server) = config.server.as_ref().and_then(|server| server.connect_ip.as_ref()) {
        let here = FieldPath::from("server.connect_ip");
        let field = here.child("certificate");
        let chain = certificates(field.clone(), &server.certificate)?;
        let key_problem = |sentence: String| Problem::file(here.child("key_file"), sentence);
        let private = match &server.key_file {
            None => Ok(keys::pkcs8(key)),
            Some(name) => keys::read_any(&directory.join(name), owners),
        };
        let target = Target { authority: String::new(), path: server.path.clone() };
        let mut read = match (private, before) {
            (Ok(private), _) => ConnectIpConfig::new(target, chain, private)
                .map_err(|error| Problem::file(field, format!("not usable with its key: {error}")))?,
            (Err(KeyError::Io(error)), Some(before)) if error.kind() == PermissionDenied => {
                before.renewed(chain).map_err(|_| {
                    let reason = system_reason(&error);
                    key_problem(format!(
                        "{reason}; `certificate` is not of the key that was read at the start"
                    ))
                })?
            }
            (Err(error), _) => {
                let remedy = server.key_file.as_ref().map(|name| error.remedy(&directory.join(name)));
                let sentence = format!("{error}; {}", remedy.unwrap_or_default());
                return Err(key_problem(sentence.trim_end_matches("; ").to_owned()));
            }
        };
        read.ports = server.listen.iter().map(SocketAddr::port).collect();
        return Ok(Some(read));
    }
    let Some(client) = &config.client else { return Ok(None) };
    let Some(connect_ip) = &client.connect_ip else { return Ok(None) };
    let here = FieldPath::from("client.connect_ip");
    let field = here.child("certificate");
    let chain = certificates(field.clone(), &connect_ip.certificate)?;
    let port = client.paths.first().map_or(HTTPS, |path| path.server.port());
    let target = Target { authority: authority(&connect_ip.host, port), path: connect_ip.path.clone() };
    let mut read = ConnectIpConfig::new(target, chain, keys::pkcs8(key))
        .map_err(|error| Problem::file(field, format!("not usable with `key_file`: {error}")))?;
    read.trust = match &connect_ip.authorities {
        Some(name) => Some(ServerTrust::Authorities(certificates(here.child("authorities"), name)?)),
        None => client.server_key.map(ServerTrust::Key),
    };
    Ok(Some(read))
}

fn authority(host: &str, port: u16) -> String {
    let host = match host.parse() {
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        _ => host.to_owned(),
    };
    if port == HTTPS { host } else { format!("{host}:{port}") }
}

/// Reads the certificates in a PEM file, at least one.
fn certificates(file: &Path, field: FieldPath) -> Result<Vec<CertificateDer<'static>>, Problem> {
    let wrong = |reason: String| Problem::file(field.clone(), reason).got(quoted(file.display()));
    let text = files::read(file, MAX_FILE).map_err(|error| wrong(system_reason(&error)))?;
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|_| wrong("not a PEM file with certificates".to_owned()))?;
    if chain.is_empty() { Err(wrong("no `CERTIFICATE` is in it".to_owned())) } else { Ok(chain) }
}
