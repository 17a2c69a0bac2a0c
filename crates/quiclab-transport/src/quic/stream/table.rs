//! Table of the streams of a connection, indexed by their identifiers in constant time, in memory that does
//! not grow with the number of streams over its life.
//!
//! Each kind has the handles of its streams by index, from the oldest that is not closed; a closed stream
//! occupies four bytes until those before it are closed, too.

use super::Handle;
use super::receive::ReceiveHalf;
use super::scheduler::SchedulingKey;
use super::send::SendHalf;
use crate::workload::{Priority, StreamId};
use std::collections::VecDeque;

/// Handle of a closed stream.
const OVER: u32 = u32::MAX;

/// Stream of a connection.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub(super) id: StreamId,
    /// Number of streams that this end knew before it.
    pub(super) age: u64,
    pub(super) priority: Priority,
    /// Label from the application of this end; 0: none.
    pub(super) label: u64,
    /// Sending half; `None`: unidirectional stream of the peer.
    pub(super) send: Option<SendHalf>,
    /// Receiving half; `None`: unidirectional stream of this end.
    pub(super) receive: Option<ReceiveHalf>,
    pub(super) listed: QueueMembership,
}

impl Stream {
    /// Whether control frames of it are to be sent; `may_send`: the peer's limits for its sending half are
    /// known.
    pub(super) fn has_control(&self, may_send: bool) -> bool {
        let send = self.send.as_ref().filter(|_| may_send);
        send.is_some_and(|send| send.is_reset_due() || send.is_blocked() && send.credit.is_report_due())
            || self.receive.as_ref().is_some_and(|receive| receive.is_stop_due() || receive.is_window_due())
    }

    /// Whether all data have been received, and sent once: only acknowledgements are missing.
    pub(super) fn is_drained(&self) -> bool {
        self.send.as_ref().is_none_or(SendHalf::is_sent)
            && self.receive.as_ref().is_none_or(ReceiveHalf::is_over)
    }

    /// Whether it is closed in both directions.
    pub(super) fn is_over(&self) -> bool {
        self.send.as_ref().is_none_or(SendHalf::is_over)
            && self.receive.as_ref().is_none_or(ReceiveHalf::is_over)
    }
}

/// Lists that a stream is on, by data and frames that it has to send.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueueMembership {
    /// Place among streams with anything to send.
    pub(super) ready: Option<SchedulingKey>,
    /// Place among streams with data to send that need no credit.
    pub(super) resend: Option<SchedulingKey>,
    /// Whether it is among streams with control frames.
    pub(super) control: bool,
    /// Whether it is counted as a stream of the peer that may be replaced.
    pub(super) replaced: bool,
    /// Whether it is counted as a stream whose new data the peer's limit for the stream permits.
    pub(super) fresh: bool,
    /// Whether it is counted as a stream whose new data that limit blocks.
    pub(super) blocked: bool,
}

/// Streams of one kind, by initiator and number of directions.
#[derive(Clone, Debug, Default)]
struct Kind {
    /// Index of the first handle.
    base: u64,
    handles: VecDeque<u32>,
}

/// All streams.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    kinds: [Kind; 4],
    streams: Vec<Option<Stream>>,
    free: Vec<u32>,
}

impl Table {
    /// Handle of a stream; `None`: it is closed, or was never opened.
    pub(super) fn find(&self, id: StreamId) -> Option<Handle> {
        let kind = &self.kinds[kind(id)];
        let place = usize::try_from(id.index().checked_sub(kind.base)?).ok()?;
        kind.handles.get(place).filter(|handle| **handle != OVER).map(|handle| Handle(*handle))
    }

    /// Adds the next stream of its kind.
    pub(super) fn add(&mut self, stream: Stream) -> Handle {
        let kind = &mut self.kinds[kind(stream.id)];
        debug_assert_eq!(stream.id.index(), kind.base + kind.handles.len() as u64, "streams open in order");
        let handle = self.free.pop().unwrap_or(self.streams.len() as u32);
        kind.handles.push_back(handle);
        match self.streams.get_mut(handle as usize) {
            Some(slot) => *slot = Some(stream),
            None => self.streams.push(Some(stream)),
        }
        Handle(handle)
    }

    /// Removes a closed stream.
    pub(super) fn remove(&mut self, handle: Handle) {
        let Some(stream) = self.streams[handle.0 as usize].take() else { return };
        self.free.push(handle.0);
        let kind = &mut self.kinds[kind(stream.id)];
        kind.handles[(stream.id.index() - kind.base) as usize] = OVER;
        while kind.handles.front() == Some(&OVER) {
            kind.handles.pop_front();
            kind.base += 1;
        }
    }

    /// Stream of a handle; it is not closed.
    pub(super) fn get(&self, handle: Handle) -> &Stream {
        self.streams[handle.0 as usize].as_ref().expect("handles are those of streams that are not over")
    }

    /// Mutable stream of a handle; it is not closed.
    pub(super) fn get_mut(&mut self, handle: Handle) -> &mut Stream {
        self.streams[handle.0 as usize].as_mut().expect("handles are those of streams that are not over")
    }

    /// Handles of all streams that are not closed, in unspecified order.
    pub(super) fn handles(&self) -> impl Iterator<Item = Handle> + use<> {
        let places: Vec<_> = self.iter().map(|(handle, _)| handle).collect();
        places.into_iter()
    }

    /// All streams that are not closed, in unspecified order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Handle, &Stream)> {
        let filled = self.streams.iter().enumerate();
        filled.filter_map(|(index, stream)| Some((Handle(index as u32), stream.as_ref()?)))
    }

    /// Number of streams for which memory is allocated.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.streams.len() + self.kinds.iter().map(|kind| kind.handles.len()).sum::<usize>()
    }
}

/// Kind of a stream: the two low bits of its identifier (RFC 9000 section 2.1, table 1).
fn kind(id: StreamId) -> usize {
    (id.0 & 3) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(id: u64) -> Stream {
        Stream {
            id: StreamId(id),
            age: 0,
            priority: Priority::default(),
            label: 0,
            send: None,
            receive: None,
            listed: QueueMembership::default(),
        }
    }

    #[test]
    fn streams_are_found_until_they_are_over() {
        let mut table = Table::default();
        let handles: Vec<_> = [0, 4, 3, 8].map(|id| table.add(stream(id))).into();
        let find = |table: &Table| [0, 1, 3, 4, 8, 12].map(|id| table.find(StreamId(id)).is_some());
        assert_eq!(find(&table), [true, false, true, true, true, false]);
        table.remove(handles[1]);
        assert_eq!(find(&table), [true, false, true, false, true, false]);
        table.remove(handles[0]);
        assert_eq!(find(&table), [false, false, true, false, true, false]);
        assert_eq!(table.kinds[0].base, 2);
        let handle = table.add(stream(12));
        assert_eq!((table.get(handle).id, table.find(StreamId(12))), (StreamId(12), Some(handle)));
        assert_eq!(table.iter().count(), 3);
    }

    #[test]
    fn memory_is_that_of_streams_that_are_open() {
        let mut table = Table::default();
        let mut last = table.add(stream(0));
        for index in 1..100_000 {
            let next = table.add(stream(index * 4));
            table.remove(last);
            last = next;
        }
        assert!(table.capacity() <= 3, "{}", table.capacity());
        assert_eq!(table.find(StreamId(u64::MAX)), None);
    }
}
