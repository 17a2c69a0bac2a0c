//! Packets of an endpoint: passes received UDP datagrams to their connections, or answers them statelessly;
//! and collects the packets that connections send.

use super::connection::ConnectionKey;
use super::connection_paths::local_ip;
use super::endpoint::{TunnelProtocol, payload};
use super::event::Outgoing;
use super::send_pass::packet;
use super::tunnel_endpoint::TunnelEndpoint;
use super::wire;
use noq_proto::{ConnectionHandle, DatagramEvent, EcnCodepoint, FourTuple, Transmit};
use quiclab_core::tunnel::TunnelPayload;
use quiclab_core::{Ecn, Packet, Payload, Role, Time};
use quiclab_stacks::library::ID_LENGTH;
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

/// Maximum number of stateless answers that wait to be sent.
const MAX_ANSWERS: usize = 256;

impl TunnelEndpoint {
    /// Processes a received UDP datagram: `packet.tuple` is from the remote to the local address. The payload
    /// must be bytes.
    pub fn receive(&mut self, now: Time, packet: Packet) {
        self.set_now(now);
        let (remote, local) = (packet.tuple.source(), packet.tuple.destination());
        let Payload::Bytes(data) = packet.payload else { return };
        let Some((index, local_ip)) = self.endpoint_between(local, remote) else { return };
        if self.config().role == Role::Server && !wire::is_of_this_version(&data) {
            self.strangers.junk += 1;
            return;
        }
        let length = data.len() as u64;
        let ecn = match packet.ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        let mut answer = std::mem::take(&mut self.answer);
        answer.clear();
        let (instant, tuple) = (self.clock.instant(now), FourTuple::new(remote, local_ip));
        let copy = (!self.reverting.is_empty()).then(|| data.clone());
        // a client issues the same IDs in each protocol
        let protocol =
            if self.config().role == Role::Client { TunnelProtocol::Own } else { self.protocol_of(index) };
        let short_id = self.maker.short_id(&data);
        match self.endpoints[index].handle(instant, tuple, ecn, data, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(ConnectionHandle(handle), event)) => {
                let key = ConnectionKey { endpoint: index, handle };
                if self.is_reset(key, protocol, short_id) {
                    self.answer = answer;
                    return self.reset(now, key);
                }
                let event = match self.seen_as(now, key, remote).zip(copy) {
                    None => event,
                    Some((before, data)) => {
                        let tuple = FourTuple::new(before, local_ip);
                        match self.endpoints[index].handle(instant, tuple, ecn, data, &mut answer) {
                            Some(DatagramEvent::ConnectionEvent(_, event)) => event,
                            _ => event,
                        }
                    }
                };
                if let Some(conn) = self.connections.get_mut(&key) {
                    conn.credit = conn.credit.map(|credit| credit + length);
                    conn.flush(now);
                    conn.call(&mut self.tls, |connection| connection.handle_event(event));
                    conn.dirty = true;
                    conn.hear(now, local, remote);
                    self.collect_transmits(key, local, remote);
                    self.handle_events(now, key);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let sent = self.incoming(now, index, incoming, (local, length), &mut answer);
                self.respond(now, local, sent, &answer);
            }
            Some(DatagramEvent::Response(sent)) => self.respond(now, local, Some(sent), &answer),
            None if short_id.is_some_and(|id| !self.maker.issued(protocol, id)) => {
                self.doubt(now, local, remote)
            }
            None => {}
        }
        self.answer = answer;
    }

    /// Whether a datagram for which QUIC has found a connection is a stateless reset: without an ID issued by
    /// this end, it was found by the token at its end (RFC 9000 section 10.3.1). Usually the ID is that of
    /// the previous datagram.
    fn is_reset(
        &mut self,
        key: ConnectionKey,
        protocol: TunnelProtocol,
        id: Option<[u8; ID_LENGTH]>,
    ) -> bool {
        let (Some(id), Some(conn)) = (id, self.connections.get_mut(&key)) else { return false };
        if conn.addressed == Some(id) {
            return false;
        }
        let issued = self.maker.issued(protocol, id);
        if issued {
            conn.addressed = Some(id);
        }
        !issued
    }

    /// The endpoint that a datagram is for, and the local address by which QUIC distinguishes its path;
    /// `None` for a client with one connection per path.
    fn endpoint_between(&self, local: SocketAddr, remote: SocketAddr) -> Option<(usize, Option<IpAddr>)> {
        if self.config().role == Role::Server {
            let connect_ip = self.config().connect_ip.as_ref();
            let second = connect_ip.is_some_and(|config| config.has_port(local.port()));
            return Some((usize::from(second), Some(local.ip()).filter(|ip| !ip.is_unspecified())));
        }
        self.sessions.values().find_map(|session| {
            let from = session.slots.iter().enumerate().filter(|(_, slot)| slot.is_between(local, remote));
            let (index, endpoint) = from.filter_map(|(index, slot)| Some((index, slot.endpoint?))).next()?;
            Some((endpoint, session.multipath.then(|| local_ip(index, session.slots[index].local))))
        })
    }

    /// Passes the datagrams received on a connection to its session.
    fn collect_transmits(&mut self, key: ConnectionKey, local: SocketAddr, remote: SocketAddr) {
        let Some(conn) = self.connections.get_mut(&key) else { return };
        let mut slot = None;
        while let Some(data) = conn.quic.datagrams().recv() {
            let slot = *slot.get_or_insert_with(|| conn.between(local, remote).and_then(|track| track.slot));
            let session = conn.session.filter(|_| conn.bound).and_then(|id| self.sessions.get_mut(&id));
            let (Some(session), Some(slot)) = (session, slot) else { continue };
            match &conn.http3 {
                None => session.receive(slot, &data),
                Some(http3) => match http3.packet(&data) {
                    Ok(Some(packet)) => session.deliver(slot, TunnelPayload::Bytes(packet)),
                    Ok(None) => {}
                    Err(error) => {
                        let now = self.now;
                        return self.close_with_error(now, key, error);
                    }
                },
            }
        }
    }

    /// Sends a stateless answer.
    fn respond(&mut self, now: Time, local: SocketAddr, sent: Option<Transmit>, answer: &[u8]) {
        // a stateless reset may be nearly as long as the packet that it answers, which may be longer than any
        // path carries unfragmented
        let longest = |sent: &Transmit| payload(self.maker.largest_mtu(), &sent.destination).into();
        let sent = sent.filter(|sent| sent.size <= longest(sent) && self.answers.len() < MAX_ANSWERS);
        let Some(sent) = sent else { return };
        let payload = self.memory.copy(&answer[..sent.size]);
        let packet = packet(now, (local, sent.destination), Ecn::NotEct, payload);
        self.answers.push_back(Outgoing { packet, segment: None, mtu_probe: false });
    }

    /// Queues the remaining packets of a discarded connection.
    pub(super) fn send_rest(&mut self, out: VecDeque<(Option<usize>, Outgoing)>) {
        self.answers.extend(out.into_iter().map(|(_, outgoing)| outgoing));
    }

    /// Returns the next packet to send now; call until `None`.
    pub fn transmit(&mut self, now: Time) -> Option<Outgoing> {
        self.set_now(now);
        if let Some(answer) = self.answers.pop_front() {
            return Some(self.number(answer));
        }
        while let Some(&key) = self.active.first() {
            if let Some((_, outgoing)) = self.next_of(now, key) {
                return Some(outgoing);
            }
        }
        self.answers.pop_front().map(|answer| self.number(answer))
    }

    /// Returns the next packet of a connection, which is inactive after its last one.
    pub(super) fn next_of(&mut self, now: Time, key: ConnectionKey) -> Option<(Option<usize>, Outgoing)> {
        let conn = self.connections.get_mut(&key);
        let next = conn.and_then(|conn| {
            if conn.out.is_empty() {
                conn.settle(now, &mut self.tls);
            }
            conn.out.pop_front()
        });
        if let Some((slot, outgoing)) = next {
            return Some((slot, self.number(outgoing)));
        }
        self.active.remove(&key);
        self.handle_events(now, key);
        None
    }

    fn number(&mut self, mut outgoing: Outgoing) -> Outgoing {
        outgoing.packet.id = self.next_packet;
        self.next_packet += 1;
        outgoing
    }
}
