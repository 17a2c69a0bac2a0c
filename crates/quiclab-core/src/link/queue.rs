//! Packets of a link that wait for serialisation in a queue discipline.
//!
//! Limits of drop-tail include the packet in service (see `queue/drop_tail.rs`); all other disciplines count
//! waiting packets only, as their Linux counterparts below a shaper.

use crate::ip::Ecn;
use crate::packet::Packet;
use crate::queue::{FlowKey, Item, segment_of};
use crate::segment::Segment;
use crate::units::ByteCount;

/// A packet and its properties that a discipline uses, so that it need not read the packet.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) packet: Box<Packet>,
    /// Bytes to serialise, the link's overhead included.
    pub(super) wire_size: ByteCount,
}

impl Item for Queued {
    fn bytes(&self) -> ByteCount {
        self.wire_size
    }
    fn key(&self) -> FlowKey {
        FlowKey::of_packet(&self.packet)
    }
    fn ecn(&self) -> Ecn {
        self.packet.ecn
    }
    fn mark(&mut self) -> bool {
        let capable = self.packet.ecn != Ecn::NotEct;
        if capable {
            self.packet.ecn = Ecn::Ce;
        }
        capable
    }
    fn segment(&self) -> Option<&Segment> {
        segment_of(&self.packet)
    }
}
