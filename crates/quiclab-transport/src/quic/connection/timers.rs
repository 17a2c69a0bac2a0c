//! Timers: losses by the time threshold, probes, pacing, delayed acknowledgements, idling (RFC 9002 sections
//! 6.1.2 and 6.2, RFC 9000 section 10.1).

use super::{Connection, SpaceId, State};
use crate::operations::Operation;
use crate::quic::space::Space;
use crate::recovery::pto::{PtoInput, SpaceInFlight};
use quiclab_core::{PacketSpace, Role, Time};

/// What the loss detection timer is set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LossTimer {
    /// Packets of a space are lost by the time threshold then.
    Lost(SpaceId),
    /// A probe is sent then.
    Probe(SpaceId),
}

impl Connection {
    /// Sets all timers for the present state, and returns the earliest.
    pub(in crate::quic) fn next_timer(&mut self, now: Time) -> Option<Time> {
        match self.state {
            State::Idle | State::Over => {
                self.loss_timer = None;
                return None;
            }
            State::Closing { .. } => {
                self.loss_timer = None;
                return None; // what still arrives is answered, nothing else is done
            }
            State::Open => {}
        }
        self.loss_timer = self.loss_deadline(now);
        let acknowledgements = self.space_ids().filter_map(|id| self.space_ref(id)?.received.due()).min();
        let loss = self.loss_timer.map(|(time, _)| time);
        [loss, acknowledgements, self.pacing_due, self.idle_deadline()].into_iter().flatten().min()
    }

    /// When the connection has been idle for too long.
    fn idle_deadline(&self) -> Option<Time> {
        let own = Some(self.config.idle_timeout);
        let timeout = match (own, self.peer.idle_timeout) {
            (Some(own), Some(peer)) => Some(own.min(peer)),
            (own, peer) => own.or(peer),
        }?;
        // "the idle timeout period [...] at least three times the current Probe Timeout" (section 10.1)
        let delay = self.peer_max_ack_delay();
        // the shortest of all paths: one that is dead has backed off
        let ptos = self.paths.iter().map(|path| path.pto.timeout(&path.rtt, PacketSpace::OneRtt, delay));
        let pto = ptos.min().unwrap_or_default();
        Some(self.active + timeout.max(pto * 3))
    }

    pub(super) fn space_ref(&self, id: SpaceId) -> Option<&Space> {
        match id {
            SpaceId::Initial => self.handshake_spaces[0].as_ref(),
            SpaceId::Handshake => self.handshake_spaces[1].as_ref(),
            SpaceId::Path(path) => Some(&self.paths[path].space),
        }
    }

    /// When the loss detection timer expires, and what for (RFC 9002 appendix A.8); each path has its own.
    fn loss_deadline(&mut self, now: Time) -> Option<(Time, LossTimer)> {
        let stopped = self.is_amplification_limited();
        let mut earliest: Option<(Time, LossTimer)> = None;
        for path in 0..self.paths.len() {
            let of_path = self.space_ids().filter(|id| id.path() == path);
            let lost =
                of_path.filter_map(|id| Some((self.space_ref(id)?.sent.loss_time()?, LossTimer::Lost(id))));
            let lost = lost.min_by_key(|(time, _)| *time);
            let deadline = if lost.is_some() || stopped { lost } else { self.probe_deadline(now, path) };
            earliest = earliest.into_iter().chain(deadline).min_by_key(|(time, _)| *time);
        }
        earliest
    }

    fn probe_deadline(&mut self, now: Time, path: usize) -> Option<(Time, LossTimer)> {
        let in_flight = |space: Option<&Space>| SpaceInFlight {
            last_ack_eliciting: space.and_then(|space| space.sent.last_ack_eliciting()),
        };
        let of_handshake = |index: usize| self.handshake_spaces[index].as_ref().filter(|_| path == 0);
        let single = self.config.version == quiclab_core::scenario::QuicVersion::Gquic37;
        let input = PtoInput {
            spaces: [
                in_flight(of_handshake(0)),
                in_flight(of_handshake(1)),
                in_flight(Some(&self.paths[path].space)),
            ],
            max_ack_delay: self.peer_max_ack_delay(),
            // gQUIC has one space, whose packets are acknowledged from the start
            handshake_confirmed: self.confirmed
                || single
                || self.role == Role::Server && self.handshake.is_complete(),
            handshake_keys: self.handshake.can_send(PacketSpace::Handshake),
            peer_validated: path != 0 || single || self.peer_has_validated(SpaceId::Initial),
        };
        let this = &self.paths[path];
        let (native, space) = this.pto.deadline(now, &this.rtt, &input)?;
        let id = match space {
            PacketSpace::Initial => SpaceId::Initial,
            PacketSpace::Handshake => SpaceId::Handshake,
            PacketSpace::ZeroRtt | PacketSpace::OneRtt => SpaceId::Path(path),
        };
        let mut deadline = native;
        if self.operations.has(Operation::ProbeTimeout) {
            let sent = this.space.sent.last_ack_eliciting().unwrap_or(now);
            let (timeout, srtt) =
                (native.since(sent).as_ms_f64(), this.rtt.smoothed_or_initial().as_ms_f64());
            let count = f64::from(this.pto.count());
            let inputs = || [("timeout_ms", timeout), ("srtt_ms", srtt), ("expired", count)];
            let wanted = self.operations.run(Operation::ProbeTimeout, inputs, || timeout);
            deadline = sent + quiclab_core::Duration::from_nanos_f64(wanted * 1e6);
        }
        Some((deadline, LossTimer::Probe(id)))
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
    }

    /// A probe timeout has expired (RFC 9002 section 6.2.4): something ack-eliciting is sent, data if possible.
    fn probe(&mut self, now: Time, id: SpaceId) {
        let packets = self.config.probe_packets;
        let level = self.crypto_level(id);
        let path = &mut self.paths[id.path()];
        path.timeouts += 1;
        path.pto.on_expired();
        let in_flight = path.in_flight > 0;
        if !self.confirmed && in_flight && self.config.fixed.restarts_handshake {
            return self.lose_crypto(now);
        }
        let crypto = !matches!(id, SpaceId::Path(_)) || level == super::Level::Initial;
        if crypto {
            self.crypto[level as usize].probe();
        }
        if let SpaceId::Path(path) = id {
            let data = self.config.fixed.probes_carry_data;
            if !self.leave_path(path) && data && !self.wants_to_send() {
                self.streams.probe();
            }
        }
        if let Some(space) = self.space(id) {
            // without anything in flight it is the client's deadlock prevention: one is enough
            space.probes = if in_flight { packets } else { 1 };
        }
    }
}
