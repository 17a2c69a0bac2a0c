//! Records of the transports of a run: qlog and pcapng files, and acknowledgements.

use crate::acks::{AckLog, AckRecord, EndpointAcks};
use quiclab_core::{EndpointIdentity, PacketObserver, Time, Topology, TransportEvent, TransportObserver};
use quiclab_scenario::{Record, Scenario};
use quiclab_trace::capture::{Capture, CapturedEndpoints, SharedCapture};
use quiclab_trace::qlog::{QlogStatus, QlogTrace, QlogWriter};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Files and acknowledgements of one run; `finish` reports whether writing succeeded.
pub(crate) struct Recorder {
    folder: PathBuf,
    title: String,
    record: Record,
    seed: u64,
    qlogs: Mutex<Vec<(PathBuf, QlogStatus)>>,
    captures: Mutex<Vec<(EndpointIdentity, SharedCapture)>>,
    acks: AckLog,
}

fn unwritable(path: &Path, error: &io::Error) -> String {
    format!("{} cannot be written: {error}", path.display())
}

impl Recorder {
    pub(crate) fn new(folder: &Path, title: &str, record: &Record, seed: u64) -> Self {
        Self {
            folder: folder.to_owned(),
            title: title.to_owned(),
            record: record.clone(),
            seed,
            qlogs: Mutex::default(),
            captures: Mutex::default(),
            acks: AckLog::default(),
        }
    }

    /// Observer of an endpoint's transport, if anything is recorded.
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

    fn capture(&self, identity: &EndpointIdentity) -> SharedCapture {
        let path = self.folder.join(format!("{}.pcapng", identity.name));
        let capture = Arc::new(Mutex::new(Capture::create(path, &identity.name, self.seed)));
        self.captures.lock().expect("no holder panics").push((identity.clone(), capture.clone()));
        capture
    }

    /// The observer of packets, if there are captures.
    pub(crate) fn packet_observers(
        &self,
        scenario: &Scenario,
        topology: &Topology,
    ) -> Vec<Box<dyn PacketObserver>> {
        let mut captured = CapturedEndpoints::default();
        for (identity, capture) in self.captures.lock().expect("no holder panics").iter() {
            let flow = scenario.flows.keys().nth(identity.flow.0 as usize).expect("a flow for each endpoint");
            let element = topology
                .index(&Scenario::endpoint_name(flow, identity.role))
                .expect("endpoints are elements");
            captured.add(element, capture.clone());
        }
        if captured.is_empty() { Vec::new() } else { vec![Box::new(captured)] }
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
        let finish = |capture: &SharedCapture| capture.lock().expect("no holder panics").finish();
        captures.iter().try_for_each(|(_, capture)| finish(capture)).map_err(|error| error.to_string())
    }
}

/// Output in place of a file that could not be created: the writer reports its error at the end.
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
    capture: Option<SharedCapture>,
    acks: Option<EndpointAcks>,
}

impl TransportObserver for Observer {
    fn observe(&mut self, now: Time, event: &TransportEvent<'_>) {
        if let Some(qlog) = &mut self.qlog {
            qlog.observe(now, event);
        }
        if let (Some(acks), &TransportEvent::AckReceived { packets, covered, bytes }) = (&self.acks, event) {
            acks.add(now, packets, covered, bytes);
        }
        if let (Some(capture), TransportEvent::Secret(line)) = (&self.capture, event) {
            capture.lock().expect("no holder panics").secret(line);
        }
    }
}
