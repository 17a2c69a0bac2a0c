//! Timers: losses by the time threshold, probes, pacing, delayed acknowledgements, idling (RFC 9002 sections
//! 6.1.2 and 6.2, RFC 9000 section 10.1).

use super::losses::Losing;
use super::{Connection, SpaceId, State};
use crate::operations::Operation;
use crate::quic::config::TimeoutLosses;
use crate::quic::path::{Path, ms_or_0, now_ms};
use crate::quic::space::Space;
use crate::recovery::pto::{Pto, PtoInput, SpaceInFlight};
use quiclab_core::{Duration, PacketSpace, Role, Time};
use smallvec::SmallVec;

/// Purpose of the loss detection timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LossTimer {
    /// Packets of a space are lost by the time threshold.
    Lost(SpaceId),
    /// A probe is sent.
    Probe(SpaceId),
}

impl Connection {
    /// Sets all timers for the current state, and returns the earliest.
    pub(in crate::quic) fn next_timer(&mut self, now: Time) -> Option<Time> {
        match self.state {
            State::Idle | State::Over => {
                self.loss_timer = None;
                return None;
            }
            State::Closing { .. } => {
                self.loss_timer = None;
                return None; // packets that still arrive are responded to, nothing else is done
            }
            State::Open => {}
        }
        self.loss_timer = self.loss_deadline(now);
        let loss = self.loss_timer.map(|(time, _)| time);
        let mut deadline = [loss, self.idle_deadline()].into_iter().flatten().min();
        // data that must not be sent have no send time
        if !self.is_amplification_limited() {
            let of_handshake =
                self.handshake_spaces.iter().flatten().filter_map(|space| space.received.due());
            let carried = |path: &usize| self.path_of_acks(*path).is_some();
            let of_paths = (0..self.paths.len()).filter(carried);
            let of_paths = of_paths.filter_map(|path| self.paths[path].acknowledgement_due(now));
            let acknowledgements = of_handshake.chain(of_paths).min();
            deadline = [deadline, acknowledgements, self.pacing_due].into_iter().flatten().min();
        }
        [deadline, self.management_deadline(now)].into_iter().flatten().min()
    }

    /// Time at which the idle timeout expires.
    fn idle_deadline(&self) -> Option<Time> {
        let own = Some(self.config.quic.idle_timeout);
        let timeout = match (own, self.peer.idle_timeout) {
            (Some(own), Some(peer)) => Some(own.min(peer)),
            (own, peer) => own.or(peer),
        }?;
        // "the idle timeout period [...] at least three times the current Probe Timeout" (section 10.1),
        // taken without backoff: with backoff, an end that probes would never give up
        let probe = |path: &Path| path.rtt.pto_base() + self.peer_max_ack_delay();
        let probe = self.paths.iter().map(probe).max()?;
        Some(self.activity.at() + timeout.max(probe * 3))
    }

    /// Whether an acknowledgement must be sent now, with packets of the space `id`.
    pub(super) fn must_acknowledge(&self, now: Time, id: SpaceId) -> bool {
        self.acknowledged_spaces(id).any(|space| self.is_acknowledgement_due(now, space))
    }

    /// Whether packets of the space `id` must be acknowledged now.
    pub(super) fn is_acknowledgement_due(&self, now: Time, id: SpaceId) -> bool {
        let due = match id {
            SpaceId::Path(path) => self.paths[path].acknowledgement_due(now),
            SpaceId::Initial | SpaceId::Handshake => {
                self.space_ref(id).and_then(|space| space.received.due())
            }
        };
        due.is_some_and(|due| due <= now)
    }

    pub(super) fn space_ref(&self, id: SpaceId) -> Option<&Space> {
        match id {
            SpaceId::Initial => self.handshake_spaces[0].as_ref(),
            SpaceId::Handshake => self.handshake_spaces[1].as_ref(),
            SpaceId::Path(path) => Some(&self.paths[path].space),
        }
    }

    /// Expiry and purpose of the loss detection timer (RFC 9002 appendix A.8).
    pub(super) fn loss_deadline(&mut self, now: Time) -> Option<(Time, LossTimer)> {
        let lost = |id| Some((self.space_ref(id)?.sent.loss_time()?, LossTimer::Lost(id)));
        let earliest = self.space_ids().filter_map(lost).min_by_key(|(time, _)| *time);
        if earliest.is_some() {
            return earliest;
        }
        if self.is_amplification_limited() {
            return None;
        }
        let sendable = |path: &usize| self.is_sendable(*path) && !self.is_limited(*path);
        let paths: SmallVec<[usize; 4]> = (0..self.paths.len()).filter(sendable).collect();
        paths.into_iter().filter_map(|path| self.probe_deadline(now, path)).min_by_key(|(time, _)| *time)
    }

    fn probe_deadline(&mut self, now: Time, path: usize) -> Option<(Time, LossTimer)> {
        let in_flight = |space: Option<&Space>| SpaceInFlight {
            last_ack_eliciting: space.and_then(|space| space.sent.last_ack_eliciting()),
        };
        // messages that wait for the window count as in flight: the packets that fill it may be unreadable
        // for the peer before it has these messages, and have no timer
        let of_handshake = |id: SpaceId| {
            let space = self.space_ref(id).filter(|_| path == 0);
            let waiting = space
                .filter(|_| self.wants_crypto(id))
                .and_then(|space| space.sent.last_ack_eliciting_ever());
            SpaceInFlight { last_ack_eliciting: in_flight(space).last_ack_eliciting.or(waiting) }
        };
        let single = self.config.quic.version == crate::options::QuicVersion::Gquic37;
        let input = PtoInput {
            spaces: [
                of_handshake(SpaceId::Initial),
                of_handshake(SpaceId::Handshake),
                in_flight(Some(&self.paths[path].space)),
            ],
            max_ack_delay: self.peer_max_ack_delay(),
            // gQUIC has one space, whose packets are acknowledged from the start
            handshake_confirmed: self.progress.is_confirmed()
                || single
                || path != 0
                || self.role == Role::Server && self.handshake.is_complete(),
            handshake_keys: self.handshake.can_send(PacketSpace::Handshake),
            peer_validated: path != 0 || single || self.peer_has_validated(SpaceId::Initial),
        };
        let (deadline, space) = if self.operations.has(Operation::ProbeTimeout) {
            self.asked_probe_deadline(now, path, &input)?
        } else {
            let path = &self.paths[path];
            path.pto.deadline(now, &path.rtt, &input)?
        };
        let id = match space {
            PacketSpace::Initial => SpaceId::Initial,
            PacketSpace::Handshake => SpaceId::Handshake,
            PacketSpace::ZeroRtt | PacketSpace::OneRtt => SpaceId::Path(path),
        };
        Some((deadline, LossTimer::Probe(id)))
    }

    /// Expiry with the timeout of a plugin, which counts from the last probe at the earliest: without backoff
    /// and with nothing to send, time would not advance.
    #[cold]
    fn asked_probe_deadline(
        &mut self,
        now: Time,
        number: usize,
        input: &PtoInput,
    ) -> Option<(Time, PacketSpace)> {
        let Self { paths, operations, .. } = self;
        let path = &paths[number];
        Pto::deadline_with(now, input, |space, max_ack_delay| {
            let (in_handshake, index) = match space {
                PacketSpace::Initial => (true, 0),
                PacketSpace::Handshake => (true, 1),
                PacketSpace::ZeroRtt | PacketSpace::OneRtt => (false, 2),
            };
            let timeout = path.pto.timeout(&path.rtt, space, max_ack_delay);
            let native = timeout.as_ms_f64();
            let inputs = || {
                [
                    ("now_ms", now_ms(now)),
                    ("path", number as f64),
                    ("srtt_ms", ms_or_0(path.rtt.smoothed())),
                    ("rttvar_ms", path.rtt.variation().as_ms_f64()),
                    ("max_ack_delay_ms", if in_handshake { 0.0 } else { max_ack_delay.as_ms_f64() }),
                    ("pto_count", f64::from(path.pto.count())),
                ]
            };
            let wanted = operations.run(Operation::ProbeTimeout, inputs, || native);
            if wanted == native {
                return timeout;
            }
            let last = input.spaces[index].last_ack_eliciting.unwrap_or(now);
            Duration::from_nanos_f64(wanted * 1e6) + path.probed.since(last)
        })
    }

    /// Handles the timers that are due.
    pub(in crate::quic) fn on_timer(&mut self, now: Time) {
        if self.state != State::Open {
            return;
        }
        if self.idle_deadline().is_some_and(|deadline| deadline <= now) {
            return self.fail(format!("nothing was received for the idle timeout: given up at {now}"));
        }
        match self.loss_timer.filter(|(time, _)| *time <= now) {
            Some((_, LossTimer::Lost(id))) => {
                self.detect_lost(now, id);
            }
            Some((_, LossTimer::Probe(id))) => self.probe(now, id),
            None => {}
        }
        self.loss_timer = None;
        self.manage(now);
    }

    /// Handles a probe timeout (RFC 9002 section 6.2.4): sends ack-eliciting packets, with data if possible.
    fn probe(&mut self, now: Time, id: SpaceId) {
        let packets = self.config.quic.probe_packets;
        let level = self.crypto_level(id);
        let path = &mut self.paths[id.path()];
        path.timeouts += 1;
        path.probed = now;
        path.pto.on_expired();
        let in_flight = path.in_flight > 0;
        let congestion = self.config.fixed.timeout_is_congestion && self.config.quic.datagram_back_off;
        if congestion && self.progress.is_confirmed() && in_flight {
            path.on_probe_timeout(now, &mut self.operations);
        }
        let timeout_losses = self.config.fixed.timeout_losses;
        if timeout_losses != TimeoutLosses::Nothing && in_flight && id.path() == 0 {
            if !self.progress.is_confirmed() {
                return self.lose_crypto(now);
            }
            if timeout_losses == TimeoutLosses::CryptoOrOldest {
                self.declare_lost(now, id, Losing::Oldest);
            }
        }
        let crypto = !matches!(id, SpaceId::Path(_)) || level == super::Level::Initial;
        if crypto {
            self.crypto[level as usize].probe();
        }
        if let SpaceId::Path(path) = id {
            if !self.paths[path].usable {
                self.challenge(path);
            }
            if self.paths.iter().filter(|path| path.usable).count() > 1 {
                self.leave_path(path, false);
                self.avoid(path);
            }
            self.streams.begin_probes();
        }
        if matches!(id, SpaceId::Initial | SpaceId::Handshake) {
            self.probe_other(id);
        }
        if let Some(space) = self.space(id) {
            // with nothing in flight it is the client's deadlock prevention: one is enough
            space.probes = if in_flight { packets } else { 1 };
        }
    }

    /// Probes another space: "the sender SHOULD send ack-eliciting packets from other packet number spaces
    /// with in-flight data, coalescing packets if possible" (section 6.2.4): Handshake packets are of no use
    /// to a client without the ServerHello, and data in flight in that space would block its retransmission.
    fn probe_other(&mut self, id: SpaceId) {
        let other = if id == SpaceId::Initial { SpaceId::Handshake } else { SpaceId::Initial };
        let level = self.crypto_level(other);
        let in_flight = self.space_ref(other).is_some_and(|space| space.sent.last_ack_eliciting().is_some());
        if in_flight {
            self.crypto[level as usize].probe();
        }
        if (in_flight || self.wants_crypto(other))
            && let Some(space) = self.space(other)
        {
            space.probes = space.probes.max(1);
        }
    }
}
