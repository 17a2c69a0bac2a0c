//! FQ-CoDel by hand.

use super::*;
use crate::queue::tests::{Piece, add, at, drain, numbers, piece, queue};
use crate::queue::{Discipline, Item};
use crate::time::Time;

/// Ports of `count` flows that share no queue, in ascending order.
fn apart(queue: &Discipline<Piece>, count: usize) -> Vec<u16> {
    let mut queues = std::collections::BTreeSet::new();
    (1..).filter(|flow| queues.insert(queue.classify(|| piece(*flow, 0, 0).key()))).take(count).collect()
}

#[test]
fn flows_are_served_in_turn_by_bytes() {
    let mut queue = queue("fq_codel", "quantum = \"1500 B\"");
    let [a, b] = apart(&queue, 2)[..] else { unreachable!() };
    // a sends packets of 1500, b of 500: one of a for three of b
    add(&mut queue, Time::ZERO, (0..4).map(|number| piece(a, number, 1500)));
    add(&mut queue, Time::ZERO, (10..22).map(|number| piece(b, number, 500)));
    let order = numbers(&drain(&mut queue, at(1)));
    assert_eq!(order, [0, 10, 11, 12, 1, 13, 14, 15, 2, 16, 17, 18, 3, 19, 20, 21]);
}

#[test]
fn a_sparse_flow_does_not_wait_for_the_others() {
    let mut queue = queue("fq_codel", "");
    let flows = apart(&queue, 11);
    for (index, flow) in flows[..10].iter().enumerate() {
        let first = index as u64 * 100;
        add(&mut queue, Time::ZERO, (first..first + 50).map(|number| piece(*flow, number, 1514)));
    }
    // all ten become old
    for _ in 0..20 {
        queue.dequeue(at(1), &mut |_, _| unreachable!("nothing has waited")).unwrap();
    }
    add(&mut queue, at(2), [piece(flows[10], 9999, 100)]);
    let next = queue.dequeue(at(2), &mut |_, _| unreachable!("nothing has waited")).unwrap();
    assert_eq!(next.number, 9999);
}

#[test]
fn a_flow_that_comes_back_at_once_does_not_starve_the_old_ones() {
    let mut queue = queue("fq_codel", "");
    let [bulk, sparse] = apart(&queue, 2)[..] else { unreachable!() };
    add(&mut queue, Time::ZERO, (0..100).map(|number| piece(bulk, number, 1514)));
    let mut served = 0;
    for step in 0..100 {
        // the sparse flow has a packet at each turn
        add(&mut queue, at(step), [piece(sparse, 1000 + step, 1514)]);
        let item = queue.dequeue(at(step), &mut |_, _| unreachable!("nothing has waited for long")).unwrap();
        served += u64::from(item.flow == bulk);
    }
    // equal packets: half of the turns
    assert!((49..=51).contains(&served), "{served}");
}

#[test]
fn a_limit_in_packets_drops_half_of_the_longest_queue() {
    let mut queue = queue("fq_codel", "packets = 100");
    let [long, short] = apart(&queue, 2)[..] else { unreachable!() };
    assert!(add(&mut queue, Time::ZERO, (0..10).map(|number| piece(short, 1000 + number, 100))).is_empty());
    assert!(add(&mut queue, Time::ZERO, (0..90).map(|number| piece(long, number, 100))).is_empty());
    // the 101st: the long queue has 91 packets of 100 B = 9100 B; until 4550 B are gone: 46 packets
    assert_eq!(add(&mut queue, Time::ZERO, [piece(long, 90, 100)]), (0..46).collect::<Vec<_>>());
    assert_eq!(queue.waiting().packets, 101 - 46);
    assert_eq!(queue.totals().drops(DropReason::QueueFull), 46);
}

#[test]
fn a_batch_is_64_packets_at_most() {
    let mut queue = queue("fq_codel", "packets = 200");
    assert_eq!(add(&mut queue, Time::ZERO, (0..201).map(|number| piece(1, number, 100))).len(), 64);
}

#[test]
fn memory_counts_what_the_configuration_says() {
    // 10 packets of 100 B with 156 B each are 2560 B; the 11th exceeds it. Half of 1100 B: 6 packets
    let options = "memory = \"2560 B\"\nmemory_per_packet = \"156 B\"";
    let mut with = queue("fq_codel", options);
    assert_eq!(add(&mut with, Time::ZERO, (0..11).map(|number| piece(1, number, 100))).len(), 6);
    let mut without = queue("fq_codel", "memory = \"2560 B\"");
    assert_eq!(add(&mut without, Time::ZERO, (0..25).map(|number| piece(1, number, 100))).len(), 0);
    // the published tunnel: one from the head of the longest queue
    let mut published = queue("fq_codel", "memory = \"1000 B\"\ndrop_batch = 1");
    let [long, short] = apart(&published, 2)[..] else { unreachable!() };
    add(&mut published, Time::ZERO, [piece(short, 9, 100)]);
    let dropped = add(&mut published, Time::ZERO, (10..20).map(|number| piece(long, number, 100)));
    assert_eq!(dropped, [10]);
}

#[test]
fn codel_sees_each_queue_by_itself() {
    let mut queue = queue("fq_codel", "packets = 100000");
    let [bulk, sparse] = apart(&queue, 2)[..] else { unreachable!() };
    add(&mut queue, Time::ZERO, (0..2000).map(|number| piece(bulk, number, 1500)));
    let mut dropped = Vec::new();
    let mut served = Vec::new();
    for millis in 0..1000 {
        let now = at(millis * 1000);
        if millis % 10 == 0 {
            add(&mut queue, now, [piece(sparse, 10_000 + millis, 100)]);
        }
        let item = queue.dequeue(now, &mut |piece: Piece, _| dropped.push(piece.flow)).unwrap();
        served.push((item.flow, item.number, millis));
    }
    assert!(dropped.len() > 10 && dropped.iter().all(|flow| *flow == bulk));
    for (_, number, millis) in served.iter().filter(|(flow, ..)| *flow == sparse) {
        // as a new flow at once; as an old one after the turn of the long queue: two packets, 1514 B of credits
        assert!(number - 10_000 + 2 >= *millis, "{number} at {millis}");
    }
    assert_eq!(served.iter().filter(|(flow, ..)| *flow == sparse).count(), 100);
    let flows = queue.flows();
    assert_eq!(flows.len(), 2);
    assert_eq!(
        flows.iter().map(|flow| flow.totals.drops(DropReason::Codel)).sum::<u64>(),
        dropped.len() as u64
    );
    assert_eq!(queue.active_flows(), 1);
}

#[test]
fn waiting_flows_are_those_of_the_heads() {
    let mut queue = queue("fq_codel", "packets = 5\ndrop_batch = 1");
    let [long, short] = apart(&queue, 2)[..] else { unreachable!() };
    add(&mut queue, Time::ZERO, (0..3).map(|number| piece(long, number, 1000)));
    add(&mut queue, at(20), [piece(short, 10, 100), piece(short, 11, 100), piece(short, 12, 100)]);
    let found: Vec<_> =
        queue.waiting_flows().iter().map(|flow| (flow.key, flow.since, flow.waiting, flow.dropped)).collect();
    let waiting = |packets, bytes| Backlog { packets, bytes: ByteCount::from_bytes(bytes) };
    // the sixth packet exceeded the limit: the longest queue has lost its head
    let mut expected = vec![
        (piece(long, 0, 0).key(), Time::ZERO, waiting(2, 2000), 1),
        (piece(short, 0, 0).key(), at(20), waiting(3, 300), 0),
    ];
    expected.sort_by_key(|(key, ..)| found.iter().position(|(found, ..)| found == key));
    assert_eq!(found, expected);
    drain(&mut queue, at(30));
    assert_eq!(queue.waiting_flows(), []);
}

#[test]
fn packets_wait_for_their_credits_after_a_large_one() {
    // a quantum of 256 B: after 1514 B the flow owes 1258 B, which takes 5 turns
    let mut queue = queue("fq_codel", "quantum = \"256 B\"");
    let [large, small] = apart(&queue, 2)[..] else { unreachable!() };
    add(&mut queue, Time::ZERO, [piece(large, 0, 1514), piece(large, 1, 1514)]);
    add(&mut queue, Time::ZERO, (10..22).map(|number| piece(small, number, 256)));
    let order = numbers(&drain(&mut queue, at(1)));
    let position = |number| order.iter().position(|other| *other == number).unwrap();
    // credits 256 - 1514 = -1258; +256 five times: 22, served in the turn after: 5 packets of the other one before
    assert_eq!(position(1) - position(0) - 1, 5, "{order:?}");
}

/// Shares of dropped packets, in 20 s at a link of `link_mbps`: of a flow with a packet of 100 bytes each 200 ms at
/// limits and by CoDel, and of all packets, those of `others` flows with 40,000 packets of 1000 bytes per second in
/// total.
fn sparse_among(flows: u32, others: u64, link_mbps: u64) -> [f64; 3] {
    let (packets, sparse) = (40_000 * 20_u64, 65_000);
    let mut queue = queue("fq_codel", &format!("flows = {flows}\ntarget = \"20 ms\"\ninterval = \"200 ms\""));
    let mut random = RandomStream::new(1, "order");
    let (mut of_sparse, mut at_limits, mut by_codel, mut all) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut free = Time::ZERO;
    for step in 0..packets {
        let now = at(step * 25);
        let mut dropped = |piece: Piece, reason| {
            all += 1;
            let count = if reason == DropReason::QueueFull { &mut at_limits } else { &mut by_codel };
            *count += u64::from(piece.flow == sparse);
        };
        while free <= now {
            let Some(piece) = queue.dequeue(free, &mut dropped) else { break };
            free += Duration::from_nanos(piece.bytes * 8 * 1000 / link_mbps);
        }
        free = free.max(now);
        let flow = 1 + random.bits() % others;
        queue.enqueue(now, piece(flow as u16, step, 1000), &mut dropped);
        if step % 8000 == 0 {
            of_sparse += 1;
            queue.enqueue(now, piece(sparse, step, 100), &mut dropped);
        }
    }
    let of_all = packets + of_sparse;
    [at_limits as f64 / of_sparse as f64, by_codel as f64 / of_sparse as f64, all as f64 / of_all as f64]
}

/// A flow below its share of the link loses almost nothing if it mostly has its own queue. With ten times as many flows
/// as queues it has the loss rate of the flows that share its queue: CoDel drops the head, whatever its flow.
#[test]
fn a_sparse_flow_is_one_among_those_of_its_queue() {
    for (flows, others, link_mbps) in
        [(1024, 100, 150), (1024, 10_000, 50), (1024, 10_000, 150), (16_384, 10_000, 150)]
    {
        let [at_limits, by_codel, all] = sparse_among(flows, others, link_mbps);
        let found = format!(
            "{flows} queues, {others} flows, {link_mbps} Mbit/s: {at_limits:.2} at limits, {by_codel:.2} by CoDel, of all {all:.2}"
        );
        eprintln!("{found}");
        let lost = at_limits + by_codel;
        let expected = if u64::from(flows) > others { 0.0..0.05 } else { all * 0.7..all * 1.1 };
        assert!(expected.contains(&lost), "{found}");
    }
}
