//! What a run records of its transports: qlog and pcapng files, and the acknowledgements.

use crate::acks::{AckLog, AckRecord, EndpointAcks};
use quiclab_core::scenario::{Record, Scenario};
use quiclab_core::{
    DropReason, EndpointIdentity, Packet, PacketObserver, Port, Time, Topology, TransportEvent,
    TransportObserver,
};
use quiclab_trace::pcapng::{Heading, PcapngWriter};
use quiclab_trace::qlog::{QlogStatus, QlogTrace, QlogWriter};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Files and acknowledgements of one run; `finish` says whether all was written.
pub(crate) struct Recorder {
    folder: PathBuf,
    title: String,
    record: Record,
    qlogs: Mutex<Vec<(PathBuf, QlogStatus)>>,
    captures: Mutex<Vec<(EndpointIdentity, Arc<Mutex<Capture>>)>>,
    acks: AckLog,
}

/// The capture of one endpoint, as if taken on its host: secrets come from its transport, packets from
/// the event loop. One file an endpoint, because a dissector that sees each packet twice loses count of
/// key updates.
struct Capture {
    path: PathBuf,
    writer: Option<PcapngWriter<File>>,
    /// The last packet that arrived, not yet written: the secrets that it brings come before it.
    arrived: Option<(Time, Packet)>,
    error: Option<io::Error>,
}

impl Capture {
    fn new(path: PathBuf, interface: &str) -> Self {
        match File::create(&path).and_then(|file| PcapngWriter::new(file, &[interface])) {
            Ok(writer) => Self { path, writer: Some(writer), arrived: None, error: None },
            Err(error) => Self { path, writer: None, arrived: None, error: Some(error) },
        }
    }

    fn attempt(&mut self, write: impl FnOnce(&mut PcapngWriter<File>) -> io::Result<()>) {
        if let (Some(writer), None) = (&mut self.writer, &self.error) {
            self.error = write(writer).err();
        }
    }

    fn arrival(&mut self, now: Time, packet: &Packet) {
        self.write_arrived();
        self.arrived = Some((now, packet.clone()));
    }

    fn departure(&mut self, now: Time, packet: &Packet) {
        self.write_arrived();
        self.attempt(|writer| writer.packet(now, 0, packet, Heading::Outbound));
    }

    fn write_arrived(&mut self) {
        if let Some((at, packet)) = self.arrived.take() {
            self.attempt(|writer| writer.packet(at, 0, &packet, Heading::Inbound));
        }
    }

    fn finish(&mut self) -> Result<(), String> {
        self.write_arrived();
        let closed = self.writer.take().map_or(Ok(()), |writer| writer.finish().map(drop));
        self.error.take().or(closed.err()).map_or(Ok(()), |error| Err(unwritable(&self.path, &error)))
    }
}

fn unwritable(path: &Path, error: &io::Error) -> String {
    format!("{} cannot be written: {error}", path.display())
}

impl Recorder {
    pub(crate) fn new(folder: &Path, title: &str, record: &Record) -> Self {
        Self {
            folder: folder.to_owned(),
            title: title.to_owned(),
            record: record.clone(),
            qlogs: Mutex::default(),
            captures: Mutex::default(),
            acks: AckLog::default(),
        }
    }

    /// The observer of an endpoint's transport, if anything wants to know.
    pub(crate) fn transport_observer(
        &self,
        identity: &EndpointIdentity,
    ) -> Option<Box<dyn TransportObserver>> {
        let qlog = self.record.qlog.then(|| self.qlog(identity));
        let capture = self.record.pcapng.then(|| self.capture(identity));
        let acks = self.record.acks.then(|| self.acks.endpoint(identity));
        let wanted = qlog.is_some() || capture.is_some() || acks.is_some();
        wanted.then(|| Box::new(Observer { qlog, capture, acks }) as Box<_>)
    }

    fn qlog(&self, identity: &EndpointIdentity) -> QlogWriter {
        let path = self.folder.join(format!("{}.sqlog", identity.name));
        let out: Box<dyn io::Write + Send> = match File::create(&path) {
            Ok(file) => Box::new(file),
            Err(error) => Box::new(Broken(error.kind())),
        };
        let mut trace = QlogTrace::new(&identity.name, identity.role);
        trace.title.clone_from(&self.title);
        let writer = QlogWriter::new(out, &trace);
        self.qlogs.lock().expect("no holder panics").push((path, writer.status()));
        writer
    }

    fn capture(&self, identity: &EndpointIdentity) -> Arc<Mutex<Capture>> {
        let path = self.folder.join(format!("{}.pcapng", identity.name));
        let capture = Arc::new(Mutex::new(Capture::new(path, &identity.name)));
        self.captures.lock().expect("no holder panics").push((identity.clone(), capture.clone()));
        capture
    }

    /// The observer of packets, if there are captures.
    pub(crate) fn packet_observers(
        &self,
        scenario: &Scenario,
        topology: &Topology,
    ) -> Vec<Box<dyn PacketObserver>> {
        let mut at = vec![None; topology.len()];
        for (identity, capture) in self.captures.lock().expect("no holder panics").iter() {
            let flow = scenario.flows.keys().nth(identity.flow.0 as usize).expect("a flow for each endpoint");
            let element =
                topology.index(&scenario.endpoint_name(flow, identity.role)).expect("endpoints are elements");
            at[element] = Some(capture.clone());
        }
        if at.iter().all(Option::is_none) { Vec::new() } else { vec![Box::new(Tapped { at })] }
    }

    /// The acknowledgements of all endpoints, in the order of arrival.
    pub(crate) fn take_acks(&self) -> Vec<AckRecord> {
        self.acks.take()
    }

    /// Closes all files.
    ///
    /// # Errors
    /// The first error of any file, with its path.
    pub(crate) fn finish(&self) -> Result<(), String> {
        for (path, status) in self.qlogs.lock().expect("no holder panics").iter() {
            if let Some(error) = status.error() {
                return Err(unwritable(path, error));
            }
        }
        let captures = self.captures.lock().expect("no holder panics");
        captures.iter().try_for_each(|(_, capture)| capture.lock().expect("no holder panics").finish())
    }
}

/// Stands for a file that could not be made: the writer reports its error at the end.
struct Broken(io::ErrorKind);

impl io::Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }
    fn flush(&mut self) -> io::Result<()> {
        Err(self.0.into())
    }
}

struct Observer {
    qlog: Option<QlogWriter>,
    capture: Option<Arc<Mutex<Capture>>>,
    acks: Option<EndpointAcks>,
}

impl TransportObserver for Observer {
    fn observe(&mut self, now: Time, event: &TransportEvent<'_>) {
        if let Some(qlog) = &mut self.qlog {
            qlog.observe(now, event);
        }
        if let (Some(acks), &TransportEvent::AckReceived { packets, bytes }) = (&self.acks, event) {
            acks.add(now, packets, bytes);
        }
        if let (Some(capture), TransportEvent::Secret(line)) = (&self.capture, event) {
            capture.lock().expect("no holder panics").attempt(|writer| writer.secret(line));
        }
    }
}

/// Captures what passes the endpoints.
struct Tapped {
    /// The capture by element; `None` for elements inside the network.
    at: Vec<Option<Arc<Mutex<Capture>>>>,
}

impl Tapped {
    fn capture(&self, element: usize, add: impl FnOnce(&mut Capture)) {
        if let Some(capture) = &self.at[element] {
            add(&mut capture.lock().expect("no holder panics"));
        }
    }
}

impl PacketObserver for Tapped {
    fn departure(&mut self, now: Time, element: usize, _: Port, packet: &Packet) {
        self.capture(element, |capture| capture.departure(now, packet));
    }
    fn arrival(&mut self, now: Time, element: usize, _: Port, packet: &Packet) {
        self.capture(element, |capture| capture.arrival(now, packet));
    }
    fn discard(&mut self, _: Time, _: usize, _: DropReason, _: &Packet) {}
}
