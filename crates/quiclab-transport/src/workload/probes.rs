//! Probes of ping at even intervals, and their answers.
//!
//! Probe n leaves n intervals after the start, whether the one before was answered or not. A probe that is
//! not answered within [`LINGER`] after the last one was sent is lost.

use super::arrivals::Arrivals;
use super::reception::LINGER;
use super::samples::Samples;
use quiclab_core::{ByteCount, Duration, Metrics, Progress, Time};

quiclab_core::metrics! {
    /// Round-trip times of probes.
    pub static PROBES: ProbesMetrics = "receiver of `ping`" {
        /// Round-trip times.
        rtt_ms: Distribution, End;
        /// Mean of the round-trip times since the previous sample: each of them if the series interval does not exceed that of the probes (the last one with `until = "duration_over"` only).
        recent_rtt_ms as "rtt_ms": Gauge, Series;
    }
}

/// Probes, and what has become of them.
pub(crate) struct Probes {
    count: u64,
    interval: Duration,
    start: Time,
    /// Number of the next probe.
    next: u64,
    /// When the probe sent last left.
    sent: Time,
    pub(crate) arrivals: Arrivals,
    times: Samples,
    /// Answers since the last sample of a series, and the sum of their times.
    recent: (u64, Duration),
    pub(crate) progress: Progress,
}

impl Probes {
    pub(crate) fn new(count: u32, interval: Duration, start: Time) -> Self {
        Self {
            count: u64::from(count),
            interval,
            start,
            next: 0,
            sent: start,
            arrivals: Arrivals::default(),
            times: Samples::default(),
            recent: (0, Duration::ZERO),
            progress: Progress::default(),
        }
    }

    /// The first probe leaves at another time.
    pub(crate) fn begin(&mut self, start: Time) {
        (self.start, self.sent) = (start, start);
    }

    /// The probe to send now, if there is one; otherwise, after the last, stops to wait if it is time.
    pub(crate) fn next(&mut self, now: Time) -> Option<u64> {
        if self.next < self.count {
            let number = self.next;
            if self.start + self.interval * number > now {
                return None;
            }
            self.next += 1;
            self.sent = now;
            return Some(number);
        }
        if self.sent + LINGER <= now {
            self.progress.finished.get_or_insert(now);
        }
        None
    }

    /// The answer to a probe arrived.
    pub(crate) fn answered(&mut self, now: Time, number: u64, sent: Time, size: ByteCount) {
        if !self.arrivals.add(number) {
            return;
        }
        self.progress.delivered_bytes += size.bytes();
        self.times.add(now.since(sent));
        self.recent = (self.recent.0 + 1, self.recent.1 + now.since(sent));
        if self.arrivals.distinct == self.count {
            self.progress.finished.get_or_insert(now);
        }
    }

    /// When [`Probes::next`] wants to be called.
    pub(crate) fn deadline(&self) -> Option<Time> {
        if self.progress.finished.is_some() {
            None
        } else if self.next < self.count {
            Some(self.start + self.interval * self.next)
        } else {
            Some(self.sent + LINGER)
        }
    }

    /// Probes without an answer: of all, once no more is waited for.
    pub(crate) fn lost(&self) -> u64 {
        self.arrivals.lost(self.progress.finished.map(|_| self.count))
    }

    pub(crate) fn report(&self, out: &mut Metrics) {
        self.times.report(&PROBES.rtt_ms, out);
    }

    /// The mean time of the answers since the last call, if there were any: with an interval of the series that is
    /// not above that of the probes, the time of each answer.
    pub(crate) fn sample(&mut self, out: &mut Metrics) {
        let (answers, sum) = std::mem::take(&mut self.recent);
        if answers > 0 {
            out.set(&PROBES.recent_rtt_ms, sum.as_ms_f64() / answers as f64);
        }
    }
}
