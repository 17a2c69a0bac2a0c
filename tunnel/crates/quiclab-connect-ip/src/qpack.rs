//! QPACK (RFC 9204) with the static table alone: an endpoint that announces a dynamic table of capacity 0, which is the default,
//! and uses none itself, needs no more. References to a dynamic table are errors.

use super::huffman;
use super::static_table::STATIC_TABLE;
use bytes::{BufMut, BytesMut};

/// Maximum size of a field section as RFC 9114 section 4.2.2 counts it: bytes of names and values, and 32 for each field.
pub const MAX_SECTION_BYTES: usize = 16 << 10;
/// Size that each field adds to it.
const FIELD_OVERHEAD: usize = 32;

/// A field: name and value.
pub type Field = (Vec<u8>, Vec<u8>);

/// Error of a field section (QPACK_DECOMPRESSION_FAILED).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QpackError {
    /// The section ends within a field, or an integer is too large.
    #[error("a field section is truncated")]
    Truncated,
    /// The dynamic table has no entries.
    #[error("a field refers to the dynamic table, whose capacity is 0")]
    Dynamic,
    /// The static table has no such entry.
    #[error("a field refers to entry {0} of the static table")]
    Index(u64),
    /// A string is not coded by the Huffman code of HPACK.
    #[error("a string with a wrong Huffman code")]
    Huffman,
    /// The section is larger than this end has announced.
    #[error("a field section of more than {MAX_SECTION_BYTES} bytes")]
    TooLong,
}

/// Decodes the fields of a field section.
///
/// # Errors
/// If it is malformed, refers to a dynamic table or is too large.
pub fn decode(section: &[u8]) -> Result<Vec<Field>, QpackError> {
    let mut reader = Reader { bytes: section, left: MAX_SECTION_BYTES };
    // required insert count, then base with its sign (section 4.5.1)
    if reader.integer(8)? != 0 {
        return Err(QpackError::Dynamic);
    }
    if reader.peek()? & 0x80 != 0 {
        return Err(QpackError::Dynamic);
    }
    reader.integer(7)?;
    let mut fields = Vec::new();
    while !reader.bytes.is_empty() {
        reader.spend(FIELD_OVERHEAD)?;
        let first = reader.peek()?;
        let (name, value) = match first {
            // an indexed field line: 1, T, index (section 4.5.2)
            0x80.. => {
                let entry = reader.entry(first & 0x40 != 0, 6)?;
                (reader.copy(entry.0)?, reader.copy(entry.1)?)
            }
            // a literal with a name reference: 01, N, T, index (section 4.5.4)
            0x40.. => {
                let entry = reader.entry(first & 0x10 != 0, 4)?;
                (reader.copy(entry.0)?, reader.string(7)?)
            }
            // a literal with a literal name: 001, N, H, length (section 4.5.6)
            0x20.. => (reader.string(3)?, reader.string(7)?),
            // post-base indices (sections 4.5.3 and 4.5.5)
            _ => return Err(QpackError::Dynamic),
        };
        fields.push((name, value));
    }
    Ok(fields)
}

struct Reader<'a> {
    bytes: &'a [u8],
    /// Decoded bytes that the section may still have.
    left: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Result<u8, QpackError> {
        self.bytes.first().copied().ok_or(QpackError::Truncated)
    }

    fn spend(&mut self, bytes: usize) -> Result<(), QpackError> {
        self.left = self.left.checked_sub(bytes).ok_or(QpackError::TooLong)?;
        Ok(())
    }

    /// An integer in the lowest `prefix` bits of the first byte (RFC 7541 section 5.1); slightly above 2^32 at
    /// most.
    fn integer(&mut self, prefix: u32) -> Result<u64, QpackError> {
        let mask = (1_u64 << prefix) - 1;
        let mut value = u64::from(self.peek()?) & mask;
        self.bytes = &self.bytes[1..];
        if value < mask {
            return Ok(value);
        }
        for shift in (0..35).step_by(7) {
            let byte = u64::from(self.peek()?);
            self.bytes = &self.bytes[1..];
            value += (byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(QpackError::Truncated)
    }

    fn entry(&mut self, is_static: bool, prefix: u32) -> Result<(&'static str, &'static str), QpackError> {
        if !is_static {
            return Err(QpackError::Dynamic);
        }
        let index = self.integer(prefix)?;
        let entry = usize::try_from(index).ok().and_then(|index| STATIC_TABLE.get(index));
        entry.copied().ok_or(QpackError::Index(index))
    }

    fn copy(&mut self, text: &str) -> Result<Vec<u8>, QpackError> {
        self.spend(text.len())?;
        Ok(text.as_bytes().to_vec())
    }

    /// A string whose length has `prefix` bits, after the bit for the Huffman code.
    fn string(&mut self, prefix: u32) -> Result<Vec<u8>, QpackError> {
        let coded = self.peek()? & 1 << prefix != 0;
        let length = usize::try_from(self.integer(prefix)?).map_err(|_| QpackError::Truncated)?;
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or(QpackError::Truncated)?;
        self.bytes = rest;
        let string = if coded {
            // an overlong string differs from a wrong code by its minimum length: eight bits take 5 to 30
            huffman::decode(taken, self.left).ok_or(QpackError::Huffman)?
        } else {
            taken.to_vec()
        };
        self.spend(string.len())?;
        Ok(string)
    }
}

/// Encodes `fields` as a field section: as entries of the static table, names of its entries, or literals.
#[must_use]
pub fn encode(fields: &[(&str, &str)]) -> BytesMut {
    let mut out = BytesMut::from(&[0, 0][..]);
    for (name, value) in fields {
        if let Some(index) = STATIC_TABLE.iter().position(|entry| entry == &(*name, *value)) {
            integer(&mut out, 0xc0, 6, index);
            continue;
        }
        match STATIC_TABLE.iter().position(|(of, _)| of == name) {
            Some(index) => integer(&mut out, 0x50, 4, index),
            None => {
                integer(&mut out, 0x20, 3, name.len());
                out.put_slice(name.as_bytes());
            }
        }
        integer(&mut out, 0, 7, value.len());
        out.put_slice(value.as_bytes());
    }
    out
}

/// Appends an integer with `bits` above its prefix.
fn integer(out: &mut BytesMut, bits: u8, prefix: u32, value: usize) {
    let mask = (1 << prefix) - 1;
    if value < mask {
        return out.put_u8(bits | value as u8);
    }
    out.put_u8(bits | mask as u8);
    let mut rest = value - mask;
    while rest >= 0x80 {
        out.put_u8(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.put_u8(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, value: &str) -> Field {
        (name.as_bytes().to_vec(), value.as_bytes().to_vec())
    }

    #[test]
    fn the_first_example_of_rfc_9204_appendix_b() {
        // B.1: literal with a name reference, :path = /index.html
        let section = [&[0, 0, 0x51, 0x0b][..], b"/index.html"].concat();
        assert_eq!(decode(&section), Ok(vec![field(":path", "/index.html")]));
        assert_eq!(encode(&[(":path", "/index.html")]), &section[..]);
    }

    #[test]
    fn fields_are_read_as_they_were_written() {
        let long = "x".repeat(1000);
        let fields =
            [(":method", "CONNECT"), (":protocol", "connect-ip"), ("a-name-of-its-own", &long), ("age", "")];
        let read: Vec<Field> = fields.iter().map(|(name, value)| field(name, value)).collect();
        let section = encode(&fields);
        assert_eq!(decode(&section), Ok(read));
        for length in 0..section.len() {
            assert!(
                decode(&section[..length]).is_ok_and(|some| some.len() < fields.len())
                    || length < 2
                    || decode(&section[..length]) == Err(QpackError::Truncated),
                "{length}"
            );
        }
        // the same name by the Huffman code: "custom-key" of RFC 7541 C.4.3
        let coded = [0, 0, 0x2f, 0x01, 0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xa9, 0x7d, 0x7f, 0x01, b'1'];
        assert_eq!(decode(&coded), Ok(vec![field("custom-key", "1")]));
    }

    #[test]
    fn what_this_end_has_not_allowed_is_an_error() {
        assert_eq!(decode(&[]), Err(QpackError::Truncated));
        assert_eq!(decode(&[1, 0]), Err(QpackError::Dynamic), "an insertion is required");
        assert_eq!(decode(&[0, 0x80]), Err(QpackError::Dynamic), "a negative base");
        for first in [0x80, 0x40, 0x10, 0x00] {
            assert_eq!(decode(&[0, 0, first]), Err(QpackError::Dynamic), "{first:x}");
        }
        assert_eq!(decode(&[0, 0, 0xff, 99 - 63]), Err(QpackError::Index(99)));
        let many = encode(&vec![("age", "0"); MAX_SECTION_BYTES / (FIELD_OVERHEAD + 4) + 1]);
        assert_eq!(decode(&many), Err(QpackError::TooLong));
        assert_eq!(
            decode(&[0, 0, 0x51, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
            Err(QpackError::Truncated)
        );
    }
}
