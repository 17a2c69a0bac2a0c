//! Changes of a tunnel on the machine, and their undoing.
//!
//! The device, its addresses and the routes through it disappear with the process: the kernel removes them however the
//! process ends. All other changes (a replaced route, a route to the server, a sysctl) are written to a journal before they
//! are made (`journal.rs`); they are undone when [`Machine`] is dropped, and after a kill by the next `up` or `down`.

mod addresses;
mod firewall;
mod forwarding;
mod inside;
mod journal;
mod netlink;
mod nftables;
mod resolver;
mod reverse_path;
mod routes;
mod watch;

pub use addresses::DeviceAddress;
pub use firewall::{Exceptions, Firewall, MARK, Removed, kill_switch_table, lacks_nftables};
pub use inside::{Behind, InsideFilter, InsideRanges};
pub use journal::{Journal, JournalError, check_not_running, recover};
pub use netlink::{Interface, Netlink};
pub use resolver::Resolver;
pub use reverse_path::drops_detours;
pub use watch::Watch;

use quiclab_core::ip::IpPrefix;
use quiclab_core::problem::system_reason;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use thiserror::Error;
use tun_rs::{DeviceBuilder, SyncDevice};

/// Number of packets that the kernel keeps until they are read: for a burst, because packets should wait in the
/// queue discipline.
const DEVICE_QUEUE_PACKETS: u32 = 1000;

/// Error for which the device cannot be created.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// Another device has this name.
    #[error("the network device `{0}` already exists")]
    Exists(String),
    /// The kernel has no TUN devices, or the container no access to them.
    #[error(
        "/dev/net/tun is missing: load the kernel module `tun` (modprobe tun), or give the container that device"
    )]
    Missing,
    /// The file is not a TUN device.
    #[error(
        "/dev/net/tun is not the device of the kernel ({}): give the container that device, or make it with `mknod /dev/net/tun c 10 200`",
        system_reason(.0)
    )]
    NotTun(io::Error),
    /// The process may not create one.
    #[error("cannot create a TUN device ({}): run as root or with CAP_NET_ADMIN", system_reason(.0))]
    Forbidden(io::Error),
    /// Any other error of the kernel.
    #[error("cannot create a TUN device: {}", system_reason(.0))]
    Io(#[from] io::Error),
}

/// Configuration of the device inside the tunnel.
#[derive(Clone, Debug)]
pub struct Inside {
    /// Its MTU.
    pub mtu: u16,
    /// Its addresses.
    pub addresses: Vec<DeviceAddress>,
    /// Destinations routed through it, in addition to the networks of its addresses.
    pub routes: Vec<IpPrefix>,
    /// Unreachable destinations.
    pub unreachable: Vec<IpPrefix>,
    /// Whether other hosts are kept from the destinations routed through it, as they are from the networks of its addresses.
    pub routes_apart: bool,
}

/// The machine with the tunnel's device.
pub struct Machine {
    device: Arc<SyncDevice>,
    index: u32,
    netlink: Netlink,
    journal: Journal,
    addresses: BTreeSet<DeviceAddress>,
    routes: BTreeSet<IpPrefix>,
    /// Unreachable destinations; unlike `routes` they do not disappear with the device.
    unreachable: BTreeSet<IpPrefix>,
    /// Addresses of servers whose route is kept, and whether by a route of this program.
    ways: BTreeMap<IpAddr, bool>,
    firewall: Option<Firewall>,
    /// Whether the firewall is a kill switch that stays when the tunnel ends.
    keep_firewall: bool,
    resolver: Option<Resolver>,
    /// Filter that keeps other hosts from addresses inside.
    filter: Option<InsideFilter>,
    /// Whether everything is undone: from then on the journal may belong to another process.
    undone: bool,
}

impl Machine {
    /// Creates the device, which is up and has no addresses.
    ///
    /// # Errors
    /// If its name is in use, or the kernel refuses it.
    pub fn new(name: &str, mtu: u16, journal: Journal) -> Result<Self, DeviceError> {
        let mut netlink = Netlink::new()?;
        if netlink.interfaces()?.contains_key(name) {
            return Err(DeviceError::Exists(name.to_owned()));
        }
        let device = DeviceBuilder::new()
            .name(name)
            .mtu(mtu)
            .with(|builder| {
                builder.offload(true).tx_queue_len(DEVICE_QUEUE_PACKETS);
            })
            .build_sync()
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => DeviceError::Missing,
                io::ErrorKind::PermissionDenied => DeviceError::Forbidden(error),
                _ if error.raw_os_error() == Some(libc::ENOTTY) => DeviceError::NotTun(error),
                _ => DeviceError::Io(error),
            })?;
        device.set_nonblocking(true)?;
        let index = device.if_index()?;
        let device = Arc::new(device);
        Ok(Self {
            device,
            index,
            netlink,
            journal,
            addresses: BTreeSet::new(),
            routes: BTreeSet::new(),
            unreachable: BTreeSet::new(),
            ways: BTreeMap::new(),
            firewall: None,
            keep_firewall: false,
            resolver: None,
            filter: None,
            undone: false,
        })
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> Arc<SyncDevice> {
        self.device.clone()
    }

    /// Returns the interfaces and their addresses.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn interfaces(&mut self) -> io::Result<BTreeMap<String, Interface>> {
        self.netlink.interfaces()
    }

    /// Configures the device: at each moment of the change, packets to destinations that the tunnel has both before and after
    /// it go through the device or nowhere.
    ///
    /// # Errors
    /// If the kernel refuses something.
    pub fn set_inside(&mut self, inside: &Inside) -> io::Result<()> {
        let ranges = InsideRanges {
            own: inside.addresses.iter().map(|(address, _)| *address).collect(),
            networks: inside
                .addresses
                .iter()
                .map(|(address, length)| IpPrefix::around(*address, *length))
                .collect(),
            behind: if inside.routes_apart { self.behind(&inside.routes)? } else { Behind::default() },
        };
        // before the first packet may arrive for them, and until the last of the earlier ones is removed
        self.keep_apart(|before| before.with(&ranges))?;
        // below 1280 bytes the kernel removes all IPv6 configuration of the device (addrconf_notify,
        // net/ipv6/addrconf.c)
        let mtu = self.device.mtu()?;
        if mtu < inside.mtu {
            self.device.set_mtu(inside.mtu)?;
        }
        self.replace_addresses(&inside.addresses, |machine| {
            machine.set_routes(&inside.routes, &inside.unreachable)
        })?;
        if mtu > inside.mtu {
            self.device.set_mtu(inside.mtu)?;
        }
        self.keep_apart(|_| ranges)
    }

    /// Stores the filter that keeps other hosts from addresses inside.
    pub fn hold_filter(&mut self, filter: InsideFilter) {
        self.filter = Some(filter);
    }

    /// Routes these networks through the device, in place of the earlier ones, and keeps other hosts from
    /// them: at each moment of the change from the old and the new ones.
    ///
    /// # Errors
    /// If the kernel refuses something.
    pub fn set_networks(&mut self, networks: &[IpPrefix]) -> io::Result<()> {
        let behind = self.behind(networks)?;
        let added = InsideRanges { behind: behind.clone(), ..InsideRanges::default() };
        self.keep_apart(|before| before.with(&added))?;
        self.set_routes(networks, &[])?;
        self.keep_apart(|before| InsideRanges { behind, ..before.clone() })
    }

    fn behind(&mut self, networks: &[IpPrefix]) -> io::Result<Behind> {
        let interfaces = self.interfaces()?;
        Ok(Behind::new(networks, interfaces.values().filter(|interface| interface.index != self.index)))
    }

    fn keep_apart(&mut self, ranges: impl FnOnce(&InsideRanges) -> InsideRanges) -> io::Result<()> {
        let Some(filter) = &mut self.filter else { return Ok(()) };
        let ranges = ranges(filter.ranges());
        if ranges == *filter.ranges() {
            return Ok(());
        }
        filter.set(ranges)
    }

    /// Stores a kill switch, which stays when the tunnel ends, until [`Machine::lift_kill_switch`].
    pub fn hold_kill_switch(&mut self, firewall: Firewall) {
        self.firewall = Some(firewall);
        self.keep_firewall = true;
    }

    /// Whether there is a kill switch that stays.
    #[must_use]
    pub fn keeps_kill_switch(&self) -> bool {
        self.keep_firewall
    }

    /// Makes the kill switch end with the tunnel, after everything else is restored.
    pub fn lift_kill_switch(&mut self) {
        self.keep_firewall = false;
    }

    /// Translates the source addresses of these networks only, in packets that leave through other devices, until the end.
    ///
    /// # Errors
    /// If the kernel has no nftables, or refuses it.
    pub fn masquerade(&mut self, device: &str, networks: &[IpPrefix]) -> io::Result<()> {
        let mut firewall = self.firewall.take().map_or_else(|| Firewall::translation(device), Ok)?;
        let done = firewall.masquerade(device, networks);
        self.firewall = Some(firewall);
        done
    }

    /// Restores the name servers at the end.
    pub fn hold_resolver(&mut self, resolver: Resolver) {
        self.resolver = Some(resolver);
    }

    /// Whether undoing the changes requires another program.
    #[must_use]
    pub fn runs_programs(&self) -> bool {
        self.resolver.as_ref().is_some_and(Resolver::runs_a_program)
    }

    /// Enables forwarding between interfaces.
    ///
    /// # Errors
    /// If a sysctl cannot be set.
    pub fn forward(&mut self) -> io::Result<()> {
        let advertised = self.netlink.advertised_interfaces()?;
        for forwarding::Setting { name, before, value } in forwarding::settings(&advertised)? {
            self.journal.note_sysctl(&name, &before)?;
            if let Some(value) = value {
                forwarding::write(&name, value)?;
            }
        }
        Ok(())
    }
}

impl Machine {
    /// Undoes all changes except a kill switch that stays.
    ///
    /// # Errors
    /// If the firewall's table cannot be removed; all other changes are tried, and their failures are logged.
    pub fn end(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.undone, true) {
            for route in std::mem::take(&mut self.routes) {
                let _ = self.netlink.remove_route(route, self.index);
            }
            // explicitly, because a panic may have left a clone of the device
            let _ = self.device.enabled(false);
            self.resolver = None;
            self.journal.undo(&mut self.netlink);
        }
        if let Some(Err(error)) = self.filter.as_mut().map(InsideFilter::remove) {
            tracing::warn!(%error, "the table that keeps hosts beside this machine from addresses inside could not be removed");
        }
        self.filter = None;
        // last, so that no packet leaves in cleartext before everything is restored
        let firewall = self.firewall.as_mut().filter(|_| !self.keep_firewall);
        let removed = firewall.map_or(Ok(false), Firewall::remove).map(drop);
        if removed.is_ok() {
            self.firewall = None;
        }
        removed
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::warn!(%error, "the firewall's table could not be removed");
        }
    }
}
