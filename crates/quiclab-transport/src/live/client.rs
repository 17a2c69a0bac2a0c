//! Receiving end on streams or datagrams: a frame is complete with the end of its stream, or with all of its
//! datagrams.

use super::{Parameters, Reception};
use crate::workload::{Datagram, Outcome, StreamApplication, StreamId, Streams};
use quiclab_core::{Metrics, Time};
use std::collections::BTreeMap;

/// Maximum number of frames that are reassembled at a time; the oldest is given up.
const MAX_INCOMPLETE_FRAMES: usize = 64;

/// Frames of which some datagrams have arrived.
#[derive(Debug, Default)]
struct Incoming {
    /// Number of datagrams of each frame that have arrived.
    frames: BTreeMap<u64, u64>,
}

impl Incoming {
    /// Adds a datagram of `frame`, which has `count` of them; returns whether the frame is complete. QUIC
    /// delivers no packet twice, and does not retransmit datagrams.
    fn add(&mut self, frame: u64, count: u64) -> bool {
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

    fn arrived(&mut self, now: Time, bytes: u64) {
        self.reception.on_bytes(now, bytes);
        self.outcome.progress.delivered_bytes = self.reception.progress.delivered_bytes;
    }
}

impl StreamApplication for Client {
    fn start(&mut self, now: Time) {
        self.outcome.progress.started = Some(now);
    }

    fn connected(&mut self, now: Time, _streams: &mut dyn Streams) {
        self.reception.begin(now);
    }

    fn received(&mut self, now: Time, stream: StreamId, bytes: u64, end: bool, streams: &mut dyn Streams) {
        self.arrived(now, bytes);
        if end {
            self.reception.on_frame(now, Time::from_nanos(streams.label(stream)));
        }
    }

    fn reset_by_peer(&mut self, _now: Time, _stream: StreamId, _streams: &mut dyn Streams) {
        self.reception.on_dropped();
    }

    fn datagram(&mut self, now: Time, datagram: Datagram, _streams: &mut dyn Streams) {
        self.arrived(now, datagram.size().bytes());
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
