//! qlog and pcapng files of a run.

use quiclab_core::scenario::Record;
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

/// Name of the capture in the folder of recordings.
const CAPTURE: &str = "capture.pcapng";

/// Files of one run; `finish` says whether all was written.
pub(crate) struct Recorder {
    folder: PathBuf,
    title: String,
    record: Record,
    qlogs: Mutex<Vec<(PathBuf, QlogStatus)>>,
    capture: Arc<Mutex<Capture>>,
}

/// The capture: secrets come from transports, packets from the event loop.
#[derive(Default)]
struct Capture {
    writer: Option<PcapngWriter<File>>,
    /// Secrets that came before the file was opened.
    early_secrets: Vec<String>,
    error: Option<io::Error>,
}

impl Capture {
    fn attempt(&mut self, write: impl FnOnce(&mut PcapngWriter<File>) -> io::Result<()>) {
        if let (Some(writer), None) = (&mut self.writer, &self.error) {
            self.error = write(writer).err();
        }
    }

    fn secret(&mut self, line: &str) {
        match self.writer {
            Some(_) => self.attempt(|writer| writer.secret(line)),
            None => self.early_secrets.push(line.to_owned()),
        }
    }
}

impl Recorder {
    pub(crate) fn new(folder: &Path, title: &str, record: &Record) -> Self {
        Self {
            folder: folder.to_owned(),
            title: title.to_owned(),
            record: record.clone(),
            qlogs: Mutex::default(),
            capture: Arc::default(),
        }
    }

    /// The observer of an endpoint's transport, if anything wants to know.
    pub(crate) fn transport_observer(
        &self,
        identity: &EndpointIdentity,
    ) -> Option<Box<dyn TransportObserver>> {
        let qlog = self.record.qlog.then(|| self.qlog(identity)).flatten();
        let capture = self.record.pcapng.then(|| self.capture.clone());
        (qlog.is_some() || capture.is_some()).then(|| Box::new(Observer { qlog, capture }) as Box<_>)
    }

    fn qlog(&self, identity: &EndpointIdentity) -> Option<QlogWriter> {
        let path = self.folder.join(format!("{}.sqlog", identity.name));
        let out: Box<dyn io::Write + Send> = match File::create(&path) {
            Ok(file) => Box::new(file),
            Err(error) => Box::new(Broken(error.kind())),
        };
        let mut trace = QlogTrace::new(&identity.name, identity.role);
        trace.title.clone_from(&self.title);
        let writer = QlogWriter::new(out, &trace);
        self.qlogs.lock().expect("no holder panics").push((path, writer.status()));
        Some(writer)
    }

    /// The observer of packets, if there is a capture.
    pub(crate) fn packet_observers(&self, topology: &Topology) -> Vec<Box<dyn PacketObserver>> {
        if !self.record.pcapng {
            return Vec::new();
        }
        let mut interface = vec![None; topology.len()];
        let mut names = Vec::new();
        for (element, interface) in interface.iter_mut().enumerate() {
            if topology.node(element).as_endpoint().is_some() {
                *interface = Some(names.len());
                names.push(topology.name(element));
            }
        }
        let mut capture = self.capture.lock().expect("no holder panics");
        let opened = File::create(self.folder.join(CAPTURE)).and_then(|file| PcapngWriter::new(file, &names));
        match opened {
            Ok(writer) => capture.writer = Some(writer),
            Err(error) => capture.error = Some(error),
        }
        for line in std::mem::take(&mut capture.early_secrets) {
            capture.secret(&line);
        }
        vec![Box::new(Tapped { interface, capture: self.capture.clone() })]
    }

    /// Closes all files.
    ///
    /// # Errors
    /// The first error of any file, with its path.
    pub(crate) fn finish(&self) -> Result<(), String> {
        for (path, status) in self.qlogs.lock().expect("no holder panics").iter() {
            if let Some(error) = status.error() {
                return Err(format!("{} cannot be written: {error}", path.display()));
            }
        }
        let mut capture = self.capture.lock().expect("no holder panics");
        let closed = capture.writer.take().map_or(Ok(()), |writer| writer.finish().map(drop));
        let error = capture.error.take().or(closed.err());
        error.map_or(Ok(()), |error| {
            Err(format!("{} cannot be written: {error}", self.folder.join(CAPTURE).display()))
        })
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
}

impl TransportObserver for Observer {
    fn observe(&mut self, now: Time, event: &TransportEvent<'_>) {
        if let Some(qlog) = &mut self.qlog {
            qlog.observe(now, event);
        }
        if let (Some(capture), TransportEvent::Secret(line)) = (&self.capture, event) {
            capture.lock().expect("no holder panics").secret(line);
        }
    }
}

/// Captures what passes the endpoints.
struct Tapped {
    /// Index of the interface by element; `None` for elements inside the network.
    interface: Vec<Option<usize>>,
    capture: Arc<Mutex<Capture>>,
}

impl Tapped {
    fn packet(&self, now: Time, element: usize, packet: &Packet, heading: Heading) {
        if let Some(interface) = self.interface[element] {
            let mut capture = self.capture.lock().expect("no holder panics");
            capture.attempt(|writer| writer.packet(now, interface, packet, heading));
        }
    }
}

impl PacketObserver for Tapped {
    fn departure(&mut self, now: Time, element: usize, _: Port, packet: &Packet) {
        self.packet(now, element, packet, Heading::Outbound);
    }
    fn arrival(&mut self, now: Time, element: usize, _: Port, packet: &Packet) {
        self.packet(now, element, packet, Heading::Inbound);
    }
    fn discard(&mut self, _: Time, _: usize, _: DropReason, _: &Packet) {}
}
