//! Packets that wait in the queue of a tunnel.

use crate::element::DropReason;
use crate::ip::{self, Ecn};
use crate::packet::{Direction, FlowId, Packet, Payload};
use crate::queue::{FlowKey, Item};
use crate::time::{Duration, Time};
use crate::units::ByteCount;

/// An IP packet with the time of its arrival.
#[derive(Clone, Debug)]
pub(super) struct QueuedPacket {
    pub(super) packet: Box<Packet>,
    pub(super) entered: Time,
}

impl Item for QueuedPacket {
    /// Length of the IP packet: the overhead depends on the path.
    fn bytes(&self) -> ByteCount {
        self.packet.size
    }

    fn key(&self) -> FlowKey {
        FlowKey::of_packet(&self.packet)
    }

    /// ECN field in the header of an IP packet of real hosts; bytes that are no IP packet are not
    /// ECN-capable.
    fn ecn(&self) -> Ecn {
        match &self.packet.payload {
            Payload::Ip(bytes) => ip::read(bytes).map_or(Ecn::NotEct, |(header, _)| header.ecn),
            _ => self.packet.ecn,
        }
    }

    fn mark(&mut self) -> bool {
        if self.ecn() == Ecn::NotEct {
            return false;
        }
        match &mut self.packet.payload {
            Payload::Ip(bytes) => ip::set_ecn(bytes, Ecn::Ce),
            _ => self.packet.ecn = Ecn::Ce,
        }
        true
    }
}

/// Departure of a packet from the queue of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SojournRecord {
    /// Time of the departure.
    pub time: Time,
    /// Flow of the packet; 0 for packets of real hosts.
    pub flow: FlowId,
    /// Direction of the packet.
    pub direction: Direction,
    /// Waiting time.
    pub sojourn: Duration,
    /// Reason for its drop; `None` if it was sent.
    pub dropped: Option<DropReason>,
}

/// Records of a queue, up to a maximum.
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

    /// Records a packet that has already left.
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
    use crate::ip::{FiveTuple, Protocol};

    fn queued(bytes: &[u8]) -> QueuedPacket {
        let address = std::net::SocketAddr::from(([10, 0, 0, 1], 1));
        let tuple = FiveTuple::new(Protocol::Udp, address, address);
        let mut packet = Packet::of_datagram(Time::ZERO, tuple, Ecn::NotEct, Default::default());
        packet.payload = Payload::Ip(bytes.into());
        QueuedPacket { packet: Box::new(packet), entered: Time::ZERO }
    }

    fn header(item: &QueuedPacket) -> &[u8] {
        let Payload::Ip(bytes) = &item.packet.payload else { unreachable!("made of bytes") };
        bytes
    }

    #[test]
    fn the_ecn_field_is_that_of_the_header() {
        for codepoint in 0..4 {
            let ipv4 = [0x45, codepoint, 0, 20, 1, 2, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            let mut ipv6 = [0_u8; 40];
            (ipv6[0], ipv6[1]) = (0x60, codepoint << 4 | 0x0f);
            for mut item in [queued(&ipv4), queued(&ipv6)] {
                assert_eq!(item.ecn(), Ecn::from_codepoint(codepoint));
                assert_eq!(item.mark(), codepoint != 0);
                let expected = if codepoint == 0 { Ecn::NotEct } else { Ecn::Ce };
                assert_eq!((item.ecn(), ip::read(header(&item)).unwrap().0.ecn), (expected, expected));
            }
        }
    }

    #[test]
    fn what_is_no_ip_packet_is_not_ecn_capable() {
        for garbage in [&[][..], &[0x45, 3], &[0x60, 0x30], &[0xff; 60]] {
            let mut item = queued(garbage);
            assert_eq!((item.ecn(), item.mark(), header(&item)), (Ecn::NotEct, false, garbage));
        }
    }
}
