//! One end of a flow on lab-quic: a connection and an application on its streams.
//!
//! Each call from the simulation passes on a datagram or the due timers, passes events to the application,
//! and sends until there is nothing to send at this time. The application reads data at once when they
//! arrive; a host that takes time is a separate element. Output `n` is that of path `n`; the packet number
//! space of a received packet identifies its path.

use super::Config;
use super::connection::{Connection, Departure, Event, State};
use super::stream::StreamEvent;
use crate::operations::Operations;
use crate::options::PathPlan;
use crate::workload::StreamApplication;
use quiclab_core::{
    ByteCount, Counters, Element, Endpoint, EndpointIdentity, FiveTuple, Metrics, Nic, Outputs, Packet,
    PageClient, Payload, Port, Progress, Protocol, RandomStream, RecoveryState, Role, Time, TransportEvent,
    TransportObserver,
};

quiclab_core::metrics! {
    /// Loss recovery, ECN and paths of QUIC.
    pub static QUIC: QuicMetrics = Flow, "endpoint, lab-quic" {
        /// Probe timeouts.
        timeouts: Counter, Both;
        /// Packets that had ECN marks, according to feedback; only with `ecn`.
        marked_packets: Counter, Both;
        /// Packets with stream data.
        data_packets_sent: Counter, End;
        /// ACK frames.
        acks_received: Counter, End;
        /// Time at which the handshake was complete at this end.
        handshake_complete_ms: Time, End;
        /// Paths opened; only with several.
        paths_opened: Counter, End;
        /// Paths abandoned; only with several.
        paths_abandoned: Counter, End;
        /// Packet threshold.
        reordering_packets: Gauge, Series;
    }
}

/// Components of an endpoint.
pub(super) struct Parts {
    pub(super) config: Config,
    pub(super) application: Box<dyn StreamApplication>,
    pub(super) operations: Operations,
    pub(super) path_plan: PathPlan,
    pub(super) observer: Option<Box<dyn TransportObserver>>,
}

/// Endpoint of a flow.
pub(super) struct QuicEndpoint {
    connection: Connection,
    application: Box<dyn StreamApplication>,
    /// Time at which the client connects; `None` afterwards, and for servers.
    start: Option<Time>,
    /// Whether the application was notified that streams may be opened.
    notified_ready: bool,
    /// Whether the application was notified that the connection is closed.
    notified_closed: bool,
    /// State last passed to the observer.
    observed: Option<RecoveryState>,
    nic: Nic,
    wake: Option<Time>,
}

impl QuicEndpoint {
    /// Makes an endpoint; `random` returns the random stream of a path.
    pub(super) fn new(
        identity: &EndpointIdentity,
        parts: Parts,
        start: Time,
        random: impl FnMut(usize) -> RandomStream,
    ) -> Self {
        let Parts { config, application, operations, path_plan, observer } = parts;
        let (source, destination) = (identity.tuple.source(), identity.tuple.destination());
        let start = (identity.role == Role::Client).then_some(start);
        Self {
            connection: Connection::new(
                config,
                identity.role,
                identity.paths,
                random,
                (operations, path_plan),
                observer,
            ),
            application,
            start,
            notified_ready: false,
            notified_closed: false,
            observed: None,
            nic: Nic::new(identity, FiveTuple::new(Protocol::Udp, source, destination)),
            wake: start,
        }
    }

    /// Runs the application, sends all that can be sent now, and sets the next deadline.
    fn advance(&mut self, now: Time, out: &mut Outputs) {
        self.connection.fail_with_plugins();
        self.act(now);
        while let Some(departure) = self.connection.next_datagram(now) {
            self.send(now, departure, out);
        }
        self.observe(now);
        let application = self.application.deadline().filter(|_| !self.notified_closed);
        let mut timer = self.connection.next_timer(now);
        if self.connection.fail_with_plugins() {
            // CONNECTION_CLOSE and the failure of the application remain
            self.act(now);
            while let Some(departure) = self.connection.next_datagram(now) {
                self.send(now, departure, out);
            }
            timer = None;
        }
        self.wake = [timer, self.start, application].into_iter().flatten().min();
    }

    /// Passes events to the application, which acts on the connection.
    fn act(&mut self, now: Time) {
        let Self { connection, application, .. } = self;
        if !self.notified_ready && connection.is_ready() {
            self.notified_ready = true;
            application.connected(now, connection);
        }
        while let Some(event) = connection.next_event() {
            match event {
                Event::Stream(StreamEvent::Received { id, bytes, end }) => {
                    application.received(now, id, bytes, end, connection);
                }
                Event::Stream(StreamEvent::Reset { id }) => application.reset_by_peer(now, id, connection),
                Event::Stream(StreamEvent::Acknowledged { id }) => application.acknowledged(now, id),
                Event::Stream(StreamEvent::Available) => application.available(now, connection),
                // the connection has responded with a reset
                Event::Stream(StreamEvent::Stopped { .. }) => {}
                Event::Datagram(datagram) => application.datagram(now, datagram, connection),
            }
        }
        if !self.notified_closed && application.deadline().is_some_and(|deadline| deadline <= now) {
            application.wake(now, connection);
        }
        if !self.notified_closed {
            if connection.is_closed_by_peer() {
                self.notified_closed = true;
                application.closed_by_peer(now);
            } else if let Some(reason) = connection.failure() {
                self.notified_closed = true;
                application.failed(reason.to_owned());
            }
        }
    }

    fn send(&mut self, now: Time, departure: Departure, out: &mut Outputs) {
        let Departure { path, datagram, length, ecn } = departure;
        let (port, size) = (Port(path as u16), ByteCount::from_bytes(length));
        self.nic.send(now, port, size, ecn, Payload::Quic(datagram), out);
    }

    /// Passes the state of recovery to the observer if it has changed.
    fn observe(&mut self, now: Time) {
        if !self.connection.is_observed() || self.connection.state == State::Idle {
            return;
        }
        let state = self.connection.recovery_state();
        if self.observed != Some(state) {
            self.observed = Some(state);
            self.connection.observe(now, &TransportEvent::Recovery(state));
        }
    }

    /// Reports the values that have a time series; names are those of the other stacks if these have the same
    /// values.
    fn report(&self, out: &mut Metrics) {
        if self.connection.state != State::Idle {
            self.connection.recovery_state().report(out);
            out.count(&QUIC.timeouts, self.connection.timeouts());
            if let Some(marked) = self.connection.marked_packets() {
                out.count(&QUIC.marked_packets, marked);
            }
        }
        self.nic.report(out);
    }
}

impl Element for QuicEndpoint {
    fn receive(&mut self, now: Time, _port: Port, packet: Box<Packet>, out: &mut Outputs) {
        let size = self.nic.receive(&packet);
        let Payload::Quic(datagram) = packet.payload else {
            return; // misrouted background traffic
        };
        self.connection.receive(now, *datagram, size.bytes(), packet.ecn);
        self.advance(now, out);
    }

    fn wake(&mut self, now: Time, out: &mut Outputs) {
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
        let (data, acks) = self.connection.counts();
        out.count(&QUIC.data_packets_sent, data);
        out.count(&QUIC.acks_received, acks);
        if let Some(time) = self.connection.handshake_complete_at() {
            out.set(&QUIC.handshake_complete_ms, time.as_ms_f64());
        }
        if let Some((opened, abandoned)) = self.connection.path_counts() {
            out.count(&QUIC.paths_opened, opened);
            out.count(&QUIC.paths_abandoned, abandoned);
        }
        self.application.statistics(out);
    }

    fn sample(&mut self, _now: Time, out: &mut Metrics) {
        self.report(out);
        if self.connection.state != State::Idle {
            out.count(&QUIC.reordering_packets, self.connection.packet_threshold());
        }
        self.application.sample(out);
    }
}

impl Endpoint for QuicEndpoint {
    fn progress(&self) -> Progress {
        self.application.outcome().progress
    }

    fn failure(&self) -> Option<&str> {
        self.application.outcome().failure.as_deref()
    }

    fn warning(&self) -> Option<String> {
        self.connection.warning()
    }

    fn recovery(&mut self) -> Option<RecoveryState> {
        (self.connection.state != State::Idle).then(|| self.connection.recovery_state())
    }

    fn page_client(&self) -> Option<&dyn PageClient> {
        self.application.page_client()
    }
}
