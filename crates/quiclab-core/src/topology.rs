//! Named elements and the wires between their ports.

use crate::element::{Element, Port};
use crate::endpoint::Endpoint;
use crate::packet::{Direction, FlowId, Packet};
use std::any::Any;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use thiserror::Error;

/// An element of a topology; endpoints are distinguished because runs end by their progress.
pub enum Node {
    /// An element that packets pass through.
    Element(Box<dyn Element>),
    /// An endpoint of packets.
    Endpoint(Box<dyn Endpoint>),
}

impl Node {
    /// The endpoint, if it is one.
    #[must_use]
    pub fn endpoint(&self) -> Option<&dyn Endpoint> {
        match self {
            Self::Element(_) => None,
            Self::Endpoint(endpoint) => Some(endpoint.as_ref()),
        }
    }
    /// Mutable access to the endpoint, if it is one.
    pub fn endpoint_mut(&mut self) -> Option<&mut dyn Endpoint> {
        match self {
            Self::Element(_) => None,
            Self::Endpoint(endpoint) => Some(endpoint.as_mut()),
        }
    }
}

impl Deref for Node {
    type Target = dyn Element;

    fn deref(&self) -> &dyn Element {
        match self {
            Self::Element(element) => element.as_ref(),
            Self::Endpoint(endpoint) => endpoint.as_ref(),
        }
    }
}

impl DerefMut for Node {
    fn deref_mut(&mut self) -> &mut dyn Element {
        match self {
            Self::Element(element) => element.as_mut(),
            Self::Endpoint(endpoint) => endpoint.as_mut(),
        }
    }
}

/// An input of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Index of the element.
    pub element: usize,
    /// Input of the element.
    pub port: Port,
}

/// Destination of the packets of one output.
#[derive(Clone, Debug, Default)]
enum Hop {
    /// No input: the output is not connected.
    #[default]
    Open,
    /// All packets go to one input.
    All(Target),
    /// Inputs by flow and direction (number `2 * flow + direction`), from the lowest number on: the output of
    /// an endpoint has one entry, whatever the number of its flow.
    PerFlow {
        /// Number of the first entry.
        first: usize,
        /// One branch per number.
        branches: Vec<Branch>,
    },
}

/// Destination of the packets of a flow and direction.
#[derive(Clone, Debug, Default)]
enum Branch {
    /// No input.
    #[default]
    Open,
    /// All of them to one input.
    All(Target),
    /// One input per path.
    PerPath(Box<[Option<Target>; MAX_PATHS]>),
}

/// Maximum number of paths of a connection.
pub const MAX_PATHS: usize = 8;

/// Selection of packets that take a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selector {
    /// Their flow.
    pub flow: FlowId,
    /// Their direction.
    pub direction: Direction,
    /// Their path; `None` for all paths.
    pub path: Option<u8>,
}

impl Selector {
    /// All packets of a flow and direction.
    #[must_use]
    pub const fn of(flow: FlowId, direction: Direction) -> Self {
        Self { flow, direction, path: None }
    }
}

impl Branch {
    /// Routes the packets of a path, or of all, to `target`; returns whether they had no other destination.
    fn lead(&mut self, path: Option<u8>, target: Target) -> bool {
        let Some(path) = path else {
            let is_free =
                matches!(self, Self::Open) || matches!(self, Self::All(before) if *before == target);
            *self = Self::All(target);
            return is_free;
        };
        if let Self::Open = self {
            *self = Self::PerPath(Box::default());
        }
        match self {
            Self::PerPath(targets) => {
                let before = targets[usize::from(path)].replace(target);
                before.is_none_or(|before| before == target)
            }
            Self::All(before) => *before == target,
            Self::Open => unreachable!("it is by path now"),
        }
    }
}

/// Elements, their names and their wires. Elements are numbered in the order of addition.
#[derive(Default)]
pub struct Topology {
    names: Vec<String>,
    indices: BTreeMap<String, usize>,
    nodes: Vec<Node>,
    hops: Vec<Vec<Hop>>,
}

/// Reason why a wire cannot be added.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum WireError {
    /// The output is already connected.
    #[error("output {port} of `{element}` is wired twice for the same packets")]
    Taken {
        /// Name of the element.
        element: String,
        /// Number of its output.
        port: u16,
    },
}

impl Topology {
    /// Adds an element and returns its index.
    pub fn add(&mut self, name: impl Into<String>, node: Node) -> usize {
        let name = name.into();
        self.indices.insert(name.clone(), self.nodes.len());
        self.names.push(name);
        self.nodes.push(node);
        self.hops.push(Vec::new());
        self.nodes.len() - 1
    }

    /// Wires output `port` of `element` to `target`, for all packets or those of `only`.
    ///
    /// # Errors
    /// If that output is already wired for the same packets.
    pub fn wire(
        &mut self,
        element: usize,
        port: Port,
        only: Option<Selector>,
        target: Target,
    ) -> Result<(), WireError> {
        let taken = WireError::Taken { element: self.names[element].clone(), port: port.0 };
        let hops = &mut self.hops[element];
        if hops.len() <= usize::from(port.0) {
            hops.resize_with(usize::from(port.0) + 1, Hop::default);
        }
        let hop = &mut hops[usize::from(port.0)];
        match (only, &mut *hop) {
            (None, Hop::Open) => *hop = Hop::All(target),
            (Some(only), Hop::Open) => {
                *hop = Hop::PerFlow { first: flow_number(only.flow, only.direction), branches: Vec::new() };
                return self.wire(element, port, Some(only), target);
            }
            (Some(Selector { flow, direction, path }), Hop::PerFlow { first, branches }) => {
                let number = flow_number(flow, direction);
                if number < *first {
                    branches.splice(0..0, vec![Branch::Open; *first - number]);
                    *first = number;
                }
                let index = number - *first;
                if branches.len() <= index {
                    branches.resize(index + 1, Branch::Open);
                }
                if !branches[index].lead(path, target) {
                    return Err(taken);
                }
            }
            (None, Hop::All(before)) if *before == target => {}
            (None, Hop::All(_) | Hop::PerFlow { .. }) | (Some(_), Hop::All(_)) => return Err(taken),
        }
        Ok(())
    }

    /// Destination of `packet` from output `port` of `element`; `None` if nothing is connected.
    #[must_use]
    pub fn next_hop(&self, element: usize, port: Port, packet: &Packet) -> Option<Target> {
        match self.hops[element].get(usize::from(port.0))? {
            Hop::Open => None,
            Hop::All(target) => Some(*target),
            Hop::PerFlow { first, branches } => {
                let number = flow_number(packet.flow, packet.direction);
                match branches.get(number.wrapping_sub(*first))? {
                    Branch::All(target) => Some(*target),
                    Branch::PerPath(targets) => *targets.get(usize::from(packet.path))?,
                    Branch::Open => None,
                }
            }
        }
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }
    /// Whether there is no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
    /// Name of an element.
    #[must_use]
    pub fn name(&self, element: usize) -> &str {
        &self.names[element]
    }
    /// Index of the element with this name.
    #[must_use]
    pub fn index(&self, name: &str) -> Option<usize> {
        self.indices.get(name).copied()
    }
    /// An element.
    #[must_use]
    pub fn node(&self, element: usize) -> &Node {
        &self.nodes[element]
    }
    /// Mutable access to an element, to drive it.
    pub fn node_mut(&mut self, element: usize) -> &mut Node {
        &mut self.nodes[element]
    }
    /// An element as its concrete type, for data that only this type has, such as the records of a tap.
    /// Elements that contain another one are searched; `None` if there is no `T`.
    pub fn get_mut<T: Element>(&mut self, element: usize) -> Option<&mut T> {
        let mut found: &mut dyn Element = &mut *self.nodes[element];
        while !(&*found as &dyn Any).is::<T>() {
            found = found.inside()?;
        }
        (found as &mut dyn Any).downcast_mut()
    }
}

const fn flow_number(flow: FlowId, direction: Direction) -> usize {
    flow.0 as usize * 2 + direction as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(element: usize) -> Target {
        Target { element, port: Port(0) }
    }

    #[test]
    fn flows_are_told_apart_whatever_the_order_of_their_wires() {
        let mut topology = Topology::default();
        topology.names.push("link".into());
        topology.hops.push(Vec::new());
        for flow in [7, 2, 9] {
            let only = Some(Selector::of(FlowId(flow), Direction::Down));
            topology.wire(0, Port(0), only, target(flow as usize)).unwrap();
        }
        let hop = |flow, direction| {
            let packet = Packet { flow: FlowId(flow), direction, ..Packet::default() };
            topology.next_hop(0, Port(0), &packet)
        };
        for flow in [2, 7, 9] {
            assert_eq!(hop(flow, Direction::Down), Some(target(flow as usize)));
            assert_eq!(hop(flow, Direction::Up), None);
        }
        assert_eq!((hop(0, Direction::Down), hop(100, Direction::Down)), (None, None));
    }
}
