//! An endpoint with one session between fixed addresses: the noq carriers in a simulation.
//!
//! Both ends have fixed keys; all random numbers come from streams named after the end.

use super::config::{PathConfig, TunnelEndpointConfig};
use super::event::{SessionId, TunnelEvent};
use super::keys::SecretKey;
use super::randomness::Randomness;
use super::tunnel_endpoint::TunnelEndpoint;
use quiclab_core::problem::{ensure, quoted, values};
use quiclab_core::scheduler::PathState;
use quiclab_core::tunnel::{Carrier, CarrierKind, TunnelPayload};
use quiclab_core::{Duration, FiveTuple, Metrics, Packet, Problem, Protocol, RandomStream, Role, Time};
use quiclab_transport::options::{CongestionControl, EndpointConfig};
use quiclab_transport::{CarrierRequest, CarrierStack};
use std::net::SocketAddr;

/// Port of both ends.
const PORT: u16 = 4433;

/// IPv4 and UDP header in bytes.
const HEADERS: u64 = 28;

/// Configuration of a [`NoqCarrier`].
#[derive(Clone, Debug)]
pub struct CarrierSetup {
    /// Role of this end.
    pub role: Role,
    /// Kind of carrier.
    pub kind: CarrierKind,
    /// Configuration of each path.
    pub paths: Vec<PathConfig>,
    /// Time at which the client connects.
    pub start: Time,
    /// Idle timeout: a session ends after this time without a packet on any path.
    pub idle_timeout: Duration,
    /// Keep-alive interval of an idle path.
    pub keep_alive: Duration,
    /// Seed of the run; each end uses streams of its own.
    pub seed: u64,
    /// Name of this end, from which the names of its streams are derived.
    pub name: String,
}

impl CarrierSetup {
    /// An end of a tunnel in virtual time, from time 0.
    #[must_use]
    pub fn of_tunnel(request: &CarrierRequest<'_>) -> Self {
        let config = request.config;
        let path = |index: usize| PathConfig {
            congestion_control: config.congestion_control.unwrap_or(CongestionControl::Cubic),
            window: request.windows.get(index).copied(),
            mtu: (config.datagram_size.unwrap_or_default().bytes() + HEADERS) as u16,
        };
        Self {
            role: request.role,
            kind: request.kind,
            paths: (0..request.paths).map(path).collect(),
            start: Time::ZERO,
            idle_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(1),
            seed: request.seed,
            name: request.name.to_owned(),
        }
    }
}

/// Congestion controls of a path.
pub const CONTROLS: [CongestionControl; 5] = {
    use CongestionControl::{BbrLinux, Cubic, Fixed, Lia, Newreno};
    [Newreno, Cubic, BbrLinux, Lia, Fixed]
};

/// The stack `noq` as it carries tunnels.
pub(crate) struct NoqTunnels;

impl CarrierStack for NoqTunnels {
    fn name(&self) -> &'static str {
        "noq"
    }

    fn validate(&self, config: &EndpointConfig, fixed_windows: bool) -> Result<(), Problem> {
        check_options(config, fixed_windows)
    }

    fn carrier(&self, request: &CarrierRequest<'_>) -> Result<Box<dyn Carrier>, Problem> {
        Ok(Box::new(NoqCarrier::new(CarrierSetup::of_tunnel(request))))
    }
}

fn check_options(config: &EndpointConfig, fixed_windows: bool) -> Result<(), Problem> {
    const TAKEN: [&str; 2] = ["congestion_control", "datagram_size"];
    if let Some(option) = config.set_options().keys().find(|option| !TAKEN.contains(&option.as_str())) {
        let instead = "its options are `congestion_control` and `datagram_size`";
        return Err(Problem::unsupported(option.as_str(), "a tunnel over noq", instead));
    }
    let Some(control) = config.congestion_control else { return Ok(()) };
    let conflict =
        |expected: String| Problem::conflict("congestion_control", quoted(control.name()), expected);
    ensure(CONTROLS.contains(&control), || {
        conflict(values(CONTROLS.map(CongestionControl::name)))
            .because("not supported by the carriers of the stack `noq`")
    })?;
    ensure(control != CongestionControl::Fixed || fixed_windows, || {
        conflict("another congestion control".to_owned()).because("`windows` of the tunnel is not set")
    })
}

/// One end of a tunnel with fixed addresses: path `i` is from 10.3.`i`.1 (client) to 10.4.`i`.1 (server).
pub struct NoqCarrier {
    endpoint: TunnelEndpoint,
    role: Role,
    count: usize,
    /// Time at which the client connects; `None` after that, and for servers.
    start: Option<Time>,
    session: Option<SessionId>,
    failure: Option<String>,
}

/// Addresses of client and server on path `index`.
fn addresses(index: usize) -> (SocketAddr, SocketAddr) {
    let octet = u8::try_from(index).expect("paths are at most 64");
    (([10, 3, octet, 1], PORT).into(), ([10, 4, octet, 1], PORT).into())
}

impl NoqCarrier {
    /// Creates one end.
    ///
    /// # Panics
    /// If there is no path, or more than 64, or a value is not allowed ([`TunnelEndpoint::new`]).
    #[must_use]
    pub fn new(setup: CarrierSetup) -> Self {
        let (client, server) = (SecretKey::from_bytes([1; 32]), SecretKey::from_bytes([2; 32]));
        let (own, peer) = match setup.role {
            Role::Client => (client, server),
            Role::Server => (server, client),
        };
        let count = setup.paths.len();
        let _ = addresses(count);
        let seed = RandomStream::new(setup.seed, &setup.name).bits();
        let config = TunnelEndpointConfig {
            kind: setup.kind,
            paths: setup.paths,
            idle_timeout: setup.idle_timeout,
            keep_alive: setup.keep_alive,
            ..TunnelEndpointConfig::new(
                setup.role,
                own,
                [peer.public()].into_iter().collect(),
                Randomness::Seeded(seed),
            )
        };
        let endpoint = TunnelEndpoint::new(config).unwrap_or_else(|error| panic!("{error}"));
        let start = (setup.role == Role::Client).then_some(setup.start);
        Self { endpoint, role: setup.role, count, start, session: None, failure: None }
    }

    /// Processes the events of the endpoint.
    fn follow(&mut self) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                TunnelEvent::SessionOpened { session, .. } => self.session = Some(session),
                TunnelEvent::SessionClosed { session, .. }
                    if self.role == Role::Server && self.session == Some(session) =>
                {
                    self.session = None; // the client comes back
                }
                TunnelEvent::Refused { from, reason } => self.failure = Some(format!("{from}: {reason}")),
                _ => {}
            }
        }
    }

    /// Sets the addresses of a packet to those of its path.
    fn addressed(&self, path: usize, mut packet: Packet) -> Packet {
        let (client, server) = addresses(path);
        let (source, destination) = match self.role {
            Role::Client => (server, client),
            Role::Server => (client, server),
        };
        packet.tuple = FiveTuple::new(Protocol::Udp, source, destination);
        packet
    }

    /// Path of a packet, by the peer's address.
    fn path_of(&self, packet: &Packet) -> usize {
        let destination = packet.tuple.destination();
        let found = (0..self.count).find(|&index| {
            let (client, server) = addresses(index);
            destination == client || destination == server
        });
        found.unwrap_or(0)
    }
}

impl Carrier for NoqCarrier {
    fn paths(&self) -> usize {
        self.count
    }
    fn state(&self, now: Time, path: usize) -> PathState {
        self.endpoint.path_state(now, self.session.unwrap_or(SessionId(u64::MAX)), path)
    }
    fn largest_datagram(&self, path: usize) -> Option<u16> {
        self.endpoint.largest_cargo(self.session?, path)
    }
    fn send(&mut self, now: Time, path: usize, cargo: TunnelPayload) -> Result<(), TunnelPayload> {
        match self.session {
            Some(session) => self.endpoint.send_cargo(now, session, path, cargo),
            None => Err(cargo),
        }
    }
    fn set_backlogged(&mut self, backlogged: bool) {
        if let Some(session) = self.session {
            self.endpoint.backlog(session, backlogged);
        }
    }
    fn receive(&mut self, now: Time, path: usize, packet: Box<Packet>) {
        let packet = self.addressed(path, *packet);
        self.endpoint.receive(now, packet);
        self.follow();
    }
    fn delivered(&mut self) -> Option<(usize, TunnelPayload)> {
        self.endpoint.sessions.get_mut(&self.session?)?.delivered()
    }
    fn transmit(&mut self, now: Time) -> Option<(usize, Box<Packet>)> {
        let outgoing = self.endpoint.transmit(now);
        self.follow();
        let packet = outgoing?.packet; // segments is 1
        Some((self.path_of(&packet), Box::new(packet)))
    }
    fn wake(&mut self, now: Time) {
        if self.start.is_some_and(|start| start <= now) {
            self.start = None;
            let paths: Vec<_> = (0..self.count).map(addresses).collect();
            self.session = Some(self.endpoint.connect(now, &paths).unwrap_or_else(|error| panic!("{error}")));
        }
        self.endpoint.wake(now);
        self.follow();
    }
    fn next_wake(&self) -> Option<Time> {
        self.start.into_iter().chain(self.endpoint.next_wake()).min()
    }
    fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }
    fn statistics(&self, out: &mut Metrics) {
        if let Some(session) = self.session {
            self.endpoint.report(session, out);
        }
    }
}
