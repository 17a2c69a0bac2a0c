//! The frames in the plaintext of a QUIC packet.
//!
//! After RFC 9000 section 19 (version 1), RFC 9221 (DATAGRAM), draft-ietf-quic-reliable-stream-reset
//! (RESET_STREAM_AT), draft-ietf-quic-ack-frequency with the code points 0xaf and 0x1f that
//! deployed stacks use, and draft-ietf-quic-multipath-21 with the code points of its section 4.
//!
//! The parser is strict: it reports a FRAME_ENCODING_ERROR or PROTOCOL_VIOLATION of RFC 9000 as an error, and
//! never panics. It borrows, does not allocate, and reads each byte a constant number of times, whatever
//! counts and lengths the bytes claim.
//!
//! | differs from an endpoint | reason |
//! | --- | --- |
//! | which frames a packet type permits (section 12.4, table 3) is not checked | a log shows the frames sent |
//! | a run of PADDING frames is one item | one item per byte would be useless |
//! | an unknown type takes the rest of the packet | its length cannot be known |

use super::error::{FrameError, FrameFault};
use super::{Ack, Cursor, VARINT_MAX};

/// A frame; byte strings are borrowed from the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are named as in the RFC's section of the variant")]
pub enum Frame<'a> {
    /// `length` PADDING frames in a row (section 19.1).
    Padding { length: usize },
    /// Section 19.2.
    Ping,
    /// Section 19.3.
    Ack(Ack<'a>),
    /// Section 19.4.
    ResetStream { stream_id: u64, error_code: u64, final_size: u64 },
    /// RESET_STREAM_AT.
    ResetStreamAt { stream_id: u64, error_code: u64, final_size: u64, reliable_size: u64 },
    /// Section 19.5.
    StopSending { stream_id: u64, error_code: u64 },
    /// Section 19.6.
    Crypto { offset: u64, data: &'a [u8] },
    /// Section 19.7.
    NewToken { token: &'a [u8] },
    /// Section 19.8.
    Stream { stream_id: u64, offset: u64, fin: bool, data: &'a [u8] },
    /// Section 19.9.
    MaxData { maximum: u64 },
    /// Section 19.10.
    MaxStreamData { stream_id: u64, maximum: u64 },
    /// Section 19.11.
    MaxStreams { bidirectional: bool, maximum: u64 },
    /// Section 19.12.
    DataBlocked { limit: u64 },
    /// Section 19.13.
    StreamDataBlocked { stream_id: u64, limit: u64 },
    /// Section 19.14.
    StreamsBlocked { bidirectional: bool, limit: u64 },
    /// Section 19.15.
    NewConnectionId {
        sequence_number: u64,
        retire_prior_to: u64,
        connection_id: &'a [u8],
        stateless_reset_token: &'a [u8; 16],
    },
    /// Section 19.16.
    RetireConnectionId { sequence_number: u64 },
    /// Section 19.17.
    PathChallenge { data: &'a [u8; 8] },
    /// Section 19.18.
    PathResponse { data: &'a [u8; 8] },
    /// Section 19.19; `frame_type` is `None` when the application closes (type 0x1d).
    ConnectionClose { error_code: u64, frame_type: Option<u64>, reason: &'a [u8] },
    /// Section 19.20.
    HandshakeDone,
    /// RFC 9221 section 4.
    Datagram { data: &'a [u8] },
    /// ACK_FREQUENCY; the delay is in microseconds.
    AckFrequency {
        sequence_number: u64,
        ack_eliciting_threshold: u64,
        request_max_ack_delay: u64,
        reordering_threshold: u64,
    },
    /// IMMEDIATE_ACK.
    ImmediateAck,
    /// PATH_ACK (draft-ietf-quic-multipath-21 section 4.1), as are the frames up to `PathCidsBlocked` (to section 4.7).
    PathAck { path_id: u64, ack: Ack<'a> },
    /// PATH_ABANDON.
    PathAbandon { path_id: u64, error_code: u64 },
    /// PATH_STATUS_BACKUP or PATH_STATUS_AVAILABLE.
    PathStatus { path_id: u64, backup: bool, sequence_number: u64 },
    /// PATH_NEW_CONNECTION_ID.
    PathNewConnectionId {
        path_id: u64,
        sequence_number: u64,
        retire_prior_to: u64,
        connection_id: &'a [u8],
        stateless_reset_token: &'a [u8; 16],
    },
    /// PATH_RETIRE_CONNECTION_ID.
    PathRetireConnectionId { path_id: u64, sequence_number: u64 },
    /// MAX_PATH_ID.
    MaxPathId { maximum: u64 },
    /// PATHS_BLOCKED.
    PathsBlocked { maximum: u64 },
    /// PATH_CIDS_BLOCKED.
    PathCidsBlocked { path_id: u64, next_sequence_number: u64 },
    /// An unknown type; `rest` is the packet from this type on.
    Unknown { frame_type: u64, rest: &'a [u8] },
}

/// Iterator over the frames of a packet. It ends after the first error.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    /// Length of the plaintext in bytes.
    length: usize,
    /// The bytes from the next frame on, or from the faulty frame on.
    cursor: Cursor<'a>,
    /// Whether an error has been reported.
    failed: bool,
}

impl<'a> Frames<'a> {
    /// The frames in `plaintext`, the decrypted payload of a packet.
    #[must_use]
    pub const fn new(plaintext: &'a [u8]) -> Self {
        Self { length: plaintext.len(), cursor: Cursor::new(plaintext), failed: false }
    }

    /// The bytes that have not been parsed; after an error, those from the faulty frame on.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.cursor.rest()
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, FrameError>;

    fn next(&mut self) -> Option<Self::Item> {
        let before = self.cursor.rest();
        let &first = before.first().filter(|_| !self.failed)?;
        let mut cursor = self.cursor;
        let (frame_type, length) = cursor.varint_and_length().unwrap_or((u64::from(first), 0));
        // The smallest type that needs an encoding of this length.
        let parsed = match length {
            0 => Err(FrameFault::Truncated),
            2 if frame_type < 1 << 6 => Err(FrameFault::TypeNotShortest),
            4 if frame_type < 1 << 14 => Err(FrameFault::TypeNotShortest),
            8 if frame_type < 1 << 30 => Err(FrameFault::TypeNotShortest),
            _ => Frame::parse(frame_type, before, &mut cursor),
        };
        match parsed {
            Ok(frame) => {
                self.cursor = cursor;
                Some(Ok(frame))
            }
            Err(fault) => {
                self.failed = true;
                Some(Err(FrameError { offset: self.length - before.len(), frame_type, fault }))
            }
        }
    }
}

impl<'a> Frame<'a> {
    /// Parses the fields after the type; `whole` is the packet from the type on.
    fn parse(frame_type: u64, whole: &'a [u8], cursor: &mut Cursor<'a>) -> Result<Self, FrameFault> {
        // Fields in the order of the RFC's figures; a missing one is `Truncated`.
        macro_rules! next {
            ($read:ident) => {
                cursor.$read().ok_or(FrameFault::Truncated)?
            };
        }
        Ok(match frame_type {
            0x00 => {
                let zeros = cursor.rest().iter().take_while(|&&byte| byte == 0).count();
                cursor.bytes(zeros as u64);
                Self::Padding { length: 1 + zeros }
            }
            0x01 => Self::Ping,
            0x02 | 0x03 => Self::Ack(Ack::parse(cursor, frame_type == 0x03)?),
            0x04 => Self::ResetStream {
                stream_id: next!(varint),
                error_code: next!(varint),
                final_size: next!(varint),
            },
            0x05 => Self::StopSending { stream_id: next!(varint), error_code: next!(varint) },
            0x06 => {
                let (offset, data) = (next!(varint), next!(prefixed));
                Self::Crypto { offset: within_stream(offset, data)?, data }
            }
            0x07 => match next!(prefixed) {
                [] => return Err(FrameFault::OutOfRange("the token is empty")),
                token => Self::NewToken { token },
            },
            0x08..=0x0f => {
                let stream_id = next!(varint);
                let offset = if frame_type & 0x04 == 0 { 0 } else { next!(varint) };
                let data = if frame_type & 0x02 == 0 { remainder(cursor) } else { next!(prefixed) };
                let fin = frame_type & 0x01 != 0;
                Self::Stream { stream_id, offset: within_stream(offset, data)?, fin, data }
            }
            0x10 => Self::MaxData { maximum: next!(varint) },
            0x11 => Self::MaxStreamData { stream_id: next!(varint), maximum: next!(varint) },
            0x12 | 0x13 => {
                Self::MaxStreams { bidirectional: frame_type == 0x12, maximum: stream_count(next!(varint))? }
            }
            0x14 => Self::DataBlocked { limit: next!(varint) },
            0x15 => Self::StreamDataBlocked { stream_id: next!(varint), limit: next!(varint) },
            0x16 | 0x17 => Self::StreamsBlocked {
                bidirectional: frame_type == 0x16,
                limit: stream_count(next!(varint))?,
            },
            0x18 => {
                let NewId { sequence_number, retire_prior_to, connection_id, stateless_reset_token } =
                    NewId::parse(cursor)?;
                Self::NewConnectionId {
                    sequence_number,
                    retire_prior_to,
                    connection_id,
                    stateless_reset_token,
                }
            }
            0x19 => Self::RetireConnectionId { sequence_number: next!(varint) },
            0x1a => Self::PathChallenge { data: next!(array) },
            0x1b => Self::PathResponse { data: next!(array) },
            0x1c | 0x1d => {
                let error_code = next!(varint);
                let frame_type = if frame_type == 0x1c { Some(next!(varint)) } else { None };
                Self::ConnectionClose { error_code, frame_type, reason: next!(prefixed) }
            }
            0x1e => Self::HandshakeDone,
            0x1f => Self::ImmediateAck,
            0x24 => {
                let (stream_id, error_code) = (next!(varint), next!(varint));
                let (final_size, reliable_size) = (next!(varint), next!(varint));
                if reliable_size > final_size {
                    return Err(FrameFault::OutOfRange("the reliable size exceeds the final size"));
                }
                Self::ResetStreamAt { stream_id, error_code, final_size, reliable_size }
            }
            0x30 => Self::Datagram { data: remainder(cursor) },
            0x31 => Self::Datagram { data: next!(prefixed) },
            0x3e | 0x3f => Self::PathAck {
                path_id: path_id(next!(varint))?,
                ack: Ack::parse(cursor, frame_type == 0x3f)?,
            },
            0x3e75 => Self::PathAbandon { path_id: path_id(next!(varint))?, error_code: next!(varint) },
            0x3e76 | 0x3e77 => Self::PathStatus {
                path_id: path_id(next!(varint))?,
                backup: frame_type == 0x3e76,
                sequence_number: next!(varint),
            },
            0x3e78 => {
                let path_id = path_id(next!(varint))?;
                let NewId { sequence_number, retire_prior_to, connection_id, stateless_reset_token } =
                    NewId::parse(cursor)?;
                Self::PathNewConnectionId {
                    path_id,
                    sequence_number,
                    retire_prior_to,
                    connection_id,
                    stateless_reset_token,
                }
            }
            0x3e79 => Self::PathRetireConnectionId {
                path_id: path_id(next!(varint))?,
                sequence_number: next!(varint),
            },
            0x3e7a => Self::MaxPathId { maximum: path_id(next!(varint))? },
            0x3e7b => Self::PathsBlocked { maximum: path_id(next!(varint))? },
            0x3e7c => Self::PathCidsBlocked {
                path_id: path_id(next!(varint))?,
                next_sequence_number: next!(varint),
            },
            0xaf => Self::AckFrequency {
                sequence_number: next!(varint),
                ack_eliciting_threshold: next!(varint),
                request_max_ack_delay: next!(varint),
                reordering_threshold: next!(varint),
            },
            _ => {
                remainder(cursor);
                Self::Unknown { frame_type, rest: whole }
            }
        })
    }
}

/// Fields common to NEW_CONNECTION_ID and PATH_NEW_CONNECTION_ID.
struct NewId<'a> {
    sequence_number: u64,
    retire_prior_to: u64,
    connection_id: &'a [u8],
    stateless_reset_token: &'a [u8; 16],
}

impl<'a> NewId<'a> {
    fn parse(cursor: &mut Cursor<'a>) -> Result<Self, FrameFault> {
        let mut next = || cursor.varint().ok_or(FrameFault::Truncated);
        let (sequence_number, retire_prior_to) = (next()?, next()?);
        if retire_prior_to > sequence_number {
            return Err(FrameFault::OutOfRange("Retire Prior To exceeds the sequence number"));
        }
        let connection_id = cursor.byte_prefixed().ok_or(FrameFault::Truncated)?;
        if !(1..=20).contains(&connection_id.len()) {
            return Err(FrameFault::OutOfRange("the connection ID has not 1 to 20 bytes"));
        }
        let stateless_reset_token = cursor.array().ok_or(FrameFault::Truncated)?;
        Ok(Self { sequence_number, retire_prior_to, connection_id, stateless_reset_token })
    }
}

/// "This value MUST NOT exceed 2^32-1, the maximum allowed value for the path ID" (draft-ietf-quic-multipath-21
/// section 2.1).
fn path_id(id: u64) -> Result<u64, FrameFault> {
    if id > u64::from(u32::MAX) {
        return Err(FrameFault::OutOfRange("the path ID exceeds 2^32-1"));
    }
    Ok(id)
}

/// Bytes up to the end of the packet: of a frame without a Length field, or of unknown length.
fn remainder<'a>(cursor: &mut Cursor<'a>) -> &'a [u8] {
    let rest = cursor.rest();
    *cursor = Cursor::new(&[]);
    rest
}

/// "The largest offset delivered on a stream -- the sum of the offset and data length -- cannot
/// exceed 2^62-1" (RFC 9000 sections 19.6 and 19.8).
fn within_stream(offset: u64, data: &[u8]) -> Result<u64, FrameFault> {
    if offset + data.len() as u64 > VARINT_MAX {
        return Err(FrameFault::OutOfRange("the data end beyond offset 2^62-1"));
    }
    Ok(offset)
}

/// "This value cannot exceed 2^60, as it is not possible to encode stream IDs larger than 2^62-1"
/// (RFC 9000 sections 19.11 and 19.14).
fn stream_count(count: u64) -> Result<u64, FrameFault> {
    if count > 1 << 60 {
        return Err(FrameFault::OutOfRange("more than 2^60 streams"));
    }
    Ok(count)
}
