//! A workload on the streams of a library: a [`StreamApplication`] of quiclab-transport, which is told what happens to its
//! connection and acts on [`LibraryStreams`].

use crate::library::{Connection, Event};
use crate::streams::{Arrival, LibraryStreams, StreamTable};
use quiclab_core::{PageClient, Role, Time};
use quiclab_transport::workload::{Datagram, Outcome, StreamApplication, StreamId};

/// See the module documentation.
pub struct OnStreams<Stream> {
    application: Box<dyn StreamApplication>,
    table: StreamTable<Stream>,
    /// The application knows that the connection is over.
    over: bool,
}

impl<Stream: Copy + PartialEq> OnStreams<Stream> {
    /// `write_size`: bytes of one write.
    pub fn new(role: Role, application: Box<dyn StreamApplication>, write_size: usize) -> Self {
        Self { application, table: StreamTable::new(role, write_size), over: false }
    }

    /// The client asks for a connection.
    pub fn start(&mut self, now: Time) {
        self.application.start(now);
    }

    /// When [`OnStreams::wake`] wants to be called.
    pub fn deadline(&self) -> Option<Time> {
        self.application.deadline().filter(|_| !self.over)
    }

    /// Does what is due.
    pub fn wake<S: Connection<Stream = Stream>>(&mut self, now: Time, moment: S::Moment, stack: &mut S) {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            let mut streams = LibraryStreams { stack: &mut *stack, table: &mut self.table, now: moment };
            self.application.wake(now, &mut streams);
        }
        self.check_datagrams(moment, stack);
    }

    /// The connection ends if the library has refused a datagram.
    fn check_datagrams<S: Connection<Stream = Stream>>(&mut self, moment: S::Moment, stack: &mut S) {
        if let Some(reason) = self.table.refused() {
            self.fail(reason);
            stack.close(moment);
        }
    }

    /// Takes an event of the connection.
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

    /// The transfer will not be completed.
    pub fn fail(&mut self, reason: String) {
        self.over = true;
        self.application.failed(reason);
    }

    /// State of the transfer.
    pub fn outcome(&self) -> &Outcome {
        self.application.outcome()
    }

    /// The workload.
    pub fn application(&self) -> &dyn StreamApplication {
        self.application.as_ref()
    }

    /// The workload as the client of a web page, if it is one.
    pub fn page_client(&self) -> Option<&dyn PageClient> {
        self.application.page_client()
    }
}

/// Tells the application what has arrived on a stream.
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
