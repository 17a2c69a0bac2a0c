//! Result of an export, and its errors.

use std::io;
use thiserror::Error;

/// Maximum length of an input of another writer, which is read as a whole [bytes].
pub(super) const FOREIGN_BYTES_MAX: u64 = 1 << 30;

/// Amounts that an export has written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Traces of all inputs.
    pub traces: u64,
    /// Events of all traces.
    pub events: u64,
    /// Indices of the inputs whose last record was truncated, as in the output of a killed run.
    pub truncated: Vec<usize>,
}

/// Error of an export.
#[derive(Debug, Error)]
pub enum ExportError {
    /// Writing failed.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// Reading failed.
    #[error("input {input}: {source}")]
    Read {
        /// Number of the input, from 1.
        input: u64,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A record is not JSON.
    #[error("record {record} of input {input} is not JSON")]
    Json {
        /// Number of the input, from 1.
        input: u64,
        /// Number of the record, from 1; the header is record 1.
        record: u64,
        /// Error of the parser.
        source: serde_json::Error,
    },
    /// The input contains no qlog.
    #[error("input {input} is no qlog file")]
    NoHeader {
        /// Number of the input, from 1.
        input: u64,
    },
    /// An input of another writer, which is read as a whole, is too long.
    #[error("input {input} has more than 1 GiB and was not written by quiclab")]
    TooLong {
        /// Number of the input, from 1.
        input: u64,
    },
}
