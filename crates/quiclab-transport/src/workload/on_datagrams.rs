//! Datagrams and ping in DATAGRAM frames (RFC 9221): schedules of lab-udp on a connection of QUIC.
//!
//! | | lab-udp | here |
//! | --- | --- | --- |
//! | the schedule begins | at the start of the flow | when this end is connected: before, nothing can be sent |
//! | a datagram is sent | at its time | when congestion control and pacing allow it; its time counts for the delay |
//! | the end | that of the receiver only | the client closes the connection |
//!
//! The client is connected half a round trip before the server, so its schedule ends earlier by that time;
//! datagrams then in transit arrive within the time that a receiver waits in any case.

use super::{Datagram, Outcome, Probes, Reception, Schedule, StreamApplication, Streams};
use quiclab_core::{ByteCount, Metrics, Progress, Time};

quiclab_core::metrics! {
    /// Losses of datagrams and probes over QUIC.
    pub static QUIC_DATAGRAMS: QuicDatagramsMetrics = Flow, "receiver of `datagrams` or `ping` on QUIC" {
        /// Lost datagrams, or probes without a reply.
        lost_datagrams: Counter, End;
        /// Reordered datagrams; not of `ping`.
        reordered_datagrams: Counter, End;
        /// Duplicate datagrams or replies.
        duplicate_datagrams: Counter, End;
    }
}

/// Server of `datagrams`, which sends.
pub(super) struct Source {
    schedule: Schedule,
    /// Number of the next datagram.
    next: u64,
    connected: bool,
    outcome: Outcome,
}

impl Source {
    pub(super) fn new(schedule: Schedule) -> Self {
        Self { schedule, next: 0, connected: false, outcome: Outcome::default() }
    }
}

impl StreamApplication for Source {
    fn connected(&mut self, now: Time, streams: &mut dyn Streams) {
        self.connected = true;
        self.schedule = self.schedule.starting(now);
        self.outcome.progress.started = Some(now);
        self.wake(now, streams);
    }

    fn closed_by_peer(&mut self, _now: Time) {
        self.failed("closed by the client before the last datagram was sent".to_owned());
    }

    fn failed(&mut self, reason: String) {
        self.connected = false;
        self.outcome.fail(reason);
    }

    fn deadline(&self) -> Option<Time> {
        let end = Some(self.schedule.end).filter(|_| self.outcome.progress.finished.is_none());
        self.schedule.time(self.next).or(end).filter(|_| self.connected)
    }

    fn wake(&mut self, now: Time, streams: &mut dyn Streams) {
        if !self.connected {
            return;
        }
        while let Some(time) = self.schedule.time(self.next).filter(|time| *time <= now) {
            streams.send_datagram(Datagram::new(self.schedule.size, self.next, time));
            self.next += 1;
        }
        if self.next >= self.schedule.total && self.schedule.end <= now {
            self.outcome.finish(now);
        }
    }

    fn outcome(&self) -> &Outcome {
        &self.outcome
    }
}

/// Data for which the client of a workload waits.
pub(super) trait Exchange: Send {
    /// Starts the exchange: the client is connected.
    fn begin(&mut self, now: Time);
    /// Handles timers that are due, and stops waiting if it is time.
    fn wake(&mut self, now: Time, streams: &mut dyn Streams);
    fn arrived(&mut self, now: Time, datagram: Datagram);
    fn deadline(&self) -> Option<Time>;
    /// Progress, which is finished once the client stops waiting.
    fn progress(&self) -> &Progress;
    fn statistics(&self, out: &mut Metrics);
}

/// Client of a workload, which closes the connection once it stops waiting.
pub(super) struct Client<E> {
    exchange: E,
    connected: bool,
    outcome: Outcome,
}

impl<E: Exchange> Client<E> {
    pub(super) fn new(exchange: E) -> Self {
        Self { exchange, connected: false, outcome: Outcome::default() }
    }

    /// Closes the connection once the client stops waiting.
    fn finish(&mut self, streams: &mut dyn Streams) {
        let Some(finished) = self.exchange.progress().finished else { return };
        if self.outcome.progress.finished.is_none() {
            self.outcome.finish(finished);
            streams.close();
        }
    }
}

impl<E: Exchange> StreamApplication for Client<E> {
    fn start(&mut self, now: Time) {
        self.outcome.progress.started = Some(now);
    }

    fn connected(&mut self, now: Time, streams: &mut dyn Streams) {
        self.connected = true;
        self.exchange.begin(now);
        self.wake(now, streams);
    }

    fn datagram(&mut self, now: Time, datagram: Datagram, streams: &mut dyn Streams) {
        self.exchange.arrived(now, datagram);
        self.outcome.progress.delivered_bytes = self.exchange.progress().delivered_bytes;
        self.finish(streams);
    }

    fn closed_by_peer(&mut self, _now: Time) {
        self.failed("closed by the server".to_owned());
    }

    fn failed(&mut self, reason: String) {
        self.connected = false;
        self.outcome.fail(reason);
    }

    fn deadline(&self) -> Option<Time> {
        self.exchange.deadline().filter(|_| self.connected)
    }

    fn wake(&mut self, now: Time, streams: &mut dyn Streams) {
        if self.connected {
            self.exchange.wake(now, streams);
            self.finish(streams);
        }
    }

    fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    fn statistics(&self, out: &mut Metrics) {
        self.exchange.statistics(out);
    }
}

/// Client of `datagrams`, which receives.
impl Exchange for Reception {
    fn begin(&mut self, now: Time) {
        self.begin(now);
    }

    fn wake(&mut self, now: Time, _streams: &mut dyn Streams) {
        self.expire(now);
    }

    fn arrived(&mut self, now: Time, datagram: Datagram) {
        if !datagram.echo {
            self.arrive(now, datagram.number, datagram.sent, datagram.size());
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.deadline()
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }

    fn statistics(&self, out: &mut Metrics) {
        out.count(&QUIC_DATAGRAMS.lost_datagrams, self.lost());
        out.count(&QUIC_DATAGRAMS.reordered_datagrams, self.arrivals.reordered);
        out.count(&QUIC_DATAGRAMS.duplicate_datagrams, self.arrivals.duplicates);
        self.report(out);
    }
}

/// Client of `ping`, which sends probes.
pub(super) struct PingClient {
    pub(super) size: ByteCount,
    pub(super) probes: Probes,
}

impl Exchange for PingClient {
    fn begin(&mut self, now: Time) {
        self.probes.begin(now);
    }

    fn wake(&mut self, now: Time, streams: &mut dyn Streams) {
        while let Some(number) = self.probes.next(now) {
            streams.send_datagram(Datagram::new(self.size, number, now));
        }
    }

    fn arrived(&mut self, now: Time, datagram: Datagram) {
        if datagram.echo {
            self.probes.answered(now, datagram.number, datagram.sent, datagram.size());
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.probes.deadline()
    }

    fn progress(&self) -> &Progress {
        &self.probes.progress
    }

    fn statistics(&self, out: &mut Metrics) {
        out.count(&QUIC_DATAGRAMS.lost_datagrams, self.probes.lost());
        out.count(&QUIC_DATAGRAMS.duplicate_datagrams, self.probes.arrivals.duplicates);
        self.probes.report(out);
    }
}

/// Server of `ping`, which replies.
pub(super) struct PingServer {
    /// Total number of probes.
    count: u64,
    outcome: Outcome,
}

impl PingServer {
    pub(super) fn new(count: u32) -> Self {
        Self { count: u64::from(count), outcome: Outcome::default() }
    }
}

impl StreamApplication for PingServer {
    fn connected(&mut self, _now: Time, _streams: &mut dyn Streams) {}

    fn datagram(&mut self, now: Time, datagram: Datagram, streams: &mut dyn Streams) {
        if datagram.echo {
            return;
        }
        self.outcome.progress.read(now, datagram.size().bytes());
        streams.send_datagram(Datagram { echo: true, ..datagram });
        if datagram.number + 1 == self.count {
            self.outcome.finish(now);
        }
    }

    /// Handles a close by the client, which stops waiting regardless of losses.
    fn closed_by_peer(&mut self, now: Time) {
        self.outcome.finish(now);
    }

    fn failed(&mut self, reason: String) {
        self.outcome.fail(reason);
    }

    fn outcome(&self) -> &Outcome {
        &self.outcome
    }
}

#[cfg(test)]
mod tests {
    use super::super::build_on_streams;
    use super::super::testing::{Call, Recorder};
    use super::*;
    use crate::options::{PingProtocol, Workload};
    use crate::testing::ms;
    use quiclab_core::{DataRate, Duration, RandomStream, Role};

    fn datagram(size: u64, number: u64, sent_ms: u64, echo: bool) -> Datagram {
        Datagram { echo, ..Datagram::new(ByteCount::from_bytes(size), number, ms(sent_ms)) }
    }

    fn metric(application: &dyn StreamApplication, name: &str) -> Option<f64> {
        let mut out = Metrics::default();
        application.statistics(&mut out);
        out.get(name)
    }

    #[test]
    fn the_schedule_begins_with_the_connection() {
        // 8000 bits at 8 Mbit/s: one in each of 3 ms
        let workload = Workload::Datagrams {
            rate: DataRate::from_mbps(8),
            size: ByteCount::from_bytes(1000),
            duration: Duration::from_millis(3),
            on: None,
            off: None,
        };
        let build = |role| {
            build_on_streams(role, &workload, ms(1), RandomStream::new(1, "workload"))
                .expect("a good workload")
        };
        let (mut client, mut server) = (build(Role::Client), build(Role::Server));
        let mut streams = Recorder::new(Role::Server);
        assert_eq!(server.deadline(), None);
        server.connected(ms(40), &mut streams);
        assert_eq!((streams.take(), server.deadline()), (vec![Call::Datagram(0, false)], Some(ms(41))));
        server.wake(ms(42), &mut streams);
        assert_eq!(streams.take(), [Call::Datagram(1, false), Call::Datagram(2, false)]);
        assert_eq!((server.deadline(), server.outcome().progress.finished), (Some(ms(43)), None));
        server.wake(ms(43), &mut streams);
        assert_eq!((server.deadline(), server.outcome().progress.finished), (None, Some(ms(43))));

        client.start(ms(1));
        client.connected(ms(30), &mut streams);
        client.datagram(ms(50), datagram(1000, 0, 40, false), &mut streams);
        client.datagram(ms(55), datagram(1000, 2, 42, false), &mut streams);
        // 3 ms of the schedule, 3 s of waiting
        assert_eq!(client.deadline(), Some(ms(3033)));
        client.wake(ms(3033), &mut streams);
        assert_eq!((streams.take(), client.deadline()), (vec![Call::Close], None));
        let progress = client.outcome().progress;
        assert_eq!((progress.finished, progress.delivered_bytes), (Some(ms(55)), 2000));
        assert_eq!(metric(client.as_ref(), "lost_datagrams"), Some(1.0));
        assert_eq!(metric(client.as_ref(), "one_way_delay_ms_mean"), Some(11.5));
    }

    #[test]
    fn probes_are_answered_and_the_last_answer_ends_the_connection() {
        let workload = Workload::Ping {
            size: ByteCount::from_bytes(56),
            count: 2,
            interval: Duration::from_millis(100),
            protocol: PingProtocol::Udp,
        };
        let build = |role| {
            build_on_streams(role, &workload, ms(0), RandomStream::new(1, "workload"))
                .expect("a good workload")
        };
        let (mut client, mut server) = (build(Role::Client), build(Role::Server));
        let mut streams = Recorder::new(Role::Client);
        client.start(ms(0));
        client.connected(ms(20), &mut streams);
        server.datagram(ms(30), datagram(56, 0, 20, false), &mut streams);
        assert_eq!(streams.take(), [Call::Datagram(0, false), Call::Datagram(0, true)]);
        client.datagram(ms(40), datagram(56, 0, 20, true), &mut streams);
        assert_eq!((client.deadline(), streams.take()), (Some(ms(120)), vec![]));
        client.wake(ms(120), &mut streams);
        server.datagram(ms(130), datagram(56, 1, 120, false), &mut streams);
        client.datagram(ms(144), datagram(56, 1, 120, true), &mut streams);
        assert_eq!(streams.take(), [Call::Datagram(1, false), Call::Datagram(1, true), Call::Close]);
        assert_eq!(client.outcome().progress.finished, Some(ms(144)));
        assert_eq!(server.outcome().progress.finished, Some(ms(130)));
        assert_eq!(metric(client.as_ref(), "rtt_ms_mean"), Some(22.0));
    }
}
