//! Frames one after the other on a byte stream: a frame waits until all before it are delivered, and a segment that is
//! lost stops all frames after it (head-of-line blocking).
//!
//! A frame is written in records of at most 16384 B, as soon as the send buffer has room. With `drop_late` a
//! frame is dropped if nothing of it is written at its deadline: data in the send buffer cannot be withdrawn.

use super::source::LIVE_SENDER;
use super::{Frame, Parameters, Reception, SendState, Source};
use crate::workload::{Application, Command, Outcome};
use quiclab_core::{Contents, DataRate, MediaFrame, Metrics, Time};
use std::collections::VecDeque;

/// Sending end.
pub(super) struct Server {
    parameters: Parameters,
    source: Source,
    /// Captured frames of which nothing is written.
    waiting: VecDeque<Frame>,
    /// Remaining bytes of the frame that is being written.
    left: u64,
    /// State of the transport; `waiting_bytes` are those in the send buffer.
    transport: SendState,
    dropped: u64,
    outcome: Outcome,
}

impl Server {
    pub(super) fn new(parameters: Parameters, source: Source) -> Self {
        Self {
            parameters,
            source,
            waiting: VecDeque::new(),
            left: 0,
            transport: SendState::default(),
            dropped: 0,
            outcome: Outcome::default(),
        }
    }

    fn drop_late(&mut self, now: Time) {
        let deadline = self.parameters.deadline;
        while self.waiting.front().is_some_and(|frame| frame.captured + deadline <= now) {
            self.waiting.pop_front();
            self.dropped += 1;
        }
    }

    fn send_state(&self) -> SendState {
        let waiting: u64 = self.waiting.iter().map(|frame| u64::from(frame.length)).sum();
        let SendState { rate, waiting_bytes } = self.transport;
        SendState { rate, waiting_bytes: waiting_bytes + self.left + waiting }
    }

    fn is_done(&self) -> bool {
        self.source.is_over() && self.left == 0 && self.waiting.is_empty()
    }
}

impl Application for Server {
    fn connected(&mut self, now: Time) -> Command {
        self.outcome.progress.started = Some(now);
        self.source.begin(now);
        self.wake(now)
    }

    fn acknowledged(&mut self, now: Time) {
        if self.is_done() {
            self.outcome.finish(now);
        }
    }

    fn peer_closed(&mut self, now: Time) -> Command {
        self.outcome.closed_by_client(
            now,
            self.source.is_over(),
            "closed by the client before the last frame",
        );
        Command::Close
    }

    fn failed(&mut self, reason: String) {
        self.outcome.fail(reason);
    }

    fn deadline(&self) -> Option<Time> {
        self.source.next_capture()
    }

    fn on_send_state(&mut self, rate: Option<DataRate>, waiting_bytes: u64) {
        self.transport = SendState { rate, waiting_bytes };
    }

    fn wake(&mut self, now: Time) -> Command {
        while let Some(frame) = self.source.capture(now, self.send_state()) {
            self.waiting.push_back(frame);
        }
        Command::Wait
    }

    fn uses_records(&self) -> bool {
        true
    }

    fn pull(&mut self, now: Time, most: u64) -> Option<(u64, Contents)> {
        let mut contents = Contents::default();
        if self.left == 0 {
            if self.parameters.drop_late {
                self.drop_late(now);
            }
            let frame = self.waiting.pop_front()?;
            self.left = frame.length.into();
            contents = Contents::Media(MediaFrame { captured: frame.captured, length: frame.length });
        }
        let length = self.left.min(most);
        self.left -= length;
        Some((length, contents))
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

/// Receiving end.
pub(super) struct Client {
    reception: Reception,
    /// Capture time of the frame that is being read, and its missing bytes.
    reading: Option<(Time, u64)>,
    outcome: Outcome,
}

impl Client {
    pub(super) fn new(parameters: &Parameters) -> Self {
        Self { reception: Reception::new(parameters), reading: None, outcome: Outcome::default() }
    }
}

impl Application for Client {
    fn start(&mut self, now: Time) {
        self.outcome.progress.started = Some(now);
    }

    fn connected(&mut self, now: Time) -> Command {
        self.reception.begin(now);
        Command::Wait
    }

    fn uses_records(&self) -> bool {
        true
    }

    fn read(&mut self, now: Time, bytes: u64, contents: &Contents) -> Command {
        if let Contents::Media(frame) = contents {
            self.reading = Some((frame.captured, frame.length.into()));
        }
        self.reception.on_bytes(now, bytes);
        self.outcome.progress.delivered_bytes = self.reception.progress.delivered_bytes;
        if let Some((captured, left)) = self.reading {
            let left = left - bytes;
            self.reading = (left > 0).then_some((captured, left));
            if left == 0 {
                self.reception.on_frame(now, captured);
            }
        }
        Command::Wait
    }

    fn peer_closed(&mut self, _now: Time) -> Command {
        self.outcome.fail("closed by the server".to_owned());
        Command::Close
    }

    fn peer_aborted(&mut self, _now: Time) {
        self.outcome.fail("reset by the server".to_owned());
    }

    fn failed(&mut self, reason: String) {
        self.outcome.fail(reason);
    }

    fn deadline(&self) -> Option<Time> {
        self.reception.next_wake()
    }

    fn wake(&mut self, now: Time) -> Command {
        if self.outcome.progress.finished.is_some() || !self.reception.expire(now) {
            return Command::Wait;
        }
        self.outcome.finish(self.reception.progress.finished.unwrap_or(now));
        if self.reception.is_complete() { Command::Close } else { Command::Abort }
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
