//! [`Streams`] of quiclab-transport on the streams of a library: lengths become bytes.
//!
//! | [`Streams`] | here |
//! | --- | --- |
//! | the length of a write | as many zeros; those that the library does not take now wait until the stream is writable |
//! | the label of a stream | the first [`LABEL_BYTES`] bytes of its opener, the lowest first, within their length |
//! | label of a datagram | its first bytes: [`Datagram::header`] |
//! | `finish` | as soon as the library has taken all data written |
//! | priority: urgency, then streams in full, the oldest first, then incremental ones in turn | a priority of the library for each level; in a level, one for each stream that is not incremental |
//! | bytes that wait | the library does not report bytes taken and not sent: bytes not acknowledged less those in flight |
//!
//! An application learns of a bidirectional stream when its label has arrived, or its end. The bytes missing
//! in a request shorter than a label are 0: a request for a resource has at least three bytes with its frame,
//! and a page has at most 100 001 resources.

use crate::body::zeros;
use crate::library::{Connection, Read, StreamDirection};
use bytes::{BufMut, Bytes, BytesMut};
use quiclab_core::{DataRate, Role};
use quiclab_transport::workload::{Datagram, Priority, StreamId, Streams};

/// Length of a label in bytes.
const LABEL_BYTES: usize = 8;
/// Maximum number of streams of one urgency whose order is kept; later ones are sent in turn.
const AGES: i32 = 1 << 26;

/// A stream of the connection.
struct Stream<Handle> {
    handle: Handle,
    /// Number of streams opened before it.
    age: usize,
    /// Label: its first bytes as a number.
    label: u64,
    /// Bytes that the library has taken, and bytes still to be taken.
    taken: u64,
    waiting: u64,
    /// Whether it ends after these.
    ends: bool,
    /// Whether all of it is acknowledged, or it was reset.
    done: bool,
    arrived: Arrived,
}

/// Data that have arrived on a stream.
#[derive(Clone, Copy, Default)]
struct Arrived {
    label: [u8; LABEL_BYTES],
    bytes: u64,
    /// Bytes withheld from the application because the label is not complete.
    held: u64,
    /// Whether the stream has ended or was reset.
    ended: bool,
}

impl Arrived {
    fn add(&mut self, chunk: &[u8]) {
        let before = usize::try_from(self.bytes).unwrap_or(usize::MAX);
        if let Some(missing) = self.label.get_mut(before..) {
            let length = missing.len().min(chunk.len());
            missing[..length].copy_from_slice(&chunk[..length]);
        }
        self.bytes += chunk.len() as u64;
    }
}

impl<Handle> Stream<Handle> {
    fn new(handle: Handle, age: usize) -> Self {
        Self {
            handle,
            age,
            label: 0,
            taken: 0,
            waiting: 0,
            ends: false,
            done: false,
            arrived: Arrived::default(),
        }
    }

    /// Next bytes to write, at most `most`.
    fn next(&self, most: usize) -> Bytes {
        match usize::try_from(self.taken) {
            Ok(taken) if taken < LABEL_BYTES && self.label != 0 => {
                let length = usize::try_from(self.waiting).unwrap_or(usize::MAX).min(LABEL_BYTES - taken);
                Bytes::copy_from_slice(&self.label.to_le_bytes()[taken..taken + length])
            }
            _ => zeros(self.waiting, most),
        }
    }
}

/// Streams of a connection, opened by either endpoint.
pub(crate) struct StreamTable<Handle> {
    role: Role,
    /// Streams by the two low bits of their identifiers, then in the order of the identifiers.
    streams: [Vec<Stream<Handle>>; 4],
    /// Size of a write in bytes.
    write_size: usize,
    /// Bytes of all streams not yet taken by the library, and bytes taken of streams that are not
    /// acknowledged or reset.
    waiting: u64,
    taken: u64,
    /// Reason why the library rejected a datagram.
    refused: Option<String>,
}

impl<Handle: Copy> StreamTable<Handle> {
    pub(crate) fn new(role: Role, write_size: usize) -> Self {
        Self { role, streams: [const { Vec::new() }; 4], write_size, waiting: 0, taken: 0, refused: None }
    }

    fn add(&mut self, id: StreamId, handle: Handle) {
        let age = self.streams.iter().map(Vec::len).sum();
        let kind = &mut self.streams[(id.0 & 3) as usize];
        assert_eq!(id.index(), kind.len() as u64, "libraries open and accept streams in order");
        kind.push(Stream::new(handle, age));
    }

    fn get(&self, id: StreamId) -> Option<&Stream<Handle>> {
        self.streams[(id.0 & 3) as usize].get(usize::try_from(id.index()).ok()?)
    }

    fn get_mut(&mut self, id: StreamId) -> Option<&mut Stream<Handle>> {
        self.streams[(id.0 & 3) as usize].get_mut(usize::try_from(id.index()).ok()?)
    }

    /// Whether the peer opened the stream: its data begin with a label.
    fn is_of_peer(&self, id: StreamId) -> bool {
        id.is_of_server() == (self.role == Role::Client)
    }

    /// Takes the reason why the library rejected a datagram since the last call.
    pub(crate) fn refused(&mut self) -> Option<String> {
        self.refused.take()
    }

    /// Handles the acknowledgement of all data and of the end of the stream.
    pub(crate) fn on_acknowledged(&mut self, id: StreamId) {
        let Some(stream) = self.get_mut(id).filter(|stream| !stream.done) else { return };
        stream.done = true;
        self.taken -= stream.taken;
    }
}

/// Data that have arrived in order on a stream, for the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Nothing to report.
    Nothing,
    /// Number of bytes, and whether the stream has ended.
    Bytes(u64, bool),
    /// The peer has reset the stream.
    Reset,
}

/// Streams of a connection and their library, for one call of the application.
pub(crate) struct LibraryStreams<'a, S: Connection> {
    pub(crate) stack: &'a mut S,
    pub(crate) table: &'a mut StreamTable<S::Stream>,
    pub(crate) now: S::Moment,
}

impl<S: Connection> LibraryStreams<'_, S> {
    /// Accepts the next stream that the peer has opened.
    pub(crate) fn accept(&mut self) -> Option<StreamId> {
        let directions = [StreamDirection::Bidirectional, StreamDirection::Unidirectional];
        let handle = directions.into_iter().find_map(|direction| self.stack.accept(direction))?;
        let id = StreamId(S::id(handle));
        self.table.add(id, handle);
        Some(id)
    }

    /// Reads data that have arrived on a stream.
    pub(crate) fn read(&mut self, id: StreamId) -> Arrival {
        let is_request = id.is_bidirectional() && self.table.is_of_peer(id);
        let Some(Stream { handle, arrived, .. }) = self.table.get_mut(id) else {
            return Arrival::Nothing; // it was not accepted yet
        };
        if arrived.ended {
            return Arrival::Nothing;
        }
        let Read { bytes, ended, reset } = self.stack.read(*handle, |chunk| arrived.add(chunk));
        arrived.ended = ended;
        if reset {
            return Arrival::Reset;
        }
        arrived.held += bytes;
        if is_request && !ended && arrived.bytes < LABEL_BYTES as u64 {
            return Arrival::Nothing;
        }
        match std::mem::take(&mut arrived.held) {
            0 if !ended => Arrival::Nothing,
            bytes => Arrival::Bytes(bytes, ended),
        }
    }

    /// Writes as many bytes as there is room for.
    pub(crate) fn flush(&mut self, id: StreamId) {
        let StreamTable { streams, write_size, waiting, taken: all_taken, .. } = &mut *self.table;
        let kind = &mut streams[(id.0 & 3) as usize];
        let Some(stream) = usize::try_from(id.index()).ok().and_then(|index| kind.get_mut(index)) else {
            return;
        };
        while stream.waiting > 0 {
            let taken = self.stack.write(stream.handle, stream.next(*write_size)) as u64;
            if taken == 0 {
                return; // only a write that takes nothing is followed by Event::Writable
            }
            stream.taken += taken;
            *all_taken += taken;
            if stream.waiting != u64::MAX {
                stream.waiting -= taken;
                *waiting = waiting.saturating_sub(taken);
            }
        }
        if std::mem::take(&mut stream.ends) {
            self.stack.finish(stream.handle);
        }
    }
}

impl<S: Connection> Streams for LibraryStreams<'_, S> {
    fn open(&mut self, bidirectional: bool) -> Option<StreamId> {
        let direction =
            if bidirectional { StreamDirection::Bidirectional } else { StreamDirection::Unidirectional };
        let handle = self.stack.open(direction)?;
        let id = StreamId(S::id(handle));
        self.table.add(id, handle);
        Some(id)
    }

    fn write(&mut self, stream: StreamId, bytes: u64) {
        if let Some(found) = self.table.get_mut(stream) {
            found.waiting = found.waiting.saturating_add(bytes);
            self.table.waiting = self.table.waiting.saturating_add(bytes);
        }
        self.flush(stream);
    }

    fn finish(&mut self, stream: StreamId) {
        if let Some(found) = self.table.get_mut(stream) {
            let labelled = found.taken.saturating_add(found.waiting).min(LABEL_BYTES as u64) * 8;
            debug_assert!(found.label.checked_shr(labelled as u32).unwrap_or(0) == 0, "the label has room");
            found.ends = true;
        }
        self.flush(stream);
    }

    fn reset(&mut self, stream: StreamId) {
        let Some(found) = self.table.get_mut(stream) else { return };
        let (waiting, taken) = (found.waiting, if found.done { 0 } else { found.taken });
        (found.waiting, found.ends, found.done) = (0, false, true);
        self.stack.reset(found.handle);
        self.table.waiting = self.table.waiting.saturating_sub(waiting);
        self.table.taken -= taken;
    }

    fn set_priority(&mut self, stream: StreamId, priority: Priority) {
        if let Some(found) = self.table.get(stream) {
            self.stack.set_priority(found.handle, priority_of(priority, found.age));
        }
    }

    fn set_label(&mut self, stream: StreamId, label: u64) {
        debug_assert!(!self.table.is_of_peer(stream), "who opens a stream labels it");
        if let Some(found) = self.table.get_mut(stream) {
            debug_assert_eq!(found.taken, 0, "its label is the first that is written");
            found.label = label;
        }
    }

    fn label(&self, stream: StreamId) -> u64 {
        let found = self.table.get(stream).filter(|_| self.table.is_of_peer(stream));
        found.map_or(0, |found| u64::from_le_bytes(found.arrived.label))
    }

    fn send_datagram(&mut self, datagram: Datagram) {
        let size = usize::from(datagram.length);
        let mut data = BytesMut::with_capacity(size.max(Datagram::HEADER));
        data.put_slice(&datagram.header());
        data.resize(size.max(Datagram::HEADER), 0);
        if let Err(most) = self.stack.send_datagram(data.freeze()) {
            let reason = format!("workload: expected datagrams of at most {most} B, got {size} B");
            self.table.refused.get_or_insert(reason);
        }
    }

    fn send_rate(&mut self) -> Option<DataRate> {
        self.stack.recovery().send_rate()
    }

    fn waiting_bytes(&mut self) -> u64 {
        let in_flight = self.stack.recovery().in_flight_bytes.unwrap_or(0);
        let streams = self.table.waiting.saturating_add(self.table.taken).saturating_sub(in_flight);
        streams.saturating_add(self.stack.waiting_datagrams())
    }

    fn close(&mut self) {
        self.stack.close(self.now);
    }
}

/// Priority in the library, where larger values are sent first and equal ones in turn.
fn priority_of(priority: Priority, age: usize) -> i32 {
    let level = i32::from(priority.urgency.min(7)) * 2 + i32::from(priority.incremental);
    let age = i32::try_from(age).unwrap_or(AGES).min(AGES - 1);
    -(level * AGES) - if priority.incremental { 0 } else { age }
}

#[cfg(test)]
mod tests;
