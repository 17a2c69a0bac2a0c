//! Packets of a qlog file, of every draft, layout and stack that [`crate::inspect`] reads, by the same decoder.
//!
//! | in the file | becomes |
//! | --- | --- |
//! | connection (trace, or `group_id` of its events) | a [`Flow`] without addresses, once it has a packet |
//! | `packet_sent`, `packet_received` | a [`ObservedPacket`]; forward is the direction of the first |
//! | `raw.length`, `header.packet_size` and similar | UDP payload; 42 bytes more are the frame |
//! | packet with frames | [`Content::Quic`], of Initial and Handshake packets one without numbers and acknowledgements |
//! | Retry, Version Negotiation, stateless reset | the same: they are not ack-eliciting |
//! | packet without frames (all of quinn) | [`Content::Opaque`]: size and time |
//!
//! Initial and Handshake packets have packet number spaces of their own (RFC 9000 section 12.3), whose numbers would be
//! confused with those of the data. Unlike in a capture, packets that share a datagram are separate packets at the same
//! time, each with the headers of a datagram.

use super::{
    AckRange, Content, Flow, ObservedPacket, PacketNumber, Problems, Protocol, ReadError, Reading, Sink,
};
use crate::inspect::{self, Decoder, Ending, Event, Packet, Piece, read_document, unrecognised_format};
use crate::magic::HEAD_BYTES;
use std::cell::Cell;
use std::io::{self, Read};

/// Ethernet, IPv4 without options and UDP: bytes of a frame besides its UDP payload.
const HEADERS_BYTES: u32 = 14 + PACKET_HEADERS_BYTES;
const PACKET_HEADERS_BYTES: u32 = 20 + 8;
/// Times are clamped to 73 years around zero, so that the difference of any two fits in nanoseconds.
const FAR_NS: i64 = 1 << 61;

/// Reads the qlog file that `open` returns, each time from its beginning; `file` is its name in messages.
///
/// A contained file is read twice: the description of a trace may follow its events.
///
/// # Errors
/// If the input cannot be read, or contains no qlog: [`ReadError::Io`], [`ReadError::NotReadable`].
pub fn read_qlog<R: Read>(
    open: impl Fn() -> io::Result<R>,
    file: &str,
    sink: &mut dyn Sink,
) -> Result<Reading, ReadError> {
    let failed = |source| ReadError::Io { file: file.to_owned(), source };
    let mut decoder = learn(open().map_err(failed)?).map_err(failed)?;
    let mut packets = Packets { sink, flows: Vec::new(), problems: Problems::default() };
    let mut event = Latest::default();
    let ending = read_document(open().map_err(failed)?, |piece| {
        decoder.take(piece, &mut event);
        if event.fresh {
            event.fresh = false;
            packets.hand_on(&mut event, &decoder);
        }
    })
    .map_err(failed)?;
    if !event.known && !decoder.described() {
        let mut head = Vec::new();
        open().map_err(failed)?.take(HEAD_BYTES).read_to_end(&mut head).map_err(failed)?;
        return Err(ReadError::NotReadable {
            file: file.to_owned(),
            found: unrecognised_format(&head, &decoder),
        });
    }
    Ok(packets.finish(&decoder, &ending))
}

/// Decoder with the information that is needed before the first event: descriptions that follow their events.
fn learn(input: impl Read) -> io::Result<Decoder> {
    /// Input that ends where only events follow.
    struct Until<'a, R>(R, &'a Cell<bool>);
    impl<R: Read> Read for Until<'_, R> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            if self.1.get() { Ok(0) } else { self.0.read(out) }
        }
    }
    let records = Cell::new(false);
    let mut decoder = Decoder::default();
    read_document(Until(input, &records), |piece| {
        records.set(records.get() || matches!(piece, Piece::Records));
        decoder.learn(piece);
    })?;
    Ok(if decoder.late { decoder.again() } else { Decoder::default() })
}

/// Content of the last event, if it is about a packet. The lists keep their memory between packets.
#[derive(Default)]
struct Latest {
    /// Whether it has not been passed on yet.
    fresh: bool,
    /// Whether any event was of a kind that qlog files have.
    known: bool,
    connection: usize,
    time_ms: f64,
    sent: bool,
    bytes: Option<u64>,
    readable: bool,
    /// Whether it is not readable although it has a number.
    without_frames: bool,
    /// Whether it has an ACK frame, and whether one of them has no ranges.
    ack: bool,
    without_ranges: bool,
    ack_eliciting: bool,
    numbers: Vec<PacketNumber>,
    ranges: Vec<AckRange>,
}

impl inspect::Sink for Latest {
    fn event(&mut self, connection: usize, time_ms: f64, event: Event<'_>) {
        self.known |= !matches!(event, Event::Other(_));
        if let Event::Packet(packet) = event {
            (self.connection, self.time_ms, self.fresh) = (connection, time_ms, true);
            self.packet(&packet);
        }
    }
}

impl Latest {
    fn packet(&mut self, packet: &Packet<'_>) {
        (self.sent, self.bytes) = (packet.sent, packet.bytes);
        self.readable = packet.frames_told() || packet.without_frames;
        self.without_frames = packet.number.is_some() && !self.readable;
        (self.ack, self.without_ranges) = (false, false);
        self.ack_eliciting = packet.ack_eliciting();
        self.numbers.clear();
        self.ranges.clear();
        if !packet.application_data() {
            return;
        }
        self.numbers.extend(packet.number.map(|number| PacketNumber { path: packet.path, number }));
        for (path, ack) in packet.acks() {
            let before = self.ranges.len();
            self.ranges.extend(ack.map(|(smallest, largest)| AckRange { path, numbers: smallest..=largest }));
            self.ack = true;
            self.without_ranges |= self.ranges.len() == before;
        }
        ascending(&mut self.ranges);
    }

    fn content(&self) -> Content<'_> {
        if !self.readable {
            return Content::Opaque;
        }
        Content::Quic {
            numbers: &self.numbers,
            acknowledged: self.ack.then_some(&self.ranges),
            ack_eliciting: self.ack_eliciting,
        }
    }
}

/// Sorts ranges and merges adjacent ones of a path.
fn ascending(ranges: &mut Vec<AckRange>) {
    ranges.sort_unstable_by_key(|range| (range.path, *range.numbers.start()));
    ranges.dedup_by(|next, range| {
        let (later, earlier) = (&next.numbers, &mut range.numbers);
        let touches = next.path == range.path && *later.start() <= earlier.end().saturating_add(1);
        if touches {
            *earlier = *earlier.start()..=*earlier.end().max(later.end());
        }
        touches
    });
}

/// A connection that has a packet.
struct Known {
    connection: usize,
    /// Whether its first packet was sent by the endpoint that logs.
    first_sent: bool,
    name: String,
}

/// Passes packets to a sink.
struct Packets<'s> {
    sink: &'s mut dyn Sink,
    /// Connections by index of the flow; at most as many as the decoder distinguishes.
    flows: Vec<Known>,
    problems: Problems,
}

impl Packets<'_> {
    fn hand_on(&mut self, event: &mut Latest, decoder: &Decoder) {
        let index = self.flow(event, decoder);
        let payload = event.bytes.map_or(0, |bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
        for (found, kind) in [
            (event.bytes.is_none(), NO_SIZE),
            (event.without_frames, NO_FRAMES),
            (event.without_ranges, "ACK frames without ranges"),
        ] {
            if found {
                self.problems.count(kind);
            }
        }
        // a cast from a float saturates
        let at = (event.time_ms * 1e6).round() as i64;
        if at.unsigned_abs() > FAR_NS.unsigned_abs() {
            self.problems.count("times more than 73 years away");
        }
        let seen = ObservedPacket {
            at: at.clamp(-FAR_NS, FAR_NS),
            backward: event.sent != self.flows[index].first_sent,
            frame_bytes: if event.bytes.is_some() { payload.saturating_add(HEADERS_BYTES) } else { 0 },
            packet_bytes: if event.bytes.is_some() {
                payload.saturating_add(PACKET_HEADERS_BYTES)
            } else {
                0
            },
            payload_bytes: payload,
            content: event.content(),
        };
        self.sink.packet(index, &seen);
    }

    /// Index of the flow of an event, which may be new.
    fn flow(&mut self, event: &Latest, decoder: &Decoder) -> usize {
        // usually one, or the last: a file of many connections has them one after the other
        if let Some(index) = self.flows.iter().rposition(|known| known.connection == event.connection) {
            return index;
        }
        let name = name(decoder, event.connection);
        self.flows.push(Known { connection: event.connection, first_sent: event.sent, name: name.clone() });
        self.sink.flow(self.flows.len() - 1, &flow(name));
        self.flows.len() - 1
    }

    fn finish(mut self, decoder: &Decoder, ending: &Ending) -> Reading {
        for (index, known) in self.flows.iter().enumerate() {
            // the title may follow the events
            let name = name(decoder, known.connection);
            if name != known.name {
                self.sink.better_known(index, &flow(name));
            }
        }
        self.problems.add("records that are not qlog events", decoder.malformed);
        self.problems.add("events of connections beyond the first 256", decoder.beyond);
        let notes = notes(&self, ending);
        let (format, problems) = ("qlog".to_owned(), self.problems);
        Reading { format, frames: decoder.events, problems, notes, ..Reading::default() }
    }
}

const NO_SIZE: &str = "packets without size";
const NO_FRAMES: &str = "packets without frames";

fn notes(packets: &Packets<'_>, ending: &Ending) -> Vec<String> {
    let mut notes = Vec::new();
    if packets.flows.is_empty() {
        notes.push("No event of the file is a packet that was sent or received.".to_owned());
    } else {
        notes.push(format!(
            "Times are those of the program that logged. A frame is taken as the QUIC packet and {HEADERS_BYTES} bytes \
             of Ethernet, IPv4 and UDP, as a capture would show it; packets that share a datagram count as one each."
        ));
    }
    let has = |kind| packets.problems.iter().any(|(found, _)| found == kind);
    if has(NO_SIZE) {
        notes.push("Packets that are logged without their size count as 0 bytes.".to_owned());
    }
    if has(NO_FRAMES) {
        notes.push(
            "Of packets that are logged without their frames only time and size are known, not what they acknowledge."
                .to_owned(),
        );
    }
    if let Some(byte) = ending.stopped_at {
        notes.push(format!(
            "The file is truncated or damaged: nothing after byte {byte} of its text is read."
        ));
    }
    notes
}

fn flow(name: String) -> Flow {
    Flow { protocol: Protocol::Quic, ends: None, name }
}

/// Title, vantage point and group, as far as they are known.
fn name(decoder: &Decoder, connection: usize) -> String {
    let (title, group, vantage) = decoder.names(connection);
    let vantage = if vantage == "unknown" { "" } else { vantage };
    let parts = [title, vantage, group.unwrap_or_default()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}
