//! RTP packets that wait for window and pacer (RFC 8298 section 4.1.3: "a mechanism that discards RTP packets when
//! the network throughput becomes very low and RTP packets are excessively delayed").

use quiclab_core::{ByteCount, Duration, RtpPacket, Time};
use std::collections::VecDeque;

/// Maximum wait of the oldest packet; then all packets are discarded, as a decoder needs the preceding ones.
const MAX_WAIT: Duration = Duration::from_millis(500);

/// Queue of RTP packets.
#[derive(Debug, Default)]
pub(super) struct Queue {
    packets: VecDeque<(RtpPacket, ByteCount)>,
    bytes: ByteCount,
    pub(super) discarded: u64,
}

impl Queue {
    pub(super) fn put(&mut self, packet: RtpPacket, size: ByteCount) {
        self.packets.push_back((packet, size));
        self.bytes += size;
    }

    /// Length of the next packet.
    pub(super) fn next(&self) -> Option<ByteCount> {
        self.packets.front().map(|(_, size)| *size)
    }

    pub(super) fn take(&mut self) -> Option<(RtpPacket, ByteCount)> {
        let (packet, size) = self.packets.pop_front()?;
        self.bytes -= size;
        Some((packet, size))
    }

    pub(super) fn bytes(&self) -> ByteCount {
        self.bytes
    }

    /// Time for which the oldest packet has waited.
    pub(super) fn age(&self, now: Time) -> Duration {
        self.packets.front().map_or(Duration::ZERO, |(packet, _)| now.since(packet.captured))
    }

    /// Discards all packets if the oldest is too old.
    pub(super) fn expire(&mut self, now: Time) {
        if self.age(now) >= MAX_WAIT {
            self.discarded += self.packets.len() as u64;
            self.packets.clear();
            self.bytes = ByteCount::ZERO;
        }
    }
}
