//! Packets on the way through a link: serialised, and due at the far end after their delay.

use crate::packet::Packet;
use crate::time::Time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Packets in flight, by the time they are due.
#[derive(Debug)]
pub(super) enum Flight {
    /// Nobody overtakes: each packet is due at its own time or with the one before it, if later.
    InOrder(VecDeque<(Time, Packet)>),
    /// Each packet is due at its own time.
    Reordering(Reordering),
}

/// A heap of small keys; the packets themselves stay where they are.
#[derive(Debug, Default)]
pub(super) struct Reordering {
    /// Due time, number in the order of departure (equal times keep that order), slot.
    due: BinaryHeap<Reverse<(Time, u64, usize)>>,
    packets: Vec<Packet>,
    /// Slots of `packets` that are not in use.
    free: Vec<usize>,
    departures: u64,
}

impl Flight {
    /// An empty flight.
    pub(super) fn new(reordering: bool) -> Self {
        if reordering { Self::Reordering(Reordering::default()) } else { Self::InOrder(VecDeque::new()) }
    }

    /// `packet` sets off and is due at `due`, unless it has to wait for the one before it.
    pub(super) fn push(&mut self, due: Time, packet: Packet) {
        match self {
            Self::InOrder(packets) => {
                let due = packets.back().map_or(due, |(before, _)| due.max(*before));
                packets.push_back((due, packet));
            }
            Self::Reordering(flight) => flight.push(due, packet),
        }
    }

    /// When the next packet is due; `None` if none is in flight.
    pub(super) fn next_due(&self) -> Option<Time> {
        match self {
            Self::InOrder(packets) => packets.front().map(|(due, _)| *due),
            Self::Reordering(flight) => flight.due.peek().map(|Reverse((due, ..))| *due),
        }
    }

    /// Takes out the next packet if it is due at `now`.
    pub(super) fn pop_due(&mut self, now: Time) -> Option<Packet> {
        if self.next_due()? > now {
            return None;
        }
        match self {
            Self::InOrder(packets) => packets.pop_front().map(|(_, packet)| packet),
            Self::Reordering(flight) => flight.pop(),
        }
    }

    /// Number of packets in flight.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        match self {
            Self::InOrder(packets) => packets.len(),
            Self::Reordering(flight) => flight.due.len(),
        }
    }
}

impl Reordering {
    fn push(&mut self, due: Time, packet: Packet) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.packets.push(Packet::default());
            self.packets.len() - 1
        });
        self.packets[slot] = packet;
        self.due.push(Reverse((due, self.departures, slot)));
        self.departures += 1;
    }

    fn pop(&mut self) -> Option<Packet> {
        let Reverse((.., slot)) = self.due.pop()?;
        self.free.push(slot);
        Some(std::mem::take(&mut self.packets[slot]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(reordering: bool, due: &[u64]) -> Vec<(u64, u64)> {
        let mut flight = Flight::new(reordering);
        for (id, due) in (0..).zip(due) {
            flight.push(Time::from_nanos(*due), Packet { id, ..Packet::default() });
        }
        let mut arrivals = Vec::new();
        while let Some(due) = flight.next_due() {
            assert!(flight.pop_due(Time::from_nanos(due.as_nanos() - 1)).is_none());
            arrivals.push((due.as_nanos(), flight.pop_due(due).unwrap().id));
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

    #[test]
    fn slots_are_used_again() {
        let mut flight = Reordering::default();
        for id in 0..1000 {
            flight.push(Time::from_nanos(id), Packet { id, ..Packet::default() });
            if id >= 3 {
                assert_eq!(flight.pop().unwrap().id, id - 3);
            }
        }
        assert_eq!(flight.packets.len(), 4);
    }
}
