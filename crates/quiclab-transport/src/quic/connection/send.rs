//! What the next datagram is, and whether it may leave: window, pacer, anti-amplification, path.
//!
//! | | RFC | here |
//! | --- | --- | --- |
//! | window | probes and acknowledgements leave without it (RFC 9002 sections 7, 7.5) | the same |
//! | pacer | "ACK frames SHOULD NOT be delayed by the pacer" (section 7.7) | the same; probes are not, either |
//! | anti-amplification | three times the bytes received (RFC 9000 section 8.1) | exact: the last datagram is shorter |
//! | padding | datagrams with an ack-eliciting Initial packet, and all with Initial of clients: 1200 bytes (section 14.1) | the same, in the Initial packet |

use super::{Connection, SpaceId, State};
use crate::operations::Operation;
use crate::quic::config::Fixed;
use crate::quic::path::Path;
use crate::quic::sent::Content;
use crate::quic::space;
use crate::recovery::threshold::SentPacket;
use quiclab_core::quic::{QuicDatagram, QuicFrame, QuicPacket};
use quiclab_core::scheduler::PathState;
use quiclab_core::{PacketSpace, Role, Time};
use smallvec::{SmallVec, smallvec};

/// Smallest datagram that carries Initial packets (RFC 9000 section 14.1), or validates a path (section 8.2).
pub(super) const SMALLEST_INITIAL: usize = 1200;
/// Paths that are looked at without allocation: as many as a scenario may have.
const PATHS: usize = 8;
/// Fewer bytes than this hold no packet that is worth it.
const SMALLEST_ROOM: usize = 64;

/// A packet that is assembled but not counted as sent.
pub(super) struct Assembled {
    pub(super) id: SpaceId,
    pub(super) packet: QuicPacket,
    pub(super) content: Content,
    /// It counts as in flight.
    pub(super) in_flight: bool,
}

impl Connection {
    /// The next datagram that may leave now, and the path it takes.
    pub(in crate::quic) fn next_datagram(&mut self, now: Time) -> Option<(usize, QuicDatagram)> {
        match &mut self.state {
            State::Idle | State::Over => None,
            State::Closing { pending, .. } => {
                let pending = std::mem::take(pending);
                if !pending {
                    return None;
                }
                let path = self.paths.iter().position(Path::is_alive).unwrap_or(0);
                self.close_datagram(now, path)
            }
            State::Open => {
                let room = self.amplification_room();
                if room < SMALLEST_ROOM {
                    self.pacing_due = None;
                    return None;
                }
                let datagram = match self.paths.len() {
                    1 => {
                        let permit = self.may_send(now, 0);
                        self.assemble(now, 0, permit, room).map(|datagram| (0, datagram))
                    }
                    _ => self.datagram_on_paths(now, room),
                };
                if datagram.is_none() {
                    self.end_pass(now);
                }
                datagram
            }
        }
    }

    /// Bytes that a datagram may have.
    fn amplification_room(&self) -> usize {
        let full = self.config.datagram_size.bytes();
        let factor = u64::from(self.config.amplification_factor);
        if self.validated || factor == 0 {
            return full as usize;
        }
        full.min((factor * self.received_bytes).saturating_sub(self.sent_bytes)) as usize
    }

    /// Whether the server's limit stops everything: no timer helps then (RFC 9002 section 6.2.2.1).
    pub(super) fn is_amplification_limited(&self) -> bool {
        self.amplification_room() < SMALLEST_ROOM
    }

    /// The next datagram of several paths: what must leave on a path does so first, then the scheduler
    /// decides. Where that path has nothing to send, another may: the handshake has the first alone.
    fn datagram_on_paths(&mut self, now: Time, room: usize) -> Option<(usize, QuicDatagram)> {
        let chosen = self.choose_path(now);
        for path in 0..self.paths.len() {
            if self.must_send(now, path) {
                // what rides along goes where the scheduler wants it
                let permit = if chosen == Some(path) { self.may_send(now, path) } else { 0 };
                if let Some(datagram) = self.assemble(now, path, permit, room) {
                    self.took_turn(now, path, &datagram, chosen);
                    return Some((path, datagram));
                }
            }
        }
        if let Some(path) = chosen {
            let permit = self.may_send(now, path);
            if let Some(datagram) = self.assemble(now, path, permit, room) {
                self.took_turn(now, path, &datagram, chosen);
                return Some((path, datagram));
            }
        }
        for path in (0..self.paths.len()).filter(|path| chosen != Some(*path)) {
            let permit = if self.carries_data(path) { self.may_send(now, path) } else { 0 };
            if let Some(datagram) = self.assemble(now, path, permit, room) {
                return Some((path, datagram));
            }
        }
        None
    }

    /// Tells the scheduler of a datagram on the path that it chose; acknowledgements alone are no turn.
    fn took_turn(&mut self, now: Time, path: usize, datagram: &QuicDatagram, chosen: Option<usize>) {
        if chosen == Some(path) && datagram.packets.iter().any(QuicPacket::is_ack_eliciting) {
            self.scheduler.on_sent(now, path, datagram.length() as u64);
        }
    }

    /// Whether a path has something to send whatever the others do: acknowledgements, probes, its validation.
    fn must_send(&self, now: Time, path: usize) -> bool {
        let must = |id| self.space_ref(id).is_some_and(|it| it.must_acknowledge(now) || it.probes > 0);
        self.is_validating(path) || self.space_ids().filter(|id| id.path() == path).any(must)
    }

    /// PATH_CHALLENGE or PATH_RESPONSE is to be sent on a path.
    pub(super) fn is_validating(&self, path: usize) -> bool {
        self.path_challenges.contains(&path) || self.path_responses.contains(&path)
    }

    /// Whether a path carries data: it is validated, and either acknowledges what is sent or no other does.
    /// After a probe timeout it is only probed until something is acknowledged ("potentially failed", De
    /// Coninck and Bonaventure, "Multipath QUIC: Design and Evaluation", CoNEXT 2017, section 3).
    pub(super) fn carries_data(&self, path: usize) -> bool {
        let path = &self.paths[path];
        path.usable && (path.pto.count() == 0 || !self.paths.iter().any(Path::is_alive))
    }

    /// The path that the next packet with data takes; `None`: window and pacer let nothing leave on any.
    fn choose_path(&mut self, now: Time) -> Option<usize> {
        let free = self.datagrams_leave_freely();
        let mut states: SmallVec<[PathState; PATHS]> = SmallVec::new();
        let mut open: SmallVec<[usize; PATHS]> = SmallVec::new();
        for index in 0..self.paths.len() {
            let usable = self.carries_data(index);
            let has_room = usable && (free || self.may_send(now, index) > 0);
            let path = &self.paths[index];
            if has_room {
                open.push(index);
            }
            states.push(PathState {
                usable,
                has_room,
                srtt: path.rtt.smoothed_or_initial(),
                window: path.controller.window(),
                in_flight: path.in_flight,
            });
        }
        let native = self.scheduler.select(now, &states)?;
        Some(self.asked_path(&open, native))
    }

    /// The path that a plugin chooses among those that are open, or `native`.
    fn asked_path(&mut self, open: &[usize], native: usize) -> usize {
        if !self.operations.has(Operation::Path) {
            return native;
        }
        let paths = self.paths.len() as f64;
        let inputs = || [("paths", paths), ("last_path", self.last_path as f64)];
        let wanted = self.operations.run(Operation::Path, inputs, || native as f64);
        open.iter().copied().find(|path| *path as f64 == wanted).unwrap_or(native)
    }

    /// Bytes that window and pacer of a path let the next datagram have.
    fn may_send(&mut self, now: Time, path: usize) -> usize {
        let Self { paths, operations, .. } = self;
        if paths[path].release(now) > now {
            return 0;
        }
        paths[path].window_room(operations) as usize
    }

    /// Nothing more leaves now: why, and until when.
    fn end_pass(&mut self, now: Time) {
        let wants = self.wants_to_send();
        self.pacing_due = None;
        for path in 0..self.paths.len() {
            let waits = wants && self.carries_data(path) && self.may_send(now, path) < SMALLEST_ROOM;
            let several = self.paths.len() > 1;
            let Self { paths, operations, .. } = self;
            // a full window is used to the full, too, where another path took what it could not (RFC 9002 section 7.8)
            paths[path].limited =
                waits || several && paths[path].window_room(operations) < SMALLEST_ROOM as u64;
            if waits && paths[path].window_room(operations) >= SMALLEST_ROOM as u64 {
                let release = paths[path].release(now);
                self.pacing_due = Some(self.pacing_due.map_or(release, |due| due.min(release)));
            }
            let path = &mut self.paths[path];
            if !wants {
                path.rate.set_app_limited(path.in_flight);
            }
        }
    }

    /// Assembles what fits into a datagram; `permit` says how many bytes it may have of what needs window and
    /// pacer.
    fn assemble(&mut self, now: Time, path: usize, permit: usize, room: usize) -> Option<QuicDatagram> {
        let mut packets: SmallVec<[Assembled; 1]> = SmallVec::new();
        let (mut left, mut permit) = (room, permit);
        for id in self.space_ids().filter(|id| id.path() == path) {
            if left < SMALLEST_ROOM {
                break;
            }
            // a server that cannot pad its Initial packet waits for more bytes of the client
            if id == SpaceId::Initial && room < SMALLEST_INITIAL && self.config.fixed.pads_server {
                continue;
            }
            if let Some(packet) = self.packet(now, id, left, permit) {
                let length = packet.packet.length();
                left -= length;
                permit = permit.saturating_sub(length);
                packets.push(packet);
            }
        }
        if packets.is_empty() {
            return None;
        }
        self.pad(&mut packets);
        let mut datagram = QuicDatagram { packets: SmallVec::new() };
        for packet in packets {
            self.commit(now, packet, &mut datagram);
        }
        self.last_path = path;
        Some(datagram)
    }

    /// Fills a datagram that must be long, in its Initial packet.
    fn pad(&self, packets: &mut [Assembled]) {
        let Some(first) = packets.first().filter(|first| first.packet.space == PacketSpace::Initial) else {
            return;
        };
        let Fixed { pads_server, pads_to_full, .. } = self.config.fixed;
        if self.role == Role::Server && !(pads_server && first.packet.is_ack_eliciting()) {
            return;
        }
        let full = self.config.datagram_size.bytes() as usize;
        let wanted = if pads_to_full && first.packet.is_ack_eliciting() { full } else { SMALLEST_INITIAL };
        let length: usize = packets.iter().map(|packet| packet.packet.length()).sum();
        if length < wanted {
            let padding = QuicFrame::Padding { length: (wanted - length) as u16 };
            packets[0].packet.frames.push(padding);
            packets[0].in_flight = true;
        }
    }

    /// An assembled packet leaves.
    fn commit(&mut self, now: Time, assembled: Assembled, datagram: &mut QuicDatagram) {
        let Assembled { id, packet, content, in_flight } = assembled;
        let ack_eliciting = packet.is_ack_eliciting();
        let length = packet.length() as u64;
        if self.observer.is_some() {
            self.observe_packet(now, &packet, true);
        }
        self.sent_bytes += length;
        let path = &mut self.paths[id.path()];
        let state = path.rate.on_sent(now, path.in_flight == 0);
        let bytes = if in_flight { length } else { 0 };
        let position = path.sent_packets;
        if in_flight {
            path.on_sent(now, bytes);
        }
        let number = packet.number;
        let sent = SentPacket { time: now, bytes, ack_eliciting, position, state };
        let space = self.space(id).expect("the packet is of a space");
        space.sent.on_sent(number, sent, content);
        if ack_eliciting {
            space.probes = space.probes.saturating_sub(1);
            if !self.sent_since_received {
                (self.sent_since_received, self.active) = (true, now);
            }
        }
        if packet.space == PacketSpace::Handshake && self.role == Role::Client {
            // "a client MUST discard Initial keys when it first sends a Handshake packet" (RFC 9001 section 4.9.1)
            self.discard(SpaceId::Initial);
        }
        datagram.packets.push(packet);
    }

    /// CONNECTION_CLOSE in the highest space that can be sent, on `path` if it is that of application data.
    fn close_datagram(&mut self, now: Time, path: usize) -> Option<(usize, QuicDatagram)> {
        let spaces = [PacketSpace::OneRtt, PacketSpace::Handshake, PacketSpace::Initial];
        let packet_space = spaces.into_iter().find(|space| self.handshake.can_send(*space))?;
        let id = match packet_space {
            PacketSpace::Initial if self.handshake_spaces[0].is_some() => SpaceId::Initial,
            PacketSpace::Handshake if self.handshake_spaces[1].is_some() => SpaceId::Handshake,
            _ => SpaceId::Path(path),
        };
        let peer_id = self.peer.connection_id_length;
        let application = self.failure.is_none() && packet_space == PacketSpace::OneRtt;
        let error_code = u64::from(self.failure.is_some()) * PROTOCOL_VIOLATION;
        let format = {
            let Self { config, role, handshake_spaces, paths, .. } = &*self;
            let space = match id {
                SpaceId::Initial => handshake_spaces[0].as_ref().expect("it was checked"),
                SpaceId::Handshake => handshake_spaces[1].as_ref().expect("it was checked"),
                SpaceId::Path(path) => &paths[path].space,
            };
            space::format(config, *role, peer_id, space.number_length(config))
        };
        let number = self.space(id)?.take_number();
        let frames = smallvec![QuicFrame::ConnectionClose { application, error_code }];
        let mut packet = QuicPacket { space: packet_space, path: id.path() as u8, number, format, frames };
        if packet_space == PacketSpace::Initial && packet.length() < SMALLEST_INITIAL {
            let length = (SMALLEST_INITIAL - packet.length()) as u16;
            packet.frames.push(QuicFrame::Padding { length });
        }
        self.sent_bytes += packet.length() as u64;
        if self.observer.is_some() {
            self.observe_packet(now, &packet, true);
        }
        Some((id.path(), QuicDatagram { packets: smallvec![packet] }))
    }
}

/// RFC 9000 section 20.1.
const PROTOCOL_VIOLATION: u64 = 0x0a;
