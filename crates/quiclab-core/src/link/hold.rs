//! Packets that a link holds back at its end, identified individually: prescribed reordering with an exact depth.
//!
//! | | netem `reorder` | here |
//! | --- | --- | --- |
//! | selection | each with a probability, or every n-th | numbers, counted from 0 in the order of arrival at the link |
//! | distance | selected packets overtake all delayed ones | listed packets wait, for a time or until a number of others have passed |
//!
//! All earlier stages are unaffected: a held packet has been queued, serialised and delayed as the others. It leaves
//! directly behind the packet that it waits for, before others that are due at that instant.

use crate::link::Hold;
use crate::packet::Packet;
use crate::time::{Duration, Time};
use std::collections::BTreeMap;

/// Packets to be held, and packets that are held.
#[derive(Debug)]
pub(super) struct HoldList {
    /// Packets to be held that have not arrived, by number of arrival.
    listed: BTreeMap<u64, Hold>,
    /// Number of the next arrival.
    next_arrival: u64,
    /// Packets to be held that are inside the link, not yet at its end, by [`Packet::id`]. One that the queue drops
    /// stays here.
    marked: BTreeMap<u64, Hold>,
    /// Held packets, in the order in which their holds began.
    held: Vec<HeldPacket>,
}

#[derive(Debug)]
struct HeldPacket {
    packet: Box<Packet>,
    /// Latest departure.
    due: Time,
    /// Number of packets that still have to pass; `None` if it waits for its time.
    behind: Option<u64>,
}

impl HoldList {
    /// `None` if nothing is to be held.
    pub(super) fn new(holds: &[Hold]) -> Option<Box<Self>> {
        let listed: BTreeMap<u64, Hold> = holds.iter().map(|hold| (hold.packet, *hold)).collect();
        let holding = Self { listed, next_arrival: 0, marked: BTreeMap::new(), held: Vec::new() };
        (!holds.is_empty()).then(|| Box::new(holding))
    }

    /// Handles the arrival of a packet at the link. To be called once for each, lost packets included.
    pub(super) fn arrives(&mut self, packet: &Packet) {
        if let Some(hold) = self.listed.remove(&self.next_arrival) {
            self.marked.insert(packet.id, hold);
        }
        self.next_arrival += 1;
    }

    /// The hold of the packet with this identifier, which reaches the end of the link: its duration and the number of
    /// packets that have to pass.
    pub(super) fn holds(&mut self, id: u64) -> Option<(Duration, Option<u64>)> {
        self.marked.remove(&id).map(|hold| (hold.by, hold.behind))
    }

    /// Holds `packet` from `now` on.
    pub(super) fn keep(&mut self, now: Time, packet: Box<Packet>, (by, behind): (Duration, Option<u64>)) {
        self.held.push(HeldPacket { packet, due: now + by, behind });
    }

    /// Handles the departure of a packet at `now`, which passes those that are held.
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

    /// Time at which the next held packet leaves.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.held.iter().map(|held| held.due).min()
    }

    /// Removes the packet that leaves first.
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
