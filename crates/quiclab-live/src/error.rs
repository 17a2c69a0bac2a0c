//! Errors of a run.

use crate::job::JobError;
use crate::netem::NetemError;
use crate::process::ProcessError;
use quiclab_sim::{BuildError, RunError, SimulationError};
use quiclab_trace::capture::CaptureError;
use rustix::io::Errno;
use std::io;
use thiserror::Error;

/// Error for which a run has no result.
#[derive(Debug, Error)]
pub enum LiveError {
    /// The job is invalid.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The scenario of the job is invalid.
    #[error("the job's scenario: {0}")]
    Scenario(String),
    /// A host is not available.
    #[error("the host of `{end}` cannot be set up: {reason}")]
    Host {
        /// The end of a flow.
        end: String,
        /// Reason.
        reason: io::Error,
    },
    /// A program did not start.
    #[error("{end}: {reason}")]
    Program {
        /// The end of a flow.
        end: String,
        /// Reason.
        reason: ProcessError,
    },
    /// A flow of the job is not in its scenario.
    #[error("the job's flows.{0}: the scenario has no such flow")]
    Flow(String),
    /// A stop was requested before the run began.
    #[error("stopped before the run had begun")]
    Stopped,
    /// Links cannot be emulated by the kernel.
    #[error(transparent)]
    Netem(#[from] NetemError),
    /// The network cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The elements failed.
    #[error(transparent)]
    Elements(#[from] SimulationError),
    /// A capture is incomplete.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The result cannot be produced.
    #[error(transparent)]
    Result(#[from] RunError),
    /// The machine refuses an operation.
    #[error("the machine: {0}")]
    EndpointHost(#[from] io::Error),
}

impl From<Errno> for LiveError {
    fn from(error: Errno) -> Self {
        Self::EndpointHost(error.into())
    }
}
