//! A tiny network of two endpoints: one link each way with rate, delay, queue and a hook for every packet.
//! All packets sent are recorded.

use quiclab_core::{
    ByteCount, DataRate, Direction, Duration, Ecn, Endpoint, EndpointIdentity, FiveTuple, FlowId, Metrics,
    Outputs, Packet, Payload, Port, Protocol, RandomStream, Role, Time, TransportObserver,
};
use quiclab_stacks::STACKS;
use quiclab_transport::EndpointRequest;
use quiclab_transport::options::{EndpointConfig, Workload};
use quiclab_transport::stack::build;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Treatment of a packet beside rate, queue and delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    pub lost: bool,
    pub extra_delay: Duration,
    pub congestion_experienced: bool,
}

/// Returns the fate of the n-th packet of a direction, counted from 0.
pub type Hook = Box<dyn FnMut(Direction, usize, &Packet) -> Fate>;

/// Observes the server after an event.
pub type Watch = Box<dyn FnMut(Time, &mut dyn Endpoint)>;

/// A packet as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub time: Time,
    pub direction: Direction,
    pub lost: bool,
    pub ecn: Ecn,
    pub id: u64,
    pub size: ByteCount,
    pub bytes: Vec<u8>,
}

/// Parameters of a run.
pub struct Setup {
    pub server: EndpointConfig,
    pub client: EndpointConfig,
    pub workload: Workload,
    pub start: Time,
    pub seed: u64,
    /// Rate of both links; `None`: unlimited.
    pub rate: Option<DataRate>,
    /// Propagation delay of each link.
    pub delay: Duration,
    /// Maximum number of packets in a link, waiting and in service.
    pub queue_packets: usize,
    pub hook: Hook,
    pub server_observer: Option<Box<dyn TransportObserver>>,
    pub client_observer: Option<Box<dyn TransportObserver>>,
}

pub fn config(stack: &str) -> EndpointConfig {
    EndpointConfig { stack: Some(stack.to_owned()), ..EndpointConfig::default() }
}

pub fn download(bytes: u64) -> Workload {
    let size = Some(ByteCount::from_bytes(bytes));
    Workload::Download { size, duration: None, request: ByteCount::from_bytes(100) }
}

impl Setup {
    /// A download between two ends with the same stack over links of 10 ms without limits.
    pub fn new(stack: &str, bytes: u64) -> Self {
        Self {
            server: config(stack),
            client: config(stack),
            workload: download(bytes),
            start: Time::ZERO,
            seed: 1,
            rate: None,
            delay: Duration::from_millis(10),
            queue_packets: usize::MAX,
            hook: Box::new(|_, _, _| Fate::default()),
            server_observer: None,
            client_observer: None,
        }
    }

    /// Loses each packet with probability `loss`.
    pub fn random_loss(mut self, loss: f64, seed: u64) -> Self {
        let mut random = RandomStream::new(seed, "loss");
        self.hook = Box::new(move |_, _, _| Fate { lost: random.uniform() < loss, ..Fate::default() });
        self
    }

    /// Delays selected packets of the server by `extra_delay`.
    pub fn late(mut self, extra_delay: Duration, is: fn(usize) -> bool) -> Self {
        self.hook = Box::new(move |direction, index, _| match direction {
            Direction::Down if is(index) => Fate { extra_delay, ..Fate::default() },
            _ => Fate::default(),
        });
        self
    }

    /// Sets rate in Mbit/s and queue size in packets of the links.
    pub fn bottleneck(mut self, mbps: u64, packets: usize) -> Self {
        (self.rate, self.queue_packets) = (Some(DataRate::from_mbps(mbps)), packets);
        self
    }

    pub fn network(self) -> Network {
        let tuple = FiveTuple::new(
            Protocol::Udp,
            "192.0.2.1:443".parse().unwrap(),
            "192.0.2.2:50000".parse().unwrap(),
        );
        let build = |name: &str, role, tuple, config, observer| {
            let identity = EndpointIdentity { name: name.to_owned(), flow: FlowId(3), role, tuple, paths: 1 };
            let request = EndpointRequest::new(identity, config, &self.workload, self.start, self.seed);
            build(STACKS, EndpointRequest { observer, ..request }).unwrap()
        };
        let server = build("flow.sender", Role::Server, tuple, &self.server, self.server_observer);
        let client =
            build("flow.receiver", Role::Client, tuple.reverse(), &self.client, self.client_observer);
        Network {
            server,
            client,
            now: Time::ZERO,
            rate: self.rate,
            delay: self.delay,
            queue_packets: self.queue_packets,
            hook: self.hook,
            arrivals: BinaryHeap::new(),
            in_flight: BTreeMap::new(),
            departures: BTreeMap::new(),
            last: BTreeMap::new(),
            indices: [0; 2],
            sequence: 0,
            sent: Vec::new(),
            out: Outputs::default(),
            watch: Box::new(|_, _| ()),
        }
    }
}

pub struct Network {
    pub server: Box<dyn Endpoint>,
    pub client: Box<dyn Endpoint>,
    pub now: Time,
    pub sent: Vec<Sent>,
    /// Called with time and server after each event.
    pub watch: Watch,
    rate: Option<DataRate>,
    delay: Duration,
    queue_packets: usize,
    hook: Hook,
    arrivals: BinaryHeap<Reverse<(Time, u64)>>,
    in_flight: BTreeMap<u64, Box<Packet>>,
    /// Departure times of the packets of each link, by whether it is the uplink.
    departures: BTreeMap<bool, Vec<Time>>,
    /// Departure time of the last packet of each link: no two leave at the same instant, as packets that
    /// arrive together are read together.
    last: BTreeMap<bool, Time>,
    /// Next packet index of each direction.
    indices: [usize; 2],
    sequence: u64,
    out: Outputs,
}

/// Maximum number of events, more than any of these tests needs: a stack that requests the same instant
/// indefinitely fails here.
const MAX_EVENTS: usize = 3_000_000;

impl Network {
    /// Runs until `done` or until no event is left.
    pub fn run_until(&mut self, mut done: impl FnMut(&Self) -> bool) {
        for _ in 0..MAX_EVENTS {
            if done(self) || !self.step() {
                return;
            }
        }
        panic!("no end after {MAX_EVENTS} events at {}", self.now);
    }

    /// Runs until the client has finished or failed.
    pub fn run(&mut self) {
        self.run_until(|network| {
            let progress = network.client.progress();
            progress.finished.is_some() || progress.failed
        });
    }

    /// Runs until no timer is set and nothing is in flight.
    pub fn drain(&mut self) {
        self.run_until(|_| false);
    }

    fn step(&mut self) -> bool {
        let arrival = self.arrivals.peek().map(|Reverse((time, _))| *time);
        let wakes = [self.server.next_wake(), self.client.next_wake()];
        let Some(next) = wakes.into_iter().chain([arrival]).flatten().min() else { return false };
        assert!(next >= self.now, "a deadline in the past: {next} at {}", self.now);
        self.now = next;
        let down;
        if arrival == Some(next) {
            let Reverse((_, sequence)) = self.arrivals.pop().unwrap();
            let packet = self.in_flight.remove(&sequence).unwrap();
            down = packet.direction == Direction::Up;
            let end = if down { &mut self.server } else { &mut self.client };
            end.receive(next, Port(0), packet, &mut self.out);
        } else {
            down = wakes[0] == Some(next);
            let end = if down { &mut self.server } else { &mut self.client };
            end.wake(next, &mut self.out);
        }
        for end in [&self.server, &self.client] {
            assert_eq!(end.counters().balance(), (0, 0));
        }
        (self.watch)(next, &mut *self.server);
        let direction = if down { Direction::Down } else { Direction::Up };
        for (port, packet) in std::mem::take(&mut self.out.packets) {
            assert_eq!((port, packet.direction), (Port(0), direction));
            self.transmit(packet);
        }
        true
    }

    fn transmit(&mut self, mut packet: Box<Packet>) {
        let counter = &mut self.indices[usize::from(packet.direction == Direction::Up)];
        let index = *counter;
        *counter += 1;
        let Payload::Bytes(bytes) = &packet.payload else { panic!("a packet without bytes") };
        assert_eq!(packet.size.bytes(), bytes.len() as u64 + 28);
        assert_eq!((packet.flow, packet.created), (FlowId(3), self.now));
        let fate = (self.hook)(packet.direction, index, &packet);
        let departures = self.departures.entry(packet.direction == Direction::Up).or_default();
        departures.retain(|departure| *departure > self.now);
        let lost = fate.lost || (self.rate.is_some() && departures.len() >= self.queue_packets);
        self.sent.push(Sent {
            time: self.now,
            direction: packet.direction,
            lost,
            ecn: packet.ecn,
            id: packet.id,
            size: packet.size,
            bytes: bytes.to_vec(),
        });
        if lost {
            return;
        }
        let mut departure = self.now;
        if let Some(rate) = self.rate {
            departure = departures.last().copied().unwrap_or(self.now) + rate.time_for(packet.size);
            departures.push(departure);
        }
        let after =
            self.last.get(&(packet.direction == Direction::Up)).map(|last| *last + Duration::from_nanos(1));
        departure = departure.max(after.unwrap_or(Time::ZERO));
        self.last.insert(packet.direction == Direction::Up, departure);
        if fate.congestion_experienced {
            packet.ecn = Ecn::Ce;
        }
        self.arrivals.push(Reverse((departure + self.delay + fate.extra_delay, self.sequence)));
        self.in_flight.insert(self.sequence, packet);
        self.sequence += 1;
    }

    /// Asserts that the client has received all bytes, although packets were lost and the server has detected
    /// it.
    pub fn assert_complete_despite_losses(&mut self, bytes: u64, case: &str) {
        let progress = self.client.progress();
        assert_eq!(progress.delivered_bytes, bytes, "{case}: {:?}", self.client.failure());
        assert!(progress.finished.is_some(), "{case}");
        assert!(self.server_statistic("lost_packets") > 0.0, "{case}");
        assert!(self.server_statistic("congestion_events") > 0.0, "{case}");
    }

    pub fn sent(&self, direction: Direction) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(move |sent| sent.direction == direction)
    }

    /// A value of the server's statistics.
    pub fn server_statistic(&mut self, name: &str) -> f64 {
        statistic(&mut *self.server, self.now, name)
    }
}

/// A value of an endpoint's statistics.
pub fn statistic(end: &mut dyn Endpoint, now: Time, name: &str) -> f64 {
    let mut metrics = Metrics::default();
    end.statistics(now, &mut metrics);
    metrics.get(name).unwrap_or_else(|| panic!("no {name}"))
}
