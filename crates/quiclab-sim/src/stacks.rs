//! Where endpoints come from: the native stacks, or a caller's own.

use quiclab_core::scenario::{EndpointConfig, Workload};
use quiclab_core::{Endpoint, EndpointIdentity, Time, TransportObserver};

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
    fn build(&self, request: EndpointRequest<'_>) -> Result<Box<dyn Endpoint>, quiclab_stacks::StackError>;
}

/// The stacks of quiclab-stacks.
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeStacks;

impl Stacks for NativeStacks {
    fn build(&self, request: EndpointRequest<'_>) -> Result<Box<dyn Endpoint>, quiclab_stacks::StackError> {
        let EndpointRequest { identity, config, workload, start, seed, observer } = request;
        quiclab_stacks::build(identity, config, workload, start, seed, observer)
    }
}
