//! Errors of frames.

use thiserror::Error;

/// Reason why the bytes at an offset are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("frame type {frame_type:#x} at byte {offset}: {fault}")]
pub struct FrameError {
    /// Start of the frame, in bytes from the start of the plaintext.
    pub offset: usize,
    /// Its type; the first byte if the type itself is truncated.
    pub frame_type: u64,
    /// The error.
    pub fault: FrameFault,
}

/// Kind of error of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameFault {
    /// The packet ends within the frame.
    #[error("the packet ends within the frame")]
    Truncated,
    /// "the frame type field MUST use the shortest possible encoding" (RFC 9000 section 12.4).
    #[error("the type is not in its shortest encoding")]
    TypeNotShortest,
    /// A field has a value that the RFC forbids.
    #[error("{0}")]
    OutOfRange(&'static str),
}
