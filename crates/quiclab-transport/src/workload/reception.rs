//! Reception of the datagrams of a schedule.
//!
//! It reports losses, one-way delays, and the jitter of RFC 3550 section 6.4.1 (there in timestamp units,
//! here in ms).
//!
//! The receiver is done when the last datagram has arrived, but not before the sender ends; if the last ones
//! are lost, it ends after waiting for [`LINGER`], with the time of the last arrival.

use super::arrivals::Arrivals;
use super::schedule::Schedule;
use quiclab_core::{ByteCount, Duration, Metrics, Progress, Time};

quiclab_core::metrics! {
    /// Delays of datagrams and media packets.
    pub static DELAYS: DelaysMetrics = Flow, "receiver of `datagrams` or `media`" {
        /// From sending to arrival.
        one_way_delay_ms_mean: Mean, Both;
        /// The shortest one-way delay.
        one_way_delay_ms_min: Minimum, Both;
        /// The longest one-way delay.
        one_way_delay_ms_max: Maximum, Both;
        /// Interarrival jitter (RFC 3550 section 6.4.1).
        jitter_ms: Gauge, Both;
    }

    /// Datagrams that arrived.
    pub static RECEPTION: ReceptionMetrics = Flow, "receiver of `datagrams`" {
        /// Distinct datagrams.
        datagrams_received: Counter, Both;
    }
}

/// Time for which a receiver waits for datagrams after the last was sent, before the missing ones count as
/// lost; longer than any relevant queueing delay.
pub(crate) const LINGER: Duration = Duration::from_secs(3);

/// One-way delays of datagrams received.
#[derive(Debug, Default)]
pub(crate) struct Delays {
    sum: u128,
    count: u64,
    min: Duration,
    max: Duration,
    last: Option<Duration>,
    /// Interarrival jitter in nanoseconds.
    jitter: f64,
}

impl Delays {
    pub(crate) fn add(&mut self, delay: Duration) {
        self.min = if self.count == 0 { delay } else { self.min.min(delay) };
        self.max = self.max.max(delay);
        self.sum += u128::from(delay.as_nanos());
        self.count += 1;
        if let Some(last) = self.last.replace(delay) {
            // D(i-1,i): the difference of the transit times; J(i) = J(i-1) + (|D(i-1,i)| - J(i-1)) / 16
            let difference = delay.as_nanos().abs_diff(last.as_nanos()) as f64;
            self.jitter += (difference - self.jitter) / 16.0;
        }
    }

    pub(crate) fn report(&self, out: &mut Metrics) {
        if self.count > 0 {
            out.set(&DELAYS.one_way_delay_ms_mean, self.sum as f64 / self.count as f64 / 1e6);
            out.set(&DELAYS.one_way_delay_ms_min, self.min.as_ms_f64());
            out.set(&DELAYS.one_way_delay_ms_max, self.max.as_ms_f64());
            out.set(&DELAYS.jitter_ms, self.jitter / 1e6);
        }
    }
}

/// Datagrams received, and whether to wait for more.
pub(crate) struct Reception {
    schedule: Schedule,
    pub(crate) arrivals: Arrivals,
    delays: Delays,
    /// Time of the last arrival that was not a duplicate.
    last: Option<Time>,
    /// Whether the receiver has stopped waiting.
    over: bool,
    pub(crate) progress: Progress,
}

impl Reception {
    pub(crate) fn new(schedule: Schedule) -> Self {
        Self {
            schedule,
            arrivals: Arrivals::default(),
            delays: Delays::default(),
            last: None,
            over: false,
            progress: Progress::default(),
        }
    }

    /// Sets the start of the schedule.
    pub(crate) fn begin(&mut self, start: Time) {
        self.schedule = self.schedule.starting(start);
    }

    pub(crate) fn arrive(&mut self, now: Time, number: u64, sent: Time, size: ByteCount) {
        if self.arrivals.add(number) {
            self.progress.delivered_bytes += size.bytes();
            self.delays.add(now.since(sent));
            self.last = Some(now);
        }
    }

    /// Time at which the receiver stops waiting; `None`: it has.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let complete = self.arrivals.distinct == self.schedule.total;
        let end = if complete { self.schedule.end } else { self.schedule.end + LINGER };
        Some(end).filter(|_| !self.over)
    }

    /// Stops waiting if it is time; returns whether it has stopped.
    pub(crate) fn expire(&mut self, now: Time) -> bool {
        if self.deadline().is_some_and(|due| due <= now) {
            self.over = true;
            let last = self.last.unwrap_or_default();
            self.progress.finished.get_or_insert(last.max(self.schedule.end));
        }
        self.over
    }

    /// Number of datagrams that did not arrive; of all, once the receiver has stopped waiting.
    pub(crate) fn lost(&self) -> u64 {
        self.arrivals.lost(self.over.then_some(self.schedule.total))
    }

    pub(crate) fn report(&self, out: &mut Metrics) {
        out.count(&RECEPTION.datagrams_received, self.arrivals.distinct);
        self.delays.report(out);
    }
}
