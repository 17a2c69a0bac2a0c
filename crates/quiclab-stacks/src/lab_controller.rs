//! Congestion control of quiclab-transport behind the `Controller` traits of quinn and noq.
//!
//! The stacks report each acknowledged packet, then the end of the batch; a loss is reported as its bytes and
//! the send time of its last packet. This file keeps the state of the delivery rate estimator for each
//! packet, and makes one [`Ack`] of each batch and one recovery period of its losses.
//!
//! | contract of the controller | here |
//! | --- | --- |
//! | positions are packet numbers | packets that count as in flight, numbered from 0: the numbers of QUIC restart in each packet number space |
//! | an ACK comes after its losses were marked | the stacks detect losses after the batch: they are reported with the next ACK |
//! | smoothed RTT | that before the ACK: the stacks update it after the batch |
//! | `on_spurious` | noq only, at the time of the last packet or ACK; quinn does not report it |
//! | `on_idle`, `on_application_limited` | never: neither stack reports these |
//! | pacing rate and send quantum | noq's pacer follows them; quinn's paces at 1.25 cwnd per smoothed RTT |

use crate::options::Options;
use crate::time::Clock;
use quiclab_core::{DataRate, Duration, RandomStream, Time};
use quiclab_transport::congestion::rate_limited::RateLimitedIncrease;
use quiclab_transport::congestion::{Ack, CongestionEvent, Controller, LostPacket, Phase, RecoveryPhase};
use quiclab_transport::congestion::{Flavour, Settings, build};
use quiclab_transport::recovery::delivery_rate::{DeliveryRate, SentState};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

/// Packet that is in flight, or acknowledged or lost behind one in flight.
#[derive(Clone, Copy, Debug)]
struct Sent {
    time: Time,
    bytes: u64,
    state: SentState,
    /// Whether it is neither acknowledged nor lost.
    outstanding: bool,
}

/// Packets that a batch of acknowledgements has delivered so far.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    bytes: u64,
    packets: u32,
    /// Packet sent last: send time, and position, `None` if unknown.
    latest: Option<(Time, Option<u64>)>,
    srtt: Option<Duration>,
}

/// Sample of the path from a batch of acknowledgements.
#[derive(Clone, Copy, Debug)]
pub struct DeliverySample {
    /// Send time of the packet sent last.
    pub sent: Time,
    /// Packets acknowledged.
    pub packets: u32,
    /// Bytes acknowledged.
    pub bytes: u64,
    /// RTT of the packet sent last, if it is the largest newly acknowledged.
    pub rtt: Option<Duration>,
    /// Smoothed RTT; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Delivery rate over the flight of the packet sent last.
    pub rate: Option<DataRate>,
}

/// Controller and the state from which its input is computed.
pub(crate) struct LabControllerState {
    pub(crate) controller: Box<dyn Controller>,
    /// Increase of a window that is not used; `None`: no increase (RFC 9002 section 7.8).
    rate_limited: Option<RateLimitedIncrease>,
    /// Size of a full packet in bytes.
    full_packet: u64,
    clock: Clock,
    rate: DeliveryRate,
    /// Sample of the last batch.
    sample: Option<DeliverySample>,
    sent: VecDeque<Sent>,
    /// Position of the first packet of `sent`.
    first_position: u64,
    /// Bytes of the packets in `sent` that are outstanding.
    tracked: u64,
    /// Bytes in flight as reported by the stack at the last ACK, updated by packets sent and lost since.
    in_flight: u64,
    /// Positions below this one are acknowledged, or sent before one that is.
    acked_position: u64,
    min_rtt: Option<Duration>,
    batch: Batch,
    /// Bytes lost since the last ACK.
    lost: u64,
    /// Start of the last recovery period; `None` before the first.
    recovery_start: Option<Time>,
    in_recovery: bool,
    /// Time of the last call.
    now: Time,
    pub(crate) initial_window: u64,
}

impl LabControllerState {
    fn new(controller: Box<dyn Controller>) -> Self {
        Self {
            initial_window: controller.window(),
            controller,
            rate_limited: None,
            full_packet: 0,
            clock: Clock::new(),
            rate: DeliveryRate::default(),
            sample: None,
            sent: VecDeque::new(),
            first_position: 0,
            tracked: 0,
            in_flight: 0,
            acked_position: 0,
            min_rtt: None,
            batch: Batch::default(),
            lost: 0,
            recovery_start: None,
            in_recovery: false,
            now: Time::ZERO,
        }
    }

    fn next_position(&self) -> u64 {
        self.first_position + self.sent.len() as u64
    }

    /// Handles the departure of a packet, or of a datagram with several packets, that counts as in flight.
    fn on_sent(&mut self, now: Instant, bytes: u64) {
        self.now = self.clock.deadline(now);
        self.controller.on_sent(self.now, bytes, self.in_flight);
        let state = self.rate.on_sent(self.now, self.in_flight, bytes);
        self.sent.push_back(Sent { time: self.now, bytes, state, outstanding: true });
        self.tracked += bytes;
        self.in_flight += bytes;
        if let Some(rule) = &mut self.rate_limited {
            rule.on_flight(self.in_flight, self.controller.window());
        }
    }

    /// Handles an acknowledged packet of a batch. `srtt` is undefined before the first sample.
    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, srtt: std::time::Duration) {
        self.now = self.clock.deadline(now);
        let time = self.clock.deadline(sent);
        let found = self.find(time, bytes);
        if let Some(index) = found {
            let packet = self.sent[index];
            let position = self.first_position + index as u64;
            self.rate.on_delivered(self.now, &packet.state, bytes, time, position);
            self.forget(index);
        }
        self.batch.bytes += bytes;
        self.batch.packets += 1;
        let latest = (time, found.map(|index| self.first_position + index as u64));
        self.batch.latest = self.batch.latest.max(Some(latest));
        self.batch.srtt = self.min_rtt.map(|_| Duration::from_nanos(srtt.as_nanos() as u64));
    }

    /// Index of the outstanding packet of `bytes` that was sent at `time`. Packets of several number spaces
    /// may share a datagram during the handshake; then it is any packet of that time, or none.
    fn find(&self, time: Time, bytes: u64) -> Option<usize> {
        let start = self.sent.partition_point(|packet| packet.time < time);
        let mut same = (start..self.sent.len())
            .take_while(|&index| self.sent[index].time == time)
            .filter(|&index| self.sent[index].outstanding);
        same.clone().find(|&index| self.sent[index].bytes == bytes).or_else(|| same.next())
    }

    /// Removes a packet that is acknowledged or lost.
    fn forget(&mut self, index: usize) {
        let packet = &mut self.sent[index];
        packet.outstanding = false;
        self.tracked -= packet.bytes;
    }

    /// Removes the oldest outstanding packet and returns its bytes.
    fn forget_oldest(&mut self, until: Option<Time>) -> Option<(u64, Sent)> {
        let index = self.sent.iter().position(|packet| packet.outstanding)?;
        let packet = self.sent[index];
        if until.is_some_and(|until| packet.time > until) {
            return None;
        }
        self.forget(index);
        Some((self.first_position + index as u64, packet))
    }

    /// Removes packets from the front that are acknowledged or lost.
    fn trim(&mut self) {
        while self.sent.front().is_some_and(|packet| !packet.outstanding) {
            self.sent.pop_front();
            self.first_position += 1;
        }
    }

    /// Handles the end of a batch of acknowledgements; `in_flight` bytes remain.
    pub(crate) fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool) {
        self.now = self.clock.deadline(now);
        let batch = std::mem::take(&mut self.batch);
        // packets discarded with the keys of the handshake are never acknowledged
        while self.tracked > in_flight && self.forget_oldest(None).is_some() {}
        self.in_flight = in_flight;
        if app_limited {
            self.rate.set_app_limited(in_flight);
        }
        let Some((sent, position)) = batch.latest else { return self.trim() };
        // RFC 9002 section 5.1: only the largest packet newly acknowledged gives a sample
        let newest = position.is_none_or(|position| position >= self.acked_position);
        let rtt = newest.then(|| self.now.since(sent));
        if let Some(rtt) = rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        if let Some(position) = position {
            self.acked_position = self.acked_position.max(position + 1);
        }
        // RFC 9002 section 7.3.2: recovery ends "when a packet sent during the recovery period is acknowledged"
        if self.in_recovery && self.recovery_start.is_some_and(|start| sent > start) {
            self.in_recovery = false;
            self.controller.on_recovery_end(self.now);
        }
        // a single packet waits for the peer's max_ack_delay
        let rate = self.rate.sample(self.now, self.min_rtt, batch.packets == 1);
        let srtt = batch.srtt.or(rtt);
        self.sample = Some(DeliverySample {
            sent,
            packets: batch.packets,
            bytes: batch.bytes,
            rtt,
            srtt,
            rate: rate.rate(),
        });
        let mut ack = Ack {
            now: self.now,
            acked_bytes: batch.bytes,
            acked_packets: batch.packets,
            lost_bytes: std::mem::take(&mut self.lost),
            rtt,
            srtt,
            min_rtt: self.min_rtt,
            prior_in_flight: in_flight + batch.bytes,
            in_flight,
            departure: self.now, // the stack does not report what its pacer delays
            acked_position: self.acked_position,
            next_position: self.next_position(),
            phase: if self.in_recovery { RecoveryPhase::Recovery } else { RecoveryPhase::Open },
            growth_limit: None,
            cwnd_limited: !app_limited,
            may_grow: !self.in_recovery || self.controller.owns_recovery(),
            rate: Some(rate),
        };
        if let Some(rule) = &mut self.rate_limited {
            rule.limit(&mut ack, &*self.controller, self.full_packet);
        }
        self.controller.on_ack(&ack);
        self.trim();
    }

    /// Handles the loss of `lost` bytes, the last packet of which was sent at `sent`, or a mark without
    /// losses.
    pub(crate) fn on_congestion(&mut self, now: Instant, sent: Instant, persistent: bool, lost: u64) {
        (self.now, self.lost) = (self.clock.deadline(now), self.lost + lost);
        let sent = self.clock.deadline(sent);
        let mut total_lost = self.rate.lost();
        self.rate.on_lost(lost);
        self.in_flight = self.in_flight.saturating_sub(lost);
        // both thresholds are monotone in the packet number: those lost are the oldest (section 6.1)
        let mut left = lost;
        while left > 0 {
            let Some((position, packet)) = self.forget_oldest(Some(sent)) else { break };
            let Sent { bytes, state, .. } = packet;
            left = left.saturating_sub(bytes);
            total_lost += bytes;
            self.controller.on_packet_lost(&LostPacket {
                now: self.now,
                bytes,
                position,
                end: position + 1,
                state,
                total_delivered: self.rate.delivered(),
                total_lost,
            });
        }
        self.trim();
        // section 7.3.2: a packet sent before the recovery period started does not start another
        let starts = self.recovery_start.is_none_or(|start| sent > start);
        let event = CongestionEvent {
            now: self.now,
            in_flight: self.in_flight,
            next_position: self.next_position(),
            ecn: lost == 0,
            persistent,
        };
        if starts {
            (self.recovery_start, self.in_recovery) = (Some(self.now), true);
        }
        if persistent {
            self.controller.on_timeout(&event, starts);
        } else if starts {
            self.controller.on_congestion(&event);
        }
    }

    pub(crate) fn on_spurious(&mut self) {
        self.controller.on_spurious(self.now);
    }
}

/// Controller that the stack and [`crate::controller::InFlightCounter`] share. There is one for each
/// connection, as each endpoint has one path and one connection. The lock is never contended: one thread uses
/// it.
#[derive(Clone)]
pub struct LabController(Arc<Mutex<LabControllerState>>);

impl LabController {
    /// Controller that the options request, if it is not one of the stack's own.
    pub(crate) fn new(options: &Options, random: RandomStream) -> Option<Self> {
        let wanted = options.lab_control?;
        let settings = Settings {
            control: wanted.control,
            initial_window: options.initial_window(),
            mss: u64::from(options.datagram_size),
            emulated_connections: wanted.emulated_connections,
            newreno_beta: 0.5,
            handshake_rtt: None,
            equal_rtt_renews: false,
            kernel_hz: None,
            slow_start_exit: wanted.slow_start_exit,
            saved_path: None,
            max_jump: None,
            ecn_beta: None,
            constants: wanted.constants,
            paced: true,
            flavour: Flavour::Quic,
        };
        Some(Self::of(build(&settings, random)))
    }

    /// Wraps a controller.
    #[must_use]
    pub fn of(controller: Box<dyn Controller>) -> Self {
        Self(Arc::new(Mutex::new(LabControllerState::new(controller))))
    }

    /// Congestion window in bytes.
    #[must_use]
    pub fn window(&self) -> u64 {
        self.lab().controller.window()
    }

    /// Adds an increase of the window while it is not full: in slow start to twice the bytes in flight
    /// (draft-ietf-ccwg-ratelimited-increase).
    #[must_use]
    pub fn with_rate_limited_increase(self) -> Self {
        let mut lab = self.lab();
        lab.rate_limited = Some(RateLimitedIncrease::new(lab.initial_window));
        drop(lab);
        self
    }

    /// Sets the size of a full packet. The window is full once another one does not fit, and must be able to
    /// grow then.
    pub fn set_full_packet(&self, bytes: u64) {
        self.lab().full_packet = bytes;
    }

    /// Takes the sample of the last batch of acknowledgements.
    #[must_use]
    pub fn take_sample(&self) -> Option<DeliverySample> {
        self.lab().sample.take()
    }

    /// Whether the window doubles in a round trip, and is below the slow start threshold even then.
    #[must_use]
    pub fn may_double(&self) -> bool {
        let lab = self.lab();
        let below = |ssthresh| 2 * lab.controller.window() < ssthresh;
        lab.controller.phase() == Phase::SlowStart && lab.controller.ssthresh().is_none_or(below)
    }

    /// Whether the window grows exponentially.
    #[must_use]
    pub fn is_starting(&self) -> bool {
        matches!(
            self.lab().controller.phase(),
            Phase::SlowStart | Phase::ConservativeSlowStart | Phase::Startup
        )
    }

    pub(crate) fn lab(&self) -> MutexGuard<'_, LabControllerState> {
        self.0.lock().expect("no holder panics")
    }

    /// Phase of the controller.
    pub(crate) fn phase(&self) -> Phase {
        self.lab().controller.phase()
    }

    /// Handles the departure of a packet that counts as in flight.
    pub(crate) fn sent(&self, now: Instant, bytes: u64) {
        self.lab().on_sent(now, bytes);
    }

    /// Handles the acknowledgement of a packet of `bytes`, sent at `sent`. `srtt` is undefined before the
    /// first sample.
    pub fn acknowledged(&self, now: Instant, sent: Instant, bytes: u64, srtt: std::time::Duration) {
        self.lab().on_ack(now, sent, bytes, srtt);
    }
}

impl std::fmt::Debug for LabController {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lab = self.lab();
        write!(
            f,
            "LabController {{ window: {}, phase: {:?} }}",
            lab.controller.window(),
            lab.controller.phase()
        )
    }
}

/// Implements the traits of a library, which differ only in the methods in `$own` and the additions of
/// `$metrics`.
macro_rules! lab_controller {
    ($proto:ident, |$lab:ident, $filled:ident| $metrics:block, $($own:tt)*) => {
        const _: () = {
            use crate::lab_controller::LabController;
            use std::any::Any;
            use std::sync::Arc;
            use std::time::Instant;
            use $proto::RttEstimator;
            use $proto::congestion::{Controller, ControllerFactory, ControllerMetrics};

            impl ControllerFactory for LabController {
                fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
                    Box::new((*self).clone())
                }
            }

            impl Controller for LabController {
                fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _: Option<u64>) {
                    self.lab().on_end_acks(now, in_flight, app_limited);
                }
                fn on_mtu_update(&mut self, _: u16) {} // path MTU discovery is off
                fn window(&self) -> u64 {
                    self.lab().controller.window()
                }
                fn metrics(&self) -> ControllerMetrics {
                    let $lab = self.lab();
                    let mut $filled = ControllerMetrics::default();
                    $filled.congestion_window = $lab.controller.window();
                    $filled.ssthresh = $lab.controller.ssthresh();
                    $metrics
                    $filled
                }
                fn clone_box(&self) -> Box<dyn Controller> {
                    Box::new(self.clone()) // for a migration, which does not occur here
                }
                fn initial_window(&self) -> u64 {
                    self.lab().initial_window
                }
                fn into_any(self: Box<Self>) -> Box<dyn Any> {
                    self
                }
                $($own)*
            }
        };
    };
}
pub(crate) use lab_controller;

#[cfg(test)]
mod tests;
