//! The scenario: networks, flows and recordings, as typed data. These types are its only definition; TOML
//! files, the JSON schema and the Python dataclasses follow from them.

mod arrivals;
mod events;
mod flow;
mod graph;
mod load;
mod network;
mod plugin;
mod repeat;
mod resolve;
mod tunnel;
mod validate;
mod wiring;

#[cfg(test)]
mod tests;

pub use arrivals::{Arrival, ArrivalFileError, Arrivals, Sizes, read_arrivals};
pub use events::{Cause, NetworkEvent};
pub use flow::{CLIENT_PORT, Flow, FlowPath, PathRoutes};
pub use load::StackCheck;
pub use network::{Network, NetworkReader, NetworkText};
pub use plugin::{Computation, Exchange, Plugin, PluginEnds, built_in_plugins};
pub use tunnel::Tunnel;
pub use wiring::{Ports, ResolvedWire};

use quiclab_core::bearer::BearerConfig;
use quiclab_core::host::HostConfig;
use quiclab_core::link::LinkConfig;
use quiclab_core::{ByteCount, Duration, TapConfig, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The scenario version this crate reads.
pub const VERSION: u32 = 1;

/// One network with its flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Version of this format: 1.
    #[schemars(transform = limits::between(VERSION, VERSION))]
    pub version: u32,
    /// A short name; results contain it.
    #[schemars(transform = limits::not_empty())]
    pub name: String,
    /// Description, in a sentence or two.
    #[serde(default)]
    pub description: String,
    /// File of a network, whose links are added to `links`: a named path such as `paths/wifi-bad`, or a file that ends
    /// with `.toml`, relative to that of the scenario. A field of a link that is given here is not taken from it.
    /// A resolved scenario has the links in place of `network`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::not_empty())]
    pub network: Option<String>,
    /// Maximum duration of the run, in network time.
    #[serde(default = "default_duration")]
    #[schemars(transform = limits::above("0 s"))]
    pub duration: Duration,
    /// Condition that ends the run before `duration`.
    #[serde(default)]
    pub until: Until,
    /// Links by name.
    #[serde(default)]
    pub links: BTreeMap<String, LinkConfig>,
    /// Split bearers by name.
    #[serde(default)]
    pub bearers: BTreeMap<String, BearerConfig>,
    /// Host templates by name; each endpoint that names one gets its own host.
    #[serde(default)]
    pub hosts: BTreeMap<String, HostConfig>,
    /// Taps by name: they record the packets that pass; name them in a route like a link.
    #[serde(default)]
    pub taps: BTreeMap<String, TapConfig>,
    /// Tunnels by name; name them in a route like a bearer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tunnels: BTreeMap<String, Tunnel>,
    /// Plugins by name; flows name them, or built-in ones.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub plugins: BTreeMap<String, Plugin>,
    /// Flows by name.
    #[schemars(transform = limits::not_empty())]
    pub flows: BTreeMap<String, Flow>,
    /// Wires that are set explicitly; with any of them, routes of flows must be empty.
    #[serde(default)]
    pub wires: Vec<Wire>,
    /// Changes of links during the run, at a time or in answer to what a flow does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<NetworkEvent>,
    /// Recordings in addition to the summary.
    #[serde(default)]
    pub record: Record,
}

fn default_duration() -> Duration {
    Duration::from_secs(3600)
}

/// Condition that ends a run before its duration has elapsed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// All workloads are done.
    #[default]
    WorkloadsDone,
    /// None: the run lasts for `duration`.
    DurationOver,
    /// All flows together have delivered this amount to their applications.
    #[schemars(title = "Delivered")]
    Delivered(#[schemars(transform = limits::at_least("1 B"))] ByteCount),
}

/// A connection of an output to an input: `"element.port"`, for example `"dc.ingress.1"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wire {
    /// Output: element and port.
    pub from: String,
    /// Input: element and port.
    pub to: String,
    /// Flow whose packets take the wire (default: all flows).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// Direction of the packets of `flow`. `up` needs a `flow`.
    #[serde(default)]
    pub direction: WireDirection,
}

/// Direction of packets: `down` from sender to receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WireDirection {
    /// From the sender to the receiver.
    #[default]
    Down,
    /// From the receiver to the sender.
    Up,
}

/// Recordings of a run in addition to its summary. All are off by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Step of the time series (default: no series). At most 10 million samples in `duration`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::above("0 s"))]
    pub series_interval: Option<Duration>,
    /// Every packet at every element.
    #[serde(default)]
    pub packets: bool,
    /// Every acknowledgement that arrives at an endpoint: its time, and how much it newly acknowledges.
    #[serde(default)]
    pub acks: bool,
    /// Sojourn time of each packet in the queues of tunnels.
    #[serde(default)]
    pub sojourns: bool,
    /// Times at which each request of a page was sent and answered.
    #[serde(default)]
    pub requests: bool,
    /// qlog of each QUIC endpoint.
    #[serde(default)]
    pub qlog: bool,
    /// Capture of each endpoint's packets, with TLS secrets.
    #[serde(default)]
    pub pcapng: bool,
}
