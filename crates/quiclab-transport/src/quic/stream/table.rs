//! The streams of a connection, found by their identifiers in constant time, in memory that does not grow
//! with the number of streams over its life.
//!
//! Each kind has the handles of its streams by index, from the oldest that is not over; a stream that is
//! over leaves four bytes until those before it are over too.

use super::Handle;
use super::receive::ReceiveHalf;
use super::scheduler::SchedulingKey;
use super::send::SendHalf;
use crate::workload::{Priority, StreamId};
use std::collections::VecDeque;

/// No stream: over.
const OVER: u32 = u32::MAX;

/// A stream.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub(super) id: StreamId,
    /// Streams that this end knew before it.
    pub(super) age: u64,
    pub(super) priority: Priority,
    /// What the application of this end says of it; 0: nothing.
    pub(super) label: u64,
    /// `None`: the peer's unidirectional stream.
    pub(super) send: Option<SendHalf>,
    /// `None`: this end's unidirectional stream.
    pub(super) receive: Option<ReceiveHalf>,
    pub(super) listed: QueueMembership,
}

impl Stream {
    /// Whether frames about it are to be sent; `may_send`: the peer's limits for its sending half are known.
    pub(super) fn has_control(&self, may_send: bool) -> bool {
        let send = self.send.as_ref().filter(|_| may_send);
        send.is_some_and(|send| send.is_reset_due() || send.is_blocked() && send.credit.is_report_due())
            || self.receive.as_ref().is_some_and(|receive| receive.is_stop_due() || receive.is_window_due())
    }

    /// Everything has been received, and sent once: all that remains is to be acknowledged.
    pub(super) fn is_drained(&self) -> bool {
        self.send.as_ref().is_none_or(SendHalf::is_sent)
            && self.receive.as_ref().is_none_or(ReceiveHalf::is_over)
    }

    /// Nothing more is to be done in either direction.
    pub(super) fn is_over(&self) -> bool {
        self.send.as_ref().is_none_or(SendHalf::is_over)
            && self.receive.as_ref().is_none_or(ReceiveHalf::is_over)
    }
}

/// Where a stream is listed: what of it waits to be sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueueMembership {
    /// Among streams with anything to send.
    pub(super) ready: Option<SchedulingKey>,
    /// Among streams with something to send that needs no credit.
    pub(super) resend: Option<SchedulingKey>,
    /// Among streams with frames about the stream itself.
    pub(super) control: bool,
    /// Among those of the peer in whose place it may open another.
    pub(super) replaced: bool,
    /// Counted as one whose new data the peer's limit for the stream lets go.
    pub(super) fresh: bool,
    /// Counted as one whose new data it stops.
    pub(super) blocked: bool,
}

/// Streams of one kind: who opens them, and in how many directions.
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
    /// Where the stream is; `None`: it is over, or was never opened.
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

    /// The stream is over.
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

    /// A stream that is not over.
    pub(super) fn get(&self, handle: Handle) -> &Stream {
        self.streams[handle.0 as usize].as_ref().expect("handles are those of streams that are not over")
    }

    /// A stream that is not over.
    pub(super) fn get_mut(&mut self, handle: Handle) -> &mut Stream {
        self.streams[handle.0 as usize].as_mut().expect("handles are those of streams that are not over")
    }

    /// All that are not over, in no order that means anything.
    pub(super) fn handles(&self) -> impl Iterator<Item = Handle> + use<> {
        let places: Vec<_> = self.iter().map(|(handle, _)| handle).collect();
        places.into_iter()
    }

    /// All that are not over, in no order that means anything.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Handle, &Stream)> {
        let filled = self.streams.iter().enumerate();
        filled.filter_map(|(index, stream)| Some((Handle(index as u32), stream.as_ref()?)))
    }

    /// Streams for which there is memory.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.streams.len() + self.kinds.iter().map(|kind| kind.handles.len()).sum::<usize>()
    }
}

/// The two low bits (RFC 9000 section 2.1, table 1).
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
