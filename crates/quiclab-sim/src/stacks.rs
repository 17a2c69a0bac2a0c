//! Where endpoints come from: the native stacks, in one catalogue, or a caller's own.

use quiclab_core::scenario::{EndpointConfig, Workload};
use quiclab_core::{
    Endpoint, EndpointIdentity, StackAbilities, StackError, StackInfo, Time, TransportObserver,
};

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
}

/// Makes endpoints.
pub trait Stacks {
    /// The endpoint for `request`.
    ///
    /// # Errors
    /// When the stack does not know an option or its value.
    fn build(&self, request: EndpointRequest<'_>) -> Result<Box<dyn Endpoint>, StackError>;
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
pub fn validate(config: &EndpointConfig) -> Result<StackAbilities, StackError> {
    let info = find(config)?;
    if is_transport(info) { quiclab_transport::validate(config) } else { quiclab_stacks::validate(config) }?;
    Ok(info.abilities())
}

/// The native stack that an endpoint names.
pub(crate) fn find(config: &EndpointConfig) -> Result<&'static StackInfo, StackError> {
    let name = config.stack.as_deref().unwrap_or_default();
    stacks().into_iter().find(|info| info.name == name).ok_or_else(|| {
        let names: Vec<_> = stacks().iter().map(|info| format!("`{}`", info.name)).collect();
        StackError::UnknownStack { name: name.to_owned(), allowed: names.join(", ") }
    })
}

fn is_transport(info: &StackInfo) -> bool {
    quiclab_transport::stacks().iter().any(|own| own.name == info.name)
}

/// Makes endpoints of the native stacks.
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeStacks;

impl Stacks for NativeStacks {
    fn build(&self, request: EndpointRequest<'_>) -> Result<Box<dyn Endpoint>, StackError> {
        let EndpointRequest { identity, config, workload, start, seed, observer } = request;
        if is_transport(find(config)?) {
            quiclab_transport::build(identity, config, workload, start, seed, observer)
        } else {
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
                assert!(
                    ["download", "request_response", "datagrams", "ping", "page"].contains(kind),
                    "{kind}"
                );
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
            assert!(message.contains(&format!("`{}`", info.name)), "{message}");
        }
    }
}
