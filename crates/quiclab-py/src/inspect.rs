//! Summary of a qlog file for the page of `quiclab inspect`.

use crate::progress::tell;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyValueError};
use pyo3::prelude::*;
use quiclab_core::problem::system_reason;
use quiclab_trace::inspect::{EXPECTED, InspectError, Selection};
use std::path::Path;

/// Summarises a qlog file; `progress` is called periodically with the bytes read and those of all passes;
/// `window_ms` is the period whose events are shown, `None` for all.
#[pyfunction]
#[pyo3(signature = (path, max_points, progress=None, window_ms=None))]
pub(crate) fn inspect_qlog(
    py: Python<'_>,
    path: &str,
    max_points: usize,
    progress: Option<Py<PyAny>>,
    window_ms: Option<(f64, f64)>,
) -> PyResult<String> {
    let selection = Selection { max_points, window_ms };
    let mut raised = None;
    let result = py.detach(|| {
        quiclab_trace::inspect::inspect_qlog(Path::new(path), selection, &mut |done, total| {
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
