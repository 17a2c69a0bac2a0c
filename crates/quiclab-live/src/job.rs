//! A job: input of one run of the kernel lane, as `job.json` in the directory of the run.
//!
//! The Python package writes it: it knows adapters and options of programs. This crate knows only processes.

use quiclab_core::Duration;
use quiclab_core::problem::system_reason;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use thiserror::Error;

/// Version of the job's format.
pub const SCHEMA: &str = "quiclab.job/1";
/// File of the job in its directory.
pub const FILE: &str = "job.json";

/// One run.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// [`SCHEMA`].
    pub schema: String,
    /// The scenario, resolved and validated.
    pub scenario: serde_json::Value,
    /// Seed of the elements.
    pub seed: u64,
    /// Directory to which paths of trace files are relative.
    pub base_dir: String,
    /// Clock of the machine.
    pub clock: Clock,
    /// Duration of a system call with the virtual clock, in nanoseconds.
    #[serde(default)]
    pub syscall_cost_ns: u64,
    /// Emulation of the links.
    #[serde(default)]
    pub emulation: Emulation,
    /// Stage of netem that delays packets.
    #[serde(default)]
    pub delay_stage: DelayStage,
    /// Programs of the flows by name.
    pub flows: BTreeMap<String, Pair>,
    /// Settings of the network namespaces, such as `net.ipv4.tcp_no_metrics_save`.
    #[serde(default)]
    pub sysctls: BTreeMap<String, String>,
}

/// Clock of the machine on which the run executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Time passes by itself: deadlines are met by sleeping, and at the end by busy waiting.
    Real,
    /// Time passes only while all processes wait: computing takes no time, and busy waiting would never end.
    Virtual,
}

/// Emulation of the links of the scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Emulation {
    /// quiclab's elements.
    #[default]
    Engine,
    /// The kernel's queueing disciplines.
    Netem,
}

/// Stage of netem that delays packets. From Linux 6.12 on, packets in its child count against its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DelayStage {
    /// On the hop after that of the rate: the queue is exactly the limit.
    #[default]
    NextHop,
    /// In a netem that is the child of that of the rate, as in published commands.
    Child,
    /// In the netem that has the rate.
    Same,
}

/// The programs of a flow.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// At the sender's end.
    pub server: Option<Program>,
    /// At the receiver's end; the flow is done when it ends.
    pub client: Option<Program>,
    /// Whether the sender's end is in the network of the machine itself, where the process that listens on
    /// the server's address answers.
    #[serde(default)]
    pub server_on_host: bool,
}

/// A process to start.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Command and arguments. `{server_address}`, `{client_address}` and `{directory}` are replaced.
    pub command: Vec<String>,
    /// Variables added to the environment; the same placeholders are replaced in their values.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Condition under which it is ready.
    #[serde(default)]
    pub ready: Ready,
    /// Maximum wait until it is ready.
    #[serde(default = "default_ready_timeout")]
    pub ready_timeout: Duration,
    /// Time from the request to stop to the kill.
    #[serde(default = "default_grace")]
    pub grace: Duration,
    /// Whether it uses the terminal of the user instead of files.
    #[serde(default)]
    pub terminal: bool,
}

fn default_ready_timeout() -> Duration {
    Duration::from_secs(20)
}

fn default_grace() -> Duration {
    Duration::from_secs(2)
}

/// Condition under which a program is ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Ready {
    /// Immediately.
    #[default]
    Started,
    /// A socket is bound to the port.
    Port {
        /// Protocol of the socket.
        protocol: PortProtocol,
        /// Number of the port.
        port: u16,
    },
    /// It has printed this text.
    Output {
        /// Part of a line on stdout or stderr.
        text: String,
    },
}

/// Protocol of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PortProtocol {
    /// TCP, listening.
    Tcp,
    /// UDP, bound.
    Udp,
}

/// Error of reading a job.
#[derive(Debug, Error)]
pub enum JobError {
    /// The file cannot be read.
    #[error("cannot read the job {path}: {}", system_reason(reason))]
    Unreadable {
        /// Its path.
        path: String,
        /// Reason.
        reason: std::io::Error,
    },
    /// The file is not a job.
    #[error("the job {path} is not valid: {reason}")]
    Malformed {
        /// Its path.
        path: String,
        /// Reason.
        reason: String,
    },
}

impl Job {
    /// Reads the job of a directory.
    ///
    /// # Errors
    /// If the file cannot be read or is not a job.
    pub fn read(directory: &Path) -> Result<Self, JobError> {
        let path = directory.join(FILE);
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(&path)
            .map_err(|reason| JobError::Unreadable { path: shown.clone(), reason })?;
        let malformed = |reason: String| JobError::Malformed { path: shown.clone(), reason };
        let job: Self = serde_json::from_str(&text).map_err(|error| malformed(error.to_string()))?;
        if job.schema != SCHEMA {
            return Err(malformed(format!("schema: expected {SCHEMA:?}, got {:?}", job.schema)));
        }
        Ok(job)
    }
}

impl Job {
    /// Whether a program uses the terminal of the user.
    #[must_use]
    pub fn has_terminal(&self) -> bool {
        self.flows.values().filter_map(|pair| pair.client.as_ref()).any(|client| client.terminal)
    }
}

impl Program {
    /// The program with addresses and directory in its command.
    #[must_use]
    pub fn at(&self, server: IpAddr, client: IpAddr, directory: &Path) -> Self {
        let values = [
            ("{server_address}", server.to_string()),
            ("{client_address}", client.to_string()),
            ("{directory}", directory.display().to_string()),
        ];
        let filled =
            |word: &String| values.iter().fold(word.clone(), |word, (name, value)| word.replace(name, value));
        let environment =
            self.environment.iter().map(|(name, value)| (name.clone(), filled(value))).collect();
        Self { command: self.command.iter().map(filled).collect(), environment, ..self.clone() }
    }
}
