//! Two ends whose datagrams are delivered by the test.

use super::*;
use crate::metric::Metrics;
use bytes::BytesMut;
use std::collections::VecDeque;

/// Paths that accept everything.
pub(super) struct Wire {
    /// Number of paths.
    pub(super) paths: usize,
    /// Sent payloads with their paths.
    pub(super) sent: VecDeque<(usize, TunnelPayload)>,
    pub(super) arrived: VecDeque<(usize, TunnelPayload)>,
    /// ECN capability set by the tunnel for subsequent datagrams.
    pub(super) capable: Vec<bool>,
    /// ECN field of the packets that arrive.
    pub(super) field: Ecn,
}

impl Default for Wire {
    fn default() -> Self {
        let (sent, arrived) = (VecDeque::new(), VecDeque::new());
        Self { paths: 1, sent, arrived, capable: Vec::new(), field: Ecn::default() }
    }
}

impl Carrier for Wire {
    fn paths(&self) -> usize {
        self.paths
    }
    fn state(&self, _: Time, _: usize) -> PathState {
        let window = ByteCount::from_bytes(1 << 20);
        PathState { usable: true, has_room: true, window, ..PathState::default() }
    }
    fn largest_datagram(&self, _: usize) -> Option<u16> {
        Some(1400)
    }
    fn send(&mut self, _: Time, path: usize, cargo: TunnelPayload) -> Result<(), TunnelPayload> {
        self.sent.push_back((path, cargo));
        Ok(())
    }
    fn set_backlogged(&mut self, _: bool) {}
    fn set_capable(&mut self, capable: bool) {
        self.capable.push(capable);
    }
    fn delivered_field(&self) -> Ecn {
        self.field
    }
    fn receive(&mut self, _: Time, _: usize, _: Box<Packet>) {}
    fn delivered(&mut self) -> Option<(usize, TunnelPayload)> {
        self.arrived.pop_front()
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

fn end() -> Tunnel {
    end_with(QueueConfig::default())
}

fn end_with(queue: QueueConfig) -> Tunnel {
    let config = TunnelConfig {
        queue,
        scheduler: PathSchedulerKind::RoundRobin,
        pipeline: Pipeline::Direct,
        mtu: ByteCount::from_bytes(1300),
        resequencing: Some(Duration::from_millis(50)),
        repair: false,
        batch: 1,
        ecn: TunnelEcn::Separate,
        keep_sojourns: 0,
    };
    Tunnel::of_bytes(config, RandomStream::new(1, "tunnel"))
}

fn packet() -> Box<Packet> {
    let mut bytes = BytesMut::zeroed(100);
    bytes[0] = 0x45;
    let size = ByteCount::from_bytes(100);
    Box::new(Packet { size, payload: crate::packet::Payload::Ip(bytes), ..Packet::default() })
}

/// Sends `count` packets from one end to the other; returns the number that is delivered immediately, in
/// order.
fn carry(from: &mut Tunnel, to: &mut Tunnel, count: usize) -> usize {
    let (now, mut wire, mut out) = (Time::ZERO, Wire::default(), Emitted::default());
    for _ in 0..count {
        from.enqueue(now, packet(), &mut out);
    }
    from.run(now, &mut wire, &mut out);
    assert_eq!(wire.sent.len(), count);
    let mut arrived = Wire { arrived: wire.sent, ..Wire::default() };
    out.inner.clear();
    to.run(now, &mut arrived, &mut out);
    out.inner.len()
}

#[test]
fn both_directions_go_on_after_a_restart_of_one_end_and_a_new_other_end() {
    let (mut client, mut server) = (end(), end());
    assert_eq!(carry(&mut client, &mut server, 100), 100);
    assert_eq!(carry(&mut server, &mut client, 100), 100);
    // without it: numbers 0 to 9 are before the 100 that the client has received, and 100 to 109 wait for 0
    // to 99
    let mut server = end();
    assert_eq!(carry(&mut server, &mut client, 10), 0, "old numbers");
    assert_eq!(carry(&mut client, &mut server, 10), 0, "numbers far ahead");
    let mut server = end();
    client.restart();
    assert_eq!(carry(&mut server, &mut client, 10), 10);
    assert_eq!(carry(&mut client, &mut server, 10), 10);
}

#[test]
fn what_waits_survives_a_restart() {
    let (mut client, mut out) = (end(), Emitted::default());
    client.enqueue(Time::ZERO, packet(), &mut out);
    client.restart();
    assert_eq!(client.backlog().packets, 1);
}

#[test]
fn a_tunnel_comes_back_for_what_its_queue_holds_back() {
    let gap = Duration::from_millis(3);
    let mut client = end_with(QueueConfig::Paced(crate::queue::Paced { gap }));
    let (mut now, mut wire, mut out) = (Time::ZERO, Wire::default(), Emitted::default());
    for _ in 0..3 {
        client.enqueue(now, packet(), &mut out);
    }
    for sent in 1..=3 {
        client.run(now, &mut wire, &mut out);
        assert_eq!(wire.sent.len(), sent);
        let wake = client.next_wake();
        assert_eq!(wake, (sent < 3).then_some(now + gap));
        now = wake.unwrap_or(now);
    }
}

/// RFC 6040 at both ends: the carrier learns which packets are capable, a mark is passed on to those, and a
/// packet that is not capable and arrives with a mark is dropped. Otherwise inner packets are unaffected.
#[test]
fn marks_of_the_carrier_are_passed_on() {
    let run_with = |resequencing: Option<Duration>, ecn: TunnelEcn, field: Ecn| {
        let config = TunnelConfig { ecn, resequencing, ..end().config };
        let stores = PacketStores::default();
        let tunnel =
            |stores| Tunnel::with_packet_stores(config.clone(), stores, RandomStream::new(1, "tunnel"));
        let (mut near, mut far) = (tunnel(stores.clone()), tunnel(stores.reversed()));
        let (mut wire, mut out) = (Wire { field, ..Wire::default() }, Emitted::default());
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            let packet = Packet { size: ByteCount::from_bytes(1000), ecn, ..Packet::default() };
            near.enqueue(Time::ZERO, Box::new(packet), &mut out);
        }
        near.run(Time::ZERO, &mut wire, &mut out);
        wire.arrived = std::mem::take(&mut wire.sent);
        far.run(Time::ZERO, &mut wire, &mut out);
        let mut metrics = Metrics::default();
        far.statistics(Time::ZERO, &mut metrics);
        let dropped = metrics.get("marked_drops");
        let inner: Vec<_> = out.inner.iter().map(|packet| packet.ecn).collect();
        // no packet waits for one that was dropped here
        assert_eq!(far.next_wake(), None);
        (inner, dropped, wire.capable)
    };
    let run = |ecn: TunnelEcn, field: Ecn| {
        let results = [None, Some(Duration::from_millis(50))].map(|bound| run_with(bound, ecn, field));
        assert_eq!(results[0], results[1]);
        results[0].clone()
    };
    use Ecn::{Ce, Ect0, Ect1, NotEct};
    let capable = vec![false, true, true, true];
    let passed = run(TunnelEcn::Propagated, Ect0);
    assert_eq!(passed, (vec![NotEct, Ect0, Ect1, Ce], Some(0.0), capable.clone()));
    assert_eq!(run(TunnelEcn::Propagated, Ce), (vec![Ce, Ce, Ce], Some(1.0), capable));
    assert_eq!(run(TunnelEcn::Separate, Ce), (vec![NotEct, Ect0, Ect1, Ce], None, vec![]));
}
