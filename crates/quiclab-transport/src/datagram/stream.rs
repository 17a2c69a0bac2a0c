//! Datagrams at a constant rate, all the time or in periods with pauses.
//!
//! Datagram n of a period leaves n times (payload / rate) after its start, rounded up, so that rounding
//! does not accumulate; no datagram leaves at or after the end of its period. The receiver reports what
//! arrived, one-way delays, and the jitter of RFC 3550 section 6.4.1 (there in timestamp units, here in
//! ms).
//!
//! The receiver is done when the last datagram has arrived, at the earliest when the sender's time is
//! over; where the last ones are lost, after waiting for [`LINGER`] it takes the time of the last arrival.

use super::LINGER;
use super::arrivals::Arrivals;
use super::port::Socket;
use quiclab_core::{
    ByteCount, Counters, DataRate, Duration, Element, Endpoint, EndpointIdentity, Metrics, Outputs, Packet,
    Payload, Port, Progress, Time,
};

/// When which datagram leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    rate: DataRate,
    pub(crate) size: ByteCount,
    start: Time,
    /// When the sender's time is over.
    pub(crate) end: Time,
    /// Length of a period from start to start, `Duration::MAX` without pauses.
    period: Duration,
    /// Datagrams of a full period.
    per_period: u64,
    /// Datagrams in all.
    pub(crate) total: u64,
}

impl Schedule {
    pub(crate) fn new(
        rate: DataRate,
        size: ByteCount,
        duration: Duration,
        pauses: Option<(Duration, Duration)>,
        start: Time,
    ) -> Self {
        let mut schedule = Self {
            rate,
            size,
            start,
            end: start + duration,
            period: Duration::MAX,
            per_period: u64::MAX,
            total: 0,
        };
        match pauses {
            None => schedule.total = schedule.count(duration),
            Some((on, off)) => {
                schedule.period = on + off;
                schedule.per_period = schedule.count(on);
                let full = duration.as_nanos() / schedule.period.as_nanos();
                let rest = Duration::from_nanos(duration.as_nanos() % schedule.period.as_nanos());
                schedule.total = full * schedule.per_period + schedule.count(rest.min(on));
            }
        }
        schedule
    }

    /// The same, from another time on.
    pub(crate) fn starting(self, start: Time) -> Self {
        Self { start, end: start + self.end.since(self.start), ..self }
    }

    /// Time of datagram `index` of a period, from its start.
    fn offset(&self, index: u64) -> Duration {
        // in 128 bits: exact for a run of any length
        let bits = u128::from(index) * u128::from(self.size.bytes()) * 8 * 1_000_000_000;
        let nanos = bits.div_ceil(u128::from(self.rate.bits_per_second()));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Datagrams that leave in a period of sending of this length: those whose time is before its end.
    fn count(&self, length: Duration) -> u64 {
        let nanos = u128::from(length.as_nanos()) * u128::from(self.rate.bits_per_second());
        let count = nanos.div_ceil(u128::from(self.size.bytes()) * 8 * 1_000_000_000);
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        // rounding up may put the last one at the end itself
        if count > 0 && self.offset(count - 1) >= length { count - 1 } else { count }
    }

    /// When datagram `number` leaves; `None` behind the last.
    pub(crate) fn time(&self, number: u64) -> Option<Time> {
        if number >= self.total {
            return None;
        }
        let (period, index) = (number / self.per_period, number % self.per_period);
        let begin = if period == 0 { Duration::ZERO } else { self.period * period };
        Some(self.start + begin + self.offset(index))
    }
}

/// The end that sends.
pub(super) struct Source {
    socket: Socket,
    schedule: Schedule,
    /// Number of the next datagram.
    next: u64,
    progress: Progress,
}

impl Source {
    pub(super) fn new(identity: &EndpointIdentity, schedule: Schedule) -> Self {
        Self { socket: Socket::new(identity), schedule, next: 0, progress: Progress::default() }
    }
}

impl Element for Source {
    fn receive(&mut self, _now: Time, _port: Port, packet: Packet, _out: &mut Outputs) {
        self.socket.receive(&packet);
    }

    fn wake(&mut self, now: Time, out: &mut Outputs) {
        self.progress.started.get_or_insert(now);
        while self.schedule.time(self.next).is_some_and(|time| time <= now) {
            let payload = Payload::Datagram { number: self.next, sent: now, echo: false };
            self.socket.send(now, self.schedule.size, payload, out);
            self.next += 1;
        }
        if self.next >= self.schedule.total {
            self.progress.finished.get_or_insert(now);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        let end = Some(self.schedule.end).filter(|_| self.progress.finished.is_none());
        self.schedule.time(self.next).or(end)
    }

    fn counters(&self) -> Counters {
        self.socket.counters
    }

    fn statistics(&mut self, _now: Time, out: &mut Metrics) {
        self.socket.report(out);
    }

    fn sample(&mut self, _now: Time, out: &mut Metrics) {
        self.socket.report(out);
    }
}

impl Endpoint for Source {
    fn progress(&self) -> Progress {
        self.progress
    }
}

/// One-way delays of what arrived.
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
            out.set("one_way_delay_ms_mean", self.sum as f64 / self.count as f64 / 1e6);
            out.set("one_way_delay_ms_min", self.min.as_ms_f64());
            out.set("one_way_delay_ms_max", self.max.as_ms_f64());
            out.set("jitter_ms", self.jitter / 1e6);
        }
    }
}

/// What has arrived, and whether more is to be waited for.
pub(crate) struct Reception {
    schedule: Schedule,
    pub(crate) arrivals: Arrivals,
    delays: Delays,
    /// When something new arrived last.
    last: Option<Time>,
    /// The receiver waits no longer.
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

    /// The schedule begins at another time.
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

    /// When the receiver stops to wait; `None`: it has.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let complete = self.arrivals.distinct == self.schedule.total;
        let end = if complete { self.schedule.end } else { self.schedule.end + LINGER };
        Some(end).filter(|_| !self.over)
    }

    /// Stops to wait if it is time; whether it has stopped.
    pub(crate) fn expire(&mut self, now: Time) -> bool {
        if self.deadline().is_some_and(|due| due <= now) {
            self.over = true;
            let last = self.last.unwrap_or_default();
            self.progress.finished.get_or_insert(last.max(self.schedule.end));
        }
        self.over
    }

    /// Datagrams that did not arrive: of all, once the receiver waits no longer.
    pub(crate) fn lost(&self) -> u64 {
        self.arrivals.lost(self.over.then_some(self.schedule.total))
    }

    pub(crate) fn report(&self, out: &mut Metrics) {
        out.count("datagrams_received", self.arrivals.distinct);
        self.delays.report(out);
    }
}

/// The end that receives.
pub(super) struct Sink {
    socket: Socket,
    /// When the flow starts; `None` once it has.
    start: Option<Time>,
    reception: Reception,
}

impl Sink {
    pub(super) fn new(identity: &EndpointIdentity, schedule: Schedule, start: Time) -> Self {
        Self { socket: Socket::new(identity), start: Some(start), reception: Reception::new(schedule) }
    }

    fn report(&self, out: &mut Metrics) {
        self.socket.report(out);
        out.count("lost_packets", self.reception.lost());
        out.count("reordered_packets", self.reception.arrivals.reordered);
        out.count("duplicate_packets", self.reception.arrivals.duplicates);
        self.reception.report(out);
    }
}

impl Element for Sink {
    fn receive(&mut self, now: Time, _port: Port, packet: Packet, _out: &mut Outputs) {
        let size = self.socket.receive(&packet);
        let Payload::Datagram { number, sent, echo: false } = packet.payload else { return };
        self.reception.arrive(now, number, sent, size);
    }

    fn wake(&mut self, now: Time, _out: &mut Outputs) {
        if self.start.is_some_and(|start| start <= now) {
            self.start = None;
            self.reception.progress.started = Some(now);
        }
        if self.start.is_none() {
            self.reception.expire(now);
        }
    }

    fn next_wake(&self) -> Option<Time> {
        self.reception.deadline().map(|due| self.start.unwrap_or(due))
    }

    fn counters(&self) -> Counters {
        self.socket.counters
    }

    fn statistics(&mut self, _now: Time, out: &mut Metrics) {
        self.report(out);
    }

    fn sample(&mut self, _now: Time, out: &mut Metrics) {
        self.report(out);
    }
}

impl Endpoint for Sink {
    fn progress(&self) -> Progress {
        self.reception.progress
    }
}
