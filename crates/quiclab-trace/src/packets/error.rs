//! Errors of reading a file of packets, each as one sentence.

use quiclab_core::problem::system_reason;
use std::io;
use thiserror::Error;

/// Description of the input, for error messages after "expected".
pub const EXPECTED: &str = "a pcap, pcapng or qlog file, optionally compressed by gzip";

/// Error of reading a file of packets.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The operating system cannot read the file.
    #[error("cannot read {file}: {}", system_reason(source))]
    Io {
        /// Name of the file as given by the user.
        file: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The file has another format.
    #[error("{file}: expected {EXPECTED}, got {found}")]
    NotReadable {
        /// Name of the file as given by the user.
        file: String,
        /// Format or content that was found instead, such as `an empty file`.
        found: String,
    },
    /// A key log exceeds the maximum length.
    #[error("{file}: expected a TLS key log of at most 64 MiB, got a larger file")]
    KeyLogTooLong {
        /// Name of the file as given by the user.
        file: String,
    },
    /// The progress callback requested a stop.
    #[error("reading was interrupted")]
    Interrupted,
}
