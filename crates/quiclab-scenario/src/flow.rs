//! Flows: two endpoints, their routes and their workload.

use super::Arrivals;
use quiclab_core::{ByteCount, Duration, MAX_PATHS, limits};
use quiclab_transport::options::{EndpointConfig, PathChange, PathStatus, Workload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A transfer between two endpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Number of equal flows (default: one, with this name). They have this name with a number from 1 on, such as `a1` and
    /// `a2`, and random numbers of their own. Events, wires and results name each of them. Not in the kernel lane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::at_most(1000).unit("flows"))]
    pub count: Option<u32>,
    /// Stack of both ends, if they do not name one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// The end that sends the data: the server of a download.
    #[serde(default)]
    pub sender: EndpointConfig,
    /// The end that receives the data: the client of a download.
    #[serde(default)]
    pub receiver: EndpointConfig,
    /// Name of the machine of the sender: senders of flows with the same one have the same IP address, which
    /// queues with host isolation look at (default: an address of its own).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::not_empty())]
    pub sender_machine: Option<String>,
    /// The same of the receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::not_empty())]
    pub receiver_machine: Option<String>,
    /// Links, bearers and taps from sender to receiver, in order.
    /// Not empty, nothing twice; empty with `[[wires]]`.
    #[serde(default)]
    pub down: Vec<String>,
    /// Links, bearers and taps from receiver to sender, in order.
    /// Not empty, nothing twice; empty with `[[wires]]`.
    #[serde(default)]
    pub up: Vec<String>,
    /// Paths in addition to `down` and `up`, which are the first (Multipath QUIC). They may share links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = limits::entries(0, MAX_PATHS - 1))]
    pub paths: Vec<FlowPath>,
    /// Changes that the client makes to its paths over time. Needs `multipath` at both ends; a path is left at every
    /// time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path_changes: Vec<PathChange>,
    /// The client abandons a path when a link that its routes name goes down for the first time since the path's start
    /// (`up = false` of its `conditions`; not of events, nor inside a bearer), as a device whose driver reports it. Otherwise it
    /// notices only that nothing is acknowledged. Needs `multipath` at both ends.
    #[serde(default, skip_serializing_if = "is_default")]
    pub abandon_when_down: bool,
    /// Plugins of the flow: names in `plugins`, or of built-in plugins. Each at most once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<String>,
    /// Workload of the flow.
    pub workload: Workload,
    /// Start of the client. A flow whose start is not before the end of the run never starts, which is a warning.
    #[serde(default)]
    pub start: Duration,
    /// Connections that arrive over time, from `start` on (default: one connection, at `start`). With a `download` of a
    /// size, without `paths` and `plugins`, on stacks that are compiled into quiclab.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
}

/// First port of the client of a flow.
pub const CLIENT_PORT: u16 = 50_000;

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A further path of a flow. The client opens it, with `multipath` at both ends; without, it is there after the handshake.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowPath {
    /// Links, bearers and taps from sender to receiver, in order.
    pub down: Vec<String>,
    /// Links, bearers and taps from receiver to sender, in order.
    pub up: Vec<String>,
    /// Status with which the client opens it. `backup` needs `multipath` at both ends.
    #[serde(default, skip_serializing_if = "is_default")]
    pub status: PathStatus,
    /// When the client opens it, from the start of the run, but not before the end of the handshake. Not before the paths that are
    /// listed before it. Above 0 s it needs `multipath` at both ends.
    #[serde(default, skip_serializing_if = "is_default")]
    pub start: Duration,
}

/// Routes of a path of a tunnel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathRoutes {
    /// Links, bearers and taps from sender to receiver, in order.
    pub down: Vec<String>,
    /// Links, bearers and taps from receiver to sender, in order.
    pub up: Vec<String>,
}

impl Flow {
    /// Both ends with the names of their fields.
    pub(super) fn ends(&self) -> [(&'static str, &EndpointConfig); 2] {
        [("sender", &self.sender), ("receiver", &self.receiver)]
    }

    /// The routes down and up of each path, the first included.
    pub fn routes(&self) -> impl Iterator<Item = (&[String], &[String])> {
        let further = self.paths.iter().map(|path| (&path.down[..], &path.up[..]));
        std::iter::once((&self.down[..], &self.up[..])).chain(further)
    }

    /// Number of ports of the client: one for each path of each connection that exists from the start.
    #[must_use]
    pub fn client_ports(&self) -> u32 {
        let origins = match &self.workload {
            Workload::Page { resources, .. } => resources.iter().map(|it| it.origin).max().unwrap_or(0) + 1,
            _ => 1,
        };
        origins * (self.paths.len() as u32 + 1)
    }

    /// Size of the data delivered to the receiver; `None` if it is not known in advance.
    #[must_use]
    pub fn size(&self) -> Option<ByteCount> {
        self.workload.size().filter(|_| self.arrivals.is_none())
    }

    /// Stack and options of an end of this flow, with the stack of the flow if it names none.
    #[must_use]
    pub fn inherited(&self, end: &EndpointConfig) -> EndpointConfig {
        EndpointConfig { stack: end.stack.clone().or_else(|| self.stack.clone()), ..end.clone() }
    }
}
