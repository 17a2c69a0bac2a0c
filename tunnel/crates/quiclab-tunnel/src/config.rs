//! The configuration of one end of a tunnel, checked before anything is changed on the machine.
//!
//! Type, unit, default, limits and meaning of fields are defined here. The check of files, their errors, the JSON
//! Schema and docs/reference/vpn.md are derived from them. `check` validates combinations of fields, `load` reads
//! files.

mod check;
mod connect_ip;
#[cfg(feature = "connect-ip")]
mod connect_ip_files;
mod load;
mod reload;
mod secrets;
#[cfg(test)]
mod tests;
mod warnings;

pub(crate) use check::last;
pub use connect_ip::{ClientConnectIp, ServerConnectIp};
pub use load::{Settings, inspect, load, parse, schema};
pub use reload::{InForce, reload};

use quiclab_carrier::{CONTROLS, KnownPeers, PublicKey};
use quiclab_core::ip::IpPrefix;
use quiclab_core::limits::{self, Limits};
use quiclab_core::queue::{FqCodel, QueueConfig};
use quiclab_core::scheduler::PathSchedulerKind;
use quiclab_core::tunnel::CarrierKind;
use quiclab_core::{ByteCount, Duration};
use quiclab_transport::options::CongestionControl;
use schemars::JsonSchema;
use serde::Deserialize;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

/// Version of this format.
pub const VERSION: u32 = 1;

/// Names of network devices: IFNAMSIZ of Linux minus the final zero.
const INTERFACE: &str = "^[A-Za-z0-9_.@-]{1,15}$";

/// Parses the name of a device on the command line, with the rules of `interface` in a configuration.
///
/// # Errors
/// A message with the expected and the actual value.
pub fn interface_name(text: &str) -> Result<String, String> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"_.@-".contains(&byte);
    let is_name = (1..=15).contains(&text.len()) && text.bytes().all(known) && !matches!(text, "." | "..");
    let expected = || format!("expected 1 to 15 letters, digits, `_`, `.`, `@` or `-`, got {text:?}");
    is_name.then(|| text.to_owned()).ok_or_else(expected)
}
/// Names of peers and paths.
const NAME: &str = "^[A-Za-z0-9_.-]{1,32}$";
/// Names of domains (RFC 1035 section 2.3.4).
const DOMAIN: &str = "^[A-Za-z0-9_.-]{1,253}$";
/// Limits of the C library for resolv.conf(5): MAXNS, and the earlier limit of search domains.
const MAX_NAME_SERVERS: usize = 3;
const MAX_SEARCH_DOMAINS: usize = 6;
/// Public keys as `keygen` prints them.
const PUBLIC_KEY: &str = "^[0-9a-fA-F]{64}$";
/// IP packets of paths in bytes: QUIC needs 1200 bytes of UDP payload (RFC 9000 section 14), IPv6 1280 (RFC 8200).
const PATH_MTU: [u16; 2] = [1280, 9000];

/// The configuration file: `server` or `client`, and the options of both.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "quiclab-tunnel")]
pub struct Config {
    /// Version of this format: 1.
    #[schemars(transform = limits::between(VERSION, VERSION))]
    pub version: u32,
    /// File with this end's private key (PKCS #8 in PEM), readable by its owner only. A relative path is relative to the
    /// configuration.
    pub key_file: PathBuf,
    /// Name of the TUN device; journal and control socket are named after it. `.` and `..` are not valid.
    #[serde(default = "default_interface")]
    #[schemars(transform = limits::characters(INTERFACE))]
    pub interface: String,
    /// Maximum size of a packet inside the tunnel; at least 1280 for IPv6 (RFC 8200 section 5). A client uses the
    /// smaller value of both ends. At least 576, as every host of IPv4 (RFC 791 section 3.2).
    #[serde(default = "default_mtu")]
    #[schemars(transform = limits::between(576, 9000).unit("bytes"))]
    pub mtu: u16,
    /// One QUIC connection for each path (`connections`), or one with all paths (`multipath`, draft-ietf-quic-multipath-21). Client: what it
    /// asks for; where the server does not offer `multipath`, it opens a connection for each path (default: `connections`).
    /// Server: `connections` withholds `multipath`, which is offered otherwise (default: `multipath`).
    pub carrier: Option<CarrierKind>,
    /// Queue discipline in front of the paths. It needs a limit: at most 1000000 packets, bytes and memory from 10 kB to
    /// 1 GiB. By default FQ-CoDel with a `target` of 20 ms and an `interval` of 200 ms.
    #[serde(default = "default_queue")]
    #[schemars(extend("x-aliases" = ["discipline"]))]
    pub queue: QueueConfig,
    /// Path scheduler.
    #[serde(default = "default_scheduler")]
    pub scheduler: PathSchedulerKind,
    /// Maximum wait of packets for earlier ones, which are on another path or are sent again because a path has lost them;
    /// packets of sparse flows do not wait. `0 s`: packets leave in order of arrival, and nothing is sent again. Zero or not,
    /// the same at both ends.
    #[serde(default = "default_resequencing")]
    #[schemars(transform = limits::between("0 s", "1 s"))]
    pub resequencing: Duration,
    /// A session that receives nothing for this time ends; a client connects again.
    #[serde(default = "default_idle_timeout")]
    #[schemars(transform = limits::between("1 s", "10 min"))]
    pub idle_timeout: Duration,
    /// Keep-alive interval of an idle path; at most `idle_timeout`.
    #[serde(default = "default_keep_alive")]
    #[schemars(transform = limits::at_least("100 ms"))]
    pub keep_alive: Duration,
    /// Address at which Prometheus reads `/metrics` over HTTP (default: metrics are not served).
    #[schemars(transform = limits::format("socket-address"))]
    pub metrics: Option<SocketAddr>,
    /// Socket of `status` and `down`; by default `/run/quiclab-tunnel/INTERFACE/control.sock`.
    pub control_socket: Option<PathBuf>,
    /// Interfaces whose hosts may send to addresses inside by themselves, such as that of a network behind this end. Packets for addresses inside,
    /// or from them, that come by any other interface than the tunnel are dropped, but for answers through an end that forwards; each at
    /// most once.
    #[serde(default)]
    #[schemars(transform = limits::entries(0, 64).each(limits::characters(INTERFACE)))]
    pub trusted_interfaces: Vec<String>,
    /// User to drop privileges to after setup (default: the user does not change).
    pub user: Option<String>,
    /// Group to drop privileges to, with `user`; by default the login group of the user.
    pub group: Option<String>,
    /// This end waits for clients.
    pub server: Option<Server>,
    /// This end connects to a server.
    pub client: Option<Client>,
}

/// Options of a server.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// UDP addresses at which clients reach the server; each at most once.
    #[schemars(transform = limits::not_empty().each(limits::format("listen-address")))]
    pub listen: Vec<SocketAddr>,
    /// IPv4 addresses inside the tunnel; that of the first host is the server's. At least one of both pools is
    /// required.
    #[schemars(transform = limits::between(8, 30).format("ipv4-range"))]
    pub pool_ipv4: Option<IpPrefix>,
    /// IPv6 addresses inside the tunnel; that of the first host is the server's.
    #[schemars(transform = limits::between(16, 126).format("ipv6-range"))]
    pub pool_ipv6: Option<IpPrefix>,
    /// Forward packets between the device and other interfaces: sets sysctls, which are restored at the end.
    #[serde(default)]
    pub forward: bool,
    /// Translate source addresses in the pools, and in `networks` of peers, where packets leave through other interfaces (NAT), so that
    /// clients and the hosts behind them reach what knows no way back to them.
    #[serde(default)]
    pub masquerade: bool,
    /// Drop packets from one client to another, or to a network behind another. Without it, clients reach each other where
    /// this machine forwards packets (`forward`) and its firewall lets them pass. A reload changes it.
    #[serde(default)]
    pub isolate_clients: bool,
    /// Largest IP packet that is tried outside; at least 80 more than `mtu` of the tunnel. A path that carries less is
    /// discovered, from 1228 bytes (IPv4) or 1248 bytes (IPv6) on.
    #[serde(default = "default_path_mtu")]
    #[schemars(transform = path_mtu())]
    pub mtu: u16,
    /// Congestion control towards the clients.
    #[serde(default = "default_control")]
    #[schemars(transform = controls())]
    pub congestion_control: CongestionControl,
    /// Window of `congestion_control = "fixed"`, which needs one.
    #[schemars(transform = limits::between("10 kB", "1 GiB"))]
    pub window: Option<ByteCount>,
    /// Routes that are announced to clients; a reload changes them for later sessions.
    #[serde(default)]
    pub announce: Vec<IpPrefix>,
    /// Clients that may connect; a reload adds, changes and removes them.
    #[serde(default)]
    pub peers: Vec<Peer>,
    /// A second protocol, which other implementations have: CONNECT-IP (RFC 9484). Its clients are peers, too, known by the
    /// Ed25519 key in their certificate. Only in programs built with the feature `connect-ip`.
    pub connect_ip: Option<ServerConnectIp>,
}

/// A client, as configured at its server.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Name in log and status; each at most once.
    #[schemars(transform = limits::characters(NAME))]
    pub name: String,
    /// Public key as `quiclab-tunnel keygen` prints it; each at most once.
    #[serde(deserialize_with = "crate::keys::deserialize")]
    #[schemars(with = "String", transform = limits::characters(PUBLIC_KEY))]
    pub public_key: PublicKey,
    /// Another public key of the same client, to replace `public_key`: a session with either is accepted, with the same
    /// addresses. A reload adds and removes it.
    #[serde(default, deserialize_with = "crate::keys::deserialize_some")]
    #[schemars(with = "Option<String>", transform = limits::characters(PUBLIC_KEY))]
    pub next_public_key: Option<PublicKey>,
    /// IPv4 address, in the pool; by default the next free one, which the client keeps while the server runs.
    pub ipv4: Option<Ipv4Addr>,
    /// IPv6 address, in the pool; by default the next free one, which the client keeps while the server runs.
    pub ipv6: Option<Ipv6Addr>,
    /// Networks behind the client: it may send from them, and they are routed to it. They overlap neither one another nor
    /// the pools.
    #[serde(default)]
    pub networks: Vec<IpPrefix>,
}

/// Options of a client.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Public key of the server, as `quiclab-tunnel keygen` prints it; required without `authorities` of `connect_ip`.
    #[serde(default, deserialize_with = "crate::keys::deserialize_some")]
    #[schemars(with = "Option<String>", transform = limits::characters(PUBLIC_KEY))]
    pub server_key: Option<PublicKey>,
    /// Another public key of the server, to replace `server_key`: a server with either is accepted. A reload adds and
    /// removes it, and changes `server_key`. Not with `connect_ip`.
    #[serde(default, deserialize_with = "crate::keys::deserialize_some")]
    #[schemars(with = "Option<String>", transform = limits::characters(PUBLIC_KEY))]
    pub next_server_key: Option<PublicKey>,
    /// Destinations that are reached through the tunnel, in addition to its own networks; each at most once. Those of a
    /// family without an address from the server are unreachable.
    #[serde(default)]
    pub routes: Vec<IpPrefix>,
    /// Networks behind this client, as in its entry at the server. Packets of the server to other destinations than these and
    /// the addresses of this client are dropped, as are packets to the server from other sources; each at most once.
    #[serde(default)]
    pub networks: Vec<IpPrefix>,
    /// Whether routes that the server announces are also set.
    #[serde(default)]
    pub accept_routes: bool,
    /// Let packets leave through the tunnel only: before, during and after a session, and until `quiclab-tunnel down`.
    #[serde(default)]
    pub kill_switch: bool,
    /// Destinations that may be reached outside the tunnel with `kill_switch`, such as the local network.
    #[serde(default)]
    pub allow_outside: Vec<IpPrefix>,
    /// Name servers of the machine while the tunnel is up, which replace all others; each at most once.
    #[serde(default)]
    #[schemars(transform = limits::entries(0, MAX_NAME_SERVERS))]
    pub dns: Vec<IpAddr>,
    /// Domains in which short names are looked up, with `dns`.
    #[serde(default)]
    #[schemars(transform = limits::entries(0, MAX_SEARCH_DOMAINS).each(limits::characters(DOMAIN)))]
    pub dns_search: Vec<String>,
    /// Paths to the server, in the order of the status; at most 8 with `carrier = "multipath"`.
    #[schemars(transform = limits::entries(1, 16))]
    pub paths: Vec<Path>,
    /// The protocol is CONNECT-IP (RFC 9484), over one path, with any server that has it. Only in programs built with the feature
    /// `connect-ip`.
    pub connect_ip: Option<ClientConnectIp>,
}

/// A path to the server.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// Name in log and status; each at most once.
    #[schemars(transform = limits::characters(NAME))]
    pub name: String,
    /// Local interface; the path exists while it is up.
    #[schemars(transform = limits::characters(INTERFACE))]
    pub interface: Option<String>,
    /// Local address, of the same family as that of the server; by default the kernel's choice.
    pub local: Option<IpAddr>,
    /// Address and port of the server, as reached on this path.
    #[schemars(transform = limits::format("remote-address"))]
    pub server: SocketAddr,
    /// Largest IP packet that is tried on this path; at least 80 more than `mtu` of the tunnel. A path that carries less
    /// is discovered, from 1228 bytes (IPv4) or 1248 bytes (IPv6) on.
    #[serde(default = "default_path_mtu")]
    #[schemars(transform = path_mtu())]
    pub mtu: u16,
    /// Congestion control of what this end sends.
    #[serde(default = "default_control")]
    #[schemars(transform = controls())]
    pub congestion_control: CongestionControl,
    /// Window of `congestion_control = "fixed"`, which needs one.
    #[schemars(transform = limits::between("10 kB", "1 GiB"))]
    pub window: Option<ByteCount>,
}

impl Peer {
    /// Its keys, each of which it may have.
    pub fn keys(&self) -> impl Iterator<Item = PublicKey> {
        [self.public_key].into_iter().chain(self.next_public_key)
    }

    /// Whether the key is one of its keys.
    #[must_use]
    pub fn has_key(&self, key: PublicKey) -> bool {
        self.keys().any(|own| own == key)
    }
}

impl Server {
    /// Networks behind all clients.
    #[must_use]
    pub fn networks(&self) -> Vec<IpPrefix> {
        self.peers.iter().flat_map(|peer| peer.networks.iter().copied()).collect()
    }

    /// Networks whose addresses `masquerade` translates.
    #[must_use]
    pub fn translated(&self) -> Vec<IpPrefix> {
        let pools = [self.pool_ipv4, self.pool_ipv6].into_iter().flatten();
        pools.chain(self.networks()).collect()
    }

    /// Returns the peer with a key.
    #[must_use]
    pub fn peer(&self, key: PublicKey) -> Option<&Peer> {
        self.peers.iter().find(|peer| peer.has_key(key))
    }
}

impl Config {
    /// Whether hosts other than this machine may be reached through the tunnel, so that their answers must
    /// pass. At a server without `forward` the administrator may enable forwarding at any time; a client
    /// without `networks` needs no tracking of flows.
    #[must_use]
    pub fn may_forward(&self) -> bool {
        self.server.is_some() || self.client.as_ref().is_some_and(|client| !client.networks.is_empty())
    }

    /// Carrier that a client requests, or the most that a server offers.
    #[must_use]
    pub fn carrier_kind(&self) -> CarrierKind {
        let of_role = if self.server.is_some() { CarrierKind::Multipath } else { CarrierKind::Connections };
        self.carrier.unwrap_or(of_role)
    }

    /// Returns the known peers.
    #[must_use]
    pub fn known_peers(&self) -> KnownPeers {
        let clients = self.server.iter().flat_map(|server| &server.peers).map(|peer| peer.keys().collect());
        let server = self.client.iter().map(|client| client.server_keys().collect::<Vec<_>>());
        KnownPeers::new(clients.chain(server))
    }
}

impl Client {
    /// Keys of the server, each of which it may have.
    pub fn server_keys(&self) -> impl Iterator<Item = PublicKey> {
        self.server_key.into_iter().chain(self.next_server_key)
    }
}

fn path_mtu() -> Limits {
    let [min, max] = PATH_MTU;
    limits::between(min, max).unit("bytes")
}

/// Congestion controls of noq's carriers, and their former names.
fn controls() -> Limits {
    use CongestionControl::{BbrLinux, Lia, Newreno};
    let former = [("new_reno", Newreno.name()), ("bbr", BbrLinux.name()), ("coupled", Lia.name())];
    limits::one_of(CONTROLS.map(CongestionControl::name)).formerly(former)
}

fn default_control() -> CongestionControl {
    CongestionControl::Cubic
}
fn default_interface() -> String {
    "qlt0".to_owned()
}
fn default_mtu() -> u16 {
    1400
}
fn default_path_mtu() -> u16 {
    1500
}
fn default_idle_timeout() -> Duration {
    Duration::from_secs(60)
}
fn default_keep_alive() -> Duration {
    Duration::from_secs(1)
}
impl Config {
    /// Whether packets have numbers, so that the peer can restore their order: must be equal at both ends. With CONNECT-IP
    /// they have none.
    #[must_use]
    pub fn numbers_packets(&self) -> bool {
        let connect_ip = self.client.as_ref().is_some_and(|client| client.connect_ip.is_some());
        self.resequencing != Duration::ZERO && !connect_ip
    }
}

/// FQ-CoDel for round trips of up to 200 ms: packets in order have the round-trip time of the slowest path, including its
/// queue. The target is between 5 and 10 % of the interval (RFC 8289).
fn default_queue() -> QueueConfig {
    let (target, interval) = (Duration::from_millis(20), Duration::from_millis(200));
    QueueConfig::FqCodel(FqCodel { target, interval, ..FqCodel::default() })
}

fn default_resequencing() -> Duration {
    Duration::from_millis(200)
}

/// The RTT alone predicts the arrival of a packet only without queues.
fn default_scheduler() -> PathSchedulerKind {
    PathSchedulerKind::earliest_arrival()
}
