//! What a tunnel changes on the machine, and how all of it is undone.
//!
//! The device goes with the process, and with it its addresses and the routes through it: the kernel does that however the
//! process ends. All else (a route that had to give way, a way to the server, a sysctl) is written into a journal before it
//! is changed (`journal.rs`); it is undone when [`Machine`] is dropped, and after a kill by the next `up` or `down`.

mod journal;
mod netlink;
mod watch;

pub use journal::{Journal, JournalError, recover};
pub use netlink::{Interface, Netlink};
pub use watch::Watch;

use quiclab_core::ip::IpPrefix;
use quiclab_core::problem::system_reason;
use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;
use tun_rs::{DeviceBuilder, SyncDevice};

/// Packets that the kernel keeps until they are read: for a burst, because waiting belongs into the discipline.
const DEVICE_QUEUE_PACKETS: u32 = 1000;
/// Sysctls of forwarding, by their names below /proc/sys.
const FORWARDING: [&str; 2] = ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"];

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
    ways: BTreeSet<IpAddr>,
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
            ways: BTreeSet::new(),
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

    /// Sends these destinations through the device, and none else beside its own networks.
    ///
    /// A default route becomes two halves, which go before any default route without touching it: sockets bound to an
    /// interface go on using that. Another route to the same destination gives way until the end.
    ///
    /// # Errors
    /// If the kernel refuses one.
    pub fn set_routes(&mut self, wanted: &[IpPrefix]) -> io::Result<()> {
        let wanted: BTreeSet<IpPrefix> = wanted.iter().flat_map(|route| halves(*route)).collect();
        for gone in self.routes.difference(&wanted) {
            // the kernel may have removed it with an address
            let _ = self.netlink.remove_route(*gone, self.index);
        }
        self.routes = self.routes.intersection(&wanted).copied().collect();
        for route in wanted {
            if self.routes.contains(&route) {
                continue;
            }
            for other in self.netlink.routes_to(route, self.index)? {
                self.journal.note_removed_route(&other)?;
                self.netlink.remove(&other)?;
            }
            self.netlink.add_route(route, self.index)?;
            self.routes.insert(route);
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

    /// Lets the machine forward packets between interfaces.
    ///
    /// # Errors
    /// If a sysctl cannot be set.
    pub fn forward(&mut self) -> io::Result<()> {
        for name in FORWARDING {
            let file = Path::new("/proc/sys").join(name);
            let before = match std::fs::read_to_string(&file) {
                Ok(before) => before.trim().to_owned(),
                // a machine without IPv6
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            if before != "1" {
                self.journal.note_sysctl(name, &before)?;
                std::fs::write(&file, "1")?;
            }
        }
        Ok(())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        for route in std::mem::take(&mut self.routes) {
            let _ = self.netlink.remove_route(route, self.index);
        }
        // by hand, because a panic may have left a clone of the device
        let _ = self.device.enabled(false);
        self.journal.undo(&mut self.netlink);
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
