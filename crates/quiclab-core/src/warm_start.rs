//! Warm start: a kernel keeps metrics of a destination when a connection to it ends, and the next connection starts
//! with them.

use crate::time::Duration;

/// An endpoint whose kernel keeps metrics of the destination.
pub trait WarmStart {
    /// Metrics that the kernel keeps if the connection is closed now.
    fn saved_metrics(&mut self) -> SavedTcpMetrics;

    /// Loads the metrics that were kept when the previous connection was closed; to be called before the run.
    fn load_metrics(&mut self, metrics: SavedTcpMetrics);
}

/// Metrics of a destination (Linux: `struct tcp_metrics_block`). `None` if not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SavedTcpMetrics {
    /// Slow-start threshold in full segments.
    pub ssthresh: Option<u32>,
    /// Smoothed RTT.
    pub rtt: Option<Duration>,
    /// Tolerated reordering, in segments.
    pub reordering: Option<u32>,
}
