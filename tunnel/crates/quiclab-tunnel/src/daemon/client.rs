//! The client: its paths follow the interfaces of the machine, and the machine gets the addresses assigned by the server.

use super::{Daemon, DaemonError};
use crate::config::Client;
use crate::protocol::Assignment;
use crate::setup::SetupError;
use crate::system::{Inside, Interface, drops_detours};
use crate::uplinks::Uplinks;
use quiclab_carrier::{PublicKey, SessionId};
use quiclab_core::ip::IpPrefix;
use quiclab_core::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

/// Delay before interfaces that could not be read are read again.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// Delay before paths without an answer are reported; each further delay is twice as long, up to
/// [`LONGEST_SILENCE`].
const FIRST_SILENCE: Duration = Duration::from_secs(10);
/// See [`FIRST_SILENCE`].
const LONGEST_SILENCE: Duration = Duration::from_secs(640);

/// Paths of a client that were never up since the start.
pub(super) struct Silence {
    pub(super) paths: BTreeSet<usize>,
    /// Servers that have refused a connection since the last report, and thus have answered.
    pub(super) answered: BTreeSet<SocketAddr>,
    /// Time of the report.
    pub(super) report: Time,
    wait: Duration,
}

impl Daemon {
    /// Reports the paths on which the server has not answered yet, while there are any.
    pub(super) fn report_silence(&mut self, now: Time) {
        let Some(silence) = self.silence.as_mut().filter(|silence| silence.report <= now) else { return };
        silence.wait = LONGEST_SILENCE.min(silence.wait * 2);
        silence.report = now + silence.wait;
        let answered = std::mem::take(&mut silence.answered);
        let Some(client) = &self.config.client else { return };
        for (slot, _) in self.sockets.iter().filter(|(slot, _)| silence.paths.contains(slot)) {
            let path = &client.paths[slot];
            if answered.contains(&path.server) {
                continue;
            }
            tracing::warn!(
                path = path.name,
                server = %path.server,
                "path is not up so far: check the address and the UDP port of the server, firewalls between, and whether it runs"
            );
        }
        if silence.paths.is_empty() {
            self.silence = None;
        }
    }

    /// Opens the session of a client over all of its paths.
    pub(super) fn connect(&mut self, now: Time) -> Result<(), DaemonError> {
        let client = self.config.client.clone().expect("this is a client");
        let mut uplinks = Uplinks::new(&client);
        let interfaces = self.machine.interfaces().map_err(SetupError::Interfaces)?;
        let moved: BTreeMap<_, _> = uplinks.follow(&interfaces, &mut self.sockets).into_iter().collect();
        let local = |index| moved.get(&index).copied().unwrap_or_else(|| uplinks.unspecified_address(index));
        let paths = client.paths.iter().enumerate();
        let addresses: Vec<_> = paths.map(|(index, path)| (local(index), path.server)).collect();
        let id = self.endpoint.connect(now, &addresses)?;
        let key = client.server_key.unwrap_or(PublicKey::NONE);
        self.add_session(now, id, key, "server".to_owned());
        self.uplinks = Some((uplinks, id));
        self.silence = Some(Silence {
            paths: (0..client.paths.len()).collect(),
            answered: BTreeSet::new(),
            report: now + FIRST_SILENCE,
            wait: FIRST_SILENCE,
        });
        self.warn_of_filters();
        Ok(())
    }

    /// Warns once of each uplink on which the kernel drops the server's packets.
    fn warn_of_filters(&mut self) {
        let Some((uplinks, _)) = &self.uplinks else { return };
        for interface in uplinks.interfaces_of_ipv4() {
            if drops_detours(interface).unwrap_or(false) && self.filtered.insert(interface.to_owned()) {
                tracing::warn!(
                    interface,
                    "rp_filter is strict (1): the kernel drops what the server sends on this interface unless the way to it leads there; see `rp_filter` in tunnel/docs/tunnel.md"
                );
            }
        }
    }

    /// Moves paths to new sockets after changes of interfaces.
    pub(super) fn follow_interfaces(&mut self, now: Time) {
        self.retry_interfaces = None;
        let Some((uplinks, session)) = &mut self.uplinks else { return };
        let interfaces = match self.machine.interfaces() {
            Ok(interfaces) => interfaces,
            Err(error) => {
                tracing::warn!(%error, "interfaces cannot be read");
                self.retry_interfaces = Some(now + RETRY_INTERVAL);
                return;
            }
        };
        for (path, local) in uplinks.follow(&interfaces, &mut self.sockets) {
            if let Err(error) = self.endpoint.rebind_path(now, *session, path, local) {
                tracing::warn!(path, %error, "path cannot be moved");
            }
        }
        self.warn_of_filters();
    }

    /// Sets the addresses and routes of the device that the server assigns.
    pub(super) fn assigned(
        &mut self,
        now: Time,
        id: SessionId,
        assignment: Assignment,
    ) -> Result<(), DaemonError> {
        let (Some(session), Some(client)) = (self.sessions.get_mut(&id), &self.config.client) else {
            return Ok(());
        };
        let interfaces = self.machine.interfaces().map_err(SetupError::Interfaces)?;
        let networks: Vec<_> = assignment.addresses.iter().map(|assigned| assigned.network).collect();
        check_networks(&networks, client, &self.config.interface, &interfaces)?;
        if let Some(network) = networks.iter().find(|network| !may_assign(client, **network)) {
            return Err(DaemonError::NetworkNotAllowed(*network));
        }
        let mtu = assignment.mtu.min(self.config.mtu);
        let (routes, unreachable) = routes(client, &assignment);
        if !unreachable.is_empty() && !self.machine.has_unreachable_routes() {
            let family = if unreachable[0].is_ipv4() { "IPv4" } else { "IPv6" };
            let routes = listed(&unreachable);
            tracing::warn!(routes, "the server assigns no {family} address: these routes are unreachable");
        }
        let addresses = assignment.addresses.iter();
        let addresses = addresses.map(|assigned| (assigned.address, assigned.network.length())).collect();
        let inside = Inside { mtu, addresses, routes, unreachable, routes_apart: false };
        let machine = &mut self.machine;
        let unbound = client.paths.iter().filter(|path| path.interface.is_none() && path.local.is_none());
        let mut servers = unbound.map(|path| path.server.ip());
        servers
            .try_for_each(|server| {
                if inside.routes.iter().any(|route| route.contains(server)) {
                    machine.keep_way(server)
                } else {
                    Ok(())
                }
            })
            .and_then(|()| machine.set_inside(&inside))
            .map_err(SetupError::Machine)?;
        let reached =
            |server: &&IpAddr| networks.iter().chain(&inside.routes).any(|route| route.contains(**server));
        let outside: Vec<_> = client.dns.iter().filter(|server| !reached(server)).collect();
        if !outside.is_empty() {
            tracing::warn!(dns = listed(outside), "no route leads through the tunnel to these name servers");
        }
        session.allowed = None;
        let hosts = assignment.addresses.iter().map(|assigned| IpPrefix::host(assigned.address));
        session.own = Some(hosts.chain(client.networks.iter().copied()).collect());
        session.opened(now, assignment.addresses, mtu);
        let addresses =
            listed(inside.addresses.iter().map(|(address, length)| format!("{address}/{length}")));
        tracing::info!(session = id.0, addresses, mtu, "addresses set");
        Ok(())
    }
}

/// Joins items of a line of the log with commas.
pub(super) fn listed(things: impl IntoIterator<Item: ToString>) -> String {
    things.into_iter().map(|thing| thing.to_string()).collect::<Vec<_>>().join(", ")
}

/// Routes through the tunnel: those of the configuration and, if it accepts them, those of the server. Routes of a family
/// without an address come second: through the tunnel their packets would get no answer, and outside they would leave in
/// cleartext.
fn routes(client: &Client, assignment: &Assignment) -> (Vec<IpPrefix>, Vec<IpPrefix>) {
    let mut routes = client.routes.clone();
    if client.accept_routes {
        routes.extend(assignment.routes.iter().filter(|route| !client.routes.contains(route)));
    }
    let addresses = &assignment.addresses;
    let has = |ipv4: bool| addresses.iter().any(|assigned| assigned.address.is_ipv4() == ipv4);
    // the kernel adds the routes of the device's own networks
    routes.retain(|route| addresses.iter().all(|assigned| assigned.network != *route));
    routes.into_iter().partition(|route| has(route.is_ipv4()))
}

/// Ranges for private use (RFC 1918 section 3, RFC 6598 section 7, RFC 4193 section 3.1): no host of the Internet is in them.
const PRIVATE: [&str; 5] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"];
/// Minimum prefix length of a network that a server may assign in such a range: the largest single network
/// (RFC 1918), a site (RFC 4193).
pub(super) const PRIVATE_BITS_IPV4: u8 = 16;
/// See [`PRIVATE_BITS_IPV4`].
pub(super) const PRIVATE_BITS_IPV6: u8 = 48;

/// Whether a server may route a network through the tunnel by an address in it: one that the configuration routes there, a small
/// one for private use, or the address alone.
fn may_assign(client: &Client, network: IpPrefix) -> bool {
    let within = |range: &IpPrefix| range.length() <= network.length() && range.contains(network.network());
    let widest = if network.is_ipv4() { PRIVATE_BITS_IPV4 } else { PRIVATE_BITS_IPV6 };
    let private = PRIVATE.iter().any(|range| within(&range.parse().expect("it is a range")));
    client.accept_routes
        || client.routes.iter().any(within)
        || private && network.length() >= widest
        || network == IpPrefix::host(network.network())
}

/// Checks that networks inside the tunnel contain no address of a server or of another interface.
fn check_networks(
    networks: &[IpPrefix],
    client: &Client,
    interface: &str,
    interfaces: &BTreeMap<String, Interface>,
) -> Result<(), DaemonError> {
    let own = interfaces.iter().filter(|(name, _)| *name != interface);
    let own = own.flat_map(|(name, found)| found.addresses.iter().map(move |address| (name, *address)));
    let servers = client.paths.iter().map(|path| (&path.name, path.server.ip()));
    let outside: Vec<_> = own.chain(servers).collect();
    for &network in networks {
        if let Some(&(name, address)) = outside.iter().find(|(_, address)| network.contains(*address)) {
            return Err(DaemonError::NetworkInUse { network, address, name: name.clone() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Assigned;

    fn client(lines: &str) -> Client {
        let key = "07".repeat(32);
        let text = format!(
            "version = 1\nkey_file = \"key\"\n[client]\nserver_key = \"{key}\"\n{lines}\n[[client.paths]]\nname = \"dsl\"\nserver = \"192.0.2.1:4433\"\n"
        );
        crate::config::parse(&text, "client.toml").unwrap().0.client.unwrap()
    }

    #[test]
    fn networks_inside_contain_no_address_outside() {
        let interface =
            |address: &str| Interface { index: 7, running: true, addresses: vec![address.parse().unwrap()] };
        let interfaces = BTreeMap::from([
            ("lan0".to_owned(), interface("10.1.0.5")),
            ("qlt0".to_owned(), interface("10.77.0.2")),
        ]);
        let client = client("");
        let check = |network: &str| {
            check_networks(&[network.parse().unwrap()], &client, "qlt0", &interfaces).map_err(|error| {
                match error {
                    DaemonError::NetworkInUse { network, address, name } => {
                        format!("{network} {address} {name}")
                    }
                    other => panic!("{other}"),
                }
            })
        };
        assert_eq!(check("10.77.0.0/24"), Ok(()), "the address of the tunnel itself, after a reconnect");
        assert_eq!(check("10.1.0.0/16"), Err("10.1.0.0/16 10.1.0.5 lan0".to_owned()));
        assert_eq!(check("192.0.2.0/24"), Err("192.0.2.0/24 192.0.2.1 dsl".to_owned()));
    }

    #[test]
    fn a_server_draws_small_networks_for_private_use_only() {
        let may = |lines: &str, network: &str| may_assign(&client(lines), network.parse().unwrap());
        for (network, expected) in [
            ("10.77.0.0/24", true),
            ("10.77.0.0/16", true),
            ("10.76.0.0/15", false),
            ("10.0.0.0/8", false),
            ("172.16.0.0/16", true),
            ("172.32.0.0/16", false),
            ("192.168.0.0/16", true),
            ("100.64.0.0/16", true),
            ("100.128.0.0/16", false),
            ("8.0.0.0/8", false),
            ("8.8.8.8/30", false),
            ("8.8.8.8/32", true),
            ("fd77::/48", true),
            ("fd77::/47", false),
            ("fc00::/16", false),
            ("2001:db8::/64", false),
            ("2001:db8::7/128", true),
        ] {
            assert_eq!(may("", network), expected, "{network}");
            assert!(may("accept_routes = true", network), "{network}");
        }
        let routes = "routes = [\"8.0.0.0/8\", \"::/0\"]";
        assert!(may(routes, "8.0.0.0/8") && may(routes, "8.8.8.8/30") && may(routes, "2001:db8::/64"));
        assert!(!may(routes, "8.0.0.0/7") && !may(routes, "9.0.0.0/8"));
    }

    #[test]
    fn routes_of_a_family_without_an_address_are_unreachable() {
        let assignment = Assignment {
            mtu: 1400,
            addresses: vec![Assigned {
                address: "10.77.0.2".parse().unwrap(),
                network: "10.77.0.0/24".parse().unwrap(),
                server: Some("10.77.0.1".parse().unwrap()),
            }],
            routes: ["10.77.0.0/24", "10.99.0.0/16", "10.98.0.0/16", "fd99::/64"]
                .map(|route| route.parse().unwrap())
                .to_vec(),
        };
        let texts = |routes: Vec<IpPrefix>| routes.iter().map(ToString::to_string).collect::<Vec<_>>();
        let found = |lines: &str| {
            let (through, unreachable) = routes(&client(lines), &assignment);
            (texts(through), texts(unreachable))
        };
        let own = "routes = [\"10.99.0.0/16\", \"::/0\"]\naccept_routes = ";
        let all = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(found(&format!("{own}false")), (all(&["10.99.0.0/16"]), all(&["::/0"])));
        let announced = (all(&["10.99.0.0/16", "10.98.0.0/16"]), all(&["::/0", "fd99::/64"]));
        assert_eq!(found(&format!("{own}true")), announced);
    }
}
