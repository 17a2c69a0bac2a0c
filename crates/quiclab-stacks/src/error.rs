//! Why an endpoint cannot be built.

use thiserror::Error;

/// A configuration that a stack cannot run. The message names field, value and what is allowed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum StackError {
    /// The stack is not one of this crate, or is not given.
    #[error("stack: `{name}` is not a known stack; allowed is {allowed}")]
    UnknownStack {
        /// What was written; empty if nothing was.
        name: String,
        /// The stacks there are.
        allowed: String,
    },
    /// The stack has no named parameter sets.
    #[error("profile: `{profile}` is given, but stack `{stack}` has no profiles; leave it out")]
    NoProfiles {
        /// The stack.
        stack: &'static str,
        /// What was written.
        profile: String,
    },
    /// A value is outside what the stack takes.
    #[error("{field}: `{value}` is not allowed; allowed is {allowed}")]
    OutOfRange {
        /// Path of the field within the endpoint or the workload.
        field: &'static str,
        /// What was written.
        value: String,
        /// The allowed values, in words.
        allowed: String,
    },
}
