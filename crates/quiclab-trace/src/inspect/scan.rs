//! Scanner that finds the bounds of JSON values in a stream, without parsing them.
//!
//! A value is handed out as a slice of a buffer that holds little more than the longest record. Brackets are
//! counted, not matched, and strings are skipped: the parser of the value decides whether it is well formed,
//! so that one malformed record costs one record. Nesting has no cost here.

use std::io::{self, Read};
use std::ops::Range;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 1 << 18;
/// Records up to this length are buffered; those of more than twice this length are skipped and counted.
pub(super) const RECORD_BYTES_MAX: usize = 1 << 22;
/// Separator of RFC 7464, never part of a JSON text.
pub(super) const RECORD_SEPARATOR: u8 = 0x1e;

/// A value, or the reason for its absence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scanned {
    /// Position in the buffer, valid until the next call; see [`Scanner::bytes`].
    Complete(Range<usize>),
    /// Too long to be buffered; skipped.
    TooLong,
    /// The byte that ends records is in its middle; the scanner is positioned at that byte.
    Cut,
    /// The input ended in its middle.
    End,
}

/// A window over a stream.
pub(super) struct Scanner<R> {
    input: R,
    buffer: Vec<u8>,
    /// Unconsumed bytes are `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Offset of `buffer[0]` in the input.
    base: u64,
    /// Byte that no record contains: 0x1e in JSON text sequences, the line feed where each line is a record.
    pub(super) stop: Option<u8>,
    /// Line feeds that were skipped between values.
    pub(super) line_feeds: u64,
}

impl<R: Read> Scanner<R> {
    pub(super) fn new(input: R) -> Self {
        let buffer = vec![0; CHUNK_BYTES];
        Self { input, buffer, start: 0, end: 0, base: 0, stop: None, line_feeds: 0 }
    }

    /// Offset of the next byte in the input.
    pub(super) fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Bytes of the value that the last call of [`Scanner::value`] found.
    pub(super) fn bytes(&self, span: Range<usize>) -> &[u8] {
        &self.buffer[span]
    }

    /// First bytes of the input, at most `count`, without consuming them.
    pub(super) fn head(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.end - self.start < count && self.fill()? {}
        Ok(&self.buffer[self.start..self.end.min(self.start + count)])
    }

    /// Consumes the byte that `peek` returned.
    pub(super) fn bump(&mut self) {
        debug_assert!(self.start < self.end, "peek comes first");
        self.start += 1;
    }

    /// Next byte that is not whitespace, without consuming it; `None` at the end.
    pub(super) fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            while self.start < self.end {
                match self.buffer[self.start] {
                    b' ' | b'\t' | b'\r' => {}
                    b'\n' => self.line_feeds += 1,
                    byte => return Ok(Some(byte)),
                }
                self.start += 1;
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Consumes bytes up to the next `byte`, exclusive; false at the end of the input.
    pub(super) fn skip_to(&mut self, byte: u8) -> io::Result<bool> {
        loop {
            match self.buffer[self.start..self.end].iter().position(|&b| b == byte) {
                Some(position) => {
                    self.start += position;
                    return Ok(true);
                }
                None => self.start = self.end,
            }
            if !self.fill()? {
                return Ok(false);
            }
        }
    }

    /// Consumes the value that begins at the byte that `peek` returned.
    pub(super) fn value(&mut self) -> io::Result<Scanned> {
        // no byte is 0xff in UTF-8, so it stands for "none"
        let stop = self.stop.unwrap_or(0xff);
        let (mut at, mut depth) = (0_usize, 0_u64);
        let (mut in_string, mut escaped, mut scalar, mut too_long) = (false, false, false, false);
        loop {
            let window = &self.buffer[self.start..self.end];
            while let Some(&byte) = window.get(at) {
                if byte == stop {
                    self.start += at;
                    return Ok(Scanned::Cut);
                }
                at += 1;
                if in_string {
                    if escaped {
                        escaped = false;
                    } else if byte == b'\\' {
                        escaped = true;
                    } else if byte == b'"' {
                        in_string = false;
                        if depth == 0 {
                            return Ok(self.consume(at, too_long));
                        }
                    } else {
                        at += window[at..]
                            .iter()
                            .take_while(|&&b| b != b'"' && b != b'\\' && b != stop)
                            .count();
                    }
                    continue;
                }
                match byte {
                    b'{' | b'[' if !scalar => depth += 1,
                    b'"' if !scalar => in_string = true,
                    b'}' | b']' if depth > 0 => {
                        depth -= 1;
                        if depth == 0 {
                            return Ok(self.consume(at, too_long));
                        }
                    }
                    // the byte that ends a number or a literal is not part of it
                    b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n' if depth == 0 => {
                        return Ok(self.consume(at - 1, too_long));
                    }
                    _ => scalar |= depth == 0,
                }
            }
            if at > RECORD_BYTES_MAX {
                self.start += at;
                (at, too_long) = (0, true);
            }
            if !self.fill()? {
                self.start += at;
                return Ok(Scanned::End);
            }
        }
    }

    fn consume(&mut self, length: usize, too_long: bool) -> Scanned {
        let start = self.start;
        self.start += length;
        if too_long { Scanned::TooLong } else { Scanned::Complete(start..self.start) }
    }

    /// Reads more bytes after `end`; false at the end of the input.
    fn fill(&mut self) -> io::Result<bool> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.base += self.start as u64;
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(count) => {
                    self.end += count;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reader that returns a few of `bytes` at a time, so that values span every boundary.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(out.len());
            out[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn values(text: &[u8], step: usize, stop: Option<u8>) -> Vec<String> {
        let mut scanner = Scanner::new(Slow(text, step));
        scanner.stop = stop;
        let mut out = vec![];
        while let Some(byte) = scanner.peek().unwrap() {
            if byte == b',' || Some(byte) == stop {
                scanner.bump();
                continue;
            }
            out.push(match scanner.value().unwrap() {
                Scanned::Complete(span) => String::from_utf8(scanner.bytes(span).to_vec()).unwrap(),
                other => format!("{other:?}"),
            });
        }
        out
    }

    #[test]
    fn values_end_where_they_end() {
        let text = br#" {"a":[1,"}\"]"]} , "x\\", 12.5e3 ,true, [[],{}] ,{"cut": "#;
        let expected = [r#"{"a":[1,"}\"]"]}"#, r#""x\\""#, "12.5e3", "true", "[[],{}]", "End"];
        for step in 1..9 {
            assert_eq!(values(text, step, None), expected, "{step} bytes at a time");
        }
    }

    #[test]
    fn the_stop_byte_ends_a_record() {
        for step in 1..5 {
            assert_eq!(values(b"{\"a\": \"x\n{\"b\":1}\n", step, Some(b'\n')), ["Cut", "{\"b\":1}"]);
        }
    }

    #[test]
    fn what_is_too_long_is_passed_over() {
        let text = format!("[\"{}\"] 7 ", "x".repeat(3 * RECORD_BYTES_MAX));
        assert!(values(text.as_bytes(), 1 << 20, None) == ["TooLong", "7"]); // too long to be printed, too
    }
}
