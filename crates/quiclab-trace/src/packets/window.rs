//! A window over a stream: it buffers the bytes of a record, in memory limited by the longest record.

use std::io::{self, Read};
use std::ops::{ControlFlow, Range};

/// Bytes that are read at once; progress is reported after each read.
const CHUNK_BYTES: usize = 1 << 18;
/// Maximum length of a record.
pub(super) const RECORD_BYTES_MAX: usize = 1 << 24;

/// Reason for which reading stops.
#[derive(Debug)]
pub(super) enum Stop {
    /// The input failed.
    Io(io::Error),
    /// The progress callback requested a stop.
    Interrupted,
}

/// Position at which a file is truncated or damaged.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadStop {
    /// Offset of the record.
    pub(super) at: u64,
    pub(super) why: &'static str,
}

/// Bytes of a stream that have been read but not consumed.
pub(super) struct Window<'p, R> {
    input: R,
    progress: &'p mut dyn FnMut(u64) -> ControlFlow<()>,
    buffer: Vec<u8>,
    /// Unconsumed bytes are `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Offset of `buffer[0]` in the input.
    base: u64,
    ended: bool,
    /// Message of the decompressor about damaged input, after which the input ends.
    pub(super) damage: Option<String>,
}

impl<'p, R: Read> Window<'p, R> {
    pub(super) fn new(input: R, progress: &'p mut dyn FnMut(u64) -> ControlFlow<()>) -> Self {
        let buffer = vec![0; CHUNK_BYTES];
        Self { input, progress, buffer, start: 0, end: 0, base: 0, ended: false, damage: None }
    }

    /// Offset of the next byte in the input.
    pub(super) fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Number of buffered bytes.
    pub(super) fn held(&self) -> usize {
        self.end - self.start
    }

    /// Buffers the next `count` bytes, at most [`RECORD_BYTES_MAX`]; `false`: the input ends before.
    pub(super) fn have(&mut self, count: usize) -> Result<bool, Stop> {
        debug_assert!(count <= RECORD_BYTES_MAX, "longer records are skipped");
        while self.held() < count {
            if self.ended {
                return Ok(false);
            }
            self.fill(count)?;
        }
        Ok(true)
    }

    /// Bytes that [`Window::have`] has buffered, relative to the next one.
    pub(super) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[self.start + range.start..self.start + range.end]
    }

    /// Consumes `count` buffered bytes.
    pub(super) fn consume(&mut self, count: usize) {
        debug_assert!(count <= self.held(), "`have` comes first");
        self.start += count;
    }

    /// Skips any number of bytes; `false`: the input ends before.
    pub(super) fn skip(&mut self, mut count: u64) -> Result<bool, Stop> {
        loop {
            let now = count.min(self.held() as u64);
            self.consume(now as usize);
            count -= now;
            if count == 0 || !self.have(1)? {
                return Ok(count == 0);
            }
        }
    }

    fn fill(&mut self, wanted: usize) -> Result<(), Stop> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.base += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < wanted {
            // memory grows only as bytes arrive: a wrong length costs nothing
            let longer = (self.end * 2).clamp(CHUNK_BYTES, wanted.next_multiple_of(CHUNK_BYTES));
            self.buffer.resize(longer.max(self.buffer.len()), 0);
        }
        match self.input.read(&mut self.buffer[self.end..]) {
            Ok(0) => self.ended = true,
            Ok(count) => self.end += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // error of a decompressor for compressed data that is truncated or damaged
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
                ) =>
            {
                self.ended = true;
                self.damage = Some(error.to_string());
            }
            Err(error) => return Err(Stop::Io(error)),
        }
        match (self.progress)(self.base + self.end as u64) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Stop::Interrupted),
        }
    }
}
