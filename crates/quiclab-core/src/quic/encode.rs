//! Sizes of modelled packets on the wire, and their bytes.
//!
//! The bytes are for whoever looks at a run: observers, traces. Sizes are what the network sees.

use super::model::{AckFrame, PacketFormat, QuicDatagram, QuicFrame, QuicPacket, Wire};
use crate::endpoint::PacketSpace;

/// Bytes of a variable-length integer (RFC 9000 section 16).
///
/// # Panics
/// Above 2^62 - 1.
#[must_use]
pub const fn varint_length(value: u64) -> usize {
    match value {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        0x4000_0000..0x4000_0000_0000_0000 => 8,
        _ => panic!("a variable-length integer has 62 bits"),
    }
}

impl Wire {
    /// Bytes of the AEAD tag.
    #[must_use]
    pub const fn tag_length(self) -> usize {
        match self {
            Self::V1 => 16,
            Self::Gquic37 => 12,
        }
    }
}

impl PacketFormat {
    /// Bytes of the header of a packet with `payload` bytes of frames, packet number included.
    #[must_use]
    pub fn header_length(&self, _space: PacketSpace, _payload: usize) -> usize {
        todo!("RFC 9000 section 17")
    }
}

impl QuicFrame {
    /// Bytes of the frame.
    #[must_use]
    pub fn length(&self, _wire: Wire) -> usize {
        todo!("RFC 9000 section 19")
    }

    /// Appends the frame; data are zeros.
    pub fn encode(&self, _wire: Wire, _out: &mut Vec<u8>) {
        todo!("RFC 9000 section 19")
    }
}

impl AckFrame {
    /// Bytes of the frame with its `ranges` first ranges.
    #[must_use]
    pub fn length(&self, _wire: Wire) -> usize {
        todo!("RFC 9000 section 19.3")
    }
}

impl QuicPacket {
    /// Bytes of its frames.
    #[must_use]
    pub fn payload_length(&self) -> usize {
        self.frames.iter().map(|frame| frame.length(self.format.wire)).sum()
    }

    /// Bytes from the header to the tag.
    #[must_use]
    pub fn length(&self) -> usize {
        let payload = self.payload_length();
        self.format.header_length(self.space, payload) + payload + self.format.wire.tag_length()
    }

    /// Appends the header without protection.
    pub fn encode_header(&self, _out: &mut Vec<u8>) {
        todo!("RFC 9000 section 17")
    }

    /// Appends the frames in plaintext.
    pub fn encode_payload(&self, out: &mut Vec<u8>) {
        self.frames.iter().for_each(|frame| frame.encode(self.format.wire, out));
    }
}

impl QuicDatagram {
    /// Bytes of the UDP payload.
    #[must_use]
    pub fn length(&self) -> usize {
        self.packets.iter().map(QuicPacket::length).sum()
    }
}
