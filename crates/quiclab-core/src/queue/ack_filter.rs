//! ACK filtering: an arriving acknowledgement of TCP replaces a waiting one of the same connection that contains less.
//!
//! RFC 3449 section 5.2.1; the eligible acknowledgements are those of `cake_ack_filter` of Linux 7.3
//! (`net/sched/sch_cake.c`). QUIC encrypts its acknowledgements (RFC 9000 section 13.2), so none of its packets counts
//! as one here.
//!
//! | | Linux, here |
//! | --- | --- |
//! | may go | a segment without data, with ACK and of the other bits ECE and CWR at most, its options SACK and timestamps at most |
//! | in favour of | a later segment of the connection, with ACK and without SYN, that acknowledges no less and whose timestamps are not older |
//! | SACK | the later one reports everything that it does, and more: by its number or by its blocks; never a DSACK |
//! | ECE, CWR | the last one before a change of these bits stays |
//! | how many | one of two that may go; with `aggressive` a single one too, if no packet of the queue is in between |

use super::Item;
use super::waiting::{Waiting, WaitingItems};
use crate::packet::{Packet, Payload};
use crate::segment::{Flags, Segment, SegmentOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether acknowledgements of TCP that a later one replaces are dropped from the queue (RFC 3449 section 5.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AckFilter {
    /// No.
    #[default]
    Off,
    /// If two of a connection wait that the arriving one replaces: one remains.
    Conservative,
    /// Also if a single one waits.
    Aggressive,
}

/// Returns the modelled segment as a queue sees it; `None` if the packet is no segment, or its content is not visible.
pub(crate) fn segment_of(packet: &Packet) -> Option<&Segment> {
    match &packet.payload {
        Payload::Segment(segment) => Some(segment),
        _ => None,
    }
}

const ECN_BITS: u16 = Flags::ECE.header_bits() | Flags::CWR.header_bits();

/// Whether it could be dropped in favour of another one.
fn is_pure_ack(segment: &Segment) -> bool {
    let options = matches!(segment.options.as_deref(), None | Some(SegmentOptions::Sack(_)));
    segment.length == 0 && options && segment.flags.header_bits() & !ECN_BITS == Flags::ACK.header_bits()
}

/// Whether `later` reports everything that `earlier` does, and more (`cake_tcph_sack_compare` and the comparison of the
/// numbers).
fn replaces(later: &Segment, earlier: &Segment) -> bool {
    let newer = later.timestamp >= earlier.timestamp && later.timestamp_echo >= earlier.timestamp_echo;
    if !newer || earlier.acknowledgement > later.acknowledgement {
        return false;
    }
    let duplicate = earlier.sack().iter().any(|(start, _)| *start < earlier.acknowledgement);
    let covered =
        |block: &(u64, u64)| later.sack().iter().any(|(start, end)| *start <= block.0 && block.1 <= *end);
    if duplicate || !earlier.sack().iter().all(covered) {
        return false;
    }
    let bytes = |segment: &Segment| segment.sack().iter().map(|(start, end)| end - start).sum::<u64>();
    later.acknowledgement > earlier.acknowledgement || bytes(later) > bytes(earlier)
}

impl AckFilter {
    /// Removes the acknowledgement that the last item of `line`, which has just arrived, replaces.
    pub(super) fn filter<T: Item>(self, line: &mut WaitingItems<T>) -> Option<Waiting<T>> {
        let place = self.replaced(line)?;
        line.remove(place)
    }

    /// Position of the replaced acknowledgement; `None` if there is none.
    fn replaced<T: Item>(self, line: &WaitingItems<T>) -> Option<usize> {
        if self == Self::Off {
            return None;
        }
        let (last, before) = line.split_last()?;
        let arrived = last.segment()?;
        if !arrived.flags.has(Flags::ACK) || arrived.flags.has(Flags::SYN) {
            return None;
        }
        let key = last.key();
        // the first eligible one, and its bits
        let mut eligible: Option<(usize, u16)> = None;
        let mut found = 0;
        for (place, item) in before {
            let Some(segment) = item.segment().filter(|_| item.key() == key) else { continue };
            let bits = segment.flags.header_bits() & ECN_BITS;
            if eligible.is_some_and(|(_, before)| before != bits) {
                eligible = None;
                found -= 1;
            }
            if !is_pure_ack(segment) || !replaces(arrived, segment) {
                continue;
            }
            let (first, _) = *eligible.get_or_insert((place, bits));
            found += 1;
            if found > 1 {
                return Some(first);
            }
        }
        let bits = arrived.flags.header_bits() & ECN_BITS;
        let single = eligible.filter(|_| self == Self::Aggressive);
        single.filter(|(place, own)| place + 2 == line.len() && *own == bits).map(|(place, _)| place)
    }
}

#[cfg(test)]
mod tests {
    use super::super::FlowKey;
    use super::super::waiting::Marked;
    use super::*;
    use crate::ip::Ecn;
    use crate::segment::SackBlocks;
    use crate::time::Time;
    use crate::units::ByteCount;

    /// A segment of a connection.
    #[derive(Clone, Debug)]
    struct Piece(u16, Segment);

    impl Item for Piece {
        fn bytes(&self) -> ByteCount {
            ByteCount::from_bytes(52)
        }
        fn key(&self) -> FlowKey {
            use crate::ip::{FiveTuple, Protocol};
            let address = |port| std::net::SocketAddr::from(([10, 0, 0, 1], port));
            FlowKey::from(FiveTuple::new(Protocol::Tcp, address(self.0), address(443)))
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn mark(&mut self) -> bool {
            false
        }
        fn segment(&self) -> Option<&Segment> {
            Some(&self.1)
        }
    }

    fn ack(number: u64) -> Segment {
        Segment { acknowledgement: number, flags: Flags::ACK, ..Segment::default() }
    }

    fn with_sack(number: u64, blocks: &[(u64, u64)]) -> Segment {
        let mut sack = SackBlocks::default();
        blocks.iter().for_each(|(start, end)| sack.push(*start, *end));
        Segment { options: Some(Box::new(SegmentOptions::Sack(sack))), ..ack(number) }
    }

    /// Numbers that wait after these segments have arrived in order, each with the port of its connection.
    fn waiting(filter: AckFilter, segments: &[(u16, Segment)]) -> Vec<u64> {
        let mut line = WaitingItems::default();
        for (port, segment) in segments {
            line.push(Time::ZERO, Piece(*port, segment.clone()));
            filter.filter(&mut line);
        }
        std::iter::from_fn(|| line.pop()).map(|item| item.item.1.acknowledgement).collect()
    }

    fn of_one(filter: AckFilter, segments: &[Segment]) -> Vec<u64> {
        waiting(filter, &segments.iter().map(|segment| (1, segment.clone())).collect::<Vec<_>>())
    }

    use AckFilter::{Aggressive, Conservative, Off};

    #[test]
    fn an_ack_replaces_earlier_ones_of_its_connection() {
        let acks = [1000, 2000, 3000, 4000].map(ack);
        assert_eq!(of_one(Off, &acks), [1000, 2000, 3000, 4000]);
        // two remain: the last one, and the one that it alone would replace
        assert_eq!(of_one(Conservative, &acks), [3000, 4000]);
        assert_eq!(of_one(Aggressive, &acks), [4000]);
        let of_two = [(1, ack(1000)), (2, ack(500)), (1, ack(2000)), (2, ack(600)), (1, ack(3000))];
        assert_eq!(waiting(Conservative, &of_two), [500, 2000, 600, 3000]);
        // with others in between a single one stays
        assert_eq!(waiting(Aggressive, &of_two[..3]), [1000, 500, 2000]);
    }

    #[test]
    fn what_says_more_than_the_number_stays() {
        // a duplicate acknowledgement counts for fast retransmission
        assert_eq!(of_one(Aggressive, &[ack(1000), ack(1000), ack(1000)]), [1000; 3]);
        let data = Segment { length: 100, ..ack(1000) };
        let fin = Segment { flags: Flags::ACK.with(Flags::FIN), ..ack(1000) };
        for kept in [data, fin] {
            assert_eq!(of_one(Aggressive, &[kept, ack(2000), ack(3000)]), [1000, 3000]);
        }
        // an older timestamp would go backwards
        let older = [Segment { timestamp: 7, ..ack(1000) }, Segment { timestamp: 6, ..ack(2000) }];
        assert_eq!(of_one(Aggressive, &older), [1000, 2000]);
        // the change of ECE is information
        let echo = |number| Segment { flags: Flags::ACK.with(Flags::ECE), ..ack(number) };
        assert_eq!(of_one(Aggressive, &[ack(1000), echo(2000), echo(3000)]), [1000, 3000]);
    }

    #[test]
    fn blocks_that_the_later_one_covers_may_go() {
        let (one, more) = (with_sack(1000, &[(3000, 4000)]), with_sack(1000, &[(3000, 5000)]));
        assert_eq!(of_one(Aggressive, &[one.clone(), more.clone()]), [1000]);
        assert_eq!(of_one(Aggressive, &[more, one.clone()]), [1000, 1000], "the later one says less");
        assert_eq!(of_one(Aggressive, &[one.clone(), one.clone()]), [1000, 1000], "a duplicate");
        assert_eq!(of_one(Aggressive, &[one, ack(2000)]), [1000, 2000], "the block is lost");
        // a DSACK (RFC 2883) is reported only once
        assert_eq!(of_one(Aggressive, &[with_sack(1000, &[(0, 500)]), ack(2000)]), [1000, 2000]);
    }

    #[test]
    fn a_marked_item_is_still_a_segment() {
        let marked = Marked { item: Piece(1, ack(7)), marked: true };
        assert_eq!(marked.segment().unwrap().acknowledgement, 7);
    }
}
