//! CONNECT-IP (RFC 9484) in a configuration, and the files that it names.

use super::{Client, Config};
use crate::files;
use crate::keys::{self, KeyError, Owners};
use quiclab_carrier::SecretKey;
use quiclab_carrier::connect_ip::message::Target;
use quiclab_carrier::connect_ip::{ConnectIpConfig, ServerTrust};
use quiclab_core::limits;
use quiclab_core::problem::{ensure, quoted, system_reason};
use quiclab_core::tunnel::CarrierKind;
use quiclab_core::{FieldPath, Problem, ProblemKind};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use schemars::JsonSchema;
use serde::Deserialize;
use std::io::ErrorKind::PermissionDenied;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

/// Characters of the path of a URI that need no escape.
const URI_PATH: &str = "^[A-Za-z0-9/._~*%?=&-]{1,200}$";
/// Names of hosts, and addresses.
const HOST: &str = "^[A-Za-z0-9.:-]{1,253}$";
/// No file of certificates is longer: those that Linux distributions trust take 250 kB.
const MAX_FILE: u64 = 1 << 20;
/// The port that an authority does not name (RFC 9110 section 4.2.2).
const HTTPS: u16 = 443;

/// A second protocol of a server: CONNECT-IP (RFC 9484), for clients of other makers.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerConnectIp {
    /// UDP addresses of HTTP/3; each at most once, with ports that `listen` of the server does not have.
    #[schemars(transform = limits::not_empty().each(limits::format("listen-address")))]
    pub listen: Vec<SocketAddr>,
    /// Path of the URI that clients ask for, from its first `/` on.
    #[serde(default = "default_path")]
    #[schemars(transform = limits::characters(URI_PATH))]
    pub path: String,
    /// File with the certificate of the server and, behind it, those of its authorities (PEM).
    pub certificate: PathBuf,
    /// File with the private key of the certificate (PKCS #8 in PEM), readable by its owner only; by default the `key_file` of
    /// the tunnel.
    pub key_file: Option<PathBuf>,
}

/// A client that speaks CONNECT-IP (RFC 9484) in place of the tunnel's own protocol. It has one path.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientConnectIp {
    /// Name or address of the server in its URI and its certificate; no name is resolved.
    #[schemars(transform = limits::characters(HOST))]
    pub host: String,
    /// Path of the server's URI, from its first `/` on, with `*` in place of variables.
    #[serde(default = "default_path")]
    #[schemars(transform = limits::characters(URI_PATH))]
    pub path: String,
    /// File with the certificate of `key_file` (PEM), which a server may ask for.
    pub certificate: PathBuf,
    /// File with the certificates of authorities (PEM), one of which has signed the certificate of the server, in place of
    /// `server_key`.
    pub authorities: Option<PathBuf>,
}

fn default_path() -> String {
    "/.well-known/masque/ip/*/*/".to_owned()
}

fn check_path(here: &FieldPath, path: &str) -> Result<(), Problem> {
    ensure(path.starts_with('/'), || {
        Problem::conflict(here.child("path"), quoted(path), "a path that begins with `/`")
    })
}

pub(super) fn check_server(
    here: &FieldPath,
    connect_ip: &ServerConnectIp,
    own: &[SocketAddr],
) -> Result<(), Problem> {
    check_path(here, &connect_ip.path)?;
    for (index, address) in connect_ip.listen.iter().enumerate() {
        ensure(own.iter().all(|other| other.port() != address.port()), || {
            let expected = "an address with a port that `server.listen` does not have";
            Problem::conflict(here.child("listen").child(index), quoted(address), expected)
        })?;
    }
    Ok(())
}

pub(super) fn check_client(path: &FieldPath, client: &Client, config: &Config) -> Result<(), Problem> {
    let here = path.child("connect_ip");
    let authorities = client.connect_ip.as_ref().and_then(|connect_ip| connect_ip.authorities.as_ref());
    match (&client.server_key, authorities) {
        (None, None) => {
            let expected = "the public key of the server";
            return Err(Problem::new(ProblemKind::MissingField, path.child("server_key"), expected));
        }
        (Some(_), Some(file)) => {
            let expected = "either `client.server_key` or `authorities`";
            let field = here.child("authorities");
            return Err(Problem::conflict(field, quoted(file.display()), expected));
        }
        _ => {}
    }
    let Some(connect_ip) = &client.connect_ip else { return Ok(()) };
    ensure(client.next_server_key.is_none(), || {
        Problem::conflict(path.child("next_server_key"), "", "no second key with `client.connect_ip`")
    })?;
    check_path(&here, &connect_ip.path)?;
    ensure(ServerName::try_from(connect_ip.host.as_str()).is_ok(), || {
        Problem::conflict(here.child("host"), quoted(&connect_ip.host), "the name or the address of a host")
    })?;
    ensure(client.paths.len() == 1, || {
        Problem::conflict(path.child("paths"), format!("{} entries", client.paths.len()), "one path")
            .because("`client.connect_ip` has one")
    })?;
    ensure(config.carrier_kind() == CarrierKind::Connections, || {
        Problem::conflict("carrier", quoted("multipath"), "\"connections\" with `client.connect_ip`")
    })
}

/// What the endpoint needs of CONNECT-IP, if it is configured; files are relative to the configuration in `file`. With `before`, what
/// it has had so far, it is a reload: a process that has given up its privileges may not be permitted to read the private key
/// again, and need not for a new certificate of the same key.
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

/// The certificates in a PEM file, of which there is one at least.
fn certificates(file: &Path, field: FieldPath) -> Result<Vec<CertificateDer<'static>>, Problem> {
    let wrong = |reason: String| Problem::file(field.clone(), reason).got(quoted(file.display()));
    let text = files::read(file, MAX_FILE).map_err(|error| wrong(system_reason(&error)))?;
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|_| wrong("not a PEM file with certificates".to_owned()))?;
    if chain.is_empty() { Err(wrong("no `CERTIFICATE` is in it".to_owned())) } else { Ok(chain) }
}
