//! Transmission of each frame in the required number of DATAGRAM frames (RFC 9221), all full but the last.
//! The number of a datagram consists of those of its frame (32 bits), of the datagram within it, and of its
//! datagrams (16 bits each); its time is that of the capture.
//!
//! Datagrams that wait for the congestion window cannot be withdrawn, so no frame is dropped. Datagrams are
//! not retransmitted: if one is lost, its frame is missing.

use super::{Frame, Parameters, SendState, Source};
use crate::workload::{Datagram, Outcome, StreamApplication, Streams};
use quiclab_core::{ByteCount, Metrics, Time};

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
