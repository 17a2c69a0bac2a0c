//! Summary of a qlog file as one JSON document, for a page that displays it.
//!
//! Reads qlog of all drafts and of all known stacks, in every layout (`document`), as far as it can be read:
//! events of unused kinds are counted by name, malformed ones in total, and a truncated file is read up to
//! its end. An error is returned only if nothing is readable.
//!
//! The file is read twice, a record at a time: the first pass (`survey`) counts, the second (`summary`) keeps
//! the data that are shown. Memory depends on the requested number of points, not on the file, whose streams,
//! gaps, losses, names and connections are limited as well.
//!
//! | from | after |
//! | --- | --- |
//! | main schema, draft-00 to draft-14 | draft-marx-qlog-main-schema-00, -01; draft-ietf-quic-qlog-main-schema-00 to -14 |
//! | events | draft-marx-qlog-event-definitions-quic-h3-00, -01; draft-ietf-quic-qlog-quic-events-00 to -13 |
//! | picoquic | `loglib/qlog.c`: draft-00 without trigger, times in µs |
//! | quinn | `quinn-proto/src/connection/qlog.rs`: no frames, size in `header.length`, `group_id` in events |
//! | mvfst | `quic/logging/QLoggerTypes.cpp`: times as strings, `packets_lost` with a count |

mod clock;
mod credit;
mod decode;
mod described;
mod document;
mod event;
mod frames;
mod header;
mod lenient;
mod output;
mod ranges;
mod record;
mod sample;
mod scan;
mod streams;
mod summary;
mod survey;
mod time;

pub(crate) use decode::{Decoder, Sink};
pub(crate) use described::Described;
pub(crate) use document::{Ending, Piece, read as read_document};
pub(crate) use event::{Event, Packet};
pub(crate) use ranges::Ranges;

use crate::magic::{HEAD_BYTES, is_capture};
use quiclab_core::problem::system_reason;
use sample::Span;
use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;
use summary::{Summaries, Summary};
use survey::Surveys;
use thiserror::Error;

/// Version of the JSON document.
pub const SCHEMA: u32 = 1;
/// Connections of a file that are shown; others are counted only.
pub const CONNECTIONS_SHOWN: usize = 16;
/// Minimum and maximum number of points of a series: 2 million packets of each direction take about 250 MB.
pub const POINTS: std::ops::RangeInclusive<usize> = 100..=2_000_000;
/// Bytes read between two reports of progress.
const TELL_BYTES: u64 = 4 << 20;

/// Description of the input, for error messages after "expected".
pub const EXPECTED: &str = "a qlog file (a JSON object with `traces`, or JSON records, one per line or each after \
                            0x1e, of which the first has `qlog_version` or `file_schema`)";

/// Events that are shown individually. Counts and values derived from them always cover the whole file.
#[derive(Clone, Copy, Debug)]
pub struct Selection {
    /// Maximum number of points of a series; clamped to [`POINTS`], and shared among several connections.
    pub max_points: usize,
    /// First and last instant, in the times of the document [ms]; `None` for all.
    pub window_ms: Option<(f64, f64)>,
}

impl Selection {
    fn contains(&self, time_ms: f64) -> bool {
        self.window_ms.is_none_or(|(from, to)| (from..=to).contains(&time_ms))
    }

    /// The part of `span` that is shown.
    fn clip(&self, span: Span) -> Span {
        let (from, to) = self.window_ms.unwrap_or((span.from_ms, span.to_ms));
        Span { from_ms: span.from_ms.max(from), to_ms: span.to_ms.min(to) }
    }
}

impl From<usize> for Selection {
    fn from(max_points: usize) -> Self {
        Self { max_points, window_ms: None }
    }
}

/// Reason for which there is no summary.
#[derive(Debug, Error)]
pub enum InspectError {
    /// The file cannot be read.
    #[error("{file}: {}", system_reason(source))]
    Io {
        /// Name of the file.
        file: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The file contains no qlog.
    #[error("{file}: expected {EXPECTED}, got {found}")]
    NotQlog {
        /// Name of the file.
        file: String,
        /// Format or content that was found instead.
        found: String,
    },
    /// The progress callback requested a stop.
    #[error("interrupted")]
    Interrupted,
}

/// Summarises a qlog file: a JSON list with an object for each connection (`SCHEMA`).
///
/// `selection` selects the events that are shown, and their maximum number. `progress` receives the bytes
/// read so far and the total, over all passes.
///
/// # Errors
/// See [`InspectError`].
pub fn inspect_qlog(
    path: &Path,
    selection: impl Into<Selection>,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<String, InspectError> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let failed = |source| InspectError::Io { file: path.display().to_string(), source };
    let bytes = std::fs::metadata(path).map_err(failed)?.len();
    inspect_reader(|| File::open(path), &name, bytes, selection, progress)
}

/// Summarises the input that `open` returns, each time from its beginning, with its length and name.
///
/// # Errors
/// See [`InspectError`].
pub fn inspect_reader<R: Read>(
    open: impl Fn() -> io::Result<R>,
    name: &str,
    bytes: u64,
    selection: impl Into<Selection>,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<String, InspectError> {
    let mut passes = Passes { open, bytes, done: 0, total: 2, progress, stopped: false };
    let result = summarise(&mut passes, name, selection.into());
    match result {
        Err(Failure::Io(_)) if passes.stopped => Err(InspectError::Interrupted),
        Err(Failure::Io(source)) => Err(InspectError::Io { file: name.to_owned(), source }),
        Err(Failure::NotQlog(found)) => Err(InspectError::NotQlog { file: name.to_owned(), found }),
        Ok(json) => Ok(json),
    }
}

enum Failure {
    Io(io::Error),
    NotQlog(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn summarise<R: Read, O: Fn() -> io::Result<R>>(
    passes: &mut Passes<'_, O>,
    name: &str,
    selection: Selection,
) -> Result<String, Failure> {
    let mut decoder = Decoder::default();
    let mut surveys = Surveys::new(selection);
    let mut ending = passes.read(&mut decoder, &mut surveys)?;
    if decoder.late {
        // the description follows the events that it describes: another pass, with known headers
        passes.total += 1;
        (decoder, surveys) = (decoder.again(), Surveys::new(selection));
        ending = passes.read(&mut decoder, &mut surveys)?;
    }
    let readable = surveys.connections.iter().any(|survey| survey.known);
    if !readable && !decoder.described() {
        let mut head = Vec::new();
        (passes.open)()?.take(HEAD_BYTES).read_to_end(&mut head)?;
        return Err(Failure::NotQlog(unrecognised_format(&head, &decoder)));
    }

    // the connections with the most events, in their order in the file
    let mut order: Vec<usize> = (0..surveys.connections.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(surveys.connections[index].events));
    order.truncate(CONNECTIONS_SHOWN);
    let points = selection.max_points.clamp(*POINTS.start(), *POINTS.end());
    let points = (points / order.len().max(1)).max(*POINTS.start());
    let summaries = surveys.connections.iter().enumerate();
    let summaries = summaries.map(|(index, survey)| {
        order.contains(&index).then(|| {
            let selection = Selection { max_points: points, ..selection };
            Summary::new(survey, selection)
        })
    });
    let mut summaries = Summaries(summaries.collect());
    let mut second = decoder.again();
    passes.read(&mut second, &mut summaries)?;
    Ok(output::document(name, &second, &ending, &surveys, summaries))
}

/// Describes a file that is no qlog, by its first [`HEAD_BYTES`].
pub(crate) fn unrecognised_format(head: &[u8], decoder: &Decoder) -> String {
    let keys = &decoder.file.keys;
    match head {
        [] => "an empty file".to_owned(),
        [0x1f, 0x8b, ..] => "a file compressed by gzip (decompress it first)".to_owned(),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "a file compressed by zstd (decompress it first)".to_owned(),
        _ if is_capture(head) => "a packet capture, which `quiclab pacing analyse` reads".to_owned(),
        _ if decoder.file.is_qlog() => "the header of a qlog file without a trace".to_owned(),
        _ if keys.iter().any(|key| key == "constants") => {
            "JSON with the field `constants`, as in Chrome's NetLog".to_owned()
        }
        _ if keys.len() == 1 => format!("JSON with the field `{}`", keys[0]),
        _ if !keys.is_empty() => format!("JSON with the fields `{}`", keys.join("`, `")),
        _ => {
            let text = String::from_utf8_lossy(head);
            format!("a file that starts with {:?}", text.trim_ascii_start())
        }
    }
}

/// Passes over a file, with progress over all of them.
struct Passes<'p, O> {
    open: O,
    bytes: u64,
    /// Number of completed passes, and of all passes.
    done: u64,
    total: u64,
    progress: &'p mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    stopped: bool,
}

impl<R: Read, O: Fn() -> io::Result<R>> Passes<'_, O> {
    fn read(&mut self, decoder: &mut Decoder, sink: &mut impl Sink) -> io::Result<Ending> {
        let input = (self.open)()?;
        let (before, total) = (self.done * self.bytes, self.total * self.bytes);
        let told = ProgressReader { input, read: 0, tell_at: 0, before, total, passes: self };
        let ending = document::read(told, |piece| decoder.take(piece, sink))?;
        self.done += 1;
        Ok(ending)
    }
}

/// Input that reports how far it has been read.
struct ProgressReader<'a, 'p, R, O> {
    input: R,
    read: u64,
    tell_at: u64,
    before: u64,
    total: u64,
    passes: &'a mut Passes<'p, O>,
}

impl<R: Read, O> Read for ProgressReader<'_, '_, R, O> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(out)?;
        self.read += count as u64;
        if self.read >= self.tell_at || count == 0 {
            self.tell_at = self.read + TELL_BYTES;
            // a file that grows while it is read does not exceed 100 %
            let done = self.before + self.read.min(self.passes.bytes);
            if (self.passes.progress)(done.min(self.total), self.total).is_break() {
                self.passes.stopped = true;
                return Err(io::Error::other("interrupted"));
            }
        }
        Ok(count)
    }
}
