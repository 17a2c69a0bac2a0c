//! What waits for serialisation: packets of a link in a queue discipline.
//!
//! Limits of drop-tail include the packet in service (see `queue/drop_tail.rs`); all other disciplines count what
//! waits, as their Linux counterparts below a shaper do.

use super::store::Slot;
use crate::ip::Ecn;
use crate::queue::{FlowKey, Item};
use crate::units::ByteCount;

/// A packet with what a discipline needs to know about it.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) packet: Slot,
    /// Bytes to serialise, the link's overhead included.
    pub(super) wire_size: ByteCount,
    ecn_capable: bool,
    /// It must get the mark when it leaves.
    pub(super) marked: bool,
}

impl Queued {
    /// `packet` lies in `slot`.
    pub(super) fn new(slot: Slot, wire_size: ByteCount, ecn: Ecn) -> Self {
        Self { packet: slot, wire_size, ecn_capable: ecn != Ecn::NotEct, marked: false }
    }
}

impl Item for Queued {
    fn bytes(&self) -> ByteCount {
        self.wire_size
    }
    /// Never asked: a link classifies packets before it stores them.
    fn key(&self) -> FlowKey {
        FlowKey::default()
    }
    fn mark(&mut self) -> bool {
        self.marked |= self.ecn_capable;
        self.ecn_capable
    }
}
