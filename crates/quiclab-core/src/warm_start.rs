//! Warm start: a kernel keeps metrics of a destination when a connection to it ends, and the next connection starts
//! with them.

use crate::time::Duration;

/// An endpoint whose kernel keeps metrics of the destination.
pub trait WarmStart {
    /// The metrics that are kept if the connection is closed now.
    fn saved_metrics(&mut self) -> SavedTcpMetrics;

    /// Before the run: starts with what was kept when the connection before was closed.
    fn load_metrics(&mut self, metrics: SavedTcpMetrics);
}

/// Metrics of a destination (Linux: `struct tcp_metrics_block`). `None`: not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SavedTcpMetrics {
    /// Slow-start threshold in full segments.
    pub ssthresh: Option<u32>,
    /// Smoothed RTT.
    pub rtt: Option<Duration>,
    /// Reordering that is tolerated, in segments.
    pub reordering: Option<u32>,
}
