//! CONNECT-IP (RFC 9484) in a configuration.

use super::{Client, Config};
use quiclab_core::limits;
use quiclab_core::problem::{ensure, quoted};
use quiclab_core::tunnel::CarrierKind;
use quiclab_core::{FieldPath, Problem, ProblemKind};
use rustls_pki_types::ServerName;
use schemars::JsonSchema;
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Characters of the path of a URI that need no escape.
const URI_PATH: &str = "^[A-Za-z0-9/._~*%?=&-]{1,200}$";
/// Names of hosts, and addresses.
const HOST: &str = "^[A-Za-z0-9.:-]{1,253}$";

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

/// Configuration of CONNECT-IP for the endpoint: always `None` in a build without it.
///
/// # Errors
/// If it is configured.
#[cfg(any(test, not(feature = "connect-ip")))]
pub(super) fn absent(
    config: &Config,
) -> Result<Option<quiclab_carrier::connect_ip::ConnectIpConfig>, Problem> {
    let at_server = config.server.as_ref().is_some_and(|server| server.connect_ip.is_some());
    let at_client = config.client.as_ref().is_some_and(|client| client.connect_ip.is_some());
    let field = if at_server { "server.connect_ip" } else { "client.connect_ip" };
    if !at_server && !at_client {
        return Ok(None);
    }
    let build = "a build without the feature `connect-ip`";
    Err(Problem::unsupported(
        field,
        build,
        "use one by `cargo build --release -p quiclab-tunnel --features connect-ip`",
    ))
}
