//! Wires stated explicitly: they connect existing elements, and every packet reaches its peer.
//!
//! A cycle is rejected even if it contains links with a rate or a delay: an element sends all packets of one
//! flow, direction and path the same way, so a packet that passes twice never arrives.

use super::super::graph::{Graph, Unreachable};
use super::super::wiring::{Ports, WireFault};
use super::super::{Scenario, WireDirection};
use super::{Check, about, ensure, field, quoted, undefined};
use quiclab_core::{Direction, FieldPath, FlowId, Port, Problem, Selector};
use std::collections::BTreeMap;

pub(super) fn check(scenario: &Scenario) -> Check {
    if scenario.wires.is_empty() {
        return Ok(()); // derived from routes, which have been checked
    }
    let elements = scenario.elements();
    for (index, wire) in scenario.wires.iter().enumerate() {
        let path = field(["wires"]).child(index);
        check_end(scenario, &path.child("from"), &wire.from, &elements, |ports| ports.outputs)?;
        check_end(scenario, &path.child("to"), &wire.to, &elements, |ports| ports.inputs)?;
        match &wire.flow {
            Some(flow) => ensure(scenario.flows.contains_key(flow), || {
                undefined(path.child("flow"), "flow", flow, scenario.flows.keys())
            })?,
            None => ensure(wire.direction == WireDirection::Down, || {
                Problem::conflict(path.child("direction"), "\"up\"", "no direction without a `flow`")
                    .because("the wire carries all packets")
            })?,
        }
    }
    check_taken(scenario)?;
    let graph = Graph::new(scenario);
    for (id, name) in (0..).map(FlowId).zip(scenario.flows.keys()) {
        for direction in [Direction::Down, Direction::Up] {
            graph.passed(id, direction).map_err(|lost| explain(scenario, name, direction, lost))?;
        }
    }
    Ok(())
}

fn check_end(
    scenario: &Scenario,
    path: &FieldPath,
    text: &str,
    elements: &BTreeMap<String, Ports>,
    count: fn(&Ports) -> usize,
) -> Check {
    let wrong = |expected: String| Err(Problem::value(path.clone(), quoted(text), expected));
    match scenario.wire_end(text, elements, count) {
        Ok(_) => Ok(()),
        Err(WireFault::Syntax) => wrong("`element.port`, such as \"down1.0\"".to_owned()),
        Err(WireFault::Element) => {
            let known = elements.iter().filter(|(_, ports)| count(ports) > 0).map(|(name, _)| name);
            let element = text.rsplit_once('.').map_or(text, |(element, _)| element);
            Err(undefined(path.clone(), "element", element, known))
        }
        Err(WireFault::Port { ports: 1 }) => wrong("port 0".to_owned()),
        Err(WireFault::Port { ports }) => wrong(format!("port 0 to {}", ports - 1)),
    }
}

/// Checks that an output leads to one input for all packets, or to one for each flow and direction.
fn check_taken(scenario: &Scenario) -> Check {
    let mut taken: BTreeMap<(String, Port), BTreeMap<Option<Selector>, usize>> = BTreeMap::new();
    let wires = scenario.wiring();
    for (index, wire) in wires.iter().enumerate() {
        let output = taken.entry(wire.from.clone()).or_default();
        let rival = output.iter().find(|(only, other)| {
            let overlap = **only == wire.only || only.is_none() || wire.only.is_none();
            overlap && !(**only == wire.only && wires[**other].to == wire.to)
        });
        if let Some((_, other)) = rival {
            let path = field(["wires"]).child(index).child("from");
            let expected = "one wire for all packets, or one for each flow and direction";
            return Err(Problem::conflict(path, quoted(&scenario.wires[index].from), expected)
                .because(format!("wire {other} carries the same packets elsewhere")));
        }
        output.insert(wire.only, index);
    }
    Ok(())
}

fn explain(scenario: &Scenario, flow: &str, direction: Direction, lost: Unreachable) -> Problem {
    let way = direction.name();
    let target = |wire: usize| (field(["wires"]).child(wire).child("to"), quoted(&scenario.wires[wire].to));
    match lost {
        Unreachable::Open { element, port } => {
            let expected = format!("a wire from `{element}.{}`", port.0);
            about(field(["wires"]), format!("packets of flow `{flow}` ({way}) end at `{element}`"), expected)
        }
        Unreachable::Stranger { element, wire } => {
            let (path, value) = target(wire);
            let expected = "a wire towards the peer";
            Problem::conflict(path, value, expected)
                .because(format!("packets of flow `{flow}` ({way}) reach `{element}`"))
        }
        Unreachable::Unpaired { element, wire } => {
            let (path, value) = target(wire);
            let expected =
                "a way that leaves each bearer by its own receiver before the next bearer or the end";
            Problem::conflict(path, value, expected)
                .because(format!("packets of flow `{flow}` ({way}) reach `{element}`"))
        }
        Unreachable::Loop { elements, wire } => {
            let (path, value) = target(wire);
            let circle = elements.join(" -> ");
            Problem::conflict(path, value, "a wire towards the peer")
                .because(format!("packets of flow `{flow}` ({way}) run in a loop {circle}"))
        }
    }
}
