//! Transmission of each frame in the required number of DATAGRAM frames (RFC 9221), all full but the last.
//! The number of a datagram consists of those of its frame (32 bits), of the datagram within it, and of its
//! datagrams (16 bits each); its time is that of the capture.
//!
//! Datagrams that wait for the congestion window cannot be withdrawn, so no frame is dropped. Datagrams are
//! not retransmitted: if one is lost, its frame is missing.

use super::{Frame, Parameters, Reception, SendState, Source};
use crate::workload::{Datagram, Outcome, StreamApplication, Streams};
use quiclab_core::{ByteCount, Metrics, Time};
use std::collections::BTreeMap;

/// Maximum number of frames that are reassembled at a time; the oldest is given up.
const MAX_INCOMPLETE_FRAMES: usize = 64;

/// Frames of which some datagrams have arrived.
#[derive(Debug, Default)]
pub struct Incoming {
    /// Number of datagrams of each frame that have arrived.
    frames: BTreeMap<u64, u64>,
}

impl Incoming {
    /// Adds a datagram of `frame`, which has `count` of them; returns whether the frame is complete. QUIC
    /// delivers no packet twice, and does not retransmit datagrams.
    pub fn add(&mut self, frame: u64, count: u64) -> bool {
        let arrived = self.frames.entry(frame).or_default();
        *arrived += 1;
        let is_complete = *arrived == count;
        if is_complete {
            self.frames.remove(&frame);
        } else if self.frames.len() > MAX_INCOMPLETE_FRAMES {
            self.frames.pop_first();
        }
        is_complete
    }
}

/// Sending end.
pub(super) struct Server {
    parameters: Parameters,
    source: Source,
    outcome: Outcome,
}

impl Server {
    pub(super) fn new(parameters: Parameters, source: Source) -> Self {
        Self { parameters, source, outcome: Outcome::default() }
    }

    fn send(&self, frame: &Frame, streams: &mut dyn Streams) {
        let sizes = self.parameters.datagrams(frame);
        let count = sizes.len() as u64;
        for (index, size) in sizes.enumerate() {
            let number = u64::from(frame.number) << 32 | (index as u64) << 16 | count;
            streams.send_datagram(Datagram::new(ByteCount::from_bytes(size), number, frame.captured));
        }
    }
}

fn send_state(streams: &mut dyn Streams) -> SendState {
    SendState { rate: streams.send_rate(), waiting_bytes: streams.waiting_bytes() }
}

impl StreamApplication for Server {
    fn connected(&mut self, now: Time, streams: &mut dyn Streams) {
        self.outcome.progress.started = Some(now);
        self.source.begin(now);
        self.wake(now, streams);
    }

    fn closed_by_peer(&mut self, now: Time) {
        self.outcome.closed_by_client(
            now,
            self.source.is_over(),
            "closed by the client before the last frame",
        );
    }

    fn failed(&mut self, reason: String) {
        self.outcome.fail(reason);
    }

    fn deadline(&self) -> Option<Time> {
        self.source.next_capture()
    }

    fn wake(&mut self, now: Time, streams: &mut dyn Streams) {
        while let Some(frame) = self.source.capture(now, send_state(streams)) {
            self.send(&frame, streams);
        }
    }

    fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    fn statistics(&self, out: &mut Metrics) {
        self.source.report(out);
    }

    fn sample(&self, out: &mut Metrics) {
        self.source.sample(out);
    }
}

/// Receiving end.
pub(super) struct Client {
    reception: Reception,
    incoming: Incoming,
    outcome: Outcome,
}

impl Client {
    pub(super) fn new(parameters: &Parameters) -> Self {
        let reception = Reception::new(parameters);
        Self { reception, incoming: Incoming::default(), outcome: Outcome::default() }
    }
}

impl StreamApplication for Client {
    fn start(&mut self, now: Time) {
        self.outcome.progress.started = Some(now);
    }

    fn connected(&mut self, now: Time, _streams: &mut dyn Streams) {
        self.reception.begin(now);
    }

    fn datagram(&mut self, now: Time, datagram: Datagram, _streams: &mut dyn Streams) {
        self.reception.on_bytes(now, datagram.size().bytes());
        self.outcome.progress.delivered_bytes = self.reception.progress.delivered_bytes;
        if self.incoming.add(datagram.number >> 32, datagram.number & 0xFFFF) {
            self.reception.on_frame(now, datagram.sent);
        }
    }

    fn closed_by_peer(&mut self, _now: Time) {
        self.failed("closed by the server".to_owned());
    }

    fn failed(&mut self, reason: String) {
        self.outcome.fail(reason);
    }

    fn deadline(&self) -> Option<Time> {
        self.reception.next_wake()
    }

    fn wake(&mut self, now: Time, streams: &mut dyn Streams) {
        if self.outcome.progress.finished.is_none() && self.reception.expire(now) {
            self.outcome.finish(self.reception.progress.finished.unwrap_or(now));
            streams.close();
        }
    }

    fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    fn statistics(&self, out: &mut Metrics) {
        self.reception.report(out);
    }

    fn sample(&self, out: &mut Metrics) {
        self.reception.sample(out);
    }
}
