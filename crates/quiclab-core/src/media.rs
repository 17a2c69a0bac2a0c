//! Media over RTP, as values: what the headers of RTP packets and of congestion control feedback say.

use crate::time::Time;

/// What the header of an RTP packet (RFC 3550 section 5.1) says, and the frame that it is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtpPacket {
    /// Sequence number, not cut to 16 bits.
    pub number: u64,
    /// When the frame was captured: the timestamp.
    pub captured: Time,
    /// Number of the frame.
    pub frame: u32,
    /// Packets that the frame has.
    pub packets: u16,
    /// The last one of the frame: the marker bit.
    pub marker: bool,
}

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaArrival {
    /// When.
    pub at: Time,
    /// With the mark "congestion experienced".
    pub ce: bool,
}

/// Congestion control feedback (RFC 8888 section 3.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaFeedback {
    /// When it was sent: the report timestamp.
    pub sent: Time,
    /// Number of the first packet reported on.
    pub begin: u64,
    /// What is known of it and of those that follow, in order; `None`: it has not arrived. The last one has.
    pub reports: Vec<Option<MediaArrival>>,
}
