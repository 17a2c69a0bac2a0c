//! What the configuration of a discipline states about itself, for those that build networks out of it: plain data,
//! without I/O.

use super::ack_filter::AckFilter;
use super::tc::TcQueue;
use crate::problem::Problem;
use crate::time::Duration;
use crate::units::ByteCount;

/// The configuration of a queue discipline.
pub trait QueueOptions {
    /// The first value that does not go together with another field; limits of single fields are theirs.
    fn conflict(&self) -> Option<Problem> {
        None
    }

    /// The limits on what waits.
    fn capacity(&self) -> Capacity;

    /// The field that is given and depends on the rate at which the queue empties. Tunnels do not know theirs.
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

/// Limits on what waits; `None`: unlimited, or not an option of the discipline. Each has the name of its field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// Maximum number of packets. Never exceeded.
    pub packets: Option<u64>,
    /// Maximum number of bytes. Never exceeded.
    pub bytes: Option<ByteCount>,
    /// Longest time that the backlog needs at the present rate.
    pub time: Option<Duration>,
    /// Maximum memory. It may be exceeded for a while.
    pub memory: Option<ByteCount>,
    /// Number of queues, each with a state of its own.
    pub flows: Option<u32>,
}
