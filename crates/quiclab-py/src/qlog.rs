//! Export of qlog files for older tools.

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use quiclab_trace::qlog::{ExportError, export_qlog_03};
use std::fs::File;
use std::io::{BufReader, BufWriter};

/// Converts our qlog files to one qlog 0.3 file for qvis; gives the number of traces and of events.
#[pyfunction]
pub(crate) fn export_qlog(py: Python<'_>, inputs: Vec<String>, output: &str) -> PyResult<(u64, u64)> {
    let named = |path: &str, error: std::io::Error| PyOSError::new_err(format!("{path}: {error}"));
    let mut files = Vec::new();
    for input in &inputs {
        files.push(BufReader::new(File::open(input).map_err(|error| named(input, error))?));
    }
    let out = BufWriter::new(File::create(output).map_err(|error| named(output, error))?);
    let exported = py.detach(|| export_qlog_03(files, out));
    let exported = exported.map_err(|error| match error {
        ExportError::Io(error) => named(output, error),
        other => PyValueError::new_err(other.to_string()),
    })?;
    Ok((exported.traces, exported.events))
}
