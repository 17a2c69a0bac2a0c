//! Outages, in which no path of a session carries data, and the handling of packets in them.

use super::{Session, of_bytes};
use bytes::BytesMut;
use quiclab_carrier::TunnelEndpoint;
use quiclab_core::ip::{self, SegmentKind};
use quiclab_core::tunnel::Carrier;
use quiclab_core::{Duration, Payload, Time};

/// A time in which no path carries data, or the session is not open again yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outage {
    pub(super) since: Time,
    /// Whether the waiting packets were taken out of the queue.
    pub(super) emptied: bool,
}

impl Outage {
    /// Duration from which on waiting packets are too old: an acknowledgement would give their sender a round-trip time as
    /// long as the outage, which its retransmission timer would follow.
    pub(super) const LONG: Duration = Duration::from_secs(1);

    pub(super) fn is_long(self, now: Time) -> bool {
        self.emptied || now.since(self.since) >= Self::LONG
    }
}

impl Session {
    /// Keeps the newest packet of a flow until the end of an outage.
    pub(super) fn keep(&mut self, packet: BytesMut) {
        // an old acknowledgement would convey the round-trip time of the outage; a new one follows data
        let is_old = ip::segment_kind(&packet) == Some(SegmentKind::Acknowledgement);
        self.counts.stalled += u64::from(is_old || self.kept.keep(packet));
    }

    /// Parks a session that has ended without a request: its flows wait for the client's next session.
    pub fn park(&mut self, now: Time) {
        // received packets are dropped until addresses are assigned
        (self.open, self.allowed) = (None, Some(Vec::new()));
        self.outage = Some(Outage { since: now, emptied: true });
        self.empty_queue(now);
        // packets that were sent and that wait for their order are useless in the next session
        self.tunnel.restart();
    }

    /// Keeps the newest waiting packet of each flow.
    fn empty_queue(&mut self, now: Time) {
        for packet in self.tunnel.take_queue(now, &mut self.emitted) {
            if let Payload::Ip(bytes) = packet.payload {
                self.keep(bytes);
            }
        }
    }

    /// Detects that no packets can be sent any more, or that they can again.
    pub(super) fn follow_outage(&mut self, now: Time, endpoint: &mut TunnelEndpoint) {
        let carrier = endpoint.carrier(self.id);
        let has_path =
            carrier.is_some_and(|carrier| (0..carrier.paths()).any(|path| carrier.state(now, path).usable));
        let is_back = has_path && self.open.is_some();
        match &mut self.outage {
            None if !has_path && !self.assigned.is_empty() => {
                self.outage = Some(Outage { since: now, emptied: false });
            }
            Some(_) if is_back => {
                self.outage = None;
                for mut bytes in self.kept.take() {
                    ip::clamp_mss(&mut bytes, self.sizes.whole);
                    self.tunnel.enqueue(now, of_bytes(now, bytes), &mut self.emitted);
                }
            }
            Some(outage) if outage.is_long(now) && !outage.emptied => {
                outage.emptied = true;
                self.empty_queue(now);
            }
            _ => {}
        }
    }
}
