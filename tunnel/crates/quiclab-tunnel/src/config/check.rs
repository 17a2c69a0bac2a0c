//! Checks that depend on several fields of a configuration. Checks of a single field are at the field.

use super::{Client, Config, Path, Peer, Server, connect_ip};
use quiclab_core::ip::{IpPrefix, SMALLEST_IPV6_MTU};
use quiclab_core::problem::{ensure, quoted};
use quiclab_core::queue::{Capacity, QueueConfig};
use quiclab_core::tunnel::{CarrierKind, check_sender};
use quiclab_core::{ByteCount, FieldPath, Problem, ProblemKind};
use quiclab_transport::options::CongestionControl;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Maximum bytes of IP, UDP, QUIC and DATAGRAM headers around a packet: 40 + 8, 1 + 8 + 4 + 16, 1 + 2.
const OVERHEAD: u16 = 80;
/// Maximum memory and packets of a queue, which bound those of a client: less than in scenarios.
const MAX_QUEUE_MEMORY: ByteCount = ByteCount::from_bytes(1 << 30);
const MIN_QUEUE_MEMORY: ByteCount = ByteCount::from_bytes(10_000);
const MAX_QUEUE_PACKETS: u64 = 1_000_000;
/// Maximum number of paths of one connection, or with common order.
const MAX_PATHS_TOGETHER: usize = 8;

type Check = Result<(), Problem>;

/// Checks a configuration whose fields are valid individually.
pub(super) fn check(config: &Config) -> Check {
    check_interface(&"interface".into(), &config.interface)?;
    check_ipv6(config)?;
    check_unique(&"trusted_interfaces".into(), &config.trusted_interfaces)?;
    if config.trusted_interfaces.contains(&config.interface) {
        let expected = "interfaces outside the tunnel";
        return Err(Problem::conflict("trusted_interfaces", quoted(&config.interface), expected)
            .because("it is the device of the tunnel"));
    }
    check_queue(&"queue".into(), &config.queue)?;
    // a server accepts the paths of its clients
    let paths = config.client.as_ref().map(|client| client.paths.len());
    check_sender(&config.queue, &config.scheduler, paths, config.numbers_packets())?;
    ensure(config.keep_alive <= config.idle_timeout, || {
        let expected = format!("a duration of at most `idle_timeout` (\"{}\")", config.idle_timeout);
        Problem::conflict("keep_alive", quoted(config.keep_alive), expected)
    })?;
    ensure(config.group.is_none() || config.user.is_some(), || {
        Problem::conflict("group", "", "a group together with `user`")
    })?;
    match (&config.server, &config.client) {
        (Some(server), None) => check_server(&"server".into(), server, config),
        (None, Some(client)) => check_client(&"client".into(), client, config),
        (Some(_), Some(_)) => {
            Err(about("client", "`[server]` and `[client]` are both present", "exactly one of them"))
        }
        (None, None) => Err(Problem::new(ProblemKind::MissingField, "", "`[server]` or `[client]`")),
    }
}

/// A problem with a table as a whole.
fn about(path: impl Into<FieldPath>, reason: &str, expected: &str) -> Problem {
    Problem::new(ProblemKind::Conflict, path, expected).because(reason)
}

/// The kernel has no device of these names; a pattern of characters cannot express this.
fn check_interface(path: &FieldPath, name: &str) -> Check {
    // nor of the sysctls of all devices
    ensure(![".", "..", "all", "default"].contains(&name), || {
        Problem::value(path.clone(), quoted(name), "the name of a network device")
    })
}

/// IPv6 inside needs larger packets. A client does not yet know its addresses.
fn check_ipv6(config: &Config) -> Check {
    let server = config.server.as_ref().is_some_and(|server| server.pool_ipv6.is_some());
    let routes = config.client.iter().flat_map(|client| &client.routes);
    let ipv6 = server || routes.into_iter().any(|route| !route.is_ipv4());
    ensure(!ipv6 || config.mtu >= SMALLEST_IPV6_MTU, || {
        let expected =
            format!("{SMALLEST_IPV6_MTU} or more (RFC 8200 section 5), or no IPv6 inside the tunnel");
        Problem::conflict("mtu", config.mtu, expected)
    })
}

fn check_queue(path: &FieldPath, queue: &QueueConfig) -> Check {
    let queue = queue.options();
    let Capacity { packets, bytes, memory, .. } = queue.capacity();
    ensure(packets.is_some() || bytes.is_some() || memory.is_some(), || {
        about(path.clone(), "the queue has no limit", "`packets`, `bytes` or both")
    })?;
    if let Some(packets) = packets.filter(|packets| *packets > MAX_QUEUE_PACKETS) {
        let expected = format!("an integer from 1 to {MAX_QUEUE_PACKETS} packets");
        return Err(Problem::value(path.child("packets"), packets, expected));
    }
    if let Some(problem) = queue.conflict() {
        return Err(problem.below(path));
    }
    for (field, size) in [("bytes", bytes), ("memory", memory)] {
        let Some(size) = size else { continue };
        ensure((MIN_QUEUE_MEMORY..=MAX_QUEUE_MEMORY).contains(&size), || {
            let expected = format!("a size from \"{MIN_QUEUE_MEMORY}\" to \"{MAX_QUEUE_MEMORY}\"");
            Problem::value(path.child(field), quoted(size), expected)
        })?;
    }
    Ok(())
}

fn check_server(path: &FieldPath, server: &Server, config: &Config) -> Check {
    check_mtu(path, server.mtu, config)?;
    check_window(path, server.congestion_control, server.window)?;
    check_unique(&path.child("listen"), &server.listen)?;
    let pools = [("pool_ipv4", server.pool_ipv4), ("pool_ipv6", server.pool_ipv6)];
    if let Some(connect_ip) = &server.connect_ip {
        check_unique(&path.child("connect_ip").child("listen"), &connect_ip.listen)?;
        connect_ip::check_server(&path.child("connect_ip"), connect_ip, &server.listen)?;
    }
    for (field, pool) in pools.iter().filter_map(|(field, pool)| Some((*field, (*pool)?))) {
        check_pool(&path.child(field), pool)?;
        let of_http3 = server.connect_ip.iter().flat_map(|connect_ip| connect_ip.listen.iter().enumerate());
        let own = server.listen.iter().enumerate().map(|listen| ("server.listen", listen));
        let mut all = own.chain(of_http3.map(|listen| ("server.connect_ip.listen", listen)));
        if let Some((of, (index, address))) = all.find(|(_, (_, address))| pool.contains(address.ip())) {
            let reason = format!("it contains `{of}.{index}`, {address}, which is outside the tunnel");
            let expected = "an address range inside the tunnel only";
            return Err(Problem::conflict(path.child(field), quoted(pool), expected).because(reason));
        }
    }
    ensure(pools.iter().any(|(_, pool)| pool.is_some()), || {
        Problem::new(ProblemKind::MissingField, path.child("pool_ipv4"), "`pool_ipv4`, `pool_ipv6` or both")
    })?;
    check_peers(&path.child("peers"), &server.peers, &pools)
}

/// Addresses of clients are those of hosts, which are routed.
fn check_pool(path: &FieldPath, pool: IpPrefix) -> Check {
    let first = pool.network();
    let link_local = match first {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    let special = first.is_multicast() || first.is_loopback() || first.is_unspecified() || link_local;
    ensure(!special, || {
        let expected = "an address range of hosts, such as 10.77.0.0/24 or fd77::/64";
        Problem::value(path.clone(), quoted(pool), expected)
            .because("addresses of multicast, of a link and of loopback are not routed")
    })
}

/// Ranges of addresses for clients, with the names of their fields: of IPv4, then of IPv6.
type Pools = [(&'static str, Option<IpPrefix>); 2];

fn check_peers(path: &FieldPath, peers: &[Peer], pools: &Pools) -> Check {
    let mut names = Unique::new("a different name for each peer");
    let mut keys = Unique::new("a different key for each peer");
    let mut addresses = Unique::new("a different address for each peer");
    let mut networks: Vec<(FieldPath, IpPrefix)> = Vec::new();
    for (index, peer) in peers.iter().enumerate() {
        let path = path.child(index);
        let holder = format!("peer `{}`", peer.name);
        names.check(&path.child("name"), peer.name.as_str(), &format!("`{path}`"))?;
        keys.check(&path.child("public_key"), peer.public_key, &holder)?;
        if let Some(key) = peer.next_public_key {
            keys.check(&path.child("next_public_key"), key, &holder)?;
        }
        let fixed = [("ipv4", peer.ipv4.map(IpAddr::V4)), ("ipv6", peer.ipv6.map(IpAddr::V6))];
        for (field, address) in fixed.into_iter().filter_map(|(field, address)| Some((field, address?))) {
            let path = path.child(field);
            check_address(&path, address, pools)?;
            addresses.check(&path, address, &holder)?;
        }
        for (number, network) in peer.networks.iter().enumerate() {
            let path = path.child("networks").child(number);
            let overlap = |reason| {
                let expected = "an address range that overlaps no other range";
                Problem::conflict(path.clone(), quoted(network), expected).because(reason)
            };
            let pools = pools.iter().filter_map(|(field, pool)| Some((field, (*pool)?)));
            if let Some((field, pool)) = pools.into_iter().find(|(_, pool)| pool.overlaps(*network)) {
                return Err(overlap(format!("it overlaps `{field}`, {pool}")));
            }
            if let Some((other, range)) = networks.iter().find(|(_, range)| range.overlaps(*network)) {
                return Err(overlap(format!("it overlaps `{other}`, {range}")));
            }
            networks.push((path, *network));
        }
    }
    Ok(())
}

/// Checks an address of a peer, which must be an address of the pool for clients.
fn check_address(path: &FieldPath, address: IpAddr, pools: &Pools) -> Check {
    let (field, pool) = pools[usize::from(address.is_ipv6())];
    let Some(pool) = pool else {
        let expected = format!("no address, as `{field}` is not set");
        return Err(Problem::conflict(path.clone(), quoted(address), expected));
    };
    let conflict =
        || Problem::conflict(path.clone(), quoted(address), format!("an address in `{field}` ({pool})"));
    ensure(pool.contains(address), conflict)?;
    let reserved =
        [pool.nth(0), pool.nth(1)].contains(&Some(address)) || pool.is_ipv4() && last(pool) == address;
    ensure(!reserved, || conflict().because("it is reserved for the network, the server or broadcasts"))
}

fn check_client(path: &FieldPath, client: &Client, config: &Config) -> Check {
    let path_of_paths = path.child("paths");
    if config.carrier_kind() == CarrierKind::Multipath && client.paths.len() > MAX_PATHS_TOGETHER {
        let expected = format!("1 to {MAX_PATHS_TOGETHER} entries with `carrier = \"multipath\"`");
        let found = format!("{} entries", client.paths.len());
        return Err(about(path_of_paths, &format!("{found} are too many"), &expected));
    }
    ensure(client.next_server_key.is_none() || client.next_server_key != client.server_key, || {
        Problem::conflict(path.child("next_server_key"), "", "another key, or none")
            .because("it is that of `server_key`")
    })?;
    connect_ip::check_client(path, client, config)?;
    check_unique(&path.child("routes"), &client.routes)?;
    check_unique(&path.child("networks"), &client.networks)?;
    ensure(client.kill_switch || client.allow_outside.is_empty(), || {
        let expected = "no destinations, or `kill_switch = true`";
        about(path.child("allow_outside"), "nothing is blocked without `kill_switch`", expected)
    })?;
    check_name_servers(path, client)?;
    let mut names = Unique::new("a different name for each path");
    for (index, path) in client.paths.iter().enumerate() {
        let here = path_of_paths.child(index);
        names.check(&here.child("name"), path.name.as_str(), &format!("`{here}`"))?;
        check_path(&here, path, config)?;
        let same = |other: &Path| {
            (&other.interface, other.local, other.server) == (&path.interface, path.local, path.server)
        };
        if let Some(other) = client.paths[..index].iter().position(same) {
            let reason = format!("it duplicates `client.paths.{other}`");
            return Err(about(here, &reason, "a different interface, local address or server"));
        }
    }
    Ok(())
}

fn check_name_servers(path: &FieldPath, client: &Client) -> Check {
    let servers = path.child("dns");
    check_unique(&servers, &client.dns)?;
    for (index, server) in client.dns.iter().enumerate() {
        ensure(!(server.is_unspecified() || server.is_multicast() || server.is_loopback()), || {
            Problem::value(servers.child(index), quoted(server), "the address of another host")
        })?;
    }
    ensure(client.dns_search.is_empty() || !client.dns.is_empty(), || {
        Problem::conflict(path.child("dns_search"), "", "domains together with `dns`")
    })
}

fn check_path(here: &FieldPath, path: &Path, config: &Config) -> Check {
    if let Some(interface) = &path.interface {
        check_interface(&here.child("interface"), interface)?;
        ensure(*interface != config.interface, || {
            let expected = "an interface outside the tunnel";
            Problem::conflict(here.child("interface"), quoted(interface), expected)
                .because("it is the device of the tunnel")
        })?;
    }
    let mapped = matches!(path.server.ip(), IpAddr::V6(address) if address.to_ipv4_mapped().is_some());
    ensure(!(path.server.ip().is_multicast() || mapped), || {
        let expected = "the address of a host, one of IPv4 in its own form";
        Problem::value(here.child("server"), quoted(path.server), expected)
    })?;
    if let Some(local) = path.local.filter(|local| local.is_ipv4() != path.server.is_ipv4()) {
        let family = if path.server.is_ipv4() { "an IPv4 address" } else { "an IPv6 address" };
        let expected = format!("{family}, as `server` is one");
        return Err(Problem::conflict(here.child("local"), quoted(local), expected));
    }
    check_mtu(here, path.mtu, config)?;
    check_window(here, path.congestion_control, path.window)
}

/// Checks that packets of the tunnel fit in those of the path.
fn check_mtu(path: &FieldPath, mtu: u16, config: &Config) -> Check {
    let least = config.mtu + OVERHEAD;
    ensure(mtu >= least, || {
        Problem::conflict(
            path.child("mtu"),
            mtu,
            format!("{least} bytes or more, or a smaller `mtu` of the tunnel"),
        )
        .because(format!(
            "packets of {} bytes have up to {OVERHEAD} bytes of headers around them",
            config.mtu
        ))
    })
}

fn check_window(path: &FieldPath, control: CongestionControl, window: Option<ByteCount>) -> Check {
    match (control, window) {
        (CongestionControl::Fixed, None) => {
            Err(Problem::new(ProblemKind::MissingField, path.child("window"), "a size")
                .because("`congestion_control = \"fixed\"` needs it"))
        }
        (CongestionControl::Fixed, Some(_)) | (_, None) => Ok(()),
        (other, Some(window)) => {
            let expected = "no window, or `congestion_control = \"fixed\"`";
            Err(Problem::conflict(path.child("window"), quoted(window), expected)
                .because(format!("the window of {:?} changes", other.name())))
        }
    }
}

/// Values that must be unique, each with its holder.
struct Unique<T> {
    expected: &'static str,
    holders: BTreeMap<T, String>,
}

impl<T: Ord> Unique<T> {
    const fn new(expected: &'static str) -> Self {
        Self { expected, holders: BTreeMap::new() }
    }

    /// Checks and adds the value at `path` of `holder`; errors show it as it was written.
    fn check(&mut self, path: &FieldPath, value: T, holder: &str) -> Check {
        if let Some(other) = self.holders.get(&value) {
            return Err(Problem::conflict(path.clone(), "", self.expected).because(format!("{other} has it")));
        }
        self.holders.insert(value, holder.to_owned());
        Ok(())
    }
}

/// Checks that each value occurs once.
fn check_unique<T: PartialEq + std::fmt::Display>(path: &FieldPath, values: &[T]) -> Check {
    for (index, value) in values.iter().enumerate() {
        if let Some(first) = values[..index].iter().position(|other| other == value) {
            return Err(Problem::conflict(path.child(index), quoted(value), "each value at most once")
                .because(format!("`{}` has it", path.child(first))));
        }
    }
    Ok(())
}

/// The last address of a range of IPv4: its broadcast address.
pub(crate) fn last(pool: IpPrefix) -> IpAddr {
    pool.nth((1 << (32 - pool.length())) - 1).expect("the last address is in the range")
}
