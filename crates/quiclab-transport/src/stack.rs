//! What a native stack is: a type that implements [`NativeStack`] in a file of its own, and a line in the list of its
//! crate (`STACKS`). Whoever runs scenarios joins the lists.

use crate::error::Error;
use crate::operations::Operations;
use crate::options::{EndpointConfig, Workload};
use quiclab_core::tunnel::{Carrier, CarrierKind};
use quiclab_core::{
    ByteCount, Endpoint, EndpointIdentity, Problem, Role, StackAbilities, StackInfo, Time, TransportObserver,
};

/// A transport compiled into the program, of which endpoints are made.
pub trait NativeStack: Sync {
    /// Its entry in the catalogue: name, abilities, options with defaults and sources.
    fn info(&self) -> &'static StackInfo;

    /// Checks the options of an endpoint; returns what the stack can do with them.
    ///
    /// # Errors
    /// If it does not take a value.
    fn validate(&self, config: &EndpointConfig) -> Result<StackAbilities, Error>;

    /// Builds one end of a flow; [`build`] has checked the operations.
    ///
    /// # Errors
    /// If the options, the workload or the addresses cannot be run.
    fn build(&self, request: EndpointRequest<'_>) -> Result<Box<dyn Endpoint>, Error>;

    /// Builds one end of a tunnel.
    ///
    /// # Errors
    /// If the options cannot be run; without an implementation of this method, always.
    fn carrier(&self, request: &CarrierRequest<'_>) -> Result<Box<dyn Carrier>, Error> {
        let _ = request;
        let name = format!("{:?}", self.info().name);
        Err(Problem::value("stack", name, "a stack that carries tunnels"))
    }
}

/// An endpoint that a run needs.
pub struct EndpointRequest<'a> {
    /// Name, flow, side and addresses.
    pub identity: EndpointIdentity,
    /// Stack and options, resolved.
    pub config: &'a EndpointConfig,
    /// Workload of the flow.
    pub workload: &'a Workload,
    /// When the client connects.
    pub start: Time,
    /// Seed of the run; all random numbers come from streams named after the endpoint.
    pub seed: u64,
    /// Observes the transport and changes nothing.
    pub observer: Option<Box<dyn TransportObserver>>,
    /// Computations that plugins exchange.
    pub operations: Operations,
}

impl<'a> EndpointRequest<'a> {
    /// A request without observer and without exchanged operations.
    #[must_use]
    pub fn new(
        identity: EndpointIdentity,
        config: &'a EndpointConfig,
        workload: &'a Workload,
        start: Time,
        seed: u64,
    ) -> Self {
        Self { identity, config, workload, start, seed, observer: None, operations: Operations::default() }
    }
}

/// The carrier that an end of a tunnel needs.
#[derive(Clone, Debug)]
pub struct CarrierRequest<'a> {
    /// Which end.
    pub role: Role,
    /// One connection, or one for each path.
    pub kind: CarrierKind,
    /// Number of paths.
    pub paths: usize,
    /// Windows of the paths that never change; none: those of the congestion control.
    pub windows: &'a [ByteCount],
    /// Stack and options of the end, resolved.
    pub config: &'a EndpointConfig,
    /// Seed of the run.
    pub seed: u64,
    /// Name of the end, also of its random streams: `<tunnel>.server` or `<tunnel>.client`.
    pub name: &'a str,
}

/// The stack that an endpoint names.
///
/// # Errors
/// If it is not one of `stacks`.
pub fn find(
    stacks: &[&'static dyn NativeStack],
    config: &EndpointConfig,
) -> Result<&'static dyn NativeStack, Error> {
    let name = config.stack.as_deref().unwrap_or_default();
    stacks
        .iter()
        .copied()
        .find(|stack| stack.info().name == name)
        .ok_or_else(|| Problem::unknown("stack", name, stacks.iter().map(|stack| stack.info().name)))
}

/// Checks stack, profile and options of an endpoint; returns what the stack can do with them.
///
/// # Errors
/// If the stack is not one of `stacks` or does not take a value.
pub fn validate(
    stacks: &[&'static dyn NativeStack],
    config: &EndpointConfig,
) -> Result<StackAbilities, Error> {
    find(stacks, config)?.validate(config)
}

/// Builds one end of a flow on the one of `stacks` that it names.
///
/// # Errors
/// If the stack is unknown or does not take an option, the workload, an address or an exchanged operation.
pub fn build(
    stacks: &[&'static dyn NativeStack],
    request: EndpointRequest<'_>,
) -> Result<Box<dyn Endpoint>, Error> {
    let stack = find(stacks, request.config)?;
    request.operations.check(stack.info())?;
    stack.build(request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::STACKS;
    use quiclab_core::ProblemKind;

    #[test]
    fn an_unknown_stack_is_refused_with_the_names_of_all() {
        let config = EndpointConfig { stack: Some("quinn".to_owned()), ..EndpointConfig::default() };
        let problem = validate(STACKS, &config).unwrap_err();
        assert_eq!((problem.path.to_string(), problem.kind), ("stack".to_owned(), ProblemKind::UnknownName));
        assert_eq!(problem.expected, r#""lab-quic", "lab-tcp" or "lab-udp""#);
        assert_eq!(validate(STACKS, &EndpointConfig::default()).unwrap_err().kind, ProblemKind::UnknownName);
    }
}
