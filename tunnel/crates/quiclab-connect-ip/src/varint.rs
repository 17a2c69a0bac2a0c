//! Variable-length integers of QUIC (RFC 9000 section 16), which HTTP/3, capsules and HTTP Datagrams use.

use bytes::{BufMut, BytesMut};

/// The largest value.
pub const MAX_VARINT: u64 = (1 << 62) - 1;

/// Integer at the beginning of `bytes`, and its length in bytes; `None` if more must arrive first.
#[must_use]
pub fn read(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    let length = 1 << (first >> 6);
    let rest = bytes.get(1..length)?;
    let value = rest.iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte));
    Some((value, length))
}

/// Appends `value`, at most [`MAX_VARINT`], in as few bytes as possible.
pub fn write(out: &mut BytesMut, value: u64) {
    debug_assert!(value <= MAX_VARINT);
    match value {
        0..0x40 => out.put_u8(value as u8),
        0x40..0x4000 => out.put_u16(1 << 14 | value as u16),
        0x4000..0x4000_0000 => out.put_u32(2 << 30 | value as u32),
        _ => out.put_u64(3 << 62 | value),
    }
}

/// Reads successive values from complete bytes.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn varint(&mut self) -> Option<u64> {
        let (value, length) = read(self.0)?;
        self.0 = &self.0[length..];
        Some(value)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_rfc_9000_appendix_a_1() {
        let examples: [(&[u8], u64); 4] = [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
        ];
        for (bytes, value) in examples {
            assert_eq!(read(bytes), Some((value, bytes.len())));
            assert_eq!(read(&bytes[..bytes.len() - 1]), None);
            let mut out = BytesMut::new();
            write(&mut out, value);
            assert_eq!(&out[..], bytes);
        }
        // two bytes for 37: allowed, and never written
        assert_eq!(read(&[0x40, 0x25]), Some((37, 2)));
    }

    #[test]
    fn limits_of_each_length() {
        for value in [0, 63, 64, 16_383, 16_384, (1 << 30) - 1, 1 << 30, MAX_VARINT] {
            let mut out = BytesMut::new();
            write(&mut out, value);
            assert_eq!(read(&out), Some((value, out.len())), "{value}");
        }
    }
}
