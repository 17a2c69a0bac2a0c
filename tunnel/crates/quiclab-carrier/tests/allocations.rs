//! Allocations of a tunnel for the packets that it carries: none for the bytes of each.
#![allow(unsafe_code, reason = "an allocator that counts has to be one")]

use quiclab_carrier::{
    PathConfig, Randomness, SecretKey, SessionCarrier, SessionId, TunnelEndpoint, TunnelEndpointConfig,
};
use quiclab_core::queue::QueueConfig;
use quiclab_core::scheduler::{PathSchedulerKind, PathState};
use quiclab_core::tunnel::{Carrier, Emitted, Pipeline, Tunnel, TunnelConfig, TunnelEcn, TunnelPayload};
use quiclab_core::{ByteCount, Duration, Metrics, Packet, PacketMemory, Payload, RandomStream, Role, Time};
use quiclab_transport::options::CongestionControl;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts allocations.
struct Counting;

static ALL: AtomicUsize = AtomicUsize::new(0);
static LARGE: AtomicUsize = AtomicUsize::new(0);
/// Size from which on an allocation may be for the bytes of a packet.
const LARGE_BYTES: usize = 1024;

// SAFETY: passes every call unchanged to the system's allocator
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALL.fetch_add(1, Ordering::Relaxed);
        LARGE.fetch_add(usize::from(layout.size() >= LARGE_BYTES), Ordering::Relaxed);
        // SAFETY: as for the caller
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as for the caller
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Packets in a millisecond, of 1400 bytes: 448 Mbit/s.
const RATE: usize = 40;
/// Milliseconds until all reused memory is allocated, and those that count.
const WARM_UP: u64 = 500;
const MEASURED: u64 = 1000;

struct End {
    endpoint: TunnelEndpoint,
    tunnel: Tunnel,
    emitted: Emitted,
    /// Memory of received packets, as in the program.
    memory: PacketMemory,
    delivered: usize,
}

impl End {
    fn new(role: Role, numbered: bool) -> Self {
        let key = |role| SecretKey::from_bytes([if role == Role::Client { 1 } else { 2 }; 32]);
        let other = if role == Role::Client { Role::Server } else { Role::Client };
        let peers = [key(other).public()].into_iter().collect();
        let window = Some(ByteCount::from_bytes(1 << 20));
        let path =
            PathConfig { congestion_control: CongestionControl::Fixed, window, ..PathConfig::default() };
        let config = TunnelEndpointConfig {
            paths: vec![path],
            segments: 16,
            ..TunnelEndpointConfig::new(role, key(role), peers, Randomness::Seeded(1))
        };
        let tunnel = TunnelConfig {
            queue: QueueConfig::default(),
            scheduler: PathSchedulerKind::RoundRobin,
            pipeline: Pipeline::Direct,
            mtu: ByteCount::from_bytes(1400),
            resequencing: numbered.then_some(Duration::from_millis(50)),
            repair: numbered,
            batch: 16,
            ecn: TunnelEcn::Separate,
            keep_sojourns: 0,
        };
        Self {
            endpoint: TunnelEndpoint::new(config).unwrap(),
            tunnel: Tunnel::of_bytes(tunnel, RandomStream::new(1, "tunnel")),
            emitted: Emitted::default(),
            memory: PacketMemory::default(),
            delivered: 0,
        }
    }

    /// One turn of the program: `packets` of the machine enter, datagrams of the peer have arrived.
    fn turn(&mut self, now: Time, packets: usize, arrived: &mut Vec<Packet>, sent: &mut Vec<Packet>) {
        for packet in arrived.drain(..) {
            let Payload::Bytes(bytes) = &packet.payload else { panic!("a packet without bytes") };
            let payload = Payload::Bytes(self.memory.copy(bytes));
            self.endpoint.receive(now, Packet { payload, ..packet });
        }
        if self.endpoint.next_wake().is_some_and(|wake| wake <= now) {
            self.endpoint.wake(now);
        }
        while self.endpoint.poll_event().is_some() {}
        let session = self.endpoint.sessions().last().copied().unwrap_or(SessionId(0));
        if let Some(carrier) = self.endpoint.carrier(session) {
            let mut carrier = Batches(carrier);
            for _ in 0..packets {
                let mut bytes = [0; 1400];
                bytes[0] = 0x45;
                let payload = Payload::Ip(self.memory.copy(&bytes));
                let packet = Packet { size: ByteCount::from_bytes(1400), payload, ..Packet::default() };
                self.tunnel.enqueue(now, Box::new(packet), &mut self.emitted);
            }
            self.tunnel.run(now, &mut carrier, &mut self.emitted);
            self.delivered += self.emitted.inner.len();
            self.emitted.inner.clear();
            assert!(
                self.emitted.dropped.is_empty(),
                "the window is larger than what is sent in a round trip"
            );
        }
        while let Some(outgoing) = self.endpoint.transmit(now) {
            let Payload::Bytes(bytes) = &outgoing.packet.payload else { panic!("a packet without bytes") };
            let size = outgoing.segment.map_or(bytes.len(), usize::from);
            let tuple = outgoing.packet.tuple;
            sent.extend(bytes.chunks(size).map(|datagram| {
                Packet::of_datagram(now, tuple, outgoing.packet.ecn, self.memory.copy(datagram))
            }));
        }
    }
}

/// The carrier of a session, whose datagrams the endpoint returns in batches.
struct Batches<'a>(SessionCarrier<'a>);

impl Carrier for Batches<'_> {
    fn paths(&self) -> usize {
        self.0.paths()
    }
    fn state(&self, now: Time, path: usize) -> PathState {
        self.0.state(now, path)
    }
    fn largest_datagram(&self, path: usize) -> Option<u16> {
        self.0.largest_datagram(path)
    }
    fn send(&mut self, now: Time, path: usize, cargo: TunnelPayload) -> Result<(), TunnelPayload> {
        self.0.send(now, path, cargo)
    }
    fn set_backlogged(&mut self, backlogged: bool) {
        self.0.set_backlogged(backlogged);
    }
    fn receive(&mut self, now: Time, path: usize, packet: Box<Packet>) {
        self.0.receive(now, path, packet);
    }
    fn delivered(&mut self) -> Option<(usize, TunnelPayload)> {
        self.0.delivered()
    }
    fn transmit(&mut self, _now: Time) -> Option<(usize, Box<Packet>)> {
        None
    }
    fn wake(&mut self, now: Time) {
        self.0.wake(now);
    }
    fn next_wake(&self) -> Option<Time> {
        self.0.next_wake()
    }
    fn failure(&self) -> Option<&str> {
        self.0.failure()
    }
    fn statistics(&self, out: &mut Metrics) {
        self.0.statistics(out);
    }
}

#[test]
fn no_packet_has_an_allocation_of_its_bytes() {
    for numbered in [false, true] {
        let [mut client, mut server] = [Role::Client, Role::Server].map(|role| End::new(role, numbered));
        let (local, remote) = (([10, 3, 0, 1], 4433).into(), ([10, 4, 0, 1], 4433).into());
        client.endpoint.connect(Time::ZERO, &[(local, remote)]).unwrap();
        let [mut to_client, mut to_server, mut from_client, mut from_server] = [const { Vec::new() }; 4];
        let mut before = [0; 3];
        for millis in 0..WARM_UP + MEASURED {
            let now = Time::ZERO + Duration::from_millis(millis);
            // a download: datagrams arrive in the next millisecond
            let is_open = client.endpoint.sessions().iter().any(|id| client.endpoint.peer(*id).is_some());
            let packets = if is_open { RATE } else { 0 };
            client.turn(now, 0, &mut to_client, &mut from_client);
            server.turn(now, packets, &mut to_server, &mut from_server);
            to_client.append(&mut from_server);
            to_server.append(&mut from_client);
            let counts = [&LARGE, &ALL].map(|count| count.load(Ordering::Relaxed));
            if millis + 1 == WARM_UP {
                before = [counts[0], counts[1], client.delivered];
            }
        }
        let packets = client.delivered - before[2];
        assert!(packets >= RATE * (MEASURED as usize - 20), "{packets} packets");
        let [large, all] = [(&LARGE, before[0]), (&ALL, before[1])]
            .map(|(count, before)| (count.load(Ordering::Relaxed) - before) as f64 / packets as f64);
        println!(
            "numbered {numbered}: {packets} packets, {large:.3} large allocations each, {all:.2} in all"
        );
        // a list that grows, a block more
        assert!(large < 0.01, "numbered {numbered}: {large:.3} large allocations for each packet");
    }
}
