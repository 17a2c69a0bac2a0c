//! What datagrams carry: the bytes of IP packets, or numbers of packets that stay outside.
//!
//! In the sim lane most packets are models without bytes. The sending end keeps such a packet in a [`PacketStore`] and
//! sends its number in a datagram of the right length; the receiving end fetches it there. Nothing else passes
//! between the ends but through the paths.

use super::TunnelPayload;
use crate::packet::{Packet, Payload};
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Bytes of the number before the IP packet, where the receiving end puts packets in order: 18 bits, as of PDCP
/// (TS 38.323 section 6.2.2).
pub(super) const NUMBER: usize = 3;
/// Number space of the resequencer.
pub(super) const NUMBER_BITS: u8 = 18;
const NUMBERS: u64 = 1 << NUMBER_BITS;
/// Maximum number of packets in a store: older ones were lost. Two paths of 1 Gbit/s with 100 ms hold 20 000.
const MAX_STORED_PACKETS: usize = 1 << 17;

/// Packets in transit through a tunnel, in one direction.
#[derive(Debug, Default)]
pub struct PacketStore {
    /// Number of the first one kept.
    first: u64,
    packets: VecDeque<Option<Box<Packet>>>,
}

impl PacketStore {
    fn put(&mut self, packet: Box<Packet>) -> u64 {
        if self.packets.len() == MAX_STORED_PACKETS {
            self.packets.pop_front();
            self.first += 1;
        }
        self.packets.push_back(Some(packet));
        self.first + self.packets.len() as u64 - 1
    }

    /// The packet of `number`; it stays if duplicates of it are in transit.
    fn get(&mut self, number: u64, stays: bool) -> Option<Box<Packet>> {
        let slot = self.packets.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)?;
        let packet = if stays { slot.clone() } else { slot.take() };
        while let Some(None) = self.packets.front() {
            self.packets.pop_front();
            self.first += 1;
        }
        packet
    }
}

impl PacketStore {
    /// The last packet that was put there: it has not left.
    fn take_back(&mut self, number: u64) -> Option<Box<Packet>> {
        let last = self.first + (self.packets.len() as u64).checked_sub(1)?;
        if number == last { self.packets.pop_back().flatten() } else { None }
    }
}

/// Depots of a tunnel, shared by its ends.
#[derive(Clone, Debug, Default)]
pub struct PacketStores {
    /// Packets that entered here.
    entered: Arc<Mutex<PacketStore>>,
    /// Packets that entered at the other end.
    arriving: Arc<Mutex<PacketStore>>,
}

impl PacketStores {
    /// The same as the other end sees them.
    #[must_use]
    pub fn reversed(&self) -> Self {
        Self { entered: Arc::clone(&self.arriving), arriving: Arc::clone(&self.entered) }
    }
}

/// How packets become cargo and back.
#[derive(Debug)]
pub(super) enum PayloadEncoding {
    /// Their bytes.
    Bytes,
    /// Their numbers.
    References(PacketStores),
}

const NOT_POISONED: &str = "no end of a tunnel panics while it holds the depot";

impl PayloadEncoding {
    /// Takes `packet`, number `next` of those that leave; with `numbered` the cargo says so.
    pub(super) fn load(&self, packet: Box<Packet>, next: u64, numbered: bool) -> TunnelPayload {
        let header = if numbered { NUMBER } else { 0 };
        match self {
            Self::References(depots) => {
                let length = (packet.size.bytes() as usize + header) as u16;
                let number = depots.entered.lock().expect(NOT_POISONED).put(packet);
                TunnelPayload::Reference { number, length }
            }
            Self::Bytes => {
                let Payload::Ip(bytes) = packet.payload else {
                    panic!("a tunnel of bytes takes IP packets, not {:?}", packet.payload)
                };
                let cargo = if numbered {
                    let mut with_number = BytesMut::with_capacity(bytes.len() + header);
                    with_number.extend_from_slice(&((next % NUMBERS) as u32).to_be_bytes()[1..]);
                    with_number.extend_from_slice(&bytes);
                    with_number.freeze()
                } else {
                    bytes.freeze()
                };
                TunnelPayload::Bytes(cargo)
            }
        }
    }

    /// A copy of `packet`, which stays where it is and gets number `next` when it is loaded itself.
    pub(super) fn copy(&self, packet: &Packet, next: u64, numbered: bool) -> Option<TunnelPayload> {
        match self {
            Self::References(depots) => {
                let depot = depots.entered.lock().expect(NOT_POISONED);
                let number = depot.first + depot.packets.len() as u64;
                let header = if numbered { NUMBER } else { 0 };
                Some(TunnelPayload::Reference {
                    number,
                    length: (packet.size.bytes() as usize + header) as u16,
                })
            }
            Self::Bytes => Some(self.load(Box::new(packet.clone()), next, numbered)),
        }
    }

    /// Takes back what was loaded and not sent.
    pub(super) fn take_back(&self, cargo: TunnelPayload, numbered: bool) -> Option<Box<Packet>> {
        match (self, cargo) {
            (Self::References(depots), TunnelPayload::Reference { number, .. }) => {
                depots.entered.lock().expect(NOT_POISONED).take_back(number)
            }
            (_, cargo) => self.decode(cargo, numbered, false).map(|(packet, _)| packet),
        }
    }

    /// What has arrived: the packet, and its number where packets have one. `None`: nothing that this end
    /// could have been sent. `copies`: the same may come again.
    pub(super) fn decode(
        &self,
        cargo: TunnelPayload,
        numbered: bool,
        copies: bool,
    ) -> Option<(Box<Packet>, u32)> {
        match (self, cargo) {
            (Self::References(depots), TunnelPayload::Reference { number, .. }) => {
                let packet = depots.arriving.lock().expect(NOT_POISONED).get(number, copies)?;
                Some((packet, (number % NUMBERS) as u32))
            }
            (Self::Bytes, TunnelPayload::Bytes(bytes)) => {
                let (number, bytes) = if numbered { split_number(bytes)? } else { (0, bytes) };
                let size = crate::ByteCount::from_bytes(bytes.len() as u64);
                let payload = Payload::Ip(BytesMut::from(bytes));
                Some((Box::new(Packet { size, payload, ..Packet::default() }), number))
            }
            _ => None,
        }
    }
}

/// The number in front of a packet, below 2^18.
fn split_number(mut bytes: Bytes) -> Option<(u32, Bytes)> {
    if bytes.len() < NUMBER {
        return None;
    }
    let header = bytes.split_to(NUMBER);
    let number = u32::from_be_bytes([0, header[0], header[1], header[2]]);
    (u64::from(number) < NUMBERS).then_some((number, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ByteCount;

    fn model(id: u64) -> Box<Packet> {
        Box::new(Packet { id, size: ByteCount::from_bytes(1400), ..Packet::default() })
    }

    #[test]
    fn a_parcel_is_fetched_once_at_the_other_end_and_only_there() {
        let near = PacketStores::default();
        let (near, far) =
            (PayloadEncoding::References(near.clone()), PayloadEncoding::References(near.reversed()));
        let loaded: Vec<_> = (0..3).map(|id| near.load(model(id), id, true)).collect();
        assert_eq!(loaded[2], TunnelPayload::Reference { number: 2, length: 1403 });
        assert!(near.decode(loaded[1].clone(), true, false).is_none(), "it did not enter at the other end");
        let (packet, number) = far.decode(loaded[1].clone(), true, false).unwrap();
        assert_eq!((packet.id, number), (1, 1));
        assert!(far.decode(loaded[1].clone(), true, false).is_none(), "it is gone");
        assert_eq!(far.decode(loaded[0].clone(), true, true).unwrap().0.id, 0);
        assert_eq!(far.decode(loaded[0].clone(), true, true).unwrap().0.id, 0, "a copy");
    }

    #[test]
    fn a_depot_forgets_what_was_lost() {
        let mut depot = PacketStore::default();
        for id in 0..MAX_STORED_PACKETS as u64 + 10 {
            assert_eq!(depot.put(model(id)), id);
        }
        assert_eq!(depot.packets.len(), MAX_STORED_PACKETS);
        assert!(depot.get(9, false).is_none());
        assert_eq!(depot.get(10, false).unwrap().id, 10);
        assert_eq!(depot.first, 11, "what is in front and gone takes no place");
    }

    #[test]
    fn bytes_carry_their_number_and_garbage_is_nothing() {
        let payload = Payload::Ip(BytesMut::from(&[0x45, 0, 0, 20][..]));
        let size = ByteCount::from_bytes(4);
        let packet = Box::new(Packet { size, payload, ..Packet::default() });
        let loaded = PayloadEncoding::Bytes.load(packet, NUMBERS + 5, true);
        assert_eq!(loaded, TunnelPayload::Bytes(Bytes::from_static(&[0, 0, 5, 0x45, 0, 0, 20])));
        let (packet, number) = PayloadEncoding::Bytes.decode(loaded, true, false).unwrap();
        assert_eq!((packet.size, number), (size, 5));
        for garbage in [&[][..], &[1, 2], &[0xff, 0xff, 0xff, 1]] {
            let cargo = TunnelPayload::Bytes(Bytes::copy_from_slice(garbage));
            assert!(PayloadEncoding::Bytes.decode(cargo, true, false).is_none(), "{garbage:?}");
        }
    }
}
