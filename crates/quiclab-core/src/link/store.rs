//! Where the packets inside a link lie. Queue and flight pass on slots of a few bytes, so that a
//! packet is moved twice: in and out.

use crate::packet::Packet;

/// All packets inside a link.
#[derive(Debug, Default)]
pub(super) struct Store {
    /// `None` where the slot is free.
    packets: Vec<Option<Packet>>,
    free: Vec<Slot>,
}

/// The place of one packet. It cannot be copied: who holds it, holds the packet.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot(usize);

impl Store {
    /// Puts `packet` into a free slot.
    pub(super) fn put(&mut self, packet: Packet) -> Slot {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.packets.push(None);
            Slot(self.packets.len() - 1)
        });
        self.packets[slot.0] = Some(packet);
        slot
    }

    /// The packet in a slot.
    pub(super) fn get(&self, slot: &Slot) -> &Packet {
        self.packets[slot.0].as_ref().expect("a slot is handed out for a packet only")
    }

    /// The packet in a slot, to change it.
    pub(super) fn get_mut(&mut self, slot: &Slot) -> &mut Packet {
        self.packets[slot.0].as_mut().expect("a slot is handed out for a packet only")
    }

    /// Takes the packet out and frees its slot.
    pub(super) fn take(&mut self, slot: Slot) -> Packet {
        let packet = self.packets[slot.0].take().expect("a slot is handed out for a packet only");
        self.free.push(slot);
        packet
    }

    /// Number of packets.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_come_back_and_slots_are_used_again() {
        let mut store = Store::default();
        let mut slots = std::collections::VecDeque::new();
        for id in 0..1000 {
            slots.push_back(store.put(Packet { id, ..Packet::default() }));
            if id >= 3 {
                assert_eq!(store.take(slots.pop_front().unwrap()).id, id - 3);
            }
        }
        assert_eq!((store.len(), store.packets.len()), (3, 4));
    }
}
