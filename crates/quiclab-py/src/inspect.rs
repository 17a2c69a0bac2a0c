//! What a qlog file holds, for the page of `quiclab inspect`.

use crate::progress::tell;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyValueError};
use pyo3::prelude::*;
use quiclab_core::problem::system_reason;
use quiclab_trace::inspect::{EXPECTED, InspectError};
use std::path::Path;

/// Summarises a qlog file; `progress` is called periodically with the bytes done and those of all passes.
#[pyfunction]
#[pyo3(signature = (path, max_points, progress=None))]
pub(crate) fn inspect_qlog(
    py: Python<'_>,
    path: &str,
    max_points: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let mut raised = None;
    let result = py.detach(|| {
        quiclab_trace::inspect::inspect_qlog(Path::new(path), max_points, &mut |done, total| {
            tell(progress.as_ref(), (done, total), |error| raised = Some(error))
        })
    });
    if let Some(error) = raised {
        return Err(error);
    }
    result.map_err(|error| match error {
        // the caller knows the file
        InspectError::Io { source, .. } => PyOSError::new_err(system_reason(&source)),
        InspectError::NotQlog { found, .. } => {
            PyValueError::new_err(format!("expected {EXPECTED}, got {found}"))
        }
        InspectError::Interrupted => PyKeyboardInterrupt::new_err(()),
    })
}
