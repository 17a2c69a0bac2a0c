//! Streams over a library whose reads and writes the tests set.

use super::*;
use crate::library::Event;
use crate::on_streams::OnStreams;
use quiclab_core::{RecoveryState, Time};
use quiclab_transport::workload::{Outcome, StreamApplication};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Library with the streams of a client, at which data arrive only as set by a test.
#[derive(Default)]
struct Library {
    /// Bytes that it takes in total.
    room: usize,
    /// Maximum number of streams it may open in each direction: bidirectional, unidirectional.
    limits: [u64; 2],
    opened: [u64; 2],
    /// Streams of the peer to be accepted.
    incoming: Vec<u64>,
    /// Next data to arrive by stream: chunks, and whether the stream ends or is reset.
    arriving: BTreeMap<u64, (Vec<Vec<u8>>, Read)>,
    written: BTreeMap<u64, Vec<u8>>,
    finished: Vec<u64>,
    reset: Vec<u64>,
    priorities: BTreeMap<u64, i32>,
    in_flight: u64,
    closed: bool,
    /// Maximum size of a datagram, and the datagrams taken.
    largest: usize,
    datagrams: Vec<Bytes>,
}

impl Connection for Library {
    type Stream = u64;
    type Moment = ();
    fn id(stream: u64) -> u64 {
        stream
    }
    fn open(&mut self, direction: StreamDirection) -> Option<u64> {
        let kind = usize::from(direction == StreamDirection::Unidirectional);
        let index = self.opened[kind];
        (index < self.limits[kind]).then(|| {
            self.opened[kind] += 1;
            index << 2 | (kind as u64) << 1
        })
    }
    fn accept(&mut self, direction: StreamDirection) -> Option<u64> {
        let kind = u64::from(direction == StreamDirection::Unidirectional) << 1;
        let place = self.incoming.iter().position(|stream| stream & 2 == kind)?;
        Some(self.incoming.remove(place))
    }
    fn set_priority(&mut self, stream: u64, priority: i32) {
        self.priorities.insert(stream, priority);
    }
    fn write(&mut self, stream: u64, data: Bytes) -> usize {
        let taken = data.len().min(self.room);
        self.room -= taken;
        self.written.entry(stream).or_default().extend_from_slice(&data[..taken]);
        taken
    }
    fn finish(&mut self, stream: u64) {
        self.finished.push(stream);
    }
    fn reset(&mut self, stream: u64) {
        self.reset.push(stream);
    }
    fn read(&mut self, stream: u64, mut chunk: impl FnMut(&[u8])) -> Read {
        let Some((chunks, read)) = self.arriving.remove(&stream) else { return Read::default() };
        chunks.iter().for_each(|bytes| chunk(bytes));
        Read { bytes: chunks.iter().map(|bytes| bytes.len() as u64).sum(), ..read }
    }
    fn send_datagram(&mut self, data: Bytes) -> Result<(), usize> {
        if data.len() > self.largest {
            return Err(self.largest);
        }
        self.datagrams.push(data);
        Ok(())
    }
    fn waiting_datagrams(&mut self) -> u64 {
        0
    }
    fn receive_datagram(&mut self) -> Option<Bytes> {
        None
    }
    fn close(&mut self, (): ()) {
        self.closed = true;
    }
    fn recovery(&mut self) -> RecoveryState {
        RecoveryState { in_flight_bytes: Some(self.in_flight), ..RecoveryState::default() }
    }
}

/// Streams of an end of `library`, for one call.
fn on<'a>(library: &'a mut Library, table: &'a mut StreamTable<u64>) -> LibraryStreams<'a, Library> {
    LibraryStreams { stack: library, table, now: () }
}

fn client() -> (Library, StreamTable<u64>) {
    (Library { room: 1000, limits: [2, 1], ..Library::default() }, StreamTable::new(Role::Client, 2048))
}

const FIRST: StreamId = StreamId(0);

#[test]
fn a_label_is_the_first_bytes_within_the_length() {
    let (mut library, mut table) = client();
    let mut streams = on(&mut library, &mut table);
    assert_eq!(streams.open(true), Some(FIRST));
    streams.set_label(FIRST, 0x0102);
    streams.write(FIRST, 12);
    streams.finish(FIRST);
    // of three bytes the label has the lowest three
    let second = streams.open(true).expect("the limit is two");
    streams.set_label(second, 0x01_86a0);
    streams.write(second, 3);
    streams.finish(second);
    assert_eq!(streams.open(true), None, "the limit is two");
    assert_eq!(library.written[&0], [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!((&library.written[&4], &library.finished), (&vec![0xa0, 0x86, 1], &vec![0, 4]));
}

#[test]
fn writes_that_are_blocked_go_on_when_the_stream_is_writable() {
    let (mut library, mut table) = client();
    library.room = 5;
    let mut streams = on(&mut library, &mut table);
    streams.open(true);
    streams.set_label(FIRST, u64::MAX);
    streams.write(FIRST, 3000);
    streams.write(FIRST, 1000);
    streams.finish(FIRST);
    assert_eq!(streams.waiting_bytes(), 4000, "5 bytes that the library has, none of them in flight");
    assert!(library.finished.is_empty());
    (library.room, library.in_flight) = (3000, 2000);
    let mut streams = on(&mut library, &mut table);
    streams.flush(FIRST);
    assert_eq!(streams.waiting_bytes(), 2000, "4000 less 2000 in flight");
    library.room = 10_000;
    on(&mut library, &mut table).flush(FIRST);
    let written = &library.written[&0];
    assert_eq!((written.len(), &library.finished), (4000, &vec![0]));
    assert_eq!(written.iter().filter(|byte| **byte == 0xff).count(), 8);
    table.on_acknowledged(FIRST);
    assert_eq!(on(&mut library, &mut table).waiting_bytes(), 0);
}

#[test]
fn a_stream_that_was_reset_waits_for_nothing() {
    let (mut library, mut table) = client();
    library.room = 10;
    let mut streams = on(&mut library, &mut table);
    streams.open(true);
    streams.write(FIRST, u64::MAX);
    streams.reset(FIRST);
    streams.flush(FIRST);
    assert_eq!(streams.waiting_bytes(), 0);
    streams.close();
    assert_eq!((library.written[&0].len(), &library.reset, library.closed), (10, &vec![0], true));
}

/// A server withholds data of a request until its label or its end has arrived; not on other streams.
#[test]
fn a_request_is_known_with_its_label() {
    let (mut library, mut table) = (Library::default(), StreamTable::new(Role::Server, 2048));
    let arrive = |library: &mut Library, stream: u64, chunks: &[&[u8]], ended| {
        let chunks = chunks.iter().map(|chunk| chunk.to_vec()).collect();
        library.arriving.insert(stream, (chunks, Read { ended, ..Read::default() }));
    };
    library.incoming = vec![2, 0, 4];
    for expected in [0, 4, 2] {
        assert_eq!(on(&mut library, &mut table).accept(), Some(StreamId(expected)), "both directions");
    }
    assert_eq!(on(&mut library, &mut table).accept(), None);
    let mut read = |library: &mut Library, stream| {
        let mut streams = on(library, &mut table);
        let arrival = streams.read(StreamId(stream));
        (arrival, streams.label(StreamId(stream)))
    };
    arrive(&mut library, 0, &[&[7], &[1, 0]], false);
    assert_eq!(read(&mut library, 0).0, Arrival::Nothing);
    assert_eq!(read(&mut library, 0).0, Arrival::Nothing, "nothing new");
    arrive(&mut library, 0, &[&[0, 0, 0, 0, 0, 9, 9]], false);
    assert_eq!(read(&mut library, 0), (Arrival::Bytes(10, false), 0x0107));
    arrive(&mut library, 0, &[], true);
    assert_eq!(read(&mut library, 0), (Arrival::Bytes(0, true), 0x0107));
    assert_eq!(read(&mut library, 0).0, Arrival::Nothing, "it was told already");

    arrive(&mut library, 4, &[&[1, 2, 3]], true);
    assert_eq!(read(&mut library, 4), (Arrival::Bytes(3, true), 0x03_0201));
    arrive(&mut library, 2, &[&[5]], false);
    assert_eq!(read(&mut library, 2), (Arrival::Bytes(1, false), 5), "no request: known at once");
    library.arriving.insert(2, (vec![], Read { bytes: 0, ended: true, reset: true }));
    assert_eq!(read(&mut library, 2).0, Arrival::Reset);
    assert_eq!(read(&mut library, 12).0, Arrival::Nothing, "not accepted yet");
}

/// RFC 9218 section 10, and quiche's order: the more urgent; then streams in full, the oldest first; then those in turn.
#[test]
fn priorities_have_the_order_of_lab_quic() {
    let of = |urgency, incremental, age| priority_of(Priority { urgency, incremental }, age);
    let order =
        [of(0, false, 0), of(0, false, 9), of(0, true, 0), of(1, false, 3), of(3, true, 0), of(7, true, 0)];
    assert!(order.windows(2).all(|pair| pair[0] > pair[1]), "{order:?}");
    assert_eq!(of(3, true, 1), of(3, true, 2), "in turn");
    assert_eq!(of(9, true, 0), of(7, true, 0));
    assert!(of(0, false, usize::MAX) > of(0, true, 0) && of(7, true, usize::MAX) > i32::MIN);
}

/// Events that an application received.
#[derive(Default)]
struct Told {
    calls: Arc<Mutex<Vec<&'static str>>>,
    outcome: Outcome,
}

impl StreamApplication for Told {
    fn connected(&mut self, _now: Time, streams: &mut dyn Streams) {
        self.calls.lock().unwrap().push("connected");
        self.available(Time::ZERO, streams);
    }
    fn available(&mut self, _now: Time, streams: &mut dyn Streams) {
        let opened = streams.open(false).is_some();
        self.calls.lock().unwrap().push(if opened { "opened" } else { "refused" });
    }
    fn acknowledged(&mut self, _now: Time, _stream: StreamId) {
        self.calls.lock().unwrap().push("acknowledged");
    }
    fn closed_by_peer(&mut self, _now: Time) {
        self.calls.lock().unwrap().push("closed");
    }
    fn failed(&mut self, reason: String) {
        self.outcome.fail(reason);
    }
    fn deadline(&self) -> Option<Time> {
        Some(Time::from_nanos(5))
    }
    fn outcome(&self) -> &Outcome {
        &self.outcome
    }
}

/// The label of a datagram is in its first bytes; one that the library rejects fails the transfer.
#[test]
fn datagrams_begin_with_what_they_say() {
    let (mut library, mut table) = client();
    library.largest = 100;
    let one = Datagram { length: 40, number: 7, sent: Time::from_nanos(9), echo: true };
    let mut streams = on(&mut library, &mut table);
    streams.send_datagram(one);
    streams.send_datagram(Datagram { length: 101, ..one });
    assert_eq!(table.refused().as_deref(), Some("workload: expected datagrams of at most 100 B, got 101 B"));
    assert_eq!(table.refused(), None);
    assert_eq!(library.datagrams.len(), 1);
    assert_eq!((library.datagrams[0].len(), Datagram::parse(&library.datagrams[0])), (40, Some(one)));
    assert_eq!(Datagram::parse(&[0; Datagram::HEADER - 1]), None);
}

#[test]
fn an_application_is_told_of_events_until_its_connection_is_over() {
    let (mut library, _) = client();
    library.limits = [0, 0];
    let told = Told::default();
    let calls = Arc::clone(&told.calls);
    let mut end = OnStreams::new(Role::Client, Box::new(told), 2048);
    let mut handle = |event, library: &mut Library| {
        end.handle(event, Time::ZERO, (), library);
        (std::mem::take(&mut *calls.lock().unwrap()), end.deadline())
    };
    let due = Some(Time::from_nanos(5));
    assert_eq!(handle(Event::Connected, &mut library), (vec!["connected", "refused"], due));
    library.limits = [0, 1];
    assert_eq!(handle(Event::Available, &mut library), (vec!["opened"], due));
    assert_eq!(handle(Event::Acknowledged(2), &mut library), (vec!["acknowledged"], due));
    assert_eq!(handle(Event::ClosedByPeer, &mut library), (vec!["closed"], None));
    assert_eq!(handle(Event::Available, &mut library), (vec![], None));
}
