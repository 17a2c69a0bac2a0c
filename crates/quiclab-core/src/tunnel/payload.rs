//! Content of datagrams: the bytes of IP packets, or numbers of packets that are stored outside.
//!
//! In the sim lane most packets are models without bytes. The sending end stores such a packet in a [`PacketStore`] and
//! sends its number in a datagram of the right length; the receiving end fetches it there. The ends exchange nothing
//! else except over the paths.

use super::TunnelPayload;
use super::number::{NUMBER, NUMBERS, Numbering, Tag};
use super::report::Report;
use crate::packet::{Packet, Payload};
use crate::packet_memory::PacketMemory;
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Maximum number of packets in a store: older ones were lost. Two paths of 1 Gbit/s with 100 ms hold 20 000.
const MAX_STORED_PACKETS: usize = 1 << 17;

/// Position of the tag in the number of a [`TunnelPayload::Reference`].
const TAG_SHIFT: u32 = 56;

/// Content of a received datagram.
#[derive(Debug)]
pub(super) enum Arrived {
    /// A packet, its number and its tag.
    Packet(Box<Packet>, u32, Tag),
    /// A report of packets that a path has lost.
    Report(Report),
}

/// Packets in transit through a tunnel, in one direction.
#[derive(Debug, Default)]
pub struct PacketStore {
    /// Number of the first packet in the store.
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

    /// The packet of `number`; it stays in the store if duplicates of it are in transit.
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
    /// Removes the last packet that was stored and has not left.
    fn take_back(&mut self, number: u64) -> Option<Box<Packet>> {
        let last = self.first + (self.packets.len() as u64).checked_sub(1)?;
        if number == last { self.packets.pop_back().flatten() } else { None }
    }
}

/// Packet stores of a tunnel, shared by its ends.
#[derive(Clone, Debug, Default)]
pub struct PacketStores {
    /// Packets that entered at this end.
    entered: Arc<Mutex<PacketStore>>,
    /// Packets that entered at the peer.
    arriving: Arc<Mutex<PacketStore>>,
    /// Reports of this end, and of its peer.
    reports: (Arc<Mutex<PacketStore>>, Arc<Mutex<PacketStore>>),
}

impl PacketStores {
    /// The same stores from the view of the peer.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let (ours, theirs) = &self.reports;
        Self {
            entered: Arc::clone(&self.arriving),
            arriving: Arc::clone(&self.entered),
            reports: (Arc::clone(theirs), Arc::clone(ours)),
        }
    }
}

/// Encoding of packets as payloads.
#[derive(Debug)]
pub(super) enum PayloadEncoding {
    /// Bytes of packets, in memory of this end.
    Bytes(PacketMemory),
    /// Numbers of packets in a store.
    References(PacketStores),
}

const NOT_POISONED: &str = "no end of a tunnel panics while it holds the depot";

impl PayloadEncoding {
    /// Encodes `packet`, number `next` of those that leave.
    pub(super) fn load(
        &mut self,
        packet: Box<Packet>,
        next: u64,
        numbering: Numbering,
        tag: Tag,
    ) -> TunnelPayload {
        let header = numbering.length();
        match self {
            Self::References(depots) => {
                let length = (packet.size.bytes() as usize + header) as u16;
                let number = depots.entered.lock().expect(NOT_POISONED).put(packet);
                TunnelPayload::Reference { number: number | u64::from(tag.bits()) << TAG_SHIFT, length }
            }
            Self::Bytes(memory) => {
                let Payload::Ip(bytes) = packet.payload else {
                    panic!("a tunnel of bytes takes IP packets, not {:?}", packet.payload)
                };
                let cargo = match numbering {
                    Numbering::Off => bytes.freeze(),
                    Numbering::Plain | Numbering::Tagged => with_header(next, tag, &bytes, memory),
                };
                TunnelPayload::Bytes(cargo)
            }
        }
    }

    /// Encodes a report as a datagram.
    pub(super) fn load_report(&mut self, report: &Report) -> TunnelPayload {
        let (tag, bytes) = (Tag { report: true, ..Tag::default() }, report.encode());
        match self {
            Self::References(depots) => {
                let length = (bytes.len() + NUMBER) as u16;
                let payload = Payload::Ip(BytesMut::from(&bytes[..]));
                let packet = Box::new(Packet { payload, ..Packet::default() });
                let number = depots.reports.0.lock().expect(NOT_POISONED).put(packet);
                TunnelPayload::Reference { number: number | u64::from(tag.bits()) << TAG_SHIFT, length }
            }
            Self::Bytes(memory) => TunnelPayload::Bytes(with_header(0, tag, &bytes, memory)),
        }
    }

    /// Encodes a copy of `packet`, which stays where it is and gets number `next` when it is encoded itself.
    pub(super) fn copy(
        &mut self,
        packet: &Packet,
        next: u64,
        numbering: Numbering,
        tag: Tag,
    ) -> TunnelPayload {
        match self {
            Self::References(depots) => {
                let depot = depots.entered.lock().expect(NOT_POISONED);
                let number = depot.first + depot.packets.len() as u64;
                let length = (packet.size.bytes() as usize + numbering.length()) as u16;
                TunnelPayload::Reference { number: number | u64::from(tag.bits()) << TAG_SHIFT, length }
            }
            Self::Bytes(_) => self.load(Box::new(packet.clone()), next, numbering, tag),
        }
    }

    /// Takes back a payload that was encoded and not sent.
    pub(super) fn take_back(&mut self, cargo: TunnelPayload, numbering: Numbering) -> Option<Box<Packet>> {
        match (&*self, cargo) {
            (Self::References(depots), TunnelPayload::Reference { number, .. }) => {
                depots.entered.lock().expect(NOT_POISONED).take_back(untagged(number).0)
            }
            (_, cargo) => match self.decode(cargo, numbering, false)? {
                Arrived::Packet(packet, ..) => Some(packet),
                Arrived::Report(_) => None,
            },
        }
    }

    /// Decodes an arrived payload. `None` if it cannot have been sent to this end. `copies`: the same payload may
    /// arrive again.
    pub(super) fn decode(
        &mut self,
        cargo: TunnelPayload,
        numbering: Numbering,
        copies: bool,
    ) -> Option<Arrived> {
        match (self, cargo) {
            (Self::References(depots), TunnelPayload::Reference { number, .. }) => {
                let (number, tag) = untagged(number);
                if tag.report {
                    let packet = depots.reports.1.lock().expect(NOT_POISONED).get(number, false)?;
                    let Payload::Ip(bytes) = packet.payload else { return None };
                    return Report::decode(&bytes).map(Arrived::Report);
                }
                let stays = copies || numbering == Numbering::Tagged;
                let packet = depots.arriving.lock().expect(NOT_POISONED).get(number, stays)?;
                Some(Arrived::Packet(packet, (number % NUMBERS) as u32, tag))
            }
            (Self::Bytes(memory), TunnelPayload::Bytes(bytes)) => {
                let (number, tag, bytes) = split_header(bytes, numbering)?;
                if tag.report {
                    return Report::decode(&bytes).map(Arrived::Report);
                }
                let size = crate::ByteCount::from_bytes(bytes.len() as u64);
                let bytes = bytes.try_into_mut().unwrap_or_else(|shared| memory.copy(&shared));
                let payload = Payload::Ip(bytes);
                Some(Arrived::Packet(Box::new(Packet { size, payload, ..Packet::default() }), number, tag))
            }
            _ => None,
        }
    }
}

/// The same payload at another `place` of a path.
pub(super) fn moved(payload: TunnelPayload, place: u64) -> TunnelPayload {
    let place = Tag::place_of(place);
    match payload {
        TunnelPayload::Reference { number, length } => {
            let (number, tag) = untagged(number);
            let tag = Tag { place, ..tag };
            TunnelPayload::Reference { number: number | u64::from(tag.bits()) << TAG_SHIFT, length }
        }
        TunnelPayload::Bytes(bytes) => {
            let mut bytes = BytesMut::from(&bytes[..]);
            let low = bytes[0] & 0x3;
            bytes[0] = Tag { place, ..Tag::of_bits(bytes[0]) }.bits() | low;
            TunnelPayload::Bytes(bytes.freeze())
        }
    }
}

/// Number and tag of a reference.
const fn untagged(number: u64) -> (u64, Tag) {
    (number & ((1 << TAG_SHIFT) - 1), Tag::of_bits((number >> TAG_SHIFT) as u8))
}

/// A header with `next` modulo 2^18 and `tag`, followed by `bytes`.
pub(super) fn with_header(next: u64, tag: Tag, bytes: &[u8], memory: &mut PacketMemory) -> Bytes {
    let [_, first, second, third] = ((next % NUMBERS) as u32).to_be_bytes();
    memory.join(&[first | tag.bits(), second, third], bytes).freeze()
}

/// Splits off the number in front of a packet, below 2^18, and the tag, which is empty with plain numbers.
fn split_header(mut bytes: Bytes, numbering: Numbering) -> Option<(u32, Tag, Bytes)> {
    if numbering == Numbering::Off {
        return Some((0, Tag::default(), bytes));
    }
    if bytes.len() < NUMBER {
        return None;
    }
    let header = bytes.split_to(NUMBER);
    let tag = Tag::of_bits(header[0]);
    let number = u32::from_be_bytes([0, header[0] & 0x3, header[1], header[2]]);
    (numbering == Numbering::Tagged || tag == Tag::default()).then_some((number, tag, bytes))
}

#[cfg(test)]
#[path = "payload_tests.rs"]
mod tests;
