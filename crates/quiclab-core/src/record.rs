//! What the payload of segments of lab-tcp says.
//!
//! A segment's payload is a length. What its bytes mean must reach the peer's application nevertheless: a
//! segment with the first byte of a *record*, one write of an application in one record of TLS, tells what
//! is written there ([`crate::SegmentOptions::Records`]).

use crate::{Http2Frame, Time};

/// One write of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Position of its first byte in the stream of TCP, where TLS' record begins if there is one.
    pub position: u64,
    /// Bytes of the application.
    pub length: u16,
    /// What begins in it.
    pub contents: Contents,
}

/// What begins in a record; what is longer continues in the records after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Frames of HTTP/2, which follow each other without a gap from the stream's first byte on.
    Http2(Vec<Http2Frame>),
    /// A media frame, which is the first of its record.
    Media(MediaFrame),
}

impl Default for Contents {
    /// Nothing begins.
    fn default() -> Self {
        Self::Http2(Vec::new())
    }
}

/// A frame of a video (the workload `live`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaFrame {
    /// When it was captured.
    pub captured: Time,
    /// Its bytes.
    pub length: u32,
}
