//! The hosts of a run: a network namespace with a TUN device for each end of each flow.

use crate::device::Device;
use crate::namespace::Namespace;
use crate::timing::MachineClock;
use quiclab_core::{Endpoint, EndpointIdentity, StackError};
use quiclab_sim::{EndpointRequest, Stacks};
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use tun_rs::{DeviceBuilder, SyncDevice};

/// Name of the device in its namespace.
const DEVICE: &str = "quiclab0";
/// Packets that the kernel keeps for us until we read them: nothing may be lost before the first element.
const DEVICE_QUEUE_PACKETS: u32 = 10_000;
/// Largest IP packet that a host sends.
const MTU: u16 = 1500;

/// One end of a flow.
pub struct Machine {
    /// Where its programs run.
    pub namespace: Arc<Namespace>,
    /// Its address.
    pub address: IpAddr,
    tun: Arc<SyncDevice>,
}

/// All ends by their names, such as `main.sender`. As [`Stacks`] they make the endpoints of a topology.
pub struct Machines {
    by_name: BTreeMap<String, Machine>,
    clock: MachineClock,
}

impl Machine {
    /// A host with the address that `identity` has in every lane.
    ///
    /// # Errors
    /// If the kernel refuses the namespace, the device or a setting.
    pub fn new(identity: &EndpointIdentity, sysctls: &BTreeMap<String, String>) -> io::Result<Self> {
        let namespace = Arc::new(Namespace::new().map_err(labelled("the network namespace"))?);
        let address = identity.tuple.source().ip();
        let sysctls = sysctls.clone();
        let tun = namespace.within(move || {
            for (name, value) in &sysctls {
                set(name, value)?;
            }
            let builder = DeviceBuilder::new().name(DEVICE).mtu(MTU);
            let tun = match address {
                IpAddr::V4(address) => builder.ipv4(address, 32, None),
                IpAddr::V6(address) => builder.ipv6(address, 128),
            }
            .with(|options| {
                options.tx_queue_len(DEVICE_QUEUE_PACKETS);
            })
            .build_sync()
            .map_err(labelled("the TUN device"))?;
            tun.set_nonblocking(true).map_err(labelled("the TUN device"))?;
            route(&["link", "set", "lo", "up"])?;
            route(&["route", "add", "default", "dev", DEVICE])?;
            io::Result::Ok(tun)
        })?;
        Ok(Self { namespace, address, tun: Arc::new(tun) })
    }

    /// Packets that the kernel dropped because we did not read them in time.
    #[must_use]
    pub fn overflowed(&self) -> u64 {
        const TX_DROPPED: usize = 11;
        self.namespace.within(|| {
            let table = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
            let line =
                table.lines().find_map(|line| line.trim_start().strip_prefix(DEVICE)?.strip_prefix(':'));
            line.and_then(|line| line.split_whitespace().nth(TX_DROPPED)?.parse().ok()).unwrap_or(0)
        })
    }
}

/// Says what an error is about.
fn labelled(what: &str) -> impl Fn(io::Error) -> io::Error + '_ {
    move |error| io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Sets `net.ipv4.name` and the like in the namespace of the calling thread.
fn set(name: &str, value: &str) -> io::Result<()> {
    let path = Path::new("/proc/sys").join(name.replace('.', "/"));
    std::fs::write(&path, value)
        .map_err(|error| io::Error::new(error.kind(), format!("sysctl {name} = {value}: {error}")))
}

/// Runs `ip` in the namespace of the calling thread.
fn route(arguments: &[&str]) -> io::Result<()> {
    let command = || format!("`ip {}`", arguments.join(" "));
    let done = std::process::Command::new("ip").args(arguments).output().map_err(|error| {
        io::Error::new(error.kind(), format!("{} cannot be started: {error}; install iproute2", command()))
    })?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(io::Error::other(format!("{} failed: {}", command(), said.trim())))
}

impl Machines {
    /// The given ends; `clock` is that of the run.
    #[must_use]
    pub fn new(by_name: BTreeMap<String, Machine>, clock: MachineClock) -> Self {
        Self { by_name, clock }
    }

    /// The end of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Machine> {
        self.by_name.get(name)
    }

    /// All ends with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Machine)> {
        self.by_name.iter().map(|(name, machine)| (name.as_str(), machine))
    }
}

impl Stacks for Machines {
    fn build(&self, request: EndpointRequest<'_>) -> Result<Box<dyn Endpoint>, StackError> {
        let identity = &request.identity;
        let machine = self.get(&identity.name).expect("there is a machine for each end");
        Ok(Box::new(Device::new(identity, machine.tun.clone(), self.clock)))
    }
}
