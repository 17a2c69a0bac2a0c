//! Configuration of a [`TunnelEndpoint`](super::TunnelEndpoint).

use super::connect_ip::ConnectIpConfig;
use super::event::TunnelEndpointError;
use super::keys::{KnownPeers, SecretKey};
use super::path_mtu::MIN_UDP_PAYLOAD;
use super::randomness::Randomness;
use quiclab_core::tunnel::CarrierKind;
use quiclab_core::{ByteCount, Duration, Problem, Role};
use quiclab_transport::options::CongestionControl;

/// Configuration of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathConfig {
    /// Congestion control of what this end sends.
    pub congestion_control: CongestionControl,
    /// Initial window, which [`CongestionControl::Fixed`] keeps; `None`: ten packets.
    pub window: Option<ByteCount>,
    /// Largest IP packet of the path, header included, in bytes: the size used without
    /// [`TunnelEndpointConfig::mtu_discovery`], and the largest one that is tried with it.
    pub mtu: u16,
}

impl Default for PathConfig {
    fn default() -> Self {
        Self { congestion_control: CongestionControl::Cubic, window: None, mtu: 1500 }
    }
}

/// Configuration of a [`TunnelEndpoint`](super::TunnelEndpoint).
#[derive(Clone, Debug)]
pub struct TunnelEndpointConfig {
    /// A client connects, a server waits.
    pub role: Role,
    /// Identity of this end.
    pub secret_key: SecretKey,
    /// The ends that may connect (server) or be connected to (client).
    pub peers: KnownPeers,
    /// Whether this end offers several paths in one connection. A client whose server does not opens a connection for each path.
    pub kind: CarrierKind,
    /// Path 0, 1, ...; the last entry is also that of all further paths. A server keeps to the smaller of
    /// its largest MTU and the client's.
    pub paths: Vec<PathConfig>,
    /// A session ends when nothing was heard on any path for that long.
    pub idle_timeout: Duration,
    /// Keep-alive interval of an idle path.
    pub keep_alive: Duration,
    /// Maximum number of connections of a server that are not bound to a session yet.
    pub max_half_open: usize,
    /// Maximum number of sessions of a server.
    pub max_sessions: usize,
    /// Maximum number of UDP datagrams in one [`Outgoing`](super::Outgoing); 1 without segmentation offload.
    pub segments: usize,
    /// Whether the MTU of each path is discovered (RFC 8899): it begins with the smallest that QUIC allows. A datagram that is
    /// too long for the path is then sent in fragments, up to the limit of
    /// [`TunnelEndpoint::path_mtu`](super::TunnelEndpoint::path_mtu).
    pub mtu_discovery: bool,
    /// CONNECT-IP: the protocol of a client, and a second one of a server.
    pub connect_ip: Option<ConnectIpConfig>,
    /// Source of random numbers.
    pub randomness: Randomness,
    /// Random bytes that are unique among ends with the same key, and that persist across restarts: stateless
    /// resets and connection IDs depend on them (RFC 9000 section 10.3.2: two ends with one key for resets
    /// would reset connections of each other). `None`: drawn at each start.
    pub installation: Option<[u8; 32]>,
}

impl TunnelEndpointConfig {
    /// Creates a configuration with common values: one connection per path, CUBIC, paths of 1500 bytes, idle
    /// after 30 s, a keep-alive each second, neither segmentation offload nor MTU discovery.
    #[must_use]
    pub fn new(role: Role, secret_key: SecretKey, peers: KnownPeers, randomness: Randomness) -> Self {
        Self {
            role,
            secret_key,
            peers,
            kind: CarrierKind::Connections,
            paths: vec![PathConfig::default()],
            idle_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(1),
            max_half_open: 64,
            max_sessions: 1024,
            segments: 1,
            mtu_discovery: false,
            connect_ip: None,
            randomness,
            installation: None,
        }
    }

    /// Configuration of path `index`.
    #[must_use]
    pub fn path(&self, index: usize) -> PathConfig {
        let last = self.paths.len().saturating_sub(1);
        self.paths.get(index.min(last)).copied().unwrap_or_default()
    }
}

/// Checks that all values are allowed.
pub(super) fn check(config: &TunnelEndpointConfig) -> Result<(), TunnelEndpointError> {
    let wrong = |field, value: String, expected: &str| {
        Err(TunnelEndpointError::Config(Problem::value(field, value, expected)))
    };
    if config.paths.is_empty() {
        return wrong("paths", "empty".into(), "one entry or more");
    }
    let smallest = MIN_UDP_PAYLOAD + 28;
    if let Some(path) = config.paths.iter().find(|path| path.mtu < smallest) {
        let expected = format!("{smallest} (IPv4) or {} (IPv6) to {}", smallest + 20, u16::MAX);
        return wrong("mtu", path.mtu.to_string(), &expected);
    }
    let second = Duration::from_secs(1);
    if !(second..=second * 600).contains(&config.idle_timeout) {
        return wrong("idle_timeout", config.idle_timeout.to_string(), "1 s to 10 min");
    }
    if !(Duration::from_millis(10)..=config.idle_timeout).contains(&config.keep_alive) {
        return wrong("keep_alive", config.keep_alive.to_string(), "10 ms to the idle timeout");
    }
    if !(1..=64).contains(&config.segments) {
        return wrong("segments", config.segments.to_string(), "1 to 64 (UDP_MAX_SEGMENTS of Linux)");
    }
    if config.max_half_open == 0 {
        return wrong("max_half_open", "0".into(), "1 or more");
    }
    Ok(())
}
