//! Construction of a topology from a resolved scenario.

mod arrivals;
mod files;
mod tunnel;

use files::read_inputs;

use crate::stacks::{FunctionError, Stacks, stacks};
use quiclab_core::bearer::{BearerConfig, ChooseLink, Splitter};
use quiclab_core::problem::{ensure, quoted};
use quiclab_core::{
    BearerReceiver, BearerSender, Endpoint, EndpointIdentity, FieldPath, FiveTuple, FlowId, Host, Link,
    LinkInputs, Node, Problem, Protocol, Role, Tap, Target, Time, Topology, TransportObserver, WireError,
};
use quiclab_scenario::{Arrivals, CLIENT_PORT, Flow, Scenario};
use quiclab_transport::operations::{Hook, Operations};
use quiclab_transport::options::{EndpointConfig, PathAction, PathChange, PathPlan, PlannedPath};
use quiclab_transport::{EndpointRequest, stack};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use thiserror::Error;

/// Reason why a scenario that is valid by itself cannot be built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// A trace file, a function of a plugin, an endpoint or an end of a tunnel cannot be used.
    #[error(transparent)]
    Problem(Box<Problem>),
    /// A wire cannot be added.
    #[error("wires: {0}")]
    Wire(#[from] WireError),
}

impl BuildError {
    /// A problem with a field below the one at `steps`.
    fn of(steps: &[&str], problem: Problem) -> Self {
        problem.below(&FieldPath::new(steps.iter().copied())).into()
    }
}

impl From<Problem> for BuildError {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

/// Inputs of the construction in addition to the scenario.
#[derive(Clone, Copy)]
pub struct BuildOptions<'a> {
    /// Creates endpoints.
    pub stacks: &'a dyn Stacks,
    /// Folder to which paths of trace files are relative.
    pub base_dir: &'a Path,
    /// Creates the observer of each transport.
    pub transport_observer: &'a dyn Fn(&EndpointIdentity) -> Option<Box<dyn TransportObserver>>,
}

/// A topology and the endpoints whose progress determines the end of the run.
pub struct Built {
    /// Elements and wires.
    pub topology: Topology,
    /// The endpoints.
    pub ends: FlowEndpoints,
}

/// Endpoints of the flows, by index in the topology.
pub struct FlowEndpoints {
    /// Receivers in the order of the flows.
    pub receivers: Vec<usize>,
    /// Senders in the order of the flows.
    pub senders: Vec<usize>,
}

/// Builds all elements of `scenario` (resolved) and wires them.
///
/// # Errors
/// If a trace, a stack or a function that the scenario names is not available.
pub fn build(scenario: &Scenario, seed: u64, options: &BuildOptions<'_>) -> Result<Built, BuildError> {
    let mut topology = Topology::default();
    for (name, config) in &scenario.links {
        let inputs = read_inputs(name, config, options.base_dir)?;
        let changes = scenario.events.iter().any(|event| event.links.contains(name));
        let inputs = LinkInputs { changes, ..inputs };
        topology.add(name, Node::Element(Box::new(Link::new(config, inputs, seed, name))));
    }
    for (name, config) in &scenario.bearers {
        let function = choose_link(name, config, options)?;
        let (sender, receiver) = (BearerSender::new(config, function), BearerReceiver::new(config));
        topology.add(Scenario::bearer_ingress(name), Node::Element(Box::new(sender)));
        topology.add(Scenario::bearer_egress(name), Node::Element(Box::new(receiver)));
    }
    for (name, config) in &scenario.taps {
        topology.add(name, Node::Element(Box::new(Tap::new(config))));
    }
    tunnel::build(&mut topology, scenario, seed, options)?;
    let (mut senders, mut receivers) = (Vec::new(), Vec::new());
    for (index, (name, flow)) in scenario.flows.iter().enumerate() {
        let path_plan = path_plan(scenario, name, flow, options.base_dir)?;
        let schedule = arrivals::schedule(name, flow, seed, options.base_dir)?;
        for (role, end, ends) in
            [(Role::Server, "sender", &mut senders), (Role::Client, "receiver", &mut receivers)]
        {
            let identity = identity(scenario, index, name, role);
            let endpoint = if let Some(schedule) = &schedule {
                arrivals::build(scenario, flow, identity, schedule, seed)
            } else {
                let operations = operations(scenario, flow, role, options)?;
                build_endpoint(scenario, flow, identity, (operations, path_plan.clone()), seed, options)
            };
            let endpoint = endpoint.map_err(|problem| {
                let of_end = problem.path.steps().first().is_none_or(|step| step != "workload");
                BuildError::of(&["flows", name, end][..if of_end { 3 } else { 2 }], problem)
            })?;
            ends.push(topology.add(Scenario::endpoint_name(name, role), Node::Endpoint(endpoint)));
        }
    }
    for wire in scenario.wiring() {
        let index = |name: &str| topology.index(name).expect("wiring names elements of a valid scenario");
        let (from, to) = (index(&wire.from.0), index(&wire.to.0));
        topology.wire(from, wire.from.1, wire.only, Target { element: to, port: wire.to.1 })?;
    }
    Ok(Built { topology, ends: FlowEndpoints { receivers, senders } })
}

/// The function that selects the links of the bearer `name`, if its splitter is one.
fn choose_link(
    name: &str,
    bearer: &BearerConfig,
    options: &BuildOptions<'_>,
) -> Result<Option<Box<dyn ChooseLink>>, BuildError> {
    let Splitter::Function { function, .. } = &bearer.splitter else { return Ok(None) };
    let found = options.stacks.splitter(name, function, options.base_dir);
    Ok(Some(found.map_err(|FunctionError { name: function, reason, allowed }| {
        let path = FieldPath::new(["bearers", name, "splitter", "function"]);
        Problem::conflict(path, quoted(function), allowed).because(reason)
    })?))
}

/// Identity of an end of the flow `name`, number `index`: the same in all lanes.
///
/// # Panics
/// If there is no such flow.
#[must_use]
pub fn identity(scenario: &Scenario, index: usize, name: &str, role: Role) -> EndpointIdentity {
    let flow = &scenario.flows[name];
    EndpointIdentity {
        name: Scenario::endpoint_name(name, role),
        flow: FlowId(index as u32),
        role,
        tuple: addresses(scenario, index as u32, role, over_ip(flow)),
        paths: 1 + flow.paths.len(),
    }
}

fn build_endpoint(
    scenario: &Scenario,
    flow: &Flow,
    identity: EndpointIdentity,
    (operations, path_plan): (Operations, PathPlan),
    seed: u64,
    options: &BuildOptions<'_>,
) -> Result<Box<dyn Endpoint>, Problem> {
    let name = identity.name.clone();
    let observer = (options.transport_observer)(&identity);
    let start = Time::ZERO + flow.start;
    let config = &scenario.endpoint(flow, identity.role);
    let workload = &flow.workload;
    let request =
        EndpointRequest { identity, config, workload, start, seed, observer, operations, path_plan };
    let endpoint = options.stacks.build(request)?;
    Ok(on_host(scenario, config, seed, &name, endpoint))
}

/// Changes of paths by the client of the flow `name`, in the order of time.
fn path_plan(scenario: &Scenario, name: &str, flow: &Flow, base_dir: &Path) -> Result<PathPlan, Problem> {
    let first = PlannedPath { opens: Time::ZERO + flow.start, ..PlannedPath::default() };
    let further =
        flow.paths.iter().map(|path| PlannedPath { opens: Time::ZERO + path.start, status: path.status });
    let paths: Vec<PlannedPath> = std::iter::once(first).chain(further).collect();
    let mut changes = flow.path_changes.clone();
    if flow.abandon_when_down {
        changes.extend(reported(scenario, name, flow, &paths, base_dir)?);
    }
    changes.sort_by_key(|change| change.at);
    Ok(PathPlan { paths, changes })
}

/// Paths that the client of the flow `name` abandons because one of their links goes down while they are in use.
fn reported(
    scenario: &Scenario,
    name: &str,
    flow: &Flow,
    paths: &[PlannedPath],
    base_dir: &Path,
) -> Result<Vec<PathChange>, Problem> {
    let field = FieldPath::new(["flows", name]);
    let (mut outages, mut changes) = (false, Vec::new());
    for (path, (planned, (down, up))) in (0..).zip(paths.iter().zip(flow.routes())) {
        let opens = planned.opens.max(Time::ZERO + flow.start);
        let mut first: Option<Time> = None;
        for (name, link) in down.iter().chain(up).filter_map(|name| scenario.links.get_key_value(name)) {
            let down = read_inputs(name, link, base_dir)?.conditions.and_then(|it| it.first_down(opens));
            first = [first, down].into_iter().flatten().min();
        }
        let Some(at) = first.map(|first| first.since(Time::ZERO)) else { continue };
        outages = true;
        let is_over = |change: &PathChange| {
            change.path == path && change.action == PathAction::Abandon && change.at <= at
        };
        if at < scenario.duration && !flow.path_changes.iter().any(is_over) {
            changes.push(PathChange { at, path, action: PathAction::Abandon });
        }
    }
    ensure(outages, || {
        let reason =
            "no link that its routes name goes down (`up = false` of `conditions`) while its path is in use";
        Problem::conflict(field.child("abandon_when_down"), "true", "false").because(reason)
    })?;
    flow.check_reported(&field, &changes)?;
    Ok(changes)
}

/// The endpoint `name`, on the host that its options name, if any.
fn on_host(
    scenario: &Scenario,
    config: &EndpointConfig,
    seed: u64,
    name: &str,
    endpoint: Box<dyn Endpoint>,
) -> Box<dyn Endpoint> {
    match config.host.as_ref().map(|host| &scenario.hosts[host]) {
        Some(host) => Box::new(Host::new(host, seed, name, endpoint)),
        None => endpoint,
    }
}

/// The functions that plugins place at computations of an end.
fn operations(
    scenario: &Scenario,
    flow: &Flow,
    role: Role,
    options: &BuildOptions<'_>,
) -> Result<Operations, BuildError> {
    let computations = scenario.computations(flow, role);
    let functions = options.stacks.functions(&computations, options.base_dir).map_err(|reason| {
        let plugin = computations.iter().find(|computation| computation.function == reason.name);
        let path = FieldPath::new(["plugins", plugin.map_or("", |it| &it.plugin)]);
        Problem::conflict(path, quoted(reason.name), reason.allowed).because(reason.reason)
    })?;
    let hooks = computations.into_iter().zip(functions).map(|(computation, function)| Hook {
        plugin: computation.plugin,
        operation: computation.operation,
        anchor: computation.anchor,
        name: computation.function,
        function,
    });
    Ok(Operations::new(hooks.collect()))
}

/// Protocol above IP of a flow; UDP if the caller provides the stack.
fn over_ip(flow: &Flow) -> Protocol {
    let stack = stack::find(&stacks(), &flow.inherited(&flow.sender));
    stack.map_or(Protocol::Udp, |stack| stack.info().protocol.over_ip())
}

/// Addresses of a flow: servers in 10.1.0.0/16 at port 443, clients in 10.2.0.0/16. The address of a machine is that of
/// the first flow that names it; the ports of a client on a machine follow those of earlier clients there, so that no
/// two connections are equal.
fn addresses(scenario: &Scenario, flow: u32, role: Role, protocol: Protocol) -> FiveTuple {
    let address = |net: u8, owner: u32, port: u16| {
        let [.., high, low] = owner.to_be_bytes();
        SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, net, high, low)), port)
    };
    let owner = |machine: fn(&Flow) -> Option<&String>| {
        let mut flows = scenario.flows.values();
        let own = flows.clone().nth(flow as usize).and_then(machine);
        own.and_then(|own| flows.position(|other| machine(other) == Some(own))).map(|owner| owner as u32)
    };
    let server = owner(|flow| flow.sender_machine.as_ref());
    let client = owner(|flow| flow.receiver_machine.as_ref());
    let before: u32 = client.map_or(0, |first| {
        let mut flows = scenario.flows.values().take(flow as usize + 1).skip(first as usize);
        let own = flows.next_back().and_then(|own| own.receiver_machine.as_ref());
        flows.filter(|other| other.receiver_machine.as_ref() == own).map(Flow::client_ports).sum()
    });
    // validation has checked the number of ports
    let port = CLIENT_PORT + before as u16;
    let tuple = FiveTuple::new(
        protocol,
        address(1, server.unwrap_or(flow), 443),
        address(2, client.unwrap_or(flow), port),
    );
    match role {
        Role::Server => tuple,
        Role::Client => tuple.reverse(),
    }
}

/// Reads all files that a scenario names once, so that an invalid one is detected before a run.
///
/// # Errors
/// If one cannot be read or is not of its format.
pub fn check_files(scenario: &Scenario, base_dir: &Path) -> Result<(), Problem> {
    for (name, link) in &scenario.links {
        read_inputs(name, link, base_dir)?;
    }
    let from_files =
        scenario.flows.iter().filter(|(_, flow)| matches!(flow.arrivals, Some(Arrivals::File { .. })));
    for (name, flow) in from_files {
        arrivals::schedule(name, flow, 0, base_dir)?;
    }
    Ok(())
}
