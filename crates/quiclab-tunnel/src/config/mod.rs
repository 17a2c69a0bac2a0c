//! The configuration of one end of a tunnel, checked before anything is changed on the machine.
//!
//! docs/tunnel.md describes each field; [`load`] reads, decodes and checks it.

mod document;
mod load;
#[cfg(test)]
mod tests;

pub use document::ConfigError;
pub(crate) use load::last;
pub use load::{Settings, load, parse};

use quiclab_core::ip::IpPrefix;
use quiclab_core::queue::QueueConfig;
use quiclab_core::scheduler::PathSchedulerKind;
use quiclab_core::tunnel::CarrierKind;
use quiclab_core::{ByteCount, Duration};
use quiclab_stacks::carrier::PublicKey;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

/// Version of this format.
pub const VERSION: u32 = 1;

/// The file as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// [`VERSION`].
    pub version: u32,
    /// File with this end's private key; a relative path is relative to the configuration.
    pub key_file: PathBuf,
    /// Name of the TUN device.
    #[serde(default = "default_interface")]
    pub interface: String,
    /// Largest packet inside the tunnel.
    #[serde(default = "default_mtu")]
    pub mtu: u16,
    /// How paths are made into one session.
    #[serde(default)]
    pub carrier: CarrierKind,
    /// Queue discipline in front of the paths.
    #[serde(default = "QueueConfig::fq_codel")]
    pub discipline: QueueConfig,
    /// Which path a packet takes.
    #[serde(default = "default_scheduler")]
    pub scheduler: PathSchedulerKind,
    /// Longest wait of a packet for earlier ones from another path; without it packets leave as they come.
    pub resequencing: Option<Duration>,
    /// A session without any packet for so long is over.
    #[serde(default = "default_idle_timeout")]
    pub idle_timeout: Duration,
    /// A path without any packet for so long is probed.
    #[serde(default = "default_keep_alive")]
    pub keep_alive: Duration,
    /// Where Prometheus text metrics are served over HTTP; without it nowhere.
    pub metrics: Option<SocketAddr>,
    /// Socket of `status` and `down`; by default in /run/quiclab-tunnel, by the name of the device.
    pub control_socket: Option<PathBuf>,
    /// User that the program becomes after set-up; by default it stays who it is.
    pub user: Option<String>,
    /// Group of that user; by default its login group.
    pub group: Option<String>,
    /// This end waits for clients.
    pub server: Option<Server>,
    /// This end connects to a server.
    pub client: Option<Client>,
}

/// What only a server has.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// UDP addresses at which clients reach it.
    pub listen: Vec<SocketAddr>,
    /// Addresses inside the tunnel; the first host's is the server's own.
    pub pool_ipv4: Option<IpPrefix>,
    /// The same for IPv6.
    pub pool_ipv6: Option<IpPrefix>,
    /// Packets between the device and other interfaces are forwarded (sysctl, restored at the end).
    #[serde(default)]
    pub forward: bool,
    /// Largest IP packet that the network outside carries.
    #[serde(default = "default_path_mtu")]
    pub mtu: u16,
    /// Congestion control towards the clients.
    #[serde(default)]
    pub congestion_control: CongestionControl,
    /// Window of `fixed`.
    pub window: Option<ByteCount>,
    /// Routes that clients are told.
    #[serde(default)]
    pub announce: Vec<IpPrefix>,
    /// Who may connect.
    #[serde(default)]
    pub peers: Vec<Peer>,
}

/// A client as its server knows it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    /// Name in log and status.
    pub name: String,
    /// As `keygen` prints it.
    #[serde(deserialize_with = "crate::keys::deserialize")]
    pub public_key: PublicKey,
    /// Its address; by default the next free one of the pool.
    pub ipv4: Option<Ipv4Addr>,
    /// Its address; by default the next free one of the pool.
    pub ipv6: Option<Ipv6Addr>,
    /// Networks behind it, whose packets it may send.
    #[serde(default)]
    pub networks: Vec<IpPrefix>,
}

/// What only a client has.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// The server's key.
    #[serde(deserialize_with = "crate::keys::deserialize")]
    pub server_key: PublicKey,
    /// Destinations that go through the tunnel.
    #[serde(default)]
    pub routes: Vec<IpPrefix>,
    /// Whether routes that the server announces are set, too.
    #[serde(default)]
    pub accept_routes: bool,
    /// Ways to the server, in the order of the status.
    pub paths: Vec<Path>,
}

/// A way to the server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// Name in log and status.
    pub name: String,
    /// Local interface; the path is there while that is up.
    pub interface: Option<String>,
    /// Local address; by default the one that the kernel takes.
    pub local: Option<IpAddr>,
    /// Address and port of the server as seen on this path.
    pub server: SocketAddr,
    /// Largest IP packet that the network carries.
    #[serde(default = "default_path_mtu")]
    pub mtu: u16,
    /// Congestion control of what this end sends.
    #[serde(default)]
    pub congestion_control: CongestionControl,
    /// Window of `fixed`.
    pub window: Option<ByteCount>,
}

/// Kinds of congestion control.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum CongestionControl {
    /// CUBIC, RFC 9438.
    #[default]
    Cubic,
    /// NewReno, RFC 9002.
    NewReno,
    /// BBR as Linux has it.
    Bbr,
    /// LIA, RFC 6356: increases are linked over the paths of a session.
    Coupled,
    /// A window that does not change.
    Fixed,
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
    Duration::from_secs(30)
}
fn default_keep_alive() -> Duration {
    Duration::from_secs(1)
}
fn default_scheduler() -> PathSchedulerKind {
    PathSchedulerKind::LowestRtt { penalise_above: None }
}
