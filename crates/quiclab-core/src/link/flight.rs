//! Packets in transit through a link: serialised, and due at its end after their delay.

use super::store::Slot;
use crate::time::Time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Packets in flight, by the time they are due.
#[derive(Debug)]
pub(super) enum Flight {
    /// Without overtaking: each packet is due at its own time or with the one before it, if later.
    InOrder(VecDeque<(Time, Slot)>),
    /// Each packet is due at its own time.
    Reordering {
        /// Due time, number in the order of departure (equal times keep that order), packet.
        due: BinaryHeap<Reverse<(Time, u64, Slot)>>,
        departures: u64,
    },
}

impl Flight {
    /// An empty flight.
    pub(super) fn new(reordering: bool) -> Self {
        if reordering {
            Self::Reordering { due: BinaryHeap::new(), departures: 0 }
        } else {
            Self::InOrder(VecDeque::new())
        }
    }

    /// `packet` sets off and is due at `time`, unless it has to wait for the one before it.
    pub(super) fn push(&mut self, time: Time, packet: Slot) {
        match self {
            Self::InOrder(packets) => {
                let time = packets.back().map_or(time, |(before, _)| time.max(*before));
                packets.push_back((time, packet));
            }
            Self::Reordering { due, departures } => {
                due.push(Reverse((time, *departures, packet)));
                *departures += 1;
            }
        }
    }

    /// When the next packet is due; `None` if none is in flight.
    pub(super) fn next_due(&self) -> Option<Time> {
        match self {
            Self::InOrder(packets) => packets.front().map(|(time, _)| *time),
            Self::Reordering { due, .. } => due.peek().map(|Reverse((time, ..))| *time),
        }
    }

    /// Takes out the next packet if it is due at `now`.
    pub(super) fn pop_due(&mut self, now: Time) -> Option<Slot> {
        if self.next_due()? > now {
            return None;
        }
        match self {
            Self::InOrder(packets) => packets.pop_front().map(|(_, packet)| packet),
            Self::Reordering { due, .. } => due.pop().map(|Reverse((.., packet))| packet),
        }
    }

    /// Number of packets in flight.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        match self {
            Self::InOrder(packets) => packets.len(),
            Self::Reordering { due, .. } => due.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::store::Store;
    use super::*;
    use crate::packet::Packet;

    fn arrivals(reordering: bool, due: &[u64]) -> Vec<(u64, u64)> {
        let (mut store, mut flight) = (Store::default(), Flight::new(reordering));
        for (id, due) in (0..).zip(due) {
            flight.push(Time::from_nanos(*due), store.put(Packet { id, ..Packet::default() }));
        }
        let mut arrivals = Vec::new();
        while let Some(due) = flight.next_due() {
            assert!(flight.pop_due(Time::from_nanos(due.as_nanos() - 1)).is_none());
            arrivals.push((due.as_nanos(), store.take(flight.pop_due(due).unwrap()).id));
        }
        assert_eq!(flight.len(), 0);
        arrivals
    }

    #[test]
    fn in_order_a_late_packet_holds_up_those_behind_it() {
        assert_eq!(arrivals(false, &[5, 9, 7, 8, 12]), [(5, 0), (9, 1), (9, 2), (9, 3), (12, 4)]);
    }

    #[test]
    fn reordering_packets_overtake_and_equal_times_keep_the_order() {
        assert_eq!(arrivals(true, &[5, 9, 7, 9, 6]), [(5, 0), (6, 4), (7, 2), (9, 1), (9, 3)]);
    }
}
