//! Sending half of a TCP connection: data to send, data sent, and their acknowledgement and loss.
//!
//! RFC 5681, 6298, 6675, 8985, 9937, 5682 as Linux combines them (net/ipv4/tcp_input.c, tcp_output.c,
//! tcp_timer.c, tcp_recovery.c). One folder, one file for each step of an acknowledgement:
//!
//! ```text
//! acknowledge   processing of an ACK: window, SACK, cumulative part, RTT, then recovery and the controller
//! sack          blocks, duplicates reported by DSACK
//! loss          detection of lost segments: RACK, or a count of duplicates
//! recovery      Open, Disorder, Recovery, Loss; undo of spurious reductions; F-RTO
//! timers        retransmission timeout, tail loss probe, reordering, zero window
//! send          choice of the next segment
//! write         writes of the application
//! ```
//!
//! and one for each part of its state, whose fields are private to its methods:
//!
//! ```text
//! sequence                 positions sent and acknowledged, the peer's window
//! write_queue, buffer      skbs that writes fill, the send buffer
//! scoreboard               the retransmission queue with its marks
//! reduction, undo, frto    the window in recovery, and evidence that recovery was spurious
//! reordering               tolerance of reordering
//! timer, retries           the timer, repetitions without a response
//! tail_probe               the tail loss probe
//! usage                    whether the window limits sending
//! burst                    segments that leave as one unit
//! departures, host_queue   pacing, bursts that wait in fq for their departure
//! marks                    ECN
//! snapshot                 totals, and the state that results have
//! ```
//!
//! Not modelled: urgent data, SACK reneging, MTU probing, fast open.

mod acknowledge;
mod buffer;
mod burst;
mod departures;
mod frto;
mod host_queue;
mod loss;
mod marks;
mod recovery;
mod reduction;
mod reordering;
mod retries;
mod sack;
mod scoreboard;
mod send;
mod sequence;
mod snapshot;
mod tail_probe;
#[cfg(test)]
mod tests;
mod timer;
mod timers;
mod undo;
mod usage;
mod write;
mod write_queue;

pub(crate) use snapshot::{Snapshot, TCP};
pub(crate) use write::PushWithinWrite;

use super::accecn::Feedback;
use super::config::{Config, INITIAL_SEGMENTS};
use super::metrics::FinalState;
use crate::congestion::Controller;
use crate::options::{TcpEcn, TcpValues};
use crate::pacing::{Pacer, Pacing, PacingInput};
use crate::recovery::delivery_rate::DeliveryRate;
use crate::recovery::rack::Rack;
use crate::recovery::tcp_rtt::TcpRtt;
use crate::ticks::Ticks;
use buffer::SendBuffer;
use burst::BurstBuilder;
use departures::Departures;
use frto::Frto;
use host_queue::HostQueue;
use marks::EcnState;
use quiclab_core::{Duration, Ecn, SackBlocks, SavedTcpMetrics, Time};
use reduction::WindowReduction;
use reordering::Reordering;
use retries::Retries;
use scoreboard::Scoreboard;
use sequence::SendSequence;
use snapshot::Counts;
use tail_probe::TailLossProbe;
use timer::SenderTimer;
use undo::Undo;
use usage::WindowUsage;
use write_queue::WriteQueue;

/// Segment to send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transmission {
    /// Position of its first byte.
    pub(crate) sequence: u64,
    /// Payload in bytes; 0 for a lone FIN and for a window probe.
    pub(crate) length: u16,
    /// Whether it carries FIN after its payload.
    pub(crate) fin: bool,
    /// Whether it ends a write of the application.
    pub(crate) push: bool,
    /// Whether it was sent before.
    pub(crate) retransmission: bool,
    /// Time of departure (`skb_mstamp_ns`), and the time at which it leaves the host, which may be later.
    pub(crate) departure: Time,
    pub(crate) leaves: Time,
    /// ECN field of its packet.
    pub(crate) ecn: Ecn,
    /// Whether it notifies the receiver that the window was reduced for its marks (CWR).
    pub(crate) window_reduced: bool,
}

impl Transmission {
    /// Segment without data that is sent now as an acknowledgement.
    pub(crate) const fn pure_ack(sequence: u64, ecn: TcpEcn, now: Time) -> Self {
        Self {
            sequence,
            length: 0,
            fin: false,
            push: false,
            retransmission: false,
            departure: now,
            leaves: now,
            ecn: ecn.field_without_new_data(),
            window_reduced: false,
        }
    }
}

/// Effect of an acknowledgement, for the series of acknowledgements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AckOutcome {
    /// Number of segments newly acknowledged, selectively or not.
    pub(crate) acked_segments: u32,
    /// Bytes newly acknowledged, selectively or not.
    pub(crate) acked_bytes: u64,
    /// Number of segments that the acknowledgement number newly covers, counted as full ones.
    pub(crate) covered_segments: u32,
    /// Whether it was ignored: older than the last acknowledgement, or of data never sent.
    pub(crate) ignored: bool,
}

/// State of recovery (Linux: `icsk_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    /// No loss or reordering.
    Open,
    /// Data were selectively acknowledged: loss or reordering.
    Disorder,
    /// Packets were marked: the window is being reduced, without retransmissions.
    Cwr,
    /// Segments were lost and are retransmitted.
    Recovery,
    /// A retransmission timeout has expired.
    Loss,
}

/// Sending half. Position 0 is SYN, the stream begins at 1.
pub(crate) struct Sender {
    // the connection
    payload: u64,
    sack: bool,
    timestamps: bool,
    options: TcpValues,
    ecn: EcnState,
    // the stream
    snd: SendSequence,
    writes: WriteQueue,
    buffer: SendBuffer,
    // recovery
    board: Scoreboard,
    sack_cache: SackBlocks,
    rtt: TcpRtt,
    rack: Rack,
    rate: DeliveryRate,
    state: State,
    /// Position whose acknowledgement ends recovery (`high_seq`).
    high: u64,
    reduction: WindowReduction,
    undo: Undo,
    frto: Frto,
    reordering: Reordering,
    // timers
    timer: SenderTimer,
    retries: Retries,
    tail_probe: TailLossProbe,
    // departures
    controller: Box<dyn Controller>,
    usage: WindowUsage,
    burst: BurstBuilder,
    departures: Departures,
    counts: Counts,
}

/// Parameters negotiated in the handshake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreed {
    /// Payload of a full segment in bytes.
    pub(crate) payload: u64,
    pub(crate) sack: bool,
    pub(crate) timestamps: bool,
    /// Initial receive window of the peer in bytes.
    pub(crate) window: u64,
    /// RTT of the handshake; `None` if SYN or SYN-ACK was retransmitted and timestamps are not used.
    pub(crate) rtt: Option<Duration>,
    pub(crate) ecn: TcpEcn,
    /// Counter of reported marks with AccECN.
    pub(crate) feedback: Option<Feedback>,
}

/// Minimum RTO of a connection whose handshake gave no RTT (RFC 6298 section 5.7; `tcp_init_metrics`,
/// `TCP_TIMEOUT_FALLBACK`).
const FALLBACK_RTO: Duration = Duration::from_secs(3);

impl Sender {
    /// Makes the sender of a connection whose handshake is complete.
    pub(crate) fn new(
        config: &Config,
        agreed: Agreed,
        now: Time,
        controller: Box<dyn Controller>,
        pacer: Box<dyn Pacer>,
    ) -> Self {
        let options = &config.tcp;
        let initial_rto =
            if agreed.rtt.is_some() { options.initial_rto } else { options.initial_rto.max(FALLBACK_RTO) };
        let mut rtt = TcpRtt::new(options.min_rto, initial_rto);
        if let Some(sample) = agreed.rtt {
            rtt.on_min_sample(now, sample);
            rtt.on_sample(sample, 1, 1);
        }
        let mut sender = Self {
            payload: agreed.payload,
            sack: agreed.sack,
            timestamps: agreed.timestamps,
            options: options.clone(),
            ecn: EcnState::new(agreed.ecn, agreed.feedback),
            snd: SendSequence::new(agreed.window),
            writes: WriteQueue::new(config.fixed.fills_when_sent),
            buffer: SendBuffer::new(options.max_send_buffer.bytes(), config.fixed.space_checked_when_sent),
            board: Scoreboard::new(),
            sack_cache: SackBlocks::default(),
            rtt,
            rack: Rack::default(),
            rate: DeliveryRate::default(),
            state: State::Open,
            high: 1,
            reduction: WindowReduction::new(options.rate_reduction),
            undo: Undo::new(options.undo),
            frto: Frto::new(options.frto),
            reordering: Reordering::new(options.reordering, options.max_reordering),
            timer: SenderTimer::new(Ticks::new(options.kernel_hz)),
            retries: Retries::default(),
            tail_probe: TailLossProbe::default(),
            controller,
            usage: WindowUsage::new(now),
            burst: BurstBuilder::new(
                options.gso_segments,
                config.fixed.burst_rtt_log,
                config.fixed.push_bursts,
            ),
            departures: Departures::new(
                now,
                pacer,
                matches!(config.pacing, Pacing::Fq { .. })
                    .then(|| HostQueue::new(config.fixed.fq_timer_slack)),
                config.fixed.departure_times,
            ),
            counts: Counts::default(),
        };
        sender.expand_send_buffer();
        sender.update_pacing(now);
        sender
    }

    /// Starts with the metrics `known` of the peer (`tcp_init_metrics`).
    pub(crate) fn load_metrics(&mut self, now: Time, known: &SavedTcpMetrics) {
        if let Some(ssthresh) = known.ssthresh {
            self.controller.start_with_threshold(u64::from(ssthresh) * self.payload);
            self.update_pacing(now);
        }
        if let Some(reordering) = known.reordering {
            self.reordering.set(reordering);
        }
        if let Some(rtt) = known.rtt {
            self.rtt.expect(rtt);
        }
    }

    /// State that the kernel evaluates at the end of the connection.
    pub(crate) fn ended(&self) -> FinalState {
        let segments = |bytes: u64| u32::try_from(bytes / self.payload).unwrap_or(u32::MAX);
        FinalState {
            backed_off: self.rtt.is_backed_off() || self.retries.window_probes() > 0,
            srtt: self.rtt.smoothed(),
            window: self.cwnd(),
            ssthresh: self.controller.ssthresh().map(segments),
            open: self.state == State::Open,
            reordering: self.reordering.segments(),
            usual_reordering: self.reordering.usual(),
        }
    }

    /// Ends the stream: FIN follows the last byte.
    pub(crate) fn finish(&mut self) {
        self.writes.finish();
    }

    /// Position of the next new byte: the sequence number of a pure ACK.
    pub(crate) fn next_position(&self) -> u64 {
        self.snd.next()
    }

    /// Whether all data written, and FIN if there is one, are acknowledged.
    pub(crate) fn is_all_acknowledged(&self) -> bool {
        self.snd.acknowledged() == self.writes.end()
    }

    /// Number of consecutive timeouts without a response; a connection fails after 15 (`tcp_retries2`).
    pub(crate) fn retries(&self) -> u32 {
        self.retries.in_row()
    }

    /// Bytes written and not sent yet (`SIOCOUTQNSD`).
    pub(crate) fn unsent(&self) -> u64 {
        self.writes.written().saturating_sub(self.snd.next())
    }

    /// State for results and series.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            cwnd_bytes: u64::from(self.cwnd()) * self.payload,
            ssthresh_bytes: self.controller.ssthresh(),
            in_flight_bytes: self.in_flight_bytes(),
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min(),
            rto: self.rtt.rto(),
            pacing_rate: self.departures.rate(),
            phase: self.controller.phase(),
            reordering: self.reordering.segments(),
            has_ecn: self.ecn.mode().is_on(),
            counts: self.counts,
        }
    }

    /// Smoothed RTT; `None` before the first sample.
    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.rtt.smoothed()
    }

    /// Window in segments: that of recovery while it lasts, otherwise the controller's.
    fn cwnd(&self) -> u32 {
        let own = || u32::try_from(self.controller.window() / self.payload).unwrap_or(u32::MAX).max(1);
        self.reduction.window().unwrap_or_else(own)
    }

    fn in_flight_bytes(&self) -> u64 {
        u64::from(self.board.in_flight()) * self.payload
    }

    fn update_pacing(&mut self, now: Time) {
        let input = PacingInput {
            window: u64::from(self.cwnd()) * self.payload,
            outstanding: u64::from(self.board.outstanding()) * self.payload,
            srtt: self.rtt.smoothed(),
            ssthresh: self.controller.ssthresh(),
            rate: self.controller.pacing_rate(),
            quantum: self.controller.send_quantum(),
            mss: self.payload,
        };
        self.departures.update(now, &input);
        self.burst.set_limit(&input, &self.departures, self.rtt.min());
    }
}

/// TSval at `now`: milliseconds, as in Linux by default (RFC 7323 section 5.4); wraps as on the wire.
pub(crate) const fn timestamp(now: Time) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}
