//! Options of Multipath QUIC (draft-ietf-quic-multipath-21): limits and actions of an end, and actions of a
//! client on its paths over time.

use quiclab_core::problem::quoted;
use quiclab_core::{Duration, FieldPath, Problem, Time, limits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Management of paths with the frames of draft-ietf-quic-multipath-21, by ends that both have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Multipath {
    /// Largest path ID that the peer may use at first (`initial_max_path_id`). Abandoned paths raise the limit by one each
    /// (MAX_PATH_ID).
    #[serde(default = "default_max_path_id")]
    #[schemars(transform = limits::at_most(254))]
    pub initial_max_path_id: u32,
    /// Path on which acknowledgements of the packets of a path are sent (default: `same`). noq sends all on its first path that
    /// is available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledgements: Option<AckPath>,
    /// This end abandons a path of which nothing was received or acknowledged for this time, or for three probe timeouts, if
    /// they are longer (default: never). The last path stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between("1 ms", "1440 min"))]
    pub idle_timeout: Option<Duration>,
    /// This end sends PING on a path of which nothing was received or acknowledged for this time, nor anything sent that asks
    /// for an acknowledgement (default: never). Less than `idle_timeout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = limits::between("1 ms", "1440 min"))]
    pub keep_alive: Option<Duration>,
}

impl Multipath {
    /// Checks the options that depend on each other.
    ///
    /// # Errors
    /// If a path would be abandoned before it is kept alive.
    pub fn check(&self) -> Result<(), Problem> {
        match self.idle_timeout.zip(self.keep_alive) {
            Some((timeout, keep_alive)) if keep_alive >= timeout => {
                let expected = format!("less than `multipath.idle_timeout`, \"{timeout}\"");
                Err(Problem::conflict(
                    FieldPath::new(["multipath", "keep_alive"]),
                    quoted(keep_alive),
                    expected,
                ))
            }
            _ => Ok(()),
        }
    }
}

/// Path IDs 0 to 7, the maximum number of paths of a flow.
const fn default_max_path_id() -> u32 {
    7
}

/// Path on which acknowledgements are sent (draft-ietf-quic-multipath-21 section 5.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AckPath {
    /// That of the packets, unless it is abandoned.
    #[default]
    Same,
    /// That with the lowest smoothed RTT among those that work.
    LowestRtt,
}

/// Preference for a path (draft-ietf-quic-multipath-21 section 3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathStatus {
    /// The path scheduler may choose it.
    #[default]
    Available,
    /// It is used only if no available path works.
    Backup,
}

/// Action of a client on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathAction {
    /// Tells the peer that it is available (PATH_STATUS_AVAILABLE).
    Available,
    /// Tells the peer that it is a backup (PATH_STATUS_BACKUP).
    Backup,
    /// Closes it (PATH_ABANDON).
    Abandon,
}

impl From<PathStatus> for PathAction {
    fn from(status: PathStatus) -> Self {
        match status {
            PathStatus::Available => Self::Available,
            PathStatus::Backup => Self::Backup,
        }
    }
}

/// Something that a client does to a path at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathChange {
    /// When, from the start of the run.
    pub at: Duration,
    /// Number of the path: 0 is that of `down` and `up`, 1 the first of `paths`. It is the path ID.
    pub path: u8,
    /// Action of the client.
    pub action: PathAction,
}

/// Path that a client opens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlannedPath {
    /// Earliest time at which it is opened; the first path exists from the start.
    pub opens: Time,
    /// Status with which it is opened.
    pub status: PathStatus,
}

/// Plan of a client for its paths: those that it opens, including the first, and changes in the order of
/// their times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathPlan {
    /// Paths by path ID; missing ones are opened at once.
    pub paths: Vec<PlannedPath>,
    /// Changes in the order of their times.
    pub changes: Vec<PathChange>,
}

impl PathPlan {
    /// Plan of one path.
    #[must_use]
    pub fn path(&self, id: usize) -> PlannedPath {
        self.paths.get(id).copied().unwrap_or_default()
    }
}
