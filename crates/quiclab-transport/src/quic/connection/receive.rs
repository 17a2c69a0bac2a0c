//! Packets that arrive: keys, duplicates, frames (RFC 9000 sections 12 and 13.1, RFC 9001 section 5.7).

use super::{Connection, QueuedDatagram, SpaceId, State, is_permitted};
use crate::acknowledgement::AckRequest;
use crate::quic::handshake::EarlyState;
use quiclab_core::quic::{QuicDatagram, QuicFrame, QuicPacket};
use quiclab_core::scenario::QuicVersion;
use quiclab_core::{PacketSpace, Role, Time, TransportEvent};

impl Connection {
    /// A datagram of `size` bytes of UDP payload has arrived; `ce` says whether it is marked.
    pub(in crate::quic) fn receive(&mut self, now: Time, datagram: QuicDatagram, size: u64, ce: bool) {
        match &mut self.state {
            State::Over => return,
            State::Idle if self.role == Role::Client => return,
            State::Idle => {
                self.state = State::Open;
                self.open_path(now, 0);
            }
            State::Closing { pending, received } => {
                // an answer to 1, 2, 4, ... packets: "limit the rate at which it generates packets" (section 10.2.1)
                *received += 1;
                *pending |= received.is_power_of_two();
            }
            State::Open => {}
        }
        self.received_bytes += size;
        self.active = now;
        self.sent_since_received = false;
        for packet in datagram.packets {
            self.receive_packet(now, packet, ce);
        }
    }

    fn receive_packet(&mut self, now: Time, packet: QuicPacket, ce: bool) {
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
            if !rejected && self.early_packets.len() < self.config.fixed.kept_packets {
                self.early_packets.push(packet);
            }
            if self.role == Role::Client {
                self.restart_handshake(now);
            }
            return;
        }
        let Some(space) = self.space(id) else { return };
        if space.received.is_duplicate(packet.number) {
            return;
        }
        self.observe_packet(now, &packet, false);
        if packet.space == PacketSpace::Handshake && self.role == Role::Server {
            // RFC 9001 section 4.9.1; RFC 9000 section 8.1: it proves that the client owns its address
            self.validated = true;
            self.discard(SpaceId::Initial);
        }
        let eliciting = packet.is_ack_eliciting();
        for frame in &packet.frames {
            if !is_permitted(frame, packet.space) {
                self.violate(format_args!("a frame is not allowed in {:?} packets: {frame:?}", packet.space));
                return;
            }
            self.receive_frame(now, id, frame);
            if self.state == State::Over {
                return;
            }
        }
        if let Some(path) = self.unanswered.take() {
            // the challenge has arrived; where the answer did not come with its acknowledgement, it is lost
            self.challenge_again(path);
        }
        // afterwards: what the packet says may have changed the RTT that a policy looks at
        let srtt = self.paths[id.path()].rtt.smoothed();
        if let Some(space) = self.space(id) {
            space.received.on_packet(now, packet.number, eliciting, ce, srtt);
        }
        self.after_handshake_progress(now);
    }

    /// The packet number space of a packet; gQUIC has only one.
    fn space_of(&self, packet: &QuicPacket) -> SpaceId {
        match packet.space {
            _ if self.config.version == QuicVersion::Gquic37 => SpaceId::Path(0),
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
            QuicFrame::ConnectionClose { application, error_code } => {
                self.state = State::Over;
                if *application && *error_code == 0 {
                    self.closed_by_peer = true;
                } else {
                    self.failure
                        .get_or_insert_with(|| format!("closed by the peer with error {error_code:#x}"));
                }
            }
            QuicFrame::Datagram { length, number, sent, echo } => {
                let datagram = QueuedDatagram { length: *length, number: *number, sent: *sent, echo: *echo };
                self.arrived_datagrams.push_back(datagram);
            }
            QuicFrame::AckFrequency {
                sequence_number,
                ack_eliciting_threshold,
                request_max_ack_delay,
                reordering_threshold,
            } => {
                let request = AckRequest {
                    sequence: *sequence_number,
                    ack_eliciting_threshold: *ack_eliciting_threshold,
                    max_ack_delay: *request_max_ack_delay,
                    reordering_threshold: *reordering_threshold,
                };
                for path in &mut self.paths {
                    path.space.received.policy().on_request(now, &request);
                }
            }
            QuicFrame::ImmediateAck => self.paths[id.path()].space.received.policy().on_immediate_ack(now),
            QuicFrame::PathChallenge => self.path_responses.push(path),
            QuicFrame::PathResponse => {
                self.open_path(now, path);
                // the first RTT sample of the path is taken as it is (RFC 9002 section 5.3), the delay with it: a
                // scheduler that goes by the RTT would not take the path, and never learn better
                self.paths[path].space.received.demand(now);
            }
            stream => {
                let srtt = self.paths[0].rtt.smoothed();
                if let Err(error) = self.streams.on_frame(now, stream, srtt) {
                    self.violate(error);
                }
            }
        }
    }

    /// What follows from a step of the handshake: limits of the peer, fate of 0-RTT, confirmation, packets
    /// that waited for keys.
    fn after_handshake_progress(&mut self, now: Time) {
        if let Some(peer) = self.handshake.take_peer_parameters() {
            self.streams.on_parameters(&peer);
            self.peer = peer;
            self.ack_frequency_pending =
                self.config.ack_frequency.filter(|_| self.peer.min_ack_delay.is_some()).map(|_| 0);
        }
        if self.early_data == EarlyState::Pending {
            self.early_data = self.handshake.early_data();
            if self.early_data == EarlyState::Rejected {
                self.forget_early_data();
            }
        }
        if self.handshake_complete_at.is_none() && self.handshake.is_complete() {
            self.handshake_complete_at = Some(now);
            self.new_connection_ids = self.config.fixed.new_connection_ids;
            match (self.config.version, self.role) {
                // no HANDSHAKE_DONE: the SHLO confirms
                (QuicVersion::Gquic37, _) => self.confirm(),
                (QuicVersion::V1, Role::Server) => {
                    self.handshake_done_pending = true;
                    self.confirm();
                }
                (QuicVersion::V1, Role::Client) => {}
            }
            let paths = self.paths.len().min(usize::from(self.peer.paths));
            if self.role == Role::Client {
                self.path_challenges.extend(1..paths);
            }
        }
        if !self.early_packets.is_empty() {
            let able = |packet: &mut QuicPacket| self.handshake.can_receive(packet.space);
            let ready: Vec<_> = self.early_packets.extract_if(.., able).collect();
            for packet in ready {
                self.receive_packet(now, packet, false);
            }
        }
    }

    /// Something arrived that shows that the handshake is in trouble: what is in flight of it is sent again
    /// (aioquic `reschedule_data`).
    fn restart_handshake(&mut self, now: Time) {
        if !self.config.fixed.restarts_handshake || self.restarted {
            return;
        }
        self.restarted = true;
        self.lose_crypto(now);
    }

    /// Crypto data in flight are taken for lost, with a congestion event; a probe is sent.
    pub(super) fn lose_crypto(&mut self, now: Time) {
        let outstanding = self.crypto.iter_mut().fold(false, |any, crypto| crypto.probe() || any);
        if outstanding {
            self.paths[0].on_congestion(now);
        }
        let id = [SpaceId::Initial, SpaceId::Handshake].into_iter().find(|id| self.space(*id).is_some());
        if let Some(space) = id.and_then(|id| self.space(id)) {
            space.probes = space.probes.max(1);
        }
    }

    /// 0-RTT was rejected: "the client [...] can treat 0-RTT data as lost", without a congestion event, and
    /// sends it again (RFC 9001 section 4.6.2).
    fn forget_early_data(&mut self) {
        self.streams.on_early_data_rejected();
        let path = &mut self.paths[0];
        path.in_flight -= path.space.sent.discard();
        path.pto.on_keys_discarded();
    }

    /// Tells the observer of a packet that leaves or has arrived.
    pub(super) fn observe_packet(&mut self, now: Time, packet: &QuicPacket, sent: bool) {
        let Some(observer) = &mut self.observer else { return };
        self.header_buffer.clear();
        self.payload_buffer.clear();
        packet.encode_header(&mut self.header_buffer);
        packet.encode_payload(&mut self.payload_buffer);
        let (space, number) = (packet.space, packet.number);
        let (header, payload) = (&self.header_buffer[..], &self.payload_buffer[..]);
        let event = if sent {
            TransportEvent::PacketSent { space, number, header, payload }
        } else {
            TransportEvent::PacketReceived { space, number, header, payload }
        };
        observer.observe(now, &event);
    }
}
