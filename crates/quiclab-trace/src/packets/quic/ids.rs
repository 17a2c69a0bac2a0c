//! Connection IDs, which identify the connection of a datagram at any address (RFC 9000 section 5.2).
//!
//! An ID belongs to one endpoint of a connection, and is in the packets sent to it. IDs are learned from long headers, from
//! the frames that issue them if there are keys, and from decrypted packets of a connection. Short headers do not contain
//! the length of their ID: the lengths of known IDs are tried, the longest first.

use super::header::CONNECTION_ID_BYTES_MAX;
use std::collections::HashMap;

/// Maximum number of stored IDs, of all connections and of one: about 10 MB.
const IDS_MAX: usize = 1 << 17;
const IDS_OF_CONNECTION_MAX: u32 = 1 << 12;
/// Minimum length of an ID that is matched at any address: a random match with another packet is negligible.
const TELLING_BYTES: usize = 8;
/// Minimum length of an ID that is matched where one address and port is one of its connection.
const SHORT_BYTES: usize = 4;

/// A connection ID that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct ConnectionId {
    bytes: [u8; CONNECTION_ID_BYTES_MAX],
    length: u8,
}

impl ConnectionId {
    /// ID with these bytes; `None` if there are none, or more than version 1 allows.
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

/// A connection ID learned from a datagram.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct NewId {
    pub(in super::super) id: ConnectionId,
    /// Whether it belongs to the sender of the datagram, otherwise to its receiver.
    pub(in super::super) of_sender: bool,
    pub(in super::super) path: u32,
    pub(in super::super) sequence: u64,
}

/// Owner of a connection ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Owner {
    /// Index of the flow.
    pub(in super::super) flow: usize,
    /// Whether it belongs to the end that sent the flow's first packet: packets with it go backward.
    pub(in super::super) of_first: bool,
    pub(in super::super) length: u8,
    /// Path ID of Multipath QUIC; otherwise 0.
    pub(in super::super) path: u32,
    pub(in super::super) sequence: u64,
}

/// The connection IDs of a capture.
#[derive(Default)]
pub(in super::super) struct ConnectionIds {
    /// Used for lookups only, never iterated; IDs are untrusted, so the hash is the standard library's.
    owners: HashMap<ConnectionId, Owner>,
    /// Bit n: there is an ID of n bytes.
    lengths: u32,
    /// Number of IDs of each flow.
    counts: HashMap<usize, u32>,
    /// Number of IDs that were not stored.
    pub(in super::super) beyond: u64,
}

impl ConnectionIds {
    /// Stores the IDs learned from a datagram of a flow.
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

    /// Owner of this ID, if it matches at these addresses; `near` returns whether a flow has one of them.
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

    /// Owner of the ID in a packet with a short header.
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
                // an ID of the connection at these addresses is likelier than a random match of a shorter one
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
