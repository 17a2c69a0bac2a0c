//! Reload of a configuration while the tunnel runs: it may change the peers (`server.peers`, `client.server_key` and
//! `client.next_server_key`), `server.announce` and `server.isolate_clients`. The files of certificates of CONNECT-IP are read
//! again, and may have changed.

use super::connect_ip::{ClientConnectIp, ServerConnectIp};
use super::load::{read, read_connect_ip, read_text};
use super::{Client, Config, Server, secrets};
use crate::keys::Owners;
use quiclab_carrier::SecretKey;
use quiclab_carrier::connect_ip::ConnectIpConfig;
use quiclab_config::ConfigError;
use quiclab_core::{FieldPath, Problem, ProblemKind};
use std::fmt::Debug;
use std::path::Path;

/// Current settings.
pub struct InForce<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// This end's key, which is not reloaded.
    pub key: &'a SecretKey,
    /// CONNECT-IP, if it is configured, with its certificates.
    pub connect_ip: Option<&'a ConnectIpConfig>,
}

/// Reads the configuration in `file` again, and the certificates that it names.
///
/// # Errors
/// The first error, or the first field that differs and cannot change.
pub fn reload(file: &Path, current: &InForce<'_>) -> Result<(Config, Option<ConnectIpConfig>), ConfigError> {
    let text = read_text(file)?;
    reread(file, &text, current).map_err(secrets::hide)
}

fn reread(
    file: &Path,
    text: &str,
    current: &InForce<'_>,
) -> Result<(Config, Option<ConnectIpConfig>), ConfigError> {
    let (document, new, _) = read(text, &file.display().to_string())?;
    let (before, after) = (fixed(current.config), fixed(&new));
    let same = |(name, value): &&(FieldPath, String)| before.iter().any(|(of, is)| of == name && is == value);
    match after.iter().find(|field| !same(field)) {
        None => {
            let connect_ip =
                read_connect_ip(file, &new, current.key, Owners::Trusted(None), current.connect_ip);
            Ok((new, connect_ip.map_err(|problem| document.locate(problem))?))
        }
        Some((name, _)) => Err(Problem::new(ProblemKind::Conflict, name.clone(), "the value in force")
            .because("it changes only with the next start of the tunnel; a reload takes other peers, keys of the server, `announce`, `isolate_clients` and certificates")
            .into()),
    }
}

/// Fields that a reload cannot change, with their values. Every field is named here or in the patterns, so that a new one
/// is not forgotten.
fn fixed(config: &Config) -> Vec<(FieldPath, String)> {
    let Config {
        version: _,
        key_file,
        interface,
        mtu,
        carrier: _,
        queue,
        scheduler,
        resequencing,
        idle_timeout,
        keep_alive,
        metrics,
        control_socket,
        trusted_interfaces,
        user,
        group,
        server,
        client,
    } = config;
    let mut out = Vec::new();
    let mut add = |name: &str, value: &dyn Debug| out.push((FieldPath::from(name), format!("{value:?}")));
    add("server", &server.is_some());
    add("key_file", key_file);
    add("interface", interface);
    add("mtu", mtu);
    add("carrier", &config.carrier_kind());
    add("queue", queue);
    add("scheduler", scheduler);
    add("resequencing", resequencing);
    add("idle_timeout", idle_timeout);
    add("keep_alive", keep_alive);
    add("metrics", metrics);
    add("control_socket", control_socket);
    add("trusted_interfaces", trusted_interfaces);
    add("user", user);
    add("group", group);
    if let Some(server) = server {
        let Server {
            listen,
            pool_ipv4,
            pool_ipv6,
            forward,
            masquerade,
            mtu,
            congestion_control,
            window,
            isolate_clients: _,
            announce: _,
            peers: _,
            connect_ip,
        } = server;
        add("server.listen", listen);
        add("server.pool_ipv4", pool_ipv4);
        add("server.pool_ipv6", pool_ipv6);
        add("server.forward", forward);
        add("server.masquerade", masquerade);
        add("server.mtu", mtu);
        add("server.congestion_control", congestion_control);
        add("server.window", window);
        add("server.connect_ip", &connect_ip.is_some());
        if let Some(ServerConnectIp { listen, path, certificate: _, key_file: _ }) = connect_ip {
            add("server.connect_ip.listen", listen);
            add("server.connect_ip.path", path);
        }
    }
    if let Some(client) = client {
        let Client {
            server_key,
            next_server_key: _,
            routes,
            networks,
            accept_routes,
            kill_switch,
            allow_outside,
            dns,
            dns_search,
            paths,
            connect_ip,
        } = client;
        // a session of CONNECT-IP does not show that its server has the key
        let key_of_certificate = connect_ip.as_ref().and(server_key.as_ref());
        add("client.server_key", &key_of_certificate);
        add("client.routes", routes);
        add("client.networks", networks);
        add("client.accept_routes", accept_routes);
        add("client.kill_switch", kill_switch);
        add("client.allow_outside", allow_outside);
        add("client.dns", dns);
        add("client.dns_search", dns_search);
        add("client.paths", paths);
        add("client.connect_ip", &connect_ip.is_some());
        if let Some(ClientConnectIp { host, path, certificate: _, authorities }) = connect_ip {
            add("client.connect_ip.host", host);
            add("client.connect_ip.path", path);
            add("client.connect_ip.authorities", &authorities.is_some());
        }
    }
    out
}
