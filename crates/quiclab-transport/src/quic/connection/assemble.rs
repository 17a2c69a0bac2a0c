//! Frames of a packet, in the order in which they are added: ACK, CRYPTO, control frames, DATAGRAM, STREAM.

use super::send::{Assembled, MIN_INITIAL_BYTES};
use super::{Connection, Datagram, SpaceId};
use crate::operations::Operation;
use crate::options::QuicVersion;
use crate::quic::config::{AckOfAckPolicy, Fixed};
use crate::quic::handshake::Level;
use crate::quic::path::{Path, now_ms};
use crate::quic::sent::{Content, SentFrame};
use crate::quic::space;
use crate::workload::StreamId;
use quiclab_core::quic::{QuicDatagram, QuicFrame, QuicPacket, Wire};
use quiclab_core::{PacketSpace, Role, Time};
use smallvec::SmallVec;

/// Length in bytes of a NEW_CONNECTION_ID frame with an ID of 8 bytes; HANDSHAKE_DONE and ACK_FREQUENCY are
/// not longer.
const ID_FRAME: usize = 28;
/// Smallest length whose encoding has four bytes (RFC 9000 section 16).
const LONG_FIELD: usize = 1 << 14;
/// Length in bytes of PATH_CHALLENGE and PATH_RESPONSE.
const VALIDATION_FRAME: usize = 9;
/// Minimum space in bytes for a frame with data.
const MIN_DATA_BYTES: usize = 8;

/// Frames that are being collected.
pub(super) struct Frames {
    frames: SmallVec<[QuicFrame; 2]>,
    content: Content,
    pub(super) left: usize,
    wire: Wire,
    /// Whether it has frames other than unreliable datagrams.
    reliable: bool,
}

impl Frames {
    pub(super) fn push(&mut self, frame: QuicFrame, sent: SentFrame) {
        self.left -= frame.length(self.wire).min(self.left);
        self.reliable |= !matches!(frame, QuicFrame::Datagram { .. } | QuicFrame::Ack(_));
        self.frames.push(frame);
        self.content.push(sent);
    }
}

/// Limits of a packet's content.
struct Allowance {
    /// Maximum bytes.
    room: usize,
    /// Whether window and pacer permit frames that need them.
    permit: bool,
    probes: u32,
    must_acknowledge: bool,
    /// Whether datagrams are sent regardless of the window.
    free_datagrams: bool,
}

impl Connection {
    /// Level of the CRYPTO frames of a space; gQUIC has all of them in its only space.
    pub(super) fn crypto_level(&self, id: SpaceId) -> Level {
        if self.config.quic.version == QuicVersion::Gquic37 { Level::Initial } else { id.level() }
    }

    /// Type of packet that a space sends now; `None`: there are no keys. In gQUIC the handshake has separate
    /// packets, which the peer can read before it has the keys for data.
    fn packet_space(&self, id: SpaceId) -> Option<PacketSpace> {
        let gquic = self.config.quic.version == QuicVersion::Gquic37;
        let candidates: &[PacketSpace] = match id {
            SpaceId::Initial => &[PacketSpace::Initial],
            SpaceId::Handshake => &[PacketSpace::Handshake],
            SpaceId::Path(_) if gquic && self.wants_crypto(id) => &[],
            SpaceId::Path(_) => &[PacketSpace::OneRtt, PacketSpace::ZeroRtt],
        };
        let space = candidates.iter().copied().find(|space| self.handshake.can_send(*space));
        space.or_else(|| gquic.then(|| self.handshake.space(Level::Initial)))
    }

    /// Whether frames that need the window are waiting.
    pub(super) fn wants_to_send(&self) -> bool {
        let application = self.can_send_application()
            && (self.streams.wants_to_send()
                || self.datagrams.wants_to_send()
                || self.control.is_waiting()
                || self.wants_management());
        application || self.space_ids().any(|id| self.wants_crypto(id))
    }

    pub(super) fn wants_crypto(&self, id: SpaceId) -> bool {
        let level = self.crypto_level(id);
        let takes_crypto = id.path() == self.first_path();
        takes_crypto && self.crypto[level as usize].wants_to_send(self.handshake.queued(level))
    }

    /// Adds a packet of at most `room` bytes with waiting frames of a space to `datagram`, of at most
    /// `permit` bytes if it needs window and pacer; `None`: no frame may be sent, and nothing is added.
    pub(super) fn packet(
        &mut self,
        now: Time,
        id: SpaceId,
        room: usize,
        permit: usize,
        datagram: &mut QuicDatagram,
    ) -> Option<Assembled> {
        let packet_space = self.packet_space(id)?;
        if !self.is_sendable(id.path()) {
            return None;
        }
        let (probes, number, number_length) = {
            let Self { paths, handshake_spaces, config, .. } = &*self;
            let space = match id {
                SpaceId::Initial => handshake_spaces[0].as_ref()?,
                SpaceId::Handshake => handshake_spaces[1].as_ref()?,
                SpaceId::Path(path) => &paths[path].space,
            };
            (space.probes, space.next_number(), space.number_length(config))
        };
        let format = space::format(&self.config, self.role, self.peer.connection_id_length, number_length);
        let overhead = format.header_length(packet_space, room) + format.wire.tag_length();
        let allowance = self.allowance(now, id, room, permit, probes, overhead)?;
        let mut frames = Frames {
            frames: SmallVec::new(),
            content: Content::new(),
            left: allowance.room.checked_sub(overhead).filter(|left| *left >= MIN_DATA_BYTES)?,
            wire: format.wire,
            reliable: false,
        };
        let acknowledged = self.put_acks(now, id, packet_space, &mut frames);
        let before = frames.frames.len();
        self.put_frames(now, id, packet_space, &allowance, &mut frames);
        if frames.frames.len() == before {
            let asks = |this: &Self, frames: &Frames| {
                !acknowledged.is_empty() && this.wants_ack_ping(now, id, number, frames)
            };
            self.put_probe(now, id, packet_space, allowance.probes, asks, &mut frames);
        }
        let eliciting = frames.frames.len() > before;
        if frames.frames.is_empty() || !eliciting && !allowance.must_acknowledge {
            return None;
        }
        for space in acknowledged {
            self.space(space)?.received.on_ack_sent(now);
        }
        let space = self.space(id)?;
        space.take_number();
        space.lone_acks = if eliciting { 0 } else { space.lone_acks + 1 };
        let Frames { frames, content, reliable, .. } = frames;
        let path = id.path() as u8;
        datagram.packets.push(QuicPacket { space: packet_space, path, number, format, frames });
        let controlled = self.config.quic.datagram_congestion_control && self.datagrams.kind().controlled;
        let in_flight = eliciting && (reliable || controlled);
        let length = datagram.packets.last().map_or(0, QuicPacket::length);
        Some(Assembled { id, content, length, counted: if in_flight { length } else { 0 } })
    }

    /// Limits of a packet of at most `room` bytes, with `overhead` besides its frames; `None`: nothing may be
    /// sent.
    fn allowance(
        &mut self,
        now: Time,
        id: SpaceId,
        room: usize,
        permit: usize,
        probes: u32,
        overhead: usize,
    ) -> Option<Allowance> {
        let must_acknowledge = self.must_acknowledge(now, id);
        let first = self.datagrams.front().map(|first| first.length);
        let free_datagrams = match (id, first) {
            (SpaceId::Path(path), Some(length)) => self.datagram_is_free(now, path, length),
            _ => false,
        };
        // a server that cannot pad its Initial packet waits for more bytes from the client
        let pads = self.role == Role::Server && self.config.fixed.pads_server;
        let waits = pads && id == SpaceId::Initial && room < MIN_INITIAL_BYTES;
        let (permit, probes) = if waits { (0, 0) } else { (permit, probes) };
        // a probe is sent regardless of window and pacer
        let bytes = if probes > 0 { room } else { permit };
        let permit = bytes > overhead + MIN_DATA_BYTES;
        let room = if permit { room.min(bytes) } else { room };
        let wants = permit && (probes > 0 || self.wants_to_send() || self.path_validation.is_waiting());
        let leaves = wants || must_acknowledge || free_datagrams;
        leaves.then_some(Allowance { room, permit, probes, must_acknowledge, free_datagrams })
    }

    /// Adds all frames other than acknowledgements.
    fn put_frames(
        &mut self,
        now: Time,
        id: SpaceId,
        packet_space: PacketSpace,
        allowance: &Allowance,
        frames: &mut Frames,
    ) {
        let Allowance { room, permit, free_datagrams, .. } = *allowance;
        if permit {
            self.put_crypto(id, frames);
        }
        let SpaceId::Path(path) = id else { return };
        if !has_data(packet_space) {
            return;
        }
        let validates = permit && self.put_validation(path, frames);
        let usable = self.carries_data(path);
        if permit && usable {
            self.put_control(now, packet_space, frames);
        }
        if (permit || free_datagrams) && usable {
            self.put_datagrams(now, path, permit, frames);
        }
        if permit && usable {
            self.put_data(now, frames);
        }
        if validates && frames.left > MIN_DATA_BYTES {
            // "MUST expand datagrams that contain a PATH_CHALLENGE frame to at least [...] 1200 bytes" (RFC
            // 9000 section 8.2.1; 8.2.2 for PATH_RESPONSE)
            let length = (frames.left + MIN_INITIAL_BYTES).saturating_sub(room) as u16;
            if length > 0 {
                frames.frames.push(QuicFrame::Padding { length });
            }
        }
    }

    /// Adds data in flight or a PING to a probe that has only acknowledgements, and a PING to an
    /// acknowledgement if `asks` is set.
    fn put_probe(
        &mut self,
        now: Time,
        id: SpaceId,
        packet_space: PacketSpace,
        probes: u32,
        asks: impl Fn(&Self, &Frames) -> bool,
        frames: &mut Frames,
    ) {
        let before = frames.frames.len();
        if probes > 0 && has_data(packet_space) && self.probe_data(id, frames.left) {
            self.put_data(now, frames);
        }
        // an acknowledgement that fills the packet leaves no room for it
        let fits = frames.frames.len() == before && frames.left > 0;
        if fits && (probes > 0 || asks(self, frames)) {
            frames.frames.push(QuicFrame::Ping);
            frames.reliable = true;
        }
    }

    /// Queues data in flight again for a probe without new data, in each of the packets of a probe timeout
    /// (RFC 9002 section 6.2.4). Returns whether there are any.
    #[cold]
    fn probe_data(&mut self, id: SpaceId, left: usize) -> bool {
        let Fixed { probes_carry_data, probes_repeat_data, stream_length_always, .. } = self.config.fixed;
        let room = left.saturating_sub(if stream_length_always { length_field(left) } else { 0 });
        let path = matches!(id, SpaceId::Path(path) if self.carries_data(path));
        path && probes_carry_data
            && self.can_send_application()
            && self.streams.probe(probes_repeat_data, room)
    }

    /// Adds the acknowledgements that are due or may be bundled: those of the packet's own space, and those
    /// of paths that send theirs on this one. Returns the spaces that are acknowledged.
    fn put_acks(
        &mut self,
        now: Time,
        carrier: SpaceId,
        packet_space: PacketSpace,
        frames: &mut Frames,
    ) -> SmallVec<[SpaceId; 2]> {
        let spaces = self.acknowledged_spaces(carrier);
        spaces.filter(|id| self.put_ack(now, (*id, carrier), packet_space, frames)).collect()
    }

    /// Adds an ACK frame for a space if one is due or may be bundled; returns whether there is one.
    fn put_ack(
        &mut self,
        now: Time,
        (id, carrier): (SpaceId, SpaceId),
        packet_space: PacketSpace,
        frames: &mut Frames,
    ) -> bool {
        let must = self.is_acknowledgement_due(now, id);
        let ride = !self.config.fixed.acks_only_when_due;
        // RFC 9000 section 12.4; in gQUIC all packets have them
        let forbidden = packet_space == PacketSpace::ZeroRtt && self.config.quic.version == QuicVersion::V1;
        // one that is due precedes other frames, alone if necessary; one that is only bundled must not
        // displace a datagram
        let reserved = if must { 0 } else { self.reserved_for_datagram(carrier) };
        let managed = self.management.is_some();
        let Some(space) = self.space(id) else { return false };
        if forbidden || !(must || ride && space.received.is_pending()) {
            return false;
        }
        let Some(room) = frames.left.checked_sub(reserved) else { return false };
        let Some(mut ack) = space.received.ack_frame(now, room) else { return false };
        // "endpoints SHOULD use PATH_ACK frames instead of ACK frames" (draft-ietf-quic-multipath-21 section 2.3)
        ack.path = match id {
            SpaceId::Path(path) if managed || path > 0 => Some(path as u8),
            _ => None,
        };
        if frames.wire == Wire::Gquic37 || ack.path.is_some() {
            // blocks of gQUIC and ranges of version 1 differ in length, PATH_ACK is longer than ACK
            ack.ranges.truncate(ack.fit(frames.wire, room));
            if ack.ranges.is_empty() {
                return false;
            }
        }
        let (path, largest) = (id.path() as u8, *ack.ranges[0].end());
        frames.push(QuicFrame::Ack(Box::new(ack)), SentFrame::Ack { path, largest });
        true
    }

    /// Whether a packet with only an acknowledgement requests one itself.
    fn wants_ack_ping(&self, now: Time, id: SpaceId, number: u64, frames: &Frames) -> bool {
        let rule = self.config.fixed.ack_ping;
        let SpaceId::Path(path) = id else { return false };
        let Path { space, rtt, .. } = &self.paths[path];
        match (rule, frames.frames.first()) {
            (AckOfAckPolicy::After(packets), _) => space.lone_acks + 1 >= packets,
            (AckOfAckPolicy::OneInFlight(packets), _) => {
                let distance = number - space.sent.largest_acked().unwrap_or(0);
                let pause = rtt.smoothed_or_initial();
                space.sent.last_ack_eliciting().is_none()
                    && distance > u64::from(packets)
                    && now > space.acked + pause
            }
            (AckOfAckPolicy::EighthWithGaps, Some(QuicFrame::Ack(ack))) => {
                ack.ranges.len() > 1 && number.is_multiple_of(8)
            }
            _ => false,
        }
    }

    fn put_crypto(&mut self, id: SpaceId, frames: &mut Frames) {
        if id.path() != self.first_path() {
            return;
        }
        let level = self.crypto_level(id);
        let queued = self.handshake.queued(level);
        let crypto = &mut self.crypto[level as usize];
        while crypto.wants_to_send(queued) && frames.left >= MIN_DATA_BYTES {
            // with a length of at most two bytes: one more than that of no data in version 1
            let empty = QuicFrame::Crypto { offset: queued, length: 0, parameters: None };
            let room = frames.left.saturating_sub(empty.length(frames.wire) + 1).min(LONG_FIELD - 1);
            let Some(range) = crypto.next(queued, room as u64) else { break };
            let (offset, length) = (range.start, (range.end - range.start) as u16);
            let parameters = self.handshake.parameters(level).map(|parameters| Box::new(parameters.clone()));
            let sent = SentFrame::Crypto { offset, length };
            frames.push(QuicFrame::Crypto { offset, length, parameters }, sent);
        }
    }

    /// Adds frames that validate a path, and show the peer that it works; returns whether there are any.
    fn put_validation(&mut self, path: usize, frames: &mut Frames) -> bool {
        let before = frames.frames.len();
        if frames.left >= VALIDATION_FRAME
            && let Some((frame, sent)) = self.path_validation.take_challenge(path)
        {
            frames.push(frame, sent);
        }
        if frames.left >= VALIDATION_FRAME
            && let Some((frame, sent)) = self.path_validation.take_response(path)
        {
            frames.push(frame, sent);
            // the sender of a response knows that the path works; with management it waits for a response
            // itself
            self.paths[path].usable |= self.management.is_none();
        }
        frames.frames.len() > before
    }

    fn put_control(&mut self, now: Time, packet_space: PacketSpace, frames: &mut Frames) {
        if packet_space == PacketSpace::OneRtt && frames.left >= ID_FRAME {
            if self.control.take_handshake_done() {
                frames.push(QuicFrame::HandshakeDone, SentFrame::HandshakeDone);
            }
            if let (Some(sequence), Some(asked)) =
                (self.control.take_ack_frequency(), self.config.ack_frequency)
            {
                let frame = QuicFrame::AckFrequency {
                    sequence_number: sequence,
                    ack_eliciting_threshold: asked.ack_eliciting_threshold,
                    request_max_ack_delay: asked.max_ack_delay.unwrap_or(self.peer.max_ack_delay),
                    reordering_threshold: asked.reordering_threshold,
                };
                frames.push(frame, SentFrame::AckFrequency { sequence });
            }
        }
        if packet_space == PacketSpace::OneRtt {
            self.put_management(frames);
        }
        while packet_space == PacketSpace::OneRtt
            && frames.left >= ID_FRAME
            && let Some(sequence_number) = self.control.take_new_connection_id()
        {
            frames.push(QuicFrame::NewConnectionId { sequence_number }, SentFrame::NewConnectionId);
        }
        while let Some((frame, sent)) = self.streams.next_control(now, frames.left) {
            frames.push(frame, sent);
        }
    }

    /// Adds datagrams: the first one may be sent because of `permit` or because it is free of the window;
    /// each further one must be free.
    fn put_datagrams(&mut self, now: Time, path: usize, permit: bool, frames: &mut Frames) {
        if !self.datagrams.may_take(path) {
            return;
        }
        let mut first = true;
        while let Some(&Datagram { length, number, sent, echo }) = self.datagrams.front() {
            let frame = QuicFrame::Datagram { length, number, sent, echo };
            let needed = frame.length(frames.wire);
            if !first && !permit && !self.datagram_is_free(now, path, length) {
                return;
            }
            first = false;
            if needed > frames.left {
                let full = self.config.datagram_size.bytes() as usize;
                // it will never fit: "MUST NOT send DATAGRAM frames" that are too long (RFC 9221 section 3)
                if needed + MAX_OVERHEAD > full {
                    self.datagrams.drop_front();
                    continue;
                }
                return;
            }
            self.datagrams.pop();
            frames.push(frame, SentFrame::Datagram { number });
        }
    }

    /// Whether a DATAGRAM frame is sent regardless of the window.
    fn datagram_is_free(&mut self, now: Time, number: usize, length: u16) -> bool {
        let native = !self.config.quic.datagram_congestion_control || !self.datagrams.kind().controlled;
        if !self.operations.has(Operation::DatagramMayLeave) {
            return native;
        }
        let path = &self.paths[number];
        let inputs = || {
            [
                ("now_ms", now_ms(now)),
                ("path", number as f64),
                ("size_bytes", f64::from(length)),
                ("cwnd_bytes", path.native_window() as f64),
                ("in_flight_bytes", path.in_flight as f64),
            ]
        };
        self.operations.run(Operation::DatagramMayLeave, inputs, || f64::from(u8::from(native))) == 1.0
    }

    /// Stream that a plugin selects to send next; `None`: none has data to send.
    #[cold]
    fn asked_stream(&mut self, now: Time) -> Option<StreamId> {
        let ready = self.streams.ready()?;
        let inputs = || {
            [
                ("now_ms", now_ms(now)),
                ("ready", ready.count as f64),
                ("lowest", ready.lowest as f64),
                ("highest", ready.highest as f64),
                ("previous", ready.previous.map_or(-1.0, |id| id as f64)),
            ]
        };
        let wanted = self.operations.run(Operation::Stream, inputs, || ready.first.0 as f64);
        let id = StreamId(wanted as u64);
        if self.streams.is_ready(id) {
            return Some(id);
        }
        let expected = "a stream with something to send";
        self.operations.refuse(Operation::Stream, wanted, expected);
        Some(ready.first)
    }

    fn put_data(&mut self, now: Time, frames: &mut Frames) {
        let mut any = false;
        let Fixed { stream_length_always, one_stream_frame, .. } = self.config.fixed;
        while frames.left >= MIN_DATA_BYTES {
            let room = frames.left - if stream_length_always { length_field(frames.left) } else { 0 };
            let next = if self.operations.has(Operation::Stream) {
                self.asked_stream(now).and_then(|id| self.streams.next_data_of(id, room))
            } else {
                self.streams.next_data(room)
            };
            let Some((mut frame, sent)) = next else { break };
            if let (QuicFrame::Stream { last, .. }, true) = (&mut frame, stream_length_always) {
                *last = false;
            }
            frames.push(frame, sent);
            any = true;
            if one_stream_frame {
                break;
            }
        }
        self.data_packets_sent += u64::from(any);
    }
}

/// Whether packets of a kind carry data of the application.
const fn has_data(space: PacketSpace) -> bool {
    matches!(space, PacketSpace::ZeroRtt | PacketSpace::OneRtt)
}

/// Size of the Length field of a frame that fills `left` bytes.
const fn length_field(left: usize) -> usize {
    if left < LONG_FIELD { 2 } else { 4 }
}

/// Maximum overhead in bytes: header with the longest connection ID and number, and the tag of a 1-RTT
/// packet.
pub(in crate::quic) const MAX_OVERHEAD: usize = 1 + 20 + 4 + 16;
