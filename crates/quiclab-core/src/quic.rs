//! QUIC as bytes and as values.
//!
//! *Bytes*: the frames of a packet's plaintext, and the parser that traces and observers use for packets of
//! any stack. *Values*: the packets of lab-quic ([`QuicPacket`]), whose sizes are exact and which can be
//! encoded as bytes.

mod ack;
mod cursor;
mod encode;
mod error;
mod frame;
mod model;
#[cfg(test)]
mod tests;

pub use ack::{Ack, AckRanges, EcnCounts};
pub use cursor::{Cursor, VARINT_MAX};
pub use encode::{varint_length, write_varint};
pub use error::{FrameError, FrameFault};
pub use frame::{Frame, Frames};
pub use model::{
    AckFrame, PacketFormat, PacketSpace, QuicDatagram, QuicFrame, QuicPacket, TlsSession,
    TransportParameters, Wire,
};
