//! The outer structure of a qlog file: headers, traces and the positions of events.
//!
//! | layout | form |
//! | --- | --- |
//! | contained (draft-00 to today) | one object; `traces` is a list of objects, each with its `events` |
//! | sequence (RFC 7464) | records after 0x1e: a header with `trace`, then an event each |
//! | lines | the same without 0x1e, a record for each line |
//! | objects | the same, records over several lines |
//!
//! Fields come in any order, so the description of a trace may follow its events.

use super::scan::{RECORD_SEPARATOR, Scanned, Scanner};
use std::io::{self, Read};
use std::ops::Range;

/// Separation of the records of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Contained,
    Sequence,
    Lines,
    Objects,
}

/// A part of a file, in the order of the file.
pub(crate) enum Piece<'a> {
    /// A field and its JSON text.
    Field(Of, &'a str, &'a [u8]),
    /// A trace begins.
    Trace,
    /// The JSON text of an event.
    Event(&'a [u8]),
    /// A record that has no end, or is too long.
    Malformed,
    /// Only records of one event each follow, without any further description.
    Records,
}

impl<'a> Piece<'a> {
    /// Whether a trace begins.
    pub(crate) fn is_trace(&self) -> bool {
        matches!(self, Self::Trace)
    }

    /// The text of an event.
    pub(crate) fn event(&self) -> Option<&'a [u8]> {
        match self {
            Self::Event(json) => Some(json),
            _ => None,
        }
    }
}

/// Object that a field belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// The outermost object.
    File,
    Trace,
}

/// Result of reading, known at the end of the file.
pub(crate) struct Ending {
    pub(super) layout: Layout,
    /// Offset of the first byte that is not part of the structure, where the file is truncated or damaged.
    pub(crate) stopped_at: Option<u64>,
}

enum Stop {
    Io(io::Error),
    /// The structure ends or breaks at this byte.
    At(u64),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

type Step = Result<(), Stop>;

/// Reads a file from its first byte to its last and passes its pieces to `each`.
pub(crate) fn read(input: impl Read, each: impl FnMut(Piece<'_>)) -> io::Result<Ending> {
    let mut scanner = Scanner::new(input);
    if scanner.head(3)?.starts_with(b"\xef\xbb\xbf") {
        (0..3).for_each(|_| scanner.bump()); // byte order mark
    }
    let mut walk =
        Walk { scanner, each, layout: Layout::Objects, traces: 0, contained: false, multi_line: false };
    let stopped_at = match walk.file() {
        Ok(()) => None,
        Err(Stop::At(offset)) => Some(offset),
        Err(Stop::Io(error)) => return Err(error),
    };
    Ok(Ending { layout: walk.layout, stopped_at })
}

struct Walk<R, F> {
    scanner: Scanner<R>,
    each: F,
    layout: Layout,
    traces: u64,
    /// Whether there is a list of traces.
    contained: bool,
    /// Whether a field of the header extends over several lines.
    multi_line: bool,
}

impl<R: Read, F: FnMut(Piece<'_>)> Walk<R, F> {
    fn file(&mut self) -> Step {
        let first = self.scanner.peek()?;
        if first == Some(RECORD_SEPARATOR) {
            self.scanner.stop = first;
            self.layout = Layout::Sequence;
            while self.scanner.peek()? == first {
                self.scanner.bump();
            }
        }
        self.scanner.line_feeds = 0;
        match (self.header(), self.layout) {
            (Ok(()), _) => {}
            (Err(Stop::At(_)), Layout::Sequence) => (self.each)(Piece::Malformed),
            (Err(stop), _) => return Err(stop),
        }
        if self.contained {
            self.layout = Layout::Contained;
        } else if self.layout != Layout::Sequence && self.scanner.line_feeds == 0 && !self.multi_line {
            self.layout = Layout::Lines;
            self.scanner.stop = Some(b'\n');
        }
        self.records()
    }

    /// The first object: all of a contained file, the header of others.
    fn header(&mut self) -> Step {
        self.members(|walk, key, first| match (key, first) {
            ("traces", b'[') => {
                walk.contained = true;
                walk.elements(|walk, first| if first == b'{' { walk.trace() } else { walk.value().map(drop) })
            }
            ("trace", b'{') => walk.trace(),
            // a file of one trace without the list
            ("events", b'[') => {
                walk.contained = true;
                walk.begin_trace();
                walk.events()
            }
            _ => walk.field(Of::File, key),
        })
    }

    fn begin_trace(&mut self) {
        self.traces += 1;
        (self.each)(Piece::Trace);
    }

    fn trace(&mut self) -> Step {
        self.begin_trace();
        self.members(|walk, key, first| match (key, first) {
            ("events", b'[') => walk.events(),
            _ => walk.field(Of::Trace, key),
        })
    }

    fn events(&mut self) -> Step {
        self.elements(|walk, _| {
            match walk.value()? {
                Some(span) => (walk.each)(Piece::Event(walk.scanner.bytes(span))),
                None => (walk.each)(Piece::Malformed),
            }
            Ok(())
        })
    }

    /// The records after the header.
    fn records(&mut self) -> Step {
        if !self.contained {
            (self.each)(Piece::Records);
        }
        while let Some(first) = self.scanner.peek()? {
            if self.contained {
                return Err(Stop::At(self.scanner.offset())); // nothing follows the one object
            }
            if Some(first) == self.scanner.stop {
                self.scanner.bump();
                continue;
            }
            if self.traces == 0 {
                self.begin_trace();
            }
            if first != b'{' && first != b'[' {
                (self.each)(Piece::Malformed);
                self.resume()?;
                continue;
            }
            let begin = self.scanner.offset();
            match self.scanner.value()? {
                Scanned::Complete(span) => (self.each)(Piece::Event(self.scanner.bytes(span))),
                Scanned::TooLong | Scanned::Cut => (self.each)(Piece::Malformed),
                Scanned::End => return Err(Stop::At(begin)),
            }
        }
        Ok(())
    }

    /// Skips to the next possible beginning of a record.
    fn resume(&mut self) -> Step {
        let found = match self.scanner.stop {
            Some(stop) => self.scanner.skip_to(stop)?,
            None => {
                self.scanner.bump();
                self.scanner.skip_to(b'{')?
            }
        };
        if found { Ok(()) } else { Err(Stop::At(self.scanner.offset())) }
    }

    /// Reads a field as a whole; skips one that is too long.
    fn field(&mut self, of: Of, key: &str) -> Step {
        if let Some(span) = self.value()? {
            let json = self.scanner.bytes(span);
            self.multi_line |= json.contains(&b'\n');
            (self.each)(Piece::Field(of, key, json));
        }
        Ok(())
    }

    /// Reads a value of the structure; `None` if it is too long.
    fn value(&mut self) -> Result<Option<Range<usize>>, Stop> {
        let begin = self.scanner.offset();
        match self.scanner.value()? {
            Scanned::Complete(span) => Ok(Some(span)),
            Scanned::TooLong => Ok(None),
            Scanned::Cut | Scanned::End => Err(Stop::At(begin)),
        }
    }

    /// Next byte that is not whitespace.
    fn peek(&mut self) -> Result<u8, Stop> {
        self.scanner.peek()?.ok_or(Stop::At(self.scanner.offset()))
    }

    fn expect(&mut self, byte: u8) -> Step {
        if self.peek()? != byte {
            return Err(Stop::At(self.scanner.offset()));
        }
        self.scanner.bump();
        Ok(())
    }

    /// Calls `member` with the key and the first byte of the value of each member; it consumes the value.
    fn members(&mut self, mut member: impl FnMut(&mut Self, &str, u8) -> Step) -> Step {
        self.expect(b'{')?;
        while self.peek()? != b'}' {
            let begin = self.scanner.offset();
            let key = match (self.peek()?, self.scanner.value()?) {
                (b'"', Scanned::Complete(span)) => {
                    serde_json::from_slice::<String>(self.scanner.bytes(span)).unwrap_or_default()
                }
                _ => return Err(Stop::At(begin)),
            };
            self.expect(b':')?;
            let first = self.peek()?;
            member(self, &key, first)?;
            match self.peek()? {
                b',' => self.scanner.bump(),
                b'}' => {}
                _ => return Err(Stop::At(self.scanner.offset())),
            }
        }
        self.scanner.bump();
        Ok(())
    }

    /// Calls `element` with the first byte of each element; it consumes the element. An extra or missing
    /// comma is ignored.
    fn elements(&mut self, mut element: impl FnMut(&mut Self, u8) -> Step) -> Step {
        self.expect(b'[')?;
        loop {
            match self.peek()? {
                b']' => break,
                b',' => self.scanner.bump(),
                b'}' | b':' | RECORD_SEPARATOR => return Err(Stop::At(self.scanner.offset())),
                first => element(self, first)?,
            }
        }
        self.scanner.bump();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> (Vec<String>, Ending) {
        let mut out = vec![];
        let text_of = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let ending = read(text.as_bytes(), |piece| {
            out.push(match piece {
                Piece::Field(Of::File, key, value) => format!("file {key}={}", text_of(value)),
                Piece::Trace => "trace".into(),
                Piece::Field(Of::Trace, key, value) => format!("{key}={}", text_of(value)),
                Piece::Event(text) => format!("event {}", text_of(text)),
                Piece::Malformed => "malformed".into(),
                Piece::Records => return,
            });
        });
        (out, ending.unwrap())
    }

    #[test]
    fn the_layouts() {
        let (contained, ending) =
            pieces(r#"{"v":1,"traces":[{"a":{"b":2},"events":[[1],{"x":[]}],"z":3}, 7, {}],"w":[4]}"#);
        let expected = [
            "file v=1",
            "trace",
            r#"a={"b":2}"#,
            "event [1]",
            r#"event {"x":[]}"#,
            "z=3",
            "trace",
            "file w=[4]",
        ];
        assert_eq!(contained, expected);
        assert_eq!((ending.layout, ending.stopped_at), (Layout::Contained, None));

        let expected = ["file v=1", "trace", "a=2", "event {\"time\":1}", "event {\"time\":2}"];
        for (text, layout) in [
            ("\x1e{\"v\":1,\"trace\":{\"a\":2}}\n\x1e{\"time\":1}\n\x1e{\"time\":2}\n", Layout::Sequence),
            ("{\"v\":1,\"trace\":{\"a\":2}}\n{\"time\":1}\n{\"time\":2}\n", Layout::Lines),
            ("{\"v\":1,\n \"trace\":{\"a\":2}}\n{\"time\":1}\n{\"time\":2}\n", Layout::Objects),
        ] {
            let (found, ending) = pieces(text);
            assert_eq!(found, expected);
            assert_eq!((ending.layout, ending.stopped_at), (layout, None));
        }
    }

    #[test]
    fn faults_cost_one_record() {
        let (found, ending) = pieces("\x1e{\"trace\":{}}\n\x1e{\"a\":\"\n\x1e7\n\x1e{\"b\":1}\n\x1e{\"c\":");
        assert_eq!(found, ["trace", "malformed", "malformed", "event {\"b\":1}"]);
        assert_eq!(ending.stopped_at, Some(14 + 8 + 3 + 9 + 1), "where the last record begins");
        let (found, ending) = pieces("{\"traces\":[{\"events\":[{\"a\":1} {\"b\":1},,{\"c\":1}}");
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(ending.stopped_at, Some(46), "the bracket that does not belong there");
    }
}
