//! Flows: two endpoints, their routes and what is transferred.

use crate::time::Duration;
use crate::units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A transfer between two endpoints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Stack of both ends, where they do not name one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// The end that sends the data: the server of a download.
    #[serde(default)]
    pub sender: EndpointConfig,
    /// The end that receives the data: the client of a download.
    #[serde(default)]
    pub receiver: EndpointConfig,
    /// Links, bearers and taps from sender to receiver, in order.
    #[serde(default)]
    pub down: Vec<String>,
    /// Links, bearers and taps from receiver to sender, in order.
    #[serde(default)]
    pub up: Vec<String>,
    /// What is transferred.
    pub workload: Workload,
    /// When the client starts.
    #[serde(default)]
    pub start: Duration,
}

impl Flow {
    /// Both ends with the names of their fields.
    pub(super) fn ends(&self) -> [(&'static str, &EndpointConfig); 2] {
        [("sender", &self.sender), ("receiver", &self.receiver)]
    }

    /// Stack and options of an end of this flow, with the stack of the flow where it names none.
    #[must_use]
    pub fn inherited(&self, end: &EndpointConfig) -> EndpointConfig {
        EndpointConfig { stack: end.stack.clone().or_else(|| self.stack.clone()), ..end.clone() }
    }
}

/// Stack and options of one end. An option left out has the default of the stack.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EndpointConfig {
    /// Name of the stack: see `quiclab stack list`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// A named parameter set of the stack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Kind of host it runs on: a name in `hosts`; without it, one that costs nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Congestion control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_control: Option<CongestionControl>,
    /// Largest UDP payload sent; path MTU discovery is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagram_size: Option<ByteCount>,
    /// Initial congestion window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<ByteCount>,
    /// Flow-control window offered for each stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_receive_window: Option<ByteCount>,
    /// Flow-control window offered for the connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_receive_window: Option<ByteCount>,
    /// Most bytes of stream data sent and not acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_window: Option<ByteCount>,
    /// Packets of reordering before one is declared lost (RFC 9002 section 6.1.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_threshold: Option<u32>,
    /// Multiple of the RTT before a packet is declared lost (RFC 9002 section 6.1.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_threshold: Option<f64>,
    /// RTT assumed before the first sample (RFC 9002 section 6.2.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_rtt: Option<Duration>,
    /// What this end asks of the peer's acknowledgements (QUIC ACK Frequency extension).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_frequency: Option<AckFrequency>,
}

/// Congestion control of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CongestionControl {
    /// NewReno (RFC 9002 section 7).
    Newreno,
    /// CUBIC (RFC 9438).
    Cubic,
}

/// What a sender asks of its peer's acknowledgements (draft-ietf-quic-ack-frequency).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AckFrequency {
    /// Ack-eliciting packets the peer may receive without acknowledging at once.
    pub ack_eliciting_threshold: u32,
    /// Longest time the peer may wait; without it, its own max_ack_delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ack_delay: Option<Duration>,
    /// Reordering the peer ignores before it acknowledges at once.
    #[serde(default = "default_reordering_threshold")]
    pub reordering_threshold: u32,
}

fn default_reordering_threshold() -> u32 {
    2
}

/// What is transferred.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Workload {
    /// The client asks once; the server answers with `size` bytes, or for `duration`.
    Download {
        /// How much the server sends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<ByteCount>,
        /// How long the server sends, from the start of the client.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration: Option<Duration>,
        /// Length of the client's request.
        #[serde(default = "default_request")]
        request: ByteCount,
    },
}

impl Workload {
    /// How much is transferred; `None` where time decides.
    #[must_use]
    pub fn size(&self) -> Option<ByteCount> {
        let Self::Download { size, .. } = self;
        *size
    }
}

fn default_request() -> ByteCount {
    ByteCount::from_bytes(100)
}
