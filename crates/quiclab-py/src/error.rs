//! Exceptions.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;

create_exception!(
    _quiclab,
    ScenarioError,
    PyValueError,
    "A scenario is wrong; one sentence says where and why."
);
