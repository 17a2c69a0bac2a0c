//! A cursor over bytes in network order, with QUIC's variable-length integers (RFC 9000 section 16).
//!
//! Every read is checked; a read that fails consumes nothing.

/// Largest value of a variable-length integer (RFC 9000 section 16).
pub const VARINT_MAX: u64 = (1 << 62) - 1;

/// Remainder of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at the first of `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The bytes not yet read.
    #[must_use]
    pub const fn rest(self) -> &'a [u8] {
        self.rest
    }

    /// The next byte.
    pub fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// The next `length` bytes.
    pub fn bytes(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(usize::try_from(length).ok()?)?;
        self.rest = rest;
        Some(taken)
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(taken)
    }

    /// A variable-length integer and its encoded length in bytes.
    pub(crate) fn varint_and_length(&mut self) -> Option<(u64, usize)> {
        // "the two most significant bits of the first byte encode the base-2 logarithm of the
        // integer encoding length in bytes"
        let value = match self.rest.first()? >> 6 {
            0 => return self.byte().map(|byte| (u64::from(byte), 1)),
            1 => (u64::from(u16::from_be_bytes(*self.array()?) & 0x3fff), 2),
            2 => (u64::from(u32::from_be_bytes(*self.array()?) & 0x3fff_ffff), 4),
            _ => (u64::from_be_bytes(*self.array()?) & VARINT_MAX, 8),
        };
        Some(value)
    }

    /// A variable-length integer.
    pub fn varint(&mut self) -> Option<u64> {
        self.varint_and_length().map(|(value, _)| value)
    }

    /// Bytes preceded by their length as a variable-length integer.
    pub fn prefixed(&mut self) -> Option<&'a [u8]> {
        let mut ahead = *self;
        let length = ahead.varint()?;
        let bytes = ahead.bytes(length)?;
        *self = ahead;
        Some(bytes)
    }

    /// Bytes preceded by their length in one byte (connection identifiers).
    pub fn byte_prefixed(&mut self) -> Option<&'a [u8]> {
        let mut ahead = *self;
        let length = ahead.byte()?;
        let bytes = ahead.bytes(u64::from(length))?;
        *self = ahead;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_rfc_9000_appendix_a_1() {
        for (bytes, value, length) in [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..], 151_288_809_941_952_652, 8),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333, 4),
            (&[0x7b, 0xbd], 15_293, 2),
            (&[0x25], 37, 1),
            (&[0x40, 0x25], 37, 2),
        ] {
            let mut cursor = Cursor::new(bytes);
            assert_eq!(cursor.varint_and_length(), Some((value, length)));
            assert!(cursor.rest().is_empty());
            let mut short = Cursor::new(&bytes[..bytes.len() - 1]);
            assert_eq!(short.varint(), None);
            assert_eq!(short.rest().len(), bytes.len() - 1, "a failed read consumes nothing");
        }
    }

    #[test]
    fn prefixed_bytes_are_all_or_nothing() {
        let mut cursor = Cursor::new(&[2, 7, 8, 3, 9]);
        assert_eq!(cursor.prefixed(), Some(&[7, 8][..]));
        assert_eq!(cursor.prefixed(), None);
        assert_eq!(cursor.byte_prefixed(), None);
        assert_eq!(cursor.rest(), [3, 9]);
    }
}
