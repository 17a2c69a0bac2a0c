//! One connection per path: how a client connects and reconnects. Each path has acknowledgements, RTT, idle
//! timeout and failures of its own; a session lives as long as one of its connections.

use super::connection::{ConnectionKey, TunnelConnection};
use super::endpoint::{TunnelProtocol, payload};
use super::event::SessionId;
use super::tunnel_endpoint::TunnelEndpoint;
use noq_proto::{ConnectionHandle, PathId};
use quiclab_core::{Role, Time};
use quiclab_stacks::seeded;

impl TunnelEndpoint {
    /// Performs due work for a client's session, and sets its timer.
    pub(super) fn maintain(&mut self, now: Time, id: SessionId) {
        if self.config().role != Role::Client || !self.sessions.contains_key(&id) {
            return;
        }
        let next = match self.sessions[&id].multipath {
            false => self.maintain_per_path(now, id),
            true => self.maintain_multipath(now, id),
        };
        self.schedule_session(now, id, next);
    }

    /// Connects paths without a connection; returns the time of the next attempt.
    fn maintain_per_path(&mut self, now: Time, id: SessionId) -> Option<Time> {
        for index in 0..self.sessions[&id].slots.len() {
            let slot = &self.sessions[&id].slots[index];
            if !slot.removed && slot.connection.is_none() && slot.retry_at <= now {
                self.connect_path(now, id, index);
            }
        }
        let session = self.sessions.get(&id)?;
        let waiting = session.slots.iter().filter(|slot| !slot.removed && slot.connection.is_none());
        waiting.map(|slot| slot.retry_at).min()
    }

    /// Opens a connection over a path.
    pub(super) fn connect_path(&mut self, now: Time, id: SessionId, index: usize) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let multipath = session.multipath;
        let group = session.group.clone();
        // with several paths in one connection, datagrams must fit each of them
        let sizes = session.slots.iter().map(|slot| payload(slot.config.mtu, &slot.remote));
        let smallest = sizes.min().unwrap_or_default();
        let slot = &session.slots[index];
        let (config, remote) = (slot.config, slot.remote);
        let own = payload(config.mtu, &remote);
        let size = if multipath { smallest } else { own };
        let shared = session.slots.iter().find_map(|slot| slot.endpoint).filter(|_| multipath);
        let endpoint = match slot.endpoint.or(shared) {
            Some(endpoint) => endpoint,
            None => {
                self.endpoints.push(self.maker.endpoint(size, TunnelProtocol::Own));
                self.endpoints.len() - 1
            }
        };
        let protocol = self.protocol_of(endpoint);
        let client = self.maker.client(config, size, &group, index, multipath);
        let name = self.maker.server_name().to_owned();
        let instant = self.clock.instant(now);
        let connected = seeded::with_stream(&mut self.tls, || {
            self.endpoints[endpoint].connect(instant, client, remote, &name)
        });
        let segments = self.config().segments;
        let keep_alive = self.config().keep_alive;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        for slot in session.slots.iter_mut().filter(|_| multipath) {
            slot.endpoint = Some(endpoint);
        }
        let slot = &mut session.slots[index];
        slot.endpoint = Some(endpoint);
        let Ok((ConnectionHandle(handle), connection)) = connected else {
            return slot.back_off(now);
        };
        let key = ConnectionKey { endpoint, handle };
        let addresses = (slot.local, slot.remote);
        slot.connection = Some(key);
        let mut conn = TunnelConnection::new(now, connection, segments);
        conn.session = Some(id);
        conn.http3 = self.maker.http3(protocol);
        conn.track(now, PathId::ZERO, Some(index), addresses, keep_alive);
        self.connections.insert(key, conn);
        self.active.insert(key);
        self.handle_events(now, key);
    }
}
