//! Errors in the construction of an endpoint.

use quiclab_core::Problem;

/// Reason why an endpoint cannot be built: a field of its options or of its workload, and the allowed values.
pub type Error = Problem;

/// Conflict of `value` with other options of this endpoint.
pub(crate) fn conflict(field: &str, value: impl ToString, expected: impl Into<String>) -> Error {
    Problem::conflict(field, value.to_string(), expected)
}
