//! Exceptions.

use pyo3::create_exception;
use pyo3::exceptions::{PyFutureWarning, PyValueError};

create_exception!(
    _quiclab,
    ScenarioError,
    PyValueError,
    "A scenario is wrong; one sentence says where and why."
);

create_exception!(
    _quiclab,
    FormerName,
    PyFutureWarning,
    "A former name was read; the message has the name to use."
);
