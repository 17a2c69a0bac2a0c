//! The sending half of a TCP connection: what may be sent, what was, and what became of it.

use super::config::Config;
use crate::congestion::{Controller, Phase};
use crate::pacing::Pacer;
use quiclab_core::{DataRate, Duration, Segment, Time};

/// A segment to send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transmission {
    /// Position of its first byte.
    pub(crate) sequence: u64,
    /// Payload in bytes; 0 for a lone FIN and for a window probe.
    pub(crate) length: u16,
    /// It carries FIN after its payload.
    pub(crate) fin: bool,
    /// It ends a write of the application.
    pub(crate) push: bool,
    /// It was sent before.
    pub(crate) retransmission: bool,
}

/// What an acknowledgement did; for the series of acknowledgements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AckOutcome {
    /// Segments newly acknowledged, selectively or not.
    pub(crate) acked_segments: u32,
    /// Bytes newly acknowledged, selectively or not.
    pub(crate) acked_bytes: u64,
    /// It was ignored: older than what is acknowledged, or of data never sent.
    pub(crate) ignored: bool,
}

/// State for results and time series; the names are those of `RecoveryState`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) cwnd_bytes: u64,
    pub(crate) ssthresh_bytes: Option<u64>,
    pub(crate) in_flight_bytes: u64,
    pub(crate) srtt: Option<Duration>,
    pub(crate) min_rtt: Option<Duration>,
    pub(crate) rto: Duration,
    pub(crate) pacing_rate: Option<DataRate>,
    pub(crate) phase: Phase,
    /// Segments declared lost, a retransmission lost again included.
    pub(crate) lost_segments: u64,
    /// Retransmissions that were not necessary: DSACK reported them.
    pub(crate) spurious_segments: u64,
    /// Segments sent, retransmissions included.
    pub(crate) sent_segments: u64,
    pub(crate) retransmitted_segments: u64,
    /// Recovery periods entered.
    pub(crate) congestion_events: u64,
    pub(crate) timeouts: u64,
    pub(crate) tail_loss_probes: u64,
    pub(crate) undos: u64,
    /// Reordering that is tolerated, in segments.
    pub(crate) reordering: u32,
}

/// The sending half. Position 0 is SYN, the stream begins at 1.
pub(crate) struct Sender {}

#[allow(unused_variables)]
impl Sender {
    /// The sender of a connection whose handshake is done. `payload` is that of a full segment in bytes,
    /// `window` the peer's first receive window, `handshake_rtt` the RTT of the handshake if it was
    /// measured (SYN not retransmitted).
    pub(crate) fn new(
        config: &Config,
        payload: u64,
        sack: bool,
        timestamps: bool,
        window: u64,
        handshake_rtt: Option<Duration>,
        now: Time,
        controller: Box<dyn Controller>,
        pacer: Box<dyn Pacer>,
    ) -> Self {
        todo!()
    }
    /// The application appends `bytes`; [`Sender::room`] says how many may wait.
    pub(crate) fn write(&mut self, bytes: u64) {
        todo!()
    }
    /// The application has written everything: FIN follows the last byte.
    pub(crate) fn finish(&mut self) {
        todo!()
    }
    /// Bytes that the send buffer has room for (its size follows the window, up to the largest buffer).
    pub(crate) fn room(&self) -> u64 {
        todo!()
    }
    /// An acknowledgement arrived (the caller has checked timestamps, PAWS). `segment` may carry data,
    /// too: then it is no duplicate.
    pub(crate) fn on_ack(&mut self, now: Time, segment: &Segment) -> AckOutcome {
        todo!()
    }
    /// The deadline of [`Sender::next_timer`] is due.
    pub(crate) fn on_timer(&mut self, now: Time) {
        todo!()
    }
    /// When [`Sender::on_timer`] wants to be called: retransmission, probe, reordering and pacing timers,
    /// zero-window probes.
    pub(crate) fn next_timer(&self) -> Option<Time> {
        todo!()
    }
    /// The next segment that may leave now; call it until it returns `None`.
    pub(crate) fn transmit(&mut self, now: Time) -> Option<Transmission> {
        todo!()
    }
    /// First position not acknowledged.
    pub(crate) fn unacknowledged(&self) -> u64 {
        todo!()
    }
    /// Position of the next new byte: the sequence number of a pure ACK.
    pub(crate) fn next_position(&self) -> u64 {
        todo!()
    }
    /// Everything written, and FIN if there is one, is acknowledged.
    pub(crate) fn is_all_acknowledged(&self) -> bool {
        todo!()
    }
    /// Timeouts in a row without an answer; a connection gives up after 15 (`tcp_retries2`).
    pub(crate) fn retries(&self) -> u32 {
        todo!()
    }
    /// State for results and series.
    pub(crate) fn snapshot(&self) -> Snapshot {
        todo!()
    }
}
