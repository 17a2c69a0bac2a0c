//! The frames of a packet, in the order in which they are put there: ACK, CRYPTO, control frames, DATAGRAM,
//! STREAM.

use super::send::{Assembled, SMALLEST_INITIAL};
use super::{Connection, QueuedDatagram, SpaceId};
use crate::operations::Operation;
use crate::quic::config::{AckPing, Fixed};
use crate::quic::handshake::Level;
use crate::quic::sent::{Content, SentFrame};
use crate::quic::space;
use quiclab_core::quic::{QuicFrame, QuicPacket, Wire, varint_length};
use quiclab_core::scenario::QuicVersion;
use quiclab_core::{PacketSpace, Time};
use smallvec::SmallVec;

/// Bytes of a NEW_CONNECTION_ID frame with an ID of 8 bytes.
const ID_FRAME: usize = 28;
/// Fewer bytes than this hold no frame with data.
const SMALLEST_DATA: usize = 8;

/// Frames that are being collected.
struct Frames {
    frames: SmallVec<[QuicFrame; 2]>,
    content: Content,
    left: usize,
    wire: Wire,
    /// Something other than unreliable datagrams is in it.
    reliable: bool,
}

impl Frames {
    fn push(&mut self, frame: QuicFrame, sent: SentFrame) {
        self.left -= frame.length(self.wire).min(self.left);
        self.reliable |= !matches!(frame, QuicFrame::Datagram { .. } | QuicFrame::Ack(_));
        self.frames.push(frame);
        self.content.push(sent);
    }
}

impl Connection {
    /// The level of the CRYPTO frames of a space; gQUIC has all of them in its only one.
    pub(super) fn crypto_level(&self, id: SpaceId) -> Level {
        if self.config.version == QuicVersion::Gquic37 { Level::Initial } else { id.level() }
    }

    /// What kind of packet a space sends now; `None`: there are no keys.
    fn packet_space(&self, id: SpaceId) -> Option<PacketSpace> {
        let candidates: &[PacketSpace] = match id {
            SpaceId::Initial => &[PacketSpace::Initial],
            SpaceId::Handshake => &[PacketSpace::Handshake],
            SpaceId::Path(_) if self.config.version == QuicVersion::Gquic37 => {
                &[PacketSpace::OneRtt, PacketSpace::ZeroRtt, PacketSpace::Initial]
            }
            SpaceId::Path(_) => &[PacketSpace::OneRtt, PacketSpace::ZeroRtt],
        };
        candidates.iter().copied().find(|space| self.handshake.can_send(*space))
    }

    /// Whether anything that needs the window waits.
    pub(super) fn wants_to_send(&self) -> bool {
        let application = self.can_send_application()
            && (self.streams.wants_to_send()
                || !self.datagrams.is_empty()
                || self.handshake_done_pending
                || self.new_connection_ids > 0
                || self.ack_frequency_pending.is_some());
        application || self.space_ids().any(|id| self.wants_crypto(id))
    }

    fn wants_crypto(&self, id: SpaceId) -> bool {
        let level = self.crypto_level(id);
        let first_path = id.path() == 0;
        first_path && self.crypto[level as usize].wants_to_send(self.handshake.queued(level))
    }

    /// A packet of at most `room` bytes with what waits in a space, of at most `permit` if it needs window and
    /// pacer; `None`: nothing that may leave.
    pub(super) fn packet(&mut self, now: Time, id: SpaceId, room: usize, permit: usize) -> Option<Assembled> {
        let packet_space = self.packet_space(id)?;
        let peer_id = self.peer.connection_id_length;
        let (must_acknowledge, probes, number, number_length) = {
            let Self { paths, handshake_spaces, config, .. } = &*self;
            let space = match id {
                SpaceId::Initial => handshake_spaces[0].as_ref()?,
                SpaceId::Handshake => handshake_spaces[1].as_ref()?,
                SpaceId::Path(path) => &paths[path].space,
            };
            (space.must_acknowledge(now), space.probes, space.next_number(), space.number_length(config))
        };
        let format = space::format(&self.config, self.role, peer_id, number_length);
        let overhead = format.header_length(packet_space, room) + format.wire.tag_length();
        let free_datagrams = self.datagrams_leave_freely();
        // a probe leaves whatever window and pacer say, and so does what validates a path
        let validating = matches!(id, SpaceId::Path(path) if self.is_validating(path));
        let permit = if probes > 0 || validating { room } else { permit };
        let room = if permit > overhead + SMALLEST_DATA { room.min(permit) } else { room };
        let permit = permit > overhead + SMALLEST_DATA;
        if !permit && !must_acknowledge && !free_datagrams {
            return None;
        }
        let mut frames = Frames {
            frames: SmallVec::new(),
            content: Content::new(),
            left: room.checked_sub(overhead).filter(|left| *left >= SMALLEST_DATA)?,
            wire: format.wire,
            reliable: false,
        };
        let acknowledged = self.put_ack(now, id, packet_space, must_acknowledge, &mut frames);
        let before = frames.frames.len();
        if permit {
            self.put_crypto(id, &mut frames);
        }
        if let (SpaceId::Path(path), true) = (id, packet_space != PacketSpace::Initial) {
            if permit && packet_space == PacketSpace::OneRtt {
                self.put_validation(now, path, &mut frames);
            }
            // a path that is only probed takes nothing that another could deliver
            let carries = !validating && self.carries_data(path);
            if permit && carries {
                self.put_control(now, packet_space, &mut frames);
            }
            if (permit || free_datagrams) && carries {
                self.put_datagrams(&mut frames);
            }
            if permit && carries {
                self.put_data(&mut frames);
            }
        }
        let alone = frames.frames.len() == before;
        if alone && (probes > 0 || acknowledged && self.wants_ack_ping(id, number, &frames)) {
            frames.frames.push(QuicFrame::Ping);
            frames.reliable = true;
        }
        let eliciting = frames.frames.len() > before;
        if !eliciting && !must_acknowledge {
            return None;
        }
        if frames.frames.is_empty() {
            return None;
        }
        if acknowledged {
            self.space(id)?.received.on_ack_sent(now);
        }
        let space = self.space(id)?;
        space.take_number();
        space.lone_acks = if eliciting { 0 } else { space.lone_acks + 1 };
        let Frames { frames, content, reliable, .. } = frames;
        let path = id.path() as u8;
        let mut packet = QuicPacket { space: packet_space, path, number, format, frames };
        if validating && packet.length() < SMALLEST_INITIAL {
            let length = (SMALLEST_INITIAL - packet.length()) as u16;
            packet.frames.push(QuicFrame::Padding { length });
        }
        let in_flight = eliciting && (reliable || self.config.datagram_congestion_control);
        Some(Assembled { id, packet, content, in_flight })
    }

    /// An ACK frame, if one is due or may ride along; whether there is one.
    fn put_ack(
        &mut self,
        now: Time,
        id: SpaceId,
        packet_space: PacketSpace,
        must: bool,
        frames: &mut Frames,
    ) -> bool {
        let ride = !self.config.fixed.acks_only_when_due;
        let Some(space) = self.space(id) else { return false };
        if packet_space == PacketSpace::ZeroRtt || !(must || ride && space.received.is_pending()) {
            return false;
        }
        let Some(mut ack) = space.received.ack_frame(now, frames.left) else { return false };
        ack.path = id.path() as u8;
        let (path, largest) = (ack.path, *ack.ranges[0].end());
        frames.push(QuicFrame::Ack(Box::new(ack)), SentFrame::Ack { path, largest });
        true
    }

    /// Whether a packet with nothing but an acknowledgement asks for one itself.
    fn wants_ack_ping(&mut self, id: SpaceId, number: u64, frames: &Frames) -> bool {
        let rule = self.config.fixed.ack_ping;
        let Some(space) = self.space(id) else { return false };
        match (rule, frames.frames.first()) {
            _ if !matches!(id, SpaceId::Path(_)) => false,
            (AckPing::After(packets), _) => space.lone_acks + 1 >= packets,
            (AckPing::EighthWithGaps, Some(QuicFrame::Ack(ack))) => {
                ack.ranges.len() > 1 && number.is_multiple_of(8)
            }
            _ => false,
        }
    }

    fn put_crypto(&mut self, id: SpaceId, frames: &mut Frames) {
        if id.path() != 0 {
            return;
        }
        let level = self.crypto_level(id);
        let queued = self.handshake.queued(level);
        let crypto = &mut self.crypto[level as usize];
        while crypto.wants_to_send(queued) && frames.left >= SMALLEST_DATA {
            // type, offset, length of at most two bytes
            let room = frames.left.saturating_sub(1 + varint_length(queued) + 2);
            let Some(range) = crypto.next(queued, room as u64) else { break };
            let (offset, length) = (range.start, (range.end - range.start) as u16);
            let parameters = self.handshake.parameters(level).map(|parameters| Box::new(parameters.clone()));
            let sent = SentFrame::Crypto { offset, length };
            frames.push(QuicFrame::Crypto { offset, length, parameters }, sent);
        }
    }

    /// PATH_CHALLENGE and PATH_RESPONSE, which take the path that they are about (RFC 9000 section 8.2).
    fn put_validation(&mut self, now: Time, path: usize, frames: &mut Frames) {
        let mut answers = false;
        for (list, frame, sent) in [
            (&mut self.path_challenges, QuicFrame::PathChallenge, SentFrame::PathChallenge),
            (&mut self.path_responses, QuicFrame::PathResponse, SentFrame::PathResponse),
        ] {
            if let Some(index) = list.iter().position(|wanted| *wanted == path) {
                list.remove(index);
                frames.push(frame, sent);
                answers |= sent == SentFrame::PathResponse;
            }
        }
        if answers {
            // the sender of a response has seen that the path carries packets
            self.open_path(now, path);
        }
    }

    fn put_control(&mut self, now: Time, packet_space: PacketSpace, frames: &mut Frames) {
        if packet_space == PacketSpace::OneRtt {
            if std::mem::take(&mut self.handshake_done_pending) {
                frames.push(QuicFrame::HandshakeDone, SentFrame::HandshakeDone);
            }
            if let (Some(sequence), Some(asked)) =
                (self.ack_frequency_pending.take(), self.config.ack_frequency)
            {
                let frame = QuicFrame::AckFrequency {
                    sequence_number: sequence,
                    ack_eliciting_threshold: u64::from(asked.ack_eliciting_threshold),
                    request_max_ack_delay: asked.max_ack_delay.unwrap_or(self.peer.max_ack_delay),
                    reordering_threshold: u64::from(asked.reordering_threshold),
                };
                frames.push(frame, SentFrame::AckFrequency { sequence });
            }
        }
        while self.new_connection_ids > 0 && packet_space == PacketSpace::OneRtt && frames.left >= ID_FRAME {
            self.new_connection_ids -= 1;
            let sequence_number = u64::from(self.new_connection_ids) + 1;
            frames.push(QuicFrame::NewConnectionId { sequence_number }, SentFrame::NewConnectionId);
        }
        while let Some((frame, sent)) = self.streams.next_control(now, frames.left) {
            frames.push(frame, sent);
        }
    }

    fn put_datagrams(&mut self, frames: &mut Frames) {
        while let Some(&QueuedDatagram { length, number, sent, echo }) = self.datagrams.front() {
            let frame = QuicFrame::Datagram { length, number, sent, echo };
            let needed = frame.length(frames.wire);
            if needed > frames.left {
                let full = self.config.datagram_size.bytes() as usize;
                // it will never fit: "MUST NOT send DATAGRAM frames" that are too long (RFC 9221 section 3)
                if needed + LARGEST_OVERHEAD > full {
                    self.datagrams.pop_front();
                    self.dropped_datagrams += 1;
                    continue;
                }
                return;
            }
            self.datagrams.pop_front();
            frames.push(frame, SentFrame::Datagram { number });
        }
    }

    /// Some wait, and leave whatever the window says.
    pub(super) fn datagrams_leave_freely(&mut self) -> bool {
        !self.datagrams.is_empty() && self.datagrams_are_free()
    }

    /// Whether DATAGRAM frames leave whatever the window says.
    fn datagrams_are_free(&mut self) -> bool {
        let native = !self.config.datagram_congestion_control;
        if !self.operations.has(Operation::DatagramMayLeave) {
            return native;
        }
        let waiting = self.datagrams.len() as f64;
        let inputs = || [("waiting_datagrams", waiting)];
        self.operations.run(Operation::DatagramMayLeave, inputs, || f64::from(u8::from(native))) > 0.5
    }

    fn put_data(&mut self, frames: &mut Frames) {
        let mut any = false;
        let Fixed { stream_length_always, one_stream_frame, .. } = self.config.fixed;
        while frames.left >= SMALLEST_DATA {
            // the Length field of a frame that fills a packet has two bytes
            let room = frames.left - if stream_length_always { 2 } else { 0 };
            let Some((mut frame, sent)) = self.streams.next_data(room) else { break };
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

/// Header with the longest connection ID and number, and the tag of a 1-RTT packet.
const LARGEST_OVERHEAD: usize = 1 + 20 + 4 + 16;
