//! CAKE by hand, and the properties that its sources state.

use super::*;
use crate::ip::{Ecn, FiveTuple, Protocol};
use crate::queue::{Discipline, QueueConfig};
use crate::time::Time;
use std::net::SocketAddr;

/// An item from one host to another, with the port of its flow.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: u8,
    to: u8,
    port: u16,
    bytes: u64,
}

impl Item for Piece {
    fn bytes(&self) -> ByteCount {
        ByteCount::from_bytes(self.bytes)
    }
    fn key(&self) -> FlowKey {
        let address = |net, host, port| SocketAddr::from(([10, 0, net, host], port));
        FiveTuple::new(Protocol::Tcp, address(1, self.from, 443), address(2, self.to, self.port)).into()
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark(&mut self) -> bool {
        false
    }
}

const RATE: DataRate = DataRate::from_mbps(100);

/// Handles the arrival of a packet at a link of `RATE`.
fn arrive(queue: &mut Discipline<Piece>, now: Time, piece: Piece) {
    queue.enqueue_at(now, piece, QueueIndex(0), None, || RATE, &mut |_, _| {});
}

/// Bytes that each of `flows` gets of 20 000 packets if all flows are always backlogged. No packet waits long enough
/// for COBALT: only the order of service matters.
fn shares(cake: Cake, flows: &[Piece]) -> Vec<u64> {
    let mut queue = Discipline::new(&QueueConfig::Cake(cake), RandomStream::new(3, "cake"));
    let mut served = vec![0; flows.len()];
    let now = Time::from_nanos(1_000_000_000);
    for piece in flows {
        (0..4).for_each(|_| arrive(&mut queue, now, *piece));
    }
    for _ in 0..20_000 {
        let item = queue.dequeue(now, &mut |_, _| unreachable!("nothing has waited")).expect("all are busy");
        let place =
            flows.iter().position(|flow| (flow.from, flow.to, flow.port) == (item.from, item.to, item.port));
        served[place.unwrap()] += item.bytes;
        arrive(&mut queue, now, item);
    }
    served
}

fn is_about(found: u64, expected: f64) -> bool {
    (found as f64 / expected - 1.0).abs() < 0.02
}

fn flow(from: u8, to: u8, port: u16) -> Piece {
    Piece { from, to, port, bytes: 1500 }
}

/// Host `h` has 8 flows, host 9 has one: FQ-CoDel and CAKE without isolation give it 1/9, CAKE a half. The same holds
/// for sending hosts.
#[test]
fn hosts_share_the_link_whatever_the_number_of_their_flows() {
    let to: Vec<Piece> = (0..8).map(|port| flow(port as u8, 1, port)).chain([flow(8, 9, 8)]).collect();
    let from: Vec<Piece> = (0..8).map(|port| flow(1, port as u8, port)).chain([flow(9, 8, 8)]).collect();
    for flows in [to, from] {
        let served = shares(Cake::default(), &flows);
        let all: u64 = served.iter().sum();
        assert!(is_about(served[8], all as f64 / 2.0), "{served:?}");
        assert!(served[..8].iter().all(|flow| is_about(*flow, all as f64 / 16.0)), "{served:?}");
        let served = shares(Cake { host_isolation: false, ..Cake::default() }, &flows);
        assert!(served.iter().all(|flow| is_about(*flow, all as f64 / 9.0)), "{served:?}");
    }
}

/// "Triple isolation": the host with more busy flows counts, on either side.
#[test]
fn the_side_with_more_flows_counts() {
    // one server sends to four clients, another server to the fifth: 4 flows share the amount of the other one
    let flows: Vec<Piece> = (0..4).map(|client| flow(1, client, 1)).chain([flow(2, 5, 1)]).collect();
    let served = shares(Cake::default(), &flows);
    let all: u64 = served.iter().sum();
    assert!(is_about(served[4], all as f64 / 2.0), "{served:?}");
}

/// 1024 queues in sets of eight: 128 flows have one each except for sets with more than eight flows. A plain hash of
/// 128 flows to 1024 queues has 128 - 1024 (1 - (1 - 1/1024)^128) = 7.7 collisions; in a set of 8 ways, Poisson with
/// mean 1, more than 8 flows occur with a probability of 1e-6.
#[test]
fn flows_do_not_share_queues() {
    let mut queue = Discipline::new(&QueueConfig::Cake(Cake::default()), RandomStream::new(5, "cake"));
    let now = Time::from_nanos(1);
    for port in 0..128 {
        arrive(&mut queue, now, flow(1, 1, port));
    }
    assert_eq!(queue.active_flows(), 128);
    let mut out = Metrics::default();
    queue.statistics(&mut out);
    assert_eq!(out.get("queue_collisions"), Some(0.0));
    // 8192 flows share 1024
    for port in 128..8192 {
        arrive(&mut queue, now, flow(1, 1, port));
    }
    assert_eq!(queue.active_flows(), 1024);
}

#[test]
fn a_sparse_flow_does_not_wait_for_the_others() {
    let mut queue = Discipline::new(&QueueConfig::Cake(Cake::default()), RandomStream::new(3, "cake"));
    let now = Time::from_nanos(1_000_000);
    for port in 0..10 {
        (0..20).for_each(|_| arrive(&mut queue, now, flow(1, 1, port)));
    }
    for _ in 0..30 {
        queue.dequeue(now, &mut |_, _| unreachable!("nothing has waited")).unwrap();
    }
    arrive(&mut queue, now, Piece { bytes: 100, ..flow(2, 2, 99) });
    let next = queue.dequeue(now, &mut |_, _| unreachable!("nothing has waited")).unwrap();
    assert_eq!(next.port, 99);
}

/// The longest queue loses its head, and only as much as exceeds the limit.
#[test]
fn a_limit_drops_heads_of_the_longest_queue() {
    let cake = Cake { memory: ByteCount::from_bytes(15_000), ..Cake::default() };
    let mut queue = Discipline::new(&QueueConfig::Cake(cake), RandomStream::new(3, "cake"));
    let now = Time::from_nanos(1);
    let mut dropped = Vec::new();
    for (port, count) in [(1, 4), (2, 9)] {
        for _ in 0..count {
            queue
                .enqueue(now, flow(1, 1, port), &mut |item: Piece, reason| dropped.push((item.port, reason)));
        }
    }
    assert_eq!(dropped, [(2, DropReason::QueueFull); 3]);
    assert_eq!(queue.waiting().bytes.bytes(), 15_000);
}

/// Quanta and times follow the rate: 1/4096 s of it, from 300 to 1514 bytes, and 1.5 frames of target.
#[test]
fn a_slow_link_has_small_quanta_and_a_long_target() {
    let mut cake = CakeQueue::<Piece>::new(&Cake::default(), RandomStream::new(1, "cake"));
    let mut at = |mbps: u64| {
        cake.follow(DataRate::from_mbps(mbps));
        (cake.quantum, cake.times.target.as_nanos() / 1000)
    };
    assert_eq!(at(100), (1514, 5000));
    assert_eq!(at(20), (610, 5000));
    // 1514 B take 12.112 ms
    assert_eq!(at(1), (300, 18_168));
}
