//! The interface of congestion controls.

use crate::recovery::delivery_rate::{RateSample, SentState};
use quiclab_core::{DataRate, Duration, Phase, Time};

/// What recovery a sender is in; Linux calls it the congestion-avoidance state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecoveryPhase {
    /// None. (Linux: Open, Disorder, CWR.)
    #[default]
    Open,
    /// Packets were lost and are being sent again.
    Recovery,
    /// A retransmission timeout went off (TCP only).
    Loss,
}

/// An acknowledgement that delivered something, after losses were marked.
#[derive(Clone, Debug, Default)]
pub struct Ack {
    /// When it arrived.
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
    /// Smallest RTT; `None` before the first sample.
    pub min_rtt: Option<Duration>,
    /// Bytes in flight before the acknowledgement.
    pub prior_in_flight: u64,
    /// Bytes in flight after it.
    pub in_flight: u64,
    /// When the pacer lets the next packet go; not after `now`: at once.
    pub departure: Time,
    /// Position up to which (exclusive) the largest newly acknowledged packet reaches; in TCP, the
    /// cumulative acknowledgement.
    pub acked_position: u64,
    /// Position of the next new packet.
    pub next_position: u64,
    /// Recovery after the acknowledgement.
    pub phase: RecoveryPhase,
    /// Whether the window was used: a window that is not must not grow (RFC 9002 section 7.8).
    pub cwnd_limited: bool,
    /// Bytes by which the acknowledgement may let a window grow in slow start at most (rate-limited increase); `None`: no
    /// limit.
    pub growth_limit: Option<u64>,
    /// Whether the sender lets the window grow: not during recovery (unless the controller asks for
    /// [`Controller::owns_recovery`]).
    pub may_grow: bool,
    /// Delivery rate; `None` where the sender does not estimate it.
    pub rate: Option<RateSample>,
}

/// What an acknowledgement says of marks (CE); only where ECN is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Packets newly delivered.
    pub delivered_packets: u64,
    /// Those of them that had marks; where the receiver does not count them, all or none.
    pub marked_packets: u64,
    /// [`Ack::acked_position`].
    pub acked_position: u64,
    /// [`Ack::next_position`].
    pub next_position: u64,
}

/// A packet that is declared lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostPacket {
    /// When.
    pub now: Time,
    /// Its bytes.
    pub bytes: u64,
    /// Its position.
    pub position: u64,
    /// The position after it.
    pub end: u64,
    /// State when it was sent.
    pub state: SentState,
    /// Bytes delivered in all.
    pub total_delivered: u64,
    /// Bytes declared lost in all, its own included.
    pub total_lost: u64,
}

/// Losses, or marks, that start a recovery period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CongestionEvent {
    /// When they were noticed.
    pub now: Time,
    /// Bytes in flight, the lost ones no longer counted.
    pub in_flight: u64,
    /// Position of the next new packet: recovery ends when it is acknowledged.
    pub next_position: u64,
    /// ECN marks, not losses.
    pub ecn: bool,
    /// Persistent congestion of QUIC (RFC 9002 section 7.6): an acknowledgement has shown the losses, no timer.
    pub persistent: bool,
}

/// A path of a connection with several, as its siblings' controllers see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathView {
    /// Congestion window in bytes.
    pub window: u64,
    /// Smoothed RTT; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// [`Controller::losses_apart`].
    pub losses_apart: u64,
}

/// A congestion control.
///
/// The sender calls [`on_congestion`](Self::on_congestion) once per recovery period ("one window cut
/// per round trip") and [`on_timeout`](Self::on_timeout) when a retransmission timeout (TCP) or
/// persistent congestion (QUIC) is established.
pub trait Controller: Send {
    /// A packet of `bytes` leaves; `in_flight` are the bytes in flight before it.
    fn on_sent(&mut self, _now: Time, _bytes: u64, _in_flight: u64) {}

    /// All paths of the connection, of which this one is `own`; before [`Controller::on_ack`] and
    /// [`Controller::on_congestion`] of a connection with several.
    fn on_paths(&mut self, _paths: &[PathView], _own: usize) {}

    /// Before the first packet: the threshold in bytes that an earlier connection has found. For a control without
    /// a threshold it means nothing.
    fn start_with_threshold(&mut self, _ssthresh: u64) {}

    /// Something was delivered.
    fn on_ack(&mut self, ack: &Ack);

    /// A packet is declared lost, before [`Controller::on_congestion`] and [`Controller::on_ack`] of the same
    /// acknowledgement.
    fn on_packet_lost(&mut self, _packet: &LostPacket) {}

    /// Marks of what was delivered, before [`Controller::on_congestion`] and [`Controller::on_ack`] of the same
    /// acknowledgement.
    fn on_marks(&mut self, _marks: &Marks) {}

    /// A recovery period starts: the window and the threshold are cut.
    fn on_congestion(&mut self, event: &CongestionEvent);

    /// Losses are noticed in a period that marks have started: most controls have done what there is to do.
    /// `window` is the one in use, in bytes.
    fn on_loss_after_marks(&mut self, _window: u64) {}

    /// A recovery period is over.
    fn on_recovery_end(&mut self, _now: Time) {}

    /// All outstanding packets are taken for lost. TCP: the window becomes what is in flight and one
    /// segment (RFC 5681 section 3.1); `cut` says whether the threshold must be reduced, too (it must not
    /// within one episode of timeouts). QUIC: persistent congestion (RFC 9002 section 7.6), `cut` is true.
    fn on_timeout(&mut self, event: &CongestionEvent, cut: bool);

    /// The last reduction was spurious: window and threshold become at least what they were before.
    fn on_spurious(&mut self, now: Time);

    /// Nothing was sent for at least an RTO: the window falls to the restart window (RFC 5681 section
    /// 4.1), halved for each RTO of `idle`.
    fn on_idle(&mut self, _now: Time, _idle: Duration, _rto: Duration) {}

    /// The sender could not use its window for a whole RTO (RFC 2861); `used` bytes were in flight at
    /// most.
    fn on_application_limited(&mut self, _now: Time, _used: u64) {}

    /// Window in bytes.
    fn window(&self) -> u64;

    /// Threshold between slow start and congestion avoidance in bytes; `None`: unlimited, or none.
    fn ssthresh(&self) -> Option<u64>;

    /// Rate to pace at; `None`: the pacer derives it from the window.
    fn pacing_rate(&self) -> Option<DataRate> {
        None
    }

    /// Bytes worth sending in one release of the pacer, at [`Controller::pacing_rate`]; `None`: the pacer
    /// decides.
    fn send_quantum(&self) -> Option<u64> {
        None
    }

    /// Bytes delivered between the last two losses or since the last, whichever is more: how good the path is
    /// for a control that couples several. 0 where it does not matter.
    fn losses_apart(&self) -> u64 {
        0
    }

    /// Windows of single segments that the send buffer of TCP provides for (`sndbuf_expand`).
    fn send_buffer_windows(&self) -> u64 {
        2
    }

    /// Whether the controller sets the window during recovery, too; otherwise the sender reduces it
    /// step by step (PRR) and does not call `on_ack` with `may_grow`.
    fn owns_recovery(&self) -> bool {
        false
    }

    /// The largest window that it has, in bytes, if that has kept it from growing.
    fn bound_window(&self) -> Option<u64> {
        None
    }

    /// What it does at this moment.
    fn phase(&self) -> Phase;
}
