//! Workload on the streams of a library: a [`StreamApplication`] of quiclab-transport, which receives the
//! events of its connection and acts on [`LibraryStreams`].

use crate::library::{Connection, Event};
use crate::streams::{Arrival, LibraryStreams, StreamTable};
use quiclab_core::{PageClient, Role, Time};
use quiclab_transport::workload::{Datagram, Outcome, StreamApplication, StreamId};

/// See the module documentation.
pub struct OnStreams<Stream> {
    application: Box<dyn StreamApplication>,
    table: StreamTable<Stream>,
    /// Whether the application has learned that the connection is closed.
    over: bool,
}

impl<Stream: Copy + PartialEq> OnStreams<Stream> {
    /// Makes the workload; `write_size`: size of a write in bytes.
    pub fn new(role: Role, application: Box<dyn StreamApplication>, write_size: usize) -> Self {
        Self { application, table: StreamTable::new(role, write_size), over: false }
    }

    /// Starts the connection of the client.
    pub fn start(&mut self, now: Time) {
        self.application.start(now);
    }

    /// Time at which [`OnStreams::wake`] must be called.
    pub fn deadline(&self) -> Option<Time> {
        self.application.deadline().filter(|_| !self.over)
    }

    /// Handles timers that are due.
    pub fn wake<S: Connection<Stream = Stream>>(&mut self, now: Time, moment: S::Moment, stack: &mut S) {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            let mut streams = LibraryStreams { stack: &mut *stack, table: &mut self.table, now: moment };
            self.application.wake(now, &mut streams);
        }
        self.check_datagrams(moment, stack);
    }

    /// Closes the connection if the library has refused a datagram.
    fn check_datagrams<S: Connection<Stream = Stream>>(&mut self, moment: S::Moment, stack: &mut S) {
        if let Some(reason) = self.table.refused() {
            self.fail(reason);
            stack.close(moment);
        }
    }

    /// Handles an event of the connection.
    pub fn handle<S: Connection<Stream = Stream>>(
        &mut self,
        event: Event<Stream>,
        now: Time,
        moment: S::Moment,
        stack: &mut S,
    ) {
        if self.over {
            return;
        }
        let Self { application, table, over } = self;
        let mut streams = LibraryStreams { stack: &mut *stack, table, now: moment };
        match event {
            Event::Connected => application.connected(now, &mut streams),
            Event::Opened => {
                while let Some(id) = streams.accept() {
                    read(application.as_mut(), now, id, &mut streams);
                }
            }
            Event::Readable(stream) => {
                read(application.as_mut(), now, StreamId(S::id(stream)), &mut streams);
            }
            Event::Writable(stream) => streams.flush(StreamId(S::id(stream))),
            Event::Available => application.available(now, &mut streams),
            Event::Acknowledged(stream) => {
                let id = StreamId(S::id(stream));
                streams.table.on_acknowledged(id);
                application.acknowledged(now, id);
            }
            Event::Datagram => {
                while let Some(data) = streams.stack.receive_datagram() {
                    if let Some(datagram) = Datagram::parse(&data) {
                        application.datagram(now, datagram, &mut streams);
                    }
                }
            }
            Event::ClosedByPeer => {
                *over = true;
                application.closed_by_peer(now);
            }
            Event::Lost(reason) => {
                *over = true;
                application.failed(reason);
            }
        }
        self.check_datagrams(moment, stack);
    }

    /// Fails the transfer.
    pub fn fail(&mut self, reason: String) {
        self.over = true;
        self.application.failed(reason);
    }

    /// State of the transfer.
    pub fn outcome(&self) -> &Outcome {
        self.application.outcome()
    }

    /// Workload.
    pub fn application(&self) -> &dyn StreamApplication {
        self.application.as_ref()
    }

    /// Workload as the client of a web page, if it is one.
    pub fn page_client(&self) -> Option<&dyn PageClient> {
        self.application.page_client()
    }
}

/// Passes data that have arrived on a stream to the application.
fn read<S: Connection>(
    application: &mut dyn StreamApplication,
    now: Time,
    id: StreamId,
    streams: &mut LibraryStreams<'_, S>,
) {
    match streams.read(id) {
        Arrival::Nothing => {}
        Arrival::Bytes(bytes, end) => application.received(now, id, bytes, end, streams),
        Arrival::Reset => application.reset_by_peer(now, id, streams),
    }
}
