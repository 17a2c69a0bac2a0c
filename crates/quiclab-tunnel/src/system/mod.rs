//! What a tunnel changes on the machine, and how all of it is undone.
//!
//! The device goes with the process, and with it its addresses and the routes through it: the kernel does that however the
//! process ends. All else (a route that had to give way, a way to the server, a sysctl) is written into a journal before it
//! is changed (`journal.rs`); it is undone when [`Machine`] is dropped, and after a kill by the next `up` or `down`.

mod firewall;
mod forwarding;
mod journal;
mod netlink;
mod nftables;
mod resolver;
mod watch;

pub use firewall::{Exceptions, Firewall, MARK, kill_switch_table};
pub use journal::{Journal, JournalError, check_not_running, recover};
pub use netlink::{Interface, Netlink};
pub use resolver::Resolver;
pub use watch::Watch;

use quiclab_core::ip::IpPrefix;
use quiclab_core::problem::system_reason;
use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use thiserror::Error;
use tun_rs::{DeviceBuilder, SyncDevice};

/// Packets that the kernel keeps until they are read: for a burst, because waiting belongs into the discipline.
const DEVICE_QUEUE_PACKETS: u32 = 1000;

/// Why the device cannot be created.
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
    /// The process may not create one.
    #[error("cannot create a TUN device ({}): run as root or with CAP_NET_ADMIN", system_reason(.0))]
    Forbidden(io::Error),
    /// Any other error of the kernel.
    #[error("cannot create a TUN device: {}", system_reason(.0))]
    Io(#[from] io::Error),
}

/// The machine with the tunnel's device.
pub struct Machine {
    device: Arc<SyncDevice>,
    index: u32,
    netlink: Netlink,
    journal: Journal,
    addresses: BTreeSet<(IpAddr, u8)>,
    routes: BTreeSet<IpPrefix>,
    /// Destinations that lead nowhere; unlike `routes` they do not go with the device.
    unreachable: BTreeSet<IpPrefix>,
    ways: BTreeSet<IpAddr>,
    firewall: Option<Firewall>,
    /// The firewall is a kill switch, which stays when the tunnel ends.
    keep_firewall: bool,
    resolver: Option<Resolver>,
    /// The journal is another process's from then on.
    undone: bool,
}

impl Machine {
    /// Creates the device, up and without addresses.
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
            ways: BTreeSet::new(),
            firewall: None,
            keep_firewall: false,
            resolver: None,
            undone: false,
        })
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> Arc<SyncDevice> {
        self.device.clone()
    }

    /// Interfaces and their addresses.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn interfaces(&mut self) -> io::Result<std::collections::BTreeMap<String, Interface>> {
        self.netlink.interfaces()
    }

    /// Gives the device exactly these addresses.
    ///
    /// # Errors
    /// If the kernel refuses one.
    pub fn set_addresses(&mut self, wanted: &[(IpAddr, u8)]) -> io::Result<()> {
        let wanted: BTreeSet<_> = wanted.iter().copied().collect();
        for gone in self.addresses.difference(&wanted) {
            self.device.remove_address(gone.0)?;
        }
        for (address, length) in wanted.difference(&self.addresses) {
            match address {
                IpAddr::V4(address) => self.device.add_address_v4(*address, *length)?,
                IpAddr::V6(address) => self.device.add_address_v6(*address, *length)?,
            }
        }
        self.addresses = wanted;
        Ok(())
    }

    /// Lowers or raises the MTU of the device.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn set_mtu(&mut self, mtu: u16) -> io::Result<()> {
        if self.device.mtu()? == mtu { Ok(()) } else { self.device.set_mtu(mtu) }
    }

    /// Sends the destinations `through` the device, and none else beside its own networks; those in `unreachable` lead
    /// nowhere, so that no other route takes their packets.
    ///
    /// A default route becomes two halves, which go before any default route without touching it: sockets bound to an
    /// interface go on using that. Another route to the same destination gives way until the end.
    ///
    /// # Errors
    /// If the kernel refuses one.
    pub fn set_routes(&mut self, through: &[IpPrefix], unreachable: &[IpPrefix]) -> io::Result<()> {
        let wanted = |routes: &[IpPrefix]| routes.iter().flat_map(|route| halves(*route)).collect();
        let (through, unreachable): (BTreeSet<IpPrefix>, BTreeSet<IpPrefix>) =
            (wanted(through), wanted(unreachable));
        for gone in self.routes.difference(&through) {
            // the kernel may have removed it with an address
            let _ = self.netlink.remove_route(*gone, self.index);
        }
        self.routes = self.routes.intersection(&through).copied().collect();
        for gone in self.unreachable.difference(&unreachable) {
            let _ = self.netlink.remove(&netlink::unreachable(*gone));
        }
        self.unreachable = self.unreachable.intersection(&unreachable).copied().collect();
        for route in through {
            if !self.routes.contains(&route) {
                self.replace_routes_to(route)?;
                self.netlink.add_route(route, self.index)?;
                self.routes.insert(route);
            }
        }
        for route in unreachable {
            if !self.unreachable.contains(&route) {
                self.replace_routes_to(route)?;
                let message = netlink::unreachable(route);
                self.journal.note_added_route(&message)?;
                if !self.netlink.add(&message)? {
                    // the administrator's: it must not be removed
                    self.journal.forget_last()?;
                }
                self.unreachable.insert(route);
            }
        }
        Ok(())
    }

    /// Whether some destinations lead nowhere.
    #[must_use]
    pub fn has_unreachable_routes(&self) -> bool {
        !self.unreachable.is_empty()
    }

    /// Routes of others to the same destination give way until the end.
    fn replace_routes_to(&mut self, route: IpPrefix) -> io::Result<()> {
        for other in self.netlink.routes_to(route, self.index)? {
            self.journal.note_removed_route(&other)?;
            self.netlink.remove(&other)?;
        }
        Ok(())
    }

    /// Keeps the way to a server as it is now, whatever routes lead through the device: for paths that are not bound to an
    /// interface.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn keep_way(&mut self, server: IpAddr) -> io::Result<()> {
        if self.ways.contains(&server) {
            return Ok(());
        }
        if let Some(way) = self.netlink.way_to(server)? {
            self.journal.note_added_route(&way)?;
            if !self.netlink.add(&way)? {
                // the administrator's: it must not be removed
                self.journal.forget_last()?;
            }
            self.ways.insert(server);
        }
        Ok(())
    }

    /// Takes over a kill switch, which stays when the tunnel ends, until [`Machine::lift_kill_switch`].
    pub fn hold_kill_switch(&mut self, firewall: Firewall) {
        self.firewall = Some(firewall);
        self.keep_firewall = true;
    }

    /// Whether there is a kill switch that stays.
    #[must_use]
    pub fn keeps_kill_switch(&self) -> bool {
        self.keep_firewall
    }

    /// The kill switch ends with the tunnel, after everything else is restored.
    pub fn lift_kill_switch(&mut self) {
        self.keep_firewall = false;
    }

    /// Translates the source addresses of these networks where they leave through other devices, until the end.
    ///
    /// # Errors
    /// If the kernel has no nftables, or refuses it.
    pub fn masquerade(&mut self, device: &str, networks: &[IpPrefix]) -> io::Result<()> {
        let mut firewall = Firewall::translation(device)?;
        firewall.masquerade(device, networks)?;
        self.firewall = Some(firewall);
        Ok(())
    }

    /// Restores the name servers at the end.
    pub fn hold_resolver(&mut self, resolver: Resolver) {
        self.resolver = Some(resolver);
    }

    /// Whether undoing something takes another program.
    #[must_use]
    pub fn runs_programs(&self) -> bool {
        self.resolver.as_ref().is_some_and(Resolver::runs_a_program)
    }

    /// Lets the machine forward packets between interfaces.
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
    /// Undoes everything, but a kill switch that stays.
    ///
    /// # Errors
    /// If the firewall's table cannot be removed; everything else is tried, and failures of it are in the log.
    pub fn end(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.undone, true) {
            for route in std::mem::take(&mut self.routes) {
                let _ = self.netlink.remove_route(route, self.index);
            }
            // by hand, because a panic may have left a clone of the device
            let _ = self.device.enabled(false);
            self.resolver = None;
            self.journal.undo(&mut self.netlink);
        }
        // last, so that nothing leaves in clear before everything is as it was
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

/// A default route as two routes that are more specific than any default route.
fn halves(route: IpPrefix) -> Vec<IpPrefix> {
    if route.length() > 0 {
        return vec![route];
    }
    let texts = if route.is_ipv4() { ["0.0.0.0/1", "128.0.0.0/1"] } else { ["::/1", "8000::/1"] };
    texts.map(|text| text.parse().expect("two halves are two ranges")).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_route_becomes_two_halves() {
        let texts = |route: &str| -> Vec<String> {
            halves(route.parse().unwrap()).iter().map(ToString::to_string).collect()
        };
        assert_eq!(texts("0.0.0.0/0"), ["0.0.0.0/1", "128.0.0.0/1"]);
        assert_eq!(texts("::/0"), ["::/1", "8000::/1"]);
        assert_eq!(texts("10.0.0.0/8"), ["10.0.0.0/8"]);
    }
}
