//! Encoder of a live video: capture times and sizes of frames.
//!
//! Of the K frames from one key frame to the next the key frame is `key_frame_ratio` (r) times as large as
//! each of the others, on average: with the mean size m at the current rate these have m K / (K - 1 + r).
//! Each size is drawn from a Laplace distribution around that; one number is drawn for each frame, regardless
//! of the rate.

use super::{HEADER, Parameters};
use quiclab_core::{DataRate, Duration, Metrics, RandomStream, Time};

quiclab_core::metrics! {
    /// Source of live video.
    pub static LIVE_SENDER: LiveSenderMetrics = Flow, "sender of `live`" {
        /// Frames of the source.
        captured_frames: Counter, End;
        /// Bytes of the frames of the source.
        captured_bytes: Counter, End;
        /// Rate of the encoder.
        target_rate_mbps: Gauge, Series;
        /// Frames given up at their deadline (`drop_late`); one may have arrived all the same, before the sender knew.
        dropped_frames: Counter, End;
    }
}

/// Time between changes of the rate of an encoder (tau_v of RFC 8593 section 5).
const UPDATE_INTERVAL: Duration = Duration::from_millis(200);

/// Reduction of the rate by each waiting bit, in bit/s (TX_QUEUE_SIZE_FACTOR of RFC 8298 section 4.1.3).
const QUEUE_FACTOR: f64 = 1.0;

/// State of the transport at the capture of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendState {
    /// Rate at which waiting bytes are sent ([`quiclab_core::RecoveryState::send_rate`]).
    pub rate: Option<DataRate>,
    /// Bytes of frames that are not sent yet.
    pub waiting_bytes: u64,
}

/// Frame of the video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Number, from 0.
    pub number: u32,
    /// Time of capture.
    pub captured: Time,
    /// Length in bytes.
    pub length: u32,
}

/// Source of frames; see the module documentation.
pub struct Source {
    parameters: Parameters,
    random: RandomStream,
    /// Capture time of the first frame; `None`: the sender is not connected.
    start: Option<Time>,
    /// Number of the next frame.
    next: u32,
    /// Current rate in bit/s.
    rate: f64,
    /// Sum and number of the rates that the transport allows, in bit/s, since the last change of the rate,
    /// and its time.
    seen: (f64, u32),
    updated: Time,
    bytes: u64,
}

impl Source {
    /// Makes the source of a flow with its random stream.
    #[must_use]
    pub fn new(parameters: Parameters, random: RandomStream) -> Self {
        let rate = parameters.rate.bits_per_second() as f64;
        let updated = Time::ZERO;
        Self { parameters, random, start: None, next: 0, rate, seen: (0.0, 0), updated, bytes: 0 }
    }

    /// Starts the source: the sender is connected.
    pub fn begin(&mut self, now: Time) {
        self.start = Some(now);
        self.updated = now;
    }

    /// Capture time of the next frame; `None` after the last, and before the sender is connected.
    #[must_use]
    pub fn next_capture(&self) -> Option<Time> {
        let start = self.start.filter(|_| !self.is_over())?;
        Some(start + self.parameters.offset(self.next))
    }

    /// Whether all frames are captured.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.next >= self.parameters.frames()
    }

    /// Captures the next frame if it is due by `now`.
    pub fn capture(&mut self, now: Time, state: SendState) -> Option<Frame> {
        let captured = self.next_capture().filter(|due| *due <= now)?;
        self.adapt(captured, state);
        let length = self.length();
        let frame = Frame { number: self.next, captured, length };
        self.next += 1;
        self.bytes += u64::from(length);
        Some(frame)
    }

    /// Follows the rate of the transport, less the waiting bits.
    fn adapt(&mut self, now: Time, state: SendState) {
        let Some((min, max)) = self.parameters.bounds else { return };
        if let Some(rate) = state.rate {
            self.seen.0 += rate.bits_per_second() as f64 - QUEUE_FACTOR * 8.0 * state.waiting_bytes as f64;
            self.seen.1 += 1;
        }
        if self.seen.1 > 0 && now.since(self.updated) >= UPDATE_INTERVAL {
            let mean = self.seen.0 / f64::from(self.seen.1);
            self.rate = mean.clamp(min.bits_per_second() as f64, max.bits_per_second() as f64);
            (self.seen, self.updated) = ((0.0, 0), now);
        }
    }

    /// Draws the length of the next frame in bytes.
    fn length(&mut self) -> u32 {
        let Parameters { group, size_variation_percent, .. } = self.parameters;
        let middle = self.parameters.mean_length(self.rate, self.next.is_multiple_of(group));
        let deviation = f64::from(size_variation_percent) / 100.0 * laplace(&mut self.random);
        let length = (middle * (1.0 + deviation.clamp(-1.0, 1.0))).round();
        (length as u32).max(HEADER as u32)
    }

    /// Reports the results at the sender.
    pub fn report(&self, out: &mut Metrics) {
        out.count(&LIVE_SENDER.captured_frames, u64::from(self.next));
        out.count(&LIVE_SENDER.captured_bytes, self.bytes);
    }

    /// Reports the values for time series at the sender.
    pub fn sample(&self, out: &mut Metrics) {
        out.set(&LIVE_SENDER.target_rate_mbps, self.rate / 1e6);
    }
}

/// Draws a number of the Laplace distribution with mean 0 and scale 1, from one uniform number.
fn laplace(random: &mut RandomStream) -> f64 {
    let centred = random.uniform() - 0.5;
    -centred.signum() * libm::log(1.0 - 2.0 * centred.abs())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{live, ms_of, parameters};
    use super::*;
    use crate::testing::ms;

    fn source(change: impl FnOnce(&mut crate::options::Workload)) -> Source {
        Source::new(parameters(change), RandomStream::new(1, "main.sender.frames"))
    }

    fn all(source: &mut Source) -> Vec<Frame> {
        std::iter::from_fn(|| source.capture(Time::from_nanos(u64::MAX), SendState::default())).collect()
    }

    /// 25 frames/s for 200 ms: frames at 0, 40, 80, 120, 160 ms; the sixth would be at the end.
    #[test]
    fn frames_are_captured_at_exact_intervals_before_the_end() {
        let mut source = source(|workload| live!(workload, frame_rate = 25, duration = ms_of(200)));
        assert_eq!(source.next_capture(), None);
        source.begin(ms(100));
        let mut captured = Vec::new();
        while let Some(due) = source.next_capture() {
            assert_eq!(source.capture(Time::from_nanos(due.as_nanos() - 1), SendState::default()), None);
            captured.push(source.capture(due, SendState::default()).expect("it is due").captured);
        }
        assert_eq!(captured, [100, 140, 180, 220, 260].map(ms));
        assert!(source.is_over());
        // a third of a second: 8.33 intervals of 1/25 s, frames 0 to 8
        let third = Duration::from_nanos(333_333_334);
        assert_eq!(parameters(|workload| live!(workload, frame_rate = 25, duration = third)).frames(), 9);
        // three frames a second end exactly with the second: 1/3 s is rounded up
        let three = parameters(|workload| live!(workload, frame_rate = 3, duration = Duration::from_secs(1)));
        assert_eq!((three.frames(), three.offset(1).as_nanos()), (3, 333_333_334));
    }

    /// 1 Mbit/s, 10 frames/s: 12 500 B on average. Groups of 5 frames, of which the first is 6 times as large: others
    /// have 12 500 · 5 / 10 = 6 250 B, key frames 37 500 B.
    #[test]
    fn key_frames_are_larger_and_the_mean_is_that_of_the_rate() {
        let mut source = source(|workload| {
            live!(
                workload,
                frame_rate = 10,
                key_frame_interval = ms_of(500),
                key_frame_ratio = 6,
                size_variation_percent = 0
            );
        });
        source.begin(ms(0));
        let lengths: Vec<u32> = all(&mut source).iter().map(|frame| frame.length).collect();
        assert_eq!(lengths[..6], [37_500, 6_250, 6_250, 6_250, 6_250, 37_500]);
        assert_eq!(lengths.iter().sum::<u32>() as usize, lengths.len() * 12_500);
    }

    /// The mean of n frames has the standard error scale · sqrt(2 / n) of the mean size (the variance of a
    /// Laplace distribution is 2 scale²); of scale 0.15 few are limited.
    #[test]
    fn sizes_vary_around_the_mean() {
        let mut source = source(|workload| {
            live!(workload, frame_rate = 1000, key_frame_ratio = 1, duration = Duration::from_secs(20));
        });
        source.begin(ms(0));
        let lengths: Vec<f64> = all(&mut source).iter().map(|frame| f64::from(frame.length)).collect();
        let (count, middle) = (lengths.len() as f64, 1e6 / 8.0 / 1000.0);
        assert_eq!(count, 20_000.0);
        let mean = lengths.iter().sum::<f64>() / count;
        assert!((mean / middle - 1.0).abs() < 5.0 * 0.15 * (2.0 / count).sqrt(), "{mean}");
        let deviation = lengths.iter().map(|length| (length / middle - 1.0).abs()).sum::<f64>() / count;
        // the mean absolute deviation is the scale, its standard error scale / sqrt(n)
        assert!((deviation - 0.15).abs() < 5.0 * 0.15 / count.sqrt(), "{deviation}");
    }

    /// Ten frames a second: the rate changes with the third frame (200 ms), to the mean of the rates of the
    /// transport at frames 1 to 3, within the limits; each waiting bit reduces it by 1 bit/s.
    #[test]
    fn the_rate_follows_the_mean_of_the_transport_every_200_ms() {
        let mbps = |mbps| Some(DataRate::from_mbps(mbps));
        let mut source = source(|workload| {
            live!(
                workload,
                frame_rate = 10,
                key_frame_ratio = 1,
                size_variation_percent = 0,
                min_rate = mbps(1),
                max_rate = mbps(8)
            );
        });
        source.begin(ms(0));
        let mut capture = |at, rate, waiting_bytes| {
            source.capture(ms(at), SendState { rate, waiting_bytes }).expect("a frame is due").length
        };
        let mut length = |at, rate| capture(at, rate, 0);
        assert_eq!(length(0, mbps(2)), 12_500);
        assert_eq!(length(100, mbps(4)), 12_500);
        assert_eq!(length(200, mbps(3)), 37_500, "3 Mbit/s");
        assert_eq!((length(300, mbps(50)), length(400, mbps(50))), (37_500, 100_000), "8 Mbit/s at most");
        assert_eq!((length(500, None), length(600, None)), (100_000, 100_000), "nothing is known");
        assert_eq!(length(700, Some(DataRate::from_bits_per_second(1))), 12_500, "1 Mbit/s at least");
        // 5 Mbit/s less 1 000 000 bit, and less 3 000 000 bit
        assert_eq!((capture(800, mbps(5), 125_000), capture(900, mbps(5), 375_000)), (12_500, 37_500));
    }
}
