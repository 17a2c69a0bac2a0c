//! Packets in transit through a link, serialised and waiting for the end of their delay.

use crate::packet::Packet;
use crate::time::Time;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// Packets in flight, by due time.
#[derive(Debug)]
pub(super) enum Flight {
    /// Without overtaking: each packet is due at its own time or with the previous one, if later.
    InOrder(VecDeque<(Time, Box<Packet>)>),
    /// Each packet is due at its own time.
    Reordering { due: BinaryHeap<Departed>, departures: u64 },
}

/// A packet that may be overtaken. The greatest is the one that is due first; equal times keep the order of
/// departure.
#[derive(Debug)]
pub(super) struct Departed {
    due: Time,
    /// Number in the order of departure.
    number: u64,
    packet: Box<Packet>,
}

impl Ord for Departed {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.due, other.number).cmp(&(self.due, self.number))
    }
}

impl PartialOrd for Departed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Departed {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Departed {}

impl Flight {
    /// An empty flight.
    pub(super) fn new(reordering: bool) -> Self {
        if reordering {
            Self::Reordering { due: BinaryHeap::new(), departures: 0 }
        } else {
            Self::InOrder(VecDeque::new())
        }
    }

    /// Adds `packet`, which is due at `time` unless it has to wait for the previous one.
    pub(super) fn push(&mut self, time: Time, packet: Box<Packet>) {
        match self {
            Self::InOrder(packets) => {
                let time = packets.back().map_or(time, |(before, _)| time.max(*before));
                packets.push_back((time, packet));
            }
            Self::Reordering { due, departures } => {
                due.push(Departed { due: time, number: *departures, packet });
                *departures += 1;
            }
        }
    }

    /// Whether fewer than `limit` packets are in flight at `time`. Packets due by then have left.
    pub(super) fn has_room(&self, time: Time, limit: u64) -> bool {
        let (count, left) = match self {
            Self::InOrder(packets) => (packets.len(), packets.partition_point(|(due, _)| *due <= time)),
            // counted only where the heap is full at first sight
            Self::Reordering { due, .. } if (due.len() as u64) < limit => return true,
            Self::Reordering { due, .. } => (due.len(), due.iter().filter(|it| it.due <= time).count()),
        };
        ((count - left) as u64) < limit
    }

    /// Time at which the next packet is due; `None` if none is in flight.
    pub(super) fn next_due(&self) -> Option<Time> {
        match self {
            Self::InOrder(packets) => packets.front().map(|(time, _)| *time),
            Self::Reordering { due, .. } => due.peek().map(|first| first.due),
        }
    }

    /// Removes the next packet if it is due at `now`.
    pub(super) fn pop_due(&mut self, now: Time) -> Option<Box<Packet>> {
        if self.next_due()? > now {
            return None;
        }
        match self {
            Self::InOrder(packets) => packets.pop_front().map(|(_, packet)| packet),
            Self::Reordering { due, .. } => due.pop().map(|first| first.packet),
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
    use super::*;

    fn arrivals(reordering: bool, due: &[u64]) -> Vec<(u64, u64)> {
        let mut flight = Flight::new(reordering);
        for (id, due) in (0..).zip(due) {
            flight.push(Time::from_nanos(*due), Box::new(Packet { id, ..Packet::default() }));
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
}
