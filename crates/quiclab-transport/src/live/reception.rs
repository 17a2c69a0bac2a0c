//! The end of a live flow that receives: which frames are complete, their delays, and which are late.
//!
//! The delay of a frame is the time from its capture to its last byte at the application. A frame is missing if it is
//! not complete when the receiver waits no longer: [`LINGER`] after the last frame was captured, or as soon as all are
//! complete or given up.

use super::Parameters;
use crate::workload::{LINGER, Samples};
use quiclab_core::{Duration, Metrics, Progress, Time};

quiclab_core::metrics! {
    /// Receiver of live video.
    pub static LIVE_RECEIVER: LiveReceiverMetrics = "receiver of `live`" {
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

/// See the module documentation.
pub struct Reception {
    /// Frames in all.
    total: u64,
    deadline: Duration,
    duration: Duration,
    /// When the sender's time is over; `None`: this end is not connected.
    end: Option<Time>,
    complete: u64,
    /// Complete after their deadline.
    late: u64,
    /// Given up by the sender, as far as this end knows.
    dropped: u64,
    delays: Samples,
    /// Delay of the frame that was completed last.
    latest: Option<Duration>,
    /// When something arrived last.
    last: Option<Time>,
    over: bool,
    /// State of the transfer.
    pub progress: Progress,
}

impl Reception {
    /// The receiver of a flow.
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

    /// This end is connected.
    pub fn begin(&mut self, now: Time) {
        self.end = Some(now + self.duration);
    }

    /// `bytes` of frames have arrived.
    pub fn on_bytes(&mut self, now: Time, bytes: u64) {
        self.progress.delivered_bytes += bytes;
        self.last = Some(now);
    }

    /// A frame is complete.
    pub fn on_frame(&mut self, now: Time, captured: Time) {
        let delay = now.since(captured);
        self.complete += 1;
        self.late += u64::from(delay > self.deadline);
        self.delays.add(delay);
        self.latest = Some(delay);
    }

    /// The sender has given a frame up.
    pub fn on_dropped(&mut self) {
        self.dropped += 1;
    }

    /// Nothing is missing that may still arrive.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete + self.dropped >= self.total
    }

    /// When the receiver stops to wait; `None`: it has, or is not connected.
    #[must_use]
    pub fn next_wake(&self) -> Option<Time> {
        let end = self.end.filter(|_| !self.over)?;
        Some(if self.is_complete() { end } else { end + LINGER })
    }

    /// Stops to wait if it is time; whether it has stopped.
    pub fn expire(&mut self, now: Time) -> bool {
        if let (Some(due), Some(end)) = (self.next_wake(), self.end)
            && due <= now
        {
            self.over = true;
            self.progress.finished.get_or_insert(self.last.unwrap_or_default().max(end));
        }
        self.over
    }

    /// Results at the receiver.
    pub fn report(&self, out: &mut Metrics) {
        let missing = self.total - self.complete.min(self.total);
        out.count(&LIVE_RECEIVER.complete_frames, self.complete);
        out.count(&LIVE_RECEIVER.late_frames, self.late);
        out.count(&LIVE_RECEIVER.missing_frames, missing);
        out.set(&LIVE_RECEIVER.late_share, (self.late + missing) as f64 / self.total.max(1) as f64);
        self.delays.report(&LIVE_RECEIVER.frame_delay_ms, out);
    }

    /// Values for time series at the receiver.
    pub fn sample(&self, out: &mut Metrics) {
        if let Some(delay) = self.latest {
            out.set(&LIVE_RECEIVER.last_frame_delay_ms, delay.as_ms_f64());
        }
        out.count(&LIVE_RECEIVER.complete_frames, self.complete);
    }
}
