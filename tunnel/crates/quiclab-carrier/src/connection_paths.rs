//! Paths of a connection: their liveness, and their use by QUIC.

use super::connection::{ConnectionPath, TunnelConnection};
use super::gated_controller;
use super::liveness::Liveness;
use noq_proto::{PathId, PathStatus};
use quiclab_core::{Duration, Time};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Time of silence after which a path is probed if another path is not silent.
const SILENCE: Duration = Duration::from_millis(150);

/// Local address by which QUIC distinguishes path `slot` of a client. If the kernel chooses the address, as
/// for sockets of interfaces, it is one that no host has (RFC 1112 section 4, RFC 6666): QUIC would treat two
/// such paths to one server as one.
pub(super) fn local_ip(slot: usize, local: SocketAddr) -> IpAddr {
    let number = slot as u16 + 1; // slots are at most 64
    match local.ip() {
        IpAddr::V4(address) if address.is_unspecified() => {
            Ipv4Addr::from(u32::from(Ipv4Addr::new(240, 0, 0, 0)) + u32::from(number)).into()
        }
        IpAddr::V6(address) if address.is_unspecified() => {
            Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, number).into()
        }
        address => address,
    }
}

impl TunnelConnection {
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
            wrote: None,
        });
        self.tracks.last_mut()
    }

    pub(crate) fn of_id(&mut self, id: PathId) -> Option<&mut ConnectionPath> {
        self.tracks.iter_mut().find(|track| track.id == id)
    }

    pub(crate) fn of_slot(&self, slot: usize) -> Option<&ConnectionPath> {
        self.tracks.iter().find(|track| track.slot == Some(slot))
    }

    /// Stops the use of paths of `slot` other than `kept`.
    pub(crate) fn leave(&mut self, slot: usize, kept: Option<PathId>) {
        let former = |track: &&mut ConnectionPath| track.slot == Some(slot) && Some(track.id) != kept;
        for track in self.tracks.iter_mut().filter(former) {
            (track.slot, track.established) = (None, false);
        }
    }

    /// Abandons the paths that are no longer used, if another one is open.
    pub(crate) fn abandon_left(&mut self, now: Time) {
        let instant = self.clock.instant(now);
        // the event of QUIC removes them
        self.tracks.retain(|track| {
            track.slot.is_some() || self.quic.close_path(instant, track.id, 0_u8.into()).is_ok()
        });
        self.dirty = true;
    }

    /// The path between these addresses, or the first.
    pub(crate) fn between(&self, local: SocketAddr, remote: SocketAddr) -> Option<&ConnectionPath> {
        let mut same = self.tracks.iter().filter(|track| {
            track.remote == remote && (track.local.ip() == local.ip() || track.local.ip().is_unspecified())
        });
        // of paths whose addresses the kernel chooses, only the port differs
        let exact = same.clone().find(|track| track.local == local);
        exact.or_else(|| same.next()).or_else(|| self.tracks.first())
    }

    /// Records the arrival of a packet between these addresses.
    pub(crate) fn hear(&mut self, now: Time, local: SocketAddr, remote: SocketAddr) {
        self.arrived = Some(local);
        let Some(id) = self.between(local, remote).map(|track| track.id) else { return };
        if let Some(track) = self.of_id(id) {
            track.heard = now;
        }
    }

    /// Probes paths that are silent while others are not, and suspects those that do not answer. A sender
    /// cannot detect which of its paths is dead if all are acknowledged on a dead one: the receiver must do so.
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

    /// Paths that do not answer, and on which unacknowledged data of the control stream may have left: QUIC
    /// sends them again when the paths are abandoned. Empty while no other path answers.
    pub(crate) fn withholding(&self) -> Vec<PathId> {
        let established = self.tracks.iter().filter(|track| track.established);
        if !established.clone().any(|track| track.liveness.is_alive()) {
            return Vec::new();
        }
        let withholds = |track: &&ConnectionPath| {
            let answered = track.gate.answered().unwrap_or_default();
            // the last acknowledged packet may have left before
            let unanswered = track.wrote.is_some_and(|wrote| answered < wrote + self.srtt(track.id) * 2);
            !track.liveness.is_alive() && unanswered
        };
        established.filter(withholds).map(|track| track.id).collect()
    }

    /// Restricts frames that QUIC may send on any path to paths that answer; without one, to the one heard
    /// last. A path whose number is unknown (servers) is new, and counts as answering.
    pub(crate) fn set_statuses(&mut self) {
        let last = self.tracks.iter().filter(|track| track.established).max_by_key(|track| track.heard);
        let last = last.map(|track| track.id);
        let mut new = self.validated.keys().filter(|id| self.tracks.iter().all(|track| track.id != **id));
        let any = new.next().is_some()
            || self.tracks.iter().any(|track| track.established && track.liveness.is_alive());
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
}
