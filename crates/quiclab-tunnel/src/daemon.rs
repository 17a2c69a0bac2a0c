//! The loop: one thread that waits for the device, the sockets, the clock and requests, and moves packets between them.
//!
//! After each wait: datagrams to the endpoint, packets of the device to the queues of sessions, timers, events, each session's
//! send pass, and out with what there is. A single thread carries more than 1 Gbit/s; see docs/tunnel.md.

use crate::clock::Clock;
use crate::config::{Client, Config, Settings};
use crate::pool::Pool;
use crate::protocol::{self, Assignment, Message};
use crate::requests::{Request, Requests};
use crate::session::Session;
use crate::setup::{SystemSetup, hub_config, prepare, tunnel_config};
use crate::sockets::Sockets;
use crate::status::Status;
use crate::system::{Machine, Watch};
use crate::tun::Tun;
use crate::uplinks::Uplinks;
use bytes::{Bytes, BytesMut};
use quiclab_core::ip::{self, IpPrefix};
use quiclab_core::{Duration, Time};
use quiclab_stacks::carrier::{PublicKey, SessionId, TunnelEndpoint, TunnelEvent};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::io::Read;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

/// Packets of the device before others have their turn; one read may bring some fifty.
const TURN: usize = 256;
/// After a change of interfaces, and again for those that a socket could not use at once.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Why a tunnel ended.
#[derive(Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// It was asked to.
    Asked,
    /// It cannot go on.
    Failed(String),
}

struct Daemon {
    config: Config,
    clock: Clock,
    endpoint: TunnelEndpoint,
    tun: Tun,
    machine: Machine,
    sockets: Sockets,
    sessions: BTreeMap<SessionId, Session>,
    /// Whose an address inside is: hosts, then networks behind them, the longest prefix first.
    hosts: BTreeMap<IpAddr, SessionId>,
    networks: Vec<(IpPrefix, SessionId)>,
    pool: Option<Pool>,
    uplinks: Option<(Uplinks, SessionId)>,
    inbox: Vec<BytesMut>,
    /// Packets of the device that have no destination inside.
    homeless: u64,
    refused: u64,
    look_again: Option<Time>,
    end: Option<ExitReason>,
}

/// Sets the machine up, carries packets until it is asked to end, and undoes everything.
///
/// # Errors
/// A sentence about what is refused.
pub fn run(settings: &Settings) -> Result<(), String> {
    let (signals, writer) = UnixStream::pair().map_err(|error| error.to_string())?;
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP] {
        let writer = writer.try_clone().map_err(|error| error.to_string())?;
        signal_hook::low_level::pipe::register(signal, writer).map_err(|error| error.to_string())?;
    }
    signals.set_nonblocking(true).map_err(|error| error.to_string())?;
    let watch = Watch::new().map_err(|error| format!("changes of interfaces cannot be followed: {error}"))?;
    let endpoint = TunnelEndpoint::new(hub_config(settings)).map_err(|error| error.to_string())?;
    let prepared = prepare(settings)?;
    Daemon::start(settings, endpoint, prepared, signals, watch)
}

impl Daemon {
    fn start(
        settings: &Settings,
        endpoint: TunnelEndpoint,
        prepared: SystemSetup,
        signals: UnixStream,
        watch: Watch,
    ) -> Result<(), String> {
        let SystemSetup { machine, sockets, mut control, mut metrics } = prepared;
        let config = settings.config.clone();
        let mut daemon = Self {
            tun: Tun::new(machine.device(), config.mtu),
            pool: config.server.as_ref().map(Pool::new),
            clock: Clock::start(),
            endpoint,
            machine,
            sockets,
            sessions: BTreeMap::new(),
            hosts: BTreeMap::new(),
            networks: Vec::new(),
            uplinks: None,
            inbox: Vec::new(),
            homeless: 0,
            refused: 0,
            look_again: None,
            end: None,
            config,
        };
        let now = daemon.clock.now();
        if daemon.config.client.is_some() {
            daemon.connect(now)?;
        }
        tracing::info!(interface = daemon.config.interface, role = daemon.role(), "up");
        let end = daemon.carry(&mut control, &mut metrics, signals, &watch);
        let now = daemon.clock.now();
        daemon.endpoint.close_all(now);
        daemon.transmit(now);
        tracing::info!(interface = daemon.config.interface, "down");
        // the machine is as before when the process that asked hears of it
        drop(daemon);
        drop(control);
        match end {
            ExitReason::Asked => Ok(()),
            ExitReason::Failed(sentence) => Err(sentence),
        }
    }

    fn role(&self) -> &'static str {
        if self.pool.is_some() { "server" } else { "client" }
    }

    fn carry(
        &mut self,
        control: &mut Requests,
        metrics: &mut Option<Requests>,
        mut signals: UnixStream,
        watch: &Watch,
    ) -> ExitReason {
        loop {
            if let Some(end) = self.end.take() {
                return end;
            }
            let now = self.clock.now();
            let wakes = [
                self.endpoint.next_wake(),
                self.sessions.values().filter_map(Session::next_wake).min(),
                self.look_again,
                control.next_wake(),
                metrics.as_ref().and_then(Requests::next_wake),
            ];
            let timeout = wakes.into_iter().flatten().min().map(|wake| timespec(wake.since(now)));
            let readable = {
                let mut fds = vec![
                    PollFd::new(&self.tun, PollFlags::IN),
                    PollFd::new(&signals, PollFlags::IN),
                    PollFd::new(watch, PollFlags::IN),
                ];
                let first_socket = fds.len();
                fds.extend(
                    self.sockets
                        .iter()
                        .map(|(_, socket)| PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN)),
                );
                let first_request = fds.len();
                for requests in [Some(&*control), metrics.as_ref()].into_iter().flatten() {
                    fds.extend(requests.sources().map(|(fd, writes)| {
                        PollFd::from_borrowed_fd(fd, if writes { PollFlags::OUT } else { PollFlags::IN })
                    }));
                }
                match poll(&mut fds, timeout.as_ref()) {
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return ExitReason::Failed(format!("poll: {error}")),
                }
                let ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
                let sockets =
                    self.sockets.iter().map(|(slot, _)| slot).zip(&fds[first_socket..first_request]);
                Readable {
                    tun: ready(&fds[0]),
                    signal: ready(&fds[1]),
                    links: ready(&fds[2]),
                    sockets: sockets.filter(|(_, fd)| ready(fd)).map(|(slot, _)| slot).collect(),
                    requests: fds[first_request..].iter().any(ready),
                }
            };
            let now = self.clock.now();
            if readable.signal {
                let mut buffer = [0; 16];
                let _ = signals.read(&mut buffer);
                return ExitReason::Asked;
            }
            if readable.links && watch.changed() || self.look_again.is_some_and(|time| time <= now) {
                self.follow_interfaces(now);
            }
            self.turn(now, &readable);
            let requests_due = [control.next_wake(), metrics.as_ref().and_then(Requests::next_wake)];
            if readable.requests || requests_due.into_iter().flatten().any(|time| time <= now) {
                control.serve(now, |request| self.answer(now, request));
                if let Some(metrics) = metrics {
                    metrics.serve(now, |request| self.answer(now, request));
                }
            }
        }
    }

    /// Moves packets once around.
    fn turn(&mut self, now: Time, readable: &Readable) {
        for slot in &readable.sockets {
            let endpoint = &mut self.endpoint;
            self.sockets.receive(now, *slot, |packet| endpoint.receive(now, packet));
        }
        if readable.tun {
            while self.inbox.len() < TURN {
                let inbox = &mut self.inbox;
                match self.tun.read(|packet| inbox.push(packet)) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        self.end = Some(ExitReason::Failed(format!("the device is gone: {error}")));
                        return;
                    }
                }
            }
            let mut inbox = std::mem::take(&mut self.inbox);
            for packet in inbox.drain(..) {
                self.enqueue(now, packet);
            }
            self.inbox = inbox;
        }
        if self.endpoint.next_wake().is_some_and(|wake| wake <= now) {
            self.endpoint.wake(now);
        }
        while let Some(event) = self.endpoint.poll_event() {
            self.event(now, event);
        }
        for session in self.sessions.values_mut() {
            session.run(now, &mut self.endpoint, &mut self.tun);
        }
        // what has arrived before what is sent: the machine can go on with it meanwhile
        self.tun.flush();
        self.transmit(now);
    }

    fn transmit(&mut self, now: Time) {
        while let Some(outgoing) = self.endpoint.transmit(now) {
            self.sockets.send(&outgoing.packet, outgoing.segment);
        }
        self.sockets.flush();
    }

    /// Sends a packet of this machine to its peer.
    fn enqueue(&mut self, now: Time, packet: BytesMut) {
        let session = match (&self.uplinks, ip::parse(&packet)) {
            // router solicitations and similar packets of the kernel itself
            (_, Ok(header)) if header.destination.is_multicast() => None,
            (Some((_, session)), Ok(_)) => Some(*session),
            (None, Ok(header)) => self.owner(header.destination),
            (_, Err(_)) => None,
        };
        match session.and_then(|session| self.sessions.get_mut(&session)) {
            Some(session) => session.enqueue(now, packet),
            None => self.homeless += 1,
        }
    }

    fn owner(&self, address: IpAddr) -> Option<SessionId> {
        let behind =
            || self.networks.iter().find(|(prefix, _)| prefix.contains(address)).map(|(_, session)| *session);
        self.hosts.get(&address).copied().or_else(behind)
    }

    fn event(&mut self, now: Time, event: TunnelEvent) {
        match event {
            TunnelEvent::SessionOpened { session, peer } => self.session_opened(now, session, peer),
            TunnelEvent::Control { session, message } => {
                let result = match protocol::parse(&message) {
                    Ok(message) => self.message(now, session, message),
                    Err(error) => Err(error.to_string()),
                };
                if let Err(reason) = result {
                    tracing::warn!(session = session.0, reason, "control message refused");
                    self.close(now, session);
                }
            }
            TunnelEvent::PathUp { session, path } => {
                tracing::info!(
                    session = session.0,
                    peer = self.name_of(session),
                    path = self.path_name(path),
                    "path up"
                );
            }
            TunnelEvent::PathDown { session, path } => {
                tracing::warn!(
                    session = session.0,
                    peer = self.name_of(session),
                    path = self.path_name(path),
                    "path down"
                );
            }
            TunnelEvent::SessionClosed { session, reason } => {
                tracing::warn!(session = session.0, peer = self.name_of(session), ?reason, "session closed");
                if self.pool.is_some() {
                    self.forget(session);
                } else if let Some(session) = self.sessions.get_mut(&session) {
                    session.open = None;
                }
            }
            TunnelEvent::Refused { from, reason } => {
                self.refused += 1;
                tracing::warn!(%from, reason, "refused");
            }
        }
    }

    fn name_of(&self, session: SessionId) -> &str {
        self.sessions.get(&session).map_or("", |session| &session.name)
    }

    fn path_name(&self, path: usize) -> String {
        let configured = self.config.client.as_ref().and_then(|client| client.paths.get(path));
        configured.map_or_else(|| path.to_string(), |path| path.name.clone())
    }

    /// A server's session ends for good.
    fn forget(&mut self, session: SessionId) {
        self.sessions.remove(&session);
        self.hosts.retain(|_, owner| *owner != session);
        self.networks.retain(|(_, owner)| *owner != session);
    }

    fn close(&mut self, now: Time, session: SessionId) {
        if self.pool.is_some() {
            self.endpoint.close(now, session);
            self.forget(session);
        } else {
            self.end = Some(ExitReason::Failed("the server does not speak this protocol".to_owned()));
        }
    }

    fn session_opened(&mut self, now: Time, id: SessionId, peer: PublicKey) {
        let name = match &self.config.server {
            Some(server) => {
                server.peers.iter().find(|known| known.public_key == peer).map(|known| known.name.clone())
            }
            None => Some("server".to_owned()),
        };
        let name = name.unwrap_or_else(|| peer.to_string());
        tracing::info!(session = id.0, peer = name, "session open");
        if self.pool.is_some() {
            let session = Session::new(now, id, peer, name, tunnel_config(&self.config), seed());
            self.sessions.insert(id, session);
            return;
        }
        if let Some(session) = self.sessions.get_mut(&id) {
            session.restart();
        }
        // the family of IPv6 is asked for wherever it can be used
        let hello = Message::Hello { ipv4: true, ipv6: self.config.mtu >= ip::SMALLEST_IPV6_MTU };
        self.say(id, &hello);
    }

    fn say(&mut self, session: SessionId, message: &Message) {
        if let Err(error) = self.endpoint.send_control(session, Bytes::from(message.encode())) {
            tracing::warn!(session = session.0, %error, "control message not sent");
        }
    }

    fn message(&mut self, now: Time, id: SessionId, message: Message) -> Result<(), String> {
        match (message, self.pool.is_some()) {
            (Message::Hello { ipv4, ipv6 }, true) => self.assign(now, id, ipv4, ipv6),
            (Message::Assignment(assignment), false) => self.assigned(now, id, assignment),
            (Message::Refusal(reason), false) => {
                self.end = Some(ExitReason::Failed(format!("the server refuses: {reason}")));
                Ok(())
            }
            _ => Err("a message that the other end may not send".to_owned()),
        }
    }

    /// A server gives addresses to a client.
    fn assign(&mut self, now: Time, id: SessionId, ipv4: bool, ipv6: bool) -> Result<(), String> {
        let (Some(session), Some(pool), Some(server)) =
            (self.sessions.get_mut(&id), &mut self.pool, &self.config.server)
        else {
            return Ok(());
        };
        let assigned = pool.assign(session.peer, ipv4, ipv6);
        if assigned.is_empty() {
            let name = session.name.clone();
            tracing::warn!(peer = name, "the pool is used up");
            self.say(id, &Message::Refusal("no free address is available".to_owned()));
            return Ok(());
        }
        let behind = server
            .peers
            .iter()
            .find(|peer| peer.public_key == session.peer)
            .map(|peer| peer.networks.clone());
        let behind = behind.unwrap_or_default();
        let hosts = assigned.iter().map(|assigned| IpPrefix::host(assigned.address));
        session.allowed = Some(hosts.chain(behind.iter().copied()).collect());
        session.opened(now, assigned.clone(), self.config.mtu);
        for assigned in &assigned {
            self.hosts.insert(assigned.address, id);
        }
        self.networks.retain(|(prefix, _)| !behind.contains(prefix));
        self.networks.extend(behind.into_iter().map(|prefix| (prefix, id)));
        self.networks.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.length()));
        let assignment =
            Assignment { mtu: self.config.mtu, addresses: assigned, routes: server.announce.clone() };
        tracing::info!(session = id.0, addresses = ?assignment.addresses.iter().map(|one| one.address.to_string()).collect::<Vec<_>>(), "addresses assigned");
        self.say(id, &Message::Assignment(assignment));
        Ok(())
    }

    /// A client gets its addresses.
    fn assigned(&mut self, now: Time, id: SessionId, assignment: Assignment) -> Result<(), String> {
        let (Some(session), Some(client)) = (self.sessions.get_mut(&id), &self.config.client) else {
            return Ok(());
        };
        let networks = assignment.addresses.iter().map(|assigned| assigned.network);
        if let Some(sentence) = outside(networks, client, &self.config.interface, &mut self.machine)? {
            self.end = Some(ExitReason::Failed(sentence));
            return Ok(());
        }
        let mtu = assignment.mtu.min(self.config.mtu);
        let mut routes = client.routes.clone();
        if client.accept_routes {
            routes.extend(assignment.routes.iter().filter(|route| !client.routes.contains(route)));
        }
        // of families that there is an address of: nothing else would come back
        let has = |four: bool| assignment.addresses.iter().any(|assigned| assigned.address.is_ipv4() == four);
        routes.retain(|route| has(route.is_ipv4()));
        let networks: Vec<_> = assignment.addresses.iter().map(|assigned| assigned.network).collect();
        routes.retain(|route| !networks.contains(route));
        let addresses: Vec<_> = assignment
            .addresses
            .iter()
            .map(|assigned| (assigned.address, assigned.network.length()))
            .collect();
        for path in client.paths.iter().filter(|path| path.interface.is_none() && path.local.is_none()) {
            if routes.iter().any(|route| route.contains(path.server.ip())) {
                self.machine.keep_way(path.server.ip()).map_err(|error| error.to_string())?;
            }
        }
        let set = self
            .machine
            .set_mtu(mtu)
            .and_then(|()| self.machine.set_addresses(&addresses))
            .and_then(|()| self.machine.set_routes(&routes));
        if let Err(error) = set {
            self.end = Some(ExitReason::Failed(format!("the machine cannot be set up: {error}")));
            return Ok(());
        }
        session.allowed = None;
        session.opened(now, assignment.addresses, mtu);
        tracing::info!(session = id.0, addresses = ?addresses, mtu, "addresses set");
        Ok(())
    }

    fn connect(&mut self, now: Time) -> Result<(), String> {
        let client = self.config.client.clone().expect("this is a client");
        let mut uplinks = Uplinks::new(&client);
        let interfaces = self.machine.interfaces().map_err(|error| error.to_string())?;
        let moved: BTreeMap<_, _> = uplinks.follow(&interfaces, &mut self.sockets).into_iter().collect();
        let addresses: Vec<_> = client
            .paths
            .iter()
            .enumerate()
            .map(|(index, path)| {
                (
                    moved.get(&index).copied().unwrap_or_else(|| uplinks.unspecified_address(index)),
                    path.server,
                )
            })
            .collect();
        let id = self.endpoint.connect(now, &addresses).map_err(|error| error.to_string())?;
        let session = Session::new(
            now,
            id,
            client.server_key,
            "server".to_owned(),
            tunnel_config(&self.config),
            seed(),
        );
        self.sessions.insert(id, session);
        self.uplinks = Some((uplinks, id));
        Ok(())
    }

    fn follow_interfaces(&mut self, now: Time) {
        self.look_again = None;
        let Some((uplinks, session)) = &mut self.uplinks else { return };
        let interfaces = match self.machine.interfaces() {
            Ok(interfaces) => interfaces,
            Err(error) => {
                tracing::warn!(%error, "interfaces cannot be read");
                self.look_again = Some(now + LOOK_AGAIN);
                return;
            }
        };
        for (path, local) in uplinks.follow(&interfaces, &mut self.sockets) {
            if let Err(error) = self.endpoint.rebind_path(now, *session, path, local) {
                tracing::warn!(path, %error, "path cannot be moved");
            }
        }
    }

    fn answer(&mut self, now: Time, request: Request) -> String {
        match request {
            Request::Status => serde_json::to_string(&self.status(now)).unwrap_or_default(),
            Request::Metrics => self.status(now).prometheus(),
            Request::Down => {
                self.end = Some(ExitReason::Asked);
                String::new()
            }
        }
    }

    fn status(&mut self, now: Time) -> Status {
        let names: Vec<String> = self
            .config
            .client
            .iter()
            .flat_map(|client| &client.paths)
            .map(|path| path.name.clone())
            .collect();
        let endpoint = &mut self.endpoint;
        let sessions =
            self.sessions.values_mut().map(|session| session.status(now, endpoint, &names)).collect();
        let (tun, udp) = (self.tun.counts, self.sockets.counts);
        let values = [
            ("device_read_packets_total", tun.read_packets),
            ("device_read_bytes_total", tun.read_bytes),
            ("device_written_packets_total", tun.written_packets),
            ("device_written_bytes_total", tun.written_bytes),
            ("device_unreadable_total", tun.unreadable),
            ("device_refused_total", tun.refused),
            ("udp_sent_packets_total", udp.sent_packets),
            ("udp_sent_bytes_total", udp.sent_bytes),
            ("udp_received_packets_total", udp.received_packets),
            ("udp_received_bytes_total", udp.received_bytes),
            ("udp_unsent_packets_total", udp.unsent),
            ("homeless_packets_total", self.homeless),
            ("refused_peers_total", self.refused),
            ("connections", self.endpoint.connections() as u64),
        ];
        Status {
            role: self.role().to_owned(),
            interface: self.config.interface.clone(),
            uptime_seconds: now.as_ms_f64() / 1e3,
            values: values.into_iter().map(|(name, value)| (name.to_owned(), value as f64)).collect(),
            sessions,
        }
    }
}

struct Readable {
    tun: bool,
    signal: bool,
    links: bool,
    sockets: Vec<usize>,
    requests: bool,
}

/// Why networks cannot be inside: a server or this machine is there already.
fn outside(
    mut networks: impl Iterator<Item = IpPrefix>,
    client: &Client,
    interface: &str,
    machine: &mut Machine,
) -> Result<Option<String>, String> {
    let interfaces = machine.interfaces().map_err(|error| error.to_string())?;
    let own = interfaces.iter().filter(|(name, _)| *name != interface);
    let own =
        own.flat_map(|(name, found)| found.addresses.iter().map(move |address| (name.as_str(), *address)));
    let servers = client.paths.iter().map(|path| (path.name.as_str(), path.server.ip()));
    let taken: Vec<_> = own.chain(servers).collect();
    Ok(networks.find_map(|network| {
        let (name, address) = taken.iter().find(|(_, address)| network.contains(*address))?;
        Some(format!("the server assigns {network}, where {address} ({name}) is outside the tunnel"))
    }))
}

fn timespec(duration: Duration) -> Timespec {
    let nanos = duration.as_nanos();
    Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 }
}

/// Seed of the hash of flows: others must not know which flows share a queue (RFC 8290 section 5.2.1).
fn seed() -> u64 {
    let mut bytes = [0; 8];
    let _ = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes);
    u64::from_ne_bytes(bytes)
}
