//! Splitters of bearers, written in Python: `quiclab._base.plugins` finds them, this module calls them.

use crate::endpoint::FirstError;
use crate::function::{described, find};
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use quiclab_core::bearer::{ChooseLink, LinkView, SplitPacket};
use quiclab_core::problem::quoted;
use quiclab_sim::FunctionError;
use std::path::Path;

/// Loads the function of this name for the bearer `bearer`; its first exception goes to `error` and ends the
/// run.
pub(crate) fn load(
    bearer: &str,
    name: &str,
    base_dir: &Path,
    error: &FirstError,
) -> Result<Box<dyn ChooseLink>, FunctionError> {
    let function = find(&[name], base_dir)?.remove(0);
    let field = format!("bearers.{bearer}.splitter.function, {}", quoted(name));
    Ok(Box::new(PySplitter { function, field, error: error.clone() }))
}

struct PySplitter {
    function: Py<PyAny>,
    /// Path and name of the function, for errors.
    field: String,
    error: FirstError,
}

impl ChooseLink for PySplitter {
    fn choose(&mut self, packet: SplitPacket, links: &[LinkView]) -> Option<usize> {
        if self.error.lock().expect("no holder panics").is_some() {
            return None; // the run ends soon
        }
        Python::attach(|py| {
            let reason = match self.call(py, packet, links) {
                Ok(Ok(link)) => return Some(link),
                Ok(Err(reason)) => reason,
                Err(raised) if raised.is_instance_of::<PyException>(py) => described(py, &raised),
                // Ctrl-C and other exceptions that are not errors of the function
                Err(raised) => return self.fail(raised),
            };
            self.fail(PyRuntimeError::new_err(format!("{}: {reason}", self.field)))
        })
    }
}

impl PySplitter {
    fn fail(&self, raised: PyErr) -> Option<usize> {
        self.error.lock().expect("no holder panics").get_or_insert(raised);
        None
    }

    /// Index that the function returns; the inner error names any other value.
    fn call(
        &self,
        py: Python<'_>,
        packet: SplitPacket,
        links: &[LinkView],
    ) -> PyResult<Result<usize, String>> {
        let inputs = PyDict::new(py);
        inputs.set_item("now_ms", packet.now.as_ms_f64())?;
        inputs.set_item("count", packet.count)?;
        inputs.set_item("packet_bytes", packet.size.bytes())?;
        let views: Vec<_> = links.iter().map(|link| view(py, link)).collect::<PyResult<_>>()?;
        inputs.set_item("links", PyList::new(py, views)?)?;
        let answer = self.function.bind(py).call1((inputs,))?;
        Ok(match answer.extract::<usize>() {
            Ok(link) if link < links.len() => Ok(link),
            _ => {
                let last = links.len() - 1;
                Err(format!("expected the index of a link, 0 to {last}, got {}", answer.repr()?))
            }
        })
    }
}

/// State of a link that a splitter receives; documented in docs/plugins.md.
fn view<'py>(py: Python<'py>, link: &LinkView) -> PyResult<Bound<'py, PyDict>> {
    let view = PyDict::new(py);
    view.set_item("sent_packets", link.sent_packets)?;
    view.set_item("sent_bytes", link.sent.bytes())?;
    view.set_item("unreported_bytes", link.unreported.bytes())?;
    view.set_item("rate_bps", link.rate.bits_per_second())?;
    view.set_item("base_delay_ms", link.base_delay.as_ms_f64())?;
    view.set_item("reports", link.reports)?;
    view.set_item("last_report_ms", link.heard.as_ms_f64())?;
    view.set_item("lost_packets", link.lost_packets)?;
    view.set_item("buffered_bytes", link.buffered.bytes())?;
    Ok(view)
}
