//! Native stacks: each is a type that implements [`NativeStack`] in a file of its own, and a line in the list
//! of its crate (`STACKS`). The runner of scenarios joins the lists.

use crate::error::Error;
use crate::operations::Operations;
use crate::options::{EndpointConfig, PathPlan, Workload};
use quiclab_core::problem::ensure;
use quiclab_core::{Endpoint, EndpointIdentity, Problem, StackAbilities, StackInfo, Time, TransportObserver};

/// Transport compiled into the program, of which endpoints are made.
pub trait NativeStack: Sync {
    /// Entry in the catalogue: name, abilities, options with defaults and sources.
    fn info(&self) -> &'static StackInfo;

    /// Checks the values of an endpoint's options, which are all in the catalogue; returns the properties of
    /// the stack with them.
    ///
    /// # Errors
    /// If it does not support a value.
    fn validate(&self, config: &EndpointConfig) -> Result<StackAbilities, Error>;

    /// Builds one end of a flow; [`build`] has checked the operations.
    ///
    /// # Errors
    /// If the options, the workload or the addresses cannot be run.
    fn build(&self, request: EndpointRequest<'_>) -> Result<Box<dyn Endpoint>, Error>;

    /// Warning for readers of the results of a sender with these options, in a sentence that begins with the
    /// stack.
    fn warning(&self, config: &EndpointConfig) -> Option<String> {
        let _ = config;
        None
    }

    /// Alternative to the option `option`, which is not in the catalogue; empty: none.
    fn instead(&self, option: &str) -> &'static str {
        let _ = option;
        ""
    }
}

/// Request for an endpoint of a run.
pub struct EndpointRequest<'a> {
    /// Name, flow, side and addresses.
    pub identity: EndpointIdentity,
    /// Stack and options, resolved.
    pub config: &'a EndpointConfig,
    /// Workload of the flow.
    pub workload: &'a Workload,
    /// Time at which the client connects.
    pub start: Time,
    /// Seed of the run; all random numbers come from streams named after the endpoint.
    pub seed: u64,
    /// Observer of the transport, which changes nothing.
    pub observer: Option<Box<dyn TransportObserver>>,
    /// Operations that plugins replace.
    pub operations: Operations,
    /// Plan of the client for its paths.
    pub path_plan: PathPlan,
}

impl<'a> EndpointRequest<'a> {
    /// Makes a request without observer and without replaced operations.
    #[must_use]
    pub fn new(
        identity: EndpointIdentity,
        config: &'a EndpointConfig,
        workload: &'a Workload,
        start: Time,
        seed: u64,
    ) -> Self {
        let (operations, path_plan) = (Operations::default(), PathPlan::default());
        Self { identity, config, workload, start, seed, observer: None, operations, path_plan }
    }
}

/// Reason why a stack of this crate has no choice of `controller`.
pub(crate) const CONTROLLER: &str = "it chooses the congestion control of real stacks";

/// Finds the stack that an endpoint names.
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

/// Checks stack, profile and options of an endpoint; returns the properties of the stack with them.
///
/// # Errors
/// If the stack is not one of `stacks`, or does not support an option or its value.
pub fn validate(
    stacks: &[&'static dyn NativeStack],
    config: &EndpointConfig,
) -> Result<StackAbilities, Error> {
    let stack = find(stacks, config)?;
    check_options(stack, config)?;
    stack.validate(config)
}

/// Checks that the options set are in the catalogue of a stack.
fn check_options(stack: &dyn NativeStack, config: &EndpointConfig) -> Result<(), Error> {
    let info = stack.info();
    let has = |option: &str| {
        let mut listed = info.options.iter().filter_map(|info| info.option);
        listed.any(|listed| listed.split('.').next() == Some(option))
    };
    for option in config.set_options().keys() {
        match config.profile.as_deref().filter(|_| option == "profile") {
            Some(profile) => {
                ensure(!info.profiles.is_empty(), || Problem::no_profiles(info.name, profile))?;
            }
            None => ensure(has(option), || {
                Problem::unsupported(option.as_str(), info.name, stack.instead(option))
            })?,
        }
    }
    Ok(())
}

/// Builds one end of a flow on the stack in `stacks` that it names.
///
/// # Errors
/// If the stack is unknown or does not support an option, the workload, an address or a replaced operation.
pub fn build(
    stacks: &[&'static dyn NativeStack],
    request: EndpointRequest<'_>,
) -> Result<Box<dyn Endpoint>, Error> {
    let stack = find(stacks, request.config)?;
    check_options(stack, request.config)?;
    request.operations.check(stack.info())?;
    stack.build(request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::STACKS;
    use crate::options::{Controller, Http2Options, QuicOptions, TcpOptions};
    use quiclab_core::{ByteCount, ProblemKind};

    #[test]
    fn an_unknown_stack_is_refused_with_the_names_of_all() {
        let config = EndpointConfig { stack: Some("quinn".to_owned()), ..EndpointConfig::default() };
        let problem = validate(STACKS, &config).unwrap_err();
        assert_eq!((problem.path.to_string(), problem.kind), ("stack".to_owned(), ProblemKind::UnknownName));
        assert_eq!(problem.expected, r#""lab-quic", "lab-tcp" or "lab-udp""#);
        let unnamed = validate(STACKS, &EndpointConfig::default());
        assert_eq!(unnamed.unwrap_err().kind, ProblemKind::UnknownName);
    }

    /// Path and kind of the problem with an endpoint.
    fn problem(stack: &str, change: impl FnOnce(&mut EndpointConfig)) -> (String, ProblemKind) {
        let mut config = EndpointConfig { stack: Some(stack.to_owned()), ..EndpointConfig::default() };
        change(&mut config);
        let problem = validate(STACKS, &config).expect_err("it is to be rejected");
        (problem.path.to_string(), problem.kind)
    }

    #[test]
    fn options_that_a_stack_does_not_have_are_refused() {
        use ProblemKind::Unsupported;
        let size = ByteCount::from_bytes(1200);
        for (found, path) in [
            (problem("lab-tcp", |config| config.datagram_size = Some(size)), "datagram_size"),
            (problem("lab-tcp", |config| config.packet_threshold = Some(3)), "packet_threshold"),
            (problem("lab-tcp", |config| config.controller = Some(Controller::Quiclab)), "controller"),
            (problem("lab-tcp", |config| config.quic = Some(QuicOptions::default())), "quic"),
            (problem("lab-quic", |config| config.tcp = Some(TcpOptions::default())), "tcp"),
            (problem("lab-quic", |config| config.http2 = Some(Http2Options::default())), "http2"),
            (problem("lab-quic", |config| config.controller = Some(Controller::Quiclab)), "controller"),
            (problem("lab-udp", |config| config.tcp = Some(TcpOptions::default())), "tcp"),
        ] {
            assert_eq!(found, (path.to_owned(), Unsupported));
        }
        let profile = problem("lab-udp", |config| config.profile = Some("linux-7".to_owned()));
        assert_eq!(profile.0, "profile");
    }
}
