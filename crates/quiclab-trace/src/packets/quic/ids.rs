//! Connection IDs: which connection a datagram belongs to, whatever its addresses (RFC 9000 section 5.2).
//!
//! An ID names one end of a connection, and is in the packets towards it. IDs are learned from long headers, from the frames
//! that give them out where there are keys, and from packets of a connection that keys have opened. The lengths of short
//! headers' IDs are not in the packets: those of known IDs are tried, the longest first.

use super::header::CONNECTION_ID_BYTES_MAX;
use std::collections::HashMap;

/// IDs that are remembered, of all connections and of one: some 10 MB.
const IDS_MAX: usize = 1 << 17;
const IDS_OF_CONNECTION_MAX: u32 = 1 << 12;
/// An ID of this length is found under any addresses: that another packet begins so by chance is out of the question.
const TELLING_BYTES: usize = 8;
/// An ID from here on is found where one end's address and port are those of its connection.
const SHORT_BYTES: usize = 4;

/// A connection ID that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct ConnectionId {
    bytes: [u8; CONNECTION_ID_BYTES_MAX],
    length: u8,
}

impl ConnectionId {
    /// The ID with these bytes; `None` for none, or more than version 1 allows.
    pub(in super::super) fn new(id: &[u8]) -> Option<Self> {
        if id.is_empty() || id.len() > CONNECTION_ID_BYTES_MAX {
            return None;
        }
        let mut bytes = [0; CONNECTION_ID_BYTES_MAX];
        bytes[..id.len()].copy_from_slice(id);
        Some(Self { bytes, length: id.len() as u8 })
    }

    pub(in super::super) fn length(self) -> u8 {
        self.length
    }
}

/// A connection ID that a datagram tells.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct NewId {
    pub(in super::super) id: ConnectionId,
    /// Whether it names the end that sent the datagram, otherwise the one that gets it.
    pub(in super::super) of_sender: bool,
    pub(in super::super) path: u32,
    pub(in super::super) sequence: u64,
}

/// Whose a connection ID is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Owner {
    /// Index of the flow.
    pub(in super::super) flow: usize,
    /// Whether it names the end that sent the flow's first packet: packets with it go backward.
    pub(in super::super) of_first: bool,
    pub(in super::super) length: u8,
    /// Path ID of Multipath QUIC; where there was none, 0.
    pub(in super::super) path: u32,
    pub(in super::super) sequence: u64,
}

/// The connection IDs of a capture.
#[derive(Default)]
pub(in super::super) struct ConnectionIds {
    /// Looked up only, never walked over; IDs are untrusted, so the hash is the standard library's.
    owners: HashMap<ConnectionId, Owner>,
    /// Bit n: there is an ID of n bytes.
    lengths: u32,
    /// How many IDs there are of each flow.
    counts: HashMap<usize, u32>,
    /// IDs that were not remembered.
    pub(in super::super) beyond: u64,
}

impl ConnectionIds {
    /// Remembers the IDs that a datagram of a flow has told.
    pub(in super::super) fn add(&mut self, flow: usize, backward: bool, ids: &[NewId]) {
        for new in ids {
            let of_first = new.of_sender != backward;
            let known = self.owners.get(&new.id).copied();
            if known.is_some_and(|owner| owner.flow == flow) {
                continue;
            }
            let count = self.counts.entry(flow).or_default();
            if *count == IDS_OF_CONNECTION_MAX || known.is_none() && self.owners.len() == IDS_MAX {
                self.beyond += 1;
                continue;
            }
            *count += 1;
            let NewId { id, path, sequence, .. } = *new;
            self.lengths |= 1 << id.length;
            self.owners.insert(id, Owner { flow, of_first, length: id.length, path, sequence });
        }
    }

    /// Whose ID this is, if it is found among these addresses; `near` says whether a flow has one of them.
    pub(in super::super) fn long(
        &self,
        id: &[u8],
        current: Option<usize>,
        near: impl Fn(usize) -> bool,
    ) -> Option<Owner> {
        let owner = *self.owners.get(&ConnectionId::new(id)?)?;
        let length = id.len();
        let told = current == Some(owner.flow)
            || length >= TELLING_BYTES
            || length >= SHORT_BYTES && near(owner.flow);
        told.then_some(owner)
    }

    /// Whose ID a packet with a short header has behind its first byte.
    pub(in super::super) fn short(
        &self,
        packet: &[u8],
        current: Option<usize>,
        near: impl Fn(usize) -> bool,
    ) -> Option<Owner> {
        let mut other = None;
        for length in (1..=CONNECTION_ID_BYTES_MAX).rev().filter(|length| self.lengths & 1 << length != 0) {
            let Some(id) = packet.get(1..=length) else { continue };
            match self.long(id, current, &near) {
                // that of the connection which these addresses had is more likely than a shorter one by chance
                Some(owner) if current == Some(owner.flow) => return Some(owner),
                found => other = other.or(found),
            }
        }
        other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(id: &[u8], of_sender: bool) -> NewId {
        NewId { id: ConnectionId::new(id).unwrap(), of_sender, path: 0, sequence: 0 }
    }

    #[test]
    fn ids_are_found_by_length_and_address() {
        let mut ids = ConnectionIds::default();
        ids.add(0, false, &[new(&[1; 8], true), new(&[2; 3], false)]);
        ids.add(1, true, &[new(&[3; 5], true)]);
        let packet = |id: &[u8]| [&[0x40], id, &[9; 20]].concat();
        let found = |id: &[u8], current, near: bool| {
            ids.short(&packet(id), current, |_| near).map(|owner| (owner.flow, owner.of_first))
        };
        assert_eq!(found(&[1; 8], None, false), Some((0, true)));
        assert_eq!(found(&[2; 3], Some(0), false), Some((0, false)));
        assert_eq!(found(&[2; 3], Some(1), true), None, "three bytes are found by chance");
        assert_eq!(found(&[3; 5], None, true), Some((1, false)));
        assert_eq!(found(&[3; 5], None, false), None);
        assert_eq!(found(&[7; 8], Some(0), true), None);
        assert_eq!(ids.short(&[0x40, 1, 1], None, |_| true), None, "too short");
    }

    #[test]
    fn memory_is_bounded() {
        let mut ids = ConnectionIds::default();
        for index in 0..200_000_u32 {
            ids.add(index as usize / 100, false, &[new(&index.to_be_bytes(), true)]);
        }
        assert_eq!((ids.owners.len(), ids.beyond), (IDS_MAX, 200_000 - IDS_MAX as u64));
        let mut ids = ConnectionIds::default();
        for index in 0..5000_u32 {
            ids.add(0, false, &[new(&index.to_be_bytes(), true)]);
        }
        assert_eq!((ids.owners.len(), ids.beyond), (4096, 904));
    }
}
