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
use quiclab_core::scenario::{PathSchedulerKind, QuicVersion};
use quiclab_core::{PacketSpace, Role, Time};
use smallvec::{SmallVec, smallvec};

/// Smallest datagram that carries Initial packets (RFC 9000 section 14.1).
pub(super) const SMALLEST_INITIAL: usize = 1200;
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
                if pending { self.close_datagram(now) } else { None }
            }
            State::Open => {
                let room = self.amplification_room();
                if room < SMALLEST_ROOM {
                    self.pacing_due = None;
                    return None;
                }
                if self.paths.len() == 1 {
                    let permit = self.may_send(now, 0);
                    let datagram = self.assemble(now, 0, permit, room);
                    if datagram.is_none() {
                        self.end_pass(now);
                    }
                    return datagram.map(|datagram| (0, datagram));
                }
                for path in self.order_of_paths(now) {
                    let permit = self.may_send(now, path);
                    if let Some(datagram) = self.assemble(now, path, permit, room) {
                        return Some((path, datagram));
                    }
                }
                self.end_pass(now);
                None
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

    /// The paths, that which sends next first: those that something waits for that only they can send, then
    /// that of the scheduler, then the others.
    fn order_of_paths(&mut self, now: Time) -> SmallVec<[usize; 4]> {
        let mut order: SmallVec<[usize; 4]> =
            (0..self.paths.len()).filter(|path| self.is_urgent(now, *path)).collect();
        let mut open: SmallVec<[usize; 4]> = SmallVec::new();
        for path in 0..self.paths.len() {
            if self.carries_data(path) && self.may_send(now, path) > 0 {
                open.push(path);
            }
        }
        if !open.is_empty() {
            let native = match self.config.path_scheduler {
                PathSchedulerKind::RoundRobin => {
                    *open.iter().find(|path| **path > self.last_path).unwrap_or(&open[0])
                }
                PathSchedulerKind::LowestRtt => {
                    let rtt = |path: &usize| self.paths[*path].rtt.smoothed_or_initial();
                    *open.iter().min_by_key(|path| rtt(path)).expect("some path is open")
                }
            };
            order.push(self.asked_path(&open, native));
        }
        for path in 0..self.paths.len() {
            if !order.contains(&path) {
                order.push(path);
            }
        }
        order
    }

    /// Whether a path takes anything but acknowledgements, probes and what validates it: it is validated, and
    /// no more probe timeouts have expired since its last acknowledgement than on any other ("potentially
    /// failed" of De Coninck and Bonaventure, "Multipath QUIC", CoNEXT 2017, section 3).
    pub(super) fn carries_data(&self, path: usize) -> bool {
        let this = &self.paths[path];
        let is_better = |other: &Path| other.usable && other.pto.count() < this.pto.count();
        this.usable && (self.paths.len() == 1 || !self.paths.iter().any(is_better))
    }

    /// Whether an acknowledgement, a probe or a validation waits for this path.
    fn is_urgent(&self, now: Time, path: usize) -> bool {
        let waits =
            |id| self.space_ref(id).is_some_and(|space| space.must_acknowledge(now) || space.probes > 0);
        self.space_ids().any(|id| id.path() == path && waits(id))
            || self.path_challenges.contains(&path)
            || self.path_responses.contains(&path)
    }

    /// The path that a plugin chooses among those that are open, or `native`.
    fn asked_path(&mut self, open: &[usize], native: usize) -> usize {
        if !self.operations.replaces(Operation::Path) {
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
            let limited = wants && self.may_send(now, path) < SMALLEST_ROOM;
            self.paths[path].limited = limited;
            let Self { paths, operations, .. } = self;
            if limited && paths[path].window_room(operations) >= SMALLEST_ROOM as u64 {
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
            if let Some(packet) = self.packet(now, id, left, permit) {
                let length = packet.packet.length();
                assert!(length <= left, "a packet of {length} B for {left} B: {:?}", packet.packet);
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
        // gQUIC has padding in its first message instead
        let is_initial = |first: &&Assembled| first.packet.space == PacketSpace::Initial;
        let v1 = self.config.version == QuicVersion::V1;
        let Some(first) = packets.first().filter(|first| v1 && is_initial(first)) else { return };
        let Fixed { pads_server, pads_to_full, .. } = self.config.fixed;
        if self.role == Role::Server && !(pads_server && first.packet.is_ack_eliciting()) {
            return;
        }
        let full = self.config.datagram_size.bytes() as usize;
        let wanted = if pads_to_full && first.packet.is_ack_eliciting() { full } else { SMALLEST_INITIAL };
        let length: usize = packets.iter().map(|packet| packet.packet.length()).sum();
        if length < wanted {
            let first = &mut packets[0];
            let before = first.packet.length();
            first.packet.frames.push(QuicFrame::Padding { length: (wanted - length) as u16 });
            // the Length field of the packet may have grown with it
            let excess = first.packet.length() - before - (wanted - length);
            if let Some(QuicFrame::Padding { length }) = first.packet.frames.last_mut() {
                *length -= excess as u16;
            }
            first.in_flight = true;
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

    /// CONNECTION_CLOSE in the highest space that can be sent.
    fn close_datagram(&mut self, now: Time) -> Option<(usize, QuicDatagram)> {
        let spaces = [PacketSpace::OneRtt, PacketSpace::Handshake, PacketSpace::Initial];
        let packet_space = spaces.into_iter().find(|space| self.handshake.can_send(*space))?;
        let id = match packet_space {
            PacketSpace::Initial if self.handshake_spaces[0].is_some() => SpaceId::Initial,
            PacketSpace::Handshake if self.handshake_spaces[1].is_some() => SpaceId::Handshake,
            _ => SpaceId::Path(self.heard_path),
        };
        let path = id.path();
        let peer_id = self.peer.connection_id_length;
        let application = self.failure.is_none() && packet_space == PacketSpace::OneRtt;
        let error_code = u64::from(self.failure.is_some()) * PROTOCOL_VIOLATION;
        let format = {
            let Self { config, handshake_spaces, paths, .. } = self;
            let space = match id {
                SpaceId::Initial => handshake_spaces[0].as_ref().expect("it was checked"),
                SpaceId::Handshake => handshake_spaces[1].as_ref().expect("it was checked"),
                SpaceId::Path(path) => &paths[path].space,
            };
            space::format(config, peer_id, space.number_length(config))
        };
        let number = self.space(id)?.take_number();
        let frames = smallvec![QuicFrame::ConnectionClose { application, error_code }];
        let mut packet = QuicPacket { space: packet_space, path: path as u8, number, format, frames };
        let v1 = self.config.version == QuicVersion::V1;
        if v1 && packet_space == PacketSpace::Initial && packet.length() < SMALLEST_INITIAL {
            let length = (SMALLEST_INITIAL - packet.length()) as u16;
            packet.frames.push(QuicFrame::Padding { length });
        }
        self.sent_bytes += packet.length() as u64;
        if self.observer.is_some() {
            self.observe_packet(now, &packet, true);
        }
        Some((path, QuicDatagram { packets: smallvec![packet] }))
    }
}

/// RFC 9000 section 20.1.
const PROTOCOL_VIOLATION: u64 = 0x0a;
