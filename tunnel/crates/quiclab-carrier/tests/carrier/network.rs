//! Two endpoints over a few paths: each a bidirectional link with rate, delay, queue and a switch. Traffic is
//! numbered parcels of full size, or on demand; departures and arrivals of each are recorded.

use quiclab_carrier::connect_ip::ConnectIpConfig;
use quiclab_carrier::{
    PathConfig, Randomness, SecretKey, SessionId, TunnelEndpoint, TunnelEndpointConfig, TunnelEvent,
};
use quiclab_core::tunnel::{Carrier, CarrierKind, TunnelPayload};
use quiclab_core::{
    ByteCount, DataRate, Duration, FiveTuple, Packet, Payload, Protocol, RandomStream, Role, Time,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::SocketAddr;

pub const CLIENT: usize = 0;
pub const SERVER: usize = 1;
/// Bytes of a parcel: with IP, UDP, QUIC and tunnel headers a packet of at most 1500 bytes.
pub const PARCEL: u16 = 1400;

pub fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub fn at(millis: u64) -> Time {
    Time::ZERO + ms(millis)
}

pub fn key(number: u8) -> SecretKey {
    SecretKey::from_bytes([number; 32])
}

pub fn client_address(path: usize) -> SocketAddr {
    ([10, 3, path as u8, 1], 4433).into()
}

pub fn server_address(path: usize) -> SocketAddr {
    ([10, 4, path as u8, 1], 4433).into()
}

#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub rate: DataRate,
    pub delay: Duration,
    pub queue_packets: usize,
    pub up: bool,
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Longest IP packet that passes; others are dropped.
    pub mtu: u16,
}

impl Link {
    pub fn mbps(megabits: u64, delay_ms: u64, queue_packets: usize) -> Self {
        let rate = DataRate::from_bits_per_second(megabits * 1_000_000);
        Self { rate, delay: ms(delay_ms), queue_packets, up: true, loss: 0.0, mtu: 1500 }
    }
}

/// Choice of the open path for the next parcel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// The next that has room.
    RoundRobin,
    /// The next, and none until it has room.
    Strict,
    /// This one only.
    Only(usize),
}

pub struct End {
    pub endpoint: TunnelEndpoint,
    pub session: Option<SessionId>,
    pub events: Vec<(Time, TunnelEvent)>,
    /// Parcels that wait; `u64::MAX`: always.
    pub backlog: u64,
    pub schedule: Schedule,
    /// Maximum number of consecutive parcels to one path before packets are fetched.
    pub batch: usize,
    turn: usize,
    /// Path of each parcel sent.
    pub left: Vec<usize>,
    /// Time, path and number of each parcel that arrived.
    pub arrived: Vec<(Time, usize, u64)>,
    /// Packets of bytes that arrived.
    pub packets: usize,
    /// UDP datagrams per packet handed out.
    pub segments: Vec<usize>,
}

pub struct Setup {
    pub kind: CarrierKind,
    /// Kind of the server, if it differs.
    pub server_kind: Option<CarrierKind>,
    pub paths: Vec<(PathConfig, Link)>,
    pub seed: u64,
    /// Installation bytes of each end; in place of `seed` random numbers of the system, as between real hosts, with these bytes
    /// of the installation.
    pub installations: Option<[[u8; 32]; 2]>,
    pub segments: usize,
    pub mtu_discovery: bool,
    pub server_keys: (u8, Vec<u8>),
    pub client_keys: (u8, Vec<u8>),
    /// CONNECT-IP of each end, in place of the tunnel's own protocol.
    pub connect_ip: Option<fn(Role) -> ConnectIpConfig>,
}

impl Setup {
    pub fn new(kind: CarrierKind, path: PathConfig, links: &[Link]) -> Self {
        let paths = links.iter().map(|link| (path, *link)).collect();
        Self {
            kind,
            server_kind: None,
            paths,
            seed: 1,
            installations: None,
            segments: 1,
            mtu_discovery: false,
            server_keys: (2, vec![1]),
            client_keys: (1, vec![2]),
            connect_ip: None,
        }
    }

    pub fn config(&self, role: Role) -> TunnelEndpointConfig {
        let (own, peers) = match role {
            Role::Client => &self.client_keys,
            Role::Server => &self.server_keys,
        };
        let peers = peers.iter().map(|peer| key(*peer).public()).collect();
        TunnelEndpointConfig {
            kind: self.server_kind.filter(|_| role == Role::Server).unwrap_or(self.kind),
            paths: self.paths.iter().map(|(path, _)| *path).collect(),
            segments: self.segments,
            mtu_discovery: self.mtu_discovery,
            connect_ip: self.connect_ip.map(|config| config(role)),
            installation: self.installations.map(|all| all[usize::from(role == Role::Server)]),
            ..TunnelEndpointConfig::new(
                role,
                key(*own),
                peers,
                match self.installations {
                    Some(_) => Randomness::System,
                    None => Randomness::Seeded(self.seed),
                },
            )
        }
    }

    pub fn network(self) -> Network {
        self.network_at(Time::ZERO)
    }

    /// Creates the network; the client connects at `start`.
    pub fn network_at(self, start: Time) -> Network {
        let end = |role| End {
            endpoint: TunnelEndpoint::new(self.config(role)).unwrap(),
            session: None,
            events: Vec::new(),
            backlog: 0,
            schedule: Schedule::RoundRobin,
            batch: 1,
            turn: 0,
            left: Vec::new(),
            arrived: Vec::new(),
            packets: 0,
            segments: Vec::new(),
        };
        let ends = [end(Role::Client), end(Role::Server)];
        let links = self.paths.iter().map(|(_, link)| [*link, *link]).collect();
        let mut network = Network {
            ends,
            links,
            now: start,
            arrivals: BinaryHeap::new(),
            flying: BTreeMap::new(),
            departures: BTreeMap::new(),
            sequence: 0,
            loss: RandomStream::new(self.seed, "loss"),
            log: None,
            translation: BTreeMap::new(),
            bytes: 0,
        };
        let addresses: Vec<_> =
            (0..self.paths.len()).map(|i| (client_address(i), server_address(i))).collect();
        network.ends[CLIENT].session =
            Some(network.ends[CLIENT].endpoint.connect(start, &addresses).unwrap());
        network.pump(CLIENT);
        network
    }
}

pub struct Network {
    pub ends: [End; 2],
    /// By path, then by sending end.
    pub links: Vec<[Link; 2]>,
    pub now: Time,
    arrivals: BinaryHeap<Reverse<(Time, u64)>>,
    flying: BTreeMap<u64, (usize, Packet)>,
    departures: BTreeMap<(usize, usize), Vec<Time>>,
    sequence: u64,
    loss: RandomStream,
    /// Log of all packets sent, if enabled.
    pub log: Option<Vec<(Time, usize, Vec<u8>)>>,
    /// Addresses that the server sees instead of a client's address.
    pub translation: BTreeMap<SocketAddr, SocketAddr>,
    /// Number of IP bytes that left.
    pub bytes: u64,
}

const MAX_EVENTS: usize = 5_000_000;

impl Network {
    pub fn run_until(&mut self, end: Time) {
        for _ in 0..MAX_EVENTS {
            let arrival = self.arrivals.peek().map(|Reverse((time, _))| *time);
            let wakes = [self.ends[0].endpoint.next_wake(), self.ends[1].endpoint.next_wake()];
            let next = wakes.into_iter().chain([arrival]).flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else {
                self.now = end;
                return;
            };
            assert!(next >= self.now, "a deadline in the past: {next} at {}", self.now);
            self.now = next;
            let who = if arrival == Some(next) {
                let Reverse((_, sequence)) = self.arrivals.pop().unwrap();
                let (who, packet) = self.flying.remove(&sequence).unwrap();
                self.ends[who].endpoint.receive(next, packet);
                who
            } else {
                let who = usize::from(wakes[0] != Some(next));
                self.ends[who].endpoint.wake(next);
                who
            };
            self.pump(who);
        }
        panic!("no end after {MAX_EVENTS} events at {}", self.now);
    }

    /// Runs until both ends have a session with all paths up.
    pub fn establish(&mut self) {
        for _ in 0..500 {
            self.run_until(self.now + ms(10));
            let up = |end: &End| {
                let count = |wanted: fn(&TunnelEvent) -> bool| {
                    end.events.iter().filter(|(_, event)| wanted(event)).count()
                };
                count(|event| matches!(event, TunnelEvent::PathUp { .. }))
                    - count(|event| matches!(event, TunnelEvent::PathDown { .. }))
            };
            if self.ends.iter().all(|end| end.session.is_some() && up(end) == self.links.len()) {
                return;
            }
        }
        panic!("not established: {:?} {:?}", self.ends[0].events, self.ends[1].events);
    }

    pub fn pump(&mut self, who: usize) {
        let now = self.now;
        let end = &mut self.ends[who];
        while let Some(event) = end.endpoint.poll_event() {
            match event {
                TunnelEvent::SessionOpened { session, .. } => end.session = Some(session),
                TunnelEvent::SessionClosed { session, .. }
                    if end.session == Some(session) && who == SERVER =>
                {
                    end.session = None;
                }
                _ => {}
            }
            end.events.push((now, event));
        }
        loop {
            let end = &mut self.ends[who];
            let mut sent = false;
            if let Some(mut carrier) = end.session.and_then(|session| end.endpoint.carrier(session)) {
                while let Some((path, cargo)) = carrier.delivered() {
                    match cargo {
                        TunnelPayload::Reference { number, length } => {
                            assert_eq!(length, PARCEL);
                            end.arrived.push((now, path, number));
                        }
                        TunnelPayload::Bytes(_) => end.packets += 1,
                    }
                }
                'fill: while end.backlog > 0 {
                    let count = carrier.paths();
                    let open = |path: usize| carrier.state(now, path).is_open();
                    let path = match end.schedule {
                        Schedule::Only(path) => Some(path).filter(|path| open(*path)),
                        Schedule::Strict => Some(end.turn % count).filter(|path| open(*path)),
                        Schedule::RoundRobin => {
                            (0..count).map(|step| (end.turn + step) % count).find(|path| open(*path))
                        }
                    };
                    let Some(path) = path else { break };
                    end.turn = path + 1;
                    let mut taken = false;
                    for _ in 0..end.batch {
                        let cargo =
                            TunnelPayload::Reference { number: end.left.len() as u64, length: PARCEL };
                        if end.backlog == 0 || carrier.send(now, path, cargo).is_err() {
                            break;
                        }
                        (sent, taken) = (true, true);
                        end.left.push(path);
                        if end.backlog != u64::MAX {
                            end.backlog -= 1;
                        }
                    }
                    // a path may have room for a datagram, and not for fragments
                    if !taken {
                        break 'fill;
                    }
                }
                carrier.set_backlogged(end.backlog > 0);
            }
            let mut packets = Vec::new();
            while let Some(outgoing) = end.endpoint.transmit(now) {
                let Payload::Bytes(bytes) = &outgoing.packet.payload else {
                    panic!("a packet without bytes")
                };
                let size = outgoing.segment.map_or(bytes.len(), usize::from);
                end.segments.push(bytes.len().div_ceil(size));
                for segment in bytes.chunks(size) {
                    let mut packet = outgoing.packet.clone();
                    packet.size = ByteCount::from_bytes(segment.len() as u64 + 28);
                    packet.payload = Payload::Bytes(segment.into());
                    packets.push(packet);
                }
            }
            let any = !packets.is_empty();
            packets.into_iter().for_each(|packet| self.transmit(who, packet));
            if !any && !sent {
                break;
            }
        }
    }

    fn transmit(&mut self, who: usize, mut packet: Packet) {
        let tuple = packet.tuple;
        let (client, server) = if who == CLIENT {
            (tuple.source(), tuple.destination())
        } else {
            (tuple.destination(), tuple.source())
        };
        let path = (0..self.links.len()).find(|path| server == server_address(*path));
        let path = path.unwrap_or_else(|| panic!("{server} is on no path"));
        if who == SERVER && self.translation.contains_key(&client) {
            return; // the former binding has expired
        }
        let original = self.translation.iter().find(|(_, seen)| **seen == client).map(|(own, _)| *own);
        let seen = if who == CLIENT { self.translation.get(&client).copied() } else { original };
        let seen = seen.unwrap_or(client);
        let tuple = if who == CLIENT { (seen, server) } else { (server, seen) };
        packet.tuple = FiveTuple::new(Protocol::Udp, tuple.0, tuple.1);
        if let (Some(log), Payload::Bytes(bytes)) = (&mut self.log, &packet.payload) {
            log.push((self.now, path, bytes.to_vec()));
        }
        self.bytes += packet.size.bytes();
        let link = self.links[path][who];
        let departures = self.departures.entry((path, who)).or_default();
        departures.retain(|departure| *departure > self.now);
        let lost = self.loss.uniform() < link.loss;
        if !link.up || lost || departures.len() >= link.queue_packets || packet.size.bytes() > link.mtu.into()
        {
            return;
        }
        let departure = departures.last().copied().unwrap_or(self.now) + link.rate.time_for(packet.size);
        departures.push(departure);
        self.arrivals.push(Reverse((departure + link.delay, self.sequence)));
        self.flying.insert(self.sequence, (1 - who, packet));
        self.sequence += 1;
    }

    /// Drops all packets in flight, and sets the time to `now`.
    pub fn forget_flying(&mut self, now: Time) {
        self.arrivals.clear();
        self.flying.clear();
        self.now = now;
    }

    pub fn switch(&mut self, path: usize, up: bool) {
        self.links[path].iter_mut().for_each(|link| link.up = up);
    }

    /// Megabits of parcels per second that `who` received in a period, by path.
    pub fn goodput(&self, who: usize, from: Time, to: Time) -> Vec<f64> {
        let mut bits = vec![0.0; self.links.len()];
        for (_, path, _) in self.ends[who].arrived.iter().filter(|(time, ..)| *time > from && *time <= to) {
            bits[*path] += f64::from(PARCEL) * 8.0;
        }
        bits.into_iter().map(|bits| bits / to.since(from).as_secs_f64() / 1e6).collect()
    }

    /// Every parcel that arrived used the chosen path, and none left late or on another path.
    pub fn assert_exact(&mut self) {
        for who in [CLIENT, SERVER] {
            for (_, path, number) in &self.ends[who].arrived {
                assert_eq!(*path, self.ends[1 - who].left[*number as usize], "parcel {number}");
            }
            assert_eq!(self.statistic(who, "datagrams_misplaced"), 0.0);
            assert_eq!(self.statistic(who, "datagrams_stuck"), 0.0);
        }
    }

    pub fn statistic(&mut self, who: usize, name: &str) -> f64 {
        let end = &mut self.ends[who];
        let mut metrics = quiclab_core::Metrics::default();
        end.endpoint.carrier(end.session.unwrap()).unwrap().statistics(&mut metrics);
        metrics.get(name).unwrap()
    }
}
