//! Streams that record calls, for tests.

use super::{Datagram, Priority, StreamId, Streams};
use quiclab_core::{DataRate, Role};
use std::collections::BTreeMap;

/// Call of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Open(StreamId),
    Write(StreamId, u64),
    Finish(StreamId),
    Reset(StreamId),
    Priority(StreamId, Priority),
    /// Number, and whether it is an echo.
    Datagram(u64, bool),
    Close,
}

/// Recorder of calls; see the module documentation.
pub(crate) struct Recorder {
    role: Role,
    /// Maximum number of streams of each kind.
    pub(crate) limit: u64,
    opened: [u64; 2],
    /// Labels of this end's streams, and those that have arrived from the peer.
    pub(crate) labels: BTreeMap<StreamId, u64>,
    pub(crate) arrived: BTreeMap<StreamId, u64>,
    /// Rate at which waiting bytes are sent.
    pub(crate) send_rate: Option<DataRate>,
    calls: Vec<Call>,
}

impl Recorder {
    pub(crate) fn new(role: Role) -> Self {
        Self {
            role,
            limit: 100,
            opened: [0; 2],
            labels: BTreeMap::new(),
            arrived: BTreeMap::new(),
            send_rate: None,
            calls: Vec::new(),
        }
    }

    /// Takes the calls since the last time.
    pub(crate) fn take(&mut self) -> Vec<Call> {
        std::mem::take(&mut self.calls)
    }
}

impl Streams for Recorder {
    fn open(&mut self, bidirectional: bool) -> Option<StreamId> {
        let index = &mut self.opened[usize::from(bidirectional)];
        if *index == self.limit {
            return None;
        }
        let id = StreamId::new(*index, self.role == Role::Server, bidirectional);
        *index += 1;
        self.calls.push(Call::Open(id));
        Some(id)
    }
    fn write(&mut self, stream: StreamId, bytes: u64) {
        self.calls.push(Call::Write(stream, bytes));
    }
    fn finish(&mut self, stream: StreamId) {
        self.calls.push(Call::Finish(stream));
    }
    fn reset(&mut self, stream: StreamId) {
        self.calls.push(Call::Reset(stream));
    }
    fn set_priority(&mut self, stream: StreamId, priority: Priority) {
        self.calls.push(Call::Priority(stream, priority));
    }
    fn set_label(&mut self, stream: StreamId, label: u64) {
        self.labels.insert(stream, label);
    }
    fn label(&self, stream: StreamId) -> u64 {
        self.arrived.get(&stream).copied().unwrap_or(0)
    }
    fn send_datagram(&mut self, datagram: Datagram) {
        self.calls.push(Call::Datagram(datagram.number, datagram.echo));
    }
    fn send_rate(&mut self) -> Option<DataRate> {
        self.send_rate
    }
    fn waiting_bytes(&mut self) -> u64 {
        0
    }
    fn close(&mut self) {
        self.calls.push(Call::Close);
    }
}
