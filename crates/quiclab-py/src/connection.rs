//! A QUIC library in Python behind the Endpoint trait: the applications of quiclab on its streams.
//!
//! The Python object has the methods of `quiclab.stacks.PythonConnection`. An exception in it fails the flow and is stored, so
//! that the run can report it.

use crate::endpoint::{FirstError, read_metrics};
use bytes::{Bytes, BytesMut};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};
use quiclab_core::{
    ByteCount, Counters, Ecn, Element, Endpoint, EndpointIdentity, Metrics, Nic, Outputs, Packet, PageClient,
    Payload, Phase, Port, Progress, RecoveryState, Role, Time,
};
use quiclab_stacks::OnStreams;
use quiclab_stacks::library::{Connection, Event, Read, StreamDirection};
use quiclab_transport::workload::StreamId;
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of streams of a kind that a peer may open.
const MAX_STREAMS: u64 = 1 << 20;
/// Maximum number of bytes that writes accept before datagrams are sent.
const MAX_TAKEN: usize = 1 << 28;
/// Maximum number of consecutive rounds with events at one instant.
const MAX_ROUNDS: u32 = 100_000;

/// Data received on a stream and not yet read.
#[derive(Default)]
struct Unread {
    data: Vec<u8>,
    ended: bool,
    reset: bool,
}

/// The object, and its events that the application has not yet processed.
struct PyConnection {
    object: Py<PyAny>,
    role: Role,
    events: VecDeque<Event<u64>>,
    unread: BTreeMap<u64, Unread>,
    /// Numbers of streams that the peer has opened, by direction: accepted, and known.
    accepted: [u64; 2],
    known: [u64; 2],
    datagrams: VecDeque<Bytes>,
    /// Numbers of own streams that were opened, by direction.
    opened: [u64; 2],
    /// Bytes accepted by writes since datagrams were last requested.
    taken: usize,
    /// The first exception.
    raised: Option<PyErr>,
}

impl PyConnection {
    /// Calls a method; on an exception, stores it and returns `T::default()`.
    fn call<T: Default>(
        &mut self,
        call: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
        answer: impl for<'py> FnOnce(Bound<'py, PyAny>) -> PyResult<T>,
    ) -> T {
        if self.raised.is_some() {
            return T::default();
        }
        Python::attach(|py| {
            let done = call(self.object.bind(py)).and_then(answer);
            done.unwrap_or_else(|raised| {
                self.raised = Some(raised);
                T::default()
            })
        })
    }

    fn tell(&mut self, call: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>) {
        self.call(call, |_| Ok(()));
    }

    /// Takes the events of the object; returns whether there was one.
    fn take_events(&mut self) -> bool {
        let events: Vec<Told> = self.call(
            |object| object.call_method0("events"),
            |events| events.try_iter()?.map(|event| Told::parse(&event?)).collect(),
        );
        let any = !events.is_empty();
        events.into_iter().for_each(|event| self.take(event));
        any
    }

    fn fail(&mut self, reason: String) {
        self.raised.get_or_insert_with(|| PyValueError::new_err(reason));
    }

    fn take(&mut self, event: Told) {
        match event {
            Told::Plain(event) => self.events.push_back(event),
            Told::Datagram(data) => {
                self.datagrams.push_back(data);
                self.events.push_back(Event::Datagram);
            }
            Told::Stream(id, data, ended, reset) => {
                self.know(StreamId(id));
                let unread = self.unread.entry(id).or_default();
                unread.data.extend_from_slice(&data);
                unread.ended |= ended || reset;
                unread.reset |= reset;
                self.events.push_back(Event::Readable(id));
            }
        }
    }

    /// Records a stream of the peer, which opens all lower ones of its type (RFC 9000 section 3.2).
    fn know(&mut self, id: StreamId) {
        if id.is_of_server() == (self.role == Role::Client) {
            if id.index() >= MAX_STREAMS {
                return self.fail(format!(
                    "events: expected a stream of number below {MAX_STREAMS}, got {}",
                    id.index()
                ));
            }
            let known = &mut self.known[usize::from(!id.is_bidirectional())];
            if id.index() >= *known {
                *known = id.index() + 1;
                self.events.push_back(Event::Opened);
            }
        }
    }
}

/// An event from Python: a named tuple of `quiclab.stacks`.
enum Told {
    Plain(Event<u64>),
    Datagram(Bytes),
    /// Stream, data, whether the stream ends, and whether it was reset.
    Stream(u64, Vec<u8>, bool, bool),
}

impl Told {
    fn parse(event: &Bound<'_, PyAny>) -> PyResult<Self> {
        let name = event.get_type().name()?;
        let fields = event.cast::<PyTuple>()?;
        let stream = || fields.get_item(0)?.extract::<u64>();
        let data = |index| -> PyResult<Vec<u8>> { fields.get_item(index)?.extract() };
        Ok(match name.to_str()? {
            "Connected" => Self::Plain(Event::Connected),
            "Available" => Self::Plain(Event::Available),
            "Writable" => Self::Plain(Event::Writable(stream()?)),
            "Acknowledged" => Self::Plain(Event::Acknowledged(stream()?)),
            "ClosedByPeer" => Self::Plain(Event::ClosedByPeer),
            "Lost" => Self::Plain(Event::Lost(fields.get_item(0)?.cast::<PyString>()?.to_string())),
            "Datagram" => Self::Datagram(data(0)?.into()),
            "Received" => Self::Stream(stream()?, data(1)?, fields.get_item(2)?.extract()?, false),
            "Reset" => Self::Stream(stream()?, Vec::new(), false, true),
            other => {
                let known = "one of the events of quiclab.stacks";
                return Err(PyValueError::new_err(format!("events: expected {known}, got `{other}`")));
            }
        })
    }
}

impl Connection for PyConnection {
    type Stream = u64;
    type Moment = Time;

    fn id(stream: u64) -> u64 {
        stream
    }

    fn open(&mut self, direction: StreamDirection) -> Option<u64> {
        let bidirectional = direction == StreamDirection::Bidirectional;
        let next =
            StreamId::new(self.opened[usize::from(!bidirectional)], self.role == Role::Server, bidirectional)
                .0;
        let id: Option<u64> =
            self.call(|object| object.call_method1("open", (bidirectional,)), |id| id.extract());
        match id {
            Some(id) if id == next => self.opened[usize::from(!bidirectional)] += 1,
            Some(id) => {
                self.fail(format!("open: expected {next}, the next stream, got {id}"));
                return None;
            }
            None => {}
        }
        id
    }

    fn accept(&mut self, direction: StreamDirection) -> Option<u64> {
        let kind = usize::from(direction == StreamDirection::Unidirectional);
        (self.accepted[kind] < self.known[kind]).then(|| {
            let index = self.accepted[kind];
            self.accepted[kind] += 1;
            StreamId::new(index, self.role == Role::Client, kind == 0).0
        })
    }

    fn set_priority(&mut self, stream: u64, priority: i32) {
        self.tell(|object| object.call_method1("set_priority", (stream, priority)));
    }

    fn write(&mut self, stream: u64, data: Bytes) -> usize {
        let taken: usize = self.call(
            |object| object.call_method1("write", (stream, PyBytes::new(object.py(), &data))),
            |taken| taken.extract(),
        );
        self.taken = self.taken.saturating_add(taken);
        if taken > data.len() {
            self.fail(format!("write: expected at most {} bytes to be taken, got {taken}", data.len()));
        } else if self.taken > MAX_TAKEN {
            self.fail(format!(
                "write: took more than {MAX_TAKEN} bytes at once; expected 0 once enough wait"
            ));
        }
        if self.raised.is_some() { 0 } else { taken }
    }

    fn finish(&mut self, stream: u64) {
        self.tell(|object| object.call_method1("finish", (stream,)));
    }

    fn reset(&mut self, stream: u64) {
        self.tell(|object| object.call_method1("reset", (stream,)));
    }

    fn read(&mut self, stream: u64, mut chunk: impl FnMut(&[u8])) -> Read {
        let Some(Unread { data, ended, reset }) = self.unread.remove(&stream) else {
            return Read::default();
        };
        chunk(&data);
        Read { bytes: data.len() as u64, ended, reset }
    }

    fn send_datagram(&mut self, data: Bytes) -> Result<(), usize> {
        let most: Option<usize> = self.call(
            |object| object.call_method1("send_datagram", (PyBytes::new(object.py(), &data),)),
            |most| most.extract(),
        );
        most.map_or(Ok(()), Err)
    }

    fn waiting_datagrams(&mut self) -> u64 {
        self.call(|object| object.call_method0("waiting_datagram_bytes"), |bytes| bytes.extract())
    }

    fn receive_datagram(&mut self) -> Option<Bytes> {
        self.datagrams.pop_front()
    }

    fn close(&mut self, now: Time) {
        self.tell(|object| object.call_method1("close", (now.as_nanos(),)));
    }

    fn recovery(&mut self) -> RecoveryState {
        let mut values = Metrics::default();
        if let Err(raised) = read_metrics(&self.object, "sample", &mut values) {
            self.raised.get_or_insert(raised);
        }
        let value = |name: &str| values.get(name);
        let count = |name: &str, scale: f64| value(name).map(|value| (value * scale).round() as u64);
        RecoveryState {
            cwnd_bytes: count("cwnd_bytes", 1.0).unwrap_or_default(),
            ssthresh_bytes: count("ssthresh_bytes", 1.0),
            in_flight_bytes: count("in_flight_bytes", 1.0),
            srtt_ns: count("srtt_ms", 1e6),
            min_rtt_ns: count("min_rtt_ms", 1e6),
            pacing_rate_bps: count("pacing_rate_mbps", 1e6),
            phase: count("phase", 1.0).and_then(Phase::of_number),
            lost_packets: count("lost_packets", 1.0).unwrap_or_default(),
            spurious_losses: count("spurious_losses", 1.0),
            congestion_events: count("congestion_events", 1.0).unwrap_or_default(),
        }
    }
}

/// One end of a flow.
pub(crate) struct PyStreamsEndpoint {
    connection: PyConnection,
    application: OnStreams<u64>,
    /// Time at which the client connects; `None` after that, and for servers.
    start: Option<Time>,
    nic: Nic,
    wake: Option<Time>,
    error: FirstError,
}

impl PyStreamsEndpoint {
    pub(crate) fn new(
        object: Py<PyAny>,
        identity: &EndpointIdentity,
        application: OnStreams<u64>,
        start: Time,
        error: FirstError,
    ) -> Self {
        let start = (identity.role == Role::Client).then_some(start);
        let connection = PyConnection {
            object,
            role: identity.role,
            events: VecDeque::new(),
            unread: BTreeMap::new(),
            accepted: [0; 2],
            known: [0; 2],
            datagrams: VecDeque::new(),
            opened: [0; 2],
            taken: 0,
            raised: None,
        };
        Self { connection, application, start, nic: Nic::new(identity, identity.tuple), wake: start, error }
    }

    /// Runs the application and sends all that can be sent now, then requests the next deadline.
    fn advance(&mut self, now: Time, out: &mut Outputs) {
        let Self { connection, application, .. } = self;
        connection.taken = 0;
        let mut rounds = 0;
        while connection.take_events() {
            rounds += 1;
            if rounds > MAX_ROUNDS {
                connection
                    .fail(format!("events: expected none after {MAX_ROUNDS} calls in a row at one time"));
                break;
            }
            while let Some(event) = connection.events.pop_front() {
                application.handle(event, now, now, connection);
            }
        }
        application.wake(now, now, connection);
        let datagrams: Vec<Vec<u8>> = connection.call(
            |object| object.call_method1("outputs", (now.as_nanos(),)),
            |datagrams| datagrams.try_iter()?.map(|datagram| datagram?.extract()).collect(),
        );
        for datagram in datagrams {
            let size = ByteCount::from_bytes(datagram.len() as u64);
            let payload = Payload::Bytes(BytesMut::from(datagram.as_slice()));
            self.nic.send(now, Port(0), size, Ecn::NotEct, payload, out);
        }
        let timer: Option<u64> = self
            .connection
            .call(|object| object.call_method1("next_wake", (now.as_nanos(),)), |timer| timer.extract());
        let timer = timer.map(Time::from_nanos);
        self.wake = [timer, self.start, self.application.deadline()].into_iter().flatten().min();
        if let Some(raised) = self.connection.raised.take() {
            self.wake = None;
            self.application.fail(raised.to_string());
            self.error.lock().expect("no holder panics").get_or_insert(raised);
        }
    }

    fn metrics(&self, method: &str, out: &mut Metrics) {
        if let Err(error) = read_metrics(&self.connection.object, method, out) {
            self.error.lock().expect("no holder panics").get_or_insert(error);
        }
    }

    fn is_over(&self) -> bool {
        self.application.outcome().progress.failed && self.wake.is_none()
    }
}

impl Element for PyStreamsEndpoint {
    fn receive(&mut self, now: Time, _: Port, packet: Box<Packet>, out: &mut Outputs) {
        self.nic.receive(&packet);
        let Payload::Bytes(datagram) = packet.payload else { return };
        if self.is_over() {
            return;
        }
        self.connection.tell(|object| {
            object.call_method1("receive", (now.as_nanos(), PyBytes::new(object.py(), &datagram)))
        });
        self.advance(now, out);
    }

    fn wake(&mut self, now: Time, out: &mut Outputs) {
        let begins = self.start.is_some_and(|start| start <= now);
        if begins {
            self.start = None;
            self.application.start(now);
        }
        let method = if begins { "connect" } else { "wake" };
        self.connection.tell(|object| object.call_method1(method, (now.as_nanos(),)));
        self.advance(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        self.wake
    }

    fn counters(&self) -> Counters {
        *self.nic.counters()
    }

    fn statistics(&mut self, _: Time, out: &mut Metrics) {
        self.metrics("statistics", out);
        self.application.application().statistics(out);
    }

    fn sample(&mut self, _: Time, out: &mut Metrics) {
        self.metrics("sample", out);
        self.application.application().sample(out);
    }
}

impl Endpoint for PyStreamsEndpoint {
    fn progress(&self) -> Progress {
        self.application.outcome().progress
    }

    fn failure(&self) -> Option<&str> {
        self.application.outcome().failure.as_deref()
    }

    fn page_client(&self) -> Option<&dyn PageClient> {
        self.application.page_client()
    }
}
