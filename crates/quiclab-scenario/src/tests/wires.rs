//! Wires: derived from routes, stated explicitly, and rejected.

use super::{examples, load};
use crate::{ResolvedWire, Scenario};
use quiclab_core::Role;
use quiclab_core::Selector;
use quiclab_core::Time;
use quiclab_core::{Counters, Element, Outputs, Port};
use quiclab_core::{Direction, FlowId, Packet};
use quiclab_core::{Node, Target, Topology};
use std::collections::BTreeMap;

/// Placeholder of any element: only names and wires matter here.
struct Stub;

impl Element for Stub {
    fn receive(&mut self, _: Time, port: Port, packet: Box<Packet>, out: &mut Outputs) {
        out.send(port, packet);
    }
    fn wake(&mut self, _: Time, _: &mut Outputs) {}
    fn next_wake(&self) -> Option<Time> {
        None
    }
    fn counters(&self) -> Counters {
        Counters::default()
    }
}

/// Adds all wires of a scenario between elements that do nothing.
fn topology(scenario: &Scenario) -> Topology {
    let mut topology = Topology::default();
    let index: BTreeMap<_, _> = scenario
        .elements()
        .into_keys()
        .map(|name| (name.clone(), topology.add(name, Node::Element(Box::new(Stub)))))
        .collect();
    for ResolvedWire { from, to, only } in scenario.wiring() {
        let target = Target { element: index[&to.0], port: to.1 };
        topology.wire(index[&from.0], from.1, only, target).unwrap();
    }
    topology
}

/// The peer of an end of a tunnel.
fn other_end(scenario: &Scenario, element: &str) -> Option<String> {
    let ends = |tunnel: &String| [Role::Server, Role::Client].map(|role| Scenario::tunnel_end(tunnel, role));
    scenario.tunnels.keys().map(ends).find_map(|[server, client]| match element {
        _ if element == server => Some(client),
        _ if element == client => Some(server),
        _ => None,
    })
}

/// Names and inputs of the elements that packets pass on path `branch`, if the flow has several, and over
/// link `branch` of each bearer.
fn way(scenario: &Scenario, flow: &str, direction: Direction, branch: u16) -> Vec<String> {
    let topology = topology(scenario);
    let (first, last) = match direction {
        Direction::Down => (Role::Server, Role::Client),
        Direction::Up => (Role::Client, Role::Server),
    };
    let path = if scenario.flows[flow].paths.is_empty() { 0 } else { branch as u8 };
    let packet = Packet { flow: scenario.flow_id(flow).unwrap(), direction, path, ..Packet::default() };
    let last = topology.index(&Scenario::endpoint_name(flow, last)).unwrap();
    let mut at = topology.index(&Scenario::endpoint_name(flow, first)).unwrap();
    let mut passed = vec![topology.name(at).to_owned()];
    while at != last {
        let other = other_end(scenario, topology.name(at)).map(|end| topology.index(&end).unwrap());
        let output = match scenario.elements()[topology.name(at)].outputs {
            1 => Port(0),
            _ if other.is_some() => Port(0),
            _ => Port(branch),
        };
        let next = match (topology.next_hop(at, output, &packet), other) {
            // a packet that enters a tunnel here leaves it there
            (None, Some(element)) => Target { element, port: Port(0) },
            (next, _) => next.expect("the output is wired"),
        };
        at = next.element;
        passed.push(format!("{}.{}", topology.name(at), next.port.0));
    }
    passed
}

const ROUTES: &str = r#"
    version = 1
    name = "n"
    links = { a = {}, b = {}, c = {} }
    bearers = { dc = { links = ["a", "b"] } }
    taps = { t = {} }
    [flows.dc]
    stack = "quinn"
    down = ["t", "dc"]
    up = ["c"]
    workload = { kind = "download", size = "1 kB" }
    [flows.single]
    stack = "quinn"
    down = ["b", "t"]
    up = ["dc", "c"]
    workload = { kind = "download", size = "1 kB" }
"#;

#[test]
fn routes_become_wires() {
    let scenario = load(ROUTES, &[]).unwrap();
    let way = |flow, direction, branch| way(&scenario, flow, direction, branch).join(" ");
    // a flow may have the name of a bearer: their ends have different names
    assert_eq!(way("dc", Direction::Down, 0), "dc.sender t.0 dc.ingress.0 a.0 dc.egress.0 dc.receiver.0");
    assert_eq!(way("dc", Direction::Down, 1), "dc.sender t.0 dc.ingress.0 b.0 dc.egress.1 dc.receiver.0");
    assert_eq!(way("dc", Direction::Up, 0), "dc.receiver c.0 dc.sender.0");
    // link `b` alone, and as a part of the bearer for the other direction
    assert_eq!(way("single", Direction::Down, 0), "single.sender b.0 t.0 single.receiver.0");
    assert_eq!(
        way("single", Direction::Up, 1),
        "single.receiver dc.ingress.0 b.0 dc.egress.1 c.0 single.sender.0"
    );
}

/// Names of elements before version 0.2, with and without a flow of the bearer's name.
#[test]
fn former_names_in_wires_are_read() {
    let wires = |stated: &[(&str, &str)]| {
        let stated = stated.iter().map(|(from, to)| format!("{{ from = \"{from}.0\", to = \"{to}.0\" }}"));
        format!("wires = [{}]\n{ROUTES}", stated.collect::<Vec<_>>().join(", "))
    };
    let names = |stated: &[(&str, &str)]| {
        let scenario: Scenario = toml::from_str(&wires(stated)).unwrap();
        stated
            .iter()
            .map(|(from, to)| format!("{} {}", scenario.element_of(from), scenario.element_of(to)))
            .collect()
    };
    let read: Vec<String> = names(&[("flows.dc.sender", "dc.sender"), ("dc.receiver", "flows.dc.receiver")]);
    assert_eq!(read, ["dc.sender dc.ingress", "dc.egress dc.receiver"]);
    let read: Vec<String> = names(&[("dc.sender", "dc.ingress"), ("dc.egress", "dc.receiver")]);
    assert_eq!(read, ["dc.sender dc.ingress", "dc.egress dc.receiver"]);
    let mut scenario: Scenario = toml::from_str(&wires(&[("single.sender", "dc.sender")])).unwrap();
    scenario.flows.remove("dc");
    assert_eq!(
        (scenario.element_of("dc.sender"), scenario.element_of("single.sender")),
        ("dc.ingress".into(), "single.sender".into())
    );
}

#[test]
fn a_bearer_sends_all_packets_to_its_links_and_links_return_them_by_flow() {
    let scenario = load(ROUTES, &[]).unwrap();
    let wires = scenario.wiring();
    let from = |name: &str, port: u16| {
        wires
            .iter()
            .filter(|wire| wire.from == (name.to_owned(), Port(port)))
            .map(|wire| (wire.to.0.as_str(), wire.to.1.0, wire.only))
            .collect::<Vec<_>>()
    };
    assert_eq!(from("dc.ingress", 0), [("a", 0, None)]);
    assert_eq!(from("dc.ingress", 1), [("b", 0, None)]);
    let (dc, single) = (FlowId(0), FlowId(1));
    assert_eq!(
        from("b", 0),
        [
            ("dc.egress", 1, Some(Selector::of(dc, Direction::Down))),
            ("t", 0, Some(Selector::of(single, Direction::Down))),
            ("dc.egress", 1, Some(Selector::of(single, Direction::Up))),
        ]
    );
}

#[test]
fn links_with_feedback_report_to_their_bearer_whatever_wires_are_stated() {
    let feedback = [
        ("links.a", "{ rate = \"1 Mbit/s\", feedback = {} }"),
        ("links.b", "{ rate = \"1 Mbit/s\", feedback = {} }"),
        ("bearers.dc.splitter", "{ kind = \"proportional\" }"),
    ];
    let scenario = load(ROUTES, &feedback).unwrap();
    let reports: Vec<_> = scenario.wiring().into_iter().filter(|wire| wire.from.1 == Port(1)).collect();
    // port 1 of the sending end leads to link b; reports arrive at the inputs behind input 0
    let to = |wire: &ResolvedWire| (wire.from.0.clone(), wire.to.0.clone(), wire.to.1.0);
    let wires: Vec<_> = reports.iter().filter(|wire| wire.from.0 != "dc.ingress").map(to).collect();
    let sender = || "dc.ingress".to_owned();
    assert_eq!(wires, [("a".to_owned(), sender(), 1), ("b".to_owned(), sender(), 2)]);
    assert_eq!(way(&scenario, "dc", Direction::Down, 1).len(), 6);
    let (_, text) = examples().into_iter().find(|(name, _)| name == "explicit_wires.toml").unwrap();
    let stated = load(&text, &[("links.down1.feedback", "{}")]).unwrap();
    let last = stated.wiring().pop().unwrap();
    assert_eq!((last.from, last.to), (("down1".into(), Port(1)), ("dc.ingress".into(), Port(1))));
    let error = load(&text, &[("links.down1.feedback", "{}"), ("wires.0.from", "down1.1")]).unwrap_err();
    assert!(error.to_string().contains("port 0"), "{error}");
}

#[test]
fn every_example_can_be_laid_and_leads_to_the_peer() {
    for (name, text) in examples() {
        let scenario = load(&text, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
        for flow in scenario.flows.keys() {
            for branch in [0, 1] {
                assert!(way(&scenario, flow, Direction::Down, branch).len() > 2);
                assert!(way(&scenario, flow, Direction::Up, branch).len() > 2);
            }
        }
    }
}

#[test]
fn explicit_wires_equal_the_derived_ones() {
    let (_, text) = examples().into_iter().find(|(name, _)| name == "explicit_wires.toml").unwrap();
    let stated = load(&text, &[]).unwrap();
    let derived =
        load(&text, &[("wires", "[]"), ("flows.main.down", "[\"dc\"]"), ("flows.main.up", "[\"up1\"]")])
            .unwrap();
    for branch in [0, 1] {
        for direction in [Direction::Down, Direction::Up] {
            assert_eq!(way(&stated, "main", direction, branch), way(&derived, "main", direction, branch));
        }
    }
}
