//! Live video on the streams and datagrams of a real stack: [`quiclab_transport::live`] with bytes.
//!
//! A frame begins with the time of its capture in nanoseconds, big-endian; all else is zeros. On streams, older frames
//! have a higher priority. In datagrams, each begins with the header of [`DATAGRAM_HEADER`] bytes; what waits in the
//! stack is replaced by newer datagrams when its buffer is full (1 MiB).

use crate::body::{MAX_WRITE, zeros};
use crate::library::{Event, Stack, StreamDirection};
use bytes::{BufMut, Bytes, BytesMut};
use quiclab_core::{Metrics, RandomStream, Time};
use quiclab_transport::live::{
    DATAGRAM_HEADER, Frame, HEADER, Incoming, Parameters, Reception, SendState, Source,
};
use quiclab_transport::workload::Outcome;
use std::collections::VecDeque;
use std::time::Instant;

/// A frame that is not acknowledged.
struct Open<Stream> {
    frame: Frame,
    /// `None`: there is no stream for it yet.
    stream: Option<Stream>,
    /// Bytes that are written.
    written: u32,
}

/// The end that sends.
pub(crate) struct LiveServer<Stream> {
    parameters: Parameters,
    pub(crate) source: Source,
    /// In the order of their capture.
    frames: VecDeque<Open<Stream>>,
    dropped: u64,
    pub(crate) outcome: Outcome,
}

impl<Stream: Copy + PartialEq> LiveServer<Stream> {
    pub(crate) fn new(parameters: Parameters, random: RandomStream) -> Self {
        let source = Source::new(parameters, random);
        Self { parameters, source, frames: VecDeque::new(), dropped: 0, outcome: Outcome::default() }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        if self.outcome.progress.finished.is_some() || self.outcome.progress.failed {
            return None;
        }
        let oldest = self.frames.front().filter(|_| self.parameters.drop_late);
        let late = oldest.map(|open| open.frame.captured + self.parameters.deadline);
        [self.source.next_capture(), late].into_iter().flatten().min()
    }

    pub(crate) fn wake<S: Stack<Stream = Stream>>(&mut self, now: Time, stack: &mut S) {
        if self.outcome.progress.failed || self.outcome.progress.finished.is_some() {
            return;
        }
        while self.source.next_capture().is_some_and(|due| due <= now) {
            let state = self.send_state(stack);
            let Some(frame) = self.source.capture(now, state) else { break };
            if self.parameters.in_datagrams() {
                self.send_datagrams(&frame, stack);
            } else {
                self.frames.push_back(Open { frame, stream: None, written: 0 });
            }
        }
        self.drop_late(now, stack);
        self.write(stack);
        self.finish(now);
    }

    /// The stack does not tell what it has of a stream and has not sent: of all that is not acknowledged, what is not in
    /// flight.
    fn send_state<S: Stack<Stream = Stream>>(&self, stack: &mut S) -> SendState {
        let recovery = stack.snapshot().recovery;
        let frames: u64 = self.frames.iter().map(|open| u64::from(open.frame.length)).sum();
        let waiting_bytes = if self.parameters.in_datagrams() {
            stack.waiting_datagrams()
        } else {
            frames.saturating_sub(recovery.in_flight_bytes.unwrap_or(0))
        };
        SendState { rate: recovery.send_rate(), waiting_bytes }
    }

    fn drop_late<S: Stack<Stream = Stream>>(&mut self, now: Time, stack: &mut S) {
        let deadline = self.parameters.deadline;
        while self.parameters.drop_late
            && self.frames.front().is_some_and(|open| open.frame.captured + deadline <= now)
        {
            let open = self.frames.pop_front().expect("there is one");
            open.stream.into_iter().for_each(|stream| stack.reset(stream));
            self.dropped += 1;
        }
    }

    /// Writes what there is room for, the oldest frame first.
    fn write<S: Stack<Stream = Stream>>(&mut self, stack: &mut S) {
        for open in self.frames.iter_mut().filter(|open| open.written < open.frame.length) {
            if open.stream.is_none() {
                let Some(stream) = stack.open(StreamDirection::Unidirectional) else { return };
                stack.set_priority(stream, -i32::try_from(open.frame.number).unwrap_or(i32::MAX));
                open.stream = Some(stream);
            }
            let Some(stream) = open.stream else { return };
            while open.written < open.frame.length {
                let written = stack.write(stream, chunk(&open.frame, open.written));
                if written == 0 {
                    break; // Event::Writable follows
                }
                open.written += u32::try_from(written).expect("no more than the chunk");
            }
            if open.written == open.frame.length {
                stack.finish(stream);
            }
        }
    }

    fn send_datagrams<S: Stack<Stream = Stream>>(&mut self, frame: &Frame, stack: &mut S) {
        let sizes = self.parameters.datagrams(frame);
        let count = sizes.len() as u16;
        for (index, size) in sizes.enumerate() {
            let mut data = BytesMut::with_capacity(size as usize);
            data.put_u64(frame.captured.as_nanos());
            data.put_u32(frame.number);
            data.put_u16(index as u16);
            data.put_u16(count);
            data.resize(size as usize, 0);
            if let Err(most) = stack.send_datagram(data.freeze()) {
                let reason = format!("`workload.packet_size`: expected at most {most} B, got {size} B");
                return self.outcome.fail(reason);
            }
        }
    }

    fn finish(&mut self, now: Time) {
        if self.source.is_over() && self.frames.is_empty() {
            self.outcome.finish(now);
        }
    }

    pub(crate) fn handle<S: Stack<Stream = Stream>>(
        &mut self,
        event: Event<Stream>,
        now: Time,
        stack: &mut S,
    ) {
        match event {
            Event::Connected => {
                self.outcome.progress.started = Some(now);
                self.source.begin(now);
                self.wake(now, stack);
            }
            Event::Acknowledged(stream) => {
                self.frames.retain(|open| open.stream != Some(stream));
                self.finish(now);
            }
            Event::Writable(_) | Event::Available => self.write(stack),
            Event::ClosedByPeer if self.source.is_over() => self.outcome.finish(now),
            Event::ClosedByPeer => {
                self.outcome.fail("closed by the client before the last frame".to_owned());
            }
            Event::Lost(reason) => self.outcome.fail(reason),
            Event::Opened | Event::Datagram | Event::Readable(_) => {}
        }
    }

    pub(crate) fn statistics(&self, out: &mut Metrics) {
        self.source.report(out);
        if !self.parameters.in_datagrams() {
            out.count("dropped_frames", self.dropped);
        }
    }
}

/// The bytes of a frame from `offset` on, as many as one write takes.
fn chunk(frame: &Frame, offset: u32) -> Bytes {
    let offset = offset as usize;
    if offset < HEADER {
        return Bytes::copy_from_slice(&frame.captured.as_nanos().to_be_bytes()[offset..]);
    }
    zeros((frame.length as usize - offset) as u64, MAX_WRITE)
}

/// A stream whose frame is not complete.
struct Arriving<Stream> {
    stream: Stream,
    header: [u8; HEADER],
    read: usize,
}

/// The end that receives.
pub(crate) struct LiveClient<Stream> {
    pub(crate) reception: Reception,
    streams: Vec<Arriving<Stream>>,
    /// Frames in datagrams.
    incoming: Incoming,
    pub(crate) outcome: Outcome,
}

impl<Stream: Copy + PartialEq> LiveClient<Stream> {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        Self {
            reception: Reception::new(parameters),
            streams: Vec::new(),
            incoming: Incoming::default(),
            outcome: Outcome::default(),
        }
    }

    pub(crate) fn start(&mut self, now: Time) {
        self.outcome.progress.started = Some(now);
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.reception.next_wake().filter(|_| !self.outcome.progress.failed)
    }

    pub(crate) fn wake<S: Stack<Stream = Stream>>(&mut self, now: Time, instant: Instant, stack: &mut S) {
        if self.deadline().is_some_and(|due| due <= now) && self.reception.expire(now) {
            self.outcome.finish(self.reception.progress.finished.unwrap_or(now));
            stack.close(instant);
        }
    }

    pub(crate) fn handle<S: Stack<Stream = Stream>>(
        &mut self,
        event: Event<Stream>,
        now: Time,
        stack: &mut S,
    ) {
        match event {
            Event::Connected => self.reception.begin(now),
            Event::Opened => {
                while let Some(stream) = stack.accept(StreamDirection::Unidirectional) {
                    self.streams.push(Arriving { stream, header: [0; HEADER], read: 0 });
                    self.read(now, self.streams.len() - 1, stack);
                }
            }
            Event::Readable(stream) => {
                if let Some(index) = self.streams.iter().position(|arriving| arriving.stream == stream) {
                    self.read(now, index, stack);
                }
            }
            Event::Datagram => {
                while let Some(data) = stack.receive_datagram() {
                    self.on_datagram(now, &data);
                }
            }
            Event::ClosedByPeer => self.outcome.fail("closed by the server".to_owned()),
            Event::Lost(reason) => self.outcome.fail(reason),
            Event::Available | Event::Writable(_) | Event::Acknowledged(_) => {}
        }
        self.outcome.progress.delivered_bytes = self.reception.progress.delivered_bytes;
    }

    fn read<S: Stack<Stream = Stream>>(&mut self, now: Time, index: usize, stack: &mut S) {
        let Arriving { stream, header, read } = &mut self.streams[index];
        let result = stack.read(*stream, |bytes| {
            let wanted = (HEADER - *read).min(bytes.len());
            header[*read..*read + wanted].copy_from_slice(&bytes[..wanted]);
            *read += wanted;
        });
        let captured = Time::from_nanos(u64::from_be_bytes(*header));
        if result.bytes > 0 {
            self.reception.on_bytes(now, result.bytes);
        }
        if result.ended {
            self.streams.swap_remove(index);
            if result.reset {
                self.reception.on_dropped();
            } else {
                self.reception.on_frame(now, captured);
            }
        }
    }

    fn on_datagram(&mut self, now: Time, data: &[u8]) {
        self.reception.on_bytes(now, data.len() as u64);
        let Some((header, _)) = data.split_first_chunk::<DATAGRAM_HEADER>() else { return };
        let number = |range: std::ops::Range<usize>| {
            header[range].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        let captured = Time::from_nanos(number(0..8));
        if self.incoming.add(number(8..12), number(14..16)) {
            self.reception.on_frame(now, captured);
        }
    }
}
