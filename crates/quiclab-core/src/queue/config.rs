//! Queue disciplines: of links, before their serialiser, and of tunnels, before their scheduler.

use crate::limits;
use crate::time::Duration;
use crate::units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What waits, and what is dropped or marked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[schemars(rename = "Queue")]
pub enum QueueConfig {
    /// First in, first out; a packet that would exceed a limit is dropped. All limits given hold.
    DropTail {
        /// Most packets, the one in service included.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::at_least(1))]
        packets: Option<u64>,
        /// Most bytes (with the link's overhead), the packet in service included.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::at_least("1 B"))]
        bytes: Option<ByteCount>,
        /// Longest time the backlog (with the new packet) needs at the present rate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::above("0 s"))]
        time: Option<Duration>,
    },
    /// First in, first out; what has waited longest is dropped until the new packet fits. All limits given hold.
    HeadDrop {
        /// Most packets that wait.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::at_least(1))]
        packets: Option<u64>,
        /// Most bytes that wait.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(transform = limits::at_least("1 B"))]
        bytes: Option<ByteCount>,
    },
    /// Controlled delay (CoDel, RFC 8289) as Linux' `codel`: one queue, dropped from or marked at its head.
    Codel {
        /// Most packets that wait; what would exceed it is dropped on arrival.
        #[serde(default = "codel_packets")]
        #[schemars(transform = limits::at_least(1))]
        packets: u64,
        /// Waiting time that is accepted for ever. Below `interval`.
        #[serde(default = "target")]
        target: Duration,
        /// How long every packet must have waited longer than `target` before the first drop.
        #[serde(default = "interval")]
        #[schemars(transform = limits::above("0 s"))]
        interval: Duration,
        /// Whether ECN-capable packets are marked instead of dropped.
        #[serde(default)]
        ecn: bool,
        /// ECN-capable packets that have waited longer are marked at once; none without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ce_threshold: Option<Duration>,
        /// While no more than this waits, nothing is dropped; `0 B`: no such exception.
        #[serde(default = "frame")]
        least_backlog: ByteCount,
        /// When the next drop is due.
        #[serde(default)]
        control_law: ControlLaw,
        /// The count of drops with which a new series begins.
        #[serde(default)]
        restart: CodelRestart,
    },
    /// A CoDel queue for each flow, served in turn (FQ-CoDel, RFC 8290) as Linux' `fq_codel`.
    FqCodel {
        /// Most packets that wait in all queues.
        #[serde(default = "fq_codel_packets")]
        #[schemars(transform = limits::at_least(1))]
        packets: u64,
        /// Most memory of all queues: the bytes of packets, and `memory_per_packet` for each.
        #[serde(default = "memory")]
        #[schemars(transform = limits::at_least("1 B"))]
        memory: ByteCount,
        /// Memory of a packet beside its bytes (Linux counts the whole buffer).
        #[serde(default)]
        memory_per_packet: ByteCount,
        /// Most packets dropped at once from the longest queue when a limit is exceeded, but not more than
        /// half of its bytes.
        #[serde(default = "drop_batch")]
        #[schemars(transform = limits::at_least(1).unit("packets"))]
        drop_batch: u32,
        /// Number of queues that flows are hashed to.
        #[serde(default = "flows")]
        #[schemars(transform = limits::between(1, 65536).unit("queues"))]
        flows: u32,
        /// What the hash takes of a packet.
        #[serde(default)]
        hash: FlowHash,
        /// Bytes a queue may send in its turn.
        #[serde(default = "frame")]
        #[schemars(transform = limits::between("256 B", "1 MiB"))]
        quantum: ByteCount,
        /// As for `codel`. Below `interval`.
        #[serde(default = "target")]
        target: Duration,
        /// As for `codel`.
        #[serde(default = "interval")]
        #[schemars(transform = limits::above("0 s"))]
        interval: Duration,
        /// Whether ECN-capable packets are marked instead of dropped.
        #[serde(default = "fq_codel_ecn")]
        ecn: bool,
        /// As for `codel`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ce_threshold: Option<Duration>,
        /// While no more than this waits in all queues, nothing is dropped; `0 B`: no such exception.
        #[serde(default = "frame")]
        least_backlog: ByteCount,
        /// As for `codel`.
        #[serde(default)]
        control_law: ControlLaw,
        /// As for `codel`.
        #[serde(default)]
        restart: CodelRestart,
    },
}

/// When CoDel's next drop is due, after `count` of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ControlLaw {
    /// `interval` / sqrt(count), in Linux' fixed-point numbers (RFC 8289 section 5.5).
    #[default]
    InverseSqrt,
    /// `interval` / count: the published tunnel.
    InverseCount,
}

/// The count with which CoDel begins a new series of drops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CodelRestart {
    /// How much the last series has added, if it ended within 16 intervals, else 1 (RFC 8289 section 5.5).
    #[default]
    LastSeries,
    /// Two less than before, at least 1, if the packet has waited less than one interval, else 1: the published tunnel.
    MinusTwo,
}

/// What of a packet the hash of FQ-CoDel takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowHash {
    /// Addresses, protocol and ports (ICMP: type, code and identifier; fragments: identification).
    #[default]
    FiveTuple,
    /// The sum of protocol, addresses and ports, 0 for ICMP: the published tunnel.
    FieldSum,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self::DropTail { packets: Some(1000), bytes: None, time: None }
    }
}

impl QueueConfig {
    /// FQ-CoDel with all its defaults.
    #[must_use]
    pub fn fq_codel() -> Self {
        Self::FqCodel {
            packets: fq_codel_packets(),
            memory: memory(),
            memory_per_packet: ByteCount::ZERO,
            drop_batch: drop_batch(),
            flows: flows(),
            hash: FlowHash::default(),
            quantum: frame(),
            target: target(),
            interval: interval(),
            ecn: fq_codel_ecn(),
            ce_threshold: None,
            least_backlog: frame(),
            control_law: ControlLaw::default(),
            restart: CodelRestart::default(),
        }
    }

    /// The first field that does not go together with another one: its name (empty: the whole), its value as TOML,
    /// and what was expected.
    #[must_use]
    pub fn conflict(&self) -> Option<(&'static str, String, String)> {
        let no_limit = |limits: &str| Some(("", "no limit".to_owned(), format!("at least one of {limits}")));
        match self {
            Self::DropTail { packets: None, bytes: None, time: None } => {
                no_limit("`packets`, `bytes` and `time`")
            }
            Self::HeadDrop { packets: None, bytes: None } => no_limit("`packets` and `bytes`"),
            Self::Codel { target, interval, .. } | Self::FqCodel { target, interval, .. }
                if target >= interval =>
            {
                let expected = format!("a duration below `interval`, \"{interval}\"");
                Some(("target", format!("\"{target}\""), expected))
            }
            _ => None,
        }
    }
}

/// `DEFAULT_CODEL_LIMIT` of Linux.
fn codel_packets() -> u64 {
    1000
}
/// RFC 8290 section 5.2.3 and Linux.
fn fq_codel_packets() -> u64 {
    10_240
}
/// RFC 8289 section 4.4.
fn target() -> Duration {
    Duration::from_millis(5)
}
/// RFC 8289 section 4.3.
fn interval() -> Duration {
    Duration::from_millis(100)
}
/// The largest packet of an Ethernet with its header, as `psched_mtu` of Linux counts it.
fn frame() -> ByteCount {
    ByteCount::from_bytes(1514)
}
/// `memory_limit` of Linux.
fn memory() -> ByteCount {
    ByteCount::from_bytes(32 << 20)
}
/// `drop_batch_size` of Linux.
fn drop_batch() -> u32 {
    64
}
/// RFC 8290 section 5.2.4 and Linux.
fn flows() -> u32 {
    1024
}
fn fq_codel_ecn() -> bool {
    true
}
