//! Requirements of the machine, checked before it is changed: sockets, permissions, free addresses.

use super::SetupError;
use crate::config::{Config, Server};
use crate::sockets::{Socket, Sockets};
use crate::system::{DeviceError, Interface};
use quiclab_core::problem::{quoted, system_reason};
use quiclab_core::{FieldPath, Problem};
use rustix::thread::{CapabilitySet, capabilities};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

/// Binds the sockets of a server; creates the slots of a client, whose sockets depend on its interfaces.
pub(super) fn bind(config: &Config) -> Result<Sockets, Problem> {
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

/// Problem about a listen address that does not belong to this machine, is in use, or is reserved.
pub(super) fn not_available(path: FieldPath, address: SocketAddr, error: &io::Error) -> Problem {
    if error.kind() == io::ErrorKind::PermissionDenied {
        let expected = "a port from 1024 on, or a process with CAP_NET_BIND_SERVICE";
        return Problem::conflict(path, quoted(address), expected)
            .because("with the systemd unit, use the drop-in for a port below 1024 in tunnel.md");
    }
    Problem::value(path, quoted(address), "an available address of this machine")
        .because(system_reason(error))
}

/// Checks that no pool contains an address of this machine: packets to its neighbours would enter the tunnel.
pub(super) fn check_pools(server: &Server, interfaces: &BTreeMap<String, Interface>) -> Result<(), Problem> {
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

/// Checks that the process can and may create a device.
pub(super) fn check_permission() -> Result<(), SetupError> {
    if !Path::new("/dev/net/tun").exists() {
        return Err(DeviceError::Missing.into());
    }
    let held = capabilities(None).map_err(|error| SetupError::Capabilities(error.into()))?.effective;
    if held.contains(CapabilitySet::NET_ADMIN) { Ok(()) } else { Err(SetupError::NotPermitted) }
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

    /// Otherwise the unit restarts the tunnel repeatedly.
    #[test]
    fn a_port_that_takes_a_capability_does_not_suit() {
        let address = "0.0.0.0:443".parse().unwrap();
        let of = |kind: io::ErrorKind| not_available("server.listen.0".into(), address, &kind.into());
        let denied = of(io::ErrorKind::PermissionDenied);
        assert!(denied.to_string().contains("CAP_NET_BIND_SERVICE"), "{denied}");
        assert!(SetupError::from(denied).is_permanent());
        assert!(!SetupError::from(of(io::ErrorKind::AddrInUse)).is_permanent());
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
