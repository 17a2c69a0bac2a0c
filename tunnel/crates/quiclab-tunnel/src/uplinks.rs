//! Uplinks of a client: a socket for each while its interface exists.

use crate::config::{Client, Path};
use crate::sockets::{Socket, Sockets};
use crate::system::{Interface, MARK};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use thiserror::Error;

/// Binding of a socket: a change of it requires a new socket.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SocketBinding {
    interface: Option<String>,
    index: u32,
    addresses: Vec<IpAddr>,
}

/// Reason for which a path has no usable interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
enum NoInterface {
    #[error("there is no such interface")]
    Absent,
    #[error("the interface is down, or has no carrier")]
    Down,
    #[error("the interface has no IPv4 address, as `server` is one")]
    NoIpv4,
    #[error("the interface has no IPv6 address, as `server` is one")]
    NoIpv6,
    #[error("the interface does not have the address `local`")]
    NotLocal,
    #[error("no interface has the address `local`")]
    NowhereLocal,
}

/// The uplinks in the order of the configuration.
pub struct Uplinks {
    paths: Vec<Path>,
    /// Last logged binding of each uplink; `None` if there was none, or its socket could not be bound.
    grounds: Vec<Option<Result<SocketBinding, NoInterface>>>,
    /// Mark of packets from the sockets, which the kill switch permits.
    mark: Option<u32>,
}

impl Uplinks {
    /// Creates the uplinks of a client, without sockets.
    #[must_use]
    pub fn new(client: &Client) -> Self {
        let mark = client.kill_switch.then_some(MARK);
        Self { paths: client.paths.clone(), grounds: vec![None; client.paths.len()], mark }
    }

    /// Local address for a path without a socket, with a port that no other path has.
    #[must_use]
    pub fn unspecified_address(&self, path: usize) -> SocketAddr {
        SocketAddr::new(unspecified(self.paths[path].server), 1 + path as u16)
    }

    fn bind(&self, local: SocketAddr, interface: Option<&str>) -> io::Result<Socket> {
        let socket = Socket::bind(local, interface, false)?;
        if let Some(mark) = self.mark {
            socket2::SockRef::from(&socket).set_mark(mark)?;
        }
        Ok(socket)
    }

    /// Interfaces on which packets of an IPv4 server currently arrive.
    pub fn interfaces_of_ipv4(&self) -> impl Iterator<Item = &str> {
        let used = self.paths.iter().zip(&self.grounds).filter(|(path, _)| path.server.is_ipv4());
        used.filter_map(|(_, ground)| ground.as_ref()?.as_ref().ok()?.interface.as_deref())
    }

    /// Follows changes of the interfaces; returns the paths with a new socket and its address.
    pub fn follow(
        &mut self,
        interfaces: &BTreeMap<String, Interface>,
        sockets: &mut Sockets,
    ) -> Vec<(usize, SocketAddr)> {
        let mut moved = Vec::new();
        for (index, path) in self.paths.iter().enumerate() {
            let ground = ground(path, interfaces);
            if self.grounds[index].as_ref() == Some(&ground) {
                continue;
            }
            let local = SocketAddr::new(path.local.unwrap_or_else(|| unspecified(path.server)), 0);
            let socket = ground.as_ref().map(|ground| self.bind(local, ground.interface.as_deref()));
            let (socket, ground) = match socket {
                Ok(Ok(socket)) => {
                    let interface = ground.as_ref().ok().and_then(|ground| ground.interface.as_deref());
                    tracing::info!(path = path.name, interface, "path has an interface");
                    moved.push((index, socket.local()));
                    (Some(socket), Some(ground))
                }
                Ok(Err(error)) => {
                    // it may exist soon: the next change triggers another attempt
                    tracing::warn!(path = path.name, %error, "path has no socket");
                    (None, None)
                }
                Err(reason) => {
                    let interface = path.interface.as_deref();
                    tracing::warn!(path = path.name, interface, %reason, "path has no interface");
                    (None, Some(ground))
                }
            };
            sockets.set(index, socket);
            self.grounds[index] = ground;
        }
        moved
    }
}

fn unspecified(server: SocketAddr) -> IpAddr {
    if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() }
}

/// Interface of a path with its addresses, if the path is usable now.
fn ground(path: &Path, interfaces: &BTreeMap<String, Interface>) -> Result<SocketBinding, NoInterface> {
    let name = match (&path.interface, path.local) {
        (Some(name), _) => name,
        (None, Some(local)) => interfaces
            .iter()
            .find(|(_, interface)| interface.addresses.contains(&local))
            .map(|(name, _)| name)
            .ok_or(NoInterface::NowhereLocal)?,
        // the kernel chooses the interface
        (None, None) => return Ok(SocketBinding { interface: None, index: 0, addresses: Vec::new() }),
    };
    let interface = interfaces.get(name).ok_or(NoInterface::Absent)?;
    if !interface.running {
        return Err(NoInterface::Down);
    }
    let same_family = |address: &&IpAddr| address.is_ipv4() == path.server.is_ipv4();
    let mut addresses: Vec<IpAddr> = interface.addresses.iter().filter(same_family).copied().collect();
    addresses.sort_unstable();
    if addresses.is_empty() {
        return Err(if path.server.is_ipv4() { NoInterface::NoIpv4 } else { NoInterface::NoIpv6 });
    }
    if path.local.is_some_and(|local| !addresses.contains(&local)) {
        return Err(NoInterface::NotLocal);
    }
    Ok(SocketBinding { interface: Some(name.clone()), index: interface.index, addresses })
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclab_transport::options::CongestionControl;

    fn path(interface: Option<&str>, local: Option<&str>) -> Path {
        Path {
            name: "x".to_owned(),
            interface: interface.map(str::to_owned),
            local: local.map(|local| local.parse().unwrap()),
            server: "192.0.2.1:4433".parse().unwrap(),
            mtu: 1500,
            congestion_control: CongestionControl::Cubic,
            window: None,
        }
    }

    #[test]
    fn a_path_stands_on_an_interface_that_runs_and_has_an_address() {
        let interface = |running, addresses: &[&str]| Interface {
            index: 7,
            running,
            addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
        };
        let mut interfaces = BTreeMap::from([
            ("dsl".to_owned(), interface(true, &["198.51.100.2", "2001:db8::2"])),
            ("lte".to_owned(), interface(true, &["2001:db8::3"])),
            ("off".to_owned(), interface(false, &["198.51.100.9"])),
        ]);
        let name = |path: &Path, interfaces: &BTreeMap<_, _>| {
            ground(path, interfaces).map(|ground| ground.interface.unwrap_or_else(|| "any".to_owned()))
        };
        for (interface, local, expected) in [
            (Some("dsl"), None, Ok("dsl")),
            (None, Some("198.51.100.2"), Ok("dsl")),
            (None, None, Ok("any")),
            (Some("lte"), None, Err(NoInterface::NoIpv4)),
            (Some("off"), None, Err(NoInterface::Down)),
            (Some("usb"), None, Err(NoInterface::Absent)),
            (Some("dsl"), Some("198.51.100.3"), Err(NoInterface::NotLocal)),
            (None, Some("198.51.100.3"), Err(NoInterface::NowhereLocal)),
        ] {
            let found = name(&path(interface, local), &interfaces);
            assert_eq!(found.as_deref().map_err(|reason| *reason), expected, "{interface:?} {local:?}");
        }
        // another address is another binding
        let before = ground(&path(Some("dsl"), None), &interfaces);
        interfaces.get_mut("dsl").unwrap().addresses[0] = "198.51.100.4".parse().unwrap();
        assert_ne!(ground(&path(Some("dsl"), None), &interfaces), before);
    }
}
