//! The QUIC endpoint of the VPN with unknown peers: random datagrams, and corrupted, replayed, reordered ones.

use super::mutate;
use bolero::{TypeGenerator, produce};
use bytes::{Bytes, BytesMut};
use quiclab_carrier::{Randomness, SecretKey, TunnelEndpoint, TunnelEndpointConfig, TunnelEvent};
use quiclab_core::tunnel::{Carrier, CarrierKind, TunnelPayload};
use quiclab_core::{ByteCount, Duration, FiveTuple, Packet, Payload, Protocol, Role, Time};
use quiclab_fuzz::target;
use std::collections::BTreeSet;
use std::net::SocketAddr;

const HALF_OPEN: usize = 4;
const RTT: Duration = Duration::from_millis(10);

/// Event at the next datagram of the client, or in addition to it.
#[derive(Clone, Debug, TypeGenerator)]
enum Event {
    Pass,
    PassAll,
    Drop,
    Twice,
    /// It arrives modified, and the original is lost.
    Spoilt([(u16, u8, u8); 2]),
    /// An earlier one is replayed, from this port of another host or from the client.
    Replayed(u8, Option<u8>),
    /// Long and short headers of QUIC, and arbitrary bytes.
    Random(u8, u8, Vec<u8>),
    /// A first datagram of another connection: RFC 9000 section 17.2.2, as long as section 14.1 requires.
    Initial(u8, [u8; 8], Vec<u8>),
    Wait(u8),
}

struct Lab {
    client: TunnelEndpoint,
    server: TunnelEndpoint,
    now: Time,
    /// Datagrams of the client in transit to the server, and all that were sent.
    under_way: Vec<Packet>,
    seen: Vec<Packet>,
    sent: u64,
    arrived: BTreeSet<u64>,
    open: bool,
}

fn address(last: u8, port: u16) -> SocketAddr {
    ([10, 0, 0, last], port).into()
}

fn stranger(port: u8, bytes: &[u8]) -> Packet {
    packet(FiveTuple::new(Protocol::Udp, address(9, 1000 + u16::from(port)), address(2, 4433)), bytes)
}

fn packet(tuple: FiveTuple, bytes: &[u8]) -> Packet {
    let size = ByteCount::from_bytes(bytes.len() as u64 + 28);
    Packet { tuple, size, payload: Payload::Bytes(BytesMut::from(bytes)), ..Packet::default() }
}

fn data(packet: &Packet) -> &[u8] {
    match &packet.payload {
        Payload::Bytes(bytes) => bytes,
        other => panic!("a hub sends bytes: {other:?}"),
    }
}

impl Lab {
    fn new(kind: CarrierKind) -> Self {
        let key = |number| SecretKey::from_bytes([number; 32]);
        let hub = |role, own, peer| {
            let peers = [SecretKey::from_bytes([peer; 32]).public()].into_iter().collect();
            let config = TunnelEndpointConfig::new(role, key(own), peers, Randomness::Seeded(u64::from(own)));
            TunnelEndpoint::new(TunnelEndpointConfig {
                kind,
                max_half_open: HALF_OPEN,
                max_sessions: 2,
                mtu_discovery: true,
                ..config
            })
            .unwrap()
        };
        let mut lab = Self {
            client: hub(Role::Client, 1, 2),
            server: hub(Role::Server, 2, 1),
            now: Time::ZERO,
            under_way: Vec::new(),
            seen: Vec::new(),
            sent: 0,
            arrived: BTreeSet::new(),
            open: false,
        };
        lab.client.connect(Time::ZERO, &[(address(1, 5000), address(2, 4433))]).unwrap();
        lab.settle();
        lab
    }

    /// Processes everything that is due; the client receives the server's datagrams immediately.
    fn settle(&mut self) {
        let now = self.now;
        for _ in 0..100 {
            let mut idle = true;
            while let Some(outgoing) = self.server.transmit(now) {
                assert!(outgoing.packet.size.bytes() <= 1500);
                let to = outgoing.packet.tuple.destination();
                if to == address(1, 5000) {
                    let tuple = FiveTuple::new(Protocol::Udp, address(2, 4433), to);
                    self.client.receive(now, packet(tuple, data(&outgoing.packet)));
                    idle = false;
                }
            }
            while let Some(outgoing) = self.client.transmit(now) {
                let tuple = FiveTuple::new(Protocol::Udp, address(1, 5000), address(2, 4433));
                self.under_way.push(packet(tuple, data(&outgoing.packet)));
            }
            if idle {
                break;
            }
        }
        while let Some(event) = self.client.poll_event() {
            self.open |= matches!(event, TunnelEvent::SessionOpened { .. });
            self.open &= !matches!(event, TunnelEvent::SessionClosed { .. });
        }
        while self.server.poll_event().is_some() {}
        for session in self.server.sessions() {
            let mut carrier = self.server.carrier(session).expect("it is there");
            while let Some((_, cargo)) = carrier.delivered() {
                let TunnelPayload::Bytes(bytes) = cargo else { panic!("the client sends bytes: {cargo:?}") };
                let number = u64::from_be_bytes(bytes[..].try_into().expect("the client sends numbers"));
                assert!(number < self.sent, "it was not sent");
                assert!(self.arrived.insert(number), "number {number} comes twice");
            }
        }
        assert!(self.server.connections() <= HALF_OPEN + 2 * 2, "{} connections", self.server.connections());
        assert!(self.server.sessions().len() <= 2);
    }

    /// Sends a number from the client if possible.
    fn say(&mut self) {
        for session in self.client.sessions() {
            let cargo = TunnelPayload::Bytes(Bytes::copy_from_slice(&self.sent.to_be_bytes()));
            let mut carrier = self.client.carrier(session).expect("it is there");
            self.sent += u64::from(carrier.send(self.now, 0, cargo).is_ok());
        }
    }

    fn arrive(&mut self, packet: Packet) {
        self.seen.push(packet.clone());
        self.server.receive(self.now, packet);
    }

    fn next(&mut self) -> Option<Packet> {
        (!self.under_way.is_empty()).then(|| self.under_way.remove(0))
    }

    fn wait(&mut self, time: Duration) {
        self.now += time;
        self.client.wake(self.now);
        self.server.wake(self.now);
    }

    fn happen(&mut self, event: &Event) {
        self.say();
        match event {
            Event::Pass => self.next().into_iter().for_each(|packet| self.arrive(packet)),
            Event::PassAll => {
                std::mem::take(&mut self.under_way).into_iter().for_each(|packet| self.arrive(packet))
            }
            Event::Drop => drop(self.next()),
            Event::Twice => {
                for packet in self.next().iter().flat_map(|packet| [packet; 2]) {
                    self.arrive(packet.clone());
                }
            }
            Event::Spoilt(changes) => {
                if let Some(found) = self.next() {
                    let spoilt = mutate(data(&found).to_vec(), changes);
                    self.arrive(packet(found.tuple, &spoilt));
                }
            }
            Event::Replayed(which, from) => {
                if !self.seen.is_empty() {
                    let old = self.seen[usize::from(*which) % self.seen.len()].clone();
                    let again = from.map_or(old.clone(), |port| stranger(port, data(&old)));
                    self.server.receive(self.now, again);
                }
            }
            Event::Random(port, first, rest) => {
                let bytes = [&[*first][..], rest].concat();
                self.server.receive(self.now, stranger(*port, &bytes));
            }
            Event::Initial(port, id, rest) => {
                let mut bytes = [&[0xc3, 0, 0, 0, 1, 8][..], id, &[0, 0, 0x44, 0x96], rest].concat();
                bytes.resize(1200, 0);
                self.server.receive(self.now, stranger(*port, &bytes));
            }
            Event::Wait(millis) => self.wait(Duration::from_millis(u64::from(*millis) * 8)),
        }
        self.settle();
    }
}

fn live_through(kind: CarrierKind, events: &[Event]) {
    let mut lab = Lab::new(kind);
    for event in events {
        lab.happen(event);
    }
    // service continues: without disturbance, the session opens and carries data
    let (mut before, start) = (None, lab.now);
    loop {
        lab.happen(&Event::PassAll);
        if lab.open && before.is_none() {
            before = Some(lab.arrived.len());
        }
        if before.is_some_and(|before| lab.arrived.len() > before) {
            return;
        }
        assert!(lab.now.since(start) < Duration::from_secs(60), "nothing arrives any more");
        lab.wait(RTT);
    }
}

#[test]
fn strangers_at_a_server_of_connections() {
    target(60, produce::<Vec<Event>>(), |events| live_through(CarrierKind::Connections, events));
}

#[test]
fn strangers_at_a_server_of_multipath() {
    target(60, produce::<Vec<Event>>(), |events| live_through(CarrierKind::Multipath, events));
}
