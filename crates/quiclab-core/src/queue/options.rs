//! Properties of a discipline that its configuration states, for builders of networks: plain data, without I/O.

use super::ack_filter::AckFilter;
use super::tc::TcQueue;
use crate::problem::Problem;
use crate::time::Duration;
use crate::units::ByteCount;

/// The configuration of a queue discipline.
pub trait QueueOptions {
    /// The first value that is inconsistent with another field; limits of single fields are checked with their types.
    fn conflict(&self) -> Option<Problem> {
        None
    }

    /// Limits on waiting items.
    fn capacity(&self) -> Capacity;

    /// A configured field that depends on the drain rate of the queue, which tunnels do not know.
    fn needs_rate(&self) -> Option<&'static str> {
        None
    }

    /// The filter of acknowledgements. Tunnels read no segments.
    fn ack_filter(&self) -> AckFilter {
        AckFilter::Off
    }

    /// The counterpart in the Linux kernel.
    ///
    /// # Errors
    /// The first value that the kernel does not support.
    fn tc(&self) -> Result<TcQueue, Problem>;

    /// Configurations for tests that any discipline must pass; their limits are reached within a few dozen packets.
    #[cfg(test)]
    fn examples() -> Vec<Self>
    where
        Self: Sized;
}

/// Limits on waiting items; `None`: unlimited, or not an option of the discipline. Each has the name of its field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Maximum number of packets. Never exceeded.
    pub packets: Option<u64>,
    /// Maximum number of bytes. Never exceeded.
    pub bytes: Option<ByteCount>,
    /// Maximum time to serialise the backlog at the present rate.
    pub time: Option<Duration>,
    /// Maximum memory. It may be exceeded for a while.
    pub memory: Option<ByteCount>,
    /// Number of queues, each with its own state.
    pub flows: Option<u32>,
}
