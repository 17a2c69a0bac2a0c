//! HTTP/3 (RFC 9114) for one request of CONNECT-IP: a state machine that takes the bytes of streams and returns events. It
//! uses neither QUIC nor a clock, and stores at most one incomplete frame and one incomplete capsule.
//!
//! | | here |
//! | --- | --- |
//! | requests of a connection | one tunnel; further requests are rejected while it is open (H3_REQUEST_REJECTED) |
//! | settings | SETTINGS_ENABLE_CONNECT_PROTOCOL of servers (RFC 9220), SETTINGS_H3_DATAGRAM (RFC 9297), SETTINGS_MAX_FIELD_SECTION_SIZE |
//! | QPACK | the static table; capacity 0 |
//! | server push | never allowed |
//! | GOAWAY | ignored: the tunnel ends with its stream |
//! | trailers, unknown frames and streams | an error; ignored |
//! | datagrams with a context other than 0, or of other streams | dropped (RFC 9484 section 5, RFC 9297 section 2.1) |

use super::capsule::{self, Capsule};
use super::error::{self, Http3Error};
use super::frame;
use super::message::{self, Target};
use super::qpack::MAX_SECTION_BYTES;
use super::records::{self, Record, Records, Rule};
use super::uni::UniStreams;
use super::varint::{self, MAX_VARINT};
use bytes::{BufMut, Bytes, BytesMut};
use quiclab_core::Role;
use quiclab_core::ip::IPV4_HEADER;

/// Event of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Http3Event {
    /// At a client: the server offers the extensions that a request needs. [`Http3::ask`] is next.
    Ready,
    /// At a server: a request, or the status with which it is refused. [`Http3::answer`] is next.
    Request(Result<(), u16>),
    /// At a client: the final response.
    Response(u16),
    /// A capsule.
    Capsule(Capsule),
    /// The peer has ended the request.
    End,
}

/// State of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It awaits its header, or that of its response.
    Header,
    /// At a server: it waits for the client's settings, or for an answer.
    Asked(Result<(), u16>),
    /// It is a tunnel.
    Open,
    /// It was refused.
    Refused,
}

/// The stream of a request.
#[derive(Debug)]
struct Request {
    stream: u64,
    phase: Phase,
    frames: Records,
    capsules: Records,
    ended: bool,
}

/// One connection.
#[derive(Debug)]
pub struct Http3 {
    role: Role,
    target: Target,
    uni: UniStreams,
    request: Option<Request>,
    /// The stream of the last request that was refused: no more data are read from it.
    refused: Option<u64>,
    /// Number of frames and capsules of requests without a packet so far.
    idle: u64,
}

impl Http3 {
    /// Creates a connection of a client that requests `target`, or of a server that has it.
    #[must_use]
    pub fn new(role: Role, target: Target) -> Self {
        Self { role, target, uni: UniStreams::new(role), request: None, refused: None, idle: 0 }
    }

    /// Takes the count of received frames, capsules and streams that carry no packet.
    #[must_use]
    pub fn take_idle(&mut self) -> u64 {
        let of_request =
            self.request.iter_mut().map(|request| request.frames.take_idle() + request.capsules.take_idle());
        of_request.sum::<u64>() + self.uni.take_idle() + std::mem::take(&mut self.idle)
    }

    /// Bytes that this end sends on its control stream, once.
    #[must_use]
    pub fn control(&self) -> BytesMut {
        super::uni::control(self.role)
    }

    /// Processes bytes of a unidirectional stream of the peer; `end`: they are its last.
    ///
    /// # Errors
    /// If the connection must end.
    pub fn receive_uni(
        &mut self,
        stream: u64,
        bytes: &[u8],
        end: bool,
        out: &mut Vec<Http3Event>,
    ) -> Result<(), Http3Error> {
        let before = self.uni.settings().is_some();
        self.uni.receive(stream, bytes, end)?;
        if let Some(settings) = self.uni.settings().filter(|_| !before) {
            match self.role {
                Role::Client if settings.connect && settings.datagrams => out.push(Http3Event::Ready),
                Role::Client => return Err(error::NOT_OFFERED),
                Role::Server => self.decide(out),
            }
        }
        Ok(())
    }

    /// The client's request, the first bytes sent on `stream`.
    #[must_use]
    pub fn ask(&mut self, stream: u64) -> BytesMut {
        self.begin(stream);
        header(&message::request(&self.target))
    }

    /// Whether bytes of this bidirectional stream are accepted; otherwise it is rejected.
    #[must_use]
    pub fn takes(&self, stream: u64) -> bool {
        match &self.request {
            Some(request) => request.stream == stream,
            None => self.role == Role::Server && self.refused.is_none_or(|refused| stream > refused),
        }
    }

    /// Whether the stream of the request is not read now, because the request waits for an answer.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.request.as_ref().is_some_and(|request| matches!(request.phase, Phase::Asked(_)))
    }

    fn begin(&mut self, stream: u64) {
        self.request = Some(Request {
            stream,
            phase: Phase::Header,
            frames: Records::default(),
            capsules: Records::default(),
            ended: false,
        });
    }

    /// Processes bytes of the stream of the request; `end`: they are its last.
    ///
    /// # Errors
    /// If the connection must end.
    pub fn receive_request(
        &mut self,
        stream: u64,
        bytes: &[u8],
        end: bool,
        out: &mut Vec<Http3Event>,
    ) -> Result<(), Http3Error> {
        if !self.takes(stream) {
            return Ok(());
        }
        if self.request.is_none() {
            self.begin(stream);
        }
        if let Some(request) = &mut self.request {
            request.frames.push(bytes);
            request.ended |= end;
        }
        self.read(out)
    }

    /// At a server: answers the request with `status`. Returns the bytes to send on its stream, and continues with
    /// the bytes after the request.
    ///
    /// # Errors
    /// If the connection must end.
    pub fn answer(&mut self, status: u16, out: &mut Vec<Http3Event>) -> Result<BytesMut, Http3Error> {
        let accepted = (200..300).contains(&status);
        if let Some(request) = &mut self.request {
            request.phase = if accepted { Phase::Open } else { Phase::Refused };
        }
        if accepted {
            self.read(out)?;
        } else {
            self.refused = self.request.take().map(|request| request.stream); // another may follow
        }
        Ok(header(&message::response(status)))
    }

    fn decide(&mut self, out: &mut Vec<Http3Event>) {
        let Some(settings) = self.uni.settings() else { return };
        let Some(Request { phase: Phase::Asked(asked), .. }) = &self.request else { return };
        // a tunnel requires datagrams (RFC 9297 section 2.1.1)
        let asked = if settings.datagrams { *asked } else { asked.and(Err(400)) };
        out.push(Http3Event::Request(asked));
    }

    fn read(&mut self, out: &mut Vec<Http3Event>) -> Result<(), Http3Error> {
        let role = self.role;
        while let Some(request) = &mut self.request {
            match request.phase {
                Phase::Header | Phase::Open => {}
                Phase::Asked(_) | Phase::Refused => return Ok(()),
            }
            let Some(Record { kind, content }) = request.frames.next(|kind| rule(role, kind))? else { break };
            self.idle += u64::from(kind != frame::DATA);
            match (kind, request.phase) {
                (frame::HEADERS, Phase::Header) if role == Role::Server => {
                    request.phase = Phase::Asked(message::read_request(&content, &self.target.path)?);
                    self.decide(out);
                }
                (frame::HEADERS, Phase::Header) => match message::read_response(&content)? {
                    100..=199 => {} // the final one follows
                    status => {
                        let accepted = (200..300).contains(&status);
                        request.phase = if accepted { Phase::Open } else { Phase::Refused };
                        out.push(Http3Event::Response(status));
                    }
                },
                (frame::DATA, Phase::Open) => {
                    request.capsules.push(&content);
                    while let Some(Record { kind, content }) = request.capsules.next(capsule::rule)? {
                        let capsule = capsule::parse(kind, &content).map_err(|_| error::MALFORMED_CAPSULE)?;
                        self.idle += u64::from(
                            !matches!(&capsule, Capsule::Datagram(packet) if packet.len() >= IPV4_HEADER),
                        );
                        out.push(Http3Event::Capsule(capsule));
                    }
                }
                (frame::PUSH_PROMISE, _) => return Err(error::ID),
                // RFC 9114 section 4.4: only DATA once a tunnel is open
                _ => return Err(error::FRAME_UNEXPECTED),
            }
        }
        match &self.request {
            Some(request) if request.ended => match request.phase {
                Phase::Header => Err(error::REQUEST_INCOMPLETE),
                Phase::Open if !request.frames.is_between() => Err(error::FRAME),
                Phase::Open if !request.capsules.is_between() => Err(error::MALFORMED_CAPSULE),
                _ => {
                    out.push(Http3Event::End);
                    Ok(())
                }
            },
            _ => Ok(()),
        }
    }

    /// The IP packet in a datagram; `None` if it carries none for the tunnel.
    ///
    /// # Errors
    /// If the connection must end.
    pub fn packet(&self, datagram: &Bytes) -> Result<Option<Bytes>, Http3Error> {
        let (quarter, length) = varint::read(datagram).ok_or(error::DATAGRAM)?;
        // RFC 9297 section 2.1: a stream ID has 62 bits
        if quarter > MAX_VARINT / 4 {
            return Err(error::DATAGRAM);
        }
        let open = self.request.as_ref().filter(|request| request.phase == Phase::Open);
        let payload = datagram.slice(length..);
        Ok(open.filter(|request| request.stream / 4 == quarter).and_then(|_| packet_of(&payload)))
    }

    /// Header of the IP packet in a datagram: quarter stream ID and context 0; empty while there is no tunnel.
    #[must_use]
    pub fn datagram_header(&self) -> BytesMut {
        let mut header = BytesMut::new();
        if let Some(request) = self.request.as_ref().filter(|request| request.phase == Phase::Open) {
            varint::write(&mut header, request.stream / 4);
            header.put_u8(0);
        }
        header
    }
}

/// The IP packet in an HTTP Datagram: after context 0 (RFC 9484 section 5).
#[must_use]
pub fn packet_of(payload: &Bytes) -> Option<Bytes> {
    let (context, length) = varint::read(payload)?;
    (context == 0).then(|| payload.slice(length..))
}

/// A capsule as sent on the stream of the request.
#[must_use]
pub fn data(capsule: &Capsule) -> BytesMut {
    let (mut content, mut out) = (BytesMut::new(), BytesMut::new());
    capsule.encode(&mut content);
    records::write(&mut out, frame::DATA, &content);
    out
}

fn header(section: &[u8]) -> BytesMut {
    let mut out = BytesMut::new();
    records::write(&mut out, frame::HEADERS, section);
    out
}

/// Rule for a frame on the stream of a request.
fn rule(role: Role, kind: u64) -> Rule {
    match kind {
        frame::DATA => Rule::Pieces,
        frame::HEADERS => Rule::Whole(MAX_SECTION_BYTES),
        frame::PUSH_PROMISE if role == Role::Client => Rule::Whole(MAX_SECTION_BYTES),
        frame::CANCEL_PUSH | frame::SETTINGS | frame::PUSH_PROMISE | frame::GOAWAY | frame::MAX_PUSH_ID => {
            Rule::Refuse
        }
        kind if frame::OF_HTTP2.contains(&kind) => Rule::Refuse,
        _ => Rule::Skip,
    }
}

#[cfg(test)]
#[path = "http3_tests.rs"]
mod tests;
