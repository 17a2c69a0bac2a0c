//! Why a file of packets cannot be read at all; one sentence each.

use std::io;
use thiserror::Error;

/// What readers of packets take, for sentences that say what is allowed.
pub const ALLOWED: &str = "pcap, pcapng and qlog files, each also compressed by gzip";

/// A file gives no packets.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The operating system does not give its bytes.
    #[error("{file} cannot be read: {source}")]
    Io {
        /// As the user named it.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// It is something else.
    #[error("{file} is {found}, not a capture; allowed are {ALLOWED}")]
    NotReadable {
        /// As the user named it.
        file: String,
        /// What it is instead, such as `empty` or `a pcapng file without its first section`.
        found: String,
    },
    /// A key log is longer than is read.
    #[error("{file} has more than 64 MiB; allowed is a TLS key log of at most that")]
    KeyLogTooLong {
        /// As the user named it.
        file: String,
    },
    /// The one who is told about progress wanted no more.
    #[error("reading was interrupted")]
    Interrupted,
}
