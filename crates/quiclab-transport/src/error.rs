//! Why an endpoint cannot be built.

use std::ops::RangeInclusive;

pub use quiclab_core::StackError as Error;

/// The error for a value that is not taken.
pub(crate) fn refused(field: &'static str, value: impl ToString, allowed: impl Into<String>) -> Error {
    Error::OutOfRange { field, value: value.to_string(), allowed: allowed.into() }
}

/// Checks that `condition` holds.
pub(crate) fn ensure(condition: bool, error: impl FnOnce() -> Error) -> Result<(), Error> {
    if condition { Ok(()) } else { Err(error()) }
}

/// Checks that `value`, if there is one, lies in `allowed`.
pub(crate) fn within<T: PartialOrd + std::fmt::Display>(
    field: &'static str,
    value: Option<T>,
    allowed: RangeInclusive<T>,
) -> Result<(), Error> {
    match value {
        Some(value) if !allowed.contains(&value) => {
            Err(refused(field, value, format!("{} to {}", allowed.start(), allowed.end())))
        }
        _ => Ok(()),
    }
}
