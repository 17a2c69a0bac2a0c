//! Progress of a long computation, reported to Python.

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use std::ops::ControlFlow;

/// Calls `progress`, if there is one; an exception there, or of a signal handler, is raised and ends the work.
pub(crate) fn tell(
    progress: Option<&Py<PyAny>>,
    arguments: impl for<'py> PyCallArgs<'py>,
    raise: impl FnOnce(PyErr),
) -> ControlFlow<()> {
    let told = Python::attach(|py| {
        py.check_signals()?;
        progress.map_or(Ok(()), |progress| progress.call1(py, arguments).map(drop))
    });
    match told {
        Ok(()) => ControlFlow::Continue(()),
        Err(raised) => {
            raise(raised);
            ControlFlow::Break(())
        }
    }
}
