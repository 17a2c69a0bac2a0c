//! Probes of ping at even intervals, and their replies.
//!
//! Probe n is sent n intervals after the start, regardless of the reply to the previous one. A probe without
//! a reply within [`LINGER`] after the last one was sent is lost.

use super::arrivals::Arrivals;
use super::reception::LINGER;
use super::samples::Samples;
use quiclab_core::{ByteCount, Duration, Metrics, Progress, Time};

quiclab_core::metrics! {
    /// Round-trip times of probes.
    pub static PROBES: ProbesMetrics = Flow, "receiver of `ping`" {
        /// Round-trip times.
        rtt_ms: Distribution, End;
        /// Mean of the round-trip times since the previous sample: each of them if the series interval does not exceed that of the probes (the last one with `until = "duration_over"` only).
        recent_rtt_ms as "rtt_ms": Gauge, Series;
    }
}

/// Probes and their replies.
pub(crate) struct Probes {
    count: u64,
    interval: Duration,
    start: Time,
    /// Number of the next probe.
    next: u64,
    /// Send time of the last probe.
    sent: Time,
    pub(crate) arrivals: Arrivals,
    times: Samples,
    /// Number of replies since the last sample of a series, and the sum of their times.
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

    /// Sets the time of the first probe.
    pub(crate) fn begin(&mut self, start: Time) {
        (self.start, self.sent) = (start, start);
    }

    /// Takes the probe to send now, if there is one; otherwise, after the last, stops waiting if it is time.
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

    /// Handles the reply to a probe.
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

    /// Time at which [`Probes::next`] must be called.
    pub(crate) fn deadline(&self) -> Option<Time> {
        if self.progress.finished.is_some() {
            None
        } else if self.next < self.count {
            Some(self.start + self.interval * self.next)
        } else {
            Some(self.sent + LINGER)
        }
    }

    /// Number of probes without a reply; of all, once it has stopped waiting.
    pub(crate) fn lost(&self) -> u64 {
        self.arrivals.lost(self.progress.finished.map(|_| self.count))
    }

    pub(crate) fn report(&self, out: &mut Metrics) {
        self.times.report(&PROBES.rtt_ms, out);
    }

    /// Reports the mean time of the replies since the last call, if there were any: if the interval of the
    /// series does not exceed that of the probes, the time of each reply.
    pub(crate) fn sample(&mut self, out: &mut Metrics) {
        let (answers, sum) = std::mem::take(&mut self.recent);
        if answers > 0 {
            out.set(&PROBES.recent_rtt_ms, sum.as_ms_f64() / answers as f64);
        }
    }
}
