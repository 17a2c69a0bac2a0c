//! Packets that arrive: keys, duplicates, frames (RFC 9000 sections 12 and 13.1, RFC 9001 section 5.7).

use super::losses::Losing;
use super::{Connection, Datagram, SpaceId, State, gquic_minimum, is_permitted};
use crate::acknowledgement::AckRequest;
use crate::operations::Operation;
use crate::options::QuicVersion;
use crate::quic::config::TimeoutLosses;
use crate::quic::handshake::EarlyState;
use crate::quic::path::{Path, ms_or_0, now_ms};
use quiclab_core::quic::{QuicDatagram, QuicFrame, QuicPacket};
use quiclab_core::{Duration, Ecn, PacketSpace, Role, Time};

impl Connection {
    /// Handles a received datagram of `size` bytes of UDP payload; `field` is its ECN field.
    pub(in crate::quic) fn receive(&mut self, now: Time, datagram: QuicDatagram, size: u64, field: Ecn) {
        match &mut self.state {
            State::Over => return,
            State::Idle if self.role == Role::Client => return,
            State::Idle => {
                self.state = State::Open;
                self.open_first_path(now);
            }
            State::Closing { pending, received } => {
                // a response to 1, 2, 4, ... packets: "limit the rate at which it generates packets" (section
                // 10.2.1)
                *received += 1;
                *pending |= received.is_power_of_two();
            }
            State::Open => {}
        }
        let of_data = datagram.packets.first().map(|packet| self.space_of(packet).path());
        if of_data.is_some_and(|path| path < self.paths.len() && !self.on_path_received(now, path, size)) {
            return; // a packet of a path that is closed, or that this end has not opened
        }
        let was_limited = self.is_amplification_limited();
        self.address.on_received(size);
        self.activity.on_received(now);
        for packet in datagram.packets {
            self.receive_packet(now, packet, field);
        }
        if was_limited && self.state == State::Open && !self.is_amplification_limited() {
            // "the server resets the PTO timer. If the PTO timer is then set to a time in the past, it is
            // executed immediately": lost data precede new ones (RFC 9002 section 6.2.2.1)
            self.loss_timer = self.loss_deadline(now);
            self.on_timer(now);
        }
        self.manage(now);
    }

    fn receive_packet(&mut self, now: Time, packet: QuicPacket, field: Ecn) {
        if matches!(self.state, State::Over) {
            return;
        }
        let id = self.space_of(&packet);
        if id.path() >= self.paths.len() || self.space(id).is_none() {
            return; // keys are discarded
        }
        if !self.handshake.can_receive(packet.space) {
            let rejected = packet.space == PacketSpace::ZeroRtt
                && matches!(self.handshake.early_data(), EarlyState::Rejected);
            if !rejected {
                self.progress.keep(packet, field, self.config.fixed.kept_packets);
            }
            if self.role == Role::Client {
                self.restart_handshake(now);
            }
            return;
        }
        self.heard_path = id.path();
        let Some(space) = self.space(id) else { return };
        if space.received.is_duplicate(packet.number) {
            return;
        }
        self.observation.observe_packet(now, &packet, false);
        if packet.space == PacketSpace::Handshake && self.role == Role::Server {
            // RFC 9001 section 4.9.1; RFC 9000 section 8.1: it validates the client's address
            self.address.validate();
            self.discard(SpaceId::Initial);
        }
        let eliciting = packet.is_ack_eliciting();
        for frame in &packet.frames {
            if self.config.quic.version == QuicVersion::V1 && !is_permitted(frame, packet.space) {
                self.violate(format_args!("a frame is not allowed in {:?} packets: {frame:?}", packet.space));
                return;
            }
            self.receive_frame(now, id, frame);
            if self.state == State::Over {
                return;
            }
        }
        // afterwards, as the packet may have changed the RTT that a policy uses
        let srtt = self.paths[id.path()].rtt.smoothed();
        if let Some(space) = self.space(id) {
            space.received.on_packet(now, packet.number, eliciting, field, srtt);
        }
        if let (SpaceId::Path(path), true) = (id, eliciting)
            && self.operations.has(Operation::AckDelay)
        {
            self.ask_ack_delay(now, path);
        }
        self.after_handshake_progress(now);
    }

    /// Sets the time at which a received packet must be acknowledged according to a plugin.
    #[cold]
    fn ask_ack_delay(&mut self, now: Time, number: usize) {
        let Self { paths, operations, config, .. } = self;
        let Path { space, rtt, .. } = &mut paths[number];
        let most = Duration::from_nanos_f64(Operation::AckDelay.info().most * 1e6);
        let native = space.received.native_due().map_or(most, |due| due.since(now).min(most)).as_ms_f64();
        let (unacknowledged, out_of_order) = space.received.unacknowledged();
        let inputs = || {
            [
                ("now_ms", now_ms(now)),
                ("path", number as f64),
                ("unacknowledged", f64::from(unacknowledged)),
                ("out_of_order", f64::from(u8::from(out_of_order))),
                ("srtt_ms", ms_or_0(rtt.smoothed())),
                ("max_ack_delay_ms", config.quic.max_ack_delay.as_ms_f64()),
            ]
        };
        let wanted = operations.run(Operation::AckDelay, inputs, || native);
        space.received.ask_due(now + Duration::from_nanos_f64(wanted * 1e6));
    }

    /// Packet number space of a packet; gQUIC has only one.
    fn space_of(&self, packet: &QuicPacket) -> SpaceId {
        match packet.space {
            _ if self.config.quic.version == QuicVersion::Gquic37 => SpaceId::Path(0),
            PacketSpace::Initial => SpaceId::Initial,
            PacketSpace::Handshake => SpaceId::Handshake,
            PacketSpace::ZeroRtt | PacketSpace::OneRtt => SpaceId::Path(usize::from(packet.path)),
        }
    }

    fn receive_frame(&mut self, now: Time, id: SpaceId, frame: &QuicFrame) {
        let path = id.path();
        match frame {
            QuicFrame::Padding { .. }
            | QuicFrame::Ping
            | QuicFrame::NewConnectionId { .. }
            | QuicFrame::RetireConnectionId { .. }
            | QuicFrame::StopWaiting { .. } => {}
            QuicFrame::Ack(ack) => self.on_ack(now, id, ack),
            QuicFrame::Crypto { offset, length, parameters } => {
                let level = self.crypto_level(id);
                let range = *offset..*offset + u64::from(*length);
                let before = self.crypto[level as usize].received_in_order();
                let in_order = self.crypto[level as usize].on_received(range);
                if in_order == before && self.role == Role::Server && id == SpaceId::Initial {
                    self.restart_handshake(now);
                }
                self.handshake.on_received(level, in_order, parameters.as_deref());
            }
            QuicFrame::HandshakeDone => self.confirm(),
            QuicFrame::ConnectionClose { application: _, error_code } => {
                self.state = State::Over;
                self.closure.on_closed_by_peer(*error_code);
            }
            QuicFrame::Datagram { length, number, sent, echo } => {
                let datagram = Datagram { length: *length, number: *number, sent: *sent, echo: *echo };
                self.datagrams.on_arrived(datagram);
            }
            QuicFrame::AckFrequency {
                sequence_number,
                ack_eliciting_threshold,
                request_max_ack_delay,
                reordering_threshold,
            } => {
                let request = AckRequest {
                    sequence: *sequence_number,
                    ack_eliciting_threshold: u64::from(*ack_eliciting_threshold),
                    max_ack_delay: *request_max_ack_delay,
                    reordering_threshold: u64::from(*reordering_threshold),
                };
                for path in &mut self.paths {
                    path.space.received.policy().on_request(now, &request);
                }
            }
            QuicFrame::ImmediateAck => self.paths[id.path()].space.received.policy().on_immediate_ack(now),
            QuicFrame::PathChallenge => self.respond(path),
            QuicFrame::PathResponse => {
                self.paths[path].usable = self.is_sendable(path);
                self.on_path_validated(path);
                self.path_validation.on_validated(path);
                // the first RTT sample of the path is not adjusted (RFC 9002 section 5.3) and includes the
                // delay: a scheduler based on the RTT would not use the path, and never obtain another sample
                self.paths[path].space.received.ask_due(now);
            }
            frame if self.on_management_frame(now, frame) => {}
            stream => {
                let srtt = self.paths[self.first_path()].rtt.smoothed();
                if let Err(error) = self.streams.on_frame(now, stream, srtt) {
                    self.violate(error);
                }
            }
        }
    }

    /// Handles a step of the handshake: limits of the peer, state of 0-RTT, confirmation, packets that waited
    /// for keys.
    fn after_handshake_progress(&mut self, now: Time) {
        if self.progress.is_settled() {
            return;
        }
        if let Some(peer) = self.handshake.take_peer_parameters() {
            let v1 = self.config.quic.version == QuicVersion::V1;
            if v1 && self.role == Role::Server && self.handshake.early_data() == EarlyState::Accepted {
                // a client remembers as parameters of its server those that it would offer itself, as the two
                // ends are built separately
                self.streams.keep_remembered(&peer);
            }
            self.streams.on_parameters(&peer);
            self.peer = peer;
            let asks = self.config.ack_frequency.is_some() && self.peer.min_ack_delay.is_some();
            self.control.set_ack_frequency(asks.then_some(0));
        }
        if self.progress.early_data() == EarlyState::Pending {
            let early_data = self.handshake.early_data();
            self.progress.set_early_data(early_data);
            if early_data == EarlyState::Rejected {
                self.forget_early_data();
            }
        }
        if self.progress.complete_at().is_none() && self.handshake.is_complete() {
            self.progress.complete(now);
            let managed = self.begin_management(now);
            if self.config.quic.version == QuicVersion::V1 && !managed {
                self.control.set_new_connection_ids(self.config.fixed.new_connection_ids);
            }
            match (self.config.quic.version, self.role) {
                // no HANDSHAKE_DONE: the SHLO confirms
                (QuicVersion::Gquic37, _) => self.confirm(),
                (QuicVersion::V1, Role::Server) => {
                    self.control.add_handshake_done();
                    self.confirm();
                }
                (QuicVersion::V1, Role::Client) => {}
            }
            let paths = self.paths.len().min(usize::from(self.peer.paths));
            if self.role == Role::Client && !managed {
                (1..paths).for_each(|path| self.path_validation.challenge(path));
            }
        }
        for (packet, field) in self.progress.take_readable(|space| self.handshake.can_receive(space)) {
            self.receive_packet(now, packet, field);
        }
    }

    /// Sends handshake data in flight again after an arrival that shows a problem of the handshake (aioquic
    /// `reschedule_data`).
    fn restart_handshake(&mut self, now: Time) {
        if self.config.fixed.timeout_losses != TimeoutLosses::Nothing && self.progress.restart() {
            self.lose_crypto(now);
        }
    }

    /// Declares packets with crypto data in flight lost, and sends a probe (aioquic `reschedule_data`,
    /// `_write_handshake`: in a Handshake packet, if there are keys).
    pub(super) fn lose_crypto(&mut self, now: Time) {
        for id in self.space_ids() {
            self.declare_lost(now, id, Losing::Crypto);
        }
        let handshake = self.handshake.can_send(PacketSpace::Handshake);
        let order = if handshake { [SpaceId::Handshake, SpaceId::Initial] } else { [SpaceId::Initial; 2] };
        let id = order.into_iter().find(|id| self.space(*id).is_some());
        // in gQUIC there is only one space
        if let Some(space) = self.space(id.unwrap_or(SpaceId::Path(0))) {
            space.probes = space.probes.max(1);
        }
    }

    /// Handles the rejection of 0-RTT: "the client [...] can treat 0-RTT data as lost", without a congestion
    /// event, and sends it again (RFC 9001 section 4.6.2).
    fn forget_early_data(&mut self) {
        self.streams.on_early_data_rejected();
        if self.config.quic.version == QuicVersion::Gquic37 {
            // the rejection has no limits, and the next hello has data with it again
            self.streams.remember(&gquic_minimum());
        }
        let path = &mut self.paths[0];
        path.in_flight -= path.space.sent.discard();
        path.pto.on_keys_discarded();
    }
}
