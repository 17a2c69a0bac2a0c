//! Coder: frames at even intervals, with a size that follows the target rate.

use super::Parameters;
use quiclab_core::{ByteCount, Duration, RtpPacket, Time};

/// Header of an RTP packet (RFC 3550 section 5.1).
pub(super) const RTP_HEADER: ByteCount = ByteCount::from_bytes(12);

/// Source of frames until the end.
#[derive(Debug)]
pub(super) struct Source {
    start: Time,
    end: Time,
    frame_rate: u32,
    mss: ByteCount,
    /// Number of the next frame.
    frame: u32,
}

impl Source {
    pub(super) fn new(parameters: &Parameters) -> Self {
        let &Parameters { start, end, frame_rate, mss, .. } = parameters;
        Self { start, end, frame_rate, mss, frame: 0 }
    }

    /// Capture time of the next frame; `None` after the last.
    pub(super) fn next(&self) -> Option<Time> {
        let second = Duration::from_secs(1).as_nanos();
        let offset = Duration::from_nanos((u64::from(self.frame) * second).div_ceil(self.frame_rate.into()));
        Some(self.start + offset).filter(|time| *time < self.end)
    }

    /// Captures the next frame at a rate in bit/s; returns its packets with their sizes, of which all but the
    /// last are full. Packets are numbered when they are sent: those discarded before have no number.
    pub(super) fn capture(&mut self, now: Time, rate: f64, mut put: impl FnMut(RtpPacket, ByteCount)) {
        let bytes = (rate / f64::from(self.frame_rate) / 8.0) as u64;
        let least = RTP_HEADER.bytes() + 1;
        let packets = bytes.max(least).div_ceil(self.mss.bytes()).min(u16::MAX.into());
        let mut left = bytes.max(least);
        for index in 1..=packets {
            let header = RtpPacket {
                number: 0,
                captured: now,
                frame: self.frame,
                packets: packets as u16,
                marker: index == packets,
            };
            // the last has the rest, and always a header
            put(header, ByteCount::from_bytes(left.min(self.mss.bytes()).max(least)));
            left = left.saturating_sub(self.mss.bytes());
        }
        self.frame += 1;
    }
}
