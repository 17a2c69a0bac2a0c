//! Sizes of modelled packets on the wire, and their bytes.
//!
//! The bytes are for observers of a run, such as traces. The network uses only the sizes; a test keeps the
//! two equal. [`v1`] is QUIC version 1, [`gquic`] is Google QUIC 37.

mod gquic;
#[cfg(test)]
mod tests;
mod v1;

use super::model::{AckFrame, PacketFormat, PacketSpace, QuicDatagram, QuicFrame, QuicPacket, Wire};

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

/// Appends `value` in its shortest encoding (RFC 9000 section 16).
///
/// # Panics
/// Above 2^62 - 1.
pub fn write_varint(out: &mut Vec<u8>, value: u64) {
    match varint_length(value) {
        1 => out.push(value as u8),
        2 => out.extend_from_slice(&(0x4000 | value as u16).to_be_bytes()),
        4 => out.extend_from_slice(&(0x8000_0000 | value as u32).to_be_bytes()),
        _ => out.extend_from_slice(&(0xc000_0000_0000_0000 | value).to_be_bytes()),
    }
}

/// Appends `length` zeros: placeholder for data, tokens and connection IDs.
fn zeros(out: &mut Vec<u8>, length: usize) {
    out.resize(out.len() + length, 0);
}

impl Wire {
    /// Length of the AEAD tag in bytes.
    #[must_use]
    pub const fn tag_length(self) -> usize {
        match self {
            Self::V1 => 16,
            Self::Gquic37 => 12,
        }
    }
}

impl PacketFormat {
    /// Length in bytes of the header of a packet with `payload` bytes of frames, packet number included.
    #[must_use]
    pub fn header_length(&self, space: PacketSpace, payload: usize) -> usize {
        match self.wire {
            Wire::V1 => v1::header_length(self, space, payload),
            Wire::Gquic37 => gquic::header_length(self, space),
        }
    }
}

impl QuicFrame {
    /// Length of the frame in bytes. STOP_WAITING depends on the length of its packet number; alone, it
    /// counts with the longest one.
    ///
    /// # Panics
    /// If the version has no such frame.
    #[must_use]
    pub fn length(&self, wire: Wire) -> usize {
        match wire {
            Wire::V1 => v1::frame_length(self),
            Wire::Gquic37 => gquic::frame_length(self, gquic::MAX_NUMBER_LENGTH),
        }
    }
}

impl AckFrame {
    /// Length of the frame in bytes.
    #[must_use]
    pub fn length(&self, wire: Wire) -> usize {
        match wire {
            Wire::V1 => v1::ack_length(self),
            Wire::Gquic37 => gquic::ack_length(self),
        }
    }

    /// Number of its first ranges that fit into a frame of `room` bytes; 0 if not even one fits.
    #[must_use]
    pub fn fit(&self, wire: Wire, room: usize) -> usize {
        match wire {
            Wire::V1 => v1::ack_fit(self, room),
            Wire::Gquic37 => gquic::ack_fit(self, room),
        }
    }
}

impl QuicPacket {
    /// Length of its frames in bytes.
    #[must_use]
    pub fn payload_length(&self) -> usize {
        match self.format.wire {
            Wire::V1 => self.frames.iter().map(v1::frame_length).sum(),
            Wire::Gquic37 => {
                let number = usize::from(self.format.number_length);
                self.frames.iter().map(|frame| gquic::frame_length(frame, number)).sum()
            }
        }
    }

    /// Length from the header to the tag in bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        let payload = self.payload_length();
        self.format.header_length(self.space, payload) + payload + self.format.wire.tag_length()
    }

    /// Appends the header without protection.
    pub fn encode_header(&self, out: &mut Vec<u8>) {
        match self.format.wire {
            Wire::V1 => v1::encode_header(self, out),
            Wire::Gquic37 => gquic::encode_header(self, out),
        }
    }

    /// Appends the frames in plaintext.
    pub fn encode_payload(&self, out: &mut Vec<u8>) {
        match self.format.wire {
            Wire::V1 => self.frames.iter().for_each(|frame| v1::encode_frame(frame, out)),
            Wire::Gquic37 => self.frames.iter().for_each(|frame| gquic::encode_frame(frame, self, out)),
        }
    }
}

impl QuicDatagram {
    /// Length of the UDP payload in bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        self.packets.iter().map(QuicPacket::length).sum()
    }
}
