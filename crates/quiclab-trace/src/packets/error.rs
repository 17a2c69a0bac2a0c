//! Why a file of packets cannot be read at all; one sentence each.

use quiclab_core::problem::system_reason;
use std::io;
use thiserror::Error;

/// What readers of packets take, for sentences behind "expected".
pub const EXPECTED: &str = "a pcap, pcapng or qlog file, optionally compressed by gzip";

/// A file gives no packets.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The operating system does not give its bytes.
    #[error("cannot read {file}: {}", system_reason(source))]
    Io {
        /// As the user named it.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// It is something else.
    #[error("{file}: expected {EXPECTED}, got {found}")]
    NotReadable {
        /// As the user named it.
        file: String,
        /// What it is instead, such as `an empty file`.
        found: String,
    },
    /// A key log is longer than is read.
    #[error("{file}: expected a TLS key log of at most 64 MiB, got a larger file")]
    KeyLogTooLong {
        /// As the user named it.
        file: String,
    },
    /// The one who is told about progress wanted no more.
    #[error("reading was interrupted")]
    Interrupted,
}
