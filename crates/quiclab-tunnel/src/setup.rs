//! `up` until the loop begins: everything that can be refused is refused before anything is changed on the machine.

use crate::config::{Config, Server, Settings};
use crate::privileges::{Account, drop_privileges};
use crate::requests::Requests;
use crate::sockets::{Socket, Sockets};
use crate::system::{Interface, Journal, Machine, Netlink, recover};
use quiclab_core::tunnel::{Pipeline, TunnelConfig};
use quiclab_core::{ByteCount, FieldPath, Problem, Role};
use quiclab_stacks::carrier::{PathConfig, PublicKey, Randomness, TunnelEndpointConfig};
use rustix::thread::{CapabilitySet, capabilities};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Where processes keep their journals and sockets, a directory for each device.
pub const RUN_DIRECTORY: &str = "/run/quiclab-tunnel";
/// Datagrams that leave together on a path (UDP GSO): 16 of them take 0.2 ms at 1 Gbit/s.
const BATCH: usize = 16;

/// What the loop needs of the machine.
pub struct SystemSetup {
    /// The device and what was changed.
    pub machine: Machine,
    /// The sockets: all of a server, none of a client yet.
    pub sockets: Sockets,
    /// Requests of `status` and `down`.
    pub control: Requests,
    /// Requests of Prometheus.
    pub metrics: Option<Requests>,
}

/// The directory of a device's process.
#[must_use]
pub fn directory(interface: &str) -> PathBuf {
    Path::new(RUN_DIRECTORY).join(interface)
}

/// The control socket of a configuration.
#[must_use]
pub fn control_socket(config: &Config) -> PathBuf {
    config.control_socket.clone().unwrap_or_else(|| directory(&config.interface).join("control.sock"))
}

/// Sets the machine up, and gives up privileges.
///
/// # Errors
/// A sentence about what is refused; what was changed is undone.
pub fn prepare(settings: &Settings) -> Result<SystemSetup, String> {
    let config = &settings.config;
    let account =
        config.user.as_deref().map(|user| Account::find(user, config.group.as_deref())).transpose()?;
    may_administer()?;
    if let Some(server) = &config.server {
        let mut netlink = Netlink::new().map_err(|error| error.to_string())?;
        free_of(server, &netlink.interfaces().map_err(|error| error.to_string())?)?;
    }
    let mut sockets = Sockets::new(
        config
            .server
            .as_ref()
            .map_or(0, |server| server.listen.len())
            .max(config.client.as_ref().map_or(0, |client| client.paths.len())),
    );
    if let Some(server) = &config.server {
        for (slot, address) in server.listen.iter().enumerate() {
            let socket = Socket::bind(*address, None, true).map_err(|error| {
                format!("server.listen.{slot} = \"{address}\": the address cannot be used: {error}")
            })?;
            sockets.set(slot, Some(socket));
        }
    }
    let metrics = config
        .metrics
        .map(|address| {
            Requests::http(address)
                .map_err(|error| format!("metrics = \"{address}\": the address cannot be used: {error}"))
        })
        .transpose()?;
    let directory = directory(&config.interface);
    let (journal, undone) =
        Journal::open(&directory, &config.interface).map_err(|error| error.to_string())?;
    if undone > 0 {
        tracing::warn!(changes = undone, "undone what an earlier process has left");
    }
    let said = |error: io::Error| error.to_string();
    let machine = Machine::new(&config.interface, config.mtu, journal).map_err(said)?;
    // from here on an early return undoes everything
    let mut prepared = SystemSetup {
        machine,
        sockets,
        control: Requests::control(&control_socket(config))
            .map_err(|error| format!("{}: {error}", control_socket(config).display()))?,
        metrics,
    };
    if let Some(server) = &config.server {
        let own = crate::pool::Pool::new(server);
        let addresses: Vec<_> = own.own().map(|(address, network)| (address, network.length())).collect();
        prepared.machine.set_addresses(&addresses).map_err(said)?;
        let networks: Vec<_> = server.peers.iter().flat_map(|peer| peer.networks.clone()).collect();
        prepared.machine.set_routes(&networks).map_err(said)?;
        if server.forward {
            prepared.machine.forward().map_err(|error| format!("server.forward: {error}"))?;
        }
    }
    if let Some(account) = &account {
        // directory and journal stay root's
        let socket = control_socket(config);
        account.admit(&socket).map_err(|error| format!("{}: {error}", socket.display()))?;
    }
    drop_privileges(account).map_err(|error| format!("privileges cannot be given up: {error}"))?;
    Ok(prepared)
}

/// Undoes what a killed process has left; gives the number of changes.
///
/// # Errors
/// If it still runs.
pub fn clean(interface: &str) -> Result<usize, String> {
    recover(&directory(interface), interface).map_err(|error| error.to_string())
}

/// No pool may have an address of this machine in it: what is meant for its neighbours there would go into the tunnel.
fn free_of(server: &Server, interfaces: &BTreeMap<String, Interface>) -> Result<(), String> {
    let pools = [("pool_ipv4", server.pool_ipv4), ("pool_ipv6", server.pool_ipv6)];
    for (field, pool) in pools.into_iter().filter_map(|(field, pool)| Some((field, pool?))) {
        for (name, interface) in interfaces {
            if let Some(address) = interface.addresses.iter().find(|address| pool.contains(**address)) {
                let expected = "an address range inside the tunnel only";
                let path = FieldPath::new(["server", field]);
                return Err(Problem::conflict(path, format!("\"{pool}\""), expected)
                    .because(format!("it contains the address {address} of the interface {name}"))
                    .to_string());
            }
        }
    }
    Ok(())
}

fn may_administer() -> Result<(), String> {
    if !Path::new("/dev/net/tun").exists() {
        return Err("there is no /dev/net/tun: load the kernel module `tun` (modprobe tun), or give the container that device".to_owned());
    }
    let held = capabilities(None).map_err(|error| error.to_string())?.effective;
    if held.contains(CapabilitySet::NET_ADMIN) {
        return Ok(());
    }
    Err("the capability CAP_NET_ADMIN is missing: run as root, or by the systemd unit".to_owned())
}

/// The endpoint of QUIC.
#[must_use]
pub fn hub_config(settings: &Settings) -> TunnelEndpointConfig {
    let config = &settings.config;
    let (role, peers): (Role, Vec<PublicKey>) = match (&config.server, &config.client) {
        (Some(server), _) => (Role::Server, server.peers.iter().map(|peer| peer.public_key).collect()),
        (None, Some(client)) => (Role::Client, vec![client.server_key]),
        (None, None) => unreachable!("a checked configuration has one of them"),
    };
    let mut out = TunnelEndpointConfig::new(role, settings.key.clone(), peers, Randomness::System);
    out.kind = config.carrier;
    out.idle_timeout = config.idle_timeout;
    out.keep_alive = config.keep_alive;
    out.segments = BATCH;
    out.paths = match (&config.server, &config.client) {
        // the larger of all clients': each keeps to its own
        (Some(server), _) => {
            let Server { congestion_control, window, mtu, .. } = *server;
            vec![PathConfig { congestion_control, window, mtu }]
        }
        (None, Some(client)) => client
            .paths
            .iter()
            .map(|path| PathConfig {
                congestion_control: path.congestion_control,
                window: path.window,
                mtu: path.mtu,
            })
            .collect(),
        (None, None) => Vec::new(),
    };
    out
}

/// The tunnel in front of it.
#[must_use]
pub fn tunnel_config(config: &Config) -> TunnelConfig {
    TunnelConfig {
        queue: config.queue.clone(),
        scheduler: config.scheduler.clone(),
        pipeline: Pipeline::Direct,
        mtu: ByteCount::from_bytes(config.mtu.into()),
        resequencing: config.resequencing,
        batch: BATCH,
        keep_sojourns: 0,
    }
}
