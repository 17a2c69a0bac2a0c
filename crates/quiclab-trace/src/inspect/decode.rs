//! Decoder of the pieces of a file into events with a connection and a time.
//!
//! A trace is a connection, or several where its events carry a `group_id` of their own (quinn).

use super::clock::Clock;
use super::document::{Of, Piece};
use super::event::Event;
use super::header::{FileHeader, TraceHeader, prefix};
use super::lenient::Text;
use super::record::{EventIn, Frame};
use serde::de::DeserializeSeed;
use std::collections::HashMap;

/// Maximum number of traces that are distinguished; later ones are counted only.
const TRACES_MAX: usize = 1024;
/// Maximum number of connections that are distinguished; later ones are counted only.
pub(super) const CONNECTIONS_MAX: usize = 256;
/// Receiver of events.
pub(crate) trait Sink {
    /// Receives an event of a connection; connections are numbered from 0 in order of first appearance.
    fn event(&mut self, connection: usize, time_ms: f64, event: Event<'_>);
}

/// Sink of a pass that ignores events.
impl Sink for () {
    fn event(&mut self, _: usize, _: f64, _: Event<'_>) {}
}

/// A connection as the decoder identifies it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) trace: usize,
    /// Group that its events name; empty where they name none.
    pub(super) group: String,
    /// Whether frames have named paths of Multipath QUIC so far.
    multipath: bool,
}

/// State of the decoder.
#[derive(Default)]
pub(crate) struct Decoder {
    pub(super) file: FileHeader,
    pub(super) traces: Vec<TraceHeader>,
    pub(super) connections: Vec<Identity>,
    /// Whether the headers are those of an earlier pass.
    learned: bool,
    /// Whether a header has changed the meaning of earlier events.
    pub(crate) late: bool,
    /// Number of traces that have begun.
    begun: usize,
    clock: Clock,
    /// Calendar time of the zero of each trace that has had an event [ms].
    zeros: Vec<Option<f64>>,
    /// Whether the trace has had an event.
    any: bool,
    /// Connections of the trace by group, and the last one.
    groups: HashMap<String, usize>,
    last: Option<(String, usize)>,
    pub(crate) malformed: u64,
    /// Number of events of connections beyond [`CONNECTIONS_MAX`].
    pub(crate) beyond: u64,
    pub(crate) events: u64,
}

impl Decoder {
    /// Decoder for another pass over the same file, with all headers known from the beginning.
    pub(crate) fn again(&self) -> Self {
        let (file, traces) = (self.file.clone(), self.traces.clone());
        Self { file, traces, learned: true, ..Self::default() }
    }

    /// Whether the file declares itself as qlog and has a trace.
    pub(crate) fn described(&self) -> bool {
        self.file.is_qlog() && !self.traces.is_empty()
    }

    /// Title of a connection's trace or of the file, empty if there is none; its group, and its stack.
    pub(crate) fn names(&self, connection: usize) -> (&str, Option<&str>, &'static str) {
        let common = &self.file.common;
        let identity = self.connections.get(connection);
        let trace = identity.and_then(|identity| self.traces.get(identity.trace)).unwrap_or(common);
        let title = if trace.title.is_empty() { &common.title } else { &trace.title };
        let own = identity.map(|identity| identity.group.as_str()).filter(|group| !group.is_empty());
        (title, own.or(trace.group.as_deref()), trace.vantage)
    }

    /// Processes the next piece of a pass that reads the descriptions only and ignores events.
    pub(crate) fn learn(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Event(_) => self.any = true,
            other => self.take(other, &mut ()),
        }
    }

    /// Processes the next piece.
    pub(crate) fn take(&mut self, piece: Piece<'_>, sink: &mut impl Sink) {
        match piece {
            Piece::Records => {}
            Piece::Malformed => self.malformed += 1,
            Piece::Event(json) => self.event(json, sink),
            Piece::Trace => {
                self.begun += 1;
                if !self.learned && self.begun <= TRACES_MAX {
                    self.traces.push(TraceHeader::within(&self.file.common));
                }
                self.clock = Clock::default();
                self.any = false;
                self.groups.clear();
                self.last = None;
            }
            _ if self.learned => {}
            Piece::Field(Of::File, key, json) => {
                // a field that describes the events of the only trace may follow it
                if self.file.set(key, json) && self.begun == 1 {
                    self.traces[0].set(key, json);
                    self.late |= self.any;
                }
            }
            Piece::Field(Of::Trace, key, json) => {
                if key == "event_schemas" {
                    self.file.event_schemas(json);
                }
                if let Some(trace) = self.begun.checked_sub(1).and_then(|index| self.traces.get_mut(index)) {
                    self.late |= trace.set(key, json) && self.any;
                }
            }
        }
    }

    fn event(&mut self, json: &[u8], sink: &mut impl Sink) {
        self.events += 1;
        self.any = true;
        let Some(trace) = self.begun.checked_sub(1).and_then(|index| self.traces.get(index)) else {
            self.beyond += 1;
            return;
        };
        let mut from = serde_json::Deserializer::from_slice(json);
        let Ok(event) = EventIn(&trace.roles).deserialize(&mut from) else {
            self.malformed += 1;
            return;
        };
        let time_ms = self.clock.time(&event, trace);
        let unit_ms = trace.unit_ms;
        self.zeros.resize(self.zeros.len().max(self.begun), None);
        self.zeros[self.begun - 1] = self.clock.zero_ms();
        let Some(connection) = self.connection(&event.group_id) else {
            self.beyond += 1;
            return;
        };
        let identity = &mut self.connections[connection];
        identity.multipath |= event.data.frames.0.iter().any(|frame: &Frame<'_>| frame.path_id.0.is_some());
        sink.event(connection, time_ms, Event::of(&event, unit_ms, json, identity.multipath));
    }

    /// Calendar time of the zero of a connection's trace, with the offset that it specifies [ms]; and the names of the
    /// connection in other files.
    pub(super) fn clock_of(&self, connection: usize) -> (Option<f64>, f64, &[String]) {
        let trace = self.connections.get(connection).map_or(0, |identity| identity.trace);
        let header = self.traces.get(trace).unwrap_or(&self.file.common);
        let zero = self.zeros.get(trace).copied().flatten();
        (zero, header.offset_ms(), &header.originals)
    }

    fn connection(&mut self, group: &Text<'_>) -> Option<usize> {
        let group = prefix(group.as_str());
        if let Some((last, connection)) = &self.last
            && last == group
        {
            return Some(*connection);
        }
        let connection = match self.groups.get(group) {
            Some(&connection) => connection,
            None if self.connections.len() < CONNECTIONS_MAX => {
                let (trace, group) = (self.begun - 1, group.to_owned());
                self.groups.insert(group.clone(), self.connections.len());
                self.connections.push(Identity { trace, group, multipath: false });
                self.connections.len() - 1
            }
            None => return None,
        };
        self.last = Some((group.to_owned(), connection));
        Some(connection)
    }
}
