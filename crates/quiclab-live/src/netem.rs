//! `--emulation netem`: links whose queue, loss, rate and delay are the kernel's.
//!
//! Bearers, taps and ends of flows remain quiclab's elements. Only links are replaced, each by a [`KernelLink`]:
//! packets leave this process at its input and return at its output, so that everything around works as with
//! quiclab's links.

mod cake;
mod chain;
mod dualpi2;
mod ethtool;
mod link;
mod marker;
mod plan;
#[cfg(test)]
mod plan_tests;
mod red;
mod rtnetlink;

pub use link::KernelLink;

use crate::check::LinkTransits;
use crate::job::DelayStage;
use crate::timing::MachineClock;
use chain::Chain;
use plan::{PlanError, Request};
use quiclab_core::{Node, Topology};
use quiclab_scenario::Scenario;
use std::collections::BTreeMap;
use std::io;
use thiserror::Error;

/// Error of emulating links in the kernel.
#[derive(Debug, Error)]
pub enum NetemError {
    /// A property of a link has no counterpart.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The stages cannot be set up.
    #[error("links.{link} cannot be set up: {reason}")]
    Chain {
        /// Name of the link.
        link: String,
        /// Reason.
        reason: io::Error,
    },
    /// The kernel cannot be queried for netem.
    #[error("whether the kernel has netem cannot be found out: {0}")]
    Probe(io::Error),
}

/// Links in the kernel by name.
pub struct KernelLinks {
    /// Index among the elements.
    pub elements: BTreeMap<String, usize>,
}

/// Replaces all links of a topology by links in the kernel.
///
/// # Errors
/// If a link cannot be mapped or set up.
pub fn replace_links(
    topology: &mut Topology,
    scenario: &Scenario,
    stage: DelayStage,
    clock: MachineClock,
) -> Result<KernelLinks, NetemError> {
    let netem = chain::has_netem().map_err(NetemError::Probe)?;
    let mut elements = BTreeMap::new();
    for (name, link) in &scenario.links {
        let plan = plan::plan(Request { name, link, stage, netem })?;
        let chain = Chain::new(&plan).map_err(|reason| NetemError::Chain { link: name.clone(), reason })?;
        let element = topology.index(name).expect("links are elements");
        let outside = KernelLink::new(chain, &plan, link, clock);
        *topology.node_mut(element) = Node::Element(Box::new(outside));
        elements.insert(name.clone(), element);
    }
    Ok(KernelLinks { elements })
}

impl KernelLinks {
    /// Returns the link with this index.
    pub fn link(topology: &mut Topology, element: usize) -> &mut KernelLink {
        topology.get_mut(element).expect("links are outside")
    }

    /// Counts the packets that the kernel has dropped, when no more packets enter.
    ///
    /// # Errors
    /// If the kernel cannot be queried.
    pub fn wait_until_drained(&self, topology: &mut Topology) -> io::Result<()> {
        self.elements.values().try_for_each(|&element| Self::link(topology, element).wait_until_drained())
    }

    /// Number of packets that the machine lost on the way into links, or returned too late.
    pub fn lost(&self, topology: &mut Topology) -> u64 {
        self.elements.values().map(|&element| Self::link(topology, element).lost()).sum()
    }

    /// Times at which each packet entered and left, by link.
    pub fn passages(&self, topology: &mut Topology) -> BTreeMap<String, LinkTransits> {
        let take = |(name, &element): (&String, &usize)| {
            (name.clone(), Self::link(topology, element).take_passages())
        };
        self.elements.iter().map(take).collect()
    }
}
