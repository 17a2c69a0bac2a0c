//! The first pass: amounts of all data, by which the second decides what to omit.

use super::Selection;
use super::decode::Sink;
use super::event::{Event, Packet, frame_bytes};
use super::header::{add_original, original_id};
use super::sample::Span;
use super::streams::{Key, Streams};
use serde_json::Value;
use std::collections::HashSet;

/// Maximum number of lost packets of a file whose sending is always shown.
const PINNED_MAX: usize = 100_000;
const INITIAL: u8 = 0;

/// Amounts of data of a connection.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) events: u64,
    /// Whether there is an event of a kind that qlog files have.
    pub(super) known: bool,
    /// Times of the first and the last event.
    pub(super) span: Option<Span>,
    /// Events that are selected: packets, ACK frames, `packet_lost` events, samples of metrics.
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) acks: u64,
    pub(super) losses: u64,
    pub(super) metrics: u64,
    pub(super) streams: Streams,
    /// Space, path and number of lost packets.
    pub(super) lost: HashSet<(u8, u32, u64)>,
    /// Original Destination Connection IDs: from the first Initial packet, or from the parameters.
    pub(super) originals: Vec<String>,
    begun: bool,
}

/// Survey of all connections of a file.
#[derive(Debug)]
pub(super) struct Surveys {
    pub(super) connections: Vec<Survey>,
    selection: Selection,
    /// Number of streams and lost packets that are distinguished, of all connections.
    streams: usize,
    lost: usize,
}

impl Surveys {
    pub(super) fn new(selection: Selection) -> Self {
        Self { connections: Vec::new(), selection, streams: 0, lost: 0 }
    }
}

impl Sink for Surveys {
    fn event(&mut self, connection: usize, time_ms: f64, event: Event<'_>) {
        while self.connections.len() <= connection {
            self.connections.push(Survey::default());
        }
        let survey = &mut self.connections[connection];
        survey.events += 1;
        survey.known |= !matches!(event, Event::Other(_));
        let span = survey.span.get_or_insert(Span { from_ms: time_ms, to_ms: time_ms });
        span.from_ms = span.from_ms.min(time_ms);
        span.to_ms = span.to_ms.max(time_ms);
        let selected = self.selection.contains(time_ms);
        match event {
            Event::Packet(packet) => survey.packet(&packet, time_ms, selected, &mut self.streams),
            Event::Lost { number, space, path, .. } => {
                survey.losses += u64::from(selected);
                if let Some(number) = number
                    && self.lost < PINNED_MAX
                    && survey.lost.insert((space, path, number))
                {
                    self.lost += 1;
                }
            }
            Event::Metrics(..) => survey.metrics += u64::from(selected),
            Event::Parameters(json) => survey.parameters(json),
            _ => {}
        }
    }
}

impl Survey {
    fn original(&mut self, id: &str) {
        if let Some(id) = original_id(id) {
            add_original(&mut self.originals, id);
        }
    }

    /// Reads the original connection ID from a server's transport parameters (RFC 9000 section 18.2).
    fn parameters(&mut self, json: &[u8]) {
        let names = ["original_destination_connection_id", "original_connection_id"];
        let text = String::from_utf8_lossy(json);
        if !names.iter().any(|name| text.contains(name)) {
            return;
        }
        let Ok(event) = serde_json::from_slice::<Value>(json) else { return };
        let data = match &event {
            Value::Array(places) => places.iter().rev().find(|place| place.is_object()),
            event => event.get("data"),
        };
        for name in names {
            if let Some(id) = data.and_then(|data| data.get(name)).and_then(Value::as_str) {
                self.original(id);
            }
        }
    }

    fn packet(&mut self, packet: &Packet<'_>, time_ms: f64, selected: bool, tracked: &mut usize) {
        *(if packet.sent { &mut self.sent } else { &mut self.received }) += u64::from(selected);
        if packet.space == INITIAL && !std::mem::replace(&mut self.begun, true) {
            self.original(packet.destination);
        }
        for frame in packet.frames {
            let kind = frame.frame_type.as_str();
            if kind.eq_ignore_ascii_case("stream") {
                let key = Key { sent: packet.sent, id: frame.stream_id.0.unwrap_or_default() };
                let offset = frame.offset.0.unwrap_or_default();
                self.streams.frame(key, offset, frame_bytes(frame), time_ms, tracked);
                self.streams.select(key, selected);
            } else if !packet.sent && super::frames::is_ack(kind) {
                self.acks += u64::from(selected);
            }
        }
    }
}
