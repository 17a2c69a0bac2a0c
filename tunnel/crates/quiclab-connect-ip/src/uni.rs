//! Unidirectional streams of the peer: its control stream with its settings, those of QPACK, and any others (RFC
//! 9114 section 6.2).

use super::error::{self, Http3Error};
use super::frame;
use super::qpack::MAX_SECTION_BYTES;
use super::records::{self, Record, RecordError, Records, Rule};
use super::varint::{self, Fields};
use bytes::{BufMut, BytesMut};
use quiclab_core::Role;
use std::collections::BTreeMap;

/// Types of streams (RFC 9114 section 6.2, RFC 9204 section 4.2).
const CONTROL: u64 = 0;
const PUSH: u64 = 1;
const ENCODER: u64 = 2;
const DECODER: u64 = 3;
/// Identifiers of settings.
const MAX_FIELD_SECTION_SIZE: u64 = 6;
const ENABLE_CONNECT_PROTOCOL: u64 = 8;
const H3_DATAGRAM: u64 = 0x33;
/// Settings of HTTP/2 that HTTP/3 does not have (RFC 9114 section 7.2.4.1).
const OF_HTTP2: [u64; 4] = [2, 3, 4, 5];
/// Maximum length of SETTINGS, GOAWAY and similar.
const MAX_CONTROL_FRAME: usize = 1024;
/// "Set Dynamic Table Capacity" to 0, the only instruction that fits a capacity of 0 (RFC 9204 section 4.3.1).
const CAPACITY_0: u8 = 0x20;

/// Settings of the peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    /// Extended CONNECT (RFC 9220 section 3).
    pub(super) connect: bool,
    /// HTTP Datagrams in QUIC datagrams (RFC 9297 section 2.1.1).
    pub(super) datagrams: bool,
}

#[derive(Debug)]
enum Stream {
    /// Its type is incomplete.
    New(BytesMut),
    Control(Records),
    Encoder,
    Decoder,
    /// Its content is ignored.
    Unknown,
}

/// All open streams.
#[derive(Debug)]
pub(super) struct UniStreams {
    role: Role,
    streams: BTreeMap<u64, Stream>,
    settings: Option<Settings>,
    /// Number of streams and frames so far, each of which costs work.
    idle: u64,
}

/// The bytes of this end's own control stream.
pub(super) fn control(role: Role) -> BytesMut {
    let mut settings = BytesMut::new();
    let connect = (role == Role::Server).then_some((ENABLE_CONNECT_PROTOCOL, 1));
    let both = [(MAX_FIELD_SECTION_SIZE, MAX_SECTION_BYTES as u64), (H3_DATAGRAM, 1)];
    for (identifier, value) in both.into_iter().chain(connect) {
        varint::write(&mut settings, identifier);
        varint::write(&mut settings, value);
    }
    let mut out = BytesMut::new();
    out.put_u8(CONTROL as u8);
    records::write(&mut out, frame::SETTINGS, &settings);
    out
}

impl UniStreams {
    pub(super) fn new(role: Role) -> Self {
        Self { role, streams: BTreeMap::new(), settings: None, idle: 0 }
    }

    /// Settings of the peer; `None` before they have arrived.
    pub(super) fn settings(&self) -> Option<Settings> {
        self.settings
    }

    /// Takes the count of streams and frames that have arrived.
    pub(super) fn take_idle(&mut self) -> u64 {
        std::mem::take(&mut self.idle)
    }

    pub(super) fn receive(&mut self, id: u64, bytes: &[u8], end: bool) -> Result<(), Http3Error> {
        let stream = self.streams.remove(&id).unwrap_or_else(|| {
            self.idle += 1;
            Stream::New(BytesMut::new())
        });
        let stream = match stream {
            Stream::New(mut waiting) => {
                waiting.extend_from_slice(bytes);
                match varint::read(&waiting) {
                    Some((kind, length)) => {
                        let mut stream = self.open(kind)?;
                        self.feed(&mut stream, &waiting[length..])?;
                        stream
                    }
                    None => Stream::New(waiting), // up to seven bytes
                }
            }
            mut stream => {
                self.feed(&mut stream, bytes)?;
                stream
            }
        };
        match stream {
            // section 6.2.1; a stream without a type may end (section 6.2)
            Stream::Control(_) | Stream::Encoder | Stream::Decoder if end => {
                Err(error::CLOSED_CRITICAL_STREAM)
            }
            _ if end => Ok(()),
            stream => {
                self.streams.insert(id, stream);
                Ok(())
            }
        }
    }

    fn open(&self, kind: u64) -> Result<Stream, Http3Error> {
        let mut others = self.streams.values();
        let (stream, exists) = match kind {
            CONTROL => {
                (Stream::Control(Records::default()), others.any(|other| matches!(other, Stream::Control(_))))
            }
            ENCODER => (Stream::Encoder, others.any(|other| matches!(other, Stream::Encoder))),
            DECODER => (Stream::Decoder, others.any(|other| matches!(other, Stream::Decoder))),
            // section 6.2.2: clients push nothing, and servers only what MAX_PUSH_ID allows
            PUSH if self.role == Role::Server => return Err(error::STREAM_CREATION),
            PUSH => return Err(error::ID),
            _ => (Stream::Unknown, false),
        };
        if exists { Err(error::STREAM_CREATION) } else { Ok(stream) }
    }

    fn feed(&mut self, stream: &mut Stream, bytes: &[u8]) -> Result<(), Http3Error> {
        match stream {
            Stream::Control(frames) => {
                frames.push(bytes);
                loop {
                    let (role, first) = (self.role, self.settings.is_none());
                    let next = match frames.next(|kind| rule(role, first, kind)) {
                        Err(RecordError::Refused(_)) if first => return Err(error::MISSING_SETTINGS),
                        next => next?,
                    };
                    self.idle += frames.take_idle();
                    let Some(Record { kind, content }) = next else { return Ok(()) };
                    self.idle += 1;
                    if kind == frame::SETTINGS {
                        self.settings = Some(settings(&content)?);
                    } else if varint::read(&content).is_none_or(|(_, length)| length != content.len()) {
                        // CANCEL_PUSH, GOAWAY and MAX_PUSH_ID are one integer
                        return Err(error::FRAME);
                    }
                }
            }
            Stream::Encoder if bytes.iter().any(|byte| *byte != CAPACITY_0) => Err(error::ENCODER_STREAM),
            // cancellations of streams have no effect without a dynamic table
            _ => Ok(()),
        }
    }
}

/// Rule for a frame on the control stream: SETTINGS first, and once (sections 6.2.1 and 7.2.4).
fn rule(role: Role, first: bool, kind: u64) -> Rule {
    match kind {
        frame::SETTINGS if first => Rule::Whole(MAX_CONTROL_FRAME),
        _ if first => Rule::Refuse,
        frame::GOAWAY | frame::CANCEL_PUSH => Rule::Whole(MAX_CONTROL_FRAME),
        frame::MAX_PUSH_ID if role == Role::Server => Rule::Whole(MAX_CONTROL_FRAME),
        frame::DATA | frame::HEADERS | frame::SETTINGS | frame::PUSH_PROMISE | frame::MAX_PUSH_ID => {
            Rule::Refuse
        }
        kind if frame::OF_HTTP2.contains(&kind) => Rule::Refuse,
        _ => Rule::Skip,
    }
}

fn settings(content: &[u8]) -> Result<Settings, Http3Error> {
    let (mut fields, mut found) = (Fields(content), BTreeMap::new());
    while !fields.0.is_empty() {
        let (Some(identifier), Some(value)) = (fields.varint(), fields.varint()) else {
            return Err(error::FRAME);
        };
        // each once, and none of HTTP/2
        if OF_HTTP2.contains(&identifier) || found.insert(identifier, value).is_some() {
            return Err(error::SETTINGS);
        }
    }
    let flag = |identifier| match found.get(&identifier) {
        None | Some(0) => Ok(false),
        Some(1) => Ok(true),
        Some(_) => Err(error::SETTINGS),
    };
    Ok(Settings { connect: flag(ENABLE_CONNECT_PROTOCOL)?, datagrams: flag(H3_DATAGRAM)? })
}
