//! The daemon: one thread that moves packets between the device and the sockets until the tunnel ends.
//!
//! Each turn of the loop passes datagrams to the endpoint and packets of the device to the queues of sessions, runs timers,
//! handles events, runs the send pass of each session, and sends the resulting datagrams. A single thread carries more than
//! 1 Gbit/s; see tunnel/docs/tunnel.md.
//!
//! | module | |
//! | --- | --- |
//! | `event_loop` | waits for inputs and deadlines |
//! | `packets` | packets between the device, sessions, endpoint and sockets |
//! | `sessions` | events and control messages of sessions |
//! | `server` | addresses of clients |
//! | `client` | paths, addresses and routes of a client |
//! | `connect_ip` | capsules of sessions of CONNECT-IP |
//! | `answers` | status, metrics, the end |
//! | `refusals` | selection of the refused connections that are logged |
//! | `reload` | peers and certificates of a reloaded configuration |

mod answers;
mod client;
#[cfg(feature = "connect-ip")]
mod connect_ip;
mod event_loop;
mod packets;
mod refusals;
mod reload;
mod server;
mod sessions;

pub use answers::{ENDED, REFUSED, RELOADED};

use crate::clock::Clock;
use crate::config::{Config, Settings};
use crate::protocol::Message;
use crate::session::Session;
use crate::setup::{SetupError, SystemSetup, hub_config, prepare, tunnel_config};
use crate::sockets::Sockets;
use crate::system::{Machine, Watch, kill_switch_table};
use crate::tun::Tun;
use crate::uplinks::Uplinks;
use bytes::{Bytes, BytesMut};
use client::{PRIVATE_BITS_IPV4, PRIVATE_BITS_IPV6, Silence};
#[cfg(feature = "connect-ip")]
use connect_ip::Offer;
use event_loop::Inputs;
use quiclab_carrier::{PublicKey, SecretKey, SessionId, TunnelEndpoint, TunnelEndpointError};
use quiclab_core::Time;
use quiclab_core::ip::IpPrefix;
use quiclab_core::problem::system_reason;
use refusals::Refusals;
use server::ClientAddresses;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use thiserror::Error;

/// Error for which a tunnel cannot start or continue.
#[derive(Debug, Error)]
pub enum DaemonError {
    /// The machine cannot be set up.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// Signals cannot be received.
    #[error("signals cannot be handled: {}", system_reason(.0))]
    Signals(io::Error),
    /// Changes of interfaces cannot be monitored.
    #[error("changes of interfaces cannot be followed: {}", system_reason(.0))]
    Watch(io::Error),
    /// The endpoint rejects its configuration, or the paths of the client.
    #[error(transparent)]
    Endpoint(#[from] TunnelEndpointError),
    /// The loop cannot wait.
    #[error("poll: {}", system_reason(.0))]
    Poll(io::Error),
    /// The device was removed.
    #[error("the device is gone: {}", system_reason(.0))]
    DeviceGone(io::Error),
    /// The server sends messages of another protocol.
    #[error("the server does not speak this protocol")]
    NotThisProtocol,
    /// The server has no address for this client; with its message.
    #[error("the server refuses: {0}")]
    Refused(String),
    /// Datagrams of the path are too short for IPv6 inside.
    #[error(
        "the path carries less than the 1280 bytes that IPv6 inside needs; set `mtu` of both ends below 1280"
    )]
    Narrow,
    /// The server assigns a network that it may not route through the tunnel.
    #[error(
        "the server assigns {0}, which is no range for private use of {PRIVATE_BITS_IPV4} (IPv4) or {PRIVATE_BITS_IPV6} (IPv6) bits or more: add it to `client.routes` to reach it through the tunnel, or set `accept_routes`"
    )]
    NetworkNotAllowed(IpPrefix),
    /// The server assigns a network that is in use outside the tunnel.
    #[error("the server assigns {network}, where {address} ({name}) is outside the tunnel")]
    NetworkInUse {
        /// The network.
        network: IpPrefix,
        /// An address in it.
        address: IpAddr,
        /// The interface or the path that has the address.
        name: String,
    },
}

impl DaemonError {
    /// Whether another start fails in the same way unless this machine or the server changes.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Setup(error) => error.is_permanent(),
            Self::Endpoint(_) | Self::NotThisProtocol => true,
            // later, the pool of the server may have an address, its configuration may be fixed, or the machine may be in
            // another network
            Self::Refused(_) | Self::Narrow => false,
            Self::NetworkInUse { .. } | Self::NetworkNotAllowed(_) => false,
            Self::Signals(_) | Self::Watch(_) | Self::Poll(_) | Self::DeviceGone(_) => false,
        }
    }
}

struct Daemon {
    config: Config,
    /// File of the configuration.
    file: PathBuf,
    clock: Clock,
    endpoint: TunnelEndpoint,
    tun: Tun,
    machine: Machine,
    sockets: Sockets,
    sessions: BTreeMap<SessionId, Session>,
    /// Sessions of a server that have ended without a request, kept until this time for their clients to reconnect.
    parked: BTreeMap<SessionId, (Time, Session)>,
    /// Addresses of the clients of a server; `None` at a client.
    clients: Option<ClientAddresses>,
    /// The paths of a client with its only session; `None` at a server.
    uplinks: Option<(Uplinks, SessionId)>,
    /// Paths of a client that were never up; `None` at a server, and when there are none.
    silence: Option<Silence>,
    /// Addresses and destinations announced by the server of a client of CONNECT-IP.
    #[cfg(feature = "connect-ip")]
    offer: Offer,
    /// This end's key.
    key: SecretKey,
    /// Packets of the device within a turn; empty between turns.
    inbox: Vec<BytesMut>,
    /// Packets of the device without a session for their destination.
    homeless: u64,
    /// Packets between clients that `isolate_clients` has dropped.
    isolated: u64,
    /// Peers that were rejected.
    refused: u64,
    refusals: Refusals,
    /// Time at which interfaces are read again; `None` if the last attempt succeeded.
    retry_interfaces: Option<Time>,
    /// Interfaces for whose reverse-path filter a warning was logged.
    filtered: BTreeSet<String>,
    /// Result with which the tunnel ends after this turn, if set.
    end: Option<Result<(), DaemonError>>,
}

/// Sets the machine up, carries packets until the program is asked to end, and undoes all changes.
///
/// # Errors
/// The reason for which the tunnel could not start, or ended without a request.
pub fn run(settings: &Settings) -> Result<(), DaemonError> {
    let ends = [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT];
    let signals = receive(&ends).map_err(DaemonError::Signals)?;
    let hangup = receive(&[signal_hook::consts::SIGHUP]).map_err(DaemonError::Signals)?;
    let watch = Watch::new().map_err(DaemonError::Watch)?;
    let endpoint = TunnelEndpoint::new(hub_config(settings))?;
    let SystemSetup { machine, sockets, control, metrics } = prepare(settings)?;
    let mut inputs = Inputs { control, metrics, signals, hangup, watch };
    let mut daemon = Daemon::new(settings, endpoint, machine, sockets);
    let end = daemon.until_end(&mut inputs);
    if daemon.machine.keeps_kill_switch() {
        let interface = &settings.config.interface;
        tracing::warn!("the kill switch stays: `quiclab-tunnel down --interface {interface}` removes it");
    }
    // `down` waits for the end of its connection, before which the machine is restored
    let undone = daemon.machine.end();
    let table = kill_switch_table(&settings.config.interface);
    inputs.control.tell_end(&undone.map_or_else(
        |error| format!("the firewall's table of the tunnel stays ({table}): {}", system_reason(&error)),
        |()| ENDED.to_owned(),
    ));
    drop(daemon);
    drop(inputs);
    end
}

/// Returns a stream that is readable after one of these signals.
pub(crate) fn receive(signals: &[i32]) -> io::Result<UnixStream> {
    let (stream, writer) = UnixStream::pair()?;
    for signal in signals {
        signal_hook::low_level::pipe::register(*signal, writer.try_clone()?)?;
    }
    stream.set_nonblocking(true)?;
    Ok(stream)
}

impl Daemon {
    fn new(settings: &Settings, endpoint: TunnelEndpoint, machine: Machine, sockets: Sockets) -> Self {
        let config = settings.config.clone();
        Self {
            tun: Tun::new(machine.device(), config.mtu),
            clients: config.server.as_ref().map(ClientAddresses::new),
            clock: Clock::start(),
            endpoint,
            machine,
            sockets,
            sessions: BTreeMap::new(),
            parked: BTreeMap::new(),
            uplinks: None,
            silence: None,
            #[cfg(feature = "connect-ip")]
            offer: Offer::default(),
            key: settings.key.clone(),
            inbox: Vec::new(),
            homeless: 0,
            isolated: 0,
            refused: 0,
            refusals: Refusals::default(),
            retry_interfaces: None,
            filtered: BTreeSet::new(),
            end: None,
            file: settings.file.clone(),
            config,
        }
    }

    /// Carries packets until the tunnel ends, and closes its sessions.
    fn until_end(&mut self, inputs: &mut Inputs) -> Result<(), DaemonError> {
        if self.config.client.is_some() {
            self.connect(self.clock.now())?;
        }
        tracing::info!(interface = self.config.interface, role = self.role(), "up");
        let end = self.carry(inputs);
        let now = self.clock.now();
        self.endpoint.close_all(now);
        self.transmit(now);
        tracing::info!(interface = self.config.interface, "down");
        end
    }

    fn role(&self) -> &'static str {
        if self.clients.is_some() { "server" } else { "client" }
    }

    /// Adds a session that is not open yet.
    fn add_session(&mut self, now: Time, id: SessionId, peer: PublicKey, name: String) {
        let connect_ip = self.endpoint.is_connect_ip(id);
        let numbered = self.config.numbers_packets() && !connect_ip;
        let mut session = Session::new(now, id, peer, name, tunnel_config(&self.config, numbered), seed());
        session.connect_ip = connect_ip;
        self.sessions.insert(id, session);
    }

    fn send_control(&mut self, session: SessionId, message: &Message) {
        if let Err(error) = self.endpoint.send_control(session, Bytes::from(message.encode())) {
            tracing::warn!(session = session.0, %error, "control message not sent");
        }
    }
}

/// Seed of the hash of flows: other hosts must not know which flows share a queue (RFC 8290 section 5.2.1).
fn seed() -> u64 {
    let mut bytes = [0; 8];
    let _ = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes);
    u64::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_other_end_refuses_is_tried_again() {
        // fixing the server must not require a restart of each client
        for reason in [crate::protocol::NUMBERS_DIFFER, "no free address is available"] {
            assert!(!DaemonError::Refused(reason.to_owned()).is_permanent(), "{reason}");
        }
    }
}
