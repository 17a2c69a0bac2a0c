//! The sending half of a TCP connection: what may be sent, what was, and what became of it.
//!
//! RFC 5681, 6298, 6675, 8985, 9937, 5682 as Linux combines them (net/ipv4/tcp_input.c, tcp_output.c,
//! tcp_timer.c, tcp_recovery.c). One folder, one file for each step of an acknowledgement:
//!
//! ```text
//! acknowledge   the way of an ACK: window, SACK, cumulative part, RTT, then recovery and the controller
//! sack          blocks, duplicates reported by DSACK
//! loss          which segments are lost: RACK, or a count of duplicates
//! recovery      Open, Disorder, Recovery, Loss; undo of spurious reductions; F-RTO
//! timers        retransmission timeout, tail loss probe, reordering, zero window
//! send          what may leave now
//! burst         how much of it as one unit
//! write         skbs that the application's writes fill
//! host_queue    what was handed to fq and waits for its departure
//! scoreboard    the retransmission queue with its marks
//! ```
//!
//! Not modelled: urgent data, SACK reneging, MTU probing, fast open.

mod acknowledge;
mod burst;
mod host_queue;
mod loss;
mod recovery;
mod sack;
mod scoreboard;
mod send;
#[cfg(test)]
mod tests;
mod timers;
mod write;

pub(crate) use write::PushWithinWrite;

use super::accecn::Feedback;
use super::config::{Config, INITIAL_SEGMENTS};
use super::metrics::FinalState;
use crate::congestion::{Controller, Phase};
use crate::options::{RateReduction, TcpEcn, TcpValues};
use crate::pacing::{Pacer, Pacing, PacingInput};
use crate::recovery::delivery_rate::DeliveryRate;
use crate::recovery::prr::{Prr, PrrVersion};
use crate::recovery::rack::Rack;
use crate::recovery::tcp_rtt::TcpRtt;
use crate::ticks::Ticks;
use host_queue::HostQueue;
use quiclab_core::{DataRate, Duration, Ecn, SackBlocks, SavedTcpMetrics, Time};
use scoreboard::Scoreboard;
use std::collections::VecDeque;
use timers::Timer;

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
    /// When it departs (`skb_mstamp_ns`), and when it leaves the host, which may be later.
    pub(crate) departure: Time,
    pub(crate) leaves: Time,
    /// ECN field of its packet.
    pub(crate) ecn: Ecn,
    /// It tells the receiver that the window was reduced for its marks (CWR).
    pub(crate) window_reduced: bool,
}

impl Transmission {
    /// A segment without data that leaves now, and acknowledges.
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

/// What an acknowledgement did; for the series of acknowledgements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AckOutcome {
    /// Segments newly acknowledged, selectively or not.
    pub(crate) acked_segments: u32,
    /// Bytes newly acknowledged, selectively or not.
    pub(crate) acked_bytes: u64,
    /// Segments that the acknowledgement number newly covers, counted as full ones.
    pub(crate) covered_segments: u32,
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
    /// Segments delivered by acknowledgements that reported marks; `None` without ECN.
    pub(crate) marked_segments: Option<u64>,
    /// Reordering that is tolerated, in segments.
    pub(crate) reordering: u32,
}

/// State of recovery (Linux: `icsk_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    /// Nothing is wrong.
    Open,
    /// Something was selectively acknowledged: loss or reordering.
    Disorder,
    /// Packets were marked: the window is being reduced, and nothing is to be sent again.
    Cwr,
    /// Segments were lost and are sent again.
    Recovery,
    /// A retransmission timeout went off.
    Loss,
}

/// An skb of the application's writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Skb {
    /// End of its data in the stream.
    end: u64,
    /// It has PSH: a write has ended with it, and no other one has begun in it since.
    push: bool,
}

/// The rest of a burst that leaves at this instant.
#[derive(Clone, Copy, Debug, Default)]
struct Burst {
    /// It consists of retransmissions.
    lost: bool,
    /// Segments.
    left: u32,
    /// It has several segments, of which the last one carries PSH, this time (`__tcp_transmit_skb`).
    forced: bool,
    /// It is a tail loss probe.
    probe: bool,
    /// When it departs and leaves the host.
    departure: Time,
    leaves: Time,
}

/// What undoing a reduction needs to know (RFC 4015, RFC 3708).
#[derive(Clone, Copy, Debug)]
struct Undo {
    /// First position not acknowledged when the reduction began.
    marker: u64,
    /// Retransmissions not yet reported as duplicates; `None`: one cannot tell.
    retransmissions: Option<u32>,
}

/// The sending half. Position 0 is SYN, the stream begins at 1.
pub(crate) struct Sender {
    // the connection
    payload: u64,
    sack: bool,
    timestamps: bool,
    options: TcpValues,
    // the stream
    /// End of what the application has written.
    written: u64,
    /// End of what was written when something was pushed last (`pushed_seq`).
    pushed: u64,
    /// The skbs that were not sent completely.
    skbs: VecDeque<Skb>,
    /// The application waits for room in the send buffer (`SOCK_NOSPACE`).
    blocked: bool,
    finished: bool,
    /// Size of the send buffer in bytes (`sk_sndbuf`), which only grows.
    send_buffer: u64,
    /// First position not acknowledged (SND.UNA).
    acknowledged: u64,
    /// Next new position (SND.NXT).
    next: u64,
    /// Receive window of the peer, and the largest there was.
    window: u64,
    largest_window: u64,
    // recovery
    board: Scoreboard,
    sack_cache: SackBlocks,
    rtt: TcpRtt,
    rack: Rack,
    rate: DeliveryRate,
    state: State,
    /// Recovery is over when this position is acknowledged (`high_seq`).
    high: u64,
    prr: Option<Prr>,
    /// Window during recovery, in segments; `None`: that of the controller.
    recovery_window: Option<u32>,
    undo: Option<Undo>,
    /// The last reduction can be undone: it was not for marks (`prior_ssthresh` is not 0).
    undo_allowed: bool,
    /// ECN as agreed on, and the next new data tell of a reduction (`TCP_ECN_QUEUE_CWR`).
    ecn: TcpEcn,
    cwr_due: bool,
    /// What acknowledgements say of marks with AccECN; `None` without, or if it is not trusted.
    feedback: Option<Feedback>,
    /// Timestamp of the latest acknowledgement.
    latest: u32,
    /// Timestamp of the first retransmission of the present recovery.
    first_retransmission: Option<u32>,
    frto: bool,
    /// F-RTO wants new data before retransmissions (RFC 5682 section 3.1 step 2b).
    new_data_first: bool,
    /// Reordering tolerated, in segments, and whether there was any.
    reordering: u32,
    reordering_seen: bool,
    /// Tail loss probe outstanding: `next` at its time, and whether it was a retransmission.
    probe: Option<(u64, bool)>,
    // timers
    timer: Option<(Timer, Time)>,
    ticks: Ticks,
    timeouts_in_row: u32,
    window_probe_due: bool,
    window_probes: u32,
    tail_probe_due: bool,
    /// The timeout sends the first segment again, whatever window and marks say.
    head_due: bool,
    // how the window is used
    cwnd_limited: bool,
    most_outstanding: u32,
    usage_end: u64,
    usage_stamp: Time,
    usage_most: u32,
    /// What still leaves at this instant, as part of the same unit.
    burst: Burst,
    /// Maximum number of segments in a burst, as of the last acknowledgement.
    burst_limit: u32,
    /// `sysctl_tcp_tso_rtt_log`; `None`: the size of a burst does not depend on the RTT.
    burst_rtt_log: Option<u32>,
    /// The last segment of a burst of two or more carries PSH.
    push_bursts: bool,
    space_checked_when_sent: bool,
    /// An skb that is to leave is filled up with what follows it.
    fills_when_sent: bool,
    /// A burst waits for more room in the congestion window.
    deferred: bool,
    /// End of the last segment that was not full (`snd_sml`); 0: none.
    short_end: u64,
    /// Segments sent since [`Sender::transmit`] last had nothing to send.
    usage_burst: u32,
    last_sent: Time,
    controller: Box<dyn Controller>,
    pacer: Box<dyn Pacer>,
    /// What is sent counts from its departure, not from when it was handed over.
    departure_times: bool,
    /// `None`: what is paced is held by the sender, not in fq.
    host_queue: Option<HostQueue>,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    sent: u64,
    retransmitted: u64,
    lost: u64,
    spurious: u64,
    congestion_events: u64,
    timeouts: u64,
    tail_loss_probes: u64,
    undos: u64,
    marked: u64,
}

/// What the handshake has settled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreed {
    /// Payload of a full segment in bytes.
    pub(crate) payload: u64,
    pub(crate) sack: bool,
    pub(crate) timestamps: bool,
    /// First receive window of the peer in bytes.
    pub(crate) window: u64,
    /// RTT of the handshake; `None` if SYN or SYN-ACK was retransmitted and timestamps are not used.
    pub(crate) rtt: Option<Duration>,
    pub(crate) ecn: TcpEcn,
    /// With AccECN, what counts the marks that are reported.
    pub(crate) feedback: Option<Feedback>,
}

/// Least RTO of a connection whose handshake gave no RTT (RFC 6298 section 5.7; `tcp_init_metrics`, `TCP_TIMEOUT_FALLBACK`).
const FALLBACK_RTO: Duration = Duration::from_secs(3);

impl Sender {
    /// The sender of a connection whose handshake is done.
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
            written: 1,
            pushed: 1,
            skbs: VecDeque::new(),
            blocked: false,
            finished: false,
            send_buffer: 0,
            acknowledged: 1,
            next: 1,
            window: agreed.window,
            largest_window: agreed.window,
            board: Scoreboard::new(),
            sack_cache: SackBlocks::default(),
            rtt,
            rack: Rack::default(),
            rate: DeliveryRate::default(),
            state: State::Open,
            high: 1,
            prr: None,
            recovery_window: None,
            undo: None,
            undo_allowed: false,
            ecn: agreed.ecn,
            cwr_due: false,
            feedback: agreed.feedback,
            latest: 0,
            first_retransmission: None,
            frto: false,
            new_data_first: false,
            reordering: options.reordering,
            reordering_seen: false,
            probe: None,
            timer: None,
            ticks: Ticks::new(options.kernel_hz),
            timeouts_in_row: 0,
            window_probe_due: false,
            window_probes: 0,
            tail_probe_due: false,
            head_due: false,
            cwnd_limited: false,
            most_outstanding: 0,
            usage_end: 1,
            usage_stamp: now,
            usage_most: 0,
            burst: Burst::default(),
            burst_limit: 1,
            burst_rtt_log: config.fixed.burst_rtt_log,
            push_bursts: config.fixed.push_bursts,
            space_checked_when_sent: config.fixed.space_checked_when_sent,
            fills_when_sent: config.fixed.fills_when_sent,
            deferred: false,
            short_end: 0,
            usage_burst: 0,
            last_sent: now,
            controller,
            pacer,
            departure_times: config.fixed.departure_times,
            host_queue: matches!(config.pacing, Pacing::Fq { .. })
                .then(|| HostQueue::new(config.fixed.fq_timer_slack)),
            counts: Counts::default(),
        };
        sender.expand_send_buffer();
        sender.update_pacing(now);
        sender
    }

    /// Starts with what is `known` of the peer (`tcp_init_metrics`).
    pub(crate) fn load_metrics(&mut self, now: Time, known: &SavedTcpMetrics) {
        if let Some(ssthresh) = known.ssthresh {
            self.controller.start_with_threshold(u64::from(ssthresh) * self.payload);
            self.update_pacing(now);
        }
        if let Some(reordering) = known.reordering {
            self.reordering = reordering;
        }
        if let Some(rtt) = known.rtt {
            self.rtt.expect(rtt);
        }
    }

    /// What of its state the kernel looks at when the connection ends.
    pub(crate) fn ended(&self) -> FinalState {
        let segments = |bytes: u64| u32::try_from(bytes / self.payload).unwrap_or(u32::MAX);
        FinalState {
            backed_off: self.rtt.is_backed_off() || self.window_probes > 0,
            srtt: self.rtt.smoothed(),
            window: self.cwnd(),
            ssthresh: self.controller.ssthresh().map(segments),
            open: self.state == State::Open,
            reordering: self.reordering,
            usual_reordering: self.options.reordering,
        }
    }

    /// The application has written everything: FIN follows the last byte.
    pub(crate) fn finish(&mut self) {
        self.finished = true;
    }

    /// Position of the next new byte: the sequence number of a pure ACK.
    pub(crate) const fn next_position(&self) -> u64 {
        self.next
    }

    /// Everything written, and FIN if there is one, is acknowledged.
    pub(crate) fn is_all_acknowledged(&self) -> bool {
        self.acknowledged == self.end()
    }

    /// Timeouts in a row without an answer; a connection gives up after 15 (`tcp_retries2`).
    pub(crate) fn retries(&self) -> u32 {
        self.timeouts_in_row.max(self.window_probes)
    }

    /// Bytes written and not sent yet (`SIOCOUTQNSD`).
    pub(crate) fn unsent(&self) -> u64 {
        self.written.saturating_sub(self.next)
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
            pacing_rate: self.pacer.rate(),
            phase: self.controller.phase(),
            lost_segments: self.counts.lost,
            spurious_segments: self.counts.spurious,
            sent_segments: self.counts.sent,
            retransmitted_segments: self.counts.retransmitted,
            congestion_events: self.counts.congestion_events,
            timeouts: self.counts.timeouts,
            tail_loss_probes: self.counts.tail_loss_probes,
            undos: self.counts.undos,
            marked_segments: self.ecn.is_on().then_some(self.counts.marked),
            reordering: self.reordering,
        }
    }

    /// Smoothed RTT; `None` before the first sample.
    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.rtt.smoothed()
    }

    /// Position after everything that will be sent, FIN included.
    const fn end(&self) -> u64 {
        self.written + self.finished as u64
    }

    /// Window in segments: that of recovery while there is one, else the controller's.
    fn cwnd(&self) -> u32 {
        let own = || u32::try_from(self.controller.window() / self.payload).unwrap_or(u32::MAX).max(1);
        self.recovery_window.unwrap_or_else(own)
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
        self.pacer.update(now, &input);
        self.burst_limit = self.max_burst(&input);
    }

    fn prr_version(&self) -> Option<PrrVersion> {
        match self.options.rate_reduction {
            RateReduction::None => None,
            RateReduction::Prr => Some(PrrVersion::Rfc6937),
            RateReduction::PrrSafeAck => Some(PrrVersion::Rfc9937),
        }
    }
}

/// TSval at `now`: milliseconds, as Linux' by default (RFC 7323 section 5.4); wraps as on the wire.
pub(crate) const fn timestamp(now: Time) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}
