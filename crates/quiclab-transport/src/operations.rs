//! Protocol operations that a plugin can replace, or wrap: named computations with named inputs and one
//! result.
//!
//! A connection asks [`Operations::run`] wherever one of them happens. Without plugins that is the native
//! computation and nothing else.

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Congestion window of a path in bytes, before each packet.
    CongestionWindow,
    /// Pacing rate of a path in bit/s, whenever it is computed.
    PacingRate,
    /// Packets of reordering before one is lost, at each acknowledgement.
    PacketThreshold,
    /// Probe timeout in ms, whenever the timer is set.
    ProbeTimeout,
    /// Time until an acknowledgement must leave, in ms, at each ack-eliciting packet.
    AckDelay,
    /// An RTT sample in ms, before it is taken.
    RttSample,
    /// Whether a DATAGRAM frame may leave now (1) or waits for the window (0).
    DatagramMayLeave,
    /// Path that the next packet takes, by its number.
    Path,
    /// Stream that sends next, by its identifier.
    Stream,
}

/// The plugins of a connection, by operation.
#[derive(Default)]
pub struct Operations {}

impl Operations {
    /// Whether a plugin replaces or wraps `operation`.
    #[inline]
    #[must_use]
    pub fn replaces(&self, _operation: Operation) -> bool {
        false
    }

    /// The result of `operation`: that of `native`, unless a plugin replaces or wraps it. `inputs` are named
    /// numbers that plugins see.
    #[inline]
    pub fn run<const N: usize>(
        &mut self,
        _operation: Operation,
        _inputs: impl FnOnce() -> [(&'static str, f64); N],
        native: impl FnOnce() -> f64,
    ) -> f64 {
        native()
    }
}
