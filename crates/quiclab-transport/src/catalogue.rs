//! The stacks of this crate: none yet.

use quiclab_core::scenario::{EndpointConfig, Workload};
use quiclab_core::{Endpoint, EndpointIdentity, StackError, StackInfo, Time, TransportObserver};

/// All stacks.
#[must_use]
pub fn stacks() -> &'static [StackInfo] {
    &[]
}

/// Checks a configuration without building an endpoint.
///
/// # Errors
/// If the stack is unknown or does not take a value; the message says what is allowed.
pub fn validate(config: &EndpointConfig) -> Result<(), StackError> {
    Err(unknown(config))
}

/// Builds one end of a flow on the stack that `config` names.
///
/// # Errors
/// If the configuration or the workload cannot be run; the message says what is allowed.
pub fn build(
    _identity: EndpointIdentity,
    config: &EndpointConfig,
    _workload: &Workload,
    _start: Time,
    _seed: u64,
    _observer: Option<Box<dyn TransportObserver>>,
) -> Result<Box<dyn Endpoint>, StackError> {
    Err(unknown(config))
}

fn unknown(config: &EndpointConfig) -> StackError {
    StackError::UnknownStack { name: config.stack.clone().unwrap_or_default(), allowed: "none".to_owned() }
}
