//! Interface of a connection to the carrier of a tunnel: the tunnel chooses the path of each datagram and
//! keeps waiting ones, so a datagram is passed only when it is sent at once.

use super::{Connection, Datagram, Kind, SpaceId, State};
use crate::congestion::fixed::Fixed;
use quiclab_core::scheduler::PathState;
use quiclab_core::{ByteCount, Time};

/// Bytes of frame type and length of a DATAGRAM frame with up to 16 383 bytes.
const FRAME_HEADER: u64 = 3;

impl Connection {
    /// Sets a constant window of `bytes` for `path`.
    pub(in crate::quic) fn set_fixed_window(&mut self, path: usize, bytes: u64) {
        self.paths[path].controller = Box::new(Fixed::new(bytes));
    }

    /// Sets the maximum size of datagrams on `path`.
    pub(in crate::quic) fn set_datagram_size(&mut self, path: usize, bytes: u64) {
        self.paths[path].set_datagram(bytes);
    }

    /// Number of consecutive probe timeouts on `path`; `None` while it carries no data.
    pub(in crate::quic) fn path_timeouts(&self, path: usize) -> Option<u32> {
        let path = &self.paths[path];
        (self.is_ready() && path.usable).then(|| path.pto.count())
    }

    /// State of `path` for a scheduler; `least`: consecutive probe timeouts of the best of all paths.
    pub(in crate::quic) fn path_state(&self, now: Time, path: usize, least: Option<u32>) -> PathState {
        let this = &self.paths[path];
        let in_flight = this.in_flight + self.pending(path);
        let full = this.datagram();
        let fits = in_flight + full <= this.native_window() || in_flight == 0;
        let usable = self.path_timeouts(path).is_some_and(|count| least.is_none_or(|least| count <= least));
        PathState {
            in_flight: ByteCount::from_bytes(in_flight),
            ..this.state(usable, fits && this.release(now) <= now)
        }
    }

    /// Size in bytes of the packet for the datagrams that wait for `path`; 0 if none do.
    fn pending(&self, path: usize) -> u64 {
        let frames = self.datagrams.waiting_for(path);
        match frames.map(|datagram| u64::from(datagram.length) + FRAME_HEADER).sum::<u64>() {
            0 => 0,
            bytes => self.short_overhead() + bytes,
        }
    }

    /// Whether a datagram is sent on `path` with its next packet: window and pacer permit a full packet, or
    /// it is not `controlled`, or it fits into the packet that already waits.
    fn takes(&self, now: Time, path: usize, length: u16, kind: Kind) -> bool {
        let full = self.paths[path].datagram();
        if self.state != State::Open || u64::from(length) + FRAME_HEADER + self.short_overhead() > full {
            return false;
        }
        match self.pending(path) {
            0 if kind.controlled => self.path_state(now, path, None).is_open(),
            0 => self.path_timeouts(path).is_some(),
            // a packet has datagrams of one kind: those that are controlled must not be sent without a window
            _ if self.datagrams.kind() != kind => false,
            pending => pending + u64::from(length) + FRAME_HEADER <= full,
        }
    }

    /// Number of datagrams that were dropped because their path failed before they could be sent.
    pub(in crate::quic) fn dropped_datagrams(&self) -> u64 {
        self.datagrams.dropped()
    }

    /// Whether an acknowledgement is sent on `path` now.
    pub(in crate::quic) fn acknowledges(&self, now: Time, path: usize) -> bool {
        self.must_acknowledge(now, SpaceId::Path(path))
    }

    /// Maximum payload of a datagram on `path`; `None` while it carries none.
    pub(in crate::quic) fn largest_datagram(&self, path: usize) -> Option<u16> {
        let room = self.paths[path].datagram() - self.short_overhead() - FRAME_HEADER;
        self.path_timeouts(path).map(|_| room as u16)
    }

    /// Bytes that an acknowledgement must leave free for the datagram that waits for its path.
    pub(super) fn reserved_for_datagram(&self, id: SpaceId) -> usize {
        let SpaceId::Path(path) = id else { return 0 };
        let first = self.datagrams.waiting_for(path).next();
        first.map_or(0, |first| usize::from(first.length) + FRAME_HEADER as usize)
    }

    /// Bytes of the short header with the longest packet number, and of the tag (RFC 9000 section 17.3.1).
    fn short_overhead(&self) -> u64 {
        1 + u64::from(self.peer.connection_id_length) + 4 + 16
    }

    /// Queues a datagram for `path`, which is sent with its next packet; `false`: there is no room, or it is
    /// too long.
    pub(in crate::quic) fn send_datagram_on(
        &mut self,
        now: Time,
        path: usize,
        length: u16,
        number: u64,
        kind: Kind,
    ) -> bool {
        if !self.takes(now, path, length, kind) {
            return false;
        }
        self.datagrams.push_on(path, kind, Datagram { length, number, sent: now, echo: false });
        true
    }

    /// Sets whether more datagrams wait in the tunnel.
    pub(in crate::quic) fn set_backlogged(&mut self, backlogged: bool) {
        self.datagrams.set_backlogged(backlogged);
    }
}
