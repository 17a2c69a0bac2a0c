//! An endpoint written in Python behind the Endpoint trait.
//!
//! The Python object has the methods of `quiclab.stacks.PythonEndpoint`: `receive`, `wake`, `outputs`,
//! `next_wake`, `progress`, `statistics`, `sample`. An exception in it fails the flow and is stored, so that
//! the run can report it.

use bytes::BytesMut;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use quiclab_core::{
    ByteCount, Counters, Ecn, Element, Endpoint, EndpointIdentity, Metric, Metrics, NIC, Nic, Outputs,
    Packet, Payload, Port, Progress, RECOVERY, Time,
};
use std::sync::{Arc, Mutex};

quiclab_core::metrics! {
    /// Values of stacks in Python alone.
    pub static PYTHON: PythonMetrics = Flow, "endpoint, stack in Python" {
        /// Probe timeouts in a row.
        pto_count: Gauge, Both;
    }
}

/// The first exception of any Python endpoint of a run.
pub(crate) type FirstError = Arc<Mutex<Option<PyErr>>>;

pub(crate) struct PyEndpoint {
    object: Py<PyAny>,
    nic: Nic,
    next_wake: Option<Time>,
    progress: Progress,
    error: FirstError,
}

impl PyEndpoint {
    /// Wraps `object` and requests its first deadline.
    pub(crate) fn new(object: Py<PyAny>, identity: &EndpointIdentity, error: FirstError) -> PyResult<Self> {
        let mut endpoint = Self {
            object,
            nic: Nic::new(identity, identity.tuple),
            next_wake: None,
            progress: Progress::default(),
            error,
        };
        Python::attach(|py| endpoint.refresh(py))?;
        Ok(endpoint)
    }

    /// Calls a method, then fetches datagrams, deadline and progress.
    fn call(&mut self, now: Time, out: &mut Outputs, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) {
        if self.progress.failed {
            return;
        }
        let done = Python::attach(|py| -> PyResult<()> {
            let object = self.object.clone_ref(py).into_bound(py);
            call(&object)?;
            for datagram in object.call_method0("outputs")?.try_iter()? {
                let datagram = datagram?;
                self.send(now, datagram.cast::<PyBytes>()?.as_bytes(), out);
            }
            self.refresh(py)
        });
        if let Err(error) = done {
            self.progress.failed = true;
            self.next_wake = None;
            self.error.lock().expect("no holder panics").get_or_insert(error);
        }
    }

    fn send(&mut self, now: Time, datagram: &[u8], out: &mut Outputs) {
        let size = ByteCount::from_bytes(datagram.len() as u64);
        let payload = Payload::Bytes(BytesMut::from(datagram));
        self.nic.send(now, Port(0), size, Ecn::NotEct, payload, out);
    }

    fn refresh(&mut self, py: Python<'_>) -> PyResult<()> {
        let wake: Option<u64> = self.object.call_method0(py, "next_wake")?.extract(py)?;
        self.next_wake = wake.map(Time::from_nanos);
        let (started, finished, delivered_bytes, failed): (Option<u64>, Option<u64>, u64, bool) =
            self.object.call_method0(py, "progress")?.extract(py)?;
        self.progress = Progress {
            started: started.map(Time::from_nanos),
            finished: finished.map(Time::from_nanos),
            delivered_bytes,
            failed,
        };
        Ok(())
    }

    fn metrics(&self, method: &str, out: &mut Metrics) {
        if let Err(error) = read_metrics(&self.object, method, out) {
            self.error.lock().expect("no holder panics").get_or_insert(error);
        }
    }
}

/// Adds the values that a method returns, by their names.
pub(crate) fn read_metrics(object: &Py<PyAny>, method: &str, out: &mut Metrics) -> PyResult<()> {
    Python::attach(|py| {
        let values = object.call_method0(py, method)?;
        for (name, value) in values.cast_bound::<PyDict>(py)?.iter() {
            let name: String = name.extract()?;
            let known = metrics().find(|known| known.name == name);
            let known = known.ok_or_else(|| PyValueError::new_err(format!("unknown metric `{name}`")))?;
            out.set(known, value.extract()?);
        }
        Ok(())
    })
}

/// The metrics that a Python endpoint may report.
fn metrics() -> impl Iterator<Item = &'static Metric> {
    [RECOVERY.group(), NIC.group(), PYTHON.group()]
        .into_iter()
        .flat_map(|group| group.metrics.iter().copied())
}

impl Element for PyEndpoint {
    fn receive(&mut self, now: Time, _: Port, packet: Box<Packet>, out: &mut Outputs) {
        self.nic.receive(&packet);
        let Payload::Bytes(datagram) = packet.payload else { return };
        self.call(now, out, |object| {
            let datagram = PyBytes::new(object.py(), &datagram);
            object.call_method1("receive", (now.as_nanos(), datagram)).map(drop)
        });
    }

    fn wake(&mut self, now: Time, out: &mut Outputs) {
        self.call(now, out, |object| object.call_method1("wake", (now.as_nanos(),)).map(drop));
    }

    fn next_wake(&self) -> Option<Time> {
        self.next_wake
    }

    fn counters(&self) -> Counters {
        *self.nic.counters()
    }

    fn statistics(&mut self, _: Time, out: &mut Metrics) {
        self.metrics("statistics", out);
    }

    fn sample(&mut self, _: Time, out: &mut Metrics) {
        self.metrics("sample", out);
    }
}

impl Endpoint for PyEndpoint {
    fn progress(&self) -> Progress {
        self.progress
    }
}
