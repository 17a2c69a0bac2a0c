//! Errors of HTTP/3 (RFC 9114 section 8.1), of QPACK (RFC 9204 section 6) and of HTTP Datagrams (RFC 9297 section 5.2). All of
//! them end the connection, which RFC 9114 section 8 also allows for errors of a stream.

use super::qpack::QpackError;
use super::records::RecordError;

/// An error, with the code sent to the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason} (HTTP/3 error {code:#x})")]
pub struct Http3Error {
    /// The code.
    pub code: u32,
    /// The reason in words.
    pub reason: &'static str,
}

const fn error(code: u32, reason: &'static str) -> Http3Error {
    Http3Error { code, reason }
}

/// The code of an end without an error.
pub const NO_ERROR: u32 = 0x100;
/// The code of a request that is not processed.
pub const REQUEST_REJECTED: u32 = 0x10b;
pub(crate) const STREAM_CREATION: Http3Error = error(0x103, "a stream that may not be opened");
pub(crate) const CLOSED_CRITICAL_STREAM: Http3Error =
    error(0x104, "a control stream or a stream of QPACK has ended");
pub(crate) const FRAME_UNEXPECTED: Http3Error = error(0x105, "a frame that may not be there");
pub(crate) const FRAME: Http3Error = error(0x106, "a malformed frame");
pub(crate) const EXCESSIVE_LOAD: Http3Error = error(0x107, "a frame or a capsule that is too long");
/// Error of an end that exceeds its [`Budget`](super::budget::Budget).
pub const FLOOD: Http3Error = error(0x107, "too many frames, capsules or streams without a packet");
pub(crate) const ID: Http3Error = error(0x108, "a push that was not allowed");
pub(crate) const SETTINGS: Http3Error = error(0x109, "malformed settings");
pub(crate) const NOT_OFFERED: Http3Error =
    error(0x109, "the server offers no extended CONNECT with datagrams");
pub(crate) const MISSING_SETTINGS: Http3Error = error(0x10a, "a control stream without settings first");
pub(crate) const REQUEST_INCOMPLETE: Http3Error = error(0x10d, "a request or a response without its header");
pub(crate) const MESSAGE: Http3Error = error(0x10e, "a malformed message");
pub(crate) const MALFORMED_CAPSULE: Http3Error = error(0x10e, "a malformed capsule");
pub(crate) const DATAGRAM: Http3Error = error(0x33, "a malformed datagram");
pub(crate) const ENCODER_STREAM: Http3Error =
    error(0x201, "an instruction for the dynamic table, whose capacity is 0");
const DECOMPRESSION: Http3Error = error(0x200, "a field section that cannot be read");

impl From<RecordError> for Http3Error {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::TooLong(_) => EXCESSIVE_LOAD,
            RecordError::Refused(_) => FRAME_UNEXPECTED,
        }
    }
}

impl From<QpackError> for Http3Error {
    fn from(error: QpackError) -> Self {
        match error {
            QpackError::TooLong => EXCESSIVE_LOAD,
            _ => DECOMPRESSION,
        }
    }
}
