//! Long headers (RFC 9000 section 17.2), their version-independent part (RFC 8999 section 5.1), and known
//! versions.

use quiclab_core::quic::Cursor;

/// "In QUIC version 1, this value MUST NOT exceed 20 bytes" (RFC 9000 section 17.2).
pub(in super::super) const CONNECTION_ID_BYTES_MAX: usize = 20;
const LONG: u8 = 0x80;
const FIXED: u8 = 0x40;
/// "A client MUST expand the payload of all UDP datagrams carrying Initial packets to at least the smallest allowed maximum
/// datagram size of 1200 bytes" (RFC 9000 section 14.1).
const INITIAL_BYTES: usize = 1200;
/// "This Destination Connection ID MUST be at least 8 bytes in length" (RFC 9000 section 7.2).
const FIRST_ID_BYTES: usize = 8;

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
    pub(in super::super) fn of(number: u32) -> Option<Self> {
        match number {
            1 | 0xff00_0021 | 0xff00_0022 => Some(Self::One),
            0x6b33_43cf => Some(Self::Two),
            0xff00_001d..=0xff00_0020 => Some(Self::Draft29),
            0xff00_001b | 0xff00_001c => Some(Self::Draft27),
            _ => None,
        }
    }
}

/// Meaning of a version number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Draft(u8),
    Named(&'static str),
    /// Version of Google QUIC, four characters.
    Google([u8; 4]),
}

impl Known {
    fn of(number: u32) -> Option<Self> {
        let text = number.to_be_bytes();
        Some(match number {
            0xff00_0000..=0xff00_00ff => Self::Draft(number as u8),
            0xface_b000..=0xface_b0ff => Self::Named("mvfst"),
            0xabcd_0000..=0xabcd_00ff => Self::Named("MsQuic"),
            0x709a_50c4 => Self::Named("a draft of version 2"),
            // "Versions that follow the pattern 0x?a?a?a?a are reserved" (RFC 9000 section 15)
            _ if number & 0x0f0f_0f0f == 0x0a0a_0a0a => Self::Named("reserved, to force version negotiation"),
            _ if matches!(text[0], b'Q' | b'T') && text[1..].iter().all(u8::is_ascii_digit) => {
                Self::Google(text)
            }
            _ => return None,
        })
    }
}

/// Version number as it is written, with its meaning.
pub(in super::super) fn version_name(number: u32) -> String {
    match Known::of(number) {
        None => format!("{number:08x}"),
        Some(Known::Draft(draft)) => format!("{number:08x} (draft {draft})"),
        Some(Known::Named(name)) => format!("{number:08x} ({name})"),
        Some(Known::Google(text)) => format!("{number:08x} (Google QUIC {})", text.escape_ascii()),
    }
}

/// Whether a number is that of a deployed version, or reserved.
fn is_deployed(number: u32) -> bool {
    Version::of(number).is_some() || Known::of(number).is_some()
}

/// Fields of a long header in every version (RFC 8999 section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Invariant<'a> {
    /// 0 in Version Negotiation.
    pub(in super::super) version: u32,
    pub(in super::super) destination: &'a [u8],
    pub(in super::super) source: &'a [u8],
    /// Bytes after the IDs.
    pub(in super::super) rest: &'a [u8],
}

impl<'a> Invariant<'a> {
    /// Reads the beginning of a UDP payload; `None` if it has no long header with IDs of valid lengths.
    pub(in super::super) fn of(payload: &'a [u8]) -> Option<Self> {
        let mut cursor = Cursor::new(payload);
        if !is_long(cursor.byte()?) {
            return None;
        }
        let version = u32::from_be_bytes(*cursor.array()?);
        let mut id = || cursor.byte_prefixed().filter(|id| id.len() <= CONNECTION_ID_BYTES_MAX);
        let (destination, source) = (id()?, id()?);
        Some(Self { version, destination, source, rest: cursor.rest() })
    }

    /// Versions of a Version Negotiation packet (RFC 9000 section 17.2.1), at least one of them deployed.
    pub(in super::super) fn negotiation(&self) -> Option<impl Iterator<Item = u32> + use<'a>> {
        let (words, left) = self.rest.as_chunks::<4>();
        let versions = words.iter().copied().map(u32::from_be_bytes);
        let known = self.version == 0 && left.is_empty() && versions.clone().any(is_deployed);
        known.then_some(versions)
    }

    /// Whether a UDP payload with this header begins a connection or is part of one, judged by its first bytes: a
    /// deployed version, or a padded first packet of another.
    pub(in super::super) fn is_quic(&self, payload: &[u8]) -> bool {
        let fixed = payload[0] & FIXED != 0;
        if self.version == 0 {
            return self.negotiation().is_some();
        }
        let first = payload.len() >= INITIAL_BYTES && self.destination.len() >= FIRST_ID_BYTES;
        fixed && (is_deployed(self.version) || first)
    }
}

/// Packet type of a long header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Kind {
    Initial,
    ZeroRtt,
    Handshake,
    Retry,
}

/// A long header of a recognised version, and its packet.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Long<'a> {
    pub(in super::super) version: Version,
    pub(in super::super) kind: Kind,
    pub(in super::super) destination: &'a [u8],
    pub(in super::super) source: &'a [u8],
    /// Whether an Initial packet has a token: from a Retry or an earlier connection.
    pub(in super::super) token: bool,
    /// Offset of the packet number.
    pub(in super::super) number: usize,
    /// The packet; it is shorter than the datagram if others follow.
    pub(in super::super) packet: &'a [u8],
}

/// Whether `first` is the first byte of a long header.
pub(in super::super) fn is_long(first: u8) -> bool {
    first & LONG != 0
}

/// Reads a long header at the beginning of `bytes`; `None` if it is of another version or malformed.
pub(in super::super) fn long(bytes: &[u8]) -> Option<Long<'_>> {
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
    let whole =
        |token| Long { version, kind, destination, source, token, number: bytes.len(), packet: bytes };
    if kind == Kind::Retry {
        return Some(whole(false));
    }
    let token = kind == Kind::Initial && !cursor.prefixed()?.is_empty();
    let length = cursor.varint()?;
    let number = bytes.len() - cursor.rest().len();
    cursor.bytes(length)?;
    let packet = &bytes[..bytes.len() - cursor.rest().len()];
    Some(Long { number, packet, ..whole(token) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_numbers() {
        for (number, name, deployed) in [
            (1, "00000001", true),
            (2, "00000002", false),
            (0x6b33_43cf, "6b3343cf", true),
            (0xff00_001d, "ff00001d (draft 29)", true),
            (0xface_b002, "faceb002 (mvfst)", true),
            (0xabcd_0000, "abcd0000 (MsQuic)", true),
            (0x1a2a_3a4a, "1a2a3a4a (reserved, to force version negotiation)", true),
            (0x5130_3530, "51303530 (Google QUIC Q050)", true),
            (0x5130_3541, "51303541", false),
        ] {
            assert_eq!((version_name(number).as_str(), is_deployed(number)), (name, deployed));
        }
        // a Version Negotiation packet of no deployed version is something else
        let offer = |number: u32| [&[0x80, 0, 0, 0, 0, 0, 0][..], &number.to_be_bytes()].concat();
        let versions = |packet: &[u8]| {
            let offered = Invariant::of(packet).unwrap().negotiation()?;
            Some(offered.collect::<Vec<_>>())
        };
        assert_eq!(versions(&offer(0x1a2a_3a4a)), Some(vec![0x1a2a_3a4a]));
        assert_eq!(versions(&offer(2)), None);
    }
}
