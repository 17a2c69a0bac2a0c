//! RTP packets that wait for window and pacer (RFC 8298 section 4.1.3: "a mechanism that discards RTP packets when
//! the network throughput becomes very low and RTP packets are excessively delayed").

use quiclab_core::{ByteCount, Duration, RtpPacket, Time};
use std::collections::VecDeque;

/// All that waits is given up when the oldest waits this long: a decoder needs what came before.
const MAX_WAIT: Duration = Duration::from_millis(500);

/// The queue.
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

    /// How long the oldest waits.
    pub(super) fn age(&self, now: Time) -> Duration {
        self.packets.front().map_or(Duration::ZERO, |(packet, _)| now.since(packet.captured))
    }

    /// Gives everything up if it is too old.
    pub(super) fn expire(&mut self, now: Time) {
        if self.age(now) >= MAX_WAIT {
            self.discarded += self.packets.len() as u64;
            self.packets.clear();
            self.bytes = ByteCount::ZERO;
        }
    }
}
