//! Long headers (RFC 9000 section 17.2, RFC 8999 section 5.1), and the versions that are recognised.

use quiclab_core::quic::Cursor;

/// "In QUIC version 1, this value MUST NOT exceed 20 bytes" (RFC 9000 section 17.2).
pub(super) const CONNECTION_ID_BYTES_MAX: usize = 20;
const LONG: u8 = 0x80;
const FIXED: u8 = 0x40;

/// A version with salts and labels of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// Version 1, and drafts 33 and 34, which protect packets in the same way.
    One,
    /// Version 2 (RFC 9369).
    Two,
    /// Drafts 29 to 32.
    Draft29,
    /// Drafts 27 and 28.
    Draft27,
}

impl Version {
    pub(super) fn of(number: u32) -> Option<Self> {
        match number {
            1 | 0xff00_0021 | 0xff00_0022 => Some(Self::One),
            0x6b33_43cf => Some(Self::Two),
            0xff00_001d..=0xff00_0020 => Some(Self::Draft29),
            0xff00_001b | 0xff00_001c => Some(Self::Draft27),
            _ => None,
        }
    }
}

/// What a long header is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Initial,
    ZeroRtt,
    Handshake,
    Retry,
}

/// A long header of a version that is recognised, and the packet behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Long<'a> {
    pub(super) version: Version,
    pub(super) kind: Kind,
    pub(super) destination: &'a [u8],
    pub(super) source: &'a [u8],
    /// Where the packet number begins.
    pub(super) number: usize,
    /// The packet; it is shorter than the datagram if others follow.
    pub(super) packet: &'a [u8],
}

/// Whether `first` begins a packet with a long header.
pub(super) fn is_long(first: u8) -> bool {
    first & LONG != 0
}

/// Whether a UDP payload is the beginning of a connection of a version that is recognised: what makes its flow QUIC.
pub(in super::super) fn begins_connection(payload: &[u8]) -> bool {
    let mut cursor = Cursor::new(payload);
    let known = cursor.byte().is_some_and(|first| first & (LONG | FIXED) == LONG | FIXED)
        && cursor.array().is_some_and(|number| Version::of(u32::from_be_bytes(*number)).is_some());
    let mut id = || cursor.byte_prefixed().is_some_and(|id| id.len() <= CONNECTION_ID_BYTES_MAX);
    known && id() && id()
}

/// Reads a long header at the beginning of `bytes`; `None` if it is of another version or not well formed.
pub(super) fn long(bytes: &[u8]) -> Option<Long<'_>> {
    let mut cursor = Cursor::new(bytes);
    let first = cursor.byte()?;
    let version = Version::of(u32::from_be_bytes(*cursor.array()?))?;
    let mut id = || cursor.byte_prefixed().filter(|id| id.len() <= CONNECTION_ID_BYTES_MAX);
    let (destination, source) = (id()?, id()?);
    // "Version 2 [...] Initial: 0b01, 0-RTT: 0b10, Handshake: 0b11, Retry: 0b00" (RFC 9369 section 3.2)
    let rotated = if version == Version::Two { (first >> 4).wrapping_sub(1) } else { first >> 4 };
    let kind = match rotated & 3 {
        0 => Kind::Initial,
        1 => Kind::ZeroRtt,
        2 => Kind::Handshake,
        _ => Kind::Retry,
    };
    if kind == Kind::Retry {
        return Some(Long { version, kind, destination, source, number: bytes.len(), packet: bytes });
    }
    if kind == Kind::Initial {
        cursor.prefixed()?; // token
    }
    let length = cursor.varint()?;
    let number = bytes.len() - cursor.rest().len();
    cursor.bytes(length)?;
    let packet = &bytes[..bytes.len() - cursor.rest().len()];
    Some(Long { version, kind, destination, source, number, packet })
}
