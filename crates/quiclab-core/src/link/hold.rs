//! Packets that a link holds back at its end, identified individually: reordering as prescribed, of an exact depth.
//!
//! | | netem `reorder` | here |
//! | --- | --- | --- |
//! | which | each with a probability, or every n-th | numbers, counted from 0 in the order of arrival at the link |
//! | how far | those chosen overtake all that is delayed | those named wait, for a time or until so many have passed |
//!
//! Everything before is as without it: a held packet has been queued, serialised and delayed as the others. It
//! leaves directly behind the packet that it waits for, before others that are due at that instant.

use crate::link::Hold;
use crate::packet::Packet;
use crate::time::{Duration, Time};
use std::collections::BTreeMap;

/// Which packets are to be held, and those that are.
#[derive(Debug)]
pub(super) struct HoldList {
    /// By number of arrival, those still to come.
    listed: BTreeMap<u64, Hold>,
    /// Number of the next arrival.
    next_arrival: u64,
    /// By [`Packet::id`]: inside the link, not yet at its end. One that the queue drops stays here.
    marked: BTreeMap<u64, Hold>,
    /// In the order in which they came to be held.
    held: Vec<HeldPacket>,
}

#[derive(Debug)]
struct HeldPacket {
    packet: Box<Packet>,
    /// When it leaves at the latest.
    due: Time,
    /// How many more have to pass; `None`: it waits for its time.
    behind: Option<u64>,
}

impl HoldList {
    /// `None` if nothing is to be held.
    pub(super) fn new(holds: &[Hold]) -> Option<Box<Self>> {
        let listed: BTreeMap<u64, Hold> = holds.iter().map(|hold| (hold.packet, *hold)).collect();
        let holding = Self { listed, next_arrival: 0, marked: BTreeMap::new(), held: Vec::new() };
        (!holds.is_empty()).then(|| Box::new(holding))
    }

    /// A packet arrives at the link. To be called once for each, those that are lost included.
    pub(super) fn arrives(&mut self, packet: &Packet) {
        if let Some(hold) = self.listed.remove(&self.next_arrival) {
            self.marked.insert(packet.id, hold);
        }
        self.next_arrival += 1;
    }

    /// The packet with this identifier reaches the end of the link at `now`: whether it is held there, and how
    /// long.
    pub(super) fn holds(&mut self, id: u64) -> Option<(Duration, Option<u64>)> {
        self.marked.remove(&id).map(|hold| (hold.by, hold.behind))
    }

    /// Holds `packet` from `now` on.
    pub(super) fn keep(&mut self, now: Time, packet: Box<Packet>, (by, behind): (Duration, Option<u64>)) {
        self.held.push(HeldPacket { packet, due: now + by, behind });
    }

    /// A packet leaves the link at `now` and passes those that are held.
    pub(super) fn passed(&mut self, now: Time) {
        for held in &mut self.held {
            if let Some(left) = &mut held.behind {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    held.due = held.due.min(now);
                }
            }
        }
    }

    /// When the next of those that are held leaves.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.held.iter().map(|held| held.due).min()
    }

    /// Takes out the one that leaves first.
    pub(super) fn pop(&mut self) -> Option<Box<Packet>> {
        let due = self.next_due()?;
        let first = self.held.iter().position(|held| held.due == due)?;
        Some(self.held.remove(first).packet)
    }

    /// Number of packets held.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }
}
