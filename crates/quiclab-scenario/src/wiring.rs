//! Wires from routes: the destination of each output of each element.
//!
//! | element | name | inputs | outputs |
//! | --- | --- | --- | --- |
//! | link, tap | its name | 0 | 0 |
//! | sending end of a bearer | `<bearer>.ingress` | 0 | one for each link |
//! | receiving end of a bearer | `<bearer>.egress` | one for each link | 0 |
//! | ends of a flow | `<flow>.sender`, `<flow>.receiver` | one for each path | one for each path |
//!
//! A link with feedback also has output 1, wired to input 1 + k of its bearer's sending end, the bearer's
//! link k. These wires follow from the bearer alone, are added in either case and cannot be stated
//! explicitly.

use super::{Flow, Scenario, Tunnel, WireDirection};
use quiclab_core::Port;
use quiclab_core::Role;
use quiclab_core::link::FEEDBACK_OUTPUT;
use quiclab_core::{Direction, FlowId, Selector};
use std::collections::BTreeMap;

/// A connection of an output to an input, by names of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedWire {
    /// Element and output.
    pub from: (String, Port),
    /// Element and input.
    pub to: (String, Port),
    /// Packets that take the wire; `None` for all.
    pub only: Option<Selector>,
}

/// Numbers of inputs and outputs of an element; they are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// Number of inputs.
    pub inputs: usize,
    /// Number of outputs.
    pub outputs: usize,
}

/// Reason why a text is not the end of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireFault {
    /// The text is not `element.port`.
    Syntax,
    /// There is no such element.
    Element,
    /// The element has only this many ports.
    Port { ports: usize },
}

impl Scenario {
    /// The wires between all elements: `wires` if there are any, otherwise those that route each flow.
    /// [`FlowId`] is the position of a flow in the order of names.
    ///
    /// # Panics
    /// If an explicit wire is invalid, which [`Scenario::validate`] rejects.
    #[must_use]
    pub fn wiring(&self) -> Vec<ResolvedWire> {
        let mut wires = if self.wires.is_empty() { self.derived_wires() } else { self.stated_wires() };
        wires.extend(self.feedback_wires());
        wires
    }

    /// Wires from each link with feedback to its bearer.
    fn feedback_wires(&self) -> impl Iterator<Item = ResolvedWire> {
        self.bearers.iter().flat_map(move |(name, bearer)| {
            let reporting = (1..)
                .map(Port)
                .zip(&bearer.links)
                .filter(|(_, link)| self.links.get(*link).is_some_and(|link| link.feedback.is_some()));
            reporting.map(|(port, link)| ResolvedWire {
                from: (link.clone(), FEEDBACK_OUTPUT),
                to: (Self::bearer_ingress(name), port),
                only: None,
            })
        })
    }

    /// Names and ports of all elements, as far as packets of flows use them.
    #[must_use]
    pub fn elements(&self) -> BTreeMap<String, Ports> {
        let one = Ports { inputs: 1, outputs: 1 };
        let mut elements: BTreeMap<_, _> =
            self.links.keys().chain(self.taps.keys()).map(|name| (name.clone(), one)).collect();
        for (name, bearer) in &self.bearers {
            let links = bearer.links.len();
            elements.insert(Self::bearer_ingress(name), Ports { inputs: 1, outputs: links });
            elements.insert(Self::bearer_egress(name), Ports { inputs: links, outputs: 1 });
        }
        for (name, tunnel) in &self.tunnels {
            let ports = 1 + tunnel.paths.len();
            for role in [Role::Server, Role::Client] {
                elements.insert(Self::tunnel_end(name, role), Ports { inputs: ports, outputs: ports });
            }
        }
        for (name, flow) in &self.flows {
            let paths = 1 + flow.paths.len();
            for role in [Role::Server, Role::Client] {
                elements.insert(Self::endpoint_name(name, role), Ports { inputs: paths, outputs: paths });
            }
        }
        elements
    }

    /// Name of the element at one end of a flow.
    #[must_use]
    pub fn endpoint_name(flow: &str, role: Role) -> String {
        let end = match role {
            Role::Server => "sender",
            Role::Client => "receiver",
        };
        format!("{flow}.{end}")
    }

    /// Name of the sending end of a bearer.
    #[must_use]
    pub fn bearer_ingress(bearer: &str) -> String {
        format!("{bearer}.ingress")
    }

    /// Name of the receiving end of a bearer.
    #[must_use]
    pub fn bearer_egress(bearer: &str) -> String {
        format!("{bearer}.egress")
    }

    /// The element that `name` denotes in a wire. The ends of a bearer were called `<bearer>.sender` and
    /// `<bearer>.receiver` before version 0.2, and those of a flow with the name of a bearer
    /// `flows.<flow>.sender`.
    pub(super) fn element_of(&self, name: &str) -> String {
        let former = |name: &str| name.starts_with("flows.");
        let (owner, end) = name.rsplit_once('.').unwrap_or((name, ""));
        let replacement = match (owner.strip_prefix("flows."), end) {
            (Some(flow), "sender" | "receiver") if self.flows.contains_key(flow) => {
                return format!("{flow}.{end}");
            }
            (None, "sender") => Self::bearer_ingress(owner),
            (None, "receiver") => Self::bearer_egress(owner),
            _ => return name.to_owned(),
        };
        let mut wires = self.wires.iter();
        let of_flow =
            self.flows.contains_key(owner) && !wires.any(|wire| former(&wire.from) || former(&wire.to));
        if self.bearers.contains_key(owner) && !of_flow { replacement } else { name.to_owned() }
    }

    /// Name of an end of a tunnel.
    #[must_use]
    pub fn tunnel_end(tunnel: &str, role: Role) -> String {
        match role {
            Role::Server => format!("{tunnel}.server"),
            Role::Client => format!("{tunnel}.client"),
        }
    }

    /// The tunnel that a name in a route denotes, and the end where packets enter: that of `<tunnel>.server`
    /// or `<tunnel>.client`; for the plain name, the server in direction down and the client in direction up.
    #[must_use]
    pub fn tunnel_passage<'a>(&self, name: &'a str, direction: Direction) -> Option<(&'a str, Role)> {
        if self.tunnels.contains_key(name) {
            return Some(match direction {
                Direction::Down => (name, Role::Server),
                Direction::Up => (name, Role::Client),
            });
        }
        let (tunnel, end) = name.rsplit_once('.')?;
        let near = match end {
            "server" => Role::Server,
            "client" => Role::Client,
            _ => return None,
        };
        self.tunnels.contains_key(tunnel).then_some((tunnel, near))
    }

    /// Names of everything with its own packets, by [`FlowId`]: flows, then tunnels.
    pub fn flow_names(&self) -> impl Iterator<Item = &String> {
        self.flows.keys().chain(self.tunnels.keys())
    }

    /// Number of the outer packets of a tunnel: they follow those of the flows.
    #[must_use]
    pub fn tunnel_id(&self, tunnel: &str) -> Option<FlowId> {
        let first = self.flows.len() as u32;
        (first..).map(FlowId).zip(self.tunnels.keys()).find(|(_, name)| *name == tunnel).map(|(id, _)| id)
    }

    /// Number of a flow: its position in the order of names.
    #[must_use]
    pub fn flow_id(&self, flow: &str) -> Option<FlowId> {
        (0..).map(FlowId).zip(self.flows.keys()).find(|(_, name)| *name == flow).map(|(id, _)| id)
    }

    fn derived_wires(&self) -> Vec<ResolvedWire> {
        let mut wires = Vec::new();
        for (name, bearer) in &self.bearers {
            let in_route = |down: &[String], up: &[String]| down.contains(name) || up.contains(name);
            let used = |flow: &Flow| flow.routes().any(|(down, up)| in_route(down, up));
            let by_tunnel = |tunnel: &Tunnel| tunnel.paths.iter().any(|path| in_route(&path.down, &path.up));
            if self.flows.values().any(used) || self.tunnels.values().any(by_tunnel) {
                for (port, link) in (0..).map(Port).zip(&bearer.links) {
                    let from = (Self::bearer_ingress(name), port);
                    wires.push(ResolvedWire { from, to: (link.clone(), Port(0)), only: None });
                }
            }
        }
        for (name, tunnel) in &self.tunnels {
            let id = self.tunnel_id(name).expect("it is one of them");
            for (port, path) in (1..).map(Port).zip(&tunnel.paths) {
                let only = |direction| Selector { flow: id, direction, path: Some(port.0 as u8 - 1) };
                let [server, client] =
                    [Role::Server, Role::Client].map(|role| (Self::tunnel_end(name, role), port));
                self.lay_route(&mut wires, &server, &path.down, &client, only(Direction::Down));
                self.lay_route(&mut wires, &client, &path.up, &server, only(Direction::Up));
            }
        }
        for (id, (name, flow)) in (0..).map(FlowId).zip(&self.flows) {
            let server = Self::endpoint_name(name, Role::Server);
            let client = Self::endpoint_name(name, Role::Client);
            for (port, (down, up)) in (0..).map(Port).zip(flow.routes()) {
                let path = (!flow.paths.is_empty()).then_some(port.0 as u8);
                let only = |direction| Selector { flow: id, direction, path };
                let (server, client) = ((server.clone(), port), (client.clone(), port));
                self.lay_route(&mut wires, &server, down, &client, only(Direction::Down));
                self.lay_route(&mut wires, &client, up, &server, only(Direction::Up));
            }
        }
        wires
    }

    fn lay_route(
        &self,
        wires: &mut Vec<ResolvedWire>,
        first: &(String, Port),
        route: &[String],
        last: &(String, Port),
        only: Selector,
    ) {
        let mut lay = |from: (String, Port), to: (String, Port)| {
            wires.push(ResolvedWire { from, to, only: Some(only) })
        };
        let mut at = first.clone();
        for name in route {
            if let Some(bearer) = self.bearers.get(name) {
                lay(at, (Self::bearer_ingress(name), Port(0)));
                let receiver = Self::bearer_egress(name);
                for (port, link) in (0..).map(Port).zip(&bearer.links) {
                    lay((link.clone(), Port(0)), (receiver.clone(), port));
                }
                at = (receiver, Port(0));
            } else if let Some((tunnel, near)) = self.tunnel_passage(name, only.direction) {
                let far = match near {
                    Role::Server => Role::Client,
                    Role::Client => Role::Server,
                };
                lay(at, (Self::tunnel_end(tunnel, near), Port(0)));
                at = (Self::tunnel_end(tunnel, far), Port(0));
            } else {
                lay(at, (name.clone(), Port(0)));
                at = (name.clone(), Port(0));
            }
        }
        lay(at, last.clone());
    }

    fn stated_wires(&self) -> Vec<ResolvedWire> {
        const VALIDATED: &str = "a validated scenario has wires between ports that exist";
        let elements = self.elements();
        let resolve = |wire: &super::Wire| ResolvedWire {
            from: self.wire_end(&wire.from, &elements, |ports| ports.outputs).expect(VALIDATED),
            to: self.wire_end(&wire.to, &elements, |ports| ports.inputs).expect(VALIDATED),
            only: wire.flow.as_ref().map(|flow| {
                let direction = match wire.direction {
                    WireDirection::Down => Direction::Down,
                    WireDirection::Up => Direction::Up,
                };
                Selector::of(self.flow_id(flow).expect(VALIDATED), direction)
            }),
        };
        self.wires.iter().map(resolve).collect()
    }

    /// Parses `element.port`; `count` is the number of ports of the right kind that an element has.
    pub(super) fn wire_end(
        &self,
        text: &str,
        elements: &BTreeMap<String, Ports>,
        count: fn(&Ports) -> usize,
    ) -> Result<(String, Port), WireFault> {
        let (element, port) = text.rsplit_once('.').ok_or(WireFault::Syntax)?;
        if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(WireFault::Syntax);
        }
        let element = self.element_of(element);
        let ports = elements.get(&element).map(count).ok_or(WireFault::Element)?;
        match port.parse::<u16>() {
            Ok(port) if usize::from(port) < ports => Ok((element, Port(port))),
            _ => Err(WireFault::Port { ports }),
        }
    }
}
