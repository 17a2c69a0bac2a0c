//! Opens a file of packets, with or without gzip, and chooses its reader by its first bytes.
//!
//! | first bytes | reader |
//! | --- | --- |
//! | 1f 8b (RFC 1952) | the reader of the content, decompressed while it is read: a decompression bomb costs time, not memory |
//! | 0a 0d 0d 0a: pcapng; a1b2c3d4, a1b23c4d or a1b2cd34, in either byte order: pcap | [`super::read_capture`] |
//! | all others | [`read_qlog`], which reports the format if it is not qlog |

use super::capture::{embedded_secrets, read_capture_with};
use super::{KeyLog, ReadError, Reading, Sink, read_qlog};
use crate::magic::{HEAD_BYTES, is_capture, is_pcapng};
use flate2::read::MultiGzDecoder;
use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::ops::ControlFlow;
use std::path::Path;

/// Bytes delivered between two reports of progress.
const TELL_BYTES: u64 = 4 << 20;
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads the packets of a file: pcap, pcapng or qlog, each also compressed by gzip.
///
/// `progress` receives the bytes of the file read so far and the total, over all passes.
///
/// # Errors
/// See [`ReadError`].
pub fn read_packets(
    path: &Path,
    keys: &KeyLog,
    sink: &mut dyn Sink,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Reading, ReadError> {
    let file = path.display().to_string();
    let refused = |found: &str| ReadError::NotReadable { file: file.clone(), found: found.to_owned() };
    let metadata = fs::metadata(path).map_err(|source| ReadError::Io { file: file.clone(), source })?;
    if metadata.is_dir() {
        return Err(refused("a directory"));
    }
    if !metadata.is_file() {
        return Err(refused("a file that is not regular (it may have to be read twice)"));
    }
    let state = RefCell::new(State::new(progress, metadata.len()));
    let result = choose(path, &file, keys, sink, &state);
    let state = state.into_inner();
    if state.stopped {
        return Err(ReadError::Interrupted);
    }
    let mut reading = result?;
    reading
        .notes
        .extend(state.damage.map(|damage| format!("The gzip data are truncated or damaged: {damage}.")));
    Ok(reading)
}

fn choose(
    path: &Path,
    file: &str,
    keys: &KeyLog,
    sink: &mut dyn Sink,
    state: &RefCell<State<'_>>,
) -> Result<Reading, ReadError> {
    let failed = |source| ReadError::Io { file: file.to_owned(), source };
    let first = Input::open(path, state).map_err(failed)?;
    let compressed = first.is_compressed();
    let mut head = Vec::new();
    first.take(HEAD_BYTES).read_to_end(&mut head).map_err(failed)?;
    if head.is_empty() && compressed {
        let damage = state.borrow_mut().damage.take();
        let found = damage.map_or("an empty file compressed by gzip".to_owned(), |damage| {
            format!("a file compressed by gzip that is damaged ({damage})")
        });
        return Err(ReadError::NotReadable { file: file.to_owned(), found });
    }
    let open = || {
        state.borrow_mut().begin();
        Input::open(path, state)
    };
    let mut reading = if is_capture(&head) {
        // secrets may follow the packets that they decrypt
        let secrets_first = is_pcapng(&head);
        state.borrow_mut().expect(1 + u64::from(secrets_first));
        let embedded = match secrets_first {
            true => embedded_secrets(open().map_err(failed)?, file)?,
            false => KeyLog::default(),
        };
        // the input reports progress itself, in bytes of the file
        let mut whatever = |_| ControlFlow::Continue(());
        read_capture_with(open().map_err(failed)?, file, keys, embedded, sink, &mut whatever)?
    } else {
        state.borrow_mut().expect(2); // the description of a trace may follow its events
        read_qlog(open, file, sink)?
    };
    if compressed {
        reading.format.push_str(", gzip");
    }
    Ok(reading)
}

/// State shared by all passes.
struct State<'p> {
    progress: &'p mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    /// Length of the file.
    bytes: u64,
    /// Bytes of it that the current pass has read; whether the pass has reached the end; bytes of earlier passes
    /// that have.
    read: u64,
    ended: bool,
    done: u64,
    /// Total bytes of all passes; number of whole passes that may follow the next one.
    of: u64,
    further: u64,
    /// Whether the callback requested a stop.
    stopped: bool,
    /// The error of the compression.
    damage: Option<String>,
}

impl<'p> State<'p> {
    fn new(progress: &'p mut dyn FnMut(u64, u64) -> ControlFlow<()>, bytes: u64) -> Self {
        Self {
            progress,
            bytes,
            read: 0,
            ended: false,
            done: 0,
            of: bytes,
            further: 0,
            stopped: false,
            damage: None,
        }
    }

    /// Announces at most `passes` passes, none of which has begun.
    fn expect(&mut self, passes: u64) {
        (self.ended, self.further) = (false, passes - 1);
    }

    /// Begins a pass. One that ended early, because it had enough information, does not count.
    fn begin(&mut self) {
        if std::mem::take(&mut self.ended) {
            self.done += self.bytes;
        }
        self.read = 0;
        self.of = self.done + self.bytes * (1 + std::mem::take(&mut self.further));
    }

    fn tell(&mut self) -> io::Result<()> {
        // a file that grows while it is read does not exceed 100 %
        let done = self.done + self.read.min(self.bytes);
        if (self.progress)(done, self.of).is_break() {
            self.stopped = true;
            return Err(io::Error::other("interrupted"));
        }
        Ok(())
    }
}

/// One pass over a file.
struct Input<'s, 'p> {
    bytes: Bytes,
    state: &'s RefCell<State<'p>>,
    /// Bytes delivered so far, and the value at which progress is reported next.
    given: u64,
    tell_at: u64,
}

enum Bytes {
    Plain(Counted),
    Gzip(Box<MultiGzDecoder<Counted>>),
}

impl<'s, 'p> Input<'s, 'p> {
    fn open(path: &Path, state: &'s RefCell<State<'p>>) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut magic = Vec::new();
        (&file).take(GZIP.len() as u64).read_to_end(&mut magic)?;
        file.rewind()?;
        let file = Counted { file, read: 0 };
        let bytes =
            if magic == GZIP { Bytes::Gzip(Box::new(MultiGzDecoder::new(file))) } else { Bytes::Plain(file) };
        Ok(Self { bytes, state, given: 0, tell_at: TELL_BYTES })
    }

    fn is_compressed(&self) -> bool {
        matches!(self.bytes, Bytes::Gzip(_))
    }

    /// Bytes of the file that have been read.
    fn read_of_file(&self) -> u64 {
        match &self.bytes {
            Bytes::Plain(file) => file.read,
            Bytes::Gzip(decoder) => decoder.get_ref().read,
        }
    }
}

impl Read for Input<'_, '_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = match &mut self.bytes {
            Bytes::Plain(file) => file.read(out)?,
            Bytes::Gzip(decoder) => match decoder.read(out) {
                Ok(count) => count,
                Err(error) if is_damage(&error) => {
                    self.state.borrow_mut().damage = Some(error.to_string());
                    0
                }
                Err(error) => return Err(error),
            },
        };
        self.given += count as u64;
        let mut state = self.state.borrow_mut();
        state.read = self.read_of_file();
        state.ended = count == 0;
        if self.given >= self.tell_at || count == 0 {
            self.tell_at = self.given + TELL_BYTES;
            state.tell()?;
        }
        Ok(count)
    }
}

/// Whether an error is one of decompression, not of reading the file.
fn is_damage(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}

/// A file with a count of the bytes read.
struct Counted {
    file: File,
    read: u64,
}

impl Read for Counted {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(out)?;
        self.read += count as u64;
        Ok(count)
    }
}
