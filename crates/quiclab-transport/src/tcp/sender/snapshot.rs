//! State of the sender for results and time series, and the metrics that it alone has.

use quiclab_core::{DataRate, Duration, Metrics, Phase, RecoveryState};

quiclab_core::metrics! {
    /// Loss recovery of TCP.
    pub static TCP: TcpMetrics = Flow, "endpoint, lab-tcp" {
        /// Retransmission timeout.
        rto_ms: Gauge, Both;
        /// Segments sent again.
        retransmitted_packets: Counter, Both;
        /// Retransmission timeouts.
        timeouts: Counter, Both;
        /// Tail loss probes.
        tail_loss_probes: Counter, Both;
        /// Reductions of the window that were undone.
        undos: Counter, Both;
        /// Tolerated reordering before a segment is declared lost.
        reordering_packets: Gauge, Both;
        /// Packets that had ECN marks, according to feedback: with `ecn = "classic"` all that an acknowledgement with ECE acknowledges; only with `ecn`.
        marked_packets: Counter, Both;
    }
}

/// Totals since the start of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Segments sent again.
    pub(crate) retransmitted: u64,
    /// Segments declared lost, including retransmissions lost again.
    pub(crate) lost: u64,
    /// Unnecessary retransmissions, reported by DSACK.
    pub(crate) spurious: u64,
    /// Recovery periods.
    pub(crate) congestion_events: u64,
    /// Retransmission timeouts.
    pub(crate) timeouts: u64,
    /// Tail loss probes.
    pub(crate) tail_loss_probes: u64,
    /// Reductions that were undone.
    pub(crate) undos: u64,
    /// Segments delivered by acknowledgements that reported marks.
    pub(crate) marked: u64,
}

/// State at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Snapshot {
    /// Window in bytes.
    pub(crate) cwnd_bytes: u64,
    /// Slow-start threshold in bytes; `None` in the initial slow start.
    pub(crate) ssthresh_bytes: Option<u64>,
    /// Bytes in flight.
    pub(crate) in_flight_bytes: u64,
    /// Smoothed RTT; `None` before the first sample.
    pub(crate) srtt: Option<Duration>,
    /// Smallest RTT; `None` before the first sample.
    pub(crate) min_rtt: Option<Duration>,
    /// Retransmission timeout.
    pub(crate) rto: Duration,
    /// Pacing rate; `None` without pacing.
    pub(crate) pacing_rate: Option<DataRate>,
    /// Phase of the congestion control.
    pub(crate) phase: Phase,
    /// Tolerated reordering in segments.
    pub(crate) reordering: u32,
    /// Whether ECN is in use.
    pub(crate) has_ecn: bool,
    /// Totals.
    pub(crate) counts: Counts,
}

impl Snapshot {
    /// The part that all stacks have.
    pub(crate) fn recovery_state(&self) -> RecoveryState {
        RecoveryState {
            cwnd_bytes: self.cwnd_bytes,
            ssthresh_bytes: self.ssthresh_bytes,
            in_flight_bytes: Some(self.in_flight_bytes),
            srtt_ns: self.srtt.map(Duration::as_nanos),
            min_rtt_ns: self.min_rtt.map(Duration::as_nanos),
            pacing_rate_bps: self.pacing_rate.map(DataRate::bits_per_second),
            phase: Some(self.phase),
            spurious_losses: Some(self.counts.spurious),
            lost_packets: self.counts.lost,
            congestion_events: self.counts.congestion_events,
        }
    }

    /// Sets all metrics; unknown values are omitted.
    pub(crate) fn report(&self, out: &mut Metrics) {
        let counts = &self.counts;
        self.recovery_state().report(out);
        out.set(&TCP.rto_ms, self.rto.as_ms_f64());
        out.count(&TCP.retransmitted_packets, counts.retransmitted);
        out.count(&TCP.timeouts, counts.timeouts);
        out.count(&TCP.tail_loss_probes, counts.tail_loss_probes);
        out.count(&TCP.undos, counts.undos);
        out.count(&TCP.reordering_packets, u64::from(self.reordering));
        if self.has_ecn {
            out.count(&TCP.marked_packets, counts.marked);
        }
    }
}
