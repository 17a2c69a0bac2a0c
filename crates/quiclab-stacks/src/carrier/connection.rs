//! A conn: one QUIC connection under the path scheduler of the tunnel.
//!
//! **The send pass.** With no datagram of the tunnel inside QUIC, [`TunnelConnection::settle`] opens all gates and
//! lets QUIC send its own frames: acknowledgements, control frames, probes. Only then a datagram is admitted, on a path whose
//! window and pacer let it leave at once; its gate is opened alone, and [`TunnelConnection::flush`] polls until it has left.
//!
//! | trap | here |
//! | --- | --- |
//! | a datagram that stays inside holds back the acknowledgements of its path; with both directions saturated the throughput collapses | one is admitted only if it leaves at once; should one stay (the peer's address is being validated), nothing more is admitted until it has left |
//! | a probe of another path passes its gate and would carry the datagram | probes leave in `settle`, before; timers and packets are handled with nothing inside |
//! | a batch of datagrams (segmentation offload) waits inside for its last one | it is flushed when another path is chosen, when it is full, with the next `transmit`, and before any packet or timer is handled; what waits counts as in flight |

use super::connect_ip::streams::Http3Streams;
use super::event::{Outgoing, SessionId};
use super::gated_controller::{self, GateMode, GatedController};
use super::half_open::SourcePrefix;
use super::liveness::Liveness;
use super::wire::DATAGRAM_OVERHEAD;
use crate::options::std_duration;
use crate::seeded;
use crate::time::Clock;
use bytes::{Bytes, BytesMut};
use noq_proto::{Connection, EcnCodepoint, PathId, PathStatus, StreamId, Transmit};
use quiclab_core::ip::{IPV4_HEADER, IPV6_HEADER, UDP_HEADER};
use quiclab_core::{Duration, Ecn, FiveTuple, Packet, Protocol, RandomStream, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::num::NonZeroUsize;

/// Endpoint and handle of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConnectionKey {
    pub(crate) endpoint: usize,
    pub(crate) handle: usize,
}

/// A path of a conn.
pub(crate) struct ConnectionPath {
    pub(crate) id: PathId,
    /// Its number in the session; `None` before it is known (servers).
    pub(crate) slot: Option<usize>,
    pub(crate) gate: GatedController,
    pub(crate) liveness: Liveness,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// It may carry data.
    pub(crate) established: bool,
    pub(crate) opened: Time,
    /// When a packet arrived on it last.
    pub(crate) heard: Time,
    /// Probes of its MTU that are known to be lost.
    lost_probes: u64,
}

/// How often something happened on a conn.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConnectionCounters {
    /// Datagrams admitted.
    pub(crate) sent: u64,
    /// Datagrams that did not leave at once.
    pub(crate) stuck: u64,
    /// Packets of a grant that left on another path.
    pub(crate) misplaced: u64,
}

impl std::ops::AddAssign for ConnectionCounters {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.stuck += other.stuck;
        self.misplaced += other.misplaced;
    }
}

/// One connection.
pub(crate) struct TunnelConnection {
    pub(crate) quic: Connection,
    pub(crate) tracks: Vec<ConnectionPath>,
    /// Its HTTP/3, if it speaks CONNECT-IP.
    pub(crate) http3: Option<Box<Http3Streams>>,
    pub(crate) session: Option<SessionId>,
    /// It belongs to its session, as both ends know.
    pub(crate) bound: bool,
    /// Prefix of its source while it is not bound (servers).
    pub(crate) half_open: Option<SourcePrefix>,
    /// Bytes that may be sent to an address that is not validated: as many as it has sent, where RFC 9000 section 8.1 permits
    /// three times as many; `None`: it is validated.
    pub(crate) credit: Option<u64>,
    /// Datagrams that were dropped because they exceeded it.
    pub(crate) withheld: u64,
    /// It was introduced to the server (clients).
    pub(crate) greeted: bool,
    /// It was closed here, or is lost.
    pub(crate) over: bool,
    /// Numbers of paths that the peer has told (servers): identifier of QUIC, number.
    pub(crate) names: BTreeMap<u32, usize>,
    /// Paths that have proved to reach the peer (servers).
    pub(crate) validated: BTreeSet<PathId>,
    /// Largest UDP payload that the peer asked for, if it did.
    pub(crate) payload_limit: Option<u16>,
    /// Bytes of a datagram that leaves now; `None` while datagrams cannot.
    pub(crate) largest: Option<u16>,
    /// What is to be sent, with its path.
    pub(crate) out: VecDeque<(Option<usize>, Outgoing)>,
    /// QUIC may have something of its own to send.
    pub(crate) dirty: bool,
    pub(crate) stream: Option<StreamId>,
    /// What was read of the stream, and what is to be written.
    pub(crate) inbox: BytesMut,
    pub(crate) outbox: BytesMut,
    pub(crate) opened: Time,
    pub(crate) connected: bool,
    pub(crate) counts: ConnectionCounters,
    /// The timer that is set.
    pub(crate) timer: Option<Time>,
    /// Datagrams of the tunnel inside QUIC, and the path that they were admitted on.
    inside: usize,
    granted: PathId,
    /// One of them did not leave when it should have.
    stuck: bool,
    segments: NonZeroUsize,
    clock: Clock,
    buffer: Vec<u8>,
}

/// Maximum number of packets of QUIC's own in one pass.
const MAX_PACKETS_PER_PASS: usize = 1024;
/// A path of several that is silent for that long, while another is not, is asked.
const SILENCE: Duration = Duration::from_millis(150);

/// Bytes of IP and UDP headers towards `remote`.
pub(crate) const fn headers(remote: &SocketAddr) -> u64 {
    (UDP_HEADER + if remote.is_ipv4() { IPV4_HEADER } else { IPV6_HEADER }) as u64
}

/// The packet that carries a UDP datagram.
pub(crate) fn packet(now: Time, local: SocketAddr, remote: SocketAddr, ecn: Ecn, payload: &[u8]) -> Packet {
    Packet::of_datagram(now, FiveTuple::new(Protocol::Udp, local, remote), ecn, BytesMut::from(payload))
}

impl TunnelConnection {
    pub(crate) fn new(now: Time, connection: Connection, segments: usize) -> Self {
        Self {
            quic: connection,
            tracks: Vec::new(),
            http3: None,
            session: None,
            bound: false,
            half_open: None,
            credit: None,
            withheld: 0,
            greeted: false,
            over: false,
            names: BTreeMap::new(),
            validated: BTreeSet::new(),
            payload_limit: None,
            largest: None,
            out: VecDeque::new(),
            dirty: true,
            stream: None,
            inbox: BytesMut::new(),
            outbox: BytesMut::new(),
            opened: now,
            connected: false,
            counts: ConnectionCounters::default(),
            timer: None,
            inside: 0,
            granted: PathId::ZERO,
            stuck: false,
            segments: NonZeroUsize::new(segments).unwrap_or(NonZeroUsize::MIN),
            clock: Clock::new(),
            buffer: Vec::new(),
        }
    }

    /// Adds a path, if QUIC knows it.
    pub(crate) fn track(
        &mut self,
        now: Time,
        id: PathId,
        slot: Option<usize>,
        addresses: (SocketAddr, SocketAddr),
        keep_alive: Duration,
    ) -> Option<&mut ConnectionPath> {
        let gate = gated_controller::of_path(&self.quic, id)?;
        let (local, remote) = addresses;
        let liveness = Liveness::new(now, keep_alive);
        self.tracks.push(ConnectionPath {
            id,
            slot,
            gate,
            liveness,
            local,
            remote,
            established: false,
            opened: now,
            heard: now,
            lost_probes: 0,
        });
        self.tracks.last_mut()
    }

    pub(crate) fn of_id(&mut self, id: PathId) -> Option<&mut ConnectionPath> {
        self.tracks.iter_mut().find(|track| track.id == id)
    }

    pub(crate) fn of_slot(&self, slot: usize) -> Option<&ConnectionPath> {
        self.tracks.iter().find(|track| track.slot == Some(slot))
    }

    /// The path between these addresses, or the first.
    pub(crate) fn between(&self, local: SocketAddr, remote: SocketAddr) -> Option<&ConnectionPath> {
        let same = |track: &&ConnectionPath| {
            track.remote == remote && (track.local.ip() == local.ip() || track.local.ip().is_unspecified())
        };
        self.tracks.iter().find(same).or_else(|| self.tracks.first())
    }

    /// Something has arrived between these addresses.
    pub(crate) fn hear(&mut self, now: Time, local: SocketAddr, remote: SocketAddr) {
        let Some(id) = self.between(local, remote).map(|track| track.id) else { return };
        if let Some(track) = self.of_id(id) {
            track.heard = now;
        }
    }

    /// Paths that are silent while others are not are asked, and doubted if they do not answer. A sender cannot
    /// tell which of its paths is dead when all are acknowledged on a dead one: the receiver must notice.
    pub(crate) fn compare(&mut self, now: Time) -> Vec<usize> {
        let mut doubted = Vec::new();
        for index in 0..self.tracks.len() {
            let others = self.tracks.iter().enumerate().filter(|(other, _)| *other != index);
            let Some(newest) = others.map(|(_, track)| track.heard).max() else { continue };
            let srtt = self.srtt(self.tracks[index].id);
            let track = &mut self.tracks[index];
            let answered = track.heard.max(track.gate.answered().unwrap_or_default());
            if !track.established || !track.liveness.is_alive() || newest < answered + SILENCE {
                continue;
            }
            if track.liveness.asked_since(answered) {
                if track.liveness.asked_for(now) >= SILENCE + srtt {
                    track.liveness.mark_suspect(now);
                    doubted.extend(track.slot);
                }
            } else {
                track.liveness.ask(now);
                let _ = self.quic.ping_path(track.id); // it exists
                self.dirty = true;
            }
        }
        doubted
    }

    /// Only paths that answer are used for what QUIC may send on any; without one, that which was heard last.
    pub(crate) fn set_statuses(&mut self) {
        let last = self.tracks.iter().filter(|track| track.established).max_by_key(|track| track.heard);
        let last = last.map(|track| track.id);
        let any = self.tracks.iter().any(|track| track.established && track.liveness.is_alive());
        for track in self.tracks.iter().filter(|track| track.established) {
            let available = if any { track.liveness.is_alive() } else { Some(track.id) == last };
            let status = if available { PathStatus::Available } else { PathStatus::Backup };
            if self.quic.path_status(track.id).is_ok_and(|before| before != status) {
                let _ = self.quic.set_path_status(track.id, status); // it exists
                self.dirty = true;
            }
        }
    }

    /// Smoothed RTT of a path; the assumed one before there is a sample.
    pub(crate) fn srtt(&self, id: PathId) -> Duration {
        let rtt = self.quic.rtt(id).unwrap_or_default();
        Duration::from_nanos(u64::try_from(rtt.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Datagrams that wait inside QUIC to leave on `id`.
    pub(crate) fn granted(&self, id: PathId) -> u64 {
        if self.granted == id { self.inside as u64 } else { 0 }
    }

    /// Whether a datagram may leave on `track` now.
    pub(crate) fn has_room(&self, now: Time, track: &ConnectionPath) -> bool {
        // another path's batch is flushed first, and may not leave
        track.gate.has_room(now, self.granted(track.id)) && !self.stuck
    }

    /// Calls QUIC, with random numbers for TLS as long as it may need them.
    pub(crate) fn call<R>(
        &mut self,
        random: &mut Option<RandomStream>,
        call: impl FnOnce(&mut Connection) -> R,
    ) -> R {
        if self.quic.is_handshaking() {
            seeded::with_stream(random, || call(&mut self.quic))
        } else {
            call(&mut self.quic)
        }
    }

    /// Admits a datagram that [`TunnelConnection::has_room`] has let pass. Returns whether QUIC took it.
    pub(crate) fn admit(&mut self, now: Time, id: PathId, data: Bytes) -> bool {
        if self.inside > 0 && self.granted != id {
            self.flush(now);
        }
        if self.stuck {
            return false;
        }
        if self.quic.datagrams().send(data, false).is_err() {
            return false;
        }
        self.granted = id;
        self.inside += 1;
        self.counts.sent += 1;
        if self.inside >= self.segments.get() {
            self.flush(now);
        }
        true
    }

    /// Lets what was admitted leave on its path.
    pub(crate) fn flush(&mut self, now: Time) {
        if self.inside == 0 || self.stuck {
            return;
        }
        for track in &self.tracks {
            track.gate.set(if track.id == self.granted { GateMode::Granted } else { GateMode::Closed });
        }
        let wanted = self.of_id(self.granted).map(|track| track.slot);
        while !self.is_empty() {
            // datagrams leave after the handshake only: no random numbers for TLS
            if !self.poll(now, &mut None) {
                break;
            }
            if self.out.back().map(|(slot, _)| *slot) != wanted {
                self.counts.misplaced += 1;
            }
        }
        self.open_gates();
        if self.is_empty() {
            self.inside = 0;
        } else {
            self.counts.stuck += 1;
            self.stuck = true;
        }
    }

    /// Lets QUIC send what it has of its own.
    pub(crate) fn settle(&mut self, now: Time, random: &mut Option<RandomStream>) {
        self.flush(now);
        if !self.dirty {
            return;
        }
        self.dirty = false;
        self.count_lost_probes();
        self.open_gates();
        // whatever QUIC thinks it must send: but not indefinitely at one instant
        for _ in 0..MAX_PACKETS_PER_PASS {
            if !self.poll(now, random) {
                break;
            }
        }
        if self.stuck && self.is_empty() {
            (self.inside, self.stuck) = (0, false);
        }
        for track in self.tracks.iter().filter(|track| track.established) {
            track.gate.pause_mtu_search();
        }
        self.measure();
    }

    /// Probes of an MTU that are lost are no longer in flight.
    fn count_lost_probes(&mut self) {
        for index in 0..self.tracks.len() {
            let track = &self.tracks[index];
            if !track.gate.has_mtu_probe() {
                continue;
            }
            let lost = self.quic.path_stats(track.id).map_or(0, |stats| stats.lost_plpmtud_probes);
            let track = &mut self.tracks[index];
            if lost > track.lost_probes {
                track.lost_probes = lost;
                track.gate.forget_mtu_probe();
            }
        }
    }

    /// Whether the MTU of a path that datagrams must fit is not known yet.
    pub(crate) fn is_searching(&self) -> bool {
        self.tracks.iter().any(|track| track.established && track.gate.is_searching())
    }

    /// Longest tunnel payload in one datagram.
    pub(crate) fn largest_payload(&self) -> Option<u16> {
        let overhead = self.http3.as_ref().map_or(DATAGRAM_OVERHEAD, |http3| http3.overhead());
        self.largest.map(|largest| largest.saturating_sub(overhead as u16))
    }

    /// A path that does not answer may always be asked: its window is full of what was lost.
    fn open_gates(&self) {
        for track in &self.tracks {
            track.gate.set(if track.liveness.is_alive() { GateMode::Open } else { GateMode::Granted });
        }
    }

    /// No datagram is inside.
    fn is_empty(&mut self) -> bool {
        // one more byte is refused only if the rest is used
        self.quic.datagrams().send_buffer_space() >= EMPTY_SPACE
    }

    fn poll(&mut self, now: Time, random: &mut Option<RandomStream>) -> bool {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let (instant, segments) = (self.clock.instant(now), self.segments);
        let transmit =
            self.call(random, |connection| connection.poll_transmit(instant, segments, &mut buffer));
        if let Some(transmit) = &transmit {
            self.push(now, transmit, &buffer);
        }
        self.buffer = buffer;
        transmit.is_some()
    }

    fn push(&mut self, now: Time, transmit: &Transmit, buffer: &[u8]) {
        if let Some(credit) = &mut self.credit {
            // what is dropped is a loss for QUIC, as the client's repetition brings more credit
            let Some(left) = credit.checked_sub(transmit.size as u64) else {
                self.withheld += 1;
                return;
            };
            *credit = left;
        }
        let source = transmit.src_ip.unwrap_or_else(|| match transmit.destination {
            SocketAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
        });
        let found = self
            .tracks
            .iter()
            .find(|track| {
                track.remote == transmit.destination
                    && (source.is_unspecified()
                        || track.local.ip() == source
                        || track.local.ip().is_unspecified())
            })
            .or_else(|| self.tracks.first());
        let Some(track) = found else { return };
        let mut local = track.local;
        if !source.is_unspecified() {
            local.set_ip(source);
        }
        let ecn = match transmit.ecn {
            None => Ecn::NotEct,
            Some(EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(EcnCodepoint::Ce) => Ecn::Ce,
        };
        let slot = track.slot;
        let packet = packet(now, local, transmit.destination, ecn, &buffer[..transmit.size]);
        let segment = transmit.segment_size.and_then(|size| u16::try_from(size).ok());
        let mtu_probe = segment.is_none() && transmit.size > usize::from(track.gate.mtu());
        self.out.push_back((slot, Outgoing { packet, segment, mtu_probe }));
    }

    /// The largest datagram, as far as it can be known.
    pub(crate) fn measure(&mut self) {
        let size = self.quic.datagrams().max_size().filter(|_| self.connected);
        let mtu = self.quic.current_mtu();
        let beyond = self.payload_limit.map_or(0, |limit| mtu.saturating_sub(limit));
        self.largest = size.and_then(|size| u16::try_from(size).ok()).map(|size| size.saturating_sub(beyond));
    }

    /// When QUIC, or one of the paths, wants to be woken.
    pub(crate) fn deadline(&self, now: Time, backlogged: bool, limit: Option<Time>) -> Option<Time> {
        let quic = self.quic.poll_timeout().map(|deadline| self.clock.deadline(deadline));
        let mut first = quic.into_iter().chain(limit).min();
        let mut earlier = |time: Time| first = Some(first.map_or(time, |first| first.min(time)));
        for track in self.tracks.iter().filter(|track| track.established && self.bound && !self.over) {
            earlier(track.liveness.deadline(&track.gate, self.srtt(track.id)));
            if backlogged && track.liveness.is_alive() {
                let room = track.gate.room(now, self.granted(track.id));
                room.filter(|room| *room > now).map(&mut earlier);
            }
        }
        first
    }

    /// Handles the timers of QUIC.
    pub(crate) fn timeout(&mut self, now: Time, random: &mut Option<RandomStream>) {
        let instant = self.clock.instant(now);
        if self.quic.poll_timeout().is_some_and(|deadline| deadline <= instant) {
            self.call(random, |connection| connection.handle_timeout(instant));
            self.dirty = true;
        }
    }

    /// Writes what waits for the stream.
    pub(crate) fn write(&mut self) {
        let Some(stream) = self.stream else { return };
        while !self.outbox.is_empty() {
            match self.quic.send_stream(stream).write(&self.outbox) {
                Ok(0) | Err(_) => break,
                Ok(written) => {
                    let _ = self.outbox.split_to(written);
                    self.dirty = true;
                }
            }
        }
    }

    /// Reads the stream into the inbox, as far as `room` bytes go. Returns false if the peer has ended it.
    pub(crate) fn read(&mut self, room: usize) -> bool {
        let Some(stream) = self.stream else { return true };
        let mut receive = self.quic.recv_stream(stream);
        let Ok(mut chunks) = receive.read(true) else { return false };
        let (mut open, before) = (true, self.inbox.len());
        while self.inbox.len() < room {
            match chunks.next(room - self.inbox.len()) {
                Ok(Some(chunk)) => self.inbox.extend_from_slice(&chunk.bytes),
                Ok(None) | Err(noq_proto::ReadError::Reset(_)) => {
                    open = false;
                    break;
                }
                Err(noq_proto::ReadError::Blocked) => break,
            }
        }
        // without anything read, QUIC may ask for the same credit frame indefinitely while its path is full
        if chunks.finalize().should_transmit() && self.inbox.len() > before {
            self.dirty = true;
        }
        open
    }

    /// Ends the connection and tells the peer.
    pub(crate) fn close(&mut self, now: Time, code: u32, reason: &'static str) {
        let instant = self.clock.instant(now);
        self.quic.close(instant, code.into(), Bytes::from_static(reason.as_bytes()));
        self.dirty = true;
    }
}

/// Size of noq's buffer of datagrams.
pub(crate) const SEND_BUFFER: usize = 1 << 20;
/// noq reserves room for the description of one datagram.
const EMPTY_SPACE: usize = SEND_BUFFER - size_of::<noq_proto::Datagram>();

/// What noq takes as a length of time.
pub(crate) fn std_time(duration: Duration) -> std::time::Duration {
    std_duration(duration)
}
