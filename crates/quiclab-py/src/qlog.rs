//! Export of qlog files for older tools.

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use quiclab_core::problem::system_reason;
use quiclab_trace::qlog::{ExportError, export_qlog_03};
use std::fs::File;
use std::io::{BufReader, BufWriter, Error};

/// Converts qlog files to one qlog 0.3 file for qvis; returns the number of traces and of events, and the
/// inputs whose last record was truncated.
#[pyfunction]
pub(crate) fn export_qlog(
    py: Python<'_>,
    inputs: Vec<String>,
    output: &str,
) -> PyResult<(u64, u64, Vec<String>)> {
    let mut files = Vec::new();
    for input in &inputs {
        files.push(BufReader::new(File::open(input).map_err(|error| of_file(input, &error))?));
    }
    let out = BufWriter::new(File::create(output).map_err(|error| of_file(output, &error))?);
    let exported = py.detach(|| export_qlog_03(files, out));
    let exported = exported.map_err(|error| match error {
        ExportError::Write(error) => of_file(output, &error),
        ExportError::Read { input, source } => of_file(&inputs[input as usize - 1], &source),
        ExportError::Json { input, record, .. } => {
            PyValueError::new_err(format!("{}: record {record} is not JSON", inputs[input as usize - 1]))
        }
        ExportError::NoHeader { input } => {
            let file = &inputs[input as usize - 1];
            PyValueError::new_err(format!("{file}: expected a qlog file, got none"))
        }
        ExportError::TooLong { input } => {
            let file = &inputs[input as usize - 1];
            PyValueError::new_err(format!(
                "{file}: expected at most 1 GiB of a qlog file that quiclab did not write, got more"
            ))
        }
    })?;
    let truncated = exported.truncated.into_iter().map(|index| inputs[index].clone()).collect();
    Ok((exported.traces, exported.events, truncated))
}

/// The exception with `errno`, `strerror` and `filename`.
fn of_file(path: &str, error: &Error) -> PyErr {
    PyOSError::new_err((error.raw_os_error(), system_reason(error), path.to_owned()))
}
