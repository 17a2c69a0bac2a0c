//! Transmission of each frame on a separate unidirectional stream, which ends with it; the label of the
//! stream is the capture time of the frame.
//!
//! A frame for which the peer's limit allows no stream yet waits for one. With `drop_late` the stream of a
//! frame that is not acknowledged at its deadline is reset, and a frame that waits for a stream is dropped.

use super::source::LIVE_SENDER;
use super::{Frame, Parameters, SendState, Source};
use crate::workload::{Outcome, Priority, StreamApplication, StreamId, Streams};
use quiclab_core::{Metrics, Time};
use std::collections::VecDeque;

/// Sending end.
pub(super) struct Server {
    parameters: Parameters,
    source: Source,
    /// Captured frames without a stream, in their order.
    waiting: VecDeque<Frame>,
    /// Streams that are not acknowledged, with the capture of their frames, in their order.
    open: VecDeque<(Time, StreamId)>,
    dropped: u64,
    outcome: Outcome,
}

impl Server {
    pub(super) fn new(parameters: Parameters, source: Source) -> Self {
        Self {
            parameters,
            source,
            waiting: VecDeque::new(),
            open: VecDeque::new(),
            dropped: 0,
            outcome: Outcome::default(),
        }
    }

    fn send_state(&self, streams: &mut dyn Streams) -> SendState {
        let waiting: u64 = self.waiting.iter().map(|frame| u64::from(frame.length)).sum();
        SendState { rate: streams.send_rate(), waiting_bytes: waiting + streams.waiting_bytes() }
    }

    /// Sends waiting frames, as far as there are streams for them.
    fn send(&mut self, streams: &mut dyn Streams) {
        while !self.waiting.is_empty() {
            let Some(stream) = streams.open(false) else { return };
            let frame = self.waiting.pop_front().expect("there is one");
            streams.set_label(stream, frame.captured.as_nanos());
            streams.set_priority(stream, Priority::default());
            streams.write(stream, frame.length.into());
            streams.finish(stream);
            self.open.push_back((frame.captured, stream));
        }
    }

    /// Capture time of the oldest frame that may be dropped.
    fn oldest(&self) -> Option<Time> {
        let open = self.open.front().map(|(captured, _)| *captured);
        open.or(self.waiting.front().map(|frame| frame.captured))
    }

    /// Drops late frames.
    fn drop_late(&mut self, now: Time, streams: &mut dyn Streams) {
        let deadline = self.parameters.deadline;
        while let Some(&(captured, stream)) = self.open.front()
            && captured + deadline <= now
        {
            streams.reset(stream);
            self.open.pop_front();
            self.dropped += 1;
        }
        while self.waiting.front().is_some_and(|frame| frame.captured + deadline <= now) {
            self.waiting.pop_front();
            self.dropped += 1;
        }
    }

    fn finish(&mut self, now: Time) {
        if self.source.is_over() && self.open.is_empty() && self.waiting.is_empty() {
            self.outcome.finish(now);
        }
    }
}

impl StreamApplication for Server {
    fn connected(&mut self, now: Time, streams: &mut dyn Streams) {
        self.outcome.progress.started = Some(now);
        self.source.begin(now);
        self.wake(now, streams);
    }

    fn acknowledged(&mut self, now: Time, stream: StreamId) {
        if let Some(index) = self.open.iter().position(|(_, open)| *open == stream) {
            self.open.remove(index);
        }
        self.finish(now);
    }

    fn available(&mut self, _now: Time, streams: &mut dyn Streams) {
        self.send(streams);
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
        let late = self.oldest().filter(|_| self.parameters.drop_late);
        let late = late.map(|captured| captured + self.parameters.deadline);
        [self.source.next_capture(), late].into_iter().flatten().min()
    }

    fn wake(&mut self, now: Time, streams: &mut dyn Streams) {
        while self.source.next_capture().is_some_and(|due| due <= now)
            && let Some(frame) = self.source.capture(now, self.send_state(streams))
        {
            self.waiting.push_back(frame);
        }
        if self.parameters.drop_late {
            self.drop_late(now, streams);
        }
        self.send(streams);
        self.finish(now);
    }

    fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    fn statistics(&self, out: &mut Metrics) {
        self.source.report(out);
        out.count(&LIVE_SENDER.dropped_frames, self.dropped);
    }

    fn sample(&self, out: &mut Metrics) {
        self.source.sample(out);
    }
}
