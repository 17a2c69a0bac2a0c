//! Order and path of frames, with a carrier whose windows and MTUs are given.

use super::super::{PacketStores, Pipeline, TunnelConfig, TunnelEcn, TunnelPayload};
use super::*;
use crate::ip::{FiveTuple, Protocol};
use crate::scheduler::PathSchedulerKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Window and maximum datagram of a path, and bytes in flight there.
struct Lane {
    window: u64,
    largest: u16,
    in_flight: u64,
}

/// A packet that left: the path, the length, whether it was congestion-controlled.
type Sent = (usize, u16, bool);

struct Lanes {
    lanes: Vec<Lane>,
    sent: Vec<Sent>,
}

impl Lanes {
    fn new<const N: usize>(lanes: [(u64, u16); N]) -> Self {
        let lane = |(window, largest)| Lane { window, largest, in_flight: 0 };
        Self { lanes: lanes.map(lane).into_iter().collect(), sent: Vec::new() }
    }

    fn acknowledge(&mut self, path: usize) {
        self.lanes[path].in_flight = 0;
    }
}

impl Carrier for Lanes {
    fn paths(&self) -> usize {
        self.lanes.len()
    }
    fn state(&self, _: Time, path: usize) -> PathState {
        let Lane { window, largest, in_flight } = self.lanes[path];
        PathState {
            usable: true,
            has_room: in_flight + u64::from(largest) <= window,
            window: ByteCount::from_bytes(window),
            in_flight: ByteCount::from_bytes(in_flight),
            ..PathState::default()
        }
    }
    fn largest_datagram(&self, path: usize) -> Option<u16> {
        Some(self.lanes[path].largest)
    }
    fn send(&mut self, _: Time, path: usize, cargo: TunnelPayload) -> Result<(), TunnelPayload> {
        self.lanes[path].in_flight += cargo.length() as u64;
        self.sent.push((path, cargo.length() as u16, true));
        Ok(())
    }
    fn send_uncontrolled(&mut self, _: Time, path: usize, cargo: TunnelPayload) -> Result<(), TunnelPayload> {
        self.sent.push((path, cargo.length() as u16, false));
        Ok(())
    }
    fn set_backlogged(&mut self, _: bool) {}
    fn receive(&mut self, _: Time, _: usize, _: Box<Packet>) {}
    fn delivered(&mut self) -> Option<(usize, TunnelPayload)> {
        None
    }
    fn transmit(&mut self, _: Time) -> Option<(usize, Box<Packet>)> {
        None
    }
    fn wake(&mut self, _: Time) {}
    fn next_wake(&self) -> Option<Time> {
        None
    }
    fn failure(&self) -> Option<&str> {
        None
    }
    fn statistics(&self, _: &mut Metrics) {}
}

fn end(second_queue: Option<SecondQueue>) -> Tunnel {
    let config = TunnelConfig {
        queue: QueueConfig::fq_codel(),
        scheduler: PathSchedulerKind::RoundRobin,
        pipeline: Pipeline::Pquic { leaves: LeaveRule::Full, second_queue },
        mtu: ByteCount::from_bytes(1400),
        resequencing: None,
        repair: false,
        batch: 1,
        ecn: TunnelEcn::Separate,
        keep_sojourns: 0,
    };
    Tunnel::with_packet_stores(config, PacketStores::default(), RandomStream::new(1, "tunnel"))
}

fn enter(tunnel: &mut Tunnel, protocol: Protocol, size: u64, out: &mut Emitted) {
    let address = |host| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)), 1);
    let tuple = FiveTuple::new(protocol, address(1), address(2));
    let packet = Packet { size: ByteCount::from_bytes(size), tuple, ..Packet::default() };
    tunnel.enqueue(Time::ZERO, Box::new(packet), out);
}

fn statistic(tunnel: &mut Tunnel, name: &str) -> Option<f64> {
    let mut out = Metrics::default();
    tunnel.statistics(Time::ZERO, &mut out);
    out.get(name)
}

/// Two TCP packets with their frame headers fill the window of 2806 B. The ping is in the second queue: it leaves after
/// them, since the first pass uses the whole window, and before the third, since it needs no window.
#[test]
fn the_second_queue_is_asked_after_the_first_and_needs_no_window() {
    let (mut tunnel, mut out) = (end(Some(SecondQueue::Icmp)), Emitted::default());
    let mut lanes = Lanes::new([(2806, 1400)]);
    enter(&mut tunnel, Protocol::Icmp, 1400, &mut out);
    (0..3).for_each(|_| enter(&mut tunnel, Protocol::Tcp, 1400, &mut out));
    tunnel.run(Time::ZERO, &mut lanes, &mut out);
    assert_eq!(lanes.sent, [(0, 1400, true), (0, 1400, true), (0, 1400, false)]);
    assert_eq!(tunnel.backlog().packets, 1);
    assert_eq!(statistic(&mut tunnel, "uncontrolled_packets"), Some(1.0));
    lanes.acknowledge(0);
    tunnel.run(Time::ZERO, &mut lanes, &mut out);
    assert_eq!((lanes.sent.len(), tunnel.backlog().packets), (4, 0));
}

/// A window of 3000 B has room for two TCP packets and part of a third, which is also reserved. The ping passes it.
#[test]
fn what_is_reserved_for_a_window_does_not_hold_back_the_second_queue() {
    let (mut tunnel, mut out) = (end(Some(SecondQueue::Icmp)), Emitted::default());
    let mut lanes = Lanes::new([(3000, 1400)]);
    (0..4).for_each(|_| enter(&mut tunnel, Protocol::Tcp, 1400, &mut out));
    enter(&mut tunnel, Protocol::Icmp, 1400, &mut out);
    tunnel.run(Time::ZERO, &mut lanes, &mut out);
    assert_eq!(lanes.sent, [(0, 1400, true), (0, 1400, true), (0, 1400, false)]);
    lanes.acknowledge(0);
    tunnel.run(Time::ZERO, &mut lanes, &mut out);
    assert_eq!(lanes.sent[3..], [(0, 1400, true); 2]);
}

#[test]
fn without_the_second_queue_all_wait_for_the_window() {
    let (mut tunnel, mut out) = (end(None), Emitted::default());
    let mut lanes = Lanes::new([(0, 1400)]);
    enter(&mut tunnel, Protocol::Icmp, 1400, &mut out);
    tunnel.run(Time::ZERO, &mut lanes, &mut out);
    assert!(lanes.sent.is_empty());
    assert_eq!(statistic(&mut tunnel, "uncontrolled_packets"), None);
}

/// The build without congestion control of datagrams: no window stops them, and the first path takes all.
#[test]
fn all_frames_may_be_without_congestion_control() {
    let (mut tunnel, mut out) = (end(Some(SecondQueue::All)), Emitted::default());
    let mut lanes = Lanes::new([(0, 1400), (0, 1400)]);
    (0..3).for_each(|_| enter(&mut tunnel, Protocol::Tcp, 1400, &mut out));
    tunnel.run(Time::ZERO, &mut lanes, &mut out);
    assert_eq!(lanes.sent, [(0, 1400, false); 3]);
}

/// A frame of a TCP packet and one of a ping share a packet of 1400 B: it needs the window, and counts.
#[test]
fn a_packet_with_both_kinds_of_frames_is_congestion_controlled() {
    let (mut tunnel, mut out) = (end(Some(SecondQueue::Icmp)), Emitted::default());
    let mut lanes = Lanes::new([(3000, 1400)]);
    enter(&mut tunnel, Protocol::Tcp, 700, &mut out);
    enter(&mut tunnel, Protocol::Icmp, 690, &mut out);
    tunnel.run(Time::ZERO, &mut lanes, &mut out);
    assert_eq!(lanes.sent, [(0, 700, true), (0, 690, true)]);
}

/// Round robin begins with path 0, whose MTU is smaller: the first packet waits for path 1, the second fits path 0,
/// whose turn it is.
#[test]
fn a_frame_that_does_not_fit_its_path_waits_for_another_and_is_counted() {
    let (mut tunnel, mut out) = (end(None), Emitted::default());
    let mut lanes = Lanes::new([(3000, 1200), (3000, 1400)]);
    enter(&mut tunnel, Protocol::Tcp, 1400, &mut out);
    tunnel.run(Time::ZERO, &mut lanes, &mut out);
    assert_eq!(lanes.sent, [(1, 1400, true)]);
    assert_eq!(statistic(&mut tunnel, "mtu_waits"), Some(1.0));
    enter(&mut tunnel, Protocol::Tcp, 1200, &mut out);
    tunnel.run(Time::ZERO, &mut lanes, &mut out);
    assert_eq!(lanes.sent[1], (0, 1200, true));
    assert_eq!(statistic(&mut tunnel, "mtu_waits"), Some(1.0), "it fits");
}

/// While the window of the path with the larger MTU is full, the frame waits, and those behind it; it counts once.
#[test]
fn what_waits_for_a_larger_mtu_blocks_what_follows() {
    let (mut tunnel, mut out) = (end(None), Emitted::default());
    let mut lanes = Lanes::new([(9000, 1200), (1400, 1400)]);
    lanes.lanes[1].in_flight = 1400;
    enter(&mut tunnel, Protocol::Tcp, 1400, &mut out);
    enter(&mut tunnel, Protocol::Tcp, 1200, &mut out);
    (0..3).for_each(|_| tunnel.run(Time::ZERO, &mut lanes, &mut out));
    assert!(lanes.sent.is_empty());
    assert_eq!(statistic(&mut tunnel, "mtu_waits"), Some(1.0));
    lanes.acknowledge(1);
    tunnel.run(Time::ZERO, &mut lanes, &mut out);
    assert_eq!(lanes.sent, [(1, 1400, true), (0, 1200, true)]);
}

#[test]
fn what_fits_no_path_is_dropped() {
    let (mut tunnel, mut out) = (end(None), Emitted::default());
    let mut lanes = Lanes::new([(9000, 1200), (9000, 1300)]);
    enter(&mut tunnel, Protocol::Tcp, 1400, &mut out);
    enter(&mut tunnel, Protocol::Tcp, 1200, &mut out);
    tunnel.run(Time::ZERO, &mut lanes, &mut out);
    assert_eq!(lanes.sent, [(0, 1200, true)]);
    assert_eq!(statistic(&mut tunnel, "too_large_packets"), Some(1.0));
    assert_eq!(statistic(&mut tunnel, "mtu_waits"), None);
}
