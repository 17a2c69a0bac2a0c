//! The first pass: how much there is of everything, so that the second knows what to leave out.

use super::Selection;
use super::decode::Sink;
use super::event::{Event, Packet, frame_bytes};
use super::sample::Span;
use super::streams::{Key, Streams};
use std::collections::HashSet;

/// Lost packets of a file whose sending is shown in any case.
const PINNED_MAX: usize = 100_000;

/// How much there is of a connection.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) events: u64,
    /// Whether there is an event of a kind that qlog files have.
    pub(super) known: bool,
    /// When the first and the last event was.
    pub(super) span: Option<Span>,
    /// Events that are selected: packets, ACK frames, `packet_lost` events, samples of metrics.
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) acks: u64,
    pub(super) losses: u64,
    pub(super) metrics: u64,
    pub(super) streams: Streams,
    /// Space and number of lost packets.
    pub(super) lost: HashSet<(u8, u64)>,
}

/// The survey of all connections of a file.
#[derive(Debug)]
pub(super) struct Surveys {
    pub(super) connections: Vec<Survey>,
    selection: Selection,
    /// Streams and lost packets that are told apart, of all connections.
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
            Event::Lost { number, space, .. } => {
                survey.losses += u64::from(selected);
                if let Some(number) = number
                    && self.lost < PINNED_MAX
                    && survey.lost.insert((space, number))
                {
                    self.lost += 1;
                }
            }
            Event::Metrics(..) => survey.metrics += u64::from(selected),
            _ => {}
        }
    }
}

impl Survey {
    fn packet(&mut self, packet: &Packet<'_>, time_ms: f64, selected: bool, tracked: &mut usize) {
        *(if packet.sent { &mut self.sent } else { &mut self.received }) += u64::from(selected);
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
