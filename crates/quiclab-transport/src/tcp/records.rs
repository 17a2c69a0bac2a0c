//! Records of an application in transit: contents of the payload of segments.
//!
//! The sender keeps a record until the segment that carries its first byte is acknowledged, so that a
//! retransmission has the same content. The receiver keeps records, received in any order, until the stream
//! has been read up to them.

use super::tls::Channel;
use quiclab_core::{Contents, Record};
use std::collections::{BTreeMap, VecDeque};

/// Records of one end of a connection, both ways.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// Records sent or to be sent, and not acknowledged, in the order of the stream.
    outgoing: VecDeque<Record>,
    /// Records that have arrived and are not read yet, by position.
    incoming: BTreeMap<u64, Record>,
    /// Missing bytes of the record that is being read, and its contents until these are passed on.
    current: Option<(u64, Contents)>,
}

impl Records {
    /// Adds a written record.
    pub(super) fn push(&mut self, record: Record) {
        debug_assert!(self.outgoing.back().is_none_or(|last| last.position < record.position));
        self.outgoing.push_back(record);
    }

    /// Records in a segment of the positions `start..start + length`; `None`: none.
    pub(super) fn of(&self, start: u64, length: u16) -> Option<Vec<Record>> {
        let index = |position| self.outgoing.partition_point(|record| record.position < position);
        let (first, last) = (index(start), index(start + u64::from(length)));
        let records = || self.outgoing.range(first..last).cloned().collect();
        (first < last).then(records)
    }

    /// Handles the acknowledgement of all data before `position`.
    pub(super) fn acknowledge(&mut self, position: u64) {
        while self.outgoing.front().is_some_and(|record| record.position < position) {
            self.outgoing.pop_front();
        }
    }

    /// Adds the records of a segment.
    pub(super) fn arrive(&mut self, records: Vec<Record>, channel: &Channel) {
        for record in records {
            // a retransmission has known records
            if record.position > channel.next_record() || self.current.is_none() {
                self.incoming.insert(record.position, record);
            }
        }
    }

    /// Takes the next data for the application: bytes, and the record that starts in them.
    pub(super) fn next(&mut self, channel: &mut Channel) -> Option<(u64, Contents)> {
        if self.current.is_none() {
            // those before it were read
            while self.incoming.first_key_value().is_some_and(|(&key, _)| key < channel.next_record()) {
                self.incoming.pop_first();
            }
            let record = self.incoming.remove(&channel.next_record())?;
            self.current = Some((u64::from(record.length), record.contents));
        }
        let (left, contents) = self.current.as_mut().expect("put there above");
        let bytes = channel.take_record(*left);
        if bytes == 0 {
            return None;
        }
        *left -= bytes;
        let contents = std::mem::take(contents);
        if *left == 0 {
            self.current = None;
        }
        Some((bytes, contents))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclab_core::{Http2Frame, Role};

    fn record(position: u64, length: u16) -> Record {
        let frame = Http2Frame::Data { stream: 1, length: u32::try_from(position).unwrap(), end: false };
        Record { position, length, contents: Contents::Http2(vec![frame]) }
    }

    fn positions(said: Option<Vec<Record>>) -> Vec<u64> {
        said.unwrap_or_default().iter().map(|record| record.position).collect()
    }

    #[test]
    fn a_segment_says_what_begins_in_it_until_that_is_acknowledged() {
        let mut records = Records::default();
        [1, 50, 101, 2000].into_iter().for_each(|position| records.push(record(position, 49)));
        assert_eq!(positions(records.of(1, 100)), [1, 50]);
        assert_eq!(positions(records.of(101, 1)), [101]);
        assert_eq!(records.of(102, 1448), None);
        records.acknowledge(50);
        assert_eq!(positions(records.of(1, 100)), [50], "its first byte has not arrived");
        records.acknowledge(51);
        assert_eq!(records.of(1, 100), None);
    }

    #[test]
    fn records_are_read_in_the_order_of_the_stream() {
        let mut channel = Channel::new(Role::Client, None);
        let mut records = Records::default();
        records.arrive(vec![record(101, 50)], &channel);
        assert_eq!(records.next(&mut channel), None);
        records.arrive(vec![record(1, 100)], &channel);
        assert_eq!(records.next(&mut channel), None, "no byte has arrived");
        channel.arrive(60);
        assert_eq!(records.next(&mut channel), Some((60, record(1, 100).contents)));
        assert_eq!(records.next(&mut channel), None);
        // a retransmission of the first, with all the rest of the stream
        records.arrive(vec![record(1, 100)], &channel);
        channel.arrive(90);
        assert_eq!(records.next(&mut channel), Some((40, Contents::default())));
        assert_eq!(records.next(&mut channel), Some((50, record(101, 50).contents)));
        assert_eq!((records.next(&mut channel), records.incoming.len()), (None, 0));
    }
}
