//! The route of packets along the wires, for checks: the elements that they reach and traverse.

use super::Scenario;
use super::wiring::Ports;
use quiclab_core::Port;
use quiclab_core::Role;
use quiclab_core::{Direction, FlowId, Selector};
use std::collections::{BTreeMap, BTreeSet};

/// Elements and wires of a scenario, for many walks.
pub(super) struct Graph {
    elements: BTreeMap<String, Ports>,
    /// Sending and receiving end of each flow, server and client of each tunnel.
    ends: Vec<[String; 2]>,
    /// Flow number and peer of each end of a tunnel.
    tunnels: BTreeMap<String, (FlowId, String)>,
    /// Bearer of each of its ends, and whether packets enter it there.
    bearers: BTreeMap<String, (String, bool)>,
    /// Element and index of the wire behind each output, for all packets (`None`) or some.
    next: BTreeMap<(String, Port, Option<Selector>), (String, usize)>,
}

/// Reason why packets do not reach their peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unreachable {
    /// No wire leads from this output.
    Open { element: String, port: Port },
    /// Packets reach an endpoint that is not their peer, over the wire with this index.
    Stranger { element: String, wire: usize },
    /// Packets leave a bearer that they are not in, enter one inside another, or end inside one, at this
    /// element, over the wire with this index.
    Unpaired { element: String, wire: usize },
    /// Packets loop through these elements (the first is also the last); the wire with this index closes the
    /// loop.
    Loop { elements: Vec<String>, wire: usize },
}

/// An element on a route, the next of its outputs to follow, and the first that is not followed.
struct RouteStep {
    element: String,
    output: usize,
    end: usize,
}

impl Graph {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let wires = scenario.wiring().into_iter().enumerate();
        let ends =
            |flow: &String| [Role::Server, Role::Client].map(|role| Scenario::endpoint_name(flow, role));
        let tunnel_ends =
            |tunnel: &String| [Role::Server, Role::Client].map(|role| Scenario::tunnel_end(tunnel, role));
        Self {
            elements: scenario.elements(),
            ends: scenario.flows.keys().map(ends).chain(scenario.tunnels.keys().map(tunnel_ends)).collect(),
            tunnels: scenario
                .tunnels
                .keys()
                .flat_map(|name| {
                    let id = scenario.tunnel_id(name).expect("it is one of them");
                    let [server, client] = tunnel_ends(name);
                    [(server.clone(), (id, client.clone())), (client, (id, server))]
                })
                .collect(),
            bearers: scenario
                .bearers
                .keys()
                .flat_map(|name| {
                    let (sender, receiver) = (Scenario::bearer_ingress(name), Scenario::bearer_egress(name));
                    [(sender, (name.clone(), true)), (receiver, (name.clone(), false))]
                })
                .collect(),
            next: wires
                .map(|(index, wire)| ((wire.from.0, wire.from.1, wire.only), (wire.to.0, index)))
                .collect(),
        }
    }

    /// Elements that packets of one flow and direction pass on all paths and branches, endpoints included.
    pub(super) fn passed(&self, flow: FlowId, direction: Direction) -> Result<BTreeSet<String>, Unreachable> {
        let [sender, receiver] = &self.ends[flow.0 as usize];
        let (first, last) = match direction {
            Direction::Down => (sender, receiver),
            Direction::Up => (receiver, sender),
        };
        let mut passed = BTreeSet::new();
        for (path, output) in (0..).zip(self.first_output(first, flow)..self.outputs(first, flow)) {
            let step = RouteStep { element: first.clone(), output, end: output + 1 };
            passed.extend(self.passed_from(step, last, Selector { flow, direction, path: Some(path) })?);
        }
        Ok(passed)
    }

    /// Elements that packets pass after an output: a depth-first search along the wires.
    fn passed_from(
        &self,
        first: RouteStep,
        last: &str,
        packets: Selector,
    ) -> Result<BTreeSet<String>, Unreachable> {
        let flow = packets.flow;
        let mut passed = BTreeSet::from([first.element.clone()]);
        let mut way = vec![first];
        while let Some(step) = way.last_mut() {
            if step.output >= step.end {
                way.pop();
                continue;
            }
            let port = Port(step.output as u16);
            step.output += 1;
            let from = step.element.clone();
            if let Some((_, far)) = self.tunnels.get(&from).filter(|(own, _)| *own != flow)
                && self.behind(&from, port, packets).is_none()
            {
                // they enter here and leave at the peer: the outer packets have their own routes
                if passed.insert(far.clone()) {
                    way.push(RouteStep { element: far.clone(), output: 0, end: self.outputs(far, flow) });
                }
                continue;
            }
            let Some((element, wire)) = self.behind(&from, port, packets) else {
                return Err(Unreachable::Open { element: from, port });
            };
            if !self.pairs(&way, element, last) {
                return Err(Unreachable::Unpaired { element: element.clone(), wire: *wire });
            }
            if element == last {
                passed.insert(element.clone());
            } else if let Some(start) = way.iter().position(|step| step.element == *element) {
                let circle = way[start..].iter().map(|step| &step.element).chain([element]);
                return Err(Unreachable::Loop { elements: circle.cloned().collect(), wire: *wire });
            } else if self.is_strange(element, flow) {
                return Err(Unreachable::Stranger { element: element.clone(), wire: *wire });
            } else if passed.insert(element.clone()) {
                way.push(self.step(element, flow));
            }
        }
        Ok(passed)
    }

    /// Whether it is an end of another flow; packets other than its own may enter a tunnel.
    fn is_strange(&self, element: &str, flow: FlowId) -> bool {
        let owner = self.tunnels.get(element).map(|(own, _)| *own);
        let inside = owner.is_some() && !self.tunnels.values().any(|(own, _)| *own == flow);
        !inside && self.ends.iter().flatten().any(|end| end == element)
    }

    fn step(&self, element: &str, flow: FlowId) -> RouteStep {
        let (output, end) = (self.first_output(element, flow), self.outputs(element, flow));
        RouteStep { element: element.to_owned(), output, end }
    }

    /// The first output of `element` that packets of `flow` take: outer packets of a tunnel leave at those of
    /// its paths.
    fn first_output(&self, element: &str, flow: FlowId) -> usize {
        usize::from(self.tunnels.get(element).is_some_and(|(own, _)| *own == flow))
    }

    /// Number of outputs that packets of `flow` may take.
    fn outputs(&self, element: &str, flow: FlowId) -> usize {
        match self.tunnels.get(element) {
            Some((own, _)) if *own != flow => 1,
            _ => self.elements.get(element).map_or(0, |ports| ports.outputs),
        }
    }

    /// Whether packets that arrived along `way` may reach `element`: each bearer is left by its own receiving
    /// end before another is entered or the route ends.
    fn pairs(&self, way: &[RouteStep], element: &str, last: &str) -> bool {
        let inside = way.iter().filter_map(|step| self.bearers.get(&step.element)).next_back();
        let inside = inside.filter(|(_, enters)| *enters).map(|(bearer, _)| bearer);
        match self.bearers.get(element) {
            Some((_, true)) => inside.is_none(),
            Some((bearer, false)) => inside == Some(bearer),
            None => element != last || inside.is_none(),
        }
    }

    fn behind(&self, element: &str, port: Port, packets: Selector) -> Option<&(String, usize)> {
        let behind = |packets| self.next.get(&(element.to_owned(), port, packets));
        let on_any_path = Selector { path: None, ..packets };
        behind(Some(packets)).or_else(|| behind(Some(on_any_path))).or_else(|| behind(None))
    }
}
