//! Status of a tunnel. A field that was added later has a default, so that an upgraded program understands tunnels started
//! before the upgrade.
//!
//! | module | |
//! | --- | --- |
//! | here | the data, as `status --json` prints them |
//! | `table` | `status`, for users |
//! | `values` | names and meanings of the program's counters |
//! | `metrics`, `open_metrics` | `/metrics`, for Prometheus |

mod metrics;
mod open_metrics;
mod table;
#[cfg(test)]
mod tests;
mod values;

pub use open_metrics::CONTENT_TYPE;
#[cfg(test)]
pub(crate) use tests::example;
pub use values::{ProgramCounts, SessionCounts};

use quiclab_core::Time;
use quiclab_core::queue::WaitingFlow;
use quiclab_core::tunnel::CarrierKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// Maximum number of flows in the status of a session: those with the most bytes in the queue.
pub const MAX_FLOWS: usize = 20;

/// Status of one end of a tunnel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// Version of the program.
    #[serde(default)]
    pub version: String,
    /// `server` or `client`.
    pub role: String,
    /// Name of its device.
    pub interface: String,
    /// Time since it was set up.
    pub uptime_seconds: f64,
    /// Values of the device, the sockets and the endpoint, by name.
    pub values: BTreeMap<String, f64>,
    /// Sessions with the peers.
    pub sessions: Vec<SessionStatus>,
}

/// A session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionStatus {
    /// Its number, as in the log; a client that reconnects to a server gets another one.
    #[serde(default)]
    pub session: u64,
    /// Name of the peer.
    pub name: String,
    /// Key of the peer; empty if it is not known by an Ed25519 key.
    pub public_key: String,
    /// Whether packets pass.
    pub open: bool,
    /// Time for which it has been open.
    pub open_seconds: f64,
    /// Addresses of its client inside.
    pub addresses: Vec<IpAddr>,
    /// QUIC connections that carry it: one for each path, or one for all of them.
    #[serde(default)]
    pub connections: u64,
    /// Current carrier, `connections` or `multipath`; none without a connection.
    #[serde(default)]
    pub carrier: Option<CarrierKind>,
    /// Number of packets that wait for the paths.
    pub backlog_packets: u64,
    /// Number of bytes that wait.
    pub backlog_bytes: u64,
    /// Number of packets that have left the queue for a path.
    #[serde(default)]
    pub queue_sent_packets: u64,
    /// Sum of their waiting times.
    #[serde(default)]
    pub queue_sojourn_seconds: f64,
    /// Number of flows with packets in the queue; 0 if the queue discipline does not distinguish flows.
    #[serde(default)]
    pub waiting_flows: u64,
    /// Flows with the most bytes in the queue, at most [`MAX_FLOWS`], in descending order.
    #[serde(default)]
    pub flows: Vec<FlowStatus>,
    /// Values of the queue and the tunnel by name.
    pub values: BTreeMap<String, f64>,
    /// Its paths.
    pub paths: Vec<PathStatus>,
}

/// A flow that has packets in the queue of its session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowStatus {
    /// Name or number of its protocol.
    pub protocol: String,
    /// Source address, with the port if there is one.
    pub source: String,
    /// Destination address, with the port if there is one.
    pub destination: String,
    /// Packets in the queue.
    pub packets: u64,
    /// Bytes in the queue.
    pub bytes: u64,
    /// Waiting time of the first of them.
    pub wait_ms: f64,
    /// Packets that its queue has dropped so far.
    pub dropped_packets: u64,
}

impl FlowStatus {
    /// Returns those of `flows` with the most bytes, at most [`MAX_FLOWS`].
    #[must_use]
    pub fn longest(now: Time, mut flows: Vec<WaitingFlow>) -> Vec<Self> {
        flows.sort_by_key(|flow| (std::cmp::Reverse(flow.waiting.bytes), flow.key));
        flows.truncate(MAX_FLOWS);
        flows.iter().map(|flow| Self::of(now, flow)).collect()
    }

    fn of(now: Time, flow: &WaitingFlow) -> Self {
        let [source, destination] = flow.key.ends().map(|(address, port)| match port {
            Some(port) => SocketAddr::new(address, port).to_string(),
            None => address.to_string(),
        });
        let name = flow.key.protocol_name();
        Self {
            protocol: name.map_or_else(|| flow.key.protocol().to_string(), str::to_owned),
            source,
            destination,
            packets: flow.waiting.packets,
            bytes: flow.waiting.bytes.bytes(),
            wait_ms: now.since(flow.since).as_ms_f64(),
            dropped_packets: flow.dropped,
        }
    }
}

/// A path, as this end sees it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PathStatus {
    /// Its number.
    pub path: usize,
    /// Its name; at a server its number.
    pub name: String,
    /// Whether it carries data.
    pub up: bool,
    /// Local address outside.
    pub local: Option<SocketAddr>,
    /// Remote address outside.
    pub remote: Option<SocketAddr>,
    /// Longest IP packet that is known to fit the path, header included; none while there is no connection.
    pub mtu_bytes: Option<u16>,
    /// State of the search for a longer one.
    pub mtu_search: Option<MtuSearchState>,
    /// Smoothed RTT.
    pub rtt_ms: f64,
    /// Congestion window.
    pub window_bytes: u64,
    /// Bytes in flight.
    pub in_flight_bytes: u64,
    /// Known delivery rate of the path when it is full, for the scheduler: not a measure of its current load.
    pub rate_mbps: Option<f64>,
    /// Recent share of packets lost.
    pub loss: f64,
    /// Bytes of inner packets sent.
    pub sent_bytes: u64,
    /// Bytes of inner packets received.
    pub received_bytes: u64,
}

/// State of the search for the MTU of a path (RFC 8899 section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MtuSearchState {
    /// A longer packet may be found to pass: packets that do not fit are sent in fragments.
    Searching,
    /// It has ended, and is repeated every ten minutes.
    Complete,
}

impl MtuSearchState {
    /// State of a path whose search is in progress or not.
    #[must_use]
    pub fn of(searching: bool) -> Self {
        if searching { Self::Searching } else { Self::Complete }
    }

    /// Its name, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Searching => "searching",
            Self::Complete => "complete",
        }
    }
}
