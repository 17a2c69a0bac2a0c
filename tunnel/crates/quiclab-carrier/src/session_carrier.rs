//! A session of an endpoint as a carrier.

use super::connection::{ConnectionCounters, ConnectionKey, ConnectionPath, TunnelConnection};
use super::event::{Outgoing, SessionId};
use super::tunnel_endpoint::TunnelEndpoint;
use super::wire;
use super::{fragments, path_mtu};
use bytes::{Bytes, BytesMut};
use noq_proto::PathId;
use quiclab_core::scheduler::PathState;
use quiclab_core::tunnel::{Carrier, TunnelPayload};
use quiclab_core::{ByteCount, Metrics, Packet, Payload, Time};

quiclab_core::metrics! {
    /// Datagrams of a session of a tunnel over noq.
    pub static SESSION: SessionMetrics = Network, "tunnel, carrier noq" {
        /// Datagrams sent.
        datagrams_sent: Counter, End;
        /// Datagrams that waited for the congestion control.
        datagrams_stuck: Counter, End;
        /// Datagrams that left over another path than the scheduler had chosen.
        datagrams_misplaced: Counter, End;
        /// Arrived datagrams that were dropped because too many waited.
        datagrams_overrun: Counter, End;
    }
}

/// A session of an endpoint as [`Carrier`]. Its `receive` is [`TunnelEndpoint::receive`] and its `wake` [`TunnelEndpoint::wake`]: both concern
/// all sessions. Its `transmit` returns the packets of this session only, one UDP datagram each.
pub struct SessionCarrier<'a> {
    endpoint: &'a mut TunnelEndpoint,
    session: SessionId,
}

impl TunnelEndpoint {
    /// The session as a carrier of datagrams; `None` if there is no such session.
    pub fn carrier(&mut self, session: SessionId) -> Option<SessionCarrier<'_>> {
        self.sessions.contains_key(&session).then_some(SessionCarrier { endpoint: self, session })
    }

    /// Path slots of a session.
    pub(super) fn paths(&self, id: SessionId) -> usize {
        self.sessions.get(&id).map_or(0, |session| session.slots.len())
    }

    pub(super) fn path_of(&self, id: SessionId, path: usize) -> Option<(&TunnelConnection, &ConnectionPath)> {
        let slot = self.sessions.get(&id)?.slots.get(path)?;
        let conn = self.connections.get(&slot.connection?).filter(|conn| conn.bound && !conn.over)?;
        Some((conn, conn.of_slot(path).filter(|track| track.established)?))
    }

    pub(super) fn path_state(&self, now: Time, id: SessionId, path: usize) -> PathState {
        let Some((conn, track)) = self.path_of(id, path) else {
            let srtt = super::endpoint::INITIAL_RTT;
            return PathState { srtt, min_rtt: srtt, ..PathState::default() };
        };
        let srtt = track.gate.expected_rtt(now, conn.srtt(track.id));
        PathState {
            usable: track.liveness.is_alive() && conn.largest.is_some(),
            has_room: conn.has_room(now, track),
            srtt,
            min_rtt: track.gate.min_rtt().unwrap_or(srtt),
            window: ByteCount::from_bytes(track.gate.window()),
            rate: track.gate.rate(),
            in_flight: ByteCount::from_bytes(track.gate.in_flight()),
            largest: ByteCount::from_bytes(conn.largest.map_or(0, u64::from)),
            ..PathState::default()
        }
    }

    pub(super) fn largest_cargo(&self, id: SessionId, path: usize) -> Option<u16> {
        let (conn, _) = self.path_of(id, path)?;
        let payload = conn.largest_payload()?;
        let fragments = self.config().mtu_discovery && conn.http3.is_none();
        Some(if fragments { path_mtu::largest_cargo(payload, conn.is_searching()) } else { payload })
    }

    pub(super) fn send_cargo(
        &mut self,
        now: Time,
        id: SessionId,
        path: usize,
        cargo: TunnelPayload,
    ) -> Result<(), TunnelPayload> {
        let slot = self.sessions.get(&id).and_then(|session| session.slots.get(path));
        let Some(key) = slot.and_then(|slot| slot.connection) else { return Err(cargo) };
        let Some(conn) = self.connections.get_mut(&key).filter(|conn| conn.bound && !conn.over) else {
            return Err(cargo);
        };
        if conn.dirty {
            // first QUIC's own frames, with no datagram of the tunnel inside
            conn.settle(now, &mut self.tls);
        }
        let Some(track) = conn.of_slot(path).filter(|track| track.established && track.liveness.is_alive())
        else {
            return Err(cargo);
        };
        if !conn.has_room(now, track) {
            track.gate.set_limited(true);
            return Err(cargo);
        }
        let track = track.id;
        let Some(largest) = conn.largest else { return Err(cargo) };
        let (fragments, data): (bool, Bytes) = match &conn.http3 {
            None => (self.maker.config.mtu_discovery, wire::encode_datagram(&cargo, &mut self.memory)),
            Some(http3) => match http3.encode(&cargo, &mut self.memory) {
                Some(data) => (false, data),
                None => return Err(cargo),
            },
        };
        let taken = if data.len() <= usize::from(largest) {
            conn.admit(now, track, data)
        } else if fragments {
            self.send_fragments(now, (id, key), track, &data, largest)
        } else {
            return Err(cargo);
        };
        self.active.insert(key);
        if taken { Ok(()) } else { Err(cargo) }
    }

    /// Sends a datagram that is longer than `largest`. Returns whether QUIC accepted it, at least its first
    /// fragment: with one missing, the datagram is lost.
    fn send_fragments(
        &mut self,
        now: Time,
        (id, key): (SessionId, ConnectionKey),
        track: PathId,
        data: &Bytes,
        largest: u16,
    ) -> bool {
        let (Some(session), Some(conn)) = (self.sessions.get_mut(&id), self.connections.get_mut(&key)) else {
            return false;
        };
        let Some(fragments) = fragments::divide(data, session.fragmented, largest) else { return false };
        let gate = conn.of_id(track).map(|track| track.gate.clone());
        let (granted, count) = (conn.granted(track), fragments.len() as u64);
        if let Some(gate) = gate.filter(|gate| !gate.takes(granted, count)) {
            gate.set_limited(true);
            return false;
        }
        let mut fragments = fragments.into_iter();
        if !fragments.next().is_some_and(|first| conn.admit(now, track, first)) {
            return false;
        }
        session.fragmented += 1;
        fragments.all(|fragment| conn.admit(now, track, fragment));
        true
    }

    pub(super) fn backlog(&mut self, id: SessionId, backlogged: bool) {
        let now = self.now;
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let changed = session.backlogged != backlogged;
        session.backlogged = backlogged;
        for key in session.connections() {
            let Some(conn) = self.connections.get(&key) else { continue };
            for track in &conn.tracks {
                track.gate.set_limited(backlogged && !conn.has_room(now, track));
            }
            if backlogged || changed {
                self.schedule(now, key);
            }
        }
    }

    pub(super) fn transmit_of(&mut self, now: Time, id: SessionId) -> Option<(usize, Packet)> {
        self.set_now(now);
        // connections of the session that are bound, and those that a client is opening
        let keys: Vec<_> = self.active.iter().copied().collect();
        for key in keys {
            let Some(conn) = self.connections.get_mut(&key) else { continue };
            if conn.session != Some(id) {
                continue;
            }
            while let Some((slot, outgoing)) = self.next_of(now, key) {
                let (packet, rest) = split_first(outgoing);
                if let (Some(rest), Some(conn)) = (rest, self.connections.get_mut(&key)) {
                    conn.out.push_front((slot, rest));
                }
                if let Some(slot) = slot {
                    return Some((slot, packet));
                }
            }
        }
        None
    }

    pub(super) fn report(&self, id: SessionId, out: &mut Metrics) {
        let Some(session) = self.sessions.get(&id) else { return };
        let mut counts: ConnectionCounters = session.past;
        for key in session.connections() {
            if let Some(conn) = self.connections.get(&key) {
                counts += conn.counts;
            }
        }
        out.count(&SESSION.datagrams_sent, counts.sent);
        out.count(&SESSION.datagrams_stuck, counts.stuck);
        out.count(&SESSION.datagrams_misplaced, counts.misplaced);
        out.count(&SESSION.datagrams_overrun, session.overrun);
    }
}

/// Splits off the first of several UDP datagrams.
fn split_first(mut outgoing: Outgoing) -> (Packet, Option<Outgoing>) {
    let headers = super::send_pass::headers(&outgoing.packet.tuple.destination());
    let resize = |packet: &mut Packet, payload: BytesMut| {
        packet.size = ByteCount::from_bytes(payload.len() as u64 + headers);
        packet.payload = Payload::Bytes(payload);
    };
    let Payload::Bytes(mut first) = std::mem::take(&mut outgoing.packet.payload) else {
        return (outgoing.packet, None);
    };
    let size = outgoing.segment.map_or(first.len(), usize::from).min(first.len());
    let others = first.split_off(size);
    let mut packet = outgoing.packet.clone();
    resize(&mut packet, first);
    if others.is_empty() {
        return (packet, None);
    }
    resize(&mut outgoing.packet, others);
    (packet, Some(outgoing))
}

impl Carrier for SessionCarrier<'_> {
    fn paths(&self) -> usize {
        self.endpoint.paths(self.session)
    }
    fn state(&self, now: Time, path: usize) -> PathState {
        self.endpoint.path_state(now, self.session, path)
    }
    fn largest_datagram(&self, path: usize) -> Option<u16> {
        self.endpoint.largest_cargo(self.session, path)
    }
    fn send(&mut self, now: Time, path: usize, cargo: TunnelPayload) -> Result<(), TunnelPayload> {
        self.endpoint.send_cargo(now, self.session, path, cargo)
    }
    fn set_backlogged(&mut self, backlogged: bool) {
        self.endpoint.backlog(self.session, backlogged);
    }
    fn receive(&mut self, now: Time, _path: usize, packet: Box<Packet>) {
        self.endpoint.receive(now, *packet); // the tuple determines the path
    }
    fn delivered(&mut self) -> Option<(usize, TunnelPayload)> {
        self.endpoint.sessions.get_mut(&self.session)?.delivered()
    }
    fn transmit(&mut self, now: Time) -> Option<(usize, Box<Packet>)> {
        self.endpoint.transmit_of(now, self.session).map(|(path, packet)| (path, Box::new(packet)))
    }
    fn wake(&mut self, now: Time) {
        self.endpoint.wake(now);
    }
    fn next_wake(&self) -> Option<Time> {
        self.endpoint.next_wake()
    }
    fn failure(&self) -> Option<&str> {
        None // a client retries indefinitely; the session of a server that has ended is no longer a carrier
    }
    fn statistics(&self, out: &mut Metrics) {
        self.endpoint.report(self.session, out);
    }
}
