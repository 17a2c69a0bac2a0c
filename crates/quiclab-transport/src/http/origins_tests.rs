//! Pages from several servers over a network without loss, 10 ms one way and with an unlimited rate.
//!
//! The HTML (think time 5 ms) is the prerequisite of resource 1 on another server, 3 ms after it is complete,
//! and of resource 2; both are prerequisites of resource 3. Think time of resources: 2 ms. On connections
//! that take one round trip to open:
//!
//! | | connecting | connected | wanted | requested | complete |
//! | --- | --- | --- | --- | --- | --- |
//! | HTML | 0 | 20 | 0 | 20 | 20 + 20 + 5 = 45 |
//! | 1 | 48 | 68 | 45 + 3 = 48 | 68 | 68 + 20 + 2 = 90 |
//! | 2 | 0 | 20 | 45 | 45 | 45 + 22 = 67 |
//! | 3 | 0 | 20 | max(90, 67) = 90 | 90 | 112 |

use super::*;
use crate::options::{
    EarlyData, EndpointConfig, ObjectKind, PageResource, Priorities, QuicOptions, QuicVersion, Tls,
    TlsVersion,
};
use crate::stack::build;
use crate::testing::ms;
use crate::{EndpointRequest, STACKS};
use quiclab_core::{ByteCount, Duration, FlowId, Protocol};
use std::collections::BTreeMap;

fn resource(after: &[u32], origin: u32) -> PageResource {
    PageResource {
        size: ByteCount::from_bytes(300),
        kind: ObjectKind::Image,
        after: after.to_vec(),
        delay: Duration::ZERO,
        origin,
        think_time: None,
        request: None,
        response: None,
    }
}

fn page(resources: Vec<PageResource>) -> Workload {
    let mut workload = super::super::testing::page(&[], Priorities::Browser);
    if let Workload::Page { resources: field, .. } = &mut workload {
        *field = resources;
    }
    workload
}

fn two_servers() -> Workload {
    let later = PageResource { delay: Duration::from_millis(3), ..resource(&[0], 1) };
    page(vec![later, resource(&[0], 0), resource(&[1, 2], 0)])
}

fn config(stack: &str) -> EndpointConfig {
    EndpointConfig { stack: Some(stack.to_owned()), ..EndpointConfig::default() }
}

/// Both ends, and packets in transit by arrival and order of sending.
struct Net {
    ends: [Box<dyn Endpoint>; 2],
    packets: BTreeMap<(Time, u64), (usize, Box<Packet>)>,
    sent: Vec<Box<Packet>>,
}

const CLIENT: usize = 0;

impl Net {
    fn new(config: &EndpointConfig, workload: &Workload) -> Self {
        let protocol = if config.stack.as_deref() == Some("lab-tcp") { Protocol::Tcp } else { Protocol::Udp };
        let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let tuple = FiveTuple::new(protocol, address("10.1.0.0:443"), address("10.2.0.0:50000"));
        let end = |role, name: &str, tuple| {
            let identity = EndpointIdentity { name: name.to_owned(), flow: FlowId(0), role, tuple, paths: 1 };
            build(STACKS, EndpointRequest::new(identity, config, workload, Time::ZERO, 1))
                .expect("a good endpoint")
        };
        let ends = [end(Role::Client, "f.receiver", tuple.reverse()), end(Role::Server, "f.sender", tuple)];
        Self { ends, packets: BTreeMap::new(), sent: Vec::new() }
    }

    fn act(&mut self, now: Time, end: usize, act: impl FnOnce(&mut dyn Endpoint, &mut Outputs)) {
        let mut out = Outputs::default();
        act(self.ends[end].as_mut(), &mut out);
        for (_, packet) in out.packets {
            self.sent.push(packet.clone());
            let place = (now + Duration::from_millis(10), self.sent.len() as u64);
            self.packets.insert(place, (1 - end, packet));
        }
    }

    /// Runs until no event is left.
    fn run(mut self) -> Self {
        for _ in 0..10_000 {
            let arrival = self.packets.first_key_value().map(|(place, _)| place.0);
            let timer = |end: usize| self.ends[end].next_wake();
            let Some(now) = [arrival, timer(0), timer(1)].into_iter().flatten().min() else { return self };
            if arrival == Some(now) {
                let (_, (end, packet)) = self.packets.pop_first().expect("there is one");
                self.act(now, end, |endpoint, out| endpoint.receive(now, Port(0), packet, out));
            } else {
                let end = usize::from(timer(0) != Some(now));
                self.act(now, end, |endpoint, out| endpoint.wake(now, out));
            }
        }
        panic!("it does not come to an end");
    }

    fn requests(&self) -> Vec<RequestTimes> {
        self.ends[CLIENT].page_client().expect("the client of a page").requests()
    }

    fn metric(&mut self, name: &str) -> Option<f64> {
        let mut out = Metrics::default();
        self.ends[CLIENT].statistics(ms(0), &mut out);
        out.get(name)
    }
}

/// Times of a request in ms: connecting, connected, wanted, requested, first byte, complete.
fn times(request: &RequestTimes) -> [Option<u64>; 6] {
    let RequestTimes { connecting, connected, wanted, asked, first_byte, complete, .. } = *request;
    [connecting, connected, wanted, asked, first_byte, complete]
        .map(|time| time.map(|time| time.as_nanos() / 1_000_000))
}

fn all(net: &Net) -> Vec<[Option<u64>; 6]> {
    net.requests().iter().map(times).collect()
}

const BY_HAND: [[u64; 6]; 4] =
    [[0, 20, 0, 20, 45, 45], [48, 68, 48, 68, 90, 90], [0, 20, 45, 45, 67, 67], [0, 20, 90, 90, 112, 112]];

#[test]
fn a_page_of_two_servers_by_hand() {
    let gquic = EndpointConfig { profile: Some("chromium-gquic37".to_owned()), ..config("lab-quic") };
    let one_round_trip = |config: EndpointConfig| {
        let version = if config.profile.is_some() { QuicVersion::Gquic37 } else { QuicVersion::V1 };
        let quic = QuicOptions { version: Some(version), ..QuicOptions::default() };
        EndpointConfig { quic: Some(quic), tls: Some(tls(None)), ..config }
    };
    for config in [config("lab-tcp"), one_round_trip(config("lab-quic")), one_round_trip(gquic)] {
        let mut net = Net::new(&config, &two_servers()).run();
        assert_eq!(all(&net), BY_HAND.map(|times| times.map(Some)), "{:?}", config.profile);
        let progress = net.ends[CLIENT].progress();
        assert_eq!((progress.started, progress.finished), (Some(ms(0)), Some(ms(112))));
        assert_eq!(progress.delivered_bytes, 1000 + 3 * 300);
        assert_eq!(net.ends[1].failure(), None, "both servers are closed in order");
        assert_eq!(net.metric("page_load_ms"), Some(112.0));
        assert_eq!(net.metric("connections"), Some(2.0));
        assert_eq!(net.metric("objects"), Some(3.0));
    }
}

fn tls(early_data: Option<EarlyData>) -> Tls {
    Tls { version: TlsVersion::Tls13, resumption: true, certificate: ByteCount::from_bytes(3000), early_data }
}

/// With 0-RTT every connection saves its round trip: 45 - 20 for the HTML; the second connection is opened at 28, its
/// resource complete at 28 + 22; the last one 22 later.
#[test]
fn early_data_saves_a_round_trip_on_each_connection() {
    let config = EndpointConfig { tls: Some(tls(Some(EarlyData::Accepted))), ..config("lab-quic") };
    let net = Net::new(&config, &two_servers()).run();
    let complete: Vec<_> = all(&net).iter().map(|times| times[5]).collect();
    assert_eq!(complete, [Some(25), Some(50), Some(47), Some(72)]);
}

/// Packets of both connections are distinguished by the client's port and by their ids.
#[test]
fn connections_have_ports_and_ids_of_their_own() {
    let net = Net::new(&config("lab-quic"), &two_servers()).run();
    let mut ids: Vec<u64> = net.sent.iter().map(|packet| packet.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), net.sent.len());
    for packet in &net.sent {
        let second = (packet.id >> CONNECTION_SHIFT) & 0xff;
        let ports = [packet.tuple.source().port(), packet.tuple.destination().port()];
        assert!(ports.contains(&443) && ports.contains(&(50_000 + second as u16)), "{packet:?}");
    }
    assert!(net.sent.iter().any(|packet| packet.tuple.source().port() == 50_001));
}

/// Requests on one connection are sent in the order in which they become due, not in that of the list: the
/// server must respond to each with its resource. Sizes of 100 B and 9 kB; the larger one is wanted first.
#[test]
fn each_request_gets_what_it_asks_for() {
    let small = PageResource {
        size: ByteCount::from_bytes(100),
        delay: Duration::from_millis(7),
        think_time: Some(Duration::ZERO),
        ..resource(&[0], 0)
    };
    let large = PageResource {
        size: ByteCount::from_bytes(9000),
        request: Some(ByteCount::from_bytes(400)),
        ..resource(&[0], 0)
    };
    let workload = page(vec![small, large]);
    let gquic = EndpointConfig { profile: Some("chromium-gquic37".to_owned()), ..config("lab-quic") };
    for config in [config("lab-tcp"), config("lab-quic"), gquic] {
        let net = Net::new(&config, &workload).run();
        let requests = net.requests();
        let wait = |number: usize| {
            let RequestTimes { asked, first_byte, .. } = requests[number];
            first_byte.expect("answered").since(asked.expect("asked"))
        };
        assert_eq!(
            requests[1].asked.expect("asked").since(requests[2].asked.expect("asked")).as_ms_f64(),
            7.0
        );
        assert_eq!([wait(1), wait(2)], [20, 22].map(Duration::from_millis), "{:?}", config.profile);
        assert_eq!(net.ends[CLIENT].progress().delivered_bytes, 10_100);
    }
}
