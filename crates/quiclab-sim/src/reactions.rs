//! Events of a scenario: detection of their causes, and the resulting changes of links.
//!
//! A change at a time precedes all other events at that instant. After each event at an endpoint, the causes
//! that observe it are checked; the resulting changes are made at the same instant, before the next event of
//! the run. Thus a change is a function of scenario and seed, as everything else.

use crate::event_loop::{Simulation, SimulationError};
use crate::result::{ChangeRecord, seconds};
use quiclab_core::{Link, LinkState, RecoveryState, Time, Topology};
use quiclab_scenario::{Cause, NetworkEvent, Scenario};
use std::collections::BTreeMap;

/// The events of a run.
pub(crate) struct Reactions {
    events: Vec<NetworkEvent>,
    /// Index of each link of each event in the topology.
    links: Vec<Vec<usize>>,
    /// Changes to make or to end, in the order of time, then of scheduling.
    due: BTreeMap<(Time, u64), Step>,
    scheduled: u64,
    /// Number of the next change.
    number: u64,
    /// Causes that observe endpoints.
    watches: Vec<Watch>,
    log: Vec<ChangeRecord>,
}

/// A change that begins or ends.
#[derive(Clone, Copy, Debug)]
struct Step {
    event: usize,
    /// Number of the change that ends; `None` if a change begins.
    ends: Option<u64>,
}

/// State of a cause that observes an endpoint.
struct Watch {
    event: usize,
    /// Index of the endpoint in the topology.
    element: usize,
    /// Recovery state at the previous check; `None` before the first.
    before: Option<RecoveryState>,
    /// Number of occurrences.
    count: u64,
    /// Whether it cannot occur any more.
    over: bool,
}

impl Reactions {
    /// Creates the events of `scenario`, whose flows end at these elements of `topology`.
    pub(crate) fn new(
        scenario: &Scenario,
        topology: &Topology,
        senders: &[usize],
        receivers: &[usize],
    ) -> Self {
        let index = |name: &String| topology.index(name).expect("links of a valid scenario are elements");
        let links = scenario.events.iter().map(|event| event.links.iter().map(index).collect()).collect();
        let mut reactions = Self {
            events: scenario.events.clone(),
            links,
            due: BTreeMap::new(),
            scheduled: 0,
            number: 0,
            watches: Vec::new(),
            log: Vec::new(),
        };
        let flow = |name: &String| scenario.flows.keys().position(|known| known == name);
        for (event, declared) in scenario.events.iter().enumerate() {
            let element = match &declared.when {
                Cause::Time { at } => {
                    reactions.schedule(Time::ZERO + *at, Step { event, ends: None });
                    continue;
                }
                Cause::State { flow: name, .. } => flow(name).map(|flow| senders[flow]),
                Cause::Delivered { flow: name, .. } => flow(name).map(|flow| receivers[flow]),
            };
            let element = element.expect("flows of a valid scenario exist");
            reactions.watches.push(Watch { event, element, before: None, count: 0, over: false });
        }
        reactions
    }

    /// Time of the next change.
    pub(crate) fn next(&self) -> Option<Time> {
        self.due.first_key_value().map(|((at, _), _)| *at)
    }

    /// Changes made, in the order of time.
    pub(crate) fn into_log(self) -> Vec<ChangeRecord> {
        self.log
    }

    /// Makes the next change, which is due.
    pub(crate) fn make_next(&mut self, simulation: &mut Simulation) -> Result<(), SimulationError> {
        let Some(((at, _), step)) = self.due.pop_first() else { return Ok(()) };
        self.make(simulation, at, step)
    }

    /// Checks the causes that observe `element`, after an event there.
    pub(crate) fn happened(
        &mut self,
        simulation: &mut Simulation,
        element: usize,
    ) -> Result<(), SimulationError> {
        for index in 0..self.watches.len() {
            if self.watches[index].element == element && self.comes_about(simulation, index) {
                let step = Step { event: self.watches[index].event, ends: None };
                self.make(simulation, simulation.now(), step)?;
            }
        }
        Ok(())
    }

    /// Whether the cause of watch `index` occurs now.
    fn comes_about(&mut self, simulation: &mut Simulation, index: usize) -> bool {
        let Watch { event, element, over, .. } = self.watches[index];
        let Some(endpoint) = simulation.topology_mut().node_mut(element).endpoint_mut().filter(|_| !over)
        else {
            return false;
        };
        let watch = &mut self.watches[index];
        match &self.events[event].when {
            Cause::Time { .. } => false,
            Cause::Delivered { size, .. } => {
                watch.over = endpoint.progress().delivered_bytes >= size.bytes();
                watch.over
            }
            Cause::State { state, occurrence, .. } => {
                let Some(now) = endpoint.recovery() else { return false };
                let before = watch.before.replace(now);
                if !before.is_some_and(|before| now.has_entered(state, &before)) {
                    return false;
                }
                watch.count += 1;
                watch.over = *occurrence == Some(watch.count);
                occurrence.is_none() || watch.over
            }
        }
    }

    fn schedule(&mut self, at: Time, step: Step) {
        self.due.insert((at, self.scheduled), step);
        self.scheduled += 1;
    }

    fn make(&mut self, simulation: &mut Simulation, now: Time, step: Step) -> Result<(), SimulationError> {
        let event = &self.events[step.event];
        let number = step.ends.unwrap_or(self.number);
        let change = step.ends.is_none().then(|| event.change());
        for (place, &element) in self.links[step.event].iter().enumerate() {
            let link = simulation.topology_mut().get_mut::<Link>(element).expect("its links are links");
            let LinkState { rate, delay, loss, up } = link.change(now, number, change);
            self.log.push(ChangeRecord {
                time_s: seconds(now),
                event: step.event,
                begins: step.ends.is_none(),
                link: event.links[place].clone(),
                rate_mbps: rate.map(quiclab_core::DataRate::as_mbps_f64),
                delay_ms: delay.as_ms_f64(),
                loss: loss.value(),
                up,
            });
            simulation.force_wake(element, now)?;
        }
        if step.ends.is_none() {
            self.number += 1;
            if let Some(duration) = event.duration {
                self.schedule(now + duration, Step { event: step.event, ends: Some(number) });
            }
        }
        Ok(())
    }
}
