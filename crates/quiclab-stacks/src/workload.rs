//! The download: the client asks once, the server answers.
//!
//! | end | what it does |
//! | --- | --- |
//! | client | opens one bidirectional stream once connected, sends the request and its end, reads and discards the answer, closes the connection as soon as the answer is complete |
//! | server | reads the request to its end, then writes the answer as fast as the stack takes it |
//!
//! An answer of a given size ends with FIN. One of a given duration ends that long after the
//! client's start with RESET_STREAM: a stack may have queued a send window more than it has sent,
//! and those megabytes must not follow. What the client has read in order by then counts.
//!
//! A run is done when the client's progress is finished. The server's is finished when all it wrote
//! is acknowledged or the client has closed the connection, whichever is first.

use crate::body::{write_size, zeros};
use crate::library::{Event, Stack, StreamDirection};
use quiclab_core::{Progress, Role, Time};
use quiclab_transport::options::Workload;
use std::time::Instant;

/// Progress of one end of a download.
pub(crate) struct Download<Stream> {
    role: Role,
    stream: Option<Stream>,
    /// Bytes still to be written: the request or the answer; `u64::MAX` for an answer without size.
    to_write: u64,
    /// Whether writing has begun and not ended.
    writing: bool,
    /// Bytes of one write.
    write_size: usize,
    /// When the server gives up writing; `None` if it has a size, and for clients.
    until: Option<Time>,
    pub(crate) progress: Progress,
    /// Why the connection was lost.
    pub(crate) failure: Option<String>,
}

impl<Stream: Copy + PartialEq> Download<Stream> {
    pub(crate) fn new(role: Role, workload: &Workload, start: Time, send_window: u64) -> Self {
        let Workload::Download { size, duration, request } = workload else {
            unreachable!("checked by check_workload")
        };
        Self {
            role,
            stream: None,
            to_write: match role {
                Role::Client => request.bytes(),
                Role::Server => size.map_or(u64::MAX, |size| size.bytes()),
            },
            writing: false,
            write_size: write_size(send_window),
            until: duration.filter(|_| role == Role::Server).map(|duration| start + duration),
            progress: Progress::default(),
            failure: None,
        }
    }

    /// The client asks for the transfer.
    pub(crate) fn start(&mut self, now: Time) {
        self.progress.started = Some(now);
    }

    /// When [`Download::wake`] wants to be called.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.until.filter(|_| self.writing)
    }

    /// Ends an answer whose time is over.
    pub(crate) fn wake<S: Stack<Stream = Stream>>(&mut self, now: Time, stack: &mut S) {
        if let (Some(stream), Some(_)) = (self.stream, self.deadline().filter(|&until| until <= now)) {
            self.writing = false;
            stack.reset(stream);
        }
    }

    /// Takes an event of the connection.
    pub(crate) fn handle<S: Stack<Stream = Stream>>(
        &mut self,
        event: Event<Stream>,
        now: Time,
        instant: Instant,
        stack: &mut S,
    ) {
        match event {
            Event::Connected if self.role == Role::Client => {
                self.stream = stack.open(StreamDirection::Bidirectional);
                self.writing = self.stream.is_some();
                if !self.writing {
                    self.fail("the server allows no stream".to_owned());
                }
            }
            Event::Opened if self.role == Role::Server && self.stream.is_none() => {
                self.stream = stack.accept(StreamDirection::Bidirectional);
                self.progress.started = Some(now);
                self.read(now, instant, stack);
            }
            Event::Readable(stream) if self.stream == Some(stream) => self.read(now, instant, stack),
            Event::Acknowledged(stream) if self.stream == Some(stream) && self.role == Role::Server => {
                self.finish(now);
            }
            Event::ClosedByPeer if self.role == Role::Server => self.finish(now),
            Event::ClosedByPeer => self.fail("closed by the server".to_owned()),
            Event::Lost(reason) => self.fail(reason),
            _ => {}
        }
        self.write(now, stack);
    }

    fn read<S: Stack<Stream = Stream>>(&mut self, now: Time, instant: Instant, stack: &mut S) {
        let Some(stream) = self.stream else { return };
        let read = stack.read(stream, |_| ());
        self.progress.delivered_bytes += read.bytes;
        if read.ended && self.progress.finished.is_none() {
            match self.role {
                Role::Server => self.writing = true,
                Role::Client => {
                    self.finish(now);
                    stack.close(instant);
                }
            }
        }
    }

    fn write<S: Stack<Stream = Stream>>(&mut self, now: Time, stack: &mut S) {
        let Some(stream) = self.stream else { return };
        self.wake(now, stack);
        while self.writing {
            if self.to_write == 0 {
                self.writing = false;
                return stack.finish(stream);
            }
            let written = stack.write(stream, zeros(self.to_write, self.write_size));
            if written == 0 {
                return; // only a write that takes nothing is followed by Event::Writable
            }
            self.to_write -= written as u64;
        }
    }

    fn finish(&mut self, now: Time) {
        self.writing = false;
        self.progress.finished.get_or_insert(now);
    }

    /// The transfer will not be completed.
    pub(crate) fn fail(&mut self, reason: String) {
        self.writing = false;
        if self.progress.finished.is_none() {
            self.progress.failed = true;
            self.failure.get_or_insert(reason);
        }
    }
}
