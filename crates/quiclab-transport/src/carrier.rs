//! Stacks that carry tunnels: each is a type that implements [`CarrierStack`], and a line in the list of its
//! crate (`CARRIERS`). The runner of scenarios joins the lists, as it does those of stacks.

use crate::error::Error;
use crate::options::EndpointConfig;
use quiclab_core::tunnel::{Carrier, CarrierKind};
use quiclab_core::{ByteCount, Problem, Role};

/// Stack of which the ends of tunnels are made.
pub trait CarrierStack: Sync {
    /// Name in the catalogue of stacks.
    fn name(&self) -> &'static str;

    /// Checks the values of an end of a tunnel beyond the checks of a flow. `fixed_windows`: whether its
    /// paths have constant windows.
    ///
    /// # Errors
    /// If it does not support a value.
    fn validate(&self, config: &EndpointConfig, fixed_windows: bool) -> Result<(), Error>;

    /// Builds one end of a tunnel.
    ///
    /// # Errors
    /// If the options cannot be run.
    fn carrier(&self, request: &CarrierRequest<'_>) -> Result<Box<dyn Carrier>, Error>;
}

/// Request for the carrier of an end of a tunnel.
#[derive(Clone, Debug)]
pub struct CarrierRequest<'a> {
    /// Role of the end.
    pub role: Role,
    /// One connection, or one for each path.
    pub kind: CarrierKind,
    /// Number of paths.
    pub paths: usize,
    /// Constant windows of the paths; empty: those of the congestion control.
    pub windows: &'a [ByteCount],
    /// Maximum datagram sizes of the paths, where they differ; empty: those of the options.
    pub datagram_sizes: &'a [ByteCount],
    /// Stack and options of the end, resolved.
    pub config: &'a EndpointConfig,
    /// Seed of the run.
    pub seed: u64,
    /// Name of the end, also of its random streams: `<tunnel>.server` or `<tunnel>.client`.
    pub name: &'a str,
}

/// Object that an endpoint is an end of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndOf {
    /// A flow.
    Flow,
    /// A tunnel.
    Tunnel {
        /// Whether its paths have constant windows.
        fixed_windows: bool,
    },
}

/// Finds the stack in `carriers` that an endpoint names.
///
/// # Errors
/// If it is none of them.
pub fn find(
    carriers: &[&'static dyn CarrierStack],
    config: &EndpointConfig,
) -> Result<&'static dyn CarrierStack, Error> {
    let name = config.stack.as_deref().unwrap_or_default();
    let found = carriers.iter().copied().find(|carrier| carrier.name() == name);
    found.ok_or_else(|| Problem::unknown("stack", name, carriers.iter().map(|carrier| carrier.name())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CARRIERS;
    use quiclab_core::ProblemKind;

    #[test]
    fn a_stack_without_tunnels_is_refused_with_the_names_of_those_that_carry_them() {
        let config = EndpointConfig { stack: Some("lab-tcp".to_owned()), ..EndpointConfig::default() };
        let problem = find(CARRIERS, &config).err().expect("lab-tcp carries none");
        assert_eq!((problem.kind, &*problem.expected), (ProblemKind::UnknownName, "\"lab-quic\""));
    }
}
