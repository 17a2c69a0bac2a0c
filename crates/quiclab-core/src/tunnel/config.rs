//! Options of tunnels that do not depend on the transport.

use crate::problem::{FieldPath, Problem, ProblemKind, ensure, name_of, quoted};
use crate::queue::{AckFilter, QueueConfig};
use crate::scheduler::PathSchedulerKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Connections of a tunnel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CarrierKind {
    /// One connection for each path: each has its own acknowledgements, RTT and failure.
    #[default]
    Connections,
    /// One connection with all paths (Multipath QUIC).
    Multipath,
}

/// ECN field of what goes through a tunnel, and of the packets of its carrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TunnelEcn {
    /// They have nothing to do with each other: packets leave with the field that they entered with.
    #[default]
    Separate,
    /// A packet of the carrier is ECN-capable if all that it carries is, and its marks are passed on (RFC 6040). They also
    /// reduce the carrier's window.
    Propagated,
}

/// Transfer of packets from the queue to the paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pipeline {
    /// A packet leaves the queue when a path can take it immediately.
    #[default]
    #[schemars(title = "DirectPipeline")]
    Direct,
    /// That of PQUIC with the datagram plugin: see `tunnel/pquic.rs`.
    #[schemars(title = "PquicPipeline")]
    Pquic {
        /// Condition on which a packet of the tunnel leaves.
        #[serde(default)]
        leaves: LeaveRule,
        /// Packets that go to the second queue of the datagram plugin, that of frames without congestion control
        /// (default: none).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        second_queue: Option<SecondQueue>,
    },
}

/// Packets whose DATAGRAM frames leave whatever the window says, from the second queue of PQUIC's datagram plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SecondQueue {
    /// Those of ICMP.
    Icmp,
    /// All, as the public plugin without its build flag `DATAGRAM_CONGESTION_CONTROLLED`.
    All,
}

/// Condition on which PQUIC sends a packet with datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeaveRule {
    /// When no further datagram fits.
    #[default]
    Full,
    /// When no further datagram fits, or an acknowledgement leaves on the path.
    FullOrAcknowledging,
    /// Immediately.
    AtOnce,
}

/// Checks the queue and the distribution of packets at an end of a tunnel: over `paths` paths, if their number is
/// known, and `numbered` so that the peer can restore their order.
///
/// # Errors
/// The field, its value and the expected value.
pub fn check_sender(
    queue: &QueueConfig,
    scheduler: &PathSchedulerKind,
    paths: Option<usize>,
    numbered: bool,
) -> Result<(), Problem> {
    if let Some(field) = queue.options().needs_rate() {
        let path = FieldPath::new(["queue", field]);
        return Err(
            Problem::new(ProblemKind::Conflict, path, "`packets` or `bytes`").because("a tunnel has no rate")
        );
    }
    let filter = queue.options().ack_filter();
    ensure(filter == AckFilter::Off, || {
        Problem::conflict(FieldPath::new(["queue", "ack_filter"]), quoted(name_of(&filter)), "\"off\"")
            .because("a tunnel does not read the segments of TCP that it carries")
    })?;
    scheduler.check(paths).map_err(|problem| problem.below(&"scheduler".into()))?;
    ensure(*scheduler != PathSchedulerKind::Redundant || numbered, || {
        let expected = "another scheduler, or `resequencing` in addition";
        Problem::conflict("scheduler", quoted(name_of(scheduler)), expected)
            .because("copies are recognised by their number")
    })
}
