//! Datagrams of unknown hosts: random, replayed, modified, and handshakes that are never completed.

use crate::KINDS;
use crate::network::*;
use crate::throughput::window;
use bytes::BytesMut;
use quiclab_carrier::{Randomness, TunnelEndpoint, TunnelEndpointConfig, TunnelEvent};
use quiclab_core::tunnel::CarrierKind;
use quiclab_core::{ByteCount, Duration, FiveTuple, Packet, Payload, Protocol, RandomStream, Role, Time};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

fn packet(from: &str, bytes: &[u8]) -> Packet {
    Packet {
        tuple: FiveTuple::new(Protocol::Udp, from.parse().unwrap(), server_address(0)),
        payload: Payload::Bytes(BytesMut::from(bytes)),
        ..Packet::default()
    }
}

#[test]
fn a_flood_of_random_and_replayed_datagrams_changes_nothing() {
    for kind in KINDS {
        let link = Link::mbps(20, 10, 50);
        let mut network = Setup::new(kind, window(62_500), &[link, link]).network();
        network.log = Some(Vec::new());
        network.establish();
        network.ends[SERVER].backlog = u64::MAX;
        network.ends[CLIENT].backlog = u64::MAX;
        network.run_until(at(1500));
        let recorded = network.log.take().unwrap();
        let mut random = RandomStream::new(1, "flood");
        let start = network.now;
        // 100 000 per second
        for step in 0..1000 {
            for _ in 0..100 {
                let mut bytes = match random.bits() % 4 {
                    0 => {
                        let mut bytes = vec![0; 1 + random.bits() as usize % 1400];
                        random.fill(&mut bytes);
                        bytes
                    }
                    _ => recorded[random.bits() as usize % recorded.len()].2.clone(),
                };
                if random.bits().is_multiple_of(3) {
                    let index = random.bits() as usize % bytes.len();
                    bytes[index] ^= 1 << (random.bits() % 8);
                }
                let from =
                    ["198.51.100.9:1000", "10.3.0.1:4433", "10.3.1.1:4433"][random.bits() as usize % 3];
                let now = network.now;
                network.ends[SERVER].endpoint.receive(now, packet(from, &bytes));
            }
            // answers to unknown hosts belong to no path: they are not forwarded
            let now = network.now;
            let mut answers = Vec::new();
            while let Some(outgoing) = network.ends[SERVER].endpoint.transmit(now) {
                answers.push(outgoing);
            }
            assert!(answers.len() < 400, "{}", answers.len());
            network.run_until(start + ms(step + 1));
            let connections = network.ends[SERVER].endpoint.connections();
            assert!(connections <= 2 + 64, "{kind:?}: {connections} connections");
        }
        let flooded = network.now;
        network.run_until(flooded + ms(6000));
        for who in [CLIENT, SERVER] {
            let rates = network.goodput(who, flooded + ms(2000), flooded + ms(6000));
            println!("{kind:?}, to {who}: {rates:.2?}");
            assert!(rates.iter().all(|rate| *rate > 15.0), "{kind:?}, to {who}: {rates:?}");
            let closed = |event: &TunnelEvent| matches!(event, TunnelEvent::SessionClosed { .. });
            assert!(!network.ends[who].events.iter().any(|(_, event)| closed(event)), "{kind:?}");
        }
        // the half-open connections are discarded
        network.run_until(flooded + ms(12_000));
        let kept = if kind == CarrierKind::Connections { 2 } else { 1 };
        assert_eq!(network.ends[SERVER].endpoint.connections(), kept, "{kind:?}");
        let refused = network.ends[SERVER]
            .events
            .iter()
            .filter(|(_, event)| matches!(event, TunnelEvent::Refused { .. }));
        assert!(refused.count() <= 10 * 13, "at most ten per second");
    }
}

/// A host with an unknown key, and its first packet.
struct Stranger {
    endpoint: TunnelEndpoint,
    first: Packet,
}

impl Stranger {
    fn new(number: u64, now: Time, from: SocketAddr) -> Self {
        let peers = [key(2).public()].into_iter().collect();
        // not the seed of a client, which would have the same connection IDs
        let randomness = Randomness::Seeded(1 << 32 | number);
        let config = TunnelEndpointConfig::new(Role::Client, key(9), peers, randomness);
        let mut endpoint = TunnelEndpoint::new(config).unwrap();
        endpoint.connect(now, &[(from, server_address(0))]).unwrap();
        let first = endpoint.transmit(now).unwrap().packet;
        Self { endpoint, first }
    }

    /// Processes an answer. After a Retry packet its next first packet has the token; it sends no others.
    fn receive(&mut self, now: Time, answer: Packet) {
        if is_retry(&answer) {
            self.endpoint.receive(now, answer);
            self.first = self.endpoint.transmit(now).map_or(self.first.clone(), |outgoing| outgoing.packet);
        }
    }
}

/// RFC 9000 section 17.2.5, with the fixed bit set.
fn is_retry(packet: &Packet) -> bool {
    matches!(&packet.payload, Payload::Bytes(bytes) if bytes[0] & 0xF0 == 0xF0)
}

#[test]
fn handshakes_that_are_never_completed_leave_few_connections() {
    let link = Link::mbps(20, 10, 50);
    let mut network = Setup::new(CarrierKind::Connections, window(62_500), &[link, link]).network();
    network.establish();
    let mut most = 0;
    let mut retries = 0;
    for number in 0..2000_u64 {
        let now = network.now;
        let from = format!("198.51.{}.{}:999", number / 250, number % 250).parse().unwrap();
        let first = Stranger::new(number, now, from).first;
        network.ends[SERVER].endpoint.receive(now, first);
        while let Some(outgoing) = network.ends[SERVER].endpoint.transmit(now) {
            retries += usize::from(is_retry(&outgoing.packet));
        }
        most = most.max(network.ends[SERVER].endpoint.connections());
    }
    println!("at most {most} connections, {retries} retries");
    assert!(most <= 2 + 17, "{most} connections"); // a quarter of 64 and one
    // each but those who got a connection
    assert!((2000 - 17..=2000).contains(&retries), "{retries}");
}

/// Handshakes that unknown hosts begin, evenly spaced.
struct Flood {
    /// Hosts of one prefix, which have their addresses: each repeats its first packet, and answers Retry packets.
    hosts: Vec<Stranger>,
    /// Initial packets of these per millisecond.
    rate: usize,
    /// First packets from forged addresses, each of another prefix, and their number per millisecond.
    forged: Rc<[Packet]>,
    forged_rate: usize,
    sent: (usize, usize),
    ignored: u64,
}

impl Flood {
    /// Link of the client.
    fn link() -> Link {
        Link::mbps(20, 10, 50)
    }

    fn new(rate: usize, forged: Rc<[Packet]>, forged_rate: usize) -> Self {
        // more than a prefix has connections, so that a discarded one is begun again
        let host =
            |number: u64| Stranger::new(number, Time::ZERO, ([198, 51, 100, 9], 1000 + number as u16).into());
        Self {
            hosts: (0..if rate > 0 { 120 } else { 0 }).map(host).collect(),
            rate,
            forged,
            forged_rate,
            sent: (0, 0),
            ignored: 0,
        }
    }

    /// Sends the packets of a millisecond to the server; answers arrive immediately.
    fn send(&mut self, now: Time, server: &mut TunnelEndpoint) {
        for _ in 0..self.rate {
            server.receive(now, self.hosts[self.sent.0 % self.hosts.len()].first.clone());
            self.sent.0 += 1;
        }
        for _ in 0..self.forged_rate {
            server.receive(now, self.forged[self.sent.1 % self.forged.len()].clone());
            self.sent.1 += 1;
        }
        while let Some(outgoing) = server.transmit(now) {
            let to = outgoing.packet.tuple.destination();
            let host = self.hosts.get_mut(usize::from(to.port()).wrapping_sub(1000));
            if let Some(host) = host.filter(|_| to.ip() == IpAddr::from([198, 51, 100, 9])) {
                host.receive(now, outgoing.packet);
            }
        }
        self.ignored = server.strangers().ignored;
    }

    /// Time until a client of another prefix, which begins to connect at `start`, has a session. The flood begins
    /// at 0.
    fn connect(&mut self, start: Time) -> Duration {
        let setup = || Setup::new(CarrierKind::Connections, window(62_500), &[Self::link()]);
        let mut server = TunnelEndpoint::new(setup().config(Role::Server)).unwrap();
        let mut now = Time::ZERO;
        while now < start {
            while let Some(wake) = server.next_wake().filter(|wake| *wake <= now) {
                server.wake(wake);
            }
            self.send(now, &mut server);
            now += ms(1);
        }
        let mut network = setup().network_at(start);
        network.ends[SERVER].endpoint = server;
        let opened = |end: &End| {
            let opened = |event: &TunnelEvent| matches!(event, TunnelEvent::SessionOpened { .. });
            end.events.iter().find(|(_, event)| opened(event)).map(|(time, _)| time.since(start))
        };
        for _ in 0..10_000 {
            if let Some(took) = opened(&network.ends[CLIENT]) {
                return took;
            }
            let now = network.now;
            self.send(now, &mut network.ends[SERVER].endpoint);
            network.run_until(now + ms(1));
        }
        panic!("no session in 10 s: {:?}", network.ends[CLIENT].events);
    }
}

#[test]
fn handshakes_that_are_never_completed_delay_others_by_one_round_trip() {
    // that of the Retry packet: no packet is lost, so that no client waits for its probe timeout (RFC 9002 section
    // 6.2.2)
    let link = Flood::link();
    let round_trip = (link.delay + link.rate.time_for(ByteCount::from_bytes(link.mtu.into()))) * 2;
    let forged = |number: u64| {
        let [_, _, high, low] = (number as u32).to_be_bytes();
        Stranger::new(1000 + number, Time::ZERO, ([203, high, low, 1], 999).into()).first
    };
    let forged: Rc<[Packet]> = (0..3000).map(forged).collect();
    let quiet = Flood::new(0, forged.clone(), 0).connect(at(0));
    // 1000 per second; 3000, of as many prefixes; both, for which the Retry packets suffice; more than that
    for (rate, forged_rate) in [(1, 0), (0, 3), (1, 3), (1, 9)] {
        // at the beginning, when all places are taken, when the first are closed, and when they are discarded
        for start in [0, 500, 3001, 6001] {
            let mut flood = Flood::new(rate, forged.clone(), forged_rate);
            let took = flood.connect(at(start));
            println!(
                "{rate} and {forged_rate} per ms, from {start} ms: {took} after {quiet}, {} ignored",
                flood.ignored
            );
            assert!(took <= quiet + round_trip, "{rate} and {forged_rate} per ms, from {start} ms: {took}");
            assert!(start == 0 || took > quiet, "from {start} ms: it must prove its address");
        }
    }
}

#[test]
fn a_handshake_without_a_loss_needs_no_more_than_the_client_has_sent() {
    for kind in KINDS {
        for mtu_discovery in [false, true] {
            let link = Link::mbps(20, 10, 50);
            let mut setup = Setup::new(kind, window(62_500), &[link, link]);
            setup.mtu_discovery = mtu_discovery;
            let mut network = setup.network();
            network.establish();
            let strangers = network.ends[SERVER].endpoint.strangers();
            assert_eq!(strangers, Default::default(), "{kind:?}, MTU discovery {mtu_discovery}");
        }
    }
}

/// A client that gives up before its first packet arrives: the first arrival closes the connection.
#[test]
fn a_connection_that_its_first_packet_closes_is_forgotten_at_once() {
    let network = Setup::new(CarrierKind::Connections, window(62_500), &[Link::mbps(20, 10, 50)]);
    let mut client = TunnelEndpoint::new(network.config(Role::Client)).unwrap();
    let mut server = TunnelEndpoint::new(network.config(Role::Server)).unwrap();
    let session = client.connect(at(0), &[(client_address(0), server_address(0))]).unwrap();
    while client.transmit(at(0)).is_some() {} // lost
    client.close(at(10), session);
    let mut sent = 0;
    while let Some(outgoing) = client.transmit(at(10)) {
        sent += 1;
        server.receive(at(20), outgoing.packet);
    }
    assert_eq!((sent, server.connections(), server.strangers().half_open), (1, 0, 0));
    assert!(server.next_wake().is_none_or(|wake| wake > at(20)));
}
