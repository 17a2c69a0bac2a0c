//! Tests of the sending end.

use super::*;
use crate::bearer::Reordering;
use crate::packet::Payload;
use crate::units::ByteCount;
use crate::units::Probability;
use proptest::prelude::*;

fn bearer(batch_packets: u32, shares: &[u32], mode: BearerMode, sequence_bits: u8) -> BearerConfig {
    BearerConfig {
        links: vec![String::new(); shares.len()],
        batch_packets,
        shares: shares.to_vec(),
        mode,
        splitter: crate::bearer::Splitter::Batches,
        duplication: Probability::ZERO,
        reordering: Reordering { sequence_bits, ..Reordering::default() },
    }
}

fn packet(id: u64) -> Box<Packet> {
    Box::new(Packet { id, size: ByteCount::from_bytes(1000 + id % 7), ..Packet::default() })
}

/// Port and number of each of the copies of `packets` packets.
fn run(sender: &mut BearerSender, packets: u64) -> Vec<(u16, u32)> {
    let mut out = Outputs::default();
    for id in 0..packets {
        sender.receive(Time::ZERO, Port(0), packet(id), &mut out);
        assert_eq!(sender.counters().balance(), (0, 0));
    }
    out.packets.iter().map(|(port, packet)| (port.0, packet.sequence)).collect()
}

fn split(batch_packets: u32, shares: &[u32], packets: u64) -> Vec<u16> {
    let bearer = bearer(batch_packets, shares, BearerMode::Split, 16);
    run(&mut BearerSender::new(&bearer, None), packets).into_iter().map(|(port, _)| port).collect()
}

#[test]
fn batches_by_hand() {
    assert_eq!(split(4, &[1, 1], 10), [0, 0, 1, 1, 0, 0, 1, 1, 0, 0]);
    assert_eq!(split(2, &[1, 1], 4), [0, 1, 0, 1]);
    // r = 0.5 and B = 3: ceil(1.5) = 2 in a row, then the rest
    assert_eq!(split(3, &[1, 1], 6), [0, 0, 1, 0, 0, 1]);
    // 100 packets at 60:40 and at 5:2, whose exact share of 71.43 packets is rounded up
    assert_eq!(split(100, &[60, 40], 100).iter().filter(|&&port| port == 0).count(), 60);
    assert_eq!(split(100, &[5, 2], 100).iter().filter(|&&port| port == 0).count(), 72);
    assert_eq!(split(6, &[1, 1, 1], 7), [0, 0, 1, 1, 2, 2, 0]);
    // fewer packets in a batch than links
    assert_eq!(split(1, &[1, 1], 3), [0, 0, 0]);
}

#[test]
fn without_shares_all_links_are_equal() {
    let bearer = BearerConfig { shares: vec![], ..bearer(4, &[9, 9], BearerMode::Split, 16) };
    let sent = run(&mut BearerSender::new(&bearer, None), 4);
    assert_eq!(sent, [(0, 0), (0, 1), (1, 2), (1, 3)]);
}

#[test]
fn single_connectivity_is_a_weight_of_zero() {
    assert_eq!(split(100, &[0, 1], 250), [1; 250]);
    assert_eq!(split(100, &[1, 0], 250), [0; 250]);
    assert_eq!(split(2, &[0, 1, 0, 1, 0], 4), [1, 3, 1, 3]);
}

#[test]
fn numbers_wrap_and_the_header_is_counted() {
    for (bits, header) in [(12u8, 2), (16, 2), (18, 3)] {
        let mut sender = BearerSender::new(&bearer(1, &[1], BearerMode::Split, bits), None);
        sender.tx_next = (1 << bits) - 1;
        let mut out = Outputs::default();
        for id in 0..2 {
            sender.receive(Time::ZERO, Port(0), packet(id), &mut out);
        }
        let numbers: Vec<u32> = out.packets.iter().map(|(_, packet)| packet.sequence).collect();
        assert_eq!(numbers, [(1 << bits) - 1, 0]);
        assert_eq!(out.packets[0].1.encapsulation, ByteCount::from_bytes(header));
        assert_eq!(out.packets[0].1.wire_size(), ByteCount::from_bytes(1000 + header));
    }
}

#[test]
fn duplication_sends_one_number_with_the_same_content_on_every_link() {
    let mut sender = BearerSender::new(&bearer(100, &[1, 0, 1], BearerMode::Duplicate, 16), None);
    let mut out = Outputs::default();
    for id in 0..2 {
        let payload = Payload::Bytes(format!("packet {id}").as_bytes().into());
        sender.receive(Time::ZERO, Port(0), Box::new(Packet { payload, ..*packet(id) }), &mut out);
    }
    let copies: Vec<_> = out
        .packets
        .iter()
        .map(|(port, packet)| match &packet.payload {
            Payload::Bytes(bytes) => (port.0, packet.id, packet.sequence, bytes.as_ref()),
            _ => panic!("the payload was lost"),
        })
        .collect();
    let (first, second) = (&b"packet 0"[..], &b"packet 1"[..]);
    assert_eq!(copies, [(0, 0, 0, first), (2, 0, 0, first), (0, 1, 1, second), (2, 1, 1, second)]);
    let counters = sender.counters();
    assert_eq!((counters.received.packets, counters.created.packets, counters.sent.packets), (2, 2, 4));
    assert_eq!(counters.balance(), (0, 0));
    let mut statistics = Metrics::default();
    sender.statistics(Time::ZERO, &mut statistics);
    let expected =
        vec![("sent_port0_packets", 2.0), ("sent_port1_packets", 0.0), ("sent_port2_packets", 2.0)];
    let expected: Vec<_> = expected.into_iter().map(|(name, value)| (name.into(), value)).collect();
    assert_eq!(statistics.named(), expected);
}

proptest! {
    /// The rule of the header, evaluated for each position.
    #[test]
    fn split_follows_the_rule(
        batch in 1u32..40,
        shares in prop::collection::vec(0u32..5, 1..6),
        packets in 1u64..200,
    ) {
        prop_assume!(shares.iter().any(|&share| share > 0));
        let total: u32 = shares.iter().sum();
        let expected: Vec<(u16, u32)> = (0..packets as u32).map(|number| {
            let position = number % batch;
            let takes = |&link: &usize| position * total < shares[..=link].iter().sum::<u32>() * batch;
            ((0..shares.len()).find(takes).unwrap() as u16, number)
        }).collect();
        let mut sender = BearerSender::new(&bearer(batch, &shares, BearerMode::Split, 16), None);
        prop_assert_eq!(run(&mut sender, packets), expected);
    }
}
