//! One QUIC connection under the path scheduler of the tunnel. Its datagrams leave by the send pass (`send_pass`).

use super::address_validation::AddressValidation;
use super::connect_ip::Http3Streams;
use super::event::{Outgoing, SessionId};
use super::gated_controller::GatedController;
use super::half_open::SourcePrefix;
use super::liveness::Liveness;
use super::wire::DATAGRAM_OVERHEAD;
use bytes::{Bytes, BytesMut};
use noq_proto::{Connection, PathId, PathStatus, StreamId};
use quiclab_core::{Duration, PacketMemory, RandomStream, Time};
use quiclab_stacks::library::ID_LENGTH;
use quiclab_stacks::seeded;
use quiclab_stacks::time::Clock;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::num::NonZeroUsize;

/// Time after which a client's attempt to connect without an answer ends, and a connection at a server that is
/// not bound to a session.
pub(super) const ATTEMPT: Duration = Duration::from_secs(3);

/// Endpoint and handle of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConnectionKey {
    pub(crate) endpoint: usize,
    pub(crate) handle: usize,
}

/// A path of a connection.
pub(crate) struct ConnectionPath {
    pub(crate) id: PathId,
    /// Its number in the session; `None` before it is known (servers).
    pub(crate) slot: Option<usize>,
    pub(crate) gate: GatedController,
    pub(crate) liveness: Liveness,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// Whether it may carry data.
    pub(crate) established: bool,
    pub(crate) opened: Time,
    /// Arrival time of the last packet on it.
    pub(crate) heard: Time,
    /// Number of MTU probes that are known to be lost.
    pub(super) lost_probes: u64,
    /// Time of the last write to the control stream that may have left on it.
    pub(super) wrote: Option<Time>,
}

/// Counters of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConnectionCounters {
    /// Number of datagrams admitted.
    pub(crate) sent: u64,
    /// Number of datagrams that did not leave immediately.
    pub(crate) stuck: u64,
    /// Number of packets of a grant that left on another path.
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
    /// Its HTTP/3, if it uses CONNECT-IP.
    pub(crate) http3: Option<Box<Http3Streams>>,
    pub(crate) session: Option<SessionId>,
    /// Whether it belongs to its session, as both ends know.
    pub(crate) bound: bool,
    /// Prefix of its source while it is not bound (servers).
    pub(crate) half_open: Option<SourcePrefix>,
    /// Bytes that may be sent to an unvalidated address: as many as were received from it, although RFC 9000 section 8.1
    /// permits three times as many; `None` if it is validated.
    pub(crate) credit: Option<u64>,
    /// Number of datagrams that were dropped because they exceeded it.
    pub(crate) withheld: u64,
    /// State while a changed address is not known to be validated (servers, connections with one path).
    pub(super) validation: Option<AddressValidation>,
    /// Destination connection ID of the last packet received, if this end has issued it.
    pub(super) addressed: Option<[u8; ID_LENGTH]>,
    /// Whether it was introduced to the server (clients).
    pub(crate) greeted: bool,
    /// Whether it was closed here, or is lost.
    pub(crate) over: bool,
    /// Numbers of paths announced by the peer (servers): path ID of QUIC, number.
    pub(crate) names: BTreeMap<u32, usize>,
    /// Local address at which the last datagram arrived.
    pub(super) arrived: Option<SocketAddr>,
    /// Validated paths to the peer (servers), with the local address that the peer uses: QUIC does not know its port.
    pub(crate) validated: BTreeMap<PathId, SocketAddr>,
    /// Largest UDP payload that the peer requested, if any.
    pub(crate) payload_limit: Option<u16>,
    /// Maximum length of a datagram that leaves now; `None` while datagrams cannot be sent.
    pub(crate) largest: Option<u16>,
    /// Packets to be sent, with their paths.
    pub(crate) out: VecDeque<(Option<usize>, Outgoing)>,
    /// Whether QUIC may have frames of its own to send.
    pub(crate) dirty: bool,
    pub(crate) stream: Option<StreamId>,
    /// Bytes read from the stream, and bytes to be written.
    pub(crate) inbox: BytesMut,
    pub(crate) outbox: BytesMut,
    pub(crate) opened: Time,
    pub(crate) connected: bool,
    pub(crate) counts: ConnectionCounters,
    /// Time of the timer that is set.
    pub(crate) timer: Option<Time>,
    /// Number of datagrams of the tunnel inside QUIC, and the path on which they were admitted.
    pub(super) inside: usize,
    pub(super) granted: PathId,
    /// Whether one of them did not leave when it should have.
    pub(super) stuck: bool,
    pub(super) segments: NonZeroUsize,
    pub(super) clock: Clock,
    /// Buffer that QUIC writes to.
    pub(super) buffer: Vec<u8>,
    /// Memory of the packets in `out`.
    pub(super) memory: PacketMemory,
}

impl TunnelConnection {
    /// Whether both ends offered several paths in one connection (draft-ietf-quic-multipath-21 section 2).
    pub(crate) fn is_multipath(&self) -> bool {
        self.quic.is_multipath_negotiated()
    }

    /// Time at which it is given up unless it is bound; a server then discards it after the same time again.
    pub(crate) fn attempt_ends(&self) -> Option<Time> {
        match (self.bound, self.over) {
            (false, false) => Some(self.opened + ATTEMPT),
            (false, true) => self.half_open.map(|_| self.opened + ATTEMPT * 2),
            (true, _) => None,
        }
    }

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
            validation: None,
            addressed: None,
            greeted: false,
            over: false,
            names: BTreeMap::new(),
            arrived: None,
            validated: BTreeMap::new(),
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
            memory: PacketMemory::default(),
        }
    }

    /// Calls QUIC, with random numbers for TLS while it may need them.
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

    /// Whether the MTU of a path that datagrams must fit is still unknown.
    pub(crate) fn is_searching(&self) -> bool {
        self.tracks.iter().any(|track| track.established && track.gate.is_searching())
    }

    /// Maximum length of a tunnel payload in one datagram.
    pub(crate) fn largest_payload(&self) -> Option<u16> {
        let overhead = self.http3.as_ref().map_or(DATAGRAM_OVERHEAD, |http3| http3.overhead());
        self.largest.map(|largest| largest.saturating_sub(overhead as u16))
    }

    /// Updates the maximum length of a datagram.
    pub(crate) fn measure(&mut self) {
        let size = self.quic.datagrams().max_size().filter(|_| self.connected);
        let mtu = self.quic.current_mtu();
        let beyond = self.payload_limit.map_or(0, |limit| mtu.saturating_sub(limit));
        self.largest = size.and_then(|size| u16::try_from(size).ok()).map(|size| size.saturating_sub(beyond));
    }

    /// Time at which QUIC, or one of the paths, must be woken.
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

    /// Writes the bytes that wait for the stream.
    pub(crate) fn write(&mut self, now: Time) {
        let Some(stream) = self.stream.filter(|_| !self.outbox.is_empty()) else { return };
        while !self.outbox.is_empty() {
            match self.quic.send_stream(stream).write(&self.outbox) {
                Ok(0) | Err(_) => break,
                Ok(written) => {
                    let _ = self.outbox.split_to(written);
                    self.dirty = true;
                }
            }
        }
        for track in &mut self.tracks {
            if self.quic.path_status(track.id).is_ok_and(|status| status == PathStatus::Available) {
                track.wrote = Some(now);
            }
        }
    }

    /// Reads the stream into the inbox, at most `room` bytes. Returns false if the peer has ended it.
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
        // if nothing was read, QUIC may request the same credit frame indefinitely while its path is full
        if chunks.finalize().should_transmit() && self.inbox.len() > before {
            self.dirty = true;
        }
        open
    }

    /// Closes the connection and notifies the peer.
    pub(crate) fn close(&mut self, now: Time, code: u32, reason: &'static str) {
        let instant = self.clock.instant(now);
        self.quic.close(instant, code.into(), Bytes::from_static(reason.as_bytes()));
        self.dirty = true;
    }
}

/// Duration in the type that noq uses.
pub(crate) fn std_time(duration: Duration) -> std::time::Duration {
    std::time::Duration::from_nanos(duration.as_nanos())
}
