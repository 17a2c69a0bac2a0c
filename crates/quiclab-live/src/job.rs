//! A job: what one run of the kernel lane needs, as `job.json` in the directory of the run.
//!
//! The Python package writes it: it knows adapters and options of programs. Here only processes are known.

use quiclab_core::{Duration, Role};
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
    /// Folder that relative paths of trace files start from.
    pub base_dir: String,
    /// Which clock the machine has.
    pub clock: Clock,
    /// Programs of the flows by name.
    pub flows: BTreeMap<String, Pair>,
    /// Settings of all network namespaces, such as `net.ipv4.tcp_no_metrics_save`.
    #[serde(default)]
    pub sysctls: BTreeMap<String, String>,
}

/// The clock of the machine that the run is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Time passes by itself: deadlines are met by waiting, the last bit of it busily.
    Real,
    /// Time passes only while everything waits: computing takes none, and waiting busily would never end.
    Virtual,
}

/// The programs of a flow.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// At the sender's end.
    pub server: Option<Program>,
    /// At the receiver's end; the flow is done when it ends.
    pub client: Option<Program>,
}

/// A process to start.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Command and arguments. `{server_address}`, `{client_address}` and `{directory}` are replaced.
    pub command: Vec<String>,
    /// Settings of its network namespace beside those of the job.
    #[serde(default)]
    pub sysctls: BTreeMap<String, String>,
    /// Variables added to the environment.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// How to know that it can be used.
    #[serde(default)]
    pub ready: Ready,
    /// Longest wait for that.
    #[serde(default = "default_ready_timeout")]
    pub ready_timeout: Duration,
    /// Time from the request to stop until it is killed.
    #[serde(default = "default_grace")]
    pub grace: Duration,
    /// Whether it has the terminal of the user instead of files.
    #[serde(default)]
    pub terminal: bool,
}

fn default_ready_timeout() -> Duration {
    Duration::from_secs(20)
}

fn default_grace() -> Duration {
    Duration::from_secs(2)
}

/// How to know that a program can be used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Ready {
    /// At once.
    #[default]
    Started,
    /// A socket is bound to the port.
    Port {
        /// Protocol of the socket.
        protocol: PortProtocol,
        /// Number of the port.
        port: u16,
    },
    /// It has printed this.
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

/// Why a job cannot be read.
#[derive(Debug, Error)]
pub enum JobError {
    /// The file cannot be read.
    #[error("the job {path} cannot be read: {reason}")]
    Unreadable {
        /// Its path.
        path: String,
        /// Why.
        reason: std::io::Error,
    },
    /// It is not a job.
    #[error("the job {path} is not one: {reason}")]
    Malformed {
        /// Its path.
        path: String,
        /// Why.
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
            return Err(malformed(format!("schema = `{}`: allowed is {SCHEMA}", job.schema)));
        }
        Ok(job)
    }

    /// Settings of the network namespace at an end of a flow.
    #[must_use]
    pub fn sysctls_of(&self, flow: &str, role: Role) -> BTreeMap<String, String> {
        let pair = self.flows.get(flow);
        let program = pair.and_then(|pair| match role {
            Role::Server => pair.server.as_ref(),
            Role::Client => pair.client.as_ref(),
        });
        let own = program.into_iter().flat_map(|program| &program.sysctls);
        self.sysctls.iter().chain(own).map(|(name, value)| (name.clone(), value.clone())).collect()
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
        Self { command: self.command.iter().map(filled).collect(), ..self.clone() }
    }
}
