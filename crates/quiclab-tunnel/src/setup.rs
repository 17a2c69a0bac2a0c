//! `up` until the loop begins: everything that can be refused is refused before anything is changed on the machine.

use crate::config::{Client, Config, Peer, Server, Settings};
use crate::confinement::confine;
use crate::pool::Pool;
use crate::privileges::{Account, drop_privileges};
use crate::requests::Requests;
use crate::sockets::{Socket, Sockets};
use crate::system::{
    DeviceError, Exceptions, Firewall, Interface, Journal, JournalError, Machine, Netlink, Resolver,
    check_not_running, kill_switch_table, recover,
};
use quiclab_core::problem::{quoted, system_reason};
use quiclab_core::tunnel::{Pipeline, TunnelConfig, TunnelEcn};
use quiclab_core::{ByteCount, FieldPath, Problem, ProblemKind, Role};
use quiclab_stacks::carrier::{PathConfig, PublicKey, Randomness, TunnelEndpointConfig};
use rustix::thread::{CapabilitySet, capabilities};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Where processes keep their journals and sockets, a directory for each device.
pub const RUN_DIRECTORY: &str = "/run/quiclab-tunnel";
/// Datagrams that leave together on a path (UDP GSO): 16 of them take 0.2 ms at 1 Gbit/s.
const BATCH: usize = 16;

/// Why the machine cannot be set up.
#[derive(Debug, Error)]
pub enum SetupError {
    /// A field of the configuration does not suit this machine.
    #[error(transparent)]
    Field(#[from] Problem),
    /// The device cannot be created.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The process may not change the network.
    #[error("the capability CAP_NET_ADMIN is missing: run as root, or by the systemd unit")]
    NotPermitted,
    /// The capabilities of the process cannot be read.
    #[error("capabilities cannot be read: {}", system_reason(.0))]
    Capabilities(io::Error),
    /// The network devices cannot be read.
    #[error("interfaces cannot be read: {}", system_reason(.0))]
    Interfaces(io::Error),
    /// An address or a route is refused.
    #[error("the machine cannot be set up: {}", system_reason(.0))]
    Machine(io::Error),
    /// A field of the configuration cannot be set now.
    #[error("{field} cannot be set: {}", system_reason(.error))]
    Unset {
        /// Which.
        field: &'static str,
        /// Why.
        error: io::Error,
    },
    /// What a killed process has left in the firewall cannot be removed.
    #[error(
        "the firewall's tables of `{interface}` cannot be removed, a kill switch ({}) may be left: {}",
        kill_switch_table(.interface),
        system_reason(.error)
    )]
    Firewall {
        /// Its device.
        interface: String,
        /// Why.
        error: io::Error,
    },
    /// System calls cannot be filtered.
    #[error("system calls cannot be filtered (seccomp): {}", system_reason(.0))]
    Confinement(io::Error),
    /// Privileges cannot be dropped.
    #[error("privileges cannot be given up: {}", system_reason(.0))]
    Privileges(io::Error),
}

impl SetupError {
    /// Whether another start ends in the same way unless this machine changes.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        match self {
            // an address or a name that is in use may be free later
            Self::Field(problem) => {
                matches!(problem.kind, ProblemKind::UnknownName | ProblemKind::Conflict | ProblemKind::File)
            }
            Self::Device(error) => matches!(error, DeviceError::Missing | DeviceError::Forbidden(_)),
            Self::Journal(error) => matches!(error, JournalError::Running { .. }),
            Self::NotPermitted | Self::Privileges(_) | Self::Confinement(_) => true,
            Self::Capabilities(_) | Self::Interfaces(_) | Self::Machine(_) => false,
            Self::Unset { .. } | Self::Firewall { .. } => false,
        }
    }

    /// Whether the user of this process may not do it.
    #[must_use]
    pub fn is_not_permitted(&self) -> bool {
        match self {
            Self::NotPermitted => true,
            Self::Journal(JournalError::Io { error, .. }) | Self::Firewall { error, .. } => {
                error.kind() == io::ErrorKind::PermissionDenied
            }
            _ => false,
        }
    }

    /// A field that this machine cannot have, if the error lasts; otherwise one that it does not have now.
    fn of_field(field: &'static str, error: io::Error, lasting: impl FnOnce(&io::Error) -> Problem) -> Self {
        use io::ErrorKind::{InvalidInput, NotFound, PermissionDenied, ReadOnlyFilesystem, Unsupported};
        let kinds = [InvalidInput, NotFound, PermissionDenied, ReadOnlyFilesystem, Unsupported];
        let absent = [libc::EPROTONOSUPPORT, libc::EAFNOSUPPORT];
        let lasts =
            kinds.contains(&error.kind()) || error.raw_os_error().is_some_and(|code| absent.contains(&code));
        if lasts { lasting(&error).into() } else { Self::Unset { field, error } }
    }
}

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

/// Sets the machine up, and gives up privileges. The kill switch comes first, and stays after an error.
///
/// # Errors
/// The cause; all other changes are undone.
pub fn prepare(settings: &Settings) -> Result<SystemSetup, SetupError> {
    let config = &settings.config;
    // before its addresses and its ports are found in use
    check_not_running(&directory(&config.interface), &config.interface)?;
    let kill_switch = match config.client.as_ref().filter(|client| client.kill_switch) {
        Some(client) => {
            check_permission()?;
            Some(set_kill_switch(client, &config.interface)?)
        }
        None => None,
    };
    let account =
        config.user.as_deref().map(|user| Account::find(user, config.group.as_deref())).transpose()?;
    check_permission()?;
    if let Some(server) = &config.server {
        let interfaces = Netlink::new().and_then(|mut netlink| netlink.interfaces());
        check_pools(server, &interfaces.map_err(SetupError::Interfaces)?)?;
    }
    let sockets = bind(config)?;
    let metrics = config.metrics.map(|address| {
        Requests::http(address).map_err(|error| not_available("metrics".into(), address, &error))
    });
    let metrics = metrics.transpose()?;
    let (journal, undone) = Journal::open(&directory(&config.interface), &config.interface)?;
    if undone > 0 {
        tracing::warn!(changes = undone, "undone what an earlier process has left");
    }
    if remove_firewall(&config.interface, kill_switch.is_some())? {
        tracing::warn!("removed the firewall's table that an earlier process has left");
    }
    let mut machine = Machine::new(&config.interface, config.mtu, journal).map_err(|error| match error {
        DeviceError::Exists(name) => SetupError::Field(
            Problem::value("interface", quoted(name), "a name that is not in use")
                .because("a network device has it; choose another name, or remove that device"),
        ),
        error => error.into(),
    })?;
    if let Some(firewall) = kill_switch {
        machine.hold_kill_switch(firewall);
    }
    // from here on an early return undoes everything
    let socket = control_socket(config);
    let unusable = |error: io::Error| {
        Problem::file("control_socket", system_reason(&error)).got(quoted(socket.display()))
    };
    let control = Requests::control(&socket).map_err(unusable)?;
    let mut prepared = SystemSetup { machine, sockets, control, metrics };
    if let Some(server) = &config.server {
        set_up_server(server, config, &mut prepared.machine)?;
    }
    if let Some(client) = config.client.as_ref().filter(|client| !client.dns.is_empty()) {
        let directory = directory(&config.interface);
        let resolver = Resolver::set(&directory, &config.interface, &client.dns, &client.dns_search);
        let resolver = resolver.map_err(|error| {
            SetupError::of_field("client.dns", error, |error| {
                Problem::file("client.dns", system_reason(error))
            })
        });
        prepared.machine.hold_resolver(resolver?);
    }
    if let Some(account) = &account {
        // directory and journal stay root's
        account.admit(&socket).map_err(unusable)?;
    }
    drop_privileges(account).map_err(SetupError::Privileges)?;
    confine(prepared.machine.runs_programs()).map_err(SetupError::Confinement)?;
    Ok(prepared)
}

/// Addresses, routes and forwarding of a server.
fn set_up_server(server: &Server, config: &Config, machine: &mut Machine) -> Result<(), SetupError> {
    let pool = Pool::new(server);
    let addresses: Vec<_> = pool.own().map(|(address, network)| (address, network.length())).collect();
    machine.set_addresses(&addresses).map_err(SetupError::Machine)?;
    let networks: Vec<_> = server.peers.iter().flat_map(|peer| peer.networks.clone()).collect();
    machine.set_routes(&networks, &[]).map_err(SetupError::Machine)?;
    if server.forward {
        let expected = "false, as this machine does not permit forwarding";
        machine.forward().map_err(|error| {
            SetupError::of_field("server.forward", error, |error| {
                Problem::conflict("server.forward", true, expected).because(system_reason(error))
            })
        })?;
    }
    if server.masquerade {
        let networks: Vec<_> = pool.own().map(|(_, network)| network).collect();
        let expected = "false, as this machine does not translate addresses";
        machine.masquerade(&config.interface, &networks).map_err(|error| {
            SetupError::of_field("server.masquerade", error, |error| {
                Problem::conflict("server.masquerade", true, expected).because(system_reason(error))
            })
        })?;
    }
    Ok(())
}

/// Lets packets leave through the device only, which need not exist yet.
fn set_kill_switch(client: &Client, interface: &str) -> Result<Firewall, SetupError> {
    let exceptions = Exceptions {
        servers: client.paths.iter().map(|path| (path.server, path.interface.as_deref())).collect(),
        destinations: &client.allow_outside,
    };
    let set = Firewall::kill_switch(interface).and_then(|mut firewall| {
        firewall.block(interface, &exceptions)?;
        Ok(firewall)
    });
    if set.is_ok() {
        tracing::info!("kill switch on, until `quiclab-tunnel down --interface {interface}`");
    }
    set.map_err(|error| {
        SetupError::of_field("client.kill_switch", error, |error| {
            Problem::conflict("client.kill_switch", true, "false, as this machine does not filter packets")
                .because(system_reason(error))
        })
    })
}

/// Removes what a killed process has left in the firewall; whether there was anything.
fn remove_firewall(interface: &str, keep_kill_switch: bool) -> Result<bool, SetupError> {
    Firewall::clean(interface, keep_kill_switch)
        .map_err(|error| SetupError::Firewall { interface: interface.to_owned(), error })
}

/// The sockets of a server; the slots of a client, whose sockets depend on its interfaces.
fn bind(config: &Config) -> Result<Sockets, Problem> {
    let Some(server) = &config.server else {
        return Ok(Sockets::new(config.client.as_ref().map_or(0, |client| client.paths.len())));
    };
    let of_http3 = server.connect_ip.iter().flat_map(|connect_ip| connect_ip.listen.iter().enumerate());
    let own = server.listen.iter().enumerate().map(|listen| ("server.listen", listen));
    let all: Vec<_> = own.chain(of_http3.map(|listen| ("server.connect_ip.listen", listen))).collect();
    let mut sockets = Sockets::new(all.len());
    for (slot, (of, (index, address))) in all.into_iter().enumerate() {
        let path = || FieldPath::from(of).child(index);
        let socket =
            Socket::bind(*address, None, true).map_err(|error| not_available(path(), *address, &error))?;
        sockets.set(slot, Some(socket));
    }
    Ok(sockets)
}

/// An address to listen at is not of this machine, in use, or reserved.
fn not_available(path: FieldPath, address: SocketAddr, error: &io::Error) -> Problem {
    Problem::value(path, quoted(address), "an available address of this machine")
        .because(system_reason(error))
}

/// Undoes the changes of a killed process, or all but its kill switch; returns their number.
///
/// # Errors
/// If it still runs, or something cannot be undone: the first of it, after everything was tried.
pub fn clean(interface: &str, keep_kill_switch: bool) -> Result<usize, SetupError> {
    let directory = directory(interface);
    let changes = recover(&directory, interface);
    if let Err(error @ JournalError::Running { .. }) = changes {
        return Err(error.into());
    }
    let firewall = remove_firewall(interface, keep_kill_switch);
    let _ = std::fs::remove_file(directory.join("control.sock"));
    let _ = std::fs::remove_dir(directory);
    Ok(changes? + usize::from(firewall?))
}

/// No pool may contain an address of this machine: packets to its neighbours there would enter the tunnel.
fn check_pools(server: &Server, interfaces: &BTreeMap<String, Interface>) -> Result<(), Problem> {
    let pools = [("pool_ipv4", server.pool_ipv4), ("pool_ipv6", server.pool_ipv6)];
    for (field, pool) in pools.into_iter().filter_map(|(field, pool)| Some((field, pool?))) {
        for (name, interface) in interfaces {
            if let Some(address) = interface.addresses.iter().find(|address| pool.contains(**address)) {
                let expected = "an address range inside the tunnel only";
                let path = FieldPath::new(["server", field]);
                return Err(Problem::conflict(path, quoted(pool), expected)
                    .because(format!("it contains the address {address} of the interface {name}")));
            }
        }
    }
    Ok(())
}

/// Whether the process can and may create a device.
fn check_permission() -> Result<(), SetupError> {
    if !Path::new("/dev/net/tun").exists() {
        return Err(DeviceError::Missing.into());
    }
    let held = capabilities(None).map_err(|error| SetupError::Capabilities(error.into()))?.effective;
    if held.contains(CapabilitySet::NET_ADMIN) { Ok(()) } else { Err(SetupError::NotPermitted) }
}

/// The endpoint of QUIC.
#[must_use]
pub fn hub_config(settings: &Settings) -> TunnelEndpointConfig {
    let config = &settings.config;
    let (role, peers): (Role, Vec<PublicKey>) = match (&config.server, &config.client) {
        (Some(server), _) => (Role::Server, server.peers.iter().flat_map(Peer::keys).collect()),
        (None, Some(client)) => (Role::Client, client.server_keys().collect()),
        (None, None) => unreachable!("a checked configuration has one of them"),
    };
    let mut out = TunnelEndpointConfig::new(role, settings.key.clone(), peers, Randomness::System);
    out.kind = config.carrier;
    out.connect_ip.clone_from(&settings.connect_ip);
    out.idle_timeout = config.idle_timeout;
    out.keep_alive = config.keep_alive;
    out.segments = BATCH;
    out.mtu_discovery = true;
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

/// The tunnel in front of it, with packets that have numbers or have none.
#[must_use]
pub fn tunnel_config(config: &Config, numbered: bool) -> TunnelConfig {
    TunnelConfig {
        queue: config.queue.clone(),
        scheduler: config.scheduler.clone(),
        pipeline: Pipeline::Direct,
        mtu: ByteCount::from_bytes(config.mtu.into()),
        resequencing: Some(config.resequencing).filter(|_| numbered),
        repair: numbered,
        batch: BATCH,
        ecn: TunnelEcn::Separate,
        keep_sojourns: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclab_core::ProblemKind;

    /// A server with a free port and with this address.
    fn server(listen: SocketAddr) -> Config {
        let text = r#"version = 1
key_file = "key"
[server]
listen = ["127.0.0.1:4433"]
pool_ipv4 = "10.77.0.0/24"
[[server.peers]]
name = "laptop"
public_key = "0707070707070707070707070707070707070707070707070707070707070707"
"#;
        let (mut config, _) = crate::config::parse(text, "server.toml").unwrap();
        config.server.as_mut().unwrap().listen = vec!["127.0.0.1:0".parse().unwrap(), listen];
        config
    }

    #[test]
    fn an_address_in_use_is_a_problem_of_its_field() {
        let other = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = other.local_addr().unwrap();
        let Err(problem) = bind(&server(address)) else { panic!("two sockets have the address {address}") };
        assert_eq!(
            (problem.path.to_string().as_str(), problem.kind),
            ("server.listen.1", ProblemKind::OutOfRange)
        );
        assert_eq!(problem.value, Some(format!("\"{address}\"")));
        let free = bind(&server("127.0.0.1:0".parse().unwrap())).unwrap();
        assert_eq!(free.iter().count(), 2);
    }

    #[test]
    fn an_interface_in_a_pool_is_a_problem_of_the_pool() {
        let config = server("127.0.0.1:1".parse().unwrap());
        let check = |address: &str| {
            let interface = Interface { index: 7, running: true, addresses: vec![address.parse().unwrap()] };
            check_pools(config.server.as_ref().unwrap(), &BTreeMap::from([("lan0".to_owned(), interface)]))
        };
        assert_eq!(check("10.78.0.1"), Ok(()));
        let problem = check("10.77.0.9").unwrap_err();
        assert_eq!(
            (problem.path.to_string().as_str(), problem.kind),
            ("server.pool_ipv4", ProblemKind::Conflict)
        );
    }
}
