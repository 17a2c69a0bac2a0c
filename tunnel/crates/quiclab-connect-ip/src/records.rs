//! Records of a type, a length and content, from a stream that delivers them in pieces: frames of HTTP/3 (RFC 9114 section
//! 7.1) and capsules (RFC 9297 section 3.2) have the same form.

use super::varint;
use bytes::{Bytes, BytesMut};

/// Rule for a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It is returned when it is complete; if it is longer than this many bytes, it is an error.
    Whole(usize),
    /// Its content is returned as it arrives.
    Pieces,
    /// It is skipped; none of it is stored.
    Skip,
    /// It is an error.
    Refuse,
}

/// A record, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its type.
    pub kind: u64,
    /// Its content, or the next piece of it.
    pub content: Bytes,
}

/// Error of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// It is longer than [`Rule::Whole`] allows; with its type.
    TooLong(u64),
    /// It is not allowed; with its type.
    Refused(u64),
}

/// Reader of records; it stores at most one incomplete record.
#[derive(Debug, Default)]
pub struct Records {
    waiting: BytesMut,
    /// Type and remaining bytes of a record that is skipped, or returned in pieces.
    open: Option<(u64, u64, Rule)>,
    /// Number of records that were skipped, and of those returned in pieces without content.
    idle: u64,
}

impl Records {
    /// Adds received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    /// Takes the count of records without content for the caller.
    pub fn take_idle(&mut self) -> u64 {
        std::mem::take(&mut self.idle)
    }

    /// Whether the stream may end here.
    #[must_use]
    pub fn is_between(&self) -> bool {
        self.waiting.is_empty() && self.open.is_none()
    }

    /// Returns the next record, by `rule` of its type; `None` if more bytes must arrive first.
    ///
    /// # Errors
    /// If it is longer than its rule allows, or refused.
    pub fn next(&mut self, rule: impl Fn(u64) -> Rule) -> Result<Option<Record>, RecordError> {
        loop {
            if let Some((kind, left, of_kind)) = self.open {
                let taken = left.min(self.waiting.len() as u64);
                let content = self.waiting.split_to(taken as usize).freeze();
                self.open = (left > taken).then_some((kind, left - taken, of_kind));
                if of_kind == Rule::Pieces && !content.is_empty() {
                    return Ok(Some(Record { kind, content }));
                }
                if self.open.is_some() {
                    return Ok(None);
                }
            }
            let Some((kind, first)) = varint::read(&self.waiting) else { return Ok(None) };
            let of_kind = rule(kind);
            if of_kind == Rule::Refuse {
                return Err(RecordError::Refused(kind));
            }
            let Some((length, second)) = varint::read(&self.waiting[first..]) else { return Ok(None) };
            let Rule::Whole(most) = of_kind else {
                let _ = self.waiting.split_to(first + second);
                self.open = Some((kind, length, of_kind));
                self.idle += u64::from(of_kind == Rule::Skip || length == 0);
                continue;
            };
            if length > most as u64 {
                return Err(RecordError::TooLong(kind));
            }
            let length = length as usize; // at most `most`
            if self.waiting.len() < first + second + length {
                return Ok(None);
            }
            let _ = self.waiting.split_to(first + second);
            return Ok(Some(Record { kind, content: self.waiting.split_to(length).freeze() }));
        }
    }
}

/// Appends a record.
pub fn write(out: &mut BytesMut, kind: u64, content: &[u8]) {
    varint::write(out, kind);
    varint::write(out, content.len() as u64);
    out.extend_from_slice(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(kind: u64) -> Rule {
        match kind {
            0 => Rule::Pieces,
            1 => Rule::Whole(4),
            2 => Rule::Refuse,
            _ => Rule::Skip,
        }
    }

    #[test]
    fn records_come_whole_in_pieces_or_not_at_all() {
        let mut stream = BytesMut::new();
        write(&mut stream, 1, b"abcd");
        write(&mut stream, 0x4040, b"unknown");
        write(&mut stream, 0, b"pieces");
        write(&mut stream, 1, b"");
        let mut records = Records::default();
        let mut found: Vec<(u64, Vec<u8>)> = Vec::new();
        for byte in &stream {
            records.push(&[*byte]);
            while let Some(Record { kind, content }) = records.next(rule).unwrap() {
                match found.last_mut().filter(|(last, _)| kind == 0 && *last == 0) {
                    Some((_, bytes)) => bytes.extend_from_slice(&content),
                    None => found.push((kind, content.to_vec())),
                }
            }
            assert!(records.waiting.len() < 8, "nothing of what is passed over is kept");
        }
        assert!(records.is_between());
        assert_eq!(found, [(1, b"abcd".to_vec()), (0, b"pieces".to_vec()), (1, Vec::new())]);
        assert_eq!(records.take_idle(), 1, "the unknown one");
        records.push(&[0, 0, 0, 0, 0x21, 0]);
        assert_eq!((records.next(rule), records.take_idle(), records.take_idle()), (Ok(None), 3, 0));
    }

    #[test]
    fn what_is_too_long_is_not_waited_for() {
        let mut records = Records::default();
        records.push(&[1, 5]);
        assert_eq!(records.next(rule), Err(RecordError::TooLong(1)));
        let mut records = Records::default();
        records.push(&[2]);
        assert_eq!(records.next(rule), Err(RecordError::Refused(2)), "whatever its length");
        let mut records = Records::default();
        records.push(&[0, 5, b'a']);
        assert!(records.next(rule).unwrap().is_some() && !records.is_between());
    }
}
