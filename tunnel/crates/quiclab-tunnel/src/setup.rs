//! Setup for `up` before the loop begins: all checks are done before anything is changed on the machine.

mod conditions;
mod endpoint;
mod error;

pub use endpoint::{hub_config, tunnel_config};
pub use error::SetupError;

use crate::config::{Client, Config, Server, Settings};
use crate::confinement::confine;
use crate::control_socket::{self, open_folder};
use crate::folders::directory;
use crate::pool::Pool;
use crate::privileges::{Account, drop_privileges, may_change_user};
use crate::requests::Requests;
use crate::sockets::Sockets;
use crate::system::{
    self, Behind, DeviceError, Exceptions, Firewall, Inside, InsideFilter, Journal, JournalError, Machine,
    Netlink, Removed, Resolver, recover,
};
use conditions::{bind, check_permission, check_pools, not_available};
use quiclab_core::Problem;
use quiclab_core::problem::{quoted, system_reason};
use rustix::fs::AtFlags;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

/// Command that makes a machine forward packets.
const FORWARDING: &str = "`sysctl net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1`";
/// Resources of the machine that the loop needs.
pub struct SystemSetup {
    /// The device and the changes.
    pub machine: Machine,
    /// The sockets: all of a server, none of a client yet.
    pub sockets: Sockets,
    /// Requests of `status` and `down`.
    pub control: Requests,
    /// Requests of Prometheus.
    pub metrics: Option<Requests>,
}

/// Path of the control socket of a configuration.
#[must_use]
pub fn control_socket(config: &Config) -> PathBuf {
    config.control_socket.clone().unwrap_or_else(|| directory(&config.interface).join(control_socket::NAME))
}

/// Checks that no process has a tunnel with this device.
///
/// # Errors
/// If one has.
pub fn check_not_running(interface: &str) -> Result<(), SetupError> {
    Ok(system::check_not_running(&directory(interface), interface)?)
}

/// Warnings about kill switches of other tunnels, running or not, which block this one. Empty if they cannot be listed.
#[must_use]
pub fn other_kill_switches(interface: &str) -> Vec<String> {
    let others = Firewall::other_kill_switches(interface).unwrap_or_default();
    let sentence = |other: &String| {
        format!(
            "the kill switch of the tunnel `{other}` is on: it blocks what this one sends to destinations that its `allow_outside` does not name; `quiclab-tunnel down --interface {other}` ends that tunnel and its kill switch"
        )
    };
    others.iter().map(sentence).collect()
}

/// Sets the machine up, and drops privileges. The kill switch is the first change, and stays after an error.
///
/// # Errors
/// The cause; all other changes are undone.
pub fn prepare(settings: &Settings) -> Result<SystemSetup, SetupError> {
    let config = &settings.config;
    // before its addresses and ports are reported as in use
    check_not_running(&config.interface)?;
    // so that an error in it does not leave a kill switch without a tunnel
    check_user(config)?;
    if let Some(client) = config.client.as_ref().filter(|client| !client.dns.is_empty()) {
        Resolver::check_permission().map_err(|error| of_dns(client, error))?;
    }
    for sentence in other_kill_switches(&config.interface) {
        tracing::warn!("{sentence}");
    }
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
    let behind = match &config.server {
        Some(server) => {
            let interfaces = Netlink::new().and_then(|mut netlink| netlink.interfaces());
            let interfaces = interfaces.map_err(SetupError::Interfaces)?;
            check_pools(server, &interfaces)?;
            Behind::new(&server.networks(), interfaces.values())
        }
        None => Behind::default(),
    };
    let sockets = bind(config)?;
    let metrics = config.metrics.map(|address| {
        Requests::http(address).map_err(|error| not_available("metrics".into(), address, &error))
    });
    let metrics = metrics.transpose()?;
    let (journal, undone) = Journal::open(&directory(&config.interface), &config.interface)?;
    if undone > 0 {
        tracing::warn!(changes = undone, "undone what an earlier process has left");
    }
    if remove_firewall(&config.interface, kill_switch.is_some())? != Removed::default() {
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
    let (trusted, forwards) = (&config.trusted_interfaces, config.may_forward());
    let filter = InsideFilter::new(&config.interface, trusted, forwards, behind);
    machine.hold_filter(filter.map_err(SetupError::Filter)?);
    // from here on an early return undoes all changes
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
        prepared.machine.hold_resolver(resolver.map_err(|error| of_dns(client, error))?);
    }
    if account.is_none() && rustix::process::geteuid().is_root() && may_change_user() {
        tracing::warn!("the tunnel runs as root: set `user`, a user of its own, so that it does not");
    }
    if let Some(account) = &account {
        // directory and journal remain owned by root
        account.admit(&socket).map_err(unusable)?;
    }
    drop_privileges(account).map_err(SetupError::Privileges)?;
    confine(prepared.machine.runs_programs()).map_err(SetupError::Confinement)?;
    Ok(prepared)
}

/// Rejects a user that this process cannot become; one that does not exist is reported later.
fn check_user(config: &Config) -> Result<(), SetupError> {
    let Some(user) = config.user.as_deref().filter(|_| !may_change_user()) else { return Ok(()) };
    if Account::find(user, config.group.as_deref()).is_ok_and(|account| !account.is_own()) {
        let expected = "not set: this process cannot become another user";
        return Err(Problem::conflict("user", quoted(user), expected)
            .because("CAP_SETUID and CAP_SETGID are missing; the systemd unit has a user of its own, and needs `user` only with its drop-in for `dns`")
            .into());
    }
    Ok(())
}

/// Error about name servers that cannot be set.
fn of_dns(client: &Client, error: io::Error) -> SetupError {
    let remedy = if rustix::process::geteuid().is_root() {
        ""
    } else {
        "; `dns` takes root at the start: with the systemd unit, use the drop-in for `dns` in tunnel.md (`User=root`, and `user` in the configuration)"
    };
    let servers: Vec<_> = client.dns.iter().map(quoted).collect();
    SetupError::of_field("client.dns", error, |error| {
        Problem::file("client.dns", format!("{}{remedy}", system_reason(error)))
            .got(format!("[{}]", servers.join(", ")))
    })
}

/// Sets up addresses, routes and forwarding of a server.
fn set_up_server(server: &Server, config: &Config, machine: &mut Machine) -> Result<(), SetupError> {
    let pool = Pool::new(server);
    let networks = server.networks();
    let inside = Inside {
        mtu: config.mtu,
        addresses: pool.own().map(|(address, network)| (address, network.length())).collect(),
        routes_apart: !networks.is_empty(),
        routes: networks,
        unreachable: Vec::new(),
    };
    machine.set_inside(&inside).map_err(SetupError::Machine)?;
    if server.forward {
        let expected = "false, as this machine does not permit forwarding";
        machine.forward().map_err(|error| {
            SetupError::of_field("server.forward", error, |error| {
                let reason = system_reason(error);
                Problem::conflict("server.forward", true, expected)
                    .because(format!("{reason}; a container needs these of its host: {FORWARDING}"))
            })
        })?;
    }
    if server.masquerade {
        let networks = server.translated();
        let expected = "false, as this machine does not translate addresses";
        machine.masquerade(&config.interface, &networks).map_err(|error| {
            SetupError::of_field("server.masquerade", error, |error| {
                Problem::conflict("server.masquerade", true, expected).because(system_reason(error))
            })
        })?;
    }
    Ok(())
}

/// Restricts outgoing packets to the device, which need not exist yet.
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

/// Removes the firewall tables of a killed process.
fn remove_firewall(interface: &str, keep_kill_switch: bool) -> Result<Removed, SetupError> {
    Firewall::clean(interface, keep_kill_switch)
        .map_err(|error| SetupError::Firewall { interface: interface.to_owned(), error })
}

/// Changes that [`clean`] has undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undone {
    /// Number of changes of a killed process.
    pub changes: usize,
    /// Whether there was a kill switch, which an orderly end also leaves.
    pub kill_switch: bool,
}

/// Undoes the changes of a killed process, and its kill switch unless that is kept.
///
/// # Errors
/// If it still runs, or a change cannot be undone: the first such error, after all were tried.
pub fn clean(interface: &str, keep_kill_switch: bool) -> Result<Undone, SetupError> {
    // a user with write access may replace it by a link: from here on the open directory is used
    let folder = open_folder(interface);
    let of_folder = |folder: &OwnedFd| PathBuf::from(format!("/proc/self/fd/{}/.", folder.as_raw_fd()));
    let changes = match &folder {
        Ok(folder) => recover(&of_folder(folder), interface)
            .map_err(|error| error.below(&of_folder(folder), &directory(interface))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(JournalError::Io {
            file: directory(interface),
            error: io::Error::new(
                error.kind(),
                format!("not a directory of a tunnel: {}", system_reason(error)),
            ),
        }),
    };
    if let Err(error @ JournalError::Running { .. }) = changes {
        return Err(error.into());
    }
    let firewall = remove_firewall(interface, keep_kill_switch);
    if let Ok(folder) = &folder {
        let _ = rustix::fs::unlinkat(folder, control_socket::NAME, AtFlags::empty());
    }
    let _ = std::fs::remove_dir(directory(interface));
    let (changes, Removed { kill_switch, translation }) = (changes?, firewall?);
    Ok(Undone { changes: changes + usize::from(translation), kill_switch })
}
