//! The sending end of a split bearer: numbers packets and chooses their links.
//!
//! Numbers are given before the links, so a packet that a link loses leaves a hole in the sequence.
//!
//! Split mode divides each batch of B packets by the weights of the links: the packet at position
//! i = 0 .. B - 1 of a batch takes the first link k with i * W < (w_0 + .. + w_k) * B, W being the
//! sum of all weights. With two links and the share r = w_0 / W these are the ceil(r * B) packets in
//! a row on the first link and the rest on the second of Hasselquist et al. 2022, in integers.
//! Duplicate mode (TS 38.323 section 5.11) sends each packet on every link under one number. A link
//! of weight 0 gets no packet in either mode.
//!
//! | | source | here |
//! | --- | --- | --- |
//! | choice of the link | TS 38.323 5.2.1: primary link up to a data volume, then either | batches, as in the testbed |
//! | share | testbed: floating-point fraction of the first link | exact weights, any number of links |
//! | contiguous SDUs without feedback | 5.2.1 note 1: more than half of the number space may desynchronise HFN | not prevented: it needs a reordering of 2048 packets at 12 bits, 32768 at 16 |

use super::count::SequenceBits;
use super::{BearerError, MAX_LINKS, weights};
use crate::element::{Counters, Element, Metrics, Outputs, Port};
use crate::packet::Packet;
use crate::scenario::{Bearer, BearerMode};
use crate::time::Time;

const SENT: [&str; MAX_LINKS] = [
    "sent_port0_packets",
    "sent_port1_packets",
    "sent_port2_packets",
    "sent_port3_packets",
    "sent_port4_packets",
    "sent_port5_packets",
    "sent_port6_packets",
    "sent_port7_packets",
];

/// The sending end: input port 0, one output port for each link.
pub struct BearerSender {
    bits: SequenceBits,
    mode: BearerMode,
    /// TX_NEXT (TS 38.323 section 7.1): COUNT of the next packet.
    tx_next: u64,
    batch_packets: u32,
    /// Position of the next packet in its batch.
    position: u32,
    /// Link of the previous packet of the batch; the next one takes this or a later one.
    link: usize,
    /// For each link, the first position in a batch that belongs to a later link. Equal to that of
    /// its predecessor (0 for the first link) where the weight is 0.
    ends: Vec<u32>,
    /// Links with a positive weight.
    active: Vec<usize>,
    counters: Counters,
    /// Packets sent on each link.
    sent: Vec<u64>,
}

impl BearerSender {
    /// The sending end of `bearer`.
    ///
    /// # Errors
    /// When the bearer contradicts itself: see [`BearerError`].
    pub fn new(bearer: &Bearer) -> Result<Self, BearerError> {
        let bits = SequenceBits::new(bearer.reordering.sequence_bits)?;
        let weights = weights(bearer)?;
        if bearer.batch_packets == 0 {
            return Err(BearerError::EmptyBatch);
        }
        let total: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
        let mut cumulative = 0;
        let ends = weights.iter().map(|&weight| {
            // i * W < c * B holds for i below c * B / W, rounded up; at most B, so it fits
            cumulative += u128::from(weight);
            (cumulative * u128::from(bearer.batch_packets)).div_ceil(total) as u32
        });
        Ok(Self {
            bits,
            mode: bearer.mode,
            tx_next: 0,
            batch_packets: bearer.batch_packets,
            position: 0,
            link: 0,
            ends: ends.collect(),
            active: (0..weights.len()).filter(|&link| weights[link] > 0).collect(),
            counters: Counters::default(),
            sent: vec![0; weights.len()],
        })
    }

    /// The link of the next packet in split mode.
    fn next_link(&mut self) -> usize {
        // the last end is the length of the batch, so the search ends
        while self.position >= self.ends[self.link] {
            self.link += 1;
        }
        let link = self.link;
        self.position += 1;
        if self.position == self.batch_packets {
            (self.position, self.link) = (0, 0);
        }
        link
    }

    fn send(&mut self, link: usize, packet: Packet, out: &mut Outputs) {
        self.counters.sent.add(packet.size);
        self.sent[link] += 1;
        out.send(Port(link as u16), packet);
    }
}

impl Element for BearerSender {
    fn receive(&mut self, _now: Time, _port: Port, mut packet: Packet, out: &mut Outputs) {
        self.counters.received.add(packet.size);
        packet.sequence = self.bits.sequence(self.tx_next);
        packet.encapsulation += self.bits.encapsulation();
        self.tx_next += 1;
        match self.mode {
            BearerMode::Split => {
                let link = self.next_link();
                self.send(link, packet, out);
            }
            BearerMode::Duplicate => {
                let last = self.active.len() - 1;
                for index in 0..last {
                    self.counters.created.add(packet.size);
                    self.send(self.active[index], packet.clone(), out);
                }
                self.send(self.active[last], packet, out);
            }
        }
    }

    fn wake(&mut self, _now: Time, _out: &mut Outputs) {}

    fn next_wake(&self) -> Option<Time> {
        None
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn statistics(&mut self, _now: Time, out: &mut Metrics) {
        for (name, &sent) in SENT.into_iter().zip(&self.sent) {
            out.count(name, sent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Payload;
    use crate::scenario::Reordering;
    use crate::units::ByteCount;
    use proptest::prelude::*;

    fn bearer(batch_packets: u32, shares: &[u32], mode: BearerMode, sequence_bits: u8) -> Bearer {
        Bearer {
            links: vec![String::new(); shares.len()],
            batch_packets,
            shares: shares.to_vec(),
            mode,
            reordering: Reordering { sequence_bits, ..Reordering::default() },
        }
    }

    fn packet(id: u64) -> Packet {
        Packet { id, size: ByteCount::from_bytes(1000 + id % 7), ..Packet::default() }
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
        run(&mut BearerSender::new(&bearer).unwrap(), packets).into_iter().map(|(port, _)| port).collect()
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
        let bearer = Bearer { shares: vec![], ..bearer(4, &[9, 9], BearerMode::Split, 16) };
        let sent = run(&mut BearerSender::new(&bearer).unwrap(), 4);
        assert_eq!(sent, [(0, 0), (0, 1), (1, 2), (1, 3)]);
    }

    #[test]
    fn single_connectivity_is_a_weight_of_zero() {
        assert_eq!(split(100, &[0, 1], 250), [1; 250]);
        assert_eq!(split(100, &[1, 0], 250), [0; 250]);
        assert_eq!(split(2, &[0, 1, 0, 1, 0], 4), [1, 3, 1, 3]);
    }

    #[test]
    fn the_largest_batch_and_weights_do_not_overflow() {
        let bearer = bearer(u32::MAX, &[u32::MAX; 8], BearerMode::Split, 18);
        let sender = BearerSender::new(&bearer).unwrap();
        // eighths of 2^32 - 1, rounded up
        let eighths: Vec<u32> = (1..=8u64).map(|k| (k * u64::from(u32::MAX)).div_ceil(8) as u32).collect();
        assert_eq!(sender.ends, eighths);
    }

    #[test]
    fn numbers_wrap_and_the_header_is_counted() {
        for (bits, header) in [(12u8, 2), (16, 2), (18, 3)] {
            let mut sender = BearerSender::new(&bearer(1, &[1], BearerMode::Split, bits)).unwrap();
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
        let mut sender = BearerSender::new(&bearer(100, &[1, 0, 1], BearerMode::Duplicate, 16)).unwrap();
        let mut out = Outputs::default();
        for id in 0..2 {
            let payload = Payload::Bytes(format!("packet {id}").as_bytes().into());
            sender.receive(Time::ZERO, Port(0), Packet { payload, ..packet(id) }, &mut out);
        }
        let copies: Vec<_> = out
            .packets
            .iter()
            .map(|(port, packet)| match &packet.payload {
                Payload::Bytes(bytes) => (port.0, packet.id, packet.sequence, bytes.as_ref()),
                Payload::Empty | Payload::Segment(_) => panic!("the payload was lost"),
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
        assert_eq!(statistics.0, expected);
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
            let mut sender = BearerSender::new(&bearer(batch, &shares, BearerMode::Split, 16)).unwrap();
            prop_assert_eq!(run(&mut sender, packets), expected);
        }
    }
}
