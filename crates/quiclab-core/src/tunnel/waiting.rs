//! What waits in the queue of a tunnel.

use crate::element::DropReason;
use crate::packet::{Direction, FlowId, Packet, Payload};
use crate::queue::{FlowKey, Item};
use crate::time::{Duration, Time};
use crate::units::ByteCount;

/// An IP packet with the time at which it entered.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) packet: Packet,
    pub(super) entered: Time,
}

impl Item for Waiting {
    /// The IP packet: what the paths add depends on the path.
    fn bytes(&self) -> ByteCount {
        self.packet.size
    }

    fn key(&self) -> FlowKey {
        match &self.packet.payload {
            Payload::Ip(bytes) => FlowKey::of_ip(bytes),
            _ => FlowKey::of_tuple(&self.packet.tuple),
        }
    }

    fn mark(&mut self) -> bool {
        self.packet.mark_congestion()
    }
}

/// How a packet left the queue of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SojournRecord {
    /// When.
    pub time: Time,
    /// Its flow; 0 for packets of real hosts.
    pub flow: FlowId,
    /// Which way it travels.
    pub direction: Direction,
    /// How long it has waited.
    pub sojourn: Duration,
    /// Why it was dropped; `None`: it was sent.
    pub dropped: Option<DropReason>,
}

/// Records of a queue, as many as fit.
#[derive(Debug, Default)]
pub(super) struct Sojourns {
    /// Most records kept.
    pub(super) keep: usize,
    pub(super) records: Vec<SojournRecord>,
}

impl Sojourns {
    #[inline]
    pub(super) fn note(&mut self, now: Time, item: &Waiting, dropped: Option<DropReason>) {
        if self.records.len() < self.keep {
            let Packet { flow, direction, .. } = item.packet;
            let sojourn = now.since(item.entered);
            self.records.push(SojournRecord { time: now, flow, direction, sojourn, dropped });
        }
    }
}
