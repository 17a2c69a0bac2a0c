//! What waits in the queue of a tunnel.

use crate::element::DropReason;
use crate::ip::Ecn;
use crate::packet::{Direction, FlowId, Packet, Payload};
use crate::queue::{FlowKey, Item};
use crate::time::{Duration, Time};
use crate::units::ByteCount;

/// An IP packet with the time at which it entered.
#[derive(Clone, Debug)]
pub(super) struct QueuedPacket {
    pub(super) packet: Box<Packet>,
    pub(super) entered: Time,
}

impl Item for QueuedPacket {
    /// The IP packet: what the paths add depends on the path.
    fn bytes(&self) -> ByteCount {
        self.packet.size
    }

    fn key(&self) -> FlowKey {
        FlowKey::of_packet(&self.packet)
    }

    fn mark(&mut self) -> bool {
        if let Payload::Ip(bytes) = &mut self.packet.payload {
            return mark_ip(bytes);
        }
        let capable = self.packet.ecn != Ecn::NotEct;
        if capable {
            self.packet.ecn = Ecn::Ce;
        }
        capable
    }
}

/// Sets CE in the header of an IP packet (RFC 3168 section 5); `false` if it is not ECN-capable, or no IP packet.
fn mark_ip(packet: &mut [u8]) -> bool {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) if packet.len() >= 20 && packet[1] & 3 != 0 => {
            let added = u32::from(3 - (packet[1] & 3));
            packet[1] |= 3;
            // RFC 1624, equation 3: the checksum of a header of which a word has grown
            let checksum = !u16::from_be_bytes([packet[10], packet[11]]);
            let sum = u32::from(checksum) + added;
            let folded = !(((sum & 0xffff) + (sum >> 16)) as u16);
            packet[10..12].copy_from_slice(&folded.to_be_bytes());
            true
        }
        // the traffic class begins in the first byte; its last two bits are the upper ones of the second's half
        Some(6) if packet.len() >= 40 && packet[1] & 0x30 != 0 => {
            packet[1] |= 0x30;
            true
        }
        _ => false,
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
pub(super) struct SojournLog {
    /// Maximum number of records kept.
    pub(super) keep: usize,
    pub(super) records: Vec<SojournRecord>,
}

impl SojournLog {
    #[inline]
    pub(super) fn note(&mut self, now: Time, item: &QueuedPacket, dropped: Option<DropReason>) {
        let Packet { flow, direction, .. } = *item.packet;
        self.note_of(now, flow, direction, item.entered, dropped);
    }

    /// The same of a packet that has gone already.
    #[inline]
    pub(super) fn note_of(
        &mut self,
        now: Time,
        flow: FlowId,
        direction: Direction,
        entered: Time,
        dropped: Option<DropReason>,
    ) {
        if self.records.len() < self.keep {
            let sojourn = now.since(entered);
            self.records.push(SojournRecord { time: now, flow, direction, sojourn, dropped });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sum of the words of a header, which is 0xffff if its checksum is right (RFC 1071).
    fn sum(header: &[u8]) -> u32 {
        let words = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let sum: u32 = words.sum();
        (sum & 0xffff) + (sum >> 16)
    }

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        for ecn in 0..4 {
            let mut header = [0x45, ecn, 0, 20, 1, 2, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            let checksum = !(sum(&header) as u16);
            header[10..12].copy_from_slice(&checksum.to_be_bytes());
            assert_eq!(mark_ip(&mut header), ecn != 0);
            assert_eq!(header[1], if ecn == 0 { 0 } else { 3 });
            assert_eq!(sum(&header), 0xffff, "{ecn}");
        }
    }

    #[test]
    fn ipv6_and_garbage() {
        let mut header = [0u8; 40];
        (header[0], header[1]) = (0x60, 0x2f);
        assert!(mark_ip(&mut header));
        assert_eq!((header[0], header[1]), (0x60, 0x3f));
        header[1] = 0x0f;
        assert!(!mark_ip(&mut header));
        for garbage in [&mut [][..], &mut [0x45, 3], &mut [0x60, 0x30], &mut [0xff; 60]] {
            assert!(!mark_ip(garbage));
        }
    }
}
