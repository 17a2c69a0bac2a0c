//! QUIC as bytes: the frames of a packet's plaintext, and what they are read with.
//!
//! What traces and observers understand of packets that some stack made; no endpoint needs it.

mod ack;
mod cursor;
mod frame;
#[cfg(test)]
mod tests;

pub use ack::{Ack, AckRanges, EcnCounts};
pub use cursor::{Cursor, VARINT_MAX};
pub use frame::{Frame, FrameError, FrameFault, Frames};
