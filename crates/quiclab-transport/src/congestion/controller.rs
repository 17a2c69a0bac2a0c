//! Interface of congestion controls.

use crate::recovery::delivery_rate::{RateSample, SentState};
use quiclab_core::{DataRate, Duration, Phase, Time};

/// Phase of recovery of a sender; in Linux the congestion-avoidance state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecoveryPhase {
    /// No recovery. (Linux: Open, Disorder, CWR.)
    #[default]
    Open,
    /// Lost packets are retransmitted.
    Recovery,
    /// A retransmission timeout has expired (TCP only).
    Loss,
}

/// Acknowledgement that delivered packets, after losses were detected.
#[derive(Clone, Debug, Default)]
pub struct Ack {
    /// Time of arrival.
    pub now: Time,
    /// Bytes newly delivered: acknowledged, selectively or not, for the first time.
    pub acked_bytes: u64,
    /// Packets newly delivered.
    pub acked_packets: u32,
    /// Bytes declared lost by this acknowledgement.
    pub lost_bytes: u64,
    /// RTT of the latest packet newly acknowledged; `None` if only retransmitted ones were (Karn).
    pub rtt: Option<Duration>,
    /// Smoothed RTT; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Minimum RTT; `None` before the first sample.
    pub min_rtt: Option<Duration>,
    /// Bytes in flight before the acknowledgement.
    pub prior_in_flight: u64,
    /// Bytes in flight after it.
    pub in_flight: u64,
    /// Departure time of the next packet according to the pacer; at once if not after `now`.
    pub departure: Time,
    /// End (exclusive) of the largest newly acknowledged packet; in TCP, the cumulative acknowledgement.
    pub acked_position: u64,
    /// Position of the next new packet.
    pub next_position: u64,
    /// Phase of recovery after the acknowledgement.
    pub phase: RecoveryPhase,
    /// Whether the window was used: an unused window must not grow (RFC 9002 section 7.8).
    pub cwnd_limited: bool,
    /// Maximum growth of the window in slow start by this acknowledgement in bytes (rate-limited increase);
    /// `None`: no limit.
    pub growth_limit: Option<u64>,
    /// Whether the sender permits growth of the window: not during recovery (unless the controller has
    /// [`Controller::owns_recovery`]).
    pub may_grow: bool,
    /// Delivery rate; `None` if the sender does not estimate it.
    pub rate: Option<RateSample>,
}

/// Marks (CE) reported by an acknowledgement; only if ECN is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Packets newly delivered.
    pub delivered_packets: u64,
    /// Those of them that had marks; all or none if the receiver does not count them.
    pub marked_packets: u64,
    /// [`Ack::acked_position`].
    pub acked_position: u64,
    /// [`Ack::next_position`].
    pub next_position: u64,
}

/// Packet that is declared lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostPacket {
    /// Time of the declaration.
    pub now: Time,
    /// Size in bytes.
    pub bytes: u64,
    /// Position of the packet.
    pub position: u64,
    /// Position after the packet.
    pub end: u64,
    /// State at the time it was sent.
    pub state: SentState,
    /// Total bytes delivered.
    pub total_delivered: u64,
    /// Total bytes declared lost, including its own.
    pub total_lost: u64,
}

/// Losses, or marks, that start a recovery period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CongestionEvent {
    /// Time of detection.
    pub now: Time,
    /// Bytes in flight without the lost ones.
    pub in_flight: u64,
    /// Position of the next new packet: recovery ends when it is acknowledged.
    pub next_position: u64,
    /// Whether the cause is ECN marks, not losses.
    pub ecn: bool,
    /// Whether it is persistent congestion of QUIC (RFC 9002 section 7.6), detected by an acknowledgement,
    /// not a timer.
    pub persistent: bool,
}

/// State of a path of a connection with several paths, for the controllers of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathView {
    /// Congestion window in bytes.
    pub window: u64,
    /// Smoothed RTT; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Value of [`Controller::losses_apart`].
    pub losses_apart: u64,
}

/// Congestion controller.
///
/// The sender calls [`on_congestion`](Self::on_congestion) once per recovery period ("one window cut
/// per round trip") and [`on_timeout`](Self::on_timeout) when a retransmission timeout (TCP) or
/// persistent congestion (QUIC) is established.
pub trait Controller: Send {
    /// Handles a packet of `bytes` that is sent; `in_flight` are the bytes in flight before it.
    fn on_sent(&mut self, _now: Time, _bytes: u64, _in_flight: u64) {}

    /// Receives all paths of the connection, of which this one is `own`; called before [`Controller::on_ack`]
    /// and [`Controller::on_congestion`] of a connection with several.
    fn on_paths(&mut self, _paths: &[PathView], _own: usize) {}

    /// Sets the threshold in bytes, measured by an earlier connection, before the first packet. A control
    /// without a threshold ignores it.
    fn start_with_threshold(&mut self, _ssthresh: u64) {}

    /// Handles an acknowledgement that delivered packets.
    fn on_ack(&mut self, ack: &Ack);

    /// Handles a packet that is declared lost; called before [`Controller::on_congestion`] and
    /// [`Controller::on_ack`] of the same acknowledgement.
    fn on_packet_lost(&mut self, _packet: &LostPacket) {}

    /// Handles marks of delivered packets; called before [`Controller::on_congestion`] and
    /// [`Controller::on_ack`] of the same acknowledgement.
    fn on_marks(&mut self, _marks: &Marks) {}

    /// Handles the start of a recovery period: window and threshold are reduced.
    fn on_congestion(&mut self, event: &CongestionEvent);

    /// Handles losses in a period that was started by marks: most controls have already reduced the window.
    /// `window` is the one in use, in bytes.
    fn on_loss_after_marks(&mut self, _window: u64) {}

    /// Handles the end of a recovery period.
    fn on_recovery_end(&mut self, _now: Time) {}

    /// Handles the loss of all outstanding packets. TCP: the window becomes the bytes in flight plus one
    /// segment (RFC 5681 section 3.1); `cut`: whether the threshold must be reduced, too (it must not within
    /// one episode of timeouts). QUIC: persistent congestion (RFC 9002 section 7.6), `cut` is true.
    fn on_timeout(&mut self, event: &CongestionEvent, cut: bool);

    /// Handles a spurious last reduction: window and threshold become at least their previous values.
    fn on_spurious(&mut self, now: Time);

    /// Handles an idle period of at least an RTO: the window becomes the restart window (RFC 5681 section
    /// 4.1), halved for each RTO of `idle`.
    fn on_idle(&mut self, _now: Time, _idle: Duration, _rto: Duration) {}

    /// Handles an RTO in which the sender could not use its window (RFC 2861); at most `used` bytes were in
    /// flight.
    fn on_application_limited(&mut self, _now: Time, _used: u64) {}

    /// Congestion window in bytes.
    fn window(&self) -> u64;

    /// Threshold between slow start and congestion avoidance in bytes; `None`: unlimited, or none.
    fn ssthresh(&self) -> Option<u64>;

    /// Pacing rate; `None`: the pacer derives it from the window.
    fn pacing_rate(&self) -> Option<DataRate> {
        None
    }

    /// Bytes to send in one release of the pacer, at [`Controller::pacing_rate`]; `None`: the pacer decides.
    fn send_quantum(&self) -> Option<u64> {
        None
    }

    /// Bytes delivered between the last two losses or since the last, whichever is more: the quality of the
    /// path for a coupled control. 0 for other controls.
    fn losses_apart(&self) -> u64 {
        0
    }

    /// Number of windows for which the send buffer of TCP has room (`sndbuf_expand`).
    fn send_buffer_windows(&self) -> u64 {
        2
    }

    /// Whether the controller sets the window during recovery, too; otherwise the sender reduces it
    /// step by step (PRR) and does not call `on_ack` with `may_grow`.
    fn owns_recovery(&self) -> bool {
        false
    }

    /// Maximum window in bytes, if it has limited growth.
    fn bound_window(&self) -> Option<u64> {
        None
    }

    /// Current phase.
    fn phase(&self) -> Phase;
}
