//! Tunnels of a scenario: packets of flows in QUIC datagrams over several paths.

use super::Flow;
use super::flow::PathRoutes;
use quiclab_core::MAX_PATHS;
use quiclab_core::queue::QueueConfig;
use quiclab_core::scheduler::PathSchedulerKind;
use quiclab_core::tunnel::{CarrierKind, Pipeline, TunnelEcn};
use quiclab_core::{ByteCount, Duration, Role, limits};
use quiclab_transport::options::EndpointConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// UDP payload of a carrier without a configured one: an Ethernet of 1500 B less 48 B for IPv6 and UDP.
const DEFAULT_DATAGRAM: ByteCount = ByteCount::from_bytes(1452);

/// A tunnel: name it in the routes of flows, `down` through it from server to client, `up` in reverse. A name with an
/// end, such as `vpn.client`, states where packets enter: uploads have it in their route `down`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tunnel {
    /// Stack that carries the datagrams: `lab-quic` or `noq`.
    pub stack: String,
    /// One connection for each path, or one with all paths.
    #[serde(default)]
    pub carrier: CarrierKind,
    /// Transfer of packets from the queue to the paths. `pquic` needs the stack `lab-quic`.
    #[serde(default)]
    pub pipeline: Pipeline,
    /// ECN fields inside and outside. `propagated` needs the stack `lab-quic` with `quic.ecn = true` at both ends, and the pipeline
    /// `direct`.
    #[serde(default)]
    pub ecn: TunnelEcn,
    /// Queue of packets that wait for the paths, at each end. `drop_tail` without `time`.
    #[serde(default = "QueueConfig::fq_codel")]
    pub queue: QueueConfig,
    /// Path scheduler. `redundant` needs `resequencing`.
    #[serde(default = "default_scheduler")]
    pub scheduler: PathSchedulerKind,
    /// Maximum size of an IP packet that enters; larger packets are rejected. At most 36 B less than `datagram_size`, and than
    /// the largest of `datagram_sizes`.
    #[serde(default = "default_mtu")]
    #[schemars(transform = limits::between("576 B", "65000 B"))]
    pub mtu: ByteCount,
    /// Maximum wait of packets that arrived out of order for those before them (default: no resequencing, packets leave
    /// in order of arrival).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::above("0 s"))]
    pub resequencing: Option<Duration>,
    /// Whether packets that a path has lost are sent again while the other end waits for them, and packets of sparse flows are
    /// delivered without waiting. Needs `resequencing` and the pipeline `direct`, and not the scheduler `redundant`.
    #[serde(default)]
    pub repair: bool,
    /// Congestion windows of the paths that never change, with `congestion_control = "fixed"`.
    /// One above 0 for each path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<ByteCount>,
    /// Maximum UDP payload of each path, where their MTUs differ (default: `datagram_size` of each end on all paths). One for
    /// each path, from 1200 B to `datagram_size`. Needs the stack `lab-quic`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub datagram_sizes: Vec<ByteCount>,
    /// Options of the transport at the server: the end that packets `down` enter.
    #[serde(default)]
    pub server: EndpointConfig,
    /// Options of the transport at the client, which opens the connections.
    #[serde(default)]
    pub client: EndpointConfig,
    /// Routes of the paths between the ends. Each uses separate links and bearers.
    #[schemars(transform = limits::entries(1, MAX_PATHS))]
    pub paths: Vec<PathRoutes>,
}

impl Tunnel {
    /// Names and options of both ends, with the stack.
    pub(super) fn ends(&self) -> [(&'static str, Role, EndpointConfig); 2] {
        let with_stack = |end: &EndpointConfig| EndpointConfig {
            stack: end.stack.clone().or_else(|| Some(self.stack.clone())),
            datagram_size: end.datagram_size.or(Some(DEFAULT_DATAGRAM)),
            ..end.clone()
        };
        [
            ("server", Role::Server, with_stack(&self.server)),
            ("client", Role::Client, with_stack(&self.client)),
        ]
    }

    /// Options of an end, with the stack.
    #[must_use]
    pub fn end(&self, role: Role) -> EndpointConfig {
        let [(_, _, server), (_, _, client)] = self.ends();
        match role {
            Role::Server => server,
            Role::Client => client,
        }
    }

    /// Whether a flow passes it.
    pub(super) fn is_passed(name: &str, flow: &Flow) -> bool {
        let names = |element: &String| element.split('.').next() == Some(name);
        flow.routes().any(|(down, up)| down.iter().chain(up).any(names))
    }
}

fn default_scheduler() -> PathSchedulerKind {
    PathSchedulerKind::LowestRtt { penalise_above: None }
}

fn default_mtu() -> ByteCount {
    ByteCount::from_bytes(1400)
}
