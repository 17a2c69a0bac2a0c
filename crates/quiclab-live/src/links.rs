//! Links of a run, independent of their emulation: set up before it, checked after it.

use crate::check::LinkTransits;
use crate::job::{Emulation, Job};
use crate::meter::LinkMeter;
use crate::netem::{KernelLinks, NetemError, replace_links};
use crate::timing::MachineClock;
use quiclab_core::{PacketObserver, Topology};
use quiclab_scenario::Scenario;
use quiclab_sim::Simulation;
use std::collections::BTreeMap;
use std::io;

/// The links of a run.
pub enum Links {
    /// Links that are quiclab's elements, and their meter.
    Inside {
        /// Index among the elements by name.
        elements: BTreeMap<String, usize>,
        /// Meter of these links.
        meter: LinkMeter,
    },
    /// Links in the kernel.
    KernelLinks(KernelLinks),
}

impl Links {
    /// Sets up the links of the job; `topology` has quiclab's elements for them.
    ///
    /// # Errors
    /// If the kernel cannot emulate one.
    pub fn new(
        job: &Job,
        scenario: &Scenario,
        topology: &mut Topology,
        clock: MachineClock,
    ) -> Result<Self, NetemError> {
        if job.emulation == Emulation::Netem {
            return replace_links(topology, scenario, job.delay_stage, clock).map(Self::KernelLinks);
        }
        let index = |name: &String| (name.clone(), topology.index(name).expect("links are elements"));
        let elements: BTreeMap<_, _> = scenario.links.keys().map(index).collect();
        let meter = LinkMeter::new(clock, elements.values().copied());
        Ok(Self::Inside { elements, meter })
    }

    /// Observer of the packets, if one is needed.
    #[must_use]
    pub fn observers(&self) -> Vec<Box<dyn PacketObserver>> {
        match self {
            Self::Inside { meter, .. } => vec![Box::new(meter.share())],
            Self::KernelLinks(_) => Vec::new(),
        }
    }

    /// Indices of the links that deliver packets from outside the event loop.
    pub fn outside(&self) -> impl Iterator<Item = &usize> {
        match self {
            Self::Inside { .. } => None,
            Self::KernelLinks(outside) => Some(outside.elements.values()),
        }
        .into_iter()
        .flatten()
    }

    /// Number of packets that the machine lost on the way into the kernel's links, or returned too late.
    pub fn lost(&self, simulation: &mut Simulation) -> u64 {
        match self {
            Self::Inside { .. } => 0,
            Self::KernelLinks(outside) => outside.lost(simulation.topology_mut()),
        }
    }

    /// Records the counters of the kernel, when no more packets enter.
    ///
    /// # Errors
    /// If the kernel cannot be queried.
    pub fn wait_until_drained(&self, simulation: &mut Simulation) -> io::Result<()> {
        match self {
            Self::Inside { .. } => Ok(()),
            Self::KernelLinks(outside) => outside.wait_until_drained(simulation.topology_mut()),
        }
    }

    /// Times at which packets entered and left, by link.
    pub fn passages(&self, simulation: &mut Simulation) -> BTreeMap<String, LinkTransits> {
        match self {
            Self::Inside { elements, meter } => {
                elements.iter().map(|(name, &element)| (name.clone(), meter.take(element))).collect()
            }
            Self::KernelLinks(outside) => outside.passages(simulation.topology_mut()),
        }
    }
}
