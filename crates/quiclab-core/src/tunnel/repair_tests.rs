//! Two ends and two paths, with losses chosen by the test.

use super::*;
use crate::packet::{Packet, Payload};
use crate::packet_memory::PacketMemory;
use crate::queue::QueueConfig;
use crate::random::RandomStream;
use crate::scheduler::PathSchedulerKind;
use crate::tunnel::payload::PayloadEncoding;
use crate::tunnel::tests::Wire;
use crate::tunnel::{Emitted, Pipeline, Tunnel, TunnelConfig, TunnelEcn};
use bytes::BytesMut;
use std::collections::VecDeque;

const BOUND: Duration = Duration::from_millis(200);

fn config() -> TunnelConfig {
    TunnelConfig {
        queue: QueueConfig::default(),
        scheduler: PathSchedulerKind::RoundRobin,
        pipeline: Pipeline::Direct,
        mtu: ByteCount::from_bytes(1300),
        resequencing: Some(BOUND),
        repair: true,
        batch: 1,
        ecn: TunnelEcn::Separate,
        keep_sojourns: 0,
    }
}

fn end() -> Tunnel {
    Tunnel::of_bytes(config(), RandomStream::new(1, "tunnel"))
}

/// A packet of one flow with `mark` in its last byte.
fn packet(mark: u8) -> Box<Packet> {
    let mut bytes = BytesMut::zeroed(100);
    (bytes[0], bytes[99]) = (0x45, mark);
    Box::new(Packet { size: ByteCount::from_bytes(100), payload: Payload::Ip(bytes), ..Packet::default() })
}

/// The last bytes of the packets that left the tunnel.
fn marks(out: &mut Emitted) -> Vec<u8> {
    let mark = |packet: Box<Packet>| match packet.payload {
        Payload::Ip(bytes) => bytes[99],
        _ => panic!("bytes"),
    };
    out.inner.drain(..).map(mark).collect()
}

/// Datagrams with their path.
type Datagrams = VecDeque<(usize, TunnelPayload)>;

struct Pair {
    near: Tunnel,
    far: Tunnel,
    out: Emitted,
}

impl Pair {
    /// A pair with a flow that is no longer sparse: 40 packets have passed.
    fn busy() -> Self {
        let mut pair = Self { near: end(), far: end(), out: Emitted::default() };
        pair.warm_up();
        pair
    }

    fn warm_up(&mut self) {
        let sent = self.send(Time::ZERO, 0..40);
        self.bring(Time::ZERO, sent);
        assert_eq!(marks(&mut self.out).len(), 40);
    }

    /// Datagrams of packets with these marks, as sent.
    fn send(&mut self, now: Time, marks: std::ops::Range<u8>) -> Datagrams {
        for mark in marks {
            self.near.enqueue(now, packet(mark), &mut self.out);
        }
        self.answer(now, Datagrams::new())
    }

    /// Delivers datagrams to the receiving end; returns its reports.
    fn bring(&mut self, now: Time, arrived: Datagrams) -> Datagrams {
        turn(&mut self.far, now, arrived, &mut self.out)
    }

    /// Delivers reports to the sending end; returns its retransmissions.
    fn answer(&mut self, now: Time, arrived: Datagrams) -> Datagrams {
        turn(&mut self.near, now, arrived, &mut self.out)
    }
}

/// Handles arrived datagrams at an end with two paths; returns the datagrams that it sends.
fn turn(end: &mut Tunnel, now: Time, arrived: Datagrams, out: &mut Emitted) -> Datagrams {
    let mut wire = Wire { paths: 2, arrived, ..Wire::default() };
    end.run(now, &mut wire, out);
    wire.sent
}

#[test]
fn what_a_path_loses_is_sent_again_and_comes_in_order() {
    let mut pair = Pair::busy();
    let mut sent = pair.send(Time::ZERO, 20..30);
    // the second on the first path is lost; the other path has meanwhile delivered later numbers
    assert_eq!(sent[2].0, 0);
    sent.remove(2);
    let reports = pair.bring(Time::ZERO, sent);
    assert_eq!(marks(&mut pair.out), [20, 21]);
    assert_eq!(
        reports.iter().map(|(path, _)| *path).collect::<Vec<_>>(),
        [0],
        "on the path that has lost it"
    );
    let again = pair.answer(Time::ZERO, reports);
    assert_eq!(again.len(), 1, "only what was lost");
    assert!(pair.bring(Time::ZERO, again.clone()).is_empty());
    assert_eq!(marks(&mut pair.out), [22, 23, 24, 25, 26, 27, 28, 29]);
    pair.bring(Time::ZERO, again);
    assert_eq!(marks(&mut pair.out), [0; 0], "a copy is no packet");
}

#[test]
fn what_is_on_its_way_on_another_path_is_not_sent_again() {
    let mut pair = Pair::busy();
    let sent = pair.send(Time::ZERO, 20..40);
    // the second path is slow: none of its packets has arrived
    let fast: VecDeque<_> = sent.iter().filter(|(path, _)| *path == 0).cloned().collect();
    assert!(pair.bring(Time::ZERO, fast.clone()).is_empty(), "nothing was lost");
    // and one that reports the same of the fast path, with all of the slow path missing
    let report = Report { last: 58, start: 40, missing: (0..19).collect() };
    let forged = datagram(&report);
    let again = pair.answer(Time::ZERO, VecDeque::from([(0, forged)]));
    assert_eq!(
        again.len(),
        9,
        "those of the fast path before the last one: the slow path has not been heard of"
    );
}

fn datagram(report: &Report) -> TunnelPayload {
    PayloadEncoding::Bytes(PacketMemory::default()).load_report(report)
}

#[test]
fn after_the_bound_nobody_waits_and_nothing_is_sent_again() {
    let mut pair = Pair::busy();
    let mut sent = pair.send(Time::ZERO, 20..30);
    sent.remove(2);
    let reports = pair.bring(Time::ZERO, sent);
    let late = Time::ZERO + BOUND;
    assert!(pair.answer(late, reports).is_empty());
    pair.bring(late, VecDeque::new());
    assert_eq!(marks(&mut pair.out), [20, 21, 23, 24, 25, 26, 27, 28, 29]);
}

#[test]
fn a_packet_that_is_lost_twice_is_sent_three_times() {
    let mut pair = Pair::busy();
    let mut sent = pair.send(Time::ZERO, 20..30);
    sent.remove(2);
    let reports = pair.bring(Time::ZERO, sent);
    let again = pair.answer(Time::ZERO, reports);
    let path = again[0].0;
    // lost, and four more reveal it
    let next = pair.send(Time::ZERO, 30..34);
    let reports = pair.bring(Time::ZERO, next);
    assert_eq!(reports.iter().map(|(path, _)| *path).collect::<Vec<_>>(), [path]);
    let again = pair.answer(Time::ZERO, reports);
    assert_eq!(again.len(), 1);
    pair.bring(Time::ZERO, again);
    assert_eq!(marks(&mut pair.out), [20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33]);
}

#[test]
fn sparse_flows_do_not_wait_for_others() {
    let mut pair = Pair::busy();
    let mut sent = pair.send(Time::ZERO, 20..24);
    sent.pop_front();
    pair.bring(Time::ZERO, sent);
    assert_eq!(marks(&mut pair.out), [0; 0], "the flow waits for its first packet");
    let mut other = packet(77);
    if let Payload::Ip(bytes) = &mut other.payload {
        bytes[9] = 17; // another protocol is another flow
    }
    pair.near.enqueue(Time::ZERO, other, &mut pair.out);
    let sent = pair.send(Time::ZERO, 0..0);
    pair.bring(Time::ZERO, sent);
    assert_eq!(marks(&mut pair.out), [77]);
}

#[test]
fn a_report_is_read_as_it_was_written_and_nonsense_is_none() {
    let report = Report { last: 0x3_fff0, start: 0x3_ff00, missing: vec![0, 7, 8, 4095] };
    let bytes = report.encode();
    assert_eq!(bytes.len(), 6 + 512);
    assert_eq!(Report::decode(&bytes), Some(report));
    for nonsense in [&[][..], &[0; 5], &[0xff; 8], &[0; 6 + 513]] {
        assert_eq!(Report::decode(nonsense), None);
    }
}

#[test]
fn what_is_kept_is_bounded_by_time_number_and_bytes() {
    let mut sent = SentPackets::new(BOUND);
    let payload = || TunnelPayload::Reference { number: 0, length: 0 };
    let mut keep = |now: Time, number: u64, bytes: u64| {
        sent.sent(now, number, 0, payload(), ByteCount::from_bytes(bytes), false);
        (sent.packets.len(), sent.bytes)
    };
    for number in 0..MAX_KEPT as u64 + 10 {
        assert!(keep(Time::ZERO, number, 1).0 <= MAX_KEPT);
    }
    let next = MAX_KEPT as u64 + 10;
    assert_eq!(keep(Time::ZERO + BOUND, next, MAX_KEPT_BYTES), (1, MAX_KEPT_BYTES));
    let (_, bytes) = keep(Time::ZERO + BOUND, next + 1, MAX_KEPT_BYTES);
    assert!(bytes <= 2 * MAX_KEPT_BYTES, "the limit, and one packet");
}

#[test]
fn a_report_of_anything_asks_for_nothing_that_was_not_sent() {
    let mut pair = Pair::busy();
    for last in [0, 39, 40, 1 << 17, (1 << 18) - 1] {
        for start in [0, 39, 40, 1 << 17, (1 << 18) - 1] {
            let report = Report { last, start, missing: (0..64).collect() };
            for path in [0, 1, 70] {
                let again = pair.answer(Time::ZERO, VecDeque::from([(path, datagram(&report))]));
                // on path 1 those before 39
                let known = path == 1 && last == 39 && start == 0;
                assert!(again.is_empty() || known, "{last} {start} {path}: {}", again.len());
            }
        }
    }
}

/// As many packets are lost together as leave together.
#[test]
fn a_burst_of_losses_is_seen_whatever_its_length() {
    for lost in [1, 14, 16, 17, 32] {
        let mut pair = Pair::busy();
        let sent = pair.send(Time::ZERO, 20..120);
        let mut on_first = 0;
        let arrived = sent.into_iter().filter(|(path, _)| {
            on_first += usize::from(*path == 0);
            *path == 1 || !(2..2 + lost).contains(&on_first)
        });
        let arrived = arrived.collect();
        let reports = pair.bring(Time::ZERO, arrived);
        assert_eq!(pair.answer(Time::ZERO, reports).len(), lost);
    }
}

#[test]
fn a_hostile_report_makes_a_packet_leave_a_few_times_at_most() {
    let mut pair = Pair::busy();
    pair.send(Time::ZERO, 20..40);
    let mut again = 0;
    for last in 0..60 {
        let report = Report { last, start: 0, missing: (0..60).collect() };
        for path in [0, 1] {
            again += pair.answer(Time::ZERO, VecDeque::from([(path, datagram(&report))])).len();
        }
    }
    assert!(again <= 60 * usize::from(MAX_AGAIN), "{again}");
}

#[test]
fn a_restart_begins_anew_at_both_ends() {
    let mut pair = Pair::busy();
    let lost = pair.send(Time::ZERO, 20..30);
    drop(lost);
    pair.near.restart();
    pair.far.restart();
    pair.warm_up();
    let mut sent = pair.send(Time::ZERO, 30..40);
    sent.remove(2);
    let reports = pair.bring(Time::ZERO, sent);
    let again = pair.answer(Time::ZERO, reports);
    pair.bring(Time::ZERO, again);
    assert_eq!(marks(&mut pair.out), (30..40).collect::<Vec<_>>());
}

/// One end sends copies, its peer does not: both have the same headers, and no copy is mistaken for a loss.
#[test]
fn schedulers_may_differ() {
    let mut pair = Pair::busy();
    pair.near = Tunnel::of_bytes(
        TunnelConfig { scheduler: PathSchedulerKind::Redundant, ..config() },
        RandomStream::new(1, "tunnel"),
    );
    pair.far.restart();
    let sent = pair.send(Time::ZERO, 0..30);
    assert_eq!(sent.len(), 60);
    assert!(pair.bring(Time::ZERO, sent).is_empty(), "nothing was lost");
    assert_eq!(marks(&mut pair.out), (0..30).collect::<Vec<_>>());
}
