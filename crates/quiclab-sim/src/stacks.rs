//! Sources of endpoints: the native stacks, in one catalogue, or an implementation of the caller.

use quiclab_core::bearer::ChooseLink;
use quiclab_core::problem::ensure;
use quiclab_core::tunnel::Carrier;
use quiclab_core::{Endpoint, Problem, StackAbilities};
use quiclab_scenario::Computation;
use quiclab_transport::operations::OperationFunction;
use quiclab_transport::options::EndpointConfig;
use quiclab_transport::{CarrierRequest, CarrierStack, EndOf, EndpointRequest, NativeStack, carrier, stack};
use std::path::Path;

/// A function that a plugin names is not available.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionError {
    /// Name in the scenario.
    pub name: String,
    /// Reason, in words.
    pub reason: String,
    /// Available alternatives.
    pub allowed: String,
}

impl FunctionError {
    fn no_python(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            reason: "functions written in Python run with the Python package only".to_owned(),
            allowed: "no function".to_owned(),
        }
    }
}

/// Creates endpoints.
pub trait Stacks {
    /// The endpoint for `request`.
    ///
    /// # Errors
    /// If the stack does not know an option or its value.
    fn build(&self, request: EndpointRequest<'_>) -> Result<Box<dyn Endpoint>, Problem>;

    /// The carrier for `request`.
    ///
    /// # Errors
    /// If the stack does not know an option or its value, or carries no tunnel: those that come with quiclab
    /// do in every program.
    fn carrier(&self, request: &CarrierRequest<'_>) -> Result<Box<dyn Carrier>, Problem> {
        carrier::find(&carriers(), request.config)?.carrier(request)
    }

    /// The functions that the plugins of one endpoint name, in the same order, with their own state,
    /// independent of other endpoints and earlier runs. Names of files are relative to `base_dir`.
    ///
    /// # Errors
    /// The first one that is not available; without an implementation of this method, any.
    fn functions(
        &self,
        computations: &[Computation],
        base_dir: &Path,
    ) -> Result<Vec<Box<dyn OperationFunction>>, FunctionError> {
        let _ = base_dir;
        match computations.first() {
            None => Ok(Vec::new()),
            Some(first) => Err(FunctionError::no_python(&first.function)),
        }
    }

    /// The function that selects the links of the bearer `bearer`, with its own state.
    ///
    /// # Errors
    /// If it is not available; without an implementation of this method, none is.
    fn splitter(
        &self,
        bearer: &str,
        function: &str,
        base_dir: &Path,
    ) -> Result<Box<dyn ChooseLink>, FunctionError> {
        let _ = (bearer, base_dir);
        Err(FunctionError::no_python(function))
    }
}

#[cfg(feature = "real-stacks")]
use {quiclab_carrier::CARRIERS as REAL_CARRIERS, quiclab_stacks::STACKS as REAL_STACKS};

#[cfg(not(feature = "real-stacks"))]
const REAL_STACKS: &[&dyn NativeStack] = &[];
#[cfg(not(feature = "real-stacks"))]
const REAL_CARRIERS: &[&dyn CarrierStack] = &[];

/// Stacks that a build without the feature `real-stacks` lacks.
const ABSENT: &[&str] = if cfg!(feature = "real-stacks") { &[] } else { &["quinn", "noq"] };

/// All native stacks: those of quiclab-transport, then those of quiclab-stacks.
#[must_use]
pub fn stacks() -> Vec<&'static dyn NativeStack> {
    [quiclab_transport::STACKS, REAL_STACKS].concat()
}

/// The stacks that carry tunnels.
fn carriers() -> Vec<&'static dyn CarrierStack> {
    [quiclab_transport::CARRIERS, REAL_CARRIERS].concat()
}

/// Checks the stack, the profile and the options of an endpoint; returns the abilities of its stack.
///
/// # Errors
/// If the stack is unknown, carries no tunnels where it must, or rejects a value; the message lists the
/// allowed values.
pub fn validate(config: &EndpointConfig, end: EndOf) -> Result<StackAbilities, Problem> {
    let name = config.stack.as_deref().unwrap_or_default();
    ensure(!ABSENT.contains(&name), || {
        let known = stacks().into_iter().map(|stack| stack.info().name);
        Problem::unknown("stack", name, known).because("the stack is not available in this build")
    })?;
    if let EndOf::Tunnel { fixed_windows } = end {
        carrier::find(&carriers(), config)?.validate(config, fixed_windows)?;
    }
    stack::validate(&stacks(), config)
}

/// Creates endpoints of the native stacks.
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeStacks;

impl Stacks for NativeStacks {
    fn build(&self, request: EndpointRequest<'_>) -> Result<Box<dyn Endpoint>, Problem> {
        stack::build(&stacks(), request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiclab_core::StackProtocol;
    use quiclab_transport::options::Workload;

    #[test]
    fn names_are_unique_and_workloads_are_kinds() {
        let mut names: Vec<_> = stacks().iter().map(|stack| stack.info().name).collect();
        assert!(names.starts_with(&["lab-quic", "lab-tcp", "lab-udp"]));
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for info in stacks().into_iter().map(NativeStack::info) {
            assert!(!info.workloads.is_empty(), "{}", info.name);
            for kind in info.workloads {
                assert!(Workload::KINDS.contains(kind), "{kind}");
            }
        }
    }

    #[test]
    fn stacks_carry_tunnels_as_the_catalogue_says() {
        let listed: Vec<_> = carriers().into_iter().map(CarrierStack::name).collect();
        let infos = stacks().into_iter().map(NativeStack::info);
        assert_eq!(infos.filter(|info| info.tunnels).map(|info| info.name).collect::<Vec<_>>(), listed);
    }

    #[test]
    fn every_stack_is_valid_by_itself_and_an_unknown_one_is_told_all() {
        for info in stacks().into_iter().map(NativeStack::info) {
            let config = EndpointConfig { stack: Some(info.name.to_owned()), ..EndpointConfig::default() };
            let found = validate(&config, EndOf::Flow).expect("valid");
            assert_eq!(found.states.is_empty(), info.protocol == StackProtocol::Udp, "{}", info.name);
            let StackAbilities { states, multipath, .. } = info.abilities();
            // noq has several paths only with an option
            assert!(multipath || !found.multipath, "{}", info.name);
            assert_eq!(StackAbilities { states, multipath, ..found }, info.abilities());
        }
        let absent = EndpointConfig { stack: Some("moon".to_owned()), ..EndpointConfig::default() };
        let message = validate(&absent, EndOf::Flow).unwrap_err().to_string();
        for info in stacks().into_iter().map(NativeStack::info) {
            assert!(message.contains(&format!("\"{}\"", info.name)), "{message}");
        }
    }
}
