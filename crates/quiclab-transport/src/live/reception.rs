//! Receiving end of a live flow: complete frames, their delays, and late frames.
//!
//! The delay of a frame is the time from its capture to its last byte at the application. A frame is missing
//! if it is not complete when the receiver stops waiting: [`LINGER`] after the last frame was captured, or as
//! soon as all are complete or dropped.

use super::Parameters;
use crate::workload::{LINGER, Samples};
use quiclab_core::{Duration, Metrics, Progress, Time};

quiclab_core::metrics! {
    /// Receiver of live video.
    pub static LIVE_RECEIVER: LiveReceiverMetrics = Flow, "receiver of `live`" {
        /// Frames of which all bytes have arrived.
        complete_frames: Counter, Both;
        /// Frames complete after their deadline.
        late_frames: Counter, End;
        /// Frames that were not complete.
        missing_frames: Counter, End;
        /// Share of late and missing frames in all.
        late_share: Mean, End;
        /// From capture to the last byte at the application, of complete frames.
        frame_delay_ms: Distribution, End;
        /// Delay of the frame that was completed last.
        last_frame_delay_ms as "frame_delay_ms": Gauge, Series;
    }
}

/// Reception of a live flow; see the module documentation.
pub struct Reception {
    /// Total number of frames.
    total: u64,
    deadline: Duration,
    duration: Duration,
    /// Time at which the sender ends; `None`: this end is not connected.
    end: Option<Time>,
    complete: u64,
    /// Number of frames complete after their deadline.
    late: u64,
    /// Number of frames dropped by the sender, as far as this end knows.
    dropped: u64,
    delays: Samples,
    /// Delay of the frame that was completed last.
    latest: Option<Duration>,
    /// Time of the last arrival.
    last: Option<Time>,
    over: bool,
    /// State of the transfer.
    pub progress: Progress,
}

impl Reception {
    /// Makes the receiver of a flow.
    #[must_use]
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            total: parameters.frames().into(),
            deadline: parameters.deadline,
            duration: parameters.duration,
            end: None,
            complete: 0,
            late: 0,
            dropped: 0,
            delays: Samples::default(),
            latest: None,
            last: None,
            over: false,
            progress: Progress::default(),
        }
    }

    /// Starts the reception: this end is connected.
    pub fn begin(&mut self, now: Time) {
        self.end = Some(now + self.duration);
    }

    /// Handles `bytes` of frames that have arrived.
    pub fn on_bytes(&mut self, now: Time, bytes: u64) {
        self.progress.delivered_bytes += bytes;
        self.last = Some(now);
    }

    /// Handles a complete frame.
    pub fn on_frame(&mut self, now: Time, captured: Time) {
        let delay = now.since(captured);
        self.complete += 1;
        self.late += u64::from(delay > self.deadline);
        self.delays.add(delay);
        self.latest = Some(delay);
    }

    /// Handles a frame that the sender has dropped.
    pub fn on_dropped(&mut self) {
        self.dropped += 1;
    }

    /// Whether no frame is missing that may still arrive.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete + self.dropped >= self.total
    }

    /// Time at which the receiver stops waiting; `None`: it has, or is not connected.
    #[must_use]
    pub fn next_wake(&self) -> Option<Time> {
        let end = self.end.filter(|_| !self.over)?;
        Some(if self.is_complete() { end } else { end + LINGER })
    }

    /// Stops waiting if it is time; returns whether it has stopped.
    pub fn expire(&mut self, now: Time) -> bool {
        if let (Some(due), Some(end)) = (self.next_wake(), self.end)
            && due <= now
        {
            self.over = true;
            self.progress.finished.get_or_insert(self.last.unwrap_or_default().max(end));
        }
        self.over
    }

    /// Reports the results at the receiver.
    pub fn report(&self, out: &mut Metrics) {
        let missing = self.total - self.complete.min(self.total);
        out.count(&LIVE_RECEIVER.complete_frames, self.complete);
        out.count(&LIVE_RECEIVER.late_frames, self.late);
        out.count(&LIVE_RECEIVER.missing_frames, missing);
        out.set(&LIVE_RECEIVER.late_share, (self.late + missing) as f64 / self.total.max(1) as f64);
        self.delays.report(&LIVE_RECEIVER.frame_delay_ms, out);
    }

    /// Reports the values for time series at the receiver.
    pub fn sample(&self, out: &mut Metrics) {
        if let Some(delay) = self.latest {
            out.set(&LIVE_RECEIVER.last_frame_delay_ms, delay.as_ms_f64());
        }
        out.count(&LIVE_RECEIVER.complete_frames, self.complete);
    }
}
