//! From file to settings: everything that can be wrong is found before anything is changed on the machine.

use super::document::{ConfigError, Source};
use super::{Client, Config, CongestionControl, Path, Server, VERSION};
use crate::keys;
use quiclab_config::{Document, Schema};
use quiclab_core::ip::{IpPrefix, SMALLEST_IPV6_MTU};
use quiclab_core::queue::{Capacity, QueueConfig};
use quiclab_core::tunnel::CarrierKind;
use quiclab_core::{ByteCount, Duration, Problem};
use quiclab_stacks::carrier::SecretKey;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path as FilePath;

/// Bytes of IP, UDP, QUIC and DATAGRAM headers around a packet, at most: 40 + 8, 1 + 8 + 4 + 16, 1 + 2.
const OVERHEAD: u16 = 80;
/// Smallest MTU of any host that speaks IPv4 and TCP usefully (RFC 791 section 3.2).
const SMALLEST_MTU: u16 = 576;
const LARGEST_MTU: u16 = 9000;
/// Name of a network device: IFNAMSIZ less the final zero.
const LONGEST_INTERFACE: usize = 15;
/// Memory that a queue may take, so that no client can take more.
const MOST_MEMORY: u64 = 1 << 30;
const MOST_PACKETS: u64 = 1_000_000;

/// A configuration without errors, with its key.
pub struct Settings {
    /// As it was written.
    pub config: Config,
    /// This end's key.
    pub key: SecretKey,
}

/// Reads, decodes and checks the configuration in `file`, and reads its key.
///
/// # Errors
/// The first thing that is wrong.
pub fn load(file: &FilePath) -> Result<Settings, ConfigError> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| ConfigError {
        place: name.clone(),
        path: String::new(),
        value: None,
        problem: format!("cannot be read: {error}"),
        allowed: String::new(),
    })?;
    let source = Source::new(text, &name)?;
    let config = checked(&source)?;
    let key_file = file.parent().unwrap_or(FilePath::new("")).join(&config.key_file);
    let key = keys::read(&key_file)
        .map_err(|error| source.error("key_file", error.problem(&key_file), error.allowed()))?;
    // a tunnel to itself is a mistake in copying
    let own = key.public();
    let same = |path: &str| Err(source.error(path, "it is this end's own key", "that of the other end"));
    if config.client.as_ref().is_some_and(|client| client.server_key == own) {
        return same("client.server_key");
    }
    if let Some(server) = &config.server
        && let Some(index) = server.peers.iter().position(|peer| peer.public_key == own)
    {
        return same(&format!("server.peers.{index}.public_key"));
    }
    Ok(Settings { config, key })
}

/// Decodes and checks a text, without its key; `file` is its name in errors.
///
/// # Errors
/// The first thing that is wrong.
pub fn parse(text: &str, file: &str) -> Result<Config, ConfigError> {
    checked(&Source::new(text.to_owned(), file)?)
}

fn checked(source: &Source) -> Result<Config, ConfigError> {
    let config: Config = source.decode()?;
    Check { source, config: &config }.all()?;
    Ok(config)
}

struct Check<'a> {
    source: &'a Source,
    config: &'a Config,
}

impl Check<'_> {
    fn fail<T>(
        &self,
        path: &str,
        problem: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Result<T, ConfigError> {
        Err(self.source.error(path, problem, allowed))
    }

    fn all(&self) -> Result<(), ConfigError> {
        let config = self.config;
        if config.version != VERSION {
            return self.fail("version", "this version is not known", VERSION.to_string());
        }
        self.interface_name("interface", &config.interface)?;
        if !(SMALLEST_MTU..=LARGEST_MTU).contains(&config.mtu) {
            return self.fail("mtu", "out of range", format!("{SMALLEST_MTU} to {LARGEST_MTU}"));
        }
        if config.mtu < SMALLEST_IPV6_MTU && self.has_ipv6() {
            let allowed =
                format!("at least {SMALLEST_IPV6_MTU} (RFC 8200 section 5), or no IPv6 inside the tunnel");
            return self.fail("mtu", "too small for IPv6", allowed);
        }
        self.discipline()?;
        self.time("idle_timeout", config.idle_timeout, Duration::from_secs(1), Duration::from_secs(600))?;
        self.time("keep_alive", config.keep_alive, Duration::from_millis(100), config.idle_timeout)?;
        if let Some(bound) = config.resequencing {
            self.time("resequencing", bound, Duration::from_millis(1), Duration::from_secs(1))?;
        }
        if config.group.is_some() && config.user.is_none() {
            return self.fail("group", "there is no user", "a group beside a user");
        }
        match (&config.server, &config.client) {
            (Some(server), None) => self.server(server),
            (None, Some(client)) => self.client(client),
            (Some(_), Some(_)) => {
                self.fail("client", "there is `server`, too", "one of `server` and `client`")
            }
            (None, None) => self.fail("", "neither `[server]` nor `[client]` is there", "one of them"),
        }
    }

    /// Whether IPv6 is certain to be inside; a client cannot know what it will be given.
    fn has_ipv6(&self) -> bool {
        let six = |prefix: &IpPrefix| !prefix.is_ipv4();
        self.config.server.as_ref().is_some_and(|server| server.pool_ipv6.is_some())
            || self.config.client.as_ref().is_some_and(|client| client.routes.iter().any(six))
    }

    fn discipline(&self) -> Result<(), ConfigError> {
        let queue = &self.config.discipline;
        // the limits of single fields, as scenarios have them
        let decoded = Document::from_value(queue)
            .and_then(|document| document.decode::<QueueConfig>(&Schema::of::<QueueConfig>()));
        if let Err(error) = decoded {
            let Problem { path, expected, .. } = *error.problem;
            return self.fail(&format!("discipline.{path}"), "out of range", expected);
        }
        let queue = queue.options();
        let Capacity { packets, bytes, memory, .. } = queue.capacity();
        if packets.is_none() && bytes.is_none() && memory.is_none() {
            return self.fail("discipline", "it has no limit", "`packets`, `bytes` or both");
        }
        if packets.is_some_and(|packets| packets > MOST_PACKETS) {
            return self.fail("discipline.packets", "out of range", format!("1 to {MOST_PACKETS}"));
        }
        if let Some(Problem { path, expected, .. }) = queue.conflict() {
            return self.fail(&format!("discipline.{path}"), "out of range", expected);
        }
        for (field, size) in [("bytes", bytes), ("memory", memory)] {
            size.map_or(Ok(()), |size| self.size(&format!("discipline.{field}"), size, 10_000, MOST_MEMORY))?;
        }
        Ok(())
    }

    fn server(&self, server: &Server) -> Result<(), ConfigError> {
        if server.listen.is_empty() {
            return self.fail("server.listen", "empty", "at least one address with port");
        }
        self.outer_mtu("server.mtu", server.mtu)?;
        self.congestion("server", server.congestion_control, server.window)?;
        for (index, address) in server.listen.iter().enumerate() {
            let path = format!("server.listen.{index}");
            if address.port() == 0 {
                return self.fail(&path, "no port", "a port from 1 to 65535");
            }
            if server.listen[..index].contains(address) {
                return self.fail(&path, "listed twice", "each address once");
            }
        }
        let pools =
            [("server.pool_ipv4", server.pool_ipv4, true), ("server.pool_ipv6", server.pool_ipv6, false)];
        for (path, pool, four) in pools {
            let Some(pool) = pool else { continue };
            if pool.is_ipv4() != four {
                return self.fail(
                    path,
                    "the wrong family",
                    if four { "such as `10.77.0.0/24`" } else { "such as `fd77::/64`" },
                );
            }
            let (shortest, longest) = if four { (8, 30) } else { (16, 126) };
            if !(shortest..=longest).contains(&pool.length()) {
                return self.fail(path, "no size for a pool", format!("/{shortest} to /{longest}"));
            }
            if let Some((index, address)) =
                server.listen.iter().enumerate().find(|(_, address)| pool.contains(address.ip()))
            {
                let problem = format!(
                    "overlaps the address {address} of server.listen.{index}, which is outside the tunnel"
                );
                return self.fail(path, problem, "a range of its own");
            }
        }
        if server.pool_ipv4.is_none() && server.pool_ipv6.is_none() {
            return self.fail("server", "there is no pool", "`pool_ipv4`, `pool_ipv6` or both");
        }
        self.peers(server)
    }

    fn peers(&self, server: &Server) -> Result<(), ConfigError> {
        let (mut names, mut keys, mut addresses) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut networks: Vec<(String, IpPrefix)> = Vec::new();
        let pools: Vec<_> = [server.pool_ipv4, server.pool_ipv6].into_iter().flatten().collect();
        for (index, peer) in server.peers.iter().enumerate() {
            let path = |field: &str| format!("server.peers.{index}.{field}");
            self.name(&path("name"), &peer.name)?;
            if !names.insert(&peer.name) {
                return self.fail(&path("name"), "there are two of this name", "each name once");
            }
            if !keys.insert(peer.public_key) {
                return self.fail(&path("public_key"), "two peers have this key", "a key for each peer");
            }
            let fixed = [("ipv4", peer.ipv4.map(IpAddr::V4)), ("ipv6", peer.ipv6.map(IpAddr::V6))];
            for (field, address) in fixed {
                let Some(address) = address else { continue };
                let Some(pool) = pools.iter().find(|pool| pool.contains(address)) else {
                    return self.fail(&path(field), "not in a pool", "an address of the pool");
                };
                if [pool.nth(0), pool.nth(1)].contains(&Some(address))
                    || pool.is_ipv4() && last(*pool) == address
                {
                    return self.fail(
                        &path(field),
                        "the network's, the server's or the broadcast address",
                        "another address of the pool",
                    );
                }
                if !addresses.insert(address) {
                    return self.fail(
                        &path(field),
                        "another peer has this address",
                        "an address for each peer",
                    );
                }
            }
            for (number, network) in peer.networks.iter().enumerate() {
                let here = path(&format!("networks.{number}"));
                if let Some(pool) = pools.iter().find(|pool| pool.overlaps(*network)) {
                    return self.fail(
                        &here,
                        format!("{network} overlaps the pool {pool}"),
                        "ranges that do not overlap",
                    );
                }
                if let Some((other, range)) = networks.iter().find(|(_, range)| range.overlaps(*network)) {
                    return self.fail(
                        &here,
                        format!("{network} overlaps {range} of {other}"),
                        "ranges that do not overlap",
                    );
                }
                networks.push((here, *network));
            }
        }
        Ok(())
    }

    fn client(&self, client: &Client) -> Result<(), ConfigError> {
        if client.paths.is_empty() {
            return self.fail("client.paths", "empty", "at least one `[[client.paths]]`");
        }
        let (most, because) = match (self.config.carrier, self.config.resequencing) {
            (CarrierKind::Multipath, _) => (8, " with `carrier = \"multipath\"`"),
            (_, Some(_)) => (8, " with `resequencing`"),
            _ => (16, ""),
        };
        if client.paths.len() > most {
            return self.fail("client.paths", "too many", format!("at most {most}{because}"));
        }
        for (index, route) in client.routes.iter().enumerate() {
            if let Some(other) = client.routes[..index].iter().find(|other| *other == route) {
                return self.fail(
                    &format!("client.routes.{index}"),
                    format!("{other} is listed twice"),
                    "each range once",
                );
            }
        }
        let mut names = BTreeSet::new();
        for (index, path) in client.paths.iter().enumerate() {
            let field = |field: &str| format!("client.paths.{index}.{field}");
            self.name(&field("name"), &path.name)?;
            if !names.insert(&path.name) {
                return self.fail(&field("name"), "there are two of this name", "each name once");
            }
            self.path(path, &field)?;
            let same = |other: &&Path| {
                (&other.interface, other.local, other.server) == (&path.interface, path.local, path.server)
            };
            if client.paths[..index].iter().any(|other| same(&other)) {
                return self.fail(
                    &format!("client.paths.{index}"),
                    "the same way as an earlier path",
                    "another interface, local address or server",
                );
            }
        }
        Ok(())
    }

    fn path(&self, path: &Path, field: &dyn Fn(&str) -> String) -> Result<(), ConfigError> {
        if let Some(interface) = &path.interface {
            self.interface_name(&field("interface"), interface)?;
            if *interface == self.config.interface {
                return self.fail(
                    &field("interface"),
                    "it is the tunnel itself",
                    "an interface of the outside",
                );
            }
        }
        if path.server.port() == 0 || path.server.ip().is_unspecified() {
            return self.fail(
                &field("server"),
                "nobody can be reached there",
                "an address and port such as `192.0.2.1:4433`",
            );
        }
        if path.local.is_some_and(|local| local.is_ipv4() != path.server.is_ipv4()) {
            return self.fail(
                &field("local"),
                "another family than the server's address",
                "an address of the same family",
            );
        }
        self.outer_mtu(&field("mtu"), path.mtu)?;
        self.congestion(field("").trim_end_matches('.'), path.congestion_control, path.window)
    }

    fn outer_mtu(&self, path: &str, mtu: u16) -> Result<(), ConfigError> {
        if !(1280..=LARGEST_MTU).contains(&mtu) {
            return self.fail(path, "out of range", format!("1280 to {LARGEST_MTU} (RFC 9000 section 14)"));
        }
        let least = self.config.mtu + OVERHEAD;
        if mtu < least {
            let allowed = format!(
                "at least {least}, the tunnel's mtu and {OVERHEAD} bytes of headers; or a smaller `mtu`"
            );
            return self.fail(path, "a packet of the tunnel does not fit", allowed);
        }
        Ok(())
    }

    fn congestion(
        &self,
        path: &str,
        control: CongestionControl,
        window: Option<ByteCount>,
    ) -> Result<(), ConfigError> {
        let field = format!("{path}.window");
        match (control, window) {
            (CongestionControl::Fixed, None) => self.fail(
                &format!("{path}.congestion_control"),
                "there is no `window`",
                "`window` beside `fixed`",
            ),
            (CongestionControl::Fixed, Some(window)) => self.size(&field, window, 10_000, 1 << 30),
            (_, Some(_)) => {
                self.fail(&field, "only `fixed` has a window", "`congestion_control = \"fixed\"` beside it")
            }
            (_, None) => Ok(()),
        }
    }

    fn time(&self, path: &str, value: Duration, least: Duration, most: Duration) -> Result<(), ConfigError> {
        if (least..=most).contains(&value) {
            Ok(())
        } else {
            self.fail(path, "out of range", format!("{least} to {most}"))
        }
    }

    fn size(&self, path: &str, value: ByteCount, least: u64, most: u64) -> Result<(), ConfigError> {
        let (least, most) = (ByteCount::from_bytes(least), ByteCount::from_bytes(most));
        if (least..=most).contains(&value) {
            Ok(())
        } else {
            self.fail(path, "out of range", format!("{least} to {most}"))
        }
    }

    fn interface_name(&self, path: &str, name: &str) -> Result<(), ConfigError> {
        let fits = (1..=LONGEST_INTERFACE).contains(&name.len());
        let letters = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'@');
        if fits && name.bytes().all(letters) && name != "." && name != ".." {
            return Ok(());
        }
        self.fail(
            path,
            "no name of a device",
            format!("1 to {LONGEST_INTERFACE} letters, digits, `_`, `-`, `.`"),
        )
    }

    fn name(&self, path: &str, name: &str) -> Result<(), ConfigError> {
        let fits = (1..=32).contains(&name.len());
        if fits && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
        {
            return Ok(());
        }
        self.fail(path, "no name", "1 to 32 letters, digits, `_`, `-`, `.`")
    }
}

/// The last address of a range of IPv4: its broadcast address.
pub(crate) fn last(pool: IpPrefix) -> IpAddr {
    pool.nth((1 << (32 - pool.length())) - 1).expect("the last address is in the range")
}
