//! Why an endpoint cannot be built.

use quiclab_core::Problem;

/// Why an endpoint cannot be built: a field of its options or of its workload, and what it takes.
pub type Error = Problem;

/// `value` does not go together with other options of this endpoint.
pub(crate) fn conflict(field: &str, value: impl ToString, expected: impl Into<String>) -> Error {
    Problem::conflict(field, value.to_string(), expected)
}
