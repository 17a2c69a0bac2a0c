//! Clients that move to another address (RFC 9000 section 9).
//!
//! Congestion control is reset at another host address, which may be another path, and retained if only the
//! port changes (section 9.4). If the client returns to the last validated address, as after a packet that
//! was copied and sent from another host, the congestion control of that address is restored.

use super::address_validation::{AddressValidation, Progress};
use super::connection::ConnectionKey;
use super::gated_controller;
use super::tunnel_endpoint::TunnelEndpoint;
use quiclab_core::Time;
use std::net::SocketAddr;

impl TunnelEndpoint {
    /// Handles a packet of a connection from `remote`. Returns the source address to pass to QUIC, if it is a different one.
    pub(super) fn seen_as(
        &mut self,
        now: Time,
        key: ConnectionKey,
        remote: SocketAddr,
    ) -> Option<SocketAddr> {
        let conn = self.connections.get_mut(&key)?;
        let validation = conn.validation.as_mut()?;
        if conn.tracks.first()?.remote != remote {
            return None;
        }
        if std::mem::take(&mut validation.reverts) {
            self.reverting.remove(&key);
            return Some(validation.before);
        }
        if now < validation.ends {
            return None;
        }
        match validation.look(now, &conn.quic.stats()) {
            Progress::Unknown => {}
            Progress::Validated => conn.validation = None,
            Progress::Stuck => {
                validation.reverts = true;
                self.reverting.insert(key);
            }
        }
        None
    }

    /// Updates the addresses of a connection's client to those that QUIC now sends to.
    pub(super) fn follow_client(&mut self, now: Time, key: ConnectionKey) {
        let Some(conn) = self.connections.get_mut(&key).filter(|conn| conn.bound && !conn.over) else {
            return;
        };
        let (session, multipath) = (conn.session, conn.is_multipath());
        let mut elsewhere = Vec::new();
        for index in 0..conn.tracks.len() {
            let id = conn.tracks[index].id;
            let Some(tuple) =
                conn.quic.network_path(id).ok().filter(|tuple| tuple.remote() != conn.tracks[index].remote)
            else {
                continue;
            };
            let srtt = conn.srtt(id);
            let track = &mut conn.tracks[index];
            let before = std::mem::replace(&mut track.remote, tuple.remote());
            let (control, former) = (track.gate.control(), track.gate.srtt());
            if let Some(ip) = tuple.local_ip() {
                track.local.set_ip(ip);
            }
            // QUIC may have created another controller
            if let Some(gate) = gated_controller::of_path(&conn.quic, id) {
                track.gate.hand_over(now, &gate);
                track.gate = gate;
            }
            conn.dirty = true;
            match &conn.validation {
                Some(validation) if validation.before == track.remote => {
                    track.gate.replace(now, validation.control.clone());
                    continue;
                }
                None if !multipath => {
                    let validation = AddressValidation::new(now, before, control, srtt.max(former));
                    conn.validation = Some(validation);
                }
                _ => {}
            }
            if before.ip() != conn.tracks[index].remote.ip() {
                elsewhere.extend(conn.tracks[index].slot);
            }
        }
        for slot in elsewhere {
            self.restart_control(now, session, key, slot);
        }
    }
}
