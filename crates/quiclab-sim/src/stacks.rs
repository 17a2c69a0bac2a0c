//! Where endpoints come from: the native stacks, in one catalogue, or a caller's own.

use quiclab_core::tunnel::Carrier;
use quiclab_core::{
    Duration, Endpoint, EndpointIdentity, Problem, Role, StackAbilities, StackInfo, Time, TransportObserver,
};
use quiclab_scenario::{Computation, Tunnel};
use quiclab_stacks::carrier::{CarrierSetup, NoqCarrier, PathConfig};
use quiclab_transport::operations::{OperationFunction, Operations};
use quiclab_transport::options::{CongestionControl, EndpointConfig, Workload};
use quiclab_transport::quic::{CarrierConfig, LabCarrier};
use std::path::Path;

/// An endpoint that a run needs.
pub struct EndpointRequest<'a> {
    /// Name, flow, side and addresses.
    pub identity: EndpointIdentity,
    /// Stack and options, resolved.
    pub config: &'a EndpointConfig,
    /// What is transferred.
    pub workload: &'a Workload,
    /// When the client starts.
    pub start: Time,
    /// Seed of the run.
    pub seed: u64,
    /// Who is told what the transport does.
    pub observer: Option<Box<dyn TransportObserver>>,
    /// Computations that plugins exchange.
    pub operations: Operations,
}

/// The carrier that an end of a tunnel needs.
pub struct CarrierRequest<'a> {
    /// The tunnel.
    pub tunnel: &'a Tunnel,
    /// Which end.
    pub role: Role,
    /// Name of the end: `<tunnel>.server` or `<tunnel>.client`.
    pub name: &'a str,
    /// Seed of the run.
    pub seed: u64,
}

/// A function that a plugin names cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionProblem {
    /// Its name, as the scenario has it.
    pub name: String,
    /// Why not, in words.
    pub reason: String,
    /// What could be named instead.
    pub allowed: String,
}

/// Makes endpoints.
pub trait Stacks {
    /// The endpoint for `request`.
    ///
    /// # Errors
    /// When the stack does not know an option or its value.
    fn build(&self, request: EndpointRequest<'_>) -> Result<Box<dyn Endpoint>, Problem>;

    /// The carrier for `request`.
    ///
    /// # Errors
    /// When the stack does not know an option or its value, or carries no tunnel: those that come with quiclab
    /// do it in every program.
    fn carrier(&self, request: &CarrierRequest<'_>) -> Result<Box<dyn Carrier>, Problem> {
        native_carrier(request)
    }

    /// The functions that the plugins of one endpoint name, in the same order, with a state of their own:
    /// nothing that another endpoint or an earlier run has left. Names of files start from `base_dir`.
    ///
    /// # Errors
    /// The first one that cannot be had; without an implementation of this method, that is any.
    fn functions(
        &self,
        computations: &[Computation],
        base_dir: &Path,
    ) -> Result<Vec<Box<dyn OperationFunction>>, FunctionProblem> {
        let _ = base_dir;
        match computations.first() {
            None => Ok(Vec::new()),
            Some(first) => Err(FunctionProblem {
                name: first.function.clone(),
                reason: "functions written in Python run with the Python package only".to_owned(),
                allowed: "no function".to_owned(),
            }),
        }
    }
}

/// All native stacks: those of quiclab-transport, then those of quiclab-stacks.
#[must_use]
pub fn stacks() -> Vec<&'static StackInfo> {
    quiclab_transport::stacks().iter().chain(quiclab_stacks::stacks()).collect()
}

/// Checks the stack, the profile and the options of an endpoint; returns what its stack can do.
///
/// # Errors
/// If the stack is unknown or does not take a value; the message says what is allowed.
pub fn validate(config: &EndpointConfig) -> Result<StackAbilities, Problem> {
    let info = find(config)?;
    let mut abilities = info.abilities();
    if is_transport(info) {
        quiclab_transport::validate(config)?;
        abilities.multipath = quiclab_transport::has_multipath(config)?;
    } else {
        quiclab_stacks::validate(config)?;
    }
    Ok(abilities)
}

/// The native stack that an endpoint names.
pub(crate) fn find(config: &EndpointConfig) -> Result<&'static StackInfo, Problem> {
    let name = config.stack.as_deref().unwrap_or_default();
    stacks()
        .into_iter()
        .find(|info| info.name == name)
        .ok_or_else(|| Problem::unknown("stack", name, stacks().iter().map(|info| info.name)))
}

fn native_carrier(request: &CarrierRequest<'_>) -> Result<Box<dyn Carrier>, Problem> {
    let CarrierRequest { tunnel, role, name, seed } = *request;
    let options = &tunnel.end(role);
    if is_transport(find(options)?) {
        let (kind, paths, windows) = (tunnel.carrier, tunnel.paths.len(), &tunnel.windows);
        let config = CarrierConfig { role, kind, paths, windows, options, seed, name };
        return Ok(Box::new(LabCarrier::new(&config)?));
    }
    let path = |index: usize| PathConfig {
        congestion_control: options.congestion_control.unwrap_or(CongestionControl::Cubic),
        window: tunnel.windows.get(index).copied(),
        mtu: (options.datagram_size.unwrap_or_default().bytes() + HEADERS) as u16,
    };
    Ok(Box::new(NoqCarrier::new(CarrierSetup {
        role,
        kind: tunnel.carrier,
        paths: (0..tunnel.paths.len()).map(path).collect(),
        start: Time::ZERO,
        idle_timeout: Duration::from_secs(30),
        keep_alive: Duration::from_secs(1),
        seed,
        name: name.to_owned(),
    })))
}

/// IPv4 and UDP header in bytes.
const HEADERS: u64 = 28;

fn is_transport(info: &StackInfo) -> bool {
    quiclab_transport::stacks().iter().any(|own| own.name == info.name)
}

/// Makes endpoints of the native stacks.
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeStacks;

impl Stacks for NativeStacks {
    fn build(&self, request: EndpointRequest<'_>) -> Result<Box<dyn Endpoint>, Problem> {
        let EndpointRequest { identity, config, workload, start, seed, observer, operations } = request;
        let info = find(config)?;
        if is_transport(info) {
            quiclab_transport::build(identity, config, workload, start, seed, observer, operations)
        } else {
            operations.check(info)?;
            quiclab_stacks::build(identity, config, workload, start, seed, observer)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_workloads_are_kinds() {
        let mut names: Vec<_> = stacks().iter().map(|info| info.name).collect();
        assert!(names.ends_with(&["quinn", "noq"]));
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for info in stacks() {
            assert!(!info.workloads.is_empty(), "{}", info.name);
            for kind in info.workloads {
                assert!(Workload::KINDS.contains(kind), "{kind}");
            }
        }
    }

    #[test]
    fn every_stack_is_valid_by_itself_and_an_unknown_one_is_told_all() {
        for info in stacks() {
            let config = EndpointConfig { stack: Some(info.name.to_owned()), ..EndpointConfig::default() };
            assert_eq!(validate(&config), Ok(info.abilities()));
        }
        let absent = EndpointConfig { stack: Some("moon".to_owned()), ..EndpointConfig::default() };
        let message = validate(&absent).unwrap_err().to_string();
        for info in stacks() {
            assert!(message.contains(&format!("\"{}\"", info.name)), "{message}");
        }
    }
}
