//! Contents of the payload of lab-tcp segments.
//!
//! The payload of a segment is a length. The meaning of its bytes must reach the peer's application
//! nevertheless: a segment with the first byte of a *record*, one write of an application in one TLS record,
//! contains a description of the write ([`crate::SegmentOptions::Records`]).

use crate::{Http2Frame, Time};

/// One write of an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Position of its first byte in the TCP stream, where the TLS record begins if there is one.
    pub position: u64,
    /// Length of the application data in bytes.
    pub length: u16,
    /// Contents that begin in it.
    pub contents: Contents,
}

/// Contents that begin in a record; longer ones continue in the records after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Frames of HTTP/2, which are contiguous from the first byte of the stream on.
    Http2(Vec<Http2Frame>),
    /// A media frame, which is the first of its record.
    Media(MediaFrame),
}

impl Default for Contents {
    /// Contents of a record in which nothing begins.
    fn default() -> Self {
        Self::Http2(Vec::new())
    }
}

/// A frame of a video (the workload `live`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaFrame {
    /// Capture time.
    pub captured: Time,
    /// Length in bytes.
    pub length: u32,
}
