//! Messages between the ends of a session inside QUIC, and their parsers: pure, bounded, failing closed.
//!
//! **Datagrams** (RFC 9221) carry one IP packet, or represent one:
//!
//! | first byte | then |
//! | --- | --- |
//! | 0 | the bytes of the packet |
//! | 1 | number of the packet (8 bytes), zeros up to its length: both ends in one process |
//! | 2 | number of the datagram (4 bytes), index and count of fragments (1 byte each), a part of a datagram of kind 0 or 1 |
//!
//! **Frames** on the first bidirectional stream of each connection, all numbers big-endian: length of the
//! rest (4 bytes), kind (1 byte), content.
//!
//! | kind | content | sent |
//! | --- | --- | --- |
//! | 1 Hello | "QLT2", token (16 bytes; zeros for a new session), path (1 byte), largest UDP payload (2 bytes) | by the client, first on each connection |
//! | 2 Welcome | token (16 bytes) | by the server, as the answer |
//! | 3 Message | number (8 bytes), up to 64 KiB | both, any connection: retransmitted on another one if that fails |
//! | 4 Received | number of the next message expected (8 bytes) | both |
//! | 5 Path | path identifier of QUIC (4 bytes), path (1 byte) | by a multipath client |

use bytes::{BufMut, Bytes, BytesMut};
use quiclab_core::PacketMemory;
use quiclab_core::tunnel::TunnelPayload;

/// Longest control message in bytes.
pub const MAX_CONTROL_BYTES: usize = 65_536;
/// Maximum number of bytes of control messages that wait to be sent or acknowledged.
pub const CONTROL_BACKLOG: usize = 1 << 20;
/// Maximum number of paths of a session.
pub const MAX_WIRE_PATHS: usize = 64;
/// Bytes of a datagram in addition to its tunnel payload.
pub const DATAGRAM_OVERHEAD: usize = 1;

/// Bytes of a fragment in addition to its content.
pub const FRAGMENT_OVERHEAD: usize = 7;
/// Maximum number of fragments of a datagram.
pub const MAX_FRAGMENTS: usize = 16;

/// Identifier of a session between both ends.
pub type Token = [u8; 16];
/// Token that requests a new session.
pub const NO_TOKEN: Token = [0; 16];

/// First bytes of a Hello: the version of frames and datagrams.
pub const MAGIC: &[u8; 4] = b"QLT2";
/// Length of kind and content of the longest frame.
const MAX_FRAME_LENGTH: usize = 1 + 8 + MAX_CONTROL_BYTES;

const BYTES: u8 = 0;
const PARCEL: u8 = 1;
const FRAGMENT: u8 = 2;

/// Whether a UDP payload may be of QUIC version 1 (RFC 9000 section 17), the only version of both ends. Others get no Version
/// Negotiation packet: RFC 9000 section 6.1 permits a server to limit these, and section 5.2.2 forbids them for less than 1200
/// bytes, which noq does not check.
#[must_use]
pub fn is_of_this_version(payload: &[u8]) -> bool {
    match payload.first() {
        None => false,
        Some(first) if first & 0x80 == 0 => true,
        Some(_) => payload.get(1..5) == Some(&[0, 0, 0, 1]),
    }
}

/// A part of a datagram that is too long for its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Number of the datagram, the same in all its fragments.
    pub number: u32,
    /// Position among the fragments, from 0.
    pub index: u8,
    /// Number of fragments of the datagram, 2 to [`MAX_FRAGMENTS`].
    pub count: u8,
    /// Content of the fragment.
    pub content: Bytes,
}

/// A frame on the control stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A connection introduces itself.
    Hello {
        /// Session that it belongs to; [`NO_TOKEN`] for a new one.
        token: Token,
        /// Number of its path.
        path: u8,
        /// Largest UDP payload of the path in bytes.
        payload: u16,
    },
    /// The connection belongs to the session of this token.
    Welcome {
        /// Token of the session.
        token: Token,
    },
    /// A control message.
    Message {
        /// Position in the order of all messages of the session, from 0.
        number: u64,
        /// The message.
        message: Bytes,
    },
    /// All messages below `next` have arrived.
    Received {
        /// Number of the next message expected.
        next: u64,
    },
    /// The path with the path ID `id` of QUIC is path `path`.
    Path {
        /// Path identifier of QUIC.
        id: u32,
        /// Number of the path.
        path: u8,
    },
}

/// The error of received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The length of a frame is out of range.
    #[error("expected a frame of 1 to {MAX_FRAME_LENGTH} bytes, got {0} bytes")]
    Length(usize),
    /// The kind of a frame is unknown.
    #[error("expected a frame of kind 1 to 5, got kind {0}")]
    Kind(u8),
    /// The content of a frame is malformed.
    #[error("malformed content of a frame of kind {0}")]
    Content(u8),
}

fn split<const N: usize>(bytes: &[u8]) -> Option<([u8; N], &[u8])> {
    let (first, rest) = bytes.split_first_chunk()?;
    Some((*first, rest))
}

fn content(kind: u8, bytes: &[u8]) -> Option<Frame> {
    let (frame, rest) = match kind {
        1 => {
            let (token, rest) = split(bytes.strip_prefix(MAGIC)?)?;
            let ([path], rest) = split(rest)?;
            let (payload, rest) = split(rest)?;
            (Frame::Hello { token, path, payload: u16::from_be_bytes(payload) }, rest)
        }
        2 => split(bytes).map(|(token, rest)| (Frame::Welcome { token }, rest))?,
        3 => {
            let (number, message) = split(bytes)?;
            let (number, message) = (u64::from_be_bytes(number), Bytes::copy_from_slice(message));
            (Frame::Message { number, message }, &[][..])
        }
        4 => split(bytes).map(|(next, rest)| (Frame::Received { next: u64::from_be_bytes(next) }, rest))?,
        _ => {
            let (id, rest) = split(bytes)?;
            let ([path], rest) = split(rest)?;
            (Frame::Path { id: u32::from_be_bytes(id), path }, rest)
        }
    };
    rest.is_empty().then_some(frame)
}

/// First frame in `bytes` and its length in bytes; `None` if more must arrive first.
///
/// # Errors
/// If no further bytes can make it a frame.
pub fn frame(bytes: &[u8]) -> Result<Option<(Frame, usize)>, WireError> {
    let Some((length, rest)) = split(bytes) else { return Ok(None) };
    let length = u32::from_be_bytes(length) as usize;
    if !(1..=MAX_FRAME_LENGTH).contains(&length) {
        return Err(WireError::Length(length));
    }
    let Some(&kind) = rest.first() else { return Ok(None) };
    // an unknown kind, or a short one that claims to be long, is not waited for
    match kind {
        3 => {}
        1 | 2 | 4 | 5 if length > 32 => return Err(WireError::Content(kind)),
        1 | 2 | 4 | 5 => {}
        _ => return Err(WireError::Kind(kind)),
    }
    let Some(body) = rest.get(1..length) else { return Ok(None) };
    let frame = content(kind, body).ok_or(WireError::Content(kind))?;
    Ok(Some((frame, 4 + length)))
}

impl Frame {
    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut BytesMut) {
        let start = out.len();
        out.put_u32(0);
        match self {
            Self::Hello { token, path, payload } => {
                out.put_u8(1);
                out.put_slice(MAGIC);
                out.put_slice(token);
                out.put_u8(*path);
                out.put_u16(*payload);
            }
            Self::Welcome { token } => {
                out.put_u8(2);
                out.put_slice(token);
            }
            Self::Message { number, message } => {
                out.put_u8(3);
                out.put_u64(*number);
                out.put_slice(message);
            }
            Self::Received { next } => {
                out.put_u8(4);
                out.put_u64(*next);
            }
            Self::Path { id, path } => {
                out.put_u8(5);
                out.put_u32(*id);
                out.put_u8(*path);
            }
        }
        let length = u32::try_from(out.len() - start - 4).expect("messages are checked to be short");
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }
}

/// Content of a datagram; `None` if it is malformed.
#[must_use]
pub fn datagram(bytes: &Bytes) -> Option<TunnelPayload> {
    let (&kind, rest) = bytes.split_first()?;
    match kind {
        BYTES => Some(TunnelPayload::Bytes(bytes.slice(1..))),
        PARCEL => {
            let (number, padding) = split(rest)?;
            let zeros = padding.iter().all(|&byte| byte == 0);
            let length = u16::try_from(rest.len()).ok().filter(|_| zeros)?;
            Some(TunnelPayload::Reference { number: u64::from_be_bytes(number), length })
        }
        _ => None,
    }
}

/// The fragment in a datagram; `None` if there is none, or if it is malformed.
#[must_use]
pub fn fragment(bytes: &Bytes) -> Option<Fragment> {
    let ([kind], rest) = split(bytes)?;
    let (number, rest) = split(rest)?;
    let ([index, count], _) = split(rest)?;
    let content = bytes.slice(FRAGMENT_OVERHEAD..);
    let counts = 2..=MAX_FRAGMENTS as u8;
    let valid = kind == FRAGMENT && counts.contains(&count) && index < count && !content.is_empty();
    valid.then(|| Fragment { number: u32::from_be_bytes(number), index, count, content })
}

/// The datagram that carries a fragment.
#[must_use]
pub fn encode_fragment(number: u32, index: u8, count: u8, content: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(FRAGMENT_OVERHEAD + content.len());
    out.put_u8(FRAGMENT);
    out.put_u32(number);
    out.put_slice(&[index, count]);
    out.put_slice(content);
    out.freeze()
}

/// The datagram that carries `cargo`; the bytes of a packet are copied to `memory`.
#[must_use]
pub fn encode_datagram(cargo: &TunnelPayload, memory: &mut PacketMemory) -> Bytes {
    let out = match cargo {
        TunnelPayload::Bytes(bytes) => memory.join(&[BYTES], bytes),
        TunnelPayload::Reference { number, length } => {
            let length = DATAGRAM_OVERHEAD + usize::from(*length).max(8);
            let mut out = BytesMut::with_capacity(length);
            out.put_u8(PARCEL);
            out.put_u64(*number);
            out.resize(length, 0);
            out
        }
    };
    out.freeze()
}

#[cfg(test)]
mod tests;
