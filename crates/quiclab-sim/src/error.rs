//! Reasons why a run gives no result.

use crate::build::BuildError;
use crate::event_loop::SimulationError;
use thiserror::Error;

/// Failure of a run.
#[derive(Debug, Error)]
pub enum RunError {
    /// The scenario cannot be built: the request was invalid.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The simulation failed.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// An element miscounts: a defect of the element.
    #[error("counters of `{element}` do not balance: {packets} packets and {bytes} bytes too many came in")]
    Unbalanced {
        /// Name of the element.
        element: String,
        /// Packets in minus out.
        packets: i128,
        /// Bytes in minus out.
        bytes: i128,
    },
    /// The caller interrupted the run.
    #[error("interrupted")]
    Interrupted,
}
