//! Paths: RTT, congestion control, pacer, and packet numbers sent on a path.
//!
//! Without Multipath QUIC there is one path. Initial and Handshake packets are those of path 0.

use super::Config;
use super::config::WindowCheck;
use super::ecn::PathEcn;
use super::managed::Managed;
use super::space::Space;
use crate::congestion::bound_window_warning;
use crate::congestion::rate_limited::RateLimitedIncrease;
use crate::congestion::{Ack, CongestionEvent, Controller, Marks, PathView, RecoveryPhase};
use crate::congestion::{Settings, build};
use crate::operations::{Operation, Operations};
use crate::options::Pacing;
use crate::pacing::{self, Pacer, PacingInput};
use crate::recovery::delivery_rate::DeliveryRate;
use crate::recovery::pto::Pto;
use crate::recovery::rtt::RttEstimator;
use quiclab_core::scheduler::PathState;
use quiclab_core::{ByteCount, DataRate, Duration, Probability, RandomStream, RecoveryState, Time};

/// Packets newly delivered by an acknowledgement, accumulated one by one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivered {
    pub(super) bytes: u64,
    pub(super) packets: u32,
    /// Bytes of packets that were sent after recovery had begun: those by which the window may grow.
    pub(super) bytes_after_recovery: u64,
    pub(super) packets_after_recovery: u32,
    /// Bytes that were in flight: without those declared lost before.
    pub(super) outstanding_bytes: u64,
    /// Send time of the newest of them, and its position.
    pub(super) newest: Option<(Time, u64)>,
}

/// Time in milliseconds for functions of plugins.
pub(super) fn now_ms(now: Time) -> f64 {
    now.since(Time::ZERO).as_ms_f64()
}

/// RTT in milliseconds for functions of plugins.
pub(super) fn ms_or_0(rtt: Option<Duration>) -> f64 {
    rtt.map_or(0.0, Duration::as_ms_f64)
}

/// Path of a connection.
pub(super) struct Path {
    /// Packet number space for application data of this path.
    pub(super) space: Space,
    pub(super) rtt: RttEstimator,
    pub(super) pto: Pto,
    pub(super) rate: DeliveryRate,
    pub(super) ecn: PathEcn,
    pub(super) controller: Box<dyn Controller>,
    pacer: Box<dyn Pacer>,
    /// The same pacer without plugins, whose rate they replace.
    native_pacer: Box<dyn Pacer>,
    /// Number of the path.
    number: usize,
    /// Bytes in flight in all packet number spaces of the path.
    pub(super) in_flight: u64,
    /// Whether the last send pass on this path ended because of the window or the pacer, not for lack of
    /// data.
    pub(super) limited: bool,
    /// Start of the last recovery period; `None` before the first.
    recovery_start: Option<Time>,
    in_recovery: bool,
    /// Whether marks have started the recovery period and nothing was lost in it.
    marks_alone: bool,
    /// Number of packets sent on the path that counted as in flight, in all spaces: positions of the
    /// controller.
    pub(super) sent_packets: u64,
    /// Whether the path is validated and carries data.
    pub(super) usable: bool,
    /// Position of the first packet whose frames were not passed to the other paths when the path may have
    /// failed.
    pub(super) left_up_to: u64,
    datagram: u64,
    window_check: WindowCheck,
    /// Rule for the increase of an unused window; `None`: it does not grow, or without this rule.
    rate_limited: Option<RateLimitedIncrease>,
    /// Size of a full packet for the controller.
    mss: u64,
    /// Maximum window in use.
    max_window: u64,
    /// Whether the window has reached it.
    bound: bool,
    /// Whether the pacer uses the initial RTT before the first sample.
    paces_early: bool,
    /// Whether each packet costs the pacer a full one, including those with acknowledgements only, which wait
    /// for it.
    paces_packets: bool,
    pub(super) lost_packets: u64,
    pub(super) spurious_losses: u64,
    pub(super) congestion_events: u64,
    pub(super) timeouts: u64,
    /// Time of the last probe timeout; the start of the run before the first.
    pub(super) probed: Time,
    /// State in path management of Multipath QUIC.
    pub(super) managed: Managed,
    /// Path on which its packets were last acknowledged; `None` before the first acknowledgement.
    acked_on: Option<usize>,
}

impl Path {
    pub(super) fn new(config: &Config, number: usize, random: RandomStream) -> Self {
        let settings = Settings {
            control: config.congestion_control,
            initial_window: config.initial_window().bytes(),
            mss: config.window_packet().bytes(),
            emulated_connections: config.emulated_connections,
            newreno_beta: config.fixed.newreno_beta,
            handshake_rtt: None,
            equal_rtt_renews: false,
            kernel_hz: None,
            slow_start_exit: config.slow_start_exit,
            saved_path: config.saved_path,
            max_jump: config.max_jump.map(ByteCount::bytes),
            ecn_beta: config.ecn_beta,
            constants: config.constants(),
            paced: config.pacing != Pacing::None,
            flavour: config.fixed.flavour,
        };
        Self {
            space: Space::of_application(config),
            rtt: RttEstimator::new(config.initial_rtt)
                .with_variation(config.quic.rtt_variation)
                .with_timeout(config.fixed.timeout_variations, config.fixed.initial_timeout),
            pto: Pto::default(),
            rate: DeliveryRate::default(),
            ecn: PathEcn::new(config.codepoint()),
            controller: build(&settings, random),
            pacer: pacing::build(&config.pacing),
            native_pacer: pacing::build(&config.pacing),
            number,
            in_flight: 0,
            limited: false,
            recovery_start: None,
            in_recovery: false,
            marks_alone: false,
            sent_packets: 0,
            usable: false,
            left_up_to: 0,
            datagram: config.datagram_size.bytes(),
            window_check: config.fixed.window_check,
            rate_limited: (config.quic.rate_limited_increase
                && config.congestion_control.family().grows_by_window())
            .then(|| RateLimitedIncrease::new(settings.initial_window)),
            mss: settings.mss,
            max_window: config.quic.max_window.map_or(u64::MAX, quiclab_core::ByteCount::bytes),
            paces_early: config.quic.pacing_before_rtt,
            paces_packets: config.fixed.paces_packets,
            lost_packets: 0,
            spurious_losses: 0,
            congestion_events: 0,
            timeouts: 0,
            probed: Time::ZERO,
            managed: Managed::new(number),
            acked_on: None,
            bound: false,
        }
    }

    /// Handles an acknowledgement received on path `number`. The RTT is the sum of two one-way delays: if
    /// acknowledgements take another path than before, its minimum changes (draft-ietf-quic-multipath-21
    /// section 5.4).
    pub(super) fn on_acknowledged_on(&mut self, number: usize) {
        if self.acked_on.is_some_and(|last| last != number) {
            self.rtt.on_another_way_back();
        }
        self.acked_on = Some(number);
    }

    /// Maximum size of its datagrams.
    pub(super) fn datagram(&self) -> u64 {
        self.datagram
    }

    /// Sets the maximum size of datagrams, limited by that of the connection.
    pub(super) fn set_datagram(&mut self, bytes: u64) {
        self.datagram = bytes;
    }

    /// Maximum bytes of the next datagram by the window; 0: it must wait.
    pub(super) fn window_room(&self, now: Time, operations: &mut Operations) -> u64 {
        let (window, next) = (self.window(now, operations), self.in_flight + self.datagram);
        let open = match self.window_check {
            WindowCheck::Fits => next <= window,
            WindowCheck::Below => next < window,
            WindowCheck::Filled => return window.saturating_sub(self.in_flight).min(self.datagram),
        };
        // a window of one datagram permits one, regardless of the rule
        if open || self.in_flight == 0 { self.datagram } else { 0 }
    }

    /// Window of the congestion control, within the maximum in use.
    pub(super) fn native_window(&self) -> u64 {
        self.controller.window().min(self.max_window)
    }

    fn window(&self, now: Time, operations: &mut Operations) -> u64 {
        let native = self.native_window();
        if !operations.has(Operation::CongestionWindow) {
            return native;
        }
        let inputs = || {
            [
                ("now_ms", now_ms(now)),
                ("path", self.number as f64),
                ("cwnd_bytes", native as f64),
                ("in_flight_bytes", self.in_flight as f64),
                ("datagram_bytes", self.datagram as f64),
                ("srtt_ms", ms_or_0(self.rtt.smoothed())),
                ("min_rtt_ms", ms_or_0(self.rtt.min())),
            ]
        };
        operations.run(Operation::CongestionWindow, inputs, || native as f64) as u64
    }

    /// Time at which the pacer releases a full datagram; at once if not after `now`.
    pub(super) fn release(&self, now: Time) -> Time {
        self.pacer.release(now, self.datagram)
    }

    /// Time at which an acknowledgement of application data must be sent, at once if not after `now`; `None`:
    /// nothing to acknowledge.
    pub(super) fn acknowledgement_due(&self, now: Time) -> Option<Time> {
        let due = self.space.received.due()?;
        Some(if self.paces_packets { due.max(self.release(now)) } else { due })
    }

    /// Handles a sent packet of application data that does not count as in flight.
    pub(super) fn on_sent_unlimited(&mut self, now: Time) {
        if self.paces_packets {
            self.pacer.on_sent(now, self.datagram);
        }
    }

    /// Handles a probe timeout where that is a sign of congestion: it starts a recovery period, unless there
    /// is one.
    pub(super) fn on_probe_timeout(&mut self, now: Time, operations: &mut Operations) {
        if self.in_recovery {
            return;
        }
        let event = self.congestion_event(now, false);
        (self.recovery_start, self.in_recovery) = (Some(now), true);
        self.congestion_events += 1;
        self.controller.on_timeout(&event, true);
        self.update_pacer(now, operations);
    }

    /// Handles a sent packet that counts as in flight.
    pub(super) fn on_sent(&mut self, now: Time, bytes: u64) {
        self.controller.on_sent(now, bytes, self.in_flight);
        self.pacer.on_sent(now, if self.paces_packets { self.datagram } else { bytes });
        self.in_flight += bytes;
        self.sent_packets += 1;
        if let Some(rule) = &mut self.rate_limited {
            rule.on_flight(self.in_flight, self.controller.window());
        }
    }

    /// Start of the current or last recovery period; `None` before the first.
    pub(super) fn recovery_start(&self) -> Option<Time> {
        self.recovery_start
    }

    /// Whether a packet sent at `sent` belongs to a recovery period that has begun: it neither starts another
    /// nor increases the window (RFC 9002 sections 7.3.2 and B.5).
    pub(super) fn is_before_recovery(&self, sent: Time) -> bool {
        self.recovery_start.is_some_and(|start| sent <= start)
    }

    /// Removes lost packets of `bytes` from those in flight.
    pub(super) fn on_lost(&mut self, packets: u64, bytes: u64) {
        self.lost_packets += packets;
        self.rate.on_lost(bytes);
        self.in_flight -= bytes;
    }

    /// Handles congestion by losses; those that count for congestion control were sent up to `newest`.
    pub(super) fn on_congestion(&mut self, now: Time, newest: Time, persistent: bool) {
        let starts = self.begin_recovery(now, newest);
        let event = self.congestion_event(now, false);
        let first_loss = std::mem::take(&mut self.marks_alone);
        if persistent {
            self.rtt.on_persistent_congestion();
            self.controller.on_timeout(&CongestionEvent { persistent, ..event }, starts);
            // "congestion_recovery_start_time = 0" (RFC 9002 appendix B.8): packets acknowledged now increase
            // the window
            (self.recovery_start, self.in_recovery) = (None, false);
        } else if starts {
            self.controller.on_congestion(&event);
        } else if first_loss {
            self.controller.on_loss_after_marks(self.controller.window());
        }
    }

    /// Handles marks of packets sent up to `newest`, reported by an acknowledgement of `delivered` (RFC 9002
    /// appendix B.7).
    pub(super) fn on_marks(&mut self, now: Time, delivered: &Delivered, marked: u64) {
        let Some((newest, position)) = delivered.newest else { return };
        self.controller.on_marks(&Marks {
            delivered_packets: delivered.packets.into(),
            // of all packets of the space, while those delivered were in flight
            marked_packets: marked.min(delivered.packets.into()),
            acked_position: position + 1,
            next_position: self.sent_packets,
        });
        if marked > 0 && self.begin_recovery(now, newest) {
            self.marks_alone = true;
            let event = self.congestion_event(now, true);
            self.controller.on_congestion(&event);
        }
    }

    /// Starts a recovery period, unless packets sent up to `newest` belong to one that has started.
    fn begin_recovery(&mut self, now: Time, newest: Time) -> bool {
        let starts = !self.is_before_recovery(newest);
        if starts {
            (self.recovery_start, self.in_recovery, self.marks_alone) = (Some(now), true, false);
            self.congestion_events += 1;
        }
        starts
    }

    fn congestion_event(&self, now: Time, ecn: bool) -> CongestionEvent {
        CongestionEvent {
            now,
            in_flight: self.in_flight,
            next_position: self.sent_packets,
            ecn,
            persistent: false,
        }
    }

    /// Passes the packets delivered by an acknowledgement to the controller; it declared `lost_bytes` lost,
    /// `rtt` is its RTT sample for congestion control: aioquic's estimator keeps another
    /// (`RttEstimator::latest`).
    pub(super) fn on_delivered(
        &mut self,
        now: Time,
        delivered: &Delivered,
        prior_in_flight: u64,
        lost_bytes: u64,
        rtt: Option<Duration>,
        validate_window: bool,
    ) {
        let Some((newest, position)) = delivered.newest else { return };
        if self.in_recovery && !self.is_before_recovery(newest) {
            self.in_recovery = false;
            self.controller.on_recovery_end(now);
        }
        let owns = self.controller.owns_recovery();
        let (bytes, packets) = if owns {
            (delivered.bytes, delivered.packets)
        } else {
            (delivered.bytes_after_recovery, delivered.packets_after_recovery)
        };
        let mut ack = Ack {
            now,
            acked_bytes: bytes,
            acked_packets: packets,
            lost_bytes,
            rtt,
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min(),
            prior_in_flight,
            in_flight: self.in_flight,
            departure: self.release(now),
            acked_position: position + 1,
            next_position: self.sent_packets,
            phase: if self.in_recovery { RecoveryPhase::Recovery } else { RecoveryPhase::Open },
            growth_limit: None,
            cwnd_limited: (!validate_window || self.limited) && self.controller.window() < self.max_window,
            may_grow: owns || packets > 0,
            rate: Some(self.rate.sample(now, self.rtt.min(), delivered.packets == 1)),
        };
        if let Some(rule) = &mut self.rate_limited {
            rule.limit(&mut ack, &*self.controller, self.mss);
            ack.cwnd_limited &= self.controller.window() < self.max_window;
        }
        self.controller.on_ack(&ack);
        self.bound |= self.controller.window() >= self.max_window;
    }

    /// Warning about the maximum window, if it was reached.
    pub(super) fn warning(&self) -> Option<String> {
        let bound = self.bound.then_some(self.max_window).or_else(|| self.controller.bound_window());
        bound.map(|bytes| bound_window_warning(bytes, self.mss))
    }

    /// Passes window, RTT and the controller's rate to the pacer.
    pub(super) fn update_pacer(&mut self, now: Time, operations: &mut Operations) {
        let rate = self.controller.pacing_rate();
        let input = PacingInput {
            window: self.controller.window(),
            outstanding: 0,
            srtt: self.rtt.smoothed().or(self.paces_early.then(|| self.rtt.smoothed_or_initial())),
            ssthresh: self.controller.ssthresh(),
            rate,
            quantum: self.controller.send_quantum(),
            mss: self.datagram,
        };
        let input = match self.asked_rate(now, &input, operations) {
            None => input,
            rate => PacingInput { rate, ..input },
        };
        self.pacer.update(now, &input);
    }

    /// Pacing rate of a plugin; `None`: that of the pacer itself.
    fn asked_rate(
        &mut self,
        now: Time,
        input: &PacingInput,
        operations: &mut Operations,
    ) -> Option<DataRate> {
        if !operations.has(Operation::PacingRate) {
            return None;
        }
        self.native_pacer.update(now, input);
        let most = Operation::PacingRate.info().most;
        let native = self.native_pacer.rate().map_or(most, |rate| (rate.bits_per_second() as f64).min(most));
        let inputs = || {
            [
                ("now_ms", now_ms(now)),
                ("path", self.number as f64),
                ("cwnd_bytes", input.window as f64),
                ("srtt_ms", ms_or_0(self.rtt.smoothed())),
                ("min_rtt_ms", ms_or_0(self.rtt.min())),
            ]
        };
        let wanted = operations.run(Operation::PacingRate, inputs, || native);
        (wanted != native).then(|| DataRate::from_bits_per_second(wanted as u64))
    }

    /// State of the path for a scheduler. Its loss is that of its whole life, its rate that of a controller
    /// that has one.
    pub(super) fn state(&self, usable: bool, has_room: bool) -> PathState {
        let srtt = self.rtt.smoothed_or_initial();
        let loss = self.lost_packets as f64 / self.sent_packets.max(1) as f64;
        PathState {
            usable,
            has_room,
            srtt,
            min_rtt: self.rtt.min().unwrap_or(srtt),
            rtt_variation: self.rtt.variation(),
            window: ByteCount::from_bytes(self.native_window()),
            in_flight: ByteCount::from_bytes(self.in_flight),
            rate: self.controller.pacing_rate(),
            loss: Probability::new(loss).unwrap_or_default(),
            largest: ByteCount::from_bytes(self.datagram),
        }
    }

    /// State of the path for the controllers of the others.
    pub(super) fn view(&self) -> PathView {
        PathView {
            window: self.controller.window(),
            srtt: self.rtt.smoothed(),
            losses_apart: self.controller.losses_apart(),
        }
    }

    pub(super) fn recovery_state(&self) -> RecoveryState {
        RecoveryState {
            cwnd_bytes: self.controller.window(),
            ssthresh_bytes: self.controller.ssthresh(),
            in_flight_bytes: Some(self.in_flight),
            srtt_ns: self.rtt.smoothed().map(quiclab_core::Duration::as_nanos),
            min_rtt_ns: self.rtt.min().map(quiclab_core::Duration::as_nanos),
            pacing_rate_bps: self.pacer.rate().map(DataRate::bits_per_second),
            phase: Some(self.controller.phase()),
            lost_packets: self.lost_packets,
            spurious_losses: Some(self.spurious_losses),
            congestion_events: self.congestion_events,
        }
    }
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
