//! The hosts of a run: a network namespace with a TUN device for each end of each flow.

use crate::command::succeed;
use crate::device::Device;
use crate::namespace::Namespace;
use crate::timing::MachineClock;
use quiclab_core::problem::system_reason;
use quiclab_core::{Endpoint, Problem};
use quiclab_sim::{EndpointRequest, Stacks};
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use tun_rs::{DeviceBuilder, SyncDevice};

/// Name of the device in its namespace.
const DEVICE: &str = "quiclab0";
/// Name of the device in the machine's own network, which may have several: the kernel assigns the number.
const SHARED_DEVICE: &str = "quiclab%d";
/// Number of packets that the kernel buffers until they are read: none may be lost before the first element.
const DEVICE_QUEUE_PACKETS: u32 = 10_000;
/// Largest IP packet that a host sends.
const MTU: u16 = 1500;

/// One end of a flow.
pub struct EndpointHost {
    /// Namespace of its programs.
    pub namespace: Arc<Namespace>,
    /// Its address.
    pub address: IpAddr,
    tun: Arc<SyncDevice>,
    /// Name of the device in the namespace.
    device: String,
}

/// Network of an end of a flow.
pub enum NetworkPlacement {
    /// In a network of its own.
    Own {
        /// Settings of that network by name.
        sysctls: BTreeMap<String, String>,
    },
    /// In the network of the machine itself.
    Shared,
}

/// All ends by their names, such as `main.sender`. As [`Stacks`] they create the endpoints of a topology.
pub struct EndpointHosts {
    by_name: BTreeMap<String, EndpointHost>,
    clock: MachineClock,
}

impl EndpointHost {
    /// Creates a host with this address, whose device receives the packets to `peer`, or all packets in a
    /// network of its own.
    ///
    /// # Errors
    /// If the kernel refuses the namespace, the device or a setting.
    pub fn new(place: NetworkPlacement, address: IpAddr, peer: IpAddr) -> io::Result<Self> {
        let (namespace, name) = match place {
            NetworkPlacement::Own { .. } => (Namespace::new()?, DEVICE),
            NetworkPlacement::Shared => (Namespace::of_the_machine(), SHARED_DEVICE),
        };
        let (tun, device) = namespace.within(move || {
            if let NetworkPlacement::Own { sysctls } = &place {
                for (name, value) in sysctls {
                    set(name, value)?;
                }
            }
            let builder = DeviceBuilder::new().name(name).mtu(MTU);
            let tun = match address {
                IpAddr::V4(address) => builder.ipv4(address, 32, None),
                IpAddr::V6(address) => builder.ipv6(address, 128),
            }
            .build_sync()
            .map_err(no_device)?;
            tun.set_nonblocking(true)?;
            let device = tun.name()?;
            // by netlink: the older interface refuses this to the root of a user namespace
            let length = DEVICE_QUEUE_PACKETS.to_string();
            succeed("ip", &["link", "set", &device, "txqueuelen", &length])?;
            match place {
                NetworkPlacement::Own { .. } => {
                    succeed("ip", &["link", "set", "lo", "up"])?;
                    succeed("ip", &["route", "add", "default", "dev", &device])?;
                }
                NetworkPlacement::Shared => {
                    succeed("ip", &["route", "add", &peer.to_string(), "dev", &device])?;
                }
            }
            io::Result::Ok((tun, device))
        })?;
        Ok(Self { namespace: Arc::new(namespace), address, tun: Arc::new(tun), device })
    }

    /// Number of packets that the kernel dropped because they were not read in time.
    #[must_use]
    pub fn overflowed(&self) -> u64 {
        const TX_DROPPED: usize = 11;
        let device = self.device.clone();
        self.namespace.within(move || {
            let table = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
            let line =
                table.lines().find_map(|line| line.trim_start().strip_prefix(&device)?.strip_prefix(':'));
            line.and_then(|line| line.split_whitespace().nth(TX_DROPPED)?.parse().ok()).unwrap_or(0)
        })
    }
}

/// Sets `net.ipv4.name` and similar settings in the namespace of the calling thread.
fn set(name: &str, value: &str) -> io::Result<()> {
    let path = Path::new("/proc/sys").join(name.replace('.', "/"));
    std::fs::write(&path, value)
        .map_err(|error| io::Error::new(error.kind(), format!("sysctl {name} = {value}: {error}")))
}

/// Message about a device that is not available.
fn no_device(error: io::Error) -> io::Error {
    let sentence = match error.kind() {
        io::ErrorKind::NotFound => {
            "/dev/net/tun is missing: load the kernel module `tun` (modprobe tun), or give the container that device"
                .to_owned()
        }
        io::ErrorKind::PermissionDenied => format!(
            "cannot use /dev/net/tun ({}): run as root, or give the container that device",
            system_reason(&error)
        ),
        _ => format!("no TUN device: {}", system_reason(&error)),
    };
    io::Error::new(error.kind(), sentence)
}

impl EndpointHosts {
    /// Creates the hosts from these ends; `clock` is that of the run.
    #[must_use]
    pub fn new(by_name: BTreeMap<String, EndpointHost>, clock: MachineClock) -> Self {
        Self { by_name, clock }
    }

    /// Host of the end with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&EndpointHost> {
        self.by_name.get(name)
    }

    /// All ends with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &EndpointHost)> {
        self.by_name.iter().map(|(name, machine)| (name.as_str(), machine))
    }
}

impl Stacks for EndpointHosts {
    fn build(&self, request: EndpointRequest<'_>) -> Result<Box<dyn Endpoint>, Problem> {
        let identity = &request.identity;
        let machine = self.get(&identity.name).expect("there is a machine for each end");
        Ok(Box::new(Device::new(identity, machine.tun.clone(), self.clock)))
    }
}
