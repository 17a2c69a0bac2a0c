//! From a resolved scenario to a topology.

use crate::stacks::{EndpointRequest, Stacks};
use quiclab_core::scenario::{EndpointConfig, Flow, Link as LinkConfig, Rate, Scenario, ShapedRate};
use quiclab_core::{
    BearerReceiver, BearerSender, Endpoint, EndpointIdentity, FiveTuple, FlowId, Host, Link, LinkError, Node,
    Protocol, Role, Tap, Target, Time, Topology, Trace, TraceError, TransportObserver, WireError,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a scenario cannot be built although it is valid by itself.
#[derive(Debug, Error)]
pub enum BuildError {
    /// A trace file cannot be read.
    #[error("links.{link}.rate.file = `{file}` cannot be read: {reason}; allowed is a readable text file", file = file.display())]
    Unreadable {
        /// Name of the link.
        link: String,
        /// Path of the file.
        file: PathBuf,
        /// What the system said.
        reason: std::io::Error,
    },
    /// A trace file is not a trace.
    #[error("links.{link}.rate.file = `{file}`: {reason}", file = file.display())]
    Trace {
        /// Name of the link.
        link: String,
        /// Path of the file.
        file: PathBuf,
        /// What is wrong with it.
        reason: TraceError,
    },
    /// A link cannot be made.
    #[error("links.{link}: {reason}")]
    Link {
        /// Name of the link.
        link: String,
        /// What is wrong.
        reason: LinkError,
    },
    /// An endpoint cannot be made.
    #[error("flows.{flow}.{end}.{reason}")]
    Stack {
        /// Name of the flow.
        flow: String,
        /// `sender` or `receiver`.
        end: &'static str,
        /// What is wrong.
        reason: quiclab_stacks::StackError,
    },
    /// A wire cannot be laid.
    #[error("wires: {0}")]
    Wire(#[from] WireError),
}

/// What building needs besides the scenario.
pub struct BuildOptions<'a> {
    /// Makes endpoints.
    pub stacks: &'a dyn Stacks,
    /// Folder that relative paths of trace files start from.
    pub base_dir: &'a Path,
    /// Who is told what each transport does.
    pub transport_observer: &'a dyn Fn(&EndpointIdentity) -> Option<Box<dyn TransportObserver>>,
}

/// A topology and the endpoints whose progress decides when the run ends.
pub(crate) struct Built {
    pub(crate) topology: Topology,
    /// Receivers in the order of the flows.
    pub(crate) receivers: Vec<usize>,
    /// Senders in the order of the flows.
    pub(crate) senders: Vec<usize>,
}

/// Builds all elements of `scenario` (resolved) and wires them.
pub(crate) fn build(scenario: &Scenario, seed: u64, options: &BuildOptions<'_>) -> Result<Built, BuildError> {
    let mut topology = Topology::default();
    for (name, config) in &scenario.links {
        let trace = read_trace(name, config, options.base_dir)?;
        let link = Link::new(config, trace, seed, name)
            .map_err(|reason| BuildError::Link { link: name.clone(), reason })?;
        topology.add(name, Node::Element(Box::new(link)));
    }
    for (name, config) in &scenario.bearers {
        topology.add(format!("{name}.sender"), Node::Element(Box::new(BearerSender::new(config))));
        topology.add(format!("{name}.receiver"), Node::Element(Box::new(BearerReceiver::new(config))));
    }
    for (name, config) in &scenario.taps {
        topology.add(name, Node::Element(Box::new(Tap::new(config))));
    }
    let (mut senders, mut receivers) = (Vec::new(), Vec::new());
    for (index, (name, flow)) in scenario.flows.iter().enumerate() {
        for (role, end, config, ends) in [
            (Role::Server, "sender", &flow.sender, &mut senders),
            (Role::Client, "receiver", &flow.receiver, &mut receivers),
        ] {
            let identity = EndpointIdentity {
                name: format!("{name}.{end}"),
                flow: FlowId(index as u32),
                role,
                tuple: addresses(index as u32, role),
            };
            let endpoint = build_endpoint(scenario, flow, identity, config, seed, options)
                .map_err(|reason| BuildError::Stack { flow: name.clone(), end, reason })?;
            ends.push(topology.add(format!("{name}.{end}"), Node::Endpoint(endpoint)));
        }
    }
    for wire in scenario.wiring() {
        let index = |name: &str| topology.index(name).expect("wiring names elements of a valid scenario");
        let (from, to) = (index(&wire.from.0), index(&wire.to.0));
        topology.wire(from, wire.from.1, wire.only, Target { element: to, port: wire.to.1 })?;
    }
    Ok(Built { topology, receivers, senders })
}

fn build_endpoint(
    scenario: &Scenario,
    flow: &Flow,
    identity: EndpointIdentity,
    config: &EndpointConfig,
    seed: u64,
    options: &BuildOptions<'_>,
) -> Result<Box<dyn Endpoint>, quiclab_stacks::StackError> {
    let name = identity.name.clone();
    let observer = (options.transport_observer)(&identity);
    let start = Time::ZERO + flow.start;
    let request = EndpointRequest { identity, config, workload: &flow.workload, start, seed, observer };
    let endpoint = options.stacks.build(request)?;
    Ok(match config.host.as_ref().map(|host| &scenario.hosts[host]) {
        Some(host) => Box::new(Host::new(endpoint, host, seed, &name)),
        None => endpoint,
    })
}

/// Addresses of a flow: servers in 10.1.0.0/16 at port 443, clients in 10.2.0.0/16.
fn addresses(flow: u32, role: Role) -> FiveTuple {
    let address = |net: u8, port: u16| {
        let [.., high, low] = flow.to_be_bytes();
        SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, net, high, low)), port)
    };
    let tuple =
        FiveTuple { protocol: Protocol::Udp, source: address(1, 443), destination: address(2, 50_000) };
    match role {
        Role::Server => tuple,
        Role::Client => tuple.reverse(),
    }
}

fn read_trace(link: &str, config: &LinkConfig, base_dir: &Path) -> Result<Option<Trace>, BuildError> {
    let Some(Rate::Shaped(ShapedRate::Trace { file, format, at_end })) = &config.rate else {
        return Ok(None);
    };
    let text = std::fs::read_to_string(base_dir.join(file)).map_err(|reason| BuildError::Unreadable {
        link: link.to_owned(),
        file: file.clone(),
        reason,
    })?;
    Trace::parse(&text, *format, *at_end).map(Some).map_err(|reason| BuildError::Trace {
        link: link.to_owned(),
        file: file.clone(),
        reason,
    })
}
