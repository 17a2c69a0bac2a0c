//! Captures of endpoints, each as if taken on its own host.
//!
//! One file per endpoint: a dissector that sees each packet twice miscounts key updates. Secrets come from the
//! transport, packets from the event loop.

use crate::pcapng::{Heading, PcapngWriter};
use quiclab_core::{DropReason, Packet, PacketObserver, Port, Time};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use thiserror::Error;

/// A capture is incomplete.
#[derive(Debug, Error)]
#[error("{path} cannot be written: {reason}")]
pub struct CaptureError {
    /// Its file.
    pub path: PathBuf,
    /// First error.
    pub reason: io::Error,
}

/// The capture of one endpoint.
pub struct Capture {
    path: PathBuf,
    writer: Option<PcapngWriter<File>>,
    /// The last packet that arrived, not yet written: secrets that it makes available precede it.
    arrived: Option<(Time, Packet)>,
    error: Option<io::Error>,
}

/// A capture that a transport and the event loop write to.
pub type SharedCapture = Arc<Mutex<Capture>>;

impl Capture {
    /// A capture in the file `path` with one interface, of a run with this seed; errors are returned by
    /// [`Capture::finish`].
    #[must_use]
    pub fn create(path: PathBuf, interface: &str, seed: u64) -> Self {
        match File::create(&path).and_then(|file| PcapngWriter::new(file, &[interface])) {
            Ok(writer) => Self { path, writer: Some(writer.with_seed(seed)), arrived: None, error: None },
            Err(error) => Self { path, writer: None, arrived: None, error: Some(error) },
        }
    }

    /// Appends a line of the key log.
    pub fn secret(&mut self, line: &str) {
        self.attempt(|writer| writer.secret(line));
    }

    /// Closes the file.
    ///
    /// # Errors
    /// The first error of the capture.
    pub fn finish(&mut self) -> Result<(), CaptureError> {
        self.write_arrived();
        let closed = self.writer.take().map_or(Ok(()), |writer| writer.finish().map(drop));
        let failed = self.error.take().or(closed.err());
        failed.map_or(Ok(()), |reason| Err(CaptureError { path: self.path.clone(), reason }))
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
}

/// Passes packets of endpoints to their captures.
#[derive(Default)]
pub struct CapturedEndpoints {
    /// The capture by element; `None` for elements inside the network.
    at: Vec<Option<SharedCapture>>,
}

impl CapturedEndpoints {
    /// Assigns a capture to the endpoint with this index in the topology.
    pub fn add(&mut self, element: usize, capture: SharedCapture) {
        if self.at.len() <= element {
            self.at.resize_with(element + 1, || None);
        }
        self.at[element] = Some(capture);
    }

    /// Whether there is no capture.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    fn capture(&self, element: usize, add: impl FnOnce(&mut Capture)) {
        if let Some(Some(capture)) = self.at.get(element) {
            add(&mut capture.lock().expect("no holder panics"));
        }
    }
}

impl PacketObserver for CapturedEndpoints {
    fn departure(&mut self, now: Time, element: usize, _: Port, packet: &Packet) {
        self.capture(element, |capture| capture.departure(now, packet));
    }
    fn arrival(&mut self, now: Time, element: usize, _: Port, packet: &Packet) {
        self.capture(element, |capture| capture.arrival(now, packet));
    }
    fn discard(&mut self, _: Time, _: usize, _: DropReason, _: &Packet) {}
}
