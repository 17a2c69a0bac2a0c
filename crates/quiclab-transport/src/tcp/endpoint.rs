//! Endpoint of a flow on lab-tcp: a connection, TLS above it if configured, and an application.
//!
//! Each call from the simulation passes on a segment or the due timers, lets the application read, act and
//! write, and sends until there is nothing to send at this time. The application reads the data of an instant
//! after all of them have arrived: until then, only immediate acknowledgements are sent. A host that takes
//! time is a separate element.
//!
//! An application of records ([`Application::uses_records`]) chooses the next data when the send buffer has
//! room, one record of TLS at a time, as a server whose writes block when the socket is full
//! (TCP_NOTSENT_LOWAT unset: data in the buffer are already chosen, sent or not).

use super::config::Config;
use super::connection::{Connection, Departure};
use super::metrics::MetricsCache;
use super::records::Records;
use super::sender::PushWithinWrite;
use super::tls::{Channel, RECORD};
use crate::workload::{Application, Command};
use quiclab_core::{
    ByteCount, Contents, Counters, DataRate, Element, Endpoint, EndpointIdentity, FiveTuple, Flags, Metrics,
    Nic, Outputs, Packet, PageClient, Payload, Port, Progress, Protocol, RandomStream, Record, RecoveryState,
    Role, SavedTcpMetrics, Time, TransportEvent, TransportObserver, WarmStart,
};
use std::collections::VecDeque;

/// Endpoint of a flow.
pub(super) struct TcpEndpoint {
    connection: Connection,
    /// Metrics that the kernel keeps of the peer; `None`: none are kept.
    kept: Option<MetricsCache>,
    channel: Channel,
    application: Box<dyn Application>,
    /// Records in the payload of segments; `None` if the application sends messages.
    records: Option<Box<Records>>,
    /// Time at which the client connects; `None` afterwards, and for servers.
    start: Option<Time>,
    /// Events of the connection of which the application was notified.
    told: Notified,
    /// Whether the application requested a close once all data are written.
    closing: bool,
    observer: Option<Box<dyn TransportObserver>>,
    /// State last passed to the observer.
    observed: Option<RecoveryState>,
    nic: Nic,
    /// Time of received data that the application reads after all arrivals of this instant.
    reads: Option<Time>,
    /// Segments that wait in the queue of the host.
    waiting: VecDeque<Departure>,
    wake: Option<Time>,
    /// Size of a write of the application in bytes.
    write_size: u64,
}

/// Events that occur once in a connection, and whether the application was notified.
#[derive(Clone, Copy, Debug, Default)]
struct Notified {
    open: bool,
    ready: bool,
    closed_by_peer: bool,
    over: bool,
    finished: bool,
}

impl TcpEndpoint {
    pub(super) fn new(
        identity: &EndpointIdentity,
        config: Config,
        application: Box<dyn Application>,
        start: Time,
        random: RandomStream,
        observer: Option<Box<dyn TransportObserver>>,
    ) -> Self {
        let (source, destination) = (identity.tuple.source(), identity.tuple.destination());
        let start = (identity.role == Role::Client).then_some(start);
        Self {
            channel: Channel::new(identity.role, config.tls.as_ref()),
            kept: MetricsCache::new(config.tcp.metrics, config.fixed.saves_ssthresh),
            write_size: config.tcp.write_size.bytes(),
            connection: Connection::new(config, identity.role, random),
            records: application.uses_records().then(Box::default),
            application,
            start,
            told: Notified::default(),
            closing: false,
            observer,
            observed: None,
            nic: Nic::new(identity, FiveTuple::new(Protocol::Tcp, source, destination)),
            reads: None,
            waiting: VecDeque::new(),
            wake: start,
        }
    }

    /// Runs the application, sends all that can be sent now, and sets the next deadline.
    fn advance(&mut self, now: Time, out: &mut Outputs) {
        self.reads = None;
        self.act(now);
        // data of a write are sent before the next write
        loop {
            self.transmit(now, out);
            if !self.write(now, out) {
                break;
            }
        }
        self.observe(now);
        self.set_wake(now);
    }

    fn transmit(&mut self, now: Time, out: &mut Outputs) {
        while let Some(departure) = self.connection.next_segment(now) {
            self.send(now, departure, out);
        }
    }

    /// Time of the next event other than the departure of a segment.
    fn next_event(&self, now: Time) -> Option<Time> {
        let application = self.application.deadline().filter(|_| !self.told.over);
        [self.connection.next_timer(now), self.start, self.reads, application].into_iter().flatten().min()
    }

    fn set_wake(&mut self, now: Time) {
        let departure = self.waiting.front().map(|waiting| waiting.leaves);
        self.wake = [self.next_event(now), departure].into_iter().flatten().min();
    }

    /// Releases due segments from the host. Returns whether the connection waited for that.
    fn release(&mut self, now: Time, out: &mut Outputs) -> bool {
        while self.waiting.front().is_some_and(|waiting| waiting.leaves <= now) {
            let departure = self.waiting.pop_front().expect("there is one");
            self.pass_on(now, departure, out);
        }
        self.connection.leave_host(now)
    }

    /// Passes events to the application and performs its requests.
    fn act(&mut self, now: Time) {
        if self.connection.is_open() && !self.told.open {
            self.told.open = true;
            self.channel.open();
        }
        let read = self.connection.read(now);
        let delivered = if self.records.is_some() {
            self.channel.arrive(read);
            0
        } else {
            self.channel.received(read, self.application.expected())
        };
        if self.told.open && !self.told.ready && self.channel.is_ready() {
            self.told.ready = true;
            let command = self.application.connected(now);
            self.obey(command);
        }
        if delivered > 0 {
            let command = self.application.received(now, delivered);
            self.obey(command);
        }
        while let Some((bytes, contents)) = self.next_record() {
            let command = self.application.read(now, bytes, &contents);
            self.obey(command);
        }
        if !self.told.closed_by_peer && self.connection.is_finished_by_peer() {
            self.told.closed_by_peer = true;
            let command = self.application.peer_closed(now);
            self.obey(command);
        }
        if !self.told.over && self.application.deadline().is_some_and(|deadline| deadline <= now) {
            self.application.on_send_state(self.send_rate(), self.connection.unsent());
            let command = self.application.wake(now);
            self.obey(command);
        }
        self.tell_end(now);
        if self.told.ready && self.channel.is_empty() && self.connection.is_all_acknowledged() {
            self.application.acknowledged(now);
        }
    }

    /// Value of [`RecoveryState::send_rate`].
    fn send_rate(&self) -> Option<DataRate> {
        self.connection.snapshot()?.recovery_state().send_rate()
    }

    fn next_record(&mut self) -> Option<(u64, Contents)> {
        self.records.as_mut()?.next(&mut self.channel)
    }

    fn tell_end(&mut self, now: Time) {
        if self.told.over {
            return;
        }
        if self.connection.is_aborted_by_peer() {
            self.told.over = true;
            self.application.peer_aborted(now);
        } else if let Some(reason) = self.connection.failure() {
            self.told.over = true;
            self.application.failed(reason.to_owned());
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Wait => {}
            Command::Send(bytes) => self.channel.send(bytes),
            Command::Close => self.closing = true,
            Command::Abort => {
                self.told.over = true;
                self.channel.discard();
                self.connection.abort();
            }
        }
    }

    /// Writes once, records as long as there is room, and ends the stream after the last byte. Returns
    /// whether there may be data to send.
    fn write(&mut self, now: Time, out: &mut Outputs) -> bool {
        if !self.connection.is_open() || self.told.finished {
            return false;
        }
        let written =
            if self.records.is_some() { self.write_records(now) } else { self.write_bytes(now, out) };
        if self.closing && self.channel.is_empty() {
            self.told.finished = true;
            self.connection.finish();
            return true;
        }
        written
    }

    fn write_records(&mut self, now: Time) -> bool {
        let mut written = false;
        while self.connection.is_writable() {
            self.pull(now, self.write_size);
            let bytes = self.channel.take(self.write_size);
            if bytes == 0 {
                break;
            }
            self.connection.write(bytes);
            written = true;
        }
        written
    }

    /// Performs one write, skb by skb, as far as the buffer has room.
    fn write_bytes(&mut self, now: Time, out: &mut Outputs) -> bool {
        if !self.connection.is_writable() {
            return false;
        }
        let most = self.write_size;
        let mut left = most;
        while let Some(sender) = self.connection.writer() {
            let bytes = self.channel.take(sender.room(left));
            if bytes == 0 {
                break;
            }
            if left == most {
                sender.start_write();
            }
            sender.append(bytes);
            left -= bytes;
            if left > 0 {
                let push = sender.push_within_write();
                self.push(now, push, out);
            }
        }
        let written = left < most;
        if let Some(sender) = self.connection.writer().filter(|_| written) {
            sender.end_write();
        }
        written
    }

    fn push(&mut self, now: Time, push: PushWithinWrite, out: &mut Outputs) {
        let one = push == PushWithinWrite::One;
        while push != PushWithinWrite::Nothing
            && let Some(departure) = self.connection.push(now, one)
        {
            self.send(now, departure, out);
            if one && !self.connection.writer().is_some_and(|sender| sender.is_in_burst()) {
                break;
            }
        }
    }

    /// Lets the application choose the next record, if the previous one is written.
    fn pull(&mut self, now: Time, room: u64) {
        let Some(records) = self.records.as_mut().filter(|_| self.told.ready && !self.closing) else {
            return;
        };
        if self.channel.is_empty()
            && let Some((length, contents)) = self.application.pull(now, room.min(RECORD))
        {
            let position = self.channel.send_record(length);
            let length = u16::try_from(length).expect("at most a record of TLS");
            records.push(Record { position, length, contents });
        }
    }

    /// Sends a segment, or keeps it until it leaves the host.
    fn send(&mut self, now: Time, departure: Departure, out: &mut Outputs) {
        if departure.leaves > now {
            self.waiting.push_back(departure);
        } else {
            self.pass_on(now, departure, out);
        }
    }

    fn pass_on(&mut self, now: Time, departure: Departure, out: &mut Outputs) {
        let Departure { ecn, mut segment, .. } = departure;
        let ecn = self.connection.codepoint(ecn);
        let bytes = self.connection.header_bytes(&segment) + u64::from(segment.length);
        if let Some(records) = self.records.as_ref().filter(|_| segment.length > 0)
            && let Some(said) = records.of(segment.sequence, segment.length)
        {
            segment.set_records(said);
        }
        let size = ByteCount::from_bytes(bytes);
        self.nic.send(now, Port(0), size, ecn, Payload::Segment(segment), out);
    }

    /// Passes the state of recovery to the observer if it has changed.
    fn observe(&mut self, now: Time) {
        let Some(observer) = &mut self.observer else { return };
        let Some(snapshot) = self.connection.snapshot() else { return };
        let state = snapshot.recovery_state();
        if self.observed != Some(state) {
            self.observed = Some(state);
            observer.observe(now, &TransportEvent::Recovery(state));
        }
    }

    /// Reports the values that have a time series; unknown ones are omitted. Names are those of the real
    /// stacks if these have the same values.
    fn report(&self, out: &mut Metrics) {
        if let Some(snapshot) = self.connection.snapshot() {
            snapshot.report(out);
        }
        self.nic.report(out);
    }
}

impl Element for TcpEndpoint {
    fn receive(&mut self, now: Time, _port: Port, packet: Box<Packet>, out: &mut Outputs) {
        self.nic.receive(&packet);
        self.release(now, out);
        let Payload::Segment(mut segment) = packet.payload else {
            return; // misrouted background traffic
        };
        let has_data = segment.length > 0 || segment.flags.has(Flags::FIN);
        self.connection.receive(now, &segment, packet.ecn);
        if let Some(records) = &mut self.records {
            records.acknowledge(segment.acknowledgement);
            records.arrive(segment.take_records(), &self.channel);
        }
        if let (Some(observer), Some(outcome)) = (&mut self.observer, self.connection.take_acknowledgement())
        {
            let (packets, bytes) = (outcome.acked_segments, outcome.acked_bytes);
            let covered = outcome.covered_segments;
            observer.observe(now, &TransportEvent::AckReceived { packets, covered, bytes });
        }
        if has_data && self.told.open {
            self.transmit(now, out);
            self.reads = Some(now);
            self.observe(now);
            self.wake = Some(now); // nothing can be due before
        } else {
            self.advance(now, out);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Outputs) {
        let departs = self.waiting.front().is_some_and(|waiting| waiting.leaves <= now);
        let only_departs = departs && self.next_event(now).is_none_or(|event| event > now);
        let waited = self.release(now, out);
        if only_departs && !waited {
            return self.set_wake(now);
        }
        if self.start.is_some_and(|start| start <= now) {
            self.start = None;
            self.application.start(now);
            self.connection.connect(now);
        }
        self.connection.on_timer(now);
        self.advance(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        self.wake
    }

    fn counters(&self) -> Counters {
        *self.nic.counters()
    }

    fn statistics(&mut self, _now: Time, out: &mut Metrics) {
        self.report(out);
        if let Some(kept) = &self.kept {
            kept.report(self.connection.payload(), out);
        }
        self.application.statistics(out);
    }

    fn sample(&mut self, _now: Time, out: &mut Metrics) {
        self.report(out);
        self.application.sample(out);
    }
}

impl Endpoint for TcpEndpoint {
    fn progress(&self) -> Progress {
        self.application.outcome().progress
    }

    fn failure(&self) -> Option<&str> {
        self.application.outcome().failure.as_deref()
    }

    fn recovery(&mut self) -> Option<RecoveryState> {
        self.connection.snapshot().map(|snapshot| snapshot.recovery_state())
    }

    fn page_client(&self) -> Option<&dyn PageClient> {
        self.application.page_client()
    }

    fn warm_start(&mut self) -> Option<&mut dyn WarmStart> {
        self.kept.is_some().then_some(self as _)
    }
}

impl WarmStart for TcpEndpoint {
    fn saved_metrics(&mut self) -> SavedTcpMetrics {
        self.kept.map(|kept| kept.after(self.connection.ended().as_ref())).unwrap_or_default()
    }

    fn load_metrics(&mut self, metrics: SavedTcpMetrics) {
        if let Some(kept) = &mut self.kept {
            kept.metrics = metrics;
            self.connection.load_metrics(metrics);
        }
    }
}

#[cfg(test)]
mod tests;
