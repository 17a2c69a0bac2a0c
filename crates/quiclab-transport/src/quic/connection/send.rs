//! Assembly of the next datagram, and whether it may be sent: window, pacer, anti-amplification, path.
//!
//! | | RFC | here |
//! | --- | --- | --- |
//! | window | probes and acknowledgements are sent without it (RFC 9002 sections 7, 7.5) | the same |
//! | pacer | "ACK frames SHOULD NOT be delayed by the pacer" (section 7.7) | the same, except in picoquic; nor are probes |
//! | anti-amplification | three times the bytes received (RFC 9000 section 8.1) | exact: the last datagram is shorter |
//! | padding | datagrams with an ack-eliciting Initial packet, and all with Initial of clients: 1200 bytes (section 14.1) | the same, in the Initial packet |

use super::{Connection, SpaceId, State};
use crate::operations::Operation;
use crate::options::QuicVersion;
use crate::quic::config::Fixed;
use crate::quic::path::{Path, now_ms};
use crate::quic::sent::Content;
use crate::quic::space;
use crate::recovery::threshold::SentPacket;
use quiclab_core::quic::{QuicDatagram, QuicFrame, QuicPacket};
use quiclab_core::scheduler::PathState;
use quiclab_core::{ByteCount, Ecn, PacketSpace, Role, Time};
use smallvec::{SmallVec, smallvec};

/// Minimum size of a datagram with Initial packets (RFC 9000 section 14.1).
pub(super) const MIN_INITIAL_BYTES: usize = 1200;
/// Minimum space in bytes for another packet in a datagram.
pub(super) const MIN_ROOM: usize = 64;

/// State of a packet that is in its datagram but not counted as sent.
pub(super) struct Assembled {
    pub(super) id: SpaceId,
    pub(super) content: Content,
    /// Bytes from its header to its tag.
    pub(super) length: usize,
    /// Bytes that count as in flight; 0 if it does not.
    pub(super) counted: usize,
}

/// Datagram to be sent.
#[derive(Debug)]
pub(in crate::quic) struct Departure {
    /// Path on which it is sent.
    pub(in crate::quic) path: usize,
    pub(in crate::quic) datagram: Box<QuicDatagram>,
    /// UDP payload in bytes.
    pub(in crate::quic) length: u64,
    pub(in crate::quic) ecn: Ecn,
}

impl Connection {
    /// Assembles the next datagram that may be sent now.
    pub(in crate::quic) fn next_datagram(&mut self, now: Time) -> Option<Departure> {
        match &mut self.state {
            State::Idle | State::Over => None,
            State::Closing { pending, .. } => {
                let pending = std::mem::take(pending);
                if !pending {
                    return None;
                }
                let (path, datagram) = self.close_datagram(now)?;
                let length = datagram.length() as u64;
                Some(Departure { path, datagram: Box::new(datagram), length, ecn: Ecn::NotEct })
            }
            State::Open => {
                let room = self.amplification_room();
                if room < MIN_ROOM {
                    self.pacing_due = None;
                    return None;
                }
                if self.paths.len() == 1 {
                    let permit = self.may_send(now, 0);
                    let datagram = self.assemble(now, 0, permit, room);
                    if datagram.is_none() {
                        self.end_pass(now);
                    }
                    return datagram;
                }
                let (order, waits) = self.order_of_paths(now);
                for path in order {
                    let permit = if waits { 0 } else { self.may_send(now, path) };
                    if let Some(departure) = self.assemble(now, path, permit, room) {
                        if permit > 0 {
                            self.scheduler.on_sent(now, path, ByteCount::from_bytes(departure.length));
                        }
                        return Some(departure);
                    }
                }
                self.end_pass(now);
                None
            }
        }
    }

    /// Maximum bytes of a datagram by the anti-amplification limit.
    fn amplification_room(&self) -> usize {
        let factor = u64::from(self.config.quic.amplification_factor);
        self.address.room(self.config.datagram_size.bytes(), factor) as usize
    }

    /// Whether the limit blocks the server: no timer is set then (RFC 9002 section 6.2.2.1).
    pub(super) fn is_amplification_limited(&self) -> bool {
        self.amplification_room() < MIN_ROOM
    }

    /// Paths in the order in which they send: those with frames that only they can send, then that of the
    /// scheduler, then the others. Also returns whether the scheduler waits for a path without room: then
    /// none carries frames that need the window.
    fn order_of_paths(&mut self, now: Time) -> (SmallVec<[usize; 4]>, bool) {
        let mut order: SmallVec<[usize; 4]> =
            (0..self.paths.len()).filter(|path| self.is_urgent(now, *path)).collect();
        let mut open: SmallVec<[(usize, usize); 4]> = SmallVec::new();
        for path in 0..self.paths.len() {
            let permit = if self.carries_data(path) { self.may_send(now, path) } else { 0 };
            if permit > 0 {
                open.push((path, permit));
            }
        }
        let native = self.scheduled(now, &open);
        if let Some(native) = native {
            let asks = self.operations.has(Operation::Path) && self.wants_to_send();
            order.push(if asks { self.asked_path(now, &open, native).0 } else { native.0 });
        }
        for path in 0..self.paths.len() {
            if !order.contains(&path) {
                order.push(path);
            }
        }
        (order, native.is_none() && !open.is_empty())
    }

    /// Path that the scheduler selects among those that are `open`, with its room; `None`: it waits, or none
    /// is open.
    fn scheduled(&self, now: Time, open: &[(usize, usize)]) -> Option<(usize, usize)> {
        if open.is_empty() {
            return None;
        }
        let state = |(index, path): (usize, &Path)| {
            path.state(self.carries_data(index), open.iter().any(|(open, _)| *open == index))
        };
        let states: SmallVec<[PathState; 4]> = self.paths.iter().enumerate().map(state).collect();
        let chosen = self.scheduler.select(now, self.backlog(), &states)?;
        let open = open.iter().find(|(path, _)| *path == chosen);
        Some(*open.expect("a scheduler takes open paths only"))
    }

    /// Bytes that wait for any path.
    fn backlog(&self) -> ByteCount {
        ByteCount::from_bytes(self.streams.waiting().saturating_add(self.datagrams.bytes()))
    }

    /// Whether a path carries frames other than acknowledgements, probes and those of its validation: it is
    /// validated, and no more probe timeouts have expired since its last acknowledgement than on any other
    /// ("potentially failed" of De Coninck and Bonaventure, "Multipath QUIC", CoNEXT 2017, section 3). Among
    /// equal paths, a backup path does only if none is available.
    pub(super) fn carries_data(&self, path: usize) -> bool {
        let this = &self.paths[path];
        let (count, is_backup) = (this.pto.count(), this.managed.is_backup());
        let is_better = |other: &Path| {
            let preferred = is_backup && !other.managed.is_backup();
            other.usable && (other.pto.count() < count || preferred && other.pto.count() == count)
        };
        this.usable && (self.paths.len() == 1 || !self.paths.iter().any(is_better))
    }

    /// Whether an acknowledgement, a probe or a validation waits for this path.
    fn is_urgent(&self, now: Time, path: usize) -> bool {
        let probes = |id| self.space_ref(id).is_some_and(|space| space.probes > 0);
        let waits = |id| self.must_acknowledge(now, id) || probes(id);
        self.space_ids().any(|id| id.path() == path && waits(id)) || self.path_validation.is_waiting_for(path)
    }

    /// Path that a plugin selects among those that are open, with its room.
    #[cold]
    fn asked_path(&mut self, now: Time, open: &[(usize, usize)], native: (usize, usize)) -> (usize, usize) {
        let (paths, last) = (self.paths.len() as f64, self.last_path as f64);
        let previous = if self.address.has_sent() { last } else { -1.0 };
        let inputs = || [("now_ms", now_ms(now)), ("paths", paths), ("previous", previous)];
        let wanted = self.operations.run(Operation::Path, inputs, || native.0 as f64);
        if let Some(path) = open.iter().find(|(path, _)| *path as f64 == wanted) {
            return *path;
        }
        let expected: Vec<_> = open.iter().map(|(path, _)| path.to_string()).collect();
        self.operations.refuse(
            Operation::Path,
            wanted,
            &format!("a path with room: {}", expected.join(", ")),
        );
        native
    }

    /// Maximum bytes of the next datagram by window and pacer of a path.
    fn may_send(&mut self, now: Time, path: usize) -> usize {
        let Self { paths, operations, .. } = self;
        if paths[path].release(now) > now {
            return 0;
        }
        paths[path].window_room(now, operations) as usize
    }

    /// Ends a send pass; records why, and until when.
    fn end_pass(&mut self, now: Time) {
        let wants = self.wants_to_send();
        self.pacing_due = None;
        for path in 0..self.paths.len() {
            let Self { paths, operations, .. } = self;
            let release = paths[path].release(now);
            let has_room = wants && paths[path].window_room(now, operations) >= MIN_ROOM as u64;
            paths[path].limited = wants && (release > now || !has_room);
            if has_room && release > now {
                self.pacing_due = Some(self.pacing_due.map_or(release, |due| due.min(release)));
            }
            let path = &mut self.paths[path];
            if !wants {
                path.rate.set_app_limited(path.in_flight);
            }
        }
    }

    /// Assembles a datagram; `permit`: maximum bytes of frames that need window and pacer.
    fn assemble(&mut self, now: Time, path: usize, permit: usize, room: usize) -> Option<Departure> {
        let room = room.min(self.paths[path].datagram() as usize).min(self.amplification_room_of(path));
        if room < MIN_ROOM {
            return None;
        }
        let capable = self.datagrams.waiting_for(path).next().is_none() || self.datagrams.kind().capable;
        let ecn = if capable { self.paths[path].ecn.field() } else { Ecn::NotEct };
        let mut datagram = self.spare.take().unwrap_or_default();
        if path != 0 || self.handshake_spaces.iter().all(Option::is_none) {
            // the usual case after the handshake: one packet, never padded
            let Some(assembled) = self.packet(now, SpaceId::Path(path), room, permit, &mut datagram) else {
                self.spare = Some(datagram);
                return None;
            };
            let length = self.commit(now, assembled, &datagram.packets[0], ecn);
            self.last_path = path;
            return Some(Departure { path, datagram, length, ecn });
        }
        let mut assembled: SmallVec<[Assembled; 3]> = SmallVec::new();
        let (mut left, mut permit) = (room, permit);
        for id in self.space_ids().filter(|id| id.path() == path) {
            if left < MIN_ROOM {
                break;
            }
            if let Some(packet) = self.packet(now, id, left, permit, &mut datagram) {
                let length = packet.length;
                assert!(length <= left, "a packet of {length} B for {left} B: {:?}", datagram.packets.last());
                left -= length;
                permit = permit.saturating_sub(length);
                assembled.push(packet);
            }
        }
        if assembled.is_empty() {
            self.spare = Some(datagram);
            return None;
        }
        self.pad(&mut datagram, &mut assembled, room);
        let mut length = 0;
        for (assembled, packet) in assembled.into_iter().zip(&datagram.packets) {
            length += self.commit(now, assembled, packet, ecn);
        }
        self.last_path = path;
        Some(Departure { path, datagram, length, ecn })
    }

    /// Pads a datagram that has a minimum length, in its Initial packet.
    fn pad(&self, datagram: &mut QuicDatagram, assembled: &mut [Assembled], room: usize) {
        let first = &mut datagram.packets[0];
        // gQUIC has padding in its first message instead
        if first.space != PacketSpace::Initial || self.config.quic.version != QuicVersion::V1 {
            return;
        }
        let Fixed { pads_server, pads_to_full, .. } = self.config.fixed;
        let eliciting = first.is_ack_eliciting();
        if self.role == Role::Server && !(pads_server && eliciting) {
            return;
        }
        let full = self.config.datagram_size.bytes() as usize;
        let wanted = if pads_to_full && eliciting { full } else { MIN_INITIAL_BYTES };
        // quinn exceeds the amplification limit with the last datagram; here none does
        let wanted = wanted.min(room);
        let length: usize = assembled.iter().map(|assembled| assembled.length).sum();
        if length < wanted {
            first.frames.push(QuicFrame::Padding { length: (wanted - length) as u16 });
            // the Length field of the packet may have grown with it
            let excess = first.length() - assembled[0].length - (wanted - length);
            if let Some(QuicFrame::Padding { length }) = first.frames.last_mut() {
                *length = length.saturating_sub(excess as u16);
            }
            assembled[0].length = first.length();
            if self.config.fixed.padding_in_flight {
                assembled[0].counted = first.length();
            }
        }
    }

    /// Counts an assembled packet as sent; returns its bytes.
    fn commit(&mut self, now: Time, assembled: Assembled, packet: &QuicPacket, ecn: Ecn) -> u64 {
        let Assembled { id, content, length, counted } = assembled;
        let ack_eliciting = packet.is_ack_eliciting();
        let length = length as u64;
        self.observation.observe_packet(now, packet, true);
        self.address.on_sent(length);
        self.on_path_sent(now, id.path(), length, ack_eliciting);
        let path = &mut self.paths[id.path()];
        let bytes = counted as u64;
        let state = path.rate.on_sent(now, path.in_flight, bytes);
        let position = path.sent_packets;
        if bytes > 0 {
            path.on_sent(now, bytes);
        } else if matches!(id, SpaceId::Path(_)) {
            path.on_sent_unlimited(now);
        }
        let number = packet.number;
        let ecn_capable = ecn != Ecn::NotEct;
        if ecn_capable {
            path.ecn.on_sent();
        }
        let sent = SentPacket { time: now, bytes, ack_eliciting, ecn_capable, position, state };
        let space = self.space(id).expect("the packet is of a space");
        space.sent.on_sent(number, sent, content);
        if ack_eliciting {
            space.probes = space.probes.saturating_sub(1);
            self.activity.on_sent(now);
        }
        if packet.space == PacketSpace::Handshake && self.role == Role::Client {
            // "a client MUST discard Initial keys when it first sends a Handshake packet" (RFC 9001 section 4.9.1)
            self.discard(SpaceId::Initial);
        }
        length
    }

    /// Assembles CONNECTION_CLOSE in the highest space that can be sent.
    fn close_datagram(&mut self, now: Time) -> Option<(usize, QuicDatagram)> {
        let spaces = [PacketSpace::OneRtt, PacketSpace::Handshake, PacketSpace::Initial];
        let packet_space = spaces.into_iter().find(|space| self.handshake.can_send(*space))?;
        let id = match packet_space {
            PacketSpace::Initial if self.handshake_spaces[0].is_some() => SpaceId::Initial,
            PacketSpace::Handshake if self.handshake_spaces[1].is_some() => SpaceId::Handshake,
            _ if self.is_sendable(self.heard_path) => SpaceId::Path(self.heard_path),
            _ => SpaceId::Path(self.first_path()),
        };
        let path = id.path();
        let peer_id = self.peer.connection_id_length;
        let application = self.closure.failure().is_none() && packet_space == PacketSpace::OneRtt;
        let error_code = self.closure.code();
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
        let mut packet = QuicPacket { space: packet_space, path: path as u8, number, format, frames };
        let v1 = self.config.quic.version == QuicVersion::V1;
        if v1 && packet_space == PacketSpace::Initial && packet.length() < MIN_INITIAL_BYTES {
            let length = (MIN_INITIAL_BYTES - packet.length()) as u16;
            packet.frames.push(QuicFrame::Padding { length });
        }
        self.address.on_sent(packet.length() as u64);
        self.observation.observe_packet(now, &packet, true);
        Some((path, QuicDatagram { packets: smallvec![packet] }))
    }
}
