//! The send pass of a connection: with no datagram of the tunnel inside QUIC, [`TunnelConnection::settle`] opens all gates and
//! makes QUIC send its own frames: acknowledgements, control frames, probes. Only then a datagram is admitted, on a path whose
//! window and pacer permit it to leave immediately; only its gate is opened, and [`TunnelConnection::flush`] polls until it
//! has left.
//!
//! | trap | here |
//! | --- | --- |
//! | a datagram that stays inside holds back the acknowledgements of its path; with both directions saturated the throughput collapses | one is admitted only if it leaves immediately; if one stays (the peer's address is being validated), no more are admitted until it has left |
//! | a probe of another path passes its gate and would carry the datagram | probes leave in `settle` before it; timers and packets are handled with nothing inside |
//! | a batch of datagrams (segmentation offload) waits inside for its last one | it is flushed when another path is chosen, when it is full, with the next `transmit`, and before any packet or timer is handled; a waiting batch counts as in flight |

use super::connection::{ConnectionPath, TunnelConnection};
use super::connection_paths::local_ip;
use super::event::Outgoing;
use super::gated_controller::GateMode;
use bytes::{Bytes, BytesMut};
use noq_proto::{EcnCodepoint, PathId, Transmit};
use quiclab_core::ip::{IPV4_HEADER, IPV6_HEADER, UDP_HEADER};
use quiclab_core::{Ecn, FiveTuple, Packet, Protocol, RandomStream, Time};
use std::net::SocketAddr;

/// Maximum number of QUIC's own packets in one pass.
const MAX_PACKETS_PER_PASS: usize = 1024;
/// Size of noq's buffer of datagrams.
pub(crate) const SEND_BUFFER: usize = 1 << 20;
/// Space of an empty buffer: noq reserves room for the description of one datagram.
const EMPTY_SPACE: usize = SEND_BUFFER - size_of::<noq_proto::Datagram>();

/// Bytes of IP and UDP headers towards `remote`.
pub(crate) const fn headers(remote: &SocketAddr) -> u64 {
    (UDP_HEADER + if remote.is_ipv4() { IPV4_HEADER } else { IPV6_HEADER }) as u64
}

/// The packet that carries a UDP datagram.
pub(crate) fn packet(
    now: Time,
    (local, remote): (SocketAddr, SocketAddr),
    ecn: Ecn,
    payload: BytesMut,
) -> Packet {
    Packet::of_datagram(now, FiveTuple::new(Protocol::Udp, local, remote), ecn, payload)
}

impl TunnelConnection {
    /// Number of datagrams that wait inside QUIC to leave on `id`.
    pub(crate) fn granted(&self, id: PathId) -> u64 {
        if self.granted == id { self.inside as u64 } else { 0 }
    }

    /// Whether a datagram may leave on `track` now.
    pub(crate) fn has_room(&self, now: Time, track: &ConnectionPath) -> bool {
        // another path's batch is flushed first, and may not leave
        track.gate.has_room(now, self.granted(track.id)) && !self.stuck
    }

    /// Admits a datagram for which [`TunnelConnection::has_room`] is true. Returns whether QUIC accepted it.
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

    /// Sends the admitted datagrams on their path.
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

    /// Sends QUIC's own frames.
    pub(crate) fn settle(&mut self, now: Time, random: &mut Option<RandomStream>) {
        self.flush(now);
        if !self.dirty {
            return;
        }
        self.dirty = false;
        self.count_lost_probes();
        self.open_gates();
        // all that QUIC has to send, but not indefinitely at one instant
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

    /// Removes lost MTU probes from the bytes in flight.
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

    /// Opens all gates: a path that does not answer may always be probed, as its window is full of lost
    /// packets.
    fn open_gates(&self) {
        for track in &self.tracks {
            track.gate.set(if track.liveness.is_alive() { GateMode::Open } else { GateMode::Granted });
        }
    }

    /// Whether no datagram is inside.
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
            // a dropped packet is a loss for QUIC, because the client's retransmission brings more credit
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
        let stands_for =
            |track: &ConnectionPath| track.slot.is_some_and(|slot| local_ip(slot, track.local) == source);
        let mut to_remote = self.tracks.iter().filter(|track| track.remote == transmit.destination);
        let exact = to_remote.clone().find(|track| stands_for(track));
        let same = |track: &&ConnectionPath| {
            let local = track.local.ip();
            source.is_unspecified() || local == source || local.is_unspecified()
        };
        let found = exact.or_else(|| to_remote.find(same)).or_else(|| self.tracks.first());
        // at a server: all known paths are abandoned, and only QUIC knows the new one
        let Some(mut local) = found.map(|track| track.local).or(self.arrived) else { return };
        // the kernel chooses the address of a path that has none
        let chosen_by_kernel = found.is_some_and(stands_for) && local.ip().is_unspecified();
        if !(source.is_unspecified() || chosen_by_kernel) {
            local.set_ip(source);
        }
        let ecn = match transmit.ecn {
            None => Ecn::NotEct,
            Some(EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(EcnCodepoint::Ce) => Ecn::Ce,
        };
        let slot = found.and_then(|track| track.slot);
        let payload = self.memory.copy(&buffer[..transmit.size]);
        let packet = packet(now, (local, transmit.destination), ecn, payload);
        let segment = transmit.segment_size.and_then(|size| u16::try_from(size).ok());
        let exceeds = |track: &ConnectionPath| transmit.size > usize::from(track.gate.mtu());
        let mtu_probe = segment.is_none() && found.is_some_and(exceeds);
        self.out.push_back((slot, Outgoing { packet, segment, mtu_probe }));
    }
}
