//! A window over a stream: as many bytes as a record needs, and no more memory than the longest record.

use std::io::{self, Read};
use std::ops::{ControlFlow, Range};

/// Bytes that are read at once; progress is told as often.
const CHUNK_BYTES: usize = 1 << 18;
/// The longest record that is held.
pub(super) const RECORD_BYTES_MAX: usize = 1 << 24;

/// Why no more is read.
#[derive(Debug)]
pub(super) enum Stop {
    /// The input fails.
    Io(io::Error),
    /// The one who is told about progress wants no more.
    Interrupted,
}

/// Where a file does not go on.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadStop {
    /// Offset of the record.
    pub(super) at: u64,
    pub(super) why: &'static str,
}

/// What has been read of a stream, but not consumed.
pub(super) struct Window<'p, R> {
    input: R,
    progress: &'p mut dyn FnMut(u64) -> ControlFlow<()>,
    buffer: Vec<u8>,
    /// What has not been consumed is `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Offset of `buffer[0]` in the input.
    base: u64,
    ended: bool,
    /// What the decompression in front of this says of its damaged input; the input has ended then.
    pub(super) damage: Option<String>,
}

impl<'p, R: Read> Window<'p, R> {
    pub(super) fn new(input: R, progress: &'p mut dyn FnMut(u64) -> ControlFlow<()>) -> Self {
        let buffer = vec![0; CHUNK_BYTES];
        Self { input, progress, buffer, start: 0, end: 0, base: 0, ended: false, damage: None }
    }

    /// Offset in the input of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// How many bytes there are without reading more.
    pub(super) fn held(&self) -> usize {
        self.end - self.start
    }

    /// Whether the next `count` bytes, at most [`RECORD_BYTES_MAX`], are there; `false`: the input ends before.
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

    /// Bytes that [`Window::have`] has said are there, counted from the next one.
    pub(super) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[self.start + range.start..self.start + range.end]
    }

    /// Goes on behind `count` bytes that are there.
    pub(super) fn consume(&mut self, count: usize) {
        debug_assert!(count <= self.held(), "`have` comes first");
        self.start += count;
    }

    /// Goes on behind any number of bytes; `false`: the input ends before.
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
            // the bytes come in any case before the memory: a false length costs nothing
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
