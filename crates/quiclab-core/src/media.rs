//! Media over RTP, as values: contents of the headers of RTP packets and of congestion control feedback.

use crate::time::Time;

/// Header of an RTP packet (RFC 3550 section 5.1), and the frame that it is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtpPacket {
    /// Sequence number, not truncated to 16 bits.
    pub number: u64,
    /// Capture time of the frame: the timestamp.
    pub captured: Time,
    /// Number of the frame.
    pub frame: u32,
    /// Number of packets of the frame.
    pub packets: u16,
    /// Whether it is the last one of the frame: the marker bit.
    pub marker: bool,
}

/// Arrival of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaArrival {
    /// Arrival time.
    pub at: Time,
    /// Whether it had the mark "congestion experienced".
    pub ce: bool,
}

/// Congestion control feedback (RFC 8888 section 3.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaFeedback {
    /// Time of sending: the report timestamp.
    pub sent: Time,
    /// Number of the first packet reported on.
    pub begin: u64,
    /// Arrivals of this packet and of those that follow, in order; `None` if it has not arrived. The last one
    /// has.
    pub reports: Vec<Option<MediaArrival>>,
}
